/// The changes of a context since a tracker last processed them.
struct PendingResultsChanges {
    private(set) var touched: [ManagedObject] = []
    /// The saved objects. They may have a new ID or values that the store computed.
    private(set) var saved: [ManagedObject] = []
    private(set) var merged: [ChangedIDs] = []
    /// The slots of the changed properties of touched objects, if they are known.
    private(set) var slots: [ObjectIdentifier: Set<Int>] = [:]
    /// Whether the changes are unknown.
    var isEverything = false

    var isEmpty: Bool { touched.isEmpty && saved.isEmpty && merged.isEmpty && !isEverything }

    mutating func add(_ changes: ContextChanges) {
        touched += changes.inserted + changes.updated + changes.deleted + changes.refreshed + changes.invalidated
        merged += changes.merged
        slots.merge(changes.slots) { $0.union($1) }
        let unknown = changes.inserted + changes.refreshed + changes.invalidated
        if !slots.isEmpty { for object in unknown { slots[ObjectIdentifier(object)] = nil } }
        if changes.isEverything { isEverything = true }
    }

    mutating func noteRenamed(_ object: ManagedObject) { saved.append(object) }

    /// Adds the changes of a save.
    ///
    /// - Parameter all: Whether to include updated and deleted objects, which were already reported when they changed.
    mutating func addSaved(_ changes: ContextChanges, all: Bool) {
        saved += changes.inserted
        if all { saved += changes.updated + changes.deleted }
    }
}
