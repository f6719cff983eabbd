import CorestoneValues

/// An expression in the place of a value: an argument of `%@`, or what a variable stands for. It is put where it is used.
public final class ExpressionValue: ValueObject, Sendable {
    public let expression: Expression

    public init(_ expression: Expression) { self.expression = expression }

    public func isEqual(to other: any ValueObject) -> Bool { (other as? ExpressionValue)?.expression == expression }
    public func hashIdentity(into hasher: inout Hasher) { hasher.combine(expression) }
    public var valueDescription: String { expression.format }
}

extension Expression {
    /// The constant of a value, or the expression that it carries.
    package init(argument value: PropertyValue) {
        if case .object(let carrier as ExpressionValue) = value {
            self = carrier.expression
        } else {
            self = .constant(value)
        }
    }
}
