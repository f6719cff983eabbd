import CorestoneModel
import CorestoneValues

/// A change of a row that a merge did not apply.
///
/// The object had unsaved changes or was deleted in the context. The change is merged when the object's unsaved
/// changes are discarded. If these are saved, the save resolves the conflict with the skipped change.
struct DeferredMerge {
    let object: ManagedObject
    /// Whether the row was deleted; otherwise it was changed or inserted again.
    let isRowGone: Bool
    /// Whether a batch request wrote the change, or the row was inserted again after a skipped deletion.
    ///
    /// Such a change is not merged while the object has unsaved changes of the same properties.
    let isBatch: Bool
}

extension ChangeMerger {
    func deferMerge(_ object: ManagedObject, isRowGone: Bool = false, isBatch: Bool = false) {
        if isDeletedElsewhere(object) { return }
        let key = ObjectIdentifier(object)
        context.mergeState.deferred[key] = DeferredMerge(
            object: object, isRowGone: isRowGone, isBatch: isBatch || context.mergeState.deferred[key]?.isBatch == true)
    }

    /// Records that the row of an object was inserted again, if a merge skipped the deletion of the row.
    func noteReinsertedRow(of object: ManagedObject) { if isRowGone(object) { deferMerge(object, isBatch: true) } }

    /// Merges the skipped changes of rows that can be merged now.
    ///
    /// A change remains skipped while its object is deleted here, or while it must wait for the save of the object's
    /// unsaved changes.
    func mergeDeferred() {
        if context.mergeState.deferred.isEmpty { return }
        let deletedIdentifiers = Set(context.mergeState.deletedElsewhere.map(ObjectIdentifier.init))
        let fitting = mergeableDeferred()
        var ids = ChangedIDs()
        for (key, entry) in context.mergeState.deferred {
            let object = entry.object
            let isKnown = object.context === context && !deletedIdentifiers.contains(key)
            if isKnown && (object.isDeleted || object.hasChanges && entry.waitsForSave && !fitting.contains(key)) {
                continue
            }
            context.mergeState.deferred[key] = nil
            if !isKnown { continue }
            if entry.isRowGone { ids.deleted.append(object.objectID) } else { ids.updated.append(object.objectID) }
        }
        mergeLate(ids)
    }

    /// Returns the objects with unsaved changes into which skipped changes of batch requests can now be merged.
    ///
    /// These objects are not deleted here, and their unsaved changes are of properties that have not changed in the
    /// store.
    private func mergeableDeferred() -> Set<ObjectIdentifier> {
        let changed = context.mergeState.deferred.values.filter {
            $0.isBatch && !$0.isRowGone && $0.object.context === context
        }
        return context.faultLoader.byStore(changed.map(\.object).filter { $0.hasChanges && !$0.isDeleted }).reduce(
            into: []) {
                found, group in
                // Rows that cannot be read now are merged later.
                let objects = (try? mergeable(group.elements, in: group.key)) ?? []
                found.formUnion(objects.map(ObjectIdentifier.init))
            }
    }

    /// Runs `body`, which writes the changes of a save, then discards the skipped changes of the written objects.
    ///
    /// The save has resolved the conflicts of these objects with other writers.
    func resolvingDeferred<Result>(_ body: () throws -> Result) rethrows -> Result {
        if context.mergeState.deferred.isEmpty { return try body() }
        let others = context.mergeState.deferred.filter { !$0.value.object.isDeleted && !$0.value.object.concernsStore }
        let result = try body()
        context.mergeState.deferred = others
        return result
    }

    /// Merges the skipped deletion of an object's row, before the object's changes are discarded.
    ///
    /// Returns false if no deletion was skipped. A skipped change of another kind is discarded, because the caller
    /// makes the object read its row again.
    func mergesDeletion(of object: ManagedObject) -> Bool {
        guard !object.isDeleted, let entry = context.mergeState.deferred.removeValue(forKey: ObjectIdentifier(object)),
            entry.isRowGone
        else { return false }
        mergeLate(ChangedIDs(deleted: [object.objectID]))
        return true
    }

    /// Whether a merge skipped a change of an object's row. False in a nested context.
    func hasDeferredMerge(_ object: ManagedObject) -> Bool {
        context.parent == nil && !context.mergeState.deferred.isEmpty
            && context.mergeState.deferred[ObjectIdentifier(object)] != nil
    }

    /// Whether a merge skipped the deletion of an object's row because the object had unsaved changes.
    func isRowGone(_ object: ManagedObject) -> Bool {
        context.mergeState.deferred[ObjectIdentifier(object)]?.isRowGone ?? false
    }
}

extension DeferredMerge {
    fileprivate var waitsForSave: Bool { isRowGone || isBatch }
}
