import CorestoneValues

extension Expression {
    /// The expression as text in Core Data's spelling.
    public var format: String { format(.plain) }

    package func format(_ style: LiteralStyle) -> String {
        switch self {
        case .constant(let value): return value.literal(style)
        case .selfObject: return "SELF"
        case .keyPath(let path): return path.format
        case .path(let base, let path): return "\(base.pathBase(style)).\(path.format)"
        case .dynamicKey(let base, let variable): return "\(base.pathBase(style)).$\(variable)"
        case .computedKey(let base, let key): return "\(base.pathBase(style)).\(key.format(style))"
        case .variable(let name): return "$\(name)"
        case .aggregate(let elements): return "{\(elements.format(style))}"
        case .function(let function, let arguments): return Expression.call(function, arguments, style.ofArguments)
        case .message(let receiver, let selector, let arguments):
            let style = style.ofArguments
            let tail = arguments.isEmpty ? "" : " , \(arguments.format(style))"
            return "FUNCTION(\(receiver.format(style)), \(selector.format(style))\(tail))"
        case .indexed(let base, let index): return "\(base.indexBase(style))[\(index.format(style))]"
        case .subquery(let collection, let variable, let condition):
            return "SUBQUERY(\(collection.format(style)), $\(variable), \(condition.format(style)))"
        case .ternary(let condition, let first, let second):
            return "TERNARY(\(condition.format(style)), \(first.format(style)), \(second.format(style)))"
        case .setOperation(let operation, let left, let right):
            return "\(left.operand(style)) \(operation.rawValue) \(right.operand(style))"
        case .cast(let value, let type):
            return "CAST(\(value.format(style.ofArguments)), \(type.format(style)))"
        case .assignment(let variable, let value): return "$\(variable) := \(value.format(style.ofArguments))"
        case .anyKey: return "ANYKEY"
        case .fetch(let request, let context, let countOnly):
            return "FETCH(\([request, context, countOnly].format(style)))"
        case .block(let block, let arguments):
            let tail = arguments.isEmpty ? "" : ", \(arguments.format(style))"
            return "BLOCK(0x\(String(block.identity, radix: 16))\(tail))"
        }
    }

    private static func call(_ function: Function, _ arguments: [Expression], _ style: LiteralStyle) -> String {
        if let infix = function.infix, arguments.count == 2 {
            return "\(arguments[0].operand(style)) \(infix.symbol) \(arguments[1].operand(style))"
        }
        if let prefix = function.prefix, arguments.count == 1 { return prefix + arguments[0].operand(style) }
        return "\(function.rawValue)(\(arguments.format(style)))"
    }

    /// Returns the text as an operand, in parentheses if the expression is an operation.
    private func operand(_ style: LiteralStyle) -> String {
        switch self {
        case .function(let function, _) where function.infix != nil || function.prefix != nil: "(\(format(style)))"
        case .setOperation, .assignment: "(\(format(style)))"
        default: format(style)
        }
    }

    /// Returns the text before a dot, in parentheses if necessary.
    private func pathBase(_ style: LiteralStyle) -> String {
        switch self {
        case .constant(let value) where value.number != nil: "(\(format(style)))"
        default: operand(style)
        }
    }

    /// Returns the text before a bracket, which binds more tightly than a dot, in parentheses if necessary.
    private func indexBase(_ style: LiteralStyle) -> String {
        switch self {
        case .keyPath(let path) where path.keys.count > 1: "(\(format(style)))"
        case .path, .dynamicKey, .computedKey: "(\(format(style)))"
        case .constant(let value) where (value.number ?? 0) < 0: "(\(format(style)))"
        default: operand(style)
        }
    }
}

extension Expression: CustomStringConvertible {
    public var description: String { format }
}

extension ElementIndex {
    fileprivate func format(_ style: LiteralStyle) -> String {
        switch self {
        case .first: "FIRST"
        case .last: "LAST"
        case .size: "SIZE"
        case .value(let expression): expression.format(style)
        }
    }
}

extension [Expression] {
    fileprivate func format(_ style: LiteralStyle) -> String { map { $0.format(style) }.joined(separator: ", ") }
}

extension KeyPath {
    /// The keys in the syntax of predicates: reserved words are preceded by `#`.
    package var format: String {
        keys.map { ReservedWords.reserved($0.text) == nil ? $0.text : "#\($0.text)" }.joined(separator: ".")
    }
}
