import CSQLite
import CorestoneValues
import Glibc

extension Connection {
    /// Sees to it that what was committed outlives a loss of power, where SQLite has not done that with the commit. False
    /// when it may not.
    func makeCommitsDurable() -> Bool {
        // FULL brings the log to the disk with each commit, NORMAL with a checkpoint only. The removal of a rollback journal is
        // the commit, and either leaves it to the file system when its folder knows.
        let isFull = (try? setting("synchronous")) == "2"
        return isFull && usesLog || bringCommitsToDisk()
    }

    /// The same whoever committed, in whatever mode.
    func bringCommitsToDisk() -> Bool { usesLog ? synchroniseLog() : synchroniseJournal() && synchroniseFolder() }

    private var usesLog: Bool { (try? setting("journal_mode")) == "wal" }

    private func setting(_ name: String) throws -> String? {
        let purpose = "read a setting of \(path)"
        let statement = try statement("PRAGMA \(name)", purpose)
        defer { statement.reset() }
        return try statement.step(purpose) ? statement.text(0) : nil
    }

    /// One that is kept is made invalid instead, which is the commit.
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

/// Brings the names in a folder to the disk. 0, or an `errno`.
func synchronise(folder: String) -> Int32 {
    let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { return errno }
    defer { close(descriptor) }
    return fsync(descriptor) == 0 ? 0 : errno
}
