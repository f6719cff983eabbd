import CorestoneModel
import CorestoneValues

/// A deletion of rows by primary key, with the delete rules of their relationships.
///
/// It does not create objects, and reads at most `BatchRun.size` rows at a time.
final class BatchDeletion {
    private let run: BatchRun
    private let entities: [Entity]
    private var reader: any StoreReading { run.store.backing }
    /// The primary keys of the rows to be deleted, by the index of their root entity, in the order of their discovery.
    private var deletedKeys: [UInt32: [Int64]] = [:]
    private var marked: [UInt32: Set<Int64>] = [:]
    /// The slots of the to-one relationships that refer to rows to be deleted.
    ///
    /// The keys are the index of the root entity and the primary key of the referring row.
    private var referringSlots: [UInt32: [Int64: Set<Int>]] = [:]
    /// The primary keys of rows that are reported because a deleted row was removed from a relationship with them.
    ///
    /// The keys are grouped by the index of the root entity. The removal does not cause a write of the row.
    private var unlinkedRows: [UInt32: Set<Int64>] = [:]

    init(_ run: BatchRun) {
        self.run = run
        entities = run.context.entities
    }

    /// Marks rows for deletion, and the rows to which their delete rules cascade.
    func delete(_ keys: some Sequence<Int64>, of root: Entity) throws {
        var pending = [(root: root, keys: mark(keys, root))]
        while let (root, keys) = pending.popLast() {
            guard root.withDescendants.contains(where: { $0.relationships.contains { $0.deleteRule == .cascade } })
            else { continue }
            try forEachGroup(of: keys, root) { entity, records in
                for relationship in entity.relationships where relationship.deleteRule == .cascade {
                    for (target, keys) in try targets(of: relationship, records) {
                        pending.append((target, mark(keys, target)))
                    }
                }
            }
        }
    }

    /// Marks rows for deletion. Returns the primary keys of the rows that were not marked before.
    private func mark(_ keys: some Sequence<Int64>, _ root: Entity) -> [Int64] {
        let fresh = keys.filter { marked[root.index, default: []].insert($0).inserted }
        deletedKeys[root.index, default: []] += fresh
        return fresh
    }

    private func isMarked(_ key: Int64, _ root: Entity) -> Bool { marked[root.index]?.contains(key) == true }

    /// Deletes the marked rows, and clears the references to them that the delete rules nullify.
    func finish(_ changes: inout ExternalChanges) throws {
        for root in entities where root.parent == nil {
            try forEachGroup(of: deletedKeys[root.index] ?? [], root) { entity, records in
                for relationship in entity.relationships { try release(relationship, records) }
                let rows = records.map { (primaryKey: $0.primaryKey, version: $0.version) }
                _ = try run.transaction.delete(rows, entity: entity)
                changes.deleted += rows.map { (entity.index, $0.primaryKey) }
            }
        }
        try clear(&changes)
        try note(&changes)
    }

    /// Removes the join rows of deleted objects for one relationship, and collects rows that refer to a deleted row.
    ///
    /// Throws if the delete rule is `deny` and a related row would remain, or if a reference to be cleared is required.
    private func release(_ relationship: Relationship, _ records: [Record]) throws {
        if relationship.isTransient { return }
        let rule = relationship.deleteRule
        if relationship.ownsJoinRows || relationship.isToMany && relationship.inverse?.isToMany == true {
            let pairs = try members(of: relationship, records)
            if rule == .deny { try deny(relationship, pairs.map(\.primaryKey)) }
            let links = pairs.map { Link(owner: $0.owner, member: $0.primaryKey) }
            if !links.isEmpty { try run.transaction.link(relationship, added: [], removed: links) }
            unlinkedRows[relationship.destination.rootIndex, default: []].formUnion(pairs.lazy.map(\.primaryKey))
            return
        }
        let inverse = relationship.inverse
        let isMember = inverse?.isToMany == true
        if rule == .noAction && !isMember || inverse == nil && rule != .deny { return }
        for (root, keys) in try targets(of: relationship, records) {
            let left = keys.filter { !isMarked($0, root) }
            if rule == .deny { try deny(relationship, left) }
            if isMember { unlinkedRows[root.index, default: []].formUnion(left) }
            guard let inverse, !isMember else { continue }
            if !inverse.isOptional, let key = left.first {
                throw try requiredReferenceError(inverse, of: relationship, key)
            }
            for key in left { referringSlots[root.index, default: [:]][key, default: []].insert(Int(inverse.slot)) }
        }
    }

    private func requiredReferenceError(
        _ inverse: Relationship, of relationship: Relationship, _ key: Int64
    ) throws -> CoreError {
        let uri = try uri(of: key, inverse.entity)
        return CoreError(
            .validation, code: .validationMissingMandatoryProperty,
            "cannot delete \(inverse.destination.name) rows to which the required "
                + "\(inverse.entity.name).\(inverse.name) of \(uri) refers; delete the \(inverse.entity.name) rows "
                + "first with cst_context_delete (delete), or set the delete rule of "
                + "\(relationship.entity.name).\(relationship.name) to cascade",
            entity: inverse.entity.name,
            key: inverse.name, objectURI: uri, file: run.store.path)
    }

    /// Returns the URI of a row of an entity or its subentities.
    private func uri(of key: Int64, _ entity: Entity) throws -> String {
        var owner = entity
        try forEachGroup(of: [key], entity.root) { found, _ in owner = found }
        return ObjectID(store: run.store, entity: owner, reference: key).uri
    }

    private func deny(_ relationship: Relationship, _ keys: [Int64]) throws {
        guard let key = keys.first(where: { !isMarked($0, relationship.destination.root) }) else { return }
        let uri = try uri(of: key, relationship.destination)
        throw CoreError(
            .validation, code: .validationRelationshipDeniedDelete,
            "cannot delete \(relationship.entity.name) rows: \(relationship.entity.name).\(relationship.name) has the "
                + "delete rule deny and refers to \(uri); delete the \(relationship.destination.name) rows with "
                + "cst_context_delete (delete), or clear \(relationship.entity.name).\(relationship.name) first",
            entity: relationship.entity.name,
            key: relationship.name, objectURI: uri, file: run.store.path)
    }

    /// Clears the to-one references to deleted rows that the delete rules nullify.
    private func clear(_ changes: inout ExternalChanges) throws {
        for root in entities where root.parent == nil {
            guard let slots = referringSlots[root.index] else { continue }
            try forEachGroup(of: slots.keys.sorted(), root) { entity, records in
                let groups = Dictionary(grouping: records) { slots[$0.primaryKey]?.sorted() ?? [] }
                for (slots, records) in groups {
                    var writer = RecordWriter()
                    var rows: [UpdatedRow] = []
                    for record in records {
                        writer.begin(copying: record, version: RowVersion.next(record.version))
                        // In an inconsistent store, the row can refer to another row.
                        for slot in slots where refersToMarked(record, slot, entity) { writer.clear(slot) }
                        rows.append(UpdatedRow(record: writer.finish(), oldVersion: record.version))
                    }
                    _ = try run.transaction.update(rows, slots: slots, entity: entity)
                    changes.indirect += rows.map { (entity.index, $0.record.primaryKey) }
                }
            }
        }
    }

    /// Adds to `changes` the rows of `unlinkedRows` whose own values did not change.
    private func note(_ changes: inout ExternalChanges) throws {
        for root in entities where root.parent == nil {
            let keys = unlinkedRows[root.index, default: []].filter {
                !isMarked($0, root) && referringSlots[root.index]?[$0] == nil
            }
            try forEachGroup(of: keys.sorted(), root) { entity, records in
                changes.indirect += records.map { (entity.index, $0.primaryKey) }
            }
        }
    }

    private func refersToMarked(_ record: Record, _ slot: Int, _ entity: Entity) -> Bool {
        guard let target = record.target(slot, entity.layout.slots[slot]) else { return false }
        return isMarked(target.primaryKey, entities[Int(target.entity)].root)
    }

    // MARK: Reading

    /// Calls `body` with the rows of each entity, at most `BatchRun.size` at a time. Missing rows are skipped.
    private func forEachGroup(
        of keys: [Int64], _ root: Entity, _ body: (Entity, [Record]) throws -> Void
    ) throws {
        for start in stride(from: 0, to: keys.count, by: BatchRun.size) {
            try run.checkCancelled()
            let part = Array(keys[start..<min(start + BatchRun.size, keys.count)])
            let batch = try reader.rows(of: root, primaryKeys: part)
            try withExtendedLifetime(batch.chunks) {
                for (index, records) in Dictionary(grouping: batch.records, by: { $0.header.pointee.entity }) {
                    try body(entities[Int(index)], records.sorted { $0.primaryKey < $1.primaryKey })
                }
            }
        }
    }

    private func members(of relationship: Relationship, _ records: [Record]) throws -> [StoreMembers.Member] {
        try reader.members(of: relationship, owners: records.map(\.primaryKey), includingRows: false).members
    }

    /// Returns the primary keys of the targets of a relationship, with their root entity.
    private func targets(of relationship: Relationship, _ records: [Record]) throws -> [(root: Entity, keys: [Int64])] {
        if relationship.isTransient { return [] }
        let root = relationship.destination.root
        if relationship.isToMany { return [(root, try members(of: relationship, records).map(\.primaryKey))] }
        return [
            (
                root,
                records.compactMap { record in
                    let entity = entities[Int(record.header.pointee.entity)]
                    let slot = Int(relationship.slot)
                    return record.target(slot, entity.layout.slots[slot])?.primaryKey
                }
            )
        ]
    }
}
