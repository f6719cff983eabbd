import CPlatform
import CorestoneModel
import CorestonePredicate
import CorestoneValues

/// One object of a graph: a row of a store as an entity describes it, plus the changes of its context.
///
/// An unmodified object owns nothing but a pointer to its row record; the first change adds an overlay. Confined to its
/// context's queue; an unattached one to the thread that made it. At most one object stands for a row in a context.
public final class ManagedObject {
    @usableFromInline package unowned(unsafe) let entity: Entity
    /// nil for an unattached object, and after the context forgot the object or ended.
    package var context: Context? {
        get { contextReference?.takeUnretainedValue() }
        set {
            contextReference = newValue.map(Unmanaged.passUnretained)
            changeOwner()
        }
    }
    /// The same, for who must not pay for a reference to it.
    private(set) var contextReference: Unmanaged<Context>?
    /// The token by which C hosts know the context; nil without one.
    package var contextSlot: UInt? { contextReference?._withUnsafeGuaranteedRef { $0.hostSlot.value } }
    /// nil while the ID is temporary.
    var store: Store? {
        get { storeReference?.takeUnretainedValue() }
        set { storeReference = newValue.map(Unmanaged.passUnretained) }
    }
    /// Kept by the coordinator.
    private(set) var storeReference: Unmanaged<Store>?
    /// Below zero while the ID is temporary.
    package internal(set) var primaryKey: Int64
    /// The row as last fetched or saved; its chunk is retained.
    @usableFromInline package private(set) var record: UnsafeMutableRawPointer?
    @usableFromInline var overlay: Overlay?
    /// Targets of to-one relationships that were asked for, by ordinal.
    @usableFromInline var toOneTargets: UnsafeMutablePointer<ToOneTarget>?
    /// To-many relationships that were asked for, by ordinal; see `toManyRelationships`.
    var toManyKeepers: UnsafeMutablePointer<ToManyRelationship?>?
    @usableFromInline package internal(set) var state: State
    /// The siblings with which the object came as a fault without a row; 0 for none.
    var faultGroup: UInt32 = 0
    /// The token by which C hosts know the object; 0 when none was asked for.
    package var hostSlot: UInt = 0
    /// Where the number of the thread that may use the object stands: in its context, or in a place of its own while it is
    /// unattached. One look tells, without a reference to the context.
    @usableFromInline var owner: UnsafeMutablePointer<UInt64>

    @usableFromInline
    package struct State: OptionSet {
        @usableFromInline package let rawValue: UInt32
        @inlinable package init(rawValue: UInt32) { self.rawValue = rawValue }

        /// The values were not asked for yet.
        @inlinable package static var fault: State { State(rawValue: 1) }
        @inlinable package static var inserted: State { State(rawValue: 2) }
        @inlinable package static var updated: State { State(rawValue: 4) }
        /// Deletion is pending.
        @inlinable package static var deleted: State { State(rawValue: 8) }
        /// The context forgot the object.
        @inlinable package static var gone: State { State(rawValue: 16) }
        /// Delete rules were applied.
        static var propagated: State { State(rawValue: 32) }
        /// They were applied, and are to be applied once more.
        static var propagatesAgain: State { State(rawValue: 1 << 29) }
        /// A to-many relationship differs from the store.
        static var membersChanged: State { State(rawValue: 64) }
        /// Counted already by the prefetch that runs.
        static var collected: State { State(rawValue: 4096) }
        /// On the context's list of inserted, updated or deleted objects.
        static var listedInserted: State { State(rawValue: 128) }
        static var listedUpdated: State { State(rawValue: 256) }
        static var listedDeleted: State { State(rawValue: 512) }
        /// Not in a context yet: `owner` is a place of its own.
        static var unattached: State { State(rawValue: 1024) }
        /// Has something in `keptByObjects`.
        static var keeps: State { State(rawValue: 2048) }
        /// Has something in its context's `fileValues`.
        static var keepsFiles: State { State(rawValue: 8192) }
        /// Its record was written of unsaved values of a context beneath, whatever version it names.
        static var nested: State { State(rawValue: 1 << 21) }
        /// The host's validators are asked about it.
        static var validating: State { State(rawValue: 1 << 19) }
        /// Changed since pending changes were last processed; implies `updated` or `inserted`.
        static var touched: State { State(rawValue: 1 << 16) }
        /// Its context's event has an entry for it.
        static var snapshotting: State { State(rawValue: 1 << 24) }
        /// The store had no row when a value was asked for: the values are nil, and it counts as deleted.
        static var inaccessible: State { State(rawValue: 1 << 22) }
        /// On its context's list of objects that the next save checks.
        static var locked: State { State(rawValue: 1 << 23) }
        /// The host's hooks run that prepare its deletion, or that set something instead of null.
        static var preparing: State { State(rawValue: 1 << 25) }
        static var settingNil: State { State(rawValue: 1 << 26) }
        /// Has something in its context's `fetchedValues`.
        static var keepsFetched: State { State(rawValue: 16384) }
        /// Holds values that transformers made.
        static var keepsTransformed: State { State(rawValue: 32768) }
        /// Has something in its context's `parts`.
        static var partial: State { State(rawValue: 1 << 27) }
        /// It left its context alone, as deleted: not with all others, by a reset.
        static var left: State { State(rawValue: 1 << 18) }
        /// Left its context, and keeps a `Departure` by `owner`.
        static var departed: State { State(rawValue: 1 << 28) }
        /// Somebody observes its properties.
        @usableFromInline static var observed: State { State(rawValue: 1 << 17) }
    }

    /// An object outside every context, with the defaults of its entity.
    public convenience init(entity: Entity) throws {
        guard entity.model.isFrozen else {
            throw CoreError(
                .invalidArgument,
                "the model of \(entity.name) is not frozen; freeze it or create a coordinator first",
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
        owner = context?.owner ?? ManagedObject.ownPlace()
    }

    deinit {
        context?.forget(self)
        dropOwnPlace()
        if !state.isDisjoint(with: [.keeps, .keepsFiles, .keepsFetched, .keepsTransformed, .observed, .partial]) {
            dropKept()
        }
        dropRecord()
        if toOneTargets != nil || overlay != nil || toManyKeepers != nil { letGo() }
        // The entity may end with it.
        dropDeparture()
    }

    /// Lets go of the objects that this one leads to; see `PutOffEnds`.
    private func letGo() {
        PutOffEnds.run { list in
            for keeper in toManyRelationships { if let keeper { list.take(keeper) } }
            dropToManyRelationships()
            if let overlay {
                for slot in 0..<Int(entity.slotCount) where overlay.isChanged(slot) {
                    if case .object(let target) = overlay[slot] { list.take(target) }
                }
                dropOverlay()
            }
            if let targets = toOneTargets {
                for ordinal in 0..<entity.layout.toOneCount {
                    if let target = targets[ordinal].object { list.take(target.takeUnretainedValue()) }
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
                ? "add a subentity to the model that is not abstract" : "insert one of its subentities (\(names))"
            throw CoreError(
                .invalidArgument,
                "\(entity.name) is an abstract entity and cannot be instantiated; \(remedy)",
                entity: entity.name)
        }
    }
}

// MARK: - The thread

extension ManagedObject {
    /// Whether the calling thread may use the object now; false for one that left its context.
    @inlinable package var isOnQueue: Bool { platform_is_owner(owner) }

    /// For an unattached object: the thread that made it.
    package var creator: UInt64 { state.contains(.unattached) ? owner.pointee : 0 }

    private static func ownPlace() -> UnsafeMutablePointer<UInt64> {
        let place = UnsafeMutablePointer<UInt64>.allocate(capacity: 2)
        place.initialize(to: platform_thread_id())
        place[1] = 0
        return place
    }

    private func dropOwnPlace() {
        if state.remove(.unattached) != nil { owner.deallocate() }
    }

    private func dropDeparture() {
        if state.remove(.departed) != nil { Departure.release(owner) }
    }

    /// Keeps what it takes to say later that it left.
    func depart(_ departure: Departure) {
        owner = departure.retained()
        state.insert(.departed)
    }

    private func changeOwner() {
        dropOwnPlace()
        dropDeparture()
        owner = context?.owner ?? platform_nobody()
    }
}

// MARK: - Identity and state

extension ManagedObject {
    public var objectID: ObjectID { ObjectID(store: store, entity: entity, reference: primaryKey) }
    public var hasTemporaryID: Bool { primaryKey < 0 }
    public var isInserted: Bool { state.contains(.inserted) && !state.contains(.deleted) }
    public var isUpdated: Bool { state.contains(.updated) && !state.contains(.inserted) && !state.contains(.deleted) }
    public var isDeleted: Bool { state.contains(.deleted) }
    /// Also of an object that left its context, as Core Data's; its values cannot be had again.
    public var isFault: Bool { !state.isDisjoint(with: [.fault, .gone]) }
    /// Whether the context forgot the object: after a reset, after the save of its deletion, or when the context ended.
    public var isGone: Bool { state.contains(.gone) }
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
    /// Points the object at a row, whose memory it then retains.
    ///
    /// A row of another entity has another layout: an object made by an ID that names a wrong entity never takes it.
    func setRecord(_ new: Record) {
        guard new.header.pointee.entity == entity.index else { return }
        _ = new.chunk.retain()
        dropRecord()
        record = new.start
    }

    /// Points a fault at the newest row. Targets and lists that were read beside an older one are read again, for a save tells
    /// by the row's version alone whether they are stale.
    @inline(__always)
    func renew(_ new: Record) {
        if record == nil || version == new.version && !state.contains(.nested) || forgetPartners() {
            setRecord(new)
            state.remove(.nested)
        }
    }

    /// False for an object whose members were put in an order here: it is an order of the members that its row had then.
    @discardableResult
    func forgetPartners() -> Bool {
        if toManyRelationships.contains(where: { $0?.isLoaded == true && $0?.isOrderChanged == true }) { return false }
        dropToOneTargets()
        for keeper in toManyRelationships { keeper?.reload() }
        return true
    }

    /// Runs `body`, for which another row is the object's: one that has only a part of a fault's values, or a newer one.
    func standing<Result>(on row: Record, _ body: () throws -> Result) rethrows -> Result {
        let own = record
        record = row.start
        defer { record = own }
        return try body()
    }

    func dropRecord() {
        guard let old = record else { return }
        record = nil
        Record(old).chunk.release()
    }

    /// The optimistic-lock version that the object was read at; 0 when its row is not known.
    var version: Int32 { record.map { Record($0).version } ?? 0 }
}
