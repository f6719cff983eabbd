import CorestoneValues

extension Parser {
    /// Operands joined by operators that bind at least as tightly as `minimum`; all are left associative.
    mutating func binaryLevel(_ minimum: Int) throws -> Node {
        var left = try unaryLevel()
        while let (operation, precedence) = infix(), precedence >= minimum {
            guard case .expression(let first) = left.content else { break }
            advance()
            let right = try nested { try $0.expression(precedence + 1) }
            let depth = try checked(max(left.depth, right.depth) + 1)
            left = .expression(operation(first, right.expression), depth: depth)
        }
        return left
    }

    /// The binary operator that is next.
    private func infix() -> (combine: (Expression, Expression) -> Expression, precedence: Int)? {
        switch token.kind {
        case .symbol(let symbol):
            guard let function = symbol.function, let infix = function.infix else { return nil }
            return ({ .function(function, [$0, $1]) }, infix.precedence)
        case .keyword(let word):
            let spelling = word == "INTERSECTION" ? "INTERSECT" : word
            guard let operation = SetOperator(rawValue: spelling) else { return nil }
            return ({ .setOperation(operation, $0, $1) }, 1)
        default:
            return nil
        }
    }

    private mutating func unaryLevel() throws -> Node {
        let function: Function
        switch token.kind {
        case .symbol(.minus): function = .negate
        case .symbol(.tilde): function = .onesComplement
        default: return try postfixLevel()
        }
        advance()
        let operand = try nested { parser in
            let node = try parser.unaryLevel()
            return try parser.requireExpression(node)
        }
        if function == .negate, let negative = operand.expression.constantValue?.negated {
            return .expression(.constant(negative))
        }
        return .expression(.function(function, [operand.expression]), depth: try checked(operand.depth + 1))
    }

    /// An atom and the keys and indexes behind it.
    private mutating func postfixLevel() throws -> Node {
        var node = try atom()
        while true {
            guard token.kind == .symbol(.dot) || token.kind == .symbol(.leftBracket) else { return node }
            let (base, depth) = try requireExpression(node)
            if skip(.leftBracket) {
                let index = try nested { try $0.elementIndex() }
                node = .expression(.indexed(base, index.index), depth: try checked(max(depth, index.depth) + 1))
                continue
            }
            let keys = try followingKeys()
            if !keys.isEmpty { node = .expression(base.followed(by: keys), depth: try checked(depth + 1)) }
            if case .variable(let name) = token.kind, tokens[index - 1].kind == .symbol(.dot) {
                advance()
                let (base, depth) = try requireExpression(node)
                node = .expression(.dynamicKey(base, variable: name), depth: try checked(depth + 1))
            }
        }
    }

    /// `.a.b.@count`, all at once, so that a long path is built in one go. Stops behind the dot of `.$variable`.
    private mutating func followingKeys() throws -> [KeyName] {
        var keys: [KeyName] = []
        while skip(.dot) {
            switch token.kind {
            case .identifier(let name, _), .atKey(let name): keys.append(KeyName(name))
            case .keyword:
                // Behind a dot only a key can stand, so a reserved word needs no #.
                keys.append(KeyName(String(decoding: errors.source[token.range], as: UTF8.self)))
            case .variable: return keys
            default: throw expected("a key after the dot")
            }
            advance()
        }
        return keys
    }

    private mutating func elementIndex() throws -> (index: ElementIndex, depth: Int) {
        if token.kind == .keyword("FIRST") || token.kind == .keyword("LAST") || token.kind == .keyword("SIZE"),
            tokens[index + 1].kind == .symbol(.rightBracket)
        {
            let word = token.kind
            advance()
            advance()
            return (word == .keyword("FIRST") ? .first : word == .keyword("LAST") ? .last : .size, 1)
        }
        let value = try expression()
        try expect(.rightBracket, " after the index")
        return (.value(value.expression), value.depth)
    }
}

extension Expression {
    /// The expression with keys behind it.
    fileprivate func followed(by keys: [KeyName]) -> Expression {
        switch self {
        case .keyPath(let path): .keyPath(KeyPath(keys: path.keys + keys))
        case .path(let base, let path): .path(base, KeyPath(keys: path.keys + keys))
        default: .path(self, KeyPath(keys: keys))
        }
    }
}

extension PropertyValue {
    /// The number with its sign changed; nil for other values.
    fileprivate var negated: PropertyValue? {
        switch self {
        case .int(let value): value == .min ? .double(-Double(value)) : .int(-value)
        case .double(let value): .double(-value)
        case .decimal(let value):
            value.exponent == 0 && !value.isNegative && value.mantissa == UInt128(Int64.max) + 1
                ? .int(.min)
                : .decimal(
                    DecimalNumber(mantissa: value.mantissa, exponent: value.exponent, isNegative: !value.isNegative))
        default: nil
        }
    }
}
