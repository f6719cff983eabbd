import CSQLite
import CorestoneFileSystem
import CorestoneGraph
import CorestoneValues
import Glibc

/// The destruction of a store, which is emptied in an SQLite transaction.
///
/// SQLite's locks allow other processes to finish their reads undisturbed. `run` leaves a database without tables,
/// because another process may have the file open.
struct StoreDestruction {
    let place: StoreLocation
    let busyTimeout: Int

    private var purpose: String { "destroy \(place.given)" }

    /// Throws if the file is not a store, so that databases of other programs are not destroyed.
    ///
    /// Damaged stores are accepted.
    func check() throws {
        try Connection.forChanging(place, busyTimeout: busyTimeout, purpose, mayBeDamaged: true).close()
    }

    /// Throws if the file is not a store, or if another connection is writing to it. Does not checkpoint its log.
    func requireUnlocked(_ purpose: String) throws {
        let connection = try Connection.forChanging(
            place, busyTimeout: busyTimeout, purpose, mayBeDamaged: true)
        defer { connection.close() }
        if place.hasCompanion("-wal") { _ = cst_sqlite3_checkpoint_on_close(connection.db, 0) }
        do { try connection.execute("BEGIN IMMEDIATE", purpose, cocoaCode: .persistentStoreOperation) } catch let error
            as CoreError where error.status == .storeCorrupt
        { return }
        sqlite3_exec(connection.db, "ROLLBACK", nil, nil, nil)
    }

    /// Removes the files regardless of locks. Processes that have them open continue to use the unlinked files.
    func unlinkAll() throws {
        for companion in ["", "-wal", "-shm", "-journal"] {
            guard unlink(place.path + companion) == 0 || errno == ENOENT else {
                let error = SystemError.last
                throw CoreError(
                    error.isReadOnly ? .storeReadOnly : .storeIO, code: .persistentStoreOperation,
                    "cannot remove \(place.companion(companion)): \(error.text)\(error.remedyForWriting())",
                    file: place.given)
            }
        }
        ExternalFile.removeAll(of: place)
    }

    /// Removes a store without rows if no other connection has it open.
    func unlinkEmpty() throws {
        let connection = try Connection(place.path, path: place.given, flags: SQLITE_OPEN_READWRITE)
        defer { connection.close() }
        // Leaving WAL mode removes the log. It fails while another connection has the file open.
        for mode in ["DELETE", "MEMORY"] {
            let change = try connection.prepare("PRAGMA journal_mode=\(mode)", purpose)
            guard try change.step(purpose), change.text(0)?.uppercased() == mode else { return }
        }
        try connection.execute("BEGIN EXCLUSIVE", purpose, cocoaCode: .persistentStoreOperation)
        defer { if !connection.isAutocommit { sqlite3_exec(connection.db, "ROLLBACK", nil, nil, nil) } }
        var tables: [String] = []
        let query = try connection.prepare(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name GLOB 'Z[^_]*'", purpose)
        while try query.step(purpose) { if let name = query.text(0) { tables.append(name) } }
        for table in tables where try connection.finds("SELECT 1 FROM \"\(table)\" LIMIT 1", purpose: purpose) {
            return
        }
        // The folders are removed before the file, because the lock of the file prevents other processes from creating
        // the folders. Folders that are not empty remain.
        let folder = ExternalFile.folder(ofStore: place.path)
        for path in ExternalFile.folders(folder).reversed() { rmdir(path) }
        guard unlink(place.path) == 0 else { return }
        // A process that opened the file in the meantime and waits for the lock must not find a store.
        sqlite3_exec(connection.db, "PRAGMA writable_schema=ON; DELETE FROM sqlite_schema; COMMIT", nil, nil, nil)
    }

    /// Destroys the store and removes its backing files.
    func run() throws {
        let connection = try Connection(place.path, path: place.given, flags: SQLITE_OPEN_READWRITE)
        connection.waitForLocks(milliseconds: Int32(clamping: busyTimeout))
        // Sets the auto-vacuum mode of a new store, which SQLite applies to the emptied database.
        try connection.execute("PRAGMA auto_vacuum=2", purpose, cocoaCode: .persistentStoreOperation)
        _ = cst_sqlite3_reset_database(connection.db, 1)
        defer { _ = cst_sqlite3_reset_database(connection.db, 0) }
        try connection.execute("VACUUM", purpose, cocoaCode: .persistentStoreOperation)
        try connection.execute(
            "PRAGMA application_id=\(Connection.markOfDestroyedStore)", purpose, cocoaCode: .persistentStoreOperation)
        ExternalFile.removeAll(of: place)
    }
}

extension Connection {
    /// The text "CSTD". It distinguishes a destroyed store from an empty database of another program.
    fileprivate static let markOfDestroyedStore = 0x4353_5444

    /// Whether the database is the remainder of a destroyed store.
    func isOfDestroyedStore(_ purpose: String) throws -> Bool {
        let mark = try prepare("PRAGMA application_id", purpose)
        guard try mark.step(purpose), mark.integer(0) == Connection.markOfDestroyedStore else { return false }
        return try !finds("SELECT 1 FROM sqlite_schema", purpose: purpose)
    }
}
