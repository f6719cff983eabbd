import CorestoneValues

/// The handling of nil and of division by zero in arithmetic.
public enum ArithmeticRule: Sendable {
    /// A nil operand or a division by zero is an error, as in Foundation's predicates.
    case strict
    /// The result is nil, as in stores, so that one null value does not make a whole fetch fail.
    case nilPropagating
}

extension Predicate {
    /// Whether a value satisfies the predicate, which is evaluated in memory.
    ///
    /// Managed objects must be evaluated on their context's queue.
    ///
    /// - Parameters:
    ///   - value: the value of `SELF`, at which key paths start: `.object` with an object that conforms to
    ///     `KeyValueCoding`, a dictionary, or any other value.
    ///   - variables: the values of variables such as `$name`. An assignment (`:=`) requires at least an empty
    ///     dictionary.
    /// - Throws: `.predicate`, for example for an unknown key, an unbound variable, values without an order such as a
    ///   string and a number, or an invalid regular expression.
    public func evaluate(
        with value: PropertyValue, variables: [String: PropertyValue]? = nil, arithmetic: ArithmeticRule = .strict
    ) throws -> Bool {
        try Evaluator(root: value, bindings: variables.map { Bindings($0) }, arithmetic: arithmetic).holds(self)
    }

    /// Whether an object satisfies the predicate.
    public func evaluate(
        with object: any KeyValueCoding, variables: [String: PropertyValue]? = nil, arithmetic: ArithmeticRule = .strict
    ) throws -> Bool {
        try Evaluator(object: object, bindings: variables.map { Bindings($0) }, arithmetic: arithmetic).holds(self)
    }
}

extension Expression {
    /// Returns the value of the expression, evaluated in memory; see `Predicate.evaluate`.
    public func value(
        with value: PropertyValue, variables: [String: PropertyValue]? = nil, arithmetic: ArithmeticRule = .strict
    ) throws -> PropertyValue {
        try Evaluator(root: value, bindings: variables.map { Bindings($0) }, arithmetic: arithmetic).value(self)
    }
}

/// The values of variables. A subquery adds its variable to those of the outer scope.
final class Bindings {
    private var values: [String: PropertyValue]
    private let outer: Bindings?

    init(_ values: [String: PropertyValue], outer: Bindings? = nil) {
        self.values = values
        self.outer = outer
    }

    subscript(name: String) -> PropertyValue? {
        get { values[name] ?? outer?[name] }
        set { values[name] = newValue }
    }

    /// All bindings. Inner variables hide outer ones of the same name.
    var all: [String: PropertyValue] { outer?.all.merging(values) { _, inner in inner } ?? values }

    /// The bindings that the caller passed, which assignments change.
    var outermost: Bindings { outer?.outermost ?? self }
}

/// The state of one evaluation: the root value, the variables and the arithmetic rule.
struct Evaluator {
    let root: PropertyValue
    /// The root, if it is an object with key-value coding. Cached, because every comparison needs it.
    let object: (any KeyValueCoding)?
    let bindings: Bindings?
    let arithmetic: ArithmeticRule

    init(root: PropertyValue, bindings: Bindings?, arithmetic: ArithmeticRule) {
        self.root = root
        if case .object(let object) = root { self.object = object as? any KeyValueCoding } else { object = nil }
        self.bindings = bindings
        self.arithmetic = arithmetic
    }

    init(object: any KeyValueCoding, bindings: Bindings?, arithmetic: ArithmeticRule) {
        root = .object(object)
        self.object = object
        self.bindings = bindings
        self.arithmetic = arithmetic
    }

    /// Creates an evaluator with the same root and rule, for the scope of a subquery.
    init(_ outer: Evaluator, bindings: Bindings) {
        root = outer.root
        object = outer.object
        self.bindings = bindings
        arithmetic = outer.arithmetic
    }

    func holds(_ predicate: Predicate) throws -> Bool {
        switch predicate {
        case .constant(let value): return value
        case .comparison(let comparison): return try holds(comparison)
        case .compound(let compound):
            switch compound.type {
            case .not: return try !holds(compound.parts[0])
            case .and:
                for part in compound.parts where try !holds(part) { return false }
                return true
            case .or:
                for part in compound.parts where try holds(part) { return true }
                return false
            }
        case .block(let block): return try block.body(root.withOriginals, variablesForHost)
        }
    }

    /// Returns the entity of the root object, for errors, if the expression is a key path that starts there.
    func entityName(for source: Expression?) -> String? { source?.pathText == nil ? nil : object?.nameOfEntity }

    var variablesForHost: [String: PropertyValue] { (bindings?.all ?? [:]).mapValues(\.withOriginals) }
}

func predicateError(
    _ message: String, entity: String? = nil, key: String? = nil, value: PropertyValue? = nil
) -> CoreError {
    CoreError(.predicate, message, entity: entity, key: key, value: value)
}
