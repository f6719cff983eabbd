import CSQLite
import CorestoneGraph
import CorestoneModel
import CorestoneValues

/// The checks of a store's rows before or during a migration.
///
/// Each failure is an error that names the entity and, where they apply, the key and the object.
struct MigrationChecks {
    let plan: MigrationPlan
    let connection: Connection
    let uuid: String

    /// The maximum number of objects or values that one error lists.
    static let maximumDetails = 100

    var path: String { connection.path }
    var purpose: String { "migrate \(path)" }

    /// Finds objects, values and pairs that the new model does not allow.
    ///
    /// Must be called before the migration changes the store.
    func problems() throws -> [CoreError] {
        try takenColumns() + missingValues() + abstractRows() + inexactValues() + lostPairs()
    }

    /// Finds columns of other programs with the name of a column of the new model.
    private func takenColumns() -> [CoreError] {
        plan.tables.flatMap { table -> [CoreError] in
            table.foreignColumns.compactMap { foreign in
                let name = foreign.name.uppercased()
                guard let column = table.table.columns.first(where: { $0.name == name }) else { return nil }
                let property = column.property
                return CoreError(
                    .migration, code: .migration,
                    "\(property.entity.name).\(property.path) needs the column \(column.name), but "
                        + "\(table.formerTable?.name ?? table.table.name) has a column of that name from another "
                        + "program; rename or drop that column", entity: property.entity.name, key: property.path,
                    file: path)
            }
        }
    }

    /// Throws if there are problems. Must be called before the migration changes the store.
    func before() throws {
        let failures = try problems()
        guard let first = failures.first else { return }
        // Each check reports at most this number of problems.
        let limit = MigrationChecks.maximumDetails
        let reason =
            failures.count == 1
            ? ": \(first.message)"
            : " because of \(failures.count < limit ? "\(failures.count)" : "at least \(limit)") problems. The details "
                + "list \(failures.count < limit ? "them" : "the first \(limit)"). The first: \(first.message)"
        throw CoreError(
            .migration, code: .migration, "cannot migrate \(path)\(reason)",
            entity: first.entity, key: first.key, value: first.value, objectURI: first.objectURI,
            children: Array(failures.prefix(limit)), file: path)
    }

    /// Finds required attributes for which rows would not have a value.
    private func missingValues() throws -> [CoreError] {
        var failures: [CoreError] = []
        for table in plan.tables {
            guard let formerTable = table.formerTable else { continue }
            for column in table.table.columns where column.role == .attribute {
                guard let attribute = column.property as? Attribute, !attribute.isOptional, attribute.derivation == nil,
                    attribute.defaultValue.isNull
                else { continue }
                var numbers: [Int64] = []
                var nullable: [String: [Int64]] = [:]
                for entity in table.table.entities {
                    guard let former = plan.mapping.source(of: entity),
                        entity.property(named: attribute.path) === attribute
                    else { continue }
                    guard let source = plan.mapping.pair(to: entity).pair(to: attribute)?.source else {
                        numbers.append(plan.former.number(of: former))
                        continue
                    }
                    if source.isOptional, let name = formerTable.column(of: source)?.name {
                        nullable[name, default: []].append(plan.former.number(of: former))
                    }
                }
                var conditions = numbers.isEmpty ? [] : ["Z_ENT IN (\(numbers.joinedText))"]
                conditions += nullable.sorted { byteOrder($0.key, $1.key) }.map {
                    "\($0.key) IS NULL AND Z_ENT IN (\($0.value.joinedText))"
                }
                guard !conditions.isEmpty else { continue }
                let count = try count(formerTable, conditions)
                if count > 0 { failures.append(missing(attribute, count)) }
            }
        }
        return failures
    }

    private func count(_ table: TableSchema, _ conditions: [String]) throws -> Int64 {
        let text = "SELECT count(*) FROM \(table.name) WHERE \(conditions.map { "(\($0))" }.joined(separator: " OR "))"
        let statement = try connection.prepare(text, purpose)
        defer { statement.reset() }
        return try statement.step(purpose) ? statement.integer(0) : 0
    }

    private func missing(_ attribute: Attribute, _ count: Int64) -> CoreError {
        let objects = count == 1 ? "1 object does" : "\(count) objects do"
        return CoreError(
            .migration, code: .migration,
            "\(attribute.entity.name).\(attribute.path) is required, but \(objects) not have a value; set a "
                + "default value, or make the attribute optional", entity: attribute.entity.name, key: attribute.path,
            children: [
                CoreError(
                    .validation, code: .validationMissingMandatoryProperty,
                    "\(attribute.entity.name).\(attribute.path) is required and does not have a value; set a "
                        + "default value, or make the attribute optional",
                    entity: attribute.entity.name,
                    key: attribute.path, file: path)
            ], file: path)
    }

    /// Finds objects of entities that are abstract in the new model.
    private func abstractRows() throws -> [CoreError] {
        var failures: [CoreError] = []
        for pair in plan.mapping.entities {
            guard let former = pair.source, let entity = pair.destination, entity.isAbstract, !former.isAbstract else {
                continue
            }
            let count = try count(plan.former.table(of: former), ["Z_ENT = \(plan.former.number(of: former))"])
            if count == 0 { continue }
            let remedy =
                count == 1
                ? "delete the object first, or replace it with an object of a subentity"
                : "delete the objects first, or replace them with objects of a subentity"
            failures.append(
                CoreError(
                    .migration, code: .migration,
                    "\(entity.name) is abstract in the new model, but the store has \(count) "
                        + "\(count == 1 ? "object" : "objects") of \(former.name); \(remedy)",
                    entity: entity.name, file: path))
        }
        return failures
    }

    /// Finds values that a change of the attribute's type cannot convert exactly.
    private func inexactValues() throws -> [CoreError] {
        var failures: [CoreError] = []
        for pair in plan.mapping.entities {
            guard let former = pair.source, pair.destination != nil else { continue }
            for property in pair.properties {
                guard let (from, to) = property.typeChange,
                    let column = plan.former.table(of: former).column(of: property.source)?.name
                else { continue }
                let table = plan.former.table(of: former)
                let statement = try connection.prepare(
                    "SELECT Z_PK, substr(CAST(\(column) AS TEXT), 1, 101) FROM \(table.name) "
                        + "WHERE \(column) IS NOT NULL AND Z_ENT = \(plan.former.number(of: former)) AND "
                        + "\(MigrationFunctions.conversion)(\(column), \(from.rawValue), \(to.rawValue)) IS NULL "
                        + "LIMIT \(MigrationChecks.maximumDetails)", purpose)
                while try statement.step(purpose) {
                    let (key, text) = (statement.integer(0), statement.text(1) ?? "")
                    let isCut = text.count > 100
                    let start = isCut ? "\(text.prefix(100))…" : text
                    let shown = from == .string || from == .uri ? "\"\(start)\"" : start
                    failures.append(
                        CoreError(
                            .migration, code: .migration,
                            "\(former.name).\(property.source.path) has the value \(shown) (\(from.displayName)) in "
                                + "\(former.name)/p\(key), but \(to.displayName) cannot hold it exactly; change the value first",
                            entity: former.name,
                            key: property.source.path, value: isCut ? nil : .string(text), objectURI: uri(former, key),
                            file: path))
                }
            }
        }
        return failures
    }

    func uri(_ entity: Entity, _ key: Int64) -> String { "x-coredata://\(uuid)/\(entity.name)/p\(key)" }
}
