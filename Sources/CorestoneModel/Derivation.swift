import CorestonePredicate
import CorestoneValues

/// How the store computes the value of a derived attribute when it saves: `author.name`, `canonical:(name)`,
/// `pages.@count`, `now()`.
public struct Derivation: Hashable, Sendable {
    /// In the form that compiled models have and that version hashes take in: an operator at the end of a key path has
    /// become a function of the path before it, `pages.@count` is `count:(pages)`.
    public let expression: ExpressionText
    /// Which members of a to-many relationship count.
    public let filter: PredicateText?

    public init(_ expression: ExpressionText, filter: PredicateText? = nil) {
        self.expression = expression.expression.flatMap(Derivation.function).map { ExpressionText($0) } ?? expression
        self.filter = filter
    }

    /// The function that a key path with an operator stands for: `rel.@sum.key` and `rel.key.@sum` are `sum:(rel.key)`.
    private static func function(of expression: Expression) -> Expression? {
        guard case .keyPath(let path) = expression,
            let place = path.keys.firstIndex(where: { $0.collectionOperator != nil }), place > 0,
            let function = path.keys[place].collectionOperator?.function
        else { return nil }
        var keys = path.keys
        keys.remove(at: place)
        return .function(function, [.keyPath(KeyPath(keys: keys))])
    }
}

extension CollectionOperator {
    fileprivate var function: Function? {
        switch self {
        case .count: .count
        case .sum: .sum
        case .average: .average
        case .minimum: .min
        case .maximum: .max
        default: nil
        }
    }
}
