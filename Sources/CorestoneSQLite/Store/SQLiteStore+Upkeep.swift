import CSQLite
import CorestoneGraph
import CorestoneModel
import CorestoneValues

/// The extent to which `Coordinator.checkpoint` copies the write-ahead log into the database file.
///
/// The modes are those of SQLite.
public enum CheckpointMode: UInt32, Sendable, CaseIterable {
    /// Copies as many frames as possible without waiting for readers or writers.
    case passive
    /// Copies all frames. Waits for writers, and for readers of older states.
    case full
    /// Copies all frames like `full`, and also waits until readers do not use the log.
    ///
    /// The next save then restarts the log.
    case restart
    /// Copies all frames like `restart`, and truncates the log to zero bytes.
    case truncate
}

/// The result of a checkpoint, in frames, which are the pages of the log.
public struct CheckpointResult: Sendable, Equatable {
    public let logFrames: Int
    public let checkpointedFrames: Int

    public var isComplete: Bool { checkpointedFrames == logFrames }
}

/// The maintenance operations of SQLite stores.
package protocol SQLiteUpkeep: AnyObject {
    /// Copies the current state of the store.
    ///
    /// Other connections can write during the copy, unless the store uses a rollback journal.
    func backup(
        to path: String, options: StoreOptions, progress: @escaping (_ done: Int, _ total: Int) -> Bool) throws

    /// Checkpoints the write-ahead log; nil for a store without a log.
    ///
    /// Must be called by the thread that holds the store's writer lock.
    func checkpoint(_ mode: CheckpointMode) throws -> CheckpointResult?

    /// Creates SQLite's statistics for the query planner, or updates them if the data changed much.
    ///
    /// Must be called by the thread that holds the store's writer lock.
    func optimize() throws

    /// Returns the number of deferred tasks of a migration.
    func deferredTaskCount() throws -> Int

    /// Runs the next deferred task, if any remains.
    ///
    /// Must be called by the thread that holds the store's writer lock.
    func finishDeferredTask() throws
}

extension SQLiteStore: SQLiteUpkeep {
    /// The number of attempts to copy a store whose backing files are removed during the copy.
    private static let maximumAttempts = 5

    package func backup(
        to path: String, options: StoreOptions, progress: @escaping (_ done: Int, _ total: Int) -> Bool
    ) throws {
        for _ in 0..<SQLiteStore.maximumAttempts {
            let lost = try transfer(to: path, options, progress)
            if lost.isEmpty { return }
            // Files that the newest state refers to, but lacks, were already lost.
            let wanted = try withFile { file in
                file.endReads()
                return try file.connection.namesOfExternalFiles(in: schema.tables.map(\.name))
            }
            if lost.isSubset(of: wanted) {
                return StoreTransfer.logMissingFiles(lost, in: externalFolder, to: try StoreLocation(path))
            }
        }
        throw CoreError(
            .storeBusy, code: .persistentStoreOperation,
            "cannot copy \(self.path) to \(path): another process or coordinator kept removing backing files "
                + "during the copy; try again while other processes and coordinators do not save to \(self.path)",
            file: self.path)
    }

    private func transfer(
        to path: String, _ options: StoreOptions, _ progress: @escaping (Int, Int) -> Bool
    ) throws -> Set<String> {
        let place = try StoreLocation(path)
        // The copy allows backing files as large as the store does.
        var options = options
        options.limits.externalBytes = max(options.limits.externalBytes, self.options.limits.externalBytes)
        let origin = isInMemory ? StoreLocation(inMemory: self.path) : try StoreLocation(self.path)
        func copy(_ connection: Connection) throws -> Set<String> {
            try StoreTransfer(
                from: connection, externalFolder, origin, to: place, options, keepingOthers: true, progress: progress
            ).run {}
        }
        if !isInMemory, !isReadOnly, let pinned = try? pinnedReader(), let reader = pinned as? SQLiteStore {
            defer { unpin(reader) }
            return try reader.withFile { try copy($0.connection) }
        }
        // No other thread can use this connection during the copy.
        return try withFile { file in
            file.endReads()
            let purpose = "copy \(self.path) to \(path)"
            try file.connection.execute("BEGIN", purpose, cocoaCode: .persistentStoreOperation)
            defer { sqlite3_exec(file.connection.db, "COMMIT", nil, nil, nil) }
            return try copy(file.connection)
        }
    }

    package func checkpoint(_ mode: CheckpointMode) throws -> CheckpointResult? {
        connections.endUnusedReads()
        return try withFile { file in
            try requireWritable("checkpoint")
            file.endReads()
            var (frames, done): (Int32, Int32) = (-1, -1)
            let code = sqlite3_wal_checkpoint_v2(file.connection.db, "main", Int32(mode.rawValue), &frames, &done)
            guard code == SQLITE_OK else {
                // The counts are unknown if the checkpoint did not begin.
                let progress = frames < 0 ? "" : ", \(max(done, 0)) of \(frames) frames copied"
                throw file.connection.error(
                    code, "checkpoint \(path) (\(mode)\(progress))", cocoaCode: .persistentStoreOperation)
            }
            if frames < 0 { return nil }
            file.logFrames = mode == .truncate ? 0 : file.logFrames
            return CheckpointResult(logFrames: Int(frames), checkpointedFrames: Int(done))
        }
    }

    package func optimize() throws {
        try withFile { file in
            try requireWritable("optimise")
            file.endReads()
            let isKnown = try file.connection.finds(
                "SELECT 1 FROM sqlite_schema WHERE name = 'sqlite_stat1'", purpose: "optimise \(path)")
            try optimize(file, isKnown ? "PRAGMA optimize" : "ANALYZE")
        }
    }

    /// Runs a statement in a transaction that the store's watcher recognises as this store's own.
    private func optimize(_ file: OpenFile, _ statement: String) throws {
        let (connection, purpose) = (file.connection, "optimise \(path)")
        // The limit restricts the analysis to about 1,000 rows of each index.
        let limit = try connection.integer("PRAGMA analysis_limit", purpose)
        if limit == 0 { try connection.execute("PRAGMA analysis_limit=1000", purpose) }
        defer { if limit == 0 { sqlite3_exec(connection.db, "PRAGMA analysis_limit=0", nil, nil, nil) } }
        try connection.execute("BEGIN IMMEDIATE", purpose, cocoaCode: .persistentStoreOperation)
        do {
            let watch = watched.withLock { $0.watch }
            watch?.noteForeignCommits()
            try file.requireOwnStoreForWriting()
            try connection.execute(statement, purpose, cocoaCode: .persistentStoreOperation)
            try committing(OwnWrites.Save(), with: connection, watch) {
                try connection.execute("COMMIT", purpose, cocoaCode: .persistentStoreOperation)
            }
        } catch {
            if !connection.isAutocommit { sqlite3_exec(connection.db, "ROLLBACK", nil, nil, nil) }
            throw error
        }
        connections.requireNewest()
    }

    /// Throws if the store is read-only.
    ///
    /// - Parameter purpose: Completes "cannot …" before the path of the store.
    func requireWritable(_ purpose: String) throws {
        guard let readOnlyReason else { return }
        throw CoreError(
            .storeReadOnly, code: .persistentStoreOperation,
            "cannot \(purpose) \(path), which is open read-only: \(readOnlyReason)", file: path)
    }

    /// The number of rows from which a save counts as large.
    private static let largeSave = 100_000

    /// Updates the statistics after a large commit.
    ///
    /// If that fails, or would have to wait for a lock, the next large save tries again.
    func optimizeAfterSave(_ file: OpenFile, changes: Int) {
        guard changes >= SQLiteStore.largeSave else { return }
        try? file.connection.withoutWaiting { try optimize(file, "PRAGMA optimize") }
    }
}
