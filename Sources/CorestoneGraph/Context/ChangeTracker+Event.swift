import CorestoneModel
import CorestoneValues

/// The changes in a context since pending changes were last processed.
///
/// Within an event, the first change of an object marks the object as touched. Most touched objects do not need an
/// entry in `touched`: inserted objects did not have values before, and the earlier values of clean objects are in
/// their rows. Objects of both kinds are at the ends of the change tracker's lists. Other objects have an entry with
/// their earlier state.
struct Event {
    /// The length of the list of inserted objects when the event began.
    fileprivate(set) var firstInserted = 0
    /// The length of the list of updated objects when the event began.
    fileprivate(set) var firstUpdated = 0
    fileprivate(set) var touched: [TouchedObject] = []
    fileprivate var refreshed: [ManagedObject] = []
    /// Objects that other contexts or processes inserted. Undo does not revert these insertions.
    fileprivate var mergedIn: [ManagedObject] = []
    /// Objects that other contexts or processes deleted. Undo does not revert these deletions.
    fileprivate var deletedElsewhere: [ManagedObject] = []
    fileprivate var invalidated: [ManagedObject] = []
    fileprivate var isAllInvalidated = false
    /// The IDs in saves of other writers, for results trackers. Some of these objects may not be registered.
    fileprivate var merged: [ChangedIDs] = []
    /// Whether the IDs of other writers' changes are unknown, so that all results must be checked.
    fileprivate var isEverything = false
    /// Whether the event is not recorded for undo, because it has objects that cannot be restored.
    var isUnrecorded = false
    /// The indexes of objects in `touched`. Entries at or after the index `placed` are not included yet.
    private var places: [ObjectIdentifier: Int] = [:]
    private var placed = 0

    /// Removes objects that left the context permanently.
    mutating func forgetGone() {
        for entry in touched where entry.object.isGone { entry.object.state.remove(.snapshotting) }
        touched.removeAll(where: \.object.isGone)
        (places, placed) = ([:], 0)
        refreshed.removeAll(where: \.isGone)
        mergedIn.removeAll(where: \.isGone)
        deletedElsewhere.removeAll(where: \.isGone)
    }

    fileprivate mutating func entry(of object: ManagedObject) -> TouchedObject? {
        while placed < touched.count {
            places[ObjectIdentifier(touched[placed].object)] = placed
            placed += 1
        }
        return places[ObjectIdentifier(object)].map { touched[$0] }
    }
}

/// The state of an object at the start of the event.
///
/// Only objects that were not clean, or that the event deleted or restored, have such an entry.
struct TouchedObject {
    let object: ManagedObject
    let state: ManagedObject.State
    /// The values that were already changed.
    let values: [SlotValue]

    var existed: Bool { state.isDisjoint(with: [.detached, .deleted]) }
}

/// The value of a property, identified by its slot.
struct SlotValue {
    let slot: Int
    let value: PropertyValue
}

extension ChangeTracker {
    /// Whether there are changes since pending changes were last processed.
    var hasEvent: Bool {
        event.firstInserted < inserted.count
            || event.firstUpdated < updated.count || !event.touched.isEmpty
            || !event.mergedIn.isEmpty || !event.deletedElsewhere.isEmpty
            || !event.refreshed.isEmpty
            || !event.invalidated.isEmpty || event.isAllInvalidated
            || !event.merged.isEmpty || event.isEverything
    }

    /// Records the state of an object before its first change in the event.
    func noteTouched(_ object: ManagedObject) {
        if object.state.contains(.snapshotting) { return }
        object.state.insert(.snapshotting)
        event.touched.append(
            TouchedObject(object: object, state: object.state, values: object.changedSlotValues()))
    }

    /// Records an object whose values were replaced by newer ones, or that became a fault in a refresh.
    func noteRefreshed(_ object: ManagedObject) { event.refreshed.append(object) }
    /// Records objects that a merge inserted or deleted.
    func noteMerged(inserted: [ManagedObject], deleted: [ManagedObject]) {
        event.mergedIn += inserted
        event.deletedElsewhere += deleted
    }
    /// Records the IDs in a save of another context or process, if a results tracker needs them.
    func noteMerged(_ ids: ChangedIDs) {
        if context.observation.trackers.hasObservers(.event) { event.merged.append(ids) }
    }
    /// Records that other writers changed unknown objects, if a results tracker needs this.
    func noteEverythingMerged() {
        if context.observation.trackers.hasObservers(.event) { event.isEverything = true }
    }
    /// Records objects that were invalidated.
    func noteInvalidated(_ objects: [ManagedObject]) { event.invalidated += objects }
    /// Records that all objects were invalidated.
    func noteInvalidatedAll() { event.isAllInvalidated = true }

    /// Discards the event and starts the next one.
    func forgetEvent() {
        forEachTouched { object, entry in
            // For an object that the event inserted, changes of members were not recorded.
            let isNew = entry == nil && object.state.contains(.inserted)
            object.state.subtract([.touched, .snapshotting])
            if !isNew { for collection in object.toManyRelationships { collection?.endEvent() } }
        }
        // A new value, so that the memory of a large event is freed.
        event = Event()
        event.firstInserted = inserted.count
        event.firstUpdated = updated.count
    }

    /// Discards the records of local changes of the event.
    ///
    /// Objects that still exist are recorded as refreshed instead, if there are observers. The changes of other writers
    /// stay in the event.
    ///
    /// - Parameter notesRefreshed: Whether the objects are recorded as refreshed.
    func forgetTouched(notesRefreshed: Bool = true) {
        if !context.hasUndoableEvent { return }
        var touched: [ManagedObject] = []
        forEachTouched { object, _ in touched.append(object) }
        let ended = event
        forgetEvent()
        (event.mergedIn, event.deletedElsewhere, event.merged) = (ended.mergedIn, ended.deletedElsewhere, ended.merged)
        (event.invalidated, event.isAllInvalidated) = (ended.invalidated, ended.isAllInvalidated)
        (event.refreshed, event.isEverything) = (ended.refreshed, ended.isEverything)
        for object in touched where notesRefreshed && object.state.isDisjoint(with: [.detached, .deleted]) {
            context.objectRefresh.noteRefreshedIfObserved(object)
        }
    }

    /// Calls `body` for every object that the event touched, with the object's entry in `touched` or nil.
    func forEachTouched(_ body: (ManagedObject, TouchedObject?) throws -> Void) rethrows {
        for object in inserted[event.firstInserted...]
        where !object.state.contains(.snapshotting) {
            try body(object, nil)
        }
        for object in updated[event.firstUpdated...]
        where !object.state.contains(.snapshotting) {
            try body(object, nil)
        }
        for entry in event.touched { try body(entry.object, entry) }
    }

    func entry(of object: ManagedObject) -> TouchedObject? {
        object.state.contains(.snapshotting) ? event.entry(of: object) : nil
    }

    /// Returns the changes of the event in the form of a notification.
    func changesOfEvent() -> ContextChanges {
        var changes = ContextChanges()
        changes.inserted = event.mergedIn
        changes.deleted = event.deletedElsewhere
        changes.refreshed = event.refreshed
        changes.invalidated = event.invalidated
        changes.invalidatedAll = event.isAllInvalidated
        changes.merged = event.merged
        changes.isEverything = event.isEverything
        forEachTouched { object, entry in
            let isThere = object.state.isDisjoint(with: [.detached, .deleted])
            let isNew = entry == nil && object.isInserted
            switch (entry?.existed ?? !object.state.contains(.inserted) && !isNew, isThere) {
            case (false, true): changes.inserted.append(object)
            case (true, true): changes.updated.append(object)
            // An object that was inserted and deleted within the event is not reported.
            case (true, false): if entry != nil || !object.isGone { changes.deleted.append(object) }
            case (false, false): break
            }
        }
        return changes
    }
}

extension ContextChanges {
    /// Records the changed properties, before the event is discarded.
    mutating func noteSlots() {
        for object in updated {
            if let old = try? object.valuesAtEventStart(loading: false) {
                slots[ObjectIdentifier(object)] = Set(old.keys)
            }
        }
    }
}

extension ManagedObject {
    /// Whether the current event inserted the object.
    var isNewInEvent: Bool { state.intersection([.inserted, .touched, .snapshotting]) == [.inserted, .touched] }

    /// Handles the first change of an object within an event.
    ///
    /// Adds a saved object to the list of updated objects, and records the earlier state of an object that is not
    /// clean. The object's flags then show that later changes need not be recorded. While the context does not track
    /// changes, changes of attributes are not recorded. Changes of relationships are always recorded, because both
    /// sides must be recorded together.
    @inline(never)
    func touch(ofRelationship isRelationship: Bool = false) {
        if let context {
            if !isRelationship && !context.isTracking { return }
            // A clean object does not need an entry, because it is appended to the list of updated objects, and its
            // row has the earlier values.
            let isClean = state.isDisjoint(with: [.inserted, .updated, .deleted, .listedUpdated]) && overlay == nil
            if !isClean { context.changeTracker.noteTouched(self) }
            if state.isDisjoint(with: [.inserted, .updated]) {
                state.insert(.updated)
                context.changeTracker.noteUpdated(self)
                context.hookState.restoration?.noteUpdated(self)
            }
        }
        state.insert(.touched)
    }

    /// Records the object's state before a deletion, unless the event already touched the object.
    func touchForDeletion() {
        if state.isDisjoint(with: [.touched, .snapshotting]) { context?.changeTracker.noteTouched(self) }
    }

    /// Returns the values of the slots that have unsaved changes.
    func changedSlotValues() -> [SlotValue] {
        guard let overlay else { return [] }
        return (0..<Int(entity.slotCount)).filter(overlay.isChanged)
            .map { SlotValue(slot: $0, value: overlay[$0]) }
    }

    /// Returns the values that changed properties had at the start of the event, by slot.
    ///
    /// Targets of to-one relationships are objects; members are a set of objects or, in ordered relationships, an
    /// array. If the event inserted the object, attributes and to-one relationships are null and members are empty.
    /// Members that are not loaded are null unless `loading` is true.
    package func valuesAtEventStart(loading: Bool = true) throws -> [Int: PropertyValue] {
        guard let context, !state.isDisjoint(with: [.touched, .snapshotting]) else { return [:] }
        let isNew = isNewInEvent
        let entry = context.changeTracker.entry(of: self)
        var old: [Int: PropertyValue] = [:]
        for slot in 0..<Int(entity.slotCount) {
            let layout = entity.layout.slots[slot]
            if layout.role == .composite { continue }
            if layout.role == .toMany {
                guard let collection = toMany(ordinal: Int(layout.ordinal)) else { continue }
                guard loading || collection.isLoaded else {
                    if collection.changesOfEvent() != nil { old[slot] = .null }
                    continue
                }
                if let members = try isNew ? (collection.hasChanges ? [] : nil) : collection.membersAtEventStart() {
                    let values = members.map { PropertyValue.object($0) }
                    old[slot] = collection.relationship.isOrdered ? .array(values) : .set(Set(values))
                }
                continue
            }
            let isChanged = overlay?.isChanged(slot) ?? false
            let earlier = entry?.values.first { $0.slot == slot }?.value
            if !isChanged && earlier == nil { continue }
            let former = isNew ? .null : earlier ?? storedValue(slot)
            if isNew || former != (isChanged ? overlay?[slot] : storedValue(slot)) { old[slot] = former }
        }
        return old
    }

    /// Returns the value in the object's row; a to-one target is an object.
    ///
    /// Null without a row, for a property that is not stored in the row, and if a backing file or the target cannot be
    /// read.
    func storedValue(_ slot: Int) -> PropertyValue {
        guard let record else { return .null }
        let layout = entity.layout.slots[slot]
        switch layout.role {
        case .attribute: return Record(record).view(slot, layout).propertyValue
        case .external: return (try? externalValue(slot, layout)) ?? .null
        case .toOne:
            guard let (key, index) = Record(record).target(slot, layout), let context else { return .null }
            guard let store, key >= 0 else {
                let target = try? context.unsavedTarget(of: self, slot, key: key, entity: index)
                return target.map { .object($0) } ?? .null
            }
            return .object(context.identityMap.object(store: store, entity: context.entity(at: index), primaryKey: key))
        case .transient, .composite, .toMany: return .null
        }
    }
}
