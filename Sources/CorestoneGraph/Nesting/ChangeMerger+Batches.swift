import CorestoneModel
import CorestoneValues

// Merging of batch changes into contexts.
extension ChangeMerger {
    func merge(batch changes: ExternalChanges, of store: Store) throws {
        defer { for child in context.links.children.mergingBatches { child.post(changes, of: store) } }
        // A pinned context does not merge changes.
        if !store.isOpen || context.generation != nil { return }
        var found = ChangedIDs()
        // Results trackers also need the rows that are not registered in the context.
        let isTracked = context.observation.trackers.hasObservers(.event)
        if isTracked || context.hasObservers(.objectsDidChange) || context.hasObservers(.didMergeChangesObjectIDs) {
            found.inserted = store.ids(changes.inserted, in: context)
        }
        var rows = (updated: changes.updated, deleted: changes.deleted)
        if !changes.isComplete {
            var differing = ChangedIDs()
            try compareVersions(with: store, &differing)
            rows.updated += differing.updated.map { ($0.entity.index, $0.reference) }
            rows.deleted += differing.deleted.map { ($0.entity.index, $0.reference) }
            found.inserted += differing.inserted
        }
        let updated = registered(rows.updated, in: store)
        // Changes that are merged later; results trackers are notified of them now.
        var late = ChangedIDs()
        let mergeable = Set(try mergeable(updated.filter(\.hasChanges), in: store).map(ObjectIdentifier.init))
        for object in updated {
            if !object.hasChanges || mergeable.contains(ObjectIdentifier(object)) {
                found.updated.append(object.objectID)
            } else {
                deferMerge(object, isBatch: true)
                late.updated.append(object.objectID)
            }
        }
        for object in registered(rows.deleted, in: store) {
            if !object.hasChanges || object.isDeleted {
                found.deleted.append(object.objectID)
            } else {
                // The object keeps its unsaved changes, and their save has a conflict with the deleted row.
                deferMerge(object, isRowGone: true, isBatch: true)
                late.deleted.append(object.objectID)
            }
        }
        if isTracked {
            if !late.isEmpty { context.changeTracker.noteMerged(late) }
            let isUnknown = { (row: RowKey) in registered([row], in: store).isEmpty }
            found.updated += store.ids(rows.updated.filter(isUnknown), in: context)
            found.deleted += store.ids(rows.deleted.filter(isUnknown), in: context)
            if !changes.isComplete { context.changeTracker.noteEverythingMerged() }
        }
        if !found.isEmpty || isTracked { try merge(found) }
    }

    func registered(_ rows: [RowKey], in store: Store) -> [ManagedObject] {
        rows.compactMap {
            context.identityMap.registered(store: store, root: context.entity(at: $0.entity), primaryKey: $0.primaryKey)
        }
    }

    /// Returns the objects whose changed properties have the same values in the newest row as in the former row.
    func mergeable(_ objects: [ManagedObject], in store: Store) throws -> [ManagedObject] {
        var groups = GroupedElements<Entity, ManagedObject>()
        for object in objects where object.record != nil && !object.isDeleted {
            groups.add(object, to: object.entity.root)
        }
        var found: [ManagedObject] = []
        for (root, group) in groups.list {
            try forEachNewestRow(of: group, root, store) { object, base, row in
                let layouts = object.entity.layout.slots
                if object.changedStoredSlots.allSatisfy({ base.isEqual(to: row, $0, layouts[$0]) }) {
                    found.append(object)
                }
            }
        }
        return found
    }
}
