import CPlatform
import CorestoneModel
import CorestoneValues

/// The undo state of a context with an undo manager.
final class UndoRecorder: @unchecked Sendable {
    let manager: UndoManager
    private let lock = RecursiveLock(.leaf)
    /// The context; nil after it was deallocated. Guarded by the lock.
    private unowned(unsafe) var context: Context?
    /// The changes that other threads removed from the manager. Guarded by the lock.
    ///
    /// Only the context's thread may release their objects.
    private var forgotten: [[ObjectChange]] = []

    /// A number that is incremented by a save, and when objects change without being recorded.
    var stamp: UInt64 = 0
    /// The number of recorded events.
    var recorded: UInt64 = 0
    /// The number of the last event whose changes are no longer undone, for each refreshed object.
    var refreshed: [ObjectIdentifier: UInt64] = [:]
    /// The contents of objects that left the context within the event.
    var contents: [ObjectIdentifier: Contents] = [:]

    init(manager: UndoManager, context: Context) {
        self.manager = manager
        self.context = context
    }

    /// The context, if this thread may use it now.
    var usableContext: Context? {
        lock.with { context?.ownerThread == platform_thread_id() ? context : nil }
    }

    /// Returns the context for an action that is about to run; nil if the context was deallocated.
    ///
    /// - Throws: `.wrongThread` if the calling thread must not use the context.
    func requireContext() throws -> Context? {
        let context = lock.with { self.context }
        try context?.checkQueue()
        return context
    }

    /// Clears the reference to the context, which is being deallocated.
    func end() { lock.with { context = nil } }

    /// Retains objects until the context's next recording, if the calling thread must not release them.
    func deferRelease(of changes: [ObjectChange]) {
        lock.with {
            if let context, context.ownerThread != platform_thread_id() { forgotten.append(changes) }
        }
    }

    func releaseDeferred() {
        let objects = lock.with {
            defer { forgotten = [] }
            return forgotten
        }
        withExtendedLifetime(objects) {}
    }
}

/// The changes of one event of a context.
final class ContextUndo: UndoAction {
    private(set) var recorder: UndoRecorder
    let changes: [ObjectChange]
    /// The changed values of all objects, grouped by object in the order of `changes`.
    let values: [ChangedValue]
    /// The changed members, grouped like `values`.
    let members: [ChangedMembers]
    /// The recorder's stamp when the event was recorded.
    private(set) var stamp: UInt64
    /// The number of the event among the recorded events of the context, from 1.
    private(set) var number: UInt64

    init(
        _ recorder: UndoRecorder, _ changes: [ObjectChange], values: [ChangedValue], members: [ChangedMembers],
        stamp: UInt64
    ) {
        self.recorder = recorder
        self.changes = changes
        self.values = values
        self.members = members
        self.stamp = stamp
        recorder.recorded += 1
        number = recorder.recorded
        super.init(target: UInt(bitPattern: Unmanaged.passUnretained(recorder).toOpaque()))
    }

    deinit { recorder.deferRelease(of: changes) }

    /// Makes the action one of another recorder of the same context.
    func move(to other: UndoRecorder, stamp: UInt64) {
        recorder = other
        self.stamp = stamp
        other.recorded += 1
        number = other.recorded
        target = UInt(bitPattern: Unmanaged.passUnretained(other).toOpaque())
    }

    private var isDone = false
    override var canBeRepeated: Bool { !isDone }
    override func isWanted(by recorders: [UndoRecorder]) -> Bool { recorders.contains { $0 === recorder } }

    override func check() throws { try recorder.requireContext()?.prepareRestore(self) }
    override func run() throws {
        guard let context = try recorder.requireContext() else { return }
        try context.prepareRestore(self)
        isDone = true
        var restoration = Restoration(self, in: context)
        try restoration.run()
    }
}

/// The data by which the former state of one object is restored.
struct ObjectChange {
    let object: ManagedObject
    /// Whether the object was in the context and not deleted, before the event.
    let existed: Bool
    /// Whether the object had unsaved changes before the event.
    let wasUpdated: Bool
    /// The end index of the object's values; they begin at the end index of the previous object.
    let valuesEnd: Int32
    /// The end index of the object's changed members; see `valuesEnd`.
    let membersEnd: Int32
    /// The contents of an object that the event deleted, for its restoration.
    let contents: Contents?
}

/// A changed value of one slot.
struct ChangedValue {
    private let number: UInt32
    /// Whether the old value was that of the object's row, which a merge may have replaced since.
    let wasStored: Bool
    let old: PropertyValue
    /// Whether the event set an equal value, which is a change only if a merge has replaced the row since.
    let isSame: Bool
    /// The target that the event set instead of the old target.
    let newTarget: ManagedObject?

    var slot: Int { Int(number) }

    init(slot: Int, old: PropertyValue, wasStored: Bool, isSame: Bool, newTarget: ManagedObject?) {
        (number, self.old, self.wasStored, self.isSame) = (UInt32(slot), old, wasStored, isSame)
        self.newTarget = newTarget
    }
}

/// The changed members of one to-many relationship.
struct ChangedMembers {
    /// The relationship, which is retained by the model.
    unowned(unsafe) let relationship: Relationship
    let changes: ToManyRelationship.Changes
}

/// The contents of an object.
final class Contents {
    let values: [SlotValue]
    let members: [(relationship: Relationship, objects: [ManagedObject])]
    /// Whether the object had a row in the store.
    let wasSaved: Bool
    /// The object's store, or the store to which the object was assigned.
    let assigned: Store?

    init(
        values: [SlotValue], members: [(relationship: Relationship, objects: [ManagedObject])], wasSaved: Bool,
        assigned: Store?
    ) {
        self.values = values
        self.members = members
        self.wasSaved = wasSaved
        self.assigned = assigned
    }
}
