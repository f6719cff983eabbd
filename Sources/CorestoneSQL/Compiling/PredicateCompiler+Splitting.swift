import CorestonePredicate

/// A predicate in two: what SQL says of it, and what is left to memory.
struct SplitPredicate {
    /// Each row that satisfies the predicate satisfies it; nil when that is true of all rows.
    var condition: SQLFragment?
    /// The conjuncts of the predicate that the condition does not say in full.
    var remainder: [Predicate] = []
    /// Why SQL cannot say them.
    var reasons: [String] = []
}

extension PredicateCompiler {
    /// Compiles what SQL can express of a predicate, conjunct by conjunct; of a conjunct that it cannot, as much as keeps
    /// no matching row away: of `mood == 'x' AND age > 3 OR age < 2`, with `mood` transient, `age > 3 OR age < 2`.
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

    /// A condition that holds at least (upper) or at most (lower) where the predicate does.
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
        // All parts are compiled, so that a wrong name is found whatever the others say.
        let parts = try compound.parts.map { try bound($0, isUpper: isUpper, environment, &reasons) }
        return (chain(parts.map(\.condition), isAnd: compound.type == .and), parts.allSatisfy(\.isExact))
    }
}

extension Predicate {
    /// What all has to hold, with chains of AND within each other as one.
    var conjuncts: [Predicate] {
        guard case .compound(let compound) = self, compound.type == .and else { return [self] }
        return compound.parts.flatMap(\.conjuncts)
    }
}
