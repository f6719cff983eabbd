import CorestoneFormats
import CorestoneGraph
import CorestoneModel
import CorestonePredicate
import CorestoneValues

/// A custom incremental store.
///
/// Requests of the coordinator become callbacks with batches of references, and the application pushes rows.
final class CustomPersistentStore: PersistentStore, @unchecked Sendable {
    let host: any HostedStore
    let calls: HostCalls
    let names: RowNames
    let place: HostStoreIdentity
    let abilities: StoreAbilities
    let isReadOnly: Bool
    let readOnlyReason: String?
    private let currentMetadata: Locked<StoreMetadata>
    /// Whether the metadata must be passed to the application with the next save.
    private let isMetadataChanged: Locked<Bool>

    /// Pushed rows and members that are not in the coordinator's row cache.
    private let pushedContent: Locked<PushedContent>
    /// The row cache for pushed rows.
    private let rowCache = Locked<(any RowKeeping)?>(nil)
    /// The rows of the last save whose saved values may differ from the requested ones.
    private let computed = Locked<[(entity: UInt32, primaryKey: Int64)]>([])

    struct PushedContent {
        /// The rows that the last save returned, until the context reads them; by the index of the root entity.
        var rows: [[Int64: RetainedRow]]
        /// The members that were pushed with rows, by relationship and owner, until they are read.
        var members: [UInt32: [Int64: PushedMembers]] = [:]
        var memberLists = 0
        /// The number of lists at which the lists of released rows are removed.
        var sweepAt = 1024
        /// A counter that each save and each invalidation increments.
        ///
        /// If the counter changes during a callback, the members that the callback pushes are not kept.
        var state: UInt64 = 0
        /// The versions that saves assigned to rows of a store without versions, by the index of the root entity.
        var versions: [[Int64: Int32]]
        var keepsVersions = false
    }

    struct RetainedRow {
        let record: Record
        let chunk: RecordChunk
        init(_ record: Record) { (self.record, chunk) = (record, record.chunk.takeUnretainedValue()) }
    }

    /// The members that were pushed with a row. They are valid while the row's chunk exists.
    struct PushedMembers {
        let members: [Int64]
        weak var chunk: RecordChunk?
    }

    init(
        _ host: any HostedStore, _ model: Model, _ metadata: StoreMetadata, type: StoreType, path: String,
        abilities: StoreAbilities, readOnlyReason: String?, isMetadataChanged: Bool
    ) {
        self.host = host
        place = HostStoreIdentity(type: type, path: path, identifier: metadata.uuid.description)
        calls = HostCalls(place)
        names = RowNames(model, ReferenceTable.of(metadata.uuid.description))
        var abilities = abilities.union(.emptySaves)
        if host.observesRegistrations { abilities.insert(.registrations) }
        self.abilities = abilities
        (isReadOnly, self.readOnlyReason) = (readOnlyReason != nil, readOnlyReason)
        (currentMetadata, self.isMetadataChanged) = (Locked(metadata), Locked(isMetadataChanged))
        let none = [[Int64: RetainedRow]](repeating: [:], count: model.entities.count)
        pushedContent = Locked(PushedContent(rows: none, versions: Array(repeating: [:], count: model.entities.count)))
    }

    var type: StoreType { place.type }
    var identifier: String { place.identifier }
    var path: String { place.path }
    var model: Model { names.model }
    var references: ReferenceTable? { names.table }
    var decidesVersions: Bool { true }
    var postsOwnChanges: Bool { false }
    var lastOwnTransaction: Int64? { nil }

    func noteEntity(_ entity: Entity, ofKey key: Int64) { if !entity.isAbstract { names.assume(entity, key) } }

    func metadata() -> StoreMetadata { currentMetadata.withLock { $0 } }

    func watch(_ notify: @escaping @Sendable (ExternalChanges) -> Void) throws -> (any StoreWatch)? { nil }
    func setInterruptCheck(_ check: (() -> Bool)?) {}
    func endRead() { forgetPushed() }
    func cachePushedRows(in rows: any RowKeeping) { rowCache.withLock { $0 = rows } }

    func move(to path: String) throws {
        try calls.refuseReentry()
        try calls.run("be moved to \(path)") { try host.move(to: path) }
        place.move(to: path)
    }

    func close() { calls.close { host.close() } }
    func didAdd(to coordinator: Coordinator) { calls.notify { host.didAdd(to: coordinator) } }
    func willRemove(from coordinator: Coordinator) { calls.notify { host.willRemove(from: coordinator) } }

    func didRegister(_ ids: [ObjectID]) { calls.notify { host.didRegister(ids.map(row)) } }
    func didUnregister(_ ids: [ObjectID]) { calls.notify { host.didUnregister(ids.map(row)) } }

    private func row(_ id: ObjectID) -> RowReference {
        RowReference(id.entity, names.table.reference(of: id.reference, id.entity.root))
    }

    // MARK: Keys

    func reservePrimaryKeys(of root: Entity, count: Int) throws -> Int64 {
        throw CoreError(
            .internal,
            "cannot reserve primary keys in \(place.displayName), which identifies rows by references; report it as a defect of the library",
            entity: root.name, file: place.file)
    }

    func obtainKeys(for rows: [NewRow]) throws -> [Int64]? {
        try calls.refuseReentry()
        if isReadOnly { throw readOnlyError() }
        return try calls.keys(for: rows, of: host, names, place) { _ in .text(UUIDValue.random().description) }
    }

    func readOnlyError() -> CoreError {
        CoreError(
            .storeReadOnly, code: .persistentStoreSave,
            "\(place.displayName) is open read-only: \(readOnlyReason ?? "")",
            file: place.file)
    }

    // MARK: Saving

    func save(by author: SaveAuthor, _ body: (any SaveTransaction) throws -> Void) throws {
        try calls.refuseReentry()
        if isReadOnly { throw readOnlyError() }
        let changes = HostChanges(author, names, place)
        if isMetadataChanged.withLock({ $0 }) { changes.setMetadata(metadata()) }
        try body(HostTransaction(self, changes))
        let sink = RowSink(.saved(changes.savedRecords), names, place)
        do {
            try calls.run("save", changes.firstEntity, code: .persistentStoreSave) {
                do { try host.save(changes, into: sink) } catch { if changes.conflicts.isEmpty { throw error } }
            }
            // The merge policy must compare with the rows of the store, not with rows that were pushed before.
            if !changes.conflicts.isEmpty { forgetPushed() }
            try changes.throwConflicts(in: path)
        } catch {
            for (record, entity) in changes.inserted { names.forget(record.primaryKey, entity.root) }
            throw error
        }
        finish(changes, sink)
    }

    private func finish(_ changes: HostChanges, _ sink: RowSink) {
        if let metadata = changes.metadata {
            currentMetadata.withLock { $0 = metadata }
            isMetadataChanged.withLock { $0 = false }
        }
        for row in changes.deleted { names.forget(changes.key(of: row.row), row.row.entity.root) }
        pushedContent.withLock { pushedContent in
            pushedContent.forget()
            if sink.hasVersions { pushedContent.keepsVersions = true }
            for row in sink.rows {
                pushedContent.rows[Int(row.entity.rootIndex)][row.key] = row.record.map(RetainedRow.init)
            }
            if pushedContent.keepsVersions { return }
            for (record, entity) in changes.inserted {
                pushedContent.versions[Int(entity.rootIndex)][record.primaryKey] = record.version
            }
            for row in changes.updated {
                pushedContent.versions[Int(row.entity.rootIndex)][row.record.primaryKey] = row.record.version
            }
        }
        computed.withLock { $0 = sink.computed(changes) }
    }

    func takeComputedRows() -> [(entity: UInt32, primaryKey: Int64)] {
        computed.withLock { computed in
            defer { computed = [] }
            return computed
        }
    }
}

// MARK: - Pushed rows and members

extension CustomPersistentStore {
    func forgetPushed() { pushedContent.withLock { $0.forget() } }

    /// Records in a sink the states that show later whether the sink's rows are outdated.
    func recordStates(_ sink: RowSink) {
        sink.state = pushedContent.withLock { $0.state }
        sink.rowState = rowCache.withLock { $0?.state } ?? 0
    }

    /// Removes and returns the pushed rows with the given keys.
    func takePushedRows(_ keys: [Int64], _ root: Entity) -> [RetainedRow] {
        pushedContent.withLock { pushedContent in
            let root = Int(root.rootIndex)
            return pushedContent.rows[root].isEmpty
                ? [] : keys.compactMap { pushedContent.rows[root].removeValue(forKey: $0) }
        }
    }

    func takePushedMembers(_ relationship: Relationship, _ owner: Int64) -> [Int64]? {
        pushedContent.withLock { pushedContent in
            guard let kept = pushedContent.members[relationship.key]?.removeValue(forKey: owner) else { return nil }
            pushedContent.memberLists -= 1
            return kept.chunk == nil ? nil : kept.members
        }
    }

    /// Keeps the members that were pushed with rows.
    func retainMembers(_ sink: RowSink) {
        pushedContent.withLock { pushedContent in
            if sink.hasVersions, !pushedContent.keepsVersions {
                pushedContent.keepsVersions = true
                for root in pushedContent.versions.indices { pushedContent.versions[root].removeAll() }
            }
            if sink.state != pushedContent.state { return }
            // If a row was pushed again without members, the members that were pushed before may have changed.
            for relationship in pushedContent.members.keys {
                guard let owners = pushedContent.members[relationship] else { continue }
                let old = sink.rows.filter { row in
                    let slot = Int(relationship & (1 << Entity.slotBits - 1))
                    return row.record != nil && slot < Int(row.entity.slotCount)
                        && row.entity.slotKeys[slot] == relationship && owners[row.key] != nil
                }
                for row in old where pushedContent.members[relationship]?.removeValue(forKey: row.key) != nil {
                    pushedContent.memberLists -= 1
                }
            }
            for each in sink.embedded {
                let kept = PushedMembers(
                    members: each.members, chunk: sink.rows[each.row].record?.chunk.takeUnretainedValue())
                if pushedContent.members[each.relationship.key, default: [:]].updateValue(kept, forKey: each.owner)
                    == nil
                {
                    pushedContent.memberLists += 1
                }
            }
            if pushedContent.memberLists > pushedContent.sweepAt { pushedContent.sweep() }
        }
    }

    /// Adds pushed rows to the row cache. They expire like all other rows.
    func cachePushedRows(_ sink: RowSink, but unfinished: Set<Int> = []) {
        guard let rowCache = rowCache.withLock({ $0 }) else { return }
        var batches: [Int: RowBatch] = [:]
        for (place, row) in sink.rows.enumerated() where !unfinished.contains(place) {
            if let record = row.record {
                batches[Int(row.entity.rootIndex), default: RowBatch()].records.append(record)
            }
        }
        for (root, var batch) in batches {
            batch.chunks = sink.writer.chunks
            rowCache.add(batch, root: model.entities[root], asOf: sink.rowState)
        }
    }

    /// Returns the version of a row that was pushed without a version; 0 if no save assigned one.
    func version(_ key: Int64, _ root: Entity) -> Int32 {
        pushedContent.withLock { $0.versions[Int(root.rootIndex)][key] ?? 0 }
    }
}

extension RowSink {
    /// Returns the rows that must be read again after their save.
    ///
    /// These are the rows that the save returned, or all saved rows if a returned row was rejected.
    func computed(_ changes: HostChanges) -> [(entity: UInt32, primaryKey: Int64)] {
        if !hasRefused { return rows.map { ($0.entity.index, $0.key) } }
        return changes.inserted.map { ($0.entity.index, $0.record.primaryKey) }
            + changes.updated.map { ($0.entity.index, $0.record.primaryKey) }
    }
}

extension CustomPersistentStore.PushedContent {
    mutating func forget() {
        state += 1
        for root in rows.indices { rows[root].removeAll() }
        members.removeAll()
        memberLists = 0
    }

    mutating func sweep() {
        for relationship in members.keys { members[relationship] = members[relationship]?.filter { $1.chunk != nil } }
        memberLists = members.values.reduce(0) { $0 + $1.count }
        sweepAt = max(1024, 2 * memberLists)
    }
}

extension HostChanges {
    var firstEntity: Entity? {
        inserted.first?.entity ?? updated.first?.entity ?? deleted.first?.row.entity
    }

    func key(of row: RowReference) -> Int64 { names.table.key(of: row.reference, row.entity.root) }

    /// The records to be written, by the index of the root entity and the key.
    var savedRecords: [Int: [Int64: Record]] {
        var saved: [Int: [Int64: Record]] = [:]
        for (record, entity) in inserted { saved[Int(entity.rootIndex), default: [:]][record.primaryKey] = record }
        for row in updated { saved[Int(row.entity.rootIndex), default: [:]][row.record.primaryKey] = row.record }
        return saved
    }

    /// Throws the reported conflicts, which the context's merge policy resolves.
    func throwConflicts(in path: String) throws {
        if conflicts.isEmpty { return }
        let taken = conflicts.first { $0.kind == .unique }.map { taken in
            CoreError(
                .conflict, code: .managedObjectConstraintMerge,
                "another \(taken.row.entity.root.name) in \(HostStoreIdentity.displayName(path)) already has the "
                    + "unique values of \(taken.row.entity.name) \(taken.row.reference); change the values, or fetch "
                    + "the existing object with cst_context_fetch (fetch) and change it instead",
                entity: taken.row.entity.name, value: taken.row.reference.value,
                objectURI: place.map { place in
                    ObjectID.uri(
                        ofKey: key(of: taken.row), entity: taken.row.entity, in: names.table, store: place.identifier)
                },
                file: path)
        }
        let rows = conflicts.filter { $0.kind == .version }.map { ($0.row.entity, key(of: $0.row)) }
        throw SaveRejection.reported(ReportedRows(rows, duplicateError: taken))
    }
}

extension HostCalls {
    /// Returns the primary keys of new rows, from references that are generated or that the application returns.
    func keys(
        for rows: [NewRow], of host: any HostedStore, _ names: RowNames, _ place: HostStoreIdentity,
        made: (NewRow) -> StoreReference
    ) throws -> [Int64] {
        let given = try run("obtain permanent IDs", rows.first?.entity, code: .persistentStoreSave) {
            try host.references(for: rows)
        }
        guard let given else { return rows.map { names.table.key(of: made($0), $0.entity.root) } }
        var seen: [Set<Int64>] = Array(repeating: [], count: names.model.entities.count)
        return try rows.enumerated().map { index, row in
            guard index < given.count, let reference = given[index] else {
                throw CoreError(
                    .callback, code: .persistentStoreSave,
                    "\(place.subject) did not return a reference for the new \(row.entity.name), object "
                        + "\(index + 1) of \(rows.count); return an integer, or a string or bytes that are not empty, "
                        + "for each object, in order",
                    entity: row.entity.name, file: place.file)
            }
            let key = names.table.key(of: reference, row.entity.root)
            guard seen[Int(row.entity.rootIndex)].insert(key).inserted else {
                throw CoreError(
                    .callback, code: .persistentStoreSave,
                    "\(place.subject) returned the reference \(reference) for the new \(row.entity.name), object "
                        + "\(index + 1) of \(rows.count), and for an earlier one; return references that are unique in "
                        + "the entity tree",
                    entity: row.entity.name, value: reference.value, file: place.file)
            }
            return key
        }
    }
}

/// The transaction that collects the changes of a save.
private final class HostTransaction: SaveTransaction {
    private let store: CustomPersistentStore
    private let changes: HostChanges

    init(_ store: CustomPersistentStore, _ changes: HostChanges) { (self.store, self.changes) = (store, changes) }

    func reservePrimaryKeys(of root: Entity, count: Int) throws -> Int64 {
        try store.reservePrimaryKeys(of: root, count: count)
    }
    func permanentKeys(for rows: [NewRow]) throws -> [Int64]? { rows.isEmpty ? [] : try store.obtainKeys(for: rows) }
    func insert(_ records: [Record], entity: Entity) { changes.insert(records, entity) }

    /// Records the rows. Returns an empty list, because the application compares the versions when it saves.
    func update(_ rows: [UpdatedRow], slots: [Int], entity: Entity) -> [Int] {
        changes.update(rows, slots, entity)
        return []
    }
    func delete(_ rows: [(primaryKey: Int64, version: Int32)], entity: Entity) -> [Int] {
        changes.delete(rows, entity)
        return []
    }
    func isCurrent(_ primaryKey: Int64, version: Int32, entity: Entity) -> Bool {
        changes.lock(primaryKey, version, entity)
        return true
    }
    func link(_ relationship: Relationship, added: [Link], removed: [Link]) {
        changes.link(relationship, added, removed)
    }
    func setOrder(_ relationship: Relationship, owners: [(owner: Int64, members: [Int64])]) {
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
