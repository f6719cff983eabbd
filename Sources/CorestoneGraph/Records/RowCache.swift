import CorestoneModel

/// The rows of one store that its coordinator's contexts have read, so that a second context's fault costs no query.
///
/// Rows stay as long as an object uses their chunk. Of chunks that no object uses any more the newest stay, up to a limit.
/// Guarded by the coordinator's lock.
final class RowCache {
    /// The rows of one inheritance tree: a table by key, and what is entered when somebody first asks for a key. Most of what
    /// a fetch reads is never asked for again.
    private struct Tree {
        var table: KeyTable?
        /// In the order in which it came; `chunks` retains the memory.
        var waiting: [Waiting] = []
    }

    private enum Waiting {
        /// A chunk with rows of this tree only.
        case chunk(Unmanaged<RecordChunk>)
        /// A row that was saved after a chunk came that waits.
        case row(Record)

        var isRow: Bool { if case .row = self { true } else { false } }
        func isChunk(_ wanted: RecordChunk) -> Bool {
            if case .chunk(let chunk) = self {
                chunk.toOpaque() == Unmanaged.passUnretained(wanted).toOpaque()
            } else {
                false
            }
        }
    }

    /// By the index of the tree's root.
    private var trees: [Tree] = []
    private var chunks: [RecordChunk] = []
    private var known: Set<ObjectIdentifier> = []
    private var bytes = 0
    /// Bytes of chunks without an object that stay for whoever asks next.
    private static let spare = 8 << 20
    private var sweepAt = 2 * RowCache.spare

    /// The newest known row of a key within the tree of `root`.
    func row(_ root: Entity, _ primaryKey: Int64) -> Record? {
        let index = Int(root.rootIndex)
        guard index < trees.count else { return nil }
        if !trees[index].waiting.isEmpty { enterWaiting(index) }
        return trees[index].table?.find(primaryKey).map { Record($0) }
    }

    /// Takes in rows of one inheritance tree.
    func add(_ batch: RowBatch, root: Entity) {
        guard batch.ownsChunks else {
            keep(batch.chunks)
            for record in batch.records { add(record, root: root) }
            return
        }
        let index = place(of: root)
        // A chunk waits once: rows that came before may have newer ones by now.
        for chunk in batch.chunks where keep(chunk) {
            trees[index].waiting.append(.chunk(Unmanaged.passUnretained(chunk)))
        }
    }

    /// Room for rows that are about to come.
    func reserve(_ count: Int, root: Entity) {
        let index = place(of: root)
        if trees[index].waiting.isEmpty {
            table(root).reserve(count)
        } else {
            trees[index].waiting.reserveCapacity(trees[index].waiting.count + count)
        }
    }

    /// Takes in one row.
    func add(_ record: Record, root: Entity, chunk: RecordChunk) {
        keep(chunk)
        add(record, root: root)
    }

    /// Takes in one row of a chunk that the caller gave to `keep`, under the same lock.
    func add(_ record: Record, root: Entity) {
        let index = place(of: root)
        if trees[index].waiting.isEmpty {
            table(root).set(record.primaryKey, record.start)
        } else {
            trees[index].waiting.append(.row(record))
        }
    }

    func keep(_ newChunks: [RecordChunk]) { for chunk in newChunks { keep(chunk) } }

    func remove(_ root: Entity, _ primaryKey: Int64) {
        if Int(root.rootIndex) < trees.count { table(root).remove(primaryKey) }
    }

    func removeAll() {
        trees = []
        chunks = []
        known = []
        bytes = 0
        sweepAt = 2 * RowCache.spare
    }

    private func place(of root: Entity) -> Int {
        let index = Int(root.rootIndex)
        while trees.count <= index { trees.append(Tree()) }
        return index
    }

    /// The table of a tree with all of its rows entered.
    private func table(_ root: Entity) -> KeyTable {
        let index = place(of: root)
        if let table = trees[index].table, trees[index].waiting.isEmpty { return table }
        return enterWaiting(index)
    }

    @discardableResult
    private func enterWaiting(_ index: Int) -> KeyTable {
        let table = trees[index].table ?? KeyTable(capacity: 64)
        let waiting = trees[index].waiting
        trees[index] = Tree(table: table)
        for next in waiting {
            switch next {
            case .chunk(let chunk):
                chunk._withUnsafeGuaranteedRef { $0.forEachRecord { table.set($0.primaryKey, $0.start) } }
            case .row(let record): table.set(record.primaryKey, record.start)
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
                    forget(chunk)
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

    private func forget(_ chunk: RecordChunk) {
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
