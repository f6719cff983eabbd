import CSQLite
import CorestoneGraph
import CorestoneValues

extension Connection {
    /// Opens a store's file for an operation that changes the file as a whole.
    ///
    /// Before the file is known to be a store, it is not changed, not even by closing it.
    ///
    /// - Parameters:
    ///   - busyTimeout: The time-out for locks, in milliseconds; nil for the default, which the application cannot change.
    ///   - purpose: The operation for messages, such as "destroy a.sqlite".
    ///   - mayBeDamaged: Whether a damaged file is accepted.
    /// - Throws: `.notAStore` for a database that is not a store.
    ///   `.storeReadOnly` for a file that is not writable.
    static func forChanging(
        _ place: StoreLocation, busyTimeout: Int?, _ purpose: String, mayBeDamaged: Bool = false
    ) throws -> Connection {
        let connection = try Connection(place.path, path: place.given, flags: SQLITE_OPEN_READWRITE)
        do {
            try FileHeader(connection).requireDatabase(place, connection)
            if place.hasCompanion("-wal") { _ = cst_sqlite3_checkpoint_on_close(connection.db, 0) }
            connection.waitForLocks(
                milliseconds: Int32(clamping: busyTimeout ?? StoreOptions().busyTimeoutMilliseconds))
            connection.hasFixedTimeout = busyTimeout == nil
            guard sqlite3_db_readonly(connection.db, "main") == 0 else {
                throw CoreError(
                    .storeReadOnly, code: .persistentStoreOperation,
                    "cannot \(purpose): \(place.given) is not writable; make the file writable",
                    sqliteCode: SQLITE_READONLY, file: place.given)
            }
            connection.restrictSchema()
            do {
                connection.limitExpressions()
                let isStore = try connection.finds(
                    "SELECT 1 FROM sqlite_schema WHERE name = 'Z_METADATA'", purpose: purpose)
                guard try isStore || connection.isOfDestroyedStore(purpose) else {
                    throw CoreError(
                        .notAStore, code: .persistentStoreOperation,
                        "\(place.given) is not a Core Data store: it does not have the table Z_METADATA; check the path",
                        file: place.given)
                }
                _ = cst_sqlite3_checkpoint_on_close(connection.db, 1)
            } catch let error as CoreError where error.status == .storeCorrupt && mayBeDamaged {}
        } catch {
            connection.close()
            throw error
        }
        return connection
    }
}
