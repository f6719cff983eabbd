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

    /// The function that a key path with an operator at its end stands for: `rel.key.@sum` is `sum:(rel.key)`.
    private static func function(of expression: Expression) -> Expression? {
        guard case .keyPath(let path) = expression,
            let place = path.keys.firstIndex(where: { $0.collectionOperator != nil }), place > 0,
            place == path.keys.count - 1, let function = path.keys[place].collectionOperator?.function
        else { return nil }
        return .function(function, [.keyPath(KeyPath(keys: Array(path.keys[..<place])))])
    }

    /// For an error message with the derivation as its subject: the operator that is not the last component of its key path, which
    /// no store computes, and the path as it should be. nil for other derivations.
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
    /// What stands in the way of computing the attribute, whatever its type: text that cannot be read, an operator in the middle of a
    /// path, or a key that its entity does not have; the end of a sentence that begins with the attribute. nil when nothing does.
    package var derivationObstacle: String? {
        guard let derivation else { return nil }
        do {
            let expression = try derivation.expression.required()
            _ = try derivation.filter?.required()
            if let intermediate = derivation.intermediateOperator { return intermediate }
            for path in expression.keyPaths {
                if let missing = missingKey(of: path) { return missing }
            }
            return nil
        } catch let error as CoreError { return "which cannot be read: \(error.message)" } catch { return "\(error)" }
    }

    private func missingKey(of path: KeyPath) -> String? {
        var owner: Entity? = entity
        for key in path.keys where !key.isOperator && key.text != "self" {
            guard let current = owner else { return nil }
            guard let property = current.anyProperty(named: key.text) else {
                let near = nearestName(to: key.text, among: current.properties.map(\.name))
                return "which refers to the unknown property \"\(key.text)\" of \(current.name)"
                    + (near.map { " (did you mean \"\($0)\"?)" } ?? "")
            }
            owner = (property as? Relationship)?.destination
        }
        return nil
    }

    /// Runs what reads texts of a derivation; its errors name the attribute.
    package func readingDerivation<Result>(_ body: () throws -> Result) throws -> Result {
        do { return try body() } catch let error as CoreError where error.entity == nil {
            throw error.within("\(entity.name).\(path) cannot be derived", entity: entity.name, key: path)
        }
    }
}
