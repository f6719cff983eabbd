import CorestoneModel
import CorestonePredicate
import CorestoneValues

/// A compiler of predicates to SQL conditions.
///
/// A condition has the meaning of an evaluation in memory, whose result is either true or false. In WHERE, NULL counts
/// as false, but NOT NULL is NULL too. A condition that may be NULL is therefore negated by `IS NOT` or `IS NOT TRUE`.
struct PredicateCompiler {
    let schema: any SchemaMapping
    let storeIdentifier: String
    let dialect: any SQLDialect
    private var aliases = 0
    /// The reason why the rows must be sorted in memory; nil if SQL sorts.
    var orderObstacle: String?
    /// The paths of the attributes for which `indexed:by:` uses an R-tree, each followed by the name of the index.
    var servedNames: Set<String> = []

    init(schema: any SchemaMapping, storeIdentifier: String, dialect: any SQLDialect) {
        self.schema = schema
        self.storeIdentifier = storeIdentifier
        self.dialect = dialect
    }

    mutating func newAlias() -> Alias {
        aliases += 1
        return Alias(number: aliases - 1)
    }

    mutating func condition(_ predicate: Predicate, _ environment: Environment) throws -> Condition {
        switch predicate {
        case .constant(let value): return .constant(value)
        case .comparison(let comparison): return try condition(comparison, environment)
        case .compound(let compound):
            switch compound.type {
            case .not: return negation(try condition(compound.parts[0], environment))
            case .and, .or: return try chain(compound, environment)
            }
        case .block: throw NotExpressible("\"\(predicate.format)\" is application code, which is evaluated in memory")
        }
    }

    private mutating func chain(_ compound: Compound, _ environment: Environment) throws -> Condition {
        var parts: [Condition] = []
        var obstacle: NotExpressible?
        for part in compound.parts {
            // All parts are compiled, so that a wrong name in any of them is reported.
            do { parts.append(try condition(part, environment)) } catch let reason as NotExpressible {
                obstacle = obstacle ?? reason
            }
        }
        if let obstacle { throw obstacle }
        return chain(parts, isAnd: compound.type == .and)
    }

    /// Joins conditions by AND or OR.
    func chain(_ conditions: [Condition], isAnd: Bool) -> Condition {
        if conditions.contains(where: { $0.constant == !isAnd }) { return .constant(!isAnd) }
        let parts = conditions.filter { $0.constant == nil }
        // SQLite parses a chain to an expression tree that is as deep as the chain is long, and allows a depth of
        // 1,000.
        let longest = 100
        if parts.count > longest {
            let groups = stride(from: 0, to: parts.count, by: longest).map {
                chain(Array(parts[$0..<min($0 + longest, parts.count)]), isAnd: isAnd)
            }
            var whole = chain(groups.map { Condition(sql: $0.operand, isTwoValued: $0.isTwoValued) }, isAnd: isAnd)
            whole.isConjunct = isAnd
            return whole
        }
        guard let first = parts.first else { return .constant(isAnd) }
        if parts.count == 1 { return first }
        var whole = Condition(
            sql: parts.map { isAnd && $0.isConjunct ? $0.sql : $0.operand }.joined(separator: isAnd ? " AND " : " OR "),
            isTwoValued: parts.allSatisfy(\.isTwoValued), isAtom: false)
        whole.isConjunct = isAnd
        return whole
    }

    func negation(_ condition: Condition) -> Condition {
        if let constant = condition.constant { return .constant(!constant) }
        if condition.isTwoValued { return Condition(sql: "NOT \(condition.negatable)", isTwoValued: true) }
        return Condition(sql: dialect.notTrue(condition.sql), isTwoValued: true)
    }
}

// MARK: - Comparisons

extension PredicateCompiler {
    private mutating func condition(_ comparison: Comparison, _ environment: Environment) throws -> Condition {
        do {
            if comparison.modifier != .direct { return try quantified(comparison, environment) }
            return try direct(comparison, environment)
        } catch let obstacle as NotExpressible where obstacle.isCollection && comparison.modifier == .direct {
            try noteCollection(comparison, environment)
            throw obstacle
        } catch let error as CoreError { throw named(error, by: comparison, environment) }
    }

    /// Adds an entity and a key to a predicate error without them: those of a side that is a key path.
    private func named(_ error: CoreError, by comparison: Comparison, _ environment: Environment) -> CoreError {
        let sides = [comparison.left, comparison.right]
        guard error.status == .predicate, error.entity == nil, error.key == nil,
            error.value.map({ value in sides.contains { $0.constantValue == value } }) ?? true,
            let (scope, keys) = sides.compactMap({ path($0, environment) }).first(where: { !$0.keys.isEmpty })
        else { return error }
        return error.with(entity: scope.mapping.entity.name, key: keys.map(\.text).joined(separator: "."))
    }

    private mutating func direct(_ comparison: Comparison, _ environment: Environment) throws -> Condition {
        if let test = try nullTest(comparison, environment) { return test }
        switch comparison.operator {
        case .equal, .notEqual, .less, .lessOrEqual, .greater, .greaterOrEqual:
            let left = try operand(comparison.left, environment)
            let right = try operand(comparison.right, environment)
            return try compare(left, comparison.operator, right, comparison)
        case .between: return try between(comparison, environment)
        case .in: return try membership(of: comparison.left, in: comparison.right, comparison, environment)
        case .contains: return try membership(of: comparison.right, in: comparison.left, comparison, environment)
        case .beginsWith, .endsWith, .like, .matches, .utiEquals:
            let left = try operand(comparison.left, environment)
            let right = try operand(comparison.right, environment)
            return try strings(left, right, comparison)
        case .tokenMatches, .utiConformsTo, .custom:
            throw NotExpressible("\"\(Predicate.comparison(comparison).format)\" cannot be expressed in SQL")
        }
    }

    /// Compiles `path == nil` and `path != nil`, or returns nil for other comparisons.
    ///
    /// SQL can test every column for NULL, even a column whose values it cannot compare.
    private mutating func nullTest(_ comparison: Comparison, _ environment: Environment) throws -> Condition? {
        guard comparison.operator == .equal || comparison.operator == .notEqual else { return nil }
        let side = try isNull(comparison.left, environment) ? comparison.right : comparison.left
        guard try isNull(comparison.left, environment) != isNull(comparison.right, environment),
            let (scope, keys) = path(side, environment), !keys.contains(where: { $0.collectionOperator != nil })
        else { return nil }
        let value = try resolve(keys, scope)
        let sql: SQLFragment
        switch value {
        case .attribute(let value) where value.rest.isEmpty: sql = value.sql
        case .attribute: return nil
        case .object: sql = try operand(value).sql
        case .toMany(let path):
            // A collection is nil only if its owner is nil.
            if !path.ownerIsNullable {
                if comparison.operator == .equal { try noteCollection(comparison, environment) }
                return .constant(comparison.operator == .notEqual)
            }
            sql = path.owner
        }
        return Condition(
            sql: comparison.operator == .equal ? "\(sql) IS NULL" : "\(sql) IS NOT NULL", isTwoValued: true)
    }

    private func isNull(_ expression: Expression, _ environment: Environment) throws -> Bool {
        guard let value = try constant(expression, environment) else { return false }
        return value.isNull
    }

    /// Compiles a comparison of two operands by one of the six operators.
    func compare(
        _ left: Operand, _ operation: Comparison.Operator, _ right: Operand, _ comparison: Comparison
    ) throws -> Condition {
        if let a = left.constant, let b = right.constant { return try evaluateConstants(a, operation, b, comparison) }
        // A constant must be on the right.
        if left.constant != nil { return try compare(right, operation.mirrored, left, comparison) }
        if left.kind == .list || right.kind == .list {
            if operation == .equal || operation == .notEqual { return unlike(left, right, operation) }
            throw noOrder(left, right, comparison)
        }
        if right.kind == .null {
            switch operation {
            case .equal, .lessOrEqual, .greaterOrEqual: return Condition(sql: "\(left.sql) IS NULL", isTwoValued: true)
            case .notEqual: return Condition(sql: "\(left.sql) IS NOT NULL", isTwoValued: true)
            default: return .constant(false)
            }
        }
        if !left.kind.suits(right.kind) {
            if operation == .equal || operation == .notEqual { return unlike(left, right, operation) }
            throw noOrder(left, right, comparison)
        }
        if operation != .equal, operation != .notEqual, !left.kind.isOrdered || !right.kind.isOrdered {
            throw noOrder(left, right, comparison)
        }
        if case .double(let number)? = right.constant, number.isNaN { return .constant(operation == .notEqual) }
        if let existence = existence(left, operation, right) { return existence }
        if left.kind.isTextual, !comparison.options.isBinary {
            let order: SQLFragment =
                "cst_compare(\(left.sql), \(right.sql), \(number: comparison.options.foldFlags))"
            return folded(order, left, operation, right)
        }
        return plain(left, operation, right)
    }

    private func plain(_ left: Operand, _ operation: Comparison.Operator, _ right: Operand) -> Condition {
        let (a, b) = (left.sql, right.sql)
        let isTwoValued = !left.isNullable && !right.isNullable
        let bothNullable = left.isNullable && right.isNullable
        switch operation {
        case .equal:
            return bothNullable
                ? Condition(sql: dialect.same(a, b), isTwoValued: true)
                : Condition(sql: "\(a) = \(b)", isTwoValued: isTwoValued)
        case .notEqual:
            return isTwoValued
                ? Condition(sql: "\(a) <> \(b)", isTwoValued: true)
                : Condition(sql: dialect.notSame(a, b), isTwoValued: true)
        case .less: return Condition(sql: "\(a) < \(b)", isTwoValued: isTwoValued)
        case .greater: return Condition(sql: "\(a) > \(b)", isTwoValued: isTwoValued)
        case .lessOrEqual: return orBothNull("\(a) <= \(b)", left, right)
        default: return orBothNull("\(a) >= \(b)", left, right)
        }
    }

    private func folded(
        _ order: SQLFragment, _ left: Operand, _ operation: Comparison.Operator, _ right: Operand
    ) -> Condition {
        switch operation {
        case .equal: return orBothNull("\(order) = 0", left, right)
        case .notEqual: return negation(orBothNull("\(order) = 0", left, right))
        case .less: return Condition(sql: "\(order) < 0")
        case .greater: return Condition(sql: "\(order) > 0")
        case .lessOrEqual: return orBothNull("\(order) <= 0", left, right)
        default: return orBothNull("\(order) >= 0", left, right)
        }
    }

    /// Adds the case in which both sides are nil. In memory, nil equals nil; in SQL, NULL does not equal NULL.
    private func orBothNull(_ sql: SQLFragment, _ left: Operand, _ right: Operand) -> Condition {
        if !left.isNullable || !right.isNullable {
            return Condition(sql: sql, isTwoValued: !left.isNullable && !right.isNullable)
        }
        return Condition(sql: "\(sql) OR (\(left.sql) IS NULL AND \(right.sql) IS NULL)", isAtom: false)
    }

    /// Compiles `==` and `!=` of two kinds whose values are never equal, unless both are nil.
    private func unlike(_ left: Operand, _ right: Operand, _ operation: Comparison.Operator) -> Condition {
        guard left.isNullable, right.isNullable, left.kind != .list, right.kind != .list else {
            return .constant(operation == .notEqual)
        }
        let equal = Condition(
            sql: "\(left.sql) IS NULL AND \(right.sql) IS NULL", isTwoValued: true, isAtom: false)
        return operation == .equal ? equal : negation(equal)
    }

    /// Compiles a test whether a count is 0 as a test for existence, or returns nil for other comparisons.
    private func existence(_ left: Operand, _ operation: Comparison.Operator, _ right: Operand) -> Condition? {
        guard let existence = left.existence, case .int(let bound)? = right.constant else { return nil }
        switch (operation, bound) {
        case (.greater, 0), (.greaterOrEqual, 1), (.notEqual, 0): return Condition(sql: existence, isTwoValued: true)
        case (.equal, 0), (.less, 1), (.lessOrEqual, 0): return Condition(sql: "NOT \(existence)", isTwoValued: true)
        default: return nil
        }
    }

    /// Evaluates a comparison of two constants in memory.
    private func evaluateConstants(
        _ a: PropertyValue, _ operation: Comparison.Operator, _ b: PropertyValue, _ comparison: Comparison
    ) throws -> Condition {
        let both = Comparison(.constant(a), operation, .constant(b), options: comparison.options)
        return .constant(try Predicate.comparison(both).evaluate(with: .null, arithmetic: .nilPropagating))
    }

    /// Creates the error for two sides that cannot be ordered. It names the attribute, if a side is one.
    private func noOrder(_ left: Operand, _ right: Operand, _ comparison: Comparison) -> CoreError {
        let plain = "\(left.kind.name) and \(right.kind.name) cannot be ordered"
        let (own, other) = left.attribute == nil ? (right, left) : (left, right)
        guard let attribute = own.attribute, let name = own.attributeName else {
            let format = Predicate.comparison(comparison).format
            let advice =
                left.kind.isOrdered || right.kind.isOrdered
                ? "compare values of the same kind" : "compare them only by == or IN"
            return CoreError(
                .predicate, "\"\(format)\" cannot be evaluated: \(plain); \(advice)", value: right.constant)
        }
        let remedy =
            own.kind.isOrdered ? "compare \(name) with \(own.kind.name)" : "compare \(name) only by == or IN"
        return mismatch(comparison, attribute, own, beside: other, "and \(plain); \(remedy)")
    }

    /// Creates the error for a comparison of an attribute with a value of an unsuitable kind.
    ///
    /// - Parameter remedy: The end of the message, from "and" on.
    func mismatch(
        _ comparison: Comparison, _ attribute: Attribute, _ own: Operand, beside other: Operand, _ remedy: String
    ) -> CoreError {
        let name = "\(attribute.entity.name).\(attribute.path)"
        let otherName =
            other.attribute.map { "\($0.entity.name).\($0.path)" } ?? other.constant?.excerpt ?? "the other side"
        return CoreError(
            .predicate,
            "\"\(Predicate.comparison(comparison).format)\" cannot be evaluated: \(name) is \(own.kind.name) (\(attribute.type.displayName)), "
                + "\(otherName) is \(other.kind.name), \(remedy)", entity: attribute.entity.name, key: attribute.path,
            value: other.constant)
    }
}

extension Comparison.Options {
    /// The options as the bit mask for the store's SQL functions.
    var foldFlags: Int64 {
        (foldsCase ? 1 : 0) | (foldsDiacritics ? 2 : 0) | Int64(intersection([.normalized, .localeSensitive]).rawValue)
    }
}

extension Operand.Kind {
    /// Whether values of the kind can be ordered.
    var isOrdered: Bool {
        switch self {
        case .integer, .real, .number, .decimal, .text, .uri, .date, .bytes: true
        case .null, .uuid, .object, .list: false
        }
    }
}
