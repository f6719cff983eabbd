import CorestoneModel
import CorestoneValues

extension Context {
    /// The maximum nesting depth of hooks, such as a hook that reads an object whose hook reads another one.
    static let maximumHookNesting = 100

    /// Whether changes are tracked: changed objects are marked as updated, and undo reverts the changes.
    @inline(__always)
    public var isTracking: Bool { hookState.untracked == 0 }

    /// Whether a hook of one of the context's objects is running.
    ///
    /// The context then rejects calls that would invalidate the operation that runs the hook.
    package var isInHook: Bool { hookState.depth > 0 }

    /// Runs `body` without tracking its changes of attributes.
    ///
    /// Objects are not marked as updated, and undo does not revert the changes. A save writes the values only if the
    /// object has another, tracked change. A refresh discards them. Changes of relationships are tracked regardless,
    /// because both sides must be consistent.
    public func withoutTracking<Result>(_ body: () throws -> Result) throws -> Result {
        try checkQueue()
        disableTracking()
        defer { hookState.untracked -= 1 }
        return try body()
    }

    /// Disables tracking, like `withoutTracking`, for languages without closures. Calls can be nested.
    package func disableTracking() { hookState.untracked += 1 }

    /// Ends the last `disableTracking`. Returns false if there was no such call.
    package func enableTracking() -> Bool {
        if hookState.untracked == 0 { return false }
        hookState.untracked -= 1
        return true
    }

    func whileHookRuns<Result>(of object: ManagedObject, _ body: () throws -> Result) throws -> Result {
        guard hookState.depth < Context.maximumHookNesting else {
            throw CoreError(
                .invalidArgument,
                "hooks and validators are nested more than \(Context.maximumHookNesting) levels deep, the innermost "
                    + "for \(object.entity.name); do not insert, read, change or delete objects recursively in them",
                entity: object.entity.name, objectURI: object.objectID.uri)
        }
        let untracked = hookState.untracked
        hookState.depth += 1
        defer {
            hookState.depth -= 1
            // Undoes calls of the hook to `disableTracking` without a matching `enableTracking`.
            hookState.untracked = untracked
        }
        return try body()
    }

    /// Throws if a callback is running during which the calling function must not run.
    ///
    /// These are hooks, validators, merge policies, and the callbacks of an Arrow import.
    func refuseInHook(
        _ operation: @autoclosure () -> String, entity: @autoclosure () -> String? = nil,
        objectURI: @autoclosure () -> String? = nil
    ) throws {
        guard isInHook || mergeState.isResolving || hookState.imports > 0 else { return }
        let callback =
            isInHook ? "hook or validator" : mergeState.isResolving ? "merge policy" : "callback of an Arrow import"
        throw CoreError(
            .invalidArgument,
            "a \(callback) must not \(operation()); do so after the call that runs the \(callback) has returned",
            entity: entity(), objectURI: objectURI())
    }

    func noteHookFailure(_ error: any Error) { hookState.noteFailure(error) }

    /// Throws the recorded error of a hook, at the end of the call.
    func throwHookFailure() throws {
        if let failure = hookState.takeFailure() { throw failure }
    }
}
