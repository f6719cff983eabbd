import CSQLite
import CorestoneGraph
import CorestoneModel
import CorestoneValues

/// A reader of the changes that other connections commit, on its own connection.
///
/// It reads the changes from the history if the store has one, otherwise only the inserted rows. One thread at a time
/// uses it: the watcher, or a thread that commits.
///
/// `PRAGMA data_version` changes when another connection commits. The store's own commits go through `committing`,
/// which records the resulting version. Any other version is therefore a remote change.
final class ChangeReader {
    private let connection: Connection
    private let schema: StoreSchema
    private let hasHistory: Bool
    private var isClosed = false
    private var ownWrites = OwnWrites()
    /// The version after the last read, or after the last commit of the store itself.
    private var version: Int64 = 0
    /// Whether there may be remote commits that a comparison with `version` does not show.
    private var hasForeignCommits = false
    private var transaction: Int64 = 0
    private var windows: [KeyWindow] = []

    private var purpose: String { "read remote changes of \(connection.path)" }

    /// Opens the connection.
    ///
    /// - Parameter path: The path of a store that is open for writing.
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

    /// Whether another connection committed since the last read.
    func hasUnreadCommits() throws -> Bool { try hasForeignCommits || connection.dataVersion() != version }

    /// Returns the remote changes since the last read.
    func read() throws -> ExternalChanges {
        var changes = ExternalChanges()
        try reading {
            if hasHistory { try readHistory(into: &changes) } else { try readInsertions(into: &changes) }
        }
        return changes
    }

    /// Runs `body` in one read transaction, and records its version.
    private func reading(_ body: () throws -> Void) throws {
        try connection.execute("BEGIN", purpose)
        defer { sqlite3_exec(connection.db, "COMMIT", nil, nil, nil) }
        let seen = try connection.dataVersion()
        try body()
        version = seen
        hasForeignCommits = false
    }

    /// Records whether there was a remote change before the store began to write.
    ///
    /// From then on, the transaction prevents other commits.
    func noteForeignCommits() { if (try? hasUnreadCommits()) != false { hasForeignCommits = true } }

    /// Runs `commit`, which commits the transaction of the store's connection `writer`, and records its writes.
    func committing(_ save: OwnWrites.Save, with writer: Connection, _ commit: () throws -> Void) throws {
        let writerBefore = try? writer.dataVersion()
        try commit()
        ownWrites.add(save)
        // A log callback may have stopped the watcher.
        if isClosed { return }
        // Another connection may commit before the version is read. The data version of `writer`, which its own commit
        // does not change, detects that. If a lock prevents the reading, another connection holds it.
        guard let reached = try? connection.dataVersion(), let writerAfter = try? writer.dataVersion() else {
            hasForeignCommits = true
            return
        }
        version = reached
        if writerAfter != writerBefore { hasForeignCommits = true }
    }

    // MARK: - With a history

    private func readHistory(into changes: inout ExternalChanges) throws {
        let last = try lastTransaction()
        defer {
            transaction = last
            ownWrites.forget(transactionsTo: last)
        }
        changes.transaction = last
        // If a writer bypassed the history, or removed transactions from it, only row versions can show the changes.
        guard last > transaction, try count(after: transaction) == last - transaction else {
            return changes.forgetRows()
        }
        let statement = try connection.statement(
            "SELECT ZCHANGETYPE, ZENTITY, ZENTITYPK, ZTRANSACTIONID FROM ACHANGE WHERE ZTRANSACTIONID > ? ORDER BY Z_PK",
            purpose)
        statement.bind(transaction, at: 1)
        defer { statement.reset() }
        var kinds: [Row: HistoryWriter.ChangeType] = [:]
        while try statement.step(purpose) {
            guard let kind = HistoryWriter.ChangeType(rawValue: statement.integer(0)),
                let entity = schema.entityIndex(number: statement.integer(1)),
                !ownWrites.has(transaction: statement.integer(3))
            else { continue }
            let row = Row(entity: entity, primaryKey: statement.integer(2))
            if kind == .update && kinds[row] == .insert { continue }
            kinds[row] = kind
            if kinds.count > ExternalChanges.limit { return changes.forgetRows() }
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
            purpose)
        statement.bind(HistorySchema.Table.transaction.number, at: 1)
        defer { statement.reset() }
        return try statement.step(purpose) ? max(statement.integer(0), statement.integer(1), 0) : 0
    }

    private func count(after number: Int64) throws -> Int64 {
        let statement = try connection.statement(
            "SELECT count(*) FROM ATRANSACTION WHERE Z_PK > ?", purpose)
        statement.bind(number, at: 1)
        defer { statement.reset() }
        return try statement.step(purpose) ? statement.integer(0) : 0
    }

    // MARK: - Without a history

    private func readInsertions(into changes: inout ExternalChanges) throws {
        changes.isComplete = false
        for place in windows.indices {
            let root = windows[place].table.root
            let keys = try windows[place].advance().filter { !ownWrites.has($0.primaryKey, of: root.rootIndex) }
            ownWrites.forget(keysTo: windows[place].floor, of: root.rootIndex)
            for (number, primaryKey) in keys {
                guard let entity = schema.entityIndex(number: number, in: root) else { continue }
                changes.inserted.append((entity, primaryKey))
            }
        }
        if changes.inserted.count > ExternalChanges.limit { changes.forgetRows() }
    }
}

/// The known keys of a table in the range where new rows can appear.
///
/// New rows can appear above the highest primary key. They can also appear among the last keys, because another process
/// may have reserved primary keys before it inserts the rows.
private struct KeyWindow {
    let table: TableSchema
    /// The highest primary key that is not read.
    private(set) var floor: Int64 = 0
    private var seen: Set<Int64> = []
    private let statement: Statement
    private let purpose: String

    private static let size: Int64 = 256

    init(_ table: TableSchema, _ connection: Connection) throws {
        self.table = table
        let purpose = "read remote changes of \(connection.path)"
        self.purpose = purpose
        let highest = try connection.prepare("SELECT max(Z_PK) FROM \(table.name)", purpose)
        if try highest.step(purpose) { floor = max(highest.integer(0).addingClamped(-KeyWindow.size), 0) }
        statement = try connection.prepare(
            "SELECT Z_PK, Z_ENT FROM \(table.name) WHERE Z_PK > ? ORDER BY Z_PK LIMIT "
                + "\(ExternalChanges.limit + Int(KeyWindow.size) + 1)", purpose)
        _ = try advance()
    }

    /// Returns the rows that were inserted since the last call.
    mutating func advance() throws -> [(entity: Int64, primaryKey: Int64)] {
        statement.bind(floor, at: 1)
        defer { statement.reset() }
        var new: [(entity: Int64, primaryKey: Int64)] = []
        var highest = floor
        while try statement.step(purpose) {
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
