import CSQLite
import CorestoneFileSystem
import CorestoneGraph
import CorestoneModel
import CorestoneValues
import Glibc

/// A copy of a store and its backing files in one consistent state.
///
/// A new file receives its name only when the copy is complete. An existing store is overwritten in one SQLite
/// transaction with SQLite's locks: other processes finish their reads undisturbed, and later reads see the new rows.
/// Backing files are written before the rows that refer to them, and removed after the rows that referred to them.
struct StoreTransfer {
    /// A function that receives the copied bytes and the total bytes. Returning false cancels the transfer.
    typealias Progress = (_ done: Int, _ total: Int) -> Bool

    private let source: Connection
    private let sourceFolder: String
    private let origin: StoreLocation
    private let place: StoreLocation
    private let options: StoreOptions
    /// The permissions of the copy and of the files next to it; nil for those that the process's umask allows.
    private let permissions: FilePermissions?
    /// Whether only a copy of the same store, or a destroyed store, may be overwritten.
    private let keepsOthers: Bool
    private let progress: Progress

    private let names: Set<String>
    private let pageSize: Int
    private let total: Int

    private static let pagesAtATime: Int32 = 256

    /// Prepares a transfer.
    ///
    /// - Parameters:
    ///   - source: The connection to the state to be copied, in a transaction unless the file is immutable.
    ///   - sourceFolder: The folder of the store's backing files.
    ///   - origin: The file of the store, for messages.
    init(
        from source: Connection, _ sourceFolder: String, _ origin: StoreLocation, to place: StoreLocation,
        _ options: StoreOptions, keepingOthers: Bool = false, progress: @escaping Progress = { _, _ in true }
    ) throws {
        (self.source, self.sourceFolder, self.origin) = (source, sourceFolder, origin)
        (self.place, self.options, self.progress) = (place, options, progress)
        keepsOthers = keepingOthers
        try options.requireUsableFileMode(place.given)
        let there = FilePermissions(of: place.path)
        var options = options
        options.permissionsOfSource = origin.isInMemory ? nil : FilePermissions(of: origin.path)
        permissions = place.state == .present ? there : options.permissionsOfNewFile(inPlaceOf: there) ?? there
        guard place.path != origin.path else {
            throw CoreError(
                .invalidArgument, code: .persistentStoreOperation,
                "cannot copy \(origin.given) to \(place.given), which is the same file; choose another path",
                key: "path", file: place.given)
        }
        let tables = try StoreContents(source, place: origin).tables.keys
        names = try source.namesOfExternalFiles(in: tables)
        let purpose = "copy \(origin.given)"
        let pages = try source.integer("PRAGMA page_count", purpose)
        pageSize = try source.integer("PRAGMA page_size", purpose)
        total = names.reduce(pages.multipliedClamped(by: pageSize)) {
            $0.addingClamped(StoreTransfer.size("\(sourceFolder)/\($1)"))
        }
        try options.limits.check(place.given)
    }

    /// Copies the store.
    ///
    /// - Parameter removing: Called before an existing store is overwritten, after all checks.
    /// - Returns: The names of the backing files that are missing.
    func run(removing: () throws -> Void) throws -> Set<String> {
        guard progress(0, total) else { throw cancelled() }
        let overwrites = place.state == .present
        let target = overwrites ? try former() : nil
        defer { target?.close() }
        if let target {
            try removing()
            try admitPages(to: target)
        }
        var createdPaths: [String] = []
        var missing: Set<String> = []
        do {
            let done = try copyFiles(&createdPaths, &missing)
            if let target { try copyPages(to: target, done) } else { try make(done) }
        } catch {
            for path in createdPaths { unlink(path) }
            throw error
        }
        if overwrites { ExternalFile.removeAll(of: place, but: names) }
        return missing
    }

    /// Logs a warning about the backing files that a copy lacks because the store lacks them.
    ///
    /// A file that an overwritten copy already had is kept there, and therefore not missing.
    static func logMissingFiles(_ names: Set<String>, in folder: String, to copy: StoreLocation) {
        let own = ExternalFile.folder(ofStore: copy.path)
        let names = names.filter { !ExternalFile.isThere("\(own)/\($0)") }
        guard let first = names.min() else { return }
        DebugLog.write(
            "CoreData: warning: \(copy.given) was written without \(names.count) missing backing "
                + "file\(names.count == 1 ? "" : "s") (first: \(folder)/\(first)); run corestone check to list the affected objects"
        )
    }

    /// Opens the existing file, which must be a store.
    private func former() throws -> Connection {
        let connection = try Connection.forChanging(
            place, busyTimeout: options.busyTimeoutMilliseconds, "overwrite \(place.given)", mayBeDamaged: true)
        do {
            let purpose = "overwrite \(place.given)"
            if keepsOthers {
                let query = "SELECT Z_UUID FROM Z_METADATA"
                let identifier = try StoreTransfer.text(query, source, purpose)
                let other =
                    try connection.isOfDestroyedStore(purpose)
                    ? identifier : StoreTransfer.text(query, connection, purpose)
                guard identifier == other else {
                    throw CoreError(
                        .invalidArgument, code: .persistentStoreOperation,
                        "\(place.given) is not a copy of \(origin.given) and was not changed; choose an unused path or an earlier "
                            + "copy\(origin.isInMemory ? "" : ", or call cst_coordinator_replace_store (replace_store, replaceStore)")",
                        key: "path", value: other.flatMap { UUIDValue($0) }.map { PropertyValue.uuid($0) },
                        file: place.given)
                }
            }
            return connection
        } catch {
            connection.close()
            throw error
        }
    }

    /// Leaves WAL mode if the page sizes differ, because the page size cannot change in WAL mode.
    private func admitPages(to target: Connection) throws {
        let purpose = "overwrite \(place.given)"
        if try target.integer("PRAGMA page_size", purpose) != pageSize {
            try target.execute("PRAGMA journal_mode=DELETE", purpose, cocoaCode: .persistentStoreOperation)
        }
    }

    private static func text(_ query: String, _ connection: Connection, _ purpose: String) throws -> String? {
        let statement = try connection.prepare(query, purpose)
        return try statement.step(purpose) ? statement.text(0) : nil
    }

    // MARK: Pages

    private func make(_ done: Int) throws {
        let draft = "\(place.path).new-\(getpid())-\(UInt32.random(in: .min ... .max))"
        let companions = ["", "-journal", "-wal", "-shm"]
        defer { for suffix in companions { unlink(draft + suffix) } }
        let mode: mode_t = permissions == nil ? 0o644 : 0o600
        let descriptor = open(draft, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode)
        guard descriptor >= 0 else { throw failure("create", place.given, errno) }
        // The permissions are set before the file contains private data.
        permissions?.apply(to: descriptor)
        close(descriptor)
        let target = try Connection(
            draft, path: place.given, flags: SQLITE_OPEN_READWRITE, limits: options.limits)
        do {
            defer { target.close() }
            try copyPages(to: target, done)
        }
        // SQLite would apply the log of a deleted store to this one.
        if let suffix = ["-wal", "-journal"].first(where: { place.hasCompanion($0) }) {
            // The log of a store that another process has created in the meantime must not be moved away.
            guard place.sizeNow == 0 else { throw failure("create", place.given, EEXIST) }
            throw CoreError(
                .storeIO, code: .persistentStoreOperation,
                "\(place.given) \(place.state == .empty ? "is empty" : "does not exist"), but its log file "
                    + "\(place.companion(suffix)) exists; move the log file away, or choose another path",
                file: place.given)
        }
        if place.state == .empty { unlink(place.path) }
        if link(draft, place.path) != 0 {
            let code = errno
            var status = stat()
            let isThere = stat(place.path, &status) == 0
            guard code != EEXIST, !isThere, rename(draft, place.path) == 0 else {
                throw failure("create", place.given, isThere ? EEXIST : code)
            }
        }
        _ = synchronise(folder: place.folder)
    }

    private func copyPages(to target: Connection, _ done: Int) throws {
        let purpose = "copy \(origin.given) to \(place.given)"
        guard let backup = sqlite3_backup_init(target.db, "main", source.db, "main") else {
            throw target.error(sqlite3_errcode(target.db), purpose, cocoaCode: .persistentStoreOperation)
        }
        var code = SQLITE_OK
        var isWanted = true
        while code == SQLITE_OK && isWanted {
            code = sqlite3_backup_step(backup, StoreTransfer.pagesAtATime)
            let pages = Int(sqlite3_backup_pagecount(backup) - sqlite3_backup_remaining(backup))
            isWanted = progress(min(done.addingClamped(pages.multipliedClamped(by: pageSize)), total), total)
        }
        let end = sqlite3_backup_finish(backup)
        guard isWanted || code == SQLITE_DONE else { throw cancelled() }
        guard code == SQLITE_DONE, end == SQLITE_OK else {
            throw target.error(code == SQLITE_DONE ? end : code, purpose, cocoaCode: .persistentStoreOperation)
        }
    }

    private func cancelled() -> CoreError {
        CoreError(
            .cancelled, code: .persistentStoreOperation,
            "copying \(origin.given) to \(place.given) was cancelled, and \(place.given) "
                + (place.state == .missing ? "was not created" : "is unchanged"),
            file: place.given)
    }

    // MARK: Files

    /// Copies the backing files, and returns the number of bytes.
    private func copyFiles(_ createdPaths: inout [String], _ missing: inout Set<String>) throws -> Int {
        if names.isEmpty { return 0 }
        let folder = ExternalFile.folder(ofStore: place.path)
        try ExternalFile.makeFolders(folder, beside: permissions) { failure("create", $0, $1) }
        var done = 0
        for name in names.sorted() {
            let size = StoreTransfer.size("\(sourceFolder)/\(name)")
            // A backing file never changes, so a file of the same size is not copied again.
            if StoreTransfer.size("\(folder)/\(name)") != size || size == 0 {
                if try !copy(name, to: folder, &createdPaths) { missing.insert(name) }
            }
            done = done.addingClamped(size)
            guard progress(done, total) else { throw cancelled() }
        }
        try ExternalFile.synchroniseFolders(folder) { failure("write", $0, $1) }
        return done
    }

    /// Copies a backing file. Returns false if it does not exist, because an incomplete store can be copied.
    private func copy(_ name: String, to folder: String, _ createdPaths: inout [String]) throws -> Bool {
        let (from, path) = ("\(sourceFolder)/\(name)", "\(folder)/\(name)")
        let input = open(from, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard input >= 0 else {
            if errno == ENOENT { return false }
            throw failure("read", from, errno)
        }
        defer { close(input) }
        let size = try sizeToCopy(input, from)
        unlink(path)
        let output = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard output >= 0 else { throw failure("create", path, errno) }
        createdPaths.append(path)
        defer { close(output) }
        permissions?.ofCompanions.apply(to: output)
        try withUnsafeTemporaryAllocation(byteCount: 1 << 18, alignment: 16) { buffer in
            // Holes of a sparse file are preserved.
            try forEachPartWithData(of: input, size: size) { part in
                var place = part.lowerBound
                while place < part.upperBound {
                    let count = pread(
                        input, buffer.baseAddress, min(buffer.count, part.upperBound - place), off_t(place))
                    if count < 0 && errno == EINTR { continue }
                    guard count >= 0 else { throw failure("read", from, errno) }
                    if count == 0 { throw failure("read", from, ENODATA) }
                    try write(UnsafeRawBufferPointer(rebasing: buffer[..<count]), to: output, at: place, path)
                    place += count
                }
                return true
            }
        }
        guard ftruncate(output, off_t(size)) == 0 else { throw failure("write", path, errno) }
        guard fsync(output) == 0 else { throw failure("write", path, errno) }
        return true
    }

    private func write(_ bytes: UnsafeRawBufferPointer, to output: Int32, at place: Int, _ path: String) throws {
        var written = 0
        while written < bytes.count {
            let part = pwrite(
                output, bytes.baseAddress.map { $0 + written }, bytes.count - written, off_t(place + written))
            if part < 0 && errno == EINTR { continue }
            guard part > 0 else { throw failure("write", path, errno) }
            written += part
        }
    }

    /// Returns the size of a backing file. Throws if it is not a regular file, or larger than the options allow.
    private func sizeToCopy(_ input: Int32, _ path: String) throws -> Int {
        var status = stat()
        guard fstat(input, &status) == 0 else { throw failure("read", path, errno) }
        let size = Int(status.st_size)
        let isFile = status.st_mode & S_IFMT == S_IFREG
        guard
            let reason = isFile
                ? ExternalFile.excess(size, options.limits) : "is not a regular file; restore it from a backup"
        else {
            return size
        }
        throw CoreError(
            .storeIO, code: .persistentStoreOperation,
            "cannot copy \(origin.given) to \(place.given): the backing file \(path) \(reason)",
            key: isFile ? "external_limit" : nil,
            value: isFile ? .int(Int64(clamping: options.limits.externalBytes)) : nil, file: path)
    }

    private static func size(_ path: String) -> Int {
        var status = stat()
        return lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG ? Int(status.st_size) : 0
    }

    private func failure(_ action: String, _ path: String, _ code: Int32) -> CoreError {
        let remedy =
            switch code {
            case _ where action == "read": SystemError(code).remedyForReading()
            case ENOENT: "; create its folder first, or choose another path"
            case ENOTDIR, EEXIST, EISDIR, ENAMETOOLONG: "; choose another path"
            default: SystemError(code).remedyForWriting(SystemError(code).isReadOnly ? ", or choose another path" : "")
            }
        return CoreError(
            .storeIO, code: .persistentStoreOperation,
            "cannot \(action) \(path) while copying \(origin.given) to \(place.given): \(SystemError(code).text)"
                + remedy,
            file: path)
    }
}

extension Connection {
    /// Returns the integer that a statement returns; 0 without a row.
    func integer(_ sql: String, _ purpose: String) throws -> Int {
        let statement = try prepare(sql, purpose)
        return try statement.step(purpose) ? Int(statement.integer(0)) : 0
    }
}
