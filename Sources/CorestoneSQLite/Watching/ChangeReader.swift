import CSQLite
import CorestoneGraph
import CorestoneModel
import CorestoneValues

/// Notices what others commit, on a connection of its own, and reads what they changed: from the history, if there is one, else
/// which rows are new. Used by one thread at a time: the one that watches, or one that commits.
///
/// The version of the data (`PRAGMA data_version`) tells a connection that another one committed. Own commits go through
/// `committing`, which takes note of the version that they lead to, so any other version is somebody else's work.
final class ChangeReader {
    private let connection: Connection
    private let schema: StoreSchema
    private let hasHistory: Bool
    private var isClosed = false
    private var own = OwnWrites()
    /// What was read, and what of ours was committed, led to this.
    private var version: Int64 = 0
    /// Whether somebody else committed before ours.
    private var isForeign = false
    private var transaction: Int64 = 0
    private var windows: [KeyWindow] = []

    private static let purpose = "read remote changes"

    /// - Parameter path: of a store that is open for writing.
    init(path: String, schema: StoreSchema, hasHistory: Bool) throws {
        connection = try Connection(path, path: path, flags: SQLITE_OPEN_READWRITE, isLogged: false)
        self.schema = schema
        self.hasHistory = hasHistory
        try reading {
            if hasHistory {
                transaction = try lastTransaction()
            } else {
                windows = try schema.tables.map { try KeyWindow($0, connection) }
            }
        }
    }

    func close() {
        isClosed = true
        windows = []
        connection.close()
    }

    /// Whether somebody else committed since the last reading.
    func hasNews() throws -> Bool { try isForeign || connection.dataVersion() != version }

    /// What others changed since the last reading.
    func read() throws -> ForeignChanges {
        var changes = ForeignChanges()
        try reading {
            if hasHistory { try readHistory(into: &changes) } else { try readInsertions(into: &changes) }
        }
        return changes
    }

    /// Runs `body` in one read transaction, and takes note of its version.
    private func reading(_ body: () throws -> Void) throws {
        try connection.execute("BEGIN", ChangeReader.purpose)
        defer { sqlite3_exec(connection.db, "COMMIT", nil, nil, nil) }
        let seen = try connection.dataVersion()
        try body()
        version = seen
        isForeign = false
    }

    /// The store itself has begun to write, so nobody else can commit until it has committed.
    func noteOthers() { if (try? hasNews()) != false { isForeign = true } }

    /// Runs `commit`, which commits what the store itself wrote with `writer`.
    func committing(_ save: OwnWrites.Save, with writer: Connection, _ commit: () throws -> Void) throws {
        let writerBefore = try? writer.dataVersion()
        try commit()
        own.add(save)
        // Who listens to the log may have ended the watch.
        if isClosed { return }
        // Somebody else may commit before the version is read; the writer, which takes no note of its own commit, tells then.
        // Where a lock keeps them from being read, there is somebody else.
        guard let reached = try? connection.dataVersion(), let writerAfter = try? writer.dataVersion() else {
            isForeign = true
            return
        }
        version = reached
        if writerAfter != writerBefore { isForeign = true }
    }

    // MARK: - With a history

    private func readHistory(into changes: inout ForeignChanges) throws {
        let last = try lastTransaction()
        defer {
            transaction = last
            own.forget(transactionsTo: last)
        }
        changes.transaction = last
        // Whoever writes past the history, or takes something out of it, leaves only the versions to tell.
        guard last > transaction, try count(after: transaction) == last - transaction else {
            return changes.forgetRows()
        }
        let statement = try connection.statement(
            "SELECT ZCHANGETYPE, ZENTITY, ZENTITYPK, ZTRANSACTIONID FROM ACHANGE WHERE ZTRANSACTIONID > ? ORDER BY Z_PK",
            ChangeReader.purpose)
        statement.bind(transaction, at: 1)
        defer { statement.reset() }
        var kinds: [Row: HistoryWriter.ChangeType] = [:]
        while try statement.step(ChangeReader.purpose) {
            guard let kind = HistoryWriter.ChangeType(rawValue: statement.integer(0)),
                let entity = schema.entityIndex(number: statement.integer(1)),
                !own.has(transaction: statement.integer(3))
            else { continue }
            let row = Row(entity: entity, primaryKey: statement.integer(2))
            if kind == .update && kinds[row] == .insert { continue }
            kinds[row] = kind
            if kinds.count > ForeignChanges.limit { return changes.forgetRows() }
        }
        for (row, kind) in kinds {
            let key = (row.entity, row.primaryKey)
            switch kind {
            case .insert: changes.inserted.append(key)
            case .update: changes.updated.append(key)
            case .delete: changes.deleted.append(key)
            }
        }
    }

    private struct Row: Hashable {
        let entity: UInt32
        let primaryKey: Int64
    }

    private func lastTransaction() throws -> Int64 {
        let statement = try connection.statement(
            "SELECT (SELECT Z_MAX FROM Z_PRIMARYKEY WHERE Z_ENT = ?), (SELECT max(Z_PK) FROM ATRANSACTION)",
            ChangeReader.purpose)
        statement.bind(HistoryDesign.Table.transaction.number, at: 1)
        defer { statement.reset() }
        return try statement.step(ChangeReader.purpose) ? max(statement.integer(0), statement.integer(1), 0) : 0
    }

    private func count(after number: Int64) throws -> Int64 {
        let statement = try connection.statement(
            "SELECT count(*) FROM ATRANSACTION WHERE Z_PK > ?", ChangeReader.purpose)
        statement.bind(number, at: 1)
        defer { statement.reset() }
        return try statement.step(ChangeReader.purpose) ? statement.integer(0) : 0
    }

    // MARK: - Without

    private func readInsertions(into changes: inout ForeignChanges) throws {
        changes.isComplete = false
        for place in windows.indices {
            let root = windows[place].table.root
            let keys = try windows[place].advance().filter { !own.has($0.primaryKey, of: root.rootIndex) }
            own.forget(keysTo: windows[place].floor, of: root.rootIndex)
            for (number, primaryKey) in keys {
                guard let entity = schema.entityIndex(number: number, in: root) else { continue }
                changes.inserted.append((entity, primaryKey))
            }
        }
        if changes.inserted.count > ForeignChanges.limit { changes.forgetRows() }
    }
}

/// Which keys of a table were seen, as far as new ones can come: above the highest, or among the last, where somebody may have
/// reserved keys some time before the rows came.
private struct KeyWindow {
    let table: TableSchema
    /// What lies at or below is not looked at.
    private(set) var floor: Int64 = 0
    private var seen: Set<Int64> = []
    private let statement: Statement

    private static let size: Int64 = 256

    init(_ table: TableSchema, _ connection: Connection) throws {
        self.table = table
        let highest = try connection.prepare("SELECT max(Z_PK) FROM \(table.name)", "read remote changes")
        if try highest.step("read remote changes") { floor = max(highest.integer(0).addingClamped(-KeyWindow.size), 0) }
        statement = try connection.prepare(
            "SELECT Z_PK, Z_ENT FROM \(table.name) WHERE Z_PK > ? ORDER BY Z_PK LIMIT "
                + "\(ForeignChanges.limit + Int(KeyWindow.size) + 1)", "read remote changes")
        _ = try advance()
    }

    /// The rows that were not there the last time.
    mutating func advance() throws -> [(entity: Int64, primaryKey: Int64)] {
        statement.bind(floor, at: 1)
        defer { statement.reset() }
        var new: [(entity: Int64, primaryKey: Int64)] = []
        var highest = floor
        while try statement.step("read remote changes") {
            highest = statement.integer(0)
            if !seen.insert(highest).inserted { continue }
            new.append((statement.integer(1), highest))
        }
        if highest - KeyWindow.size > floor {
            floor = highest - KeyWindow.size
            seen = seen.filter { $0 > floor }
        }
        return new
    }
}
