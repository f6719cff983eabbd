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

    /// Nothing is taken away from another program's database.
    func check() throws {
        let connection = try Connection(place.path, path: place.given, flags: SQLITE_OPEN_READWRITE)
        try FileHeader(connection).requireDatabase(place, connection)
        if place.hasCompanion("-wal") { _ = cst_sqlite3_checkpoint_on_close(connection.db, 0) }
        sqlite3_busy_timeout(connection.db, Int32(clamping: busyTimeout))
        guard sqlite3_db_readonly(connection.db, "main") == 0 else {
            throw CoreError(
                .storeReadOnly, code: .persistentStoreOperation,
                "\(place.given) may not be written, so it cannot be destroyed; make the file writable",
                sqliteCode: SQLITE_READONLY, file: place.given)
        }
        do {
            let isStore = try connection.finds(
                "SELECT 1 FROM sqlite_schema WHERE name = 'Z_METADATA'", purpose: purpose)
            guard try isStore || connection.isOfDestroyedStore(purpose) else {
                throw CoreError(
                    .notAStore, code: .persistentStoreOperation,
                    "\(place.given) is a database of another program, which has no table Z_METADATA; it stays as it is",
                    file: place.given)
            }
        } catch let error as CoreError where error.status == .storeCorrupt {
            // Damage is no reason to keep a store.
        }
    }

    func run() throws {
        let connection = try Connection(place.path, path: place.given, flags: SQLITE_OPEN_READWRITE)
        sqlite3_busy_timeout(connection.db, Int32(clamping: busyTimeout))
        // As a new store has it; only an empty database takes it.
        try connection.execute("PRAGMA auto_vacuum=2", purpose, cocoaCode: .persistentStoreOperation)
        _ = cst_sqlite3_reset_database(connection.db, 1)
        defer { _ = cst_sqlite3_reset_database(connection.db, 0) }
        try connection.execute("VACUUM", purpose, cocoaCode: .persistentStoreOperation)
        try connection.execute(
            "PRAGMA application_id=\(Connection.markOfDestroyedStore)", purpose, cocoaCode: .persistentStoreOperation)
        removeExternalData()
    }

    /// Nothing refers to these files any more, unless another store keeps its own among them.
    private func removeExternalData() {
        guard ExternalFile.sharer(of: place) == nil else { return }
        let folder = ExternalFile.folder(ofStore: place.path)
        guard let entries = opendir(folder) else { return }
        defer { closedir(entries) }
        while let entry = readdir(entries) {
            if UUIDValue(entry.name) != nil { unlink(folder + "/" + entry.name) }
        }
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
