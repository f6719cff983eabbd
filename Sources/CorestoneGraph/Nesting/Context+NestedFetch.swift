import CorestoneModel
import CorestoneValues

// A fetch of a nested context queries the stores directly. Unsaved changes of ancestor contexts are evaluated like the
// context's own unsaved changes, on the context's own objects.
extension Context {
    /// Processes pending changes here and in all ancestors, before a descendant context reads.
    func processPendingChangesInAncestors() throws {
        try parent?.processPendingChangesInAncestors()
        try processPendingChanges()
    }

    /// Adds the objects that ancestor contexts have inserted, changed or deleted but not saved.
    func addPendingChangesOfAncestors(to pending: inout PendingChanges, for request: FetchRequest) {
        var known = Set((pending.inserted + pending.updated).map(ObjectIdentifier.init))
        var ancestor = parent
        while let context = ancestor {
            // The nearest context takes precedence.
            for own in context.changeTracker.deleted where own.isDeleted && request.concerns(own) {
                let object = counterpart(of: own)
                pending.decidedByAncestors[ObjectIdentifier(object)] = object
                pending.deletedCount += 1
                known.insert(ObjectIdentifier(object))
            }
            func addCounterpart(_ own: ManagedObject, _ list: inout [ManagedObject]) {
                let object = counterpart(of: own)
                pending.decidedByAncestors[ObjectIdentifier(object)] = object
                guard known.insert(ObjectIdentifier(object)).inserted else { return }
                if !(object.isDeleted && request.includesPendingChanges) { list.append(object) }
            }
            var (inserted, updated) = ([ManagedObject](), [ManagedObject]())
            for own in context.changeTracker.inserted where own.isInserted && request.concerns(own) {
                addCounterpart(own, &inserted)
            }
            for own in context.changeTracker.updated where own.isUpdated && request.concerns(own) {
                addCounterpart(own, &updated)
            }
            pending.inserted += inserted
            pending.updated += updated
            ancestor = context.parent
        }
    }
}
