import CPlatform
import CorestoneModel
import CorestoneValues

extension Context {
    /// Where the context records its changes, one step for each event; nil at first. One manager may serve several contexts.
    /// Taking it away makes it forget this context's changes.
    public var undoManager: UndoManager? { onQueue { undoRecorder?.manager } }

    /// Sets the undo manager. What was changed before is recorded by the former one, or not at all.
    /// - Throws: `.wrongThread` off the context's queue; a context with a queue of its own may be set up from any thread.
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
    /// - Returns: whether there was one; false without an undo manager.
    /// - Throws: as `UndoManager.undo()`.
    @discardableResult
    public func undo() throws -> Bool {
        try checkQueue()
        try refuseInHook("undo")
        return try undoManager?.undo() ?? false
    }

    /// Does again what was undone last.
    /// - Returns: whether there was something; false without an undo manager.
    /// - Throws: as `UndoManager.undo()`.
    @discardableResult
    public func redo() throws -> Bool {
        try checkQueue()
        try refuseInHook("redo")
        return try undoManager?.redo() ?? false
    }

    /// Forgets all that could be undone: the context's objects are no longer what the steps lead to. Steps of other contexts
    /// that share the undo manager stay.
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

    /// The end of the context.
    func endUndo() {
        guard let recorder = undoRecorder else { return }
        recorder.manager.remove(recorder)
        recorder.letGo()
    }

    /// Forgets what could be undone of an object that was refreshed.
    func forgetUndo(of object: ManagedObject) {
        guard let recorder = undoRecorder else { return }
        recorder.refreshed[ObjectIdentifier(object)] = recorder.recorded
        recorder.stamp += 1
    }

    /// The event is over, and with it the group that opened for it.
    func closeUndoGroup() { undoRecorder?.manager.closeEventGroup() }

    // MARK: Recording

    /// Whether the event that runs changed an object, or will when it ends.
    var hasUndoableEvent: Bool {
        changeTracker.event.firstInserted < changeTracker.inserted.count
            || changeTracker.event.firstUpdated < changeTracker.updated.count || !changeTracker.event.touched.isEmpty
    }

    /// Has the undo manager take what the event changed.
    func recordUndo() {
        guard let recorder = undoRecorder else { return }
        recorder.letGo()
        if hasUndoableEvent {
            let isRecorded = recorder.manager.isRegistrationEnabled && !changeTracker.event.isUnrecorded
            if isRecorded { record(recorder) } else { recorder.stamp += 1 }
        }
        recorder.contents = [:]
    }

    private func record(_ recorder: UndoRecorder) {
        var changes = EventChanges()
        forEachTouched { changes.note($0, $1, in: self) }
        if !changes.areAny { return }
        let action = ContextUndo(
            recorder, changes.objects, values: changes.values, members: changes.members, stamp: recorder.stamp)
        if (try? recorder.manager.register(action)) == nil {
            // Groups are the host's to begin, and none is open: the event is a step of its own.
            recorder.manager.beginGroup(UndoGroup(isOfEvent: true))
            try? recorder.manager.register(action)
        }
    }

    /// Before an object leaves the context that the event may be undone to have again.
    func keepContents(of object: ManagedObject) {
        guard let recorder = undoRecorder, let entry = entry(of: object), entry.wasThere else { return }
        recorder.contents[ObjectIdentifier(object)] = object.contentsAtEventStart(
            entry, assigned: changeTracker.assignedStores)
    }
}

/// Gathers what an event changed.
private struct EventChanges {
    var objects: [ObjectChange] = []
    var values: [ChangedValue] = []
    var members: [ChangedMembers] = []
    /// Whether there is anything to undo.
    private(set) var areAny = false

    mutating func note(_ object: ManagedObject, _ entry: TouchedObject?, in context: Context) {
        let isThere = object.state.isDisjoint(with: [.gone, .deleted])
        let wasThere = entry?.wasThere ?? object.state.isDisjoint(with: [.inserted, .gone])
        if !wasThere && !isThere { return }
        var contents: Contents?
        let first = (values.count, members.count)
        var isNothing = false
        if wasThere {
            if !object.isGone { noteChanges(of: object, entry) }
            if !isThere {
                contents =
                    context.undoRecorder?.contents[ObjectIdentifier(object)]
                    ?? object.contentsAtEventStart(entry, assigned: context.changeTracker.assignedStores)
            } else if values[first.0...].allSatisfy(\.isSame), first.1 == members.count {
                // One that was clean counts as changed all the same, and is clean again after the undo.
                if entry?.state.contains(.updated) ?? false || object.state.contains(.inserted) {
                    return values.removeSubrange(first.0...)
                }
                isNothing = true
            }
        }
        if !isNothing { areAny = true }
        objects.append(
            ObjectChange(
                object: object, wasThere: wasThere, wasUpdated: entry?.state.contains(.updated) ?? false,
                valuesEnd: Int32(values.count), membersEnd: Int32(members.count), contents: contents))
    }

    private mutating func noteChanges(of object: ManagedObject, _ entry: TouchedObject?) {
        var earlier = (entry?.values ?? [])[...]
        let overlay = object.overlay
        // A fault has nothing of its own, and its row is not known.
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
        for keeper in object.toManyRelationships {
            guard let keeper, let changes = keeper.changesOfEvent() else { continue }
            members.append(ChangedMembers(relationship: keeper.relationship, changes: changes))
        }
    }
}

extension ManagedObject {
    /// All that the object was when the event began.
    func contentsAtEventStart(_ entry: TouchedObject?, assigned: [ObjectIdentifier: Store]) -> Contents {
        var values: [SlotValue] = []
        var earlier = (entry?.values ?? [])[...]
        for slot in 0..<Int(entity.slotCount) {
            let former = earlier.first?.slot == slot ? earlier.removeFirst().value : storedValue(slot)
            if !former.isNull { values.append(SlotValue(slot: slot, value: former)) }
        }
        var members: [(relationship: Relationship, objects: [ManagedObject])] = []
        for relationship in entity.relationships where relationship.isToMany {
            guard let keeper = try? toMany(relationship),
                let objects = try? keeper.membersAtEventStart() ?? keeper.all(), !objects.isEmpty
            else { continue }
            members.append((relationship, objects))
        }
        return Contents(
            values: values, members: members, wasSaved: !state.contains(.inserted),
            // One that comes back goes where it was, or was to go.
            assigned: store ?? assigned[ObjectIdentifier(self)])
    }
}
