import CPlatform
import CorestoneModel
import CorestoneValues

/// A scratch pad of objects on top of a coordinator: fetch, change, save or throw away.
///
/// Belongs to its queue (`QueueType`): every call checks the thread and throws `wrongThread` elsewhere, but for `perform`,
/// which any thread may call.
///
/// It is `Sendable` although the compiler cannot see why: all that changes is read and written by the thread alone that has the
/// queue, which each call checks by one atomic compare (`checkQueue`), and the queue hands over from thread to thread with a
/// mutex. What cannot throw, such as `hasChanges`, waits for the queue (`onQueue`). The rest is constant, atomic or locked.
public final class Context: @unchecked Sendable {
    public enum QueueType: Int32, Sendable {
        /// Confined to the thread that made it.
        case caller = 0
        /// A queue of its own: use `perform`.
        case privateQueue
        /// The main queue, see `MainQueue`.
        case main
    }

    public let coordinator: Coordinator
    /// The context that this one reads from and saves into; nil for one that works with the stores. It lives as long.
    public let parent: Context?
    public let queueType: QueueType
    /// The thread that may use the context now; 0 for none. Read by any thread, so read and written atomically.
    ///
    /// Behind it, for objects, which have this pointer at hand: 0 unless rows grow stale (`stalenessInterval`). And then, for
    /// any thread: 0 unless something is in the lists of changed objects, 2 when that may be lost (`giveUp`).
    @usableFromInline let owner: UnsafeMutablePointer<UInt64>
    /// The hot check is one compare with `platform_thread_id()`.
    @inlinable package var ownerThread: UInt64 {
        get { platform_load64(owner) }
        set { platform_store64(owner, newValue) }
    }
    /// The queue of a private context; nil for other types.
    let queue: SerialQueue?
    /// Why the context accepts or refuses calls; see `ContextAccess`.
    var access = ContextAccess()
    /// The name of the context in messages.
    let label: ContextLabel
    var settings = ContextSettings()
    /// The entities of the model by index.
    @usableFromInline let entities: [Entity]

    // The parts of a context. Each is in a file of its own name.

    var identityMap = IdentityMap()
    var changeTracker = ChangeTracker()
    var faultLoader = FaultLoader()
    var mergeState = MergeState()
    var hookState = HookState()
    var observation = ContextObservation()
    var links: ContextLinks
    /// Records steps of undo; nil without an undo manager.
    var undoRecorder: UndoRecorder?
    /// The state of the stores that the context reads.
    let generationState = GenerationState()
    /// The handle of the context in another language.
    package var hostSlot = HostSlot()

    /// The memory of its objects' changes and targets.
    let blocks = BlockPool()
    /// Keeps the model and the stores of objects that have left the context.
    private(set) lazy var departure = Departure(coordinator.model, coordinator.storeKeeper)
    /// The context that executes a batch request, if this one was created to carry the request out.
    package internal(set) var batchOwner: Context?
    /// Called every few milliseconds while a request runs; true stops the request.
    package var interruptCheck: (() -> Bool)?

    /// A context that works with the stores. Any thread may make it; with `.caller` it belongs to that thread.
    /// - Parameter file: where it is made, with `line`, for messages.
    public convenience init(
        coordinator: Coordinator, queue type: QueueType = .caller, file: StaticString = #fileID, line: Int = #line
    ) { self.init(coordinator, parent: nil, queue: type, CallSite(file: file.description, line: line)) }

    /// The same for hosts that say later where it was made, if at all.
    package convenience init(on coordinator: Coordinator, parent: Context?, queue type: QueueType) {
        self.init(coordinator, parent: parent, queue: type, nil)
    }

    /// A context on top of another one: it fetches what that one holds, saved or not, and its save leaves the changes there,
    /// pending. Any thread may make it.
    ///
    /// Whatever it asks of its parent runs on the parent's queue. So a block on the parent's queue must not wait for the
    /// child's.
    /// - Parameter file: where it is made, with `line`, for messages.
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
        owner[1] = 0
        owner[2] = 0
        switch type {
        case .caller: owner.initialize(to: platform_thread_id())
        case .privateQueue: owner.initialize(to: 0)
        case .main: owner.initialize(to: MainQueue.boundThread)
        }
        links.inbox.open(for: self)
        (parent?.links.children ?? coordinator.contexts).add(links.inbox, isNew: true)
        // Asked for when it can be found, lest it be overlooked.
        let closer = coordinator.closing.closer
        if closer != 0 { ownQueue?.close(but: closer) }
    }

    deinit {
        tellWhatIsLost()
        links.inbox.close()
        undoRecorder?.end()
        forgetAll()
        (parent?.links.children ?? coordinator.contexts).remove(links.inbox)
        if parent == nil, automaticallyMergesChangesFromParent { coordinator.followers.remove(links.inbox) }
        endListening()
        if automaticallyMergesRemoteChanges { coordinator.remote.remove(links.inbox, in: coordinator) }
        observation.objects?.end()
        endUndo()
        hostSlot.pendingReleases.deallocate()
    }

    @inlinable package func entity(at index: UInt32) -> Entity { entities[Int(index)] }
}

// MARK: - Changed and registered objects

extension Context {
    public var insertedObjects: [ManagedObject] { onQueue { changeTracker.inserted.filter(\.isInserted) } }
    public var updatedObjects: [ManagedObject] { onQueue { changeTracker.updated.filter(\.isUpdated) } }
    public var deletedObjects: [ManagedObject] {
        onQueue { changeTracker.deleted.filter { $0.isDeleted && !$0.state.contains(.inserted) } }
    }

    /// Every object that the context knows, in no particular order; those too that others deleted, which stay until the next save.
    public var registeredObjects: [ManagedObject] { onQueue { everyObject + leftBehind } }

    private var leftBehind: [ManagedObject] { mergeState.deletedElsewhere.filter { $0.context === self } }

    /// The same without those that others deleted, also for a context that ends, on whatever thread.
    var everyObject: [ManagedObject] { identityMap.objects }

    public var hasChanges: Bool {
        onQueue {
            changeTracker.inserted.contains(where: \.isInserted) || changeTracker.updated.contains(where: \.isUpdated)
                || changeTracker.deleted.contains(where: \.isDeleted)
        }
    }

    /// Whether a save would write anything: changes of transient properties, and values that were set back, do not count.
    public var hasPersistentChanges: Bool {
        onQueue {
            changeTracker.inserted.contains(where: \.isInserted)
                || changeTracker.deleted.contains { $0.isDeleted && !$0.state.contains(.inaccessible) }
                || changeTracker.updated.contains { $0.isUpdated && $0.hasPersistentChangedValues }
        }
    }
}
