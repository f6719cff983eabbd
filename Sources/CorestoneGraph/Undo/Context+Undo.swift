import CPlatform
import CorestoneModel
import CorestoneValues

extension Context {
    /// The undo manager that records the context's changes; nil by default.
    ///
    /// By default, the changes between two calls of `processPendingChanges` (an event) are one step. Several contexts
    /// may share a manager. `setUndoManager` replaces the manager.
    public var undoManager: UndoManager? { onQueue { undoRecorder?.manager } }

    /// Sets the undo manager. The steps of this context are removed from the former manager, if any.
    ///
    /// The function can be called on any thread if the context has a private queue.
    ///
    /// - Throws: `.wrongThread` for another context on a thread other than the context's.
    ///   The errors of processing pending changes.
    public func setUndoManager(_ manager: UndoManager?) throws {
        if queueType == .privateQueue && ownerThread != platform_thread_id() {
            return try runAndWait { try $0.setUndoManager(manager) }
        }
        try checkQueue()
        if manager === undoManager { return }
        try processPendingChanges()
        if let former = undoRecorder { former.manager.remove(former) }
        undoRecorder = manager.map { UndoRecorder(manager: $0, context: self) }
        if let recorder = undoRecorder { recorder.manager.add(recorder) }
    }

    /// Undoes the newest step of the undo manager.
    ///
    /// - Returns: Whether there was a step; false without an undo manager.
    /// - Throws: As `UndoManager.undo()`.
    ///   `.invalidArgument` within a hook, a validator or a merge policy.
    @discardableResult
    public func undo() throws -> Bool {
        try checkQueue()
        try refuseInHook("undo")
        return try undoManager?.undo() ?? false
    }

    /// Redoes the step that was undone last.
    ///
    /// - Returns: Whether there was a step; false without an undo manager.
    /// - Throws: As `UndoManager.redo()`.
    ///   `.invalidArgument` within a hook, a validator or a merge policy.
    @discardableResult
    public func redo() throws -> Bool {
        try checkQueue()
        try refuseInHook("redo")
        return try undoManager?.redo() ?? false
    }

    /// Removes all undo steps of this context.
    ///
    /// The objects no longer have the state from which the steps start. If other contexts share the undo manager, their
    /// steps remain; otherwise, all steps of the manager are removed.
    func forgetUndo() {
        guard let recorder = undoRecorder else { return }
        recorder.stamp += 1
        recorder.refreshed = [:]
        if recorder.manager.isShared {
            recorder.manager.removeAllActions(for: recorder)
        } else {
            recorder.manager.removeAll()
        }
    }

    /// Removes the context from its undo manager, because the context is deallocated.
    func endUndo() {
        guard let recorder = undoRecorder else { return }
        recorder.manager.remove(recorder)
        recorder.releaseDeferred()
    }

    /// Excludes a refreshed object from all earlier undo steps.
    func forgetUndo(of object: ManagedObject) {
        for recorder in [undoRecorder, hookState.trial?.recorder] {
            guard let recorder else { continue }
            recorder.refreshed[ObjectIdentifier(object)] = recorder.recorded
            recorder.stamp += 1
        }
    }

    /// Closes the undo group of an event when the event ends.
    func closeUndoGroup() { currentRecorder?.manager.closeEventGroup() }

    // MARK: Recording

    /// The recorder of the running trial, or else that of the undo manager.
    var currentRecorder: UndoRecorder? { hookState.trial?.recorder ?? undoRecorder }

    /// Whether the current event has changed an object.
    var hasUndoableEvent: Bool {
        changeTracker.event.firstInserted < changeTracker.inserted.count
            || changeTracker.event.firstUpdated < changeTracker.updated.count || !changeTracker.event.touched.isEmpty
    }

    /// Records the changes of the event in the undo manager, if registration is enabled.
    func recordUndo() {
        guard let recorder = currentRecorder else { return }
        recorder.releaseDeferred()
        if hasUndoableEvent {
            let isRecorded = recorder.manager.isRegistrationEnabled && !changeTracker.event.isUnrecorded
            if isRecorded { record(recorder) } else { recorder.stamp += 1 }
        }
        recorder.contents = [:]
    }

    private func record(_ recorder: UndoRecorder) {
        var changes = EventChanges()
        changeTracker.forEachTouched { changes.note($0, $1, in: self) }
        if !changes.hasAny { return }
        let action = ContextUndo(
            recorder, changes.objects, values: changes.values, members: changes.members, stamp: recorder.stamp)
        if (try? recorder.manager.register(action)) == nil {
            // Automatic groups are disabled and no group is open, so the event becomes a separate step.
            recorder.manager.beginGroup(UndoGroup(isOfEvent: true))
            try? recorder.manager.register(action)
        }
    }

    /// Copies the contents of an object that leaves the context, so that an undo of the event can restore the object.
    func keepContents(of object: ManagedObject) {
        guard let recorder = currentRecorder, let entry = changeTracker.entry(of: object), entry.existed else { return }
        recorder.contents[ObjectIdentifier(object)] = object.contentsAtEventStart(
            entry, assigned: changeTracker.assignedStores)
    }
}

/// The collected changes of an event.
private struct EventChanges {
    var objects: [ObjectChange] = []
    var values: [ChangedValue] = []
    var members: [ChangedMembers] = []
    /// Whether there is a change to undo.
    private(set) var hasAny = false

    mutating func note(_ object: ManagedObject, _ entry: TouchedObject?, in context: Context) {
        let isThere = object.state.isDisjoint(with: [.detached, .deleted])
        let existed = entry?.existed ?? object.state.isDisjoint(with: [.inserted, .detached])
        if !existed && !isThere { return }
        var contents: Contents?
        let first = (values.count, members.count)
        var isNothing = false
        if existed {
            if !object.isGone { noteChanges(of: object, entry) }
            if !isThere {
                contents =
                    context.currentRecorder?.contents[ObjectIdentifier(object)]
                    ?? object.contentsAtEventStart(entry, assigned: context.changeTracker.assignedStores)
            } else if values[first.0...].allSatisfy(\.isSame), first.1 == members.count {
                // An object that this event marked as updated is recorded even without changed values. An undo makes it
                // clean again.
                if entry?.state.contains(.updated) ?? false || object.state.contains(.inserted) {
                    return values.removeSubrange(first.0...)
                }
                isNothing = true
            }
        }
        if !isNothing { hasAny = true }
        objects.append(
            ObjectChange(
                object: object, existed: existed, wasUpdated: entry?.state.contains(.updated) ?? false,
                valuesEnd: Int32(values.count), membersEnd: Int32(members.count), contents: contents))
    }

    private mutating func noteChanges(of object: ManagedObject, _ entry: TouchedObject?) {
        var earlier = (entry?.values ?? [])[...]
        let overlay = object.overlay
        // A fault does not have changes, and its row is not in memory.
        if overlay != nil || !earlier.isEmpty && object.record != nil {
            for slot in 0..<Int(object.entity.slotCount) {
                let isChanged = overlay?.isChanged(slot) ?? false
                let former = earlier.first?.slot == slot ? earlier.removeFirst().value : nil
                if !isChanged && former == nil { continue }
                let old = former ?? object.storedValue(slot)
                let new = isChanged ? overlay?[slot] ?? .null : object.storedValue(slot)
                let wasStored = former == nil && object.record != nil
                if old == new, !wasStored || object.entity.layout.slots[slot].role == .transient { continue }
                var target: ManagedObject?
                if case .object(let object as ManagedObject) = new { target = object }
                values.append(
                    ChangedValue(
                        slot: slot, old: old, wasStored: wasStored, isSame: old == new, newTarget: target))
            }
        }
        for collection in object.toManyRelationships {
            guard let collection, let changes = collection.changesOfEvent() else { continue }
            members.append(ChangedMembers(relationship: collection.relationship, changes: changes))
        }
    }
}

extension ManagedObject {
    /// Returns the contents of the object at the beginning of the event.
    func contentsAtEventStart(_ entry: TouchedObject?, assigned: [ObjectIdentifier: Store]) -> Contents {
        var values: [SlotValue] = []
        var earlier = (entry?.values ?? [])[...]
        for slot in 0..<Int(entity.slotCount) {
            let former = earlier.first?.slot == slot ? earlier.removeFirst().value : storedValue(slot)
            if !former.isNull { values.append(SlotValue(slot: slot, value: former)) }
        }
        var members: [(relationship: Relationship, objects: [ManagedObject])] = []
        for relationship in entity.relationships where relationship.isToMany {
            guard let collection = try? toMany(relationship),
                let objects = try? collection.membersAtEventStart() ?? collection.all(), !objects.isEmpty
            else { continue }
            members.append((relationship, objects))
        }
        return Contents(
            values: values, members: members, wasSaved: !state.contains(.inserted),
            // A restored object belongs to its former or assigned store.
            assigned: store ?? assigned[ObjectIdentifier(self)])
    }
}
