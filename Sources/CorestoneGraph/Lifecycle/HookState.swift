import CorestoneModel
import CorestoneValues

/// The state of the hooks that run in a context.
struct HookState {
    /// The nesting depth of running hooks.
    var depth = 0
    /// The number of running callbacks of Arrow imports.
    var imports = 0
    /// The running trial; otherwise nil.
    var trial: Trial?
    /// The nesting depth of `withoutTracking`.
    var untracked = 0
    /// The first error of a hook during a call that continues regardless.
    private var failure: (any Error)?
    /// The objects that events touched while a save runs hooks; otherwise nil.
    var touched: [ManagedObject]?
    /// Whether this is the last permitted round of hooks before a save. If they still change objects, the save fails.
    ///
    /// `changedObject` is an object that a hook changed in this round, with the keys of the changed properties.
    var recordsChangedObject = false
    private var changedObject: (object: ManagedObject, keys: [String])?
    /// Whether validators of the application are running. They must not save.
    var isRunningValidators = false
    /// The restoration of the innermost call that runs hooks for null; otherwise nil.
    var restoration: HookRestoration?

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
    mutating func recordChangedObject(_ object: ManagedObject, _ slots: [Int]) {
        guard object.entity.has(.willSave), changedObject?.object ?? object === object else { return }
        var keys = changedObject?.keys ?? []
        for slot in slots where !keys.contains(object.entity.properties[slot].path) {
            keys.append(object.entity.properties[slot].path)
        }
        changedObject = (object, keys)
    }

    /// Returns the error of a save whose hooks change objects in each round.
    mutating func stillDirtyError(after rounds: Int) -> CoreError {
        let (object, keys) = (changedObject?.object, changedObject?.keys ?? [])
        changedObject = nil
        var changes = object.map { "\($0.entity.name) \($0.objectID.uri)" } ?? "objects"
        if let object, !keys.isEmpty {
            changes = keys.map { "\(object.entity.name).\($0)" }.listed + " of \(object.objectID.uri)"
        }
        return CoreError(
            .validation, code: .managedObjectValidation,
            "the context is still dirty after \(rounds) attempts to save, because a hook or validator changed \(changes) "
                + "each time; in will_save (willSave) and validators, set only values that differ, and do not insert or "
                + "delete objects in each call",
            entity: object?.entity.name, key: keys.first, objectURI: object?.objectID.uri)
    }
}
