import CSQLite
import CorestoneGraph
import CorestoneValues

/// A conversion of errors of SQLite to errors of the library.
enum SQLiteError {
    /// Creates the error of the last call on `db`, which returned `code`.
    ///
    /// - Parameters:
    ///   - purpose: Completes "cannot …".
    ///   - cocoaCode: The code of failures that do not have a specific code; 134180 by default.
    ///   - hasFixedTimeout: Whether the application cannot change the time-out for locks.
    ///   - isTemporary: Whether the file is not a store, so that it cannot be checked.
    static func make(
        _ db: OpaquePointer?, code: Int32, path: String, purpose: String, cocoaCode: CocoaCode = .sqlite,
        entity: String? = nil, hasFixedTimeout: Bool = false, isTemporary: Bool = false
    ) -> CoreError {
        let extended = db.map { sqlite3_extended_errcode($0) } ?? code
        let detail = extended & 0xff == code & 0xff ? extended : code
        let text: String =
            if let db, detail == extended, let message = sqlite3_errmsg(db) { String(cString: message) } else {
                sqlite3_errstr(code).map { String(cString: $0) } ?? "unknown error"
            }
        return make(
            code: detail, text: text, path: path, purpose: purpose, cocoaCode: cocoaCode, entity: entity,
            hasFixedTimeout: hasFixedTimeout, isTemporary: isTemporary)
    }

    static func make(
        code: Int32, text: String, path: String, purpose: String, cocoaCode: CocoaCode = .sqlite,
        entity: String? = nil, hasFixedTimeout: Bool = false, isTemporary: Bool = false
    ) -> CoreError {
        let status: Status
        var cause = ""
        let remedy: String
        switch code & 0xff {
        case SQLITE_BUSY, SQLITE_LOCKED:
            // The code is always that of a time-out, regardless of `cocoaCode`.
            return CoreError(
                .storeBusy, code: .persistentStoreTimeout,
                "cannot \(purpose) because another process or connection holds the lock: \(text) (SQLite \(code)); "
                    + (hasFixedTimeout
                        ? "try again while other connections do not save"
                        : "try again, or raise busy_timeout_ms (busy_timeout)"),
                entity: entity, sqliteCode: code, file: path)
        // SQLITE_READONLY_DBMOVED and SQLITE_IOERR_NOMEM are macros that Swift does not import.
        case SQLITE_READONLY where code >> 8 == 4:
            status = .storeReadOnly
            cause = ", because the file was moved or removed while it was open"
            remedy = StoreLocation.addingAgain
        case SQLITE_IOERR where code >> 8 == 12:
            status = .storeIO
            cause = ", because the process is out of memory"
            remedy = "free some memory, or fetch or save fewer rows at a time"
        case SQLITE_READONLY, SQLITE_PERM, SQLITE_AUTH:
            status = .storeReadOnly
            remedy = "make the file and its folder writable"
        case SQLITE_CORRUPT:
            status = .storeCorrupt
            remedy = "restore the damaged file from a backup, or recover its rows with sqlite3 FILE .recover"
        case SQLITE_NOTADB:
            status = .notAStore
            remedy = "pass the path of an SQLite database, or restore the damaged file from a backup"
        case SQLITE_FULL:
            status = .storeIO
            remedy = "free some space and try again"
        case SQLITE_CANTOPEN:
            status = .storeIO
            remedy =
                "check that the folder exists and is writable, or raise the limit of open files (ulimit -n)"
        case SQLITE_IOERR:
            status = .storeIO
            remedy = "check the disk and the file system"
        case SQLITE_INTERRUPT:
            return CoreError(
                .cancelled, code: cocoaCode, "cannot \(purpose): cancelled by the application", entity: entity,
                sqliteCode: code, file: path)
        case SQLITE_NOMEM:
            status = .noMemory
            remedy = "free some memory, or fetch or save fewer rows at a time"
        case SQLITE_TOOBIG:
            status = .invalidArgument
            remedy = "keep values and requests within SQLite's limit of 1,000,000,000 bytes"
        case SQLITE_CONSTRAINT:
            status = .conflict
            remedy = "change the values that violate the constraint"
        case SQLITE_ERROR where text.hasPrefix("no such table") || text.hasPrefix("no such column"):
            // All statements match the schema that the file had when the store was opened.
            status = .storeCorrupt
            cause = ", because another program or coordinator changed or truncated the open file"
            remedy = "restore the file from a backup, or \(StoreLocation.addingAgain)"
        case SQLITE_ERROR where exceedsLimit(text):
            status = .internal
            remedy = "keep the request and the model within this limit of SQLite"
        case SQLITE_ERROR, SQLITE_MISMATCH:
            status = .internal
            let isCheckable = path != StoreLocation.inMemoryPath && !isTemporary
            remedy = isCheckable ? "run corestone check to examine the store" : ""
        case SQLITE_PROTOCOL, SQLITE_SCHEMA:
            // Other connections repeatedly took the lock, or changed the schema, when the statement began.
            status = .internal
            remedy = "try again"
        case SQLITE_MISUSE, SQLITE_RANGE, SQLITE_INTERNAL:
            status = .internal
            remedy = "report it as a defect of the library"
        default:
            status = .internal
            remedy = ""
        }
        return CoreError(
            status, code: cocoaCode,
            "cannot \(purpose): \(text) (SQLite \(code))\(cause)" + (remedy.isEmpty ? "" : "; \(remedy)"),
            entity: entity, sqliteCode: code, file: path)
    }

    /// Whether SQLite's message reports a statement that exceeds one of its limits.
    private static func exceedsLimit(_ text: String) -> Bool {
        ["at most ", "too many ", "Expression tree is too large", "parser stack overflow"].contains {
            text.hasPrefix($0)
        }
    }
}
