import CSQLite
import CorestoneGraph
import CorestoneModel
import CorestoneValues
import Glibc

/// Files in a store's folder of external data that no row refers to: what saves that did not come to their end left there.
/// They take room and do no harm otherwise.
public struct StoreLeftovers: Sendable {
    /// The folder of external data.
    public let folder: String
    /// The files in it, in order of their names.
    public let names: [String]
    /// Bytes of all of them.
    public let bytes: Int
    /// Another store whose files lie in the same folder, so that nobody can tell what is left over; nil as a rule.
    public let sharer: String?

    /// Looks for leftovers, and changes nothing. Younger files than ten minutes, which may belong to a save that runs, are no
    /// leftovers yet, and neither are files by other names than those of external data.
    ///
    /// - Parameter path: relative to the working directory at the time of the call.
    /// - Throws: as `Coordinator.open` for what is no store, or damaged.
    public init(ofStoreAt path: String) throws {
        let place = try StorePlace(path)
        try place.requireStore()
        let file = try ReadOnlyFile(place)
        func search() throws -> StoreLeftovers { try StoreLeftovers(place, file.connection) }
        self = try file.watch.map { try $0.reading(search) } ?? search()
    }

    /// Removes the leftovers, under the lock that every save takes.
    ///
    /// - Parameter path: relative to the working directory at the time of the call.
    /// - Returns: what was removed.
    /// - Throws: as above; `storeReadOnly` when the store may not be written, `storeBusy` while another process saves,
    ///   `storeCorrupt` for a damaged database, whose rows cannot tell what they refer to, `unsupported` for a folder that two
    ///   stores share, and `storeIO` for a file that stays.
    public static func remove(fromStoreAt path: String) throws -> StoreLeftovers {
        let found = try StoreLeftovers(ofStoreAt: path)
        if let sharer = found.sharer { throw found.isShared(path, sharer) }
        if found.names.isEmpty { return found }
        let report = try StoreReport(ofStoreAt: path)
        if let damage = report.problems.first(where: \.kind.hidesRows) {
            throw CoreError(
                .storeCorrupt, code: .persistentStoreOperation,
                "cannot identify the orphaned files of \(path), because rows may be missing "
                    + "(\(damage.message.withoutRemedy)). Restore the store from a backup, or recover its rows with sqlite3 FILE .recover",
                file: path)
        }
        return try LeftoverRemoval(StorePlace(path)).run()
    }

    init(_ place: StorePlace, _ connection: Connection) throws {
        folder = ExternalFile.folder(ofStore: place.path)
        sharer = ExternalFile.sharer(of: place)
        // The folder first: a file that a save makes meanwhile is in no row yet.
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

    /// A save makes its files before it commits, and Apple's framework may do so before it takes the lock.
    private static let settlingTime = 600

    /// The sizes of files with external data that no save can be about to refer to, by name.
    private static func settledFiles(in folder: String) -> [String: Int] {
        guard let names = FolderNames(folder) else { return [:] }
        var sizes: [String: Int] = [:]
        for name in names where UUIDValue(name) != nil {
            var facts = stat()
            guard fstatat(names.descriptor, name, &facts, AT_SYMLINK_NOFOLLOW) == 0,
                facts.st_mode & S_IFMT == S_IFREG, facts.st_mtim.tv_sec < time(nil) - settlingTime
            else { continue }
            sizes[name] = Int(facts.st_size)
        }
        return sizes
    }

    private func isShared(_ path: String, _ sharer: String) -> CoreError {
        CoreError(
            .unsupported, code: .persistentStoreOperation,
            "\(folder) holds the backing files of both \(path) and \(sharer), so orphaned files cannot be identified; "
                + "move one store and its files to another folder", file: path)
    }
}

/// Removes leftovers while nobody else can save.
private struct LeftoverRemoval {
    let place: StorePlace
    let connection: Connection
    private static let patience: Int32 = 5000

    init(_ place: StorePlace) throws {
        self.place = place
        connection = try Connection(place.path, path: place.given, flags: SQLITE_OPEN_READWRITE)
        connection.waitForLocks(milliseconds: LeftoverRemoval.patience)
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
        // After a loss of power no row of a state that returns may miss its file.
        guard leftovers.names.isEmpty || connection.bringCommitsToDisk() else {
            throw failure(
                "cannot flush the last saves of the store to disk; check the disk and the file system", leftovers.folder
            )
        }
        for name in leftovers.names {
            let path = "\(leftovers.folder)/\(name)"
            guard unlink(path) == 0 || errno == ENOENT else {
                throw failure("\(StorePlace.text(of: errno)); check the permissions of the folder", path)
            }
        }
        return leftovers
    }

    private func failure(_ reason: String, _ path: String) -> CoreError {
        CoreError(
            .storeIO, code: .persistentStoreOperation,
            "cannot remove orphaned files of \(place.given) at \(path): \(reason)", file: path)
    }
}

extension Connection {
    /// The names of all files that any row refers to, whatever the model says: an inferred one knows of no external data.
    func namesOfExternalFiles(in tables: some Sequence<String>) throws -> Set<String> {
        let purpose = "list the backing files of \(path)"
        var names: Set<String> = []
        for table in tables {
            let columns = try columnNames(of: table, purpose)
            // Several columns in one pass over the rows; SQLite limits the depth of a condition.
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
    /// Removes the files of a store's folder that nothing refers to any more, unless another store keeps its own among them.
    ///
    /// - Parameter kept: the names of those that stay.
    static func removeAll(of place: StorePlace, but kept: Set<String> = []) {
        guard sharer(of: place) == nil else { return }
        let folder = folder(ofStore: place.path)
        guard let names = FolderNames(folder) else { return }
        for name in names where UUIDValue(name) != nil && !kept.contains(name) { unlink(folder + "/" + name) }
    }

    /// Another SQLite database whose files lie in the same folder, for the name of the folder leaves out what follows the last
    /// point.
    static func sharer(of place: StorePlace) -> String? {
        guard let names = FolderNames(place.folder) else { return nil }
        let folder = self.folder(ofStore: place.path)
        for name in names {
            let path = (place.folder == "/" ? "" : place.folder) + "/" + name
            if path != place.path, self.folder(ofStore: path) == folder, isDatabase(path) { return path }
        }
        return nil
    }

    /// Asks SQLite: closing a descriptor of our own would drop the locks that this process may have on the file.
    private static func isDatabase(_ path: String) -> Bool {
        var facts = stat()
        let isCompanion = ["-wal", "-shm", "-journal"].contains { path.hasSuffix($0) }
        guard !isCompanion, lstat(path, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG,
            let connection = try? Connection(path, path: path, flags: SQLITE_OPEN_READONLY)
        else { return false }
        defer { connection.close() }
        return (try? FileHeader(connection).isDatabase) == true
    }
}
