import CorestoneModel
import CorestoneValues

/// The state of the hooks that run in a context.
struct HookState {
    /// The nesting depth of running hooks.
    var depth = 0
    /// The nesting depth of `withoutTracking`.
    var untracked = 0
    /// The first error of a hook during a call that continues regardless.
    private var failure: (any Error)?
    /// The objects that events touched while a save runs hooks; otherwise nil.
    var touched: [ManagedObject]?
    /// Whether this is the last permitted round of hooks before a save. If they still change objects, the save fails.
    ///
    /// `culprit` is an object that a hook changed in this round, with the keys of the changed properties.
    var namesCulprit = false
    private var culprit: (object: ManagedObject, keys: [String])?
    /// Whether validators of the application are running. They must not save.
    var isRunningValidators = false

    /// Records the error of a hook, unless an earlier one is recorded.
    mutating func noteFailure(_ error: any Error) { if failure == nil { failure = error } }

    /// Removes and returns the recorded error of a hook.
    mutating func takeFailure() -> (any Error)? {
        defer { failure = nil }
        return failure
    }

    /// Records the object that is changed in the last round, and its changed keys.
    ///
    /// Only the first object with a hook is recorded.
    mutating func noteCulprit(_ object: ManagedObject, _ slots: [Int]) {
        guard object.entity.has(.willSave), culprit?.object ?? object === object else { return }
        var keys = culprit?.keys ?? []
        for slot in slots where !keys.contains(object.entity.properties[slot].path) {
            keys.append(object.entity.properties[slot].path)
        }
        culprit = (object, keys)
    }

    /// Returns the error of a save whose hooks change objects in each round.
    mutating func stillDirtyError(after rounds: Int) -> CoreError {
        let (object, keys) = (culprit?.object, culprit?.keys ?? [])
        culprit = nil
        var what = object.map { "\($0.entity.name) \($0.objectID.uri)" } ?? "objects"
        if let object, !keys.isEmpty {
            what = keys.map { "\(object.entity.name).\($0)" }.listed + " of \(object.objectID.uri)"
        }
        return CoreError(
            .validation, code: .managedObjectValidation,
            "the context is still dirty after \(rounds) attempts to save, because a hook or validator changed \(what) "
                + "each time. Set a value in will_save (willSave) or in a validator only if the new value differs, "
                + "and do not insert or delete objects in each call",
            entity: object?.entity.name, key: keys.first, objectURI: object?.objectID.uri)
    }
}
