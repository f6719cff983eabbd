import CorestoneModel
import CorestoneValues

/// The objects that a save writes.
struct SavePlan {
    let inserted: [ManagedObject]
    private(set) var updated: [ManagedObject]
    let deleted: [ManagedObject]
    /// Updated objects whose rows are missing, and whose only change is that references to them were removed.
    ///
    /// Only the removed join rows of these objects are written.
    private(set) var missingRowUpdates: [ManagedObject] = []

    init(inserted: [ManagedObject], updated: [ManagedObject], deleted: [ManagedObject]) {
        self.inserted = inserted
        self.updated = updated
        self.deleted = deleted
    }

    var isEmpty: Bool { inserted.isEmpty && updated.isEmpty && deleted.isEmpty && missingRowUpdates.isEmpty }

    /// The changes for the notifications of the save.
    var changes: ContextChanges {
        var changes = ContextChanges()
        (changes.inserted, changes.updated, changes.deleted) = (inserted, updated, deleted)
        return changes
    }

    var all: [ManagedObject] { inserted + updated + deleted }

    /// Returns the combination of two written parts.
    func joined(with other: SavePlan) -> SavePlan {
        SavePlan(
            inserted: inserted + other.inserted, updated: updated + other.updated, deleted: deleted + other.deleted)
    }

    /// Returns the part of the plan for one store.
    func part(in store: Store, _ targets: SaveTargets) -> SavePlan {
        var part = SavePlan(
            inserted: inserted.filter { targets.store(of: $0) === store },
            updated: updated.filter { $0.store === store }, deleted: deleted.filter { $0.store === store })
        part.missingRowUpdates = missingRowUpdates.filter { $0.store === store }
        return part
    }

    /// Moves updated objects whose rows are missing to `missingRowUpdates` if only references to them were removed.
    ///
    /// The save can thus repair a store with dangling references. An object with a missing row stays in `updated` and
    /// causes a conflict if it was changed otherwise, or if a new reference to it exists.
    mutating func separateMissingRowUpdates(among objects: [ManagedObject]) {
        var found = Set(objects.filter(\.onlyLostReferences).map(ObjectIdentifier.init))
        for object in inserted + updated {
            for relationship in object.entity.relationships {
                found.subtract(object.newPartners(relationship).map(ObjectIdentifier.init))
            }
        }
        missingRowUpdates = updated.filter { found.contains(ObjectIdentifier($0)) }
        updated.removeAll { found.contains(ObjectIdentifier($0)) }
    }

    /// Throws if the store of an object was removed, or for a new reference to an object in another store.
    func requireStores(_ targets: SaveTargets) throws {
        for object in inserted + updated + deleted { try targets.store(of: object)?.requireOpen() }
        for object in inserted + updated {
            for relationship in object.entity.relationships {
                let store = targets.store(of: object)
                for other in object.newPartners(relationship) where targets.store(of: other) !== store {
                    throw object.crossStoreError(relationship, from: store, to: other, in: targets.store(of: other))
                }
            }
        }
    }
}

extension ManagedObject {
    /// Whether the object's only change is that other objects removed their references to it.
    fileprivate var onlyLostReferences: Bool {
        overlay == nil && !isDeleted
            && toManyRelationships.allSatisfy { collection in
                guard let collection else { return true }
                return collection.addedMembers.isEmpty
                    && (!collection.isOrderChanged || !collection.removedMembers.isEmpty)
            }
    }

    /// Returns the target or the members that unsaved changes added, without those that are deleted.
    fileprivate func newPartners(_ relationship: Relationship) -> [ManagedObject] {
        let slot = Int(relationship.slot)
        if relationship.isToMany {
            let collection = toMany(ordinal: Int(entity.layout.slots[slot].ordinal))
            return collection?.addedMembers.filter { $0.state.isDisjoint(with: [.deleted, .detached]) } ?? []
        }
        guard let overlay, overlay.isChanged(slot), case .object(let target as ManagedObject) = overlay[slot],
            target.state.isDisjoint(with: [.deleted, .detached])
        else { return [] }
        return [target]
    }

    /// Creates the error for a relationship between objects of two stores.
    func crossStoreError(
        _ relationship: Relationship, from store: Store?, to other: ManagedObject, in otherStore: Store?
    ) -> CoreError {
        let remedy =
            switch (hasTemporaryID, other.hasTemporaryID) {
            case (true, true): "assign both objects to one store with cst_context_assign (assign)"
            case (false, false):
                "insert a copy of one with cst_context_insert (insert), and assign it to the store of the other with "
                    + "cst_context_assign (assign)"
            default: "assign the new object to the store of the other with cst_context_assign (assign)"
            }
        return CoreError(
            .invalidArgument, code: .managedObjectExternalRelationship,
            "\(entity.name).\(relationship.name) must stay within one store, but refers from \(objectID.uri), which is "
                + "\(store.map { "in \(Coordinator.shown($0.path))" } ?? "not in a store"), to \(other.objectID.uri), "
                + "which is \(otherStore.map { "in \(Coordinator.shown($0.path))" } ?? "not in a store"); "
                + "\(remedy), or use a fetched property", entity: entity.name,
            key: relationship.name, value: .object(other), objectURI: objectID.uri,
            file: store?.path)
    }
}
