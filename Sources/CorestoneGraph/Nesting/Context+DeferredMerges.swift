import CorestoneModel
import CorestoneValues

/// What a merge left out, since an object had changes of its own or was deleted here. It comes in when those end.
struct DeferredMerge {
    let object: ManagedObject
    /// Whether the row is gone; else it has other values.
    let isRowGone: Bool
    /// Whether a batch request wrote it: its values never come under changes of the same properties.
    let isBatch: Bool
}

extension Context {
    func deferMerge(_ object: ManagedObject, isRowGone: Bool = false, isBatch: Bool = false) {
        if isDeletedElsewhere(object) { return }
        let key = ObjectIdentifier(object)
        mergeState.deferred[key] = DeferredMerge(
            object: object, isRowGone: isRowGone, isBatch: isBatch || mergeState.deferred[key]?.isBatch == true)
    }

    /// Somebody has inserted a row again that was gone.
    func noteReinsertedRow(of object: ManagedObject) { if isRowGone(object) { deferMerge(object, isBatch: true) } }

    /// Merges what was left out of objects whose changes have ended since, by rollback, undo or save.
    func mergeDeferred() {
        if mergeState.deferred.isEmpty { return }
        let gone = Set(mergeState.deletedElsewhere.map(ObjectIdentifier.init))
        let fitting = mergeableDeferred()
        var ids = ChangedIDs()
        for (key, entry) in mergeState.deferred {
            let object = entry.object
            let isKnown = object.context === self && !gone.contains(key)
            if isKnown && (object.isDeleted || object.hasChanges && entry.waitsForSave && !fitting.contains(key)) {
                continue
            }
            mergeState.deferred[key] = nil
            if !isKnown { continue }
            if entry.isRowGone { ids.deleted.append(object.objectID) } else { ids.updated.append(object.objectID) }
        }
        mergeLate(ids)
    }

    /// Changed objects that a batch's values fit under, now that they are deleted no more.
    private func mergeableDeferred() -> Set<ObjectIdentifier> {
        let changed = mergeState.deferred.values.filter { $0.isBatch && !$0.isRowGone && $0.object.context === self }
        return byStore(changed.map(\.object).filter { $0.hasChanges && !$0.isDeleted }).reduce(into: []) {
            found, group in
            // What cannot be read now is left to the save.
            let objects = (try? mergeable(group.elements, in: group.key)) ?? []
            found.formUnion(objects.map(ObjectIdentifier.init))
        }
    }

    /// Runs `body`, which writes the changes of a save: in which conflicts were settled with what others wrote.
    func resolvingDeferred<Result>(_ body: () throws -> Result) rethrows -> Result {
        if mergeState.deferred.isEmpty { return try body() }
        let others = mergeState.deferred.filter { !$0.value.object.isDeleted && !$0.value.object.concernsStore }
        let result = try body()
        mergeState.deferred = others
        return result
    }

    /// Before an object gives up its changes: deletes it like its row.
    func mergesDeletion(of object: ManagedObject) -> Bool {
        guard !object.isDeleted, let entry = mergeState.deferred.removeValue(forKey: ObjectIdentifier(object)),
            entry.isRowGone
        else { return false }
        mergeLate(ChangedIDs(deleted: [object.objectID]))
        return true
    }

    /// Whether the store has a newer row of an object than the object itself.
    func hasDeferredMerge(_ object: ManagedObject) -> Bool {
        parent == nil && !mergeState.deferred.isEmpty && mergeState.deferred[ObjectIdentifier(object)] != nil
    }

    /// Whether the store no longer has the row of an object, which changes of its own keep alive.
    func isRowGone(_ object: ManagedObject) -> Bool {
        mergeState.deferred[ObjectIdentifier(object)]?.isRowGone ?? false
    }
}

extension DeferredMerge {
    fileprivate var waitsForSave: Bool { isRowGone || isBatch }
}
