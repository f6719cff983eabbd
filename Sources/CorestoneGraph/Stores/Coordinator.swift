import CPlatform
import CorestoneModel
import CorestoneValues

/// Connects contexts to stores: keeps the stores of a model, and one cache of rows for all contexts.
///
/// May be used by any thread.
public final class Coordinator: @unchecked Sendable {
    public let model: Model
    /// Guards the stores.
    private let lock = RecursiveLock(.stores)
    private var openStores: [Store] = []
    /// Objects of removed stores still point to them.
    let storeKeeper = StoreKeeper()
    private var storesMade: UInt32 = 0
    let countLock = RecursiveLock(.leaf)
    /// Guarded by `countLock`.
    var counted = Statistics()
    /// Runs what `perform` was given.
    let queue = SerialQueue(ContextLabel(origin: nil))
    let closing = Closing()
    /// All contexts that have no parent.
    let contexts = ContextFollowers()
    /// Those of them that merge what others save.
    let followers = ContextFollowers()
    let listeners = CoordinatorListeners(isShared: true)
    /// Readers of the history that wait for more.
    let historySignals = HistorySignals()
    /// Set before anybody else has the coordinator; nil for one of the present.
    public internal(set) var past: Past?
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

    /// Takes over a store, also when it fails.
    ///
    /// - Parameter configuration: whose objects the store is for; nil for those of the whole model.
    package func add(
        _ backing: any PersistentStore, configuration: String? = nil, warnings: [String] = []
    ) throws -> Store {
        let store = try keep(backing, configuration: configuration, warnings: warnings)
        try? remote.update(self)
        post(.storesDidChange, StoreChanges(added: [store]))
        return store
    }

    /// Takes over a store, before another one if that is given, and tells nobody.
    /// - Throws: `.invalidHandle` when the coordinator was closed, and the store is closed then.
    func keep(
        _ backing: any PersistentStore, configuration: String?, warnings: [String], inPlaceOf former: Store? = nil
    ) throws -> Store {
        do {
            try check(backing.abilities, ofStoreAt: backing.path)
            let holdings = try model.holdings(ofConfiguration: configuration)
            return try lock.with {
                try requireMayAdd(backing)
                storesMade += 1
                let store = Store(
                    backing: backing, number: storesMade, coordinator: self,
                    configuration: configuration, holdings: holdings, warnings: warnings)
                storeKeeper.stores.append(store)
                openStores.insert(store, at: openStores.firstIndex { $0 === former } ?? openStores.count)
                return store
            }
        } catch {
            backing.close()
            throw error
        }
    }

    /// - Throws: `.invalidHandle` when the coordinator was closed, `.invalidArgument` when it has the same store open.
    func requireMayAdd(_ backing: any PersistentStore) throws {
        try lock.with {
            guard !closing.hasClosed else {
                throw CoreError(
                    .invalidHandle, code: .persistentStoreOpen,
                    "cannot add \(backing.path): the coordinator is closed; create a new coordinator",
                    file: backing.path)
            }
            guard let twin = openStores.first(where: { $0.identifier == backing.identifier }) else { return }
            throw CoreError(
                .invalidArgument, code: .persistentStoreOpen,
                "the coordinator already has \(twin.path) open, which has the same identifier as \(backing.path); "
                    + "use that store, or another coordinator", file: backing.path)
        }
    }

    /// A store that cannot do what the model asks for would lose it silently.
    package func check(_ abilities: StoreAbilities, ofStoreAt path: String) throws {
        if !abilities.contains(.derivedAttributes) {
            let derived = model.entities.flatMap { $0.ownAttributes.filter { $0.derivation != nil } }
            try refuse(
                derived.map { ($0.entity.name, $0.name, "\($0.entity.name).\($0.name)") }, path, "derived attributes",
                {
                    "\($0) \(derived.count == 1 ? "is" : "are") derived, but a store of this type does not compute attributes"
                })
        }
        if !abilities.contains(.uniqueConstraints) {
            let constraints = model.entities.flatMap { entity in entity.uniqueConstraints.map { (entity.name, $0) } }
            try refuse(
                constraints.map { name, keys in
                    (name, keys.first, keys.map { "\(name).\($0)" }.joined(separator: " and "))
                }, path, "unique constraints",
                { "\($0) must be unique, but a store of this type does not check unique constraints" })
        }
    }

    /// Throws an error that names all parts of the model which a store cannot keep; the first one is its entity and key.
    private func refuse(
        _ parts: [(entity: String, key: String?, name: String)], _ path: String, _ noun: String,
        _ reason: (String) -> String
    ) throws {
        guard let first = parts.first else { return }
        let why = reason(parts.map(\.name).joined(separator: ", "))
        throw CoreError(
            .unsupported, code: .persistentStoreOpen,
            "\(path) cannot be used with this model: \(why); use an SQLite store, or a model without \(noun)",
            entity: first.entity, key: first.key, file: path)
    }

    /// Closes a store, when those who use it right now are done. Its objects leave every context, each on its own queue, as
    /// `invalidated`, with their unsaved changes; see `Context.takeRemovedStores`.
    public func remove(_ store: Store) throws {
        if platform_holds_connection() || platform_holds_store() && !store.writing.isMine {
            throw Coordinator.storeInUse("remove \(store.path)", file: store.path)
        }
        try requireOwn(store)
        post(.willRemoveStore, StoreChanges(removed: [store]))
        remote.end(store)
        try lock.with {
            // Who was told may have removed it.
            try requireOwn(store)
            openStores.removeAll { $0 === store }
        }
        // Should somebody have begun to listen meanwhile.
        remote.end(store)
        store.writing.with { store.close() }
        // Readers that wait find the store closed.
        historySignals.send()
        // Where all stores are closed, contexts keep their objects.
        if !isClosing { invalidateObjects(of: store) }
        post(.storesDidChange, StoreChanges(removed: [store]))
    }

    package func requireOwn(_ store: Store) throws {
        guard stores.contains(where: { $0 === store }) else {
            throw CoreError(
                .invalidArgument,
                store.coordinator != ObjectIdentifier(self)
                    ? "\(store.path) is a store of another coordinator; pass a store of this one"
                    : closing.hasClosed
                        ? "\(store.path) was closed with this coordinator; open it with a new coordinator"
                        : "\(store.path) was removed from this coordinator; add it again",
                file: store.path)
        }
    }

    /// The ID that a URI stands for; nil for text that is no URI of a saved object, and when no store or entity has its names.
    public func objectID(forURI uri: String) throws -> ObjectID? {
        guard let parts = ObjectIDParts(uri: uri) else { return nil }
        let named = stores.filter { $0.identifier == parts.store }
        guard named.contains(where: { $0.references != nil }) else {
            guard let key = Int64(parts.reference), key > 0, let entity = model.entity(named: parts.entity),
                let store = named.first(where: { $0.mayHold(entity) })
            else { return nil }
            return ObjectID(store: store, entity: entity, reference: key)
        }
        guard let reference = StoreReference(uriText: parts.reference), let entity = model.entity(named: parts.entity),
            let store = named.first(where: { $0.mayHold(entity) })
        else { return nil }
        return try store.newObjectID(for: entity, reference: reference)
    }

    /// The stores that may have objects of an entity, or of those that inherit from it; none when no store is open.
    /// - Throws: `.invalidArgument` with entity and configurations when only others are open.
    func stores(having entity: Entity, orHeirs: Bool = false) throws -> [Store] {
        let all = stores
        if all.allSatisfy({ $0.holdings == nil }) { return all }
        let found = all.filter { $0.mayHold(entity, orHeirs: orHeirs) }
        if !found.isEmpty { return found }
        let open = all.map {
            "\($0.path) has the configuration \"\($0.configuration ?? ModelConfiguration.defaultName)\""
        }
        let having = model.configurations.filter { configuration in
            (try? model.holdings(ofConfiguration: configuration.name))?.contains(entity.index) == true
        }.map(\.name)
        let noun = having.count == 1 ? "the configuration" : "the configurations"
        let place =
            having.isEmpty ? "no configuration" : "\(noun) \(having.map { "\"\($0)\"" }.joined(separator: ", "))"
        let remedy =
            having.isEmpty
            ? "add a store without a configuration"
            : "add a store with \(having.count == 1 ? "that configuration" : "one of them"), or without a configuration"
        throw CoreError(
            .invalidArgument, code: .persistentStoreOperation,
            "no open store can hold \(entity.name) objects: \(open.joined(separator: ", ")), and \(entity.name) is in "
                + "\(place); \(remedy)", entity: entity.name, file: all.count == 1 ? all[0].path : nil)
    }

    /// The store that new objects of an entity go to: the first that is for such objects and can be written.
    func writableStore(for entity: Entity) throws -> Store {
        let stores = try stores(having: entity)
        if let store = stores.first(where: { !$0.isReadOnly }) { return store }
        if let store = stores.first { throw store.isReadOnlyError() }
        throw CoreError(
            .invalidArgument, code: .persistentStoreSave,
            "the coordinator has no store to save \(entity.name) objects to; add one first", entity: entity.name)
    }
}
