import CorestoneGraph
import CorestoneModel
import CorestoneValues

/// A custom store for the scenarios of incremental stores: rows in dictionaries, and call counters.
///
/// A row contains attributes and to-one targets, and may omit others: for each omitted to-one relationship, the store
/// counts another call when the row is read, as Core Data calls an incremental store.
final class TestStore: PersistentStore, SaveTransaction, @unchecked Sendable {
    struct Row {
        let entity: Entity
        var version: Int32 = 1
        var attributes: [String: PropertyValue] = [:]
        /// Keys of targets. A nil key means that the relationship is null; a missing one, that it is omitted.
        var targets: [String: Int64?] = [:]
        var members: [String: [Int64]] = [:]
    }

    /// By the name of the root entity and the primary key.
    var rows: [String: [Int64: Row]] = [:]
    let type = StoreType(rawValue: "Test")
    let identifier: String
    let path = "test store"
    let isReadOnly = false
    var abilities: StoreAbilities = [.emptySaves]
    /// The calls in order.
    ///
    /// These are "fetch", "newValues", "newValue manager", "obtainPermanentIDs", "save 1 0 0", and "didRegister
    /// permanent" if the store has the ability to observe registrations.
    var log: [String] = []

    private(set) var fetchRequests = 0
    private(set) var saveRequests = 0
    /// The number of rows that were read by their key.
    private(set) var newValues = 0
    private(set) var relationshipCalls = 0
    private(set) var obtainPermanentIDs = 0
    private(set) var lastSave = (inserted: 0, updated: 0, deleted: 0)
    /// Fetches return every row of the entity, and claim that the predicate and the order were applied.
    var ignoresPredicateAndOrder = false
    /// The error of the next save, thrown before anything is written.
    var saveFailure: CoreError?
    private let model: Model
    private var lastKeys: [String: Int64] = [:]

    init(model: Model, identifier: String = "00000000-0000-0000-0000-0000000000C0") {
        self.model = model
        self.identifier = identifier
    }

    /// Adds a row to the store directly.
    func add(
        _ entityName: String, _ key: Int64, _ attributes: [String: PropertyValue] = [:],
        targets: [String: Int64?] = [:],
        members: [String: [Int64]] = [:]
    ) throws {
        let entity = try model.requireEntity(named: entityName)
        rows[entity.root.name, default: [:]][key] = Row(
            entity: entity, attributes: attributes, targets: targets, members: members)
        lastKeys[entity.root.name] = max(key, lastKeys[entity.root.name] ?? 0)
    }

    // MARK: Reading

    func fetch(_ fetch: StoreFetch) throws -> StoreFetchOutcome {
        fetchRequests += 1
        log.append("fetch")
        var outcome = StoreFetchOutcome()
        if !ignoresPredicateAndOrder {
            outcome.remainder = FetchRemainder(predicate: fetch.predicate, isUnordered: true)
        }
        let found = (rows[fetch.entity.root.name] ?? [:]).filter { _, row in
            fetch.includesSubentities ? row.entity.isKind(of: fetch.entity) : row.entity === fetch.entity
        }
        outcome.batch = batch(fetch.entity.root, found.keys.sorted())
        return outcome
    }

    func rows(of root: Entity, primaryKeys: [Int64]) throws -> RowBatch {
        newValues += primaryKeys.count
        for key in primaryKeys {
            log.append("newValues")
            guard let row = rows[root.name]?[key] else { continue }
            // Omitted relationships are requested.
            let omitted = row.entity.relationships.filter { !$0.isToMany && row.targets[$0.name] == nil }
            relationshipCalls += omitted.count
            for relationship in omitted {
                log.append("newValue \(relationship.name)")
                rows[root.name]?[key]?.targets[relationship.name] = .some(nil)
            }
        }
        return batch(root, primaryKeys)
    }

    private func batch(_ root: Entity, _ keys: [Int64]) -> RowBatch {
        var writer = RecordWriter()
        var batch = RowBatch()
        for key in keys {
            guard let row = rows[root.name]?[key] else { continue }
            writer.begin(primaryKey: key, version: row.version, entity: row.entity)
            for slot in 0..<Int(row.entity.slotCount) {
                let layout = row.entity.layout.slots[slot]
                let name = row.entity.properties[slot].name
                if layout.kind == .toOne {
                    guard let target = row.targets[name] ?? nil else { continue }
                    let root = row.entity.relationship(slot).destination.root
                    guard let entity = rows[root.name]?[target]?.entity else { continue }
                    writer.setTarget(target, entity: entity.index, slot, layout)
                } else if layout.kind != .none, let value = row.attributes[name] {
                    writer.set(ValueView(value), slot, layout)
                }
            }
            batch.records.append(writer.finish())
        }
        batch.chunks = writer.chunks
        return batch
    }

    func members(of relationship: Relationship, owners: [Int64], includingRows: Bool) throws -> StoreMembers {
        relationshipCalls += owners.count
        log.append("newValue \(relationship.name)")
        var result = StoreMembers()
        let (own, other) = (relationship.entity.root.name, relationship.destination.root.name)
        for owner in owners {
            for key in rows[own]?[owner]?.members[relationship.name] ?? [] {
                guard let row = rows[other]?[key] else { continue }
                result.members.append(.init(owner: owner, primaryKey: key, entity: row.entity.index))
            }
        }
        if includingRows { result.batch = batch(relationship.destination.root, result.members.map(\.primaryKey)) }
        return result
    }

    // MARK: Saving

    func reservePrimaryKeys(of root: Entity, count: Int) throws -> Int64 {
        if count > 0 {
            obtainPermanentIDs += 1
            log.append("obtainPermanentIDs")
        }
        let first = (lastKeys[root.name] ?? 0) + 1
        lastKeys[root.name] = first + Int64(count) - 1
        return first
    }

    func save(by author: SaveAuthor, _ body: (any SaveTransaction) throws -> Void) throws {
        if let saveFailure { throw saveFailure }
        let before = rows
        lastSave = (0, 0, 0)
        do { try body(self) } catch {
            rows = before
            throw error
        }
        saveRequests += 1
        log.append("save \(lastSave.inserted) \(lastSave.updated) \(lastSave.deleted)")
    }

    func insert(_ records: [Record], entity: Entity) throws {
        lastSave.inserted += records.count
        for record in records { store(record, entity) }
    }

    func update(_ updates: [UpdatedRow], slots: [Int], entity: Entity) throws -> [Int] {
        lastSave.updated += updates.count
        let stale = updates.indices.filter { !isCurrent(entity, updates[$0].record.primaryKey, updates[$0].oldVersion) }
        for place in updates.indices where !stale.contains(place) { store(updates[place].record, entity) }
        return stale
    }

    func delete(_ deleted: [(primaryKey: Int64, version: Int32)], entity: Entity) throws -> [Int] {
        lastSave.deleted += deleted.count
        let stale = deleted.indices.filter { !isCurrent(entity, deleted[$0].primaryKey, deleted[$0].version) }
        for place in deleted.indices where !stale.contains(place) {
            rows[entity.root.name]?[deleted[place].primaryKey] = nil
        }
        return stale
    }

    private func isCurrent(_ entity: Entity, _ key: Int64, _ version: Int32) -> Bool {
        rows[entity.root.name]?[key]?.version == version
    }

    private func store(_ record: Record, _ entity: Entity) {
        let key = record.primaryKey
        var row = Row(entity: entity, version: record.version)
        row.members = rows[entity.root.name]?[key]?.members ?? [:]
        for slot in 0..<Int(entity.slotCount) {
            let (layout, property) = (entity.layout.slots[slot], entity.properties[slot])
            if layout.kind == .toOne {
                let target = record.target(slot, layout)?.primaryKey
                row.targets[property.name] = .some(target)
                note(key, as: (property as? Relationship)?.inverse, of: target)
            } else if layout.kind != .none {
                row.attributes[property.name] = record.view(slot, layout).propertyValue
            }
        }
        rows[entity.root.name, default: [:]][key] = row
    }

    /// Makes an object a member of the target's to-many relationship, and removes it from those of other owners.
    private func note(_ key: Int64, as inverse: Relationship?, of target: Int64?) {
        guard let inverse, inverse.isToMany else { return }
        for owner in (rows[inverse.entity.root.name] ?? [:]).keys {
            rows[inverse.entity.root.name]?[owner]?.members[inverse.name]?.removeAll { $0 == key }
        }
        guard let target else { return }
        rows[inverse.entity.root.name]?[target]?.members[inverse.name, default: []].append(key)
    }

    func link(_ relationship: Relationship, added: [Link], removed: [Link]) throws {
        let name = relationship.entity.root.name
        for link in removed { rows[name]?[link.owner]?.members[relationship.name]?.removeAll { $0 == link.member } }
        for link in added { rows[name]?[link.owner]?.members[relationship.name, default: []].append(link.member) }
    }

    func setOrder(_ relationship: Relationship, owners: [(owner: Int64, members: [Int64])]) throws {
        for (owner, members) in owners {
            rows[relationship.entity.root.name]?[owner]?.members[relationship.name] = members
        }
    }

    func didRegister(_ ids: [ObjectID]) {
        for id in ids { log.append("didRegister \(id.isTemporary ? "temporary" : "permanent")") }
    }
    func didUnregister(_ ids: [ObjectID]) {
        for id in ids { log.append("didUnregister \(id.isTemporary ? "temporary" : "permanent")") }
    }

    func setInterruptCheck(_ check: (() -> Bool)?) {}
    func endRead() {}
    func metadata() -> StoreMetadata { StoreMetadata(uuid: UUIDValue(identifier) ?? .random()) }
    func close() {}
}
