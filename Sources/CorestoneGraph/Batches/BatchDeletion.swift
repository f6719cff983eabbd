import CorestoneModel
import CorestoneValues

/// Deletes rows and applies delete rules, by keys alone: no objects are made, and no more rows are in memory at a time than fit.
final class BatchDeletion {
    private let run: BatchRun
    private let entities: [Entity]
    private var reader: any StoreReading { run.store.backing }
    /// By the index of a tree's root: keys of rows that go, in the order in which they were found.
    private var doomed: [UInt32: [Int64]] = [:]
    private var known: [UInt32: Set<Int64>] = [:]
    /// By the index of a tree's root and key: the to-one relationships, by slot, that lead to rows that go.
    private var leading: [UInt32: [Int64: Set<Int>]] = [:]
    /// By the index of a tree's root: keys of rows whose to-many relationships lose members. Nothing is written of that.
    private var losing: [UInt32: Set<Int64>] = [:]

    init(_ run: BatchRun) {
        self.run = run
        entities = run.context.entities
    }

    /// Adds rows, and all that delete rules take along.
    func delete(_ keys: some Sequence<Int64>, of root: Entity) throws {
        var waiting = [(root: root, keys: doom(keys, root))]
        while let (root, keys) = waiting.popLast() {
            guard root.withDescendants.contains(where: { $0.relationships.contains { $0.deleteRule == .cascade } })
            else { continue }
            try forEachGroup(of: keys, root) { entity, records in
                for relationship in entity.relationships where relationship.deleteRule == .cascade {
                    for (target, keys) in try targets(of: relationship, records) {
                        waiting.append((target, doom(keys, target)))
                    }
                }
            }
        }
    }

    /// Notes rows as those that go. Returns those that were not noted before.
    private func doom(_ keys: some Sequence<Int64>, _ root: Entity) -> [Int64] {
        let fresh = keys.filter { known[root.index, default: []].insert($0).inserted }
        doomed[root.index, default: []] += fresh
        return fresh
    }

    private func isDoomed(_ key: Int64, _ root: Entity) -> Bool { known[root.index]?.contains(key) == true }

    /// Deletes what was added, and ends what leads to it.
    func finish(_ changes: inout ForeignChanges) throws {
        for root in entities where root.parent == nil {
            try forEachGroup(of: doomed[root.index] ?? [], root) { entity, records in
                for relationship in entity.relationships { try release(relationship, records) }
                let rows = records.map { (primaryKey: $0.primaryKey, version: $0.version) }
                _ = try run.transaction.delete(rows, entity: entity)
                changes.deleted += rows.map { (entity.index, $0.primaryKey) }
            }
        }
        try clear(&changes)
        try note(&changes)
    }

    /// What leads back to rows that are about to go.
    private func release(_ relationship: Relationship, _ records: [Record]) throws {
        if relationship.isTransient { return }
        let rule = relationship.deleteRule
        if relationship.tellsPairs || relationship.isToMany && relationship.inverse?.isToMany == true {
            let pairs = try members(of: relationship, records)
            if rule == .deny { try deny(relationship, pairs.map(\.primaryKey)) }
            let links = pairs.map { Link(owner: $0.owner, member: $0.primaryKey) }
            if !links.isEmpty { try run.transaction.link(relationship, added: [], removed: links) }
            losing[relationship.destination.rootIndex, default: []].formUnion(pairs.lazy.map(\.primaryKey))
            return
        }
        let inverse = relationship.inverse
        let isMember = inverse?.isToMany == true
        if rule == .noAction && !isMember || inverse == nil && rule != .deny { return }
        for (root, keys) in try targets(of: relationship, records) {
            let left = keys.filter { !isDoomed($0, root) }
            if rule == .deny { try deny(relationship, left) }
            if isMember { losing[root.index, default: []].formUnion(left) }
            guard let inverse, !isMember else { continue }
            if !inverse.isOptional, let key = left.first { throw isRequired(inverse, key) }
            for key in left { leading[root.index, default: [:]][key, default: []].insert(Int(inverse.slot)) }
        }
    }

    private func isRequired(_ inverse: Relationship, _ key: Int64) -> CoreError {
        let uri = ObjectID(store: run.store, entity: inverse.entity, reference: key).uri
        return CoreError(
            .validation, code: .validationMissingMandatoryProperty,
            "cannot delete rows to which the required \(inverse.entity.name).\(inverse.name) of \(uri) refers; delete or "
                + "reassign the \(inverse.entity.name) rows first, or use the delete rule cascade",
            entity: inverse.entity.name,
            key: inverse.name, objectURI: uri, file: run.store.path)
    }

    private func deny(_ relationship: Relationship, _ keys: [Int64]) throws {
        guard let key = keys.first(where: { !isDoomed($0, relationship.destination.root) }) else { return }
        let uri = ObjectID(store: run.store, entity: relationship.destination, reference: key).uri
        throw CoreError(
            .validation, code: .validationRelationshipDeniedDelete,
            "cannot delete \(relationship.entity.name) rows: \(relationship.entity.name).\(relationship.name) has the delete "
                + "rule deny and refers to \(uri); delete or reassign such \(relationship.destination.name) rows first",
            entity: relationship.entity.name,
            key: relationship.name, objectURI: uri, file: run.store.path)
    }

    /// Sets to nothing what led to rows that went.
    private func clear(_ changes: inout ForeignChanges) throws {
        for root in entities where root.parent == nil {
            guard let slots = leading[root.index] else { continue }
            try forEachGroup(of: slots.keys.sorted(), root) { entity, records in
                let groups = Dictionary(grouping: records) { slots[$0.primaryKey]?.sorted() ?? [] }
                for (slots, records) in groups {
                    var writer = RecordWriter()
                    var rows: [UpdatedRow] = []
                    for record in records {
                        writer.begin(copying: record, version: RowVersion.next(record.version))
                        // The row leads elsewhere by now where the store contradicts itself.
                        for slot in slots where leadsToDoomed(record, slot, entity) { writer.clear(slot) }
                        rows.append(UpdatedRow(record: writer.finish(), oldVersion: record.version))
                    }
                    _ = try run.transaction.update(rows, slots: slots, entity: entity)
                    changes.indirect += rows.map { (entity.index, $0.record.primaryKey) }
                }
            }
        }
    }

    /// Tells of the rows that lost members, whose contents are what they were.
    private func note(_ changes: inout ForeignChanges) throws {
        for root in entities where root.parent == nil {
            let keys = losing[root.index, default: []].filter {
                !isDoomed($0, root) && leading[root.index]?[$0] == nil
            }
            try forEachGroup(of: keys.sorted(), root) { entity, records in
                changes.indirect += records.map { (entity.index, $0.primaryKey) }
            }
        }
    }

    private func leadsToDoomed(_ record: Record, _ slot: Int, _ entity: Entity) -> Bool {
        guard let target = record.target(slot, entity.layout.slots[slot]) else { return false }
        return isDoomed(target.primaryKey, entities[Int(target.entity)].root)
    }

    // MARK: Reading

    /// Hands `body` rows by entity, a few at a time; those that are not there are left out.
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

    /// The keys that a relationship of some rows leads to, by the root of their tree.
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
