import CorestoneValues

/// A parser of tokens into a predicate or an expression.
///
/// Parentheses can contain either, so each level returns a `Node`, and the operator after the node determines which of
/// them is required. No token is parsed twice, so the time is proportional to the length of the text, even for
/// malicious nesting. `PredicateLimits` limits the nesting.
struct Parser {
    /// A parsed part and the depth of its tree. Long chains of operators make deep trees without nesting in the text.
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
        static func expression(_ expression: Expression, depth: Int = 0) -> Node {
            Node(content: .expression(expression), depth: depth)
        }
    }

    let errors: SyntaxError
    var arguments: ArgumentReader
    /// The current token and the one after it.
    private(set) var token: Token
    private(set) var following: Token
    private var lexer: Lexer
    /// The error of an `invalid` token.
    private var lexicalError: CoreError?
    private var nesting = 0

    init(_ source: [UInt8], arguments: [PropertyValue], noun: String) throws {
        errors = SyntaxError(source: source, noun: noun)
        self.arguments = ArgumentReader(arguments, errors: errors)
        lexer = Lexer(source, errors: errors)
        token = Token(kind: .end, range: 0..<0)
        following = token
        guard source.count <= PredicateLimits.maximumLength else {
            throw errors.make(
                "the text has \(source.count) bytes, but the limit is \(PredicateLimits.maximumLength); "
                    + "pass long lists as arguments", at: PredicateLimits.maximumLength)
        }
        guard arguments.count <= PredicateLimits.maximumArguments else {
            throw errors.make(
                "there are \(arguments.count) arguments, but the limit is \(PredicateLimits.maximumArguments); "
                    + "pass many values as one list", at: 0)
        }
        advance()
        advance()
    }

    mutating func advance() {
        token = following
        if lexicalError != nil { return }
        do { following = try lexer.next() } catch {
            lexicalError = error as? CoreError ?? CoreError(.internal, "\(error)")
            following = Token(kind: .invalid, range: lexer.position..<lexer.position)
        }
    }

    /// Advances if the current token is the symbol. Returns whether this was the case.
    mutating func skip(_ symbol: Symbol) -> Bool {
        guard token.symbol == symbol else { return false }
        advance()
        return true
    }

    mutating func skip(keyword: String) -> Bool {
        guard token.kind == .keyword(keyword) else { return false }
        advance()
        return true
    }

    mutating func expect(_ symbol: Symbol, _ role: String = "") throws {
        if !skip(symbol) { throw expected("\(symbol == .comma ? "a comma" : symbol.rawValue)\(role)") }
    }

    func expected(_ element: String) -> CoreError {
        if token.kind == .invalid, let lexicalError { return lexicalError }
        return errors.make("expected \(element), found \(errors.describe(token))", at: token.range.lowerBound)
    }

    /// Runs `body` at the next level of nesting.
    mutating func nested<T>(_ body: (inout Parser) throws -> T) throws -> T {
        try enter()
        defer { leave() }
        return try body(&self)
    }

    mutating func enter() throws {
        nesting += 1
        guard nesting <= PredicateLimits.maximumNesting else {
            throw errors.make(
                "the nesting exceeds the limit of \(PredicateLimits.maximumNesting) levels; leave out unnecessary parentheses, or "
                    + "pass inner expressions as arguments (%@)",
                at: token.range.lowerBound)
        }
    }

    mutating func leave() { nesting -= 1 }

    /// Returns the depth of a tree if it is within the limit.
    func checked(_ depth: Int) throws -> Int {
        guard depth <= PredicateLimits.maximumDepth else {
            throw errors.make(
                "nested operations exceed the limit of \(PredicateLimits.maximumDepth); combine many conditions in one AND or OR, "
                    + "and many values in one list",
                at: token.range.lowerBound)
        }
        return depth
    }

    /// Creates a compound. If it exceeds a limit, the error has the offset in the text.
    func compound(_ type: CompoundType, _ parts: [Predicate]) throws -> Predicate {
        do { return .compound(try Compound(type, parts)) } catch let error as CoreError {
            throw errors.make(error.message, at: token.range.lowerBound)
        }
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

    /// Parses a predicate whose operators bind at least as tightly as `minimum`.
    mutating func condition(_ minimum: Int = Level.or) throws -> (predicate: Predicate, depth: Int) {
        let node = try node(minimum)
        return try requirePredicate(node)
    }

    mutating func expression(_ minimum: Int = Level.sets) throws -> (expression: Expression, depth: Int) {
        let node = try node(minimum)
        return try requireExpression(node)
    }

    /// Returns the parsed predicate. Throws for an expression, which is an incomplete comparison.
    func requirePredicate(_ node: Node) throws -> (predicate: Predicate, depth: Int) {
        if case .predicate(let predicate) = node.content { return (predicate, node.depth) }
        throw expected("a comparison operator such as ==, < or IN")
    }

    func requireExpression(_ node: Node) throws -> (expression: Expression, depth: Int) {
        if case .expression(let expression) = node.content { return (expression, node.depth) }
        throw errors.make("expected a value before this, found a predicate", at: token.range.lowerBound)
    }
}
