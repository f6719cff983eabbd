/// The members that one object has in a relationship whose pairs no row tells, in order.
///
/// What is removed from a long list stays in it for a while, marked, so that it costs the same to remove from any list.
struct MemberList {
    private var all: [Int64] = []
    /// Of those in `all`.
    private var removed: Set<Int64> = []
    /// Those of a long list that are not removed.
    private var known: Set<Int64>?

    private static let short = 32

    init(_ keys: [Int64] = []) {
        all = keys
        if keys.count > MemberList.short { known = Set(keys) }
    }

    var keys: [Int64] { removed.isEmpty ? all : all.filter { !removed.contains($0) } }
    var count: Int { all.count - removed.count }

    /// At the end, unless it is there already.
    mutating func add(_ key: Int64) {
        // What comes back stands at the end.
        if removed.contains(key) { compact() }
        if let isNew = known?.insert(key).inserted {
            if isNew { all.append(key) }
            return
        }
        if all.contains(key) { return }
        all.append(key)
        if all.count > MemberList.short { known = Set(all) }
    }

    mutating func remove(_ key: Int64) {
        guard known != nil else { return all.removeAll { $0 == key } }
        guard known?.remove(key) != nil else { return }
        removed.insert(key)
        if removed.count > MemberList.short && removed.count * 2 > all.count { compact() }
    }

    private mutating func compact() {
        all.removeAll { removed.contains($0) }
        removed = []
    }
}
