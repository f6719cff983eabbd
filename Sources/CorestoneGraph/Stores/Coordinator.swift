import CorestoneModel
import CorestoneValues

/// Connects contexts to stores: keeps the stores of a model, and one cache of rows for all contexts.
///
/// May be used by any thread; its lock makes stores see one thread at a time.
public final class Coordinator: @unchecked Sendable {
    public let model: Model
    private let lock = RecursiveLock()
    private var openStores: [Store] = []
    /// Objects of removed stores still point to them.
    private var removedStores: [Store] = []
    private var storesMade: UInt32 = 0
    /// Guarded by the lock.
    var counted = Statistics()
    /// Contexts that merge what others save.
    let followers = ContextFollowers()
    let listeners = CoordinatorListeners(isShared: true)
    /// Looks out for what others write.
    let remote = RemoteWatching()

    /// Freezes the model; throws its first mistake.
    public init(model: Model) throws {
        try model.freeze()
        self.model = model
    }

    deinit {
        listeners.end()
        remote.end()
        for store in openStores { store.backing.close() }
    }

    public var stores: [Store] { lock.with { openStores } }
    /// Whether no object can be of another store than the one that is open.
    var hasHadOneStore: Bool { lock.with { storesMade == 1 } }

    /// What was asked of the stores since the coordinator was made, or since the numbers were reset.
    public var statistics: Statistics { lock.with { counted } }
    /// Begins to count anew.
    public func resetStatistics() { lock.with { counted = Statistics() } }

    /// Takes over a store, also when it fails.
    ///
    /// - Parameter configuration: whose objects the store is for; nil for those of the whole model.
    package func add(_ backing: any PersistentStore, configuration: String? = nil) throws -> Store {
        let store = try keep(backing, configuration: configuration)
        try? remote.update(self)
        post(.storesDidChange, StoreChanges(added: [store]))
        return store
    }

    /// Takes over a store, before another one if that is given, and tells nobody.
    func keep(
        _ backing: any PersistentStore, configuration: String?, inPlaceOf former: Store? = nil
    ) throws -> Store {
        let holdings: Set<UInt32>?
        do {
            try checkAbilities(of: backing)
            holdings = try model.holdings(ofConfiguration: configuration)
        } catch {
            backing.close()
            throw error
        }
        return try lock.with {
            if let twin = openStores.first(where: { $0.identifier == backing.identifier }) {
                backing.close()
                throw CoreError(
                    .invalidArgument, code: .persistentStoreOpen,
                    "the coordinator has the store \(twin.path) open already, with the same identifier as \(backing.path); "
                        + "use that one, or another coordinator", file: backing.path)
            }
            storesMade += 1
            let store = Store(
                backing: backing, number: storesMade, coordinator: ObjectIdentifier(self), configuration: configuration,
                holdings: holdings)
            openStores.insert(store, at: openStores.firstIndex { $0 === former } ?? openStores.count)
            return store
        }
    }

    /// A store that cannot do what the model asks for would lose it silently.
    func checkAbilities(of store: any PersistentStore) throws {
        for entity in model.entities {
            if !store.abilities.contains(.derivedAttributes),
                let derived = entity.ownAttributes.first(where: { $0.derivation != nil })
            {
                throw unable(
                    store, entity, derived.name,
                    "\(entity.name).\(derived.name) is derived, and a store of this type computes no attributes")
            }
            if !store.abilities.contains(.uniqueConstraints), let constraint = entity.uniqueConstraints.first {
                throw unable(
                    store, entity, constraint.first,
                    "\(constraint.joined(separator: ", ")) of \(entity.name) must be unique, and a store of this type does "
                        + "not check that")
            }
        }
    }

    private func unable(_ store: any PersistentStore, _ entity: Entity, _ key: String?, _ why: String) -> CoreError {
        CoreError(
            .unsupported, code: .persistentStoreOpen,
            "\(store.path) cannot be used with this model: \(why); use a SQLite store, or a model without it",
            entity: entity.name, key: key, file: store.path)
    }

    /// Closes a store. Firing a fault of its objects fails from now on.
    public func remove(_ store: Store) throws {
        try requireOwn(store)
        post(.willRemoveStore, StoreChanges(removed: [store]))
        remote.end(store)
        try lock.with {
            // Who was told may have removed it.
            try requireOwn(store)
            openStores.removeAll { $0 === store }
            removedStores.append(store)
            store.isOpen = false
            store.rowCache.removeAll()
            store.backing.close()
        }
        // Should somebody have begun to listen meanwhile.
        remote.end(store)
        post(.storesDidChange, StoreChanges(removed: [store]))
    }

    func requireOwn(_ store: Store) throws {
        guard stores.contains(where: { $0 === store }) else {
            throw CoreError(
                .invalidArgument, "\(store.path) is no store of this coordinator, or was removed before",
                file: store.path)
        }
    }

    /// The ID that a URI stands for; nil when no store knows its host or the model not its entity.
    public func objectID(forURI uri: String) throws -> ObjectID? {
        let parts = try ObjectIDParts(uri: uri)
        guard let entity = model.entity(named: parts.entity),
            let store = stores.first(where: { $0.identifier == parts.store && $0.mayHold(entity) })
        else { return nil }
        return ObjectID(store: store, entity: entity, reference: parts.primaryKey)
    }

    /// Runs `body` while no other thread uses the stores or their row caches.
    package func withLock<Result>(_ body: () throws -> Result) rethrows -> Result { try lock.with(body) }

    /// The stores that may have objects of an entity, or of those that inherit from it; none when no store is open.
    /// - Throws: `.invalidArgument` with entity and configurations when only others are open.
    func stores(having entity: Entity, orHeirs: Bool = false) throws -> [Store] {
        let all = stores
        if all.allSatisfy({ $0.holdings == nil }) { return all }
        let found = all.filter { $0.mayHold(entity, orHeirs: orHeirs) }
        if !found.isEmpty { return found }
        let open = all.map { "\($0.path) is of \($0.configuration ?? ModelConfiguration.defaultName)" }
        let having = model.configurations.filter { configuration in
            (try? model.holdings(ofConfiguration: configuration.name))?.contains(entity.index) == true
        }.map(\.name)
        throw CoreError(
            .invalidArgument, code: .persistentStoreOperation,
            "no open store has objects of \(entity.name): \(open.joined(separator: ", ")), and \(entity.name) is in "
                + (having.isEmpty ? "no configuration" : "the configuration \(having.joined(separator: ", "))")
                + "; add a store of a configuration that has it, or one without a configuration", entity: entity.name)
    }

    /// The store that new objects of an entity go to: the first that is for such objects and can be written.
    func writableStore(for entity: Entity) throws -> Store {
        let stores = try stores(having: entity)
        if let store = stores.first(where: { !$0.isReadOnly }) { return store }
        if let store = stores.first { throw store.isReadOnlyError() }
        throw CoreError(
            .invalidArgument, code: .persistentStoreSave,
            "the coordinator has no store; add one before saving or fetching")
    }
}

/// A store that a coordinator keeps.
public final class Store: @unchecked Sendable {
    package let backing: any PersistentStore
    /// Unique within the coordinator, never used again.
    package let number: UInt32
    /// Which coordinator keeps the store; told apart by identity only.
    let coordinator: ObjectIdentifier
    /// Whose objects the store is for; nil for those of the whole model.
    public let configuration: String?
    /// The entities of the configuration by index, with all that inherit from them; nil for the whole model.
    let holdings: Set<UInt32>?
    /// Guarded by the coordinator's lock.
    let rowCache = RowCache()
    package internal(set) var isOpen = true
    /// Of a store that is about to be removed since another one took its place: that one's path.
    private let migratedTo = Locked<String?>(nil)
    /// Asked whenever an object is made or ends.
    let hearsRegistrations: Bool

    init(
        backing: any PersistentStore, number: UInt32, coordinator: ObjectIdentifier, configuration: String?,
        holdings: Set<UInt32>?
    ) {
        self.configuration = configuration
        self.holdings = holdings
        self.backing = backing
        hearsRegistrations = backing.abilities.contains(.registrations)
        self.number = number
        self.coordinator = coordinator
    }

    /// Whether the store's configuration has the entity, or one that inherits from it.
    func mayHold(_ entity: Entity, orHeirs: Bool = false) -> Bool {
        guard let holdings else { return true }
        return holdings.contains(entity.index)
            || orHeirs && entity.withDescendants.contains { holdings.contains($0.index) }
    }

    /// The UUID as text: the host of the store's object URIs.
    public var identifier: String { backing.identifier }
    public var path: String { backing.path }
    public var isReadOnly: Bool { backing.isReadOnly || migratedTo.withLock { $0 != nil } }
    /// Why nothing can be saved; nil when it can.
    public var readOnlyReason: String? {
        migratedTo.withLock { $0 }.map { "it was migrated to \($0), which takes its place" } ?? backing.readOnlyReason
    }
    /// The reason of a store that could be written, if that had been asked for.
    package static let isOpenForReading = "open it for writing to save"
    /// Where the coordinator's model comes from.
    public var modelSource: ModelSource { backing.modelSource }

    var hearsEmptySaves: Bool { backing.abilities.contains(.emptySaves) && isOpen }

    /// For a save into a store that cannot be written.
    func isReadOnlyError() -> CoreError {
        CoreError(
            .storeReadOnly, code: .persistentStoreSave,
            "\(path) is open read-only: \(readOnlyReason ?? Store.isOpenForReading)", file: path)
    }

    /// What would be saved into the store from now on would be lost.
    func wasMigrated(to path: String) { migratedTo.withLock { $0 = path } }

    func requireOpen() throws {
        guard isOpen else {
            throw CoreError(
                .objectGone, code: .managedObjectReferentialIntegrity,
                "\(path) was removed from its coordinator; its objects cannot be read or saved any more", file: path)
        }
    }
}
