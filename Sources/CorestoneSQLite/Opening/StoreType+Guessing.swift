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
        let type = try StoreType.withHeader(of: path) { header, _, connection in try header.storeType(connection) }
        guard let type = type ?? nil else { return nil }
        self = type
    }

    /// Throws when what is at `path` is no store of this type, which is `.xml` or `.binary`; what may be a damaged one passes.
    ///
    /// - Throws: `.unsupported` (134000) for a store of another type, `.notAStore` (134080) for what is none; as `init` besides.
    package func require(at path: String) throws {
        try StoreType.withHeader(of: path) { header, place, connection in try header.require(self, place, connection) }
    }

    /// nil where nothing is.
    private static func withHeader<Result>(
        of path: String, _ body: (FileHeader, StorePlace, Connection) throws -> Result
    ) throws -> Result? {
        let place = try StorePlace(path)
        guard place.state == .present else { return nil }
        let connection = try Connection(
            place.uri + "?mode=ro&immutable=1", path: place.given, flags: SQLITE_OPEN_READONLY | SQLITE_OPEN_URI)
        defer { connection.close() }
        return try body(FileHeader(connection), place, connection)
    }
}
