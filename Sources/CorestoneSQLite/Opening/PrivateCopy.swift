import CSQLite
import CorestoneFileSystem
import CorestoneGraph
import CorestoneValues
import Glibc

/// A copy of a store and its log or journal that no other process can access.
struct PrivateCopy {
    private let frozen: Connection
    private let place: StoreLocation

    /// Prepares the copy of a file. `open` creates the copy.
    ///
    /// - Parameter frozen: A connection that has the file open as immutable.
    init(of frozen: Connection, _ place: StoreLocation) {
        self.frozen = frozen
        self.place = place
    }

    /// Returns a connection to a copy in which the log is checkpointed and an unfinished transaction is rolled back.
    ///
    /// The copy is unlinked, so it is deleted with the connection, even if the process is killed.
    func open() throws -> Connection {
        guard let folder = WorkFolder.temporary("corestone-copy-") else {
            throw failure("create a folder for a private copy of the store", errno)
        }
        defer { withExtendedLifetime(folder) {} }
        let target = folder.path + "/store"
        try writeWhileUnchanged(target)
        let copy = try Connection(target, path: place.given, flags: SQLITE_OPEN_READWRITE, limits: frozen.limits)
        let purpose = "read the private copy of \(place.given)"
        try copy.execute(
            "PRAGMA locking_mode=EXCLUSIVE;PRAGMA temp_store=MEMORY", purpose, cocoaCode: .persistentStoreOpen)
        // Checkpoints the log or rolls back the unfinished transaction, and removes both files.
        let code = sqlite3_exec(copy.db, "PRAGMA journal_mode=DELETE;SELECT count(*) FROM sqlite_master", nil, nil, nil)
        if code != SQLITE_OK && code & 0xff != SQLITE_NOTADB && code & 0xff != SQLITE_CORRUPT {
            throw copy.error(code, purpose, cocoaCode: .persistentStoreOpen)
        }
        sqlite3_exec(copy.db, "PRAGMA query_only=1", nil, nil, nil)
        return copy
    }

    private static let maximumAttempts = 5

    /// Copies the files, several times if necessary, until they do not change during the copy.
    ///
    /// Another process may be writing. Transactions that are added to the end of the log are harmless: the log is
    /// copied last, and read up to its last complete transaction.
    private func writeWhileUnchanged(_ target: String) throws {
        for _ in 0..<Self.maximumAttempts {
            let before = place.fingerprint
            try write(to: target)
            if place.fingerprint == before { return }
        }
        throw CoreError(
            .storeBusy, code: .persistentStoreOpen,
            "cannot read \(place.given): it was changed during each of \(Self.maximumAttempts) attempts to copy it; "
                + "try again while other programs do not write to it",
            file: place.given)
    }

    private func write(to target: String) throws {
        let output = Glibc.open(target, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard output >= 0 else { throw failure("write a private copy of the store", errno) }
        defer { close(output) }
        var offset: Int64 = 0
        while true {
            let part = try frozen.bytes(from: offset, count: 1 << 20)
            if part.isEmpty { break }
            try write(part[...], to: output)
            offset += Int64(part.count)
        }
        for suffix in ["-wal", "-journal"] {
            unlink(target + suffix)
            if place.hasCompanion(suffix) { try copyCompanion(place.path + suffix, to: target + suffix) }
        }
    }

    /// Copies a log or journal. SQLite does not lock these files, so closing their descriptors does not release locks.
    private func copyCompanion(_ source: String, to target: String) throws {
        let input = Glibc.open(source, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW)
        guard input >= 0 else {
            if errno == ENOENT { return }
            throw unreadable(source, errno)
        }
        defer { close(input) }
        let output = Glibc.open(target, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard output >= 0 else { throw failure("write a private copy of the store", errno) }
        defer { close(output) }
        // Copies only to the current end: a writer might append faster than this loop reads.
        var status = stat()
        guard fstat(input, &status) == 0 else { throw unreadable(source, errno) }
        var rest = Int(status.st_size)
        var buffer = [UInt8](repeating: 0, count: 1 << 20)
        while rest > 0 {
            let count = read(input, &buffer, min(rest, buffer.count))
            if count < 0 && errno == EINTR { continue }
            if count < 0 { throw unreadable(source, errno) }
            if count == 0 { return }
            try write(buffer[..<count], to: output)
            rest -= count
        }
    }

    private func write(_ bytes: ArraySlice<UInt8>, to output: Int32) throws {
        var rest = bytes
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(output, $0.baseAddress, $0.count) }
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { throw failure("write a private copy of the store", errno) }
            rest = rest.dropFirst(count)
        }
    }

    private func unreadable(_ log: String, _ code: Int32) -> CoreError {
        CoreError(
            .storeIO, code: .persistentStoreOpen,
            "cannot read the log file \(log) of \(place.given): \(SystemError(code).text)"
                + SystemError(code).remedyForReading(lost: "restore the store and its log from a backup"),
            file: place.given)
    }

    private func failure(_ action: String, _ code: Int32) -> CoreError {
        CoreError(
            .storeIO, code: .persistentStoreOpen,
            "cannot read the log file of \(place.given): cannot \(action): \(SystemError(code).text)"
                + SystemError(code).remedyForTemporaryFile, file: place.given)
    }
}

extension StoreLocation {
    /// A value that changes when the file or its journal changes, and when its log is restarted.
    fileprivate var fingerprint: [Int] {
        let files = ["", "-journal"].flatMap { suffix -> [Int] in
            var status = stat()
            guard stat(path + suffix, &status) == 0 else { return [0, 0, 0] }
            return [Int(status.st_size), status.st_mtim.tv_sec, status.st_mtim.tv_nsec]
        }
        return files + WriteAheadLog.header(ofLogAt: path + "-wal").map(Int.init)
    }
}
