import CPlatform
import CSQLite
import CorestoneGraph
import CorestoneValues
import Glibc

/// One connection to one file. Not thread-safe: the store's lock guards it.
final class Connection {
    let db: OpaquePointer
    /// The file as the host named it, for messages.
    let path: String
    /// What triggers of Core Data's stores call, and which rows they changed.
    let triggers = TriggerFunctions()
    private var cache: [String: Statement] = [:]
    private var clock: UInt64 = 0
    /// How often statements were begun: what its triggers run is part of a statement's run.
    var runs = 0
    private var isClosed = false
    /// For how many milliseconds locks of others are waited for, by `waitForLocks` alone.
    var patience: Int32 = 0
    /// Tells the process's log about statements, while it wants to know.
    private var trace: StatementTrace?
    private var toldDetail: UInt32 = 0
    /// What the file may have SQLite do.
    let limits: StoreLimits
    /// How many values the expressions of the file's schema may keep at a time, as far as anybody looked.
    var expressionParts = 0
    /// Whether some of them look for one text in another.
    var searchesInExpressions = false
    /// What replaces functions of SQLite's in a file with such expressions.
    var formats: FormatFunctions?
    /// Whether triggers may use virtual tables.
    var trustsSchema = false
    /// SQLite may be asked for at most that many statements to be kept between uses.
    static let statementLimit = 200

    /// Whether the process's log hears of statements.
    private let isLogged: Bool

    /// Opens `location` (a file name or, with `SQLITE_OPEN_URI`, a URI); `path` is what messages call it.
    ///
    /// - Throws: `.storeIO` when something else than a file lies where SQLite keeps the log, the index of the log or the journal.
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

    /// Closes the file. Statements that somebody still keeps must not be used any more; SQLite waits for them.
    func close() {
        guard !isClosed else { return }
        isClosed = true
        trace?.end()
        trace = nil
        cache.removeAll()
        sqlite3_close_v2(db)
    }

    /// Begins, or ends, to tell about statements as the process's log wants it by now.
    @inline(__always)
    func followLog() { if platform_sql_detail() != toldDetail && isLogged { changeTrace() } }

    @inline(never)
    private func changeTrace() {
        trace?.end()
        toldDetail = platform_sql_detail()
        trace = DebugLog.SQLDetail(rawValue: toldDetail).flatMap { $0 == .nothing ? nil : StatementTrace(self, $0) }
    }

    /// The error of the call that just returned `code`.
    func error(
        _ code: Int32, _ purpose: String, cocoaCode: CocoaCode = .sqlite, entity: String? = nil
    ) -> CoreError {
        if code & 0xff == SQLITE_TOOBIG { return tooLarge(purpose, cocoaCode: cocoaCode) }
        return SQLiteError.make(
            db, code: code, path: path, purpose: purpose, cocoaCode: cocoaCode, entity: entity)
    }

    /// Runs statements without parameters or rows.
    func execute(_ sql: String, _ purpose: String, cocoaCode: CocoaCode = .sqlite) throws {
        let code = sqlite3_exec(db, sql, nil, nil, nil)
        guard code == SQLITE_OK else { throw error(code, purpose, cocoaCode: cocoaCode) }
    }

    /// Runs `body` in a transaction that writes: committed when it returns, rolled back when it throws.
    func writing(_ purpose: String, cocoaCode: CocoaCode, _ body: () throws -> Void) throws {
        try execute("BEGIN IMMEDIATE", purpose, cocoaCode: cocoaCode)
        do {
            try body()
            try execute("COMMIT", purpose, cocoaCode: cocoaCode)
        } catch {
            // Some failures, such as a full disk, have ended the transaction already.
            if !isAutocommit { sqlite3_exec(db, "ROLLBACK", nil, nil, nil) }
            throw error
        }
    }

    /// A statement of its own, kept as long as the caller keeps it.
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
        trace?.tellPlan(of: sql)
        return Statement(handle, connection: self)
    }

    /// The statement of that text from the cache, ready to be bound. It must be reset before it is asked for again; one
    /// that is still running is not shared.
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
    /// Rows that the last INSERT, UPDATE or DELETE touched.
    var changes: Int { Int(sqlite3_changes(db)) }

    /// Fails unless the statement that just ran touched one row.
    @inline(__always)
    func requireOneChange(_ purpose: @autoclosure () -> String, entity: @autoclosure () -> String?) throws {
        if changes != 1 { throw swallowed(purpose(), entity: entity()) }
    }

    /// What it means that a row did not reach the file although SQLite had no objection.
    func swallowed(_ purpose: String, entity: String?) -> CoreError {
        CoreError(
            .storeCorrupt, code: .persistentStoreSave,
            "cannot \(purpose): \(path) ignored the row, probably because of a trigger of another program. Find the trigger "
                + "with corestone check and drop it, or save to another store",
            entity: entity, file: path)
    }

    /// How many parameters a statement may have.
    var parameterLimit: Int32 { sqlite3_limit(db, SQLITE_LIMIT_VARIABLE_NUMBER, -1) }

    /// The names of a table's columns, in their order; empty without such a table.
    func columnNames(of table: String, _ purpose: String) throws -> [String] {
        // Not those of an attached file.
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

    /// Whether a query with these parameters finds anything.
    func finds(_ text: String, _ parameters: Int64..., purpose: String) throws -> Bool {
        let query = try statement(text, purpose)
        for (place, value) in parameters.enumerated() { query.bind(value, at: Int32(place + 1)) }
        defer { query.reset() }
        return try query.step(purpose)
    }
}
