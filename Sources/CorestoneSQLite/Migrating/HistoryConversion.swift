import CorestoneGraph
import CorestoneModel
import CorestoneValues

/// The conversion of a store's history after a migration that recreated its objects.
///
/// Each change is transferred to the objects that were created from its object, with the mask bits and preserved values
/// of the copied properties. Changes of objects that no longer exist refer to unused primary keys. Changes of entities
/// without a mapping are removed.
struct HistoryConversion {
    let design: HistorySchema
    let former: StoreSchema
    let wanted: StoreSchema
    let properties: [CopiedProperty]
    let connection: Connection

    private static let associations = "\(ConvertedStore.alias).\(ConvertedStore.associations)"
    /// `FORMER`, `FORMERKEY`: an object with changes. `WANTED`, `WANTEDKEY`: an object that was created from it.
    private static let keys = "temp.CST_KEY"
    /// The objects with changes.
    private static let changed = "temp.CST_CHANGED"
    /// The entity numbers by name.
    private static let names = "temp.CST_NAME"
    /// `FORMER`: the number of a former entity. `WANTED`: the entity number for its missing objects. `ROOT`, `HIGHEST`:
    /// the number of that entity's root, and the highest primary key of the root.
    private static let successors = "temp.CST_SUCCESSOR"
    private static let masks = "temp.CST_MASK"
    private static let changes = "temp.CST_CHANGE"

    private var purpose: String { "migrate the history of \(connection.path)" }
    private typealias Pair = (former: Entity, wanted: Entity)

    /// Converts the history. Runs in the transaction of the migration, after the tables have their new rows and keys.
    func run() throws {
        try requireAssociations()
        try createTables()
        try findObjects()
        try nameMissingObjects()
        let pairs = try pairs()
        if design.hasColumns { try translateMasks(pairs) }
        for statement in HistoryMigration.additions(of: wanted.model, to: design) { try execute(statement) }
        try translateChanges(pairs)
        try writeChanges()
        for table in [
            HistoryConversion.keys, HistoryConversion.changed, HistoryConversion.names, HistoryConversion.successors,
            HistoryConversion.masks, HistoryConversion.changes,
        ] { try execute("DROP TABLE \(table)") }
    }

    private func execute(_ text: String) throws { try connection.execute(text, purpose, cocoaCode: .migration) }

    private func requireAssociations() throws {
        let query =
            "SELECT 1 FROM \(ConvertedStore.alias).sqlite_schema WHERE type = 'table' AND name = '\(ConvertedStore.associations)'"
        guard try !connection.finds(query, purpose: purpose) else { return }
        throw CoreError(
            .internal, code: .migration,
            "cannot \(purpose): the migrated copy does not have the table \(ConvertedStore.associations), by which the "
                + "history is translated; report it as a defect of the library", file: connection.path)
    }

    private func createTables() throws {
        let tables = [
            (HistoryConversion.names, "(NAME TEXT PRIMARY KEY, FORMER INTEGER, WANTED INTEGER)"),
            (HistoryConversion.changed, "(FORMER INTEGER, KEY INTEGER, PRIMARY KEY (FORMER, KEY))"),
            (
                HistoryConversion.keys,
                "(FORMER INTEGER, FORMERKEY INTEGER, WANTED INTEGER, WANTEDKEY INTEGER, "
                    + "PRIMARY KEY (FORMER, FORMERKEY, WANTED, WANTEDKEY))"
            ),
            (
                HistoryConversion.successors,
                "(FORMER INTEGER PRIMARY KEY, WANTED INTEGER, ROOT INTEGER, HIGHEST INTEGER)"
            ),
            (
                HistoryConversion.masks,
                "(FORMER INTEGER, WANTED INTEGER, BEFORE BLOB, AFTER BLOB, PRIMARY KEY (FORMER, WANTED, BEFORE))"
            ),
        ]
        for (name, columns) in tables { try execute("CREATE TABLE \(name) \(columns) WITHOUT ROWID") }
    }

    // MARK: - Objects

    /// Lists the objects with changes, and the objects that were created from them.
    private func findObjects() throws {
        let entry = try connection.prepare("INSERT INTO \(HistoryConversion.names) VALUES (?, ?, ?)", purpose)
        for name in Set(former.model.entities.map(\.name) + wanted.model.entities.map(\.name)) {
            entry.bind(copying: name, at: 1)
            bind(former.model.entity(named: name).map { former.number(of: $0) }, to: entry, at: 2)
            bind(wanted.model.entity(named: name).map { wanted.number(of: $0) }, to: entry, at: 3)
            try entry.run(purpose)
        }
        try execute(
            "INSERT INTO \(HistoryConversion.changed) SELECT DISTINCT ZENTITY, ZENTITYPK FROM main.ACHANGE "
                + "WHERE ZENTITY IS NOT NULL AND ZENTITYPK IS NOT NULL ORDER BY 1, 2")
        try execute(
            "INSERT OR IGNORE INTO \(HistoryConversion.keys) SELECT s.FORMER, a.SOURCE_KEY, d.WANTED, a.KEY "
                + "FROM \(HistoryConversion.associations) a JOIN \(HistoryConversion.names) s ON s.NAME = a.SOURCE_ENTITY "
                + "JOIN \(HistoryConversion.names) d ON d.NAME = a.ENTITY "
                + "WHERE d.WANTED IS NOT NULL AND a.KEY IS NOT NULL AND EXISTS (SELECT 1 FROM \(HistoryConversion.changed) c "
                + "WHERE c.FORMER = s.FORMER AND c.KEY = a.SOURCE_KEY) ORDER BY 1, 2, 3, 4")
    }

    private func bind(_ number: Int64?, to statement: Statement, at place: Int32) {
        if let number { statement.bind(number, at: place) } else { statement.bindNull(at: place) }
    }

    /// Assigns unused primary keys to objects that no longer exist or were not mapped.
    private func nameMissingObjects() throws {
        let entry = try connection.prepare(
            "INSERT INTO \(HistoryConversion.successors) SELECT ?1, ?2, ?3, "
                + "max(ifnull((SELECT Z_MAX FROM main.Z_PRIMARYKEY WHERE Z_ENT = ?3), 0), ?4)", purpose)
        for (source, destination) in try destinations() {
            let table = wanted.table(of: destination)
            entry.bind(former.number(of: source), at: 1)
            entry.bind(wanted.number(of: destination), at: 2)
            entry.bind(wanted.number(of: table.root), at: 3)
            entry.bind(try connection.integer("SELECT ifnull(max(Z_PK), 0) FROM main.\(table.name)", purpose), at: 4)
            try entry.run(purpose)
        }
        try execute(
            "INSERT INTO \(HistoryConversion.keys) SELECT c.FORMER, c.KEY, s.WANTED, "
                + "s.HIGHEST + row_number() OVER (PARTITION BY s.ROOT ORDER BY c.FORMER, c.KEY) "
                + "FROM \(HistoryConversion.changed) c JOIN \(HistoryConversion.successors) s ON s.FORMER = c.FORMER "
                + "WHERE NOT EXISTS (SELECT 1 FROM \(HistoryConversion.keys) k "
                + "WHERE k.FORMER = c.FORMER AND k.FORMERKEY = c.KEY)")
        try execute(
            "UPDATE main.Z_PRIMARYKEY SET Z_MAX = max(Z_MAX, h.KEY) FROM (SELECT s.ROOT, max(k.WANTEDKEY) AS KEY "
                + "FROM \(HistoryConversion.keys) k JOIN \(HistoryConversion.successors) s "
                + "ON s.FORMER = k.FORMER AND s.WANTED = k.WANTED GROUP BY s.ROOT) h WHERE Z_ENT = h.ROOT")
    }

    /// Returns the entity to which most objects of each former entity were mapped.
    ///
    /// Of several such entities, it is the one that comes first in `properties`.
    private func destinations() throws -> [Pair] {
        let statement = try connection.prepare(
            "SELECT SOURCE_ENTITY, ENTITY, count(*) FROM \(HistoryConversion.associations) GROUP BY 1, 2 ORDER BY 1, 2",
            purpose)
        var counts: [String: [String: Int64]] = [:]
        while try statement.step(purpose) {
            guard let source = statement.text(0), let destination = statement.text(1) else { continue }
            counts[source, default: [:]][destination] = statement.integer(2)
        }
        var order: [String: [String]] = [:]
        for copy in properties where order[copy.sourceEntity]?.contains(copy.entity) != true {
            order[copy.sourceEntity, default: []].append(copy.entity)
        }
        return former.model.preorder.compactMap { source in
            let mapped = counts[source.name] ?? [:]
            let names = order[source.name] ?? []
            let candidates = names + mapped.keys.filter { !names.contains($0) }.sorted(by: byteOrder)
            let most = candidates.map { mapped[$0] ?? 0 }.max() ?? 0
            return candidates.first { mapped[$0] ?? 0 == most }.flatMap { wanted.model.entity(named: $0) }
                .map { (source, $0) }
        }
    }

    /// Returns the entities whose objects have changes, each with an entity to which its objects were mapped.
    private func pairs() throws -> [Pair] {
        let statement = try connection.prepare(
            "SELECT DISTINCT FORMER, WANTED FROM \(HistoryConversion.keys) ORDER BY 1, 2", purpose)
        var pairs: [Pair] = []
        while try statement.step(purpose) {
            guard let source = former.entity(number: statement.integer(0)),
                let destination = wanted.entity(number: statement.integer(1))
            else { continue }
            pairs.append((source, destination))
        }
        return pairs
    }

    // MARK: - Properties

    /// Returns the properties that were copied from one entity to another, with each element of a composite attribute.
    private func copies(_ pair: Pair) -> [(source: Property, destination: Property)] {
        properties.filter { $0.sourceEntity == pair.former.name && $0.entity == pair.wanted.name }.flatMap {
            copy -> [(source: Property, destination: Property)] in
            guard let source = pair.former.property(named: copy.source),
                let destination = pair.wanted.property(named: copy.destination)
            else { return [] }
            guard let from = source as? Attribute, let to = destination as? Attribute else {
                return [(source, destination)]
            }
            let elements = Dictionary(
                to.leaves.map { ($0.path.dropFirst(to.path.count), $0) }, uniquingKeysWith: { first, _ in first })
            return from.leaves.compactMap { leaf in
                elements[leaf.path.dropFirst(from.path.count)].map { (leaf, $0) }
            }
        }
    }

    /// Translates each distinct mask once, because few masks are distinct.
    private func translateMasks(_ pairs: [Pair]) throws {
        let statement = try connection.prepare(
            "SELECT DISTINCT ZENTITY, ZCOLUMNS FROM main.ACHANGE WHERE ZCOLUMNS IS NOT NULL", purpose)
        var masks: [Int64: [[UInt8]]] = [:]
        while try statement.step(purpose) {
            if let mask = statement.blob(1) { masks[statement.integer(0), default: []].append(mask) }
        }
        let entry = try connection.prepare(
            "INSERT OR IGNORE INTO \(HistoryConversion.masks) VALUES (?, ?, ?, ?)", purpose)
        for pair in pairs {
            let number = former.number(of: pair.former)
            let slots = HistorySlots(of: pair.former), wantedSlots = HistorySlots(of: pair.wanted)
            let destinations = Dictionary(grouping: copies(pair)) { ObjectIdentifier($0.source) }
            for mask in masks[number] ?? [] {
                entry.bind(number, at: 1)
                entry.bind(wanted.number(of: pair.wanted), at: 2)
                entry.bind(copying: mask, at: 3)
                let translated = slots.translated(mask, to: wantedSlots) { property in
                    (destinations[ObjectIdentifier(property)] ?? []).map(\.destination)
                }
                entry.bind(copying: translated, at: 4)
                try entry.run(purpose)
            }
        }
    }

    /// Returns the SQL expression for the value of a tombstone column after the migration.
    private func tombstone(_ place: Int, _ origins: [(pair: Pair, places: [Int?])]) -> String {
        let cases = origins.compactMap { pair, places -> String? in
            guard place < places.count, let origin = places[place], origin < design.tombstoneCount else { return nil }
            let (source, destination) = (former.number(of: pair.former), wanted.number(of: pair.wanted))
            return "WHEN k.FORMER = \(source) AND k.WANTED = \(destination) THEN c.ZTOMBSTONE\(origin)"
        }
        return cases.isEmpty ? "NULL" : "CASE \(cases.joined(separator: " ")) END"
    }

    // MARK: - Changes

    private var tombstoneCount: Int {
        max(design.tombstoneCount, HistoryMigration.tombstoneCount(of: wanted.model))
    }

    /// The columns of a change, without its key.
    private var columns: [String] {
        ["Z_ENT", "Z_OPT", "ZCHANGETYPE", "ZENTITY", "ZENTITYPK", "ZTRANSACTIONID"]
            + (design.hasColumns ? ["ZCOLUMNS"] : []) + (0..<tombstoneCount).map { "ZTOMBSTONE\($0)" }
    }

    private func translateChanges(_ pairs: [Pair]) throws {
        let origins = pairs.map { pair -> (pair: Pair, places: [Int?]) in
            let sources = Dictionary(
                copies(pair).map { (ObjectIdentifier($0.destination), $0.source) },
                uniquingKeysWith: { first, _ in first })
            let places = HistoryMigration.origins(from: pair.former, to: pair.wanted) { sources[ObjectIdentifier($0)] }
            return (pair, places)
        }
        let values =
            ["c.Z_ENT", "c.Z_OPT", "c.ZCHANGETYPE", "k.WANTED", "k.WANTEDKEY", "c.ZTRANSACTIONID"]
            + (design.hasColumns ? ["m.AFTER"] : []) + (0..<tombstoneCount).map { tombstone($0, origins) }
        let masks =
            design.hasColumns
            ? "LEFT JOIN \(HistoryConversion.masks) m ON m.FORMER = k.FORMER AND m.WANTED = k.WANTED AND m.BEFORE = c.ZCOLUMNS "
            : ""
        // CROSS JOIN makes SQLite read the changes in their order, and look up the new objects by key.
        try execute(
            "CREATE TABLE \(HistoryConversion.changes) AS SELECT c.Z_PK AS FORMER, "
                + zip(values, columns).map { "\($0) AS \($1)" }.joined(separator: ", ")
                + " FROM main.ACHANGE c CROSS JOIN \(HistoryConversion.keys) k ON k.FORMER = c.ZENTITY AND k.FORMERKEY = c.ZENTITYPK "
                + masks + "ORDER BY c.Z_PK, k.WANTED, k.WANTEDKEY")
        try removeRepetitions()
    }

    /// Removes repeated changes.
    ///
    /// If several objects were merged into one, a transaction keeps the same change only once.
    private func removeRepetitions() throws {
        let merged = "SELECT 1 FROM \(HistoryConversion.keys) GROUP BY WANTED, WANTEDKEY HAVING count(*) > 1 LIMIT 1"
        guard try connection.finds(merged, purpose: purpose) else { return }
        let columns =
            ["ZTRANSACTIONID", "ZENTITY", "ZENTITYPK", "ZCHANGETYPE"] + (design.hasColumns ? ["ZCOLUMNS"] : [])
        try execute(
            "DELETE FROM \(HistoryConversion.changes) WHERE rowid NOT IN (SELECT min(rowid) FROM \(HistoryConversion.changes) "
                + "GROUP BY \(columns.joined(separator: ", ")))")
    }

    /// Writes the converted changes.
    ///
    /// Their numbers are unchanged, unless a change was split into several. In that case, all changes are renumbered in
    /// the order of the former numbers.
    private func writeChanges() throws {
        let split = try connection.finds(
            "SELECT 1 FROM \(HistoryConversion.changes) GROUP BY FORMER HAVING count(*) > 1 LIMIT 1", purpose: purpose)
        let first = try connection.integer("SELECT ifnull(min(FORMER), 1) FROM \(HistoryConversion.changes)", purpose)
        let key = split ? "rowid + \(first) - 1" : "FORMER"
        let columns = columns.joined(separator: ", ")
        try execute("DELETE FROM main.ACHANGE")
        try execute(
            "INSERT INTO main.ACHANGE (Z_PK, \(columns)) SELECT \(key), \(columns) FROM \(HistoryConversion.changes) ORDER BY rowid"
        )
        try execute(
            "UPDATE main.Z_PRIMARYKEY SET Z_MAX = max(Z_MAX, (SELECT ifnull(max(Z_PK), 0) FROM main.ACHANGE)) "
                + "WHERE Z_ENT = \(HistorySchema.Table.change.number)")
    }
}
