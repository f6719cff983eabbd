import CSQLite
import CorestoneGraph
import CorestoneModel
import CorestoneValues
import Glibc

extension SQLiteStore {
    package func deferredTaskCount() throws -> Int {
        try withFile { try DeferredCleanup.taskCount(in: $0.connection) }
    }

    /// Over a connection of its own: the triggers that other connections have for themselves stay with the names of their tables.
    package func finishDeferredTask() throws {
        if isInMemory { return }
        connections.endUnusedReads()
        try withFile { file in
            try requireWritable("finish the migration of")
            file.endReads()
            guard try DeferredCleanup.isPending(in: file.connection) else { return }
            let purpose = "finish the migration of \(path)"
            let place = try StorePlace(path)
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

    /// In a transaction that the watch of the store knows for our own.
    private func finishTask(_ file: OpenFile, _ connection: Connection, _ place: StorePlace) throws -> Set<String> {
        let purpose = "finish the migration of \(path)"
        try connection.execute("PRAGMA legacy_alter_table=ON;BEGIN IMMEDIATE", purpose, cocoaCode: .migration)
        do {
            let watch = watched.withLock { $0.watch }
            watch?.noteOthers()
            try file.requireOwnStoreForWriting()
            // Another process may have migrated it meanwhile, or finished the migration.
            let contents = try StoreContents(connection, place: place)
            guard contents.document.hashes == StoreDocument.versionHashes(of: schema.model) else {
                throw CoreError(
                    .modelMismatch, code: .persistentStoreIncompatibleVersionHash,
                    "cannot \(purpose), which is of another version of the model by now; add the store again",
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
