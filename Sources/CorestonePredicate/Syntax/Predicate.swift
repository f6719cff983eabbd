import CorestoneValues

/// A condition on an object: `age > 40 AND department.name == "R&D"`.
///
/// Immutable; any thread may read and evaluate it. See `Predicate.parse`, `evaluate` and `format`.
public enum Predicate: Hashable, Sendable {
    /// The constant `TRUEPREDICATE` or `FALSEPREDICATE`.
    case constant(Bool)
    case comparison(Comparison)
    case compound(Compound)
    /// A condition that a closure of the application evaluates, in memory only.
    case block(BlockPredicate)
}

/// The connective of a compound, with the values of `CST_PREDICATE_…`.
public enum CompoundType: UInt32, Sendable {
    case not = 0, and, or
}

/// Predicates under one connective.
public final class Compound: Hashable, Sendable {
    public let type: CompoundType
    /// The parts: one for NOT, any number for AND and OR. Without parts, AND is true and OR is false.
    public let parts: [Predicate]
    let size: TreeSize

    /// Creates a compound.
    ///
    /// - Throws: `.invalidArgument` if NOT does not have exactly one part, or if the compound exceeds
    ///   `PredicateLimits`.
    public init(_ type: CompoundType, _ parts: [Predicate]) throws {
        guard type != .not || parts.count == 1 else {
            throw CoreError(
                .invalidArgument, "NOT takes exactly one predicate, not \(parts.count)", key: "predicates",
                value: .int(Int64(parts.count)))
        }
        size = .over(parts.lazy.map(\.size))
        try size.require()
        self.type = type
        self.parts = parts
    }

    /// Creates a compound from rewritten parts of a checked predicate, without a check of the limits.
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
    /// Creates a predicate that is true if all parts are true, or without parts.
    public static func and(_ parts: [Predicate]) throws -> Predicate { .compound(try Compound(.and, parts)) }
    /// Creates a predicate that is true if any part is true; false without parts.
    public static func or(_ parts: [Predicate]) throws -> Predicate { .compound(try Compound(.or, parts)) }
    public static func not(_ part: Predicate) throws -> Predicate { .compound(try Compound(.not, [part])) }
}
