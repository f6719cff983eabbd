import CorestoneGraph
import CorestoneModel
import CorestoneValues

/// A store in dictionaries. It keeps rows and links, but leaves predicates to the graph, which is under test.
/// The differential tests compare it with SQLite.
final class MemoryStore: PersistentStore, SaveTransaction, @unchecked Sendable {
    struct Row {
        var entity: Entity
        var version: Int32
        /// By slot; to-one targets as (key, entity index).
        var values: [PropertyValue]
        var targets: [Int: (Int64, UInt32)]
    }

    let type = StoreType(rawValue: "Test")
    let identifier: String
    let path: String
    var abilities: StoreAbilities = .uniqueConstraints
    var warnings: [String] = []
    let isReadOnly = false
    let model: Model
    var rows: [UInt32: [Int64: Row]] = [:]
    /// Members of to-many relationships that are not stored as foreign keys, by property key and owner, in order.
    var members: [UInt32: [Int64: [Int64]]] = [:]
    /// Order of one-to-many members.
    var orders: [UInt32: [Int64: [Int64]]] = [:]
    var lastKeys: [UInt32: Int64] = [:]
    /// The number of requests for rows or members, for tests of batching.
    var requests = 0
    /// Whether members of several owners are returned interleaved, those of each owner in order.
    var mixesMembers = false
    /// The rows that the next save reports as computed.
    var computed: [(entity: UInt32, primaryKey: Int64)] = []
    /// The error of each read of rows; nil: reads succeed.
    var readFailure: CoreError?

    init(model: Model, identifier: String = "00000000-0000-0000-0000-00000000000A", path: String = "memory") {
        self.model = model
        self.identifier = identifier
        self.path = path
    }

    func fetch(_ fetch: StoreFetch) throws -> StoreFetchOutcome {
        requests += 1
        var outcome = StoreFetchOutcome()
        outcome.remainder = FetchRemainder(predicate: fetch.predicate, isUnordered: true)
        let table = rows[fetch.entity.root.index] ?? [:]
        let keys = table.keys.sorted().filter { key in
            guard let entity = table[key]?.entity else { return false }
            return fetch.includesSubentities ? entity.isKind(of: fetch.entity) : entity === fetch.entity
        }
        outcome.batch = batch(fetch.entity.root, keys)
        return outcome
    }

    func takeComputedRows() -> [(entity: UInt32, primaryKey: Int64)] {
        defer { computed = [] }
        return computed
    }

    func rows(of root: Entity, primaryKeys: [Int64]) throws -> RowBatch {
        requests += 1
        if let readFailure { throw readFailure }
        return batch(root, primaryKeys)
    }

    private func batch(_ root: Entity, _ keys: [Int64]) -> RowBatch {
        var writer = RecordWriter()
        var batch = RowBatch()
        for key in keys {
            guard let row = rows[root.index]?[key] else { continue }
            writer.begin(primaryKey: key, version: row.version, entity: row.entity)
            for slot in 0..<row.entity.layout.slotCount {
                let layout = row.entity.layout.slots[slot]
                if let (target, entity) = row.targets[slot] {
                    writer.setTarget(target, entity: entity, slot, layout)
                } else if layout.kind != .none {
                    writer.set(ValueView(row.values[slot]), slot, layout)
                }
            }
            batch.records.append(writer.finish())
        }
        batch.chunks = writer.chunks
        return batch
    }

    func members(of relationship: Relationship, owners: [Int64], includingRows: Bool) throws -> StoreMembers {
        requests += 1
        var result = StoreMembers()
        let root = relationship.destination.root
        for owner in owners {
            var keys: [Int64]
            if let inverse = relationship.inverse, !inverse.isToMany {
                keys = (rows[root.index] ?? [:]).filter { $0.value.targets[Int(inverse.slot)]?.0 == owner }.keys
                    .sorted()
                if let order = orders[relationship.key]?[owner] {
                    keys.sort { (order.firstIndex(of: $0) ?? .max) < (order.firstIndex(of: $1) ?? .max) }
                }
            } else {
                keys = members[relationship.key]?[owner] ?? []
            }
            for key in keys {
                guard let row = rows[root.index]?[key] else { continue }
                result.members.append(.init(owner: owner, primaryKey: key, entity: row.entity.index))
            }
        }
        if mixesMembers {
            var counts: [Int64: Int] = [:]
            let places = result.members.map { member in
                counts[member.owner, default: 0] += 1
                return counts[member.owner] ?? 0
            }
            result.members = zip(places, result.members).sorted { ($0.0, $1.1.owner) < ($1.0, $0.1.owner) }.map(\.1)
        }
        if includingRows { result.batch = batch(root, result.members.map(\.primaryKey)) }
        return result
    }

    func reservePrimaryKeys(of root: Entity, count: Int) throws -> Int64 {
        let first = lastKeys[root.index, default: 0] + 1
        lastKeys[root.index] = first + Int64(count) - 1
        return first
    }

    func save(by author: SaveAuthor, _ body: (any SaveTransaction) throws -> Void) throws {
        let before = (rows, members, orders, lastKeys)
        do { try body(self) } catch {
            (rows, members, orders, lastKeys) = before
            throw error
        }
    }

    private func store(_ record: Record, _ entity: Entity) {
        var row = Row(entity: entity, version: record.version, values: [], targets: [:])
        for slot in 0..<entity.layout.slotCount {
            let layout = entity.layout.slots[slot]
            if layout.kind == .toOne {
                row.values.append(.null)
                if let (key, index) = record.target(slot, layout) { row.targets[slot] = (key, index) }
            } else {
                row.values.append(layout.kind == .none ? .null : record.view(slot, layout).propertyValue)
            }
        }
        rows[entity.root.index, default: [:]][record.primaryKey] = row
    }

    func insert(_ records: [Record], entity: Entity) throws { for record in records { store(record, entity) } }

    func update(_ updates: [UpdatedRow], slots: [Int], entity: Entity) throws -> [Int] {
        var conflicts: [Int] = []
        for (place, row) in updates.enumerated() {
            let known = rows[entity.root.index]?[row.record.primaryKey]?.version
            if known == row.oldVersion { store(row.record, entity) } else { conflicts.append(place) }
        }
        return conflicts
    }

    func delete(_ deleted: [(primaryKey: Int64, version: Int32)], entity: Entity) throws -> [Int] {
        var conflicts: [Int] = []
        for (place, row) in deleted.enumerated() {
            guard rows[entity.root.index]?[row.primaryKey]?.version == row.version else {
                conflicts.append(place)
                continue
            }
            rows[entity.root.index]?[row.primaryKey] = nil
        }
        return conflicts
    }

    func isCurrent(_ primaryKey: Int64, version: Int32, entity: Entity) throws -> Bool {
        rows[entity.root.index]?[primaryKey]?.version == version
    }

    func link(_ relationship: Relationship, added: [Link], removed: [Link]) throws {
        for link in removed { unlink(relationship.key, link.owner, link.member) }
        for link in added { self.link(relationship.key, link.owner, link.member) }
        guard let inverse = relationship.inverse else { return }
        for link in removed { unlink(inverse.key, link.member, link.owner) }
        for link in added { self.link(inverse.key, link.member, link.owner) }
    }

    private func link(_ key: UInt32, _ owner: Int64, _ member: Int64) {
        if members[key]?[owner]?.contains(member) != true {
            members[key, default: [:]][owner, default: []].append(member)
        }
    }

    private func unlink(_ key: UInt32, _ owner: Int64, _ member: Int64) {
        members[key]?[owner]?.removeAll { $0 == member }
    }

    func setOrder(_ relationship: Relationship, owners: [(owner: Int64, members: [Int64])]) throws {
        for (owner, keys) in owners {
            if let inverse = relationship.inverse, !inverse.isToMany {
                orders[relationship.key, default: [:]][owner] = keys
            } else {
                members[relationship.key, default: [:]][owner] = keys
            }
        }
    }

    func setInterruptCheck(_ check: (() -> Bool)?) {}
    func endRead() {}
    func metadata() -> StoreMetadata { StoreMetadata(uuid: UUIDValue(identifier) ?? .random()) }
    func close() {}
}
