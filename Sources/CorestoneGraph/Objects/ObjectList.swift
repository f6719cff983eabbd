/// A list of distinct objects that knows its members quickly.
///
/// Up to a few members it is searched; beyond that an index of addresses is kept, built when it is first asked for.
struct ObjectList {
    private(set) var objects: [ManagedObject] = []
    /// Places in `objects` by address of the object; empty until needed or after the order changed.
    private var index: [ObjectIdentifier: Int] = [:]

    private static let searched = 12

    init() {}

    init(_ objects: [ManagedObject]) { self.objects = objects }

    var count: Int { objects.count }
    var isEmpty: Bool { objects.isEmpty }

    mutating func place(of object: ManagedObject) -> Int? {
        if objects.count <= ObjectList.searched { return objects.firstIndex { $0 === object } }
        if index.isEmpty { buildIndex() }
        return index[ObjectIdentifier(object)]
    }

    private mutating func buildIndex() {
        index.reserveCapacity(objects.count)
        for (place, object) in objects.enumerated() { index[ObjectIdentifier(object)] = place }
    }

    mutating func contains(_ object: ManagedObject) -> Bool { place(of: object) != nil }

    /// Adds at the end; false when it is a member already.
    mutating func append(_ object: ManagedObject) -> Bool {
        if contains(object) { return false }
        objects.append(object)
        if !index.isEmpty { index[ObjectIdentifier(object)] = objects.count - 1 }
        return true
    }

    mutating func insert(_ object: ManagedObject, at place: Int) {
        objects.insert(object, at: place)
        index = [:]
    }

    /// Takes an object out; the others keep their order when `keepingOrder`. False when it is no member.
    mutating func remove(_ object: ManagedObject, keepingOrder: Bool) -> Bool {
        guard let place = place(of: object) else { return false }
        if keepingOrder || place == objects.count - 1 {
            objects.remove(at: place)
            if place == objects.count { index[ObjectIdentifier(object)] = nil } else { index = [:] }
        } else {
            let last = objects.removeLast()
            objects[place] = last
            if !index.isEmpty {
                index[ObjectIdentifier(object)] = nil
                index[ObjectIdentifier(last)] = place
            }
        }
        return true
    }

    mutating func removeAll() { self = ObjectList() }
}
