import CorestoneGraph
import CorestoneModel
import CorestonePredicate
import CorestoneValues

/// A store of a host's own kind that is asked for rows when they are needed (an incremental store): what coordinator and contexts
/// want of a store, in terms of batches of references that go down and rows that are pushed up.
final class HostStore: PersistentStore, @unchecked Sendable {
    let host: any HostedStore
    let calls: HostCalls
    let names: RowNames
    let place: HostPlace
    let abilities: StoreAbilities
    let isReadOnly: Bool
    let readOnlyReason: String?
    private let location: Locked<String>
    private let said: Locked<StoreMetadata>

    /// What came unasked, or was made by a save, until somebody asks for it.
    private let spare: Locked<Spare>
    /// Rows that the last save made something else of than was to be written.
    private let computed = Locked<[(entity: UInt32, primaryKey: Int64)]>([])

    struct Spare {
        /// By the index of the root.
        var rows: [[Int64: KeptRow]]
        /// By relationship and owner.
        var members: [UInt32: [Int64: [Int64]]] = [:]
        /// The versions that saves gave to rows of a store that keeps none, by the index of the root.
        var versions: [[Int64: Int32]]
        var keepsVersions = false
    }

    struct KeptRow {
        let record: Record
        let chunk: RecordChunk
        init(_ record: Record) { (self.record, chunk) = (record, record.chunk.takeUnretainedValue()) }
    }

    init(
        _ host: any HostedStore, _ model: Model, _ metadata: StoreMetadata, type: StoreType, path: String,
        abilities: StoreAbilities, readOnlyReason: String?
    ) {
        self.host = host
        place = HostPlace(type: type, path: path, identifier: metadata.uuid.description)
        calls = HostCalls(place)
        names = RowNames(model, ReferenceTable.of(metadata.uuid.description))
        var abilities = abilities.union(.emptySaves)
        if host.hearsRegistrations { abilities.insert(.registrations) }
        self.abilities = abilities
        (isReadOnly, self.readOnlyReason) = (readOnlyReason != nil, readOnlyReason)
        location = Locked(path)
        said = Locked(metadata)
        let none = [[Int64: KeptRow]](repeating: [:], count: model.entities.count)
        spare = Locked(Spare(rows: none, versions: Array(repeating: [:], count: model.entities.count)))
    }

    var type: StoreType { place.type }
    var identifier: String { place.identifier }
    var path: String { location.withLock { $0 } }
    var model: Model { names.model }
    var references: ReferenceTable? { names.table }
    var decidesVersions: Bool { true }
    var postsOwnChanges: Bool { false }
    var lastOwnTransaction: Int64? { nil }

    func noteEntity(_ entity: Entity, ofKey key: Int64) { if !entity.isAbstract { names.guess(entity, key) } }

    func applicationMetadata() -> [String: PropertyListValue] { said.withLock { $0.applicationValues } }
    func metadata() -> StoreMetadata { said.withLock { $0 } }

    func watch(_ tell: @escaping @Sendable (ForeignChanges) -> Void) throws -> (any StoreWatch)? { nil }
    func setInterruptCheck(_ check: (() -> Bool)?) {}
    func endRead() {}

    func move(to path: String) throws {
        try calls.refuseReentry()
        try calls.run("move to \(path)") { try host.move(to: path) }
        location.withLock { $0 = path }
    }

    func close() { calls.close { host.close() } }

    func didRegister(_ id: ObjectID) {
        calls.notify {
            host.didRegister(RowReference(id.entity, names.table.reference(of: id.reference, id.entity.root)))
        }
    }

    func didUnregister(_ id: ObjectID) {
        calls.notify {
            host.didUnregister(RowReference(id.entity, names.table.reference(of: id.reference, id.entity.root)))
        }
    }

    // MARK: Keys

    func reservePrimaryKeys(of root: Entity, count: Int) throws -> Int64 {
        throw CoreError(.internal, "\(path) names rows by references, so no keys can be reserved")
    }

    func obtainKeys(for rows: [NewRow]) throws -> [Int64]? {
        try calls.refuseReentry()
        if isReadOnly { throw readOnlyError() }
        return try calls.keys(for: rows, of: host, names, place) { _ in .text(UUIDValue.random().description) }
    }

    func readOnlyError() -> CoreError {
        CoreError(
            .storeReadOnly, code: .persistentStoreSave, "\(path) is open read-only: \(readOnlyReason ?? "")",
            file: path)
    }

    // MARK: Saving

    func save(by author: SaveAuthor, _ body: (any SaveTransaction) throws -> Void) throws {
        try calls.refuseReentry()
        if isReadOnly { throw readOnlyError() }
        let changes = HostChanges(author, names)
        try body(HostTransaction(self, changes))
        let sink = RowSink(.saved(changes.savedRecords), names, place)
        do {
            try calls.run("save", changes.firstEntity, code: .persistentStoreSave) {
                do { try host.save(changes, into: sink) } catch { if changes.conflicts.isEmpty { throw error } }
            }
            // What is compared then shall be what the store has.
            if !changes.conflicts.isEmpty { forgetSpare() }
            try changes.throwConflicts(in: path)
        } catch {
            for (record, entity) in changes.inserted { names.forget(record.primaryKey, entity.root) }
            throw error
        }
        finish(changes, sink)
    }

    private func finish(_ changes: HostChanges, _ sink: RowSink) {
        if let metadata = changes.metadata { said.withLock { $0 = metadata } }
        for row in changes.deleted { names.forget(changes.key(of: row.row), row.row.entity.root) }
        spare.withLock { spare in
            for root in spare.rows.indices { spare.rows[root].removeAll() }
            spare.members.removeAll()
            if sink.sawVersions { spare.keepsVersions = true }
            for row in sink.rows { spare.rows[Int(row.entity.rootIndex)][row.key] = row.record.map(KeptRow.init) }
            if spare.keepsVersions { return }
            for (record, entity) in changes.inserted {
                spare.versions[Int(entity.rootIndex)][record.primaryKey] = record.version
            }
            for row in changes.updated {
                spare.versions[Int(row.entity.rootIndex)][row.record.primaryKey] = row.record.version
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

// MARK: - What came unasked

extension HostStore {
    func forgetSpare() {
        spare.withLock { spare in
            for root in spare.rows.indices { spare.rows[root].removeAll() }
            spare.members.removeAll()
        }
    }

    /// Takes out what is there of some rows.
    func takeSpare(_ keys: [Int64], _ root: Entity) -> [KeptRow] {
        spare.withLock { spare in
            let root = Int(root.rootIndex)
            return spare.rows[root].isEmpty ? [] : keys.compactMap { spare.rows[root].removeValue(forKey: $0) }
        }
    }

    func takeSpareMembers(_ relationship: Relationship, _ owner: Int64) -> [Int64]? {
        spare.withLock { spare in
            spare.members[relationship.key] == nil
                ? nil : spare.members[relationship.key]?.removeValue(forKey: owner)
        }
    }

    /// Keeps members that came with rows, and, of members, rows.
    func keepSpare(_ sink: RowSink, rows: Bool) {
        spare.withLock { spare in
            if sink.sawVersions, !spare.keepsVersions {
                spare.keepsVersions = true
                for root in spare.versions.indices { spare.versions[root].removeAll() }
            }
            for each in sink.embedded { spare.members[each.relationship.key, default: [:]][each.owner] = each.members }
            guard rows else { return }
            for row in sink.rows {
                if let record = row.record { spare.rows[Int(row.entity.rootIndex)][row.key] = KeptRow(record) }
            }
        }
    }

    /// The version of a row of which the host tells none.
    func version(_ key: Int64, _ root: Entity) -> Int32 {
        spare.withLock { $0.versions[Int(root.rootIndex)][key] ?? 0 }
    }
}

extension RowSink {
    /// The rows that are to be read again once their save is done: those that came back, or all when some of these were refused.
    func computed(_ changes: HostChanges) -> [(entity: UInt32, primaryKey: Int64)] {
        if !hasRefused { return rows.map { ($0.entity.index, $0.key) } }
        return changes.inserted.map { ($0.entity.index, $0.record.primaryKey) }
            + changes.updated.map { ($0.entity.index, $0.record.primaryKey) }
    }
}

extension HostChanges {
    var firstEntity: Entity? {
        inserted.first?.entity ?? updated.first?.entity ?? deleted.first?.row.entity
    }

    func key(of row: RowReference) -> Int64 { names.table.key(of: row.reference, row.entity.root) }

    /// What is to be written, by the index of the root and the key.
    var savedRecords: [Int: [Int64: Record]] {
        var saved: [Int: [Int64: Record]] = [:]
        for (record, entity) in inserted { saved[Int(entity.rootIndex), default: [:]][record.primaryKey] = record }
        for row in updated { saved[Int(row.entity.rootIndex), default: [:]][row.record.primaryKey] = row.record }
        return saved
    }

    /// What the merge policy of the context is to settle.
    func throwConflicts(in path: String) throws {
        if conflicts.isEmpty { return }
        let taken = conflicts.first { $0.kind == .unique }.map { taken in
            CoreError(
                .conflict, code: .managedObjectConstraintMerge,
                "another \(taken.row.entity.root.name) in \(path) has values already that must be unique, those of \(taken.row.entity.name) "
                    + "\(taken.row.reference); change them, or fetch that object and change it instead",
                entity: taken.row.entity.name, file: path)
        }
        let rows = conflicts.filter { $0.kind == .version }.map { ($0.row.entity, key(of: $0.row)) }
        throw SaveObstacle.reported(ReportedRows(rows, taken: taken))
    }
}

extension HostCalls {
    /// The keys of new rows by the references that the host gives, or by made ones where it gives none.
    func keys(
        for rows: [NewRow], of host: any HostedStore, _ names: RowNames, _ place: HostPlace,
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
                    "the \(place.type.rawValue) store \(place.path) gave no reference for the new \(row.entity.name) that is \(index + 1) "
                        + "of \(rows.count); it has to give an integer, a text or bytes for each, in their order",
                    entity: row.entity.name, file: place.path)
            }
            let key = names.table.key(of: reference, row.entity.root)
            guard seen[Int(row.entity.rootIndex)].insert(key).inserted else {
                throw CoreError(
                    .callback, code: .persistentStoreSave,
                    "the \(place.type.rawValue) store \(place.path) gave the reference \(reference) to two new objects, the second a "
                        + "\(row.entity.name); references are unique within an inheritance tree",
                    entity: row.entity.name, value: reference.value, file: place.path)
            }
            return key
        }
    }
}

/// Gathers what a save does.
private final class HostTransaction: SaveTransaction {
    private let store: HostStore
    private let changes: HostChanges

    init(_ store: HostStore, _ changes: HostChanges) { (self.store, self.changes) = (store, changes) }

    func reservePrimaryKeys(of root: Entity, count: Int) throws -> Int64 {
        try store.reservePrimaryKeys(of: root, count: count)
    }
    func permanentKeys(for rows: [NewRow]) throws -> [Int64]? { rows.isEmpty ? [] : try store.obtainKeys(for: rows) }
    func insert(_ records: [Record], entity: Entity) { changes.insert(records, entity) }

    /// Whether versions are still those that are named the store says when it saves.
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
