import CorestoneModel
import CorestoneValues

// A coordinator that removes a store invalidates its objects in every context. Each context does so on its own queue, where it
// merges changes.
extension Coordinator {
    /// Has every context give up the objects of a store that was removed, those on top of others first.
    func invalidateObjects(of store: Store) {
        for context in liveContexts { context.links.inbox.post(removed: store) }
    }
}

extension Context {
    /// Invalidates the objects of stores that were removed: they are gone as after a reset, observers get them as `invalidated`, and
    /// references to them end. The log reports their unsaved changes, which are lost. New objects without a store stay.
    ///
    /// Runs also within a perform and with pending changes: the rows do not come back by waiting.
    func takeRemovedStores() {
        if links.inbox.isEmpty || !mayMergeNow || hookState.isAskingValidators { return }
        let stores = links.inbox.takeRemoved()
        if stores.isEmpty { return }
        for store in stores { invalidateObjects(of: store) }
        // Results may have rows of which the context has no object.
        noteEverythingMerged()
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
        tellWhatIsLost(of: objects, with: store)
        let told = objectsToTellOfFaulting(among: objects)
        for object in told { object.sendWillTurnIntoFault() }
        // Observers hear of what is let go when all is.
        try? together {
            let leaving = objects.filter { $0.context === self }
            letGo(of: Set(leaving.map(ObjectIdentifier.init)))
            for object in leaving {
                unregister(object)
                object.leaveContext()
            }
            forgetGone(with: store)
            if hearsOfEvents { noteInvalidated(leaving) }
        }
        forgetUndo()
        changeTracker.event.isUnrecorded = hasUndoableEvent
        for object in told { object.sendDidTurnIntoFault(in: self) }
    }

    private func tellWhatIsLost(of objects: [ManagedObject], with store: Store) {
        guard tellsLosses else { return }
        let leaving = Set(objects.map(ObjectIdentifier.init))
        let counts = countUnsaved { leaving.contains(ObjectIdentifier($0)) }
        if counts.isEmpty { return }
        DebugLog.write(
            "CoreData: warning: \(store.path) was removed from its coordinator while \(label.text) had unsaved changes of its objects, "
                + "which are lost: \(unsavedChanges(counts).text); call save() before removing a store"
        )
    }

    /// Ends the references of other objects to those that leave. No saved row has one: a row refers to rows of its own store only.
    private func letGo(of leaving: Set<ObjectIdentifier>) {
        for holder in everyObject where !leaving.contains(ObjectIdentifier(holder)) {
            holder.letGoOfChangedTargets(withInverse: false) { leaving.contains($0) }
            holder.letGoOfTargets(withChanges: false) { leaving.contains($0) }
            for keeper in holder.keptToManyRelationships {
                for member in keeper.knownMembers where leaving.contains(ObjectIdentifier(member)) {
                    keeper.drop(member)
                }
            }
            // Fetched properties lead anywhere.
            holder.forgetFetched()
        }
    }

    /// Removes objects that left from the lists of those to be written, checked or merged.
    private func forgetGone(with store: Store) {
        changeTracker.removeGone(in: store)
        mergeState.removeGone()
    }

    /// The object of an ID; for an ID of a removed store, an object that is gone, so that a change can name it.
    func objectOrStandIn(of id: ObjectID) throws -> ManagedObject {
        guard let store = id.store, !store.isOpen, !id.isTemporary, registered(with: id) == nil else {
            return try object(with: id)
        }
        let object = ManagedObject(
            entity: id.entity, context: self, store: store, primaryKey: id.reference, state: [.fault])
        object.leaveContext()
        return object
    }
}
