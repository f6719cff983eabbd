import CorestoneModel
import CorestoneValues

extension Context {
    // MARK: Locked objects

    /// Makes the next save check the row of an object even if the object is unchanged.
    ///
    /// If the row was changed or deleted in the store, the save finds a version conflict (133020). The merge policy
    /// resolves the conflict like that of a changed object.
    ///
    /// The mark is removed by a successful save, a rollback or a reset. If the object is a fault, it is fired. The call
    /// has no effect on an object that was never saved, and the saves of a nested context ignore such marks.
    ///
    /// - Throws: `.invalidArgument` if the object is in another context.
    ///   `.objectGone` if the object has left its context.
    ///   `.wrongThread` on a thread other than the context's.
    ///   The errors of firing a fault.
    public func detectConflicts(for object: ManagedObject) throws {
        try checkQueue()
        if object.state.contains(.detached) { throw object.detachedError() }
        guard object.context === self else {
            throw object.foreignObjectError(
                "call cst_context_detect_conflicts (detect_conflicts, detectConflicts) there")
        }
        if object.state.contains(.inserted) { return }
        try object.fireIfNeeded()
        if object.state.insert(.locked).inserted { changeTracker.noteLocked(object) }
    }
}
