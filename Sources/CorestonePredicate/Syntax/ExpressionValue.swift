import CorestoneValues

/// An expression as a value. As an argument of `%@` or as the value of a variable, it is inserted as an expression.
public final class ExpressionValue: ValueObject, Sendable {
    public let expression: Expression

    public init(_ expression: Expression) { self.expression = expression }

    public func isEqual(to other: any ValueObject) -> Bool { (other as? ExpressionValue)?.expression == expression }
    public func hashIdentity(into hasher: inout Hasher) { hasher.combine(expression) }
    public var valueDescription: String { expression.format }
}

extension Expression {
    /// Creates the expression of an argument.
    ///
    /// This is the expression itself for an `ExpressionValue`, an aggregate for a list that contains an
    /// `ExpressionValue`, and otherwise a constant.
    package init(argument value: PropertyValue) {
        switch value {
        case .object(let value as ExpressionValue): self = value.expression
        case .array(let elements) where elements.contains(where: \.isExpression):
            self = .aggregate(elements.map { Expression(argument: $0) })
        default: self = .constant(value)
        }
    }
}

extension PropertyValue {
    fileprivate var isExpression: Bool {
        if case .object(let value) = self { value is ExpressionValue } else { false }
    }
}
