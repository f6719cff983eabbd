import CorestoneModel
import CorestoneValues

// How a change is recorded and undone. All steps run on the thread that may use the context. The undo manager's lock
// guards only its stacks, and is not held while an action or an observer runs.
//
// 1. At the end of an event, `Context.recordUndo` collects the earlier values and members of each object that the event
//    touched, and creates a `ContextUndo`. An object that left the context in the event has its contents copied before
//    (`keepContents`). If registration is disabled, only `UndoRecorder.stamp` changes.
// 2. `UndoManager.register` adds the action to the open group, or opens one for the event. While `mode` is recording,
//    it discards the steps to redo.
// 3. `UndoManager.undo` records the changes so far (`checkpoint`) and closes the open group. `redo` closes only the
//    group of an event. Both throw `.invalidArgument` within another undo or redo, and if other groups are open.
// 4. `perform` calls `check` of each action. `Context.prepareRestore` checks the thread and the stores, and reads the
//    rows and members that the undo needs. After a failure, nothing has changed and the step stays on its stack.
// 5. `perform` moves the step from its stack to `running` and sets `mode`, under the lock. It notifies observers and
//    opens a group for the opposite step. Then it runs the actions, the newest first.
// 6. `ContextUndo.run` calls `Restoration.run`, which is one operation for observers of objects (`Context.together`).
//    `registerRestored` returns deleted objects to the context, before any value can refer to them.
// 7. `restoreValues` sets attributes and to-one targets. A property that had the value of its row receives the value of
//    the present row, if no save and no unrecorded change came between (`isExact`). An object that was refreshed since
//    the event stays as it is (`isOutdated`).
// 8. `markForRemoval` marks the objects that the event inserted. `restoreMembers` then restores to-many relationships.
//    Both sides of a relationship have their own record, so inverses are not applied. `updateInverses` only adapts them
//    to changes of other writers and to refreshed objects.
// 9. `removeMarked` removes the marked objects without delete rules, and clears references to them.
// 10. `discardEqualChanges` discards changes that equal the row. Hooks run (`sendAwake`), and `processPendingChanges`
//     ends the event. The record of this event is an action of the opposite step.
// 11. When all actions have run, `perform` closes the group, which becomes the newest step of the opposite stack, and
//     sets `mode` to recording. Contexts then merge the saves that they had deferred (`mergeDeferred`).
// 12. An error of a hook is thrown after the restoration; an error of reading rows ends it early. An error also ends
//     the loop of `perform`: the remaining actions become the newest step of their stack, and the actions that were
//     undone can be redone. A `ContextUndo` that began to change objects is not run again (`canBeRepeated`).

//
// A trial (`Trial.swift`) records its events like undo, and restores them in the same way if it fails. Its last event is
// restored silently: the restoration is not an event, and objects that had unsaved changes keep exactly these.

extension Context {
    /// Throws if the changes of an event cannot be undone now.
    ///
    /// Loads the rows and members that the undo needs, and does not change values.
    func prepareRestore(_ record: ContextUndo) throws {
        try checkQueue()
        let objects = record.changes.lazy.filter { $0.object.context === self && !$0.object.state.contains(.inserted) }
        var last: Store?
        for change in objects where change.object.store !== last {
            last = change.object.store
            try last?.requireOpen()
        }
        try faultLoader.loadRows(of: objects.map(\.object).filter { $0.record == nil })
        try deleteRules.loadMembers(of: objects.filter { !$0.existed && !$0.object.isDeleted }.map(\.object))
    }
}

/// The undo of an event: it restores the state that each object of the event had at the event's start.
///
/// The objects on both sides of a changed relationship are objects of the event, and each is restored separately. The
/// restoration is an event too, and the record of that event is used for the redo.
struct Restoration {
    private let context: Context
    private let record: ContextUndo
    private var revived: Set<ObjectIdentifier> = []
    private var awakening: [(object: ManagedObject, events: SnapshotEvents)] = []
    /// The to-one relationships whose targets were changed, with their former targets.
    private var changedTargets: [(object: ManagedObject, relationship: Relationship, former: ManagedObject?)] = []
    /// The ordered relationships in which the positions of members remain to be restored.
    private var unordered: [ToManyRelationship] = []

    /// Whether the event is restored as if it had not been, so that the restoration is not an event.
    private let isSilent: Bool

    init(_ record: ContextUndo, in context: Context, isSilent: Bool = false) {
        self.record = record
        self.context = context
        self.isSilent = isSilent
    }

    /// Runs the restoration.
    ///
    /// - Throws: The first error of a hook of the application, after the restoration.
    ///   The store's error if a row cannot be read.
    mutating func run() throws {
        let purpose = record.recorder.manager.isRedoing ? "redo changes" : "undo changes"
        try context.together(purpose) { try restore() }
    }

    private mutating func restore() throws {
        let isExact = record.stamp == record.recorder.stamp
        registerRestored()
        restoreValues(isExact: isExact)
        let leaving = markForRemoval()
        restoreMembers(isExact: isExact)
        try updateInverses()
        var failure = removeMarked(leaving)
        if isSilent { context.hookState.trial?.restoreOrderChanges() }
        var next = 0
        for change in record.changes {
            let values = record.values[next..<Int(change.valuesEnd)]
            next = Int(change.valuesEnd)
            if isSilent, change.wasUpdated {
                change.object.discardEqualChanges(of: values)
            } else {
                change.object.discardEqualChanges(
                    wasClean: isExact && change.existed && !change.wasUpdated, restored: values)
            }
        }
        context.changeTracker.forEachTouched { object, entry in
            // An object whose unsaved values equal its row remains updated.
            if isSilent, entry?.state.contains(.updated) == true { return }
            object.discardEqualChanges(wasClean: false, restored: [])
        }
        for (object, events) in awakening where !object.isGone {
            do { try object.sendAwake(fromSnapshotEvents: events) } catch { failure = failure ?? error }
        }
        if isSilent { context.changeTracker.forgetTouched() } else { try context.processPendingChanges() }
        if let failure { throw failure }
    }

    /// Whether the object was refreshed since the event, so that its changes are not undone.
    private func isOutdated(_ object: ManagedObject) -> Bool {
        let refreshed = record.recorder.refreshed
        return !refreshed.isEmpty && record.number <= refreshed[ObjectIdentifier(object)] ?? 0
    }

    /// Whether the object's values are still to be restored.
    private func isToRestore(_ change: ObjectChange) -> Bool {
        change.existed && change.object.context === context && !isOutdated(change.object)
            && !(change.object.isDeleted && context.changeMerger.isDeletedElsewhere(change.object))
            && (revived.isEmpty || !revived.contains(ObjectIdentifier(change.object)))
    }

    // MARK: Restored objects

    private mutating func registerRestored() {
        var gone: [(object: ManagedObject, contents: Contents)] = []
        for change in record.changes where change.existed {
            let object = change.object
            if object.isGone, let contents = change.contents, !isOutdated(object) {
                register(object, contents)
                gone.append((object, contents))
            } else if object.context === context, object.isDeleted, !context.changeMerger.isDeletedElsewhere(object) {
                object.touchForDeletion()
                object.state.subtract([.deleted, .propagated])
            } else {
                continue
            }
            awakening.append((object, .undoDeletion))
        }
        // All restored objects that may refer to each other are now in the context.
        for (object, contents) in gone { fill(object, contents) }
    }

    /// Registers an object that left the context, as an inserted object.
    ///
    /// An object that had a row receives a temporary ID, because the row is deleted.
    private mutating func register(_ object: ManagedObject, _ contents: Contents) {
        revived.insert(ObjectIdentifier(object))
        context.changeTracker.noteTouched(object)
        if contents.wasSaved {
            object.store = nil
            object.primaryKey = TemporaryReference.next()
        }
        object.context = context
        object.state.subtract([.detached, .detachedIndividually])
        object.state.formUnion([.inserted, .touched])
        context.identityMap.register(object)
        context.changeTracker.noteInserted(object)
        Context.hostBridge.keepContextAlive(for: object)
        if let store = contents.assigned, store.isOpen {
            context.changeTracker.assign(store, to: object)
        }
    }

    private mutating func fill(_ object: ManagedObject, _ contents: Contents) {
        for value in contents.values {
            if case .object(let target as ManagedObject) = value.value, target.context !== context { continue }
            object.setChange(value.value, value.slot)
        }
        for (relationship, members) in contents.members {
            guard let collection = try? object.toMany(relationship) else { continue }
            for member in members where member.context === context { enter(member, collection) }
        }
    }

    // MARK: Values and members

    /// Restores the values of the objects.
    ///
    /// - Parameter isExact: Whether, since the event, no save was made and all changes were recorded. If true, a
    ///   property that had the value of its row receives the value of the current row, even if another writer saved
    ///   that value.
    private mutating func restoreValues(isExact: Bool) {
        var next = 0
        for change in record.changes {
            let values = record.values[next..<Int(change.valuesEnd)]
            next = Int(change.valuesEnd)
            if !isToRestore(change) { continue }
            let object = change.object
            // An object with a deleted row makes the save fail, not the undo.
            try? object.fireIfNeeded()
            if change.contents == nil { awakening.append((object, .undoUpdate)) }
            for value in values {
                let isOfRow = isExact && value.wasStored && object.record != nil
                if value.isSame, !isOfRow || object.isAsStored(value.slot) { continue }
                let old = isOfRow ? object.storedValue(value.slot) : value.old
                if object.entity.layout.slots[value.slot].role == .toOne {
                    restoreTarget(old, value, of: object)
                } else {
                    object.write(old, value.slot)
                }
            }
        }
    }

    private mutating func restoreTarget(_ old: PropertyValue, _ value: ChangedValue, of object: ManagedObject) {
        let relationship = object.entity.relationship(value.slot)
        let current = try? object.target(of: relationship)
        var target: ManagedObject?
        if case .object(let old as ManagedObject) = old { target = context.inverses.present(old) }
        if current === target { return }
        changedTargets.append((object, relationship, current))
        object.change(value.slot) { object.placeTarget(target, relationship) }
        if let target { reconnect(object, to: target, relationship) }
        // The record does not contain the inverse of a target that was set without being recorded.
        guard let current, current !== value.newTarget, let inverse = relationship.resolvedInverse else { return }
        detach(object, current, inverse)
    }

    /// Adds the object to the list of a target again if that list records the object as removed.
    private mutating func reconnect(_ object: ManagedObject, to target: ManagedObject, _ relationship: Relationship) {
        guard let inverse = relationship.resolvedInverse, inverse.isToMany,
            let collection = target.toMany(ordinal: Int(target.entity.layout.slots[Int(inverse.slot)].ordinal)),
            collection.hasRemoved(object)
        else { return }
        enter(object, collection)
    }

    @inline(never)
    private func detach(_ object: ManagedObject, _ partner: ManagedObject, _ inverse: Relationship) {
        if partner.isGone || partner.isDeleted { return }
        if inverse.isToMany {
            if let collection = try? partner.toMany(inverse) { leave(object, collection) }
        } else if (try? partner.target(of: inverse)) === object {
            try? partner.writeTarget(nil, inverse)
        }
    }

    /// Makes inverses consistent with later changes by other writers, and with refreshed objects.
    private func updateInverses() throws {
        for (object, relationship, former) in changedTargets where object.context === context && !object.isDeleted {
            try context.inverses.updateInverse(of: relationship, object, former.map { [$0] } ?? [])
        }
        for change in record.changes where !revived.isEmpty && revived.contains(ObjectIdentifier(change.object)) {
            try context.inverses.updateAllInverses(change.object)
        }
        if record.recorder.refreshed.isEmpty { return }
        // Refreshed objects do not change, even if they do not refer to a restored object any more.
        for (object, events) in awakening where events == .undoDeletion && object.context === context {
            try detachRefreshed(object)
        }
    }

    private func detachRefreshed(_ object: ManagedObject) throws {
        for relationship in object.entity.relationships {
            guard let inverse = relationship.resolvedInverse, inverse.isToMany == relationship.isToMany else {
                continue
            }
            if relationship.isToMany {
                let collection = try object.toMany(relationship)
                for member in try collection.all() where isOutdated(member) && member.context === context {
                    let others = try member.toMany(inverse)
                    if try others.contains(object) { continue }
                    // Only the deletion removed the object from the member's list, and the pair is still stored.
                    if others.hasRemoved(object) {
                        context.inverses.updateMembership(of: object, in: others, isMember: true, isStored: true)
                    } else {
                        collection.remove(member)
                    }
                }
            } else if let partner = try object.target(of: relationship), isOutdated(partner),
                partner.context === context,
                try partner.target(of: inverse) !== object
            {
                try object.writeTarget(nil, relationship)
            }
        }
    }

    private mutating func restoreMembers(isExact: Bool) {
        var next = 0
        for change in record.changes {
            let members = record.members[next..<Int(change.membersEnd)]
            next = Int(change.membersEnd)
            if members.isEmpty || !isToRestore(change) { continue }
            for members in members {
                guard let collection = try? change.object.toMany(members.relationship) else { continue }
                restore(members.changes, of: collection)
                collection.endRestoring()
                if isExact, members.changes.wereStored {
                    collection.restoreSavedOrder()
                } else if let order = members.changes.order {
                    collection.restore(order: order)
                }
            }
        }
        for collection in unordered { collection.endRestoring() }
        unordered = []
    }

    private mutating func restore(_ change: ToManyRelationship.Changes, of collection: ToManyRelationship) {
        let (object, inverse) = (collection.owner, collection.relationship.resolvedInverse)
        // Other writers may have saved the same pairs in the meantime, which only the loaded members show.
        if inverse?.isToMany == true { try? collection.load() }
        /// Whether a member's own side refers to the owner of the list.
        ///
        /// For a to-many side, this is assumed of a refreshed member, because such a member is not restored.
        func refersToOwner(_ member: ManagedObject) -> Bool {
            guard let inverse else { return false }
            if inverse.isToMany { return isOutdated(member) }
            return (try? member.target(of: inverse)) === object
        }
        for member in change.added where member.isGone || member.isDeleted || !refersToOwner(member) {
            if let inverse, !inverse.isToMany, isAbsent(member, inverse, from: collection) { continue }
            leave(member, collection)
        }
        for member in change.removed where member.context === context && !member.isDeleted {
            // The member's own side takes precedence if it is to-one, or if the member was refreshed.
            if let inverse, inverse.isToMany ? isOutdated(member) : !refersToOwner(member) {
                // If the member is removed in the store too, its removal is no longer a change.
                if !inverse.isToMany, member.storedTarget(of: inverse) !== object {
                    collection.forget { $0 === member }
                }
                continue
            }
            if let inverse, !inverse.isToMany, isStored(member, inverse, in: collection) { continue }
            enter(member, collection)
        }
    }

    /// Whether an unloaded list contains the member by its stored row, without an unsaved change.
    ///
    /// Adding the member would record a change, which would keep the member in the list even if its row refers to
    /// another object later.
    private func isStored(_ member: ManagedObject, _ inverse: Relationship, in collection: ToManyRelationship) -> Bool {
        !collection.isLoaded && !collection.hasRemoved(member) && member.storedTarget(of: inverse) === collection.owner
    }

    /// Whether an unloaded list contains the member neither by its stored row nor as an added member.
    ///
    /// Removing the member would record a change, which would keep the member out of the list even if its row refers to
    /// the owner later.
    private func isAbsent(_ member: ManagedObject, _ inverse: Relationship, from collection: ToManyRelationship) -> Bool
    {
        !collection.isLoaded && !collection.lists(member) && !member.isGone
            && member.storedTarget(of: inverse) !== collection.owner
    }

    // Not inlined, because this function is large and has several callers.
    @inline(never)
    private mutating func enter(_ member: ManagedObject, _ collection: ToManyRelationship) {
        if collection.hasRemoved(member) {
            if collection.addRestored(member) { unordered.append(collection) }
        } else {
            collection.add(member)
        }
    }
    @inline(never)
    private func leave(_ member: ManagedObject, _ collection: ToManyRelationship) { collection.remove(member) }

    // MARK: Removed objects

    /// Marks the objects whose insertion is undone as deleted, before the members of other objects are restored.
    private func markForRemoval() -> [ManagedObject] {
        var leaving: [ManagedObject] = []
        for change in record.changes where !change.existed {
            let object = change.object
            if object.context !== context || object.isDeleted || isOutdated(object) { continue }
            object.touchForDeletion()
            object.state.insert(.deleted)
            leaving.append(object)
        }
        return leaving
    }

    /// Removes objects whose insertion is undone, without delete rules.
    ///
    /// References of other objects to the removed objects are cleared.
    ///
    /// - Returns: The first error of an application's hook.
    private func removeMarked(_ leaving: [ManagedObject]) -> (any Error)? {
        var failure: (any Error)?
        for object in leaving {
            for relationship in object.entity.relationships {
                guard let inverse = relationship.resolvedInverse else { continue }
                for partner in (try? object.targets(of: relationship)) ?? [] {
                    detach(object, partner, inverse)
                }
            }
        }
        for object in leaving {
            do { try object.sendAwake(fromSnapshotEvents: .undoInsertion) } catch { failure = failure ?? error }
        }
        // After the hooks, which may have created further references to these objects.
        let ending = leaving.filter { $0.state.contains(.inserted) && !$0.isGone }
        do { try context.deleteRules.clearOneSidedReferences(of: ending) } catch { failure = failure ?? error }
        for object in leaving {
            if object.isGone { continue }
            object.state.insert(.propagated)
            if object.state.contains(.inserted) {
                context.discardInserted(object)
            } else {
                context.changeTracker.noteDeleted(object)
            }
        }
        return failure
    }
}

extension ManagedObject {
    /// Discards changed values that equal those of the object's row.
    ///
    /// An object without other changes becomes unchanged.
    ///
    /// - Parameter wasClean: Whether the object was unchanged when it had its current values. If true, only to-one
    ///   targets and the values in `restored` that are not transient count as changes.
    func discardEqualChanges(wasClean: Bool, restored: ArraySlice<ChangedValue>) {
        guard state.contains(.updated), state.isDisjoint(with: [.inserted, .detached]) else { return }
        var isChanged = false
        if let overlay {
            for slot in 0..<Int(entity.slotCount) where overlay.isChanged(slot) {
                if isStored(overlay[slot], slot) {
                    clearChange(slot)
                } else if !wasClean || entity.layout.slots[slot].role == .toOne
                    || entity.layout.slots[slot].role != .transient && restored.contains(where: { $0.slot == slot })
                {
                    // This includes null instead of a stored target that is deleted in the context.
                    isChanged = true
                }
            }
            if overlay.isEmpty { dropOverlay() }
        }
        var areMembersChanged = false
        for collection in toManyRelationships {
            guard let collection else { continue }
            collection.clearOrderChange()
            if collection.hasChanges { areMembersChanged = true }
        }
        if !areMembersChanged { state.remove(.membersChanged) }
        if !isChanged && !areMembersChanged { state.subtract([.updated, .touched]) }
    }

    /// Discards changes of the passed values that equal the object's row, if the values were unchanged before an event.
    ///
    /// The object remains changed.
    fileprivate func discardEqualChanges(of values: ArraySlice<ChangedValue>) {
        guard state.isDisjoint(with: [.inserted, .detached]) else { return }
        for value in values where value.wasStored {
            if let overlay, overlay.isChanged(value.slot), isStored(overlay[value.slot], value.slot) {
                clearChange(value.slot)
            }
        }
    }

    /// Whether a property has the value of the object's row.
    fileprivate func isAsStored(_ slot: Int) -> Bool {
        guard let overlay, overlay.isChanged(slot) else { return true }
        return isStored(overlay[slot], slot)
    }

    /// Whether the object's row contains a value.
    func isStored(_ value: PropertyValue, _ slot: Int) -> Bool {
        let layout = entity.layout.slots[slot]
        if layout.role == .transient { return value.isNull }
        guard let record else { return false }
        if layout.role != .toOne { return storedValue(slot) == value }
        let stored = Record(record).target(slot, layout)
        guard case .object(let target as ManagedObject) = value else { return stored == nil }
        // The row of a nested context may contain a temporary key of an object that was saved since.
        if let stored, stored.0 < 0, case .object(let known as ManagedObject) = storedValue(slot) {
            return known === target
        }
        return target.store === store && stored.map { $0 == (target.primaryKey, target.entity.index) } ?? false
    }
}
