import CorestonePredicate

/// A predicate in two parts: a condition in SQL, and a remainder that is evaluated in memory.
struct SplitPredicate {
    /// A condition that every matching row satisfies; nil if no such condition narrows the rows.
    var condition: SQLFragment?
    /// The conjuncts of the predicate that the condition does not express completely.
    var remainder: [Predicate] = []
    /// The reasons why SQL cannot express the remainder.
    var reasons: [String] = []
}

extension PredicateCompiler {
    /// Compiles the part of a predicate that SQL can express, conjunct by conjunct.
    ///
    /// Other conjuncts are weakened to a condition that does not exclude any matching row. For example,
    /// `mood == 'x' AND age > 3 OR age < 2`, with `mood` transient, becomes `age > 3 OR age < 2`.
    mutating func split(_ predicate: Predicate?, _ environment: Environment) throws -> SplitPredicate {
        var split = SplitPredicate()
        var conditions: [Condition] = []
        for conjunct in predicate?.conjuncts ?? [] {
            let bound = try bound(conjunct, isUpper: true, environment, &split.reasons)
            if !bound.isExact { split.remainder.append(conjunct) }
            conditions.append(bound.condition)
        }
        let whole = chain(conditions, isAnd: true)
        if whole.constant != true { split.condition = whole.isConjunct ? whole.sql : whole.operand }
        return split
    }

    /// Returns a condition that is true for at least (upper bound) or at most (lower bound) the matching rows.
    private mutating func bound(
        _ predicate: Predicate, isUpper: Bool, _ environment: Environment, _ reasons: inout [String]
    ) throws -> (condition: Condition, isExact: Bool) {
        guard case .compound(let compound) = predicate else {
            let joins = environment.root.state
            do { return (try condition(predicate, environment), true) } catch let obstacle as NotExpressible {
                environment.root.state = joins
                if !reasons.contains(obstacle.reason) { reasons.append(obstacle.reason) }
                return (.constant(isUpper), false)
            }
        }
        if compound.type == .not {
            let part = try bound(compound.parts[0], isUpper: !isUpper, environment, &reasons)
            return (negation(part.condition), part.isExact)
        }
        // All parts are compiled, so that a wrong name in any of them is reported.
        let parts = try compound.parts.map { try bound($0, isUpper: isUpper, environment, &reasons) }
        return (chain(parts.map(\.condition), isAnd: compound.type == .and), parts.allSatisfy(\.isExact))
    }
}

extension Predicate {
    /// The predicates that must all be true. Nested chains of AND are flattened.
    var conjuncts: [Predicate] {
        guard case .compound(let compound) = self, compound.type == .and else { return [self] }
        return compound.parts.flatMap(\.conjuncts)
    }
}
