import CSQLite
import CorestoneGraph
import CorestoneModel
import CorestoneValues
import Glibc

extension SQLiteStore {
    package func deferredTaskCount() throws -> Int {
        try withFile { try DeferredCleanup.taskCount(in: $0.connection) }
    }

    /// Runs one deferred task on a separate connection.
    ///
    /// Renamed tables would break the temporary triggers of the other connections.
    package func finishDeferredTask() throws {
        if isInMemory { return }
        connections.endUnusedReads()
        try withFile { file in
            try requireWritable("finish the migration of")
            file.endReads()
            guard try DeferredCleanup.isPending(in: file.connection) else { return }
            let purpose = "finish the migration of \(path)"
            let place = try StoreLocation(path)
            let connection = try Connection.forChanging(
                place, busyTimeout: options.busyTimeoutMilliseconds, purpose)
            defer { connection.close() }
            let folder = ExternalFile.folder(ofStore: place.path)
            let obsolete = try finishTask(file, connection, place)
            connections.requireNewest()
            guard !obsolete.isEmpty, connection.makeCommitsDurable() else { return }
            for name in obsolete { unlink("\(folder)/\(name)") }
        }
    }

    /// Runs a task in a transaction that the store's watcher recognises as this store's own.
    private func finishTask(_ file: OpenFile, _ connection: Connection, _ place: StoreLocation) throws -> Set<String> {
        let purpose = "finish the migration of \(path)"
        try connection.execute("PRAGMA legacy_alter_table=ON;BEGIN IMMEDIATE", purpose, cocoaCode: .migration)
        do {
            let watch = watched.withLock { $0.watch }
            watch?.noteForeignCommits()
            try file.requireOwnStoreForWriting()
            // Another process may have migrated the store or finished the migration in the meantime.
            let contents = try StoreContents(connection, place: place)
            guard contents.document.hashes == StoreDocument.versionHashes(of: schema.model) else {
                throw CoreError(
                    .modelMismatch, code: .persistentStoreIncompatibleVersionHash,
                    "cannot \(purpose): another process or coordinator migrated the store to another version of the "
                        + "model; add the store with cst_coordinator_add_store (add_store, addStore) to a coordinator with "
                        + "that version",
                    file: path)
            }
            let obsolete = try DeferredCleanup(connection, place, schema).run() ?? []
            try committing(OwnWrites.Save(), with: connection, watch) {
                try connection.execute("COMMIT", purpose, cocoaCode: .migration)
            }
            return obsolete
        } catch {
            if !connection.isAutocommit { sqlite3_exec(connection.db, "ROLLBACK", nil, nil, nil) }
            throw error
        }
    }
}
