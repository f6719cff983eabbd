import CorestoneModel
import CorestoneValues

// References without inverse. No delete rule lets go of them, since the target does not know them: an object that ends unsaved is
// looked for in the changes of the others. No row can name it, so those are the only place where it can be.
extension Context {
    /// Has changed objects let go of objects that end before they were ever saved: to-one references become nil, lists lose a member.
    /// Both are changes of the event that runs, and undone with the deletion.
    func letGoOneSided(of ending: [ManagedObject]) throws {
        var known: [ObjectIdentifier: [Relationship]] = [:]
        /// The relationships of an entity that can hold one of them.
        func relationships(of entity: Entity) -> [Relationship] {
            if let found = known[ObjectIdentifier(entity)] { return found }
            let found = entity.relationships.filter { relationship in
                relationship.settledInverse == nil
                    && ending.contains { $0.entity.isKind(of: relationship.destination) }
            }
            known[ObjectIdentifier(entity)] = found
            return found
        }
        if ending.isEmpty { return }
        let ended = Set(ending.map(ObjectIdentifier.init))
        for object in insertedList + updatedList where object.state.isDisjoint(with: [.gone, .propagated]) {
            for relationship in relationships(of: object.entity) {
                try object.letGo(of: ended, relationship)
            }
        }
    }
}

extension ManagedObject {
    /// - Parameter relationship: one without inverse.
    fileprivate func letGo(of ended: Set<ObjectIdentifier>, _ relationship: Relationship) throws {
        let slot = Int(relationship.slot)
        if relationship.isToMany {
            guard let keeper = toMany(ordinal: Int(entity.layout.slots[slot].ordinal)) else { return }
            for member in keeper.addedMembers where ended.contains(ObjectIdentifier(member)) { keeper.drop(member) }
        } else if let overlay, overlay.isChanged(slot), case .object(let target as ManagedObject) = overlay[slot],
            ended.contains(ObjectIdentifier(target))
        {
            try writeTarget(nil, relationship)
        }
    }
}
