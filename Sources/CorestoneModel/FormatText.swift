import CorestonePredicate
import CorestoneValues

/// What can be written in the language of predicates.
public protocol FormatRepresentable: Hashable, Sendable {
    /// - Throws: `.predicateSyntax` with what stands in the way of reading it.
    static func parse(format text: String) throws -> Self
    var format: String { get }
}

extension Predicate: FormatRepresentable {
    public static func parse(format text: String) throws -> Predicate { try parse(text) }
}

extension Expression: FormatRepresentable {
    public static func parse(format text: String) throws -> Expression { try parse(text) }
}

/// A predicate or an expression that a model holds, as its text and as what it means.
///
/// Models of others may hold text that cannot be read here; it is kept, and an error only for whoever uses it.
public struct FormatText<Meaning: FormatRepresentable>: Hashable, Sendable {
    public let text: String
    /// nil when the text cannot be read here.
    let meaning: Meaning?

    public init(_ text: String) {
        self.text = text
        meaning = try? Meaning.parse(format: text)
    }

    public init(_ meaning: Meaning) {
        text = meaning.format
        self.meaning = meaning
    }

    /// The same with another meaning; the author's own text stays when that is no other.
    func mapping(_ change: (Meaning) -> Meaning) -> FormatText {
        guard let meaning else { return self }
        let changed = change(meaning)
        return changed == meaning ? self : FormatText(changed)
    }

    /// What it means, or `.predicateSyntax` with what stands in the way of reading it.
    public func required() throws -> Meaning { try meaning ?? Meaning.parse(format: text) }
}

public typealias PredicateText = FormatText<Predicate>
public typealias ExpressionText = FormatText<Expression>

extension PredicateText {
    /// nil when the text is no predicate that can be read here.
    public var predicate: Predicate? { meaning }
}

extension ExpressionText {
    /// nil when the text is no expression that can be read here.
    public var expression: Expression? { meaning }
}
