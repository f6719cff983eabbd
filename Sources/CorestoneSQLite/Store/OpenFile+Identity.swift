import CSQLite
import CorestoneFileSystem
import CorestoneGraph
import CorestoneModel
import CorestoneValues
import Glibc

/// Checks that the file is still the store that was opened. A store that is overwritten (`replaceStore`) remains the
/// same file, and SQLite reads the new rows. A connection therefore checks the store's identifier after writes of other
/// connections, which it detects without a statement.
extension OpenFile {
    /// Throws if rows that were just read may belong to another store.
    @inline(__always)
    func requireOwnStore() throws {
        if isClosed { return }
        if let openRead, openRead.isOpen {
            // A transaction sees one state, so one check suffices.
            if openRead.isExamined { return }
            if connection.contentVersion != examined { try examine(isWriting: false) }
            openRead.isExamined = true
        } else if connection.contentVersion != examined {
            try examine(isWriting: false)
        }
    }

    /// Throws at the start of a write transaction if the file is not the store that was opened.
    ///
    /// It also throws if the path no longer refers to the open file, because the writes would be lost with the file,
    /// and if the file was truncated. The transaction excludes other writers until it ends.
    @inline(__always)
    func requireOwnStoreForWriting() throws {
        if connection.contentVersion != examined { try examine(isWriting: true) }
        try requireName()
        let size = connection.fileSize
        if size < fileBytes { try requireWhole(size) }
        fileBytes = size
    }

    /// Throws if a file that became shorter was truncated, not vacuumed.
    ///
    /// With a write-ahead log, SQLite detects a truncated file only when it reads a missing page.
    private func requireWhole(_ size: Int) throws {
        let purpose = "check the pages of \(connection.path)"
        // A vacuumed file has all of its pages except those in the log.
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

    /// Throws if the path no longer refers to the open file.
    @inline(__always)
    func requireName() throws { if connection.hasLostName { throw lostName() } }

    private func lostName() -> CoreError {
        let code: Int32 =
            sqlite3_db_filename(connection.db, "main").map { access($0, F_OK) == 0 ? 0 : errno } ?? ENOENT
        guard code == 0 || code == ENOENT || code == ENOTDIR else {
            return CoreError(
                .storeIO, code: .persistentStoreSave,
                "cannot access \(connection.path): \(SystemError(code).text)"
                    + (code == EACCES ? "; restore the permissions of its folders" : ""), file: connection.path)
        }
        let isThere = code == 0
        return CoreError(
            .storeIO, code: .persistentStoreSave,
            "\(connection.path) \(isThere ? "was replaced by another file" : "no longer exists"); back up the store with "
                + "cst_coordinator_backup_store (backup), then "
                + (isThere
                    ? "\(StoreLocation.addingAgain). Call cst_document_save_as (save_as, saveAs) or "
                        + "cst_document_revert (revert) for a document"
                    : "move it to the copy with cst_coordinator_set_store_path (set_store_path, setPath). Call "
                        + "cst_document_save_as (save_as, saveAs) for a document"),
            file: connection.path)
    }

    /// Logs a warning about the log of a renamed file.
    ///
    /// SQLite leaves the log at the old name, and would apply it to a new file of that name. Only the application can
    /// decide to which file the log belongs.
    func warnOfLogOfRenamedFile() {
        // The private copy of a store is unlinked intentionally, and has its own log.
        guard connection.hasLostName, sqlite3_db_readonly(connection.db, "main") == 0,
            let name = sqlite3_db_filename(connection.db, "main")
        else { return }
        let log = String(cString: name) + "-wal"
        var status = stat()
        guard stat(log, &status) == 0, status.st_size > 0 else { return }
        DebugLog.write(
            "CoreData: warning: \(connection.path) was renamed, removed or replaced while it was open, and its log \(log) was left; "
                + "move the log to the renamed store, or remove the log before another store is opened at this path")
    }

    /// Records a commit of this connection, which increases `contentVersion` by one.
    @inline(__always)
    func noteOwnCommit() { examined = examined.map { $0 &+ 1 } }

    /// Checks identifier and model of the file.
    ///
    /// If they cannot be read, the check fails only for writers, because every read then fails anyway.
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
                there.map { "another store, with the identifier \"\($0)\" instead of \"\(identifier)\"" }
                ?? "a store without an identifier"
            throw CoreError(
                .storeIO, code: .persistentStoreOperation,
                "\(connection.path) was replaced by \(other); \(StoreLocation.addingAgain). Call "
                    + "cst_document_revert (revert) for a document",
                value: there.map { .string($0) }, file: connection.path)
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

    /// Throws if another process has migrated the store, because its tables and entity numbers have changed.
    private func requireModel(_ known: StoreDocument, _ propertyList: [UInt8]) throws {
        let present = try StoreDocument(identifier: identifier, propertyList: propertyList, path: connection.path)
        guard present.hashes == known.hashes else {
            throw CoreError(
                .modelMismatch, code: .persistentStoreIncompatibleVersionHash,
                "\(connection.path) has another version of its model, because another process or coordinator migrated "
                    + "or replaced the store; add the store with cst_coordinator_add_store (add_store, addStore) to a "
                    + "coordinator with that version",
                file: connection.path)
        }
        document = present
    }
}

extension Connection {
    /// Whether the path no longer refers to the open file.
    fileprivate var hasLostName: Bool {
        var hasMoved: Int32 = 0
        sqlite3_file_control(db, nil, SQLITE_FCNTL_HAS_MOVED, &hasMoved)
        return hasMoved != 0
    }

    /// A number that changes after each commit. It changes immediately after a commit of this connection. For other
    /// commits it changes when a transaction that sees the commit begins.
    @inline(__always)
    fileprivate var contentVersion: UInt32 {
        var version: UInt32 = 0
        sqlite3_file_control(db, nil, SQLITE_FCNTL_DATA_VERSION, &version)
        return version
    }
}
