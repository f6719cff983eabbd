import CPlatform
import CorestoneModel
import CorestoneValues

/// What a context keeps while it has an undo manager.
final class UndoRecorder: @unchecked Sendable {
    let manager: UndoManager
    private let lock = RecursiveLock(.leaf)
    /// nil after the context ended. Guarded by the lock.
    private unowned(unsafe) var context: Context?
    /// What other threads made the manager forget: only the context's thread may let go of objects. Guarded by the lock.
    private var forgotten: [[ObjectChange]] = []

    /// Changes whenever the objects became something else without being recorded.
    var stamp: UInt64 = 0
    /// How many events were recorded.
    var recorded: UInt64 = 0
    /// Objects whose changes until that many events are not undone any more, because they were refreshed.
    var refreshed: [ObjectIdentifier: UInt64] = [:]
    /// What objects were that left the context within the event.
    var contents: [ObjectIdentifier: Contents] = [:]

    init(manager: UndoManager, context: Context) {
        self.manager = manager
        self.context = context
    }

    /// The context, if this thread may use it now.
    var usableContext: Context? {
        lock.with { context?.ownerThread == platform_thread_id() ? context : nil }
    }

    /// The context and its queue, for an action that is about to be undone.
    func requireContext() throws -> Context? {
        let context = lock.with { self.context }
        try context?.checkQueue()
        return context
    }

    /// The context ends; its objects left it.
    func end() { lock.with { context = nil } }

    /// Lets go of objects: now, or when the context records next.
    func letGo(of changes: [ObjectChange]) {
        lock.with {
            if let context, context.ownerThread != platform_thread_id() { forgotten.append(changes) }
        }
    }

    func letGo() {
        let objects = lock.with {
            defer { forgotten = [] }
            return forgotten
        }
        withExtendedLifetime(objects) {}
    }
}

/// The changes of one event of a context.
final class ContextUndo: UndoAction {
    let recorder: UndoRecorder
    let changes: [ObjectChange]
    /// Changed values and members of all objects, each object's behind those of the one before it.
    let values: [ChangedValue]
    let members: [ChangedMembers]
    let stamp: UInt64
    let number: UInt64

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

    deinit { recorder.letGo(of: changes) }

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

/// How one object becomes again what it was.
struct ObjectChange {
    let object: ManagedObject
    /// Whether the object was in the context, and not deleted.
    let wasThere: Bool
    /// Whether it had changes that were not saved.
    let wasUpdated: Bool
    /// Where its values and members end; they begin where the former object's end.
    let valuesEnd: Int32
    let membersEnd: Int32
    /// All that an object was which the event deleted, for when the context has forgotten it.
    let contents: Contents?
}

struct ChangedValue {
    private let number: UInt32
    /// Whether the old value was that of the object's row, which a merge may have renewed since.
    let wasStored: Bool
    let old: PropertyValue
    /// Whether the event set the old value, which is a change only where a merge has renewed the row since.
    let isSame: Bool
    /// The target that the event put in the old one's place.
    let newTarget: ManagedObject?

    var slot: Int { Int(number) }

    init(slot: Int, old: PropertyValue, wasStored: Bool, isSame: Bool, newTarget: ManagedObject?) {
        (number, self.old, self.wasStored, self.isSame) = (UInt32(slot), old, wasStored, isSame)
        self.newTarget = newTarget
    }
}

struct ChangedMembers {
    /// Kept by the model.
    unowned(unsafe) let relationship: Relationship
    let changes: ToManyRelationship.Changes
}

/// All that an object was.
final class Contents {
    let values: [SlotValue]
    let members: [(relationship: Relationship, objects: [ManagedObject])]
    /// Whether the store had a row for it.
    let wasSaved: Bool
    /// The store that it was assigned to.
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
