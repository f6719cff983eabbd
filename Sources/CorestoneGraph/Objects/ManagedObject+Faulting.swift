import CorestoneModel
import CorestoneValues

extension ManagedObject {
    func fireIfNeeded() throws { if !state.isDisjoint(with: [.fault, .gone, .inaccessible]) { try fire() } }

    func fireIfNeeded(for slot: Int) throws { if !state.isDisjoint(with: [.fault, .gone]) { try fire(for: slot) } }

    /// Fires the fault for the value of a property. The row that it stood for may name a file that is gone since, because
    /// another value was saved: nobody has seen that row here, so the newest one takes its place.
    /// The host asked: when the row is not there, its context decides.
    @usableFromInline
    func fire(for slot: Int) throws {
        try fill(askedFor: slot)
        if state.contains(.inaccessible) { return }
        if entity.layout.slots[slot].role == .external { try renewIfReplaced(slot) }
    }

    /// Fills the fault: by pointing at the row that a fetch brought, else from the row cache, else from the store.
    /// - Throws: code 133000 when the row is not there.
    @usableFromInline
    func fire() throws { try fill(askedFor: nil) }

    @inline(__always)
    private func fill(askedFor slot: Int?) throws {
        if state.contains(.gone) { throw gone() }
        if owner[1] != 0 { context?.dropStaleRow(of: self) }
        if record == nil {
            guard let context else { throw gone() }
            try context.loadRow(of: self, askedFor: slot)
        }
        if state.contains(.partial) { completePart() }
        let wasFault = state.remove(.fault) != nil
        guard wasFault, entity.has(.awakeFromFetch), !state.contains(.inaccessible) else { return }
        do { try sendAwakeFromFetch() } catch {
            // Asked again at the next access, which otherwise would find what the hook left half done.
            if !state.contains(.gone) { state.insert(.fault) }
            throw error
        }
    }

    /// Turns the object into a fault again; its own changes are dropped.
    func turnIntoFault() {
        let isTold = !state.contains(.fault)
        if isTold { sendWillTurnIntoFault() }
        dropChanges()
        dropRecord()
        forgetFiles()
        forgetFetched()
        forgetTransformedValues()
        forgetPart()
        dropToOneTargets()
        dropToManyRelationships()
        state.insert(.fault)
        if isTold { sendDidTurnIntoFault(in: context) }
    }

    /// Reads the row anew when next asked; what is in memory besides stays.
    func forgetRow() {
        dropRecord()
        forgetFiles()
        forgetFetched()
        forgetTransformedValues()
        forgetPart()
        state.insert(.fault)
    }

    /// Drops the changes of the object but keeps what the store holds.
    func dropChanges() {
        endInaccessibility()
        if let overlay {
            releaseTokens(changedIn: overlay)
            dropOverlay()
        }
        for relationship in toManyRelationships { relationship?.dropChanges() }
        state.subtract([.updated, .membersChanged, .touched])
    }

    /// Cuts the object off from its context; handles to it tell so from now on.
    /// - Parameter alone: false where the context gives up all of its objects.
    func leaveContext(alone: Bool = true) {
        let departure = context?.departure
        context?.identityMap.retained?.removeValue(forKey: ObjectIdentifier(self))
        dropChanges()
        dropRecord()
        dropToOneTargets()
        dropToManyRelationships()
        dropKept()
        context = nil
        // Its places on lists, and the event's entry, are told by the state as long as they last.
        state = state.intersection([.listedInserted, .listedUpdated, .listedDeleted, .snapshotting]).union(
            alone ? [.gone, .left] : .gone)
        if let departure { depart(departure) }
    }
}
