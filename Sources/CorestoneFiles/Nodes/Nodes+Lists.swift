import CorestoneModel

extension Nodes {
    /// The relationships whose members no row tells, or not in which order; both sides of one, each with an order of its own.
    var listedRelationships: [Relationship] {
        model.entities.flatMap(\.ownRelationships).filter {
            $0.isToMany && !$0.isTransient && ($0.isOrdered || $0.inverse?.isToMany ?? true)
        }
    }

    /// What such a relationship has, by the keys of the owners.
    func lists(of relationship: Relationship) -> [(owner: Int64, members: [Int64])] {
        // Where a rule does nothing, members still point to an owner that is gone.
        listOwners(of: relationship).filter { node(relationship.entity.root, $0) != nil }
            .map { ($0, members(relationship, $0)) }.filter { !$0.members.isEmpty }
    }
}
