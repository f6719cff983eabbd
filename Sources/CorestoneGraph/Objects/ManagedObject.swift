import CPlatform
import CorestoneModel
import CorestonePredicate
import CorestoneValues

/// A managed object: the values of a row of a store, and their unsaved changes in a context.
///
/// An object refers to its row record, and the first change adds an overlay. An object must be used on its context's
/// queue, or on the thread that created it while it is not in a context. A context registers at most one object per
/// row.
public final class ManagedObject {
    /// The object's own entity, which may be a subentity of the fetched entity. Can be used on any thread.
    public unowned(unsafe) let entity: Entity
    /// The context; nil for an object that is not in a context or has left its context.
    ///
    /// It is available in hooks and observers too. Must be used on the context's queue.
    public package(set) var context: Context? {
        get { contextReference?.takeUnretainedValue() }
        set {
            contextReference = newValue.map(Unmanaged.passUnretained)
            changeOwner()
        }
    }
    /// The context, without retaining it.
    private(set) var contextReference: Unmanaged<Context>?
    /// The object's store; nil while the ID is temporary.
    var store: Store? {
        get { storeReference?.takeUnretainedValue() }
        set { storeReference = newValue.map(Unmanaged.passUnretained) }
    }
    /// The store, unretained, because the coordinator retains it.
    private(set) var storeReference: Unmanaged<Store>?
    /// The primary key; negative while the ID is temporary.
    package internal(set) var primaryKey: Int64 { didSet { changes &+= 1 } }
    /// The row as last fetched or saved, whose chunk is retained; nil if the row is not in memory.
    @usableFromInline package private(set) var record: UnsafeMutableRawPointer?
    /// The unsaved changes of values. The values in it are changed only by functions of `ChangeStamp.swift`.
    @usableFromInline var overlay: Overlay? { didSet { changes &+= 1 } }
    /// The targets of accessed to-one relationships, by ordinal.
    @usableFromInline var toOneTargets: UnsafeMutablePointer<ToOneTarget>?
    /// Accessed to-many relationships, by ordinal; see `toManyRelationships`.
    var toManyBlock: UnsafeMutablePointer<ToManyRelationship?>?
    @usableFromInline package internal(set) var state: State { didSet { changes &+= 1 } }
    /// The change stamp, which differs after every change of a value; see `ChangeStamp.swift`.
    @usableFromInline package internal(set) var changes: UInt32 = 0
    /// The number of the group of faults without rows that were fetched together; 0 without a group.
    var faultGroup: UInt32 = 0
    /// An opaque value of the host bridge; 0 without a bridge.
    package var hostSlot: UInt = 0
    /// The pointer to the ID of the thread that may use the object.
    ///
    /// The ID is stored in the object's context, or in separate memory while the object does not have a context. The
    /// thread is checked without retaining the context.
    @usableFromInline package internal(set) var owner: UnsafeMutablePointer<UInt64> { didSet { changes &+= 1 } }

    /// The flags of an object.
    @usableFromInline
    package struct State: OptionSet {
        @usableFromInline package let rawValue: UInt32
        @inlinable package init(rawValue: UInt32) { self.rawValue = rawValue }

        /// The object is a fault: its values are not loaded, or were not accessed yet.
        @inlinable package static var fault: State { State(rawValue: 1) }
        @inlinable package static var inserted: State { State(rawValue: 2) }
        @inlinable package static var updated: State { State(rawValue: 4) }
        /// The object is deleted, and has not left its context yet.
        @inlinable package static var deleted: State { State(rawValue: 8) }
        /// The object has left its context.
        @inlinable package static var detached: State { State(rawValue: 16) }
        /// Delete rules were applied.
        static var propagated: State { State(rawValue: 32) }
        /// Delete rules were applied and must be applied once more.
        static var propagatesAgain: State { State(rawValue: 1 << 29) }
        /// A to-many relationship differs from the store.
        static var membersChanged: State { State(rawValue: 64) }
        /// The object is marked by a `DistinctObjects` list.
        static var collected: State { State(rawValue: 4096) }
        /// The object is on the context's list of inserted, updated or deleted objects.
        static var listedInserted: State { State(rawValue: 128) }
        static var listedUpdated: State { State(rawValue: 256) }
        static var listedDeleted: State { State(rawValue: 512) }
        /// The object is not in a context yet, and `owner` points to separate memory.
        static var unattached: State { State(rawValue: 1024) }
        /// The object has an entry in `keptByObjects`.
        static var keeps: State { State(rawValue: 2048) }
        /// The object has an entry in its context's `fileValues`.
        static var keepsFiles: State { State(rawValue: 8192) }
        /// The record contains values that are not in the store, regardless of its version. Used in nested contexts.
        static var nested: State { State(rawValue: 1 << 21) }
        /// The application's validators are running for the object.
        static var validating: State { State(rawValue: 1 << 19) }
        /// The object was changed since pending changes were last processed; implies `updated` or `inserted`.
        static var touched: State { State(rawValue: 1 << 16) }
        /// The context's current event has an entry for the object.
        static var snapshotting: State { State(rawValue: 1 << 24) }
        /// The row was missing when a value was accessed: the values are nil, and the object counts as deleted.
        static var inaccessible: State { State(rawValue: 1 << 22) }
        /// The object is on the context's list of objects whose rows the next save checks.
        static var locked: State { State(rawValue: 1 << 23) }
        /// The application's hook for a deletion, or for setting null, is running.
        static var preparing: State { State(rawValue: 1 << 25) }
        static var settingNil: State { State(rawValue: 1 << 26) }
        /// The object has an entry in its context's `fetchedValues`.
        static var keepsFetched: State { State(rawValue: 16384) }
        /// The object has an entry in `transformedByObjects`.
        static var keepsTransformed: State { State(rawValue: 32768) }
        /// The object has an entry in its context's `parts`.
        static var partial: State { State(rawValue: 1 << 27) }
        /// The object left its context individually, for example as a deleted object, and not in a reset.
        static var detachedIndividually: State { State(rawValue: 1 << 18) }
        /// The object left its context and retains a `DetachedOwner` through `owner`.
        static var retainsDetachedOwner: State { State(rawValue: 1 << 28) }
        /// The object has observers, or manual changes are in progress.
        @usableFromInline static var observed: State { State(rawValue: 1 << 17) }
    }

    /// Creates an object outside any context, with the defaults of its entity.
    ///
    /// - Throws: `.invalidArgument` if the entity is abstract or its model is not frozen.
    public convenience init(entity: Entity) throws {
        guard entity.model.isFrozen else {
            throw CoreError(
                .invalidArgument,
                "the model of \(entity.name) is not frozen; call cst_model_freeze (freeze) or create a coordinator first",
                entity: entity.name)
        }
        try ManagedObject.requireConcrete(entity)
        self.init(
            entity: entity, context: nil, store: nil, primaryKey: TemporaryReference.next(),
            state: [.inserted, .touched])
        applyDefaults()
    }

    init(entity: Entity, context: Context?, store: Store?, primaryKey: Int64, state: State) {
        self.entity = entity
        contextReference = context.map(Unmanaged.passUnretained)
        storeReference = store.map(Unmanaged.passUnretained)
        self.primaryKey = primaryKey
        self.state = context == nil ? state.union(.unattached) : state
        owner = context?.owner ?? ManagedObject.allocateOwner()
    }

    /// Creates a fault for a row of a context. The context is not retained meanwhile, because faults are created often.
    init(
        fault primaryKey: Int64, _ entity: Entity, _ store: Store?, in context: Unmanaged<Context>,
        owner: UnsafeMutablePointer<UInt64>
    ) {
        self.entity = entity
        contextReference = context
        storeReference = store.map(Unmanaged.passUnretained)
        self.primaryKey = primaryKey
        state = [.fault]
        self.owner = owner
    }

    deinit {
        context?.identityMap.unregister(self)
        deallocateOwner()
        if !state.isDisjoint(with: [.keeps, .keepsFiles, .keepsFetched, .keepsTransformed, .observed, .partial]) {
            dropRetainedValues()
        }
        dropRecord()
        if toOneTargets != nil || overlay != nil || toManyBlock != nil { releaseReferences() }
        // The owner is released last, because its deallocation may deallocate the entity.
        dropDetachedOwner()
    }

    /// Releases the objects to which this object refers; see `DeferredReleases`.
    private func releaseReferences() {
        DeferredReleases.run { list in
            for collection in toManyRelationships { if let collection { list.add(collection) } }
            dropToManyRelationships()
            if let overlay {
                for slot in 0..<Int(entity.slotCount) where overlay.isChanged(slot) {
                    if case .object(let target) = overlay[slot] { list.add(target) }
                }
                dropOverlay()
            }
            if let targets = toOneTargets {
                for ordinal in 0..<entity.layout.toOneCount {
                    if let target = targets[ordinal].object { list.add(target.takeUnretainedValue()) }
                }
                dropToOneTargets()
            }
        }
    }

    static func requireConcrete(_ entity: Entity) throws {
        guard !entity.isAbstract else {
            let concrete = entity.withDescendants.filter { !$0.isAbstract }.map(\.name)
            let names = concrete.prefix(10).joined(separator: ", ") + (concrete.count > 10 ? ", …" : "")
            let remedy =
                concrete.isEmpty
                ? "add a subentity that is not abstract to the model" : "insert one of its subentities (\(names))"
            throw CoreError(
                .invalidArgument,
                "\(entity.name) is an abstract entity and cannot be instantiated; \(remedy)",
                entity: entity.name)
        }
    }
}

// MARK: - Owner thread

extension ManagedObject {
    /// Whether the calling thread may use the object; false for an object that has left its context.
    @inlinable package var isOnQueue: Bool { platform_is_owner(owner) }

    /// The thread that created an object outside any context; 0 for other objects.
    package var creator: UInt64 { state.contains(.unattached) ? owner.pointee : 0 }

    private static func allocateOwner() -> UnsafeMutablePointer<UInt64> {
        let place = UnsafeMutablePointer<UInt64>.allocate(capacity: 2)
        place.initialize(to: platform_thread_id())
        place[1] = 0
        return place
    }

    private func deallocateOwner() {
        if state.remove(.unattached) != nil { owner.deallocate() }
    }

    private func dropDetachedOwner() {
        if state.remove(.retainsDetachedOwner) != nil { DetachedOwner.release(owner) }
    }

    /// Retains a `DetachedOwner` when the object leaves its context.
    func setDetachedOwner(_ detachedOwner: DetachedOwner) {
        owner = detachedOwner.retained()
        state.insert(.retainsDetachedOwner)
    }

    private func changeOwner() {
        deallocateOwner()
        dropDetachedOwner()
        owner = context?.owner ?? platform_no_owner()
    }
}

// MARK: - Identity and state

extension ManagedObject {
    public var objectID: ObjectID { ObjectID(store: store, entity: entity, reference: primaryKey) }
    public var hasTemporaryID: Bool { primaryKey < 0 }
    /// Whether the object is new, not saved yet and not deleted.
    public var isInserted: Bool { state.contains(.inserted) && !state.contains(.deleted) }
    /// Whether a saved object has unsaved changes and is not deleted.
    public var isUpdated: Bool { state.contains(.updated) && !state.contains(.inserted) && !state.contains(.deleted) }
    /// Whether the object is deleted; false after the object has left its context, for example by a save.
    public var isDeleted: Bool { state.contains(.deleted) }
    /// Whether the object is a fault.
    ///
    /// As in Core Data, this is also true for an object that has left its context, whose values cannot be read again.
    public var isFault: Bool { !state.isDisjoint(with: [.fault, .detached]) }
    /// Whether the object has left its context.
    ///
    /// An object leaves its context, for example, by a reset, by the save of its deletion, or when the context is
    /// closed.
    public var isGone: Bool { state.contains(.detached) }
    /// Whether the object has an unsaved insertion, update or deletion.
    public var hasChanges: Bool { !state.isDisjoint(with: [.inserted, .updated, .deleted]) }
}

extension ManagedObject: ValueObject {
    public func isEqual(to other: any ValueObject) -> Bool {
        if other === self { return true }
        if let other = other as? ManagedObject { return objectID == other.objectID }
        if let other = other as? ObjectIDReference { return objectID == other.id }
        if let row = other as? StoredRow { return row.isRow(of: objectID) }
        let original = other.original
        return original !== other && isEqual(to: original)
    }
    public func hashIdentity(into hasher: inout Hasher) { hasher.combine(objectID) }
    public var valueDescription: String { objectID.uri }
}

// MARK: - The record

extension ManagedObject {
    /// Sets the object's row and retains its memory.
    ///
    /// A row of another entity is ignored, because it has another layout. The object was then created from an ID with a
    /// wrong entity.
    func setRecord(_ new: Record) {
        guard new.header.pointee.entity == entity.index else { return }
        _ = new.chunk.retain()
        // Only this increments the change stamp: a first row does not change values that a host can have cached.
        dropRecord()
        record = new.start
    }

    /// Replaces the row of a fault with the newest one.
    ///
    /// Targets and members that were read with an older row are read again, because a save detects stale targets and
    /// members only by the row's version. If members were reordered here, the older row is kept.
    @inline(__always)
    func renew(_ new: Record) {
        if record == nil || version == new.version && !state.contains(.nested) || forgetPartners() {
            setRecord(new)
            state.remove(.nested)
        }
    }

    /// Discards the cached targets and members.
    ///
    /// Returns false, without an effect, if members were reordered here, because the new order refers to the members of
    /// the current row.
    @discardableResult
    func forgetPartners() -> Bool {
        if toManyRelationships.contains(where: { $0?.isLoaded == true && $0?.isOrderChanged == true }) { return false }
        dropToOneTargets()
        for collection in toManyRelationships { collection?.reload() }
        return true
    }

    /// Runs `body` with another row as the object's row: a partial row of a fault, or a newer row.
    func withTemporaryRow<Result>(_ row: Record, _ body: () throws -> Result) rethrows -> Result {
        let own = record
        record = row.start
        changes &+= 1
        defer {
            record = own
            changes &+= 1
        }
        return try body()
    }

    func dropRecord() {
        guard let old = record else { return }
        record = nil
        changes &+= 1
        Record(old).chunk.release()
    }

    /// The optimistic-locking version of the object's row; 0 without a row in memory.
    var version: Int32 { record.map { Record($0).version } ?? 0 }
}
