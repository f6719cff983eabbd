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

    /// What a save has to add to the store and to remove from it.
    private final class Differences {
        var added = ObjectList()
        var removed = ObjectList()
        var isEmpty: Bool { added.isEmpty && removed.isEmpty }
    }

    init(owner: ManagedObject, relationship: Relationship) {
        self.owner = owner
        self.relationship = relationship
        isLoaded = owner.state.contains(.inserted)
    }

    private var isFresh: Bool { owner.state.contains(.inserted) }

    var hasChanges: Bool { isFresh ? !members.isEmpty : differences?.isEmpty == false || isOrderChanged }

    var addedMembers: [ManagedObject] { isFresh ? members.objects : differences?.added.objects ?? [] }
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

    /// Reads the store again when next asked, keeping the differences.
    func reload() {
        if isFresh { return }
        members.removeAll()
        isLoaded = false
    }

    /// The store now holds the differences.
    func didSave() { forgetDifferences() }

    private func forgetDifferences() {
        differences = nil
        isOrderChanged = false
    }

    // MARK: Reading

    func load() throws {
        if isLoaded { return }
        guard let context = owner.context else { throw owner.gone() }
        try context.loadMembers(of: relationship, owners: [owner])
    }

    /// Leaves out members whose deletion is being saved; the store has forgotten them.
    func forgetDeleted() {
        for member in members.objects where member.isDeleted { _ = members.remove(member, keepingOrder: true) }
    }

    /// Takes the store's members in, with the differences applied.
    func didLoad(_ stored: [ManagedObject]) {
        var list = ObjectList(stored)
        if let differences {
            if !differences.removed.isEmpty { list = ObjectList(stored.filter { !differences.removed.contains($0) }) }
            // An unordered list drops duplicates only where the differences could bring them.
            for object in differences.added.objects { _ = list.append(object) }
        }
        members = list
        isLoaded = true
    }

    func all() throws -> [ManagedObject] {
        try load()
        return members.objects
    }

    func count() throws -> Int {
        try load()
        return members.count
    }

    func contains(_ object: ManagedObject) throws -> Bool {
        if differences?.added.contains(object) == true { return true }
        try load()
        return members.contains(object)
    }

    // MARK: One side of a change; the caller keeps the inverse right

    /// Makes an object a member, at the end. False when it was one, as far as is known without the store.
    @discardableResult
    func take(_ object: ManagedObject) -> Bool {
        if isLoaded, !members.append(object) { return false }
        noteAdded(object)
        return true
    }

    /// Makes an object a member whose own side of the pair is new. The list of an owner that was never saved is complete and
    /// agrees with the other sides, so that nothing needs to be searched.
    func admit(_ object: ManagedObject) {
        guard isFresh, isLoaded else {
            take(object)
            return
        }
        members.append(new: object)
        noteAdded(object)
    }

    /// Room for members that are about to come.
    func reserve(_ more: Int) { if members.isEmpty { members.reserve(more) } }

    /// Ends an object's membership.
    func drop(_ object: ManagedObject) {
        if isLoaded, !members.remove(object, keepingOrder: relationship.isOrdered) { return }
        noteRemoved(object)
    }

    private func noteAdded(_ object: ManagedObject) {
        owner.willChangeMembers()
        if relationship.isOrdered { isOrderChanged = true }
        if isFresh { return }
        let differences = ownDifferences()
        if !differences.removed.remove(object, keepingOrder: false) { _ = differences.added.append(object) }
    }

    private func noteRemoved(_ object: ManagedObject) {
        owner.willChangeMembers()
        if isFresh { return }
        let differences = ownDifferences()
        if !differences.added.remove(object, keepingOrder: true) { _ = differences.removed.append(object) }
    }

    /// Places an object that is no member yet, or moves one that is.
    func place(_ object: ManagedObject, at index: Int) {
        let isMember = members.contains(object)
        if isMember { _ = members.remove(object, keepingOrder: true) }
        members.insert(object, at: min(index, members.count))
        if isMember { owner.willChangeMembers() } else { noteAdded(object) }
        isOrderChanged = true
    }

    /// Puts the members in a new order; `objects` are the same members.
    func arrange(_ objects: [ManagedObject]) {
        members = ObjectList(objects)
        isOrderChanged = true
        owner.willChangeMembers()
    }
}
