import CorestoneGraph
import CorestoneModel
import CorestonePredicate
import CorestoneValues

/// Rows that may satisfy a predicate, found by an index lookup for one of its conjuncts.
///
/// The rest of the predicate is then evaluated for each of these rows.
struct NodeCandidates {
    /// The keys, in ascending order and without duplicates.
    let keys: [Int64]
    /// The lookup, as a line of a query plan.
    let step: String
    /// The name of the index, for a query plan; nil for a lookup by primary key.
    let index: String?
    /// The index of the conjunct that all candidates satisfy; nil if every conjunct must be evaluated.
    private(set) var decided: Int?

    /// Creates candidates from keys.
    ///
    /// - Parameter keys: The keys, in any order; may contain duplicates.
    private init(_ keys: [Int64], _ step: String, _ index: String?) {
        var sorted: [Int64] = []
        sorted.reserveCapacity(keys.count)
        for key in keys.sorted() where key != sorted.last { sorted.append(key) }
        (self.keys, self.step, self.index) = (sorted, step, index)
    }

    /// Creates candidates by an index lookup; nil if no index applies to a conjunct, so that all rows must be scanned.
    init?(_ conjuncts: [Predicate], _ entity: Entity, _ nodes: Nodes, _ rows: NodeRows) {
        let tests = conjuncts.compactMap { EqualityTest($0) }
        for test in tests {
            if let found = NodeCandidates.byKey(test, entity, rows) ?? .byUniqueValue(test, entity, nodes) {
                self = found
                return
            }
        }
        for test in tests {
            if let found = NodeCandidates.byTarget(test, entity, nodes, rows) {
                self = found
                return
            }
        }
        for (place, conjunct) in conjuncts.enumerated() {
            if case .comparison(let comparison) = conjunct,
                let found = NodeCandidates.throughTargets(comparison, entity, nodes, rows)
            {
                self = found
                decided = place
                return
            }
        }
        return nil
    }

    /// Returns the rows for `SELF == object` and `SELF IN objects`.
    private static func byKey(_ test: EqualityTest, _ entity: Entity, _ rows: NodeRows) -> NodeCandidates? {
        guard test.path.allSatisfy({ $0 == "self" || $0 == "SELF" || $0 == "objectID" }) else { return nil }
        if entity.root.withDescendants.contains(where: { $0.property(named: "objectID") != nil }) { return nil }
        return NodeCandidates(
            test.keys(entity.root, rows), "SEARCH \(entity.name) BY KEY", nil)
    }

    /// Returns the rows for `isbn == 'x'`, where the attribute has a unique constraint.
    private static func byUniqueValue(_ test: EqualityTest, _ entity: Entity, _ nodes: Nodes) -> NodeCandidates? {
        guard test.path.count == 1, let attribute = entity.property(named: test.path[0]) as? Attribute,
            attribute.type != .transformable, !test.values.contains(where: \.isNull)
        else { return nil }
        // Different decimals can equal the same double.
        if attribute.type == .decimal, test.values.contains(where: \.isDouble) { return nil }
        for index in nodes.tree(of: entity).uniques
        where index.properties.count == 1 && index.properties[0].path == attribute.path
            && entity.isKind(of: index.entity)
        {
            return NodeCandidates(
                test.values.compactMap { index.holder(of: UniqueValues(first: $0)) },
                "SEARCH \(entity.name) BY UNIQUE \(attribute.path)", "\(index.entity.name).\(attribute.path)")
        }
        return nil
    }

    /// Returns the rows for `department == object`.
    private static func byTarget(
        _ test: EqualityTest, _ entity: Entity, _ nodes: Nodes, _ rows: NodeRows
    ) -> NodeCandidates? {
        guard test.path.count == 1, let relationship = indexed(test.path[0], entity),
            !test.values.contains(where: \.isNull)
        else { return nil }
        let index = nodes.targetIndex(relationship)
        let keys = test.keys(relationship.destination.root, rows)
        return NodeCandidates(
            keys.flatMap(index.sources), "SEARCH \(entity.name) BY \(relationship.name)",
            "\(relationship.entity.name).\(relationship.name)")
    }

    /// Returns a to-one relationship that has, or can have, a target index.
    private static func indexed(_ name: String, _ entity: Entity) -> Relationship? {
        guard let relationship = entity.property(named: name) as? Relationship, !relationship.isToMany,
            !relationship.isTransient, relationship.inverse?.isToMany == true
        else { return nil }
        return relationship
    }

    /// Returns the rows for `department.name BEGINSWITH 'x'`, if there are few targets.
    ///
    /// These are the objects whose target satisfies the comparison for the rest of the path.
    private static func throughTargets(
        _ comparison: Comparison, _ entity: Entity, _ nodes: Nodes, _ rows: NodeRows
    ) -> NodeCandidates? {
        guard comparison.modifier == .direct, case .keyPath(let path) = comparison.left, path.keys.count > 1,
            comparison.right.constantValue != nil, let relationship = indexed(path.keys[0].text, entity)
        else { return nil }
        let destination = relationship.destination
        guard nodes.tree(of: destination).count * 4 <= nodes.tree(of: entity).count else { return nil }
        // Rows without a target are not candidates, so they must not match.
        let nothing = Comparison(.constant(.null), comparison.operator, comparison.right, options: comparison.options)
        guard (try? Predicate.comparison(nothing).evaluate(with: .null, arithmetic: .nilPropagating)) == false else {
            return nil
        }
        let rest = Predicate.comparison(
            Comparison(
                .keyPath(KeyPath(keys: Array(path.keys.dropFirst()))), comparison.operator, comparison.right,
                options: comparison.options))
        let index = nodes.targetIndex(relationship)
        let entities = Set(destination.withDescendants.map(\.index))
        var (keys, isSound) = ([Int64](), true)
        nodes.tree(of: destination).forEach { record in
            guard entities.contains(record.header.pointee.entity) else { return true }
            // The evaluation may fail for a row to which no object refers.
            guard let holds = try? rest.evaluate(with: StoredRow(rows, record), arithmetic: .nilPropagating) else {
                isSound = false
                return false
            }
            if holds { keys += index.sources(of: record.primaryKey) }
            return true
        }
        if !isSound { return nil }
        return NodeCandidates(
            keys, "SEARCH \(entity.name) BY \(relationship.name) OF \(destination.name)",
            "\(relationship.entity.name).\(relationship.name)")
    }
}

/// A conjunct that compares a key path with one constant or a list of constants.
private struct EqualityTest {
    let path: [String]
    let values: [PropertyValue]

    init?(_ predicate: Predicate) {
        guard case .comparison(let comparison) = predicate, comparison.modifier == .direct, comparison.options.isBinary
        else { return nil }
        switch (comparison.operator, comparison.left.keys, comparison.right.keys) {
        case (.equal, let keys?, _):
            guard let value = comparison.right.constantValue else { return nil }
            (path, values) = (keys, [value])
        case (.equal, _, let keys?):
            guard let value = comparison.left.constantValue else { return nil }
            (path, values) = (keys, [value])
        case (.in, let keys?, _):
            guard let values = comparison.right.constantValue?.elements else { return nil }
            (path, self.values) = (keys, values)
        default: return nil
        }
    }

    /// Returns the primary keys of the values that are objects of this store.
    func keys(_ root: Entity, _ rows: NodeRows) -> [Int64] {
        values.compactMap { value in
            guard case .object(let object) = value else { return nil }
            let id = (object.original as? ManagedObject)?.objectID ?? (object.original as? ObjectIDReference)?.id
            guard let id, id.store?.identifier == rows.identifier, id.entity.isOfTree(of: root) else { return nil }
            return id.reference
        }
    }
}

extension Expression {
    /// The keys of a path that starts at the row; empty for the row itself, nil for other expressions.
    fileprivate var keys: [String]? {
        switch self {
        case .selfObject: []
        case .keyPath(let path), .path(.selfObject, let path): path.keys.map(\.text)
        default: nil
        }
    }
}

extension PropertyValue {
    fileprivate var isDouble: Bool { if case .double = self { true } else { false } }
}
