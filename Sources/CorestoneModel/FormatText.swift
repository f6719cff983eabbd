import CorestonePredicate
import CorestoneValues

/// A type with a text in the syntax of predicates.
public protocol FormatRepresentable: Hashable, Sendable {
    /// Parses a format string.
    ///
    /// - Throws: `.predicateSyntax` if the text cannot be parsed.
    static func parse(format text: String) throws -> Self
    /// The text that is parsed to an equal value, including the types of constants.
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

/// A predicate or an expression in a model, as text and in parsed form.
///
/// Models from other tools may contain text or an archived form that cannot be parsed here. Such a form is kept, and
/// causes an error only when it is used.
public struct FormatText<Meaning: FormatRepresentable>: Hashable, Sendable {
    public let text: String
    /// The parsed form; nil if the text cannot be parsed here.
    let meaning: Meaning?
    /// The archived form from another tool, if it cannot be decoded here; otherwise nil.
    let foreign: UnsupportedArchive?

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

    init(_ foreign: UnsupportedArchive) {
        text = foreign.text
        meaning = nil
        self.foreign = foreign
    }

    /// The text for a source model; nil if only an archived form exists.
    var sourceText: String? { foreign == nil ? text : nil }

    /// Returns a copy with a changed parsed form. If the form does not change, the author's text is kept.
    func mapping(_ change: (Meaning) -> Meaning) -> FormatText {
        guard let meaning else { return self }
        let changed = change(meaning)
        return changed == meaning ? self : FormatText(changed)
    }

    /// Returns the parsed form.
    ///
    /// - Throws: `.predicateSyntax` if it cannot be parsed.
    public func required() throws -> Meaning {
        if let foreign { throw foreign.required() }
        return try meaning ?? Meaning.parse(format: text)
    }
}

public typealias PredicateText = FormatText<Predicate>
public typealias ExpressionText = FormatText<Expression>

extension PredicateText {
    /// The predicate; nil if the text cannot be parsed here.
    public var predicate: Predicate? { meaning }

    /// Checks that the predicate does not refer to a managed object.
    ///
    /// - Parameter variable: the variable to use instead of the object; nil if no variable is bound to it.
    /// - Throws: `.model` if the predicate refers to a managed object, because a model does not belong to a store.
    func requireNoObject(_ subject: String, entity: String?, key: String? = nil, variable: String? = nil) throws {
        var found: PropertyValue?
        _ = predicate?.mapExpressions { expression in
            if found == nil, case .constant(let value) = expression { found = value.firstObject }
            return nil
        }
        guard let found else { return }
        let uri = found.objectURI
        let remedy = "\(variable.map { "use \($0), or " } ?? "")compare an attribute"
        throw CoreError(
            .model, code: .coreData,
            "\(subject) refers to \(uri == nil ? "" : "the managed object ")\(found.excerpt), which a model cannot "
                + "store; " + (uri == nil ? "use a predicate without it" : remedy),
            entity: entity, key: key, value: found, objectURI: uri)
    }
}

extension PropertyValue {
    /// The URI of a managed object or an object ID; nil for other values, such as fetch requests.
    var objectURI: String? {
        guard case .object(let object) = self, object.valueDescription.hasPrefix("x-coredata:") else { return nil }
        return object.valueDescription
    }

    /// The first object in the value; nil without one.
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
    /// The expression; nil if the text cannot be parsed here.
    public var expression: Expression? { meaning }
}
