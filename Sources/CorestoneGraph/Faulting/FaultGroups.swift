import CorestoneModel

/// The groups of faults that were fetched together. If a fault fires, others of its group are loaded too.
struct FaultGroups {
    /// The number of faults in groups, 8 bytes each, above which old groups are removed.
    private static let limit = 1 << 20

    private var groups: [UInt32: FaultGroup] = [:]
    private var lastGroup: UInt32 = 0
    /// The number of the oldest group that may still exist.
    private var oldestGroup: UInt32 = 1
    /// The number of keys in all groups.
    private var groupedCount = 0

    /// Returns a group by its number; nil for 0, which stands for no group, and for a removed group.
    func group(_ number: UInt32) -> FaultGroup? { number == 0 ? nil : groups[number] }

    /// Records faults that were fetched together, so that a fault that fires loads others of the group.
    mutating func group(_ faults: [ManagedObject], root: Entity, store: Store) {
        guard faults.count > 1 else { return }
        lastGroup &+= 1
        if lastGroup == 0 { lastGroup = 1 }
        groups[lastGroup] = FaultGroup(root: root, store: store, primaryKeys: faults.map(\.primaryKey))
        for fault in faults { fault.faultGroup = lastGroup }
        groupedCount += faults.count
        removeOldGroups()
    }

    /// Stores the position up to which a group was read, or removes a group that was read completely.
    mutating func update(_ group: FaultGroup, _ number: UInt32) {
        if group.position < group.primaryKeys.count {
            groups[number] = group
        } else {
            groups[number] = nil
            groupedCount -= group.primaryKeys.count
        }
    }

    /// Removes the oldest groups, because their faults may never fire. A fault without its group fires alone.
    private mutating func removeOldGroups() {
        while groupedCount > FaultGroups.limit, oldestGroup != lastGroup {
            if let old = groups.removeValue(forKey: oldestGroup) { groupedCount -= old.primaryKeys.count }
            oldestGroup &+= 1
        }
    }

    mutating func removeAll() {
        groups = [:]
        groupedCount = 0
        oldestGroup = lastGroup &+ 1
    }
}

/// Faults that were fetched together without rows, by primary key.
struct FaultGroup {
    let root: Entity
    let store: Store
    var primaryKeys: [Int64]
    /// The index of the next key to read.
    var position = 0
}
