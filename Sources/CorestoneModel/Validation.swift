/// A condition that the author of a model put on a property's value: a least or greatest value, a length, a pattern.
public struct ValidationRule: Hashable, Sendable {
    /// What a failure says: one of Core Data's error codes, or the author's own words.
    public enum Warning: Hashable, Sendable {
        case code(Int64)
        case text(String)
    }

    /// `SELF` is the value: `SELF >= 0`, `length <= 50`.
    public let predicate: PredicateText
    public let warning: Warning

    public init(_ predicate: PredicateText, warning: Warning) {
        self.predicate = predicate
        self.warning = warning
    }
}
