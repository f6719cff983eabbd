import CorestoneModel
import CorestoneValues

extension ManagedObject {
    func fireIfNeeded() throws { if !state.isDisjoint(with: [.fault, .detached, .inaccessible]) { try fire() } }

    func fireIfNeeded(for slot: Int) throws { if !state.isDisjoint(with: [.fault, .detached]) { try fire(for: slot) } }

    /// Fires the fault for the value of a property.
    ///
    /// The row of the fault may name a backing file that another save has removed. The values of the
    /// row were not accessed before, so in this case the newest row replaces it. If the row is missing, the object
    /// becomes inaccessible or an error is thrown, depending on the settings of the context.
    @usableFromInline
    func fire(for slot: Int) throws {
        try fill(reading: slot)
        if state.contains(.inaccessible) { return }
        if entity.layout.slots[slot].role == .external { try renewIfReplaced(slot) }
    }

    /// Fires the fault.
    ///
    /// Uses the row of a previous fetch, or else of the row cache, or else reads the store. In a nested context, values
    /// of ancestor contexts have precedence.
    ///
    /// - Throws: Code 133000 if the row does not exist.
    ///   Errors of reading and of the `awakeFromFetch` hook.
    @usableFromInline
    func fire() throws { try fill(reading: nil) }

    @inline(__always)
    private func fill(reading slot: Int?) throws {
        if state.contains(.detached) { throw detachedError() }
        if owner[1] != 0 { context?.faultLoader.dropStaleRow(of: self) }
        if record == nil {
            guard let context else { throw detachedError() }
            try context.loadRow(of: self, reading: slot)
        }
        if state.contains(.partial) { completePart() }
        let wasFault = endFault()
        guard wasFault, entity.has(.awakeFromFetch), !state.contains(.inaccessible) else { return }
        do { try sendAwakeFromFetch() } catch {
            // The hook runs again at the next access, because it may have left the object in an intermediate state.
            if !state.contains(.detached) { state.insert(.fault) }
            throw error
        }
    }

    /// Turns the object into a fault again. Its changes are discarded.
    func turnIntoFault() {
        let notifies = !state.contains(.fault)
        if notifies { sendWillTurnIntoFault() }
        dropChanges()
        dropRecord()
        forgetFiles()
        forgetFetched()
        forgetTransformedValues()
        forgetPart()
        dropToOneTargets()
        dropToManyRelationships()
        state.insert(.fault)
        if notifies { sendDidTurnIntoFault(in: context) }
    }

    /// Releases the row, which is read again at the next access. Changes, targets and members are kept.
    func forgetRow() {
        dropRecord()
        forgetFiles()
        forgetFetched()
        forgetTransformedValues()
        forgetPart()
        state.insert(.fault)
    }

    /// Discards the changes of the object but keeps its row.
    func dropChanges() {
        endInaccessibility()
        if let overlay {
            releaseTargetSlots(changedIn: overlay)
            dropOverlay()
        }
        for relationship in toManyRelationships { relationship?.dropChanges() }
        state.subtract([.updated, .membersChanged, .touched])
    }

    /// Detaches the object from its context. Calls with the object's handles fail from now on.
    ///
    /// - Parameter individually: False if the context releases all of its objects.
    func leaveContext(individually: Bool = true) {
        let detachedOwner = context?.detachedOwner
        context?.identityMap.retained?.removeValue(forKey: ObjectIdentifier(self))
        dropChanges()
        dropRecord()
        dropToOneTargets()
        dropToManyRelationships()
        dropRetainedValues()
        context = nil
        // These flags describe list entries that still exist.
        state = state.intersection([.listedInserted, .listedUpdated, .listedDeleted, .snapshotting]).union(
            individually ? [.detached, .detachedIndividually] : .detached)
        if let detachedOwner { setDetachedOwner(detachedOwner) }
    }
}
