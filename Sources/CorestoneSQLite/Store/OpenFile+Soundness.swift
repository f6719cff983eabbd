import CSQLite
import CorestoneValues

extension OpenFile {
    /// Instructions of SQLite's machine that a request takes before the file is suspected: at least, and for each row that
    /// the file has room for.
    private static let usualWork = (least: 50_000_000, perRow: 5)

    /// Runs a request that reads. Pages of a damaged file may lead to each other, so that reading them would not end: a request
    /// that takes unusually long is stopped, the pages are looked at once, and only a sound file is read again.
    func bounded<Result>(_ table: TableSchema, _ request: () throws -> Result) throws -> Result {
        guard mayBeEndless else { return try request() }
        progress.limit(
            to:
                mostRows.multipliedClamped(by: OpenFile.usualWork.perRow).addingClamped(OpenFile.usualWork.least))
        defer { progress.limit(to: nil) }
        do { return try request() } catch let error as CoreError
            where progress.isSpent && error.sqliteCode & 0xff == SQLITE_INTERRUPT
        {
            progress.limit(to: nil)
            try requireSoundPages(table)
            return try request()
        }
    }

    private func requireSoundPages(_ table: TableSchema) throws {
        let purpose = "check the pages of \(connection.path)"
        let statement = try connection.prepare("PRAGMA quick_check(1)", purpose)
        if try statement.step(purpose), let line = statement.text(0), line != "ok" {
            throw CoreError(
                .storeCorrupt, code: .sqlite,
                "cannot read \(table.root.name) in \(connection.path): the file is damaged (\(line)); restore it "
                    + "from a backup", entity: table.root.name, sqliteCode: SQLITE_CORRUPT, file: connection.path)
        }
        pagesAreSound()
    }
}
