import CSQLite
import CorestoneGraph
import CorestoneModel
import CorestoneValues

/// A recorder of the values that each transaction replaces, for a complete history.
///
/// Temporary triggers copy the values to temporary tables, for saves, batch requests and the triggers of derived
/// attributes. `finish` moves the values to the file in the same transaction. The file itself does not have such
/// triggers, so other programs can write to it and alter its tables.
final class OldValueRecorder {
    private let connection: Connection
    /// The numbers of columns whose values may be in backing files.
    private let external: [Int64]
    private let moves: [Statement]
    private let search: Statement

    private static let oldValues = "CST_OLDVALUE"
    private static let oldLinks = "CST_OLDLINK"

    /// Creates the temporary tables and triggers, in the transaction of the connection's first write.
    ///
    /// A connection that only reads does not need them.
    init(_ connection: Connection, _ schema: StoreSchema) throws {
        self.connection = connection
        let purpose = "record old values in \(connection.path)"
        let numbers = try OldValueRecorder.register(schema, in: connection, purpose)
        external = schema.tables.flatMap { table in
            table.columns.filter { ($0.property as? Attribute)?.allowsExternalStorage == true }
                .compactMap { numbers[table.name]?[$0.name] }
        }
        for statement in OldValueRecorder.statements(schema, numbers) { try connection.execute(statement, purpose) }
        let (values, links) = (OldValueRecorder.oldValues, OldValueRecorder.oldLinks)
        moves = try [
            "INSERT OR REPLACE INTO main.\(OldValueTables.values) (ZTRANSACTION, ZCOLUMN, ZROW, ZVALUE) "
                + "SELECT ?, ZCOLUMN, ZROW, ZVALUE FROM temp.\(values)",
            "INSERT OR REPLACE INTO main.\(OldValueTables.links) "
                + "(ZTRANSACTION, ZTABLE, ZKEY1, ZKEY2, ZEXISTED, ZORDER1, ZORDER2) "
                + "SELECT ?, ZTABLE, ZKEY1, ZKEY2, ZEXISTED, ZORDER1, ZORDER2 FROM temp.\(links)",
            "DELETE FROM temp.\(values)", "DELETE FROM temp.\(links)",
        ].map { try connection.prepare($0, purpose) }
        search = try connection.prepare(
            "SELECT 1 WHERE EXISTS (SELECT 1 FROM temp.\(values)) OR EXISTS (SELECT 1 FROM temp.\(links))", purpose)
    }

    /// Removes the triggers and tables of a recorder from a connection, in a write transaction.
    static func remove(from connection: Connection) throws {
        let purpose = "stop recording old values in \(connection.path)"
        let found = try connection.prepare(
            "SELECT type, name FROM temp.sqlite_schema WHERE name LIKE 'CST\\_OLD%' ESCAPE '\\' AND type IN ('table', 'trigger') "
                + "ORDER BY type DESC", purpose)
        var drops: [String] = []
        while try found.step(purpose) {
            if let type = found.text(0), let name = found.text(1) {
                drops.append("DROP \(type) temp.\(name.asIdentifier)")
            }
        }
        found.reset()
        for drop in drops { try connection.execute(drop, purpose) }
    }

    /// Assigns a permanent number to each column of an entity table, and to each join table with an empty column name.
    ///
    /// - Returns: The numbers by table and column.
    private static func register(
        _ schema: StoreSchema, in connection: Connection, _ purpose: String
    ) throws -> [String: [String: Int64]] {
        let columns =
            schema.tables.flatMap { table in table.columns.map { (table.name, $0.name) } }
            + schema.joins.map { ($0.name, "") }
        let insertion = try connection.prepare(
            "INSERT OR IGNORE INTO main.\(OldValueTables.columns) (ZTABLE, ZCOLUMN) VALUES (?, ?)", purpose)
        for (table, column) in columns {
            insertion.bind(copying: table, at: 1)
            insertion.bind(copying: column, at: 2)
            try insertion.run(purpose)
        }
        var numbers: [String: [String: Int64]] = [:]
        for (number, table, column) in try OldValueTables.numbers(of: connection, purpose) {
            numbers[table, default: [:]][column] = number
        }
        return numbers
    }

    /// Moves the old values of a transaction to the file.
    ///
    /// If there are old values but no changed object, the transaction's row is also written to the history.
    func finish(_ history: HistoryWriter, _ folder: String, _ limits: StoreLimits) throws {
        let purpose = "record old values in \(connection.path)"
        defer { search.reset() }
        let hasValues = try search.step(purpose)
        search.reset()
        if hasValues {
            try history.requireTransaction()
            try inlineBackingFiles(folder, limits, purpose)
            for (place, move) in moves.enumerated() {
                if place < 2 { move.bind(history.transaction, at: 1) }
                try move.run(purpose)
            }
        }
        if history.transaction != 0 { try extendSpan(to: history.transaction, purpose) }
    }

    private func extendSpan(to number: Int64, _ purpose: String) throws {
        let extension_ = try connection.statement(
            "UPDATE \(OldValueTables.spans) SET ZLAST = ?1 WHERE ZLAST = ?1 - 1", purpose)
        extension_.bind(number, at: 1)
        try extension_.run(purpose)
        if connection.changes > 0 { return }
        let insertion = try connection.statement(
            "INSERT INTO \(OldValueTables.spans) (ZFIRST, ZLAST) VALUES (?1, ?1)", purpose)
        insertion.bind(number, at: 1)
        try insertion.run(purpose)
    }

    /// Copies values from backing files, which are removed after the commit.
    ///
    /// 0 is recorded for a file that cannot be read.
    private func inlineBackingFiles(_ folder: String, _ limits: StoreLimits, _ purpose: String) throws {
        if external.isEmpty { return }
        let rows = try connection.statement(
            "SELECT ZCOLUMN, ZROW, ZVALUE FROM temp.\(OldValueRecorder.oldValues) WHERE ZCOLUMN IN (\(external.joinedText)) "
                + "AND typeof(ZVALUE) = 'blob' AND substr(ZVALUE, 1, 1) = x'02'", purpose)
        var found: [(column: Int64, row: Int64, name: String)] = []
        while try rows.step(purpose) {
            let name = (rows.blob(2) ?? []).withUnsafeBytes { ExternalFile.name(in: $0) }
            found.append((rows.integer(0), rows.integer(1), name ?? ""))
        }
        rows.reset()
        let update = try connection.statement(
            "UPDATE temp.\(OldValueRecorder.oldValues) SET ZVALUE = ? WHERE ZCOLUMN = ? AND ZROW = ?", purpose)
        for (column, row, name) in found {
            if case .bytes(let value) = ExternalFile.read("\(folder)/\(name)", limits) {
                update.bind(copying: [ExternalFile.inlineMark] + Array(value.rawBytes), at: 1)
            } else {
                update.bind(Int64(0), at: 1)
            }
            update.bind(column, at: 2)
            update.bind(row, at: 3)
            try update.run(purpose)
        }
    }
}

// MARK: - Triggers

extension OldValueRecorder {
    private static func statements(_ schema: StoreSchema, _ numbers: [String: [String: Int64]]) -> [String] {
        let tables = [
            "CREATE TEMP TABLE IF NOT EXISTS \(oldValues) (ZCOLUMN INTEGER, ZROW INTEGER, ZVALUE, "
                + "PRIMARY KEY (ZCOLUMN, ZROW)) WITHOUT ROWID",
            "CREATE TEMP TABLE IF NOT EXISTS \(oldLinks) (ZTABLE INTEGER, ZKEY1 INTEGER, ZKEY2 INTEGER, ZEXISTED INTEGER, "
                + "ZORDER1 INTEGER, ZORDER2 INTEGER, PRIMARY KEY (ZTABLE, ZKEY1, ZKEY2)) WITHOUT ROWID",
        ]
        let ofTables = schema.tables.flatMap { table in triggers(of: table, numbers[table.name] ?? [:]) }
        let ofJoins = schema.joins.flatMap { join -> [String] in
            guard let number = numbers[join.name]?[""] else { return [] }
            return triggers(of: join, number)
        }
        return tables + ofTables + ofJoins
    }

    /// Returns the triggers that record the first replaced value of each row and column.
    ///
    /// For a row that existed before the transaction, this is the value before the transaction.
    private static func triggers(of table: TableSchema, _ numbers: [String: Int64]) -> [String] {
        let columns = table.columns.compactMap { column in numbers[column.name].map { ($0, column.name) } }
        func insertion(_ number: Int64, _ column: String, _ condition: String = "") -> String {
            "INSERT INTO \(oldValues) SELECT \(number), OLD.Z_PK, OLD.\(column) WHERE \(condition)NOT EXISTS "
                + "(SELECT 1 FROM \(oldValues) WHERE ZCOLUMN = \(number) AND ZROW = OLD.Z_PK);"
        }
        let updates = columns.map { number, column in
            "CREATE TEMP TRIGGER IF NOT EXISTS CST_OLDVALUE_\(number) AFTER UPDATE OF \(column) ON main.\(table.name) "
                + "WHEN OLD.\(column) IS NOT NEW.\(column) BEGIN \(insertion(number, column)) END"
        }
        if columns.isEmpty { return [] }
        let insertions = columns.map { insertion($0, $1, "OLD.\($1) IS NOT NULL AND ") }.joined(separator: " ")
        return updates + [
            "CREATE TEMP TRIGGER IF NOT EXISTS CST_OLDROW_\(table.name) AFTER DELETE ON main.\(table.name) BEGIN \(insertions) END"
        ]
    }

    private static func triggers(of join: JoinTable, _ number: Int64) -> [String] {
        let (first, second) = (join.namingColumn, join.otherColumn)
        func insertion(_ row: String, existed: Bool) -> String {
            func order(_ column: JoinTable.Column) -> String {
                guard existed, let name = column.orderName else { return "NULL" }
                return "\(row).\(name)"
            }
            let keys = "\(row).\(first.name), \(row).\(second.name)"
            let values = "\(number), \(keys), \(existed ? 1 : 0), \(order(first)), \(order(second))"
            let condition = "ZTABLE = \(number) AND (ZKEY1, ZKEY2) = (\(keys))"
            return
                "INSERT INTO \(oldLinks) SELECT \(values) WHERE NOT EXISTS (SELECT 1 FROM \(oldLinks) WHERE \(condition));"
        }
        func trigger(_ event: String, _ body: String) -> String {
            let name = "CST_OLDLINK_\(event)_\(number)"
            return "CREATE TEMP TRIGGER IF NOT EXISTS \(name) AFTER \(event) ON main.\(join.name) BEGIN \(body) END"
        }
        return [
            trigger("INSERT", insertion("NEW", existed: false)), trigger("DELETE", insertion("OLD", existed: true)),
            trigger("UPDATE", insertion("OLD", existed: true) + " " + insertion("NEW", existed: false)),
        ]
    }
}
