import CSQLite
import CorestoneGraph
import CorestoneModel
import CorestoneValues

extension StoreType {
    /// Detects the type of the store at `path`; nil if the file does not exist or is not a store.
    ///
    /// The file is read through SQLite: opening and closing it directly would release the locks that SQLite holds on it
    /// in this process.
    ///
    /// - Throws: `.invalidArgument` for an invalid path.
    ///   `.storeIO` for a file that cannot be read.
    ///   `.notAStore` for a folder.
    package init?(ofStoreAt path: String) throws {
        let type = try StoreType.withHeader(of: path) { header, _, connection in try header.storeType(connection) }
        guard let type = type ?? nil else { return nil }
        self = type
    }

    /// Throws if the file at `path` is not a store of this type, which is `.xml` or `.binary`.
    ///
    /// A file that may be a damaged store passes.
    ///
    /// - Throws: `.unsupported` (134000) for a store of another type.
    ///   `.notAStore` (134080) for a file that is not a store.
    ///   The errors of `init(ofStoreAt:)`.
    package func require(at path: String) throws {
        try StoreType.withHeader(of: path) { header, place, connection in try header.require(self, place, connection) }
    }

    /// Calls `body` with the file's header; returns nil if the file does not exist.
    private static func withHeader<Result>(
        of path: String, _ body: (FileHeader, StoreLocation, Connection) throws -> Result
    ) throws -> Result? {
        let place = try StoreLocation(path)
        guard place.state == .present else { return nil }
        let connection = try Connection(
            place.uri + "?mode=ro&immutable=1", path: place.given, flags: SQLITE_OPEN_READONLY | SQLITE_OPEN_URI)
        defer { connection.close() }
        return try body(FileHeader(connection), place, connection)
    }
}
