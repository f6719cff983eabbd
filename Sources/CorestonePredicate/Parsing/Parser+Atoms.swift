import CorestoneValues

extension Parser {
    /// A literal, a key, a call, or anything in parentheses.
    mutating func atom() throws -> Node {
        let found = token
        switch found.kind {
        case .string(let text):
            advance()
            return .expression(.constant(.text(text)))
        case .number(let value):
            advance()
            return .expression(.constant(value))
        case .argument(let conversion):
            advance()
            let argument = try arguments.next(for: conversion, at: found.range.lowerBound)
            return .expression(argument, depth: try checked(argument.treeDepth))
        case .variable(let name):
            advance()
            guard skip(.assign) else { return .expression(.variable(name)) }
            let value = try nested { try $0.expression() }
            return .expression(.assignment(variable: name, value.expression), depth: try checked(value.depth + 1))
        case .atKey(let name):
            advance()
            return .expression(.keyPath(KeyPath(keys: [KeyName(name)])))
        case .identifier(let name, let escaped):
            advance()
            if !escaped, token.kind == .symbol(.leftParenthesis) || token.kind == .symbol(.colon) {
                return try nested { try $0.functionCall(name, at: found) }
            }
            return .expression(.keyPath(KeyPath(keys: [KeyName(name)])))
        case .symbol(.leftBrace):
            advance()
            return try nested { try $0.aggregate() }
        case .symbol(.leftParenthesis):
            advance()
            return try nested { parser in
                let node = try parser.orLevel()
                try parser.expect(.rightParenthesis)
                return node
            }
        case .keyword(let word):
            return try keywordAtom(word)
        case .symbol, .end:
            throw expected("a value or a key")
        }
    }

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
                    + "as a key it is written #\(errors.describe(token))", at: token.range.lowerBound)
        }
    }

    /// `{a, b}`; of constants only, it is a constant.
    private mutating func aggregate() throws -> Node {
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
        if let constants { return .expression(.constant(.array(constants)), depth: try checked(depth + 1)) }
        return .expression(.aggregate(elements), depth: try checked(depth + 1))
    }
}

// MARK: - Calls

extension Parser {
    /// `name:(a, b)`, `name(a)`; the position is behind the first part of the name.
    fileprivate mutating func functionCall(_ first: String, at start: Token) throws -> Node {
        var name = first
        while skip(.colon) {
            name += ":"
            guard case .identifier(let part, escaped: false) = token.kind else { break }
            advance()
            name += part
        }
        guard skip(.leftParenthesis) else { throw expected("( and the arguments of the function \(name)") }
        guard Function(named: name) != nil else {
            throw errors.make(Expression.unknownFunction(name), at: start.range.lowerBound)
        }
        let (arguments, depth) = try expressionList()
        do {
            return .expression(try Expression.calling(name, arguments), depth: try checked(depth + 1))
        } catch let error as CoreError where error.status == .invalidArgument {
            throw errors.make(error.message, at: start.range.lowerBound)
        }
    }

    /// Expressions up to the closing parenthesis.
    private mutating func expressionList() throws -> (expressions: [Expression], depth: Int) {
        var expressions: [Expression] = []
        var depth = 0
        if skip(.rightParenthesis) { return (expressions, 1) }
        repeat {
            let element = try expression()
            expressions.append(element.expression)
            depth = max(depth, element.depth)
        } while skip(.comma)
        try expect(.rightParenthesis, " or a comma")
        return (expressions, depth)
    }

    /// Steps over a keyword and its parenthesis and reads the operands up to the closing one.
    private mutating func call(_ operands: (inout Parser) throws -> Node) throws -> Node {
        advance()
        try expect(.leftParenthesis)
        return try nested(operands)
    }

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

    private mutating func cast() throws -> Node {
        let value = try expression()
        try expect(.comma, " after the value")
        let type = try expression()
        try expect(.rightParenthesis)
        let depth = try checked(max(value.depth, type.depth) + 1)
        // Printed constants come back as what they were.
        if case .text(let name)? = type.expression.constantValue,
            let constant = value.expression.constantValue?.constant(castTo: name.string)
        {
            return .expression(.constant(constant), depth: depth)
        }
        return .expression(.cast(value.expression, type: type.expression), depth: depth)
    }

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

    private mutating func message() throws -> Node {
        let start = token
        let (parts, depth) = try expressionList()
        guard parts.count >= 2 else {
            throw errors.make("FUNCTION takes a receiver and a selector", at: start.range.lowerBound)
        }
        return .expression(
            .message(receiver: parts[0], selector: parts[1], arguments: Array(parts[2...])),
            depth: try checked(depth + 1))
    }

    private mutating func fetch() throws -> Node {
        let start = token
        let (parts, depth) = try expressionList()
        guard parts.count == 3 else {
            throw errors.make("FETCH takes a request, a context and whether to count", at: start.range.lowerBound)
        }
        return .expression(.fetch(parts[0], context: parts[1], countOnly: parts[2]), depth: try checked(depth + 1))
    }
}
