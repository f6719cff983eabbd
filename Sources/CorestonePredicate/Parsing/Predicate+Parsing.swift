import CorestoneValues

extension Predicate {
    /// Parses a predicate, for example `age > %d AND department.name == %@`.
    ///
    /// - Parameters:
    ///   - format: the text. Keywords are case-insensitive.
    ///   - arguments: the values of the `%` conversions, in order. `%@` inserts any value, and `%K` a key path from a
    ///     string. An expression (`ExpressionValue`) is inserted as an expression. Surplus arguments are ignored.
    /// - Throws: `.predicateSyntax` for invalid text, with the byte offset, the expected token and a caret under that
    ///   position, and for text that exceeds `PredicateLimits`.
    public static func parse(_ format: String, arguments: [PropertyValue] = []) throws -> Predicate {
        try parse(utf8: Array(format.utf8), arguments: arguments)
    }

    /// Parses a predicate from UTF-8 bytes.
    public static func parse(utf8 format: [UInt8], arguments: [PropertyValue] = []) throws -> Predicate {
        var parser = try Parser(format, arguments: arguments, noun: "predicate")
        return try parser.wholePredicate()
    }
}

extension Expression {
    /// Parses an expression, for example `salary * 12` or `employees.@avg.age`.
    ///
    /// - Throws: as `Predicate.parse`.
    public static func parse(_ format: String, arguments: [PropertyValue] = []) throws -> Expression {
        var parser = try Parser(Array(format.utf8), arguments: arguments, noun: "expression")
        return try parser.wholeExpression()
    }
}
