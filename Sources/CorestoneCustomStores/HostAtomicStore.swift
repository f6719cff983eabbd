import CorestoneAtomicStores
import CorestoneFormats
import CorestoneGraph
import CorestoneModel
import CorestonePredicate
import CorestoneValues

/// A custom atomic store.
///
/// Its rows are loaded into an in-memory store, which executes all fetches. A save is passed to the application, and
/// rolled back in memory if the application rejects it.
final class HostAtomicStore: PersistentStore, @unchecked Sendable {
    private let host: any HostedStore
    private let calls: HostCalls
    private let names: RowNames
    private let place: HostStoreIdentity
    private let memory: NodeStore
    let abilities: StoreAbilities
    let isReadOnly: Bool
    let readOnlyReason: String?
    private let currentMetadata: Locked<StoreMetadata>
    /// Whether the metadata must be passed to the application with the next save.
    private let isMetadataChanged: Locked<Bool>
    private let computed = Locked<[(entity: UInt32, primaryKey: Int64)]>([])

    /// Creates a store, and loads its rows unless it is new.
    ///
    /// - Parameters:
    ///   - abilities: The abilities of the custom store. Only `derivedAttributes` applies, because the in-memory store
    ///     determines the others.
    ///   - isNew: Whether the store is new, so that nothing is loaded.
    ///   - isMetadataChanged: Whether the metadata differs from the metadata that the application returned.
    init(
        _ host: any HostedStore, _ model: Model, _ metadata: StoreMetadata, type: StoreType, path: String,
        abilities: StoreAbilities, isNew: Bool, readOnlyReason: String?, isMetadataChanged: Bool
    ) throws {
        self.host = host
        place = HostStoreIdentity(type: type, path: path, identifier: metadata.uuid.description)
        calls = HostCalls(place)
        names = RowNames(model, ReferenceTable.of(metadata.uuid.description))
        memory = .inMemory(model, metadata, type: type, path: path)
        self.abilities = memory.abilities.union(.emptySaves).union(abilities.intersection(.derivedAttributes))
        (isReadOnly, self.readOnlyReason) = (readOnlyReason != nil, readOnlyReason)
        (currentMetadata, self.isMetadataChanged) = (Locked(metadata), Locked(isMetadataChanged))
        if !isNew { try load(into: memory) }
    }

    var type: StoreType { place.type }
    var identifier: String { place.identifier }
    var path: String { place.path }
    var references: ReferenceTable? { names.table }
    var decidesVersions: Bool { true }
    var postsOwnChanges: Bool { false }
    var lastOwnTransaction: Int64? { nil }
    func noteEntity(_ entity: Entity, ofKey key: Int64) {}
    func metadata() -> StoreMetadata { currentMetadata.withLock { $0 } }
    func watch(_ notify: @escaping @Sendable (ExternalChanges) -> Void) throws -> (any StoreWatch)? { nil }
    func setInterruptCheck(_ check: (() -> Bool)?) { memory.setInterruptCheck(check) }
    func endRead() {}
    func close() { calls.close { host.close() } }
    func didAdd(to coordinator: Coordinator) { calls.notify { host.didAdd(to: coordinator) } }
    func willRemove(from coordinator: Coordinator) { calls.notify { host.willRemove(from: coordinator) } }

    func move(to path: String) throws {
        try calls.refuseReentry()
        try calls.run("be moved to \(path)") { try host.move(to: path) }
        place.move(to: path)
    }

    // MARK: Loading

    /// Loads all rows into an in-memory store.
    ///
    /// - Returns: Whether the rows have versions.
    @discardableResult
    private func load(into memory: NodeStore) throws -> Bool {
        let sink = RowSink(.load, names, place)
        try calls.run("be loaded", nil, code: .persistentStoreOpen) { try host.load(into: sink) }
        sink.resolveTargets()
        try setInverses(sink)
        try memory.save { transaction in
            for row in sink.rows { if let record = row.record { try transaction.insert([record], entity: row.entity) } }
            for each in sink.embedded where each.relationship.inverse?.isToMany ?? true {
                let pairs = each.members.map { Link(owner: each.owner, member: $0) }
                try transaction.link(each.relationship, added: pairs, removed: [])
            }
            for each in sink.embedded where each.relationship.isOrdered {
                try transaction.setOrder(each.relationship, owners: [(each.owner, each.members)])
            }
        }
        return sink.hasVersions
    }

    /// Loads all rows again after the application reported conflicts, and replaces the rows in memory.
    private func reload() throws {
        let fresh = NodeStore.inMemory(names.model, metadata(), type: type, path: path)
        memory.adoptContent(fresh, keepingVersions: try load(into: fresh))
    }

    /// Sets the to-one side of a relationship from the owner's list of members, for rows that omit that side.
    private func setInverses(_ sink: RowSink) throws {
        var places: [Int: [Int64: Int]] = [:]
        for (place, row) in sink.rows.enumerated() { places[Int(row.entity.rootIndex), default: [:]][row.key] = place }
        for each in sink.embedded {
            guard let inverse = each.relationship.inverse, !inverse.isToMany else { continue }
            let owner = names.entity(of: each.owner, each.relationship.entity) ?? each.relationship.entity
            let targets = each.members.compactMap { key -> (row: Int, key: Int64, entity: Entity)? in
                guard let place = places[Int(inverse.entity.rootIndex)]?[key], let record = sink.rows[place].record,
                    !record.hasValue(Int(inverse.slot))
                else { return nil }
                return (place, each.owner, owner)
            }
            sink.setTargets(inverse, targets)
        }
    }

    // MARK: Reading

    // A read fails within a callback of the store, because the current save may still be rolled back.

    private func reading() throws -> NodeStore {
        try calls.refuseReentry()
        return memory
    }

    func fetch(_ fetch: StoreFetch) throws -> StoreFetchOutcome { try reading().fetch(fetch) }
    func cursor(_ fetch: StoreFetch) throws -> (rows: any StoreCursor, remainder: FetchRemainder?)? {
        try reading().cursor(fetch)
    }
    func explain(_ fetch: StoreFetch) throws -> FetchExplanation.Share? { try reading().explain(fetch) }
    func rows(_ request: StoreRowsRequest) throws -> StoreRows? { try reading().rows(request) }
    func check(_ request: StoreRowsRequest) throws { try reading().check(request) }
    func explain(_ request: StoreRowsRequest) throws -> FetchExplanation.Share? { try reading().explain(request) }
    func rowSource(of store: Store) -> (any RowSource)? { memory.rowSource(of: store) }
    func rows(of root: Entity, primaryKeys: [Int64]) throws -> RowBatch {
        try reading().rows(of: root, primaryKeys: primaryKeys)
    }
    func row(of root: Entity, primaryKey: Int64) throws -> (record: Record, chunk: RecordChunk)? {
        try reading().row(of: root, primaryKey: primaryKey)
    }
    func versions(of root: Entity, primaryKeys: [Int64]) throws -> [Int64: Int32] {
        try reading().versions(of: root, primaryKeys: primaryKeys)
    }
    func members(of relationship: Relationship, owners: [Int64], includingRows: Bool) throws -> StoreMembers {
        try reading().members(of: relationship, owners: owners, includingRows: includingRows)
    }

    // MARK: Saving

    func reservePrimaryKeys(of root: Entity, count: Int) throws -> Int64 {
        throw CoreError(
            .internal,
            "cannot reserve primary keys in \(place.displayName), which identifies rows by references; report it as a defect of the library",
            entity: root.name, file: place.file)
    }

    func obtainKeys(for rows: [NewRow]) throws -> [Int64]? {
        try calls.refuseReentry()
        // Default references are UUIDs, not numbers: a number could be reused after its row was deleted, and old URIs
        // would then refer to another object.
        return try calls.keys(for: rows, of: host, names, place) { _ in .text(UUIDValue.random().description) }
    }

    func save(by author: SaveAuthor, _ body: (any SaveTransaction) throws -> Void) throws {
        try calls.refuseReentry()
        if isReadOnly {
            throw CoreError(
                .storeReadOnly, code: .persistentStoreSave,
                "\(place.displayName) is open read-only: \(readOnlyReason ?? "")",
                file: place.file)
        }
        let changes = HostChanges(author, names, place)
        if isMetadataChanged.withLock({ $0 }) { changes.setMetadata(metadata()) }
        changes.content = memory
        // If the application keeps the changes, it must not see later saves.
        defer { changes.content = nil }
        var sink = RowSink(.saved([:]), names, place)
        do {
            try memory.save(by: author) { transaction in
                try body(RecordedTransaction(self, transaction, changes))
                sink = RowSink(.saved(changes.savedRecords), names, place)
                try calls.run("save", changes.firstEntity, code: .persistentStoreSave) {
                    do { try host.save(changes, into: sink) } catch { if changes.conflicts.isEmpty { throw error } }
                }
                try changes.throwConflicts(in: path)
                // The application has saved, so later errors must not make the save fail.
                for row in sink.rows {
                    guard let record = row.record, let old = memory.row(of: row.entity.root, primaryKey: row.key) else {
                        continue
                    }
                    let update = UpdatedRow(record: record, oldVersion: old.record.version)
                    do { _ = try transaction.update([update], slots: [], entity: row.entity) } catch {
                        sink.refuse(error)
                    }
                }
            }
        } catch let rejection as SaveRejection where !changes.conflicts.isEmpty {
            try reload()
            throw rejection
        }
        if let metadata = changes.metadata {
            currentMetadata.withLock { $0 = metadata }
            isMetadataChanged.withLock { $0 = false }
        }
        for row in changes.deleted { names.forget(changes.key(of: row.row), row.row.entity.root) }
        computed.withLock { $0 = sink.computed(changes) }
    }

    func takeComputedRows() -> [(entity: UInt32, primaryKey: Int64)] {
        computed.withLock { computed in
            defer { computed = [] }
            return computed
        }
    }

    /// A transaction that applies changes to the rows in memory, and records them for the application.
    private final class RecordedTransaction: SaveTransaction {
        private let store: HostAtomicStore
        private let memory: any SaveTransaction
        private let changes: HostChanges

        init(_ store: HostAtomicStore, _ memory: any SaveTransaction, _ changes: HostChanges) {
            (self.store, self.memory, self.changes) = (store, memory, changes)
        }

        func reservePrimaryKeys(of root: Entity, count: Int) throws -> Int64 {
            try store.reservePrimaryKeys(of: root, count: count)
        }
        func permanentKeys(for rows: [NewRow]) throws -> [Int64]? {
            rows.isEmpty ? [] : try store.obtainKeys(for: rows)
        }
        func insert(_ records: [Record], entity: Entity) throws {
            let there = records.filter { store.memory.row(of: entity.root, primaryKey: $0.primaryKey) != nil }
            if !there.isEmpty {
                throw SaveRejection.reported(ReportedRows(there.map { (entity, $0.primaryKey) }, duplicateError: nil))
            }
            try memory.insert(records, entity: entity)
            changes.insert(records, entity)
        }
        func update(_ rows: [UpdatedRow], slots: [Int], entity: Entity) throws -> [Int] {
            changes.update(rows, slots, entity)
            return try memory.update(rows, slots: slots, entity: entity)
        }
        func delete(_ rows: [(primaryKey: Int64, version: Int32)], entity: Entity) throws -> [Int] {
            changes.delete(rows, entity)
            return try memory.delete(rows, entity: entity)
        }
        func isCurrent(_ primaryKey: Int64, version: Int32, entity: Entity) throws -> Bool {
            changes.lock(primaryKey, version, entity)
            return try memory.isCurrent(primaryKey, version: version, entity: entity)
        }
        func clear(_ slots: [Int], of primaryKey: Int64, entity: Entity) throws {
            try memory.clear(slots, of: primaryKey, entity: entity)
        }
        func link(_ relationship: Relationship, added: [Link], removed: [Link]) throws {
            try memory.link(relationship, added: added, removed: removed)
            changes.link(relationship, added, removed)
        }
        func setOrder(_ relationship: Relationship, owners: [(owner: Int64, members: [Int64])]) throws {
            try memory.setOrder(relationship, owners: owners)
            changes.setOrder(relationship, owners)
        }
        func setMetadata(_ metadata: StoreMetadata) { changes.setMetadata(metadata) }
        func setApplicationMetadata(_ values: [String: PropertyListValue]) {
            if values.isEmpty { return }
            var metadata = changes.metadata ?? store.metadata()
            metadata.values.merge(values) { $1 }
            changes.setMetadata(metadata)
        }
    }
}
