import CPlatform
import CorestoneModel
import CorestoneValues
import Synchronization

/// A store that a coordinator keeps.
public final class Store: @unchecked Sendable {
    package let backing: any PersistentStore
    /// Unique within the coordinator, never used again.
    package let number: UInt32
    /// Which coordinator keeps the store; told apart by identity only.
    let coordinator: ObjectIdentifier
    /// The coordinator's model; told apart by identity only.
    private let model: ObjectIdentifier
    /// Whose objects the store is for; nil for those of the whole model.
    public let configuration: String?
    /// What was asked for when it was added and is not done, sentence by sentence, with reasons.
    public let warnings: [String]
    /// The entities of the configuration by index, with all that inherit from them; nil for the whole model.
    let holdings: Set<UInt32>?
    let rowCache = RowCache()
    /// Saves take turns, in the order in which they come.
    let writing: FairLock
    /// Who uses a store that one thread at a time may use takes this; nil for other stores.
    private let using: FairLock?
    private let open = Atomic(true)
    /// To which its history is purged automatically; nil: it is not.
    package let historyRetention = Locked<HistoryRetention?>(nil)
    /// Whether a batch request runs, which nothing else is saved within. Used by whoever has `writing`.
    var isInBatch = false
    /// Of a store that is about to be removed since another one took its place: that one's path.
    private let migratedTo = Locked<String?>(nil)
    /// What the store is to say about itself from the next save on.
    let pendingMetadata = Locked<StoreMetadata?>(nil)
    package var isOpen: Bool { open.load(ordering: .acquiring) }
    /// Asked whenever an object is made or ends.
    let hearsRegistrations: Bool
    let hasRowsInMemory: Bool
    /// Of a store of a host's own kind: what its keys stand for.
    package let references: ReferenceTable?

    init(
        backing: any PersistentStore, number: UInt32, coordinator: Coordinator, configuration: String?,
        holdings: Set<UInt32>?, warnings: [String]
    ) {
        self.warnings = warnings + backing.warnings
        self.configuration = configuration
        self.holdings = holdings
        self.backing = backing
        hearsRegistrations = backing.abilities.contains(.registrations)
        hasRowsInMemory = backing.abilities.contains(.rowsInMemory)
        references = backing.references
        writing = FairLock(.writer, number: number)
        using = backing.abilities.contains(.parallelReads) ? nil : FairLock(.connection, number: number)
        self.number = number
        (self.coordinator, model) = (ObjectIdentifier(coordinator), ObjectIdentifier(coordinator.model))
        backing.keepUnasked(in: rowCache)
    }

    /// Whether the entity is one of the coordinator's model.
    func knows(_ entity: Entity) -> Bool { ObjectIdentifier(entity.model) == model }

    /// Whether the store's configuration has the entity, or one that inherits from it.
    func mayHold(_ entity: Entity, orHeirs: Bool = false) -> Bool {
        guard let holdings else { return true }
        return holdings.contains(entity.index)
            || orHeirs && entity.withDescendants.contains { holdings.contains($0.index) }
    }

    public var type: StoreType { backing.type }
    /// The UUID as text: the host of the store's object URIs.
    public var identifier: String { backing.identifier }
    public var path: String { backing.path }
    public var isReadOnly: Bool { backing.isReadOnly || migratedTo.withLock { $0 != nil } }
    /// Why nothing can be saved; nil when it can.
    public var readOnlyReason: String? {
        migratedTo.withLock { $0 }.map { "it was migrated to \($0); open that store instead" } ?? backing.readOnlyReason
    }
    /// Attributes of which a row had a value of another type, so far, that was read as null.
    package var attributesReadAsNull: [Attribute] { backing.attributesReadAsNull }
    /// The reason of a store that could be written, if that had been asked for.
    package static let isOpenForReading = "CST_STORE_READ_ONLY (read_only) is set; open the store without it"
    /// Where the coordinator's model comes from.
    public var modelSource: ModelSource { backing.modelSource }

    /// Whether a save is to reach the store that changes nothing in it.
    var hearsEmptySaves: Bool {
        guard isOpen else { return false }
        return backing.abilities.contains(.emptySaves) || backing.wantsSave || pendingMetadata.withLock { $0 != nil }
    }

    /// For a save into a store that cannot be written.
    func isReadOnlyError() -> CoreError {
        CoreError(
            .storeReadOnly, code: .persistentStoreSave,
            "\(path) is open read-only: \(readOnlyReason ?? Store.isOpenForReading)", file: path)
    }

    /// What would be saved into the store from now on would be lost.
    func wasMigrated(to path: String) { migratedTo.withLock { $0 = path } }

    /// Runs `body`, which uses the store, when no thread is in the way.
    @inline(__always)
    package func use<Result>(_ body: () throws -> Result) throws -> Result {
        guard let using else {
            try requireOpen()
            return try body()
        }
        if platform_holds_connection(), !using.isMine { try lockBesideOthers(using) } else { using.lock() }
        defer { using.unlock() }
        try requireOpen()
        return try body()
    }

    /// The host's code may run within the use of another store.
    @inline(never)
    private func lockBesideOthers(_ using: FairLock) throws {
        guard using.lock(seconds: Store.patience) else {
            throw CoreError(
                .storeBusy, code: .persistentStoreTimeout,
                "timed out after \(Store.patience) seconds waiting for \(path) in a callback of another store's fetch; use \(path) "
                    + "before or after that fetch", file: path)
        }
    }

    /// In seconds.
    private static let patience: UInt64 = 10

    /// By whoever has `writing`.
    func close() {
        open.store(false, ordering: .releasing)
        rowCache.forgetAll()
        if let using { using.with { backing.close() } } else { backing.close() }
    }

    func requireOpen() throws {
        guard isOpen else {
            throw CoreError(
                .objectGone, code: .managedObjectReferentialIntegrity,
                "\(path) was removed from its coordinator, or the coordinator was closed; open it again to read or save its "
                    + "objects", file: path)
        }
    }
}
