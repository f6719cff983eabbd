import CSQLite
import CorestoneGraph
import CorestoneValues

/// Whose rows they are. A store that is overwritten (`replaceStore`) stays the same file, and SQLite finds the new rows in it. So a
/// connection looks who the store is when it finds that others have written: the number which tells that costs no statement.
extension OpenFile {
    /// After reading: throws when what was read may be of another store.
    @inline(__always)
    func requireOwnStore() throws {
        if isClosed { return }
        if let held, held.isHeld {
            // A transaction sees one state.
            if held.isExamined { return }
            if connection.contentVersion != examined { try examine(isWriting: false) }
            held.isExamined = true
        } else if connection.contentVersion != examined {
            try examine(isWriting: false)
        }
    }

    /// In a transaction that is going to write: nobody else can do so until it ends.
    @inline(__always)
    func requireOwnStoreForWriting() throws {
        if connection.contentVersion != examined { try examine(isWriting: true) }
    }

    /// This connection has committed, which counts as one.
    @inline(__always)
    func noteOwnCommit() { examined = examined.map { $0 &+ 1 } }

    /// Whoever reads a file that does not tell who it is has had an error, or gets one.
    private func examine(isWriting: Bool) throws {
        let there: String?
        let version: UInt32
        do { (there, version) = try identifierInFile() } catch {
            if isWriting { throw error }
            return
        }
        guard there == identifier else {
            throw CoreError(
                .storeIO, code: .persistentStoreOperation,
                "\(connection.path) is another store by now: somebody has put one with the identifier \(there ?? "") in its place; "
                    + "remove the store from the coordinator and add it again (a document: revert)",
                file: connection.path)
        }
        examined = version
    }

    private func identifierInFile() throws -> (String?, UInt32) {
        let purpose = "read the identifier of \(connection.path)"
        let statement = try connection.statement("SELECT Z_UUID FROM Z_METADATA ORDER BY Z_VERSION LIMIT 1", purpose)
        defer { statement.reset() }
        return try (statement.step(purpose) ? statement.text(0) : nil, connection.contentVersion)
    }
}

extension Connection {
    /// Another one after each commit: of others when a transaction that sees it begins, of this connection at once.
    @inline(__always)
    fileprivate var contentVersion: UInt32 {
        var version: UInt32 = 0
        sqlite3_file_control(db, nil, SQLITE_FCNTL_DATA_VERSION, &version)
        return version
    }
}
