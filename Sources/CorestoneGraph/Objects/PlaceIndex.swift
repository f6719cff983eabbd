/// Places of the objects of one list by their address.
///
/// What is kept is each object's rank: its place as if nobody had left. Those that leave the middle are counted in a tree, so
/// that no rank changes when one does.
final class PlaceIndex {
    private let table = KeyTable()
    /// How many left, by rank, as a binary indexed tree; empty until one leaves the middle.
    private var left: [Int32] = []
    private var leftCount = 0

    init(_ objects: [ManagedObject]) {
        table.reserve(objects.count)
        for (rank, object) in objects.enumerated() { set(object, rank: rank) }
    }

    /// Objects lie at multiples of 16, and no object at 0.
    private func key(_ object: ManagedObject) -> Int64 { Int64(UInt(bitPattern: ObjectIdentifier(object)) >> 4) }
    private func rank(of object: ManagedObject) -> Int? { table.find(key(object)).map { Int(bitPattern: $0) - 1 } }

    /// A rank is kept as the bits of a pointer, one up, since a pointer is never 0.
    private func set(_ object: ManagedObject, rank: Int) {
        if let bits = UnsafeMutableRawPointer(bitPattern: rank + 1) { table.set(key(object), bits) }
    }

    // MARK: Places

    func place(of object: ManagedObject) -> Int? { rank(of: object).map { $0 - leftBefore($0) } }

    /// Enters an object behind all `count` that there are.
    func append(_ object: ManagedObject, count: Int) { set(object, rank: count + leftCount) }

    /// The same; false when the object has a place.
    func enter(_ object: ManagedObject, count: Int) -> Bool {
        guard let bits = UnsafeMutableRawPointer(bitPattern: count + leftCount + 1) else { return false }
        return table.setIfAbsent(key(object), bits)
    }

    /// The last of `count` objects leaves.
    func removeLast(_ object: ManagedObject, count: Int) -> Bool {
        leftCount == 0 ? forget(object) : remove(object, count: count)
    }

    /// One of `count` objects leaves, those behind it move up. False when that is too much for the index, which is of no use
    /// then.
    func remove(_ object: ManagedObject, count: Int) -> Bool {
        guard let rank = rank(of: object) else { return false }
        // Room for as many again: an index that is made anew serves half its size at least.
        if left.isEmpty { left = [Int32](repeating: 0, count: 2 * count + 1) }
        var node = rank + 1
        if node >= left.count { return false }
        while node < left.count {
            left[node] += 1
            node += node & -node
        }
        leftCount += 1
        return forget(object)
    }

    /// The last of `count` objects takes the place of one that leaves.
    func replace(_ object: ManagedObject, byLast last: ManagedObject, count: Int) -> Bool {
        guard let rank = rank(of: object), removeLast(last, count: count) else { return false }
        set(last, rank: rank)
        return forget(object)
    }

    private func forget(_ object: ManagedObject) -> Bool {
        table.remove(key(object))
        return true
    }

    private func leftBefore(_ rank: Int) -> Int {
        if leftCount == 0 { return 0 }
        var (node, sum) = (min(rank, left.count - 1), 0)
        while node > 0 {
            sum += Int(left[node])
            node -= node & -node
        }
        return sum
    }
}
