import CSQLite
import CorestoneGraph
import CorestoneModel
import CorestoneValues
import Glibc

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

    /// In a transaction that is going to write: nobody else can do so until it ends. What is written into a file that has lost its
    /// name would be lost with it.
    @inline(__always)
    func requireOwnStoreForWriting() throws {
        if connection.contentVersion != examined { try examine(isWriting: true) }
        try requireName()
        let size = connection.fileSize
        if size < fileBytes { try requireWhole(size) }
        fileBytes = size
    }

    /// Throws when a file that has become shorter was cut off, and not just vacuumed: where there is a write-ahead log, SQLite finds
    /// that out only when it needs the pages that are gone.
    private func requireWhole(_ size: Int) throws {
        let purpose = "check the pages of \(connection.path)"
        // A file that was vacuumed has all of its pages, but for those that the log has.
        let pages = try connection.prepare(
            "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size", purpose)
        guard try pages.step(purpose), pages.integer(0) > Int64(size) else { return }
        pages.reset()
        sqlite3_db_release_memory(connection.db)
        let statement = try connection.prepare("PRAGMA quick_check(1)", purpose)
        if try statement.step(purpose), let line = statement.text(0), line != "ok" {
            throw CoreError(
                .storeCorrupt, code: .sqlite,
                "\(connection.path) was truncated to \(size) of \(fileBytes) bytes and is damaged (\(line)); "
                    + "restore it from a backup", sqliteCode: SQLITE_CORRUPT, file: connection.path)
        }
    }

    /// Throws when the path leads to another file, or to none.
    @inline(__always)
    func requireName() throws { if connection.hasLostName { throw lostName() } }

    private func lostName() -> CoreError {
        let isThere = sqlite3_db_filename(connection.db, "main").map { access($0, F_OK) == 0 } ?? false
        return CoreError(
            .storeIO, code: .persistentStoreSave,
            "\(connection.path) \(isThere ? "was replaced by another file" : "no longer exists"); back up the store with "
                + "cst_coordinator_backup_store (backup), then "
                + (isThere
                    ? "remove it from the coordinator and add it again. For a document, call cst_document_save_as (save_as, "
                        + "saveAs) or cst_document_revert (revert)"
                    : "move it to the copy with cst_coordinator_set_store_path (set_store_path). For a document, call "
                        + "cst_document_save_as (save_as, saveAs)"),
            file: connection.path)
    }

    /// SQLite leaves the log of a file that was renamed beside the new owner of the name, and would read it as that file's log. Only the
    /// application can tell to which of them it belongs.
    func warnOfLogOfRenamedFile() {
        // The private copy of a store has no name on purpose, and a log of its own.
        guard connection.hasLostName, sqlite3_db_readonly(connection.db, "main") == 0,
            let name = sqlite3_db_filename(connection.db, "main")
        else { return }
        let log = String(cString: name) + "-wal"
        var facts = stat()
        guard stat(log, &facts) == 0, facts.st_size > 0 else { return }
        DebugLog.write(
            "CoreData: warning: \(connection.path) was renamed, removed or replaced while it was open, and its log \(log) was left; "
                + "move the log to the renamed store, or remove it before another store is opened at this path")
    }

    /// This connection has committed, which counts as one.
    @inline(__always)
    func noteOwnCommit() { examined = examined.map { $0 &+ 1 } }

    /// Whoever reads a file that does not tell who it is has had an error, or gets one.
    private func examine(isWriting: Bool) throws {
        let there: String?
        let version: UInt32
        let propertyList: [UInt8]?
        do { (there, propertyList, version) = try documentInFile() } catch {
            if isWriting { throw error }
            return
        }
        guard there == identifier else {
            let other =
                there.map { "another store, with the identifier \($0) instead of \(identifier)" }
                ?? "a store without an identifier"
            throw CoreError(
                .storeIO, code: .persistentStoreOperation,
                "\(connection.path) was replaced by \(other); remove the store from the coordinator and add it again, or revert "
                    + "the document with cst_document_revert (revert)",
                file: connection.path)
        }
        if let document, let propertyList, propertyList != document.propertyList {
            try requireModel(document, propertyList)
        }
        examined = version
    }

    private func documentInFile() throws -> (String?, [UInt8]?, UInt32) {
        let purpose = "read the identifier of \(connection.path)"
        let statement = try connection.statement(
            "SELECT Z_UUID, Z_PLIST FROM Z_METADATA ORDER BY Z_VERSION LIMIT 1", purpose)
        defer { statement.reset() }
        guard try statement.step(purpose) else { return (nil, nil, connection.contentVersion) }
        return (statement.text(0), statement.blob(1), connection.contentVersion)
    }

    /// Throws when another process has migrated the store: its tables, and the numbers in them, have another meaning now.
    private func requireModel(_ known: StoreDocument, _ propertyList: [UInt8]) throws {
        let present = try StoreDocument(identifier: identifier, propertyList: propertyList, path: connection.path)
        guard present.hashes == known.hashes else {
            throw CoreError(
                .modelMismatch, code: .persistentStoreIncompatibleVersionHash,
                "\(connection.path) was migrated to another version of its model by another process or coordinator; remove it, and "
                    + "add it to a coordinator with that model. Unsaved changes can still be read",
                file: connection.path)
        }
        document = present
    }
}

extension Connection {
    /// Whether the file that is open is not the one of its path any more.
    fileprivate var hasLostName: Bool {
        var hasMoved: Int32 = 0
        sqlite3_file_control(db, nil, SQLITE_FCNTL_HAS_MOVED, &hasMoved)
        return hasMoved != 0
    }

    /// Another one after each commit: of others when a transaction that sees it begins, of this connection at once.
    @inline(__always)
    fileprivate var contentVersion: UInt32 {
        var version: UInt32 = 0
        sqlite3_file_control(db, nil, SQLITE_FCNTL_DATA_VERSION, &version)
        return version
    }
}
