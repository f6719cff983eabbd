import CorestoneValues

extension Predicate {
    /// The variables that the caller must pass to an evaluation, without duplicates.
    ///
    /// Variables of subqueries and assignments are not included.
    public var freeVariables: [String] {
        var walk = VariableWalk()
        walk.visit(self, [])
        return walk.names.filter { !walk.assigned.contains($0) }
    }

    /// Returns a copy in which every free variable is replaced by its value.
    ///
    /// A key path that starts at a free variable is replaced by the value that the path has now.
    ///
    /// - Throws: `.predicate` for the first variable without a value.
    ///   Errors of reading a key.
    public func binding(_ values: [String: PropertyValue]) throws -> Predicate {
        if let missing = freeVariables.first(where: { values[$0] == nil }) {
            throw CoreError(
                .predicate,
                "the variable $\(missing) does not have a value in the predicate \"\(format)\"; pass a value, or null",
                key: missing)
        }
        var failure: (any Error)?
        func bind(_ predicate: Predicate, hidden: Set<String>) -> Predicate {
            predicate.mapExpressions { replacement(of: $0, hidden: hidden) }
        }
        func replacement(of expression: Expression, hidden: Set<String>) -> Expression? {
            switch expression {
            case .variable(let name): return hidden.contains(name) ? nil : values[name].map { Expression(argument: $0) }
            case .path(.variable(let name), let path):
                guard !hidden.contains(name), let start = values[name] else { return nil }
                do { return .constant(try KeyPathEvaluation.value(of: start, path: path)) } catch {
                    failure = failure ?? error
                    return nil
                }
            case .subquery(let collection, let name, let condition):
                return .subquery(
                    collection.mapped { replacement(of: $0, hidden: hidden) }, variable: name,
                    bind(condition, hidden: hidden.union([name])))
            default: return nil
            }
        }
        let bound = bind(self, hidden: [])
        if let failure { throw failure }
        return bound
    }
}

private struct VariableWalk {
    private(set) var names: [String] = []
    private(set) var assigned: Set<String> = []

    mutating func visit(_ predicate: Predicate, _ bound: Set<String>) {
        _ = predicate.mapExpressions { note($0, bound) }
    }

    /// Records the variables of an expression.
    ///
    /// Returns the expression itself if its parts were already visited, otherwise nil.
    private mutating func note(_ expression: Expression, _ bound: Set<String>) -> Expression? {
        switch expression {
        case .variable(let name), .dynamicKey(_, let name):
            if !bound.contains(name), !names.contains(name) { names.append(name) }
        case .assignment(let name, _): assigned.insert(name)
        case .subquery(let collection, let name, let condition):
            _ = collection.mapped { note($0, bound) }
            visit(condition, bound.union([name]))
            return expression
        default: break
        }
        return nil
    }
}
