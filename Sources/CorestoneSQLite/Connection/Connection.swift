import CPlatform
import CSQLite
import CorestoneGraph
import CorestoneValues
import Glibc

/// A connection to one file. Not thread-safe: only one thread may use it at a time.
final class Connection {
    let db: OpaquePointer
    /// The path of the file as the application passed it, for messages.
    let path: String
    /// The functions that Core Data's triggers call, and the rows that the triggers changed.
    let triggers = TriggerFunctions()
    private var cache: [String: Statement] = [:]
    private var clock: UInt64 = 0
    /// The number of statements that were run. Statements of triggers are part of the statement that fires them.
    var runs = 0
    private var isClosed = false
    /// The longest wait for locks of other connections, in milliseconds. Set only by `waitForLocks`.
    var busyTimeout: Int32 = 0
    /// Whether the application cannot change the time-out, so that errors must not suggest it.
    var hasFixedTimeout = false
    /// Whether the file is not a store, so that errors must not suggest to check it.
    var isTemporary = false
    /// The trace that logs statements while SQL logging is enabled.
    private var trace: StatementTrace?
    private var loggedDetail: UInt32 = 0
    /// The limits for the work that the file can cause.
    let limits: StoreLimits
    /// The number of values that the expressions of the file's schema may keep at a time; 0 before `limitExpressions`.
    var expressionParts = 0
    /// Whether expressions of the schema search for one text in another.
    var searchesInExpressions = false
    /// Replacements of SQLite's `printf` and `format` for a file whose schema has expressions; nil for other files.
    var formats: FormatFunctions?
    /// Whether triggers may use virtual tables.
    var trustsSchema = false
    /// The maximum number of cached statements.
    static let statementLimit = 200

    /// Whether statements of this connection may be logged.
    private let isLogged: Bool

    /// Opens `location`, which is a file name or, with `SQLITE_OPEN_URI`, a URI. Messages show `path` instead.
    ///
    /// - Throws: `.storeIO` if the log, the index of the log or the journal is not a regular file.
    ///   Errors of SQLite.
    init(
        _ location: String, path: String, flags: Int32, limits: StoreLimits = StoreLimits(), isLogged: Bool = true
    ) throws {
        try Connection.requireFiles(beside: location, path: path)
        var handle: OpaquePointer?
        let code = sqlite3_open_v2(location, &handle, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, nil)
        guard code == SQLITE_OK, let handle else {
            let error = SQLiteError.make(
                handle, code: code, path: path, purpose: "open \(path)", cocoaCode: .persistentStoreOpen)
            sqlite3_close_v2(handle)
            throw error
        }
        db = handle
        self.path = path
        self.isLogged = isLogged
        self.limits = limits
        limit()
        DebugLog.begin()
        followLog()
        try triggers.register(with: self)
        try TextFunction.register(with: self)
    }

    deinit { close() }

    /// Closes the file.
    ///
    /// Statements that the caller retains must not be used. SQLite closes the file after the last of them is
    /// deallocated.
    func close() {
        guard !isClosed else { return }
        isClosed = true
        trace?.end()
        trace = nil
        cache.removeAll()
        sqlite3_close_v2(db)
    }

    /// Starts or stops the trace if the detail of SQL logging changed.
    @inline(__always)
    func followLog() { if platform_sql_detail() != loggedDetail && isLogged { changeTrace() } }

    @inline(never)
    private func changeTrace() {
        trace?.end()
        loggedDetail = platform_sql_detail()
        trace = DebugLog.SQLDetail(rawValue: loggedDetail).flatMap { $0 == .nothing ? nil : StatementTrace(self, $0) }
    }

    /// Creates the error of the call that just returned `code`.
    func error(
        _ code: Int32, _ purpose: String, cocoaCode: CocoaCode = .sqlite, entity: String? = nil
    ) -> CoreError {
        if code & 0xff == SQLITE_TOOBIG { return tooLarge(purpose, cocoaCode: cocoaCode, entity: entity) }
        return SQLiteError.make(
            db, code: code, path: path, purpose: purpose, cocoaCode: cocoaCode, entity: entity,
            hasFixedTimeout: hasFixedTimeout, isTemporary: isTemporary)
    }

    /// Runs statements without parameters or rows.
    func execute(_ sql: String, _ purpose: String, cocoaCode: CocoaCode = .sqlite) throws {
        let code = sqlite3_exec(db, sql, nil, nil, nil)
        guard code == SQLITE_OK else { throw error(code, purpose, cocoaCode: cocoaCode) }
    }

    /// Runs `body` in a write transaction, which is committed if `body` returns and rolled back if it throws.
    func writing(_ purpose: String, cocoaCode: CocoaCode, _ body: () throws -> Void) throws {
        try execute("BEGIN IMMEDIATE", purpose, cocoaCode: cocoaCode)
        do {
            try body()
            try execute("COMMIT", purpose, cocoaCode: cocoaCode)
        } catch {
            // Some failures, such as a full disk, have already ended the transaction.
            if !isAutocommit { sqlite3_exec(db, "ROLLBACK", nil, nil, nil) }
            throw error
        }
    }

    /// Prepares a statement that is not cached. The caller owns it.
    func prepare(_ sql: String, _ purpose: String) throws -> Statement {
        var sql = sql
        var handle: OpaquePointer?
        let code = sql.withUTF8 { text in
            text.withMemoryRebound(to: CChar.self) {
                sqlite3_prepare_v3(
                    db, $0.baseAddress, Int32(truncatingIfNeeded: $0.count), UInt32(SQLITE_PREPARE_PERSISTENT), &handle,
                    nil)
            }
        }
        guard code == SQLITE_OK, let handle else { throw error(code, purpose) }
        trace?.logPlan(of: sql)
        return Statement(handle, connection: self)
    }

    /// Returns the cached statement of a text, ready to be bound, or prepares a new one.
    ///
    /// The caller must reset it after use. A statement that is still running is not shared.
    func statement(_ sql: String, _ purpose: String) throws -> Statement {
        clock += 1
        if let known = cache[sql], sqlite3_stmt_busy(known.handle) == 0 {
            known.lastUse = clock
            return known
        }
        let fresh = try prepare(sql, purpose)
        fresh.lastUse = clock
        if cache.count >= Connection.statementLimit, let oldest = cache.min(by: { $0.value.lastUse < $1.value.lastUse })
        {
            cache[oldest.key] = nil
        }
        cache[sql] = fresh
        return fresh
    }

    /// Whether no transaction is open.
    var isAutocommit: Bool { sqlite3_get_autocommit(db) != 0 }
    /// The number of rows that the last INSERT, UPDATE or DELETE changed.
    var changes: Int { Int(sqlite3_changes(db)) }

    /// Throws unless the last statement changed exactly one row.
    @inline(__always)
    func requireOneChange(
        _ purpose: @autoclosure () -> String, entity: @autoclosure () -> String?,
        objectURI: @autoclosure () -> String? = nil
    ) throws {
        if changes != 1 { throw unwrittenRowError(purpose(), entity: entity(), objectURI: objectURI()) }
    }

    /// Creates the error for a row that SQLite accepted but did not write.
    func unwrittenRowError(_ purpose: String, entity: String?, objectURI: String? = nil) -> CoreError {
        CoreError(
            .storeCorrupt, code: .persistentStoreSave,
            "cannot \(purpose): SQLite did not write the row to \(path), probably because of a trigger of another "
                + "program; find the trigger with corestone check and drop it, or restore the store from a backup if "
                + "the check does not list a trigger",
            entity: entity, objectURI: objectURI, file: path)
    }

    /// The maximum number of parameters of a statement.
    var parameterLimit: Int32 { sqlite3_limit(db, SQLITE_LIMIT_VARIABLE_NUMBER, -1) }

    /// Returns the names of a table's columns in their order; empty if the table does not exist.
    func columnNames(of table: String, _ purpose: String) throws -> [String] {
        // The argument 'main' excludes a table of an attached file.
        let query = try statement("SELECT name FROM pragma_table_info(?, 'main')", purpose)
        query.bind(copying: table, at: 1)
        defer { query.reset() }
        var names: [String] = []
        while try query.step(purpose) { if let name = query.text(0) { names.append(name) } }
        return names
    }

    /// Whether the file has a table of that name.
    func hasTable(_ name: String, _ purpose: String) throws -> Bool {
        try finds("SELECT 1 FROM main.sqlite_schema WHERE type = 'table' AND name = '\(name)'", purpose: purpose)
    }

    /// Whether a query with these parameters returns a row.
    func finds(_ text: String, _ parameters: Int64..., purpose: String) throws -> Bool {
        let query = try statement(text, purpose)
        for (place, value) in parameters.enumerated() { query.bind(value, at: Int32(place + 1)) }
        defer { query.reset() }
        return try query.step(purpose)
    }
}
