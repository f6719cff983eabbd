import CorestoneModel
import CorestoneValues

/// What a save writes.
struct SavePlan {
    let inserted: [ManagedObject]
    let updated: [ManagedObject]
    let deleted: [ManagedObject]

    var isEmpty: Bool { inserted.isEmpty && updated.isEmpty && deleted.isEmpty }

    /// The part that concerns one store; new objects without a store go to it when `newObjectsHere`.
    func part(in store: Store, newObjectsHere: Bool) -> SavePlan {
        SavePlan(
            inserted: inserted.filter { $0.store == nil ? newObjectsHere : $0.store === store },
            updated: updated.filter { $0.store === store }, deleted: deleted.filter { $0.store === store })
    }

    /// Throws unless every object's store is still there, and every object that is written leads to its own store only. New
    /// objects without a store go to `target`.
    func requireStores(newObjectsIn target: Store?) throws {
        try target?.requireOpen()
        for object in inserted + updated + deleted { try object.store?.requireOpen() }
        for object in inserted + updated {
            for relationship in object.entity.relationships {
                for other in object.newPartners(relationship) where (other.store ?? target) !== (object.store ?? target)
                {
                    throw object.leadsAway(relationship, other)
                }
            }
        }
    }
}

extension ManagedObject {
    /// The target or the members that the object got since it was read.
    fileprivate func newPartners(_ relationship: Relationship) -> [ManagedObject] {
        let slot = Int(relationship.slot)
        if relationship.isToMany {
            let keeper = toMany(ordinal: Int(entity.layout.slots[slot].ordinal))
            return keeper?.addedMembers.filter { $0.state.isDisjoint(with: [.deleted, .gone]) } ?? []
        }
        guard let overlay, overlay.isChanged(slot), case .object(let target as ManagedObject) = overlay.values[slot],
            target.state.isDisjoint(with: [.deleted, .gone])
        else { return [] }
        return [target]
    }

    fileprivate func leadsAway(_ relationship: Relationship, _ other: ManagedObject) -> CoreError {
        CoreError(
            .invalidArgument, code: .managedObjectExternalRelationship,
            "\(entity.name).\(relationship.name) cannot lead to an object in another store: new objects go to the first "
                + "store that can be written, and \(other.objectID.uri) would not be in the same one",
            entity: entity.name,
            key: relationship.name, value: .object(other), objectURI: objectID.uri)
    }
}
