import CSQLite
import CorestoneGraph
import CorestoneValues

/// A check whether the file is an undamaged SQLite database.
enum DatabaseCheck {
    static func run(_ connection: Connection, _ findings: inout StoreFindings) throws {
        let purpose = "check \(connection.path)"
        do {
            let pages = try connection.prepare("PRAGMA page_count", purpose)
            findings.addExamined(try pages.step(purpose) ? Int(pages.integer(0)) : 0, "pages of the database")
            let statement = try connection.prepare("PRAGMA integrity_check(\(StoreReport.limit))", purpose)
            var count = 0
            while try statement.step(purpose) {
                guard let text = statement.text(0), text != "ok" else { continue }
                // One row may list several problems, on lines after a heading.
                for line in text.split(separator: "\n") where !line.hasPrefix("*** in database ") {
                    count += 1
                    findings.add(.database, "the database is damaged: \(line)", isCut: count >= StoreReport.limit)
                }
            }
        } catch let error as CoreError {
            if error.sqliteCode & 0xff == SQLITE_TOOBIG { return findings.add(.database, error.message) }
            // A missing collation or function of another program prevents the check, but does not mean that data is
            // damaged.
            guard error.sqliteCode & 0xff == SQLITE_CORRUPT || error.sqliteCode & 0xff == SQLITE_NOTADB else { return }
            findings.add(.database, error.message)
        }
    }

    /// Throws if the file is damaged, as `-com.apple.CoreData.SQLiteIntegrityCheck 1` requires.
    static func require(_ connection: Connection, _ place: StoreLocation) throws {
        var findings = StoreFindings()
        try run(connection, &findings)
        guard let first = findings.report.problems.first else { return }
        throw CoreError(
            .storeCorrupt, code: .persistentStoreOpen,
            "SQLite's integrity check of \(place.given) failed: \(first.message)"
                + (first.message.hasRemedy ? "" : "; run corestone check for details"),
            sqliteCode: SQLITE_CORRUPT, file: place.given)
    }
}
