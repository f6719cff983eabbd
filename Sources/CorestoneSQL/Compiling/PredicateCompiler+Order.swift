import CorestoneModel
import CorestonePredicate
import CorestoneValues

extension PredicateCompiler {
    /// The terms of ORDER BY. SQLite puts NULL first going up and last going down, as sort descriptors do.
    ///
    /// Rows that are equal under all descriptors come as the plan finds them: one more term by primary key would force a
    /// sort where an index already gives the order.
    mutating func order(_ descriptors: [SortDescriptor], _ root: Scope) throws -> [SQLFragment] {
        let environment = Environment(root: root)
        return try descriptors.map { descriptor in
            guard descriptor.isInSQL else { throw NotExpressible("\(descriptor.rule) orders in memory") }
            let key = try sortKey(descriptor, environment)
            let isFolded = descriptor.selector == .caseInsensitive && key.kind.isTextual
            let direction: SQLFragment = descriptor.ascending ? "" : " DESC"
            return "\(key.sql)\(isFolded ? dialect.caseInsensitive : "")\(direction)"
        }
    }

    private mutating func sortKey(_ descriptor: SortDescriptor, _ environment: Environment) throws -> Operand {
        let keys = descriptor.path.keys[...]
        if !keys.contains(where: { $0.collectionOperator != nil }) {
            switch try resolve(keys, environment.root) {
            case .toMany(let members):
                throw CoreError(
                    .predicate,
                    "cannot sort by \(descriptor.keyPath): \(members.relationship.name) is to-many and has no order of its own",
                    entity: environment.root.mapping.entity.name, key: descriptor.keyPath)
            case .object: throw NotExpressible("objects themselves are ordered in memory")
            case .attribute(let column, let attribute):
                return try self.column(column, attribute)
            }
        }
        return try operand(.keyPath(descriptor.path), environment)
    }
}

extension SortDescriptor {
    fileprivate var isInSQL: Bool { comparator == nil && (selector == .compare || selector == .caseInsensitive) }
    /// What decides, for messages.
    fileprivate var rule: String { comparator == nil ? selector.rawValue : "a comparator" }
}
