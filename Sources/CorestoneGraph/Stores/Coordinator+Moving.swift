import CPlatform
import CorestoneModel
import CorestoneValues

extension Coordinator {
    /// Has an open store lie somewhere else from now on. Core Data calls this `setURL:forPersistentStore:`.
    ///
    /// A store that is written as a whole goes to `path` with the next save, also of a context without changes; nothing may be
    /// there but an older state of the same store. An SQLite store is opened there: the file has to be the same store already,
    /// moved or copied while nothing was saved to it (`performAndWait`). Objects stay as they are, and find at `path` what they
    /// have not read yet. The former file stays.
    ///
    /// - Parameter path: relative to the working directory at the time of the call.
    /// - Throws: `.invalidArgument` for a store that is not open here, and for another store's file; what opening the file fails
    ///   with. The store is where it was then.
    public func setPath(_ path: String, of store: Store) throws {
        if platform_holds_connection() || platform_holds_store() && !store.writing.isMine {
            throw Coordinator.storeInUse("move \(store.path) to \(path)", file: store.path)
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
