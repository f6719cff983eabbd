import CorestoneValues

extension Expression {
    /// The expression as text in Core Data's spelling.
    public var format: String {
        switch self {
        case .constant(let value): return value.literal
        case .selfObject: return "SELF"
        case .keyPath(let path): return path.format
        case .path(let base, let path): return "\(base.pathBase).\(path.format)"
        case .dynamicKey(let base, let variable): return "\(base.pathBase).$\(variable)"
        case .variable(let name): return "$\(name)"
        case .aggregate(let elements): return "{\(elements.formatted)}"
        case .function(let function, let arguments): return Expression.call(function, arguments)
        case .message(let receiver, let selector, let arguments):
            let tail = arguments.isEmpty ? "" : " , \(arguments.formatted)"
            return "FUNCTION(\(receiver.format), \(selector.format)\(tail))"
        case .indexed(let base, let index): return "\(base.indexBase)[\(index.format)]"
        case .subquery(let collection, let variable, let condition):
            return "SUBQUERY(\(collection.format), $\(variable), \(condition.format))"
        case .ternary(let condition, let first, let second):
            return "TERNARY(\(condition.format), \(first.format), \(second.format))"
        case .setOperation(let operation, let left, let right):
            return "\(left.operandFormat) \(operation.rawValue) \(right.operandFormat)"
        case .cast(let value, let type): return "CAST(\(value.format), \(type.format))"
        case .assignment(let variable, let value): return "$\(variable) := \(value.format)"
        case .anyKey: return "ANYKEY"
        case .fetch(let request, let context, let countOnly):
            return "FETCH(\(request.format), \(context.format), \(countOnly.format))"
        }
    }

    private static func call(_ function: Function, _ arguments: [Expression]) -> String {
        if let infix = function.infix, arguments.count == 2 {
            return "\(arguments[0].operandFormat) \(infix.symbol) \(arguments[1].operandFormat)"
        }
        if let prefix = function.prefix, arguments.count == 1 { return prefix + arguments[0].operandFormat }
        return "\(function.rawValue)(\(arguments.formatted))"
    }

    /// As an operand: in parentheses when it is itself an operation.
    private var operandFormat: String {
        switch self {
        case .function(let function, _) where function.infix != nil || function.prefix != nil: "(\(format))"
        case .setOperation, .assignment: "(\(format))"
        default: format
        }
    }

    /// Before a dot.
    private var pathBase: String {
        switch self {
        case .constant(let value) where value.number != nil: "(\(format))"
        default: operandFormat
        }
    }

    /// Before a bracket, which binds more tightly than a dot.
    private var indexBase: String {
        switch self {
        case .keyPath(let path) where path.keys.count > 1: "(\(format))"
        case .path, .dynamicKey: "(\(format))"
        default: operandFormat
        }
    }
}

extension Expression: CustomStringConvertible {
    public var description: String { format }
}

extension ElementIndex {
    fileprivate var format: String {
        switch self {
        case .first: "FIRST"
        case .last: "LAST"
        case .size: "SIZE"
        case .value(let expression): expression.format
        }
    }
}

extension [Expression] {
    fileprivate var formatted: String { map(\.format).joined(separator: ", ") }
}

extension KeyPath {
    /// The keys as they are written in a predicate: reserved words behind `#`.
    package var format: String {
        keys.map { ReservedWords.reserved($0.text) == nil ? $0.text : "#\($0.text)" }.joined(separator: ".")
    }
}
