import CorestoneModel
import CorestoneValues

/// What happened in a context since its pending changes were last processed.
///
/// An object's first change within an event marks it as touched. Most objects need no note beside that: one that was inserted
/// by the event had nothing before, and what one had that was clean, its row tells; both are found at the ends of the
/// context's lists of changed objects. Only for the others an entry says what they were.
struct Event {
    /// How long the context's lists were when the event began.
    fileprivate(set) var firstInserted = 0
    fileprivate(set) var firstUpdated = 0
    fileprivate(set) var touched: [TouchedObject] = []
    fileprivate var refreshed: [ManagedObject] = []
    /// What others inserted and deleted, which is no change of this context's to undo.
    fileprivate var mergedIn: [ManagedObject] = []
    fileprivate var deletedElsewhere: [ManagedObject] = []
    fileprivate var invalidated: [ManagedObject] = []
    fileprivate var isAllInvalidated = false
    /// What others saved, for who tracks results: also of objects that the context does not have, or that nobody has seen.
    fileprivate var merged: [ChangedIDs] = []
    /// Others saved so much that nobody knows what.
    fileprivate var isEverything = false
    /// Whether it is no step of undo, since it has objects that cannot come back.
    var isUnrecorded = false
    /// Where the entries of objects stand; those behind `placed` are not in it yet.
    private var places: [ObjectIdentifier: Int] = [:]
    private var placed = 0

    /// Knows no more of objects that left the context for good.
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

/// An object that had changes before the event, or that the event brought or took away, as it was when the event began.
struct TouchedObject {
    let object: ManagedObject
    let state: ManagedObject.State
    /// The changed values that it had.
    let values: [SlotValue]

    var wasThere: Bool { state.isDisjoint(with: [.gone, .deleted]) }
}

struct SlotValue {
    let slot: Int
    let value: PropertyValue
}

extension Context {
    /// Whether something happened since pending changes were last processed.
    var hasEvent: Bool {
        changeTracker.event.firstInserted < changeTracker.inserted.count
            || changeTracker.event.firstUpdated < changeTracker.updated.count || !changeTracker.event.touched.isEmpty
            || !changeTracker.event.mergedIn.isEmpty || !changeTracker.event.deletedElsewhere.isEmpty
            || !changeTracker.event.refreshed.isEmpty
            || !changeTracker.event.invalidated.isEmpty || changeTracker.event.isAllInvalidated
            || !changeTracker.event.merged.isEmpty || changeTracker.event.isEverything
    }

    /// Remembers what an object is before its first change in the event.
    func noteTouched(_ object: ManagedObject) {
        if object.state.contains(.snapshotting) { return }
        object.state.insert(.snapshotting)
        changeTracker.event.touched.append(
            TouchedObject(object: object, state: object.state, values: object.changedSlotValues()))
    }

    /// The store's newest state took the place of what an object had.
    func noteRefreshed(_ object: ManagedObject) { changeTracker.event.refreshed.append(object) }
    /// A merge brought objects, and took some away.
    func noteMerged(inserted: [ManagedObject], deleted: [ManagedObject]) {
        changeTracker.event.mergedIn += inserted
        changeTracker.event.deletedElsewhere += deleted
    }
    /// Others saved something.
    func noteMerged(_ ids: ChangedIDs) {
        if observation.trackers.hears(.event) { changeTracker.event.merged.append(ids) }
    }
    func noteEverythingMerged() { if observation.trackers.hears(.event) { changeTracker.event.isEverything = true } }
    /// Objects lost their place in the context.
    func noteInvalidated(_ objects: [ManagedObject]) { changeTracker.event.invalidated += objects }
    /// Every object lost its place in the context.
    func noteInvalidatedAll() { changeTracker.event.isAllInvalidated = true }

    /// Ends the event: the undo manager records it, then observers hear of it. What they do is the next event.
    func endEvent() {
        guard hasEvent else { return closeUndoGroup() }
        noteTouchedBeforeSave()
        var changes = hearsOfEvents ? changesOfEvent() : nil
        if observation.trackers.hears(.slots) { changes?.noteSlots() }
        recordUndo()
        forgetEvent()
        closeUndoGroup()
        if let changes { tellEvent(changes) }
    }

    /// Whether anybody wants to know what an event changed.
    var hearsOfEvents: Bool { hears(.objectsDidChange) || observation.trackers.hears(.event) }

    func tellEvent(_ changes: ContextChanges) {
        keepingHold { observation.trackers.tell(.event, changes) }
        if !changes.isEmpty { post(.objectsDidChange, changes) }
    }

    /// Begins the next event, whatever this one was.
    func forgetEvent() {
        forEachTouched { object, entry in
            // Of an object that the event inserted, no member was noted.
            let isNew = entry == nil && object.state.contains(.inserted)
            object.state.subtract([.touched, .snapshotting])
            if !isNew { for keeper in object.toManyRelationships { keeper?.endEvent() } }
        }
        // A burst of changes keeps its room no longer than the event.
        changeTracker.event = Event()
        changeTracker.event.firstInserted = changeTracker.inserted.count
        changeTracker.event.firstUpdated = changeTracker.updated.count
    }

    /// Runs `body`, which has others' changes take the place of what is here: no step of undo, but something that observers are told
    /// of when it is done. What was changed here before is a step of its own.
    func unrecorded(_ body: () throws -> Void) throws {
        if undoRecorder == nil { return try together(body) }
        if hasUndoableEvent { try processPendingChanges(appliesDeleteRules: propagatesDeletesAtEndOfEvent) }
        try together {
            defer { forgetTouched() }
            try body()
        }
    }

    private func forgetTouched() {
        if !hasUndoableEvent { return }
        var touched: [ManagedObject] = []
        forEachTouched { object, _ in touched.append(object) }
        let news = changeTracker.event
        forgetEvent()
        (changeTracker.event.mergedIn, changeTracker.event.deletedElsewhere, changeTracker.event.merged) = (
            news.mergedIn, news.deletedElsewhere, news.merged
        )
        (changeTracker.event.invalidated, changeTracker.event.isAllInvalidated) = (
            news.invalidated, news.isAllInvalidated
        )
        (changeTracker.event.refreshed, changeTracker.event.isEverything) = (news.refreshed, news.isEverything)
        for object in touched where object.state.isDisjoint(with: [.gone, .deleted]) { tellRefreshed(object) }
    }

    /// Every object that the event touched, with its entry where it has one.
    func forEachTouched(_ body: (ManagedObject, TouchedObject?) throws -> Void) rethrows {
        for object in changeTracker.inserted[changeTracker.event.firstInserted...]
        where !object.state.contains(.snapshotting) {
            try body(object, nil)
        }
        for object in changeTracker.updated[changeTracker.event.firstUpdated...]
        where !object.state.contains(.snapshotting) {
            try body(object, nil)
        }
        for entry in changeTracker.event.touched { try body(entry.object, entry) }
    }

    func entry(of object: ManagedObject) -> TouchedObject? {
        object.state.contains(.snapshotting) ? changeTracker.event.entry(of: object) : nil
    }

    func changesOfEvent() -> ContextChanges {
        var changes = ContextChanges()
        changes.inserted = changeTracker.event.mergedIn
        changes.deleted = changeTracker.event.deletedElsewhere
        changes.refreshed = changeTracker.event.refreshed
        changes.invalidated = changeTracker.event.invalidated
        changes.invalidatedAll = changeTracker.event.isAllInvalidated
        changes.merged = changeTracker.event.merged
        changes.isEverything = changeTracker.event.isEverything
        forEachTouched { object, entry in
            let isThere = object.state.isDisjoint(with: [.gone, .deleted])
            let isNew = entry == nil && object.isInserted
            switch (entry?.wasThere ?? !object.state.contains(.inserted) && !isNew, isThere) {
            case (false, true): changes.inserted.append(object)
            case (true, true): changes.updated.append(object)
            // One that came and went within the event is nobody's news.
            case (true, false): if entry != nil || !object.isGone { changes.deleted.append(object) }
            case (false, false): break
            }
        }
        return changes
    }
}

extension ContextChanges {
    /// Notes which properties changed, while the event still knows.
    fileprivate mutating func noteSlots() {
        for object in updated {
            if let old = try? object.valuesAtEventStart(loading: false) {
                slots[ObjectIdentifier(object)] = Set(old.keys)
            }
        }
    }
}

extension ManagedObject {
    /// Whether the event that runs inserted the object, so that it had nothing before.
    var isNewInEvent: Bool { state.intersection([.inserted, .touched, .snapshotting]) == [.inserted, .touched] }

    /// The first change within an event: puts the object on its context's list of changed ones, and notes what it was. From
    /// then on the state tells that nothing more is to do. Without tracking, only relationships are noted, whose other ends are.
    @inline(never)
    func touch(ofRelationship isRelationship: Bool = false) {
        if let context {
            if !isRelationship && !context.isTracking { return }
            // A clean object that was on no list is found at the end of one, and its row tells its values.
            let isClean = state.isDisjoint(with: [.inserted, .updated, .deleted, .listedUpdated]) && overlay == nil
            if !isClean { context.noteTouched(self) }
            if state.isDisjoint(with: [.inserted, .updated]) {
                state.insert(.updated)
                context.noteUpdated(self)
            }
        }
        state.insert(.touched)
    }

    /// A deletion alone changes no value.
    func touchForDeletion() { if state.isDisjoint(with: [.touched, .snapshotting]) { context?.noteTouched(self) } }

    func changedSlotValues() -> [SlotValue] {
        guard let overlay else { return [] }
        return (0..<Int(entity.slotCount)).filter(overlay.isChanged)
            .map { SlotValue(slot: $0, value: overlay[$0]) }
    }

    /// What each property was at the event's start that the event gave another value, by slot: targets of to-one relationships
    /// as objects, members as a set or, in order, an array of objects. Null for a property of an object that the event inserted,
    /// and, unless `loading`, for members that nobody loaded.
    package func valuesAtEventStart(loading: Bool = true) throws -> [Int: PropertyValue] {
        guard let context, !state.isDisjoint(with: [.touched, .snapshotting]) else { return [:] }
        let isNew = isNewInEvent
        let entry = context.entry(of: self)
        var old: [Int: PropertyValue] = [:]
        for slot in 0..<Int(entity.slotCount) {
            let layout = entity.layout.slots[slot]
            if layout.role == .composite { continue }
            if layout.role == .toMany {
                guard let keeper = toMany(ordinal: Int(layout.ordinal)) else { continue }
                guard loading || keeper.isLoaded else {
                    if keeper.changesOfEvent() != nil { old[slot] = .null }
                    continue
                }
                if let members = try isNew ? (keeper.hasChanges ? [] : nil) : keeper.membersAtEventStart() {
                    let values = members.map { PropertyValue.object($0) }
                    old[slot] = keeper.relationship.isOrdered ? .array(values) : .set(Set(values))
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

    /// The value that the object's row has, a target as an object. Null without a row, and where a file cannot be read.
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
            return .object(context.object(store: store, entity: context.entity(at: index), primaryKey: key))
        case .transient, .composite, .toMany: return .null
        }
    }
}
