import CorestoneModel
import CorestonePredicate
import CorestoneValues

/// The members of a to-many relationship as rows of a subselect.
struct MemberTables {
    let scope: Scope
    /// The tables, without those that the scope joins later.
    let tables: SQLFragment
    /// The condition that selects the members of the owner.
    let link: SQLFragment
    /// The join table alone, for counts that do not read the members' rows.
    ///
    /// nil without a join table, and for the join table of a relationship that is its own inverse.
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
    /// Returns the members of a relationship as rows with a new alias.
    ///
    /// - Parameter required: The to-one paths from a member that must not be nil.
    mutating func rows(_ path: MemberPath, required: Set<String>) throws -> MemberTables {
        let mapping = try schema.mapping(of: path.relationship.destination)
        let scope = Scope(mapping, alias: newAlias(), required: required)
        let member = scope.alias
        let table: SQLFragment = "\(identifier: mapping.table) \(member)"
        switch path.mapping {
        case .inverseColumn(_, let column, _):
            return MemberTables(scope: scope, tables: table, link: "\(member, column) = \(path.owner)", pairs: nil)
        case .joinTable(let join, let ownerColumn, let memberColumn, _):
            let pair = newAlias()
            let pairs: SQLFragment = "\(identifier: join) \(pair)"
            let link: SQLFragment = "\(pair, ownerColumn) = \(path.owner)"
            return MemberTables(
                scope: scope, tables: "\(pairs) JOIN \(table) ON \(member, "Z_PK") = \(pair, memberColumn)", link: link,
                pairs: (pairs, link))
        case .symmetricJoinTable(let join, let first, let second):
            let link: SQLFragment =
                """
                \(member, "Z_PK") IN (SELECT \(identifier: second) FROM \(identifier: join) WHERE \(identifier: first) = \
                \(path.owner) UNION ALL SELECT \(identifier: first) FROM \(identifier: join) WHERE \(identifier: second) = \
                \(path.owner))
                """
            return MemberTables(scope: scope, tables: table, link: link, pairs: nil)
        }
    }

    /// Returns the members of a collection as rows, and the condition that combines those of its subqueries.
    mutating func rows(
        _ collection: MemberCollection, _ path: MemberPath, required: Set<String>, _ environment: Environment
    ) throws -> (rows: MemberTables, condition: Condition) {
        var required = required
        for filter in collection.filters {
            required.formUnion(NullRejection(variable: filter.name).required(filter.condition))
        }
        let members = try rows(path, required: required)
        let conditions = try collection.filters.map { filter in
            var inner = environment
            inner.variables[filter.name] = members.scope
            return try condition(filter.condition, inner)
        }
        return (members, chain(conditions, isAnd: true))
    }
}

/// The collection of an expression: the members at a to-many path, filtered by subqueries.
struct MemberCollection {
    let scope: Scope
    /// The path to the collection that the filters apply to.
    let keys: ArraySlice<KeyName>
    /// The subqueries around the path, innermost first.
    var filters: [(name: String, condition: Predicate)] = []
    /// The keys after a subquery, evaluated on each of its members.
    var tail: ArraySlice<KeyName> = []
    /// The expression, for messages.
    let format: String
}

extension PredicateCompiler {
    /// Returns the collection of members that an expression evaluates to, or nil if SQL cannot express it as one.
    mutating func members(_ expression: Expression, _ environment: Environment) throws -> MemberCollection? {
        switch expression {
        case .subquery(let inner, let name, let condition):
            guard var collection = try members(inner, environment), collection.tail.isEmpty else { return nil }
            collection.filters.append((name, condition))
            return collection
        case .path(.subquery, let path):
            guard case .path(let base, _) = expression, var collection = try members(base, environment),
                !path.keys.contains(where: { $0.collectionOperator != nil })
            else { return nil }
            collection.tail = path.keys[...]
            return collection
        default:
            guard let (scope, keys) = path(expression, environment),
                !keys.contains(where: { $0.collectionOperator != nil }), case .toMany = try resolve(keys, scope)
            else { return nil }
            return MemberCollection(scope: scope, keys: keys, format: expression.format)
        }
    }

    // MARK: ANY and ALL

    /// Compiles ANY and ALL. ANY is true if a member satisfies the comparison, ALL if every member does.
    mutating func quantified(_ comparison: Comparison, _ environment: Environment) throws -> Condition {
        let isAny = comparison.modifier == .any
        if let list = try constant(comparison.left, environment) {
            // A constant list is compared element by element.
            guard let elements = list.elements else {
                return .constant(try Predicate.comparison(comparison).evaluate(with: .null))
            }
            let parts = try elements.map { try compareMember(try operand($0), comparison, environment) }
            return chain(parts, isAnd: !isAny)
        }
        guard let collection = try members(comparison.left, environment) else {
            if let (scope, keys) = path(comparison.left, environment),
                !keys.contains(where: { $0.collectionOperator != nil })
            {
                _ = try operand(try resolve(keys, scope))
                throw singleValue(comparison, scope, keys)
            }
            throw NotExpressible("\"\(comparison.left.format)\" is computed in memory")
        }
        let any = try anyMember(collection, environment, comparison) { compiler, operand in
            let condition = try compiler.compareMember(operand, comparison, environment)
            return isAny ? condition : compiler.negation(condition)
        }
        return isAny ? any : negation(any)
    }

    /// Creates the error for a single value after a modifier.
    ///
    /// It names all modifiers that the parser maps to the comparison's modifier. In NOT IN, ANY is parsed as ALL.
    private func singleValue(_ comparison: Comparison, _ scope: Scope, _ keys: ArraySlice<KeyName>) -> CoreError {
        let entity = scope.mapping.entity.name
        let path = keys.map(\.text).joined(separator: ".")
        let name = keys.isEmpty ? "\(comparison.left.format) of \(entity)" : "\(entity).\(path)"
        let isAny = comparison.modifier == .any
        let modifiers = comparison.operator == .in ? "ANY, SOME, ALL or NONE" : isAny ? "ANY, SOME or NONE" : "ALL"
        let remedy = modifiers == "ALL" ? "leave ALL out" : "leave the modifier out, or write NOT instead of NONE"
        return CoreError(
            .predicate,
            "the left side of a comparison with \(modifiers) must be a collection, but \(name) is a single value; "
                + remedy,
            entity: entity, key: keys.isEmpty ? comparison.left.format : path)
    }

    /// Compiles the condition that at least one value of the collection satisfies `test`.
    ///
    /// Further to-many relationships on the path are followed.
    private mutating func anyMember(
        _ collection: MemberCollection, _ environment: Environment, _ comparison: Comparison,
        test: (inout PredicateCompiler, Operand) throws -> Condition
    ) throws -> Condition {
        guard case .toMany(let path) = try resolve(collection.keys, collection.scope) else {
            throw NotExpressible("\"\(collection.format)\" is computed in memory")
        }
        if !collection.filters.isEmpty, !path.rest.isEmpty {
            throw NotExpressible(
                "\"\(collection.format)\" is a SUBQUERY over more than one relationship, which is computed in memory")
        }
        let rest = path.rest + collection.tail
        // If nil does not satisfy the comparison, the tables on the rest of the path use inner joins.
        let sought = Comparison(
            .keyPath(KeyPath(keys: Array(rest))), comparison.operator, comparison.right, options: comparison.options)
        let required =
            comparison.modifier == .any && !rest.isEmpty
            ? NullRejection(variable: nil).required(.comparison(sought)) : []
        let members = try rows(collection, path, required: required, environment)
        let next = MemberCollection(scope: members.rows.scope, keys: rest, format: collection.format)
        let leads = try resolve(rest, members.rows.scope)
        var condition: Condition
        if case .toMany(let further) = leads {
            condition = try anyMember(next, environment, comparison, test: test)
            // If the to-one path from a member to the owner of `further` is nil, the member contributes one value, nil.
            let none = further.ownerIsNullable ? try test(&self, try operand(.null)) : .constant(false)
            if none.constant != false {
                let isMissing = Condition(sql: "\(further.owner) IS NULL", isTwoValued: true)
                condition = chain([condition, chain([isMissing, none], isAnd: true)], isAnd: false)
            }
        } else {
            condition = try test(&self, try operand(leads))
        }
        let whole = chain([members.condition, condition], isAnd: true)
        if whole.constant == false { return whole }
        return Condition(sql: "EXISTS (\(members.rows.select("1", where: whole)))", isTwoValued: true)
    }

    /// Compiles the comparison of one member's value with the right side.
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
            throw NotExpressible("\"\(Predicate.comparison(comparison).format)\" cannot be expressed in SQL")
        }
    }

    /// Compiles the condition that an operand is among the values of a collection. The condition is false for nil.
    mutating func isMember(
        _ element: Operand, of collection: MemberCollection, _ comparison: Comparison, _ environment: Environment
    ) throws -> Condition {
        if element.kind == .null { return .constant(false) }
        let equality = Comparison(comparison.left, .equal, comparison.right, modifier: .any)
        return try anyMember(collection, environment, equality) { compiler, member in
            guard member.kind.suits(element.kind) else { return .constant(false) }
            return Condition(sql: "\(member.sql) = \(element.sql)")
        }
    }
}
