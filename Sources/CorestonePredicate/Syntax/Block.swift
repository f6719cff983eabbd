import CorestoneValues
import Synchronization

/// A condition that the host decides; `Predicate.block`. Equal only to itself.
///
/// It runs in memory on the thread that evaluates: no store can translate it, no archive can hold it.
public final class BlockPredicate: Sendable {
    /// Gets the object that is evaluated and the variables in scope. What it throws is thrown by the evaluation.
    public typealias Body = @Sendable (PropertyValue, [String: PropertyValue]) throws -> Bool

    let identity = BlockIdentity.next()
    let body: Body

    public init(_ body: @escaping Body) { self.body = body }
}

/// A value that the host computes; `Expression.block`. Equal only to itself.
public final class BlockExpression: Sendable {
    /// Gets the object that is evaluated, the values of the expression's arguments and the variables in scope.
    public typealias Body =
        @Sendable (PropertyValue, [PropertyValue], [String: PropertyValue]) throws -> PropertyValue

    let identity = BlockIdentity.next()
    let body: Body

    public init(_ body: @escaping Body) { self.body = body }
}

/// A number that no other block of the process has: what prints in the place of Foundation's address.
private enum BlockIdentity {
    private static let last = Atomic<UInt64>(0)

    static func next() -> UInt64 { last.add(1, ordering: .relaxed).newValue }
}

extension BlockPredicate: Hashable {
    public static func == (a: BlockPredicate, b: BlockPredicate) -> Bool { a === b }
    public func hash(into hasher: inout Hasher) { hasher.combine(identity) }
}

extension BlockExpression: Hashable {
    public static func == (a: BlockExpression, b: BlockExpression) -> Bool { a === b }
    public func hash(into hasher: inout Hasher) { hasher.combine(identity) }
}
