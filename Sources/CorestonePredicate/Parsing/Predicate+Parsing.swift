import CorestoneValues

extension Predicate {
    /// Reads a predicate, for example `age > %d AND department.name == %@`.
    ///
    /// - Parameters:
    ///   - format: the text; words in any case, keys and strings as they are.
    ///   - arguments: what fills the `%` conversions, in order. `%@` takes any value, `%K` a key path as a string. Expressions are
    ///     put in place (`ExpressionValue`); those that are left over are not looked at.
    /// - Throws: `Status.predicateSyntax` with the byte offset, what was expected and a caret under the place; also beyond
    ///   `PredicateLimits`.
    public static func parse(_ format: String, arguments: [PropertyValue] = []) throws -> Predicate {
        try parse(utf8: Array(format.utf8), arguments: arguments)
    }

    /// The same from UTF-8 bytes.
    public static func parse(utf8 format: [UInt8], arguments: [PropertyValue] = []) throws -> Predicate {
        var parser = try Parser(format, arguments: arguments, noun: "predicate")
        return try parser.wholePredicate()
    }
}

extension Expression {
    /// Reads an expression, for example `salary * 12` or `employees.@avg.age`.
    ///
    /// - Throws: as `Predicate.parse`.
    public static func parse(_ format: String, arguments: [PropertyValue] = []) throws -> Expression {
        var parser = try Parser(Array(format.utf8), arguments: arguments, noun: "expression")
        return try parser.wholeExpression()
    }
}
