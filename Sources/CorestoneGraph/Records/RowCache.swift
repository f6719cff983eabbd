import CorestoneModel

/// The rows of one store that its coordinator's contexts have read, so that a second context's fault costs no query.
///
/// Rows stay as long as an object uses their chunk; chunks that no object uses any more are kept up to a limit, then
/// dropped. Guarded by the coordinator's lock.
final class RowCache {
    /// By the index of the tree's root.
    private var tables: [KeyTable?] = []
    private var chunks: [RecordChunk] = []
    private var known: Set<ObjectIdentifier> = []
    private var bytes = 0
    private var sweepAt = 64 << 20

    /// The newest known row of a key within the tree of `root`.
    func row(_ root: Entity, _ primaryKey: Int64) -> Record? {
        let index = Int(root.rootIndex)
        guard index < tables.count, let place = tables[index]?.find(primaryKey) else { return nil }
        return Record(place)
    }

    /// Takes in rows of one inheritance tree.
    func add(_ records: ContiguousArray<Record>, root: Entity, chunks newChunks: [RecordChunk]) {
        keep(newChunks)
        let table = table(root)
        table.reserve(records.count)
        for record in records { table.set(record.primaryKey, record.start) }
    }

    /// Takes in one row.
    func add(_ record: Record, root: Entity, chunk: RecordChunk) {
        keep(chunk)
        add(record, root: root)
    }

    /// Takes in one row of a chunk that the caller gave to `keep`, under the same lock.
    func add(_ record: Record, root: Entity) { table(root).set(record.primaryKey, record.start) }

    func keep(_ newChunks: [RecordChunk]) { for chunk in newChunks { keep(chunk) } }

    private func table(_ root: Entity) -> KeyTable {
        let index = Int(root.rootIndex)
        while tables.count <= index { tables.append(nil) }
        if let table = tables[index] { return table }
        let table = KeyTable(capacity: 64)
        tables[index] = table
        return table
    }

    func remove(_ root: Entity, _ primaryKey: Int64) {
        let index = Int(root.rootIndex)
        if index < tables.count { tables[index]?.remove(primaryKey) }
    }

    func removeAll() {
        tables = []
        chunks = []
        known = []
        bytes = 0
    }

    private func keep(_ chunk: RecordChunk) {
        // Single rows come one after the other in one chunk.
        if chunks.last === chunk || !known.insert(ObjectIdentifier(chunk)).inserted { return }
        chunks.append(chunk)
        bytes += chunk.capacity
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
            for table in tables where table?.find(record.primaryKey) == record.start {
                table?.remove(record.primaryKey)
            }
        }
    }
}
