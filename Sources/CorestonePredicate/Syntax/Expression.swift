import CorestoneValues

/// A value in a predicate, such as an operand of a comparison.
///
/// Immutable; any thread may evaluate it.
public indirect enum Expression: Hashable, Sendable {
    /// A literal or an argument. An aggregate of constants is a constant array.
    case constant(PropertyValue)
    /// `SELF`, the evaluated object.
    case selfObject
    /// A key path from the evaluated object: `name`, `department.name`, `employees.@count`.
    case keyPath(KeyPath)
    /// A key path from the value of another expression: `$x.name`, `SUBQUERY(…).@count`, `list[FIRST].name`.
    case path(Expression, KeyPath)
    /// `record.$key`, whose key is the value of the variable.
    case dynamicKey(Expression, variable: String)
    /// `a.b[0]`: the index binds to `b`, so that the value of `b[0]` is the key.
    ///
    /// An element of the list `a.b` is `(a.b)[0]`.
    case computedKey(Expression, key: Expression)
    /// The variable `$name`.
    case variable(String)
    /// The list `{a, b}`.
    case aggregate([Expression])
    /// A built-in function; the arithmetic operators are functions too.
    case function(Function, [Expression])
    /// A call of a method or of a registered function: `FUNCTION(receiver, "selector", …)`.
    case message(receiver: Expression, selector: Expression, arguments: [Expression])
    /// An element of a collection: `list[FIRST]`, `list[2]`, `dictionary["key"]`.
    case indexed(Expression, ElementIndex)
    /// The members that satisfy a predicate: `SUBQUERY(collection, $variable, predicate)`.
    case subquery(Expression, variable: String, Predicate)
    /// `a` if the condition is true, else `b`: `TERNARY(condition, a, b)`.
    case ternary(Predicate, Expression, Expression)
    /// An operation on sets, such as `a UNION b`.
    case setOperation(SetOperator, Expression, Expression)
    /// A conversion to another type: `CAST(value, "NSDate")`.
    case cast(Expression, type: Expression)
    /// An assignment to a variable: `$name := value`.
    case assignment(variable: String, Expression)
    /// The keyword `ANYKEY`.
    case anyKey
    /// A fetch or its count: `FETCH(request, context, countOnly)`.
    case fetch(Expression, context: Expression, countOnly: Expression)
    /// A value that a closure of the application computes, in memory only.
    case block(BlockExpression, [Expression])
}

/// The index in the brackets of `list[…]`.
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
    /// Creates a key path expression.
    ///
    /// - Parameter text: keys joined by dots, as for `%K`.
    public static func key(_ text: String) -> Expression { .keyPath(KeyPath(text)) }

    /// The value of a constant; nil for other expressions.
    public var constantValue: PropertyValue? {
        if case .constant(let value) = self { value } else { nil }
    }
}
