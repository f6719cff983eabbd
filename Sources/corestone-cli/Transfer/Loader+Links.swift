import Corestone

// Relationships and their targets.

extension Loader {
    /// The value of a relationship in a line.
    enum Link {
        case members(Relationship, [ManagedObject])
        /// A relationship some of whose targets do not exist yet; `found` contains the existing ones.
        case pending(Relationship, names: [String], found: [ManagedObject])
        /// A relationship some of whose targets are records within the line.
        case nested(Relationship, [Target])
    }

    /// A target of a relationship: the name of an object, or a record.
    enum Target {
        case name(String)
        case draft(Draft)
    }

    // MARK: Names

    /// Parses a name.
    ///
    /// A name that `corestone dump` writes (`Person/p12`) becomes an entity index and a primary key.
    func name(_ text: String) -> Name {
        let bytes = Array(text.utf8)
        if let slash = bytes.lastIndex(of: UInt8(ascii: "/")), slash + 1 < bytes.count,
            bytes[slash + 1] == UInt8(ascii: "p"),
            let key = Int64(String(decoding: bytes[(slash + 2)...], as: UTF8.self)), key > 0,
            let entity = model.entity(named: String(decoding: bytes[..<slash], as: UTF8.self)),
            bytes.elementsEqual("\(entity.name)/p\(key)".utf8)
        {
            return .number(entity.index, key)
        }
        return .text(Text(text))
    }

    func object(named text: String) throws -> ManagedObject? {
        let name = name(text)
        if let object = batchObjectsByName[name] { return object }
        if let id = saved[name] { return try context.object(with: id) }
        if text.hasPrefix("x-coredata://"), let id = try? context.coordinator.objectID(forURI: text) {
            return try context.storedObject(with: id)
        }
        return nil
    }

    // MARK: Checking a line

    /// Checks the relationships of a record.
    ///
    /// - Parameter path: The place of the record within its line.
    func links(of record: LoadRecord, _ entity: Entity, path: String) throws -> [Link] {
        try record.fields.compactMap { key, field in
            if let relationship = entity.property(named: key) as? Relationship, !relationship.isTransient {
                guard let items = field.itemsWithRecords else { return try link(relationship, field) }
                return .nested(relationship, try targets(of: relationship, items, field, record.line, within: path))
            }
            guard let (relationship, attribute) = lookup(key, entity) else { return nil }
            return .members(relationship, try search(relationship, attribute, field).map { [$0] } ?? [])
        }
    }

    private func link(_ relationship: Relationship, _ field: LoadField) throws -> Link {
        guard let names = field.references(isToMany: relationship.isToMany), relationship.isToMany || names.count < 2
        else { throw unsuitable(relationship, field) }
        let objects = try names.map { ($0, try object(named: $0)) }
        let found = objects.compactMap(\.1)
        try check(found, relationship, objects.filter { $0.1 != nil }.map(\.0))
        return found.count == names.count
            ? .members(relationship, found) : .pending(relationship, names: names, found: found)
    }

    func unsuitable(_ relationship: Relationship, _ field: LoadField) -> CoreError {
        CoreError(
            .typeMismatch,
            "\(relationship.entity.name).\(relationship.name) takes "
                + (relationship.isToMany
                    ? "a list of object names (@id) or records" : "the name of one object (@id) or one record")
                + ", not \(field.excerpt)",
            entity: relationship.entity.name, key: relationship.name, value: field.content)
    }

    /// Checks the members of a relationship.
    ///
    /// - Parameter names: The names of the members, for errors.
    func check(_ members: [ManagedObject], _ relationship: Relationship, _ names: [String] = []) throws {
        let other = members.firstIndex { !$0.objectID.entity.isKind(of: relationship.destination) }
        guard let other else { return }
        let label = names.count == members.count ? " (\(PropertyValue.string(names[other]).excerpt))" : ""
        throw CoreError(
            .typeMismatch,
            "\(relationship.entity.name).\(relationship.name) takes objects of \(relationship.destination.name), not of "
                + "\(members[other].objectID.entity.name)\(label)",
            entity: relationship.entity.name, key: relationship.name,
            value: names.count == members.count ? .string(names[other]) : nil, objectURI: members[other].objectID.uri)
    }

    // MARK: Setting

    func set(_ link: Link, of object: ManagedObject, _ line: FilePlace) throws {
        switch link {
        case .members(let relationship, let members): try set(members, of: relationship, object)
        case .nested: break
        case .pending(let relationship, let names, let found):
            pendingLinksOfBatch.append(
                (object, PendingLink(owner: object.objectID, relationship: relationship, names: names, line: line)))
            // The existing members may be enough for a required relationship.
            if !relationship.isOrdered { try set(found, of: relationship, object) }
        }
    }

    func set(_ members: [ManagedObject], of relationship: Relationship, _ object: ManagedObject) throws {
        try check(members, relationship)
        if !relationship.isToMany {
            try object.setValue(members.first.map { .object($0) } ?? .null, forKey: relationship.name)
        } else if relationship.isOrdered {
            try object.setMembers(members, of: relationship.name)
        } else {
            // Members that were added through the inverse are kept.
            for member in members { try object.add(member, to: relationship.name) }
        }
    }

    func lacksRelationship(_ object: ManagedObject, _ entity: Entity) -> Bool {
        entity.relationships.contains { relationship in
            guard !relationship.isOptional, !relationship.isTransient else { return false }
            if relationship.isToMany { return (try? object.memberCount(relationship.name)) ?? 0 == 0 }
            return (try? object.value(forKey: relationship.name))?.isNull ?? true
        }
    }

    // MARK: Lookup by a value

    /// Parses a column such as `folder.name`, which refers to an object by a value.
    func lookup(_ key: String, _ entity: Entity) -> (Relationship, Attribute)? {
        let parts = key.utf8.split(separator: UInt8(ascii: ".")).map { String(Substring($0)) }
        guard parts.count == 2, let relationship = entity.property(named: parts[0]) as? Relationship,
            !relationship.isToMany, let attribute = relationship.destination.property(named: parts[1]) as? Attribute
        else { return nil }
        return (relationship, attribute)
    }

    private func search(_ relationship: Relationship, _ attribute: Attribute, _ field: LoadField) throws
        -> ManagedObject?
    {
        guard let value = try LoadConversion.value(field, for: attribute), !value.isNull else { return nil }
        let request = FetchRequest(
            entity: relationship.destination,
            predicate: try Predicate.parse("%K == %@", arguments: [.string(attribute.name), value]),
            limit: rules.upserts ? 0 : 2)
        // Objects of this batch are found by the index, because scanning all of them for each line would be too slow.
        request.includesPendingChanges = false
        var found: [ManagedObject] = []
        let candidates =
            try searches.find(value, attribute.name, relationship.destination, among: batchObjects.lazy.map(\.object))
            + context.fetch(request)
        for object in candidates where !found.contains(where: { $0 === object }) {
            if try object.value(forKey: attribute.name) == value { found.append(object) }
        }
        guard found.count == 1 else {
            throw CoreError(
                .invalidArgument,
                "\(relationship.entity.name).\(relationship.name): "
                    + (found.isEmpty
                        ? "an object with the value \(value.excerpt) for \(relationship.destination.name).\(attribute.name) does "
                            + "not exist; load the object first, or correct the value"
                        : "more than one object has the value \(value.excerpt) for \(relationship.destination.name)."
                            + "\(attribute.name); name the object in the field \"\(relationship.name)\" by its @id or URI"),
                entity: relationship.entity.name,
                key: relationship.name, value: value)
        }
        return found[0]
    }
}

/// An index of a batch's objects by the values with which lines refer to them.
struct SearchIndex {
    private struct Key: Hashable {
        let entity: UInt32
        let attribute: String
    }

    private var tables: [Key: (destination: Entity, objects: [PropertyValue: [ManagedObject]])] = [:]

    /// Returns the objects that have, or had, the value.
    mutating func find(
        _ value: PropertyValue, _ attribute: String, _ destination: Entity, among objects: some Sequence<ManagedObject>
    ) throws -> [ManagedObject] {
        let key = Key(entity: destination.index, attribute: attribute)
        if tables[key] == nil {
            tables[key] = (destination, [:])
            for object in objects { try note(object, key) }
        }
        return tables[key]?.objects[value] ?? []
    }

    mutating func note(_ object: ManagedObject) throws {
        for key in tables.keys { try note(object, key) }
    }

    private mutating func note(_ object: ManagedObject, _ key: Key) throws {
        guard let destination = tables[key]?.destination, object.objectID.entity.isKind(of: destination) else { return }
        tables[key]?.objects[try object.value(forKey: key.attribute), default: []].append(object)
    }

    mutating func removeAll() { tables = [:] }
}
