/// The writes of a store's own saves since the last read of the watcher, which does not report them as remote changes.
struct OwnWrites {
    /// The writes of one save.
    struct Save {
        /// The number of the save's transaction in the history.
        var transaction: Int64?
        /// The assigned primary keys, by the index of the root entity.
        var keys: [(root: UInt32, keys: ClosedRange<Int64>)] = []
    }

    private var transactions = KeyRanges()
    private var keys: [UInt32: KeyRanges] = [:]

    mutating func add(_ save: Save) {
        if let number = save.transaction { transactions.add(number...number) }
        for (root, range) in save.keys { keys[root, default: KeyRanges()].add(range) }
    }

    func has(transaction: Int64) -> Bool { transactions.contains(transaction) }
    func has(_ key: Int64, of root: UInt32) -> Bool { keys[root]?.contains(key) == true }

    /// Removes obsolete writes: transactions up to a number, or keys of an entity tree up to a primary key.
    mutating func forget(transactionsTo number: Int64) { transactions.remove(upTo: number) }
    mutating func forget(keysTo key: Int64, of root: UInt32) { keys[root]?.remove(upTo: key) }
}

/// A set of numbers that are mostly consecutive.
private struct KeyRanges {
    private var ranges: [ClosedRange<Int64>] = []

    mutating func add(_ range: ClosedRange<Int64>) {
        if let last = ranges.last, last.upperBound + 1 == range.lowerBound {
            ranges[ranges.count - 1] = last.lowerBound...range.upperBound
        } else {
            ranges.append(range)
        }
    }

    func contains(_ key: Int64) -> Bool { ranges.contains { $0.contains(key) } }

    mutating func remove(upTo key: Int64) { ranges.removeAll { $0.upperBound <= key } }
}
