import CorestoneModel
import CorestoneValues

extension Context {
    /// Replaces an object's values with the newest values of the store, or of the parent in a nested context.
    ///
    /// If `mergeChanges` is true, the object keeps its unsaved changes. Otherwise these changes are discarded, on both
    /// sides of the object's relationships, and the object releases its to-one targets and becomes a fault. An object
    /// without changes becomes a fault in both cases, unless it is observed. Observers are notified of values that
    /// differ.
    ///
    /// An object that was never saved does not change, because the store does not have values for it.
    ///
    /// - Throws: Code 133000 if the object has changes to keep but its row was deleted, or if it left the context.
    ///   `.invalidArgument` within a hook, a validator or a merge policy.
    ///   The error of a hook.
    public func refresh(_ object: ManagedObject, mergeChanges: Bool) throws {
        try checkQueue()
        try refuseInHook(
            "refresh \(object.entity.name) \(object.objectID.uri)", entity: object.entity.name,
            objectURI: object.objectID.uri)
        if object.state.contains(.detached) { throw object.detachedError() }
        if !mergeChanges, changeMerger.mergesDeletion(of: object) { return }
        if object.isDeleted, changeMerger.isDeletedElsewhere(object) {
            if !mergeChanges { return }
            throw object.store.map { object.deleted(from: $0) } ?? object.detachedError()
        }
        if !mergeChanges, object.hasChanges {
            return try unrecorded("refresh", of: object) {
                try objectRefresh.refreshNow(object, mergeChanges: false)
            }
        }
        try objectRefresh.refreshNow(object, mergeChanges: mergeChanges)
    }

    /// Refreshes all objects and keeps unsaved changes.
    ///
    /// Objects without changes become faults, unless they are observed. All other saved objects get the newest rows.
    /// The rows of an entity tree are read together. If the row of a changed object was deleted, the object's next save
    /// reports a conflict.
    public func refreshAll() throws {
        try checkQueue()
        try refuseInHook("refresh all objects")
        if parent != nil {
            for object in everyObject { try objectRefresh.refreshNested(object, mergeChanges: true) }
            try changeMerger.mergeAllReinserted()
            return try throwHookFailure()
        }
        forgetHostRows()
        for (store, objects) in faultLoader.byStore(everyObject.filter { !$0.state.contains(.inserted) }) {
            objectRefresh.forgetRows(of: objects, in: store)
            let kept = objects.filter(\.remainsLoadedInRefresh)
            for object in objects where !object.remainsLoadedInRefresh {
                object.turnIntoFault()
                objectRefresh.noteRefreshedIfObserved(object)
            }
            try objectRefresh.rebaseOnNewestRows(kept, in: store)
        }
        try changeMerger.mergeAllReinserted()
        try throwHookFailure()
    }
}
