import CorestoneValues

extension Parser {
    mutating func orLevel() throws -> Node {
        try chain(.or, keyword: "OR", symbol: .doubleBar) { try $0.andLevel() }
    }

    private mutating func andLevel() throws -> Node {
        try chain(.and, keyword: "AND", symbol: .doubleAmpersand) { try $0.notLevel() }
    }

    /// One operand, or several joined by a connective, flat.
    private mutating func chain(
        _ type: CompoundType, keyword: String, symbol: Symbol, operand: (inout Parser) throws -> Node
    ) throws -> Node {
        let first = try operand(&self)
        guard token.kind == .keyword(keyword) || token.kind == .symbol(symbol) else { return first }
        var (predicate, depth) = try requirePredicate(first)
        var parts = [predicate]
        while skip(keyword: keyword) || skip(symbol) {
            let node = try operand(&self)
            let next = try requirePredicate(node)
            predicate = next.predicate
            depth = max(depth, next.depth)
            parts.append(predicate)
        }
        return .predicate(.compound(try Compound(type, parts)), depth: try checked(depth + 1))
    }

    private mutating func notLevel() throws -> Node {
        guard skip(keyword: "NOT") || skip(.not) else { return try comparisonLevel() }
        let negated = try nested { parser in
            let node = try parser.notLevel()
            return try parser.requirePredicate(node)
        }
        return .predicate(try .not(negated.predicate), depth: try checked(negated.depth + 1))
    }

    private mutating func comparisonLevel() throws -> Node {
        if skip(keyword: "TRUEPREDICATE") { return .predicate(.constant(true), depth: 1) }
        if skip(keyword: "FALSEPREDICATE") { return .predicate(.constant(false), depth: 1) }
        let quantifier = quantifier()
        let left = try binaryLevel(0)
        if quantifier == nil {
            if case .predicate = left.content { return left }
            guard isOperator else { return left }
        }
        return try comparison(try requireExpression(left), quantifier: quantifier)
    }

    private enum Quantifier { case any, all, none }

    private mutating func quantifier() -> Quantifier? {
        if skip(keyword: "ANY") || skip(keyword: "SOME") { return .any }
        if skip(keyword: "ALL") { return .all }
        return skip(keyword: "NONE") ? Quantifier.none : nil
    }

    /// The rest of a comparison whose left side was read.
    private mutating func comparison(
        _ left: (expression: Expression, depth: Int), quantifier: Quantifier?
    ) throws -> Node {
        let isNegated = token.kind == .keyword("NOT")
        if isNegated { advance() }
        guard let kind = comparisonOperator(), !isNegated || kind == .in else {
            throw expected(isNegated ? "IN after NOT" : "a comparison operator such as ==, < or IN")
        }
        let options = try options()
        let right = try expression()
        let comparison = Comparison(
            left.expression, kind, right.expression,
            modifier: quantifier == nil ? .direct : quantifier == .all ? .all : .any, options: options)
        var predicate = Predicate.comparison(comparison)
        if quantifier == Quantifier.none { predicate = try .not(predicate) }
        if isNegated { predicate = try .not(predicate) }
        return .predicate(predicate, depth: try checked(max(left.depth, right.depth) + 1))
    }

    /// Whether a comparison operator, or NOT IN, is next.
    private var isOperator: Bool {
        switch token.kind {
        case .symbol(let symbol): symbol.comparison != nil
        case .keyword(let word): word == "NOT" || Comparison.Operator(keyword: word) != nil
        case .identifier(_, escaped: false): tokens[index + 1].kind == .symbol(.colon)
        default: false
        }
    }

    private mutating func comparisonOperator() -> Comparison.Operator? {
        switch token.kind {
        case .symbol(let symbol):
            guard let found = symbol.comparison else { return nil }
            advance()
            return found
        case .keyword(let word):
            guard let found = Comparison.Operator(keyword: word) else { return nil }
            advance()
            return found
        case .identifier(let name, escaped: false):
            guard tokens[index + 1].kind == .symbol(.colon) else { return nil }
            advance()
            advance()
            return .custom(name + ":")
        default:
            return nil
        }
    }

    /// `[cd]` behind an operator.
    private mutating func options() throws -> Comparison.Options {
        guard token.kind == .symbol(.leftBracket) else { return [] }
        advance()
        guard case .identifier(let letters, escaped: false) = token.kind else {
            throw expected("options: letters of c, d, n, l")
        }
        var options: Comparison.Options = []
        for letter in letters.lowercased() {
            switch letter {
            case "c": options.insert(.caseInsensitive)
            case "d": options.insert(.diacriticInsensitive)
            case "n": options.insert(.normalized)
            case "l": options.insert(.localeSensitive)
            case "w": options.insert(.word)
            default: throw expected("options of the letters c (case), d (diacritics), n (normalized), l (locale)")
            }
        }
        advance()
        try expect(.rightBracket, " after the options")
        return options
    }
}
