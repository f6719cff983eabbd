import CSQLite
import CorestoneModel
import CorestoneValues

/// The requirements of a store for its writers.
///
/// These are the functions of its triggers, the modules of its virtual tables and the collations of its indexes. They
/// also include the indexes and triggers by which the file enforces its model.
struct WriteRequirements {
    let connection: Connection

    /// Returns why the store is read-only, as a clause for a message; nil if all requirements are met.
    ///
    /// The clause describes the first foreign trigger or defect, and counts the others.
    func refusal(_ schema: StoreSchema) throws -> String? {
        if let reason = try unknownNeed() { return reason }
        if let reason = try misnumberedTable(schema) { return reason }
        let triggers = try ForeignTrigger.all(in: connection, schema)
        if let first = triggers.first {
            return triggers.count == 1
                ? "\(first.text); remove the trigger with \(first.remedy)"
                : "\(first.text); remove this trigger and \(triggers.count - 1) more that corestone check lists"
        }
        let lost = try SchemaDrift(schema, connection).all
        guard let first = lost.first else { return nil }
        if !lost.contains(where: { !$0.statements.isEmpty }) {
            return "it \(first.text)" + (lost.count > 1 ? " (1 of \(lost.count) defects)" : "")
        }
        let object = lost.count > 1 ? "this defect and \(lost.count - 1) more" : "the schema"
        return "it \(first.text); correct \(object) with the statements that corestone check prints"
    }

    /// Returns a clause about a table whose first and last rows have the number of an entity of another table, or nil.
    ///
    /// In such a file `Z_PRIMARYKEY` is wrong, not the rows. Numbers that are swapped within one table are not detected
    /// here.
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
                    "its table Z_PRIMARYKEY contradicts the rows of \(table.name), which have the number of the entity "
                    + "\(entity.name); restore the store from a backup"
            }
        }
        return nil
    }

    /// Returns a requirement of a trigger, an index or a table that this library does not meet; nil if all are met.
    ///
    /// Generated columns, constraints and conditions with SQLite's own functions are supported. For the test, SQLite
    /// compiles statements that change these tables, but does not run them.
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

    /// Returns an insertion, an update and a deletion, which together would fire every trigger of the table.
    private func changes(of table: String, _ purpose: String) throws -> [String] {
        let columns = try connection.columnNames(of: table, purpose).map(\.asIdentifier)
        let settings = columns.map { "\($0) = \($0)" }
        let name = table.asIdentifier
        return [
            "INSERT INTO \(name) DEFAULT VALUES", "UPDATE \(name) SET \(settings.joined(separator: ", "))",
            "DELETE FROM \(name)",
        ]
    }

    /// Returns why a statement cannot be compiled; nil if it can, or if the reason is not in the schema.
    ///
    /// Allows triggers to use virtual tables if the statement fires a trigger that uses one.
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
    /// Sets whether recursive queries fail to compile. No request of this library contains a recursive query.
    fileprivate func forbidRecursion(_ isForbidden: Bool) {
        guard isForbidden else {
            sqlite3_set_authorizer(db, nil, nil)
            return
        }
        sqlite3_set_authorizer(
            db, { _, action, _, _, _, _ in action == SQLITE_RECURSIVE ? SQLITE_DENY : SQLITE_OK }, nil)
    }
}
