import CSQLite
import CorestoneModel
import CorestoneValues
import Glibc

/// The primary keys of the objects that a migration created, and of their source objects, in a separate database.
///
/// A migration in batches uses the table to resolve relationships, so that the memory of the migration does not grow
/// with the store. Entities are represented by their indexes in the two models.
package final class AssociationTable {
    package struct Row {
        package let mapping: Int
        package let sourceEntity: Int
        package let sourceKey: Int64
        package let entity: Int
        package let key: Int64

        package init(mapping: Int, sourceEntity: Int, sourceKey: Int64, entity: Int, key: Int64) {
            (self.mapping, self.sourceEntity, self.sourceKey) = (mapping, sourceEntity, sourceKey)
            (self.entity, self.key) = (entity, key)
        }
    }

    private let purpose: String
    private static let columns = "MAPPING, SOURCE_ENTITY, SOURCE_KEY, ENTITY, KEY"
    private let connection: Connection
    private let insertion: Statement
    private let bySource: Statement
    /// The statement that looks up sources. It is created with its index at its first use, because only migration
    /// policies need it.
    private var byKey: Statement?
    private let byMapping: Statement

    /// Creates the table in a new database.
    ///
    /// - Parameter path: A path in a private folder of the migration. The caller removes the file.
    package init(at path: String) throws {
        connection = try Connection(path, path: path, flags: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE)
        connection.isTemporary = true
        let (purpose, columns) = ("record migrated objects in \(path)", AssociationTable.columns)
        self.purpose = purpose
        // The file is temporary, so it need not survive a crash. No other process opens it.
        try connection.execute(
            "PRAGMA locking_mode=EXCLUSIVE;PRAGMA journal_mode=OFF;PRAGMA synchronous=OFF;PRAGMA cache_size=-4096;"
                + "CREATE TABLE T (NUMBER INTEGER PRIMARY KEY, MAPPING INTEGER, SOURCE_ENTITY INTEGER, SOURCE_KEY INTEGER, "
                + "ENTITY INTEGER, KEY INTEGER);"
                + "CREATE INDEX BY_SOURCE ON T (SOURCE_KEY, MAPPING)", purpose)
        insertion = try connection.prepare("INSERT INTO T (\(columns)) VALUES (?, ?, ?, ?, ?)", purpose)
        let select = "SELECT NUMBER, \(columns) FROM T WHERE"
        bySource = try connection.prepare("\(select) SOURCE_KEY = ? AND MAPPING = ? ORDER BY NUMBER", purpose)
        byMapping = try connection.prepare(
            "\(select) NUMBER > ? AND MAPPING = ? ORDER BY NUMBER LIMIT ?", purpose)
    }

    package func close() { connection.close() }

    package func add(_ rows: [Row]) throws {
        try connection.execute("BEGIN", purpose)
        for row in rows {
            insertion.bind(row.mapping, at: 1)
            insertion.bind(row.sourceEntity, at: 2)
            insertion.bind(row.sourceKey, at: 3)
            insertion.bind(row.entity, at: 4)
            insertion.bind(row.key, at: 5)
            try insertion.run(purpose)
        }
        try connection.execute("COMMIT", purpose)
    }

    /// Returns the rows of a source object.
    package func destinations(ofKey key: Int64, mapping: Int) throws -> [Row] { try rows(with: bySource, key, mapping) }

    /// Returns the rows of a destination object. Objects of several entity trees may have the same key.
    package func sources(ofKey key: Int64, mapping: Int) throws -> [Row] {
        if byKey == nil {
            let columns = AssociationTable.columns
            try connection.execute("CREATE INDEX BY_KEY ON T (KEY, MAPPING)", purpose)
            byKey = try connection.prepare(
                "SELECT NUMBER, \(columns) FROM T WHERE KEY = ? AND MAPPING = ? ORDER BY NUMBER", purpose)
        }
        return try byKey.map { try rows(with: $0, key, mapping) } ?? []
    }

    /// Returns the next rows of a mapping in the order of creation.
    package func rows(of mapping: Int, after number: Int64, limit: Int) throws -> [(number: Int64, row: Row)] {
        byMapping.bind(number, at: 1)
        byMapping.bind(mapping, at: 2)
        byMapping.bind(limit, at: 3)
        defer { byMapping.reset() }
        var rows: [(Int64, Row)] = []
        while try byMapping.step(purpose) {
            rows.append((byMapping.integer(0), AssociationTable.row(byMapping)))
        }
        return rows
    }

    private func rows(with statement: Statement, _ key: Int64, _ mapping: Int) throws -> [Row] {
        statement.bind(key, at: 1)
        statement.bind(mapping, at: 2)
        defer { statement.reset() }
        var rows: [Row] = []
        while try statement.step(purpose) { rows.append(AssociationTable.row(statement)) }
        return rows
    }

    private static func row(_ statement: Statement) -> Row {
        Row(
            mapping: Int(statement.integer(1)), sourceEntity: Int(statement.integer(2)),
            sourceKey: statement.integer(3), entity: Int(statement.integer(4)), key: statement.integer(5))
    }

    /// Writes the associations, with entity names, into the result of a `ConversionRoute`, and closes this table.
    ///
    /// - Parameter path: The path of the destination store, which must be closed.
    package func finish(intoStoreAt path: String, source: Model, destination: Model) throws {
        func names(_ table: String, _ model: Model) throws {
            try connection.execute("CREATE TEMP TABLE \(table) (NUMBER INTEGER PRIMARY KEY, NAME TEXT)", purpose)
            let entry = try connection.prepare("INSERT INTO \(table) VALUES (?, ?)", purpose)
            for entity in model.entities {
                entry.bind(Int(entity.index), at: 1)
                entry.bind(copying: entity.name, at: 2)
                try entry.run(purpose)
            }
        }
        try names("SOURCES", source)
        try names("DESTINATIONS", destination)
        let attach = try connection.prepare("ATTACH ? AS result", purpose)
        attach.bind(copying: path, at: 1)
        try attach.run(purpose)
        try connection.execute(
            "CREATE TABLE result.CST_ASSOCIATION (SOURCE_ENTITY TEXT, SOURCE_KEY INTEGER, ENTITY TEXT, KEY INTEGER);"
                + "INSERT INTO result.CST_ASSOCIATION SELECT s.NAME, SOURCE_KEY, d.NAME, KEY FROM T "
                + "JOIN SOURCES s ON s.NUMBER = SOURCE_ENTITY JOIN DESTINATIONS d ON d.NUMBER = ENTITY ORDER BY T.NUMBER",
            purpose)
        close()
    }
}
