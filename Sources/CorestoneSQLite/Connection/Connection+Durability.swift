import CSQLite
import CorestoneValues
import Glibc

extension Connection {
    /// Synchronises committed transactions to the disk, so that they survive a power failure.
    ///
    /// Does nothing if SQLite has done that at the commit.
    ///
    /// - Returns: false if the synchronisation fails.
    func makeCommitsDurable() -> Bool {
        // FULL synchronises the log at each commit, NORMAL only at a checkpoint. With a rollback journal, the removal
        // of the journal is the commit, and neither setting synchronises the folder.
        let isFull = (try? setting("synchronous")) == "2"
        return isFull && usesLog || bringCommitsToDisk()
    }

    /// Synchronises transactions of any connection to the disk, regardless of the `synchronous` setting.
    func bringCommitsToDisk() -> Bool { usesLog ? synchroniseLog() : synchroniseJournal() && synchroniseFolder() }

    private var usesLog: Bool { (try? setting("journal_mode")) == "wal" }

    private func setting(_ name: String) throws -> String? {
        let purpose = "read a setting of \(path)"
        let statement = try statement("PRAGMA \(name)", purpose)
        defer { statement.reset() }
        return try statement.step(purpose) ? statement.text(0) : nil
    }

    /// Synchronises a persistent journal, which is invalidated instead of removed at the commit.
    private func synchroniseJournal() -> Bool {
        guard let name = sqlite3_db_filename(db, "main").map({ String(cString: $0) }) else { return false }
        let descriptor = open(name + "-journal", O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return errno == ENOENT }
        defer { Glibc.close(descriptor) }
        return fsync(descriptor) == 0
    }

    private func synchroniseFolder() -> Bool {
        guard let file = sqlite3_db_filename(db, "main") else { return false }
        let name = String(cString: file)
        let folder = String(name[..<(name.lastIndex(of: "/") ?? name.startIndex)])
        return synchronise(folder: folder.isEmpty ? "/" : folder) == 0
    }
}

/// Synchronises the directory entries of a folder to the disk. Returns 0 or an `errno`.
func synchronise(folder: String) -> Int32 {
    let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { return errno }
    defer { close(descriptor) }
    return fsync(descriptor) == 0 ? 0 : errno
}
