import CSQLite
import CorestoneModel
import CorestoneValues

/// What a store asks of everybody who writes to it: functions that its triggers call, modules of its virtual tables,
/// collations of its indexes; and the indexes and triggers by which the store itself keeps what its model says.
struct StorePromises {
    let connection: Connection

    /// Lost promises or foreign triggers that a refusal names; of more it gives the number.
    private static let named = 5

    /// Why the store can only be read, as the end of a sentence; nil when everything is there.
    func refusal(_ schema: StoreSchema) throws -> String? {
        if let reason = try unknownNeed() { return reason }
        if let reason = try misnumberedTable(schema) { return reason }
        if let reason = try named(ForeignTrigger.all(in: connection, schema).map(\.text)) { return reason }
        let lost = try LostPromises(schema, connection).all
        let remedy =
            lost.contains { !$0.statements.isEmpty } ? " (corestone check prints the statements that recreate it)" : ""
        return named(lost.map { "it \($0.text)" }).map { $0 + remedy }
    }

    private func named(_ reasons: [String]) -> String? {
        if reasons.isEmpty { return nil }
        let more = reasons.count - StorePromises.named
        return reasons.prefix(StorePromises.named).joined(separator: ", and ") + (more > 0 ? ", and \(more) more" : "")
    }

    /// A table whose first and last rows are both of an entity of another table, by the numbers that `Z_PRIMARYKEY` gives:
    /// then the numbers are wrong, not a row. Numbers swapped within one table go unnoticed here.
    private func misnumberedTable(_ schema: StoreSchema) throws -> String? {
        let purpose = "compare the entity numbers of \(connection.path) with its rows"
        for table in schema.tables {
            let statement = try connection.prepare(
                "SELECT Z_ENT FROM \(table.name) WHERE Z_PK IN "
                    + "((SELECT min(Z_PK) FROM \(table.name)), (SELECT max(Z_PK) FROM \(table.name)))", purpose)
            var entity: Entity?
            var isMisnumbered = false
            while try statement.step(purpose) {
                entity = schema.entity(number: statement.integer(0))
                isMisnumbered = entity.map { $0.rootIndex != table.root.rootIndex } ?? false
                if !isMisnumbered { break }
            }
            if isMisnumbered, let entity {
                return
                    "its table Z_PRIMARYKEY contradicts its rows: the rows of \(table.name) have the number of the "
                    + "entity \(entity.name) (corestone check lists them)"
            }
        }
        return nil
    }

    /// What a trigger, an index or a table needs and this library lacks; nil when there is nothing. Generated columns, constraints
    /// and conditions of functions that SQLite has are no reason.
    ///
    /// SQLite is asked itself: statements that change the tables in question are compiled, never run.
    func unknownNeed() throws -> String? {
        let purpose = "examine the triggers of \(connection.path)"
        let statement = try connection.statement(
            "SELECT DISTINCT tbl_name FROM sqlite_master WHERE type = 'trigger' "
                + "OR type = 'index' AND (sql LIKE '%COLLATE NS%' OR sql LIKE '%(%(%') "
                + "OR type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%' AND (sql LIKE '%CHECK%(%' OR sql LIKE '%AS%(%(%' "
                + "OR sql LIKE '%DEFAULT%(%')", purpose)
        var tables: [String] = []
        while try statement.step(purpose) { if let name = statement.text(0) { tables.append(name) } }
        statement.reset()
        connection.forbidRecursion(true)
        defer { connection.forbidRecursion(false) }
        for table in tables {
            for text in try changes(of: table, purpose) {
                if let reason = obstacle(to: text) {
                    return
                        "a trigger, an index or an expression of its table \(table) is not supported (\(reason))"
                }
            }
        }
        return nil
    }

    /// One statement of each kind that fires every trigger of the table.
    private func changes(of table: String, _ purpose: String) throws -> [String] {
        let columns = try connection.columnNames(of: table, purpose).map(\.asIdentifier)
        let settings = columns.map { "\($0) = \($0)" }
        let name = table.asIdentifier
        return [
            "INSERT INTO \(name) DEFAULT VALUES", "UPDATE \(name) SET \(settings.joined(separator: ", "))",
            "DELETE FROM \(name)",
        ]
    }

    /// SQLite's words for what a statement lacks; nil when it compiles.
    private func obstacle(to text: String) -> String? {
        var handle: OpaquePointer?
        defer { sqlite3_finalize(handle) }
        let code = sqlite3_prepare_v2(connection.db, text, -1, &handle, nil)
        if code & 0xff == SQLITE_AUTH { return "a recursive query" }
        guard code & 0xff == SQLITE_ERROR else { return nil }
        let words = sqlite3_errmsg(connection.db).map { String(cString: $0) }
        if !connection.trustsSchema, words?.hasPrefix("unsafe use of virtual table") == true {
            connection.trustSchema()
            return obstacle(to: text)
        }
        return words
    }
}

extension Connection {
    /// Whether statements with recursive queries compile. No request of this library has one.
    fileprivate func forbidRecursion(_ isForbidden: Bool) {
        guard isForbidden else {
            sqlite3_set_authorizer(db, nil, nil)
            return
        }
        sqlite3_set_authorizer(
            db, { _, action, _, _, _, _ in action == SQLITE_RECURSIVE ? SQLITE_DENY : SQLITE_OK }, nil)
    }
}
