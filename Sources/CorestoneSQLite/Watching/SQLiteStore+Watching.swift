import CSQLite
import CorestoneGraph
import CorestoneModel
import CorestoneValues

/// The state that a store shares with its watcher.
struct WatchedStore {
    /// The watcher; nil if the store is not watched.
    weak var watch: SQLiteWatch?
    /// The number of the last transaction that the store itself wrote to the history.
    var lastTransaction: Int64?
}

extension SQLiteStore {
    func watch(_ notify: @escaping @Sendable (ExternalChanges) -> Void) throws -> (any StoreWatch)? {
        if isInMemory { return nil }
        let watch = SQLiteWatch(self, notify)
        // Set before the start, so that the watcher recognises every save of the store.
        watched.withLock { $0.watch = watch }
        try watch.start()
        return watch
    }

    var lastOwnTransaction: Int64? { watched.withLock { $0.lastTransaction } }

    /// Runs `commit`, which commits the writes of `writer`.
    ///
    /// The watcher that existed at the start of the transaction recognises them as the store's own.
    func committing(
        _ save: OwnWrites.Save, with writer: Connection, _ watch: SQLiteWatch?, _ commit: () throws -> Void
    ) throws {
        if let watch {
            try watch.committing(save, with: writer, commit)
        } else {
            try commit()
        }
        if let number = save.transaction { watched.withLock { $0.lastTransaction = number } }
    }
}
