import CSQLite
import CorestoneGraph
import CorestoneModel
import CorestoneValues

/// How far `Coordinator.checkpoint` goes to bring a write-ahead log into its store, as SQLite has it.
public enum CheckpointMode: UInt32, Sendable, CaseIterable {
    /// As far as nobody is in the way.
    case passive
    /// All of it: waits for who writes, and for readers of older states.
    case full
    /// Then also until nobody reads the log, so that the next save begins it anew.
    case restart
    /// Then cuts the log to nothing.
    case truncate
}

/// What a checkpoint found and did, in frames: pages of the log.
public struct CheckpointResult: Sendable, Equatable {
    public let logFrames: Int
    public let checkpointedFrames: Int

    public var isComplete: Bool { checkpointedFrames == logFrames }
}

/// What an SQLite store offers beside what every store does.
package protocol SQLiteUpkeep: AnyObject {
    /// Copies the state of now, while others go on saving.
    func backup(
        to path: String, options: StoreOptions, progress: @escaping (_ done: Int, _ total: Int) -> Bool) throws

    /// By whoever saves. nil for a store without a write-ahead log.
    func checkpoint(_ mode: CheckpointMode) throws -> CheckpointResult?

    /// Lets SQLite renew what it knows of how values are spread, where much has changed, or find that out. By whoever saves.
    func optimize() throws

    /// How many tasks a deferred migration left.
    func deferredTaskCount() throws -> Int

    /// Does one of them, if there are any. By the thread that may save.
    func finishDeferredTask() throws
}

extension SQLiteStore: SQLiteUpkeep {
    /// How often a copy is tried of which others remove files.
    private static let patience = 5

    package func backup(
        to path: String, options: StoreOptions, progress: @escaping (_ done: Int, _ total: Int) -> Bool
    ) throws {
        for _ in 0..<SQLiteStore.patience {
            let lost = try transfer(to: path, options, progress)
            if lost.isEmpty { return }
            // Files that the newest state lacks, too, were lost before.
            let wanted = try withFile { file in
                file.endReads()
                return try file.connection.namesOfExternalFiles(in: schema.tables.map(\.name))
            }
            if lost.isSubset(of: wanted) {
                return StoreTransfer.tell(ofLost: lost, in: externalFolder, to: try StorePlace(path))
            }
        }
        throw CoreError(
            .storeBusy, code: .persistentStoreOperation,
            "cannot copy \(self.path) to \(path): another process or coordinator kept removing backing files during the "
                + "copy; try again when it is idle", file: self.path)
    }

    private func transfer(
        to path: String, _ options: StoreOptions, _ progress: @escaping (Int, Int) -> Bool
    ) throws -> Set<String> {
        let place = try StorePlace(path)
        // A file that could be read can be copied.
        var options = options
        options.limits.externalBytes = max(options.limits.externalBytes, self.options.limits.externalBytes)
        let origin = isInMemory ? StorePlace(nowhere: self.path) : try StorePlace(self.path)
        func copy(_ connection: Connection) throws -> Set<String> {
            try StoreTransfer(
                from: connection, externalFolder, origin, to: place, options, keepingOthers: true, progress: progress
            ).run {}
        }
        if !isInMemory, !isReadOnly, let pinned = try? pinnedReader(), let reader = pinned as? SQLiteStore {
            defer { unpin(reader) }
            return try reader.withFile { try copy($0.connection) }
        }
        // Nobody else reads meanwhile, or writes.
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
                throw file.connection.error(
                    code, "checkpoint \(path) (\(mode), \(max(done, 0)) of \(max(frames, 0)) pages copied)",
                    cocoaCode: .persistentStoreOperation)
            }
            if frames < 0 { return nil }
            file.logFrames = mode == .truncate ? 0 : file.logFrames
            return CheckpointResult(logFrames: Int(frames), checkpointedFrames: Int(done))
        }
    }

    package func optimize() throws {
        try withFile { file in
            try requireWritable("optimize")
            file.endReads()
            let isKnown = try file.connection.finds(
                "SELECT 1 FROM sqlite_schema WHERE name = 'sqlite_stat1'", purpose: "optimize \(path)")
            try optimize(file, isKnown ? "PRAGMA optimize" : "ANALYZE")
        }
    }

    /// In a transaction that the watch of the store knows for our own.
    private func optimize(_ file: OpenFile, _ statement: String) throws {
        let (connection, purpose) = (file.connection, "optimize \(path)")
        // A look at some hundred rows of each index, whatever there are.
        let limit = try connection.integer("PRAGMA analysis_limit", purpose)
        if limit == 0 { try connection.execute("PRAGMA analysis_limit=1000", purpose) }
        defer { if limit == 0 { sqlite3_exec(connection.db, "PRAGMA analysis_limit=0", nil, nil, nil) } }
        try connection.execute("BEGIN IMMEDIATE", purpose, cocoaCode: .persistentStoreOperation)
        do {
            let watch = watched.withLock { $0.watch }
            watch?.noteOthers()
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

    func requireWritable(_ purpose: String) throws {
        guard let readOnlyReason else { return }
        throw CoreError(
            .storeReadOnly, code: .persistentStoreOperation,
            "cannot \(purpose) \(path), which is open read-only: \(readOnlyReason)", file: path)
    }

    /// Rows from which on a save is a large one.
    private static let largeSave = 100_000

    /// After a commit, which nothing undoes any more: what fails here, or would have to wait for others, is tried another time.
    func optimizeAfterSave(_ file: OpenFile, changes: Int) {
        guard changes >= SQLiteStore.largeSave else { return }
        try? file.connection.withoutWaiting { try optimize(file, "PRAGMA optimize") }
    }
}
