import CorestoneValues

/// A condition on an object: `age > 40 AND department.name == "R&D"`.
///
/// Immutable; any thread may read and evaluate it. See `Predicate.parse`, `evaluate` and `format`.
public enum Predicate: Hashable, Sendable {
    /// `TRUEPREDICATE`, `FALSEPREDICATE`
    case constant(Bool)
    case comparison(Comparison)
    case compound(Compound)
    /// The host decides; in memory only.
    case block(BlockPredicate)
}

/// How a compound combines its parts; the values of `CST_PREDICATE_…`.
public enum CompoundType: UInt32, Sendable {
    case not = 0, and, or
}

/// Several predicates under one connective.
public final class Compound: Hashable, Sendable {
    public let type: CompoundType
    /// One for NOT; any number for AND (none: true) and OR (none: false).
    public let parts: [Predicate]
    let size: TreeSize

    /// - Throws: `Status.invalidArgument` when NOT has not exactly one part, or beyond `PredicateLimits`.
    public init(_ type: CompoundType, _ parts: [Predicate]) throws {
        guard type != .not || parts.count == 1 else {
            throw CoreError(.invalidArgument, "NOT takes exactly one predicate, not \(parts.count)")
        }
        size = .over(parts.lazy.map(\.size))
        try size.require()
        self.type = type
        self.parts = parts
    }

    /// Parts of a predicate that was within the bounds, rewritten; the size is right, whatever it is.
    init(unchecked type: CompoundType, _ parts: [Predicate]) {
        self.type = type
        self.parts = parts
        size = .over(parts.lazy.map(\.size))
    }

    public static func == (a: Compound, b: Compound) -> Bool {
        a === b || (a.type == b.type && a.parts == b.parts)
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(type)
        hasher.combine(parts)
    }
}

extension Predicate {
    /// All of `parts`; true without any.
    public static func and(_ parts: [Predicate]) throws -> Predicate { .compound(try Compound(.and, parts)) }
    /// Any of `parts`; false without any.
    public static func or(_ parts: [Predicate]) throws -> Predicate { .compound(try Compound(.or, parts)) }
    public static func not(_ part: Predicate) throws -> Predicate { .compound(try Compound(.not, [part])) }
}
