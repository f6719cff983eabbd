import CorestonePredicate
import CorestoneValues

/// A predicate that a model holds, as its text and as what it means.
///
/// Models of others may hold text that cannot be read here; it is kept, and an error only for whoever uses it.
public struct PredicateText: Hashable, Sendable {
    public let text: String
    /// nil when the text is no predicate that can be read here.
    public let predicate: Predicate?

    public init(_ text: String) {
        self.text = text
        predicate = try? Predicate.parse(text)
    }

    public init(_ predicate: Predicate) {
        text = predicate.format
        self.predicate = predicate
    }

    /// The predicate, or `.predicateSyntax` with what stands in the way of reading it.
    public func required() throws -> Predicate { try predicate ?? Predicate.parse(text) }
}

/// An expression that a model holds, as its text and as what it means.
public struct ExpressionText: Hashable, Sendable {
    public let text: String
    /// nil when the text is no expression that can be read here.
    public let expression: Expression?

    public init(_ text: String) {
        self.text = text
        expression = try? Expression.parse(text)
    }

    public init(_ expression: Expression) {
        text = expression.format
        self.expression = expression
    }

    /// The expression, or `.predicateSyntax` with what stands in the way of reading it.
    public func required() throws -> Expression { try expression ?? Expression.parse(text) }
}
