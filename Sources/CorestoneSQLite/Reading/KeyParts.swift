/// Keys as statements take them: one, a list, or all that there are from one to another.
enum KeyPart {
    case one(Int64)
    /// At most `most`.
    case list(ArraySlice<Int64>)
    /// Keys that follow each other without a gap, so that no row comes that nobody asked for.
    case span(ClosedRange<Int64>)

    /// What the statement of a list has room for.
    static let most = 100
    /// A shorter span is not worth a statement of its own.
    private static let shortestSpan = 8

    /// The parts of keys in any order; each key once.
    ///
    /// - Parameter shortestList: Fewer keys are asked for one by one: a list that is not full is as much work as a full one.
    static func parts(of keys: [Int64], shortestList: Int) -> [KeyPart] {
        if keys.count == 1 { return [.one(keys[0])] }
        let isAscending = zip(keys, keys.dropFirst()).allSatisfy { $0 < $1 }
        let keys =
            isAscending ? keys : keys.sorted().reduce(into: []) { if $0.last != $1 { $0.append($1) } }
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
        let left = rest.count % most < shortestList ? rest.count % most : 0
        for start in stride(from: 0, to: rest.count - left, by: most) {
            parts.append(.list(rest[start..<min(start + most, rest.count)]))
        }
        return parts + rest.suffix(left).map { KeyPart.one($0) }
    }

    private static let marks = "IN (" + Array(repeating: "?", count: most).joined(separator: ", ") + ")"

    /// What a statement says of the column of the keys.
    var condition: String {
        switch self {
        case .one: "= ?"
        case .list: KeyPart.marks
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
                for offset in 0..<KeyPart.most {
                    bind(keys[keys.startIndex + (offset < keys.count ? offset : 0)])
                }
            case .span(let keys):
                bind(keys.lowerBound)
                bind(keys.upperBound)
            }
        }
    }
}
