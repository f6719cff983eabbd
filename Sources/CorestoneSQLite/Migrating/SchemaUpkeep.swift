import CSQLite
import CorestoneModel
import CorestoneValues

/// The update of a store's indexes, triggers and R-trees to those that its model requires.
///
/// Only one index is kept for each list of columns; indexes of earlier migrations with other names are dropped
/// (docs/DEVIATIONS.md).
struct SchemaUpkeep {
    let schema: StoreSchema
    let connection: Connection

    private var purpose: String { "migrate \(connection.path)" }

    /// Drops the triggers and R-trees of the former model, so that changes of the tables do not fire triggers.
    func dropTriggers() throws {
        for name in try names("trigger", "name LIKE 'Z\\_DA\\_%' ESCAPE '\\' OR name LIKE 'Z\\_RT\\_%' ESCAPE '\\'") {
            try execute("DROP TRIGGER \(name.asIdentifier)")
        }
        for index in schema.spatialIndexes where try !names("table", "name = '\(index.name)'").isEmpty {
            try execute("DROP TABLE \(index.name)")
        }
    }

    private func names(_ type: String, _ condition: String) throws -> [String] {
        let statement = try connection.prepare(
            "SELECT name FROM sqlite_master WHERE type = '\(type)' AND (\(condition))", purpose)
        var names: [String] = []
        while try statement.step(purpose) { if let name = statement.text(0) { names.append(name) } }
        return names
    }

    private func execute(_ text: String) throws { try connection.execute(text, purpose, cocoaCode: .migration) }

    // MARK: - Indexes

    private var indexes: [StoreIndex] {
        schema.tables.flatMap { table in
            table.propertyIndexes + schema.joins.filter { $0.host === table }.map(\.index) + table.modelIndexes
        }
    }

    /// An index of the file.
    private struct FileIndex {
        let name: String
        let table: String
        let statement: String
        /// The statement without quotes, which SQLite adds when it renames a table or column.
        var text: String { statement.filter { $0 != "\"" } }
    }

    /// An index that another program added.
    struct ForeignIndex {
        let name: String
        let statement: String
    }

    private func fileIndexes() throws -> [FileIndex] {
        let statement = try connection.prepare(
            "SELECT name, tbl_name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL", purpose)
        var found: [FileIndex] = []
        while try statement.step(purpose) {
            guard let name = statement.text(0), let table = statement.text(1), let text = statement.text(2) else {
                continue
            }
            found.append(FileIndex(name: name, table: table, statement: text))
        }
        return found
    }

    /// Drops indexes that are no longer needed.
    ///
    /// These are indexes that only the former model requires, and indexes that repeat the columns of a required index
    /// under another name. An index that differs from the required index of the same name is dropped too.
    func dropIndexes(of former: SchemaUpkeep) throws {
        let wanted = Dictionary(indexes.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        let lists = Set(indexes.map { SchemaUpkeep.list($0.creationStatement) })
        let past = Set(former.indexes.map(\.name))
        let reversed = try reversedLists()
        for index in try fileIndexes() where !reversed.contains(SchemaUpkeep.list(index.text)) {
            if let same = wanted[index.name] {
                if same.creationStatement.filter({ $0 != "\"" }) == index.text { continue }
            } else if !past.contains(index.name), !lists.contains(SchemaUpkeep.list(index.text)) {
                continue
            }
            try execute("DROP INDEX \(index.name.asIdentifier)")
        }
    }

    /// Returns the tables and columns of join-table indexes that must be kept.
    ///
    /// The primary key of a join table begins with the column of the side that named the table at its creation. If the
    /// other side names it now, the required index repeats the primary key, so the existing index of the other column
    /// is kept.
    private func reversedLists() throws -> Set<String> {
        var lists: Set<String> = []
        for join in schema.joins {
            let columns = join.index.columns
            guard columns.count == 2 else { continue }
            let statement = try connection.prepare("SELECT name FROM pragma_table_info(?) WHERE pk = 1", purpose)
            statement.bind(copying: join.name, at: 1)
            guard try statement.step(purpose), statement.text(0) == columns[0] else { continue }
            lists.insert(" ON \(join.name) (\(columns[1]), \(columns[0]))")
        }
        return lists
    }

    /// Returns the table and columns of an index, without its name.
    private static func list(_ statement: String) -> String {
        let text = statement.filter { $0 != "\"" }
        guard let place = position(of: " ON ", in: text) else { return text }
        return String(decoding: Array(text.utf8).dropFirst(place), as: UTF8.self)
    }

    /// Creates the missing indexes.
    ///
    /// - Parameter check: Called before each index is created.
    func makeIndexes(_ check: (StoreIndex) throws -> Void = { _ in }) throws {
        let present = Set(try fileIndexes().map(\.name))
        for index in indexes where !present.contains(index.name) {
            try check(index)
            try execute(index.creationStatement)
        }
    }

    // MARK: - Indexes of other programs

    /// Returns the indexes that another program added.
    ///
    /// Names of indexes of models, and of stale indexes of earlier migrations, begin with Z.
    func foreignIndexes() throws -> [ForeignIndex] {
        let tables = Set(schema.tables.map(\.name) + schema.joins.map(\.name))
        return try fileIndexes().filter { index in
            !index.name.hasPrefix("Z") && tables.contains(index.table)
                && ["CREATE INDEX ", "CREATE UNIQUE INDEX "].contains(where: index.statement.hasPrefix)
        }.map { ForeignIndex(name: $0.name, statement: $0.statement) }
    }

    /// Recreates the indexes that were dropped with their tables. Logs a warning for each index for which that fails.
    func restore(_ foreign: [ForeignIndex]) throws {
        let present = Set(try fileIndexes().map(\.name))
        for index in foreign where !present.contains(index.name) {
            do {
                // Runs only one statement, even if the text of the file contains several.
                try connection.prepare(index.statement, purpose).run(purpose)
            } catch let error as CoreError where [SQLITE_ERROR, SQLITE_CONSTRAINT].contains(error.sqliteCode & 0xff) {
                let cause =
                    error.sqliteCode & 0xff == SQLITE_CONSTRAINT
                    ? "rows have equal values; change the values, and create the index again"
                    : "its table or a column no longer exists; create an index on the new columns"
                DebugLog.write(
                    "CoreData: warning: the index \"\(index.name)\" of \(connection.path) was dropped by the "
                        + "migration, because \(cause)"
                )
            }
        }
    }

    // MARK: - Triggers

    /// Creates triggers and R-trees, and computes the derived attributes for which `isComputed` returns true.
    func makeTriggers(computing isComputed: (Attribute) -> Bool) throws {
        for derived in schema.derivedAttributes {
            if isComputed(derived.attribute), let statement = derived.fillingStatement { try execute(statement) }
        }
        for derived in schema.derivedAttributes {
            for statement in derived.triggerStatements { try execute(statement) }
        }
        for index in schema.spatialIndexes {
            for statement in [index.creationStatement, index.fillingStatement] + index.triggerStatements {
                try execute(statement)
            }
        }
    }
}
