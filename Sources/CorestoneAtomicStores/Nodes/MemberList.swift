/// The ordered members of one object in a relationship whose members, or whose order, rows do not store.
///
/// Members that are removed from a long list are only marked at first, so that a removal runs in amortised constant
/// time.
struct MemberList {
    private var all: [Int64] = []
    /// Removed keys that are still in `all`.
    private var removed: Set<Int64> = []
    /// The remaining members of a long list; nil for a list that was always short.
    private var known: Set<Int64>?

    private static let short = 32

    init(_ keys: [Int64] = []) {
        all = keys
        if keys.count > MemberList.short { known = Set(keys) }
    }

    var keys: [Int64] { removed.isEmpty ? all : all.filter { !removed.contains($0) } }
    var count: Int { all.count - removed.count }

    /// Adds a key at the end, unless it is already a member.
    mutating func add(_ key: Int64) {
        // A removed member that is added again is placed at the end.
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
