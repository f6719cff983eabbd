import CPlatform
import CorestoneValues

// Whatever a context reads of a store, and whatever it knows of its rows already, comes through the first two. Saves, and the
// conflicts that they meet, go to the store itself.
extension Context {
    /// The context's own way into a store, or into the state of it that the context is pinned to: it keeps to one connection as long
    /// as it can. After `requireReadable`, which sees to the generation.
    @inline(__always)
    func reader(of store: Store) -> any StoreReading {
        if let lastReader = faultLoader.lastReader, lastReader.store == store.number, readsNewest {
            return lastReader.reader
        }
        return findReader(of: store)
    }

    /// Costs one look, as most contexts do.
    @inline(__always)
    private var readsNewest: Bool { parent == nil && generationState.isNone }

    @inline(never)
    private func findReader(of store: Store) -> any StoreReading {
        let source = pin(of: store)?.reader ?? store.backing
        if let last = faultLoader.readers.last, last.source === source { return last.reader }
        let found =
            faultLoader.readers.first { $0.source === source }
            ?? ContextReader(store: store, source: source, reader: source.makeReader())
        // Neither those of removed stores, nor those of states that the context has left behind.
        faultLoader.readers.removeAll { !$0.store.isOpen || $0.source === source || $0.source !== $0.store.backing }
        faultLoader.readers.append(found)
        if source === store.backing { faultLoader.lastReader = (store.number, found.reader) }
        return found.reader
    }

    /// The rows that are known of the state that `reader` reads.
    @inline(__always)
    func rowCache(of store: Store) -> RowCache { readsNewest ? store.rowCache : pinnedRows(of: store) }

    @inline(never)
    private func pinnedRows(of store: Store) -> RowCache { pin(of: store)?.rowCache ?? store.rowCache }

    /// Runs `body`, which reads an open store.
    @inline(__always)
    func using<Result>(_ store: Store, _ body: () throws -> Result) throws -> Result {
        if !readsNewest { try requireReadable(store) }
        return try store.use(body)
    }

    /// Runs `body`, which reads an open store, with this context's interrupt check.
    func reading<Result>(_ store: Store, _ body: (any StoreReading) throws -> Result) throws -> Result {
        try using(store) {
            let reader = reader(of: store)
            guard let interruptCheck else { return try body(reader) }
            reader.setInterruptCheck(interruptCheck)
            defer { reader.setInterruptCheck(nil) }
            return try body(reader)
        }
    }

    /// Runs `body`, which saves to an open store or reads what a save has to agree with, when it is this context's turn.
    func writing<Result>(_ store: Store, _ body: () throws -> Result) throws -> Result {
        if platform_holds_store(), !store.writing.isMine {
            throw Coordinator.storeInUse("save to \(store.path)", file: store.path)
        }
        guard store.writing.lock(unless: { interruptCheck?() == true }) else {
            throw CoreError(
                .cancelled, code: .persistentStoreSave,
                "the wait for other saves to \(store.path) was cancelled, and nothing was written to it",
                file: store.path)
        }
        defer { store.writing.unlock() }
        if store.isInBatch { throw store.isInBatchError() }
        return try store.use {
            store.backing.setInterruptCheck(interruptCheck)
            defer { store.backing.setInterruptCheck(nil) }
            return try failingBeyondFileSize(body)
        }
    }
}

/// What a context reads a store through.
struct ContextReader {
    let store: Store
    /// The store, or what holds a state of it.
    let source: any StoreReading
    let reader: any StoreReading
}
