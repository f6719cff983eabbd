import CorestoneValues

extension Parser {
    /// Parses a literal, a key or a call.
    mutating func atom() throws -> Node {
        if token.symbol == .leftBrace { return try aggregate() }
        switch token.kind {
        case .keyword(let word): return try keywordAtom(word)
        case .identifier(_, escaped: false) where following.symbol == .leftParenthesis || following.symbol == .colon:
            return try functionCall()
        case .variable(let name) where following.symbol == .assign: return try assignment(to: name)
        default: return try simpleAtom()
        }
    }

    /// Parses an atom without nested parts.
    @inline(never)
    private mutating func simpleAtom() throws -> Node {
        let found = token
        let expression: Expression
        switch found.kind {
        case .string(let text): expression = .constant(.text(text))
        case .number(let value): expression = .constant(value)
        case .argument(let conversion):
            expression = try arguments.next(for: conversion, at: found.range.lowerBound)
            advance()
            return .expression(expression, depth: try checked(expression.size.depth))
        case .variable(let name): expression = .variable(name)
        case .atKey(let name), .identifier(let name, _): expression = .keyPath(KeyPath(keys: [KeyName(name)]))
        case .keyword, .symbol, .invalid, .end: throw expected("a value or a key")
        }
        advance()
        return .expression(expression)
    }

    /// Parses `$name := value`.
    @inline(never)
    private mutating func assignment(to name: String) throws -> Node {
        advance()
        advance()
        let value = try nested { try $0.expression() }
        return .expression(.assignment(variable: name, value.expression), depth: try checked(value.depth + 1))
    }

    @inline(never)
    private mutating func keywordAtom(_ word: String) throws -> Node {
        let constant: PropertyValue?
        switch word {
        case "TRUE", "YES": constant = .bool(true)
        case "FALSE", "NO": constant = .bool(false)
        case "NULL", "NIL": constant = .null
        default: constant = nil
        }
        if let constant {
            advance()
            return .expression(.constant(constant))
        }
        switch word {
        case "SELF":
            advance()
            return .expression(.selfObject)
        case "ANYKEY":
            advance()
            return .expression(.anyKey)
        case "SUBQUERY": return try call { try $0.subquery() }
        case "CAST": return try call { try $0.cast() }
        case "TERNARY": return try call { try $0.ternary() }
        case "FUNCTION": return try call { try $0.message() }
        case "FETCH": return try call { try $0.fetch() }
        default:
            throw errors.make(
                "expected a value or a key, found the reserved word \(errors.describe(token)); "
                    + "write a key of this name as \"#\(errors.spelling(token))\"", at: token.range.lowerBound)
        }
    }

    /// Parses `{a, b}`. If all elements are constants, the list is a constant.
    @inline(never)
    private mutating func aggregate() throws -> Node {
        advance()
        try enter()
        defer { leave() }
        var elements: [Expression] = []
        var constants: [PropertyValue]? = []
        var depth = 0
        if !skip(.rightBrace) {
            repeat {
                let element = try expression()
                elements.append(element.expression)
                if let value = element.expression.constantValue { constants?.append(value) } else { constants = nil }
                depth = max(depth, element.depth)
            } while skip(.comma)
            try expect(.rightBrace, " or a comma")
        }
        if let constants { return .expression(.constant(.array(constants))) }
        return .expression(.aggregate(elements), depth: try checked(depth + 1))
    }
}

// MARK: - Calls

extension Parser {
    /// Parses `name:(a, b)` or `name(a)`.
    @inline(never)
    fileprivate mutating func functionCall() throws -> Node {
        let start = token.range.lowerBound
        let name = try functionName()
        try enter()
        defer { leave() }
        let (arguments, depth) = try expressionList()
        return try call(name, arguments, depth: depth, at: start)
    }

    /// Parses the name of a function and the opening parenthesis.
    @inline(never)
    private mutating func functionName() throws -> String {
        let start = token
        var name = ""
        while case .identifier(let part, escaped: false) = token.kind {
            advance()
            name += part
            guard skip(.colon) else { break }
            name += ":"
        }
        guard skip(.leftParenthesis) else { throw expected("( and the arguments of the function \"\(name)\"") }
        if Function(named: name) == nil {
            throw errors.make(Expression.unknownFunction(name), at: start.range.lowerBound, key: name)
        }
        return name
    }

    @inline(never)
    private func call(_ name: String, _ arguments: [Expression], depth: Int, at start: Int) throws -> Node {
        let depth = try checked(depth + 1)
        do { return .expression(try Expression.calling(name, arguments), depth: depth) } catch let error as CoreError {
            throw errors.make(error.message, at: start, key: error.key)
        }
    }

    /// Parses expressions up to the closing parenthesis.
    @inline(never)
    private mutating func expressionList() throws -> (expressions: [Expression], depth: Int) {
        var expressions: [Expression] = []
        var depth = 0
        if skip(.rightParenthesis) { return (expressions, 0) }
        repeat {
            let element = try expression()
            expressions.append(element.expression)
            depth = max(depth, element.depth)
        } while skip(.comma)
        try expect(.rightParenthesis, " or a comma")
        return (expressions, depth)
    }

    /// Parses a keyword, the opening parenthesis, and with `operands` the rest of the call.
    @inline(never)
    private mutating func call(_ operands: (inout Parser) throws -> Node) throws -> Node {
        advance()
        try expect(.leftParenthesis)
        try enter()
        defer { leave() }
        return try operands(&self)
    }

    @inline(never)
    private mutating func subquery() throws -> Node {
        let collection = try expression()
        try expect(.comma, " after the collection")
        guard case .variable(let name) = token.kind else { throw expected("a variable such as $x") }
        advance()
        try expect(.comma, " after the variable")
        let condition = try condition()
        try expect(.rightParenthesis)
        let depth = try checked(max(collection.depth, condition.depth) + 1)
        return .expression(.subquery(collection.expression, variable: name, condition.predicate), depth: depth)
    }

    @inline(never)
    private mutating func cast() throws -> Node {
        let value = try expression()
        try expect(.comma, " after the value")
        let type = try expression()
        try expect(.rightParenthesis)
        let depth = try checked(max(value.depth, type.depth) + 1)
        // A constant that is printed as a cast is parsed to the same constant.
        if case .text(let name)? = type.expression.constantValue,
            let constant = value.expression.constantValue?.constant(castTo: name.string)
        {
            return .expression(.constant(constant), depth: depth)
        }
        return .expression(.cast(value.expression, type: type.expression), depth: depth)
    }

    @inline(never)
    private mutating func ternary() throws -> Node {
        let condition = try condition()
        try expect(.comma, " after the condition")
        let first = try expression()
        try expect(.comma, " after the first value")
        let second = try expression()
        try expect(.rightParenthesis)
        let depth = try checked(max(condition.depth, first.depth, second.depth) + 1)
        return .expression(.ternary(condition.predicate, first.expression, second.expression), depth: depth)
    }

    @inline(never)
    private mutating func message() throws -> Node {
        let start = token
        let (parts, depth) = try expressionList()
        guard parts.count >= 2 else {
            throw errors.make(
                "FUNCTION takes a receiver and a selector, but has \(parts.count) "
                    + "argument\(parts.count == 1 ? "" : "s")", at: start.range.lowerBound)
        }
        return .expression(
            .message(receiver: parts[0], selector: parts[1], arguments: Array(parts[2...])),
            depth: try checked(depth + 1))
    }

    @inline(never)
    private mutating func fetch() throws -> Node {
        let start = token
        let (parts, depth) = try expressionList()
        guard parts.count == 3 else {
            throw errors.make(
                "FETCH takes a request, a context and a count flag, but has \(parts.count) "
                    + "argument\(parts.count == 1 ? "" : "s")", at: start.range.lowerBound)
        }
        return .expression(.fetch(parts[0], context: parts[1], countOnly: parts[2]), depth: try checked(depth + 1))
    }
}
