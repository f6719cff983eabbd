/// The order keys of an ordered to-many relationship (`Z_FOK_…`).
///
/// They are ascending and sparse, so that moving or inserting one member usually rewrites one key. If no gap is left,
/// all members are renumbered.
enum OrderKeys {
    static let first: Int64 = 2048
    static let step: Int64 = 1024
    /// Core Data stores the keys in 32 bits.
    static let limit: Int64 = Int64(Int32.max)

    /// Returns the changes that bring the members into the given order.
    ///
    /// - Parameter keys: The present key of each member in the new order; nil for a member without a key.
    /// - Returns: The index and new key of each member whose key changes.
    static func changes(_ keys: [Int64?]) -> [(place: Int, key: Int64)] {
        let kept = longestAscending(keys)
        var changes: [(place: Int, key: Int64)] = []
        var previous: Int64 = 0
        var place = 0
        var next = 0
        while place < keys.count {
            if next < kept.count, kept[next] == place {
                previous = keys[place] ?? previous
                next += 1
                place += 1
                continue
            }
            // A run of members that need keys, between two members that keep theirs.
            let end = next < kept.count ? kept[next] : keys.count
            let count = Int64(end - place)
            if next < kept.count, let upper = keys[end] {
                let gap = (upper - previous) / (count + 1)
                guard gap >= 1 else { return renumbered(keys) }
                for offset in 0..<count { changes.append((place + Int(offset), previous + gap * (offset + 1))) }
            } else {
                let start = kept.isEmpty ? first : previous + step
                guard start <= limit - step * count else { return renumbered(keys) }
                for offset in 0..<count { changes.append((place + Int(offset), start + step * offset)) }
            }
            place = end
        }
        return changes
    }

    /// Assigns new keys to all members, and returns those that differ from the present keys.
    private static func renumbered(_ keys: [Int64?]) -> [(place: Int, key: Int64)] {
        // Only a list of more than two million members needs a smaller step.
        let span = limit - first
        let step = max(1, min(OrderKeys.step, span / Int64(max(keys.count, 1))))
        return keys.enumerated().compactMap { place, key in
            let fresh = first + step * Int64(place)
            return key == fresh ? nil : (place, fresh)
        }
    }

    /// Returns the indexes of the longest subsequence of members with ascending valid keys.
    private static func longestAscending(_ keys: [Int64?]) -> [Int] {
        /// For each length, the index of the last member of the ascending subsequence with the lowest last key.
        var ends: [Int] = []
        var before = [Int](repeating: -1, count: keys.count)
        for (place, key) in keys.enumerated() {
            guard let key, key > 0, key <= limit else { continue }
            var low = 0
            var high = ends.count
            while low < high {
                let middle = (low + high) / 2
                if let other = keys[ends[middle]], other < key { low = middle + 1 } else { high = middle }
            }
            before[place] = low > 0 ? ends[low - 1] : -1
            if low == ends.count { ends.append(place) } else { ends[low] = place }
        }
        var longest: [Int] = []
        var place = ends.last ?? -1
        while place >= 0 {
            longest.append(place)
            place = before[place]
        }
        return longest.reversed()
    }
}
