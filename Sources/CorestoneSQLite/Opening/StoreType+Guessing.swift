import CSQLite
import CorestoneGraph
import CorestoneModel
import CorestoneValues

extension StoreType {
    /// The type of the store at `path`; nil when nothing is there, or what is there is no store.
    ///
    /// The file is read by way of SQLite: to open and close it by itself would drop the locks that SQLite has on it in this process.
    ///
    /// - Throws: `.invalidArgument` for what is no path, `.storeIO` for a file that cannot be read, `.notAStore` for a folder.
    package init?(ofStoreAt path: String) throws {
        let place = try StorePlace(path)
        guard place.state == .present else { return nil }
        let connection = try Connection(
            place.uri + "?mode=ro&immutable=1", path: place.given, flags: SQLITE_OPEN_READONLY | SQLITE_OPEN_URI)
        defer { connection.close() }
        guard let type = try FileHeader(connection).storeType(connection) else { return nil }
        self = type
    }
}
