/// The tables in which a complete history stores the values that its transactions replaced.
///
/// Apple's framework ignores them.
///
/// All old values of a transaction in a span are recorded. A transaction outside all spans was written before the
/// recording began, or by a program that does not record old values.
enum OldValueTables {
    /// The numbers of the columns of entity tables, and of join tables, whose `ZCOLUMN` is empty.
    static let columns = "CST_HISTORYCOLUMN"
    /// The value of a row's column before a transaction. Null values of deleted rows are left out.
    static let values = "CST_HISTORYVALUE"
    /// Whether a row of a join table existed before a transaction, and its order keys.
    static let links = "CST_HISTORYLINK"
    /// Ranges of consecutive transactions whose old values are recorded.
    static let spans = "CST_HISTORYSPAN"
    static let all = [columns, values, links, spans]

    private static let creationStatements = [
        "CREATE TABLE IF NOT EXISTS \(columns) (Z_PK INTEGER PRIMARY KEY, ZTABLE VARCHAR, ZCOLUMN VARCHAR, "
            + "UNIQUE (ZTABLE, ZCOLUMN))",
        "CREATE TABLE IF NOT EXISTS \(values) (ZTRANSACTION INTEGER, ZCOLUMN INTEGER, ZROW INTEGER, ZVALUE, "
            + "PRIMARY KEY (ZTRANSACTION, ZCOLUMN, ZROW)) WITHOUT ROWID",
        "CREATE TABLE IF NOT EXISTS \(links) (ZTRANSACTION INTEGER, ZTABLE INTEGER, ZKEY1 INTEGER, ZKEY2 INTEGER, "
            + "ZEXISTED INTEGER, ZORDER1 INTEGER, ZORDER2 INTEGER, PRIMARY KEY (ZTRANSACTION, ZTABLE, ZKEY1, ZKEY2)) WITHOUT ROWID",
        "CREATE TABLE IF NOT EXISTS \(spans) (ZFIRST INTEGER PRIMARY KEY, ZLAST INTEGER)",
    ]

    static func exist(in connection: Connection, _ purpose: String) throws -> Bool {
        let names = all.map { "'\($0)'" }.joined(separator: ", ")
        let statement = try connection.prepare(
            "SELECT count(*) FROM main.sqlite_schema WHERE type = 'table' AND name IN (\(names))", purpose)
        return try statement.step(purpose) && statement.integer(0) == Int64(all.count)
    }

    /// Creates the missing tables, in the caller's transaction.
    static func install(in connection: Connection, _ purpose: String) throws {
        for statement in creationStatements {
            try connection.execute(statement, purpose, cocoaCode: .persistentStoreOpen)
        }
    }

    /// Removes the tables in the caller's transaction. This stops the recording of old values.
    static func remove(from connection: Connection, _ purpose: String) throws {
        for table in all { try connection.execute("DROP TABLE IF EXISTS \(table)", purpose) }
    }

    /// Deletes the old values of transactions up to a number, in the caller's transaction.
    static func delete(upTo last: Int64, from connection: Connection, _ purpose: String) throws {
        try run(
            [
                "DELETE FROM \(values) WHERE ZTRANSACTION <= ?1", "DELETE FROM \(links) WHERE ZTRANSACTION <= ?1",
                "DELETE FROM \(spans) WHERE ZLAST <= ?1", "UPDATE \(spans) SET ZFIRST = ?1 + 1 WHERE ZFIRST <= ?1",
            ], last, connection, purpose)
    }

    /// Deletes the old values of transactions after a number, in the caller's transaction.
    static func delete(after last: Int64, from connection: Connection, _ purpose: String) throws {
        try run(
            [
                "DELETE FROM \(values) WHERE ZTRANSACTION > ?1", "DELETE FROM \(links) WHERE ZTRANSACTION > ?1",
                "DELETE FROM \(spans) WHERE ZFIRST > ?1", "UPDATE \(spans) SET ZLAST = ?1 WHERE ZLAST > ?1",
            ], last, connection, purpose)
    }

    /// Runs statements with the number of a transaction, if the file has the tables.
    private static func run(
        _ texts: [String], _ number: Int64, _ connection: Connection, _ purpose: String
    ) throws {
        guard try exist(in: connection, purpose) else { return }
        for text in texts {
            let statement = try connection.statement(text, purpose)
            statement.bind(number, at: 1)
            try statement.run(purpose)
        }
    }

    /// The column or join table of a number.
    enum Subject {
        case column(ColumnSchema, TableSchema)
        case links(JoinTable)
    }

    /// Returns the numbers of a file whose columns and join tables the schema has.
    static func subjects(
        of connection: Connection, _ schema: StoreSchema, _ purpose: String
    ) throws -> [(number: Int64, subject: Subject)] {
        var found: [(number: Int64, subject: Subject)] = []
        for (number, name, column) in try numbers(of: connection, purpose) {
            if column.isEmpty {
                if let join = schema.joins.first(where: { $0.name == name }) { found.append((number, .links(join))) }
            } else if let table = schema.tables.first(where: { $0.name == name }),
                let column = table.columns.first(where: { $0.name == column })
            {
                found.append((number, .column(column, table)))
            }
        }
        return found
    }

    /// Returns the numbers of a file with the names of their tables and columns.
    static func numbers(
        of connection: Connection, _ purpose: String
    ) throws -> [(number: Int64, table: String, column: String)] {
        let statement = try connection.prepare("SELECT Z_PK, ZTABLE, ZCOLUMN FROM \(columns) ORDER BY Z_PK", purpose)
        var found: [(number: Int64, table: String, column: String)] = []
        while try statement.step(purpose) {
            guard let table = statement.text(1), let column = statement.text(2) else { continue }
            found.append((statement.integer(0), table, column))
        }
        return found
    }
}
