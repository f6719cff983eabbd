import CSQLite
import CorestoneGraph
import CorestoneModel
import CorestoneValues

/// A comparison of the objects of a store before and after an in-place migration.
///
/// It uses SQL statements, and does not load objects.
///
/// The expected values are derived from the two models and the former rows, not from the statements of the migration.
/// The comparison covers the number, primary keys and versions of each entity's objects, and the pairs of each
/// relationship. For each column, it covers the number, sum, length and hash of the values. A sample of objects is
/// compared value by value.
final class InPlaceVerification {
    private let plan: MigrationPlan
    private let connection: Connection
    private let place: StoreLocation
    private let progress: MigrationProgress
    private let functions: MeasureFunctions
    private let entities: [EntityComparison]
    private let pairs: [PairComparison]
    /// The measures by entity and column. The first measure of an entity is that of primary keys and versions.
    private var measures: [[ColumnMeasure]] = []
    private var pairMeasures: [(pairs: ColumnMeasure, dangling: Int, mismatched: Int)] = []

    /// The maximum number of objects of an entity that are compared value by value.
    static let sampleSize = 100
    /// The maximum number of columns in one statement.
    private static let width = 60

    private var purpose: String { "verify the migration of \(place.given)" }

    /// Returns the maximum number of steps before the migration. The maximum number of steps after it is the same.
    static func stepCount(of plan: MigrationPlan) -> Int {
        let relationships = plan.mapping.destination.entities.reduce(0) { $0 + $1.ownRelationships.count }
        return plan.mapping.entities.count + relationships
    }

    /// Reads the former rows before the migration changes them. The SQL functions of a migration must be registered.
    init(_ plan: MigrationPlan, _ connection: Connection, _ place: StoreLocation, _ progress: MigrationProgress) throws
    {
        (self.plan, self.connection, self.place, self.progress) = (plan, connection, place, progress)
        functions = try MeasureFunctions(connection, externalFolder: ExternalFile.folder(ofStore: place.path))
        entities = plan.mapping.entities.compactMap { EntityComparison($0, plan) }
        pairs = PairComparison.all(plan)
        for (number, entity) in entities.enumerated() {
            measures.append(try measure(entity, isFormer: true))
            try takeSample(of: entity, number, count: Int(clamping: measures[number][0].count))
            try progress.step()
        }
        for pair in pairs {
            pairMeasures.append(try measure(pair.former, of: pair.relationship))
            try progress.step()
        }
    }

    deinit { functions.end() }

    /// Reads the migrated rows and compares them.
    ///
    /// - Throws: `.migration` (134110) for the first difference, with the entity, and with the key of a property.
    func finish() throws {
        for (number, entity) in entities.enumerated() {
            try compare(entity, measures[number], try measure(entity, isFormer: false))
            try compareSample(of: entity, number)
            try progress.step()
        }
        for (pair, expected) in zip(pairs, pairMeasures) {
            try compare(pair, expected, try measure(pair.wanted, of: pair.relationship))
            try progress.step()
        }
    }

    // MARK: - Columns

    private func measure(_ entity: EntityComparison, isFormer: Bool) throws -> [ColumnMeasure] {
        let columns = entity.columns
        let (table, number) =
            isFormer ? (entity.formerTable, entity.formerNumber) : (entity.wantedTable, entity.wantedNumber)
        var measures: [ColumnMeasure] = []
        var start = 0
        repeat {
            let part = columns[start..<min(start + InPlaceVerification.width, columns.count)]
            let values = part.enumerated().map { isFormer ? $1.expected(parameter: $0 + 1) : $1.wanted }
            let keys = start == 0 ? ["Z_PK, Z_OPT"] : []
            let list = (keys + values).map { "\(MeasureFunctions.measure)(\($0))" }.joined(separator: ", ")
            let statement = try connection.prepare("SELECT \(list) FROM \(table) WHERE Z_ENT = \(number)", purpose)
            if isFormer { bindDefaults(part, statement) }
            guard try statement.step(purpose) else { throw unreadable(entity.name) }
            for place in 0..<(keys.count + values.count) {
                guard let measure = ColumnMeasure(statement.text(Int32(place))) else {
                    // The first measure is that of primary keys and versions.
                    let column = place < keys.count ? nil : columns[start + place - keys.count]
                    throw unreadable(entity.name, column?.attribute.path)
                }
                measures.append(measure)
            }
            start += InPlaceVerification.width
        } while start < columns.count
        return measures
    }

    private func bindDefaults(_ columns: ArraySlice<ColumnComparison>, _ statement: Statement) {
        for (place, column) in columns.enumerated() where column.fillsNull {
            statement.bind(defaultOf: column.attribute, at: Int32(place + 1))
        }
    }

    private func compare(_ entity: EntityComparison, _ expected: [ColumnMeasure], _ found: [ColumnMeasure]) throws {
        if expected[0].count != found[0].count {
            throw failure(
                "\(entity.name) has \(counted(found[0].count, "object")), but \(wereExpected(expected[0].count))",
                entity.name,
                found: "\(found[0].count)")
        }
        guard expected[0].hash == found[0].hash else {
            throw failure("objects of \(entity.name) have other primary keys or versions than before", entity.name)
        }
        for (place, column) in entity.columns.enumerated() {
            guard let (text, value) = found[place + 1].difference(from: expected[place + 1]) else { continue }
            throw failure(
                "\(entity.name).\(column.attribute.path) \(text)", entity.name, column.attribute.path, found: value)
        }
    }

    // MARK: - Samples

    private func sample(_ number: Int, _ start: Int) -> String { "temp.CST_SAMPLE_\(number)_\(start)" }

    private func parts(of entity: EntityComparison) -> [(start: Int, columns: ArraySlice<ColumnComparison>)] {
        stride(from: 0, to: entity.columns.count, by: InPlaceVerification.width).map { start in
            (start, entity.columns[start..<min(start + InPlaceVerification.width, entity.columns.count)])
        }
    }

    /// Records the expected values of a sample of objects, at equal distances in the order of their primary keys.
    private func takeSample(of entity: EntityComparison, _ number: Int, count: Int) throws {
        let distance = max(count / InPlaceVerification.sampleSize, 1)
        for (start, columns) in parts(of: entity) {
            let names = columns.indices.map { "C\($0 - start)" }.joined(separator: ", ")
            try execute("CREATE TABLE \(sample(number, start)) (Z_PK INTEGER PRIMARY KEY, \(names))")
            let values = columns.enumerated().map { $1.expected(parameter: $0 + 1) }.joined(separator: ", ")
            let entry = try connection.prepare(
                "INSERT INTO \(sample(number, start)) SELECT Z_PK, \(values) FROM \(entity.formerTable) WHERE Z_PK IN ("
                    + "SELECT Z_PK FROM (SELECT Z_PK, row_number() OVER (ORDER BY Z_PK) - 1 AS CST_PLACE FROM \(entity.formerTable) "
                    + "WHERE Z_ENT = \(entity.formerNumber)) WHERE CST_PLACE % \(distance) = 0 LIMIT \(InPlaceVerification.sampleSize))",
                purpose)
            bindDefaults(columns, entry)
            try entry.run(purpose)
        }
    }

    private func compareSample(of entity: EntityComparison, _ number: Int) throws {
        for (start, columns) in parts(of: entity) {
            let cases = columns.enumerated().map { "WHEN s.C\($0) IS NOT t.\($1.wanted) THEN \($0)" }
            let join =
                "FROM \(sample(number, start)) s LEFT JOIN \(entity.wantedTable) t ON t.Z_PK = s.Z_PK "
                + "AND t.Z_ENT = \(entity.wantedNumber)"
            let statement = try connection.prepare(
                "SELECT Z, D FROM (SELECT s.Z_PK AS Z, CASE WHEN t.Z_PK IS NULL THEN -1 \(cases.joined(separator: " ")) END AS D "
                    + "\(join)) WHERE D IS NOT NULL LIMIT 1", purpose)
            guard try statement.step(purpose) else {
                statement.reset()
                try execute("DROP TABLE \(sample(number, start))")
                continue
            }
            let (key, place) = (statement.integer(0), Int(statement.integer(1)))
            let uri = self.uri(entity.name, key)
            guard place >= 0, place < columns.count else { throw failure("\(uri) is missing", entity.name, uri: uri) }
            let column = columns[start + place]
            let values = try connection.prepare(
                "SELECT substr(CAST(s.C\(place) AS TEXT), 1, 61), substr(CAST(t.\(column.wanted) AS TEXT), 1, 61) "
                    + "\(join) WHERE s.Z_PK = \(key)", purpose)
            guard try values.step(purpose) else { throw unreadable(entity.name, column.attribute.path, uri: uri) }
            let (expected, found) = (values.text(0), values.text(1))
            throw failure(
                "\(entity.name).\(column.attribute.path) of \(uri) "
                    + column.attribute.difference(ofStored: found, from: expected),
                entity.name, column.attribute.path, found: found ?? "null", uri: uri)
        }
    }

    // MARK: - Relationships

    private func measure(
        _ side: PairComparison.Side, of relationship: Relationship
    ) throws -> (pairs: ColumnMeasure, dangling: Int, mismatched: Int) {
        let statement = try connection.prepare(
            "SELECT \(MeasureFunctions.measure)(\(side.columns)) \(side.preserved)", purpose)
        guard try statement.step(purpose), let pairs = ColumnMeasure(statement.text(0)) else {
            throw unreadable(relationship.entity.name, relationship.name)
        }
        let dangling = try connection.integer("SELECT count(*) \(side.dangling)", purpose)
        return (
            pairs, dangling, try side.mismatched.map { try connection.integer("SELECT count(*) \($0)", purpose) } ?? 0
        )
    }

    private func compare(
        _ pair: PairComparison, _ expected: (pairs: ColumnMeasure, dangling: Int, mismatched: Int),
        _ found: (pairs: ColumnMeasure, dangling: Int, mismatched: Int)
    ) throws {
        let relationship = pair.relationship
        func fail(_ text: String, _ value: String) -> CoreError {
            failure(
                "\(relationship.entity.name).\(relationship.name) \(text)", relationship.entity.name, relationship.name,
                found: value)
        }
        if found.pairs.count != expected.pairs.count {
            throw fail(
                "has \(counted(found.pairs.count, "pair")) of objects, but \(wereExpected(expected.pairs.count))",
                "\(found.pairs.count)")
        }
        if found.pairs.hash != expected.pairs.hash {
            throw fail("has other pairs of objects than before", found.pairs.hash)
        }
        // Existing damage may remain.
        if found.dangling > expected.dangling {
            throw fail(
                "has \(counted(Int64(found.dangling), "reference")) to missing objects, but \(wereExpected(Int64(expected.dangling)))",
                "\(found.dangling)")
        }
        if found.mismatched > expected.mismatched {
            throw fail(
                "has \(counted(Int64(found.mismatched), "reference")) with the number of another entity, but \(wereExpected(Int64(expected.mismatched)))",
                "\(found.mismatched)")
        }
    }

    // MARK: - Failures

    private func execute(_ text: String) throws { try connection.execute(text, purpose, cocoaCode: .migration) }

    private func uri(_ entity: String, _ key: Int64) -> String {
        let uuid = (try? StoreContents(connection, place: place).document.identifier) ?? ""
        return "x-coredata://\(uuid)/\(entity)/p\(key)"
    }

    private func unreadable(_ entity: String, _ key: String? = nil, uri: String? = nil) -> CoreError {
        CoreError(
            .internal, code: .migration,
            "cannot \(purpose): a statement did not return its result; report it as a defect of the library",
            entity: entity, key: key, objectURI: uri, file: place.given)
    }

    private func failure(
        _ text: String, _ entity: String, _ key: String? = nil, found: String? = nil, uri: String? = nil
    ) -> CoreError {
        .unverified(text, entity, key, found: found, uri: uri, file: place.given)
    }
}

extension CoreError {
    /// Creates the error for a migration whose verification failed.
    static func unverified(
        _ text: String, _ entity: String?, _ key: String?, found: String?, uri: String? = nil, file: String
    ) -> CoreError {
        CoreError(
            .migration, code: .migration,
            "the verification of the migration of \(file) failed: \(text); report the difference as a defect of the "
                + "library (the store is unchanged)", entity: entity, key: key,
            value: found.map { .string($0) }, objectURI: uri, file: file)
    }
}

/// A column whose values are expected to be preserved.
private struct ColumnComparison {
    /// The attribute in the new model.
    let attribute: Attribute
    /// The column of the new table.
    let wanted: String
    /// Whether nulls are expected to be replaced by the default value.
    let fillsNull: Bool
    /// The SQL expression for the expected value over the former row, without the default.
    private let value: String

    /// Creates the comparison, or nil if the values are not expected to be preserved.
    init?(_ pair: PropertyPair, _ former: TableSchema, _ wanted: TableSchema) {
        guard let from = pair.source as? Attribute, let to = pair.destination as? Attribute, to.derivation == nil,
            let column = former.column(of: from)?.name, let wanted = wanted.column(of: to)?.name
        else { return nil }
        (attribute, self.wanted) = (to, wanted)
        value = ValueConversion(from: from, to: to).expression(column)
        fillsNull = from.isOptional && !to.isOptional && !to.defaultValue.isNull
    }

    func expected(parameter: Int) -> String { fillsNull ? "ifnull(\(value), ?\(parameter))" : value }
}

/// An entity of both models whose objects are expected to be preserved.
private struct EntityComparison {
    /// The name in the new model.
    let name: String
    let formerTable: String
    let formerNumber: Int64
    let wantedTable: String
    let wantedNumber: Int64
    let columns: [ColumnComparison]

    init?(_ pair: EntityPair, _ plan: MigrationPlan) {
        guard let source = pair.source, let destination = pair.destination else { return nil }
        let (former, wanted) = (plan.former.table(of: source), plan.wanted.table(of: destination))
        name = destination.name
        (formerTable, formerNumber) = (former.name, plan.former.number(of: source))
        (wantedTable, wantedNumber) = (wanted.name, plan.wanted.number(of: destination))
        columns = pair.properties.compactMap { ColumnComparison($0, former, wanted) }
    }
}

/// A relationship whose pairs are expected to be preserved if both objects are.
private struct PairComparison {
    /// The parts of the statements for one of the two models.
    struct Side {
        /// The measured columns of each pair.
        let columns: String
        /// The pairs whose objects are both preserved.
        let preserved: String
        /// The pairs with a missing object.
        let dangling: String
        /// The references whose entity number differs from that of their target.
        ///
        /// nil if the relationship does not store entity numbers.
        let mismatched: String?
    }

    let relationship: Relationship
    let former: Side
    let wanted: Side

    static func all(_ plan: MigrationPlan) -> [PairComparison] {
        plan.mapping.destination.entities.flatMap(\.ownRelationships).compactMap { relationship in
            if relationship.isTransient { return nil }
            if relationship.isToMany, let inverse = relationship.inverse, !inverse.isTransient {
                // The column of the inverse contains the pairs.
                if !inverse.isToMany { return nil }
                guard plan.wanted.joins.contains(where: { $0.naming === relationship }) else { return nil }
            }
            return PairComparison(relationship, plan)
        }
    }

    private init?(_ relationship: Relationship, _ plan: MigrationPlan) {
        let mapping = plan.mapping
        guard let former = LinkOrigin(of: relationship, mapping: mapping, former: plan.former)?.query,
            let wanted = LinkOrigin.pairs(of: relationship, in: plan.wanted),
            let owners = mapping.sourceRoot(ofTree: relationship.entity.root),
            let members = mapping.sourceRoot(ofTree: relationship.destination.root)
        else { return nil }
        self.relationship = relationship
        let columns = PairComparison.columns(of: relationship, mapping)
        func numbers(_ root: Entity, _ target: Entity) -> String {
            root.withDescendants.filter { mapping.destination(of: $0)?.isKind(of: target) == true }
                .map { plan.former.number(of: $0) }.joinedText
        }
        let origins = PairComparison.origins(of: relationship, mapping)
        self.former = Side(
            columns: columns,
            preserved: PairComparison.preserved(
                former, (plan.former.table(of: owners).name, numbers(owners, relationship.entity)),
                (plan.former.table(of: members).name, numbers(members, relationship.destination))),
            dangling: PairComparison.dangling(
                former, plan.former.table(of: origins?.owners ?? owners).name,
                plan.former.table(of: origins?.members ?? members).name),
            mismatched: LinkOrigin.source(of: relationship, mapping).flatMap {
                PairComparison.mismatched($0, plan.former)
            })
        let (ownerTable, memberTable) = (
            plan.wanted.table(of: relationship.entity).name, plan.wanted.table(of: relationship.destination).name
        )
        func family(_ entity: Entity) -> String {
            entity.withDescendants.map { plan.wanted.number(of: $0) }.joinedText
        }
        self.wanted = Side(
            columns: columns,
            preserved: PairComparison.preserved(
                wanted, (ownerTable, family(relationship.entity)), (memberTable, family(relationship.destination))),
            dangling: PairComparison.dangling(wanted, ownerTable, memberTable),
            mismatched: PairComparison.mismatched(relationship, plan.wanted))
    }

    /// Returns the former entities of both sides, or nil if neither the relationship nor its inverse existed.
    private static func origins(
        of relationship: Relationship, _ mapping: ModelMapping
    ) -> (owners: Entity, members: Entity)? {
        if let source = LinkOrigin.source(of: relationship, mapping) { return (source.entity, source.destination) }
        guard let inverse = relationship.inverse, let source = LinkOrigin.source(of: inverse, mapping) else {
            return nil
        }
        return (source.destination, source.entity)
    }

    /// Returns the columns with the primary keys of both objects, and those with order keys that are preserved.
    private static func columns(of relationship: Relationship, _ mapping: ModelMapping) -> String {
        var columns = ["owner", "member"]
        let own = LinkOrigin.sources(of: relationship, mapping)
        guard own.count == 1, let source = own.first else { return columns.joined(separator: ", ") }
        if relationship.isToMany, relationship.isOrdered, source.isToMany, source.isOrdered {
            columns.append("member_order")
        }
        if let inverse = relationship.inverse, inverse.isToMany, inverse.isOrdered, inverse !== relationship,
            let former = source.inverse, former.isToMany, former.isOrdered, former !== source,
            LinkOrigin.sources(of: inverse, mapping).contains(where: { $0 === former })
        {
            columns.append("owner_order")
        }
        return columns.joined(separator: ", ")
    }

    private static func preserved(
        _ pairs: String, _ owners: (table: String, numbers: String), _ members: (table: String, numbers: String)
    ) -> String {
        func exists(_ column: String, _ side: (table: String, numbers: String)) -> String {
            "EXISTS (SELECT 1 FROM \(side.table) t WHERE t.Z_PK = p.\(column) AND t.Z_ENT IN (\(side.numbers)))"
        }
        return "FROM (\(pairs)) p WHERE \(exists("owner", owners)) AND \(exists("member", members))"
    }

    private static func dangling(_ pairs: String, _ owners: String, _ members: String) -> String {
        "FROM (\(pairs)) p WHERE p.owner IS NOT NULL AND p.member IS NOT NULL AND ("
            + "NOT EXISTS (SELECT 1 FROM \(owners) t WHERE t.Z_PK = p.owner) "
            + "OR NOT EXISTS (SELECT 1 FROM \(members) t WHERE t.Z_PK = p.member))"
    }

    private static func mismatched(_ relationship: Relationship, _ schema: StoreSchema) -> String? {
        let table = schema.table(of: relationship.entity)
        guard !relationship.isToMany, let column = table.column(of: relationship)?.name,
            let number = table.targetEntityColumn(of: relationship)?.name
        else { return nil }
        return
            "FROM \(table.name) t JOIN \(schema.table(of: relationship.destination).name) m ON m.Z_PK = t.\(column) "
            + "WHERE t.\(number) IS NOT m.Z_ENT"
    }
}
