import CSQLite
import CorestoneGraph
import CorestoneModel
import CorestoneValues

/// What a store knows of its watch, and the watch of it.
struct WatchedStore {
    /// nil while nobody wants to know what others write.
    weak var watch: SQLiteWatch?
    /// The number of the last transaction that the store itself wrote into the history.
    var lastTransaction: Int64?
}

extension SQLiteStore {
    func watch(_ tell: @escaping @Sendable (ForeignChanges) -> Void) throws -> (any StoreWatch)? {
        if isInMemory { return nil }
        let watch = SQLiteWatch(self, tell)
        // First, so that no save of ours slips between.
        watched.withLock { $0.watch = watch }
        try watch.start()
        return watch
    }

    var lastOwnTransaction: Int64? { watched.withLock { $0.lastTransaction } }

    /// Runs `commit`, which commits what `writer` wrote, so that the watch, if there was one when that began, knows it for the
    /// store's own.
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
