import CPlatform
import CorestoneFileSystem
import CorestoneValues

// A context reads a store and its cached rows through `reader(of:)` and `rowCache(of:)`. Saves and conflict resolution
// use the store itself.
extension Context {
    /// Returns the context's reader of a store, or of the snapshot to which the context is pinned.
    ///
    /// A context uses one reader, and thus one connection, as long as possible. Unless the context reads the newest
    /// state, the caller must first call `requireReadable`, which sets the generation.
    @inline(__always)
    func reader(of store: Store) -> any StoreReading {
        if let lastReader = faultState.lastReader, lastReader.store == store.number, readsNewest {
            return lastReader.reader
        }
        return findReader(of: store)
    }

    /// Whether the context has neither a parent nor a query generation, and so reads the newest state.
    @inline(__always)
    private var readsNewest: Bool { parent == nil && generationState.isNone }

    @inline(never)
    private func findReader(of store: Store) -> any StoreReading {
        let source = pin(of: store)?.reader ?? store.backing
        if let last = faultState.readers.last, last.source === source { return last.reader }
        let found =
            faultState.readers.first { $0.source === source }
            ?? ContextReader(store: store, source: source, reader: source.makeReader())
        // Removes the readers of removed stores and of former snapshots.
        faultState.readers.removeAll { !$0.store.isOpen || $0.source === source || $0.source !== $0.store.backing }
        faultState.readers.append(found)
        if source === store.backing { faultState.lastReader = (store.number, found.reader) }
        return found.reader
    }

    /// Returns the cached rows of the state that `reader` reads.
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

    /// Runs `body` when it is this context's turn to save.
    ///
    /// `body` saves to an open store, or reads data that must be consistent with a save.
    func writing<Result>(_ store: Store, _ body: () throws -> Result) throws -> Result {
        if platform_holds_store(), !store.writing.isHeldByThisThread {
            throw Coordinator.storeInUse(
                "write to \(Coordinator.shown(store.path))", file: store.path)
        }
        guard store.writing.lock(unless: { interruptCheck?() == true }) else {
            throw CoreError(
                .cancelled, code: .persistentStoreSave,
                "the wait for other saves to \(Coordinator.shown(store.path)) was cancelled, and nothing was written "
                    + "to it",
                file: store.path)
        }
        defer { store.writing.unlock() }
        if store.isInBatch { throw store.inBatchError() }
        return try store.use {
            store.backing.setInterruptCheck(interruptCheck)
            defer { store.backing.setInterruptCheck(nil) }
            return try failingBeyondFileSize(body)
        }
    }
}

/// A reader that a context uses for a store.
struct ContextReader {
    let store: Store
    /// The store, or a snapshot of it.
    let source: any StoreReading
    let reader: any StoreReading
}
