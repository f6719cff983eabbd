import CorestoneGraph
import CorestoneModel
import CorestonePredicate
import CorestoneValues

/// Reading and writing of objects as plain values, without contexts and managed objects.
///
/// A record has an entry for each attribute, except for transformable attributes and those of undefined type. The value
/// of a composite attribute is a dictionary. The value of a to-one relationship is the URI of its target, that of a
/// to-many relationship a list of URIs. `@id` is the object's own URI, and `@entity` the name of its entity if that is
/// a subentity of the requested one. Records that were read can be passed to `update`. Each call that reads or writes
/// objects uses a separate context on the calling thread. Changes are saved before the call returns, in one
/// transaction per store.
extension Container {
    public typealias Record = [String: PropertyValue]
    /// The key of an object's URI in a record.
    public static let idKey = "@id"
    /// The key of the name of a record's entity.
    ///
    /// A record has the key if its entity is a subentity of the requested entity or of the relationship's destination.
    public static let entityKey = "@entity"

    /// Inserts objects.
    ///
    /// Values are converted to the type of the attribute: text to numbers, dates (ISO 8601, UTC without an offset),
    /// UUIDs and bytes (base64). A date can also be a number of seconds since 2001-01-01 UTC. The texts "Infinity",
    /// "-Infinity" and "NaN" are accepted as numbers. Null stores null; omitted keys have their defaults. A record with
    /// `@entity` is inserted as an object of that entity, which must be `entity` or a subentity of it. A record with
    /// `@id` is an error, because its object exists.
    ///
    /// The value of a to-one relationship is an object, its URI, its ID, a record or null. The value of a to-many
    /// relationship is a list of objects, URIs, IDs and records. A record with `@id` changes the object with that URI.
    /// Any other record inserts an object of the destination, or of the subentity in `@entity`.
    ///
    /// - Returns: The records of the inserted objects, in order, without those of nested records.
    /// - Throws: `.typeMismatch` and `.invalidArgument` with entity, key and value.
    ///   The errors of a save.
    @discardableResult
    public func insert(_ entity: String, _ records: [Record]) throws -> [Record] {
        try work { work in
            let entity = try work.context.coordinator.model.requireEntity(named: entity)
            return try work.saved(try records.map { try work.insert(entity, $0) }, as: entity)
        }
    }

    /// Returns the records of the objects that satisfy a predicate, in the order of the sort keys.
    ///
    /// - Parameters:
    ///   - predicate: nil for all objects. For one object, use `predicate(forObjectAt:)`.
    ///   - sort: Key paths. A `-` before a key path reverses its order.
    ///   - ascending: Whether key paths without a `-` sort in ascending order.
    ///   - limit: The maximum number of records; 0 for all.
    ///   - offset: The number of records to be skipped.
    public func read(
        _ entity: String, where predicate: Predicate? = nil, sort: [String] = [], ascending: Bool = true,
        limit: Int = 0, offset: Int = 0
    ) throws -> [Record] {
        try work { work in
            let request = try work.request(entity, predicate)
            request.sortDescriptors = sort.map { key in
                let isTurned = key.hasPrefix("-")
                return SortDescriptor(
                    isTurned || key.hasPrefix("+") ? String(key.dropFirst()) : key, ascending: ascending != isTurned)
            }
            request.limit = limit
            request.offset = offset
            return try work.context.fetch(request).map {
                work.record(of: $0, try work.entries(of: $0), as: request.entity)
            }
        }
    }

    /// Sets values of the objects that satisfy a predicate.
    ///
    /// - Parameters:
    ///   - predicate: nil for all objects.
    ///   - values: The values, as in `insert`. Omitted keys are unchanged. `@id` and `@entity` are ignored, and so are
    ///     derived attributes if the record has an `@id`.
    /// - Returns: The records of the objects after the update.
    @discardableResult
    public func update(_ entity: String, where predicate: Predicate?, _ values: Record) throws -> [Record] {
        try work { work in
            let request = try work.request(entity, predicate)
            let objects = try work.context.fetch(request)
            for object in objects { try work.set(values, of: object) }
            return try work.saved(objects, as: request.entity)
        }
    }

    /// Deletes the objects that satisfy a predicate, and applies delete rules.
    ///
    /// - Returns: The number of objects that satisfied the predicate.
    @discardableResult
    public func delete(_ entity: String, where predicate: Predicate) throws -> Int { try remove(entity, predicate) }

    /// Deletes all objects of an entity and of its subentities.
    ///
    /// - Returns: The number of these objects, without objects of other entities that delete rules deleted.
    @discardableResult
    public func deleteAll(_ entity: String) throws -> Int { try remove(entity, nil) }

    /// Returns a predicate that only the object with a URI satisfies.
    ///
    /// - Parameter uri: The `@id` of a record.
    /// - Throws: `.invalidArgument` if `uri` is not the URI of an object in an open store.
    public func predicate(forObjectAt uri: String) throws -> Predicate {
        let id = try coordinator.recordID(uri, key: "uri")
        return try Predicate.parse("SELF == %@", arguments: [.object(ObjectIDReference(id))])
    }

    private func remove(_ entity: String, _ predicate: Predicate?) throws -> Int {
        try work { work in
            let objects = try work.context.fetch(try work.request(entity, predicate))
            for object in objects { try work.context.delete(object) }
            try work.context.save()
            return objects.count
        }
    }

    private func work<Result>(_ body: (RecordWork) throws -> Result) throws -> Result {
        try requireOpen()
        return try newBackgroundContext().use { context in
            do { return try body(RecordWork(context: context)) } catch {
                // The error reports the failure, so the discarded changes are not logged.
                context.allowLoss()
                throw error
            }
        }
    }
}

extension Coordinator {
    fileprivate func recordID(_ uri: String, of object: ManagedObject? = nil, key: String? = nil) throws -> ObjectID {
        if let id = try? objectID(forURI: uri) { return id }
        let entity = object?.entity.name
        let subject = entity.map { "\($0).\(key ?? "") cannot refer to \"\(uri)\", which" } ?? "\"\(uri)\""
        throw CoreError(
            .invalidArgument,
            "\(subject) is not the URI of an object in an open store; use the @id of a record, or open the object's "
                + "store with cst_container_load (load, loadStores)",
            entity: entity, key: key, value: .string(uri), objectURI: object?.objectID.uri)
    }
}

/// The work of one call on records, in its own context.
private struct RecordWork {
    let context: Context

    private static let maximumDepth = 64

    func request(_ entity: String, _ predicate: Predicate?) throws -> FetchRequest {
        let request = FetchRequest(entity: try context.coordinator.model.requireEntity(named: entity))
        request.predicate = predicate
        return request
    }

    func insert(_ requested: Entity, _ record: Container.Record, depth: Int = 0) throws -> ManagedObject {
        if let id = record[Container.idKey], !id.isNull {
            throw CoreError(
                .invalidArgument,
                "cannot insert a record of \(requested.name) that has the @id \(id.excerpt); call cst_container_update (update), or "
                    + "leave out the @id",
                entity: requested.name, key: Container.idKey, value: id)
        }
        let object = try context.insert(try entity(of: record, requested))
        try set(record, of: object, depth: depth)
        return object
    }

    /// Returns the entity of a record: the requested one, or the subentity in `@entity`.
    private func entity(of record: Container.Record, _ requested: Entity) throws -> Entity {
        guard let value = record[Container.entityKey], !value.isNull else { return requested }
        guard case .text(let name) = value else {
            throw CoreError(
                .typeMismatch,
                "@entity of a record of \(requested.name) takes the name of an entity, not \(value.kindPhrase)",
                entity: requested.name, key: Container.entityKey, value: value)
        }
        let entity = try context.coordinator.model.requireEntity(named: name.string)
        if entity.isKind(of: requested) { return entity }
        throw CoreError(
            .invalidArgument,
            "@entity is \"\(entity.name)\", which does not inherit from \(requested.name); use a subentity of \(requested.name), or "
                + "leave out @entity",
            entity: requested.name, key: Container.entityKey, value: value)
    }

    func set(_ record: Container.Record, of object: ManagedObject, depth: Int = 0) throws {
        let entity = object.entity
        guard depth < RecordWork.maximumDepth else {
            throw CoreError(
                .invalidArgument,
                "a record of \(entity.name) is nested more than \(RecordWork.maximumDepth) levels deep; "
                    + "write the inner records first with cst_container_insert (insert) or cst_container_update "
                    + "(update), and refer to them by their @id",
                entity: entity.name, objectURI: object.objectID.uri)
        }
        for (key, value) in record.sorted(by: { $0.key < $1.key }) {
            if key == Container.idKey || key == Container.entityKey { continue }
            switch entity.property(named: key) {
            case let attribute as Attribute:
                // A record that was read contains derived attributes.
                if attribute.derivation != nil, record[Container.idKey] != nil { continue }
                do { try object.setValue(try converted(value, attribute), forKey: key) } catch let error as CoreError
                    where error.value == nil || error.objectURI == nil
                {
                    throw CoreError(
                        error.status, error.message, domain: error.domain, customCode: error.code, entity: entity.name,
                        key: error.key ?? key, value: error.value ?? value, predicate: error.predicate,
                        objectURI: error.objectURI ?? object.objectID.uri, children: error.children,
                        sqliteCode: error.sqliteCode, file: error.file, payload: error.payload)
                }
            case let relationship as Relationship:
                try set(relationship, of: object, to: value, depth)
            default:
                guard entity.fetchedProperty(named: key) != nil else { throw entity.unknownProperty(key) }
                throw CoreError(
                    .invalidArgument,
                    "\(entity.name).\(key) is a fetched property and cannot be set; leave it out of the record",
                    entity: entity.name, key: key, value: value, objectURI: object.objectID.uri)
            }
        }
    }

    /// Converts a value for an attribute.
    ///
    /// Null stays null, even for an attribute with a default. The elements of a composite attribute are converted one
    /// by one.
    private func converted(_ value: PropertyValue, _ attribute: Attribute) throws -> PropertyValue {
        switch value {
        case .null: return .null
        case .dictionary(var entries) where attribute.type == .composite:
            for element in attribute.elements {
                if let given = entries[element.name] { entries[element.name] = try converted(given, element) }
            }
            return .dictionary(entries)
        case .text where attribute.type == .date:
            do { return try attribute.converted(value) } catch let error as CoreError {
                throw CoreError(
                    error.status,
                    "\(attribute.entity.name).\(attribute.path) takes a date, not \(value.excerpt); write the date as 2020-01-31, "
                        + "2020-01-31T12:00:00Z or 2020-01-31T12:00:00+02:00, or as a number of "
                        + "seconds since 2001-01-01 UTC",
                    entity: attribute.entity.name, key: attribute.path, value: value)
            }
        default: return try attribute.converted(value)
        }
    }

    private func set(_ relationship: Relationship, of object: ManagedObject, to value: PropertyValue, _ depth: Int)
        throws
    {
        guard relationship.isToMany else {
            return try object.setValue(
                value.isNull ? .null : .object(try partner(relationship, of: object, value, depth)),
                forKey: relationship.name)
        }
        let values: [PropertyValue]
        switch value {
        case .null: values = []
        case .array(let list): values = list
        case .set(let list): values = Array(list)
        default: throw unsuitable(relationship, of: object, value, "a list of URIs or records")
        }
        let members = try values.map { try partner(relationship, of: object, $0, depth) }
        try object.setMembers(members, key: relationship.key)
    }

    /// Returns the object to which a relationship's value refers. Inserts or updates it if the value is a record.
    private func partner(
        _ relationship: Relationship, of object: ManagedObject, _ value: PropertyValue, _ depth: Int
    ) throws -> ManagedObject {
        let found: ManagedObject
        switch value {
        case .text(let uri), .uri(let uri):
            found = try existing(uri.string, relationship, of: object)
        case .object(let reference as ObjectIDReference):
            found = try existing(reference.id, relationship, of: object)
        case .object(let other as ManagedObject): found = try existing(other.objectID, relationship, of: object)
        case .dictionary(let record):
            if let id = record[Container.idKey], !id.isNull {
                guard case .text(let uri) = id else {
                    throw CoreError(
                        .typeMismatch,
                        "the @id of a record in \(object.entity.name).\(relationship.name) takes a URI as a string, "
                            + "not \(id.kindPhrase)",
                        entity: object.entity.name, key: relationship.name, value: id,
                        objectURI: object.objectID.uri)
                }
                found = try existing(uri.string, relationship, of: object)
                try set(record, of: found, depth: depth + 1)
            } else {
                found = try insert(relationship.destination, record, depth: depth + 1)
            }
        default:
            throw relationship.isToMany
                ? unsuitable(relationship, of: object, value, "a list of URIs or records", found: "a list with ")
                : unsuitable(relationship, of: object, value, "a URI or a record")
        }
        return found
    }

    private func existing(_ id: ObjectID, _ relationship: Relationship, of object: ManagedObject) throws
        -> ManagedObject
    {
        if id.isTemporary {
            throw CoreError(
                .invalidArgument,
                "\(object.entity.name).\(relationship.name) cannot refer to \(id.uri), which is a temporary ID; call "
                    + "cst_context_save (save) on its context and each parent context, and pass the permanent ID",
                entity: object.entity.name, key: relationship.name, value: .string(id.uri),
                objectURI: object.objectID.uri)
        }
        return try existing(id.uri, relationship, of: object)
    }

    private func existing(_ uri: String, _ relationship: Relationship, of object: ManagedObject) throws -> ManagedObject
    {
        let id = try context.coordinator.recordID(uri, of: object, key: relationship.name)
        do { return try context.existingObject(with: id) } catch let error as CoreError
            where error.status == .objectGone
        {
            throw CoreError(
                .invalidArgument,
                "\(object.entity.name).\(relationship.name) cannot refer to \"\(uri)\", which does not exist: its row was deleted "
                    + "or never saved; use the @id of an existing record",
                entity: object.entity.name, key: relationship.name, value: .string(uri),
                objectURI: object.objectID.uri)
        }
    }

    /// Creates the error for a value of the wrong type.
    ///
    /// - Parameter found: The beginning of the phrase for the value, if it is a part of the value that was passed.
    private func unsuitable(
        _ relationship: Relationship, of object: ManagedObject, _ value: PropertyValue, _ wanted: String,
        found: String = ""
    ) -> CoreError {
        CoreError(
            .typeMismatch,
            "\(object.entity.name).\(relationship.name) takes \(wanted) of \(relationship.destination.name), not "
                + "\(found)\(value.kindPhrase)",
            entity: object.entity.name, key: relationship.name, value: value, objectURI: object.objectID.uri)
    }

    /// Saves, and returns the records of objects.
    ///
    /// If an object cannot be read after the successful save, its record has the values from before the save. An error
    /// would make the caller repeat the save.
    func saved(_ objects: [ManagedObject], as requested: Entity) throws -> [Container.Record] {
        let former = try objects.map { try entries(of: $0) }
        try context.save()
        return zip(objects, former).map { object, former in
            record(of: object, (try? entries(of: object)) ?? former, as: requested)
        }
    }

    /// Returns the values of an object.
    ///
    /// They contain objects instead of URIs, because a save changes the URIs of new objects.
    func entries(of object: ManagedObject) throws -> Container.Record {
        var record: Container.Record = [:]
        for property in object.entity.properties {
            switch property {
            case let attribute as Attribute:
                // Elements are part of their composite's value. Records do not contain transformed values.
                if attribute.composite != nil || attribute.type == .transformable || attribute.type == .undefined {
                    continue
                }
                record[attribute.name] = try object.value(forKey: attribute.name)
            case let relationship as Relationship where relationship.isToMany:
                record[relationship.name] = .array(try object.members(key: relationship.key).map { .object($0) })
            case let relationship as Relationship:
                record[relationship.name] = try object.value(forKey: relationship.name)
            default: continue
            }
        }
        return record
    }

    /// Returns the record of an object.
    ///
    /// - Parameter requested: The entity that the caller requested.
    func record(of object: ManagedObject, _ entries: Container.Record, as requested: Entity) -> Container.Record {
        func uri(_ value: PropertyValue) -> PropertyValue {
            if case .object(let target as ManagedObject) = value { .string(target.objectID.uri) } else { .null }
        }
        var record = entries
        for relationship in object.entity.relationships {
            guard let value = record[relationship.name] else { continue }
            if case .array(let members) = value {
                record[relationship.name] = .array(members.map(uri))
            } else {
                record[relationship.name] = uri(value)
            }
        }
        record[Container.idKey] = .string(object.objectID.uri)
        if object.entity !== requested { record[Container.entityKey] = .string(object.entity.name) }
        return record
    }
}

extension PropertyValue {
    /// The value as JSON that `Container.insert` accepts.
    ///
    /// Values of types that JSON does not have are converted to text, or to a number for a date that ISO 8601 cannot
    /// represent exactly.
    package var asPlainJSON: PropertyValue {
        switch self {
        case .decimal(let number): .string(number.description)
        case .date(let seconds): PropertyValue.plainDate(seconds)
        case .uuid(let uuid): .string(uuid.description)
        case .uri(let uri): .text(uri)
        case .bytes(let bytes): .string(base64(bytes.array))
        case .double(let number) where !number.isFinite: .string(PropertyValue.notFinite(number))
        case .array(let values): .array(values.map(\.asPlainJSON))
        case .dictionary(let entries): .dictionary(entries.mapValues(\.asPlainJSON))
        default: self
        }
    }

    /// Returns a date in ISO 8601 if this form is exact, otherwise as seconds since 2001-01-01 UTC.
    ///
    /// ISO 8601 is used for the years 1 to 9999 and at most six decimal places of a second.
    private static func plainDate(_ seconds: Double) -> PropertyValue {
        if let year = ReferenceDate.civil(seconds)?.year, 1...9999 ~= year {
            let text = ReferenceDate.description(seconds)
            if text.utf8.count <= "2001-01-01T00:00:00.000000Z".utf8.count, (try? ReferenceDate.parse(text)) == seconds
            {
                return .string(text)
            }
        }
        return PropertyValue.double(seconds).asPlainJSON
    }

    private static func notFinite(_ number: Double) -> String {
        number.isNaN ? "NaN" : number < 0 ? "-Infinity" : "Infinity"
    }
}
