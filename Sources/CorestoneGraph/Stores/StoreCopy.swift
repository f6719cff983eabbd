import CorestoneFormats
import CorestoneModel
import CorestoneValues

/// An operation that copies a store's contents into an empty store.
///
/// The copy contains rows with all values, relationships with their orders, and the application's metadata. References
/// to missing rows are omitted. Rows keep their keys if possible. Otherwise they have new keys in the same order, or
/// keys that the new store assigns.
struct StoreCopy {
    /// The reader of the rows to copy: of a snapshot if the store supports snapshots.
    let source: any StoreReading
    /// The store to copy, for values in backing files.
    let store: any PersistentStore
    let model: Model
    let transaction: any SaveTransaction
    /// The application's metadata.
    private let applicationMetadata: [String: PropertyListValue]
    /// The progress callback, with the number of copied rows and the total. Returning false cancels the copy.
    let progress: (_ done: Int, _ total: Int) -> Bool
    private var done = 0
    /// The primary keys of the rows, by the index of their entity.
    private(set) var keys: [[Int64]]
    /// The number that is added to the primary keys of an entity tree, by the index of its root entity.
    private var shifts: [Int64]
    /// The assigned primary keys by former key, by the index of the root entity; nil if keys are kept or shifted.
    ///
    /// The new store assigns keys if, for example, one of the stores identifies rows by references.
    private var renamed: [[Int64: Int64]]?
    /// The existing keys, by the index of the root entity.
    private var present: [RowKeys]
    /// The number of references to missing rows, by relationship.
    private var dangling: [String: Int] = [:]

    /// The number of values that the new store keeps with fewer digits, by attribute; nil if it keeps all digits.
    private var rounded: [String: Int]?

    private static let batchSize = 1000
    /// The highest primary key to be kept.
    ///
    /// With higher keys, a store would have too few keys left for new objects, and an XML store would not have any.
    private static let highestKept: Int64 = 1 << 58

    init(
        of store: any PersistentStore, read source: any StoreReading, _ model: Model, _ metadata: StoreMetadata,
        into transaction: any SaveTransaction, of destination: any PersistentStore,
        progress: @escaping (_ done: Int, _ total: Int) -> Bool = { _, _ in true }
    ) {
        (self.store, self.source, self.model, self.transaction) = (store, source, model, transaction)
        self.progress = progress
        applicationMetadata = metadata.applicationValues
        keys = Array(repeating: [], count: model.entities.count)
        shifts = Array(repeating: 0, count: model.entities.count)
        present = Array(repeating: RowKeys(), count: model.entities.count)
        if store.references != nil || destination.references != nil {
            renamed = Array(repeating: [:], count: model.entities.count)
        }
        if destination.abilities.subtracting(store.abilities).contains(.decimalsAsDoubles) { rounded = [:] }
    }

    /// Returns the primary key of a row in the new store; nil if the old store does not have the row.
    func newKey(_ key: Int64, _ entity: Entity) -> Int64? {
        let root = Int(entity.rootIndex)
        if let renamed { return renamed[root][key] }
        // For an existing row the shift cannot overflow; other keys may have any value.
        return present[root].contains(key) ? key + shifts[root] : nil
    }

    mutating func run() throws {
        try assignKeys(model.entities.filter { $0.parent == nil }.compactMap { try findRows(of: $0) })
        try report(0)
        for root in model.entities where root.parent == nil { try copyRows(of: root) }
        for entity in model.entities {
            for relationship in entity.ownRelationships where relationship.isToMany {
                try copyMembers(of: relationship)
            }
        }
        try transaction.setApplicationMetadata(applicationMetadata)
        // The memory for the list of old and new IDs, which is created after the commit.
        try requireMemory(rowCount * 2 * MemoryLayout<ObjectID>.stride * 2)
        for (name, count) in dangling.sorted(by: { $0.key < $1.key }) {
            DebugLog.write(
                "CoreData: warning: the copy of \(Coordinator.shown(store.path)) omits \(count) value\(count == 1 ? "" : "s") of \(name), "
                    + "whose target \(count == 1 ? "row does" : "rows do") not exist"
            )
        }
        for (name, count) in (rounded ?? [:]).sorted(by: { $0.key < $1.key }) {
            DebugLog.write(
                "CoreData: warning: the copy of \(Coordinator.shown(store.path)) has fewer digits in \(count) value\(count == 1 ? "" : "s") of \(name), "
                    + "because it stores decimals as doubles")
        }
    }

    private var rowCount: Int { keys.reduce(0) { $0 + $1.count } }

    private func requireMemory(_ bytes: Int) throws {
        try MemoryCheck.require(
            bytes, to: "copy \(Coordinator.shown(store.path))", file: store.path, isOfAtomicStore: false)
    }

    private mutating func report(_ rows: Int) throws {
        done += rows
        guard progress(done, rowCount) else {
            throw CoreError(
                .cancelled, code: .persistentStoreOperation,
                "copying \(Coordinator.shown(store.path)) was cancelled, and a copy was not created",
                file: store.path)
        }
    }

    // MARK: Rows

    private typealias KeyRange = (root: Entity, lowest: Int64, highest: Int64)

    /// Reads the primary keys of an entity tree's rows.
    ///
    /// Returns nil if there are no rows, or if the new store has assigned their keys.
    private mutating func findRows(of root: Entity) throws -> KeyRange? {
        let found = try source.fetch(StoreFetch(entity: root, result: .identifiers)).identifiers
        var (lowest, highest): (Int64, Int64) = (.max, 0)
        for (key, entity) in found {
            keys[Int(entity)].append(key)
            (lowest, highest) = (min(lowest, key), max(highest, key))
        }
        if found.isEmpty { return nil }
        present[Int(root.index)] = RowKeys(found.map(\.0), lowest: lowest, highest: highest)
        if renamed == nil { return (root, lowest, highest) }
        try rename(root)
        return nil
    }

    /// Assigns the new keys.
    ///
    /// Keys that the new store has not used yet are kept, so that repeated migrations do not change them. In some
    /// stores all entity trees share one range of keys, in which each key must be unique. If keys cannot be kept, a
    /// constant is added to all keys of a tree. If a key is below 1 or above `highestKept`, the new store assigns all
    /// keys.
    private mutating func assignKeys(_ ranges: [KeyRange]) throws {
        if ranges.contains(where: { $0.lowest < 1 || $0.highest > StoreCopy.highestKept }) {
            renamed = Array(repeating: [:], count: model.entities.count)
            for range in ranges { try rename(range.root) }
            return
        }
        let first = try ranges.map { try transaction.reservePrimaryKeys(of: $0.root, count: 0) }
        let areFree = zip(ranges, first).allSatisfy { $0.lowest >= $1 }
        if areFree, first.allSatisfy({ $0 == 1 }) || !hasDuplicateKeys {
            for range in ranges {
                let next = try transaction.reservePrimaryKeys(of: range.root, count: 0)
                if range.highest >= next {
                    _ = try transaction.reservePrimaryKeys(of: range.root, count: Int(range.highest - next) + 1)
                }
            }
        } else {
            for (root, lowest, highest) in ranges {
                let count = Int(highest - lowest) + 1
                shifts[Int(root.index)] = try transaction.reservePrimaryKeys(of: root, count: count) - lowest
            }
        }
    }

    /// Whether two rows, of different entity trees, have the same key.
    private var hasDuplicateKeys: Bool {
        let all = keys.joined().sorted()
        return zip(all, all.dropFirst()).contains { $0 == $1 }
    }

    /// Makes the new store assign keys to the rows of an entity tree.
    private mutating func rename(_ root: Entity) throws {
        for entity in root.withDescendants {
            keys[Int(entity.index)].sort()
            for batch in batches(of: keys[Int(entity.index)]) {
                let found = try source.rows(of: root, primaryKeys: Array(batch))
                let records = found.records.filter { $0.header.pointee.entity == entity.index }
                let new = try withExtendedLifetime(found) {
                    try transaction.permanentKeys(for: records.map { NewRow($0, entity) })
                }
                var next = try new == nil ? transaction.reservePrimaryKeys(of: root, count: records.count) : 0
                for (place, record) in records.enumerated() {
                    renamed?[Int(root.index)][record.primaryKey] = new?[place] ?? next
                    next += 1
                }
                withExtendedLifetime(found) {}
            }
        }
    }

    private mutating func copyRows(of root: Entity) throws {
        for entity in root.withDescendants {
            for batch in batches(of: keys[Int(entity.index)]) {
                try requireMemory(2 << 20)
                let found = try source.rows(of: root, primaryKeys: Array(batch))
                // The memory for the copies, which the writer allocates in chunks of increasing size.
                try requireMemory(found.records.reduce(4 << 20) { $0 + 2 * Int($1.header.pointee.size) })
                var writer = RecordWriter(expectedBytes: found.records.count * 128)
                let copies = try withExtendedLifetime(found) {
                    try found.records.filter { $0.header.pointee.entity == entity.index }
                        .map { try copy($0, entity, &writer) }
                }
                try withExtendedLifetime(writer.chunks) { try transaction.insert(copies, entity: entity) }
                try report(batch.count)
            }
        }
    }

    private mutating func copy(_ record: Record, _ entity: Entity, _ writer: inout RecordWriter) throws -> Record {
        guard let key = newKey(record.primaryKey, entity) else {
            throw CoreError(
                .storeIO, code: .persistentStoreOperation,
                "cannot copy \(Coordinator.shown(store.path)): row \(record.primaryKey) of \(entity.name) was inserted "
                    + "during the copy; migrate the store again while other processes do not write to it",
                entity: entity.name,
                objectURI: uri(of: record, entity), file: store.path)
        }
        writer.begin(primaryKey: key, version: 1, entity: entity)
        for slot in 0..<Int(entity.slotCount) {
            let layout = entity.layout.slots[slot]
            if layout.kind == .none { continue }
            if layout.role == .toOne {
                guard let (key, index) = record.target(slot, layout) else { continue }
                guard let target = newKey(key, model.entities[Int(index)]) else {
                    dangling["\(entity.name).\(entity.properties[slot].name)", default: 0] += 1
                    continue
                }
                writer.setTarget(target, entity: index, slot, layout)
            } else if layout.role == .external {
                try copyExternal(record, entity, slot, layout, &writer)
            } else {
                let view = record.view(slot, layout)
                if rounded != nil, layout.kind == .decimal, case .decimal(let number) = view.propertyValue,
                    number.integer == nil,
                    DecimalNumber(number.double) != number
                {
                    rounded?["\(entity.name).\(entity.properties[slot].path)", default: 0] += 1
                }
                writer.set(view, slot, layout)
            }
        }
        return writer.finish()
    }

    private func copyExternal(
        _ record: Record, _ entity: Entity, _ slot: Int, _ layout: SlotLayout, _ writer: inout RecordWriter
    ) throws {
        let bytes: Bytes
        if let name = record.fileName(slot, layout) {
            bytes = try externalValue(String(decoding: name, as: UTF8.self), record, entity, slot)
        } else {
            guard record.hasValue(slot), case .bytes(let inline) = record.view(slot, layout).propertyValue else {
                return
            }
            bytes = inline
        }
        if var name = try transaction.externalName(for: bytes) {
            name.withUTF8 { writer.setFileName(UnsafeRawBufferPointer($0), slot, layout) }
        } else {
            writer.set(ValueView(.bytes(bytes)), slot, layout)
        }
    }

    private func externalValue(_ name: String, _ record: Record, _ entity: Entity, _ slot: Int) throws -> Bytes {
        try store.externalValue(named: name).bytes { file, fault in
            let key = entity.properties[slot].path
            return CoreError(
                .storeIO, code: .persistentStoreOperation,
                "cannot copy \(entity.name).\(key) of row \(record.primaryKey): \(fault)"
                    + (fault.hasRemedy ? ", or" : ";")
                    + " set the value and call cst_context_save (save) before migrating the store",
                entity: entity.name, key: key, objectURI: uri(of: record, entity), file: file)
        }
    }

    /// Returns the URI in the source store, for errors.
    private func uri(of record: Record, _ entity: Entity) -> String {
        ObjectID.uri(ofKey: record.primaryKey, entity: entity, in: store.references, store: store.identifier)
    }

    // MARK: Relationships

    /// Copies the pairs that rows do not contain, and the order of members.
    private func copyMembers(of relationship: Relationship) throws {
        guard relationship.ownsJoinRows || relationship.isOrdered else { return }
        try requireMemory(relationship.destination.withDescendants.reduce(0) { $0 + keys[Int($1.index)].count } * 48)
        // Damaged stores may have pairs with missing rows. Atomic stores with such pairs are rejected when they are
        // opened.
        let rows = Set(relationship.destination.withDescendants.flatMap { keys[Int($0.index)] })
        var omittedCount = 0
        for entity in relationship.entity.withDescendants {
            for batch in batches(of: keys[Int(entity.index)]) {
                let all = try source.members(of: relationship, owners: Array(batch), includingRows: false).members
                let found: [Link] = all.compactMap {
                    guard rows.contains($0.primaryKey), let owner = newKey($0.owner, entity),
                        let member = newKey($0.primaryKey, relationship.destination)
                    else { return nil }
                    return Link(owner: owner, member: member)
                }
                omittedCount += all.count - found.count
                if relationship.ownsJoinRows {
                    try transaction.link(relationship, added: found, removed: [])
                }
                guard relationship.isOrdered else { continue }
                var orders: [Int64: [Int64]] = [:]
                for each in found { orders[each.owner, default: []].append(each.member) }
                try transaction.setOrder(
                    relationship, owners: orders.sorted { $0.key < $1.key }.map { ($0.key, $0.value) })
            }
        }
        if omittedCount > 0 {
            DebugLog.write(
                "CoreData: warning: the copy of \(Coordinator.shown(store.path)) omits \(omittedCount) member\(omittedCount == 1 ? "" : "s") of "
                    + "\(relationship.entity.name).\(relationship.name), whose "
                    + "\(omittedCount == 1 ? "row does" : "rows do") not exist")
        }
    }

    private func batches(of keys: [Int64]) -> [ArraySlice<Int64>] {
        stride(from: 0, to: keys.count, by: StoreCopy.batchSize).map {
            keys[$0..<min($0 + StoreCopy.batchSize, keys.count)]
        }
    }
}
