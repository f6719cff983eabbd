/// The parts of an expression tree, for applications that inspect predicates, and for `PredicateLimits`.
extension Expression {
    /// The operands of the expression, in the order of its text, without a `condition`.
    public var operands: [Expression] {
        switch self {
        case .constant, .selfObject, .keyPath, .variable, .anyKey: []
        case .path(let base, _): [base]
        case .dynamicKey(let base, let variable): [base, .variable(variable)]
        case .computedKey(let base, let key): [base, key]
        case .aggregate(let parts), .function(_, let parts), .block(_, let parts): parts
        case .message(let receiver, let selector, let arguments):
            [receiver] + (selector.constantValue == nil ? [selector] : []) + arguments
        case .indexed(let base, .value(let index)): [base, index]
        case .indexed(let base, _): [base]
        case .subquery(let collection, _, _): [collection]
        case .ternary(_, let first, let second): [first, second]
        case .setOperation(_, let left, let right): [left, right]
        case .cast(let value, let type): [value, type]
        case .assignment(_, let value): [value]
        case .fetch(let request, let context, let countOnly): [request, context, countOnly]
        }
    }

    /// The condition of a subquery or of TERNARY.
    public var condition: Predicate? {
        switch self {
        case .subquery(_, _, let condition), .ternary(let condition, _, _): condition
        default: nil
        }
    }

    /// The key path, or the name of the variable or the function; nil for other expressions.
    public var name: String? {
        switch self {
        case .keyPath(let path), .path(_, let path): path.text
        case .variable(let name), .subquery(_, let name, _), .assignment(let name, _), .dynamicKey(_, let name): name
        case .function(let function, _): function.rawValue
        case .message(_, let selector, _):
            if case .text(let name)? = selector.constantValue { name.string } else { selector.format }
        case .indexed(_, .first): "FIRST"
        case .indexed(_, .last): "LAST"
        case .indexed(_, .size): "SIZE"
        case .indexed: Function.elementAt.rawValue
        case .cast: Function.castObject.rawValue
        default: nil
        }
    }
}
