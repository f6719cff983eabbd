import CorestoneModel
import CorestoneValues

/// Indexes of other programs on tables that a migration makes again. SQLite drops them with the former table. (A store with triggers
/// of other programs cannot be written.)
struct ForeignIndexes {
    private let statements: [(name: String, text: String)]
    private let connection: Connection

    /// Reads them before anything is changed.
    init(_ connection: Connection, _ plan: MigrationPlan) throws {
        self.connection = connection
        let rebuilt = plan.tables.filter(\.isRebuilt).compactMap { $0.formerTable?.name }
        let own = Set(SchemaUpkeep(schema: plan.former, connection: connection).indexNames)
        var statements: [(name: String, text: String)] = []
        for table in rebuilt {
            let statement = try connection.prepare(
                "SELECT name, sql FROM sqlite_master WHERE tbl_name = ? AND type = 'index' AND sql IS NOT NULL "
                    + "ORDER BY rowid", "migrate \(connection.path)")
            statement.bind(copying: table, at: 1)
            while try statement.step("migrate \(connection.path)") {
                guard let name = statement.text(0), let text = statement.text(1), !own.contains(name) else {
                    continue
                }
                statements.append((name, text))
            }
        }
        self.statements = statements
    }

    /// Makes them again on the new tables. One that no longer fits, since its table or a column has gone, is left out with a warning.
    func restore() throws {
        for (name, text) in statements {
            do {
                try connection.execute(text, "migrate \(connection.path)", cocoaCode: .migration)
            } catch let error as CoreError where error.sqliteCode == 1 {
                DebugLog.write(
                    "CoreData: warning: migration of \(connection.path): \(name), which another program created, does not fit the "
                        + "new tables and was dropped: \(error.message)")
            }
        }
    }
}
