import CorestoneModel
import CorestonePredicate
import CorestoneValues

extension FetchedColumn {
    /// Whether one value stands for many rows.
    func aggregates(_ entity: Entity) -> Bool {
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

    /// The value of a group: what is computed over its rows, and what is the same for all of them.
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
    /// What a statistical function is asked over many rows; nil for anything else, and for one over a collection that each
    /// row has.
    package func aggregatedArgument(of entity: Entity) -> (function: Function, argument: Expression)? {
        guard case .function(let function, let arguments) = self, arguments.count == 1,
            [.average, .sum, .count, .min, .max, .median, .mode, .standardDeviation].contains(function)
        else { return nil }
        switch arguments[0] {
        case .constant, .aggregate, .subquery, .setOperation: return nil
        case .keyPath(let path):
            // Of a collection an operator makes one value for each row.
            if path.keys.contains(where: { $0.collectionOperator?.givesOneValue == true }) { break }
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

    /// The constant that a statistical function gives over the values of many rows, nulls left out; nil where it is none.
    func aggregated(over rows: [PropertyValue], of entity: Entity) throws -> Expression? {
        guard let (function, argument) = aggregatedArgument(of: entity) else { return nil }
        let values = try rows.map { try argument.value(with: $0, arithmetic: .nilPropagating) }.filter { !$0.isNull }
        if values.isEmpty, function != .sum, function != .count { return .constant(.null) }
        let statistics = Expression.function(function, [.constant(.array(values))])
        return .constant(try statistics.value(with: .null, arithmetic: .nilPropagating))
    }
}

extension CollectionOperator {
    fileprivate var givesOneValue: Bool {
        switch self {
        case .count, .sum, .average, .minimum, .maximum: true
        default: false
        }
    }
}

extension PropertyValue {
    /// Objects as references to them, which any thread may keep.
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
