import CSQLite
import CorestoneGraph
import CorestoneModel
import CorestoneValues

extension SQLiteStore {
    func save(_ body: (any SaveTransaction) throws -> Void) throws {
        try write { transaction in try body(transaction) }
    }

    func reservePrimaryKeys(of root: Entity, count: Int) throws -> Int64 {
        try write { transaction in try transaction.reservePrimaryKeys(of: root, count: count) }
    }

    private func write<Result>(_ body: (WriteTransaction) throws -> Result) throws -> Result {
        try withFile { file in
            if let readOnlyReason {
                throw CoreError(
                    .storeReadOnly, code: .persistentStoreSave,
                    "cannot save to \(path): \(readOnlyReason); open it for writing or save to another store",
                    file: path)
            }
            file.held?.end()
            guard file.connection.isAutocommit else {
                throw CoreError(
                    .internal, code: .persistentStoreSave, "cannot save to \(path): another save of it is running",
                    file: path)
            }
            let purpose = "save to \(path)"
            try file.connection.execute("BEGIN IMMEDIATE", purpose)
            let transaction = WriteTransaction(file: file, path: path)
            do {
                let result = try body(transaction)
                try transaction.finish()
                try file.connection.execute("COMMIT", purpose)
                return result
            } catch {
                // Some failures, such as a full disk, have ended the transaction already.
                if !file.connection.isAutocommit { sqlite3_exec(file.connection.db, "ROLLBACK", nil, nil, nil) }
                throw error
            }
        }
    }
}
