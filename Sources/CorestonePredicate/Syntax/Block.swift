import CorestoneValues
import Synchronization

/// A condition that a closure of the application evaluates; see `Predicate.block`. Equal only to itself.
///
/// The closure runs on the thread that evaluates the predicate in memory. The condition cannot be translated to SQL or
/// archived.
public final class BlockPredicate: Sendable {
    /// The application's function. It receives the evaluated object and the variables in scope.
    ///
    /// The evaluation rethrows errors of the function.
    public typealias Body = @Sendable (PropertyValue, [String: PropertyValue]) throws -> Bool

    let identity = BlockNumber.next()
    let body: Body

    public init(_ body: @escaping Body) { self.body = body }
}

/// A value that a closure of the application computes; see `Expression.block`. Equal only to itself.
public final class BlockExpression: Sendable {
    /// The application's function. It receives the evaluated object, the arguments and the variables in scope.
    public typealias Body =
        @Sendable (PropertyValue, [PropertyValue], [String: PropertyValue]) throws -> PropertyValue

    let identity = BlockNumber.next()
    let body: Body

    public init(_ body: @escaping Body) { self.body = body }
}

/// The process-wide unique number of a block, printed where Foundation prints the block's address.
private enum BlockNumber {
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
