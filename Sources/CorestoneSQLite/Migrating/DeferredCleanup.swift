import CSQLite
import CorestoneGraph
import CorestoneModel
import CorestoneValues

/// A column or a table that a deferred migration left in the file.
struct Leftover {
    /// The table of the column, or the leftover table.
    let table: String
    /// The column; nil for a whole table.
    let column: String?
    /// The name that the column or table had before.
    let former: String

    private static let prefix = "CST_LEFTOVER_"

    /// Whether a name is in the form that deferred migrations use for leftover columns and tables.
    static func isName(_ name: String) -> Bool {
        name.hasPrefix(prefix) && Int(name.dropFirst(prefix.count)) != nil
    }

    /// Returns names for leftover columns of one table, or for leftover tables.
    ///
    /// - Parameter present: The names in use.
    static func names(
        for former: [String], besides present: some Sequence<String>
    ) -> [(former: String, name: String)] {
        let taken = Set(present.map { $0.uppercased() })
        var number = 0
        return former.map { name in
            while taken.contains("\(prefix)\(number)") { number += 1 }
            defer { number += 1 }
            return (name, "\(prefix)\(number)")
        }
    }
}

/// The tasks of a deferred migration.
///
/// A task recreates one table without its leftover columns, or drops one leftover table. Each task runs in a
/// transaction of the caller. The table `CST_DEFERREDTASK` lists the leftovers, and a key of the metadata marks the
/// migration as unfinished (docs/reference/migration.md).
struct DeferredCleanup {
    static let table = "CST_DEFERREDTASK"

    let connection: Connection
    let place: StoreLocation
    /// The tables and columns of the store's model in the file.
    let schema: StoreSchema

    init(_ connection: Connection, _ place: StoreLocation, _ schema: StoreSchema) {
        (self.connection, self.place, self.schema) = (connection, place, schema)
    }

    private var purpose: String { "finish the migration of \(place.given)" }

    private func execute(_ text: String) throws { try connection.execute(text, purpose, cocoaCode: .migration) }

    // MARK: - The list

    /// Records the leftovers of a migration in the list.
    static func record(_ leftovers: [Leftover], in connection: Connection) throws {
        if leftovers.isEmpty { return }
        let purpose = "migrate \(connection.path)"
        try connection.execute(
            "CREATE TABLE \(table) (NUMBER INTEGER PRIMARY KEY, TABLE_NAME TEXT, COLUMN_NAME TEXT, FORMER_NAME TEXT)",
            purpose, cocoaCode: .migration)
        let entry = try connection.prepare(
            "INSERT INTO \(table) (TABLE_NAME, COLUMN_NAME, FORMER_NAME) VALUES (?, ?, ?)", purpose)
        for leftover in leftovers {
            entry.bind(copying: leftover.table, at: 1)
            if let column = leftover.column { entry.bind(copying: column, at: 2) } else { entry.bindNull(at: 2) }
            entry.bind(copying: leftover.former, at: 3)
            try entry.run(purpose)
        }
    }

    /// Returns the listed leftovers; empty if the file does not have the list.
    static func leftovers(in connection: Connection) throws -> [Leftover] {
        let purpose = "read the deferred tasks of \(connection.path)"
        guard try isPending(in: connection) else { return [] }
        let statement = try connection.prepare(
            "SELECT TABLE_NAME, COLUMN_NAME, FORMER_NAME FROM main.\(table) ORDER BY NUMBER", purpose)
        var leftovers: [Leftover] = []
        while try statement.step(purpose) {
            leftovers.append(
                Leftover(
                    table: statement.text(0) ?? "", column: statement.isNull(1) ? nil : statement.text(1),
                    former: statement.text(2) ?? ""))
        }
        return leftovers
    }

    static func isPending(in connection: Connection) throws -> Bool {
        try connection.finds(
            "SELECT 1 FROM main.sqlite_master WHERE type = 'table' AND name = '\(table)'",
            purpose: "read the deferred tasks of \(connection.path)")
    }

    /// Returns the number of remaining tasks.
    static func taskCount(in connection: Connection) throws -> Int {
        let leftovers = try leftovers(in: connection)
        return Set(leftovers.filter { $0.column != nil }.map(\.table)).count
            + leftovers.filter { $0.column == nil }.count
    }

    // MARK: - Tasks

    /// Runs all tasks.
    ///
    /// - Returns: The backing files to which no row refers any longer. The caller removes them after the commit.
    func runAll() throws -> Set<String> {
        var obsolete: Set<String> = []
        while let files = try run() { obsolete.formUnion(files) }
        return obsolete
    }

    /// Runs the next task, and removes the list after the last one.
    ///
    /// - Returns: The backing files to which no row refers any longer; nil if the file does not have the list.
    func run() throws -> Set<String>? {
        guard try DeferredCleanup.isPending(in: connection) else { return nil }
        let leftovers = try DeferredCleanup.leftovers(in: connection)
        var obsolete: Set<String> = []
        if let first = leftovers.first {
            let columns = first.column == nil ? [] : leftovers.filter { $0.table == first.table }.compactMap(\.column)
            // Tables and columns are kept if their listed names are not in the form that deferred migrations use.
            if ([first.table] + columns).contains(where: Leftover.isName) {
                obsolete = try removingFiles {
                    if columns.isEmpty {
                        try execute("DROP TABLE IF EXISTS main.\(first.table.asIdentifier)")
                    } else {
                        try rebuild(first.table, without: Set(columns.filter(Leftover.isName)))
                    }
                }
            }
            let entry = try connection.prepare(
                "DELETE FROM \(DeferredCleanup.table) WHERE TABLE_NAME IS ? AND (COLUMN_NAME IS NULL) = ?", purpose)
            entry.bind(copying: first.table, at: 1)
            entry.bind(first.column == nil ? 1 : 0, at: 2)
            try entry.run(purpose)
        }
        if try DeferredCleanup.leftovers(in: connection).isEmpty { try finish() }
        return obsolete
    }

    /// Drops the leftover tables and the list, after a route has recreated the tables of the model.
    ///
    /// - Returns: The backing files to which no row refers any longer.
    func forget() throws -> Set<String> {
        let leftovers = try DeferredCleanup.leftovers(in: connection)
        return try removingFiles {
            for leftover in leftovers where leftover.column == nil && Leftover.isName(leftover.table) {
                try execute("DROP TABLE IF EXISTS main.\(leftover.table.asIdentifier)")
            }
            try execute("DROP TABLE IF EXISTS main.\(DeferredCleanup.table)")
        }
    }

    private func finish() throws {
        try execute("DROP TABLE main.\(DeferredCleanup.table)")
        guard var metadata = try StoreContents(connection, place: place).document.metadata else { return }
        metadata.values[StoreMetadata.Key.deferredMigration] = nil
        try StoreMetadata.store(metadata, in: connection)
    }

    /// Runs `body`, and returns the backing files to which rows referred before but no longer refer.
    private func removingFiles(_ body: () throws -> Void) throws -> Set<String> {
        func names() throws -> Set<String> {
            guard ExternalFile.hasFiles(in: ExternalFile.folder(ofStore: place.path)) else { return [] }
            return try connection.namesOfExternalFiles(in: StoreContents(connection, place: place).tables.keys)
        }
        let before = try names()
        try body()
        return before.isEmpty ? [] : before.subtracting(try names())
    }

    // MARK: - Tables

    /// Recreates a table without some columns.
    ///
    /// The columns of the model have the order of a new store. Columns of other programs follow.
    private func rebuild(_ name: String, without gone: Set<String>) throws {
        let creation: String
        var columns: [String]
        var order = ""
        if let table = schema.tables.first(where: { $0.name == name }) {
            creation = table.creationStatement
            columns = ["Z_PK", "Z_ENT", "Z_OPT"] + table.columns.map(\.name)
            order = " ORDER BY Z_PK"
        } else if let join = schema.joins.first(where: { $0.name == name }) {
            creation = join.creationStatement
            columns = [join.namingColumn, join.otherColumn].flatMap { [$0.name] + [$0.orderName].compactMap { $0 } }
        } else {
            return
        }
        let present = try StoreContents(connection, place: place).tables[name] ?? [:]
        let known = Set(columns)
        let foreign = present.filter { !known.contains($0.key) && !gone.contains($0.key) }
            .sorted { byteOrder($0.key, $1.key) }
        columns += foreign.map(\.key.asIdentifier)
        let upkeep = SchemaUpkeep(schema: schema, connection: connection)
        let indexes = try upkeep.foreignIndexes()
        let triggers = try triggers(of: name)
        let temporary = TableMigration.temporaryName(0)
        let list = columns.joined(separator: ", ")
        let statements =
            ["ALTER TABLE main.\(name) RENAME TO \(temporary)", creation]
            + foreign.map { "ALTER TABLE \(name) ADD COLUMN \($0.key.asIdentifier) \($0.value)" }
            + ["INSERT INTO \(name) (\(list)) SELECT \(list) FROM \(temporary)\(order)", "DROP TABLE \(temporary)"]
        for statement in statements { try execute(statement) }
        try upkeep.makeIndexes()
        try upkeep.restore(indexes)
        // Runs only one statement, even if the text of the file contains several.
        for trigger in triggers { try connection.prepare(trigger, purpose).run(purpose) }
    }

    private func triggers(of table: String) throws -> [String] {
        let statement = try connection.prepare(
            "SELECT sql FROM main.sqlite_master WHERE type = 'trigger' AND tbl_name = ? ORDER BY rowid", purpose)
        statement.bind(copying: table, at: 1)
        var triggers: [String] = []
        while try statement.step(purpose) { if let text = statement.text(0) { triggers.append(text) } }
        return triggers
    }
}
