import CSQLite
import CorestoneGraph
import CorestoneModel
import CorestoneValues

// How a store is migrated when it is opened. The thread that opens the store runs all steps, before the coordinator has
// the store. One write transaction covers steps 2 to 10, so other processes see the old store or the new one.
//
// 1. `run` checks the settings of the backup (`MigrationBackup.requireSound`).
// 2. `BEGIN IMMEDIATE` acquires SQLite's write lock, after waiting up to the store's time-out. Other processes can
//    read, but not write. If the lock is not available, the store is unchanged.
// 3. `StoreContents` is read under the lock. If the store already has the version hashes of the new model, another
//    process has migrated it, and nothing is changed.
// 4. `start` finds the store's own model (`SourceModelSearch`), and `MigrationOptions.method` selects a mapping or a
//    route. `StoreExamination` maps the tables, and rejects a store that can only be opened read-only.
//    `MigrationReport` calls `start` too, without a migration.
// 5. `requireSpace` or `requireSpaceForCopy` compares the free disk space with an estimate.
// 6. `backUp` copies the store, if the options request it. `MigrationCopy` reads through another connection, which sees
//    the committed state. Nothing has been written so far.
// 7. With a mapping, the tasks of an earlier deferred migration run first (`DeferredCleanup.runAll`), and `start` runs
//    again. `InPlaceMigration.run` then executes the SQL statements of the `MigrationPlan`.
// 8. With a route, in `RouteMigration.run` the route writes another store into a `WorkFolder` beside the file. It
//    moves the backing files of that store (`BackingFileMove`), attaches the store, and replaces the content
//    (`ContentReplacement`). Earlier deferred tasks are discarded.
// 9. Both ways also migrate the history, write the metadata and the model (`MigratedDocument`), verify the result if
//    the options request it, and examine the file as for opening (`requireMigrated`).
// 10. `COMMIT`. `MigrationCleanup.didCommit` then detaches the result of a route, removes backups beyond
//     `MigrationBackup.keep`, and unlinks backing files to which no row refers, if the commit is durable. Its failures
//     do not fail the migration.
// 11. An error or a cancellation in steps 3 to 10 causes `ROLLBACK`. `MigrationCleanup.didRollBack` unlinks the backing
//     files that were created, and removes the backup unless the commit had begun (`isAtCommit`): then the state of the
//     file is unknown, and the backup stays.
// 12. After a crash, SQLite rolls the transaction back when the file is opened. The next migration by a route removes
//     the work folder that was left (`LocalFile.removeDrafts`).

/// The migration of an SQLite store. It first determines whether the store must and can be migrated.
struct StoreMigration {
    let connection: Connection
    let place: StoreLocation
    let model: Model
    let options: StoreOptions
    let migration: MigrationOptions

    var purpose: String { "migrate \(place.given)" }

    /// The state of a store before its migration.
    struct Start {
        let contents: StoreContents
        /// The current schema of the file, as the store's own model describes it.
        let former: StoreSchema
        /// The history; nil if the store does not record one.
        let history: HistorySchema?
        let method: MigrationMethod
    }

    /// Migrates the store under SQLite's write lock. Does nothing if another process has migrated it in the meantime.
    ///
    /// - Throws: `.migration` if the store cannot be migrated.
    ///   `.cancelled` if the migration is cancelled.
    ///   Errors of SQLite and of files.
    ///   The transaction is rolled back.
    func run() throws {
        try migration.backup?.requireSound(place.given)
        try connection.execute("PRAGMA legacy_alter_table=ON", purpose, cocoaCode: .migration)
        defer { sqlite3_exec(connection.db, "PRAGMA legacy_alter_table=OFF", nil, nil, nil) }
        try connection.execute("BEGIN IMMEDIATE", purpose, cocoaCode: .migration)
        let remains = MigrationCleanup(connection, place)
        do {
            let contents = try StoreContents(connection, place: place)
            if contents.document.hashes != StoreDocument.versionHashes(of: model) { try migrate(contents, remains) }
            remains.isAtCommit = true
            try connection.execute("COMMIT", purpose, cocoaCode: .migration)
        } catch {
            sqlite3_exec(connection.db, "ROLLBACK", nil, nil, nil)
            remains.didRollBack()
            throw error
        }
        remains.didCommit()
    }

    private func migrate(_ contents: StoreContents, _ remains: MigrationCleanup) throws {
        var start = try start(contents)
        let report = migration.progress ?? { _, _ in true }
        switch start.method {
        case .mapping(let mapping):
            try requireSpace(for: start.plan(mapping, migration))
            for warning in mapping.warnings where !migration.isTrial {
                DebugLog.write("CoreData: warning: migration of \(place.given): \(warning)")
            }
        case .route: try requireSpaceForCopy()
        }
        try backUp(remains)
        switch start.method {
        case .mapping(var mapping):
            // The deferred tasks of an earlier migration run first, with the present model of the store.
            if contents.hasDeferredTasks {
                remains.obsolete = try DeferredCleanup(connection, place, start.former).runAll()
                start = try self.start(StoreContents(connection, place: place))
                if case .mapping(let same) = start.method { mapping = same }
            }
            remains.obsolete.formUnion(
                try InPlaceMigration(
                    connection: connection, place: place, plan: start.plan(mapping, migration),
                    contents: start.contents, history: start.history, options: migration
                ).run(report))
        case .route(let route):
            try RouteMigration(
                connection: connection, place: place, model: model, start: start, route: route, remains: remains,
                options: migration
            ).run(report)
            if contents.hasDeferredTasks {
                remains.obsolete.formUnion(try DeferredCleanup(connection, place, start.former).forget())
            }
        }
    }

    /// Creates a backup copy of the store in its state before the transaction.
    private func backUp(_ remains: MigrationCleanup) throws {
        guard let backup = migration.backup else { return }
        do {
            let path = try backup.copying(place) {
                try MigrationCopy(place: StoreLocation($0)).make(of: place, limits: connection.limits)
            }
            remains.backup = (backup, path)
        } catch let error as CoreError {
            throw error.within("cannot migrate \(place.given), because the backup failed", file: place.given)
        }
    }

    /// Determines the method of the migration and the state of the store. Does not change the store.
    func start(_ contents: StoreContents) throws -> Start {
        let source = try SourceModelSearch(migration, hashes: contents.document.hashes, ofStoreAt: place.given) {
            try contents.cachedModel(connection)
        }.run()
        let past = try (contents.document.metadata?.pastModelDigests ?? []) + pastDigestsInHistory()
        let method = try migration.method(from: source, to: model, past: past, ofStoreAt: place.given)
        let examination = try StoreExamination(connection, model: source, place: place, forWriting: true)
        if let reason = examination.readOnlyReason {
            throw CoreError(
                .migration, code: .migration,
                "cannot migrate \(place.given), which is read-only: \(reason)"
                    + (reason.hasRemedy
                        ? ""
                        : ". Open the store with its own model, save it to another file with "
                            + "cst_coordinator_migrate_store (migrate_store, migrateStore), and migrate that file"),
                file: place.given)
        }
        return Start(contents: contents, former: examination.schema, history: examination.history, method: method)
    }

    /// Returns the digests of past models in the authors of migration transactions.
    private func pastDigestsInHistory() throws -> [String] {
        guard let design = try? HistorySchema(of: connection), let label = design.labels[.author] else { return [] }
        let text =
            label.isReference
            ? "SELECT s.ZNAME FROM ATRANSACTION t JOIN ATRANSACTIONSTRING s ON s.Z_PK = t.\(label.column) "
                + "WHERE s.ZNAME LIKE 'com.apple.coredata.schemamigrator:%' ORDER BY t.Z_PK"
            : "SELECT \(label.column) FROM ATRANSACTION WHERE \(label.column) LIKE 'com.apple.coredata.schemamigrator:%' ORDER BY Z_PK"
        let statement = try connection.prepare(text, purpose)
        var digests: [String] = []
        while try statement.step(purpose) {
            if let digest = statement.text(0).flatMap({ HistoryMigration.digest(inAuthor: $0) }) {
                digests.append(digest)
            }
        }
        return digests
    }
}

extension StoreMigration.Start {
    /// Plans an in-place migration.
    func plan(_ mapping: ModelMapping, _ options: MigrationOptions) -> MigrationPlan {
        MigrationPlan(mapping, former: former, stored: contents.tables, defersCleanup: options.defersCleanup)
    }
}
