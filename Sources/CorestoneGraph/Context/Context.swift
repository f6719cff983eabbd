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
    let queue: SerialQueue?
    /// Who closed it to callbacks, and in the midst of what; see `closed`.
    var closer: UInt64 = 0
    var closure = Closure.save

    /// Whether it was closed; its owner becomes `endedOwner` when the thread that closed it lets go of it.
    var hasEnded = false
    /// Whether whoever asks a container or a document for its context gets this one, so that only that closes it.
    package var isShared = false

    /// How messages name the context.
    let label: ContextLabel
    /// How often the owner took the context.
    var holds = Holds()
    /// What the host set; see `Context+Settings`.
    var settings = ContextSettings()
    /// Which state of the stores it reads.
    let generationState = GenerationState()
    /// Objects about which the handler is asked right now.
    var objectsInQuestion: Set<ObjectIdentifier> = []
    /// For objects that leave; see there.
    private(set) lazy var departure = Departure(coordinator.model, coordinator.storeKeeper)
    /// Every registered object, if the context keeps them.
    var retained: [ObjectIdentifier: ManagedObject]?
    /// Notes single faults, for a policy or for numbers that somebody asked for.
    var faultWatch: FaultWatch?
    /// Asked where the host's code is when a single fault fires, before `callSite`.
    package var callSiteFinder: (() -> CallSite?)?

    /// Who is told what happens in the context.
    let listeners = ContextListeners()
    /// Who tracks results of fetches.
    let tracking = Listeners<TrackedNews, ContextChanges>()
    /// Who observes its objects; nil as long as nobody did.
    var observers: ObjectObservers?

    /// What other contexts tell this one, and who is told what this one saves.
    let inbox: ContextInbox
    let children = ContextFollowers()
    /// IDs that became permanent and of which the contexts above were not told yet.
    var renamed: [Renaming] = []
    /// Objects that the last merge brought, or all merges of a perform: retained here until they are used.
    var mergedIn: [ManagedObject] = []
    /// Objects whose rows others deleted, kept until the next save.
    var deletedElsewhere: [ManagedObject] = []
    /// Those of them whose rows came again, kept until observers were told.
    var returned: [ManagedObject] = []
    /// What merges left out, by object: of those that had changes of their own, or were deleted here.
    var leftOut: [ObjectIdentifier: LeftOut] = [:]

    /// What it reads stores through.
    var readers: [ContextReader] = []
    /// That of the newest state of the store which it read last, and the store's number.
    var lastReader: (store: UInt32, reader: any StoreReading)?

    /// Asked every few milliseconds while a request runs; true stops it.
    package var interruptCheck: (() -> Bool)?

    /// Values that objects read from files, as long as views of them may be in use.
    var fileValues: [ObjectIdentifier: [FileValue]] = [:]
    /// What fetched properties found, by object and name.
    var fetchedValues: [ObjectIdentifier: [String: FetchedList]] = [:]
    /// What was read for the asynchronous fetch that ends now, and the queue of the thread that reads for such.
    var ahead: FetchAhead?
    var aheadQueue: SerialQueue?
    /// What fetches of some properties brought for faults.
    var parts: [ObjectIdentifier: RowPart] = [:]
    /// While the host's validators are asked, which must not save.
    var isAskingValidators = false
    var hookState = HookState()
    /// Fetches of fetched properties that run, one within the other.
    var fetchedNesting = 0
    /// The memory of its objects' changes and targets.
    let blocks = BlockPool()
    /// Registered objects by store number and root entity; number 0 holds those with temporary IDs.
    var tables: [IdentityTable]
    /// The model's entities by index.
    @usableFromInline let entities: [Entity]

    // Changed objects in the order of the change. An object that is no longer what its list says is skipped.
    var insertedList: [ManagedObject] = []
    /// Where inserted objects go that the host assigned to a store.
    var assignedStores: [ObjectIdentifier: Store] = [:]
    var updatedList: [ManagedObject] = []
    var deletedList: [ManagedObject] = []
    /// What happened since pending changes were last processed.
    var event = Event()
    /// Objects without changes that the next save checks; see `detectConflicts(for:)`.
    var lockedObjects: [ManagedObject] = []
    /// Deleted objects whose rows went away already: a save does not delete these.
    var vanished: Set<ObjectIdentifier> = []
    /// Objects of the save whose rows were gone, and come again.
    var insertedAgain: [ManagedObject] = []
    /// The keys that host's stores gave to new objects in saves that failed, by temporary key: the next save names the same rows.
    var keptKeys: [Int64: (store: Store, key: Int64)] = [:]
    /// Of a context in which a batch request works: the one that carries out the request.
    package internal(set) var host: Context?
    /// While a save asks the merge policy, which must not save.
    package var isMerging = false
    /// While observers hear that a save is done.
    var isTellingSaved = false
    /// While a save lets its objects hand unique values to each other, which takes one more step.
    var passesUniqueValues = false
    /// nil without an undo manager.
    var undoRecorder: UndoRecorder?
    /// Deleted objects whose delete rules were not applied yet.
    var undecidedDeletions: [ManagedObject] = []
    /// Deleted objects that others lead to again, since they were refreshed: the next save applies their delete rules once more.
    /// Until then the deletion may be undone.
    var takenBackDeletions: [ManagedObject] = []
    /// For stores that hear which objects contexts know.
    var notices = RegistrationNotices()
    /// Faults that came without rows, in the groups in which they came: the first that fires fills its siblings.
    var faultGroups: [UInt32: FaultGroup] = [:]
    var lastFaultGroup: UInt32 = 0
    /// No group before it is left.
    var oldestFaultGroup: UInt32 = 1
    /// Keys in all groups together.
    var groupedFaults = 0

    /// Head of the C boundary's list of tokens that other threads released; drained at the context's next call.
    package let pendingReleases = UnsafeMutablePointer<UInt64>.allocate(capacity: 1)
    /// The token by which C hosts know the context; 0 when none was asked for.
    package var token: UInt = 0
    /// What `token` stands for. Unowned, but its memory stays as long as the context does: handles of the context's objects that the
    /// library holds point at it, and ask whether it is alive before they keep it.
    package unowned var hostBox: AnyObject?
    /// Holds what hosts know a context by, for a while, by the context's token. Set once by the C boundary.
    package nonisolated(unsafe) static var holdHost: (UInt) -> HostHold = { _ in .none }
    /// Gives up a token that the graph holds for a borrowed handle. Set once by the C boundary.
    package nonisolated(unsafe) static var releaseToken: (UInt) -> Void = { _ in }
    /// Has the handle of an object that came back keep the object's context. Set once by the C boundary.
    package nonisolated(unsafe) static var adoptToken: (ManagedObject) -> Void = { _ in }

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
        tables = []
        pendingReleases.initialize(to: 0)
        label = ContextLabel(origin: origin)
        let ownQueue = type == .privateQueue ? SerialQueue(label) : nil
        queue = ownQueue
        inbox = ContextInbox(queueType: type, queue: ownQueue)
        owner = inbox.owner
        owner[1] = 0
        owner[2] = 0
        switch type {
        case .caller: owner.initialize(to: platform_thread_id())
        case .privateQueue: owner.initialize(to: 0)
        case .main: owner.initialize(to: MainQueue.boundThread)
        }
        inbox.open(for: self)
        (parent?.children ?? coordinator.contexts).add(inbox, isNew: true)
        // Asked for when it can be found, lest it be overlooked.
        let closer = coordinator.closing.closer
        if closer != 0 { ownQueue?.close(but: closer) }
    }

    deinit {
        tellWhatIsLost()
        inbox.close()
        undoRecorder?.end()
        forgetAll()
        (parent?.children ?? coordinator.contexts).remove(inbox)
        if parent == nil, automaticallyMergesChangesFromParent { coordinator.followers.remove(inbox) }
        endListening()
        if automaticallyMergesRemoteChanges { coordinator.remote.remove(inbox, in: coordinator) }
        observers?.end()
        endUndo()
        pendingReleases.deallocate()
    }

    @inlinable package func entity(at index: UInt32) -> Entity { entities[Int(index)] }
}

// MARK: - Changed and registered objects

extension Context {
    public var insertedObjects: [ManagedObject] { onQueue { insertedList.filter(\.isInserted) } }
    public var updatedObjects: [ManagedObject] { onQueue { updatedList.filter(\.isUpdated) } }
    public var deletedObjects: [ManagedObject] {
        onQueue { deletedList.filter { $0.isDeleted && !$0.state.contains(.inserted) } }
    }

    /// Every object that the context knows, in no particular order; those too that others deleted, which stay until the next save.
    public var registeredObjects: [ManagedObject] { onQueue { everyObject + leftBehind } }

    private var leftBehind: [ManagedObject] { deletedElsewhere.filter { $0.context === self } }

    /// The same without those that others deleted, also for a context that ends, on whatever thread.
    var everyObject: [ManagedObject] {
        var all: [ManagedObject] = []
        for table in tables {
            table.table.forEach { _, pointer in
                all.append(Unmanaged<ManagedObject>.fromOpaque(pointer).takeUnretainedValue())
            }
        }
        return all
    }

    public var hasChanges: Bool {
        onQueue {
            insertedList.contains(where: \.isInserted) || updatedList.contains(where: \.isUpdated)
                || deletedList.contains(where: \.isDeleted)
        }
    }

    /// Whether a save would write anything: changes of transient properties, and values that were set back, do not count.
    public var hasPersistentChanges: Bool {
        onQueue {
            insertedList.contains(where: \.isInserted)
                || deletedList.contains { $0.isDeleted && !$0.state.contains(.inaccessible) }
                || updatedList.contains { $0.isUpdated && $0.hasPersistentChangedValues }
        }
    }

    func noteUpdated(_ object: ManagedObject) {
        if object.state.contains(.listedUpdated) { return }
        object.state.insert(.listedUpdated)
        platform_store64(owner + 2, 1)
        updatedList.append(object)
    }

    func noteInserted(_ object: ManagedObject) {
        if object.state.contains(.listedInserted) { return }
        object.state.formUnion([.listedInserted, .touched])
        platform_store64(owner + 2, 1)
        insertedList.append(object)
    }

    func noteDeleted(_ object: ManagedObject) {
        if object.state.contains(.listedDeleted) { return }
        object.state.insert(.listedDeleted)
        platform_store64(owner + 2, 1)
        deletedList.append(object)
    }

    /// Empties the lists of changed objects, and begins a new event.
    func clearLists() {
        forgetEvent()
        for object in insertedList { object.state.remove(.listedInserted) }
        for object in updatedList { object.state.remove(.listedUpdated) }
        for object in deletedList { object.state.remove(.listedDeleted) }
        insertedList = []
        updatedList = []
        deletedList = []
        for object in lockedObjects { object.state.remove(.locked) }
        lockedObjects = []
        (vanished, insertedAgain, keptKeys) = ([], [], [:])
        assignedStores = [:]
        undecidedDeletions = []
        takenBackDeletions = []
        platform_store64(owner + 2, 0)
        event = Event()
        undoRecorder?.stamp += 1
    }
}
