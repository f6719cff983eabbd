import CorestoneValues

/// Reads tokens as a predicate or an expression.
///
/// A parenthesis may hold either, so the levels hand up a `Node` and decide when an operator follows: nothing is ever read
/// twice, and hostile nesting costs no more than its length.
struct Parser {
    /// Deeper nesting is refused: hostile text must not exhaust the stack.
    static let maximumNesting = 128

    /// What was read, and how deep its tree is: long chains make deep trees without nesting.
    struct Node {
        enum Content {
            case predicate(Predicate)
            case expression(Expression)
        }

        var content: Content
        var depth: Int

        static func predicate(_ predicate: Predicate, depth: Int) -> Node {
            Node(content: .predicate(predicate), depth: depth)
        }
        static func expression(_ expression: Expression, depth: Int = 1) -> Node {
            Node(content: .expression(expression), depth: depth)
        }
    }

    let tokens: [Token]
    let errors: SyntaxError
    var arguments: ArgumentReader
    var index = 0
    private var nesting = 0

    init(_ source: [UInt8], arguments: [PropertyValue]) throws {
        errors = SyntaxError(source: source)
        tokens = try Lexer.tokens(of: source)
        self.arguments = ArgumentReader(arguments, errors: errors)
    }

    var token: Token { tokens[index] }

    mutating func advance() {
        if index < tokens.count - 1 { index += 1 }
    }

    /// Steps over the symbol when it is next.
    mutating func skip(_ symbol: Symbol) -> Bool {
        guard token.kind == .symbol(symbol) else { return false }
        advance()
        return true
    }

    mutating func skip(keyword: String) -> Bool {
        guard token.kind == .keyword(keyword) else { return false }
        advance()
        return true
    }

    mutating func expect(_ symbol: Symbol, _ role: String = "") throws {
        if !skip(symbol) { throw expected("\(symbol.rawValue)\(role)") }
    }

    func expected(_ what: String) -> CoreError {
        errors.make("expected \(what), found \(errors.describe(token))", at: token.range.lowerBound)
    }

    /// Runs `body` one level deeper.
    mutating func nested<T>(_ body: (inout Parser) throws -> T) throws -> T {
        nesting += 1
        defer { nesting -= 1 }
        guard nesting <= Parser.maximumNesting else { throw tooDeep() }
        return try body(&self)
    }

    func tooDeep() -> CoreError {
        errors.make("this is nested more than \(Parser.maximumNesting) deep", at: token.range.lowerBound)
    }

    func checked(_ depth: Int) throws -> Int {
        guard depth < Parser.maximumNesting * 2 else { throw tooDeep() }
        return depth
    }
}

// MARK: - Whole texts

extension Parser {
    mutating func wholePredicate() throws -> Predicate {
        let predicate = try condition()
        guard token.kind == .end else { throw expected("AND, OR or the end of the text") }
        return predicate.predicate
    }

    mutating func wholeExpression() throws -> Expression {
        let expression = try expression()
        guard token.kind == .end else { throw expected("an operator or the end of the text") }
        return expression.expression
    }

    mutating func condition() throws -> (predicate: Predicate, depth: Int) {
        let node = try orLevel()
        return try requirePredicate(node)
    }

    mutating func expression(_ minimum: Int = 0) throws -> (expression: Expression, depth: Int) {
        let node = try binaryLevel(minimum)
        return try requireExpression(node)
    }

    /// The predicate that was just read, or an error that a comparison is unfinished.
    func requirePredicate(_ node: Node) throws -> (predicate: Predicate, depth: Int) {
        if case .predicate(let predicate) = node.content { return (predicate, node.depth) }
        throw expected("a comparison operator such as ==, < or IN")
    }

    func requireExpression(_ node: Node) throws -> (expression: Expression, depth: Int) {
        if case .expression(let expression) = node.content { return (expression, node.depth) }
        throw errors.make("expected a value before this, found a predicate", at: token.range.lowerBound)
    }
}
