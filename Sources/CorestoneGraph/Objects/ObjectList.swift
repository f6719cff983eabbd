/// A list of distinct objects that knows its members quickly.
///
/// Up to a few members it is searched; beyond that an index of addresses is kept, built when it is first asked for.
struct ObjectList {
    private(set) var objects: [ManagedObject] = []
    /// Places in `objects`; nil until needed or after the order changed.
    private var index: PlaceIndex?

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
            if !ownIndex().enter(object, place: place) { return false }
        } else if objects.contains(where: { $0 === object }) {
            return false
        }
        objects.append(object)
        return true
    }

    /// Adds an object that the caller knows to be no member. Nothing is searched, and no index is built for it.
    mutating func append(new object: ManagedObject) {
        if index != nil { ownIndex().set(object, place: objects.count) }
        objects.append(object)
    }

    /// The same objects, those that `order` has first and in its order.
    func ordered(like order: [ManagedObject]) -> ObjectList {
        var (own, known) = (self, ObjectList(order))
        return ObjectList(order.filter { own.contains($0) } + objects.filter { !known.contains($0) })
    }

    mutating func reserve(_ count: Int) { objects.reserveCapacity(count) }

    mutating func insert(_ object: ManagedObject, at place: Int) {
        objects.insert(object, at: place)
        index = nil
    }

    /// Takes an object out; the others keep their order when `keepingOrder`. False when it is no member.
    mutating func remove(_ object: ManagedObject, keepingOrder: Bool) -> Bool {
        guard let place = place(of: object) else { return false }
        if keepingOrder || place == objects.count - 1 {
            objects.remove(at: place)
            if place == objects.count, index != nil { ownIndex().remove(object) } else { index = nil }
        } else {
            let last = objects.removeLast()
            objects[place] = last
            if index != nil {
                let own = ownIndex()
                own.remove(object)
                own.set(last, place: place)
            }
        }
        return true
    }

    mutating func removeAll() { self = ObjectList() }
}

/// Places of objects by their address.
private final class PlaceIndex {
    private let table = KeyTable()

    init(_ objects: [ManagedObject]) {
        table.reserve(objects.count)
        for (place, object) in objects.enumerated() { set(object, place: place) }
    }

    /// Objects lie at multiples of 16, and no object at 0.
    private func key(_ object: ManagedObject) -> Int64 { Int64(UInt(bitPattern: ObjectIdentifier(object)) >> 4) }

    /// A place is kept as the bits of a pointer, one up, since a pointer is never 0.
    func set(_ object: ManagedObject, place: Int) {
        if let bits = UnsafeMutableRawPointer(bitPattern: place + 1) { table.set(key(object), bits) }
    }
    /// False when the object has a place.
    func enter(_ object: ManagedObject, place: Int) -> Bool {
        guard let bits = UnsafeMutableRawPointer(bitPattern: place + 1) else { return false }
        return table.setIfAbsent(key(object), bits)
    }
    func place(of object: ManagedObject) -> Int? { table.find(key(object)).map { Int(bitPattern: $0) - 1 } }
    func remove(_ object: ManagedObject) { table.remove(key(object)) }
}
