import CorestoneValues

/// A value in a predicate: what stands left and right of an operator.
///
/// Immutable; any thread may evaluate it.
public indirect enum Expression: Hashable, Sendable {
    /// A literal or an argument; aggregates of constants are arrays already.
    case constant(PropertyValue)
    /// `SELF`, the object that is evaluated.
    case selfObject
    /// `name`, `department.name`, `employees.@count`: from the object that is evaluated.
    case keyPath(KeyPath)
    /// A key path from the value of another expression: `$x.name`, `SUBQUERY(…).@count`, `list[FIRST].name`.
    case path(Expression, KeyPath)
    /// `record.$key`: the key is the variable's value.
    case dynamicKey(Expression, variable: String)
    /// `a.b[0]`: the index belongs to what stands before it, so that the key is the value of `b[0]`. The element of a list
    /// is `(a.b)[0]`.
    case computedKey(Expression, key: Expression)
    /// `$name`
    case variable(String)
    /// `{a, b}`
    case aggregate([Expression])
    /// A built-in function; the arithmetic operators are functions too.
    case function(Function, [Expression])
    /// `FUNCTION(receiver, "selector", …)`
    case message(receiver: Expression, selector: Expression, arguments: [Expression])
    /// `list[FIRST]`, `list[2]`, `dictionary["key"]`
    case indexed(Expression, ElementIndex)
    /// `SUBQUERY(collection, $variable, predicate)`
    case subquery(Expression, variable: String, Predicate)
    /// `TERNARY(condition, a, b)`
    case ternary(Predicate, Expression, Expression)
    /// `a UNION b`
    case setOperation(SetOperator, Expression, Expression)
    /// `CAST(value, "NSDate")`
    case cast(Expression, type: Expression)
    /// `$name := value`
    case assignment(variable: String, Expression)
    /// `ANYKEY`
    case anyKey
    /// `FETCH(request, context, countOnly)`
    case fetch(Expression, context: Expression, countOnly: Expression)
    /// The host computes; in memory only.
    case block(BlockExpression, [Expression])
}

/// What stands between the brackets of `list[…]`.
public enum ElementIndex: Hashable, Sendable {
    case first, last, size
    case value(Expression)
}

/// The operators on sets; the raw value is the keyword.
public enum SetOperator: String, Sendable, CaseIterable {
    case union = "UNION"
    case intersect = "INTERSECT"
    case minus = "MINUS"
}

extension Expression {
    public static func string(_ value: String) -> Expression { .constant(.string(value)) }
    public static func integer(_ value: Int64) -> Expression { .constant(.int(value)) }
    /// - Parameter text: keys joined by dots, as `%K` takes them.
    public static func key(_ text: String) -> Expression { .keyPath(KeyPath(text)) }

    /// The value of a constant; nil for everything else.
    public var constantValue: PropertyValue? {
        if case .constant(let value) = self { value } else { nil }
    }
}
