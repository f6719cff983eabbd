import CorestoneModel
import CorestoneValues

// Rows that another writer deleted and that were inserted again with the same key, for example by a save whose merge
// policy overwrites the deletion. The object of the deleted row stays deleted, and the row has a new object.
extension ChangeMerger {
    func isDeletedElsewhere(_ object: ManagedObject) -> Bool {
        context.mergeState.deletedElsewhere.contains(object)
    }

    /// Detaches from the context the objects whose rows other writers deleted.
    func releaseDeletedElsewhere() {
        if context.mergeState.deletedElsewhere.isEmpty { return }
        for object in context.mergeState.deletedElsewhere where object.context === context { object.leaveContext() }
        (context.mergeState.deletedElsewhere, context.mergeState.reinsertedElsewhere) = (ObjectsByID(), [])
    }

    /// Detaches the deleted objects whose rows were inserted again. Called after observers were notified.
    func detachReinserted() {
        if context.mergeState.reinsertedElsewhere.isEmpty { return }
        let former = context.mergeState.reinsertedElsewhere
        context.mergeState.reinsertedElsewhere = []
        let identifiers = Set(former.map(ObjectIdentifier.init))
        context.mergeState.deletedElsewhere.removeAll { identifiers.contains(ObjectIdentifier($0)) }
        for object in former where object.context === context { object.leaveContext() }
    }

    /// Returns new objects for the rows that were inserted again.
    ///
    /// Posted changes and the history of a store do not have a common order. The rows of all deleted objects that the
    /// merge names, even as deleted, are therefore looked up in the store.
    ///
    /// - Parameter left: The objects that leave the context in this merge.
    func mergeReinserted(named ids: ChangedIDs, _ left: [ManagedObject]) throws -> [ManagedObject] {
        if context.mergeState.deletedElsewhere.isEmpty { return try replacements(for: left) }
        let named = Set((ids.deleted + ids.inserted + ids.updated + ids.refreshed + ids.invalidated).compactMap(ownID))
        return try replacements(for: left + context.mergeState.deletedElsewhere.filter { named.contains($0.objectID) })
    }

    /// Merges all rows that were inserted again, as changes of the current event.
    func mergeAllReinserted() throws {
        let back = try replacements(for: context.mergeState.deletedElsewhere.objects)
        if back.isEmpty { return }
        try reloadOwners(back)
        context.mergeState.mergedIn += back
        context.changeTracker.noteMerged(inserted: back, deleted: [])
    }

    /// Returns the new objects for those deleted objects whose rows exist again.
    private func replacements(for deleted: [ManagedObject]) throws -> [ManagedObject] {
        if deleted.isEmpty { return [] }
        let known = deleted.map {
            context.identityMap.registered(store: $0.store, root: $0.entity, primaryKey: $0.primaryKey)
        }
        let fresh = zip(deleted, known).map {
            $1 ?? context.identityMap.object(store: $0.store, entity: $0.entity, primaryKey: $0.primaryKey)
        }
        try context.faultLoader.loadRows(of: fresh)
        var back = ObjectList()
        var replaced: [(former: ManagedObject, object: ManagedObject)] = []
        for (place, (former, object)) in zip(deleted, fresh).enumerated() {
            guard object.record != nil else {
                // A context that retains its objects would retain this one, which does not have a row.
                if known[place] == nil {
                    context.identityMap.unregister(object)
                    object.leaveContext()
                }
                continue
            }
            if object.isDeleted { continue }
            _ = back.append(object)
            if former.context === context { replaced.append((former, object)) }
        }
        replace(replaced)
        context.mergeState.reinsertedElsewhere += replaced.map(\.former)
        return back.objects
    }

    /// Makes unsaved references to deleted objects refer to their replacements.
    ///
    /// Also discards the deleted objects' undo steps.
    private func replace(_ replaced: [(former: ManagedObject, object: ManagedObject)]) {
        if replaced.isEmpty { return }
        var replacements: [ObjectIdentifier: ManagedObject] = [:]
        for (former, object) in replaced {
            context.forgetUndo(of: former)
            replacements[ObjectIdentifier(former)] = object
        }
        for holder in context.everyObject {
            guard let overlay = holder.overlay else { continue }
            for slot in 0..<Int(holder.entity.slotCount)
            where overlay.isChanged(slot) && holder.entity.layout.slots[slot].role == .toOne {
                if case .object(let target as ManagedObject) = overlay[slot],
                    let object = replacements[ObjectIdentifier(target)]
                {
                    holder.placeTarget(object, holder.entity.relationship(slot))
                }
            }
        }
    }

    /// Returns the IDs of objects whose rows were deleted by other writers and exist again in `store`.
    func returned(to store: Store) throws -> [ObjectID] {
        var groups = GroupedElements<Entity, ManagedObject>()
        for object in context.mergeState.deletedElsewhere where object.store === store {
            groups.add(object, to: object.entity.root)
        }
        return try groups.list.flatMap { root, objects in
            let versions = try context.reading(store) {
                try $0.versions(of: root, primaryKeys: objects.map(\.primaryKey))
            }
            return objects.filter { versions[$0.primaryKey] != nil }.map(\.objectID)
        }
    }

    /// Returns the IDs of inserted rows whose objects have values of older rows.
    ///
    /// The deletion of these older rows was not reported.
    func reinsertedRows(among ids: ChangedIDs) throws -> [ObjectID] {
        if context.parent != nil || ids.inserted.isEmpty { return [] }
        let deleted = Set(ids.deleted)
        let known = ids.inserted.filter { !deleted.contains($0) }.compactMap {
            context.identityMap.registered(with: $0)
        }.filter {
            $0.record != nil && $0.state.isDisjoint(with: [.inserted, .detached, .deleted, .nested])
                && !hasDeferredMerge($0)
        }
        var found: [ObjectID] = []
        for (store, objects) in context.faultLoader.byStore(known) {
            var groups = GroupedElements<Entity, ManagedObject>()
            for object in objects { groups.add(object, to: object.entity.root) }
            for (root, group) in groups.list {
                try forEachNewestRow(of: group, root, store) { object, own, row in
                    let layouts = object.entity.layout.slots
                    let isSame =
                        own.version == row.version
                        && object.entity.snapshotSlots.allSatisfy { own.isEqual(to: row, $0, layouts[$0]) }
                    if !isSame { found.append(object.objectID) }
                }
            }
        }
        return found
    }

    /// Makes an owner read its loaded members again if a merged object is missing among them.
    ///
    /// A save that inserts an object also reports the object's owners as updated. A save that inserts an object again
    /// does not report the owners, because in the saving context they still contain the object.
    func reloadOwners(_ objects: [ManagedObject]) throws {
        var observed: [ManagedObject] = []
        for object in objects {
            guard let record = object.record, let store = object.store else { continue }
            for relationship in object.entity.relationships where !relationship.isToMany {
                let layout = object.entity.layout.slots[Int(relationship.slot)]
                guard let inverse = relationship.resolvedInverse, inverse.isToMany,
                    let (key, index) = Record(record).target(Int(relationship.slot), layout), key >= 0,
                    let owner = context.identityMap.registered(
                        store: store, root: context.entity(at: index), primaryKey: key),
                    let collection = owner.toMany(ordinal: Int(owner.entity.layout.slots[Int(inverse.slot)].ordinal)),
                    collection.isLoaded, try !collection.contains(object), !collection.hasRemoved(object)
                else { continue }
                if context.parent == nil, owner.state.contains(.observed), !owner.hasChanges {
                    observed.append(owner)
                } else {
                    owner.rereadMembers(of: collection)
                    context.objectRefresh.noteRefreshedIfObserved(owner)
                }
            }
        }
        if !observed.isEmpty { try context.objectRefresh.refreshObserved(observed) }
    }
}

extension ChangeMerger {
    /// Records owners that lose members as refreshed, for dependency trackers.
    ///
    /// A batch request can delete members without a change of the owners' rows.
    func noteOwners(of deleted: [ManagedObject]) {
        if deleted.isEmpty || !context.observation.trackers.hasObservers(.slots) { return }
        let deletedIdentifiers = Set(deleted.map(ObjectIdentifier.init))
        var owners = ObjectList()
        for object in deleted {
            guard let record = object.record, let store = object.store else { continue }
            for relationship in object.entity.relationships where !relationship.isToMany && relationship.inverse != nil
            {
                let layout = object.entity.layout.slots[Int(relationship.slot)]
                guard let (key, index) = Record(record).target(Int(relationship.slot), layout),
                    let owner = context.identityMap.registered(
                        store: store, root: context.entity(at: index), primaryKey: key)
                else { continue }
                _ = owners.append(owner)
            }
        }
        for object in context.everyObject {
            let loses = object.toManyRelationships.contains { collection in
                collection?.knownMembers.contains { deletedIdentifiers.contains(ObjectIdentifier($0)) } == true
            }
            if loses { _ = owners.append(object) }
        }
        for owner in owners.objects where !deletedIdentifiers.contains(ObjectIdentifier(owner)) {
            context.changeTracker.noteRefreshed(owner)
        }
    }
}
