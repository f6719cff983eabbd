import CorestoneValues

/// An operation whose changes are reverted if it fails.
///
/// The changes are recorded as events, like those of undo steps, but by a recorder of their own. After a failure they
/// are restored. Otherwise they belong to the context's current event, so that undo reverts them.
final class Trial {
    let recorder: UndoRecorder
    private let context: Context
    private let manager: UndoManager
    /// The values of attributes that were set while the context did not track changes.
    private var untracked: [(object: ManagedObject, key: UInt32, former: PropertyValue)] = []

    /// The ordered relationships that were changed, by identity, and whether their orders had unsaved changes before.
    private var orders: [ObjectIdentifier: (relationship: ToManyRelationship, wasChanged: Bool)] = [:]

    fileprivate init(_ context: Context) {
        self.context = context
        manager = UndoManager()
        recorder = UndoRecorder(manager: manager, context: context)
        manager.add(recorder)
    }

    /// Records the value of an attribute that is about to be set, if the context does not track the change.
    func noteValue(_ former: PropertyValue, _ key: UInt32, of object: ManagedObject) {
        if !context.isTracking { untracked.append((object, key, former)) }
    }

    /// Records whether the order of a relationship, which is about to change, has unsaved changes.
    func noteOrder(of relationship: ToManyRelationship) {
        let identifier = ObjectIdentifier(relationship)
        if orders[identifier] == nil { orders[identifier] = (relationship, relationship.isOrderChanged) }
    }

    /// Restores the recorded states of orders.
    func restoreOrderChanges() {
        for (relationship, wasChanged) in orders.values { relationship.restoreOrderChange(wasChanged) }
    }

    /// The recorded events, the oldest first.
    private var actions: [ContextUndo] {
        let groups = manager.undoStack + (manager.open.map { [$0] } ?? [])
        return groups.flatMap { $0.actionsToUndo.reversed() }.compactMap { $0 as? ContextUndo }
    }

    /// Adds the events that ended during the trial to the undo manager of the context.
    fileprivate func accept() {
        if let outer = context.undoRecorder {
            let (stamp, number) = (outer.stamp, outer.recorded)
            for action in actions {
                if outer.manager.isRegistrationEnabled {
                    action.move(to: outer, stamp: stamp + action.stamp)
                    try? outer.manager.register(action)
                } else {
                    outer.stamp += 1
                }
            }
            outer.stamp += recorder.stamp
            for (object, event) in recorder.refreshed { outer.refreshed[object] = number + event }
            outer.contents.merge(recorder.contents) { former, _ in former }
        }
        end()
    }

    /// Restores the state before the trial.
    ///
    /// Continues after an error, for example of a hook, because the caller throws the error of the trial.
    fileprivate func revert() {
        let ended = actions.count
        context.recordUndo()
        context.changeTracker.forgetTouched(notesRefreshed: false)
        let actions = actions
        // Observers were notified of the events that have ended, so they are notified of their restoration too.
        for (place, action) in actions.enumerated().reversed() {
            try? context.prepareRestore(action)
            var restoration = Restoration(action, in: context, isSilent: place >= ended)
            try? restoration.run()
        }
        for (object, key, former) in untracked.reversed() where !object.isGone && !object.isDeleted {
            try? object.set(former, key: key)
        }
        end()
    }

    private func end() {
        manager.removeAllActions()
        manager.remove(recorder)
        recorder.releaseDeferred()
        recorder.end()
    }
}

extension Context {
    /// Runs `body`, and restores the graph if it throws. Trials must not be nested.
    ///
    /// Earlier changes become a separate event, but remain in the same undo step.
    func trying<Result>(_ body: (Trial) throws -> Result) throws -> Result {
        if hasUndoableEvent {
            try processPendingChanges(appliesDeleteRules: propagatesDeletesAtEndOfEvent, closesGroup: false)
        }
        let trial = Trial(self)
        hookState.trial = trial
        let result: Result
        do { result = try body(trial) } catch {
            trial.revert()
            hookState.trial = nil
            throw error
        }
        hookState.trial = nil
        trial.accept()
        return result
    }
}
