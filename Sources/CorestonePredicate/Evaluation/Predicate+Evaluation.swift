import CorestoneValues

/// What arithmetic does with nil and with a division by zero.
public enum ArithmeticRule: Sendable {
    /// It throws, as Foundation's predicates do.
    case strict
    /// It gives nil, as every store does: an object without a salary does not fail the fetch of all others.
    case nilPropagating
}

extension Predicate {
    /// Whether the predicate holds for a value, in memory.
    ///
    /// Managed objects must be asked on their context's queue.
    /// - Parameters:
    ///   - value: what `SELF` is and key paths start from: `.object` of something that conforms to `KeyValueCoding`, a
    ///     dictionary, or any other value.
    ///   - variables: the values of `$name`; `:=` needs at least an empty dictionary.
    /// - Throws: `Status.predicate` for what has no meaning: an unknown key, an unbound variable, an order between a string
    ///   and a number, a bad regular expression.
    public func evaluate(
        with value: PropertyValue, variables: [String: PropertyValue]? = nil, arithmetic: ArithmeticRule = .strict
    ) throws -> Bool {
        try Evaluator(root: value, bindings: variables.map { Bindings($0) }, arithmetic: arithmetic).holds(self)
    }

    /// The same for an object.
    public func evaluate(
        with object: any KeyValueCoding, variables: [String: PropertyValue]? = nil, arithmetic: ArithmeticRule = .strict
    ) throws -> Bool {
        try Evaluator(object: object, bindings: variables.map { Bindings($0) }, arithmetic: arithmetic).holds(self)
    }
}

extension Expression {
    /// The value of the expression, in memory; see `Predicate.evaluate`.
    public func value(
        with value: PropertyValue, variables: [String: PropertyValue]? = nil, arithmetic: ArithmeticRule = .strict
    ) throws -> PropertyValue {
        try Evaluator(root: value, bindings: variables.map { Bindings($0) }, arithmetic: arithmetic).value(self)
    }
}

/// The values of variables; a subquery adds its own to those around it.
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

    /// All of them, the inner ones hiding outer ones of the same name.
    var all: [String: PropertyValue] { outer?.all.merging(values) { _, inner in inner } ?? values }

    /// The bindings that the caller gave, which assignments write to.
    var outermost: Bindings { outer?.outermost ?? self }
}

/// One evaluation: the object, the variables and the rules.
struct Evaluator {
    let root: PropertyValue
    /// The root, when it is an object; found out once, not for every comparison.
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

    /// The same object and rules with the variables of a subquery.
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

    /// For an error about the value of an expression: the entity of the object, if the expression is a key path from it.
    func entityName(for source: Expression?) -> String? { source?.pathText == nil ? nil : object?.nameOfEntity }

    var variablesForHost: [String: PropertyValue] { (bindings?.all ?? [:]).mapValues(\.withOriginals) }
}

func predicateError(
    _ message: String, entity: String? = nil, key: String? = nil, value: PropertyValue? = nil
) -> CoreError {
    CoreError(.predicate, message, entity: entity, key: key, value: value)
}
