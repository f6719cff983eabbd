import CorestoneModel
import CorestoneValues
import Synchronization

/// The rows of one store that its coordinator's contexts have read, so that a second context's fault costs no query.
///
/// Rows stay as long as an object uses their chunk. Of chunks that no object uses any more the newest stay, up to a limit.
/// Any thread. Nothing else happens under its lock.
final class RowCache: RowKeeping, @unchecked Sendable {
    /// The rows of one inheritance tree: a table by key, and what is entered when somebody first asks for a key. Most of what
    /// a fetch reads is never asked for again.
    private struct Tree {
        var table: KeyTable?
        /// In the order in which it came; `chunks` retains the memory.
        var waiting: [Waiting] = []
        /// When rows of it were last saved or forgotten.
        var changedAt: UInt64 = 0
        /// While a save of its rows is being committed.
        var isInDoubt = false
        /// Rows were forgotten meanwhile, since others saved them: what the save brings may be older than theirs.
        var isOvertaken = false
    }

    private enum Waiting {
        /// A chunk with rows of this tree only.
        case chunk(Unmanaged<RecordChunk>)
        /// A row that was saved after a chunk came that waits.
        case row(Record, isNewest: Bool)

        var isRow: Bool { if case .row = self { true } else { false } }
        func isChunk(_ wanted: RecordChunk) -> Bool {
            if case .chunk(let chunk) = self {
                chunk.toOpaque() == Unmanaged.passUnretained(wanted).toOpaque()
            } else {
                false
            }
        }
    }

    private let lock = RecursiveLock(.rows)
    private let newest = Atomic<UInt64>(0)
    private var forgotAllAt: UInt64 = 0
    /// By the index of the tree's root.
    private var trees: [Tree] = []
    private var chunks: [RecordChunk] = []
    private var known: Set<ObjectIdentifier> = []
    private var bytes = 0
    /// Bytes of chunks without an object that stay for whoever asks next.
    private static let spare = 8 << 20
    private var sweepAt = 2 * RowCache.spare

    /// Hands `take` the newest known row of a key within the tree of `root`; nil when there is none, or when a save is about to
    /// change what is known.
    @inline(__always)
    func row<Result>(_ root: Entity, _ primaryKey: Int64, _ take: (Record) -> Result) -> Result? {
        lock.with {
            let index = Int(root.rootIndex)
            guard index < trees.count, !trees[index].isInDoubt else { return nil }
            if !trees[index].waiting.isEmpty { enterWaiting(index) }
            return trees[index].table?.find(primaryKey).map { take(Record($0)) }
        }
    }

    /// Takes in rows of one inheritance tree.
    ///
    /// - Parameter state: what `state` said before they were read: rows are not kept when others of their tree were saved or
    ///   forgotten meanwhile, since these may be older. nil for rows that whoever has the turn to save has read or written.
    func add(_ batch: RowBatch, root: Entity, asOf state: UInt64? = nil) {
        lock.with {
            guard let index = place(of: root, asOf: state) else { return }
            guard batch.ownsChunks else {
                for chunk in batch.chunks { keep(chunk) }
                for record in batch.records { put(record, index, isNewest: state == nil) }
                return
            }
            // A chunk waits once: rows that came before may have newer ones by now.
            for chunk in batch.chunks where keep(chunk) {
                trees[index].waiting.append(.chunk(Unmanaged.passUnretained(chunk)))
            }
        }
    }

    /// Takes in one row.
    func add(_ record: Record, root: Entity, chunk: RecordChunk, asOf state: UInt64? = nil) {
        lock.with {
            guard let index = place(of: root, asOf: state) else { return }
            keep(chunk)
            put(record, index, isNewest: state == nil)
        }
    }

    /// Takes in one row that was saved, of a chunk that the caller gave to `keep` after `beginSave`. When rows of its tree were
    /// forgotten since, the chunk may be gone, and the row is not kept.
    func add(_ record: Record, root: Entity) {
        lock.with {
            guard let index = place(of: root, asOf: nil) else { return }
            put(record, index, isNewest: true)
        }
    }

    /// Takes in a row that is newer than what is known, as far as `state` said before it was read; when others of its tree were
    /// saved or forgotten since, nothing is known of it any more.
    func replace(_ record: Record, root: Entity, asOf state: UInt64) {
        lock.with {
            guard let index = place(of: root, asOf: state) else { return remove(record.primaryKey, place(of: root)) }
            keep(record.chunk.takeUnretainedValue())
            put(record, index, isNewest: true)
        }
    }

    /// Room for rows that are about to come.
    func reserve(_ count: Int, root: Entity) {
        lock.with {
            let index = place(of: root)
            if trees[index].waiting.isEmpty {
                table(index).reserve(count)
            } else {
                trees[index].waiting.reserveCapacity(trees[index].waiting.count + count)
            }
        }
    }

    func keep(_ newChunks: [RecordChunk]) { lock.with { for chunk in newChunks { keep(chunk) } } }

    func isEmpty(_ root: Entity) -> Bool {
        lock.with {
            let index = Int(root.rootIndex)
            return index >= trees.count || trees[index].table == nil && trees[index].waiting.isEmpty
        }
    }

    /// By whoever has the turn to save, or wants one row to be read again.
    func remove(_ root: Entity, _ primaryKey: Int64) {
        lock.with { remove(primaryKey, place(of: root)) }
    }

    /// The same for a row that others saved, or may have. The rows that a save is bringing now may be older than theirs, so
    /// none of its tree is kept.
    func forget(_ root: Entity, _ primaryKey: Int64) {
        lock.with {
            let index = place(of: root)
            if trees[index].isInDoubt { forgetTree(index, nextState()) } else { remove(primaryKey, index) }
        }
    }

    /// Forgets all rows, since others saved what nobody tells.
    func forgetAll() {
        lock.with {
            forgotAllAt = nextState()
            for index in trees.indices { forgetTree(index, forgotAllAt) }
            chunks = []
            known = []
            bytes = 0
            sweepAt = 2 * RowCache.spare
        }
    }

    // MARK: States

    /// Which state of the store the rows are of: to be asked before others are read.
    var state: UInt64 { newest.load(ordering: .acquiring) }

    /// From now on nothing is known of these trees, by the indexes of their roots, until `endSave`: a save that changes them is
    /// about to be committed, and its rows come after that.
    func beginSave(_ roots: [UInt32]) {
        lock.with {
            for root in roots { trees[place(at: Int(root))].isInDoubt = true }
        }
    }

    /// The rows of a save are all there, or the save has failed.
    func endSave() {
        lock.with {
            let state = nextState()
            for index in trees.indices where trees[index].isInDoubt {
                trees[index].isInDoubt = false
                trees[index].isOvertaken = false
                trees[index].changedAt = state
            }
        }
    }

    private func nextState() -> UInt64 { newest.add(1, ordering: .acquiringAndReleasing).newValue }

    // MARK: Under the lock

    /// The place of a tree that takes rows which were read in that state; nil when it does not.
    private func place(of root: Entity, asOf state: UInt64?) -> Int? {
        let index = place(of: root)
        guard let state else { return trees[index].isOvertaken ? nil : index }
        return trees[index].isInDoubt || state < trees[index].changedAt ? nil : index
    }

    private func forgetTree(_ index: Int, _ state: UInt64) {
        let isInDoubt = trees[index].isInDoubt
        trees[index] = Tree(changedAt: state, isInDoubt: isInDoubt, isOvertaken: isInDoubt)
    }

    private func remove(_ primaryKey: Int64, _ index: Int) {
        table(index).remove(primaryKey)
        trees[index].changedAt = nextState()
    }

    private func put(_ record: Record, _ index: Int, isNewest: Bool) {
        if trees[index].waiting.isEmpty {
            enter(record, table(index), isNewest: isNewest)
        } else {
            trees[index].waiting.append(.row(record, isNewest: isNewest))
        }
    }

    /// Of two rows that were read, by transactions that may have begun in another order, the newer stays.
    private func enter(_ record: Record, _ table: KeyTable, isNewest: Bool) {
        if !isNewest, let known = table.find(record.primaryKey), Record(known).version > record.version { return }
        table.set(record.primaryKey, record.start)
    }

    private func place(of root: Entity) -> Int { place(at: Int(root.rootIndex)) }

    private func place(at index: Int) -> Int {
        while trees.count <= index { trees.append(Tree(changedAt: forgotAllAt)) }
        return index
    }

    /// The table of a tree with all of its rows entered.
    private func table(_ index: Int) -> KeyTable {
        if let table = trees[index].table, trees[index].waiting.isEmpty { return table }
        return enterWaiting(index)
    }

    @discardableResult
    private func enterWaiting(_ index: Int) -> KeyTable {
        let table = trees[index].table ?? KeyTable(capacity: 64)
        let waiting = trees[index].waiting
        trees[index].table = table
        trees[index].waiting = []
        for next in waiting {
            switch next {
            case .chunk(let chunk):
                chunk._withUnsafeGuaranteedRef { $0.forEachRecord { enter($0, table, isNewest: false) } }
            case .row(let record, let isNewest): enter(record, table, isNewest: isNewest)
            }
        }
        return table
    }

    /// False when the cache had the chunk already.
    @discardableResult
    private func keep(_ chunk: RecordChunk) -> Bool {
        // Single rows come one after the other in one chunk.
        if chunks.last === chunk || !known.insert(ObjectIdentifier(chunk)).inserted { return false }
        chunks.append(chunk)
        bytes += chunk.capacity
        if bytes > sweepAt { sweep() }
        return true
    }

    /// Drops the rows of chunks that nothing but the cache retains, but for the newest.
    private func sweep() {
        // A row that waits alone would point into a chunk that is dropped.
        for (index, tree) in trees.enumerated() where tree.waiting.contains(where: \.isRow) { enterWaiting(index) }
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
        // Oldest first again.
        chunks = kept.reversed()
        sweepAt = bytes + max(RowCache.spare, bytes / 4)
    }

    private func drop(_ chunk: RecordChunk) {
        for index in trees.indices {
            let waiting = trees[index].waiting
            guard let place = waiting.firstIndex(where: { $0.isChunk(chunk) }) else { continue }
            trees[index].waiting.remove(at: place)
            return
        }
        chunk.forEachRecord { record in
            for tree in trees where tree.table?.find(record.primaryKey) == record.start {
                tree.table?.remove(record.primaryKey)
            }
        }
    }
}
