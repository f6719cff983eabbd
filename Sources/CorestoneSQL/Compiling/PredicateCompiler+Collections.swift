import CorestoneModel
import CorestonePredicate
import CorestoneValues

extension PredicateCompiler {
    /// Tells the log of a comparison that takes all values of a to-many path for one: it holds for no object, or for all, and
    /// rarely is what was meant. Once for each such comparison: a fetch that is repeated tells nothing more.
    func warnOfCollection(_ comparison: Comparison, _ environment: Environment) throws {
        guard let sides = try collectionSides(comparison, environment) else { return }
        let entity = sides.scope.mapping.entity.name
        var hasher = Hasher()
        hasher.combine(entity)
        hasher.combine(comparison)
        DebugLog.warnOnce(
            hasher.finalize(),
            warning(comparison, sides.path, sides.other, sides.isRelationship, "\(entity).\(sides.keys)"))
    }

    private func warning(
        _ comparison: Comparison, _ path: Expression, _ other: Expression, _ isRelationship: Bool, _ shown: String
    ) -> String {
        let meant = Comparison(path, comparison.operator, other, modifier: .any, options: comparison.options)
        let remedy =
            isRelationship && other.constantValue?.isNull == true
            ? "\(path.format).@count == 0 to find objects that have none"
            : "\(Predicate.comparison(meant).format) to find objects of which one value does"
        let outcome = comparison.operator == .notEqual ? "every object" : "no object"
        return
            "\(Predicate.comparison(comparison).format) holds for \(outcome): \(shown) leads through a to-many relationship, and its values are compared "
            + "as one collection; write \(remedy)"
    }

    /// The side that is a plain path through a to-many relationship, and the other, which is one value; nil when both are
    /// collections, which can well be compared.
    private func collectionSides(
        _ comparison: Comparison, _ environment: Environment
    ) throws -> (scope: Scope, keys: String, path: Expression, other: Expression, isRelationship: Bool)? {
        for (path, other) in [(comparison.left, comparison.right), (comparison.right, comparison.left)] {
            guard let (scope, keys) = self.path(path, environment),
                !keys.contains(where: { $0.collectionOperator != nil })
            else { continue }
            var compiler = self
            let joins = scope.state
            defer { scope.state = joins }
            guard case .toMany(let members)? = try? compiler.resolve(keys, scope) else { continue }
            let found = (scope, keys.map(\.text).joined(separator: "."), path, other, members.rest.isEmpty)
            if comparison.operator == .in { return path == comparison.left ? found : nil }
            if try constant(other, environment)?.elements != nil { return nil }
            switch other {
            case .aggregate, .subquery, .setOperation, .path(.subquery, _): return nil
            default: break
            }
            if let (scope, keys) = self.path(other, environment),
                !keys.contains(where: { $0.collectionOperator != nil })
            {
                let joins = scope.state
                defer { scope.state = joins }
                if case .toMany? = try? compiler.resolve(keys, scope) { return nil }
            }
            return found
        }
        return nil
    }
}
