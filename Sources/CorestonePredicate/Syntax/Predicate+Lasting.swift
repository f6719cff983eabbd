import CorestoneValues

extension Predicate {
    /// Whether the predicate is deterministic.
    ///
    /// The result for a row then depends only on the text and its variables, not on code of the application, objects,
    /// the clock or random numbers.
    package var isLasting: Bool {
        switch self {
        case .constant: true
        case .comparison(let comparison):
            comparison.operator.isLasting && comparison.left.isLasting && comparison.right.isLasting
        case .compound(let compound): compound.parts.allSatisfy(\.isLasting)
        case .block: false
        }
    }
}

extension Comparison.Operator {
    fileprivate var isLasting: Bool { if case .custom = self { false } else { true } }
}

extension Expression {
    fileprivate var isLasting: Bool {
        let isPlain =
            switch self {
            case .constant(let value): !value.hasObjects
            case .path(.selfObject, _), .path(.variable, _), .path(.subquery, _): true
            case .selfObject, .keyPath, .variable, .aggregate, .indexed, .subquery, .ternary, .setOperation, .cast: true
            case .function(let function, _): ![.now, .random, .randomBelow, .randomBelowN].contains(function)
            case .path, .dynamicKey, .computedKey, .message, .assignment, .anyKey, .fetch, .block: false
            }
        return isPlain && operands.allSatisfy(\.isLasting) && condition?.isLasting != false
    }
}

extension PropertyValue {
    /// Whether the value is an `.object`, for example a managed object, or contains one.
    fileprivate var hasObjects: Bool {
        switch self {
        case .object: true
        case .array(let elements): elements.contains(where: \.hasObjects)
        case .set(let elements): elements.contains(where: \.hasObjects)
        case .dictionary(let elements): elements.values.contains(where: \.hasObjects)
        default: false
        }
    }
}
