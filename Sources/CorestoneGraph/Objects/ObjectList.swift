/// A list of distinct objects with fast membership tests.
///
/// A short list is searched linearly. A longer list has an index of addresses, which is built for the first search.
struct ObjectList {
    private(set) var objects: [ManagedObject] = []
    /// The positions in `objects`; nil until a search needs them, or after a change that cannot update them. After an
    /// insertion in the middle, only membership is known until several positions are searched.
    private var index: PositionIndex?
    /// Whether the index exists. For tests.
    var isIndexed: Bool { index != nil }

    private static let searched = 12

    init() {}

    init(_ objects: [ManagedObject]) { self.objects = objects }

    var count: Int { objects.count }
    var isEmpty: Bool { objects.isEmpty }

    mutating func place(of object: ManagedObject) -> Int? {
        if objects.count <= ObjectList.searched { return objects.firstIndex { $0 === object } }
        var index = ownIndex()
        if index.isStale {
            if !index.contains(object) { return nil }
            if index.prefersSearch() { return objects.firstIndex { $0 === object } }
            index = PositionIndex(objects)
            self.index = index
        }
        return index.place(of: object)
    }

    /// Returns an index that is not shared. A copy of the list shares the index until either list is searched.
    private mutating func ownIndex() -> PositionIndex {
        if isKnownUniquelyReferenced(&index), let index { return index }
        let fresh = PositionIndex(objects)
        index = fresh
        return fresh
    }

    mutating func contains(_ object: ManagedObject) -> Bool {
        if objects.count <= ObjectList.searched { return objects.contains { $0 === object } }
        return ownIndex().contains(object)
    }

    /// Appends an object. Returns false if it is already a member.
    mutating func append(_ object: ManagedObject) -> Bool {
        let place = objects.count
        if place > ObjectList.searched || index != nil {
            if !ownIndex().enter(object, count: place) { return false }
        } else if objects.contains(where: { $0 === object }) {
            return false
        }
        objects.append(object)
        return true
    }

    /// Appends an object that is not a member. Neither searches the list nor builds an index.
    mutating func append(new object: ManagedObject) {
        if index != nil { ownIndex().append(object, count: objects.count) }
        objects.append(object)
    }

    /// Returns a list of the same objects: those of `order` first, in that order, and the others after them.
    func ordered(like order: [ManagedObject]) -> ObjectList {
        var (own, known) = (self, ObjectList(order))
        return ObjectList(order.filter { own.contains($0) } + objects.filter { !known.contains($0) })
    }

    mutating func reserve(_ count: Int) { objects.reserveCapacity(count) }

    /// Inserts an object, which must not be in the list, at a position.
    mutating func insert(_ object: ManagedObject, at place: Int) {
        if place == objects.count { return append(new: object) }
        objects.insert(object, at: place)
        correctIndex {
            $0.insert(object)
            return true
        }
    }

    /// Moves an object to a position in the resulting list.
    mutating func move(from former: Int, to place: Int) {
        objects.insert(objects.remove(at: former), at: place)
        correctIndex {
            $0.becomeStale()
            return true
        }
    }

    /// Removes an object. Returns false if the object is not a member.
    ///
    /// The remaining objects keep their order if `keepingOrder` is true.
    mutating func remove(_ object: ManagedObject, keepingOrder: Bool) -> Bool {
        guard let place = place(of: object) else { return false }
        let count = objects.count
        if place == count - 1 {
            objects.removeLast()
            correctIndex { $0.removeLast(object, count: count) }
        } else if keepingOrder {
            objects.remove(at: place)
            correctIndex { $0.remove(object, count: count) }
        } else {
            let last = objects.removeLast()
            objects[place] = last
            correctIndex { $0.replace(object, byLast: last, count: count) }
        }
        return true
    }

    /// Updates the index of this list, or discards it if it is shared or cannot be updated.
    private mutating func correctIndex(_ body: (PositionIndex) -> Bool) {
        guard isKnownUniquelyReferenced(&index), let own = index, body(own) else {
            index = nil
            return
        }
    }

    mutating func removeAll() { self = ObjectList() }
}
