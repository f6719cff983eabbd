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

    /// What listeners are told of it.
    var changes: ContextChanges {
        var changes = ContextChanges()
        (changes.inserted, changes.updated, changes.deleted) = (inserted, updated, deleted)
        return changes
    }

    var all: [ManagedObject] { inserted + updated + deleted }

    /// What was written in parts.
    func joined(with other: SavePlan) -> SavePlan {
        SavePlan(
            inserted: inserted + other.inserted, updated: updated + other.updated, deleted: deleted + other.deleted)
    }

    /// The part that concerns one store.
    func part(in store: Store, _ targets: SaveTargets) -> SavePlan {
        var part = SavePlan(
            inserted: inserted.filter { targets.store(of: $0) === store },
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

    /// Throws unless every object's store is still there, and every object that is written leads to its own store only.
    func requireStores(_ targets: SaveTargets) throws {
        for object in inserted + updated + deleted { try targets.store(of: object)?.requireOpen() }
        for object in inserted + updated {
            for relationship in object.entity.relationships {
                let store = targets.store(of: object)
                for other in object.newPartners(relationship) where targets.store(of: other) !== store {
                    throw object.leadsAway(relationship, from: store, to: other, in: targets.store(of: other))
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
        guard let overlay, overlay.isChanged(slot), case .object(let target as ManagedObject) = overlay[slot],
            target.state.isDisjoint(with: [.deleted, .gone])
        else { return [] }
        return [target]
    }

    /// Two objects, their stores, and what to do instead.
    func leadsAway(
        _ relationship: Relationship, from store: Store?, to other: ManagedObject, in otherStore: Store?
    ) -> CoreError {
        let remedy =
            switch (hasTemporaryID, other.hasTemporaryID) {
            case (true, true): "assign both to one with cst_context_assign (assign)"
            case (false, false): "insert a copy of one in the store of the other"
            default: "assign the new object to the store of the other with cst_context_assign (assign)"
            }
        return CoreError(
            .invalidArgument, code: .managedObjectExternalRelationship,
            "\(entity.name).\(relationship.name) must stay within one store, but refers from \(objectID.uri) in "
                + "\(store?.path ?? "no store") to \(other.objectID.uri) in \(otherStore?.path ?? "no store"); "
                + "\(remedy), or use a fetched property", entity: entity.name,
            key: relationship.name, value: .object(other), objectURI: objectID.uri, file: store?.path)
    }
}
