/// A list of distinct objects that knows its members quickly.
///
/// Up to a few members it is searched; beyond that an index of addresses is kept, built when it is first asked for.
struct ObjectList {
    private(set) var objects: [ManagedObject] = []
    /// Places in `objects`; nil until needed or after one came into the middle.
    private var index: PlaceIndex?
    /// For tests: whether the next search needs no index to be made.
    var isIndexed: Bool { index != nil }

    private static let searched = 12

    init() {}

    init(_ objects: [ManagedObject]) { self.objects = objects }

    var count: Int { objects.count }
    var isEmpty: Bool { objects.isEmpty }

    mutating func place(of object: ManagedObject) -> Int? {
        if objects.count <= ObjectList.searched { return objects.firstIndex { $0 === object } }
        return ownIndex().place(of: object)
    }

    /// The index of this list alone: a copy of the list shares it until one of them changes.
    private mutating func ownIndex() -> PlaceIndex {
        if isKnownUniquelyReferenced(&index), let index { return index }
        let fresh = PlaceIndex(objects)
        index = fresh
        return fresh
    }

    mutating func contains(_ object: ManagedObject) -> Bool { place(of: object) != nil }

    /// Adds at the end; false when it is a member already.
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

    /// Adds an object that the caller knows to be no member. Nothing is searched, and no index is built for it.
    mutating func append(new object: ManagedObject) {
        if index != nil { ownIndex().append(object, count: objects.count) }
        objects.append(object)
    }

    /// The same objects, those that `order` has first and in its order.
    func ordered(like order: [ManagedObject]) -> ObjectList {
        var (own, known) = (self, ObjectList(order))
        return ObjectList(order.filter { own.contains($0) } + objects.filter { !known.contains($0) })
    }

    mutating func reserve(_ count: Int) { objects.reserveCapacity(count) }

    /// Puts an object that is no member at a place.
    mutating func insert(_ object: ManagedObject, at place: Int) {
        if place == objects.count { return append(new: object) }
        objects.insert(object, at: place)
        index = nil
    }

    /// Moves an object to the place that it has afterwards.
    mutating func move(from former: Int, to place: Int) {
        objects.insert(objects.remove(at: former), at: place)
        index = nil
    }

    /// Takes an object out; the others keep their order when `keepingOrder`. False when it is no member.
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

    /// Corrects the index of this list alone, or gives it up where it cannot be.
    private mutating func correctIndex(_ body: (PlaceIndex) -> Bool) {
        guard isKnownUniquelyReferenced(&index), let own = index, body(own) else {
            index = nil
            return
        }
    }

    mutating func removeAll() { self = ObjectList() }
}
