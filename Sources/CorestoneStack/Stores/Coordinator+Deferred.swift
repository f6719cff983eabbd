import CorestoneGraph
import CorestoneModel
import CorestoneSQLite
import CorestoneValues

// The part of a migration that was left for later (`MigrationOptions.defersCleanup`).
extension Coordinator {
    /// How many tasks a deferred migration left in a store; 0 for a store without any, and for stores of other types than SQLite.
    public func deferredMigrationTaskCount(of store: Store) throws -> Int {
        guard let backing = try upkeep(of: store) else { return 0 }
        return try store.use { try backing.deferredTaskCount() }
    }

    /// Does the next task that a deferred migration left in a store (`finishDeferredLightweightMigrationTask`): one table loses its
    /// leftover columns, or one leftover table goes. Each task is a transaction; an interruption costs the task that was running.
    ///
    /// - Returns: whether more tasks are left.
    /// - Throws: `.storeBusy` while another process writes; `.storeReadOnly`; `.invalidArgument` for a store that is not open here.
    @discardableResult
    public func finishDeferredMigrationTask(of store: Store) throws -> Bool {
        guard let backing = try upkeep(of: store) else { return false }
        return try performAndWait("finish the migration of \(store.path)") {
            try store.use {
                guard try backing.deferredTaskCount() > 0 || backing.metadata().isDeferred else { return false }
                try failingBeyondFileSize { try backing.finishDeferredTask() }
                return try backing.deferredTaskCount() > 0
            }
        }
    }

    /// Does everything that a deferred migration left in a store (`finishDeferredLightweightMigration`). Saves of this coordinator may
    /// happen between two tasks.
    ///
    /// - Parameter progress: told the tasks that are done and of all, on this thread, before each of them and at the end. False ends it
    ///   with 134120; the tasks that are left stay.
    /// - Throws: as `finishDeferredMigrationTask`.
    public func finishDeferredMigration(
        of store: Store, progress: (_ done: Int, _ total: Int) -> Bool = { _, _ in true }
    ) throws {
        let total = try deferredMigrationTaskCount(of: store)
        var done = 0
        var isUnfinished = true
        while isUnfinished {
            guard progress(min(done, total), total) else {
                throw CoreError(
                    .cancelled, code: .migrationCancelled,
                    "finishing the migration of \(store.path) was cancelled by the application, with \(max(total - done, 0)) of "
                        + "\(total) \(total == 1 ? "task" : "tasks") left", file: store.path)
            }
            isUnfinished = try finishDeferredMigrationTask(of: store)
            done += 1
        }
        _ = progress(total, total)
    }

    private func upkeep(of store: Store) throws -> (any SQLiteUpkeep & PersistentStore)? {
        try requireOwn(store)
        return store.backing as? any SQLiteUpkeep & PersistentStore
    }
}

extension StoreMetadata {
    fileprivate var isDeferred: Bool { values[Key.deferredMigration]?.flag == true }
}
