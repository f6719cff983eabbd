import CorestoneGraph
import CorestoneModel
import CorestoneValues

/// The changes of a save, as they are passed to a custom store.
package final class HostChanges {
    package struct Update {
        package let record: Record
        package let entity: Entity
        package let oldVersion: Int32
        /// The slots that changed.
        package let slots: [Int]
    }

    package struct Version {
        package let row: RowReference
        package let version: Int32
    }

    package fileprivate(set) var inserted: [(record: Record, entity: Entity)] = []
    package fileprivate(set) var updated: [Update] = []
    package fileprivate(set) var deleted: [Version] = []
    package fileprivate(set) var locked: [Version] = []
    package fileprivate(set) var metadata: StoreMetadata?
    package let author: SaveAuthor
    let names: RowNames
    /// The store, for errors; nil in tests.
    let place: HostStoreIdentity?
    /// The memory chunks that contain the records.
    private var chunks: [ObjectIdentifier: RecordChunk] = [:]
    private var deletedKeys: [Set<Int64>]
    private var members: [MemberKey: Members] = [:]
    private var memberOrder: [MemberKey] = []
    /// The content of an atomic store with the changes, during the save; otherwise nil.
    var content: (any StoreReading)?
    /// The conflicts that the application reported.
    package private(set) var conflicts: [(kind: RowConflict, row: RowReference)] = []

    private struct MemberKey: Hashable {
        let relationship: UInt32
        let owner: Int64
    }

    private struct Members {
        let relationship: Relationship
        var added: [Int64] = []
        var removed: [Int64] = []
        var known: Set<Int64> = []
        var all: [Int64]?
    }

    init(_ author: SaveAuthor, _ names: RowNames, _ place: HostStoreIdentity? = nil) {
        (self.author, self.names, self.place) = (author, names, place)
        deletedKeys = Array(repeating: [], count: names.model.entities.count)
    }

    /// The primary keys of the rows of this save, by the index of the root entity. They are computed at the first use,
    /// when all rows are known.
    private lazy var savedKeys: [UInt32: Set<Int64>] = {
        var keys: [UInt32: Set<Int64>] = [:]
        for row in inserted { keys[row.entity.rootIndex, default: []].insert(row.record.primaryKey) }
        for row in updated { keys[row.entity.rootIndex, default: []].insert(row.record.primaryKey) }
        for row in deleted + locked { keys[row.row.entity.rootIndex, default: []].insert(key(of: row.row)) }
        return keys
    }()

    package func addConflict(_ kind: RowConflict, _ row: RowReference) throws {
        let key = names.table.key(of: row.reference, row.entity.root)
        guard savedKeys[row.entity.rootIndex]?.contains(key) == true else {
            throw CoreError(
                .invalidArgument, code: .persistentStoreSave,
                "\(row.entity.name) \(row.reference) is not a row of this save; report conflicts only for rows of "
                    + "the save",
                entity: row.entity.name, key: "row", value: row.reference.value, file: place?.file)
        }
        conflicts.append((kind, row))
    }

    /// The changes of to-many relationships, except for relationships of deleted owners.
    package var memberChanges: [MemberChange] {
        memberOrder.compactMap { key in
            guard let found = members[key] else { return nil }
            let root = Int(found.relationship.entity.rootIndex)
            if deletedKeys[root].contains(key.owner) { return nil }
            let gone = deletedKeys[Int(found.relationship.destination.rootIndex)]
            func rows(_ keys: [Int64]) -> [RowReference] { keys.map { names.row($0, found.relationship.destination) } }
            var change = MemberChange(
                owner: names.row(key.owner, found.relationship.entity), relationship: found.relationship)
            change.added = rows(found.added.filter { !gone.contains($0) })
            change.removed = rows(found.removed)
            change.members = found.all.map(rows)
            return change
        }
    }

    /// Calls `body` with each slot of a row and a view of its value, or the target of a to-one relationship.
    package func forEachValue(
        _ record: Record, _ entity: Entity,
        _ body: (_ slot: Int, _ view: ValueView, _ target: RowReference?) throws -> Void
    ) rethrows {
        for slot in 0..<Int(entity.slotCount) {
            let layout = entity.layout.slots[slot]
            if layout.kind == .none { continue }
            if layout.kind == .toOne {
                let target = record.target(slot, layout).map {
                    names.row($0.primaryKey, names.model.entities[Int($0.entity)])
                }
                try body(slot, .null, target)
            } else {
                try body(slot, record.view(slot, layout), nil)
            }
        }
    }

    /// Returns the primary keys of all rows in `content`, entity by entity, or nil if `content` is nil.
    package func allKeys() throws -> [(entity: Entity, key: Int64)]? {
        guard let content else { return nil }
        var rows: [(entity: Entity, key: Int64)] = []
        for root in names.model.entities where root.parent == nil {
            let found = try content.fetch(StoreFetch(entity: root, result: .identifiers)).identifiers
            rows += found.map { (names.model.entities[Int($0.entity)], $0.primaryKey) }
        }
        return rows.enumerated().sorted { ($0.element.entity.index, $0.offset) < ($1.element.entity.index, $1.offset) }
            .map(\.element)
    }

    /// Calls `body` with a row from `allKeys` and the members of its to-many relationships, except for empty ones.
    package func withRow(
        _ row: (entity: Entity, key: Int64),
        _ body: (Record, _ members: [(relationship: Relationship, rows: [RowReference])]) throws -> Void
    ) throws {
        guard let (record, chunk) = try content?.row(of: row.entity.root, primaryKey: row.key) else { return }
        defer { withExtendedLifetime(chunk) {} }
        var members: [(relationship: Relationship, rows: [RowReference])] = []
        for relationship in row.entity.relationships where relationship.isToMany && !relationship.isTransient {
            let found = try content?.members(of: relationship, owners: [row.key], includingRows: false).members ?? []
            if found.isEmpty { continue }
            members.append(
                (relationship, found.map { names.row($0.primaryKey, names.model.entities[Int($0.entity)]) }))
        }
        try body(record, members)
    }

    package func row(of record: Record, _ entity: Entity) -> RowReference {
        RowReference(entity, names.table.reference(of: record.primaryKey, entity.root))
    }
}

extension HostChanges {
    private func keep(_ record: Record) {
        let chunk = record.chunk.takeUnretainedValue()
        chunks[ObjectIdentifier(chunk)] = chunk
    }

    func insert(_ records: [Record], _ entity: Entity) {
        for record in records {
            keep(record)
            inserted.append((record, entity))
            names.note(entity, record.primaryKey)
        }
    }

    func update(_ rows: [UpdatedRow], _ slots: [Int], _ entity: Entity) {
        for row in rows {
            keep(row.record)
            updated.append(Update(record: row.record, entity: entity, oldVersion: row.oldVersion, slots: slots))
        }
    }

    func delete(_ rows: [(primaryKey: Int64, version: Int32)], _ entity: Entity) {
        for row in rows {
            deletedKeys[Int(entity.rootIndex)].insert(row.primaryKey)
            deleted.append(
                Version(
                    row: RowReference(entity, names.table.reference(of: row.primaryKey, entity.root)),
                    version: row.version))
        }
    }

    func lock(_ key: Int64, _ version: Int32, _ entity: Entity) {
        locked.append(
            Version(row: RowReference(entity, names.table.reference(of: key, entity.root)), version: version))
    }

    func link(_ relationship: Relationship, _ added: [Link], _ removed: [Link]) {
        for link in removed { remove(relationship, link.owner, link.member) }
        for link in added { add(relationship, link.owner, link.member) }
        guard let inverse = relationship.inverse, inverse.isToMany else { return }
        for link in removed { remove(inverse, link.member, link.owner) }
        for link in added { add(inverse, link.member, link.owner) }
    }

    private func change(_ relationship: Relationship, _ owner: Int64, _ body: (inout Members) -> Void) {
        let key = MemberKey(relationship: relationship.key, owner: owner)
        if members[key] == nil { memberOrder.append(key) }
        body(&members[key, default: Members(relationship: relationship)])
    }

    private func add(_ relationship: Relationship, _ owner: Int64, _ member: Int64) {
        change(relationship, owner) { if $0.known.insert(member).inserted { $0.added.append(member) } }
    }

    private func remove(_ relationship: Relationship, _ owner: Int64, _ member: Int64) {
        change(relationship, owner) { if $0.known.insert(member).inserted { $0.removed.append(member) } }
    }

    func setOrder(_ relationship: Relationship, _ owners: [(owner: Int64, members: [Int64])]) {
        for (owner, keys) in owners { change(relationship, owner) { $0.all = keys } }
    }

    func setMetadata(_ metadata: StoreMetadata) { self.metadata = metadata }
}
