/// What a store's own saves wrote since the watch last looked, so that it is not taken for somebody else's.
struct OwnWrites {
    /// What one save writes.
    struct Save {
        /// The number of its transaction in the history.
        var transaction: Int64?
        /// The keys that it handed out, by the index of the root entity.
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

    /// Forgets what will not be asked for again: transactions up to a number, keys of a tree up to one.
    mutating func forget(transactionsTo number: Int64) { transactions.remove(upTo: number) }
    mutating func forget(keysTo key: Int64, of root: UInt32) { keys[root]?.remove(upTo: key) }
}

/// Numbers that are mostly handed out one after the other.
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
