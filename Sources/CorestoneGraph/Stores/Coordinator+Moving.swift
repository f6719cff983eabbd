import CPlatform
import CorestoneModel
import CorestoneValues

extension Coordinator {
    /// Changes the path of an open store. Core Data calls this `setURL:forPersistentStore:`.
    ///
    /// An atomic store is written to `path` by the next save, even of a context without changes. The path must be
    /// unused or contain an older state of the same store. An SQLite store is opened at `path`. The file must already
    /// be the same store, moved or copied without saves in between (`performAndWait`). Objects do not change, and read
    /// further values from `path`. The function does not delete the former file.
    ///
    /// - Parameter path: The new path, relative to the working directory at the time of the call.
    /// - Throws: `.invalidArgument` for a store that is not open in this coordinator, for another store's file, and
    ///   during a fetch or a save on this thread.
    ///   `.unsupported` for a store type that cannot be moved.
    ///   Errors of opening the file.
    ///   After an error, the path is unchanged.
    public func setPath(_ path: String, of store: Store) throws {
        if platform_holds_connection() || platform_holds_store() && !store.writing.isHeldByThisThread {
            throw Coordinator.storeInUse("move \(Coordinator.shown(store.path)) to \(path)", file: store.path)
        }
        try store.writing.with {
            try requireOwn(store)
            remote.end(store)
            defer { try? remote.update(self) }
            try store.use {
                try store.backing.move(to: path)
                store.rowCache.forgetAll()
            }
        }
    }
}
