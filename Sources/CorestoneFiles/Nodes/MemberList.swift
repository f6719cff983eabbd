/// The members that one object has in a relationship whose pairs no row tells, in order.
struct MemberList {
    private(set) var keys: [Int64] = []
    /// Of a long list.
    private var known: Set<Int64>?

    private static let short = 32

    init(_ keys: [Int64] = []) {
        self.keys = keys
        if keys.count > MemberList.short { known = Set(keys) }
    }

    /// At the end, unless it is there already.
    mutating func add(_ key: Int64) {
        if let isNew = known?.insert(key).inserted {
            if isNew { keys.append(key) }
            return
        }
        if keys.contains(key) { return }
        keys.append(key)
        if keys.count > MemberList.short { known = Set(keys) }
    }

    mutating func remove(_ gone: Set<Int64>) {
        keys.removeAll { gone.contains($0) }
        known?.subtract(gone)
    }
}
