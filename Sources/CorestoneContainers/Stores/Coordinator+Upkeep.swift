import CorestoneAtomicStores
import CorestoneFileSystem
import CorestoneGraph
import CorestoneModel
import CorestoneSQLite
import CorestoneValues

extension Coordinator {
    /// Copies an open store in its current state, with its backing files.
    ///
    /// The copy is an independent store with the same identifier. Other contexts and processes can read in the
    /// meantime. They can also save to an SQLite store with a write-ahead log. Saves to an SQLite store with a rollback
    /// journal or in memory wait for the end of the copy; those of other processes fail with `.storeBusy` after their
    /// time-out. During the copy of an atomic store, saves to all stores of this coordinator wait, and saves of other
    /// processes do not wait.
    ///
    /// - Parameters:
    ///   - path: An unused path, or an earlier copy of this store, which is replaced atomically; relative to the
    ///     working directory at the time of the call.
    ///   - options: The time-out for another connection's lock on an earlier copy, and the permissions of a new file;
    ///     by default those of the store.
    ///   - progress: Receives the number of copied bytes and the total, on this thread. The function may read from the
    ///     store, but must not save. If it returns false, the call fails with `.cancelled`.
    /// - Throws: `.invalidArgument` if the store is not open in this coordinator, or if `path` is another store or an
    ///   open store.
    ///   `.unsupported` for a store of type `.inMemory` or a custom store.
    ///   `.notAStore` if `path` is a file but not a store.
    ///   `.storeBusy` if another process locks the earlier copy, or if backing files were repeatedly removed during the
    ///   copy.
    ///   `.storeIO` if the copy cannot be written.
    ///   `.cancelled` if `progress` returns false.
    ///   The file at `path` is unchanged after an error, except that an incomplete copy remains if `.storeBusy` reports
    ///   removed backing files.
    public func backup(
        _ store: Store, to path: String, options: StoreOptions = StoreOptions(),
        progress: @escaping (_ done: Int, _ total: Int) -> Bool = { _, _ in true }
    ) throws {
        try requireOwn(store)
        if let other = self.store(at: path) {
            throw CoreError(
                .invalidArgument, code: .persistentStoreOperation,
                "\(Coordinator.shown(store.path)) cannot be copied to \(Coordinator.shown(path)), which is "
                    + "\(other === store ? "the same store" : "open in this coordinator"); choose another path",
                key: "path", file: path)
        }
        if path == StoreLocation.inMemoryPath {
            throw CoreError(
                .invalidArgument, code: .persistentStoreOperation,
                "\(Coordinator.shown(store.path)) cannot be copied to \(path), which does not store data; "
                    + "choose the path of a file", key: "path", file: path)
        }
        if let backing = store.backing as? any SQLiteUpkeep {
            return try store.use {
                try failingBeyondFileSize { try backing.backup(to: path, options: options, progress: progress) }
            }
        }
        guard let kind = try StoreTypes.kind(of: store.type) as? AtomicKind else {
            throw CoreError(
                .unsupported, code: .persistentStoreOperation,
                "\(Coordinator.shown(store.path)) cannot be copied to \(path), because "
                    + (store.type == .inMemory
                        ? "an in-memory store does not have a file"
                        : "a custom store (type \"\(store.type.rawValue)\") cannot be backed up")
                    + "; migrate the store with cst_coordinator_migrate_store (migrate_store, migrateStore)",
                key: "type", value: .string(store.type.rawValue), file: store.path)
        }
        if let there = try? StoreMetadata(ofStoreAt: path), there.uuid.description != store.identifier {
            throw CoreError(
                .invalidArgument, code: .persistentStoreOperation,
                "\(path) is not a copy of \(store.path) and was not changed; choose an unused path or an earlier copy",
                key: "path", value: .uuid(there.uuid), file: path)
        }
        try performAndWait("copy \(store.path) to \(path)") {
            try failingBeyondFileSize {
                try kind.copy(store.path, to: path, options: options, progress: progress)
            }
        }
    }

    /// Copies the write-ahead log of an SQLite store into its file. SQLite also does this automatically.
    ///
    /// - Returns: The result; nil for a store without a write-ahead log.
    /// - Throws: `.storeBusy` if other connections block the checkpoint for longer than the store's time-out.
    ///   `.storeReadOnly` if the store cannot be written.
    ///   `.unsupported` for another store type.
    ///   `.invalidArgument` if the store is not open in this coordinator.
    @discardableResult
    public func checkpoint(_ store: Store, _ mode: CheckpointMode = .passive) throws -> CheckpointResult? {
        let backing = try sqlite(store, "checkpoints")
        return try performAndWait("checkpoint \(store.path)") {
            try store.use { try failingBeyondFileSize { try backing.checkpoint(mode) } }
        }
    }

    /// Updates the statistics by which SQLite chooses indexes, and deletes orphaned backing files.
    ///
    /// Large saves also update the statistics.
    ///
    /// - Returns: The names of the deleted files. No files are deleted if another store uses the same folder.
    /// - Throws: `.storeBusy` if another process writes.
    ///   `.storeReadOnly` if the store cannot be written.
    ///   `.unsupported` for another store type.
    ///   `.invalidArgument` if the store is not open in this coordinator.
    @discardableResult
    public func optimize(_ store: Store) throws -> [String] {
        let backing = try sqlite(store, "optimisation")
        return try performAndWait("optimise \(store.path)") {
            try store.use { try backing.optimize() }
            guard try StoreTypes.place(of: store) != nil else { return [] }
            let leftovers = try StoreLeftovers(ofStoreAt: store.path)
            return leftovers.sharer != nil || leftovers.names.isEmpty
                ? [] : try StoreLeftovers.remove(fromStoreAt: store.path).names
        }
    }

    private func sqlite(_ store: Store, _ operation: String) throws -> any SQLiteUpkeep {
        try requireOwn(store)
        if let backing = store.backing as? any SQLiteUpkeep { return backing }
        let shown = store.path.isEmpty ? "the store without a path" : store.path
        throw CoreError(
            .unsupported, code: .persistentStoreOperation,
            "\(shown) has the type \"\(store.type.rawValue)\", which does not support \(operation); use an SQLite store",
            key: "type", value: .string(store.type.rawValue), file: store.path)
    }
}
