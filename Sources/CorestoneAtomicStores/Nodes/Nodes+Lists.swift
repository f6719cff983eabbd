import CorestoneModel

extension Nodes {
    /// The to-many relationships whose members, or whose order, rows do not store. Both sides are included, because
    /// each has its own order.
    var listedRelationships: [Relationship] {
        model.entities.flatMap(\.ownRelationships).filter {
            $0.isToMany && !$0.isTransient && ($0.isOrdered || $0.inverse?.isToMany ?? true)
        }
    }

    /// Returns the members of a listed relationship, in the order of the owners' primary keys.
    func lists(of relationship: Relationship) -> [(owner: Int64, members: [Int64])] {
        // With the delete rule "no action", members can still refer to a deleted owner.
        listOwners(of: relationship).filter { node(relationship.entity.root, $0) != nil }
            .map { ($0, members(relationship, $0)) }.filter { !$0.members.isEmpty }
    }
}
