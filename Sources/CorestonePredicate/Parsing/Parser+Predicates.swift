import CorestoneValues

/// The precedence levels of connectives and operators; `Function.infix` has those of arithmetic.
///
/// One function parses all levels, so that nested parentheses use little stack.
enum Level {
    static let or = 0, and = 1, not = 2, comparison = 3, sets = 4
    /// The base to which the precedences of `Function.infix` are added.
    static let functions = 4
}

// Every level of nesting uses stack space for these functions, so rare cases are not inlined.
extension Parser {
    /// Parses operands and the operators between them that bind at least as tightly as `minimum`.
    mutating func node(_ minimum: Int = Level.or) throws -> Node {
        var left = try operand(minimum)
        while let joint = joint(behind: left), joint.level >= minimum {
            left = try joined(left, joint)
        }
        return left
    }

    /// An operator or connective between two operands.
    private struct InfixOperator {
        enum Kind {
            case compound(CompoundType)
            case comparison
            case function(Function)
            case sets(SetOperator)
        }

        let kind: Kind
        let level: Int
    }

    @inline(never)
    private func joint(behind left: Node) -> InfixOperator? {
        if isNext("AND", .doubleAmpersand) { return InfixOperator(kind: .compound(.and), level: Level.and) }
        if isNext("OR", .doubleBar) { return InfixOperator(kind: .compound(.or), level: Level.or) }
        guard case .expression = left.content else { return nil }
        if let function = token.symbol?.function, let infix = function.infix {
            return InfixOperator(kind: .function(function), level: Level.functions + infix.precedence)
        }
        if case .keyword(let word) = token.kind,
            let operation = SetOperator(rawValue: word == "INTERSECTION" ? "INTERSECT" : word)
        {
            return InfixOperator(kind: .sets(operation), level: Level.sets)
        }
        return isComparison ? InfixOperator(kind: .comparison, level: Level.comparison) : nil
    }

    @inline(never)
    private mutating func joined(_ left: Node, _ joint: InfixOperator) throws -> Node {
        switch joint.kind {
        case .compound(.and): return try chain(left, .and, "AND", .doubleAmpersand, operandLevel: Level.not)
        case .compound: return try chain(left, .or, "OR", .doubleBar, operandLevel: Level.and)
        case .comparison: return try comparison(left, quantifier: nil)
        case .function, .sets: break
        }
        advance()
        let first = try requireExpression(left)
        let second = try expression(joint.level + 1)
        let depth = try checked(max(first.depth, second.depth) + 1)
        if case .sets(let operation) = joint.kind {
            return .expression(.setOperation(operation, first.expression, second.expression), depth: depth)
        }
        guard case .function(let function) = joint.kind else { return left }
        return .expression(.function(function, [first.expression, second.expression]), depth: depth)
    }

    /// Parses an operand: NOT or a quantifier with its operand, a constant predicate, or a value.
    private mutating func operand(_ minimum: Int) throws -> Node {
        if minimum <= Level.comparison, let prefixed = try prefixed(minimum) { return prefixed }
        return try unary()
    }

    @inline(never)
    private mutating func prefixed(_ minimum: Int) throws -> Node? {
        if minimum <= Level.not, isNext("NOT", .not) { return try negation() }
        guard case .keyword = token.kind else { return nil }
        if let quantifier = quantifier() {
            let left = try node(Level.sets)
            return try comparison(left, quantifier: quantifier)
        }
        if skip(keyword: "TRUEPREDICATE") { return .predicate(.constant(true), depth: 0) }
        if skip(keyword: "FALSEPREDICATE") { return .predicate(.constant(false), depth: 0) }
        return nil
    }

    private func isNext(_ keyword: String, _ symbol: Symbol) -> Bool {
        if token.symbol == symbol { return true }
        if case .keyword(let found) = token.kind { return found == keyword }
        return false
    }

    /// Parses a chain of operands of one connective into a flat compound. The first operand was already parsed.
    @inline(never)
    private mutating func chain(
        _ first: Node, _ type: CompoundType, _ keyword: String, _ symbol: Symbol, operandLevel: Int
    ) throws -> Node {
        var (predicate, depth) = try requirePredicate(first)
        var parts = [predicate]
        while skip(keyword: keyword) || skip(symbol) {
            let next = try condition(operandLevel)
            predicate = next.predicate
            depth = max(depth, next.depth)
            parts.append(predicate)
        }
        return .predicate(try compound(type, parts), depth: try checked(depth + 1))
    }

    @inline(never)
    private mutating func negation() throws -> Node {
        var count = 0
        while skip(keyword: "NOT") || skip(.not) { count = try checked(count + 1) }
        var (predicate, depth) = try condition(Level.comparison)
        depth = try checked(depth + count)
        for _ in 0..<count { predicate = try compound(.not, [predicate]) }
        return .predicate(predicate, depth: depth)
    }

    private enum Quantifier { case any, all, none }

    private mutating func quantifier() -> Quantifier? {
        if skip(keyword: "ANY") || skip(keyword: "SOME") { return .any }
        if skip(keyword: "ALL") { return .all }
        return skip(keyword: "NONE") ? Quantifier.none : nil
    }

    /// Parses the rest of a comparison after its left side.
    @inline(never)
    private mutating func comparison(_ left: Node, quantifier: Quantifier?) throws -> Node {
        let left = try requireExpression(left)
        let isNegated = token.kind == .keyword("NOT")
        if isNegated {
            advance()
            guard token.kind == .keyword("IN") else { throw expected("IN after NOT") }
        }
        guard let kind = comparisonOperator() else { throw expected("a comparison operator such as ==, < or IN") }
        let options = try options()
        let right = try expression()
        // NONE negates ANY. ANY … NOT IN negates ALL … IN.
        let isAll = (quantifier == .all) != (isNegated && quantifier != nil)
        let comparison = Comparison(
            left.expression, kind, right.expression, modifier: quantifier == nil ? .direct : isAll ? .all : .any,
            options: options)
        let depth = try checked(max(left.depth, right.depth) + 1)
        if isNegated == (quantifier == Quantifier.none) { return .predicate(.comparison(comparison), depth: depth) }
        return .predicate(try compound(.not, [.comparison(comparison)]), depth: try checked(depth + 1))
    }

    /// Whether a comparison operator, or NOT IN, is next.
    private var isComparison: Bool {
        switch token.kind {
        case .symbol(let symbol): symbol.comparison != nil
        case .keyword(let word): word == "NOT" || Comparison.Operator(keyword: word) != nil
        case .identifier(_, escaped: false): following.symbol == .colon
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
            guard following.symbol == .colon else { return nil }
            advance()
            advance()
            return .custom(name + ":")
        default:
            return nil
        }
    }

    /// Parses options after an operator, such as `[cd]`.
    private mutating func options() throws -> Comparison.Options {
        guard token.symbol == .leftBracket else { return [] }
        advance()
        guard case .identifier(let letters, escaped: false) = token.kind else {
            throw expected("options of the letters c, d, n, l or w")
        }
        var options: Comparison.Options = []
        for letter in letters.lowercased() {
            switch letter {
            case "c": options.insert(.caseInsensitive)
            case "d": options.insert(.diacriticInsensitive)
            case "n": options.insert(.normalized)
            case "l": options.insert(.localeSensitive)
            case "w": options.insert(.word)
            default:
                throw expected("options of the letters c (case), d (diacritics), n (normalized), l (locale), w (words)")
            }
        }
        advance()
        try expect(.rightBracket, " after the options")
        return options
    }
}
