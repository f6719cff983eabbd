/// Keys as statements take them: one, a list, or all that there are from one to another.
enum KeyPart {
    case one(Int64)
    /// At most as many as the largest of `capacities`.
    case list(ArraySlice<Int64>)
    /// Keys that follow each other without a gap, so that no row comes that nobody asked for.
    case span(ClosedRange<Int64>)

    /// What the statements of lists have room for: a list takes the next larger one. Two keys in a list of ten cost twice what two
    /// statements of one key do, 7 µs and not 3 (SQLite alone, prepared statements); from about thirty keys a list costs less.
    static let capacities = [10, 32, 100]
    /// The most that one list has.
    static let most = 100
    /// So many keys make one statement, whatever gaps they have.
    private static let few = 32
    /// A shorter span is not worth a statement of its own.
    private static let shortestSpan = 8

    /// The parts of keys in any order; each key once. Few keys are one part: a span, or a list.
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

    /// The room of the statement of a list; 0 for other parts.
    var capacity: Int {
        guard case .list(let keys) = self else { return 0 }
        return KeyPart.capacities.first { $0 >= keys.count } ?? KeyPart.most
    }

    private static let marks = Dictionary(
        uniqueKeysWithValues: capacities.map {
            ($0, "IN (" + Array(repeating: "?", count: $0).joined(separator: ", ") + ")")
        })

    /// What a statement says of the column of the keys.
    var condition: String {
        switch self {
        case .one: "= ?"
        case .list: KeyPart.marks[capacity] ?? "IN ()"
        case .span: "BETWEEN ? AND ?"
        }
    }

    /// Binds the keys to a statement that has the condition so many times.
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
                // A list that is not full repeats its first key, which changes nothing.
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
