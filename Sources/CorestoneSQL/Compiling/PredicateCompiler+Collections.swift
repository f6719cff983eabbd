import CorestoneModel
import CorestonePredicate
import CorestoneValues

extension PredicateCompiler {
    /// Tells the log of a comparison that takes all values of a to-many path for one: it holds for no object, or for all, and
    /// rarely is what was meant. Once for each entity and comparison, whatever the constants in it.
    ///
    /// - Throws: `.predicate` for a comparison by order, which a collection and one value do not have, and for one with a pattern.
    @inline(never)
    func noteCollection(_ comparison: Comparison, _ environment: Environment) throws {
        guard let sides = try collectionSides(comparison, environment) else { return }
        switch comparison.operator {
        case .less, .lessOrEqual, .greater, .greaterOrEqual, .between:
            // Memory has no need of an order there.
            if try constant(sides.other, environment)?.isNull == true { return }
            throw noOrder(comparison, sides)
        case .beginsWith, .endsWith, .like, .matches:
            if try sides.path != comparison.left || constant(sides.other, environment)?.isNull == true { return }
            throw noText(comparison, sides)
        case .equal, .notEqual, .in: break
        default: return
        }
        // Where there is no owner both sides may be nil, which are equal.
        let other = try constant(sides.other, environment)
        if sides.members.ownerIsNullable, other?.isNull ?? true { return }
        let text = warning(comparison, sides, isNull: other?.isNull == true)
        var hasher = Hasher()
        hasher.combine(text)
        DebugLog.warnOnce(hasher.finalize(), text)
    }

    /// No constant is in it: those may be anybody's secrets.
    private func warning(_ comparison: Comparison, _ sides: CollectionSides, isNull: Bool) -> String {
        let remedy =
            sides.members.rest.isEmpty && isNull
            ? "\(sides.path.format).@count == 0 to find objects without members"
            : "\(sides.meant(comparison).format(.blank)) to find objects with at least one such value"
        let outcome = comparison.operator == .notEqual ? "every object" : "no object"
        return
            "\(Predicate.comparison(comparison).format(.blank)) is true for \(outcome): \(sides.shown) spans a to-many "
            + "relationship, and its values are compared as one collection; write \(remedy)"
    }

    private func noOrder(_ comparison: Comparison, _ sides: CollectionSides) -> CoreError {
        CoreError(
            .predicate,
            "\(Predicate.comparison(comparison).format) cannot be evaluated: \(sides.shown) spans a to-many relationship, and a "
                + "collection cannot be ordered against one value. Write \(sides.meant(comparison).format) to find objects "
                + "with at least one such value", entity: sides.entity, key: sides.keys,
            value: sides.other.constantValue)
    }

    private func noText(_ comparison: Comparison, _ sides: CollectionSides) -> CoreError {
        CoreError(
            .predicate,
            "\(Predicate.comparison(comparison).format) cannot be evaluated: \(comparison.operator.symbol) compares strings, "
                + "but \(sides.shown) spans a to-many relationship, so its values are one collection. Write "
                + "\(sides.meant(comparison).format) to find objects with at least one such value",
            entity: sides.entity,
            key: sides.keys, value: sides.other.constantValue)
    }

    /// A comparison of a plain path through a to-many relationship with one value.
    private struct CollectionSides {
        let entity: String
        let keys: String
        let members: MemberPath
        let path, other: Expression

        var shown: String { "\(entity).\(keys)" }

        func meant(_ comparison: Comparison) -> Predicate {
            let turned = path == comparison.left ? comparison.operator : comparison.operator.mirrored
            return .comparison(Comparison(path, turned, other, modifier: .any, options: comparison.options))
        }
    }

    /// nil when both sides are collections, which can well be compared.
    private func collectionSides(_ comparison: Comparison, _ environment: Environment) throws -> CollectionSides? {
        for (path, other) in [(comparison.left, comparison.right), (comparison.right, comparison.left)] {
            guard let (scope, keys, members) = toMany(path, environment) else { continue }
            let found = CollectionSides(
                entity: scope.mapping.entity.name, keys: keys.map(\.text).joined(separator: "."), members: members,
                path: path, other: other)
            if [.in, .between].contains(comparison.operator) { return path == comparison.left ? found : nil }
            if try constant(other, environment)?.elements != nil { return nil }
            switch other {
            case .aggregate, .subquery, .setOperation, .path(.subquery, _): return nil
            default: return toMany(other, environment) == nil ? found : nil
            }
        }
        return nil
    }

    /// The path through a to-many relationship that an expression is; nil for others, and for those with an operator.
    private func toMany(
        _ expression: Expression, _ environment: Environment
    ) -> (scope: Scope, keys: ArraySlice<KeyName>, members: MemberPath)? {
        guard let (scope, keys) = path(expression, environment),
            !keys.contains(where: { $0.collectionOperator != nil })
        else { return nil }
        var compiler = self
        let joins = scope.state
        defer { scope.state = joins }
        guard case .toMany(let members)? = try? compiler.resolve(keys, scope) else { return nil }
        return (scope, keys, members)
    }
}
