extension RowCache {
    /// Verifies, in debug builds and under the lock:
    /// - `known` identifies the retained chunks, each of which is retained once, and `bytes` is their total capacity.
    /// - A waiting chunk is retained, so that its rows are valid.
    /// - A row of a table is in a retained chunk, and has the key under which it is found.
    /// - No tree is marked as being committed after a save.
    ///
    /// Called at the end of each save. Only caches of at most 256 chunks are verified, and of their tables only those
    /// of at most 256 rows and 1,024 places.
    func checkInvariants() {
        #if DEBUG
            guard chunks.count <= 256 else { return }
            precondition(known == Set(chunks.map(ObjectIdentifier.init)), "the row cache identifies other chunks")
            precondition(known.count == chunks.count, "the row cache retains a chunk twice")
            precondition(bytes == chunks.reduce(0) { $0 + $1.capacity }, "the size of the row cache is wrong")
            // Rows are compared with the addresses of the chunks first, because the memory of a row may be freed.
            let blocks = chunks.map { (start: UnsafeRawPointer($0.memory), size: $0.capacity) }
                .sorted { $0.start < $1.start }
            for tree in trees {
                if let table = tree.table, table.count <= 256, table.mask < 1024 {
                    table.forEach { key, row in
                        let next = RowList.partition(blocks.count) { blocks[$0].start <= UnsafeRawPointer(row) }
                        precondition(
                            next > 0 && UnsafeRawPointer(row) < blocks[next - 1].start + blocks[next - 1].size,
                            "a row of the row cache is not in a retained chunk")
                        precondition(Record(row).primaryKey == key, "a row of the row cache has another key")
                    }
                }
                precondition(!tree.isCommitting, "a commit to a tree of the row cache has not ended after the save")
                for case .chunk(let chunk) in tree.pending {
                    let address = chunk.toOpaque()
                    precondition(
                        chunks.contains { Unmanaged.passUnretained($0).toOpaque() == address },
                        "a waiting chunk of the row cache is not retained")
                }
            }
        #endif
    }
}
