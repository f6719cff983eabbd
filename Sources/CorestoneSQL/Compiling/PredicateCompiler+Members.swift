import CorestoneModel
import CorestonePredicate
import CorestoneValues

/// The members of a to-many relationship as rows of a subselect.
struct MemberRows {
    let scope: Scope
    /// The tables, without those that the scope joins later.
    let tables: SQLFragment
    /// What ties them to the owner.
    let link: SQLFragment
    /// The table of pairs alone, for counting without looking at members.
    let pairs: (table: SQLFragment, link: SQLFragment)?

    func select(_ result: SQLFragment, where condition: Condition?) -> SQLFragment {
        var sql: SQLFragment = "SELECT \(result) FROM \(tables)\(scope.joins) WHERE \(link)"
        if let condition, condition.constant != true {
            sql += " AND \(condition.isConjunct ? condition.sql : condition.operand)"
        }
        return sql
    }
}

extension PredicateCompiler {
    /// Opens the members of a relationship.
    ///
    /// - Parameter required: the to-one paths of the members that have to lead somewhere.
    mutating func rows(_ path: MemberPath, required: Set<String>) throws -> MemberRows {
        let mapping = try schema.mapping(of: path.relationship.destination)
        let scope = Scope(mapping, alias: newAlias(), required: required)
        let member = scope.alias
        let table: SQLFragment = "\(identifier: mapping.table) \(member)"
        switch path.mapping {
        case .inverseColumn(_, let column, _):
            return MemberRows(scope: scope, tables: table, link: "\(member, column) = \(path.owner)", pairs: nil)
        case .joinTable(let join, let ownerColumn, let memberColumn, _):
            let pair = newAlias()
            let pairs: SQLFragment = "\(identifier: join) \(pair)"
            let link: SQLFragment = "\(pair, ownerColumn) = \(path.owner)"
            return MemberRows(
                scope: scope, tables: "\(pairs) JOIN \(table) ON \(member, "Z_PK") = \(pair, memberColumn)", link: link,
                pairs: (pairs, link))
        case .symmetricJoinTable(let join, let first, let second):
            let link: SQLFragment =
                """
                \(member, "Z_PK") IN (SELECT \(identifier: second) FROM \(identifier: join) WHERE \(identifier: first) = \
                \(path.owner) UNION ALL SELECT \(identifier: first) FROM \(identifier: join) WHERE \(identifier: second) = \
                \(path.owner))
                """
            return MemberRows(scope: scope, tables: table, link: link, pairs: nil)
        }
    }

    // MARK: ANY and ALL

    /// ANY asks whether such a member exists; ALL whether none exists for which it does not hold.
    mutating func quantified(_ comparison: Comparison, _ environment: Environment) throws -> Condition {
        guard let (scope, keys) = path(comparison.left, environment) else {
            throw NotExpressible("\(comparison.left.format) is computed in memory")
        }
        let isAny = comparison.modifier == .any
        let direct = Comparison(
            .variable("member"), comparison.operator, comparison.right, options: comparison.options)
        let any = try anyMember(keys, scope, environment, comparison, isOutermost: true) { compiler, operand in
            let condition = try compiler.compareMember(operand, direct, environment)
            return isAny ? condition : compiler.negation(condition)
        }
        return isAny ? any : negation(any)
    }

    /// Whether a member that the keys lead to satisfies the test; through further to-many relationships too.
    private mutating func anyMember(
        _ keys: ArraySlice<KeyName>, _ scope: Scope, _ environment: Environment, _ comparison: Comparison,
        isOutermost: Bool,
        test: (inout PredicateCompiler, Operand) throws -> Condition
    ) throws -> Condition {
        if keys.contains(where: { $0.collectionOperator != nil }) {
            throw NotExpressible("\(comparison.left.format) is computed in memory")
        }
        let resolved = try resolve(keys, scope)
        guard case .toMany(let path) = resolved else {
            guard isOutermost else { return try test(&self, try operand(resolved)) }
            throw CoreError(
                .predicate,
                "the left side of \(comparison.modifier == .all ? "ALL" : "ANY") must be a collection; "
                    + "\(comparison.left.format) leads to one value: leave the word out",
                entity: scope.mapping.entity.name, key: comparison.left.format)
        }
        let rest = Comparison(
            .keyPath(KeyPath(keys: Array(path.rest))), comparison.operator, comparison.right,
            options: comparison.options)
        let required =
            comparison.modifier == .any && !path.rest.isEmpty
            ? NullRejection(variable: nil).required(.comparison(rest)) : []
        let members = try rows(path, required: required)
        let condition = try anyMember(
            path.rest, members.scope, environment, comparison, isOutermost: false, test: test)
        if condition.constant == false { return .constant(false) }
        return Condition(sql: "EXISTS (\(members.select("1", where: condition)))", isTwoValued: true)
    }

    /// The comparison of one member's value with the right side.
    private mutating func compareMember(
        _ member: Operand, _ comparison: Comparison, _ environment: Environment
    ) throws -> Condition {
        switch comparison.operator {
        case .equal, .notEqual, .less, .lessOrEqual, .greater, .greaterOrEqual:
            return try compare(member, comparison.operator, try operand(comparison.right, environment), comparison)
        case .between: return try between(member, comparison, environment)
        case .in: return try membership(of: member, in: comparison.right, comparison, environment)
        case .contains:
            return try substring(try operand(comparison.right, environment), in: member, comparison)
        case .beginsWith, .endsWith, .like, .matches, .utiEquals:
            return try strings(member, try operand(comparison.right, environment), comparison)
        case .tokenMatches, .utiConformsTo, .custom:
            throw NotExpressible("\(comparison.operator.symbol) has no meaning in SQL")
        }
    }

    /// Whether the operand, which is not nil, is among the values that a to-many path leads to.
    mutating func isMember(
        _ element: Operand, of keys: ArraySlice<KeyName>, _ scope: Scope, _ comparison: Comparison,
        _ environment: Environment
    ) throws -> Condition {
        if element.kind == .null { return .constant(false) }
        let equality = Comparison(comparison.left, .equal, comparison.right, modifier: .any)
        return try anyMember(keys, scope, environment, equality, isOutermost: true) { compiler, member in
            guard member.kind.suits(element.kind) else { return .constant(false) }
            return Condition(sql: "\(member.sql) = \(element.sql)")
        }
    }
}

// MARK: - Aggregates

extension PredicateCompiler {
    /// `collection.@count` and its like, where the collection is an expression.
    mutating func aggregate(
        _ operation: CollectionOperator, of collection: Expression, _ rest: ArraySlice<KeyName>,
        _ environment: Environment,
        filter: (name: String, condition: Predicate)?
    ) throws -> Operand {
        guard let (scope, keys) = path(collection, environment) else {
            throw NotExpressible("\(collection.format) is computed in memory")
        }
        return try aggregate(operation, scope, keys, rest, environment, filter: filter)
    }

    mutating func aggregate(
        _ operation: CollectionOperator, _ scope: Scope, _ keys: ArraySlice<KeyName>, _ rest: ArraySlice<KeyName>,
        _ environment: Environment, filter: (name: String, condition: Predicate)?
    ) throws -> Operand {
        guard case .toMany(let path) = try resolve(keys, scope), path.rest.isEmpty else {
            throw NotExpressible("\(operation.rawValue) of anything but one to-many relationship is computed in memory")
        }
        let required = filter.map { NullRejection(variable: $0.name).required($0.condition) } ?? []
        let members = try rows(path, required: required)
        var condition: Condition?
        if let filter {
            var inner = environment
            inner.variables[filter.name] = members.scope
            condition = try self.condition(filter.condition, inner)
        }
        var operand = try aggregate(operation, members, rest, condition)
        if path.ownerIsNullable {
            // Nil has no members, and a count of nil is nil, not 0; a subquery of nil is empty.
            if filter == nil {
                operand.sql = "CASE WHEN \(path.owner) IS NULL THEN NULL ELSE \(operand.sql) END"
                operand.isNullable = true
                operand.existence = nil
            }
        }
        return operand
    }

    private mutating func aggregate(
        _ operation: CollectionOperator, _ members: MemberRows, _ rest: ArraySlice<KeyName>, _ condition: Condition?
    ) throws -> Operand {
        if operation == .count {
            let isBare = condition == nil || condition?.constant == true
            if isBare, let pairs = members.pairs {
                return Operand(
                    sql: "(SELECT COUNT(*) FROM \(pairs.table) WHERE \(pairs.link))", kind: .integer, isNullable: false,
                    existence: "EXISTS (SELECT 1 FROM \(pairs.table) WHERE \(pairs.link))")
            }
            return Operand(
                sql: "(\(members.select("COUNT(*)", where: condition)))", kind: .integer, isNullable: false,
                existence: "EXISTS (\(members.select("1", where: condition)))")
        }
        guard case .attribute(let column, let attribute) = try resolve(rest, members.scope) else {
            throw NotExpressible("\(operation.rawValue) of objects is computed in memory")
        }
        let kind = try self.column(column, attribute).kind
        switch operation {
        case .sum, .average:
            guard kind == .integer || kind == .real else {
                throw NotExpressible("\(operation.rawValue) of \(attribute.name) is exact in memory only")
            }
            if operation == .sum {
                let zero: SQLFragment = kind == .integer ? "0" : "0.0"
                return Operand(
                    sql: "(\(members.select("COALESCE(SUM(\(column)), \(zero))", where: condition)))", kind: kind,
                    isNullable: false)
            }
            // Nil counts as 0, and the average of nothing is 0.
            return Operand(
                sql: "(\(members.select("COALESCE(TOTAL(\(column)) / COUNT(*), 0.0)", where: condition)))", kind: .real,
                isNullable: false)
        case .minimum, .maximum:
            let result: SQLFragment = operation == .minimum ? "MIN(\(column))" : "MAX(\(column))"
            return Operand(sql: "(\(members.select(result, where: condition)))", kind: kind)
        default: throw NotExpressible("\(operation.rawValue) is computed in memory")
        }
    }
}
