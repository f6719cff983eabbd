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

    /// ANY and ALL: the left side is a collection.
    private func holdsQuantified(_ comparison: Comparison) throws -> Bool {
        var elements: [PropertyValue] = []
        switch try value(comparison.left) {
        case .null: return comparison.modifier == .all
        case .array(let members): elements = members
        case .set(let members): elements = Array(members)
        case let other:
            // With NONE and NOT IN, the modifier is not the word of the text.
            throw predicateError(
                "the left side of ALL, ANY, SOME or NONE must be a list or a set, "
                    + "\(comparison.left.mismatch(other)). Leave ALL, ANY or SOME out, write NOT for NONE, or "
                    + "name a to-many key path", entity: entityName(for: comparison.left),
                key: comparison.left.pathText,
                value: other)
        }
        // A path over two to-many relationships gives collections of collections; their leaves are what is meant.
        if comparison.left.isPath { elements = elements.flattened }
        let right = try value(comparison.right)
        for element in elements {
            let holds = try compare(BorrowedValue(element), right, comparison)
            if holds != (comparison.modifier == .all) { return holds }
        }
        return comparison.modifier == .all
    }

    /// One comparison of two values. Nil on one side or both is decided first.
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

    /// The order of two values that are not nil; nil where one is not a number at all (NaN).
    private func order(_ left: PropertyValue, _ right: PropertyValue, _ comparison: Comparison) throws -> Int? {
        switch (left, right) {
        case (.uuid, _), (_, .uuid): break
        default:
            if let order = try left.order(against: right) { return order }
            if left.number != nil, right.number != nil { return nil }
        }
        throw noOrder(left, right, comparison)
    }

    /// With the key whose value is no string, where that side is a key path; else with that of the other side.
    private func noText(_ left: BorrowedValue, _ right: PropertyValue, _ comparison: Comparison) -> CoreError {
        let isLeft = left.utf8 == nil
        let (source, other) = isLeft ? (comparison.left, comparison.right) : (comparison.right, comparison.left)
        let path = source.pathText
        let entity = path == nil && other.pathText == nil ? nil : object?.nameOfEntity
        let place = path.map { path in " (\(entity.map { "\($0).\(path)" } ?? path))" } ?? ""
        return CoreError(
            .predicate,
            "\(comparison.operator.symbol) compares strings, not \(left.owned.excerpt)\(isLeft ? place : "") with "
                + "\(right.excerpt)\(isLeft ? "" : place); compare two strings, or convert with CAST(…, \"NSString\")",
            entity: entity, key: path ?? other.pathText, value: isLeft ? left.owned : right)
    }

    /// With the key whose value has no order beside the other side, where one side is a key path.
    private func noOrder(_ left: PropertyValue, _ right: PropertyValue, _ comparison: Comparison) -> CoreError {
        let plain = left.unordered(against: right)
        let sides = [(comparison.left, left, right), (comparison.right, right, left)]
        guard
            let (path, own, other) = sides.lazy.compactMap({ side in side.0.pathText.map { ($0, side.1, side.2) } })
                .first
        else {
            let remedy =
                left.kind == right.kind ? "compare them only by == or IN" : "compare values of the same kind"
            return predicateError("\(plain); \(remedy)", value: right)
        }
        let entity = object?.nameOfEntity
        let name = entity.map { "\($0).\(path)" } ?? path
        let remedy =
            if isCollection(own), !isCollection(other) {
                "write \(anyMember(comparison).format) to compare each element"
            } else { "compare \(name) \(hasOrder(own) ? "with \(own.kind)" : "by == or IN only")" }
        return CoreError(
            .predicate, "\(Predicate.comparison(comparison).format) cannot be evaluated: \(plain); \(remedy)",
            entity: entity, key: path, value: other)
    }

    /// The same comparison of any element of the side with a key path, which has to be the left one.
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

    /// Whether `<` has a meaning between values of that kind.
    private func hasOrder(_ value: PropertyValue) -> Bool {
        if case .uuid = value { return false }
        return ((try? value.order(against: value)) ?? nil) != nil
    }

    /// For an error message: the comparison as its subject; empty for one that stands for a method of FUNCTION.
    private func refusal(of comparison: Comparison) -> String {
        comparison.left == .selfObject && comparison.right == .selfObject
            ? "" : "\(Predicate.comparison(comparison).format) cannot be evaluated: "
    }

    private func isBetween(_ value: BorrowedValue, _ bounds: PropertyValue, _ comparison: Comparison) throws -> Bool {
        guard case .array(let limits) = bounds, limits.count == 2 else {
            // A set is printed like a list.
            let isSet = if case .set = bounds { true } else { false }
            throw predicateError(
                "\(refusal(of: comparison))BETWEEN takes a list of two bounds, {low, high}, not "
                    + "\(isSet ? "the set " : "")\(bounds.excerpt)", entity: entityName(for: comparison.left),
                key: comparison.left.pathText, value: bounds)
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

    /// IN, and CONTAINS with its sides exchanged. Options do not reach into collections; a path over two to-many
    /// relationships leads to its leaves, as under ANY, and one among the elements of a list stands for all that it leads to.
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
            let path = source.pathText
            let entity = path == nil ? nil : object?.nameOfEntity
            let name = path.map { path in entity.map { "\($0).\(path)" } ?? path } ?? "a string"
            throw CoreError(
                .predicate, "cannot search \(name) for \(element.excerpt); pass a string instead", entity: entity,
                key: path, value: element)
        default:
            throw predicateError(
                "\(refusal(of: comparison))\(comparison.operator.symbol) needs a collection or a string, not \(collection.excerpt)",
                entity: entityName(for: source), key: source.pathText, value: collection)
        }
    }
}

extension Expression {
    /// The keys of a path from the object that is evaluated.
    var pathText: String? {
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

    /// Whether it gives the members of a relationship, if it gives a collection.
    fileprivate var leadsToMembers: Bool {
        if case .subquery = self { return true }
        return isPath
    }
}

extension [PropertyValue] {
    /// The elements, with those of nested collections in their place.
    fileprivate var flattened: [PropertyValue] {
        guard contains(where: { $0.elements != nil }) else { return self }
        return flatMap { $0.elements?.flattened ?? [$0] }
    }
}

extension PropertyValue {
    /// The members of an array or a set; nil for everything else.
    package var elements: [PropertyValue]? {
        switch self {
        case .array(let members): members
        case .set(let members): Array(members)
        default: nil
        }
    }

    /// The kind of value, with an article, for messages.
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
    /// For an error message: that two values do not have an order.
    func unordered(against other: PropertyValue) -> String {
        let kinds = kind == other.kind ? "each is \(kind)" : "one is \(kind), the other \(other.kind)"
        return "\(excerpt) and \(other.excerpt) cannot be ordered: \(kinds)"
    }
}

extension BorrowedValue {
    /// Whether it is no value.
    public var isNull: Bool {
        switch self {
        case .null: true
        case .value(let value): value.isNull
        default: false
        }
    }

    /// The bytes of strings and URIs; valid as long as the value.
    var utf8: UnsafeRawBufferPointer? {
        switch self {
        case .text(let bytes): bytes
        case .value(let value): value.textual?.utf8
        default: nil
        }
    }
}

extension Comparison.Operator {
    /// What a comparison with nil on one side or both says, as the table of the language has it.
    fileprivate func holds(_ leftIsNull: Bool, _ rightIsNull: Bool) -> Bool {
        switch self {
        case .equal, .lessOrEqual, .greaterOrEqual: leftIsNull && rightIsNull
        case .notEqual: !(leftIsNull && rightIsNull)
        default: false
        }
    }
}
