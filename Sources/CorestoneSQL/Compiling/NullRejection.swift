import CorestonePredicate
import CorestoneValues

/// A search for the to-one paths that must not be nil for a predicate to be true.
///
/// The tables on such a path use inner joins, so that the database can start with these tables. The result may lack
/// paths, but it never contains a path that is nil in a matching row.
struct NullRejection {
    /// The variable whose paths are examined; nil for paths of the evaluated object.
    let variable: String?

    /// Returns the paths that must not be nil for the predicate to be true, each as its keys joined by dots.
    func required(_ predicate: Predicate) -> Set<String> {
        switch predicate {
        case .constant, .block: return []
        case .comparison(let comparison): return required(comparison)
        case .compound(let compound):
            switch compound.type {
            case .not: return []
            case .and: return compound.parts.reduce(into: []) { $0.formUnion(required($1)) }
            case .or:
                guard let first = compound.parts.first else { return [] }
                return compound.parts.dropFirst().reduce(required(first)) { $0.intersection(required($1)) }
            }
        }
    }

    private func required(_ comparison: Comparison) -> Set<String> {
        if comparison.modifier == .all { return [] }
        var paths: Set<String> = []
        if rejectsNil(comparison, beside: comparison.right) { paths.formUnion(prefixes(comparison.left)) }
        if comparison.modifier == .direct, rejectsNil(comparison, beside: comparison.left) {
            paths.formUnion(prefixes(comparison.right))
        }
        return paths
    }

    /// Whether the comparison is false if one side is nil and the other side is `other`.
    private func rejectsNil(_ comparison: Comparison, beside other: Expression) -> Bool {
        switch comparison.operator {
        case .less, .greater, .between, .in, .contains, .beginsWith, .endsWith, .like, .matches: true
        case .equal, .lessOrEqual, .greaterOrEqual: other.constantValue.map { !$0.isNull } ?? false
        case .notEqual: other.constantValue?.isNull ?? false
        case .tokenMatches, .utiConformsTo, .utiEquals, .custom: false
        }
    }

    /// Returns the paths of an expression whose result is nil if one of them is nil.
    private func prefixes(_ expression: Expression) -> Set<String> {
        switch expression {
        case .keyPath(let path): return variable == nil ? prefixes(path) : []
        case .path(.selfObject, let path): return variable == nil ? prefixes(path) : []
        case .path(.variable(let name), let path): return name == variable ? prefixes(path) : []
        case .function(let function, let arguments):
            let passesNil = function.infix != nil || [.negate, .abs, .noIndex, .indexedBy].contains(function)
            return passesNil ? arguments.reduce(into: []) { $0.formUnion(prefixes($1)) } : []
        default: return []
        }
    }

    private func prefixes(_ path: KeyPath) -> Set<String> {
        Set((1..<max(path.keys.count, 1)).map { path.keys[..<$0].map(\.text).joined(separator: ".") })
    }
}
