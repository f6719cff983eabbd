import CorestoneModel
import CorestoneValues

/// The members of one to-many relationship of one object.
///
/// Kept as differences to the store until somebody asks for the members, so that setting a thousand employees' department
/// never loads the department's employees.
final class ToManyRelationship {
    unowned(unsafe) let owner: ManagedObject
    /// Kept by the model of the owner's entity.
    unowned(unsafe) let relationship: Relationship
    /// All members, once loaded.
    private var members = ObjectList()
    /// How the members differ from the store's. nil for no difference, and for an object that was never saved, whose every
    /// member is new.
    private var differences: Differences?
    private(set) var isLoaded: Bool
    private(set) var isOrderChanged = false
    /// The order that was changed here, of members that are to be read again.
    private var keptOrder: [ManagedObject] = []
    /// The kept order is given up if the store has another one than before it was changed.
    private var yieldsOrder = false
    /// The members are to be read again, and the differences are those to members that the store had before.
    private var isInDoubt = false
    /// The members were set as primitive values, so that their owner hears nothing when one of them ends.
    private var isPrimitive = false

    /// What a save has to add to the store and to remove from it.
    private final class Differences {
        var added = ObjectList()
        var removed = ObjectList()
        /// The store's order of an ordered relationship, where it is known.
        var savedOrder: [ManagedObject]?
        /// Whether the event that runs made all of the differences; else `log` has those that it made.
        var areOfEvent = false
        var log: EventLog?
        var isEmpty: Bool { added.isEmpty && removed.isEmpty }
    }

    /// What an event changed in members that had been changed before.
    private final class EventLog {
        var added = ObjectList()
        var removed = ObjectList()
        let order: [ManagedObject]?

        init(order: [ManagedObject]?) { self.order = order }
    }

    /// What an event changed in members.
    struct Changes {
        let added, removed: [ManagedObject]
        /// The former order, where it is known.
        let order: [ManagedObject]?
        /// Whether the members were the store's before.
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

    /// Forgets the differences; a relationship of a saved object reads the store again.
    func dropChanges() {
        if !hasChanges { return }
        forgetDifferences()
        reload()
    }

    /// Reads the store again when next asked, keeping the differences and an order that was changed.
    func reload() {
        if isFresh { return }
        if isOrderChanged && isLoaded { keptOrder = members.objects }
        members.removeAll()
        isLoaded = false
        isInDoubt = differences?.isEmpty == false
    }

    /// The owner has a newer row: the store's members are read again, with the differences on top. An order that was made here
    /// stays, or yields to one that was made in the store.
    func rebase(keepingOrder: Bool) {
        reload()
        yieldsOrder = !keepingOrder
    }

    /// The owner's row went away, and comes again: what was added is what it has.
    func becomeNew() {
        members = ObjectList(addedMembers)
        forgetDifferences()
        isLoaded = true
        isOrderChanged = relationship.isOrdered
    }

    /// The owner, which was new, stands for a row that is there: its members join those of the row.
    func becomeSaved() {
        let added = members.objects
        members.removeAll()
        isLoaded = false
        if added.isEmpty { return }
        ownDifferences().added = ObjectList(added)
    }

    /// Those that are known without asking the store.
    var knownMembers: [ManagedObject] { isLoaded ? members.objects : addedMembers }

    /// Whether an object is one of the members, as far as they are known without the store.
    func lists(_ object: ManagedObject) -> Bool {
        isLoaded ? members.contains(object) : differences?.added.contains(object) == true
    }

    /// Whether an object that the store has for a member was taken out here.
    func lost(_ object: ManagedObject) -> Bool { differences?.removed.contains(object) == true }

    /// The store now holds the differences.
    func didSave() { forgetDifferences() }

    private func forgetDifferences() {
        differences = nil
        isOrderChanged = false
        keptOrder = []
        (yieldsOrder, isInDoubt, isPrimitive) = (false, false, false)
    }

    // MARK: Reading

    func load() throws {
        if isLoaded { return forgetEnded() }
        guard let context = owner.context else { throw owner.gone() }
        if owner.state.contains(.inaccessible) { return didLoad([]) }
        if context.faultLoader.watch != nil { try context.judgeSingleFault(owner, along: relationship) }
        try context.loadMembers(of: relationship, owners: [owner])
    }

    /// Takes the store's members in, with the differences applied.
    func didLoad(_ stored: __owned [ManagedObject]) {
        guard differences != nil || !keptOrder.isEmpty else {
            (members, yieldsOrder, isLoaded, isInDoubt) = (ObjectList(stored), false, true, false)
            return
        }
        dropDifferencesShared(with: stored)
        if yieldsOrder, let former = differences?.savedOrder, !former.elementsEqual(stored, by: ===) {
            keptOrder = []
            isOrderChanged = !addedMembers.isEmpty
        }
        yieldsOrder = false
        var list = ObjectList(stored)
        if let differences {
            if !differences.removed.isEmpty { list = ObjectList(stored.filter { !differences.removed.contains($0) }) }
            // An unordered list drops duplicates only where the differences could bring them.
            for object in differences.added.objects { _ = list.append(object) }
            if relationship.isOrdered { differences.savedOrder = stored }
        }
        members = keptOrder.isEmpty ? list : list.ordered(like: keptOrder)
        keptOrder = []
        (isLoaded, isInDoubt) = (true, false)
    }

    /// What others added or removed too is no difference any more: else taking it back would be none.
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

    /// The members as they are beneath, in no particular order.
    func membersWithoutDifferences() throws -> [ManagedObject] {
        if isFresh { return [] }
        guard let differences else { return try all() }
        var added = differences.added
        return try all().filter { !added.contains($0) } + differences.removed.objects
    }

    private func forgetEnded() { if isPrimitive { forget(where: \.isGone) } }

    /// Forgets members that are in the store no more.
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
        if !isInDoubt, differences?.added.contains(object) == true { return true }
        try load()
        return members.contains(object)
    }

    // MARK: One side of a change; the caller keeps the inverse right

    private var slot: Int { Int(relationship.slot) }
    private var isObserved: Bool { owner.state.contains(.observed) }
    /// Whether a change has to be announced before it is made: to observers, and where the order is to be remembered.
    private var isAnnounced: Bool { relationship.isOrdered || isObserved }

    /// Makes an object a member, at the end. False when it was one, as far as is known without the store.
    @discardableResult
    func take(_ object: ManagedObject) -> Bool {
        if isInDoubt { try? load() }
        if isAnnounced {
            if isLoaded, members.contains(object) { return false }
            announce()
        }
        if isLoaded, !members.append(object) { return false }
        noteAdded(object)
        if isObserved { owner.didChangeObserved(slot) }
        return true
    }

    /// Makes an object a member whose own side of the pair is new. The list of an owner that was never saved is complete and
    /// agrees with the other sides, so that nothing needs to be searched.
    func admit(_ object: ManagedObject) {
        guard isFresh, isLoaded, !isAnnounced else {
            take(object)
            return
        }
        members.append(new: object)
        noteAdded(object)
    }

    /// Room for members that are about to come.
    func reserve(_ more: Int) { if members.isEmpty { members.reserve(more) } }

    /// Runs `enter`, which makes an object a member again that was taken out here. In order it stands where the store has it, unless the
    /// members were put in another order.
    func takingBack(_ enter: () throws -> Void) rethrows {
        guard relationship.isOrdered, !isFresh else { return try enter() }
        if isObserved { owner.willChangeObserved(slot) }
        defer { if isObserved { owner.didChangeObserved(slot) } }
        let hasOwnOrder = isOrderChanged && !isSavedOrder
        try enter()
        if hasOwnOrder { return }
        isOrderChanged = false
        if let savedOrder = differences?.savedOrder { members = members.ordered(like: savedOrder) } else { reload() }
        isOrderChanged = !addedMembers.isEmpty
    }

    /// Ends an object's membership.
    func drop(_ object: ManagedObject) {
        if isInDoubt { try? load() }
        // It left before the members were read again: that is no change of the event that runs.
        if !isLoaded, differences?.removed.contains(object) == true { return }
        if isAnnounced {
            if isLoaded, !members.contains(object) { return }
            announce()
        }
        if isLoaded, !members.remove(object, keepingOrder: relationship.isOrdered) { return }
        noteRemoved(object)
        if isObserved { owner.didChangeObserved(slot) }
    }

    /// Has an object be a member or not as its own side says, which is to-one, and counts as a difference what differs from its row.
    /// No change of the event that runs: the other side is one, or somebody else's.
    /// - Parameters:
    ///   - isStored: whether the object's row leads here.
    ///   - isLoading: whether the members have just come from the store, so that observers have not seen them.
    /// - Returns: whether anything was otherwise.
    func settle(_ object: ManagedObject, isMember: Bool, isStored: Bool, isLoading: Bool = false) -> Bool {
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
            settleMembers(object, isMember, isStored)
        } else {
            owner.replacingMembers(of: self) { settleMembers(object, isMember, isStored) }
        }
        return true
    }

    private func settleMembers(_ object: ManagedObject, _ isMember: Bool, _ isStored: Bool) {
        if !isMember {
            _ = members.remove(object, keepingOrder: relationship.isOrdered)
            settleOrder()
        } else if isStored && !isFresh {
            // The store knows its place.
            reload()
        } else {
            members.append(new: object)
            if relationship.isOrdered { isOrderChanged = true }
        }
    }

    /// Makes `objects` the members on this side alone, without a word to anybody.
    func keep(_ objects: [ManagedObject]) throws {
        try load()
        var wanted = ObjectList(objects)
        if !isFresh {
            for member in members.objects where !wanted.contains(member) { recordRemoved(member) }
            for object in objects where !members.contains(object) { recordAdded(object) }
        }
        if relationship.isOrdered { isOrderChanged = true }
        members = wanted
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
        // An object that was never saved is in no store's list.
        let differences = ownDifferences()
        if !differences.added.remove(object, keepingOrder: true), !object.state.contains(.inserted) {
            _ = differences.removed.append(object)
        }
    }

    /// Places an object that is no member yet, or moves one that is.
    func place(_ object: ManagedObject, at index: Int) {
        if let former = members.place(of: object), former == min(index, members.count - 1) { return }
        announce()
        // Asked again: who is told of the change to come may have the members read anew.
        if let former = members.place(of: object) {
            members.move(from: former, to: min(index, members.count - 1))
        } else {
            members.insert(object, at: min(index, members.count))
            noteAdded(object)
        }
        isOrderChanged = true
        if isObserved { owner.didChangeObserved(slot) }
    }

    /// Puts the members in a new order; `objects` are the same members.
    func arrange(_ objects: [ManagedObject]) {
        announce()
        members = ObjectList(objects)
        isOrderChanged = true
        if isObserved { owner.didChangeObserved(slot) }
    }

    /// Puts the members in a former order; those that it does not know stay behind.
    func restore(order: [ManagedObject]) {
        loadKeptOrder()
        if !isLoaded { return }
        let former = members.ordered(like: order).objects
        if !former.elementsEqual(members.objects, by: ===) { arrange(former) }
    }

    /// Puts the members in the store's order, with those that were added behind it.
    func restoreSavedOrder() {
        loadKeptOrder()
        if let savedOrder = differences?.savedOrder { restore(order: savedOrder) }
    }

    /// An order that waits for members to be read again is a change, which another order takes back.
    private func loadKeptOrder() { if !keptOrder.isEmpty { try? load() } }

    /// Finds out whether the order is the store's again, of those members that the store has.
    func settleOrder() {
        guard isOrderChanged, !isFresh, differences?.added.isEmpty ?? true else { return }
        if !isLoaded && keptOrder.isEmpty || isSavedOrder { isOrderChanged = false }
    }

    /// Whether the members are in the order that a read gives them: the store's, and behind it those that were added.
    private var isSavedOrder: Bool {
        guard isLoaded, let saved = differences?.savedOrder else { return false }
        return (saved + addedMembers).filter { members.contains($0) }.elementsEqual(members.objects, by: ===)
    }

    private func announce() {
        if isObserved { owner.willChangeObserved(slot) }
        willChange()
    }

    // MARK: What an event changes

    /// Before the first change within an event: remembers what the members, or their differences, are.
    private func willChange() {
        owner.willChangeMembers()
        if owner.isNewInEvent { return }
        let differences = ownDifferences()
        if differences.areOfEvent || differences.log != nil { return }
        let order = relationship.isOrdered && isLoaded ? members.objects : nil
        if isFresh || hasChanges {
            differences.log = EventLog(order: order)
        } else {
            differences.areOfEvent = true
            differences.savedOrder = order
        }
    }

    /// What the event that runs changed; nil for nothing. Of an object that it inserted, nothing is known.
    func changesOfEvent() -> Changes? {
        guard let differences, differences.areOfEvent || differences.log != nil else { return nil }
        let log = differences.log
        let (added, removed) = (log?.added ?? differences.added, log?.removed ?? differences.removed)
        let order = log == nil ? differences.savedOrder : log?.order
        let isMoved = order.map { !$0.elementsEqual(members.objects, by: ===) } ?? false
        if added.isEmpty && removed.isEmpty && !isMoved { return nil }
        return Changes(added: added.objects, removed: removed.objects, order: order, wereStored: log == nil)
    }

    /// The members when the event began; nil when it changed none.
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
