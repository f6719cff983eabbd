/// What happened in a context since a tracker last looked.
struct ResultsNews {
    private(set) var touched: [ManagedObject] = []
    /// Objects that a save gave other IDs, or values that the store computed.
    private(set) var saved: [ManagedObject] = []
    private(set) var merged: [ChangedIDs] = []
    /// What is known of which properties changed of the objects that were touched.
    private(set) var slots: [ObjectIdentifier: Set<Int>] = [:]
    /// Nobody knows what happened.
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

    /// - Parameter all: whether what was changed and deleted is news too, though it was told when it was done.
    mutating func addSaved(_ changes: ContextChanges, all: Bool) {
        saved += changes.inserted
        if all { saved += changes.updated + changes.deleted }
    }
}
