import CorestoneModel
import CorestonePredicate
import CorestoneValues

extension PredicateCompiler {
    /// Logs a warning for a comparison of a to-many path with one value.
    ///
    /// Such a comparison is false for every object or true for every object, which is rarely intended. Each comparison
    /// is logged once for each entity, regardless of its constants.
    ///
    /// - Throws: `.predicate` if the comparison orders a collection, or searches it for a pattern, and the other side
    ///   is not nil.
    @inline(never)
    func noteCollection(_ comparison: Comparison, _ environment: Environment) throws {
        guard let sides = try collectionSides(comparison, environment) else { return }
        switch comparison.operator {
        case .less, .lessOrEqual, .greater, .greaterOrEqual, .between:
            // A comparison with nil does not depend on an order, so it is evaluated in memory.
            if try constant(sides.other, environment)?.isNull == true { return }
            throw noOrder(comparison, sides)
        case .beginsWith, .endsWith, .like, .matches:
            if try sides.path != comparison.left || constant(sides.other, environment)?.isNull == true { return }
            throw noText(comparison, sides)
        case .equal, .notEqual, .in: break
        default: return
        }
        // If the owner is nil, both sides may be nil, and nil equals nil.
        let other = try constant(sides.other, environment)
        if sides.members.ownerIsNullable, other?.isNull ?? true { return }
        let text = warning(comparison, sides, isNull: other?.isNull == true)
        var hasher = Hasher()
        hasher.combine(text)
        DebugLog.warnOnce(hasher.finalize(), text)
    }

    /// Returns the text of the warning, without constants, because they may be private.
    private func warning(_ comparison: Comparison, _ sides: CollectionSides, isNull: Bool) -> String {
        let remedy =
            sides.members.rest.isEmpty && isNull
            ? "\(sides.path.format).@count == 0 to find objects without members"
            : "\(sides.meant(comparison).format(.blank)) to find objects with at least one such value"
        let outcome = comparison.operator == .notEqual ? "is true for every object" : "is not true for any object"
        return
            "\"\(Predicate.comparison(comparison).format(.blank))\" \(outcome): \(sides.shown) spans a to-many "
            + "relationship, and its values are compared as one collection; write \(remedy)"
    }

    private func noOrder(_ comparison: Comparison, _ sides: CollectionSides) -> CoreError {
        let remedy =
            sides.endsAtObjects
            ? "Use \(sides.path.format).@count for the number of members, or ANY with an attribute of the members"
            : "Write \(sides.meant(comparison).format) to find objects with at least one such value"
        return CoreError(
            .predicate,
            "\"\(Predicate.comparison(comparison).format)\" cannot be evaluated: \(sides.shown) spans a to-many relationship, and "
                + "\(comparison.operator.symbol) cannot compare a collection. \(remedy)",
            entity: sides.entity, key: sides.keys, value: sides.other.constantValue)
    }

    private func noText(_ comparison: Comparison, _ sides: CollectionSides) -> CoreError {
        let remedy =
            sides.endsAtObjects
            ? "Use ANY with a string attribute of the members"
            : "Write \(sides.meant(comparison).format) with strings on both sides, to find objects with one such value"
        return CoreError(
            .predicate,
            "\"\(Predicate.comparison(comparison).format)\" cannot be evaluated: \(comparison.operator.symbol) compares strings, "
                + "but \(sides.shown) spans a to-many relationship, so its values are one collection. \(remedy)",
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

        /// Whether the path ends at objects, not at their attributes.
        var endsAtObjects: Bool {
            var entity = members.relationship.destination
            for key in members.rest where key.text != "self" && key.text != "objectID" {
                guard let relationship = entity.property(named: key.text) as? Relationship else { return false }
                entity = relationship.destination
            }
            return true
        }

        func meant(_ comparison: Comparison) -> Predicate {
            let turned = path == comparison.left ? comparison.operator : comparison.operator.mirrored
            return .comparison(Comparison(path, turned, other, modifier: .any, options: comparison.options))
        }
    }

    /// Returns the sides of a comparison of a to-many path with one value, or nil for other comparisons.
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

    /// Resolves a path through a to-many relationship.
    ///
    /// - Returns: nil for other expressions and for paths with a collection operator.
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
