import CorestoneModel
import CorestoneValues

extension Context {
    /// Ends the event: its changes are recorded for undo, then observers are notified.
    ///
    /// Changes that observers make belong to the next event.
    ///
    /// - Parameter closesGroup: Whether the undo step of the event ends too. Otherwise, the next event belongs to it.
    func endEvent(closesGroup: Bool = true) {
        guard changeTracker.hasEvent else {
            if closesGroup { closeUndoGroup() }
            return
        }
        changeTracker.checkInvariants()
        noteTouchedBeforeSave()
        var changes = hasEventObservers ? changeTracker.changesOfEvent() : nil
        if observation.trackers.hasObservers(.slots) { changes?.noteSlots() }
        recordUndo()
        changeTracker.forgetEvent()
        if closesGroup { closeUndoGroup() }
        if let changes { notifyEvent(changes) }
    }

    /// Whether observers or results trackers need the changes of an event.
    var hasEventObservers: Bool { hasObservers(.objectsDidChange) || observation.trackers.hasObservers(.event) }

    func notifyEvent(_ changes: ContextChanges) {
        keepingHold { observation.trackers.notify(.event, changes) }
        if !changes.isEmpty { post(.objectsDidChange, changes) }
    }

    /// Runs `body`, which replaces local values by changes of other writers.
    ///
    /// The replacement is not an undo step, but observers are notified afterwards. Earlier changes become a separate
    /// undo step.
    ///
    /// - Parameters:
    ///   - purpose: Completes "cannot …", before the object if there is one.
    ///   - object: The object that `body` changes; nil for several objects.
    func unrecorded(_ purpose: String, of object: ManagedObject? = nil, _ body: () throws -> Void) throws {
        if currentRecorder == nil { return try together(purpose, of: object, body) }
        if hasUndoableEvent { try processPendingChanges(appliesDeleteRules: propagatesDeletesAtEndOfEvent) }
        try together(purpose, of: object) {
            defer { changeTracker.forgetTouched() }
            try body()
        }
    }
}
