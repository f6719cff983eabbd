import CorestoneModel
import CorestoneValues

/// What a context knows of the hooks that run in it.
struct HookState {
    /// How many run, one within the other.
    var depth = 0
    /// How many calls to `withoutTracking` run.
    var untracked = 0
    /// The first thing that a hook threw in the midst of a call that goes on.
    var failure: (any Error)?
    /// Whom events touched while a save asks hooks; nil else.
    var touched: [ManagedObject]?
    /// Whether this is the last time that they are asked, and who changed then, with the keys.
    var namesCulprit = false
    var culprit: (object: ManagedObject, keys: [String])?
    /// Whether validators of the application run, which must not save.
    var isAskingValidators = false
}

extension Context {
    /// How deep hooks may nest: one that reads an object whose hook reads another one, and so on.
    static let maximumHookNesting = 100

    /// Whether changes are noted: an object that is changed then counts as changed, and undo takes the change back.
    @inline(__always)
    public var isTracking: Bool { hookState.untracked == 0 }

    /// Whether a hook of one of the objects runs, in which the context refuses what would pull the ground from under the call
    /// that runs the hook.
    package var isInHook: Bool { hookState.depth > 0 }

    /// Runs `body`, whose changes of attributes are not noted: objects do not count as changed by it, and undo knows nothing of
    /// it. A save writes the values once another change makes the object one to save; a refresh drops them. Changes of
    /// relationships count all the same, since both ends must agree.
    public func withoutTracking<Result>(_ body: () throws -> Result) throws -> Result {
        try checkQueue()
        disableTracking()
        defer { hookState.untracked -= 1 }
        return try body()
    }

    /// Begins what `withoutTracking` does, for hosts that have no closures; nests.
    package func disableTracking() { hookState.untracked += 1 }

    /// Ends what the last `disableTracking` began; false when there was none.
    package func enableTracking() -> Bool {
        if hookState.untracked == 0 { return false }
        hookState.untracked -= 1
        return true
    }

    func whileHookRuns<Result>(of object: ManagedObject, _ body: () throws -> Result) throws -> Result {
        guard hookState.depth < Context.maximumHookNesting else {
            throw CoreError(
                .invalidArgument,
                "hooks of \(object.entity.name) are nested more than \(Context.maximumHookNesting) levels deep; do not insert "
                    + "or read objects recursively in a hook", entity: object.entity.name,
                objectURI: object.objectID.uri)
        }
        let untracked = hookState.untracked
        hookState.depth += 1
        defer {
            hookState.depth -= 1
            // Whatever the hook disabled and did not enable again.
            hookState.untracked = untracked
        }
        return try body()
    }

    /// Throws when a hook, or a merge policy within a save, asks its context for something that only the outermost call may do.
    func refuseInHook(_ what: @autoclosure () -> String) throws {
        guard isInHook || mergeState.isResolving else { return }
        let who = isInHook ? "a hook or validator" : "a merge policy"
        throw CoreError(
            .invalidArgument,
            "\(who) must not \(what()); do so after the call that runs the \(isInHook ? "hook or validator" : "merge policy") "
                + "has returned")
    }

    func noteHookFailure(_ error: any Error) { if hookState.failure == nil { hookState.failure = error } }

    /// Throws what a hook threw meanwhile, at the end of the call.
    func throwHookFailure() throws {
        guard let failure = hookState.failure else { return }
        hookState.failure = nil
        throw failure
    }
}
