import CorestoneValues

extension Predicate {
    /// The predicate, rewritten so that its evaluation in memory has the same result as in SQL.
    ///
    /// The rewritten predicate is true exactly where SQL evaluates this predicate to true.
    ///
    /// In SQL, a comparison with NULL is neither true nor false, and NOT does not change that: `name != 'x'` and `NOT
    /// (name == 'x')` both exclude rows without a name. Only a comparison with a constant nil includes such rows.
    /// Members under ANY and ALL are compared as in memory.
    package var withDatabaseNulls: Predicate { rewritten(negated: false) }

    /// Returns the rewritten predicate, or with `negated` the rewritten negation.
    private func rewritten(negated: Bool) -> Predicate {
        switch self {
        case .constant(let value): return .constant(value != negated)
        case .block: return negated ? self.negated : self
        case .comparison(let comparison): return comparison.rewritten(negated: negated)
        case .compound(let compound):
            if compound.type == .not { return compound.parts[0].rewritten(negated: !negated) }
            let type: CompoundType = (compound.type == .and) != negated ? .and : .or
            let parts = compound.parts.map { $0.rewritten(negated: negated) }
            return .compound(Compound(unchecked: type, parts))
        }
    }
}

extension Comparison {
    fileprivate func rewritten(negated: Bool) -> Predicate {
        let inner = Predicate.comparison(
            Comparison(
                left.withDatabaseNulls, `operator`, right.withDatabaseNulls, modifier: modifier, options: options))
        let same = negated ? inner.negated : inner
        let isNullTest = `operator` == .equal || `operator` == .notEqual
        let sides = [left, right]
        if modifier != .direct || isNullTest && sides.contains(where: \.isNullConstant) { return same }
        // The comparison is never true, but it is still evaluated, so that its errors are thrown.
        if sides.contains(where: \.isNullConstant) {
            return .compound(Compound(unchecked: .and, [inner, .constant(false)]))
        }
        // A comparison that nil never satisfies does not need a test for nil.
        let isStrict = !isNullTest && ![.lessOrEqual, .greaterOrEqual].contains(`operator`)
        let hasConstant = sides.contains { $0.constantValue != nil }
        if !negated, isStrict || hasConstant && `operator` != .notEqual { return same }
        let present = sides.filter { $0.constantValue == nil }.map {
            Predicate.comparison(Comparison($0.withDatabaseNulls, .notEqual, .constant(.null)))
        }
        return .compound(Compound(unchecked: .and, present + [same]))
    }
}

extension Predicate {
    fileprivate var negated: Predicate { .compound(Compound(unchecked: .not, [self])) }
}

extension Expression {
    fileprivate var isNullConstant: Bool { constantValue?.isNull ?? false }

    /// The expression with the predicates of subqueries and TERNARY rewritten.
    fileprivate var withDatabaseNulls: Expression {
        mapped { expression in
            switch expression {
            case .subquery(let collection, let name, let condition):
                .subquery(collection.withDatabaseNulls, variable: name, condition.withDatabaseNulls)
            case .ternary(let condition, let first, let second):
                .ternary(condition.withDatabaseNulls, first.withDatabaseNulls, second.withDatabaseNulls)
            default: nil
            }
        }
    }
}
