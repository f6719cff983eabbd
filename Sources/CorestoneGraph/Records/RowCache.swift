import CorestoneModel
import CorestoneValues
import Synchronization

// How the cache stays at the newest known state while several threads read and one saves. Each function acquires the
// lock `rows` only for its own duration. The lock is not held while a store is read or written.
//
// 1. A thread that needs a row calls `row`. It returns nil while a save of the entity tree is being committed
//    (`Tree.isCommitting`). The thread then reads the store, as for any row that is not cached.
// 2. Before it reads, it requests `state`, an atomic number that increases when rows are saved or removed. A save makes
//    older read transactions of its coordinator obsolete (in SQLite `ConnectionPool.catchUp`), so the rows are not
//    older than that state.
// 3. The read rows are passed to `add` with that state. `place(of:asOf:)` rejects them during the commit, or if
//    its rows were saved or removed after the state (`Tree.changedAt`): they may be older than those changes. The
//    reading context uses the rows in any case. Of two reads of one row, `enter` keeps the higher version.
// 4. A saving thread holds the store's `writer` lock (`Context.writing`), so there is one save at a time.
//    `SavePipeline.commit` calls `beginSave` with the trees that it changes, within the transaction and immediately
//    before the commit. Until then, the cached rows are the newest committed rows.
// 5. After the commit, `SaveWriter.commit` passes the chunks of the saved rows to `keep`, adds the rows without a
//    state, and removes deleted ones. `adoptComputedRows` replaces rows in which the store computed values.
// 6. `endSave` sets `changedAt` of the trees to a new state and resumes lookups. Rows of reads that began before it are
//    rejected from then on.
// 7. If the transaction fails, `SavePipeline.commit` calls `endSave` without adding rows. The cached rows are still
//    valid. Rows that were read in the meantime are rejected. A custom store that has all rows in memory and reported
//    conflicts has loaded its rows again, so `forgetAll` removes them.
// 8. If another writer changed rows, `Coordinator.forgetRows` ends the open read transactions of the store and calls
//    `forget`, on the thread that found the change. Outside a save, `forget` removes the row and sets `changedAt`.
// 9. During a save of the tree, `forget` removes the whole tree and sets `Tree.wasClearedDuringSave`: the other writer
//    may have saved after this commit. `place(of:asOf:)` then rejects the saved rows too, until `endSave`. Later faults
//    read them again.
// 10. A batch request calls `beginSave` for all trees before it starts, and `endSave` when it has ended, with or
//     without an error: its own thread reads uncommitted rows meanwhile.
// 11. `sweep` evicts chunks that only the cache retains, the oldest first. It is called by `keep`, under the lock.
//
// The cache of a `StorePin` has rows of one state of the store. No save changes it.

/// The cache of rows of one store, shared by the contexts of its coordinator.
///
/// A fault thus does not require a query if another context has read or saved its row.
///
/// Rows are evicted by chunk. A chunk that has an owner besides the cache stays. Of the other chunks, the newest stay
/// up to a limit. Thread-safe. No other lock is acquired under the lock of the cache. `RowCache+Invariants.swift` lists
/// the invariants.
final class RowCache: RowKeeping, @unchecked Sendable {
    /// The rows of one entity tree: a table by key, and waiting rows that the next lookup enters into the table.
    ///
    /// They wait because most rows of a fetch are never looked up.
    struct Tree {
        var table: KeyTable?
        /// The waiting rows in the order of arrival; `chunks` retains their memory.
        var pending: [PendingRows] = []
        /// The state at which its rows were last saved or removed.
        var changedAt: UInt64 = 0
        /// Whether a save of its rows is being committed.
        var isCommitting = false
        /// Whether rows were removed during the save because other writers may have saved them.
        ///
        /// The rows of the save may then be older than the rows in the store.
        var wasClearedDuringSave = false
    }

    /// Rows that are not entered into the table yet.
    enum PendingRows {
        /// A chunk that contains only rows of this tree.
        case chunk(Unmanaged<RecordChunk>)
        /// A single row that arrived after a waiting chunk.
        case row(Record, isNewest: Bool)

        var isRow: Bool { if case .row = self { true } else { false } }
        func isChunk(_ other: RecordChunk) -> Bool {
            if case .chunk(let chunk) = self {
                chunk.toOpaque() == Unmanaged.passUnretained(other).toOpaque()
            } else {
                false
            }
        }
    }

    private let lock = RecursiveLock(.rows)
    private let newest = Atomic<UInt64>(0)
    private var clearedAt: UInt64 = 0
    /// The entity trees, by the index of the root entity.
    var trees: [Tree] = []
    var chunks: [RecordChunk] = []
    var known: Set<ObjectIdentifier> = []
    var bytes = 0
    /// The maximum size in bytes of the chunks that stay in the cache without another owner.
    private static let spare = 8 << 20
    private var sweepAt = 2 * RowCache.spare

    /// Passes the newest cached row of a key within the entity tree of `root` to `take`.
    ///
    /// Returns nil if the row is not cached, or while a save of the tree is being committed.
    @inline(__always)
    func row<Result>(_ root: Entity, _ primaryKey: Int64, _ take: (Record) -> Result) -> Result? {
        lock.with {
            let index = Int(root.rootIndex)
            guard index < trees.count, !trees[index].isCommitting else { return nil }
            if !trees[index].pending.isEmpty { enterPending(index) }
            return trees[index].table?.find(primaryKey).map { take(Record($0)) }
        }
    }

    /// Adds rows of one entity tree.
    ///
    /// - Parameter state: The value of `state` before the rows were read; nil for rows that the thread with the turn to
    ///   save has read or written. If rows of the tree were saved or removed after that state, the new rows may be
    ///   older and are not added.
    func add(_ batch: RowBatch, root: Entity, asOf state: UInt64? = nil) {
        lock.with {
            guard let index = place(of: root, asOf: state) else { return }
            guard batch.ownsChunks else {
                for chunk in batch.chunks { keep(chunk) }
                for record in batch.records { put(record, index, isNewest: state == nil) }
                return
            }
            // A chunk is added only once, because its rows may have been replaced by newer rows in the meantime.
            for chunk in batch.chunks where keep(chunk) {
                trees[index].pending.append(.chunk(Unmanaged.passUnretained(chunk)))
            }
        }
    }

    /// Adds one row. The parameter `state` is as in `add(_:root:asOf:)`.
    func add(_ record: Record, root: Entity, chunk: RecordChunk, asOf state: UInt64? = nil) {
        lock.with {
            guard let index = place(of: root, asOf: state) else { return }
            keep(chunk)
            put(record, index, isNewest: state == nil)
        }
    }

    /// Adds a saved row of a chunk that the caller passed to `keep` after `beginSave`.
    ///
    /// The row is not added if its tree was removed during the save, because the chunk may have been released.
    func add(_ record: Record, root: Entity) {
        lock.with {
            guard let index = place(of: root, asOf: nil) else { return }
            put(record, index, isNewest: true)
        }
    }

    /// Replaces a row with a newer one.
    ///
    /// If rows of the tree were saved or removed after `state`, removes the row instead.
    func replace(_ record: Record, root: Entity, asOf state: UInt64) {
        lock.with {
            guard let index = place(of: root, asOf: state) else { return remove(record.primaryKey, place(of: root)) }
            keep(record.chunk.takeUnretainedValue())
            put(record, index, isNewest: true)
        }
    }

    /// Reserves capacity for rows that are about to be added.
    func reserve(_ count: Int, root: Entity) {
        lock.with {
            let index = place(of: root)
            if trees[index].pending.isEmpty {
                table(index).reserve(count)
            } else {
                trees[index].pending.reserveCapacity(trees[index].pending.count + count)
            }
        }
    }

    func keep(_ newChunks: [RecordChunk]) { lock.with { for chunk in newChunks { keep(chunk) } } }

    func isEmpty(_ root: Entity) -> Bool {
        lock.with {
            let index = Int(root.rootIndex)
            return index >= trees.count || trees[index].table == nil && trees[index].pending.isEmpty
        }
    }

    /// Removes a row.
    ///
    /// Called by the thread that has the turn to save, or to make the next fault read the row again.
    func remove(_ root: Entity, _ primaryKey: Int64) {
        lock.with { remove(primaryKey, place(of: root)) }
    }

    /// Removes a row that another writer saved or may have saved.
    ///
    /// If a save of the tree is in progress, removes the whole tree, because the rows of that save may be older.
    func forget(_ root: Entity, _ primaryKey: Int64) {
        lock.with {
            let index = place(of: root)
            if trees[index].isCommitting { forgetTree(index, nextState()) } else { remove(primaryKey, index) }
        }
    }

    /// Removes all rows, for example because the changes of other writers are unknown.
    func forgetAll() {
        lock.with {
            clearedAt = nextState()
            for index in trees.indices { forgetTree(index, clearedAt) }
            chunks = []
            known = []
            bytes = 0
            sweepAt = 2 * RowCache.spare
        }
    }

    // MARK: States

    /// A number that increases when rows are saved or removed. Must be read before rows are read from the store.
    var state: UInt64 { newest.load(ordering: .acquiring) }

    /// Suspends lookups in entity trees until `endSave`.
    ///
    /// Called before the commit of a save that changes these trees, with the indexes of their roots. The rows of the
    /// save are added after the commit.
    func beginSave(_ roots: [UInt32]) {
        lock.with {
            for root in roots { trees[place(at: Int(root))].isCommitting = true }
        }
    }

    /// Resumes lookups after the rows of a save were added, or the save failed.
    func endSave() {
        lock.with {
            let state = nextState()
            for index in trees.indices where trees[index].isCommitting {
                trees[index].isCommitting = false
                trees[index].wasClearedDuringSave = false
                trees[index].changedAt = state
            }
            checkInvariants()
        }
    }

    private func nextState() -> UInt64 { newest.add(1, ordering: .acquiringAndReleasing).newValue }

    // MARK: Under the lock

    /// Returns the index of a tree if rows that were read at a state may be added; otherwise nil.
    private func place(of root: Entity, asOf state: UInt64?) -> Int? {
        let index = place(of: root)
        guard let state else { return trees[index].wasClearedDuringSave ? nil : index }
        return trees[index].isCommitting || state < trees[index].changedAt ? nil : index
    }

    private func forgetTree(_ index: Int, _ state: UInt64) {
        let isCommitting = trees[index].isCommitting
        trees[index] = Tree(changedAt: state, isCommitting: isCommitting, wasClearedDuringSave: isCommitting)
    }

    private func remove(_ primaryKey: Int64, _ index: Int) {
        table(index).remove(primaryKey)
        trees[index].changedAt = nextState()
    }

    private func put(_ record: Record, _ index: Int, isNewest: Bool) {
        if trees[index].pending.isEmpty {
            enter(record, table(index), isNewest: isNewest)
        } else {
            trees[index].pending.append(.row(record, isNewest: isNewest))
        }
    }

    /// Enters a row into a table, unless the table has a newer version of it.
    ///
    /// Rows may arrive in an order that differs from that of their versions. A row that is known to be the newest is
    /// entered in any case, because versions can restart.
    private func enter(_ record: Record, _ table: KeyTable, isNewest: Bool) {
        if !isNewest, let known = table.find(record.primaryKey), Record(known).version > record.version { return }
        table.set(record.primaryKey, record.start)
    }

    private func place(of root: Entity) -> Int { place(at: Int(root.rootIndex)) }

    private func place(at index: Int) -> Int {
        while trees.count <= index { trees.append(Tree(changedAt: clearedAt)) }
        return index
    }

    /// Returns the table of a tree after all waiting rows were entered.
    private func table(_ index: Int) -> KeyTable {
        if let table = trees[index].table, trees[index].pending.isEmpty { return table }
        return enterPending(index)
    }

    @discardableResult
    private func enterPending(_ index: Int) -> KeyTable {
        let table = trees[index].table ?? KeyTable(capacity: 64)
        let pending = trees[index].pending
        trees[index].table = table
        trees[index].pending = []
        for next in pending {
            switch next {
            case .chunk(let chunk):
                chunk._withUnsafeGuaranteedRef { $0.forEachRecord { enter($0, table, isNewest: false) } }
            case .row(let record, let isNewest): enter(record, table, isNewest: isNewest)
            }
        }
        return table
    }

    /// Retains a chunk. Returns false if the cache already retains it.
    @discardableResult
    private func keep(_ chunk: RecordChunk) -> Bool {
        // Single rows arrive consecutively from one chunk.
        if chunks.last === chunk || !known.insert(ObjectIdentifier(chunk)).inserted { return false }
        chunks.append(chunk)
        bytes += chunk.capacity
        if bytes > sweepAt { sweep() }
        return true
    }

    /// Removes the chunks that only the cache retains, except the newest, together with their rows.
    private func sweep() {
        // A waiting row could point into a removed chunk.
        for (index, tree) in trees.enumerated() where tree.pending.contains(where: \.isRow) { enterPending(index) }
        var kept: [RecordChunk] = []
        var unused = 0
        bytes = 0
        while var chunk = chunks.popLast() {
            if isKnownUniquelyReferenced(&chunk) {
                unused += chunk.capacity
                if unused > RowCache.spare {
                    known.remove(ObjectIdentifier(chunk))
                    drop(chunk)
                    continue
                }
            }
            bytes += chunk.capacity
            kept.append(chunk)
        }
        // The oldest chunk is first again.
        chunks = kept.reversed()
        sweepAt = bytes + max(RowCache.spare, bytes / 4)
    }

    private func drop(_ chunk: RecordChunk) {
        for index in trees.indices {
            let pending = trees[index].pending
            guard let place = pending.firstIndex(where: { $0.isChunk(chunk) }) else { continue }
            trees[index].pending.remove(at: place)
            return
        }
        chunk.forEachRecord { record in
            for tree in trees where tree.table?.find(record.primaryKey) == record.start {
                tree.table?.remove(record.primaryKey)
            }
        }
    }
}
