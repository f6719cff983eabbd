import CSQLite
import CorestoneGraph
import CorestoneModel
import CorestoneValues

/// The restoration of a copy of a store to the state after an earlier transaction.
///
/// The restoration proceeds span by span. A span with old values is undone exactly. For other spans, the history
/// records only which objects were inserted, which values were changed and which rows were deleted. The former values
/// of these objects become unknown, except those in tombstones (`UnrecordedRange`).
struct PastRestoration {
    let connection: Connection
    let schema: StoreSchema
    let purpose: String
    private(set) var unknown: UnknownValues

    /// Creates a restoration.
    ///
    /// - Parameter unknown: The values of the copy that are already unknown.
    init(_ connection: Connection, _ schema: StoreSchema, _ unknown: UnknownValues) {
        (self.connection, self.schema, self.unknown) = (connection, schema, unknown)
        purpose = "restore a past state of \(connection.path)"
    }

    /// Restores the copy.
    ///
    /// - Parameter number: The number of the last transaction of the restored state.
    mutating func run(to number: Int64) throws {
        try connection.execute("BEGIN IMMEDIATE", purpose)
        // Derived values are restored like others, without triggers. R-trees are filled at the end.
        _ = cst_sqlite3_enable_triggers(connection.db, 0)
        defer { _ = cst_sqlite3_enable_triggers(connection.db, 1) }
        let indexes = try dropIndexes()
        for (first, last, isComplete) in try spans(after: number).reversed() {
            for table in schema.tables { try recreateDeletedRows(of: table, first, last, isComplete) }
            if isComplete {
                try undo(first, last)
            } else {
                var span = UnrecordedRange(connection, schema, first, last, purpose)
                try span.run(&unknown)
            }
            for table in schema.tables { try removeInsertedRows(of: table, first, last) }
        }
        try clearUnknownValues()
        try deleteHistory(after: number)
        for index in indexes { try connection.execute(index, purpose) }
        for index in schema.spatialIndexes where try connection.hasTable(index.name, purpose) {
            for statement in index.refillingStatements { try connection.execute(statement, purpose) }
        }
        try connection.execute("COMMIT", purpose)
    }

    // MARK: - Spans

    /// Returns the transactions after a number, divided into spans with and without old values.
    private func spans(after number: Int64) throws -> [(first: Int64, last: Int64, isComplete: Bool)] {
        let highest = try integer("SELECT max(Z_PK) FROM ATRANSACTION") ?? number
        guard highest > number else { return [] }
        var parts: [(first: Int64, last: Int64, isComplete: Bool)] = []
        var next = number + 1
        if try OldValueTables.exist(in: connection, purpose) {
            let spans = try connection.prepare(
                "SELECT max(ZFIRST, ?1), min(ZLAST, ?2) FROM \(OldValueTables.spans) WHERE ZLAST >= ?1 AND ZFIRST <= ?2 "
                    + "ORDER BY ZFIRST", purpose)
            spans.bind(next, at: 1)
            spans.bind(highest, at: 2)
            while try spans.step(purpose) {
                let (first, last) = (spans.integer(0), spans.integer(1))
                guard first >= next, last >= first else { continue }
                if first > next { parts.append((next, first - 1, false)) }
                parts.append((first, last, true))
                next = last.addingClamped(1)
            }
        }
        if next <= highest { parts.append((next, highest, false)) }
        return parts
    }

    private func integer(_ query: String) throws -> Int64? {
        let statement = try connection.prepare(query, purpose)
        return try statement.step(purpose) && !statement.isNull(0) ? statement.integer(0) : nil
    }

    // MARK: - Undoing

    private mutating func undo(_ first: Int64, _ last: Int64) throws {
        try connection.execute(
            "CREATE TEMP TABLE CST_PASTVALUE AS SELECT ZCOLUMN, ZROW, ZVALUE, min(ZTRANSACTION) AS ZTRANSACTION "
                + "FROM \(OldValueTables.values) WHERE ZTRANSACTION BETWEEN \(first) AND \(last) GROUP BY ZCOLUMN, ZROW; "
                + "CREATE INDEX temp.CST_PASTVALUE_INDEX ON CST_PASTVALUE (ZCOLUMN, ZROW)", purpose)
        for (number, subject) in try OldValueTables.subjects(of: connection, schema, purpose) {
            switch subject {
            case .column(let column, let table): try undo(column, table, number)
            case .links(let join): try undo(join, number, first, last)
            }
        }
        try connection.execute("DROP TABLE temp.CST_PASTVALUE", purpose)
    }

    private mutating func undo(_ column: ColumnSchema, _ table: TableSchema, _ number: Int64) throws {
        try connection.execute(
            "UPDATE \(table.name) SET \(column.name) = (SELECT ZVALUE FROM CST_PASTVALUE WHERE ZCOLUMN = \(number) "
                + "AND ZROW = \(table.name).Z_PK) WHERE Z_PK IN (SELECT ZROW FROM CST_PASTVALUE WHERE ZCOLUMN = \(number))",
            purpose)
        if !unknown.isEmpty { try markKnown(column, table, number) }
        if (column.property as? Attribute)?.allowsExternalStorage == true { try markUnknown(column, table, number) }
    }

    private mutating func markKnown(_ column: ColumnSchema, _ table: TableSchema, _ number: Int64) throws {
        guard column.role == .attribute || column.role == .toOne else { return }
        let rows = try connection.prepare("SELECT ZROW FROM CST_PASTVALUE WHERE ZCOLUMN = \(number)", purpose)
        while try rows.step(purpose) { unknown.remove(column.property, ofRow: rows.integer(0), table.root) }
    }

    /// Marks values as unknown if their backing files could not be read when the values were replaced.
    ///
    /// Values that are still in backing files are marked too, because the copy does not have these files.
    private mutating func markUnknown(_ column: ColumnSchema, _ table: TableSchema, _ number: Int64) throws {
        let rows = try connection.prepare(
            "SELECT ZROW FROM CST_PASTVALUE WHERE ZCOLUMN = \(number) AND ZVALUE IS NOT NULL "
                + "AND (typeof(ZVALUE) <> 'blob' OR substr(ZVALUE, 1, 1) <> x'01')", purpose)
        while try rows.step(purpose) { unknown.add(column.property, ofRow: rows.integer(0), table.root) }
    }

    private func undo(_ join: JoinTable, _ number: Int64, _ first: Int64, _ last: Int64) throws {
        let (one, other) = (join.namingColumn, join.otherColumn)
        let rows =
            "SELECT ZKEY1, ZKEY2, ZORDER1, ZORDER2, ZEXISTED, min(ZTRANSACTION) FROM \(OldValueTables.links) WHERE "
            + "ZTABLE = \(number) AND ZTRANSACTION BETWEEN \(first) AND \(last) GROUP BY ZKEY1, ZKEY2"
        let orders = [(one.orderName, "ZORDER1"), (other.orderName, "ZORDER2")].compactMap { name, value in
            name.map { ($0, value) }
        }
        try connection.execute(
            "DELETE FROM \(join.name) WHERE (\(one.name), \(other.name)) IN (SELECT ZKEY1, ZKEY2 FROM (\(rows)))",
            purpose)
        try connection.execute(
            "INSERT INTO \(join.name) (\(([one.name, other.name] + orders.map(\.0)).joined(separator: ", "))) "
                + "SELECT \((["ZKEY1", "ZKEY2"] + orders.map(\.1)).joined(separator: ", ")) FROM (\(rows)) WHERE ZEXISTED = 1",
            purpose)
    }

    /// Returns the FROM clause for changes of a table's objects.
    private func changes(_ kind: HistoryWriter.ChangeType, of table: TableSchema, _ first: Int64, _ last: Int64)
        -> String
    {
        let numbers = table.entities.map { schema.number(of: $0) }.joinedText
        return "FROM ACHANGE WHERE ZTRANSACTIONID BETWEEN \(first) AND \(last) AND ZCHANGETYPE = \(kind.rawValue) "
            + "AND ZENTITY IN (\(numbers)) AND typeof(ZENTITYPK) = 'integer'"
    }

    /// Recreates the rows that a span deleted.
    ///
    /// - Parameter isComplete: Whether the span has old values, so that all attributes of these rows are known.
    private mutating func recreateDeletedRows(
        of table: TableSchema, _ first: Int64, _ last: Int64, _ isComplete: Bool
    ) throws {
        let deletions = changes(.delete, of: table, first, last)
        try connection.execute(
            "INSERT OR IGNORE INTO \(table.name) (Z_PK, Z_ENT, Z_OPT) SELECT ZENTITYPK, ZENTITY, 1 \(deletions)",
            purpose)
        if unknown.isEmpty { return }
        let excepted = unknown.exceptedRows
        let known = table.columns.map(\.property).filter { isComplete && $0 is Attribute && excepted[$0.key] != nil }
        try forEachRow("SELECT ZENTITYPK \(deletions)") { unknown, key in
            unknown.removeRow(key, table.root)
            for property in known { unknown.remove(property, ofRow: key, table.root) }
        }
    }

    private mutating func removeInsertedRows(of table: TableSchema, _ first: Int64, _ last: Int64) throws {
        let insertions = changes(.insert, of: table, first, last)
        try connection.execute(
            "DELETE FROM \(table.name) WHERE Z_PK IN (SELECT ZENTITYPK \(insertions))", purpose)
        for join in schema.joins {
            for side in [join.namingColumn, join.otherColumn] where side.entity.rootIndex == table.root.index {
                try connection.execute(
                    "DELETE FROM \(join.name) WHERE \(side.name) IN (SELECT ZENTITYPK \(insertions))", purpose)
            }
        }
        if unknown.isEmpty { return }
        try forEachRow("SELECT ZENTITYPK \(insertions)") { unknown, key in unknown.removeRow(key, table.root) }
    }

    private mutating func forEachRow(_ query: String, _ body: (inout UnknownValues, Int64) -> Void) throws {
        let rows = try connection.prepare(query, purpose)
        while try rows.step(purpose) { body(&unknown, rows.integer(0)) }
    }

    // MARK: - Unknown values

    /// Sets values to null where the earlier value is unknown.
    private func clearUnknownValues() throws {
        if unknown.isEmpty { return }
        var columns: [UInt32: (table: TableSchema, column: String)] = [:]
        for table in schema.tables {
            for column in table.columns where column.role == .attribute || column.role == .toOne {
                columns[column.property.key] = (table, column.name)
            }
        }
        try connection.execute("CREATE TEMP TABLE CST_PASTKNOWN (Z_PK INTEGER PRIMARY KEY)", purpose)
        for (key, rows) in unknown.exceptedRows {
            guard let (table, column) = columns[key] else { continue }
            try connection.execute("DELETE FROM temp.CST_PASTKNOWN", purpose)
            let insertion = try connection.statement("INSERT INTO temp.CST_PASTKNOWN (Z_PK) VALUES (?)", purpose)
            for row in rows {
                insertion.bind(row, at: 1)
                try insertion.run(purpose)
            }
            try connection.execute(
                "UPDATE \(table.name) SET \(column) = NULL WHERE Z_PK NOT IN (SELECT Z_PK FROM temp.CST_PASTKNOWN)",
                purpose)
        }
        try unknown.forEachCell { _, row, key in
            guard let (table, column) = columns[key] else { return }
            let update = try connection.statement("UPDATE \(table.name) SET \(column) = NULL WHERE Z_PK = ?", purpose)
            update.bind(row, at: 1)
            try update.run(purpose)
        }
    }

    // MARK: - Indexes and history

    /// Drops the indexes and returns the statements that recreate them.
    ///
    /// Values change one column at a time, so unique values may conflict temporarily.
    private func dropIndexes() throws -> [String] {
        let tables = (schema.tables.map(\.name) + schema.joins.map(\.name)).map { "'\($0)'" }.joined(separator: ", ")
        let found = try connection.prepare(
            "SELECT name, sql FROM main.sqlite_schema WHERE type = 'index' AND sql IS NOT NULL AND tbl_name IN (\(tables))",
            purpose)
        var indexes: [(name: String, statement: String)] = []
        while try found.step(purpose) {
            if let name = found.text(0), let statement = found.text(1) { indexes.append((name, statement)) }
        }
        for index in indexes { try connection.execute("DROP INDEX main.\(index.name.asIdentifier)", purpose) }
        return indexes.map(\.statement)
    }

    private func deleteHistory(after number: Int64) throws {
        for statement in [
            "DELETE FROM ACHANGE WHERE ZTRANSACTIONID > \(number)", "DELETE FROM ATRANSACTION WHERE Z_PK > \(number)",
            "UPDATE Z_PRIMARYKEY SET Z_MAX = \(number) WHERE Z_ENT = \(HistorySchema.Table.transaction.number)",
        ] { try connection.execute(statement, purpose) }
        try OldValueTables.delete(after: number, from: connection, purpose)
    }
}
