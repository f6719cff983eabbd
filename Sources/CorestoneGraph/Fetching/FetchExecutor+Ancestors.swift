import CorestoneModel
import CorestoneValues

// A fetch of a nested context queries the stores directly. Unsaved changes of ancestor contexts are evaluated like the
// context's own unsaved changes, on the context's own objects.
extension FetchExecutor {
    /// Adds the objects that ancestor contexts have inserted, changed or deleted but not saved.
    func addPendingChangesOfAncestors(to pending: inout PendingChanges, for request: FetchRequest) {
        var known = Set((pending.inserted + pending.updated).map(ObjectIdentifier.init))
        var ancestor = context.parent
        while let next = ancestor {
            // The nearest context takes precedence.
            for own in next.changeTracker.deleted where own.isDeleted && request.concerns(own) {
                let object = context.counterpart(of: own)
                pending.decidedByAncestors[ObjectIdentifier(object)] = object
                pending.deletedCount += 1
                known.insert(ObjectIdentifier(object))
            }
            func addCounterpart(_ own: ManagedObject, _ list: inout [ManagedObject]) {
                let object = context.counterpart(of: own)
                pending.decidedByAncestors[ObjectIdentifier(object)] = object
                guard known.insert(ObjectIdentifier(object)).inserted else { return }
                if !(object.isDeleted && request.includesPendingChanges) { list.append(object) }
            }
            var (inserted, updated) = ([ManagedObject](), [ManagedObject]())
            for own in next.changeTracker.inserted where own.isInserted && request.concerns(own) {
                addCounterpart(own, &inserted)
            }
            for own in next.changeTracker.updated where own.isUpdated && request.concerns(own) {
                addCounterpart(own, &updated)
            }
            pending.inserted += inserted
            pending.updated += updated
            ancestor = next.parent
        }
    }
}
