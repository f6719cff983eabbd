import CorestoneModel
import CorestonePredicate
import CorestoneValues

extension PredicateCompiler {
    /// Compiles a collection operator, such as `collection.@count`.
    ///
    /// - Parameter rest: The keys to the right of the operator.
    mutating func aggregate(
        _ operation: CollectionOperator, _ collection: MemberCollection, _ rest: ArraySlice<KeyName>,
        _ environment: Environment
    ) throws -> Operand {
        guard case .toMany(let path) = try resolve(collection.keys, collection.scope),
            collection.filters.isEmpty || path.rest.isEmpty
        else { throw NotExpressible("\(operation.rawValue) of \"\(collection.format)\" is computed in memory") }
        let members = try rows(collection, path, required: [], environment)
        // For a count, each member is one element, regardless of the values of its keys.
        let elements = path.rest + collection.tail
        if operation == .count, case .toMany = try resolve(elements, members.rows.scope) {
            throw NotExpressible(
                "\"\(collection.format)\" spans several relationships and is counted in memory")
        }
        var operand = try aggregate(
            operation, members.rows, operation == .count ? [] : elements + rest, members.condition, collection.format)
        if path.ownerIsNullable, collection.filters.isEmpty {
            // If the owner is nil, the result is nil, even for a count. A subquery of nil is an empty collection.
            operand.sql = "CASE WHEN \(path.owner) IS NULL THEN NULL ELSE \(operand.sql) END"
            operand.isNullable = true
            operand.existence = nil
        }
        return operand
    }

    private mutating func aggregate(
        _ operation: CollectionOperator, _ members: MemberTables, _ keys: ArraySlice<KeyName>, _ condition: Condition,
        _ format: String
    ) throws -> Operand {
        if operation == .count {
            if condition.constant == true, let pairs = members.pairs {
                return Operand(
                    sql: "(SELECT COUNT(*) FROM \(pairs.table) WHERE \(pairs.link))", kind: .integer, isNullable: false,
                    existence: "EXISTS (SELECT 1 FROM \(pairs.table) WHERE \(pairs.link))")
            }
            return Operand(
                sql: "(\(members.select("COUNT(*)", where: condition)))", kind: .integer, isNullable: false,
                existence: "EXISTS (\(members.select("1", where: condition)))")
        }
        guard case .attribute(let value) = try resolve(keys, members.scope) else {
            throw NotExpressible("\(operation.rawValue) of \"\(format)\" is computed in memory")
        }
        let operand = try self.column(value)
        let (column, kind) = (value.sql, operand.kind)
        func selected(
            _ result: SQLFragment, _ kind: Operand.Kind, isNullable: Bool = false, form: Operand.Form = .plain
        ) -> Operand {
            Operand(
                sql: "(\(members.select(result, where: condition)))", kind: kind, isNullable: isNullable, form: form)
        }
        switch operation {
        case .sum, .average:
            guard kind.isNumber else {
                // The path includes the keys after the attribute, as in `uri.absoluteString`.
                let path = ([value.attribute.path] + value.rest.map(\.text)).joined(separator: ".")
                let entity = value.attribute.entity.name
                throw CoreError(
                    .predicate, "\(operation.rawValue) takes numbers, but \(entity).\(path) is \(kind.name)",
                    entity: entity, key: path)
            }
            if kind == .decimal {
                throw NotExpressible(
                    "\(operation.rawValue) of \(operand.attributeName ?? "\"\(format)\""), a decimal, is exact only "
                        + "in memory")
            }
            if operation == .sum { return selected(operand.sum, .number) }
            // Nil counts as 0, and the average of an empty collection is 0.
            let total: SQLFragment = kind == .real ? "TOTAL(\(column))" : "CAST(\(operand.sum) AS REAL)"
            return selected("COALESCE(\(total) / COUNT(*), 0.0)", .real)
        case .minimum: return selected("MIN(\(column))", kind, isNullable: true, form: operand.form)
        case .maximum: return selected("MAX(\(column))", kind, isNullable: true, form: operand.form)
        default:
            throw NotExpressible(
                "\(operation.rawValue) of \(operand.attributeName ?? "\"\(format)\"") is computed in memory")
        }
    }
}
