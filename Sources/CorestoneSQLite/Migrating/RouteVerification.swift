import CSQLite
import CorestoneGraph
import CorestoneModel
import CorestoneValues

/// A comparison of the rows that a route wrote with the former rows.
///
/// It uses the list of associated objects, and after the replacement compares the rows in the store. Every value that
/// was copied without a change of its type is compared, not only a sample.
struct RouteVerification {
    private let connection: Connection
    private let place: StoreLocation
    private let former: StoreSchema
    private let wanted: StoreSchema
    private let progress: MigrationProgress
    /// The identifier of the store.
    private let identifier: String

    private static let database = ConvertedStore.alias
    private static let associations = "temp.CST_ASSOCIATED"
    private static let width = 60

    init(
        _ connection: Connection, _ place: StoreLocation, _ start: StoreMigration.Start, _ converted: ConvertedStore,
        _ progress: MigrationProgress
    ) {
        (self.connection, self.place, self.progress) = (connection, place, progress)
        (former, wanted) = (start.former, converted.schema)
        identifier = start.contents.document.identifier
    }

    private var purpose: String { "verify the migration of \(place.given)" }

    /// Returns the number of steps that `requireContent` and `requireReplacement` report.
    func stepCount(_ content: ConvertedContent) -> Int {
        let tables = wanted.tables.count + wanted.joins.count
        guard case .rows(let properties) = content else { return tables }
        return tables + pairs(properties).count + relationships.count
    }

    /// The properties that a route copied from one entity to another.
    private struct Pair {
        let source: Entity
        let destination: Entity
        var attributes: [(from: Attribute, to: Attribute)] = []
        var relationships: [(from: Relationship, to: Relationship)] = []
    }

    private func pairs(_ properties: [CopiedProperty]) -> [Pair] {
        var pairs: [Pair] = []
        for copy in properties where copy.isExact {
            guard let source = former.model.entity(named: copy.sourceEntity),
                let destination = wanted.model.entity(named: copy.entity),
                let from = source.property(named: copy.source), let to = destination.property(named: copy.destination)
            else { continue }
            let index: Int
            if let known = pairs.firstIndex(where: { $0.source === source && $0.destination === destination }) {
                index = known
            } else {
                index = pairs.count
                pairs.append(Pair(source: source, destination: destination))
            }
            if let from = from as? Attribute, let to = to as? Attribute {
                pairs[index].attributes += leaves(from, to)
            } else if let from = from as? Relationship, let to = to as? Relationship {
                pairs[index].relationships.append((from, to))
            }
        }
        return pairs
    }

    /// Returns the elements of two composite attributes, or the attributes themselves.
    private func leaves(_ from: Attribute, _ to: Attribute) -> [(from: Attribute, to: Attribute)] {
        let elements = Dictionary(
            to.leaves.map { ($0.path.dropFirst(to.path.count), $0) }, uniquingKeysWith: { first, _ in first })
        return from.leaves.compactMap { leaf in
            elements[leaf.path.dropFirst(from.path.count)].flatMap { $0.derivation == nil ? (leaf, $0) : nil }
        }
    }

    private var relationships: [Relationship] {
        wanted.model.entities.flatMap(\.ownRelationships).filter { !$0.isTransient }
    }

    // MARK: - Converted content

    /// Compares the attached rows with the former rows, which are still in the store.
    ///
    /// Does nothing for content that is not a list of copied rows.
    ///
    /// - Throws: `.migration` (134110) for the first difference, with the entity, and with the key of a property.
    func requireContent(_ content: ConvertedContent) throws {
        guard case .rows(let properties) = content else { return }
        let functions = try MeasureFunctions(connection, externalFolder: ExternalFile.folder(ofStore: place.path))
        defer { functions.end() }
        try execute(
            "CREATE TABLE \(RouteVerification.associations) (SOURCE_ENTITY TEXT, SOURCE_KEY INTEGER, ENTITY TEXT, KEY INTEGER);"
                + "INSERT INTO \(RouteVerification.associations) SELECT SOURCE_ENTITY, SOURCE_KEY, ENTITY, KEY "
                + "FROM \(RouteVerification.database).\(ConvertedStore.associations) WHERE KEY IS NOT NULL;"
                + "CREATE INDEX temp.CST_ASSOCIATED_BY_SOURCE ON CST_ASSOCIATED (SOURCE_KEY, SOURCE_ENTITY)")
        for pair in pairs(properties) {
            try compareObjects(of: pair)
            for relationship in pair.relationships { try compare(relationship.from, relationship.to, of: pair) }
            try progress.step()
        }
        try execute("DROP TABLE \(RouteVerification.associations)")
        for relationship in relationships {
            try requireTargets(of: relationship)
            try progress.step()
        }
    }

    /// Returns the FROM clause for the associated objects of a pair of entities.
    ///
    /// Former objects have the alias `s`, new objects the alias `d`.
    private func objects(of pair: Pair) -> String {
        "FROM \(RouteVerification.associations) a "
            + "LEFT JOIN main.\(former.table(of: pair.source).name) s ON s.Z_PK = a.SOURCE_KEY "
            + "AND s.Z_ENT = \(former.number(of: pair.source)) "
            + "LEFT JOIN \(RouteVerification.database).\(wanted.table(of: pair.destination).name) d ON d.Z_PK = a.KEY "
            + "AND d.Z_ENT = \(wanted.number(of: pair.destination)) "
            + "WHERE a.SOURCE_ENTITY = '\(pair.source.name)' AND a.ENTITY = '\(pair.destination.name)'"
    }

    private func compareObjects(of pair: Pair) throws {
        let columns = pair.attributes.compactMap {
            from, to -> (attribute: Attribute, former: String, wanted: String)? in
            // A conversion to another type may round values.
            guard from.type == to.type || from.type.isBytes && to.type.isBytes,
                let former = former.table(of: pair.source).column(of: from)?.name,
                let wanted = wanted.table(of: pair.destination).column(of: to)?.name
            else { return nil }
            return (
                to, from.allowsExternalStorage ? "\(MeasureFunctions.content)(s.\(former))" : "s.\(former)",
                to.allowsExternalStorage ? "\(MeasureFunctions.content)(d.\(wanted))" : "d.\(wanted)"
            )
        }
        var start = 0
        repeat {
            let part = columns[start..<min(start + RouteVerification.width, columns.count)]
            let counts = part.map { "sum(\($0.former) IS NOT \($0.wanted))" }
            let list = (["count(*)", "count(s.Z_PK)", "count(d.Z_PK)"] + counts).joined(separator: ", ")
            let statement = try connection.prepare("SELECT \(list) \(objects(of: pair))", purpose)
            guard try statement.step(purpose) else { return }
            let (all, found) = (statement.integer(0), min(statement.integer(1), statement.integer(2)))
            if all != found {
                throw failure(
                    "\(pair.destination.name) has \(found) of \(counted(all, "object")) made from \(pair.source.name)",
                    pair.destination.name, found: "\(found)")
            }
            for (place, column) in part.enumerated() where statement.integer(Int32(place + 3)) > 0 {
                throw try difference(
                    column.attribute, column.former, column.wanted, of: pair, count: statement.integer(Int32(place + 3))
                )
            }
            start += RouteVerification.width
        } while start < columns.count
    }

    /// Creates the error for different values of an attribute. The error names the first object with such a value.
    private func difference(
        _ attribute: Attribute, _ former: String, _ wanted: String, of pair: Pair, count: Int64
    ) throws -> CoreError {
        let statement = try connection.prepare(
            "SELECT s.Z_PK, substr(CAST(\(former) AS TEXT), 1, 61), substr(CAST(\(wanted) AS TEXT), 1, 61) "
                + "\(objects(of: pair)) AND \(former) IS NOT \(wanted) LIMIT 1", purpose)
        guard try statement.step(purpose) else {
            return failure("\(pair.destination.name).\(attribute.path) differs", pair.destination.name, attribute.path)
        }
        let (expected, found) = (statement.text(1), statement.text(2))
        return failure(
            "\(pair.destination.name).\(attribute.path) of the object made from "
                + "\(pair.source.name)/p\(statement.integer(0)) "
                + "\(attribute.difference(ofStored: found, from: expected)) "
                + "(\(counted(count, "value")) \(count == 1 ? "differs" : "differ"))",
            pair.destination.name, attribute.path, found: found ?? "null",
            uri: "x-coredata://\(identifier)/\(pair.source.name)/p\(statement.integer(0))")
    }

    /// Checks that each former pair of objects is a pair of the objects that were created from them.
    ///
    /// Skipped if several objects were created from one member.
    private func compare(_ from: Relationship, _ to: Relationship, of pair: Pair) throws {
        guard let before = LinkOrigin.pairs(of: from, in: former, of: "main"),
            let after = LinkOrigin.pairs(of: to, in: wanted, of: RouteVerification.database)
        else { return }
        func names(_ entity: Entity) -> String { entity.withDescendants.map { "'\($0.name)'" }.joined(separator: ", ") }
        let members = "SOURCE_ENTITY IN (\(names(from.destination))) AND ENTITY IN (\(names(to.destination)))"
        let isSplit = try connection.finds(
            "SELECT 1 FROM \(RouteVerification.associations) WHERE \(members) GROUP BY SOURCE_KEY, SOURCE_ENTITY "
                + "HAVING count(*) > 1 LIMIT 1", purpose: purpose)
        if isSplit { return }
        let statement = try connection.prepare(
            "SELECT count(*), sum(EXISTS (SELECT 1 FROM (\(after)) n WHERE n.owner = o.KEY AND n.member = m.KEY)) FROM (\(before)) p "
                + "JOIN \(RouteVerification.associations) o ON o.SOURCE_KEY = p.owner AND o.SOURCE_ENTITY = '\(pair.source.name)' "
                + "AND o.ENTITY = '\(pair.destination.name)' "
                + "JOIN (SELECT * FROM \(RouteVerification.associations) WHERE \(members)) m ON m.SOURCE_KEY = p.member",
            purpose)
        guard try statement.step(purpose), statement.integer(0) != statement.integer(1) else { return }
        throw failure(
            "\(pair.destination.name).\(to.name) has \(statement.integer(1)) of "
                + "\(counted(statement.integer(0), "pair")) of objects that \(pair.source.name).\(from.name) has",
            pair.destination.name, to.name, found: "\(statement.integer(1))")
    }

    private func requireTargets(of relationship: Relationship) throws {
        guard let pairs = LinkOrigin.pairs(of: relationship, in: wanted, of: RouteVerification.database) else { return }
        func missing(_ column: String, _ entity: Entity) -> String {
            "NOT EXISTS (SELECT 1 FROM \(RouteVerification.database).\(wanted.table(of: entity).name) t WHERE t.Z_PK = p.\(column))"
        }
        let count = try connection.integer(
            "SELECT count(*) FROM (\(pairs)) p WHERE p.owner IS NOT NULL AND p.member IS NOT NULL AND "
                + "(\(missing("owner", relationship.entity)) OR \(missing("member", relationship.destination)))",
            purpose)
        guard count > 0 else { return }
        throw failure(
            "\(relationship.entity.name).\(relationship.name) has \(counted(Int64(count), "reference")) to missing objects",
            relationship.entity.name,
            relationship.name, found: "\(count)")
    }

    // MARK: - Replaced content

    /// Compares the tables in the store with those that the route wrote.
    func requireReplacement() throws {
        let functions = try MeasureFunctions(connection, externalFolder: ExternalFile.folder(ofStore: place.path))
        defer { functions.end() }
        for table in wanted.tables {
            try compare(table.name, ["Z_PK", "Z_ENT", "Z_OPT"] + table.columns.map(\.name), table.root.name)
        }
        for join in wanted.joins {
            let columns = [join.namingColumn, join.otherColumn].flatMap { [$0.name] + [$0.orderName].compactMap { $0 } }
            try compare(join.name, columns, join.naming.entity.name, join.naming.name)
        }
    }

    private func compare(_ table: String, _ columns: [String], _ entity: String, _ key: String? = nil) throws {
        let lists = stride(from: 0, to: columns.count, by: RouteVerification.width).map { start in
            // Each part of a row includes the first column, so that values that were exchanged between rows are found.
            ([columns[0]] + columns[start..<min(start + RouteVerification.width, columns.count)]).joined(
                separator: ", ")
        }
        let list = lists.map { "\(MeasureFunctions.measure)(\($0))" }.joined(separator: ", ")
        let measures = try [RouteVerification.database, "main"].map { database -> [ColumnMeasure?] in
            let statement = try connection.prepare("SELECT \(list) FROM \(database).\(table)", purpose)
            guard try statement.step(purpose) else { return [] }
            return lists.indices.map { ColumnMeasure(statement.text(Int32($0))) }
        }
        try progress.step()
        guard measures[0] != measures[1] else { return }
        let counts = measures.map { $0.first??.count ?? 0 }
        throw failure(
            counts[0] == counts[1]
                ? "the rows of the table \(table) differ from those that were migrated"
                : "the table \(table) has \(counted(counts[1], "row")), but \(wereExpected(counts[0]))", entity, key,
            found: "\(counts[1])")
    }

    // MARK: - Failures

    private func execute(_ text: String) throws { try connection.execute(text, purpose, cocoaCode: .migration) }

    private func failure(
        _ text: String, _ entity: String, _ key: String? = nil, found: String? = nil, uri: String? = nil
    ) -> CoreError {
        .unverified(text, entity, key, found: found, uri: uri, file: place.given)
    }
}
