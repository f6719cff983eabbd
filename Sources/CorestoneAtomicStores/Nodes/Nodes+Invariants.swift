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
                precondition(keys.count == tree(of: entity).count, "the count of a node tree is wrong")
                precondition((keys.last ?? 0) <= lastKey(of: entity), "a node has a key that was not assigned")
            }
            for relationship in model.entities.flatMap(\.ownRelationships) {
                precondition(
                    relationship.isOrdered || orders[relationship.key] == nil, "an unordered relationship has an order")
                guard relationship.isToMany, let inverse = relationship.inverse, inverse.isToMany else { continue }
                for (owner, list) in pairs[relationship.key] ?? [:] {
                    for member in list.keys {
                        precondition(
                            pairs[inverse.key]?[member]?.keys.contains(owner) == true, "a pair is on one side only")
                    }
                }
            }
        #endif
    }
}
