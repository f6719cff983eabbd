import Glibc

extension SQLiteStore {
    /// The minimum age of the last write in seconds.
    ///
    /// Pages of a commit are in the file before they are on the disk and before readers see them. The clock of a file
    /// system may also be coarse.
    private static let settlingSeconds = 2

    /// The identity, size and write times of the database file and of a log that is not empty.
    ///
    /// nil if one of these files was written recently, or if the database file cannot be examined. Every transaction
    /// changes the text. A checkpoint changes it too, which only causes a needless comparison.
    var contentState: String? {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        var states = ""
        for (file, isNeeded) in [(path, true), (path + "-wal", false)] {
            var status = stat()
            guard stat(file, &status) == 0, status.st_size > 0 else {
                if isNeeded { return nil }
                continue
            }
            let last = max(status.st_mtim.tv_sec, status.st_ctim.tv_sec)
            if last + SQLiteStore.settlingSeconds >= now.tv_sec { return nil }
            states +=
                [
                    Int(status.st_dev), Int(status.st_ino), Int(status.st_size), status.st_mtim.tv_sec,
                    status.st_mtim.tv_nsec,
                    status.st_ctim.tv_sec, status.st_ctim.tv_nsec,
                ].map(String.init).joined(separator: ",") + ";"
        }
        return states
    }
}

extension SQLiteKind {
    /// Returns the identity, size and write time of a store's file and log, as a text that changes with every commit.
    package static func writtenState(ofStoreAt path: String) -> String {
        [path, path + "-wal"].map { path in
            var status = stat()
            guard stat(path, &status) == 0 else { return "" }
            return "\(status.st_ino) \(status.st_size) \(status.st_mtim.tv_sec) \(status.st_mtim.tv_nsec)"
        }.joined(separator: "/")
    }
}
