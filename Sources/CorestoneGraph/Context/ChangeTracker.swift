import CPlatform
import CorestoneModel

/// The unsaved changes of a context: the inserted, updated and deleted objects, in the order of the changes.
///
/// An object stays in its list when its change is reverted. Readers skip such objects by their flags, such as
/// `isInserted`. The flags `listedInserted`, `listedUpdated` and `listedDeleted` specify which lists contain an object.
/// `ChangeTracker+Invariants.swift` lists the invariants.
final class ChangeTracker {
    /// The context, which owns the change tracker.
    unowned(unsafe) private(set) var context: Context!

    /// The word by which other threads see whether there are changes; see `Context.owner`.
    private let hasChangesWord: UnsafeMutablePointer<UInt64>

    init(owner: UnsafeMutablePointer<UInt64>) { hasChangesWord = owner + 2 }

    /// Attaches the change tracker to its context. Called once, when the context is created.
    func attach(to context: Context) { self.context = context }

    private(set) var inserted: [ManagedObject] = []
    private(set) var updated: [ManagedObject] = []
    private(set) var deleted: [ManagedObject] = []
    /// The changes since pending changes were last processed.
    var event = Event()

    /// The stores to which the application assigned inserted objects.
    private(set) var assignedStores: [ObjectIdentifier: Store] = [:]
    /// Keys that custom stores returned in saves that then failed, by temporary reference.
    ///
    /// The next save uses these keys again.
    var reservedKeys: [Int64: (store: Store, key: Int64)] = [:]

    /// Deleted objects whose delete rules have not been applied.
    var pendingDeletions: [ManagedObject] = []
    /// Deleted objects to which other objects may refer again after a refresh or a merge.
    ///
    /// Their delete rules are applied again by the next save.
    private(set) var reconnectedDeletions: [ManagedObject] = []

    /// Unchanged objects whose versions the next save checks; see `detectConflicts(for:)`.
    private(set) var locked: [ManagedObject] = []
    /// Deleted objects whose rows no longer exist, so that a save does not try to delete the rows.
    private var missingRowDeletions: Set<ObjectIdentifier> = []
    /// Objects whose deleted rows the save inserts again.
    private(set) var reinserted: [ManagedObject] = []

    /// Whether any list has an object whose change is still pending.
    var hasChanges: Bool {
        inserted.contains(where: \.isInserted) || updated.contains(where: \.isUpdated)
            || deleted.contains(where: \.isDeleted)
    }

    /// All objects of the three lists.
    var all: [ManagedObject] { inserted + updated + deleted }

    /// Lists an inserted object.
    func noteInserted(_ object: ManagedObject) {
        if object.state.contains(.listedInserted) { return }
        object.state.formUnion([.listedInserted, .touched])
        inserted.append(object)
        setHasChanges()
    }

    /// Lists an updated object.
    func noteUpdated(_ object: ManagedObject) {
        if object.state.contains(.listedUpdated) { return }
        object.state.insert(.listedUpdated)
        updated.append(object)
        setHasChanges()
    }

    /// Lists a deleted object.
    func noteDeleted(_ object: ManagedObject) {
        if object.state.contains(.listedDeleted) { return }
        object.state.insert(.listedDeleted)
        deleted.append(object)
        setHasChanges()
    }

    /// Assigns a store to an inserted object.
    func assign(_ store: Store, to object: ManagedObject) { assignedStores[ObjectIdentifier(object)] = store }

    /// Lists a deleted object to which other objects may refer again.
    func noteReconnected(_ object: ManagedObject) { reconnectedDeletions.append(object) }

    /// Removes and returns the deleted objects to which other objects may refer again.
    func takeReconnectedDeletions() -> [ManagedObject] {
        defer { reconnectedDeletions = [] }
        return reconnectedDeletions
    }

    /// Lists an unchanged object whose version the next save checks.
    func noteLocked(_ object: ManagedObject) { locked.append(object) }

    /// Records that the row of a deleted object no longer exists.
    func noteMissingRow(_ object: ManagedObject) { missingRowDeletions.insert(ObjectIdentifier(object)) }

    /// Lists an object whose deleted row the save inserts again.
    func noteReinserted(_ object: ManagedObject) { reinserted.append(object) }

    private func setHasChanges() { platform_store64(hasChangesWord, 1) }

    /// Returns the primary key that the next save uses for an object, or the temporary key if it is unknown.
    ///
    /// A key from a failed save is reused.
    func keyForSave(_ object: ManagedObject) -> Int64 {
        reservedKeys.isEmpty
            ? object.primaryKey : reservedKeys[object.primaryKey]?.key ?? object.primaryKey
    }

    /// Whether the row of a deleted object is already deleted in the store.
    func isRowDeleted(_ object: ManagedObject) -> Bool {
        !missingRowDeletions.isEmpty
            && missingRowDeletions.contains(ObjectIdentifier(object))
    }

    /// Empties the lists of changed objects, and begins a new event.
    func clear() {
        context.checkInvariants()
        forgetEvent()
        removeAll()
        platform_store64(hasChangesWord, 0)
        context.undoRecorder?.stamp += 1
    }

    private func removeAll() {
        for object in inserted { object.state.remove(.listedInserted) }
        for object in updated { object.state.remove(.listedUpdated) }
        for object in deleted { object.state.remove(.listedDeleted) }
        for object in locked { object.state.remove(.locked) }
        (inserted, updated, deleted) = ([], [], [])
        event = Event()
        (assignedStores, reservedKeys) = ([:], [:])
        (pendingDeletions, reconnectedDeletions) = ([], [])
        (locked, missingRowDeletions, reinserted) = ([], [], [])
    }

    /// Discards the entries of a removed store, and of objects that left the context.
    ///
    /// The lists of inserted, updated and deleted objects do not change, because their readers skip such objects.
    func removeGone(in store: Store) {
        pendingDeletions.removeAll(where: \.isGone)
        reconnectedDeletions.removeAll(where: \.isGone)
        locked.removeAll(where: \.isGone)
        reinserted.removeAll(where: \.isGone)
        reservedKeys = reservedKeys.filter { $0.value.store !== store }
        assignedStores = assignedStores.filter { $0.value !== store }
        event.forgetGone()
    }
}
