import CPlatform
import CorestoneModel
import CorestoneValues

/// The unit of work, which fetches, registers and changes managed objects, and saves their changes.
///
/// A context is confined to its queue (`QueueType`). On another thread, functions that can throw fail with
/// `wrongThread`, except `perform` and those that are documented for any thread.
///
/// A context is `Sendable`, which the compiler cannot verify, because only the thread that owns the queue accesses
/// mutable state. Each call checks this with one atomic compare (`checkQueue`), and a mutex synchronises the threads
/// that run the queue. Properties that cannot throw, such as `hasChanges`, wait for a private queue; with another type
/// of context, they crash the process on a wrong thread (`onQueue`). All other state is constant, atomic or locked.
public final class Context: @unchecked Sendable {
    /// The queue or thread on which the work of a context runs.
    public enum QueueType: Int32, Sendable {
        /// Confined to the thread that created the context.
        case caller = 0
        /// A private queue; call `perform`.
        case privateQueue
        /// The main queue; see `MainQueue`.
        case main
    }

    public let coordinator: Coordinator
    /// The parent context, from which this context reads and into which it saves.
    ///
    /// Nil for a context that uses the stores directly. A context retains its parent.
    public let parent: Context?
    public let queueType: QueueType
    /// The thread that may use the context now, or 0. Any thread can read this word, so the access is atomic.
    ///
    /// Two more words follow. Objects have this pointer and read the second word, which is 1 if rows expire
    /// (`stalenessInterval`), otherwise 0. Any thread may read the third word. It is 0 without changed objects, 1 with
    /// changed objects, and 2 if these may be lost without a warning (`allowLoss`).
    @usableFromInline let owner: UnsafeMutablePointer<UInt64>
    /// The ID of the thread that may use the context now, or 0; each call compares it with `platform_thread_id()`.
    @inlinable package var ownerThread: UInt64 {
        get { platform_load64(owner) }
        set { platform_store64(owner, newValue) }
    }
    /// The queue of a private context; nil for other types.
    let queue: SerialQueue?
    /// The reasons for which the context accepts or rejects calls; see `ContextAccess`.
    var access = ContextAccess()
    /// The name of the context in messages.
    let label: ContextLabel
    var settings = ContextSettings()
    /// The entities of the model by index.
    @usableFromInline let entities: [Entity]

    // The parts of a context. Most types are in a file with their name.

    let identityMap: IdentityMap
    let changeTracker: ChangeTracker
    var faultState = FaultState()
    var mergeState = MergeState()
    var hookState = HookState()
    var observation = ContextObservation()
    let editors = ContextEditors()
    var links: ContextLinks
    /// The recorder of undo steps; nil without an undo manager.
    var undoRecorder: UndoRecorder?
    /// The state of the stores that the context reads.
    let generationState = GenerationState()
    /// The handle of the context in another language.
    package var hostSlot = HostSlot()

    /// The memory of the changes and targets of the context's objects.
    let blocks = BlockPool()
    /// The owner of the model and the stores for objects that have left the context.
    private(set) lazy var detachedOwner = DetachedOwner(coordinator.model, coordinator.retainedStores)
    /// The context that executes a batch request, if this context was created for the request; otherwise nil.
    package internal(set) var batchOwner: Context?
    /// A callback that is called every few milliseconds while a request runs; true stops the request.
    package var interruptCheck: (() -> Bool)?

    /// Creates a context that uses the stores directly.
    ///
    /// Any thread may create it; with `.caller` it is confined to that thread.
    ///
    /// - Parameter file: The call site for messages, with `line`.
    public convenience init(
        coordinator: Coordinator, queue type: QueueType = .caller, file: StaticString = #fileID, line: Int = #line
    ) { self.init(coordinator, parent: nil, queue: type, CallSite(file: file.description, line: line)) }

    /// Creates a context whose call site is set later, or not at all.
    package convenience init(on coordinator: Coordinator, parent: Context?, queue type: QueueType) {
        self.init(coordinator, parent: parent, queue: type, nil)
    }

    /// Creates a nested context. Any thread may create it.
    ///
    /// The child fetches the parent's objects, including unsaved changes, and saves into the parent, where the changes
    /// are pending until the parent is saved.
    ///
    /// The child's requests to the parent run on the parent's queue. A block on the parent's queue must therefore not
    /// wait for the child's queue.
    ///
    /// - Parameter file: The call site for messages, with `line`.
    public convenience init(
        parent: Context, queue type: QueueType = .caller, file: StaticString = #fileID, line: Int = #line
    ) { self.init(parent.coordinator, parent: parent, queue: type, CallSite(file: file.description, line: line)) }

    private init(_ coordinator: Coordinator, parent: Context?, queue type: QueueType, _ origin: CallSite?) {
        self.coordinator = coordinator
        self.parent = parent
        queueType = type
        entities = coordinator.model.entities
        label = ContextLabel(origin: origin)
        let ownQueue = type == .privateQueue ? SerialQueue(label) : nil
        queue = ownQueue
        links = ContextLinks(inbox: ContextInbox(queueType: type, queue: ownQueue))
        owner = links.inbox.owner
        identityMap = IdentityMap(entities: entities, owner: owner)
        changeTracker = ChangeTracker(owner: owner)
        owner[1] = 0
        owner[2] = 0
        switch type {
        case .caller: owner.initialize(to: platform_thread_id())
        case .privateQueue: owner.initialize(to: 0)
        case .main: owner.initialize(to: MainQueue.boundThread)
        }
        identityMap.attach(to: self)
        changeTracker.attach(to: self)
        links.inbox.open(for: self)
        (parent?.links.children ?? coordinator.contexts).add(links.inbox, isNew: true)
        // Checked after the context was added to the list, so that a concurrent closing of the coordinator does not
        // miss it.
        let closer = coordinator.closing.closer
        if closer != 0 { ownQueue?.close(but: closer) }
    }

    deinit {
        logUnsavedChanges()
        links.inbox.close()
        undoRecorder?.end()
        forgetAll()
        (parent?.links.children ?? coordinator.contexts).remove(links.inbox)
        if parent == nil, automaticallyMergesChangesFromParent { coordinator.followers.remove(links.inbox) }
        endNotifications()
        editors.end()
        if automaticallyMergesRemoteChanges { coordinator.remote.remove(links.inbox, in: coordinator) }
        observation.objects?.end()
        endUndo()
    }

    @inlinable package func entity(at index: UInt32) -> Entity { entities[Int(index)] }
}

// MARK: - Changed and registered objects

extension Context {
    /// The objects that were inserted and never saved, in the order of insertion. Deleted objects are not included.
    public var insertedObjects: [ManagedObject] { onQueue { changeTracker.inserted.filter(\.isInserted) } }
    /// The saved objects with unsaved changes, in the order of the first change. Deleted objects are not included.
    public var updatedObjects: [ManagedObject] { onQueue { changeTracker.updated.filter(\.isUpdated) } }
    /// The saved objects that the next save deletes, in the order of their deletion.
    public var deletedObjects: [ManagedObject] {
        onQueue { changeTracker.deleted.filter { $0.isDeleted && !$0.state.contains(.inserted) } }
    }

    /// All registered objects, in no particular order.
    ///
    /// Objects that another context or process deleted are included until the next save.
    public var registeredObjects: [ManagedObject] { onQueue { everyObject + objectsDeletedElsewhere } }

    private var objectsDeletedElsewhere: [ManagedObject] { mergeState.deletedElsewhere.filter { $0.context === self } }

    /// All registered objects without those that were deleted elsewhere.
    ///
    /// Callable on any thread while the context is deallocated.
    var everyObject: [ManagedObject] { identityMap.objects }

    /// Whether the context has inserted, updated or deleted objects.
    public var hasChanges: Bool { onQueue { changeTracker.hasChanges } }

    /// Whether a save would write anything.
    ///
    /// Changes of transient properties do not count, nor values that were set to their committed value again.
    public var hasPersistentChanges: Bool {
        onQueue {
            changeTracker.inserted.contains(where: \.isInserted)
                || changeTracker.deleted.contains { $0.isDeleted && !$0.state.contains(.inaccessible) }
                || changeTracker.updated.contains { $0.isUpdated && $0.hasPersistentChangedValues }
        }
    }
}

// MARK: - Operations

extension Context {
    // The operations of a context that have a type of their own.

    var faultLoader: FaultLoader { FaultLoader(context: self) }
    var deleteRules: DeleteRules { DeleteRules(context: self) }
    var inverses: Inverses { Inverses(context: self) }
    var saveValidation: SaveValidation { SaveValidation(context: self) }
    var keyAssignment: KeyAssignment { KeyAssignment(context: self) }
    var conflictResolver: ConflictResolver { ConflictResolver(context: self) }
    var changeMerger: ChangeMerger { ChangeMerger(context: self) }
    var fetchExecutor: FetchExecutor { FetchExecutor(context: self) }
    var objectRefresh: ObjectRefresh { ObjectRefresh(context: self) }
}
