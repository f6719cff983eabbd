/// A group of primary keys that one statement reads: a single key, a list or a range.
enum KeyPart {
    case one(Int64)
    /// A list of at most as many keys as the largest of `capacities`.
    case list(ArraySlice<Int64>)
    /// Consecutive keys without gaps, so that only requested rows are read.
    case span(ClosedRange<Int64>)

    /// The capacities of the list statements; a list uses the smallest one that suffices.
    ///
    /// Two keys in a list of ten need 7 µs, twice the time of two statements with one key (SQLite alone, prepared
    /// statements). From about 30 keys, a list is faster.
    static let capacities = [10, 32, 100]
    /// The maximum number of keys in a list.
    static let most = 100
    /// The maximum number of keys that one statement reads regardless of gaps.
    private static let few = 32
    /// The minimum length of a span that is split from other keys.
    private static let shortestSpan = 8

    /// Divides keys into parts.
    ///
    /// The keys may be in any order, and duplicates are removed. A small number of keys forms one part: a span or a
    /// list.
    static func parts(of keys: [Int64]) -> [KeyPart] {
        if keys.count == 1 { return [.one(keys[0])] }
        let isAscending = zip(keys, keys.dropFirst()).allSatisfy { $0 < $1 }
        let keys =
            isAscending ? keys : keys.sorted().reduce(into: []) { if $0.last != $1 { $0.append($1) } }
        guard let first = keys.first, let last = keys.last else { return [] }
        if keys.count == 1 { return [.one(first)] }
        if last &- first == Int64(keys.count - 1) { return [.span(first...last)] }
        if keys.count <= few { return [.list(keys[...])] }
        var (parts, rest): ([KeyPart], [Int64]) = ([], [])
        var start = 0
        while start < keys.count {
            var end = start + 1
            while end < keys.count, keys[end] == keys[end - 1] &+ 1 { end += 1 }
            if end - start < shortestSpan {
                rest += keys[start..<end]
            } else {
                parts.append(.span(keys[start]...keys[end - 1]))
            }
            start = end
        }
        for start in stride(from: 0, to: rest.count, by: most) {
            let list = rest[start..<min(start + most, rest.count)]
            parts.append(list.count == 1 ? .one(list[start]) : .list(list))
        }
        return parts
    }

    /// The capacity of a list's statement; 0 for other parts.
    var capacity: Int {
        guard case .list(let keys) = self else { return 0 }
        return KeyPart.capacities.first { $0 >= keys.count } ?? KeyPart.most
    }

    private static let marks = Dictionary(
        uniqueKeysWithValues: capacities.map {
            ($0, "IN (" + Array(repeating: "?", count: $0).joined(separator: ", ") + ")")
        })

    /// The condition on the key column in a statement.
    var condition: String {
        switch self {
        case .one: "= ?"
        case .list: KeyPart.marks[capacity] ?? "IN ()"
        case .span: "BETWEEN ? AND ?"
        }
    }

    /// Binds the keys to a statement that contains the condition `times` times.
    func bind(to statement: Statement, times: Int) {
        var place: Int32 = 1
        func bind(_ key: Int64) {
            statement.bind(key, at: place)
            place += 1
        }
        for _ in 0..<times {
            switch self {
            case .one(let key): bind(key)
            case .list(let keys):
                // An incomplete list is filled with its first key, which does not change the result.
                for offset in 0..<capacity {
                    bind(keys[keys.startIndex + (offset < keys.count ? offset : 0)])
                }
            case .span(let keys):
                bind(keys.lowerBound)
                bind(keys.upperBound)
            }
        }
    }
}
