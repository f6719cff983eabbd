import CorestoneModel

/// A list of distinct objects that are not in the identity map, with fast searches for an object and for an ID.
struct ObjectsByID: Sequence {
    private var list = ObjectList()
    /// The first object of each ID; nil until an ID is searched for, and after a removal.
    private var index: [ObjectID: ManagedObject]?

    init() {}

    var objects: [ManagedObject] { list.objects }
    var isEmpty: Bool { list.isEmpty }

    func makeIterator() -> IndexingIterator<[ManagedObject]> { list.objects.makeIterator() }

    mutating func append(_ object: ManagedObject) {
        guard list.append(object), index != nil else { return }
        enter(object)
    }

    private mutating func enter(_ object: ManagedObject) {
        let id = object.objectID
        if index?[id] == nil { index?[id] = object }
    }

    mutating func removeAll(where isUnwanted: (ManagedObject) throws -> Bool) rethrows {
        let kept = try objects.filter { try !isUnwanted($0) }
        if kept.count == list.count { return }
        (list, index) = (ObjectList(kept), nil)
    }

    mutating func contains(_ object: ManagedObject) -> Bool { list.contains(object) }

    /// Returns the first object in a context that has an ID.
    mutating func first(with id: ObjectID, in context: Context) -> ManagedObject? {
        if list.isEmpty { return nil }
        if index == nil {
            index = [:]
            for object in list.objects { enter(object) }
        }
        guard let found = index?[id] else { return nil }
        if found.context === context, found.objectID == id { return found }
        return list.objects.first { $0.context === context && $0.objectID == id }
    }
}
