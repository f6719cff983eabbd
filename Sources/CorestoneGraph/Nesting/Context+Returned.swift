import CorestoneModel
import CorestoneValues

// Rows that others deleted, and that somebody has inserted again under the same key: by a save whose merge policy insists, or in
// another process. The object that was deleted with its row stays deleted; a new one stands for the row.
extension Context {
    func isDeletedElsewhere(_ object: ManagedObject) -> Bool { mergeState.deletedElsewhere.contains { $0 === object } }

    /// Lets go of the objects that others deleted. They are registered no more.
    func forgetDeletedElsewhere() {
        if mergeState.deletedElsewhere.isEmpty { return }
        for object in mergeState.deletedElsewhere where object.context === self { object.leaveContext() }
        (mergeState.deletedElsewhere, mergeState.reinsertedElsewhere) = ([], [])
    }

    /// The same for those whose rows came again, when observers were told of it.
    func forgetReturned() {
        if mergeState.reinsertedElsewhere.isEmpty { return }
        let former = mergeState.reinsertedElsewhere
        mergeState.reinsertedElsewhere = []
        mergeState.deletedElsewhere.removeAll { object in former.contains { $0 === object } }
        for object in former where object.context === self { object.leaveContext() }
    }

    /// The new objects of rows that came again. Who posts changes to a context, and who it is that reads the history of a store,
    /// keep no common order: so the store is asked about whatever a merge names, deletions too.
    /// - Parameter left: objects that leave with this merge.
    func takeInReturned(named ids: ChangedIDs, _ left: [ManagedObject]) throws -> [ManagedObject] {
        if mergeState.deletedElsewhere.isEmpty { return try standIns(for: left) }
        let named = Set((ids.deleted + ids.inserted + ids.updated + ids.refreshed + ids.invalidated).compactMap(ownID))
        return try standIns(for: left + mergeState.deletedElsewhere.filter { named.contains($0.objectID) })
    }

    /// The same for all that others deleted, as news of the event that runs.
    func takeInAllReturned() throws {
        let back = try standIns(for: mergeState.deletedElsewhere)
        if back.isEmpty { return }
        try enterLists(back)
        mergeState.mergedIn += back
        noteMerged(inserted: back, deleted: [])
    }

    /// - Returns: of those objects whose rows are there, the ones that stand for the rows from now on.
    private func standIns(for deleted: [ManagedObject]) throws -> [ManagedObject] {
        if deleted.isEmpty { return [] }
        let known = deleted.map { registered(store: $0.store, root: $0.entity, primaryKey: $0.primaryKey) }
        let fresh = zip(deleted, known).map {
            $1 ?? object(store: $0.store, entity: $0.entity, primaryKey: $0.primaryKey)
        }
        try loadRows(of: fresh)
        var back: [ManagedObject] = []
        for (place, (former, object)) in zip(deleted, fresh).enumerated() {
            guard object.record != nil else {
                // A context that keeps its objects would keep this one, which stands for nothing.
                if known[place] == nil {
                    unregister(object)
                    object.leaveContext()
                }
                continue
            }
            if object.isDeleted { continue }
            if !back.contains(where: { $0 === object }) { back.append(object) }
            if former.context !== self { continue }
            replace(former, by: object)
            mergeState.reinsertedElsewhere.append(former)
        }
        return back
    }

    /// Whatever was set to lead to the object that was deleted leads to the one that came for it.
    private func replace(_ former: ManagedObject, by object: ManagedObject) {
        forgetUndo(of: former)
        for holder in everyObject {
            guard let overlay = holder.overlay else { continue }
            for slot in 0..<Int(holder.entity.slotCount)
            where overlay.isChanged(slot) && holder.entity.layout.slots[slot].role == .toOne {
                if case .object(let target as ManagedObject) = overlay[slot], target === former {
                    holder.placeTarget(object, holder.entity.relationship(slot))
                }
            }
        }
    }

    /// Those of the objects that others deleted whose rows a store has.
    func returned(to store: Store) throws -> [ObjectID] {
        var groups = Groups<Entity, ManagedObject>()
        for object in mergeState.deletedElsewhere where object.store === store {
            groups.add(object, to: object.entity.root)
        }
        return try groups.list.flatMap { root, objects in
            let versions = try reading(store) { try $0.versions(of: root, primaryKeys: objects.map(\.primaryKey)) }
            return objects.filter { versions[$0.primaryKey] != nil }.map(\.objectID)
        }
    }

    /// Of inserted rows those for which there are objects that were read of other rows: these went without a word.
    func othersRows(among ids: ChangedIDs) throws -> [ObjectID] {
        if parent != nil || ids.inserted.isEmpty { return [] }
        let deleted = Set(ids.deleted)
        let known = ids.inserted.filter { !deleted.contains($0) }.compactMap { registered(with: $0) }.filter {
            $0.record != nil && $0.state.isDisjoint(with: [.inserted, .gone, .deleted, .nested])
                && !hasDeferredMerge($0)
        }
        var found: [ObjectID] = []
        for (store, objects) in byStore(known) {
            var groups = Groups<Entity, ManagedObject>()
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

    /// Puts objects that a merge brought into the lists of those that their rows lead to. Who inserts an object tells of these
    /// too; who inserts one again does not, since they know nothing of its deletion.
    func enterLists(_ objects: [ManagedObject]) throws {
        var observed: [ManagedObject] = []
        for object in objects {
            guard let record = object.record, let store = object.store else { continue }
            for relationship in object.entity.relationships where !relationship.isToMany {
                let layout = object.entity.layout.slots[Int(relationship.slot)]
                guard let inverse = relationship.settledInverse, inverse.isToMany,
                    let (key, index) = Record(record).target(Int(relationship.slot), layout), key >= 0,
                    let owner = registered(store: store, root: entity(at: index), primaryKey: key),
                    let keeper = owner.toMany(ordinal: Int(owner.entity.layout.slots[Int(inverse.slot)].ordinal)),
                    keeper.isLoaded, try !keeper.contains(object), !keeper.lost(object)
                else { continue }
                if parent == nil, owner.state.contains(.observed), !owner.hasChanges {
                    observed.append(owner)
                } else {
                    owner.rereadMembers(of: keeper)
                    tellRefreshed(owner)
                }
            }
        }
        if !observed.isEmpty { try refreshObserved(observed) }
    }
}

extension Context {
    /// Who follows dependencies hears of those that lose members, although no row of theirs may have changed: a batch request
    /// deletes past them.
    func noteOwners(of deleted: [ManagedObject]) {
        if deleted.isEmpty || !observation.trackers.hears(.slots) { return }
        let gone = Set(deleted.map(ObjectIdentifier.init))
        var owners = ObjectList()
        for object in deleted {
            guard let record = object.record, let store = object.store else { continue }
            for relationship in object.entity.relationships where !relationship.isToMany && relationship.inverse != nil
            {
                let layout = object.entity.layout.slots[Int(relationship.slot)]
                guard let (key, index) = Record(record).target(Int(relationship.slot), layout),
                    let owner = registered(store: store, root: entity(at: index), primaryKey: key)
                else { continue }
                _ = owners.append(owner)
            }
        }
        for object in everyObject {
            let loses = object.toManyRelationships.contains { keeper in
                keeper?.knownMembers.contains { gone.contains(ObjectIdentifier($0)) } == true
            }
            if loses { _ = owners.append(object) }
        }
        for owner in owners.objects where !gone.contains(ObjectIdentifier(owner)) { noteRefreshed(owner) }
    }
}
