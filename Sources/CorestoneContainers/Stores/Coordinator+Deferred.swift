import CorestoneFileSystem
import CorestoneGraph
import CorestoneModel
import CorestoneSQLite
import CorestoneValues

// The deferred part of a migration (`MigrationOptions.defersCleanup`).
extension Coordinator {
    /// Returns the number of tasks that a deferred migration left in a store; 0 for store types other than SQLite.
    ///
    /// - Throws: `.invalidArgument` if the store is not open in this coordinator.
    public func deferredMigrationTaskCount(of store: Store) throws -> Int {
        guard let backing = try upkeep(of: store) else { return 0 }
        return try store.use { try backing.deferredTaskCount() }
    }

    /// Runs the next deferred task of a store (Core Data's `finishDeferredLightweightMigrationTask`).
    ///
    /// A task removes the leftover columns of one table, or one leftover table. Each task is a transaction, so an
    /// interruption undoes only the current task.
    ///
    /// - Returns: Whether more tasks are left.
    /// - Throws: `.storeBusy` if another process writes.
    ///   `.storeReadOnly` if the store cannot be written.
    ///   `.invalidArgument` if the store is not open in this coordinator.
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

    /// Runs all deferred tasks of a store (Core Data's `finishDeferredLightweightMigration`).
    ///
    /// This coordinator can save between two tasks.
    ///
    /// - Parameter progress: Receives the number of finished tasks and the total, on this thread, before each task and
    ///   at the end. If it returns false before a task, the call fails with 134120, and the remaining tasks stay.
    /// - Throws: As `finishDeferredMigrationTask`.
    ///   `.cancelled` (134120) if `progress` returns false before a task.
    public func finishDeferredMigration(
        of store: Store, progress: (_ done: Int, _ total: Int) -> Bool = { _, _ in true }
    ) throws {
        let total = try deferredMigrationTaskCount(of: store)
        var done = 0
        var isUnfinished = true
        while isUnfinished {
            guard progress(min(done, total), total) else {
                let left =
                    total > done ? ", with \(total - done) of \(total) \(total == 1 ? "task" : "tasks") left" : ""
                throw CoreError(
                    .cancelled, code: .migrationCancelled,
                    "finishing the migration of \(store.path) was cancelled by the application\(left)",
                    file: store.path)
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
