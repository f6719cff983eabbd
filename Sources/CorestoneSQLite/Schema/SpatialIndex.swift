import CSQLite
import CorestoneModel
import CorestoneSQL
import CorestoneValues

/// An R-tree over columns of a table.
///
/// It is a virtual table with one row for each row of that table, and triggers keep it up to date.
struct SpatialIndex {
    let name: String
    let table: String
    let columns: [String]
    /// The name of the index in the model.
    let indexName: String
    /// The entity of the index; `keys` are the indexed properties.
    let entity: Entity
    let keys: [String]

    /// Creates the R-tree of an index; nil if the index is not an R-tree over one to five columns.
    init?(_ index: FetchIndex, of entity: Entity, in table: TableSchema) {
        // The names of the triggers contain the name of the index.
        guard index.isRTree, isIdentifier(index.name) else { return nil }
        let columns = index.elements.compactMap { element in
            element.expression == nil
                ? entity.property(named: element.property).flatMap { table.column(of: $0)?.name } : nil
        }
        // SQLite's R-trees have one to five dimensions.
        guard columns.count == index.elements.count, (1...5).contains(columns.count) else { return nil }
        name = "Z_RT_\(entity.name)_\(index.name)"
        indexName = index.name
        self.table = table.name
        self.columns = columns
        self.entity = entity
        keys = index.elements.map(\.property)
    }

    var creationStatement: String {
        let bounds = columns.map { ", \($0)_MIN FLOAT, \($0)_MAX FLOAT" }.joined()
        return "CREATE VIRTUAL TABLE \(name) USING RTREE (Z_PK INTEGER PRIMARY KEY\(bounds))"
    }

    /// The mapping for the predicate compiler.
    ///
    /// It contains only the bounds of numbers and dates, because SQLite stores zero as the bounds of other values.
    var mapping: SpatialMapping {
        let bounds = zip(keys, columns).compactMap { key, column in
            entity.property(named: key)?.isSpatial == true
                ? (key, (least: "\(column)_MIN", greatest: "\(column)_MAX")) : nil
        }
        return SpatialMapping(
            name: indexName, table: name, bounds: Dictionary(bounds) { first, _ in first })
    }

    /// The statement that inserts the existing rows of the table.
    var fillingStatement: String {
        let values = columns.map { ", \($0), \($0)" }.joined()
        return "INSERT INTO \(name) SELECT Z_PK\(values) FROM \(table)"
    }

    /// The statements that rebuild the rows of the tree.
    var refillingStatements: [String] { ["DELETE FROM \(name)", fillingStatement] }

    /// Whether SQLite can read the tree: its module exists, and its shadow tables contain the root.
    func isReadable(_ connection: Connection) throws -> Bool {
        do {
            let purpose = "read the R-tree \(name)"
            let statement = try connection.prepare("SELECT Z_PK FROM \(name) LIMIT 1", purpose)
            _ = try statement.step(purpose)
            return true
        } catch let error as CoreError where error.isOfUnusableTable { return false }
    }

    /// The condition for rows of the table (`t`) whose values are outside their bounds in the tree (`r`). SQLite rounds
    /// bounds to 32 bits, but incorrectly for values near zero or beyond the largest number.
    var staleCondition: String {
        let smallest = Double(Float.leastNormalMagnitude), largest = Double(Float.greatestFiniteMagnitude)
        return columns.map { column in
            let value = "CAST(ifnull(t.\(column), 0) AS REAL)"
            let isTiny = "WHEN abs(\(value)) < \(smallest) THEN"
            let least = "CASE \(isTiny) \(smallest) WHEN \(value) > \(largest) THEN 9e999 ELSE \(value) END"
            let most = "CASE \(isTiny) -\(smallest) WHEN \(value) < -\(largest) THEN -9e999 ELSE \(value) END"
            return "r.\(column)_MIN > \(least) OR r.\(column)_MAX < \(most)"
        }.joined(separator: " OR ")
    }

    /// Returns the names of the triggers that update an R-tree, including one that an application created.
    static func triggerNames(ofTable name: String) -> [String] {
        ["INSERT", "UPDATE", "DELETE"].map { "\(name)_\($0)" }
    }

    /// The triggers with the exact text, including spaces, that Apple's framework writes.
    var triggerStatements: [String] {
        let bounds = columns.map { ", \($0)_MIN, \($0)_MAX" }.joined()
        let values = columns.enumerated().map { place, column in
            place == 0 ? ", NEW.\(column) ,NEW.\(column)" : ", NEW.\(column), NEW.\(column)"
        }.joined()
        let insertion = "INTO \(name) (Z_PK\(bounds)) VALUES (NEW.Z_PK\(values)) ; END"
        return [
            "CREATE TRIGGER \(name)_INSERT AFTER INSERT ON \(table) FOR EACH ROW BEGIN INSERT OR REPLACE \(insertion)",
            "CREATE TRIGGER \(name)_UPDATE AFTER UPDATE ON \(table) FOR EACH ROW BEGIN "
                + "DELETE FROM \(name) WHERE Z_PK = NEW.Z_PK ; INSERT \(insertion)",
            "CREATE TRIGGER \(name)_DELETE AFTER DELETE ON \(table) FOR EACH ROW BEGIN "
                + "DELETE FROM \(name) WHERE Z_PK = OLD.Z_PK ; END",
        ]
    }
}

extension CoreError {
    /// Whether SQLite cannot use a table, because its module is missing or the table is damaged.
    var isOfUnusableTable: Bool { [SQLITE_ERROR, SQLITE_CORRUPT].contains(sqliteCode & 0xff) }
}
