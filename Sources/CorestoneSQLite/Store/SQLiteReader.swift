import CorestoneGraph
import CorestoneModel
import CorestoneSQL
import CorestoneValues

/// A reader of an SQLite store: the store itself, or one of its readers. The extensions contain the shared code.
protocol SQLiteReading: StoreReading, Sendable {
    var store: SQLiteStore { get }

    /// Runs `body` with a connection that no other thread uses in the meantime.
    ///
    /// - Parameter file: The connection to use; nil for any connection.
    func withFile<Result>(only file: OpenFile?, _ body: (OpenFile) throws -> Result) throws -> Result
}

extension SQLiteReading {
    var schema: StoreSchema { store.schema }
    var compiler: FetchCompiler { store.compiler }

    @inline(__always)
    func withFile<Result>(_ body: (OpenFile) throws -> Result) throws -> Result { try withFile(only: nil, body) }
}

/// The reader of one context.
///
/// It prefers the connection that it used last. Except through cursors, it does not see an older state than before.
final class SQLiteReader: SQLiteReading, @unchecked Sendable {
    let store: SQLiteStore
    private let connections: ConnectionPool
    private var last: OpenFile
    private var hasRead = false
    private var check: (() -> Bool)?
    private var mustReadNewest = false

    init(_ store: SQLiteStore) {
        self.store = store
        connections = store.connections
        last = store.connections.first
    }

    @inline(__always)
    func withFile<Result>(only wanted: OpenFile?, _ body: (OpenFile) throws -> Result) throws -> Result {
        let file =
            if let wanted { try connections.acquire(only: wanted, check: check) } else {
                try connections.acquire(preferring: last, check: check)
            }
        defer { connections.release(file) }
        // A cursor continues to read its own state.
        if wanted == nil, file !== last || mustReadNewest || !hasRead { prepareRead(on: file) }
        return try connections.use(file, check: check, body)
    }

    /// Prepares a connection for a read of the state that this reader must see.
    ///
    /// Ends the transaction of the connection if this reader last used another connection, or if `endRead` was called.
    /// The transaction may be older than that state.
    private func prepareRead(on file: OpenFile) {
        if mustReadNewest || hasRead && file !== last, !file.isClosed { file.endReads() }
        mustReadNewest = false
        hasRead = true
        last = file
    }

    func setInterruptCheck(_ check: (() -> Bool)?) { self.check = check }

    func endRead() { mustReadNewest = true }
}
