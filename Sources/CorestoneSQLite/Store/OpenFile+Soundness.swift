import CSQLite
import CorestoneValues

extension OpenFile {
    /// The number of SQLite instructions after which the file is suspected to be damaged. It consists of a minimum and
    /// a number for each row that fits into the file.
    private static let usualWork = (least: 50_000_000, perRow: 5)

    /// Runs a read request.
    ///
    /// In a damaged file, pages may form a cycle, so that reading would not end. A request that runs unusually long is
    /// therefore stopped, the pages are checked once, and only an undamaged file is read again.
    func bounded<Result>(_ table: TableSchema, _ request: () throws -> Result) throws -> Result {
        guard mayBeEndless else { return try request() }
        progress.limit(
            to:
                maximumRows.multipliedClamped(by: OpenFile.usualWork.perRow).addingClamped(OpenFile.usualWork.least))
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
        notePagesAreSound()
    }
}
