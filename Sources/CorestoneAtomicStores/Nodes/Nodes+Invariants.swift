import CorestoneModel

extension Nodes {
    /// Verifies the invariants in debug builds:
    /// - The count of each tree is the number of its rows, and no key is above the last key.
    /// - A pair of a relationship with an inverse is on both sides.
    /// - Only ordered relationships have an order.
    ///
    /// Called at each commit. Only stores of at most 256 rows are checked.
    func checkInvariants() {
        #if DEBUG
            guard trees.reduce(0, { $0 + $1.count }) <= 256 else { return }
            for entity in model.entities where entity.parent == nil {
                let keys = keys(of: entity)
                precondition(
                    keys.count == tree(of: entity).count,
                    "the node count of \(entity.name) is \(tree(of: entity).count), but must be \(keys.count)")
                precondition(
                    (keys.last ?? 0) <= lastKey(of: entity),
                    "the last key of \(entity.name) is \(keys.last ?? 0), but must be 0 to \(lastKey(of: entity))")
            }
            for relationship in model.entities.flatMap(\.ownRelationships) {
                precondition(
                    relationship.isOrdered || orders[relationship.key] == nil,
                    "\(relationship.entity.name).\(relationship.name) is unordered, but has an order")
                guard relationship.isToMany, let inverse = relationship.inverse, inverse.isToMany else { continue }
                for (owner, list) in pairs[relationship.key] ?? [:] {
                    for member in list.keys {
                        precondition(
                            pairs[inverse.key]?[member]?.keys.contains(owner) == true,
                            "\(relationship.entity.name).\(relationship.name) of \(owner) refers to \(member), but "
                                + "its inverse relationship does not refer back")
                    }
                }
            }
        #endif
    }
}
