import Glibc

extension SQLiteStore {
    /// Which file the database is, and its log unless that is empty, when they were last written, and their sizes: a transaction
    /// writes one of them, as does SQLite when it takes a log over into the database, which merely costs whoever compares.
    var contentState: String? {
        guard let database = SQLiteStore.state(of: path) else { return nil }
        return database + (SQLiteStore.state(of: path + "-wal") ?? "")
    }

    private static func state(of path: String) -> String? {
        var facts = stat()
        guard stat(path, &facts) == 0, facts.st_size > 0 else { return nil }
        return [
            Int(facts.st_dev), Int(facts.st_ino), Int(facts.st_size), facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec,
            facts.st_ctim.tv_sec, facts.st_ctim.tv_nsec,
        ].map(String.init).joined(separator: ",") + ";"
    }
}
