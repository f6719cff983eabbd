import CSQLite
import CorestoneFileSystem
import CorestoneGraph
import CorestoneModel
import CorestoneValues
import Glibc

/// The orphaned backing files of a store: no row refers to them.
///
/// Interrupted saves leave orphaned files behind, which only occupy space.
public struct StoreLeftovers: Sendable {
    /// The folder of the backing files.
    public let folder: String
    /// The names of the orphaned files, sorted.
    public let names: [String]
    /// The total size of the orphaned files in bytes.
    public let bytes: Int
    /// The path of another database with the same folder of backing files; nil without such a database.
    ///
    /// If two stores share a folder, orphaned files cannot be identified, and `names` is empty.
    public let sharer: String?

    /// Finds orphaned files without changing anything.
    ///
    /// Files younger than ten minutes are left out, because they may belong to a running save. Files whose names are
    /// not those of backing files are left out too.
    ///
    /// - Parameter path: The path of the store, relative to the working directory at the time of the call.
    /// - Throws: As `Coordinator.open` for a file that is not a store, or that is damaged.
    public init(ofStoreAt path: String) throws {
        let place = try StoreLocation(path)
        try place.requireStore()
        let file = try ReadOnlyFile(place)
        func search() throws -> StoreLeftovers { try StoreLeftovers(place, file.connection) }
        self = try file.watch.map { try $0.reading(isOpenStore: false, search) } ?? search()
    }

    /// Removes the orphaned files, under the lock that every save acquires.
    ///
    /// - Parameter path: The path of the store, relative to the working directory at the time of the call.
    /// - Returns: The removed files.
    /// - Throws: As `init(ofStoreAt:)`.
    ///   `storeReadOnly` if the store is not writable.
    ///   `storeBusy` if another process is saving.
    ///   `storeCorrupt` for a damaged database, whose rows may be missing.
    ///   `unsupported` for a folder that two stores share.
    ///   `storeIO` for a file that cannot be removed.
    public static func remove(fromStoreAt path: String) throws -> StoreLeftovers {
        let found = try StoreLeftovers(ofStoreAt: path)
        if let sharer = found.sharer { throw found.sharedFolderError(path, sharer) }
        if found.names.isEmpty { return found }
        let report = try StoreReport(ofStoreAt: path)
        if let damage = report.problems.first(where: \.kind.hidesRows) {
            // The incomplete last save of a log, which a crash may have interrupted, does not have a remedy of its own.
            let remedy =
                damage.kind == .log
                ? "; open the store for writing with cst_coordinator_add_store (add_store, addStore), close it, and "
                    + "try again"
                : "; restore the store from a backup, or recover its rows with sqlite3 FILE .recover"
            throw CoreError(
                .storeCorrupt, code: .persistentStoreOperation,
                "cannot identify the orphaned files, because rows of \(path) may be missing: "
                    + "\(damage.message)\(damage.message.hasRemedy ? "" : remedy)",
                file: path)
        }
        return try LeftoverRemoval(StoreLocation(path)).run()
    }

    init(_ place: StoreLocation, _ connection: Connection) throws {
        folder = ExternalFile.folder(ofStore: place.path)
        sharer = ExternalFile.sharer(of: place)
        // The folder is read first. If the rows were read first, a file that a save creates in between would look
        // orphaned.
        let files = sharer == nil ? StoreLeftovers.settledFiles(in: folder) : [:]
        var (left, bytes): ([String], Int) = ([], 0)
        if !files.isEmpty {
            let used = try connection.namesOfExternalFiles(in: StoreContents(connection, place: place).tables.keys)
            for (name, size) in files where !used.contains(name) {
                left.append(name)
                bytes += size
            }
        }
        names = left.sorted()
        self.bytes = bytes
    }

    /// The minimum age of orphaned files in seconds. A save creates its files before it commits. Apple's framework
    /// possibly creates them even before it locks the store.
    private static let settlingTime = 600

    /// Returns the sizes of backing files by name, except those that a running save may have created.
    private static func settledFiles(in folder: String) -> [String: Int] {
        guard let names = FolderNames(folder) else { return [:] }
        var sizes: [String: Int] = [:]
        for name in names where UUIDValue(name) != nil {
            var status = stat()
            guard fstatat(names.descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0,
                status.st_mode & S_IFMT == S_IFREG, status.st_mtim.tv_sec < time(nil) - settlingTime
            else { continue }
            sizes[name] = Int(status.st_size)
        }
        return sizes
    }

    private func sharedFolderError(_ path: String, _ sharer: String) -> CoreError {
        CoreError(
            .unsupported, code: .persistentStoreOperation,
            "cannot identify the orphaned files in \(folder), because \(path) shares that folder with \(sharer); "
                + "move \(sharer) to another folder (if it is a store, with corestone copy and corestone destroy)",
            file: path)
    }
}

/// The removal of orphaned files under a lock that prevents saves.
private struct LeftoverRemoval {
    let place: StoreLocation
    let connection: Connection
    private static let lockTimeout: Int32 = 5000

    init(_ place: StoreLocation) throws {
        self.place = place
        connection = try Connection(place.path, path: place.given, flags: SQLITE_OPEN_READWRITE)
        connection.waitForLocks(milliseconds: LeftoverRemoval.lockTimeout)
        connection.hasFixedTimeout = true
    }

    func run() throws -> StoreLeftovers {
        defer { connection.close() }
        let purpose = "remove the orphaned files of \(place.given)"
        guard sqlite3_db_readonly(connection.db, "main") == 0 else {
            throw CoreError(
                .storeReadOnly, code: .persistentStoreOperation,
                "cannot \(purpose): \(place.given) is not writable, so it cannot be locked; make the file writable",
                sqliteCode: SQLITE_READONLY, file: place.given)
        }
        try connection.execute("BEGIN IMMEDIATE", purpose)
        defer { sqlite3_exec(connection.db, "ROLLBACK", nil, nil, nil) }
        let leftovers = try StoreLeftovers(place, connection)
        // A power failure must not restore an older state whose rows refer to removed files.
        guard leftovers.names.isEmpty || connection.bringCommitsToDisk() else {
            throw failure(
                "files of \(place.given): cannot flush the last saves of the store to disk; check the disk and the "
                    + "file system", leftovers.folder)
        }
        for name in leftovers.names {
            let path = "\(leftovers.folder)/\(name)"
            guard unlink(path) == 0 || errno == ENOENT else {
                let error = SystemError.last
                let remedy = error.remedyForWriting(in: "the folder")
                throw failure("file \(path) of \(place.given): \(error.text)\(remedy)", path)
            }
        }
        return leftovers
    }

    /// - Parameter rest: Completes "cannot remove the orphaned …".
    private func failure(_ rest: String, _ path: String) -> CoreError {
        CoreError(.storeIO, code: .persistentStoreOperation, "cannot remove the orphaned \(rest)", file: path)
    }
}

extension Connection {
    /// Returns the names of all backing files to which any row refers.
    ///
    /// The model is not used, because an inferred model does not record which attributes have backing files.
    func namesOfExternalFiles(in tables: some Sequence<String>) throws -> Set<String> {
        let purpose = "list the backing files of \(path)"
        var names: Set<String> = []
        for table in tables {
            let columns = try columnNames(of: table, purpose)
            // Several columns are read in one pass, but not all, because SQLite limits the depth of a condition.
            for start in stride(from: 0, to: columns.count, by: 64) {
                let cells = columns[start..<min(start + 64, columns.count)].map(\.asIdentifier)
                let conditions = cells.map { "typeof(\($0)) = 'blob' AND length(\($0)) BETWEEN 37 AND 64" }
                let values = zip(cells, conditions).map { "CASE WHEN \($1) THEN \($0) END" }
                let rows = try prepare(
                    "SELECT \(values.joined(separator: ", ")) FROM \(table.asIdentifier) "
                        + "WHERE \(conditions.joined(separator: " OR "))", purpose)
                while try rows.step(purpose) {
                    for place in cells.indices {
                        rows.blob(Int32(place))?.withUnsafeBytes {
                            if let name = ExternalFile.name(in: $0) { names.insert(name) }
                        }
                    }
                }
            }
        }
        return names
    }
}

extension ExternalFile {
    /// Removes the backing files of a store, unless another store uses the same folder.
    ///
    /// - Parameter kept: The names of the files to keep.
    static func removeAll(of place: StoreLocation, but kept: Set<String> = []) {
        guard sharer(of: place) == nil else { return }
        let folder = folder(ofStore: place.path)
        guard let names = FolderNames(folder) else { return }
        for name in names where UUIDValue(name) != nil && !kept.contains(name) { unlink(folder + "/" + name) }
    }

    /// Returns the path of another SQLite database with the same folder of backing files.
    ///
    /// Two stores can share a folder, because the folder's name does not contain the extension of the store's file.
    static func sharer(of place: StoreLocation) -> String? {
        guard let names = FolderNames(place.folder) else { return nil }
        let folder = self.folder(ofStore: place.path)
        for name in names {
            let path = (place.folder == "/" ? "" : place.folder) + "/" + name
            if path != place.path, self.folder(ofStore: path) == folder, isDatabase(path) { return path }
        }
        return nil
    }

    /// Whether a file is an SQLite database.
    ///
    /// It is read through SQLite, because closing a separate descriptor would release the locks of this process on it.
    private static func isDatabase(_ path: String) -> Bool {
        var status = stat()
        let isCompanion = ["-wal", "-shm", "-journal"].contains { path.hasSuffix($0) }
        guard !isCompanion, lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
            let connection = try? Connection(path, path: path, flags: SQLITE_OPEN_READONLY)
        else { return false }
        defer { connection.close() }
        return (try? FileHeader(connection).isDatabase) == true
    }
}
