/// The state of the hooks that run in a context.
struct HookState {
    /// The nesting depth of running hooks.
    var depth = 0
    /// The nesting depth of `withoutTracking`.
    var untracked = 0
    /// The first error of a hook during a call that continues regardless.
    var failure: (any Error)?
    /// The objects that events touched while a save runs hooks; otherwise nil.
    var touched: [ManagedObject]?
    /// Whether this is the last permitted round of hooks before a save. If they still change objects, the save fails.
    ///
    /// `culprit` is an object that a hook changed in this round, with the keys of the changed properties.
    var namesCulprit = false
    var culprit: (object: ManagedObject, keys: [String])?
    /// Whether validators of the application run, which must not save.
    var isRunningValidators = false
}
