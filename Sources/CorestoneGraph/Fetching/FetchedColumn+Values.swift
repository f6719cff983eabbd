import CorestoneModel
import CorestonePredicate
import CorestoneValues

extension FetchedColumn {
    /// Whether the column aggregates rows.
    package func aggregates(_ entity: Entity) -> Bool {
        guard case .expression(let description) = self else { return false }
        var found = false
        _ = description.expression.mapped { expression in
            if expression.aggregatedArgument(of: entity) != nil { found = true }
            return nil
        }
        return found
    }

    func value(of object: PropertyValue) throws -> PropertyValue {
        if case .expression(let description) = self, case .array(let row) = object,
            let place = description.expression.rowPlace
        {
            return try description.typed(row[place])
        }
        switch self {
        case .property(let keyPath): return try KeyPathEvaluation.value(of: object, atKeyPath: keyPath).asReference
        case .expression(let description):
            return try description.typed(
                description.expression.value(with: object, arithmetic: .nilPropagating).asReference)
        }
    }

    /// Returns the column's value for a group of rows.
    ///
    /// It is computed from aggregates over the rows and from values that all of them share.
    func value(ofGroup rows: [PropertyValue], in entity: Entity) throws -> PropertyValue {
        guard case .expression(let description) = self, description.expression.rowPlace == nil else {
            return try rows.first.map { try value(of: $0) } ?? .null
        }
        var failure: (any Error)?
        let computed = description.expression.mapped { expression in
            do { return try expression.aggregated(over: rows, of: entity) } catch {
                failure = failure ?? error
                return nil
            }
        }
        if let failure { throw failure }
        return try description.typed(
            computed.value(with: rows.first ?? .dictionary([:]), arithmetic: .nilPropagating).asReference)
    }
}

extension Expression {
    /// Returns the statistical function and its argument if the expression aggregates rows.
    ///
    /// Returns nil otherwise, and for a function over a collection of each row.
    package func aggregatedArgument(of entity: Entity) -> (function: Function, argument: Expression)? {
        guard case .function(let function, let arguments) = self, arguments.count == 1,
            [.average, .sum, .count, .min, .max, .median, .mode, .standardDeviation].contains(function)
        else { return nil }
        switch arguments[0] {
        case .constant, .aggregate, .subquery, .setOperation: return nil
        case .keyPath(let path):
            // A collection operator computes one value per row, which can be aggregated.
            if path.keys.contains(where: { $0.collectionOperator?.returnsOneValue == true }) { break }
            var current: Entity? = entity
            for key in path.keys {
                guard let relationship = current?.property(named: key.text) as? Relationship else { break }
                if relationship.isToMany { return nil }
                current = relationship.destination
            }
        default: break
        }
        return (function, arguments[0])
    }

    /// Returns the result of a statistical function over the non-null values of the rows, as a constant.
    ///
    /// Returns nil if the expression is not such a function.
    func aggregated(over rows: [PropertyValue], of entity: Entity) throws -> Expression? {
        guard let (function, argument) = aggregatedArgument(of: entity) else { return nil }
        let values = try rows.map { try argument.value(with: $0, arithmetic: .nilPropagating) }.filter { !$0.isNull }
        if values.isEmpty, function != .sum, function != .count { return .constant(.null) }
        let statistics = Expression.function(function, [.constant(.array(values))])
        return .constant(try statistics.value(with: .null, arithmetic: .nilPropagating))
    }
}

extension CollectionOperator {
    fileprivate var returnsOneValue: Bool {
        switch self {
        case .count, .sum, .average, .minimum, .maximum: true
        default: false
        }
    }
}

extension PropertyValue {
    /// The value with objects replaced by their IDs, which any thread may use.
    fileprivate var asReference: PropertyValue {
        switch self {
        case .object(let row as StoredRow): .object(row.reference ?? row)
        case .object(let object):
            (object.original as? ManagedObject).map { .object(ObjectIDReference($0.objectID)) } ?? self
        case .array(let values): .array(values.map(\.asReference))
        case .set(let values): .set(Set(values.map(\.asReference)))
        default: self
        }
    }
}
