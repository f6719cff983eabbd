extension Predicate {
    /// The key paths from the evaluated object that an evaluation reads.
    ///
    /// Key paths that start at the variable of a subquery are appended to the path of its collection. Keys that are
    /// computed during the evaluation or read by a block are not included. Used for prefetching, and for checking names
    /// before a request runs.
    public var keyPaths: [KeyPath] {
        var walk = KeyPathWalk()
        walk.visit(self)
        return walk.paths
    }
}

extension Expression {
    /// The key paths that an evaluation reads; see `Predicate.keyPaths`.
    public var keyPaths: [KeyPath] {
        var walk = KeyPathWalk()
        walk.visit(self)
        return walk.paths
    }
}

/// The collected key paths, in order and without duplicates.
private struct KeyPathWalk {
    private(set) var paths: [KeyPath] = []
    private var seen: Set<KeyPath> = []
    /// The key paths of the variables of enclosing subqueries.
    private var variables: [String: KeyPath] = [:]

    mutating func visit(_ predicate: Predicate) {
        switch predicate {
        case .constant, .block: break
        case .comparison(let comparison):
            visit(comparison.left)
            visit(comparison.right)
        case .compound(let compound):
            for part in compound.parts { visit(part) }
        }
    }

    private mutating func add(_ path: KeyPath) {
        if seen.insert(path).inserted { paths.append(path) }
    }

    mutating func visit(_ expression: Expression) {
        switch expression {
        case .constant, .selfObject, .variable, .anyKey: break
        case .keyPath(let path): add(path)
        case .path(.selfObject, let path): add(path)
        case .path(.variable(let name), let path):
            if let start = variables[name] { add(start.appending(path)) }
        case .path(let base, _), .dynamicKey(let base, _), .assignment(_, let base): visit(base)
        case .aggregate(let parts), .function(_, let parts), .block(_, let parts):
            for part in parts { visit(part) }
        case .message(let receiver, let selector, let arguments):
            for part in [receiver, selector] + arguments { visit(part) }
        case .indexed(let base, let index):
            visit(base)
            if case .value(let value) = index { visit(value) }
        case .subquery(let collection, let name, let condition): visit(condition, of: collection, as: name)
        case .ternary(let condition, let first, let second):
            visit(condition)
            visit(first)
            visit(second)
        case .setOperation(_, let left, let right), .cast(let left, let right), .computedKey(let left, let right):
            visit(left)
            visit(right)
        case .fetch(let request, let context, let countOnly):
            for part in [request, context, countOnly] { visit(part) }
        }
    }

    private mutating func visit(_ condition: Predicate, of collection: Expression, as name: String) {
        visit(collection)
        let outer = variables[name]
        switch collection {
        case .keyPath(let path): variables[name] = path
        case .path(.variable(let other), let path): variables[name] = variables[other]?.appending(path)
        default: variables[name] = nil
        }
        visit(condition)
        variables[name] = outer
    }
}
