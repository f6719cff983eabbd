extension ChangeTracker {
    /// Verifies, in debug builds:
    /// - An object of a list has the list's flag, and is in the list once.
    /// - The event does not begin after the end of a list.
    ///
    /// These invariants hold between any two changes of the tracker. An object that has left the context keeps its
    /// flags until the lists are cleared. The function is called when an event ends, before observers and the undo
    /// manager are notified, and before the lists are cleared. Only trackers with at most 256 entries are checked.
    func checkInvariants() {
        #if DEBUG
            guard inserted.count + updated.count + deleted.count <= 256 else { return }
            for (list, flag) in [
                (inserted, ManagedObject.State.listedInserted), (updated, .listedUpdated), (deleted, .listedDeleted),
            ] {
                precondition(
                    list.allSatisfy { $0.state.contains(flag) }, "a changed object does not have its list's flag")
                precondition(
                    Set(list.map(ObjectIdentifier.init)).count == list.count, "a changed object is listed twice")
            }
            precondition(event.firstInserted <= inserted.count, "the event begins after the inserted objects")
            precondition(event.firstUpdated <= updated.count, "the event begins after the updated objects")
        #endif
    }
}

extension Context {
    /// The number of objects up to which the identity map is checked, so that debug builds stay usable.
    private static let checkedObjects = 256

    /// Verifies, in debug builds, the invariants of the change tracker and the identity map.
    ///
    /// Called when changes were saved or discarded, before the lists of changes are cleared.
    func checkInvariants() {
        #if DEBUG
            changeTracker.checkInvariants()
            if identityMap.count <= Context.checkedObjects { identityMap.checkInvariants() }
        #endif
    }
}
