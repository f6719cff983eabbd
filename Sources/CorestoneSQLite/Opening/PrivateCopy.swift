import CSQLite
import CorestoneGraph
import CorestoneValues
import Glibc

/// A copy of a store with its log or journal, which no other process sees.
struct PrivateCopy {
    private let frozen: Connection
    private let place: StorePlace

    /// `frozen` has the file open as one that does not change.
    init(of frozen: Connection, _ place: StorePlace) {
        self.frozen = frozen
        self.place = place
    }

    /// A connection to the copy, in which the log is taken in and an unfinished transaction undone. The copy has no name
    /// any more, so it ends with the connection, whatever becomes of the process.
    func open() throws -> Connection {
        guard let folder = WorkFolder.temporary("corestone-copy-") else {
            throw failure("create a folder for a private copy of", errno)
        }
        defer { withExtendedLifetime(folder) {} }
        let target = folder.path + "/store"
        try writeWhileUnchanged(target)
        let copy = try Connection(target, path: place.given, flags: SQLITE_OPEN_READWRITE, limits: frozen.limits)
        let purpose = "read the private copy of \(place.given)"
        try copy.execute(
            "PRAGMA locking_mode=EXCLUSIVE;PRAGMA temp_store=MEMORY", purpose, cocoaCode: .persistentStoreOpen)
        // Takes in the log, or undoes the unfinished transaction; afterwards the one file is all there is.
        let code = sqlite3_exec(copy.db, "PRAGMA journal_mode=DELETE;SELECT count(*) FROM sqlite_master", nil, nil, nil)
        if code != SQLITE_OK && code & 0xff != SQLITE_NOTADB && code & 0xff != SQLITE_CORRUPT {
            throw copy.error(code, purpose, cocoaCode: .persistentStoreOpen)
        }
        sqlite3_exec(copy.db, "PRAGMA query_only=1", nil, nil, nil)
        return copy
    }

    /// A writer may be at work: what was read counts only when nothing changed meanwhile, but for transactions at the end
    /// of the log. Those do no harm, since the log is copied last and read up to its last complete transaction.
    private func writeWhileUnchanged(_ target: String) throws {
        for _ in 0..<5 {
            let before = place.fingerprint
            try write(to: target)
            if place.fingerprint == before { return }
        }
        throw CoreError(
            .storeBusy, code: .persistentStoreOpen,
            "\(place.given) was changed while it was copied; try again while no program writes to it",
            file: place.given)
    }

    private func write(to target: String) throws {
        let output = Glibc.open(target, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard output >= 0 else { throw failure("write a private copy of", errno) }
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

    /// Companions carry no locks, so they are read directly.
    private func copyCompanion(_ source: String, to target: String) throws {
        let input = Glibc.open(source, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW)
        guard input >= 0 else {
            if errno == ENOENT { return }
            throw unreadable(source, errno)
        }
        defer { close(input) }
        let output = Glibc.open(target, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard output >= 0 else { throw failure("write a private copy of", errno) }
        defer { close(output) }
        // Not to its end: a writer at work might be faster.
        var facts = stat()
        guard fstat(input, &facts) == 0 else { throw unreadable(source, errno) }
        var rest = Int(facts.st_size)
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
            guard count > 0 else { throw failure("write a private copy of", errno) }
            rest = rest.dropFirst(count)
        }
    }

    private func unreadable(_ log: String, _ code: Int32) -> CoreError {
        CoreError(
            .storeIO, code: .persistentStoreOpen,
            "cannot read the log file \(log) of \(place.given): \(StorePlace.text(of: code)); make it readable, or "
                + "restore the store and its log from a backup",
            file: place.given)
    }

    private func failure(_ action: String, _ code: Int32) -> CoreError {
        CoreError(
            .storeIO, code: .persistentStoreOpen,
            "cannot \(action) \(place.given), which is needed to read its -wal or -journal file: \(StorePlace.text(of: code)); "
                + "set TMPDIR to a writable folder with free space", file: place.given)
    }
}

extension StorePlace {
    /// Changes whenever the file or its journal does, or its log begins anew.
    fileprivate var fingerprint: [Int] {
        let files = ["", "-journal"].flatMap { suffix -> [Int] in
            var facts = stat()
            guard stat(path + suffix, &facts) == 0 else { return [0, 0, 0] }
            return [Int(facts.st_size), facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec]
        }
        return files + WriteAheadLog.header(ofLogAt: path + "-wal").map(Int.init)
    }
}
