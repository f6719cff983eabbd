import Glibc

extension SQLiteStore {
    /// How long ago the last write has to be: the pages of a commit lie in the file before they are on disk, and before readers
    /// see them; and a file system's clock may be a coarse one.
    private static let settlingSeconds = 2

    /// Which file the database is, and its log unless that is empty, when they were last written, and their sizes: a transaction
    /// writes one of them, as does SQLite when it takes a log over into the database, which merely costs whoever compares.
    var contentState: String? {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        var states = ""
        for (file, isNeeded) in [(path, true), (path + "-wal", false)] {
            var facts = stat()
            guard stat(file, &facts) == 0, facts.st_size > 0 else {
                if isNeeded { return nil }
                continue
            }
            let last = max(facts.st_mtim.tv_sec, facts.st_ctim.tv_sec)
            if last + SQLiteStore.settlingSeconds >= now.tv_sec { return nil }
            states +=
                [
                    Int(facts.st_dev), Int(facts.st_ino), Int(facts.st_size), facts.st_mtim.tv_sec,
                    facts.st_mtim.tv_nsec,
                    facts.st_ctim.tv_sec, facts.st_ctim.tv_nsec,
                ].map(String.init).joined(separator: ",") + ";"
        }
        return states
    }
}

extension SQLiteKind {
    /// The file of a store and its log, with sizes and times: another text after every commit.
    package static func writtenState(ofStoreAt path: String) -> String {
        [path, path + "-wal"].map { path in
            var facts = stat()
            guard stat(path, &facts) == 0 else { return "" }
            return "\(facts.st_ino) \(facts.st_size) \(facts.st_mtim.tv_sec) \(facts.st_mtim.tv_nsec)"
        }.joined(separator: "/")
    }
}
