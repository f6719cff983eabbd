/// A set of keys, optimised for insertion and reading in ascending order.
struct KeySet {
    private var keys: [Int64] = []
    /// Removed keys that are still in `keys`.
    private var removed: Set<Int64> = []
    private var isSorted = true

    var count: Int { keys.count - removed.count }

    /// Adds a key that is not in the set.
    mutating func insert(_ key: Int64) {
        if !removed.isEmpty, removed.remove(key) != nil { return }
        if let last = keys.last, key < last { isSorted = false }
        keys.append(key)
    }

    /// Removes a key that is in the set.
    mutating func remove(_ key: Int64) {
        if keys.last == key {
            keys.removeLast()
            return
        }
        removed.insert(key)
        if removed.count > 32 && removed.count * 2 > keys.count { compact() }
    }

    /// Returns the keys in ascending order.
    mutating func sorted() -> [Int64] {
        if !removed.isEmpty { compact() }
        if !isSorted {
            keys.sort()
            isSorted = true
        }
        return keys
    }

    private mutating func compact() {
        keys.removeAll { removed.contains($0) }
        removed = []
    }
}
