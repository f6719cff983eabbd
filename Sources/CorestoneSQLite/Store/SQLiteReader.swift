import CorestoneGraph
import CorestoneModel
import CorestoneSQL
import CorestoneValues

/// What reads a store of SQLite: the store itself, or a reader of it. What these have in common lies in the extensions.
protocol SQLiteReading: StoreReading, Sendable {
    var store: SQLiteStore { get }

    /// Runs `body` with a connection that no other thread uses meanwhile.
    /// - Parameter file: which one; nil for any.
    func withFile<Result>(only file: OpenFile?, _ body: (OpenFile) throws -> Result) throws -> Result
}

extension SQLiteReading {
    var schema: StoreSchema { store.schema }
    var compiler: FetchCompiler { store.compiler }

    @inline(__always)
    func withFile<Result>(_ body: (OpenFile) throws -> Result) throws -> Result { try withFile(only: nil, body) }
}

/// What one context reads a store through. It keeps to one connection as long as that is free when it is needed, and what it
/// reads never goes back in time.
final class SQLiteReader: SQLiteReading, @unchecked Sendable {
    let store: SQLiteStore
    private let connections: ConnectionPool
    private var last: OpenFile
    private var hasRead = false
    private var check: (() -> Bool)?
    private var wantsNewest = false

    init(_ store: SQLiteStore) {
        self.store = store
        connections = store.connections
        last = store.connections.first
    }

    @inline(__always)
    func withFile<Result>(only wanted: OpenFile?, _ body: (OpenFile) throws -> Result) throws -> Result {
        let file =
            if let wanted { try connections.take(only: wanted, check: check) } else {
                try connections.take(last, check: check)
            }
        defer { connections.give(file) }
        // A cursor goes on with its own state.
        if wanted == nil, file !== last || wantsNewest || !hasRead { settle(on: file) }
        return try connections.use(file, check: check, body)
    }

    /// A transaction that was begun for others may be older than what this reader has seen.
    private func settle(on file: OpenFile) {
        if wantsNewest || hasRead && file !== last, !file.isClosed { file.endReads() }
        wantsNewest = false
        hasRead = true
        last = file
    }

    func setInterruptCheck(_ check: (() -> Bool)?) { self.check = check }

    func endRead() { wantsNewest = true }
}
