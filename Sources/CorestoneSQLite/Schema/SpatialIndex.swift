import CSQLite
import CorestoneModel
import CorestoneSQL
import CorestoneValues

/// An R-tree over columns of a table: a virtual table with a row for each of that table's, kept up to date by triggers.
struct SpatialIndex {
    let name: String
    let table: String
    let columns: [String]
    /// The name of the index in the model.
    let indexName: String
    /// Whose index it is, and of which properties.
    let entity: Entity
    let keys: [String]

    /// nil when the index is no R-tree, or names what has no column.
    init?(_ index: FetchIndex, of entity: Entity, in table: TableSchema) {
        // Its triggers have the index's name in theirs.
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

    /// What the compiler of predicates knows of it: bounds of numbers. Those of text are all zero.
    var mapping: SpatialMapping {
        let bounds = zip(keys, columns).compactMap { key, column in
            entity.property(named: key)?.isSpatial == true
                ? (key, (least: "\(column)_MIN", greatest: "\(column)_MAX")) : nil
        }
        return SpatialMapping(
            name: indexName, table: name, bounds: Dictionary(bounds) { first, _ in first })
    }

    /// Takes in the rows that the table has already.
    var fillingStatement: String {
        let values = columns.map { ", \($0), \($0)" }.joined()
        return "INSERT INTO \(name) SELECT Z_PK\(values) FROM \(table)"
    }

    /// What makes its rows again, whatever it has.
    var refillingStatements: [String] { ["DELETE FROM \(name)", fillingStatement] }

    /// Whether SQLite can read it: it has the module, and the tables behind the tree have its root.
    func isReadable(_ connection: Connection) throws -> Bool {
        do {
            let purpose = "read the R-tree \(name)"
            let statement = try connection.prepare("SELECT Z_PK FROM \(name) LIMIT 1", purpose)
            _ = try statement.step(purpose)
            return true
        } catch let error as CoreError where error.isOfUnusableTable { return false }
    }

    /// The condition of rows of the table (`t`) whose values lie outside of their bounds in the tree (`r`). SQLite rounds bounds to 32
    /// bits, and fails to near zero and beyond the largest number.
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

    /// The triggers that keep an R-tree up to date, whoever installed it.
    static func triggerNames(ofTable name: String) -> [String] {
        ["INSERT", "UPDATE", "DELETE"].map { "\(name)_\($0)" }
    }

    /// To the letter, blanks included, as Apple's framework writes them.
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
    /// Whether SQLite refused a table as such: a module that it does not have, or damage.
    var isOfUnusableTable: Bool { [SQLITE_ERROR, SQLITE_CORRUPT].contains(sqliteCode & 0xff) }
}
