extension RowCache {
    /// Verifies, in debug builds and under the lock:
    /// - `known` identifies the retained chunks, each of which is retained once, and `bytes` is their total capacity.
    /// - A waiting chunk is retained, so that its rows are valid.
    /// - No tree is in doubt outside a save.
    ///
    /// Called at the end of each save. Large caches are not verified.
    func checkInvariants() {
        #if DEBUG
            guard chunks.count <= 256 else { return }
            precondition(known == Set(chunks.map(ObjectIdentifier.init)), "the row cache identifies other chunks")
            precondition(known.count == chunks.count, "the row cache retains a chunk twice")
            precondition(bytes == chunks.reduce(0) { $0 + $1.capacity }, "the size of the row cache is wrong")
            for tree in trees {
                precondition(!tree.isInDoubt, "a tree of the row cache is in doubt after the save")
                for case .chunk(let chunk) in tree.waiting {
                    let address = chunk.toOpaque()
                    precondition(
                        chunks.contains { Unmanaged.passUnretained($0).toOpaque() == address },
                        "a waiting chunk of the row cache is not retained")
                }
            }
        #endif
    }
}
