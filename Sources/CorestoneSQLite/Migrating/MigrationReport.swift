import CorestoneGraph
import CorestoneModel
import CorestonePredicate
import CorestoneValues

/// The report of a planned migration.
///
/// For each entity, it lists added, removed, renamed and filled properties, the number of objects, and lost values.
/// Creating the report does not change the store.
public struct MigrationReport: Sendable {
    public struct EntityReport: Sendable {
        /// The name in the store's model; nil for an added entity.
        public let source: String?
        /// The name in the new model; nil for a removed entity.
        public let destination: String?
        public let kind: EntityPair.Kind
        /// The number of objects of this entity, without those of its subentities.
        public let objects: Int
        public let added: [String]
        public let removed: [String]
        /// The former and new names of renamed properties.
        public let renamed: [(from: String, to: String)]
        /// The attributes whose default value is written to existing objects.
        public let filled: [String]
        public let typeChanges: [String]
        /// The number of non-null values of removed attributes, and of pairs of removed relationships, by property.
        public let lostValues: [(attribute: String, count: Int)]
    }

    /// Whether the store must be migrated; false if it already has the model.
    public let isNeeded: Bool
    public let entities: [EntityReport]
    /// The steps of mapping models or stages that recreate the objects, one line per step. A report with steps does not
    /// have entities, problems and statements. Empty for a migration with an inferred mapping.
    public let steps: [String]
    public let warnings: [String]
    /// The errors with which the migration would fail: objects, values and pairs that the new model does not allow.
    public let problems: [CoreError]
    /// The SQL statements in their order. Those for the history, indexes, triggers, metadata and the model are left
    /// out, because they are computed during the migration.
    public let statements: [String]

    public var lostObjects: Int { entities.filter { $0.kind == .remove }.reduce(0) { $0 + $1.objects } }
    /// The entities and properties (as `Entity.property`) that inferred steps of a chain or of stages remove. Their
    /// values are not counted.
    private let removals: [String]

    /// Whether objects or values are lost, or may be lost because a chain or stages remove entities or properties.
    public var losesData: Bool {
        lostObjects > 0 || !removals.isEmpty || entities.contains { $0.lostValues.contains { $0.count > 0 } }
    }
}

extension MigrationReport {
    /// The report for a store that already has the model.
    package static let unneeded = MigrationReport()

    private init() {
        (isNeeded, entities, steps, removals) = (false, [], [], [])
        (warnings, problems, statements) = ([], [], [])
    }

    /// Plans the migration of the SQLite store at `path`, which is only read.
    ///
    /// - Throws: As the migration. Objects that the new model does not allow are `problems` instead.
    package init(ofStoreAt path: String, to model: Model, migration: MigrationOptions) throws {
        try model.freeze()
        let place = try StoreLocation(path)
        try place.requireStore()
        let connection = try ReadOnlyFile(place).connection
        let contents = try StoreContents(connection, place: place)
        guard contents.document.hashes != StoreDocument.versionHashes(of: model) else {
            self = .unneeded
            return
        }
        var options = StoreOptions()
        options.migration = migration
        let start = try StoreMigration(
            connection: connection, place: place, model: model, options: options, migration: migration
        ).start(contents)
        isNeeded = true
        let plan: MigrationPlan
        switch start.method {
        case .mapping(let mapping): plan = start.plan(mapping, migration)
        case .route(let route):
            // The objects cannot be examined before the route has run.
            (entities, steps, problems, statements) = ([], route.steps, [], [])
            removals = route.removals
            warnings = removals.map { "a step removes \($0), whose values are lost" }
            return
        }
        (steps, removals) = ([], [])
        warnings = plan.mapping.warnings
        entities = try plan.mapping.entities.map { try EntityReport($0, plan, connection) }
        let functions = try MigrationFunctions(
            connection, mapping: plan.mapping, former: plan.former,
            externalFolder: ExternalFile.folder(ofStore: place.path))
        defer { functions.end() }
        let checks = MigrationChecks(plan: plan, connection: connection, uuid: contents.document.identifier)
        do { problems = try checks.problems() + checks.equalObjects() } catch { throw functions.takeFailure() ?? error }
        statements = plan.statements
    }
}

extension MigrationReport.EntityReport {
    fileprivate init(_ pair: EntityPair, _ plan: MigrationPlan, _ connection: Connection) throws {
        source = pair.source?.name
        destination = pair.destination?.name
        kind = pair.kind
        added = pair.added.map(\.path)
        removed = pair.removed.map(\.path)
        renamed = pair.properties.filter(\.isRenamed).map { ($0.source.path, $0.destination.path) }
        typeChanges = pair.properties.compactMap { property in
            property.typeChange.map { "\(property.destination.path): \($0.from.displayName) -> \($0.to.displayName)" }
        }
        filled =
            pair.source == nil
            ? []
            : pair.added.filter { ($0 as? Attribute).map { !$0.defaultValue.isNull && $0.derivation == nil } ?? false }
                .map(\.path)
        guard let former = pair.source else {
            (objects, lostValues) = (0, [])
            return
        }
        let table = plan.former.table(of: former)
        let condition = "Z_ENT = \(plan.former.number(of: former))"
        func count(_ table: String, _ condition: String) throws -> Int {
            let purpose = "plan a migration of \(connection.path)"
            let statement = try connection.prepare("SELECT count(*) FROM \(table) WHERE \(condition)", purpose)
            return try statement.step(purpose) ? Int(clamping: statement.integer(0)) : 0
        }
        objects = try count(table.name, condition)
        lostValues = try pair.removed.compactMap { property in
            guard pair.destination != nil else { return nil }
            if let column = table.column(of: property)?.name {
                return (property.path, try count(table.name, "\(condition) AND \(column) IS NOT NULL"))
            }
            guard let relationship = property as? Relationship, relationship.isToMany, relationship.entity === former,
                let pairs = plan.lostPairs(of: relationship)
            else { return nil }
            return (property.path, try count(pairs.table, pairs.condition))
        }
    }
}

extension MigrationPlan {
    /// Returns the rows with the pairs that are lost with a removed to-many relationship; nil if no pairs are lost.
    ///
    /// A column in the members' table is counted with the to-one relationship to which it belongs.
    fileprivate func lostPairs(of relationship: Relationship) -> (table: String, condition: String)? {
        if isKept(relationship) { return nil }
        if let inverse = relationship.inverse {
            if isKept(inverse) { return nil }
            return former.joins.first { $0.naming === relationship }.map { ($0.name, "TRUE") }
        }
        switch former.storage(of: relationship) {
        case .foreignKey(let members, let column, _, _)?: return (members.name, "\(column) IS NOT NULL")
        case .joinTable(let pairs, _, _, _, _)?: return (pairs, "TRUE")
        case nil: return nil
        }
    }

    /// Whether an entity, possibly only a subentity, keeps the relationship.
    private func isKept(_ relationship: Relationship) -> Bool {
        mapping.entities.contains { $0.pair(from: relationship) != nil }
    }

    /// The statements for the report, with literals instead of parameters.
    var statements: [String] {
        linkCopyStatements + removalStatements + structureStatements + numberStatements
            + tables.flatMap { table in
                table.defaults.map { fill in
                    let text = table.statement(fill)
                    let literal = fill.attribute.defaultValue.literal
                    return text.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false).joined(
                        separator: literal)
                }
            } + linkStatements
    }
}

extension PropertyValue {
    /// The value as an SQL literal.
    var literal: String {
        switch self {
        case .bool(let flag): flag ? "1" : "0"
        case .int(let number): "\(number)"
        case .double(let number), .date(let number): "\(number)"
        case .decimal(let number): number.description
        case .text(let text), .uri(let text):
            "'" + text.string.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "''") + "'"
        case .uuid(let uuid): "x'\(uuid.description.filter { $0 != "-" })'"
        case .bytes(let bytes): "x'\(PropertyValue.hexadecimal(bytes.rawBytes))'"
        default: "NULL"
        }
    }
}

extension MigrationReport {
    /// Returns the report as a JSON value.
    ///
    /// Its keys are `needed`, `losesData`, `entities`, `steps`, `warnings`, `problems` and, if requested, `statements`.
    public func report(withStatements: Bool = true) -> PropertyValue {
        func texts(_ list: [String]) -> PropertyValue { .array(list.map { .string($0) }) }
        let entities = entities.map { entity -> PropertyValue in
            .dictionary([
                "source": entity.source.map { .string($0) } ?? .null,
                "destination": entity.destination.map { .string($0) } ?? .null,
                "kind": .string("\(entity.kind)"), "objects": .int(Int64(entity.objects)), "added": texts(entity.added),
                "removed": texts(entity.removed), "filled": texts(entity.filled),
                "typeChanges": texts(entity.typeChanges),
                "renamed": .array(
                    entity.renamed.map { .dictionary(["from": .string($0.from), "to": .string($0.to)]) }),
                "lostValues": .array(
                    entity.lostValues.map {
                        .dictionary(["attribute": .string($0.attribute), "count": .int(Int64($0.count))])
                    }),
            ])
        }
        var report: [String: PropertyValue] = [
            "needed": .bool(isNeeded), "losesData": .bool(losesData), "entities": .array(entities),
            "steps": texts(steps), "warnings": texts(warnings),
            "problems": .array(
                problems.map {
                    .dictionary([
                        "message": .string($0.message), "entity": $0.entity.map { .string($0) } ?? .null,
                        "key": $0.key.map { .string($0) } ?? .null, "code": .int(Int64($0.code)),
                        "object": $0.objectURI.map { .string($0) } ?? .null,
                    ])
                }),
        ]
        if withStatements { report["statements"] = texts(statements) }
        return .dictionary(report)
    }
}
