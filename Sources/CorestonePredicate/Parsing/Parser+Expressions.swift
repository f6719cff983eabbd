import CorestoneValues

extension Parser {
    /// Parses signs and their operand. The sign next to the operand is applied first.
    mutating func unary() throws -> Node {
        token.symbol == .minus || token.symbol == .tilde ? try signed() : try postfix()
    }

    @inline(never)
    private mutating func signed() throws -> Node {
        var signs: [Function] = []
        while true {
            if skip(.minus) {
                signs.append(.negate)
            } else if skip(.tilde) {
                signs.append(.onesComplement)
            } else {
                break
            }
            _ = try checked(signs.count)
        }
        let node = try postfix()
        var (operand, depth) = try requireExpression(node)
        depth = try checked(depth + signs.count)
        for sign in signs.reversed() {
            if sign == .negate, let negative = operand.constantValue?.negated {
                operand = .constant(negative)
            } else {
                operand = .function(sign, [operand])
            }
        }
        return .expression(operand, depth: depth)
    }

    /// Parses an atom and the keys and indexes after it.
    private mutating func postfix() throws -> Node {
        let node = token.symbol == .leftParenthesis ? try parenthesis() : try atom()
        return token.symbol == .dot || token.symbol == .leftBracket ? try suffixes(of: node) : node
    }

    /// Parses a predicate or an expression in parentheses.
    ///
    /// The token after the parentheses determines which of them is required.
    @inline(never)
    private mutating func parenthesis() throws -> Node {
        advance()
        try enter()
        defer { leave() }
        let node = try node()
        try expect(.rightParenthesis)
        return node
    }

    @inline(never)
    private mutating func suffixes(of first: Node) throws -> Node {
        var node = first
        while true {
            guard token.symbol == .dot || token.symbol == .leftBracket else { return node }
            let (base, depth) = try requireExpression(node)
            if skip(.leftBracket) {
                let index = try nested { try $0.elementIndex() }
                node = .expression(.indexed(base, index.index), depth: try checked(max(depth, index.depth) + 1))
                continue
            }
            var (keys, endsAtVariable) = try followingKeys()
            var indexed: KeyName?
            if token.symbol == .leftBracket { indexed = keys.popLast() }
            if !keys.isEmpty { node = .expression(base.followed(by: keys), depth: try checked(depth + 1)) }
            if let indexed { node = try computedKey(node, .keyPath(KeyPath(keys: [indexed]))) }
            if endsAtVariable, case .variable(let name) = token.kind {
                advance()
                let (base, depth) = try requireExpression(node)
                node = .expression(.dynamicKey(base, variable: name), depth: try checked(depth + 1))
            }
        }
    }

    /// Parses `.b[0]`, where the brackets bind more tightly than the dot before the key.
    @inline(never)
    private mutating func computedKey(_ base: Node, _ key: Expression) throws -> Node {
        let (base, baseDepth) = try requireExpression(base)
        var (key, depth) = (key, 0)
        while skip(.leftBracket) {
            let index = try nested { try $0.elementIndex() }
            key = .indexed(key, index.index)
            depth = try checked(max(depth, index.depth) + 1)
        }
        return .expression(.computedKey(base, key: key), depth: try checked(max(depth, baseDepth) + 1))
    }

    /// Parses `.a.b.@count` as a whole, so that a long path is built once, not key by key.
    ///
    /// `.%K` adds the keys of its argument. Stops after the dot of `.$variable`.
    private mutating func followingKeys() throws -> (keys: [KeyName], endsAtVariable: Bool) {
        var keys: [KeyName] = []
        while skip(.dot) {
            switch token.kind {
            case .identifier(let name, _), .atKey(let name): keys.append(KeyName(name))
            case .keyword:
                // Only a key can follow a dot, so a reserved word does not need #.
                keys.append(KeyName(String(decoding: errors.source[token.range], as: UTF8.self)))
            case .argument(UInt8(ascii: "K")): keys += try arguments.keyPath(at: token.range.lowerBound).keys
            case .variable: return (keys, true)
            default: throw expected("a key after the dot")
            }
            advance()
        }
        return (keys, false)
    }

    @inline(never)
    private mutating func elementIndex() throws -> (index: ElementIndex, depth: Int) {
        if token.kind == .keyword("FIRST") || token.kind == .keyword("LAST") || token.kind == .keyword("SIZE"),
            following.symbol == .rightBracket
        {
            let word = token.kind
            advance()
            advance()
            return (word == .keyword("FIRST") ? .first : word == .keyword("LAST") ? .last : .size, 0)
        }
        let value = try expression()
        try expect(.rightBracket, " after the index")
        return (.value(value.expression), value.depth)
    }
}

extension Expression {
    /// Returns the expression with the keys appended to its path.
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
