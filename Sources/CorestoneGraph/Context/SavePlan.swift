import CorestoneModel
import CorestoneValues

/// What a save writes.
struct SavePlan {
    let inserted: [ManagedObject]
    private(set) var updated: [ManagedObject]
    let deleted: [ManagedObject]
    /// Objects without a row that are no longer led to: of theirs only the pairs are written that end.
    private(set) var ghosts: [ManagedObject] = []

    init(inserted: [ManagedObject], updated: [ManagedObject], deleted: [ManagedObject]) {
        self.inserted = inserted
        self.updated = updated
        self.deleted = deleted
    }

    var isEmpty: Bool { inserted.isEmpty && updated.isEmpty && deleted.isEmpty && ghosts.isEmpty }

    /// The part that concerns one store; new objects without a store go to it when `newObjectsHere`.
    func part(in store: Store, newObjectsHere: Bool) -> SavePlan {
        var part = SavePlan(
            inserted: inserted.filter { $0.store == nil ? newObjectsHere : $0.store === store },
            updated: updated.filter { $0.store === store }, deleted: deleted.filter { $0.store === store })
        part.ghosts = ghosts.filter { $0.store === store }
        return part
    }

    /// Takes out of the updated objects those of some without a row that were merely let go of, so that a store with dangling
    /// references can be mended. One that was changed, or that something leads to anew, stays, and is a conflict.
    mutating func leaveOutGhosts(among rowless: [ManagedObject]) {
        var found = Set(rowless.filter(\.wasOnlyLetGo).map(ObjectIdentifier.init))
        for object in inserted + updated {
            for relationship in object.entity.relationships {
                found.subtract(object.newPartners(relationship).map(ObjectIdentifier.init))
            }
        }
        ghosts = updated.filter { found.contains(ObjectIdentifier($0)) }
        updated.removeAll { found.contains(ObjectIdentifier($0)) }
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
    /// Whether the object's changes are no more than the ends of other objects' references to it.
    fileprivate var wasOnlyLetGo: Bool {
        overlay == nil && !isDeleted
            && toManyRelationships.allSatisfy { keeper in
                guard let keeper else { return true }
                return keeper.addedMembers.isEmpty && (!keeper.isOrderChanged || !keeper.removedMembers.isEmpty)
            }
    }

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
