import CPlatform
import CorestoneModel
import CorestoneValues
import Synchronization

/// A store of a coordinator.
public final class Store: @unchecked Sendable {
    package let backing: any PersistentStore
    /// The number, which is unique within the coordinator and never reused.
    package let number: UInt32
    /// The coordinator of the store; used for comparison by identity only.
    let coordinator: ObjectIdentifier
    /// The coordinator's model; used for comparison by identity only.
    private let model: ObjectIdentifier
    /// The configuration whose entities the store holds; nil for all entities of the model.
    public let configuration: String?
    /// Warnings about requested options that have no effect and about hard links, one sentence each.
    public let warnings: [String]
    /// The options with which the store was opened, except those of its migration (`migration`), which are nil.
    public let options: StoreOptions
    /// The indexes of the configuration's entities and their subentities; nil for the whole model.
    let holdings: Set<UInt32>?
    let rowCache = RowCache()
    /// The writer lock, which a save holds. Threads acquire it in their order of arrival.
    let writing: FairLock
    /// The lock for any use of a store that supports one thread at a time; nil for other stores.
    private let using: FairLock?
    private let open = Atomic(true)
    /// The retention to which the history is purged automatically; nil without automatic purges.
    package let historyRetention = Locked<HistoryRetention?>(nil)
    /// Whether a batch request is running, which excludes other saves. Accessed while `writing` is locked.
    var isInBatch = false
    /// The path of the store that replaced this one in a migration; nil without a migration.
    private let migratedTo = Locked<String?>(nil)
    /// The value of `migratedTo`.
    var successor: String? { migratedTo.withLock { $0 } }
    /// The metadata to be written by the next save.
    let pendingMetadata = Locked<StoreMetadata?>(nil)
    package var isOpen: Bool { open.load(ordering: .acquiring) }
    /// Whether the store is notified of registered objects; read whenever an object is created or deallocated.
    let observesRegistrations: Bool
    let hasRowsInMemory: Bool
    /// The table that maps the primary keys of a custom store to references; nil for other stores.
    package let references: ReferenceTable?

    init(
        backing: any PersistentStore, number: UInt32, coordinator: Coordinator, configuration: String?,
        holdings: Set<UInt32>?, warnings: [String], options: StoreOptions
    ) {
        var options = options
        // They retain models and functions of the application, and are used only while the store is opened.
        options.migration = nil
        self.options = options
        self.warnings = warnings + backing.warnings
        self.configuration = configuration
        self.holdings = holdings
        self.backing = backing
        observesRegistrations = backing.abilities.contains(.registrations)
        hasRowsInMemory = backing.abilities.contains(.rowsInMemory)
        references = backing.references
        writing = FairLock(.writer, number: number)
        using = backing.abilities.contains(.parallelReads) ? nil : FairLock(.connection, number: number)
        self.number = number
        (self.coordinator, model) = (ObjectIdentifier(coordinator), ObjectIdentifier(coordinator.model))
        backing.cachePushedRows(in: rowCache)
    }

    /// Whether the entity belongs to the coordinator's model.
    func knows(_ entity: Entity) -> Bool { ObjectIdentifier(entity.model) == model }

    /// Whether the store's configuration contains the entity, or one of its subentities if `orSubentities` is true.
    func mayContain(_ entity: Entity, orSubentities: Bool = false) -> Bool {
        guard let holdings else { return true }
        return holdings.contains(entity.index)
            || orSubentities && entity.withDescendants.contains { holdings.contains($0.index) }
    }

    public var type: StoreType { backing.type }
    /// The identifier, usually a UUID as text: the host part of the URIs of the store's objects.
    public var identifier: String { backing.identifier }
    public var path: String { backing.path }
    /// Whether the store cannot be written, because of its options, its file or its migration.
    public var isReadOnly: Bool { backing.isReadOnly || successor != nil }
    /// The reason why the store cannot be written.
    ///
    /// nil if the store is writable, or if only the read-only option prevents writing.
    public var readOnlyReason: String? {
        successor.map { "it was migrated to \(Coordinator.shown($0)); use the objects of that store" }
            ?? backing.readOnlyReason
    }
    /// The attributes for which a value of another type was read as null so far.
    package var attributesReadAsNull: [Attribute] { backing.attributesReadAsNull }
    /// The reason if only the read-only option prevents writing.
    package static let isOpenForReading =
        "it was opened without write access; open the store without CST_STORE_READ_ONLY (read_only), or with "
        + "CST_STORE_WRITABLE (writable)"
    /// The remedy in the reason if the model was inferred from the store's tables.
    package static let needsItsModel = "open the store with the model it was written with"
    /// The source of the coordinator's model.
    public var modelSource: ModelSource { backing.modelSource }

    /// Whether a save must reach the store even without changes.
    var observesEmptySaves: Bool {
        guard isOpen else { return false }
        return backing.abilities.contains(.emptySaves) || backing.needsSave || pendingMetadata.withLock { $0 != nil }
    }

    /// Creates the error for a save to a read-only store.
    func readOnlyError() -> CoreError {
        CoreError(
            .storeReadOnly, code: .persistentStoreSave,
            "\(Coordinator.shown(path)) is open read-only: \(readOnlyReason ?? Store.isOpenForReading)",
            file: path)
    }

    /// Makes the store read-only after its migration, because later saves would be lost.
    func wasMigrated(to path: String) { migratedTo.withLock { $0 = path } }

    /// Runs `body`, which uses the store, after waiting for other threads if necessary.
    @inline(__always)
    package func use<Result>(_ body: () throws -> Result) throws -> Result {
        guard let using else {
            try requireOpen()
            return try body()
        }
        if platform_holds_connection(), !using.isHeldByThisThread { try lockWithTimeout(using) } else { using.lock() }
        defer { using.unlock() }
        try requireOpen()
        return try body()
    }

    /// Acquires the lock of this store with a time-out, because the thread holds the lock of another store.
    ///
    /// Application code may run during the use of another store. Without a time-out, two such threads could deadlock.
    @inline(never)
    private func lockWithTimeout(_ using: FairLock) throws {
        guard using.lock(seconds: Store.patience) else {
            throw CoreError(
                .storeBusy, code: .persistentStoreTimeout,
                "timed out after \(Store.patience) seconds waiting for \(Coordinator.shown(path)) in a callback of "
                    + "another store; use \(path.isEmpty ? "the store" : path) before or after the call that runs the "
                    + "callback", file: path)
        }
    }

    /// The time-out in seconds.
    private static let patience: UInt64 = 10

    /// Closes the store. Called while `writing` is locked.
    func close() {
        open.store(false, ordering: .releasing)
        rowCache.forgetAll()
        if let using { using.with { backing.close() } } else { backing.close() }
    }

    func requireOpen() throws {
        guard isOpen else {
            let reason =
                successor.map { "was migrated to \(Coordinator.shown($0)); use the objects of that store" }
                ?? "was removed from its coordinator, or the coordinator was closed; add it with "
                + "cst_coordinator_add_store (add_store, addStore) to an open coordinator, and fetch its objects "
                + "again with cst_context_fetch (fetch)"
            throw CoreError(
                .objectGone, code: .managedObjectReferentialIntegrity, "\(Coordinator.shown(path)) \(reason)",
                file: path)
        }
    }
}
