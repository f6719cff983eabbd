import CSQLite
import CorestoneGraph
import CorestoneModel
import CorestoneValues

/// The table of history consumers. It is this library's own table, which Apple's framework ignores.
enum HistoryConsumerTable {
    static let name = "CST_HISTORYCONSUMER"
    static let creation =
        "CREATE TABLE IF NOT EXISTS \(name) (ZNAME VARCHAR PRIMARY KEY, ZTRANSACTION INTEGER, ZLASTSEEN FLOAT, ZLEASE FLOAT)"
}

extension HistoryReader {
    func consumers() throws -> [HistoryConsumer] {
        try reading { file in
            guard try file.connection.hasTable(HistoryConsumerTable.name, purpose) else { return [] }
            let statement = try file.connection.statement(
                "SELECT ZNAME, ZTRANSACTION, ZLASTSEEN, ZLEASE FROM \(HistoryConsumerTable.name) ORDER BY ZNAME",
                purpose)
            defer { statement.reset() }
            var found: [HistoryConsumer] = []
            while try statement.step(purpose) {
                guard let name = statement.text(0) else { continue }
                found.append(
                    HistoryConsumer(
                        name: name, transactionNumber: statement.integer(1),
                        lastSeen: sqlite3_column_double(statement.handle, 2),
                        lease: sqlite3_column_double(statement.handle, 3)))
            }
            return found
        }
    }

    func firstNumber(ofNewest count: Int) throws -> Int64? {
        if count == 0 { return try bounds().highest.addingClamped(1) }
        return try number("SELECT Z_PK FROM ATRANSACTION ORDER BY Z_PK DESC LIMIT 1 OFFSET ?", Int64(count) - 1)
    }

    func firstNumber(ofNewestBytes bytes: Int) throws -> Int64? {
        let size = try size()
        guard size.bytes > bytes else { return nil }
        // The bytes of a transaction are estimated from its number of rows and the average size of a row.
        let rows = max(size.transactions + size.changes, 1)
        let kept = Int64(Double(bytes) / (Double(size.bytes) / Double(rows)))
        return try number(
            "SELECT max(Z_PK) FROM (SELECT Z_PK, sum(1 + (SELECT count(*) FROM ACHANGE WHERE ZTRANSACTIONID = t.Z_PK)) "
                + "OVER (ORDER BY Z_PK DESC) AS ROWS FROM ATRANSACTION t) WHERE ROWS > ?", kept
        ).map { $0.addingClamped(1) }
    }

    private func number(_ query: String, _ parameter: Int64) throws -> Int64? {
        try reading { file in
            let statement = try file.connection.statement(query, purpose)
            statement.bind(parameter, at: 1)
            defer { statement.reset() }
            return try statement.step(purpose) && !statement.isNull(0) ? statement.integer(0) : nil
        }
    }

    // MARK: - Size

    /// The estimated bytes of a row with its share of the indexes, for an SQLite library without `dbstat`. They were
    /// measured on public stores.
    private static let usualSize = (transaction: 80, change: 30)

    func size() throws -> HistorySize {
        try reading { file in
            var size = HistorySize()
            let counts = try file.connection.statement(
                "SELECT (SELECT count(*) FROM ATRANSACTION), (SELECT count(*) FROM ACHANGE), "
                    + "(SELECT ZTIMESTAMP FROM ATRANSACTION ORDER BY Z_PK LIMIT 1), "
                    + "(SELECT ZTIMESTAMP FROM ATRANSACTION ORDER BY Z_PK DESC LIMIT 1)", purpose)
            defer { counts.reset() }
            guard try counts.step(purpose) else { return size }
            size.transactions = Int(clamping: counts.integer(0))
            size.changes = Int(clamping: counts.integer(1))
            if !counts.isNull(2) { size.oldest = sqlite3_column_double(counts.handle, 2) }
            if !counts.isNull(3) { size.newest = sqlite3_column_double(counts.handle, 3) }
            let bytes = try bytesOfTables(file.connection)
            size.isEstimated = bytes == nil
            size.bytes =
                bytes ?? size.transactions * HistoryReader.usualSize.transaction
                + size.changes * HistoryReader.usualSize.change
            return size
        }
    }

    /// Returns the bytes of the history tables, or nil if this SQLite library does not have `dbstat`.
    private func bytesOfTables(_ connection: Connection) throws -> Int? {
        let tables = (HistorySchema.Table.allCases.map(\.rawValue) + OldValueTables.all).map { "'\($0)'" }.joined(
            separator: ", ")
        guard
            let statement = try? connection.prepare(
                "SELECT sum(pgsize) FROM dbstat WHERE aggregate = TRUE AND name IN "
                    + "(SELECT name FROM sqlite_schema WHERE tbl_name IN (\(tables)))", purpose)
        else { return nil }
        return try statement.step(purpose) ? Int(clamping: statement.integer(0)) : nil
    }

    // MARK: - CloudKit

    /// The minimum age of purged transactions of a mirrored store, in seconds. Apple recommends keeping seven days.
    private static let mirrorAge = 7.0 * 86_400

    /// Returns the first transaction that a purge of a mirrored store must keep, and the reason.
    ///
    /// The last seven days are kept, and the transactions that the mirror has not exported. If the export state cannot
    /// be read, all transactions are kept.
    ///
    /// - Returns: nil for a store that is not mirrored.
    func mirrorLimit() throws -> (number: Int64, reason: String)? {
        let exported: MirrorState = try reading { file in
            try MirrorState(file.connection, reader.store.identifier, purpose)
        }
        let week = try firstNumber(notBefore: ReferenceDate.currentSeconds - HistoryReader.mirrorAge)
        let age = (
            number: try week ?? bounds().highest.addingClamped(1),
            reason: "CloudKit mirrors the store, so the history of the last seven days is kept"
        )
        switch exported {
        case .notMirrored: return nil
        case .unknown:
            return (0, "CloudKit mirrors the store, but the export state of its mirror cannot be read")
        case .exported(let number):
            guard number < age.number.addingClamped(-1) else { return age }
            return (number.addingClamped(1), "CloudKit's mirror of the store has exported transactions up to \(number)")
        }
    }
}

/// The export state of a store's CloudKit mirror, from its `ANSCK` tables, which are only read.
private enum MirrorState {
    case notMirrored
    /// The mirror does not have a history token, or its token cannot be read.
    case unknown
    case exported(Int64)

    init(_ connection: Connection, _ store: String, _ purpose: String) throws {
        let columns = try connection.prepare(
            "SELECT t.name, c.name FROM sqlite_schema t, pragma_table_info(t.name) c WHERE t.type = 'table' "
                + "AND t.name LIKE 'ANSCK%'", purpose)
        var isMirrored = false
        var tokens: [(table: String, column: String)] = []
        while try columns.step(purpose) {
            isMirrored = true
            if let table = columns.text(0), let column = columns.text(1),
                position(of: "HISTORYTOKEN", in: column) != nil
            {
                tokens.append((table, column))
            }
        }
        guard isMirrored else {
            self = .notMirrored
            return
        }
        var numbers: [Int64] = []
        for (table, column) in tokens {
            let name = column.asIdentifier
            let rows = try connection.prepare(
                "SELECT \(name) FROM \(table.asIdentifier) WHERE \(name) IS NOT NULL", purpose)
            while try rows.step(purpose) {
                guard let number = rows.blob(0).flatMap({ MirrorState.number(in: $0, of: store) }) else {
                    self = .unknown
                    return
                }
                numbers.append(number)
            }
        }
        self = numbers.min().map { .exported($0) } ?? .unknown
    }

    /// Returns the transaction number of a store in an archived token; nil if eight levels do not contain one.
    private static func number(in archive: [UInt8], of store: String) -> Int64? {
        guard let value = try? decodeArchive(archive) else { return nil }
        return number(in: value, of: store, depth: 0)
    }

    private static func number(in value: PropertyValue, of store: String, depth: Int) -> Int64? {
        guard depth < 8 else { return nil }
        switch value {
        case .dictionary(let entries):
            if case .int(let number)? = entries[store] { return number }
            return entries.values.lazy.compactMap { number(in: $0, of: store, depth: depth + 1) }.first
        case .array(let values): return values.lazy.compactMap { number(in: $0, of: store, depth: depth + 1) }.first
        case .object(let object as ArchivedObject):
            return object.fields.values.lazy.compactMap { number(in: $0, of: store, depth: depth + 1) }.first
        default: return nil
        }
    }
}

extension WriteTransaction {
    func setHistoryConsumer(_ consumer: HistoryConsumer) throws {
        let purpose = "write the history consumer \"\(consumer.name)\" into \(path)"
        try connection.execute(HistoryConsumerTable.creation, purpose)
        let statement = try connection.statement(
            "INSERT OR REPLACE INTO \(HistoryConsumerTable.name) (ZNAME, ZTRANSACTION, ZLASTSEEN, ZLEASE) VALUES (?, ?, ?, ?)",
            purpose)
        statement.bind(copying: consumer.name, at: 1)
        statement.bind(consumer.transactionNumber, at: 2)
        statement.bind(consumer.lastSeen, at: 3)
        statement.bind(consumer.lease, at: 4)
        try statement.run(purpose)
    }

    func removeHistoryConsumer(_ name: String) throws -> Bool {
        let purpose = "remove the history consumer \"\(name)\" from \(path)"
        guard try connection.hasTable(HistoryConsumerTable.name, purpose) else { return false }
        let statement = try connection.statement(
            "DELETE FROM \(HistoryConsumerTable.name) WHERE ZNAME = ?", purpose)
        statement.bind(copying: name, at: 1)
        try statement.run(purpose)
        return connection.changes > 0
    }
}
