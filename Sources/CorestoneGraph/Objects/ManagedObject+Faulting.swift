import CorestoneModel
import CorestoneValues

extension ManagedObject {
    func fireIfNeeded() throws { if !state.isDisjoint(with: [.fault, .gone]) { try fire() } }

    /// Fills the fault: by pointing at the row that a fetch brought, else from the row cache, else from the store.
    @usableFromInline
    func fire() throws {
        if state.contains(.gone) { throw gone() }
        if record == nil {
            guard let context else { throw gone() }
            try context.loadRow(of: self)
        }
        state.remove(.fault)
    }

    /// Turns the object into a fault again; its own changes are dropped.
    func turnIntoFault() {
        dropChanges()
        dropRecord()
        dropToOneTargets()
        dropToManyRelationships()
        state.insert(.fault)
    }

    /// Reads the row anew when next asked; what is in memory besides stays.
    func forgetRow() {
        dropRecord()
        state.insert(.fault)
    }

    /// Drops the changes of the object but keeps what the store holds.
    func dropChanges() {
        if let overlay {
            releaseTokens(changedIn: overlay)
            dropOverlay()
        }
        for relationship in toManyRelationships { relationship?.dropChanges() }
        state.subtract([.updated, .membersChanged])
    }

    /// Cuts the object off from its context; handles to it tell so from now on.
    func leaveContext() {
        dropChanges()
        dropRecord()
        dropToOneTargets()
        dropToManyRelationships()
        kept = nil
        context = nil
        state = [.gone]
    }
}
