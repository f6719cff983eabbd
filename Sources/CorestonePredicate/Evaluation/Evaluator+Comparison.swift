import CorestoneValues

extension Evaluator {
    func holds(_ comparison: Comparison) throws -> Bool {
        if comparison.modifier != .direct { return try holdsQuantified(comparison) }
        if let object, case .keyPath(let path) = comparison.left, path.keys.count == 1,
            case .constant(let right) = comparison.right
        {
            if right.isNull { return comparison.operator.holds(try object.isNull(for: path.keys[0]), true) }
            return try object.withValue(for: path.keys[0]) { try compare($0, right, comparison) }
        }
        return try compare(
            BorrowedValue(try value(comparison.left)), try value(comparison.right), comparison)
    }

    /// Whether a comparison with ANY or ALL is true. Its left side must be a collection; nil counts as empty.
    private func holdsQuantified(_ comparison: Comparison) throws -> Bool {
        var elements: [PropertyValue] = []
        switch try value(comparison.left) {
        case .null: return comparison.modifier == .all
        case .array(let members): elements = members
        case .set(let members): elements = Array(members)
        case let other:
            // The message lists all words, because the parser changes some of them: it parses NONE as NOT ANY, and ANY
            // … NOT IN as NOT ALL … IN.
            throw predicateError(
                "the left side of a comparison with ALL, ANY, SOME or NONE must be a list or a set, "
                    + "\(comparison.left.mismatch(other)). Leave ALL, ANY or SOME out, write NOT for NONE, or "
                    + "name a to-many key path", entity: entityName(for: comparison.left),
                key: comparison.left.pathText,
                value: other)
        }
        // A path over nested collections can return collections of collections, whose leaves are compared.
        if comparison.left.isPath { elements = elements.flattened }
        let right = try value(comparison.right)
        for element in elements {
            let holds = try compare(BorrowedValue(element), right, comparison)
            if holds != (comparison.modifier == .all) { return holds }
        }
        return comparison.modifier == .all
    }

    /// Whether a comparison is true. If a side is nil, this depends only on the operator and on which sides are nil.
    func compare(_ left: BorrowedValue, _ right: PropertyValue, _ comparison: Comparison) throws -> Bool {
        let leftIsNull = left.isNull
        if leftIsNull || right.isNull { return comparison.operator.holds(leftIsNull, right.isNull) }
        if let text = left.utf8, let other = right.textual,
            let holds = try compareTexts(text, other, comparison)
        {
            return holds
        }
        switch comparison.operator {
        case .equal: return left.owned == right
        case .notEqual: return left.owned != right
        case .less: return try order(left.owned, right, comparison).map { $0 < 0 } ?? false
        case .lessOrEqual: return try order(left.owned, right, comparison).map { $0 <= 0 } ?? false
        case .greater: return try order(left.owned, right, comparison).map { $0 > 0 } ?? false
        case .greaterOrEqual: return try order(left.owned, right, comparison).map { $0 >= 0 } ?? false
        case .between: return try isBetween(left, right, comparison)
        case .in: return try isMember(left.owned, of: right, comparison)
        case .contains: return try isMember(right, of: left.owned, comparison)
        case .beginsWith, .endsWith, .like, .matches, .utiEquals, .tokenMatches, .utiConformsTo:
            throw noText(left, right, comparison)
        case .custom(let selector):
            return try holds(selector, left.owned, right)
        }
    }

    /// Compares two values that are not nil. Returns nil if one of them is NaN.
    private func order(_ left: PropertyValue, _ right: PropertyValue, _ comparison: Comparison) throws -> Int? {
        switch (left, right) {
        case (.uuid, _), (_, .uuid): break
        default:
            if let order = try left.order(against: right) { return order }
            if left.number != nil, right.number != nil { return nil }
        }
        throw noOrder(left, right, comparison)
    }

    /// Creates the error for a side that is not a string.
    ///
    /// The error's key is that of the side that is not a string, if that side is a key path, otherwise the key of the
    /// other side.
    private func noText(_ left: BorrowedValue, _ right: PropertyValue, _ comparison: Comparison) -> CoreError {
        let isLeft = left.utf8 == nil
        let (source, other) = isLeft ? (comparison.left, comparison.right) : (comparison.right, comparison.left)
        let path = source.pathText
        let entity = path == nil && other.pathText == nil ? nil : object?.nameOfEntity
        let place = path.map { path in " (\(entity.map { "\($0).\(path)" } ?? path))" } ?? ""
        let remedy =
            if isLeft, path != nil, isCollection(left.owned), right.textual != nil {
                "write \(anyMember(comparison).format) to compare each element"
            } else { "compare two strings, or convert with CAST(…, \"NSString\")" }
        return CoreError(
            .predicate,
            "\(comparison.operator.symbol) compares strings, not \(left.owned.excerpt)\(isLeft ? place : "") with "
                + "\(right.excerpt)\(isLeft ? "" : place); \(remedy)",
            entity: entity, key: path ?? other.pathText, value: isLeft ? left.owned : right)
    }

    /// Creates the error for values without an order. The error's key is that of the first side that is a key path.
    private func noOrder(_ left: PropertyValue, _ right: PropertyValue, _ comparison: Comparison) -> CoreError {
        let plain = left.unordered(against: right)
        let sides = [(comparison.left, left, right), (comparison.right, right, left)]
        guard
            let (path, own, other) = sides.lazy.compactMap({ side in side.0.pathText.map { ($0, side.1, side.2) } })
                .first
        else {
            let remedy =
                left.kind == right.kind || !left.hasOrder && !right.hasOrder
                ? "compare them only by == or IN" : "compare values of the same kind"
            return predicateError("\(plain); \(remedy)", value: right)
        }
        let entity = object?.nameOfEntity
        let name = entity.map { "\($0).\(path)" } ?? path
        let remedy =
            if isObject(own.elements?.first), !isObject(other), !isCollection(other) {
                "use \(path).@count for the number of members, or ANY with an attribute of the members"
            } else if isCollection(own), !isCollection(other) {
                "write \(anyMember(comparison).format) to compare each element"
            } else { "compare \(name) \(own.hasOrder ? "with \(own.kind)" : "by == or IN only")" }
        return CoreError(
            .predicate, "\"\(Predicate.comparison(comparison).format)\" cannot be evaluated: \(plain); \(remedy)",
            entity: entity, key: path, value: other)
    }

    /// Returns the comparison with ANY, with the key path on its left side.
    private func anyMember(_ comparison: Comparison) -> Predicate {
        let isLeft = comparison.left.pathText != nil
        let (path, other) = isLeft ? (comparison.left, comparison.right) : (comparison.right, comparison.left)
        let symbol = isLeft ? comparison.operator : comparison.operator.mirrored
        return .comparison(Comparison(path, symbol, other, modifier: .any, options: comparison.options))
    }

    private func isCollection(_ value: PropertyValue) -> Bool {
        switch value {
        case .array, .set: true
        default: false
        }
    }

    private func isObject(_ value: PropertyValue?) -> Bool {
        if case .object? = value { true } else { false }
    }

    /// Returns the beginning of an error message that names the comparison; empty for a method of FUNCTION.
    private func refusal(of comparison: Comparison) -> String {
        comparison.left == .selfObject && comparison.right == .selfObject
            ? "" : "\"\(Predicate.comparison(comparison).format)\" cannot be evaluated: "
    }

    private func isBetween(_ value: BorrowedValue, _ bounds: PropertyValue, _ comparison: Comparison) throws -> Bool {
        guard case .array(let limits) = bounds, limits.count == 2 else {
            // A set is printed like a list, so the message says that it is a set.
            let isSet = if case .set = bounds { true } else { false }
            let source = comparison.right.pathText == nil ? comparison.left : comparison.right
            throw predicateError(
                "\(refusal(of: comparison))BETWEEN takes a list of two bounds, {low, high}, not "
                    + "\(isSet ? "the set " : "")\(bounds.excerpt)", entity: entityName(for: source),
                key: source.pathText, value: bounds)
        }
        for (limit, sign) in [(limits[0], 1), (limits[1], -1)] as [(PropertyValue, Int)] {
            if limit.isNull { return false }
            let order: Int?
            if let text = value.utf8, let other = limit.textual {
                order = TextSearch.order(text, other.utf8, options: comparison.options)
            } else {
                order = try self.order(value.owned, limit, comparison)
            }
            guard let order, order * sign >= 0 else { return false }
        }
        return true
    }

    /// Whether IN is true, or CONTAINS with its sides exchanged.
    ///
    /// Options do not apply to elements of collections. Nested collections that a path returns are replaced with their
    /// leaves, as for ANY, even if the path is an element of a list.
    private func isMember(
        _ element: PropertyValue, of collection: PropertyValue, _ comparison: Comparison
    ) throws -> Bool {
        if case .members(let members) = comparison.prepared, comparison.operator == .in {
            return members.contains(element)
        }
        let source = comparison.operator == .in ? comparison.right : comparison.left
        if source.isPath, let leaves = collection.elements?.flattened { return leaves.contains(element) }
        if case .aggregate(let parts) = source, case .array(let members) = collection {
            return zip(parts, members).contains { part, member in
                guard part.leadsToMembers, let leaves = member.elements?.flattened else { return member == element }
                return leaves.contains(element)
            }
        }
        switch collection {
        case .array(let members): return members.contains(element)
        case .set(let members): return members.contains(element)
        case .dictionary(let members): return members.values.contains(element)
        case .text, .uri:
            let sought = comparison.operator == .in ? comparison.left : comparison.right
            let (path, key) = (source.pathText, source.pathText ?? sought.pathText)
            let entity = key == nil ? nil : object?.nameOfEntity
            let subject =
                path.map { path in "cannot search \(entity.map { "\($0).\(path)" } ?? path)" }
                ?? "\(refusal(of: comparison))cannot search \(collection.kind)"
            let remedy = sought.constantValue == nil ? "convert with CAST(…, \"NSString\")" : "pass a string instead"
            throw CoreError(
                .predicate, "\(subject) for \(element.excerpt); \(remedy)", entity: entity, key: key, value: element)
        default:
            throw predicateError(
                "\(refusal(of: comparison))\(comparison.operator.symbol) needs a collection or a string, not \(collection.excerpt)",
                entity: entityName(for: source), key: source.pathText, value: collection)
        }
    }
}

extension Expression {
    /// The key path if it starts at the evaluated object; otherwise nil.
    package var pathText: String? {
        switch self {
        case .keyPath(let path), .path(.selfObject, let path): path.text
        default: nil
        }
    }

    fileprivate var isPath: Bool {
        switch self {
        case .keyPath, .path: true
        default: false
        }
    }

    /// Whether a collection that the expression returns can contain the members of a relationship.
    fileprivate var leadsToMembers: Bool {
        if case .subquery = self { return true }
        return isPath
    }
}

extension [PropertyValue] {
    /// The elements, with nested collections flattened.
    fileprivate var flattened: [PropertyValue] {
        guard contains(where: { $0.elements != nil }) else { return self }
        return flatMap { $0.elements?.flattened ?? [$0] }
    }
}

extension PropertyValue {
    /// The elements of an array or a set; nil for other values.
    package var elements: [PropertyValue]? {
        switch self {
        case .array(let members): members
        case .set(let members): Array(members)
        default: nil
        }
    }

    /// The type of the value in words, for messages.
    package var kind: String {
        switch self {
        case .null: "nil"
        case .bool: "a boolean"
        case .int, .double, .decimal: "a number"
        case .text: "a string"
        case .bytes: "binary data"
        case .date: "a date"
        case .uuid: "a UUID"
        case .uri: "a URI"
        case .object: "an object"
        case .array: "a list"
        case .set: "a set"
        case .dictionary: "a dictionary"
        }
    }
}

extension PropertyValue {
    /// Returns the clause of an error message that says that two values cannot be ordered.
    func unordered(against other: PropertyValue) -> String {
        let kinds = kind == other.kind ? "each is \(kind)" : "one is \(kind), the other \(other.kind)"
        return "\(excerpt) and \(other.excerpt) cannot be ordered: \(kinds)"
    }

    /// Whether values of this type have an order.
    var hasOrder: Bool {
        if case .uuid = self { return false }
        // NaN is a number, although it cannot be ordered.
        return number != nil || ((try? order(against: self)) ?? nil) != nil
    }
}

extension BorrowedValue {
    /// Whether the value is nil.
    public var isNull: Bool {
        switch self {
        case .null: true
        case .value(let value): value.isNull
        default: false
        }
    }

    /// The bytes of a string or URI; valid as long as the value exists. Nil for other values.
    var utf8: UnsafeRawBufferPointer? {
        switch self {
        case .text(let bytes): bytes
        case .value(let value): value.textual?.utf8
        default: nil
        }
    }
}

extension Comparison.Operator {
    /// Whether a comparison with nil on one side or both is true; see `docs/reference/predicate.md`.
    fileprivate func holds(_ leftIsNull: Bool, _ rightIsNull: Bool) -> Bool {
        switch self {
        case .equal, .lessOrEqual, .greaterOrEqual: leftIsNull && rightIsNull
        case .notEqual: !(leftIsNull && rightIsNull)
        default: false
        }
    }
}
