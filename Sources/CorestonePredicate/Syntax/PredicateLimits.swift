import CorestoneValues

/// The limits of predicates that are parsed, built or evaluated.
///
/// They bound the time and stack space, even for malicious text. A predicate that exceeds a limit is rejected with an
/// error that states the limit.
public enum PredicateLimits {
    /// The length of a format string, in bytes.
    public static let maximumLength = 1 << 22
    /// The number of arguments of a format string. A list is one argument.
    public static let maximumArguments = 65_536
    /// The nesting of parentheses, calls, NOTs and signs in a text.
    public static let maximumNesting = 100
    /// The depth of operations in a predicate or an expression.
    ///
    /// The depth of `1 + 2 + 3` is 2. That of `a AND b AND c` is 1 more than that of its deepest part.
    public static let maximumDepth = 400
    /// The total number of operands and operations of a predicate or an expression.
    ///
    /// Elements of a constant list do not count.
    public static let maximumParts = 1_000_000
}

/// The depth and the number of nodes of a tree.
struct TreeSize: Sendable {
    var depth: Int
    var parts: Int

    static let leaf = TreeSize(depth: 0, parts: 1)

    /// Returns the size of an operation over operands of these sizes.
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

    /// Checks the limits.
    ///
    /// - Throws: `.invalidArgument` if the tree exceeds a limit.
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

    /// Returns the predicate if it is within the limits, for code that builds trees node by node.
    ///
    /// - Throws: `.invalidArgument` if the tree exceeds a limit.
    public func checked() throws -> Predicate {
        try size.require()
        return self
    }
}

extension Expression {
    /// Returns the expression if it is within the limits, for code that builds trees node by node.
    ///
    /// A call of a function must have a valid number of arguments. Calls among its operands are not checked.
    ///
    /// - Throws: `.invalidArgument` if a limit is exceeded or the number of arguments is wrong.
    public func checked() throws -> Expression {
        try size.require()
        if case .function(let function, let arguments) = self {
            try function.requireCount(arguments.count, as: function.rawValue)
        }
        return self
    }

    /// The size, counted only up to the limits, so that the time for counting a larger tree is bounded.
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
