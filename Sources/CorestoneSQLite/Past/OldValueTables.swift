/// The tables in which a complete history keeps the values that its transactions replaced. Apple's framework ignores them.
///
/// A transaction in a span has all of its old values here; one outside was written by a program that does not keep them.
enum OldValueTables {
    /// A number for each column of an entity's table, and for each join table, whose `ZCOLUMN` is empty.
    static let columns = "CST_HISTORYCOLUMN"
    /// The value of a column of a row before a transaction. Of a deleted row null values are left out.
    static let values = "CST_HISTORYVALUE"
    /// Whether a row of a join table existed before a transaction, and its sort keys.
    static let links = "CST_HISTORYLINK"
    /// Neighbouring transactions whose old values are kept.
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

    /// Creates what is missing, inside the caller's transaction.
    static func install(in connection: Connection, _ purpose: String) throws {
        for statement in creationStatements {
            try connection.execute(statement, purpose, cocoaCode: .persistentStoreOpen)
        }
    }

    /// Stops keeping old values, inside the caller's transaction.
    static func remove(from connection: Connection, _ purpose: String) throws {
        for table in all { try connection.execute("DROP TABLE IF EXISTS \(table)", purpose) }
    }

    /// Forgets the old values of the transactions up to a number, inside the caller's transaction.
    static func delete(upTo last: Int64, from connection: Connection, _ purpose: String) throws {
        try run(
            [
                "DELETE FROM \(values) WHERE ZTRANSACTION <= ?1", "DELETE FROM \(links) WHERE ZTRANSACTION <= ?1",
                "DELETE FROM \(spans) WHERE ZLAST <= ?1", "UPDATE \(spans) SET ZFIRST = ?1 + 1 WHERE ZFIRST <= ?1",
            ], last, connection, purpose)
    }

    /// Forgets the old values of the transactions after a number, inside the caller's transaction.
    static func delete(after last: Int64, from connection: Connection, _ purpose: String) throws {
        try run(
            [
                "DELETE FROM \(values) WHERE ZTRANSACTION > ?1", "DELETE FROM \(links) WHERE ZTRANSACTION > ?1",
                "DELETE FROM \(spans) WHERE ZFIRST > ?1", "UPDATE \(spans) SET ZLAST = ?1 WHERE ZLAST > ?1",
            ], last, connection, purpose)
    }

    /// Runs statements with the number of a transaction, where the file has the tables.
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

    /// What a number stands for.
    enum Subject {
        case column(ColumnSchema, TableSchema)
        case links(JoinTable)
    }

    /// The numbers of a file, as far as the schema has their columns and join tables.
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

    /// The numbers of a file with the names of table and column.
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
