import CorestoneModel
import CorestoneValues

// The removal of a store invalidates the store's objects in every context. Each context invalidates its objects on its
// own queue, like a merge.
extension Coordinator {
    /// Makes every context invalidate the objects of a removed store, nested contexts first.
    func invalidateObjects(of store: Store) {
        for context in liveContexts { context.links.inbox.post(removed: store) }
    }
}

extension Context {
    /// Invalidates the objects of removed stores.
    ///
    /// The objects leave the context as after a reset, observers receive them as `invalidated`, and references to them
    /// are removed. Their unsaved changes are lost. The loss is logged unless the changes are discardable. New objects
    /// without a store stay.
    ///
    /// Objects are invalidated even within a perform and with pending changes, because waiting would not restore the
    /// rows.
    func takeRemovedStores() {
        if links.inbox.isEmpty || !mayMergeNow || hookState.isRunningValidators { return }
        let stores = links.inbox.takeRemoved()
        if stores.isEmpty { return }
        for store in stores { invalidateObjects(of: store) }
        // Results may contain rows without an object in the context.
        changeTracker.noteEverythingMerged()
        endEvent()
    }

    private func invalidateObjects(of store: Store) {
        let objects = (everyObject + mergeState.deletedElsewhere).filter { object in
            let own =
                object.store
                ?? (changeTracker.assignedStores.isEmpty ? nil : changeTracker.assignedStores[ObjectIdentifier(object)])
            return own === store && object.context === self
        }
        if objects.isEmpty { return }
        logUnsavedChanges(of: objects, with: store)
        let notified = objectsToNotifyOfFaulting(among: objects)
        for object in notified { object.sendWillTurnIntoFault() }
        // Observers are notified after all references are removed.
        try? together("remove a store") {
            let leaving = objects.filter { $0.context === self }
            removeReferences(to: Set(leaving.map(ObjectIdentifier.init)))
            for object in leaving {
                identityMap.unregister(object)
                object.leaveContext()
            }
            forgetGone(with: store)
            if hasEventObservers { changeTracker.noteInvalidated(leaving) }
        }
        forgetUndo()
        changeTracker.event.isUnrecorded = hasUndoableEvent
        for object in notified { object.sendDidTurnIntoFault(in: self) }
    }

    private func logUnsavedChanges(of objects: [ManagedObject], with store: Store) {
        guard logsLosses else { return }
        let leaving = Set(objects.map(ObjectIdentifier.init))
        let counts = countUnsaved { leaving.contains(ObjectIdentifier($0)) }
        if counts.isEmpty { return }
        DebugLog.write(
            "CoreData: warning: \(Coordinator.shown(store.path)) was removed from its coordinator while \(label.text) had unsaved changes of the store's objects, "
                + "which are lost: \(unsavedChanges(counts).text); call save() before removing a store"
        )
    }

    /// Removes the references of other objects to the invalidated ones.
    ///
    /// Saved rows do not have such references, because a row refers only to rows of its own store.
    private func removeReferences(to leaving: Set<ObjectIdentifier>) {
        for holder in everyObject where !leaving.contains(ObjectIdentifier(holder)) {
            holder.clearChangedTargets(withInverse: false) { leaving.contains($0) }
            holder.releaseTargets(withChanges: false) { leaving.contains($0) }
            for collection in holder.keptToManyRelationships {
                for member in collection.knownMembers where leaving.contains(ObjectIdentifier(member)) {
                    collection.remove(member)
                }
            }
            // Fetched properties may contain objects of any store.
            holder.forgetFetched()
        }
    }

    /// Removes the invalidated objects from the lists of objects to be written, checked or merged.
    private func forgetGone(with store: Store) {
        changeTracker.removeGone(in: store)
        mergeState.removeGone()
    }

    /// Returns the object of an ID.
    ///
    /// For an ID of a removed store without a registered object, returns an object that has left its context, so that a
    /// change can contain that object.
    func objectOrDetached(of id: ObjectID) throws -> ManagedObject {
        guard let store = id.store, !store.isOpen, !id.isTemporary, identityMap.registered(with: id) == nil else {
            return try object(with: id)
        }
        let object = ManagedObject(
            entity: id.entity, context: self, store: store, primaryKey: id.reference, state: [.fault])
        object.leaveContext()
        return object
    }
}
