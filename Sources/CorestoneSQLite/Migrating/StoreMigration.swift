import CSQLite
import CorestoneGraph
import CorestoneModel
import CorestoneValues
import Glibc

/// Decides whether an SQLite store has to be migrated and may be, and migrates it.
struct StoreMigration {
    let connection: Connection
    let place: StorePlace
    let model: Model
    let options: StoreOptions
    let migration: MigrationOptions

    private var purpose: String { "migrate \(place.given)" }

    /// Migrates the store under SQLite's lock of writers. Another process may have done so meanwhile; then nothing is done.
    ///
    /// - Throws: `.migration`; the file is as before then.
    func run() throws {
        try connection.execute("PRAGMA legacy_alter_table=ON;BEGIN IMMEDIATE", purpose, cocoaCode: .migration)
        var obsolete: Set<String> = []
        do {
            let contents = try StoreContents(connection, place: place)
            if contents.document.hashes != StoreDocument.versionHashes(of: model) { obsolete = try migrate(contents) }
            try connection.execute("COMMIT", purpose, cocoaCode: .migration)
        } catch {
            sqlite3_exec(connection.db, "ROLLBACK;PRAGMA legacy_alter_table=OFF", nil, nil, nil)
            throw error
        }
        try connection.execute("PRAGMA legacy_alter_table=OFF", purpose, cocoaCode: .migration)
        guard !obsolete.isEmpty, connection.makeCommitsDurable() else { return }
        let folder = ExternalFile.folder(ofStore: place.path)
        for name in obsolete { unlink("\(folder)/\(name)") }
    }

    private func migrate(_ contents: StoreContents) throws -> Set<String> {
        let (plan, history) = try plan(contents)
        try requireSpace(for: plan)
        for warning in plan.mapping.warnings where !migration.isTrial {
            DebugLog.write("CoreData: warning: migration of \(place.given): \(warning)")
        }
        let report = migration.progress
        return try InPlaceMigration(
            connection: connection, place: place, plan: plan, contents: contents, history: history
        ).run { report?($0, $1) ?? true }
    }

    /// The steps, and the design of the store's history. Changes nothing.
    func plan(_ contents: StoreContents) throws -> (plan: MigrationPlan, history: HistoryDesign?) {
        let source = try SourceModelSearch(migration, hashes: contents.document.hashes, ofStoreAt: place.given) {
            try contents.cachedModel(connection)
        }.run()
        let mapping = try migration.inferMapping(from: source, to: model, ofStoreAt: place.given)
        let past = try (contents.document.metadata?.pastModelDigests ?? []) + pastDigestsInHistory()
        try mapping.requireForward(past: past, ofStoreAt: place.given, migration)
        let examination = try StoreExamination(connection, model: source, place: place, forWriting: true)
        if let reason = examination.readOnlyReason {
            throw CoreError(
                .migration, code: .migration,
                "cannot migrate \(place.given), which can only be opened read-only: \(reason)"
                    + (reason.hasRemedy
                        ? ""
                        : ". Open it with its own model, save it to another file with cst_coordinator_migrate_store "
                            + "(migrate_store), and migrate that file"),
                file: place.given)
        }
        return (MigrationPlan(mapping, former: examination.schema, stored: contents.tables), examination.history)
    }

    /// Digests that the authors of migrations name in a history.
    private func pastDigestsInHistory() throws -> [String] {
        guard let design = try? HistoryDesign(of: connection), let label = design.labels[.author] else { return [] }
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

    /// A table that is made again needs its space twice, and once more in the log.
    private func requireSpace(for plan: MigrationPlan) throws {
        let rebuilt = plan.tables.filter(\.isRebuilt).compactMap { $0.formerTable?.name }
        guard !rebuilt.isEmpty else { return }
        var facts = statvfs()
        guard statvfs(place.folder, &facts) == 0 else { return }
        let free = Double(facts.f_bavail) * Double(facts.f_frsize)
        // Counting the pages of tables reads them, so the size of the file comes first.
        guard free < Double(connection.fileSize) * 2 else { return }
        let needed = Double(size(of: rebuilt) ?? connection.fileSize) * 2
        guard free < needed else { return }
        throw CoreError(
            .storeIO, code: .migration,
            "cannot migrate \(place.given): the migration needs up to \(Int64((needed / 1_048_576).rounded(.up))) MB in "
                + "\(place.folder), but only \(Int64(free / 1_048_576)) MB is free; free some space", file: place.given
        )
    }

    /// The bytes of tables; nil if this SQLite library does not have `dbstat`.
    private func size(of tables: [String]) -> Int? {
        let names = tables.map { PropertyValue.string($0).literal }.joined(separator: ", ")
        guard
            let statement = try? connection.prepare(
                "SELECT sum(pgsize) FROM dbstat WHERE aggregate = TRUE AND name IN (\(names))", purpose),
            (try? statement.step(purpose)) == true
        else { return nil }
        return Int(clamping: statement.integer(0))
    }
}
