/// An index of the positions of a list's objects, by address.
///
/// The index stores each object's rank: the position that the object would have if no object had been removed. Removals
/// from the middle are counted in a tree, so that they do not change the ranks of other objects.
final class PositionIndex {
    private let table = KeyTable()
    /// The number of removed objects by rank, as a binary indexed tree.
    ///
    /// Empty until an object is removed from the middle.
    private var removals: [Int32] = []
    private var removedCount = 0
    /// Whether objects were inserted in the middle or moved, so that positions are unknown.
    private(set) var isStale = false
    private var searches = 0
    private static let mostSearches = 3

    init(_ objects: [ManagedObject]) {
        table.reserve(objects.count)
        for (rank, object) in objects.enumerated() { set(object, rank: rank) }
    }

    /// Returns the key of an object. Addresses of objects are multiples of 16 and not 0.
    private func key(_ object: ManagedObject) -> Int64 { Int64(UInt(bitPattern: ObjectIdentifier(object)) >> 4) }
    private func rank(of object: ManagedObject) -> Int? { table.find(key(object)).map { Int(bitPattern: $0) - 1 } }

    /// Stores the rank of an object.
    ///
    /// The value is the rank plus one as the bits of a pointer, because a stored pointer must not be 0.
    private func set(_ object: ManagedObject, rank: Int) {
        if let bits = UnsafeMutableRawPointer(bitPattern: rank + 1) { table.set(key(object), bits) }
    }

    // MARK: Places

    func contains(_ object: ManagedObject) -> Bool { table.find(key(object)) != nil }

    /// Returns the position of an object. The index must not be stale.
    func place(of object: ManagedObject) -> Int? { rank(of: object).map { $0 - removedBefore($0) } }

    /// Records that the positions changed, except those of removed objects.
    func becomeStale() { (isStale, searches) = (true, 0) }

    /// Adds an object in the middle.
    func insert(_ object: ManagedObject) {
        set(object, rank: 0)
        becomeStale()
    }

    /// Whether the next position should be searched for in the list itself.
    ///
    /// After some searches without a change in between, a new index is worth its construction.
    func prefersSearch() -> Bool {
        searches += 1
        return searches <= PositionIndex.mostSearches
    }

    /// Adds an object after `count` objects.
    func append(_ object: ManagedObject, count: Int) { set(object, rank: count + removedCount) }

    /// Adds an object after `count` objects. Returns false if it is already in the index.
    func enter(_ object: ManagedObject, count: Int) -> Bool {
        guard let bits = UnsafeMutableRawPointer(bitPattern: count + removedCount + 1) else { return false }
        return table.setIfAbsent(key(object), bits)
    }

    /// Removes the last of `count` objects.
    func removeLast(_ object: ManagedObject, count: Int) -> Bool {
        isStale || removedCount == 0 ? forget(object) : remove(object, count: count)
    }

    /// Removes one of `count` objects. The positions of the objects after it decrease.
    ///
    /// Returns false if the index cannot record the removal and must be discarded.
    func remove(_ object: ManagedObject, count: Int) -> Bool {
        if isStale { return forget(object) }
        guard let rank = rank(of: object) else { return false }
        // The tree has room for twice as many ranks, so that objects can be appended before it is too small.
        if removals.isEmpty { removals = [Int32](repeating: 0, count: 2 * count + 1) }
        var node = rank + 1
        if node >= removals.count { return false }
        while node < removals.count {
            removals[node] += 1
            node += node & -node
        }
        removedCount += 1
        return forget(object)
    }

    /// Replaces a removed object with the last of `count` objects.
    func replace(_ object: ManagedObject, byLast last: ManagedObject, count: Int) -> Bool {
        if isStale { return forget(object) }
        guard let rank = rank(of: object), removeLast(last, count: count) else { return false }
        set(last, rank: rank)
        return forget(object)
    }

    private func forget(_ object: ManagedObject) -> Bool {
        table.remove(key(object))
        return true
    }

    private func removedBefore(_ rank: Int) -> Int {
        if removedCount == 0 { return 0 }
        var (node, sum) = (min(rank, removals.count - 1), 0)
        while node > 0 {
            sum += Int(removals[node])
            node -= node & -node
        }
        return sum
    }
}
