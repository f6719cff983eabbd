import CorestoneGraph
import CorestoneValues
import Glibc

extension Connection {
    /// Throws if the `-journal`, `-wal` or `-shm` file of the database is not a regular file.
    ///
    /// SQLite would wait indefinitely for a writer to a pipe. For files of other types, it would report only that it
    /// cannot open them.
    ///
    /// - Parameter location: A path, or a URI, whose files are not checked.
    static func requireFiles(beside location: String, path: String) throws {
        guard location.hasPrefix("/") else { return }
        try requireFiles(besideFileAt: location, path)
    }

    static func requireFiles(besideFileAt file: String, _ path: String) throws {
        for suffix in ["-journal", "-wal", "-shm"] {
            var status = stat()
            guard lstat(file + suffix, &status) == 0 else { continue }
            let kind =
                switch status.st_mode & S_IFMT {
                case S_IFREG: ""
                case S_IFDIR: "a folder"
                case S_IFLNK: "a symbolic link"
                case S_IFIFO: "a pipe"
                case S_IFSOCK: "a socket"
                default: "a device"
                }
            if kind.isEmpty { continue }
            // The file behind a symbolic link may have saves that are not in the database file.
            let remedy =
                status.st_mode & S_IFMT == S_IFLNK
                ? "replace the link with the file to which it refers" : "move \(file)\(suffix) away"
            throw CoreError(
                .storeIO, code: .persistentStoreOpen,
                "\(file)\(suffix) is \(kind), not a regular file, so SQLite cannot open \(path); \(remedy)",
                file: path)
        }
    }
}
