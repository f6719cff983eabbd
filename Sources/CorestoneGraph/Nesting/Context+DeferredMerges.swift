import CorestoneModel
import CorestoneValues

/// A change of a row that a merge did not apply.
///
/// The object has unsaved changes or is deleted here. The change is merged when the object's own changes are saved or
/// discarded.
struct DeferredMerge {
    let object: ManagedObject
    /// Whether the row is deleted; otherwise it has other values.
    let isRowGone: Bool
    /// Whether a batch request wrote the change.
    ///
    /// Its values are never merged below unsaved changes of the same properties.
    let isBatch: Bool
}

extension Context {
    func deferMerge(_ object: ManagedObject, isRowGone: Bool = false, isBatch: Bool = false) {
        if isDeletedElsewhere(object) { return }
        let key = ObjectIdentifier(object)
        mergeState.deferred[key] = DeferredMerge(
            object: object, isRowGone: isRowGone, isBatch: isBatch || mergeState.deferred[key]?.isBatch == true)
    }

    /// Records that the deleted row of an object was inserted again.
    func noteReinsertedRow(of object: ManagedObject) { if isRowGone(object) { deferMerge(object, isBatch: true) } }

    /// Merges the skipped changes of objects whose own changes were rolled back, undone or saved.
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

    /// Returns the objects whose postponed changes can now be merged.
    ///
    /// They are not deleted any more, and their changes do not overlap with the values of a batch request.
    private func mergeableDeferred() -> Set<ObjectIdentifier> {
        let changed = mergeState.deferred.values.filter { $0.isBatch && !$0.isRowGone && $0.object.context === self }
        return byStore(changed.map(\.object).filter { $0.hasChanges && !$0.isDeleted }).reduce(into: []) {
            found, group in
            // Rows that cannot be read now are merged after the save.
            let objects = (try? mergeable(group.elements, in: group.key)) ?? []
            found.formUnion(objects.map(ObjectIdentifier.init))
        }
    }

    /// Runs `body`, then discards the skipped changes of the objects that it wrote.
    ///
    /// `body` writes the changes of a save. The save resolved the conflicts of these objects with other writers.
    func resolvingDeferred<Result>(_ body: () throws -> Result) rethrows -> Result {
        if mergeState.deferred.isEmpty { return try body() }
        let others = mergeState.deferred.filter { !$0.value.object.isDeleted && !$0.value.object.concernsStore }
        let result = try body()
        mergeState.deferred = others
        return result
    }

    /// Deletes an object whose row was deleted, before its changes are discarded.
    ///
    /// Returns false if the row exists.
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

    /// Whether the row of an object is deleted in the store while unsaved changes keep the object alive.
    func isRowGone(_ object: ManagedObject) -> Bool {
        mergeState.deferred[ObjectIdentifier(object)]?.isRowGone ?? false
    }
}

extension DeferredMerge {
    fileprivate var waitsForSave: Bool { isRowGone || isBatch }
}
