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

    /// Opens the members of a collection, with the conditions of the subqueries around it.
    mutating func rows(
        _ collection: MemberCollection, _ path: MemberPath, required: Set<String>, _ environment: Environment
    ) throws -> (rows: MemberRows, condition: Condition) {
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

/// A collection that an expression stands for: where a to-many path leads, as far as subqueries let it.
struct MemberCollection {
    let scope: Scope
    /// The path to the collection, whose members the filters see.
    let keys: ArraySlice<KeyName>
    /// The subqueries around it, from the inside.
    var filters: [(name: String, condition: Predicate)] = []
    /// The keys behind a subquery, asked of each of its members.
    var tail: ArraySlice<KeyName> = []
    /// The expression, for messages.
    let format: String
}

extension PredicateCompiler {
    /// The collection that an expression leads to; nil for expressions that lead to none.
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

    /// ANY asks whether such a member exists; ALL whether none exists for which it does not hold.
    mutating func quantified(_ comparison: Comparison, _ environment: Environment) throws -> Condition {
        let isAny = comparison.modifier == .any
        if let list = try constant(comparison.left, environment) {
            // A list of constants is decided element by element.
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
            throw NotExpressible("\(comparison.left.format) is computed in memory")
        }
        let any = try anyMember(collection, environment, comparison) { compiler, operand in
            let condition = try compiler.compareMember(operand, comparison, environment)
            return isAny ? condition : compiler.negation(condition)
        }
        return isAny ? any : negation(any)
    }

    /// Names the modifiers that the parser reads as that of the comparison; in NOT IN, ANY is read as ALL.
    private func singleValue(_ comparison: Comparison, _ scope: Scope, _ keys: ArraySlice<KeyName>) -> CoreError {
        let entity = scope.mapping.entity.name
        let path = keys.map(\.text).joined(separator: ".")
        let name = keys.isEmpty ? "\(comparison.left.format) of \(entity)" : "\(entity).\(path)"
        let isAny = comparison.modifier == .any
        let modifiers = comparison.operator == .in ? "ANY, SOME, ALL or NONE" : isAny ? "ANY, SOME or NONE" : "ALL"
        let remedy = modifiers == "ALL" ? "leave ALL out" : "leave the modifier out, or write NOT instead of NONE"
        return CoreError(
            .predicate,
            "the left side of \(modifiers) must be a collection, but \(name) is a single value; \(remedy)",
            entity: entity, key: keys.isEmpty ? comparison.left.format : path)
    }

    /// Whether a value that the collection leads to satisfies the test; through further to-many relationships too.
    private mutating func anyMember(
        _ collection: MemberCollection, _ environment: Environment, _ comparison: Comparison,
        test: (inout PredicateCompiler, Operand) throws -> Condition
    ) throws -> Condition {
        guard case .toMany(let path) = try resolve(collection.keys, collection.scope) else {
            throw NotExpressible("\(collection.format) is computed in memory")
        }
        if !collection.filters.isEmpty, !path.rest.isEmpty {
            throw NotExpressible(
                "\(collection.format) is a SUBQUERY over more than one relationship, which is computed in memory")
        }
        let rest = path.rest + collection.tail
        // The joins to what follows have to lead somewhere where nil does not satisfy the comparison.
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
            // A member without the object that has those is one value, which is nil.
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
            throw NotExpressible("\(Predicate.comparison(comparison).format) cannot be expressed in SQL")
        }
    }

    /// Whether the operand, which is not nil, is among the values that a collection leads to.
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
