import CSQLite
import CorestoneValues
import Glibc

/// Opens a file so that neither it nor its folder ever changes.
///
/// SQLite would make a write-ahead log's companions even for reading. A file in that mode whose log is empty is
/// opened as one that cannot change; one with a live log or an unfinished transaction is read from a private copy.
/// Every byte of the file is read through SQLite, because closing a descriptor of our own would drop the locks of
/// other connections of this process.
struct ReadOnlyFile {
    let place: StorePlace

    /// The connection, and whether reading through it takes locks that keep a writer out.
    func open() throws -> (connection: Connection, isLocked: Bool) {
        let flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI
        let frozen = try Connection(place.uri + "?mode=ro&immutable=1", path: place.given, flags: flags)
        if place.hasCompanion("-wal") || place.hasCompanion("-journal") { return (try copy(of: frozen), false) }
        let header = try bytes(of: frozen, from: 0, count: 100)
        guard header.count == 100 && header[18] == 1 else { return (frozen, false) }
        return (try Connection(place.path, path: place.given, flags: SQLITE_OPEN_READONLY), true)
    }

    /// A connection to a copy in a temporary folder that is gone already when this returns.
    private func copy(of frozen: Connection) throws -> Connection {
        var template = Array("\(StorePlace.temporaryFolder)/corestone-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else {
            throw failure("make a folder for a private copy of", errno)
        }
        let folder = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let target = folder + "/store"
        defer {
            for suffix in ["", "-wal", "-journal", "-shm"] { unlink(target + suffix) }
            rmdir(folder)
        }
        // A writer may be at work: what was read counts only when nothing changed meanwhile.
        for _ in 0..<5 {
            let before = place.fingerprint
            try writeCopy(of: frozen, to: target)
            if place.fingerprint == before { break }
        }
        let copy = try Connection(target, path: place.given, flags: SQLITE_OPEN_READWRITE)
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

    private func writeCopy(of frozen: Connection, to target: String) throws {
        let output = Glibc.open(target, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard output >= 0 else { throw failure("write a private copy of", errno) }
        defer { close(output) }
        var offset: Int64 = 0
        while true {
            let part = try bytes(of: frozen, from: offset, count: 1 << 20)
            if part.isEmpty { break }
            try write(part, to: output)
            offset += Int64(part.count)
        }
        for suffix in ["-wal", "-journal"] {
            unlink(target + suffix)
            guard place.hasCompanion(suffix) else { continue }
            try copyCompanion(place.path + suffix, to: target + suffix)
        }
    }

    /// Companions carry no locks, so they are read directly.
    private func copyCompanion(_ source: String, to target: String) throws {
        let input = Glibc.open(source, O_RDONLY | O_CLOEXEC)
        guard input >= 0 else {
            if errno == ENOENT { return }
            throw failure("read a companion of", errno)
        }
        defer { close(input) }
        let output = Glibc.open(target, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard output >= 0 else { throw failure("write a private copy of", errno) }
        defer { close(output) }
        var buffer = [UInt8](repeating: 0, count: 1 << 20)
        while true {
            let count = read(input, &buffer, buffer.count)
            if count < 0 { throw failure("read a companion of", errno) }
            if count == 0 { return }
            try write(Array(buffer[..<count]), to: output)
        }
    }

    private func write(_ bytes: [UInt8], to output: Int32) throws {
        var done = 0
        while done < bytes.count {
            let count = bytes.withUnsafeBytes {
                Glibc.write(output, $0.baseAddress.map { $0 + done }, bytes.count - done)
            }
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { throw failure("write a private copy of", errno) }
            done += count
        }
    }

    /// Bytes of the file, fewer at its end, through the handle that SQLite holds.
    private func bytes(of connection: Connection, from offset: Int64, count: Int) throws -> [UInt8] {
        var place: UnsafeMutableRawPointer?
        sqlite3_file_control(connection.db, "main", SQLITE_FCNTL_FILE_POINTER, &place)
        guard let file = place?.assumingMemoryBound(to: sqlite3_file.self), let methods = file.pointee.pMethods,
            let fileSize = methods.pointee.xFileSize, let read = methods.pointee.xRead
        else { return [] }
        var size: Int64 = 0
        guard fileSize(file, &size) == SQLITE_OK else { return [] }
        let wanted = min(Int64(count), max(0, size - offset))
        guard wanted > 0 else { return [] }
        var code = SQLITE_OK
        let bytes = [UInt8](unsafeUninitializedCapacity: Int(wanted)) { buffer, filled in
            code = read(file, buffer.baseAddress, Int32(wanted), offset)
            filled = code == SQLITE_OK ? Int(wanted) : 0
        }
        // SQLITE_IOERR_SHORT_READ, a macro that Swift does not import, is an ordinary end of file.
        guard code == SQLITE_OK || code & 0xff == SQLITE_IOERR && code >> 8 == 2 else {
            throw SQLiteError.make(
                nil, code: code, path: self.place.given, purpose: "read \(self.place.given)",
                cocoaCode: .persistentStoreOpen)
        }
        return bytes
    }

    private func failure(_ action: String, _ code: Int32) -> CoreError {
        CoreError(
            .storeIO, code: .persistentStoreOpen,
            "cannot \(action) \(place.given), which has a live write-ahead log: \(StorePlace.text(of: code)); "
                + "TMPDIR names the folder for such copies", file: place.given)
    }
}

extension StorePlace {
    static var temporaryFolder: String { getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp" }

    /// Changes whenever the file or its log does.
    var fingerprint: [Int] {
        ["", "-wal", "-journal"].flatMap { suffix -> [Int] in
            var facts = stat()
            guard stat(path + suffix, &facts) == 0 else { return [0, 0, 0] }
            return [Int(facts.st_size), facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec]
        }
    }
}
