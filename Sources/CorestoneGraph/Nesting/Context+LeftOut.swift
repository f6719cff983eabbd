import CorestoneModel
import CorestoneValues

/// What a merge left out, since an object had changes of its own or was deleted here. It comes in when those end.
struct LeftOut {
    let object: ManagedObject
    /// Whether the row is gone; else it has other values.
    let isRowGone: Bool
    /// Whether a batch request wrote it: its values never come under changes of the same properties.
    let isBatch: Bool
}

extension Context {
    func leaveOut(_ object: ManagedObject, isRowGone: Bool = false, isBatch: Bool = false) {
        if isDeletedElsewhere(object) { return }
        let key = ObjectIdentifier(object)
        leftOut[key] = LeftOut(
            object: object, isRowGone: isRowGone, isBatch: isBatch || leftOut[key]?.isBatch == true)
    }

    /// Somebody has inserted a row again that was gone.
    func noteRowBack(of object: ManagedObject) { if isRowGone(object) { leaveOut(object, isBatch: true) } }

    /// Merges what was left out of objects whose changes have ended since, by rollback, undo or save.
    func takeInLeftOut() {
        if leftOut.isEmpty { return }
        let gone = Set(deletedElsewhere.map(ObjectIdentifier.init))
        let fitting = fittingLeftOut()
        var ids = ChangedIDs()
        for (key, entry) in leftOut {
            let object = entry.object
            let isKnown = object.context === self && !gone.contains(key)
            if isKnown && (object.isDeleted || object.hasChanges && entry.waitsForSave && !fitting.contains(key)) {
                continue
            }
            leftOut[key] = nil
            if !isKnown { continue }
            if entry.isRowGone { ids.deleted.append(object.objectID) } else { ids.updated.append(object.objectID) }
        }
        mergeLate(ids)
    }

    /// Changed objects that a batch's values fit under, now that they are deleted no more.
    private func fittingLeftOut() -> Set<ObjectIdentifier> {
        let changed = leftOut.values.filter { $0.isBatch && !$0.isRowGone && $0.object.context === self }
        return byStore(changed.map(\.object).filter { $0.hasChanges && !$0.isDeleted }).reduce(into: []) {
            found, group in
            // What cannot be read now is left to the save.
            let objects = (try? mergeable(group.elements, in: group.key)) ?? []
            found.formUnion(objects.map(ObjectIdentifier.init))
        }
    }

    /// Runs `body`, which writes the changes of a save: in which conflicts were settled with what others wrote.
    func settlingLeftOut<Result>(_ body: () throws -> Result) rethrows -> Result {
        if leftOut.isEmpty { return try body() }
        let others = leftOut.filter { !$0.value.object.isDeleted && !$0.value.object.concernsStore }
        let result = try body()
        leftOut = others
        return result
    }

    /// Before an object gives up its changes: deletes it like its row.
    func takesInDeletion(of object: ManagedObject) -> Bool {
        guard !object.isDeleted, let entry = leftOut.removeValue(forKey: ObjectIdentifier(object)), entry.isRowGone
        else { return false }
        mergeLate(ChangedIDs(deleted: [object.objectID]))
        return true
    }

    /// Whether the store has a newer row of an object than the object itself.
    func isLeftOut(_ object: ManagedObject) -> Bool {
        parent == nil && !leftOut.isEmpty && leftOut[ObjectIdentifier(object)] != nil
    }

    /// Whether the store no longer has the row of an object, which changes of its own keep alive.
    func isRowGone(_ object: ManagedObject) -> Bool { leftOut[ObjectIdentifier(object)]?.isRowGone ?? false }
}

extension LeftOut {
    fileprivate var waitsForSave: Bool { isRowGone || isBatch }
}
