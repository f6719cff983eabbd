import CorestoneValues

/// An expression as a value: `%@` and a variable's value put it in the place where they stand.
public final class ExpressionValue: ValueObject, Sendable {
    public let expression: Expression

    public init(_ expression: Expression) { self.expression = expression }

    public func isEqual(to other: any ValueObject) -> Bool { (other as? ExpressionValue)?.expression == expression }
    public func hashIdentity(into hasher: inout Hasher) { hasher.combine(expression) }
    public var valueDescription: String { expression.format }
}

extension Expression {
    /// What a value stands for in a predicate: itself, or the expression that it is; of a list with expressions an aggregate.
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
