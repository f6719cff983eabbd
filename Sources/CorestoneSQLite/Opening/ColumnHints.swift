import CorestoneGraph
import CorestoneModel
import CorestoneValues

/// An inference of the entity to which an integer column refers, from names, indexes and values.
struct ColumnHints {
    private let contents: StoreContents
    private let connection: Connection
    /// The columns by table that Core Data indexed.
    ///
    /// These are the columns of relationships, and before 2016 also those of some attributes.
    private var indexed: [String: Set<String>] = [:]

    /// The maximum number of values of a column that are looked up.
    private static let sample = 200

    init(_ contents: StoreContents, _ connection: Connection) throws {
        self.contents = contents
        self.connection = connection
        let purpose = "read the indexes of \(contents.place.given)"
        let statement = try connection.prepare(
            "SELECT tbl_name, name FROM sqlite_master WHERE type = 'index' AND name LIKE 'Z%\\_INDEX' ESCAPE '\\'",
            purpose)
        while try statement.step(purpose) {
            guard let table = statement.text(0), let name = statement.text(1), name.hasPrefix(table + "_") else {
                continue
            }
            indexed[table, default: []].insert(String(name.dropFirst(table.count + 1).dropLast("_INDEX".count)))
        }
    }

    /// Returns the number of the entity to which the column refers, or nil if it may be an attribute.
    func target(of column: String, in table: String, entity owner: StoreContents.StoredEntity) -> Int64? {
        let columns = contents.tables[table] ?? [:]
        guard columns[column]?.uppercased() == "INTEGER" else { return nil }
        let tail = String(column.dropFirst())
        // The name of the companion column for the target's entity, such as Z5_NAME, contains the destination's number.
        let companion = columns.keys.first { name in
            guard name.hasSuffix("_" + tail), name.hasPrefix("Z") else { return false }
            let digits = name.dropFirst().dropLast(tail.count + 1)
            return !digits.isEmpty && digits.allSatisfy { $0.isASCII && $0.isNumber }
        }
        if let companion { return Int64(companion.dropFirst().dropLast(tail.count + 1)) }
        guard indexed[table]?.contains(column) == true || columns["Z_FOK_" + tail] != nil else { return nil }
        guard let target = named(tail, owner), areValuesKeys(in: column, of: table, target) else { return nil }
        return target.number
    }

    /// Returns the entity that a column's name designates, or nil if no entity or several entities match.
    ///
    /// The first of these rules that applies determines the entity:
    /// - Its name is that of the column, or that of the owner followed by that of the column.
    /// - Its name ends with that of the column.
    /// - The name of the column ends with its name, which is the longest such name.
    /// - Its name has the longest common ending with that of the column, of at least four letters.
    private func named(_ tail: String, _ owner: StoreContents.StoredEntity) -> StoreContents.StoredEntity? {
        // A column that refers to an entity with subentities has a companion column for the target's entity, so only
        // entities without subentities are candidates here.
        let parents = Set(contents.entities.map(\.parent))
        let candidates = contents.entities.filter { !parents.contains($0.number) }.map { ($0, $0.name.uppercased()) }
        let own = owner.name.uppercased()
        func only(_ fits: (String) -> Bool) -> StoreContents.StoredEntity? {
            let found = candidates.filter { fits($0.1) }
            return found.count == 1 ? found[0].0 : nil
        }
        if let exact = only({ $0 == tail }) ?? only({ $0 == own + tail }) ?? only({ $0.hasSuffix(tail) }) {
            return exact
        }
        if let longest = candidates.filter({ tail.hasSuffix($0.1) }).max(by: { $0.1.count < $1.1.count }) {
            return longest.0
        }
        let shared = candidates.map { zip($0.1.reversed(), tail.reversed()).prefix { $0 == $1 }.count }
        guard let most = shared.max(), most >= 4, shared.filter({ $0 == most }).count == 1 else { return nil }
        return shared.firstIndex(of: most).map { candidates[$0].0 }
    }

    /// Whether all sampled values are primary keys in the target's table.
    private func areValuesKeys(in column: String, of table: String, _ target: StoreContents.StoredEntity) -> Bool {
        guard let root = root(of: target), contents.tables["Z" + root.name.uppercased()] != nil,
            isIdentifier(column), isIdentifier(table)
        else { return false }
        let purpose = "read \(table)"
        let sql =
            "SELECT 1 FROM (SELECT \(column) AS c FROM \(table) WHERE \(column) IS NOT NULL LIMIT \(ColumnHints.sample)) "
            + "WHERE c NOT IN (SELECT Z_PK FROM Z\(root.name.uppercased())) LIMIT 1"
        guard let statement = try? connection.prepare(sql, purpose) else { return false }
        return (try? statement.step(purpose)) == false
    }

    private func root(of entity: StoreContents.StoredEntity) -> StoreContents.StoredEntity? {
        var current = entity
        while current.parent != 0 {
            // Superentities are numbered before their subentities. The check ends the loop in a damaged file with a
            // cycle.
            guard current.parent < current.number,
                let parent = contents.entities.first(where: { $0.number == current.parent })
            else { return nil }
            current = parent
        }
        return current
    }
}
