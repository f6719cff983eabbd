import CorestoneValues

/// The bounds of what is read, built and evaluated: whatever a text or a program holds, it ends soon, and no thread's stack
/// is exhausted. What lies beyond a bound is refused with an error that names it.
public enum PredicateLimits {
    /// The bytes of a format string.
    public static let maximumLength = 1 << 22
    /// The arguments of a format string. A list is one argument.
    public static let maximumArguments = 65_536
    /// Parentheses, calls, NOTs and signs within each other in a text.
    public static let maximumNesting = 100
    /// Operations below each other in a predicate or an expression; `1 + 2 + 3` is two deep, `a AND b AND c` one.
    public static let maximumDepth = 400
    /// Operands and operations of a predicate or an expression altogether. Elements of a list that is one constant do not
    /// count.
    public static let maximumParts = 1_000_000
}

/// How deep and how large a tree is.
struct TreeSize: Sendable {
    var depth: Int
    var parts: Int

    static let leaf = TreeSize(depth: 0, parts: 1)

    /// One more operation over trees.
    static func over(_ sizes: some Sequence<TreeSize>) -> TreeSize {
        var whole = TreeSize(depth: 0, parts: 1)
        for size in sizes { whole.add(size) }
        whole.depth += 1
        return whole
    }

    mutating func add(_ other: TreeSize) {
        depth = max(depth, other.depth)
        parts = min(parts + other.parts, PredicateLimits.maximumParts + 1)
    }

    /// - Throws: `Status.invalidArgument` beyond a bound.
    func require() throws {
        guard depth <= PredicateLimits.maximumDepth else {
            throw CoreError(
                .invalidArgument,
                "a predicate or an expression has more than \(PredicateLimits.maximumDepth) nested operations, which is the limit; "
                    + "combine many conditions in one AND or OR, and many values in one list")
        }
        guard parts <= PredicateLimits.maximumParts else {
            throw CoreError(
                .invalidArgument,
                "a predicate or an expression has more than \(PredicateLimits.maximumParts) parts, which is the limit; pass many "
                    + "values as one list")
        }
    }
}

extension Predicate {
    var size: TreeSize {
        switch self {
        case .constant, .block: .leaf
        case .comparison(let comparison): comparison.size
        case .compound(let compound): compound.size
        }
    }

    /// The predicate itself, when it is within the bounds: for hosts that build trees node by node.
    ///
    /// - Throws: `Status.invalidArgument` beyond a bound.
    public func checked() throws -> Predicate {
        try size.require()
        return self
    }
}

extension Expression {
    /// The expression itself, when it is within the bounds and its functions have the arguments that they take: for hosts that
    /// build trees node by node.
    ///
    /// - Throws: `Status.invalidArgument`.
    public func checked() throws -> Expression {
        try size.require()
        if case .function(let function, let arguments) = self {
            try function.requireCount(arguments.count, as: function.rawValue)
        }
        return self
    }

    /// Counts only as far as the bounds, so that a tree beyond them takes no longer.
    var size: TreeSize {
        var budget = PredicateLimits.maximumParts
        return size(within: PredicateLimits.maximumDepth + 1, &budget)
    }

    private func size(within depth: Int, _ budget: inout Int) -> TreeSize {
        budget -= 1
        if depth < 0 || budget < 0 { return TreeSize(depth: 1, parts: PredicateLimits.maximumParts + 1) }
        let operands = operands
        if operands.isEmpty, condition == nil { return .leaf }
        return .over(operands.map { $0.size(within: depth - 1, &budget) } + [condition?.size].compactMap { $0 })
    }
}
