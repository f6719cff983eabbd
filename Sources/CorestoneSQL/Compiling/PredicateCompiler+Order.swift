import CorestoneGraph
import CorestoneModel
import CorestonePredicate
import CorestoneValues

extension PredicateCompiler {
    /// Returns the terms of ORDER BY, or nil if the rows must be sorted in memory.
    ///
    /// SQLite puts NULL first in ascending and last in descending order, as sort descriptors do.
    ///
    /// - Parameter column: A function that returns the computed column that a sort descriptor names; nil for a key
    ///   path.
    mutating func order(
        _ descriptors: [SortDescriptor], _ root: Scope, by column: (SortDescriptor) -> FetchedColumn? = { _ in nil }
    ) throws -> [SQLFragment]? {
        let environment = Environment(root: root)
        var terms: [SQLFragment] = []
        let joins = root.state
        for descriptor in descriptors {
            do { terms.append(try term(descriptor, column(descriptor), environment)) } catch let obstacle
                as NotExpressible
            {
                orderObstacle = orderObstacle ?? obstacle.reason
            }
        }
        if orderObstacle != nil { root.state = joins }
        return orderObstacle == nil ? terms : nil
    }

    private mutating func term(
        _ descriptor: SortDescriptor, _ column: FetchedColumn?, _ environment: Environment
    ) throws -> SQLFragment {
        let key = try column.map { try operand(of: $0, environment) } ?? sortKey(descriptor, environment)
        if key.entity != nil {
            throw NotExpressible("\"\(descriptor.keyPath)\" is an object, and objects are ordered in memory")
        }
        if descriptor.comparator != nil {
            throw NotExpressible("the application's comparator of \"\(descriptor.keyPath)\" sorts in memory")
        }
        let collation = key.kind.isTextual ? dialect.collation(for: descriptor.selector) : ""
        return "\(key.sql)\(collation)\(descriptor.ascending ? "" : " DESC")"
    }

    private mutating func sortKey(_ descriptor: SortDescriptor, _ environment: Environment) throws -> Operand {
        let keys = descriptor.path.keys[...]
        if !keys.contains(where: { $0.collectionOperator != nil }) {
            switch try resolve(keys, environment.root) {
            case .toMany(let members):
                let collection = KeyPath(keys: Array(keys.dropLast(members.rest.count))).text
                let entity = environment.root.mapping.entity.name
                throw CoreError(
                    .predicate,
                    "cannot sort \(entity) by \"\(descriptor.keyPath)\": \(entity).\(collection) is to-many, and "
                        + "collections cannot be compared; sort by a single value, such as \(collection).@count",
                    entity: entity, key: descriptor.keyPath)
            case .object:
                throw NotExpressible("\"\(descriptor.keyPath)\" is an object, and objects are ordered in memory")
            case .attribute(let value): return try column(value)
            }
        }
        return try operand(.keyPath(descriptor.path), environment)
    }
}
