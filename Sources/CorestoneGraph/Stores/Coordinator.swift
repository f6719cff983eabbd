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

    /// Freezes the model; throws its first mistake.
    public init(model: Model) throws {
        try model.freeze()
        self.model = model
    }

    deinit { for store in openStores { store.backing.close() } }

    public var stores: [Store] { lock.with { openStores } }
    /// Whether no object can be of another store than the one that is open.
    var hasHadOneStore: Bool { lock.with { storesMade == 1 } }

    /// What was asked of the stores since the coordinator was made, or since the numbers were reset.
    public var statistics: Statistics { lock.with { counted } }
    /// Begins to count anew.
    public func resetStatistics() { lock.with { counted = Statistics() } }

    package func add(_ backing: any PersistentStore) throws -> Store {
        do { try checkAbilities(of: backing) } catch {
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
            let store = Store(backing: backing, number: storesMade, coordinator: ObjectIdentifier(self))
            openStores.append(store)
            return store
        }
    }

    /// A store that cannot do what the model asks for would lose it silently.
    private func checkAbilities(of store: any PersistentStore) throws {
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
        try lock.with {
            guard openStores.contains(where: { $0 === store }) else {
                throw CoreError(
                    .invalidArgument, "\(store.path) is no store of this coordinator, or was removed before",
                    file: store.path)
            }
            openStores.removeAll { $0 === store }
            removedStores.append(store)
            store.isOpen = false
            store.rowCache.removeAll()
            store.backing.close()
        }
    }

    /// The ID that a URI stands for; nil when no store knows its host or the model not its entity.
    public func objectID(forURI uri: String) throws -> ObjectID? {
        let parts = try ObjectIDParts(uri: uri)
        guard let store = stores.first(where: { $0.identifier == parts.store }),
            let entity = model.entity(named: parts.entity)
        else { return nil }
        return ObjectID(store: store, entity: entity, reference: parts.primaryKey)
    }

    /// Runs `body` while no other thread uses the stores or their row caches.
    package func withLock<Result>(_ body: () throws -> Result) rethrows -> Result { try lock.with(body) }

    /// The store that new objects go to: the first that can be written.
    func writableStore() throws -> Store {
        let stores = self.stores
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
    /// Guarded by the coordinator's lock.
    let rowCache = RowCache()
    package internal(set) var isOpen = true

    init(backing: any PersistentStore, number: UInt32, coordinator: ObjectIdentifier) {
        self.backing = backing
        self.number = number
        self.coordinator = coordinator
    }

    /// The UUID as text: the host of the store's object URIs.
    public var identifier: String { backing.identifier }
    public var path: String { backing.path }
    public var isReadOnly: Bool { backing.isReadOnly }
    /// Why nothing can be saved; nil when it can.
    public var readOnlyReason: String? { backing.readOnlyReason }
    /// The reason of a store that could be written, if that had been asked for.
    package static let isOpenForReading = "open it for writing to save"
    /// Where the coordinator's model comes from.
    public var modelSource: ModelSource { backing.modelSource }

    /// For a save into a store that cannot be written.
    func isReadOnlyError() -> CoreError {
        CoreError(
            .storeReadOnly, code: .persistentStoreSave,
            "\(path) is open read-only: \(backing.readOnlyReason ?? Store.isOpenForReading)", file: path)
    }

    func requireOpen() throws {
        guard isOpen else {
            throw CoreError(
                .objectGone, code: .managedObjectReferentialIntegrity,
                "\(path) was removed from its coordinator; its objects cannot be read or saved any more", file: path)
        }
    }
}
