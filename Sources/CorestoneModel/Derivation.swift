import CorestonePredicate
import CorestoneValues

/// The expression by which the store computes a derived attribute in a save.
///
/// Examples: `author.name`, `canonical:(name)`, `pages.@count`, `now()`.
public struct Derivation: Hashable, Sendable {
    /// The expression in the form of compiled models and version hashes.
    ///
    /// An operator at the end of a key path becomes a function of that path: `pages.@count` is `count:(pages)`.
    public let expression: ExpressionText
    /// The predicate that selects members of a to-many relationship for the computation; nil for all members.
    public let filter: PredicateText?

    public init(_ expression: ExpressionText, filter: PredicateText? = nil) {
        self.expression = expression.expression.flatMap(Derivation.function).map { ExpressionText($0) } ?? expression
        self.filter = filter
    }

    /// Converts a key path with an operator at its end to a function: `rel.key.@sum` becomes `sum:(rel.key)`.
    private static func function(of expression: Expression) -> Expression? {
        guard case .keyPath(let path) = expression,
            let place = path.keys.firstIndex(where: { $0.collectionOperator != nil }), place > 0,
            place == path.keys.count - 1, let function = path.keys[place].collectionOperator?.function
        else { return nil }
        return .function(function, [.keyPath(KeyPath(keys: Array(path.keys[..<place])))])
    }

    /// A clause about an operator that is not the last component of its key path; otherwise nil.
    ///
    /// Stores do not support such a derivation. The clause follows the derivation in an error message, and contains the
    /// corrected path.
    package var intermediateOperator: String? {
        for path in expression.expression?.keyPaths ?? [] {
            guard let place = path.keys.firstIndex(where: \.isOperator), place < path.keys.count - 1 else { continue }
            var keys = path.keys
            keys.append(keys.remove(at: place))
            let moved = keys.map(\.text).joined(separator: ".")
            return "whose operator \(path.keys[place].text) must be the last component of its key path, as in \(moved)"
        }
        return nil
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

extension Attribute {
    /// The reason why the attribute cannot be computed; nil without a derivation, or if the derivation is valid.
    ///
    /// The reason is a clause after the attribute: text that cannot be parsed, an operator in the middle of a path, or
    /// an unknown key. The attribute's type is not checked.
    package var derivationObstacle: String? {
        guard let derivation else { return nil }
        var part = "which"
        do {
            let expression = try derivation.expression.required()
            part = "with a filter that"
            _ = try derivation.filter?.required()
            if let intermediate = derivation.intermediateOperator { return intermediate }
            for path in expression.keyPaths {
                if let missing = missingKey(of: path) { return missing }
            }
            return nil
        } catch let error as CoreError { return "\(part) cannot be read: \(error.message)" } catch { return "\(error)" }
    }

    private func missingKey(of path: KeyPath) -> String? {
        var owner: Entity? = entity
        for key in path.keys where !key.isOperator && key.text != "self" {
            guard let current = owner else { return nil }
            guard let property = current.anyProperty(named: key.text) else {
                let near = nearestName(to: key.text, among: current.properties.map(\.name))
                return "which refers to the unknown property \"\(key.text)\" of \(current.name)"
                    + (near.map { "; did you mean \"\($0)\"?" } ?? "")
            }
            owner = (property as? Relationship)?.destination
        }
        return nil
    }

    /// Runs `body`, which parses texts of the derivation. Errors that do not name an entity then name the attribute.
    package func readingDerivation<Result>(_ body: () throws -> Result) throws -> Result {
        do { return try body() } catch let error as CoreError where error.entity == nil {
            throw error.within("\(entity.name).\(path) cannot be derived", entity: entity.name, key: path)
        }
    }
}
