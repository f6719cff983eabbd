import CorestoneModel

/// The rows of one store that its coordinator's contexts have read, so that a second context's fault costs no query.
///
/// Rows stay as long as an object uses their chunk; chunks that no object uses any more are kept up to a limit, then
/// dropped. Guarded by the coordinator's lock.
final class RowCache {
    private var tables: [UInt32: KeyTable] = [:]
    private var chunks: [RecordChunk] = []
    private var known: Set<ObjectIdentifier> = []
    private var bytes = 0
    private var sweepAt = 64 << 20

    /// The newest known row of a key within the tree of `root`.
    func row(_ root: Entity, _ primaryKey: Int64) -> Record? {
        tables[root.index]?.find(primaryKey).map { Record($0) }
    }

    /// Takes in rows of one inheritance tree.
    func add(_ records: ContiguousArray<Record>, root: Entity, chunks newChunks: [RecordChunk]) {
        keep(newChunks)
        let index = root.index
        let table = tables[index] ?? KeyTable(capacity: 64)
        table.reserve(records.count)
        for record in records { table.set(record.primaryKey, record.start) }
        tables[index] = table
    }

    func remove(_ root: Entity, _ primaryKey: Int64) { _ = tables[root.index]?.remove(primaryKey) }

    func removeAll() {
        tables = [:]
        chunks = []
        known = []
        bytes = 0
    }

    private func keep(_ newChunks: [RecordChunk]) {
        for chunk in newChunks where known.insert(ObjectIdentifier(chunk)).inserted {
            chunks.append(chunk)
            bytes += chunk.capacity
        }
        if bytes > sweepAt { sweep() }
    }

    /// Drops the rows of chunks that nothing but the cache retains.
    private func sweep() {
        var kept: [RecordChunk] = []
        bytes = 0
        while var chunk = chunks.popLast() {
            if isKnownUniquelyReferenced(&chunk) {
                known.remove(ObjectIdentifier(chunk))
                forget(chunk)
            } else {
                bytes += chunk.capacity
                kept.append(chunk)
            }
        }
        chunks = kept
        sweepAt = max(64 << 20, bytes * 2)
    }

    private func forget(_ chunk: RecordChunk) {
        chunk.forEachRecord { record in
            for index in tables.keys where tables[index]?.find(record.primaryKey) == record.start {
                tables[index]?.remove(record.primaryKey)
            }
        }
    }
}
