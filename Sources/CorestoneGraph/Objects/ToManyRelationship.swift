import CorestoneModel
import CorestoneValues

/// The members of a to-many relationship of one object.
///
/// Until the members are accessed, only differences from the store are kept. Setting the department of a thousand
/// employees therefore does not load the department's employees.
final class ToManyRelationship {
    unowned(unsafe) let owner: ManagedObject
    /// The relationship, which is retained by the model of the owner's entity.
    unowned(unsafe) let relationship: Relationship
    /// All members; valid if `isLoaded`.
    private var members = ObjectList()
    /// The differences between the members and the members in the store; nil if none were recorded.
    ///
    /// For an owner that was never saved, only changes of an event are recorded, because all of its members are new.
    private var differences: Differences?
    private(set) var isLoaded: Bool
    private(set) var isOrderChanged = false
    /// The changed order of members that are to be read again.
    private var keptOrder: [ManagedObject] = []
    /// Whether the kept order is discarded if the order in the store has changed too.
    private var prefersStoredOrder = false
    /// Whether the members are to be read again while the differences still refer to the former members in the store.
    private var mustReload = false
    /// Whether the members had an order of their own when `addRestored` first added a member again.
    ///
    /// Nil unless positions remain to be restored by `endRestoring`.
    private var hadOwnOrder: Bool?
    /// Whether the members were set as primitive values. The owner is then not notified when a member is deleted.
    private var isPrimitive = false

    /// The members that a save adds to the store and removes from it.
    private final class Differences {
        var added = ObjectList()
        var removed = ObjectList()
        /// The store's order of an ordered relationship, if it is known.
        var savedOrder: [ManagedObject]?
        /// Whether all differences belong to the current event; otherwise `log` contains those that do.
        var areOfEvent = false
        var log: EventLog?
        var isEmpty: Bool { added.isEmpty && removed.isEmpty }
    }

    /// The changes of an event to members that already had changes before the event.
    private final class EventLog {
        var added = ObjectList()
        var removed = ObjectList()
        let order: [ManagedObject]?

        init(order: [ManagedObject]?) { self.order = order }
    }

    /// The changes of an event to members.
    struct Changes {
        let added, removed: [ManagedObject]
        /// The former order, if it is known.
        let order: [ManagedObject]?
        /// Whether the members did not differ from the store before the event.
        let wereStored: Bool
    }

    init(owner: ManagedObject, relationship: Relationship) {
        self.owner = owner
        self.relationship = relationship
        isLoaded = owner.state.contains(.inserted)
    }

    var isFresh: Bool { owner.state.contains(.inserted) }

    var hasChanges: Bool { isFresh ? !members.isEmpty : differences?.isEmpty == false || isOrderChanged }

    var addedMembers: [ManagedObject] {
        forgetEnded()
        return isFresh ? members.objects : differences?.added.objects ?? []
    }
    var removedMembers: [ManagedObject] { differences?.removed.objects ?? [] }

    private func ownDifferences() -> Differences {
        if let differences { return differences }
        let fresh = Differences()
        differences = fresh
        return fresh
    }

    /// Discards the differences. A relationship of a saved object reads the store again.
    func dropChanges() {
        if !hasChanges { return }
        forgetDifferences()
        reload()
    }

    /// Makes the next access read the store again. The differences and a changed order remain.
    func reload() {
        if isFresh { return }
        if isOrderChanged && isLoaded { keptOrder = members.objects }
        members.removeAll()
        isLoaded = false
        mustReload = differences?.isEmpty == false
    }

    /// Makes the next access apply the differences to the newest members in the store.
    ///
    /// - Parameter keepingOrder: Whether a changed order has precedence over a newer order in the store.
    func rebase(keepingOrder: Bool) {
        reload()
        prefersStoredOrder = !keepingOrder
    }

    /// Keeps only the added members, because the owner's deleted row is inserted again.
    func becomeNew() {
        members = ObjectList(addedMembers)
        forgetDifferences()
        isLoaded = true
        isOrderChanged = relationship.isOrdered
    }

    /// Makes the members additions to those of a stored row, because the new owner becomes the object of this row.
    func becomeSaved() {
        let added = members.objects
        members.removeAll()
        isLoaded = false
        if added.isEmpty { return }
        ownDifferences().added = ObjectList(added)
    }

    /// The members that are known without reading the store.
    var knownMembers: [ManagedObject] { isLoaded ? members.objects : addedMembers }

    /// Whether an object is known to be a member without reading the store.
    func lists(_ object: ManagedObject) -> Bool {
        isLoaded ? members.contains(object) : differences?.added.contains(object) == true
    }

    /// Whether an object is a member in the store that was removed here.
    func hasRemoved(_ object: ManagedObject) -> Bool { differences?.removed.contains(object) == true }

    /// Discards the differences after a save has written them.
    func didSave() { forgetDifferences() }

    private func forgetDifferences() {
        differences = nil
        isOrderChanged = false
        keptOrder = []
        (prefersStoredOrder, mustReload, isPrimitive) = (false, false, false)
    }

    // MARK: Reading

    func load() throws {
        if isLoaded { return forgetEnded() }
        guard let context = owner.context else { throw owner.detachedError() }
        if owner.state.contains(.inaccessible) { return didLoad([]) }
        if context.faultState.watch != nil { try context.faultLoader.applyFaultPolicy(owner, along: relationship) }
        try context.faultLoader.loadMembers(of: relationship, owners: [owner])
    }

    /// Sets the members that were read from the store, and applies the differences.
    func didLoad(_ stored: __owned [ManagedObject]) {
        guard differences != nil || !keptOrder.isEmpty else {
            (members, prefersStoredOrder, isLoaded, mustReload) = (ObjectList(stored), false, true, false)
            return
        }
        dropDifferencesShared(with: stored)
        if prefersStoredOrder, let former = differences?.savedOrder, !former.elementsEqual(stored, by: ===) {
            keptOrder = []
            isOrderChanged = !addedMembers.isEmpty
        }
        prefersStoredOrder = false
        var list = ObjectList(stored)
        if let differences {
            if !differences.removed.isEmpty { list = ObjectList(stored.filter { !differences.removed.contains($0) }) }
            // The list is searched for duplicates only here, because only the differences may cause them.
            for object in differences.added.objects { _ = list.append(object) }
            if relationship.isOrdered { differences.savedOrder = stored }
        }
        members = keptOrder.isEmpty ? list : list.ordered(like: keptOrder)
        keptOrder = []
        (isLoaded, mustReload) = (true, false)
    }

    /// Removes differences that another writer has saved too.
    ///
    /// Otherwise a later reversal of such a difference would not count as a change.
    private func dropDifferencesShared(with stored: [ManagedObject]) {
        guard let differences, !differences.isEmpty else { return }
        var known = ObjectList(stored)
        for object in differences.added.objects where known.contains(object) {
            _ = differences.added.remove(object, keepingOrder: true)
        }
        for object in differences.removed.objects where !known.contains(object) {
            _ = differences.removed.remove(object, keepingOrder: true)
        }
    }

    func all() throws -> [ManagedObject] {
        try load()
        return members.objects
    }

    func count() throws -> Int {
        try load()
        return members.count
    }

    /// Returns the members without the effect of unsaved changes, in no particular order.
    func membersWithoutDifferences() throws -> [ManagedObject] {
        if isFresh { return [] }
        guard let differences else { return try all() }
        var added = differences.added
        return try all().filter { !added.contains($0) } + differences.removed.objects
    }

    private func forgetEnded() { if isPrimitive { forget(where: \.isGone) } }

    /// Removes the members that satisfy a test from the members and the differences, without recording a change.
    func forget(where isGone: (ManagedObject) -> Bool) {
        for member in members.objects where isGone(member) { _ = members.remove(member, keepingOrder: true) }
        for member in differences?.added.objects ?? [] where isGone(member) {
            _ = differences?.added.remove(member, keepingOrder: true)
        }
        for member in removedMembers where isGone(member) {
            _ = differences?.removed.remove(member, keepingOrder: true)
        }
    }

    func contains(_ object: ManagedObject) throws -> Bool {
        if !mustReload, differences?.added.contains(object) == true { return true }
        try load()
        return members.contains(object)
    }

    // MARK: Changes of one side; the caller updates the inverse

    private var slot: Int { Int(relationship.slot) }
    private var isObserved: Bool { owner.state.contains(.observed) }
    /// Whether `beginChange` must run before a change, for observers or to record the former order.
    private var mustBeginChange: Bool { relationship.isOrdered || isObserved }

    /// Adds a member, at the end. Returns false if the object is known to be a member without reading the store.
    @discardableResult
    func add(_ object: ManagedObject) -> Bool {
        if mustReload { try? load() }
        if mustBeginChange {
            if isLoaded, members.contains(object) { return false }
            beginChange()
        }
        if isLoaded, !members.append(object) { return false }
        noteAdded(object)
        if isObserved { owner.didChangeObserved(slot) }
        return true
    }

    /// Adds a member whose own side of the relationship was just set.
    ///
    /// The list of an owner that was never saved is complete and consistent with the inverses, so no search is needed.
    func addMirrored(_ object: ManagedObject) {
        guard isFresh, isLoaded, !mustBeginChange else {
            add(object)
            return
        }
        members.append(new: object)
        noteAdded(object)
    }

    /// Reserves capacity for members that are about to be added.
    func reserve(_ more: Int) { if members.isEmpty { members.reserve(more) } }

    /// Runs `enter`, which adds a removed member again.
    ///
    /// In an ordered relationship, the member returns to its position in the store, unless the members were reordered.
    func restoringPosition(_ enter: () throws -> Void) rethrows {
        guard relationship.isOrdered, !isFresh else { return try enter() }
        if isObserved { owner.willChangeObserved(slot) }
        defer { if isObserved { owner.didChangeObserved(slot) } }
        let hasOwnOrder = isOrderChanged && !isSavedOrder
        try enter()
        if !hasOwnOrder { restoreSavedPositions() }
    }

    /// Adds a removed member again, like `restoringPosition`.
    ///
    /// Its position is restored by `endRestoring`, together with those of other members: the search for one position
    /// takes as long as for all. Returns whether the caller must call `endRestoring`.
    func addRestored(_ object: ManagedObject) -> Bool {
        let isFirst = relationship.isOrdered && !isFresh && hadOwnOrder == nil
        if isFirst {
            if isObserved { owner.willChangeObserved(slot) }
            hadOwnOrder = isOrderChanged && !isSavedOrder
        }
        add(object)
        return isFirst
    }

    /// Restores the positions of the members that `addRestored` added.
    func endRestoring() {
        guard let hadOwnOrder else { return }
        self.hadOwnOrder = nil
        if !hadOwnOrder { restoreSavedPositions() }
        if isObserved { owner.didChangeObserved(slot) }
    }

    private func restoreSavedPositions() {
        isOrderChanged = false
        if let savedOrder = differences?.savedOrder { members = members.ordered(like: savedOrder) } else { reload() }
        isOrderChanged = !addedMembers.isEmpty
    }

    /// Removes a member.
    func remove(_ object: ManagedObject) {
        if mustReload { try? load() }
        // The removal was already recorded, and the members were not read since, so nothing changes.
        if !isLoaded, differences?.removed.contains(object) == true { return }
        if mustBeginChange {
            if isLoaded, !members.contains(object) { return }
            beginChange()
        }
        if isLoaded, !members.remove(object, keepingOrder: relationship.isOrdered) { return }
        noteRemoved(object)
        if isObserved { owner.didChangeObserved(slot) }
    }

    /// Makes the membership of an object consistent with its to-one inverse.
    ///
    /// Records whether the membership differs from the object's row. The update is not a change of the current event,
    /// because the change of the inverse is recorded, or another writer made that change.
    ///
    /// - Parameters:
    ///   - isStored: Whether the object's row refers to the owner.
    ///   - isLoading: Whether the members were just read from the store, so that observers need not be notified.
    /// - Returns: Whether anything changed.
    func updateMembership(of object: ManagedObject, isMember: Bool, isStored: Bool, isLoading: Bool = false) -> Bool {
        var isOther = false
        if !isFresh {
            let isRemoved = isStored && !isMember && !object.state.contains(.inserted)
            if isMember && !isStored {
                isOther = ownDifferences().added.append(object)
            } else if differences?.added.remove(object, keepingOrder: true) == true {
                isOther = true
            }
            if isRemoved {
                if ownDifferences().removed.append(object) { isOther = true }
            } else if differences?.removed.remove(object, keepingOrder: false) == true {
                isOther = true
            }
        }
        guard isLoaded, members.contains(object) != isMember else { return isOther }
        if isLoading {
            updateMembers(object, isMember, isStored)
        } else {
            owner.replacingMembers(of: self) { updateMembers(object, isMember, isStored) }
        }
        return true
    }

    private func updateMembers(_ object: ManagedObject, _ isMember: Bool, _ isStored: Bool) {
        if !isMember {
            _ = members.remove(object, keepingOrder: relationship.isOrdered)
            clearOrderChange()
        } else if isStored && !isFresh {
            // The store contains the member's position.
            reload()
        } else {
            members.append(new: object)
            if relationship.isOrdered { isOrderChanged = true }
        }
    }

    /// Sets the members on this side alone, without notifications.
    func keep(_ objects: [ManagedObject]) throws {
        try load()
        var newMembers = ObjectList(objects)
        if !isFresh {
            for member in members.objects where !newMembers.contains(member) { recordRemoved(member) }
            for object in objects where !members.contains(object) { recordAdded(object) }
        }
        if relationship.isOrdered { isOrderChanged = true }
        members = newMembers
        isPrimitive = true
        owner.state.insert(.membersChanged)
    }

    private func noteAdded(_ object: ManagedObject) {
        willChange()
        if relationship.isOrdered { isOrderChanged = true }
        if let log = differences?.log, !log.removed.remove(object, keepingOrder: false) { _ = log.added.append(object) }
        if !isFresh { recordAdded(object) }
    }

    private func recordAdded(_ object: ManagedObject) {
        let differences = ownDifferences()
        if !differences.removed.remove(object, keepingOrder: false) { _ = differences.added.append(object) }
    }

    private func noteRemoved(_ object: ManagedObject) {
        willChange()
        if let log = differences?.log, !log.added.remove(object, keepingOrder: true) { _ = log.removed.append(object) }
        if !isFresh { recordRemoved(object) }
    }

    private func recordRemoved(_ object: ManagedObject) {
        // The store does not list an object that was never saved.
        let differences = ownDifferences()
        if !differences.added.remove(object, keepingOrder: true), !object.state.contains(.inserted) {
            _ = differences.removed.append(object)
        }
    }

    /// Inserts a new member at an index, or moves an existing one.
    func place(_ object: ManagedObject, at index: Int) {
        if let former = members.place(of: object), former == min(index, members.count - 1) { return }
        beginChange()
        // The member is looked up again, because an observer of the upcoming change may cause another read of the
        // members.
        if let former = members.place(of: object) {
            members.move(from: former, to: min(index, members.count - 1))
        } else {
            members.insert(object, at: min(index, members.count))
            noteAdded(object)
        }
        isOrderChanged = true
        if isObserved { owner.didChangeObserved(slot) }
    }

    /// Reorders the members; `objects` are the same members in the new order.
    func arrange(_ objects: [ManagedObject]) {
        beginChange()
        members = ObjectList(objects)
        isOrderChanged = true
        if isObserved { owner.didChangeObserved(slot) }
    }

    /// Restores a former order. Members that it does not contain follow at the end.
    func restore(order: [ManagedObject]) {
        loadKeptOrder()
        if !isLoaded { return }
        let former = members.ordered(like: order).objects
        if !former.elementsEqual(members.objects, by: ===) { arrange(former) }
    }

    /// Restores the store's order, followed by the added members.
    func restoreSavedOrder() {
        loadKeptOrder()
        if let savedOrder = differences?.savedOrder { restore(order: savedOrder) }
    }

    /// Loads the members if a changed order is pending, so that another order can replace it.
    private func loadKeptOrder() { if !keptOrder.isEmpty { try? load() } }

    /// Clears `isOrderChanged` if a changed order does not remain.
    func clearOrderChange() {
        guard isOrderChanged, !isFresh, differences?.added.isEmpty ?? true else { return }
        if !isLoaded && keptOrder.isEmpty || isSavedOrder { isOrderChanged = false }
    }

    /// Whether the members are in the order of a read: the store's order, followed by the added members.
    private var isSavedOrder: Bool {
        guard isLoaded, let saved = differences?.savedOrder else { return false }
        return (saved + addedMembers).filter { members.contains($0) }.elementsEqual(members.objects, by: ===)
    }

    /// Restores whether the order counts as changed, after the former members and their order were restored.
    func restoreOrderChange(_ wasOrderChanged: Bool) { isOrderChanged = wasOrderChanged }

    private func beginChange() {
        if isObserved { owner.willChangeObserved(slot) }
        willChange()
    }

    // MARK: Changes of an event

    /// Records the members, or their differences, before the first change of an event.
    private func willChange() {
        owner.willChangeMembers()
        if owner.isNewInEvent { return }
        let differences = ownDifferences()
        if differences.areOfEvent || differences.log != nil { return }
        if relationship.isOrdered { owner.context?.hookState.trial?.noteOrder(of: self) }
        let order = relationship.isOrdered && isLoaded ? members.objects : nil
        if isFresh || hasChanges {
            differences.log = EventLog(order: order)
        } else {
            differences.areOfEvent = true
            differences.savedOrder = order
        }
    }

    /// Returns the changes of the current event; nil without changes, or if the event inserted the owner.
    func changesOfEvent() -> Changes? {
        guard let differences, differences.areOfEvent || differences.log != nil else { return nil }
        let log = differences.log
        let (added, removed) = (log?.added ?? differences.added, log?.removed ?? differences.removed)
        let order = log == nil ? differences.savedOrder : log?.order
        let isMoved = order.map { !$0.elementsEqual(members.objects, by: ===) } ?? false
        if added.isEmpty && removed.isEmpty && !isMoved { return nil }
        return Changes(added: added.objects, removed: removed.objects, order: order, wereStored: log == nil)
    }

    /// Returns the members at the beginning of the event; nil if the event did not change them.
    func membersAtEventStart() throws -> [ManagedObject]? {
        guard let changes = changesOfEvent() else { return nil }
        if let order = changes.order { return order }
        var list = ObjectList(try all())
        for object in changes.added { _ = list.remove(object, keepingOrder: true) }
        for object in changes.removed { _ = list.append(object) }
        return list.objects
    }

    func endEvent() {
        differences?.areOfEvent = false
        differences?.log = nil
    }
}
