import CorestoneFiles
import CorestoneGraph
import CorestoneModel
import CorestoneSQLite
import CorestoneValues

extension Coordinator {
    /// Copies a store that is open, in the state of now and with its files of external data, while others go on reading and saving. The
    /// copy is a store of its own that keeps the identifier.
    ///
    /// A store with a rollback journal, one in memory and one that is written as a whole is not saved meanwhile.
    ///
    /// - Parameters:
    ///   - path: where nothing is, or a former copy of this store, which is overwritten in one step; relative to the working
    ///     directory at the time of the call.
    ///   - options: how long to wait for another process's lock on a former copy; the permissions of a new file, which are
    ///     those of the store otherwise.
    ///   - progress: told the bytes that are done, and of all, on this thread; may read from the store, and not save. False ends the
    ///     copying with `.cancelled`.
    /// - Throws: `.invalidArgument` for a store that is not open here, a path where another store is, or one that is open; `.storeIO`,
    ///   `.storeBusy`, `.notAStore`. What was at `path` is as it was then.
    public func backup(
        _ store: Store, to path: String, options: StoreOptions = StoreOptions(),
        progress: @escaping (_ done: Int, _ total: Int) -> Bool = { _, _ in true }
    ) throws {
        try requireOwn(store)
        if let other = self.store(at: path) {
            throw CoreError(
                .invalidArgument, code: .persistentStoreOperation,
                "cannot copy \(store.path) to \(path), which is \(other === store ? "the same store" : "open in this coordinator"); "
                    + "choose another path", file: path)
        }
        if path == StorePlace.nowhere {
            throw CoreError(
                .invalidArgument, code: .persistentStoreOperation,
                "cannot copy \(store.path) to \(path), which does not store data; choose the path of a file", file: path
            )
        }
        if let backing = store.backing as? any SQLiteUpkeep {
            return try store.use {
                try failingBeyondFileSize { try backing.backup(to: path, options: options, progress: progress) }
            }
        }
        guard let kind = try StoreTypes.kind(of: store.type) as? AtomicKind else {
            throw CoreError(
                .unsupported, code: .persistentStoreOperation,
                store.type == .inMemory
                    ? "\(store.path) is an in-memory store without a file to copy to \(path); migrate it with "
                        + "cst_coordinator_migrate_store (migrate_store)"
                    : "\(store.path) is a custom store of type \(store.type.rawValue), which the library cannot copy; "
                        + "migrate it with cst_coordinator_migrate_store (migrate_store)",
                file: store.path)
        }
        if let there = try? StoreMetadata(ofStoreAt: path), there.uuid.description != store.identifier {
            throw CoreError(
                .invalidArgument, code: .persistentStoreOperation,
                "\(path) is not a copy of \(store.path) and was not changed; choose an unused path or an earlier copy",
                file: path)
        }
        try performAndWait("copy \(store.path) to \(path)") {
            try failingBeyondFileSize {
                try kind.copy(store.path, to: path, options: options, progress: progress)
            }
        }
    }

    /// Brings the write-ahead log of an SQLite store into its file, as is done now and then anyway.
    ///
    /// - Returns: nil for a store without a log.
    /// - Throws: `.storeBusy` where others are in the way for longer than the store's options have patience, `.storeReadOnly`,
    ///   `.unsupported` for a store of another type, `.invalidArgument` for one that is not open here.
    @discardableResult
    public func checkpoint(_ store: Store, _ mode: CheckpointMode = .passive) throws -> CheckpointResult? {
        let backing = try sqlite(store, "checkpoints")
        return try performAndWait("checkpoint \(store.path)") {
            try store.use { try failingBeyondFileSize { try backing.checkpoint(mode) } }
        }
    }

    /// Renews what SQLite knows of how the values in a store are spread, by which it chooses indexes, and removes files of external
    /// data that no row refers to. A save of many objects does the first by itself.
    ///
    /// - Returns: the files that were removed; none where it cannot be told which nobody needs.
    /// - Throws: `.storeBusy`, `.storeReadOnly`, `.unsupported` for a store of another type, `.invalidArgument` for one that is not
    ///   open here.
    @discardableResult
    public func optimize(_ store: Store) throws -> [String] {
        let backing = try sqlite(store, "optimisation")
        return try performAndWait("optimize \(store.path)") {
            try store.use { try backing.optimize() }
            guard try StoreTypes.place(of: store) != nil else { return [] }
            let leftovers = try StoreLeftovers(ofStoreAt: store.path)
            return leftovers.sharer != nil || leftovers.names.isEmpty
                ? [] : try StoreLeftovers.remove(fromStoreAt: store.path).names
        }
    }

    private func sqlite(_ store: Store, _ what: String) throws -> any SQLiteUpkeep {
        try requireOwn(store)
        if let backing = store.backing as? any SQLiteUpkeep { return backing }
        throw CoreError(
            .unsupported, code: .persistentStoreOperation,
            "\(store.path) is a store of type \(store.type.rawValue), which does not support \(what); use an SQLite store",
            file: store.path)
    }
}
