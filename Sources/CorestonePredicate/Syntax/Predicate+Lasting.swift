import CorestoneValues

extension Predicate {
    /// Whether it says the same of the same rows, whenever and by whomever it is asked: whether its text says all, and neither
    /// the host, nor the clock, nor chance has a hand in it.
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
    /// Whether it is something of the host's or of a context, or has such elements.
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
