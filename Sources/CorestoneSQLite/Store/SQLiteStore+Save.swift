import CSQLite
import CorestoneGraph
import CorestoneModel
import CorestoneValues

extension SQLiteStore {
    func save(by author: SaveAuthor, _ body: (any SaveTransaction) throws -> Void) throws {
        try write(by: author) { transaction in try body(transaction) }
    }

    func reservePrimaryKeys(of root: Entity, count: Int) throws -> Int64 {
        try write { transaction in try transaction.reservePrimaryKeys(of: root, count: count) }
    }

    func takeComputedRows() -> [(entity: UInt32, primaryKey: Int64)] {
        let rows = computed.withLock { rows in
            defer { rows = [] }
            return rows
        }
        return rows.compactMap { row in schema.entityIndex(number: row.entity).map { ($0, row.primaryKey) } }
    }

    private func write<Result>(by author: SaveAuthor = SaveAuthor(), _ body: (WriteTransaction) throws -> Result) throws
        -> Result
    {
        try withFile { file in
            if let readOnlyReason {
                throw CoreError(
                    .storeReadOnly, code: .persistentStoreSave,
                    "\(path) is open read-only: \(readOnlyReason)",
                    file: path)
            }
            file.endReads()
            guard file.connection.isAutocommit else {
                throw CoreError(
                    .internal, code: .persistentStoreSave,
                    "cannot save to \(path) while this thread copies it or runs another save to it; call "
                        + "cst_context_save (save) after the callback has returned",
                    file: path)
            }
            let purpose = "save to \(path)"
            try file.connection.execute("BEGIN IMMEDIATE", purpose)
            let changesBefore = sqlite3_total_changes(file.connection.db)
            let watch = watched.withLock { $0.watch }
            watch?.noteForeignCommits()
            file.limitWriting(besides: (connections.count - 1).multipliedClamped(by: options.cacheKilobytes << 10))
            defer { file.progress.endWriting() }
            let files = ExternalWrites(folder: externalFolder, beside: path, threshold: externalDataThreshold)
            do {
                try file.requireOwnStoreForWriting()
                try file.followOldValues()
                let transaction = try WriteTransaction(
                    file: file, path: path, identifier: identifier, files: files, author: author)
                let result = try body(transaction)
                try transaction.finish()
                try files.prepareCommit()
                try committing(transaction.own, with: file.connection, watch) {
                    try file.connection.execute("COMMIT", purpose)
                }
                file.noteOwnCommit()
                connections.requireNewest()
                let rows = file.connection.triggers.takeRows()
                if !rows.isEmpty { computed.withLock { $0.formUnion(rows) } }
                files.didCommit(to: file.connection, readers)
                connections.shortenLog(file)
                optimizeAfterSave(file, changes: Int(sqlite3_total_changes(file.connection.db) &- changesBefore))
                return result
            } catch {
                // Some failures, such as a full disk, have already ended the transaction.
                if !file.connection.isAutocommit { sqlite3_exec(file.connection.db, "ROLLBACK", nil, nil, nil) }
                files.didRollBack()
                file.forgetOldValues()
                _ = file.connection.triggers.takeRows()
                throw file.excess(error) ?? error
            }
        }
    }
}
