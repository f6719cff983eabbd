import CorestoneModel
import CorestonePredicate
import CorestoneValues

extension PredicateCompiler {
    /// Compiles IN, and CONTAINS with its sides exchanged. The collection is a list, a to-many path or a string.
    mutating func membership(
        of element: Expression, in collection: Expression, _ comparison: Comparison, _ environment: Environment
    ) throws -> Condition {
        if let members = try members(collection, environment) {
            return try isMember(try operand(element, environment), of: members, comparison, environment)
        }
        return try membership(of: try operand(element, environment), in: collection, comparison, environment)
    }

    mutating func membership(
        of element: Operand, in collection: Expression, _ comparison: Comparison, _ environment: Environment
    ) throws -> Condition {
        if case .aggregate(let parts) = collection {
            return try membership(of: element, amongAll: parts, comparison, environment)
        }
        let other = try operand(collection, environment)
        guard other.kind == .list else { return try substring(element, in: other, comparison) }
        let members = try (other.constant?.elements ?? []).map { try operand($0) }
        return list(element, members.filter { $0.kind != .null && $0.kind.suits(element.kind) })
    }

    /// Compiles membership in a list of values and to-many paths. A path contributes all of its values.
    private mutating func membership(
        of element: Operand, amongAll parts: [Expression], _ comparison: Comparison, _ environment: Environment
    ) throws -> Condition {
        var (values, conditions): ([Operand], [Condition]) = ([], [])
        for part in parts {
            if let members = try members(part, environment) {
                conditions.append(try isMember(element, of: members, comparison, environment))
            } else {
                values.append(try operand(part, environment))
            }
        }
        let isListed = list(element, values.filter { $0.kind != .null && $0.kind.suits(element.kind) })
        return conditions.isEmpty ? isListed : chain([isListed] + conditions, isAnd: false)
    }

    /// The largest number of values that are bound separately. A longer list of constants is one binding, so that the
    /// text of the statement does not depend on the length of the list.
    private static let shortList = 8

    private func list(_ element: Operand, _ members: [Operand]) -> Condition {
        if members.isEmpty || element.kind == .null { return .constant(false) }
        if let value = element.constant, members.allSatisfy({ $0.constant != nil }) {
            return .constant(members.contains { $0.constant == value })
        }
        if members.count == 1 { return Condition(sql: "\(element.sql) = \(members[0].sql)") }
        if members.count > PredicateCompiler.shortList, let list = PackedList(members.map(\.sql)) {
            return Condition(
                sql: dialect.isMember(element.sql, ofJSON: "\(bind: .text(list.json))", isPacked: list.isPacked))
        }
        return Condition(sql: "\(element.sql) IN (\(members.map(\.sql).joined(separator: ", ")))")
    }

    // MARK: BETWEEN

    mutating func between(_ comparison: Comparison, _ environment: Environment) throws -> Condition {
        try between(try operand(comparison.left, environment), comparison, environment)
    }

    mutating func between(
        _ value: Operand, _ comparison: Comparison, _ environment: Environment
    ) throws -> Condition {
        let bounds: [Operand]
        if case .aggregate(let parts) = comparison.right {
            bounds = try parts.map { try operand($0, environment) }
        } else {
            let list = try operand(comparison.right, environment)
            guard case .array(let members)? = list.constant else {
                let found =
                    list.kind == .list ? "a set" : list.attributeName ?? list.constant?.excerpt ?? list.kind.name
                let (entity, key) = names(of: value, comparison.left, environment)
                throw CoreError(
                    .predicate,
                    "\"\(Predicate.comparison(comparison).format)\" cannot be evaluated: BETWEEN takes a list of two bounds, "
                        + "{low, high}, not \(found)",
                    entity: entity, key: key, value: list.constant)
            }
            bounds = try members.map { try operand($0) }
        }
        guard bounds.count == 2 else {
            let (entity, key) = names(of: value, comparison.left, environment)
            throw CoreError(
                .predicate,
                "\"\(Predicate.comparison(comparison).format)\" cannot be evaluated: BETWEEN takes a list of two bounds, {low, high}, "
                    + "not a list of \(bounds.count)",
                entity: entity, key: key, value: comparison.right.constantValue)
        }
        if value.kind == .null || bounds.contains(where: { $0.kind == .null }) { return .constant(false) }
        let lower = try compare(value, .greaterOrEqual, bounds[0].withoutNull, comparison)
        let upper = try compare(value, .lessOrEqual, bounds[1].withoutNull, comparison)
        if lower.constant == false || upper.constant == false { return .constant(false) }
        let isSimple =
            lower.constant == nil && upper.constant == nil && !(value.kind.isTextual && !comparison.options.isBinary)
        if isSimple { return Condition(sql: "\(value.sql) BETWEEN \(bounds[0].sql) AND \(bounds[1].sql)") }
        let parts = [lower, upper].filter { $0.constant == nil }.map(\.operand)
        if parts.isEmpty { return .constant(true) }
        return Condition(sql: parts.joined(separator: " AND "), isAtom: parts.count == 1)
    }
}

extension Operand {
    /// The operand for comparisons that nil never satisfies, not even if both sides are nil.
    fileprivate var withoutNull: Operand {
        var copy = self
        copy.isNullable = false
        return copy
    }
}

/// A long list as one bound JSON text.
private struct PackedList {
    let json: Text
    /// Whether all values of the list except integers are encoded by `PackedValue`.
    let isPacked: Bool

    /// Creates the list, or nil if a member is not a bound value.
    init?(_ members: [SQLFragment]) {
        var values: [SQLValue] = []
        values.reserveCapacity(members.count)
        for member in members {
            guard member.segments.count == 1, case .binding(let value) = member.segments[0] else { return nil }
            values.append(value)
        }
        isPacked = values.contains { $0.needsPacking }
        var json = ""
        for value in values {
            json += json.isEmpty ? "[" : ","
            if case .integer(let number) = value {
                json += String(number)
            } else if isPacked {
                json += "\"\(PackedValue.text(value) ?? "")\""
            } else if case .text(let text) = value {
                json.appendJSON(text.string)
            }
        }
        self.json = Text(json + "]")
    }
}

extension SQLValue {
    /// Whether JSON could change the value. SQLite truncates JSON text at the first NUL.
    fileprivate var needsPacking: Bool {
        switch self {
        case .integer, .null: false
        case .real, .blob: true
        case .text(let text): text.utf8.contains(0)
        }
    }
}
