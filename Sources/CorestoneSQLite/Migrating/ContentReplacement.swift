import CorestoneGraph
import CorestoneModel
import CorestoneValues

/// The replacement of a store's tables by those of an attached store. Additions of other programs to the file are kept.
struct ContentReplacement {
    let connection: Connection
    let start: StoreMigration.Start
    let converted: ConvertedStore
    /// Whether the history is replaced, too.
    let isComplete: Bool

    private var former: StoreSchema { start.former }
    private var purpose: String { "migrate \(connection.path)" }
    private static let source = ConvertedStore.alias

    /// The maximum number of steps that `run` reports, plus one step of the caller.
    var stepCount: Int { tables.count + converted.items.filter { $0.type == "index" }.count + 3 }

    func run(_ progress: MigrationProgress) throws {
        let upkeep = SchemaUpkeep(schema: former, connection: connection)
        let foreignIndexes = try upkeep.foreignIndexes()
        let foreignTriggers = try foreignTriggers()
        try upkeep.dropTriggers()
        try dropTables()
        try progress.step()
        let moved = try createTables(progress)
        for item in converted.items where item.type == "index" && moved.contains(item.table) {
            try create(item)
            try progress.step()
        }
        try fillSpatialIndexes()
        for item in converted.items where item.type == "trigger" && moved.contains(item.table) { try create(item) }
        try writeNumbers()
        try upkeep.restore(foreignIndexes)
        try restore(foreignTriggers)
        try progress.step()
    }

    private func execute(_ text: String) throws { try connection.execute(text, purpose, cocoaCode: .migration) }

    /// Runs only one statement, even if the text of the file contains several.
    private func create(_ item: ConvertedStore.Item) throws {
        try connection.prepare(item.statement, purpose).run(purpose)
    }

    // MARK: - Tables

    private func dropTables() throws {
        for name in former.tables.map(\.name) + former.joins.map(\.name) {
            try execute("DROP TABLE main.\(name.asIdentifier)")
        }
        guard isComplete else { return }
        for table in HistorySchema.Table.allCases { try execute("DROP TABLE IF EXISTS main.\(table.rawValue)") }
    }

    /// The tables of the attached store that replace the former ones, and tables of other programs that a route copied.
    private var tables: [ConvertedStore.Item] {
        let shadows = Set(
            converted.items.filter(\.isVirtual).flatMap { item in
                ["node", "rowid", "parent"].map { "\(item.name)_\($0)" }
            })
        return converted.items.filter { item in
            item.type == "table" && !item.isVirtual && !item.isInternal && !item.isOfSystem
                && (isComplete || !item.isOfHistory) && !shadows.contains(item.name)
        }
    }

    /// Creates and fills the tables, and returns their names.
    private func createTables(_ progress: MigrationProgress) throws -> Set<String> {
        let present = try Set(names("table").map { $0.uppercased() })
        let own = Set(converted.schema.tables.map(\.name) + converted.schema.joins.map(\.name))
        var moved: Set<String> = []
        for item in tables {
            // An existing table of another program is not replaced.
            if present.contains(item.name.uppercased()) {
                if own.contains(item.name) { throw occupied(item.name) }
            } else {
                try create(item)
                let name = item.name.asIdentifier
                // Without triggers and indexes, SQLite copies the rows without decoding them.
                try execute("INSERT INTO main.\(name) SELECT * FROM \(ContentReplacement.source).\(name)")
                try requireRows(item.name)
                moved.insert(item.name)
            }
            try progress.step()
        }
        return moved
    }

    private func occupied(_ table: String) -> CoreError {
        CoreError(
            .migration, code: .migration,
            "cannot migrate \(connection.path): the new model needs the table \(table), but the store has a table of that name "
                + "from another program; rename that table", entity: entity(of: table), value: .string(table),
            file: connection.path)
    }

    private func requireRows(_ table: String) throws {
        let counts = try [ContentReplacement.source, "main"].map {
            try connection.integer("SELECT count(*) FROM \($0).\(table.asIdentifier)", purpose)
        }
        guard counts[0] != counts[1] else { return }
        throw CoreError(
            .storeIO, code: .migration,
            "cannot migrate \(connection.path): the new table \(table) has \(counts[1]) of \(counts[0]) "
                + "row\(counts[0] == 1 ? "" : "s"); check the disk, and "
                + "migrate the store again", entity: entity(of: table), value: .int(Int64(counts[1])),
            file: connection.path)
    }

    /// Returns the root entity of a table, for an error.
    private func entity(of table: String) -> String? {
        converted.schema.tables.first { $0.name == table }?.root.name
    }

    private func names(_ type: String) throws -> [String] {
        let statement = try connection.prepare("SELECT name FROM main.sqlite_master WHERE type = '\(type)'", purpose)
        var names: [String] = []
        while try statement.step(purpose) { if let name = statement.text(0) { names.append(name) } }
        return names
    }

    /// Creates and fills the R-trees. They are virtual tables that the triggers of the next step keep up to date.
    private func fillSpatialIndexes() throws {
        let wanted = Set(converted.schema.spatialIndexes.map(\.name))
        for item in converted.items where item.isVirtual && wanted.contains(item.name) {
            try create(item)
            try execute("INSERT INTO main.\(item.name) SELECT * FROM \(ContentReplacement.source).\(item.name)")
        }
    }

    // MARK: - Entities

    /// Writes the rows of the new model's entities to `Z_PRIMARYKEY`. Rows of other programs are kept.
    private func writeNumbers() throws {
        let history = HistorySchema.Table.allCases.map(\.number)
        var ours = start.contents.entities.map(\.number).filter { former.entityIndex(number: $0) != nil }
        if isComplete { ours += history }
        let columns = "Z_ENT, Z_NAME, Z_SUPER, Z_MAX"
        let condition = isComplete ? "" : " WHERE Z_ENT NOT IN (\(history.joinedText))"
        try execute("DELETE FROM main.Z_PRIMARYKEY WHERE Z_ENT IN (\(ours.joinedText))")
        try execute(
            "INSERT OR REPLACE INTO main.Z_PRIMARYKEY (\(columns)) SELECT \(columns) "
                + "FROM \(ContentReplacement.source).Z_PRIMARYKEY\(condition) ORDER BY Z_ENT")
    }

    // MARK: - Triggers of other programs

    /// Returns the triggers on the store's tables that the model does not require.
    ///
    /// These triggers report the rows that they change, because a store with other foreign triggers is read-only.
    private func foreignTriggers() throws -> [(name: String, statement: String)] {
        let tables = Set((former.tables.map(\.name) + former.joins.map(\.name)).map { $0.uppercased() })
        let statement = try connection.prepare(
            "SELECT name, tbl_name, sql FROM main.sqlite_master WHERE type = 'trigger' "
                + "AND name NOT LIKE 'Z\\_DA\\_%' ESCAPE '\\' AND name NOT LIKE 'Z\\_RT\\_%' ESCAPE '\\'", purpose)
        var found: [(name: String, statement: String)] = []
        while try statement.step(purpose) {
            guard let name = statement.text(0), let table = statement.text(1), let text = statement.text(2),
                tables.contains(table.uppercased())
            else { continue }
            found.append((name, text))
        }
        return found
    }

    /// Recreates the triggers. Logs a warning for each trigger whose table or columns no longer exist.
    private func restore(_ triggers: [(name: String, statement: String)]) throws {
        let present = try Set(names("trigger"))
        for trigger in triggers where !present.contains(trigger.name) {
            do { try connection.prepare(trigger.statement, purpose).run(purpose) } catch let error as CoreError
                where error.isOfUnusableTable
            {
                DebugLog.write(
                    "CoreData: warning: the trigger \"\(trigger.name)\" of \(connection.path) was dropped by the "
                        + "migration, because its table no longer exists; create a trigger on the new table"
                )
            }
        }
    }
}
