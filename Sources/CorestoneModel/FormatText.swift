import CorestonePredicate
import CorestoneValues

/// What can be written in the language of predicates.
public protocol FormatRepresentable: Hashable, Sendable {
    /// - Throws: `.predicateSyntax` with what stands in the way of reading it.
    static func parse(format text: String) throws -> Self
    /// Text from which the same is read, constants of every kind included.
    var exactFormat: String { get }
}

extension Predicate: FormatRepresentable {
    public static func parse(format text: String) throws -> Predicate { try parse(text) }
    public var exactFormat: String { format(.exact) }
}

extension Expression: FormatRepresentable {
    public static func parse(format text: String) throws -> Expression { try parse(text) }
    public var exactFormat: String { format(.exact) }
}

/// A predicate or an expression that a model holds, as its text and as what it means.
///
/// Models of others may hold text, or what was archived without any text, that cannot be read here; it is kept, and an error
/// only for whoever uses it.
public struct FormatText<Meaning: FormatRepresentable>: Hashable, Sendable {
    public let text: String
    /// nil when the text cannot be read here.
    let meaning: Meaning?
    /// What stands in the archive of somebody else's and cannot be read here; nil for what was written as text.
    let foreign: ForeignFormat?

    public init(_ text: String) {
        self.text = text
        meaning = try? Meaning.parse(format: text)
        foreign = nil
    }

    public init(_ meaning: Meaning) {
        text = meaning.exactFormat
        self.meaning = meaning
        foreign = nil
    }

    init(_ foreign: ForeignFormat) {
        text = foreign.text
        meaning = nil
        self.foreign = foreign
    }

    /// nil for what no text can say.
    var sourceText: String? { foreign == nil ? text : nil }

    /// The same with another meaning; the author's own text stays when that is no other.
    func mapping(_ change: (Meaning) -> Meaning) -> FormatText {
        guard let meaning else { return self }
        let changed = change(meaning)
        return changed == meaning ? self : FormatText(changed)
    }

    /// What it means, or `.predicateSyntax` with what stands in the way of reading it.
    public func required() throws -> Meaning {
        if let foreign { throw foreign.required() }
        return try meaning ?? Meaning.parse(format: text)
    }
}

public typealias PredicateText = FormatText<Predicate>
public typealias ExpressionText = FormatText<Expression>

extension PredicateText {
    /// nil when the text is no predicate that can be read here.
    public var predicate: Predicate? { meaning }

    /// - Parameter variable: how the predicate can refer to an object; nil if no variable is bound to it.
    /// - Throws: `.model` when a managed object is bound into the predicate: a model outlives it and belongs to no store.
    func requireNoObject(_ what: String, entity: String?, key: String? = nil, variable: String? = nil) throws {
        var found: PropertyValue?
        _ = predicate?.mapExpressions { expression in
            if found == nil, case .constant(let value) = expression { found = value.firstObject }
            return nil
        }
        guard let found else { return }
        throw CoreError(
            .model, code: .coreData,
            "\(what) refers to the managed object \(found.excerpt), which a model cannot store; "
                + "\(variable.map { "use \($0), or " } ?? "")compare an attribute", entity: entity, key: key,
            value: found, objectURI: found.objectDescription)
    }
}

extension PropertyValue {
    /// The URI of a managed object; nil for other values.
    fileprivate var objectDescription: String? {
        if case .object(let object) = self { object.valueDescription } else { nil }
    }

    /// The first managed object in it.
    fileprivate var firstObject: PropertyValue? {
        switch self {
        case .object: self
        case .array(let values): values.lazy.compactMap(\.firstObject).first
        case .set(let values): values.lazy.compactMap(\.firstObject).first
        case .dictionary(let values): values.values.lazy.compactMap(\.firstObject).first
        default: nil
        }
    }
}

extension ExpressionText {
    /// nil when the text is no expression that can be read here.
    public var expression: Expression? { meaning }
}
