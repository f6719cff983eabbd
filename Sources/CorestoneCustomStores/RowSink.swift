import CorestoneGraph
import CorestoneModel
import CorestoneValues

/// The receiver of the rows that the application pushes during a callback. It converts the rows to records.
///
/// Only the thread of the callback may use it.
package final class RowSink {
    enum Purpose {
        case fetch(StoreFetch)
        /// The requested rows of an entity tree, by key.
        case values(root: Entity, wanted: Set<Int64>)
        case members(Relationship, owners: [Int64])
        /// The rows that a save writes, by the index of the root entity and the key.
        case saved([Int: [Int64: Record]])
        case load
    }

    /// A row that was pushed.
    struct SinkRow {
        let key: Int64
        let entity: Entity
        /// The record; nil if only the reference was pushed.
        var record: Record?
    }

    let purpose: Purpose
    let names: RowNames
    /// The store, for errors.
    private let place: HostStoreIdentity
    /// The path of the store.
    package var path: String { place.path }
    private(set) var rows: [SinkRow] = []
    private(set) var writer = RecordWriter()
    /// The members of each owner, in the order of the owners.
    private(set) var members: [[Int64]] = []
    /// The members of to-many relationships that were pushed with rows.
    private(set) var embedded: [Embedded] = []
    /// The to-one relationships that rows omitted, with the indexes of the rows.
    private(set) var omitted: [(relationship: Relationship, rows: [Int])] = []
    /// The targets whose entity is unknown.
    private(set) var unresolved: [UnresolvedTarget] = []
    /// The states of the store and of the row cache when the callback began; see `CustomPersistentStore.recordStates`.
    var state: UInt64 = 0
    var rowState: UInt64 = 0
    /// The previous entities of the rows that are being pushed, to be restored if the push fails.
    private var replacedEntities: [(key: Int64, root: Entity, before: RowNames.RecordedEntity?)] = []
    /// Whether a row was pushed with a version.
    private(set) var hasVersions = false

    struct Embedded {
        /// The index of the owner's row.
        let row: Int
        let relationship: Relationship
        let owner: Int64
        let members: [Int64]
    }

    struct UnresolvedTarget {
        let row: Int
        let slot: Int
        let key: Int64
        let destination: Entity
    }

    init(_ purpose: Purpose, _ names: RowNames, _ place: HostStoreIdentity) {
        (self.purpose, self.names, self.place) = (purpose, names, place)
        if case .members(_, let owners) = purpose { members = Array(repeating: [], count: owners.count) }
    }

    /// A function that returns the version of a row that was pushed without a version.
    var versionOf: (_ key: Int64, _ root: Entity) -> Int32 = { _, _ in 0 }

    // MARK: Pushing

    /// Whether a row that a save returned was rejected.
    private(set) var hasRefused = false

    /// Runs `body`, which pushes rows.
    ///
    /// In a save, an invalid row does not cause an error, because the application may already have written the save.
    /// The error is logged, and the rows of the save are read again.
    package func pushing(_ body: () throws -> Void) throws {
        guard case .saved = purpose else { return try body() }
        do { try body() } catch { refuse(error) }
    }

    func refuse(_ error: any Error) {
        hasRefused = true
        DebugLog.write(
            "CoreData: warning: \(place.displayName) saved, but returned an invalid row, so the saved rows are read again: "
                + "\((error as? CoreError)?.message ?? "\(error)")")
    }

    /// Pushes all rows. If a row is invalid, no row is pushed; in a save, the valid rows are pushed.
    package func push(_ pushed: [PushedRow]) throws {
        if case .saved = purpose {
            for row in pushed { try pushing { try pushAll([row]) } }
            return
        }
        try pushAll(pushed)
    }

    private func pushAll(_ pushed: [PushedRow]) throws {
        let state = (rows.count, embedded.count, unresolved.count, omitted.map(\.rows.count))
        replacedEntities.removeAll(keepingCapacity: true)
        do { for row in pushed { try add(row) } } catch {
            for each in replacedEntities.reversed() { names.restore(each.key, each.root, each.before) }
            rows.removeLast(rows.count - state.0)
            embedded.removeLast(embedded.count - state.1)
            unresolved.removeLast(unresolved.count - state.2)
            omitted.removeLast(omitted.count - state.3.count)
            for (place, count) in state.3.enumerated() {
                omitted[place].rows.removeLast(omitted[place].rows.count - count)
            }
            throw error
        }
    }

    /// Appends members of an owner, in order.
    package func push(_ pushed: [PushedRow], ofOwner owner: Int) throws {
        guard case .members(let relationship, _) = purpose else {
            throw refusal(
                "cannot push members in a callback that returns rows; push rows with cst_row_sink_push",
                relationship: nil)
        }
        guard members.indices.contains(owner) else {
            throw refusal(
                "the owner index for \(relationship.entity.name).\(relationship.name) is \(owner), but must be "
                    + (members.count == 1 ? "0" : "0 to \(members.count - 1)"),
                relationship: relationship, value: .int(Int64(owner)))
        }
        if !relationship.isToMany, members[owner].count + pushed.count > 1 {
            throw refusal(
                "\(relationship.entity.name).\(relationship.name) is to-one, but \(members[owner].count + pushed.count) rows were "
                    + "pushed for one owner; push at most one", relationship: relationship,
                value: .int(Int64(members[owner].count + pushed.count)))
        }
        let before = rows.count
        try push(pushed)
        members[owner] += rows[before...].map(\.key)
    }

    private func refusal(_ problem: String, relationship: Relationship?, value: PropertyValue? = nil) -> CoreError {
        CoreError(
            .invalidArgument, code: .persistentStoreOperation, "\(place.displayName): \(problem)",
            entity: relationship?.entity.name, key: relationship?.name, value: value, file: place.file)
    }

    private func refused(
        _ row: PushedRow, _ entity: Entity?, _ problem: String, key: String? = nil, value: PropertyValue? = nil
    ) -> CoreError {
        CoreError(
            .invalidArgument, code: .persistentStoreOperation,
            "\(place.displayName) cannot push \(entity?.name ?? "row") \(row.reference): \(problem)",
            entity: entity?.name, key: key, value: value ?? row.reference.value, file: place.file)
    }

    private func add(_ row: PushedRow) throws {
        let entity = try entity(of: row)
        let key = names.table.key(of: row.reference, entity.root)
        guard 0...Int64(Int32.max) ~= row.version else {
            throw refused(
                row, entity, "its version is \(row.version), but must be 0 to \(Int32.max)",
                key: "version", value: .int(Int64(row.version)))
        }
        if row.version > 0 { hasVersions = true }
        var base: Record?
        switch purpose {
        case .values(_, let wanted) where !wanted.contains(key):
            throw refused(row, entity, "it was not requested; push only the requested rows")
        case .saved(let saved):
            base = saved[Int(entity.rootIndex)]?[key]
            if base == nil {
                throw refused(row, entity, "this save does not insert or update it; push only rows of the save")
            }
        default: break
        }
        let known = names.recordedEntity(key, entity)
        if let before = names.note(entity, key) {
            throw refused(
                row, entity,
                "its reference already identifies an object of \(before.name); make references unique in the entity tree, for "
                    + "example by including the name of the entity")
        }
        if known?.isCertain != true { replacedEntities.append((key, entity, known)) }
        if row.values.isEmpty, mayBeReference {
            rows.append(SinkRow(key: key, entity: entity))
            return
        }
        let version = row.version == 0 ? versionOf(key, entity) : Int32(row.version)
        try write(row, key, entity, base?.version ?? version, base, row.version > 0 ? version : nil)
    }

    private var mayBeReference: Bool {
        switch purpose {
        case .fetch, .members: true
        default: false
        }
    }

    private func entity(of row: PushedRow) throws -> Entity {
        let (wanted, isExact): (Entity?, Bool)
        switch purpose {
        case .fetch(let fetch): (wanted, isExact) = (fetch.entity, true)
        case .values(let root, _): (wanted, isExact) = (root, true)
        case .members(let relationship, _): (wanted, isExact) = (relationship.destination, true)
        case .saved, .load: (wanted, isExact) = (nil, false)
        }
        guard let entity = row.entity ?? wanted.map({ recordedEntity(row, $0) }) else {
            throw refused(row, nil, "its entity is missing; pass an entity with each row", key: "entity")
        }
        guard isOwn(entity) else {
            throw refused(
                row, entity, "\(entity.name) belongs to another model; pass an entity of the store's model",
                key: "entity")
        }
        if entity.isAbstract {
            throw refused(
                row, entity, "\(entity.name) is abstract; pass the subentity of the row", key: "entity")
        }
        if isExact, let wanted, !entity.isKind(of: wanted) {
            throw refused(
                row, entity,
                "\(wanted.name) was requested, but \(entity.name) does not inherit from it; push a row of \(wanted.name)",
                key: "entity")
        }
        return entity
    }

    private func isOwn(_ entity: Entity) -> Bool {
        Int(entity.index) < names.model.entities.count && names.model.entities[Int(entity.index)] === entity
    }

    private func recordedEntity(_ row: PushedRow, _ wanted: Entity) -> Entity {
        names.entity(of: names.table.key(of: row.reference, wanted.root), wanted) ?? wanted
    }

    // MARK: Records

    /// Writes a pushed row as a record.
    ///
    /// - Parameters:
    ///   - base: The record that the save writes; nil outside a save. It supplies values that the application did not
    ///     push.
    ///   - own: The version that the application pushed; nil if it did not push one.
    private func write(
        _ row: PushedRow, _ key: Int64, _ entity: Entity, _ version: Int32, _ base: Record?, _ own: Int32?
    ) throws {
        writer.begin(primaryKey: key, version: own ?? version, entity: entity)
        var seen: Set<Int> = []
        do {
            for (name, value, target) in row.values {
                let slot = Int(name & (1 << Entity.slotBits - 1))
                // Properties that the entity does not have are ignored.
                guard slot < Int(entity.slotCount), entity.slotKeys[slot] == name else { continue }
                guard seen.insert(slot).inserted else {
                    let property = entity.properties[slot].path
                    throw CoreError(
                        .invalidArgument, code: .persistentStoreOperation,
                        "it has \"\(property)\" twice; set each property once", entity: entity.name, key: property,
                        value: value)
                }
                try set(value, target, slot, entity, key, &seen)
            }
        } catch let error as CoreError {
            throw error.within("\(place.displayName) cannot push \(entity.name) \(row.reference)", file: place.file)
        }
        for slot in 0..<Int(entity.slotCount) where !seen.contains(slot) {
            let layout = entity.layout.slots[slot]
            if let base {
                if layout.kind != .none { writer.set(base.view(slot, layout), slot, layout) }
            } else if layout.kind == .toOne {
                omit(entity.relationship(slot))
            }
        }
        if base == nil { writeDefaults(of: entity, except: seen) }
        rows.append(SinkRow(key: key, entity: entity, record: writer.finish()))
    }

    /// Writes the defaults of required attributes that the application did not push.
    ///
    /// With them, an object of the row can be saved. Optional attributes stay null.
    private func writeDefaults(of entity: Entity, except seen: Set<Int>) {
        for (slot, value) in entity.defaults where !seen.contains(Int(slot)) {
            let layout = entity.layout.slots[Int(slot)]
            guard layout.kind != .none, !entity.attribute(Int(slot)).isOptional else { continue }
            writer.set(ValueView(value), Int(slot), layout)
            withExtendedLifetime(value) {}
        }
    }

    private func omit(_ relationship: Relationship) {
        if case .load = purpose { return }
        if let known = omitted.firstIndex(where: { $0.relationship === relationship }) {
            omitted[known].rows.append(rows.count)
        } else {
            omitted.append((relationship, [rows.count]))
        }
    }

    private func set(
        _ value: PropertyValue, _ target: Entity?, _ slot: Int, _ entity: Entity, _ key: Int64, _ seen: inout Set<Int>
    ) throws {
        let layout = entity.layout.slots[slot]
        switch layout.role {
        case .transient: return
        case .composite:
            guard case .dictionary(let elements) = value else { return }
            for (name, element) in elements {
                guard let part = entity.property(named: "\(entity.properties[slot].path).\(name)") as? Attribute,
                    seen.insert(Int(part.slot)).inserted
                else { continue }
                try set(element, nil, Int(part.slot), entity, key, &seen)
            }
        case .attribute, .external:
            if layout.kind == .none { return }
            let accepted = try entity.attribute(slot).accept(value, for: entity)
            writer.set(ValueView(accepted), slot, layout)
            withExtendedLifetime(accepted) {}
        case .toOne:
            let relationship = entity.relationship(slot)
            guard layout.kind == .toOne, let found = try resolvedTarget(value, target, relationship) else { return }
            if found.isGuess {
                unresolved.append(
                    UnresolvedTarget(row: rows.count, slot: slot, key: found.key, destination: relationship.destination)
                )
            }
            writer.setTarget(found.key, entity: found.entity.index, slot, layout)
        case .toMany:
            let relationship = entity.relationship(slot)
            let elements: [PropertyValue]
            switch value {
            case .array(let values): elements = values
            case .set(let values): elements = Array(values)
            case .null: elements = []
            default: throw mismatch(value, relationship)
            }
            var seen: Set<Int64> = []
            let keys = try elements.compactMap { element -> Int64? in
                guard let found = try resolvedTarget(element, nil, relationship, isElement: true) else {
                    throw mismatch(element, relationship, isElement: true)
                }
                // A repeated member is kept only at its first position.
                return seen.insert(found.key).inserted ? found.key : nil
            }
            embedded.append(Embedded(row: rows.count, relationship: relationship, owner: key, members: keys))
        }
    }

    /// Returns the target of a relationship's value; nil for null.
    private func resolvedTarget(
        _ value: PropertyValue, _ named: Entity?, _ relationship: Relationship, isElement: Bool = false
    ) throws -> (key: Int64, entity: Entity, isGuess: Bool)? {
        let destination = relationship.destination
        var entity = named
        var uri: String?
        let key: Int64
        switch value {
        case .null: return nil
        case .object(let object as ObjectIDReference):
            guard let store = object.id.store, store.identifier == place.identifier,
                let found = object.id.storeReference,
                let own = names.model.entity(named: object.id.entity.name)
            else {
                throw CoreError(
                    .invalidArgument, code: .managedObjectExternalRelationship,
                    "\(relationship.entity.name).\(relationship.name) cannot refer to \(object.id.uri), which is not a saved object of "
                        + "\(place.displayName); set a reference or a permanent ID of this store",
                    entity: relationship.entity.name,
                    key: relationship.name, value: value, objectURI: object.id.uri, file: place.file)
            }
            entity = own
            uri = object.id.uri
            key = names.table.key(of: found, own.root)
        default:
            guard let reference = StoreReference(value) else {
                throw mismatch(value, relationship, isElement: isElement)
            }
            key = names.table.key(of: reference, destination.root)
        }
        if let entity {
            guard isOwn(entity) else {
                throw CoreError(
                    .invalidArgument, code: .persistentStoreOperation,
                    "\(relationship.entity.name).\(relationship.name) cannot refer to \(entity.name) of another model; "
                        + "pass an entity of the store's model", entity: relationship.entity.name,
                    key: relationship.name, value: value, objectURI: uri, file: place.file)
            }
            guard entity.isKind(of: destination) else {
                throw CoreError(
                    .invalidArgument, code: .persistentStoreOperation,
                    "\(relationship.entity.name).\(relationship.name) takes \(destination.name), but \(entity.name) does not inherit "
                        + "from it", entity: relationship.entity.name, key: relationship.name, value: value,
                    objectURI: uri, file: place.file)
            }
            if !entity.isAbstract { names.assume(entity, key) }
        }
        if let known = names.entity(of: key, destination), known.isKind(of: destination) { return (key, known, false) }
        return (key, entity ?? destination, !(entity ?? destination).withDescendants.dropFirst().isEmpty)
    }

    private func mismatch(
        _ value: PropertyValue, _ relationship: Relationship, isElement: Bool = false
    ) -> CoreError {
        let found: String
        switch value {
        case .text(let text) where text.count == 0: found = "an empty string"
        case .bytes(let bytes) where bytes.count == 0: found = "empty binary data"
        default: found = value.kindPhrase
        }
        return CoreError(
            .typeMismatch, code: .persistentStoreOperation,
            "\(relationship.entity.name).\(relationship.name) is \(relationship.isToMany ? "to-many" : "to-one") and takes "
                + "\(relationship.isToMany ? "a list of references" : "a reference"), not "
                + (isElement ? "a list with \(found)" : found),
            entity: relationship.entity.name, key: relationship.name, value: value, file: place.file)
    }

    // MARK: After the callback

    /// Returns the indexes of incomplete rows.
    ///
    /// Such a row has a target of an unknown entity, or an omitted to-one relationship that the application can return.
    func unfinished(readsRelationships: Bool) -> Set<Int> {
        var rows = Set(unresolved.filter { !names.isCertain($0.key, $0.destination) }.map(\.row))
        if readsRelationships { for each in omitted { rows.formUnion(each.rows) } }
        return rows
    }

    /// Sets an omitted to-one relationship of rows.
    func setTargets(_ relationship: Relationship, _ targets: [(row: Int, key: Int64, entity: Entity)]) {
        for (row, key, entity) in targets {
            guard let record = rows[row].record else { continue }
            let slot = Int(relationship.slot)
            writer.begin(copying: record, version: record.version)
            writer.setTarget(key, entity: entity.index, slot, rows[row].entity.layout.slots[slot])
            rows[row].record = writer.finish()
        }
    }

    /// Sets the entities of targets that have become known.
    func resolveTargets() {
        for guess in unresolved {
            guard let record = rows[guess.row].record, let entity = names.entity(of: guess.key, guess.destination),
                entity.isKind(of: guess.destination)
            else { continue }
            record.replaceTarget(
                guess.key, entity: entity.index, rows[guess.row].entity.layout.slots[guess.slot])
        }
    }
}

/// The type, path and identifier of a custom store, for errors.
final class HostStoreIdentity: Sendable {
    let type: StoreType
    let identifier: String
    private let location: Locked<String>

    init(type: StoreType, path: String, identifier: String) {
        (self.type, self.identifier) = (type, identifier)
        location = Locked(path)
    }

    var path: String { location.withLock { $0 } }

    /// The path for messages, or a phrase for an empty path.
    var displayName: String { HostStoreIdentity.displayName(path) }
    /// The type and the path for messages, as in "the Shelf store notes.shelf".
    var subject: String { "the \(type.rawValue) store \(path.isEmpty ? "without a path" : path)" }
    /// The file of an error; nil for a store without a path.
    var file: String? { path.isEmpty ? nil : path }

    static func displayName(_ path: String) -> String { path.isEmpty ? "a store without a path" : path }

    func move(to path: String) { location.withLock { $0 = path } }
}
