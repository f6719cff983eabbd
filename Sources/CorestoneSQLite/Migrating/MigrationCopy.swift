import CSQLite
import CorestoneFileSystem
import CorestoneGraph
import CorestoneValues
import Glibc

/// A backup copy of an SQLite store that a migration makes.
///
/// Copies of one store in one folder share a folder of backing files if the store's name has an extension. If rows of
/// two copies contain the same file name, they share that file.
struct MigrationCopy {
    /// The location of the copy.
    let place: StoreLocation

    /// Copies a store that no other process can write to.
    ///
    /// The copy uses a separate connection, because SQLite cannot copy a database from a connection with a write
    /// transaction.
    func make(of origin: StoreLocation, limits: StoreLimits) throws {
        let purpose = "copy \(origin.given)"
        let reader = try Connection(origin.path, path: origin.given, flags: SQLITE_OPEN_READWRITE, limits: limits)
        defer { reader.close() }
        _ = cst_sqlite3_checkpoint_on_close(reader.db, 0)
        reader.restrictSchema()
        try reader.execute("BEGIN", purpose, cocoaCode: .migration)
        defer { sqlite3_exec(reader.db, "COMMIT", nil, nil, nil) }
        var options = StoreOptions()
        options.limits = limits
        let folder = ExternalFile.folder(ofStore: origin.path)
        let lost = try StoreTransfer(from: reader, folder, origin, to: place, options).run {}
        StoreTransfer.logMissingFiles(lost, in: folder, to: place)
    }

    /// Removes the copy, and its backing files unless another copy needs them or another store shares their folder.
    func remove(besides others: [String]) throws {
        let folder = ExternalFile.folder(ofStore: place.path)
        let files = try obsoleteFiles(in: folder, others)
        for companion in ["", "-wal", "-shm", "-journal"] {
            guard unlink(place.path + companion) == 0 || errno == ENOENT else {
                let code = errno
                throw CoreError(
                    .storeIO, code: .migration,
                    "cannot remove the backup \(place.given): \(SystemError(code).text)"
                        + SystemError(code).remedyForWriting(),
                    file: place.given + companion)
            }
        }
        for name in files { unlink("\(folder)/\(name)") }
        // A folder with other files is not removed.
        for path in ExternalFile.folders(folder).reversed() { rmdir(path) }
    }

    /// Returns the backing files to be removed with the copy. The set is empty if another store may need some of them.
    private func obsoleteFiles(in folder: String, _ others: [String]) throws -> Set<String> {
        guard ExternalFile.hasFiles(in: folder), let names = FolderNames(place.folder) else { return [] }
        let others = try others.map { try StoreLocation($0) }
        let known = Set(others.map(\.path) + [place.path])
        for name in names {
            let path = (place.folder == "/" ? "" : place.folder) + "/" + name
            let isCompanion = ["-wal", "-shm", "-journal"].contains { name.hasSuffix($0) }
            if !isCompanion, !known.contains(path), ExternalFile.folder(ofStore: path) == folder,
                ExternalFile.isThere(path)
            {
                return []
            }
        }
        var files = try MigrationCopy.names(in: place)
        for other in others where ExternalFile.folder(ofStore: other.path) == folder {
            files.subtract(try MigrationCopy.names(in: other))
        }
        return files
    }

    private static func names(in place: StoreLocation) throws -> Set<String> {
        if place.state == .missing { return [] }
        let connection = try ReadOnlyFile(place).connection
        defer { connection.close() }
        return try connection.namesOfExternalFiles(in: StoreContents(connection, place: place).tables.keys)
    }
}
