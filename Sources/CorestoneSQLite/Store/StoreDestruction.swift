import CSQLite
import CorestoneGraph
import CorestoneValues
import Glibc

/// Empties a store by a transaction of SQLite's that takes its locks: another process that reads goes on with what it began. The
/// file stays, since another process may have it open, as a database without tables.
struct StoreDestruction {
    let place: StorePlace
    let busyTimeout: Int

    private var purpose: String { "destroy \(place.given)" }

    /// Nothing is taken away from another program's database. Damage is no reason to keep a store.
    func check() throws {
        try Connection.forChanging(place, busyTimeout: busyTimeout, purpose, mayBeDamaged: true).close()
    }

    /// A store of ours into which nobody writes. Not even its log is taken over.
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

    /// Whatever locks others have: they go on with files that have no names any more.
    func unlinkAll() throws {
        for companion in ["", "-wal", "-shm", "-journal"] {
            guard unlink(place.path + companion) == 0 || errno == ENOENT else {
                let reason = errno
                let isReadOnly = reason == EACCES || reason == EPERM || reason == EROFS
                throw CoreError(
                    isReadOnly ? .storeReadOnly : .storeIO, code: .persistentStoreOperation,
                    "cannot remove \(place.companion(companion)): \(StorePlace.text(of: reason))"
                        + (isReadOnly ? "; make its folder writable" : ""),
                    file: place.given)
            }
        }
        ExternalFile.removeAll(of: place)
    }

    /// Removes a store without rows that nobody else has open.
    func unlinkEmpty() throws {
        let connection = try Connection(place.path, path: place.given, flags: SQLITE_OPEN_READWRITE)
        defer { connection.close() }
        // The log goes with this, which fails while somebody else has the file open.
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
        // Before the file goes, and with it what keeps others from making one. What has files in it stays.
        let folder = ExternalFile.folder(ofStore: place.path)
        rmdir(folder)
        rmdir(String(folder[..<(folder.lastIndex(of: "/") ?? folder.endIndex)]))
        guard unlink(place.path) == 0 else { return }
        // Who has opened the file in between, and waits, finds no store in it.
        sqlite3_exec(connection.db, "PRAGMA writable_schema=ON; DELETE FROM sqlite_schema; COMMIT", nil, nil, nil)
    }

    func run() throws {
        let connection = try Connection(place.path, path: place.given, flags: SQLITE_OPEN_READWRITE)
        connection.waitForLocks(milliseconds: Int32(clamping: busyTimeout))
        // As a new store has it; only an empty database takes it.
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
    /// "CSTD", by which an emptied store is told from somebody else's database that has no tables yet.
    fileprivate static let markOfDestroyedStore = 0x4353_5444

    /// Whether the database is what destroying a store left.
    func isOfDestroyedStore(_ purpose: String) throws -> Bool {
        let mark = try prepare("PRAGMA application_id", purpose)
        guard try mark.step(purpose), mark.integer(0) == Connection.markOfDestroyedStore else { return false }
        return try !finds("SELECT 1 FROM sqlite_schema", purpose: purpose)
    }
}
