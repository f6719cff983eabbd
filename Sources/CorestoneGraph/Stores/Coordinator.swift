import CPlatform
import CorestoneModel
import CorestoneValues

/// The connection between contexts and stores. Thread-safe.
///
/// It contains the open stores of a model, and one row cache per store for all contexts.
public final class Coordinator: @unchecked Sendable {
    public let model: Model
    /// The lock that guards the stores.
    private let lock = RecursiveLock(.stores)
    private var openStores: [Store] = []
    /// The owner of all stores that were added, because objects may still refer to removed stores.
    let retainedStores = RetainedStores()
    private var lastStoreNumber: UInt32 = 0
    let countLock = RecursiveLock(.leaf)
    /// The counters, guarded by `countLock`.
    var counted = Statistics()
    /// The queue of the blocks of `perform`.
    let queue: SerialQueue
    /// The name of the coordinator, which is also that of its queue.
    private let label: ContextLabel
    let closing = Closing()
    /// All contexts without a parent.
    let contexts = ContextFollowers()
    /// The contexts with automatic merging.
    let followers = ContextFollowers()
    let listeners = CoordinatorListeners(isShared: true)
    /// The readers of the history that wait for new transactions.
    let historySignals = HistorySignals()
    /// A past state of the stores; nil for the present. Set before the coordinator is shared.
    public internal(set) var past: Past?
    /// The watchers for writes of other processes and coordinators.
    let remote = RemoteWatching()

    /// Creates a coordinator without stores. Freezes the model, and throws its first error.
    public init(model: Model) throws {
        try model.freeze()
        self.model = model
        label = ContextLabel(origin: nil, noun: "coordinator", unnamed: "the coordinator")
        queue = SerialQueue(label)
    }

    /// The name of the coordinator, for the application; the threads of `perform` have this name too.
    ///
    /// nil, the initial value, means no name. Can be used on any thread.
    public var name: String? {
        get { label.name }
        set {
            label.name = newValue
            queue.updateThreadName()
        }
    }

    deinit {
        listeners.end()
        remote.end()
        for store in openStores { store.backing.close() }
    }

    /// The open stores, in the order of their addition.
    public var stores: [Store] { lock.with { openStores } }
    /// Whether only one store was ever added, so that all objects belong to it.
    var hasHadOneStore: Bool { lock.with { lastStoreNumber == 1 } }

    /// Adds a store, which the coordinator owns from then on. If the call fails, the store is closed.
    ///
    /// - Parameter configuration: The configuration whose entities the store holds; nil for all entities of the model.
    package func add(
        _ backing: any PersistentStore, configuration: String? = nil, warnings: [String] = [],
        options: StoreOptions = StoreOptions()
    ) throws -> Store {
        let store = try keep(backing, configuration: configuration, warnings: warnings, options: options)
        try? remote.update(self)
        post(.storesDidChange, StoreChanges(added: [store]))
        return store
    }

    /// Adds a store without notifications, before `former` unless that is nil.
    ///
    /// - Throws: `.invalidHandle` if the coordinator is closed. The store is closed after an error.
    func keep(
        _ backing: any PersistentStore, configuration: String?, warnings: [String],
        options: StoreOptions = StoreOptions(), inPlaceOf former: Store? = nil
    ) throws -> Store {
        do {
            try check(backing.abilities, ofStoreAt: backing.path)
            let holdings = try model.holdings(ofConfiguration: configuration)
            let kept = try lock.with {
                try requireMayAdd(backing)
                lastStoreNumber += 1
                let store = Store(
                    backing: backing, number: lastStoreNumber, coordinator: self,
                    configuration: configuration, holdings: holdings, warnings: warnings, options: options)
                retainedStores.stores.append(store)
                openStores.insert(store, at: openStores.firstIndex { $0 === former } ?? openStores.count)
                return store
            }
            try kept.use { backing.didAdd(to: self) }
            return kept
        } catch {
            backing.close()
            throw error
        }
    }

    /// Checks that a store can be added.
    ///
    /// - Throws: `.invalidHandle` if the coordinator is closed.
    ///   `.invalidArgument` if the same store is already open in the coordinator.
    func requireMayAdd(_ backing: any PersistentStore) throws {
        try lock.with {
            try requireMayAddStore(at: backing.path)
            guard let existing = openStores.first(where: { $0.identifier == backing.identifier }) else { return }
            throw CoreError.identifierInUse(backing.identifier, ofStoreAt: backing.path, byStoreAt: existing.path)
        }
    }

    /// Throws `.invalidHandle` if the coordinator is closed.
    ///
    /// - Parameter path: The path of the store to be added, for the error.
    package func requireMayAddStore(at path: String) throws {
        guard closing.hasClosed else { return }
        throw CoreError(
            .invalidHandle, code: .persistentStoreOpen,
            "cannot add \(Coordinator.shown(path)): the coordinator is closed; create a new coordinator with "
                + "cst_coordinator_new (Coordinator)",
            file: path)
    }

    /// Returns the path of a store for messages, or a phrase for an empty path, which custom stores may have.
    package static func shown(_ path: String) -> String { path.isEmpty ? "a store without a path" : path }

    /// Throws if a store does not support a feature of the model, which would otherwise be lost silently.
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
                    (
                        name, keys.first,
                        (keys.count == 1 ? "" : "the combination of ") + keys.map { "\(name).\($0)" }.listed
                    )
                }, path, "unique constraints",
                { "\($0) must be unique, but a store of this type does not check unique constraints" })
        }
    }

    /// Throws an error that lists all parts of the model that a store does not support.
    ///
    /// The entity and key of the error are those of the first part.
    private func refuse(
        _ parts: [(entity: String, key: String?, name: String)], _ path: String, _ noun: String,
        _ reason: (String) -> String
    ) throws {
        guard let first = parts.first else { return }
        let problem = reason(parts.map(\.name).listed)
        throw CoreError(
            .unsupported, code: .persistentStoreOpen,
            "\(Coordinator.shown(path)) cannot be used with this model: \(problem); use an SQLite store, or a model "
                + "without \(noun)",
            entity: first.entity, key: first.key, file: path)
    }

    /// Removes a store from the coordinator and closes it, after its current uses have ended.
    ///
    /// The objects of the store leave every context, on the context's queue. Observers of the context receive these
    /// objects as `invalidated`, and their unsaved changes are lost.
    ///
    /// - Throws: `.invalidArgument` for a store that is not open in this coordinator, and during a fetch or a save on
    ///   this thread.
    public func remove(_ store: Store) throws {
        if platform_holds_connection() || platform_holds_store() && !store.writing.isHeldByThisThread {
            throw Coordinator.storeInUse(
                "remove \(Coordinator.shown(store.path))", file: store.path)
        }
        try requireOwn(store)
        post(.willRemoveStore, StoreChanges(removed: [store]))
        remote.end(store)
        try lock.with {
            // An observer may have removed the store.
            try requireOwn(store)
            openStores.removeAll { $0 === store }
        }
        // An observation may have begun in the meantime.
        remote.end(store)
        store.writing.with {
            // It fails only for a store that is closed already.
            try? store.use { store.backing.willRemove(from: self) }
            store.close()
        }
        // Wakes waiting readers, which then find the store closed.
        historySignals.send()
        // If all stores are being closed, contexts keep their objects.
        if !isClosing { invalidateObjects(of: store) }
        post(.storesDidChange, StoreChanges(removed: [store]))
    }

    package func requireOwn(_ store: Store) throws {
        guard stores.contains(where: { $0 === store }) else {
            throw CoreError(
                .invalidArgument,
                "\(Coordinator.shown(store.path)) \(reasonNotOwn(store))", key: "store",
                file: store.path)
        }
    }

    /// Returns the reason why a store is not open in this coordinator, with the remedy, as the end of a message.
    private func reasonNotOwn(_ store: Store) -> String {
        if store.coordinator != ObjectIdentifier(self) {
            return "is a store of another coordinator; pass a store of this coordinator"
        }
        if let successor = store.successor {
            return "was migrated to \(Coordinator.shown(successor)) and removed from this coordinator; pass that store"
        }
        return closing.hasClosed
            ? "was closed with this coordinator; add it with cst_coordinator_add_store (add_store, addStore) to a new "
                + "coordinator"
            : "was removed from this coordinator; add it again with cst_coordinator_add_store (add_store, addStore)"
    }

    /// Returns the ID of a URI; nil if the text is not a URI of a saved object, or if no open store or entity matches.
    public func objectID(forURI uri: String) throws -> ObjectID? {
        guard let parts = ObjectIDParts(uri: uri) else { return nil }
        let named = stores.filter { $0.identifier == parts.store }
        guard named.contains(where: { $0.references != nil }) else {
            guard let key = Int64(parts.reference), key > 0, let entity = model.entity(named: parts.entity),
                let store = named.first(where: { $0.mayContain(entity) })
            else { return nil }
            return ObjectID(store: store, entity: entity, reference: key)
        }
        guard let reference = StoreReference(uriText: parts.reference), let entity = model.entity(named: parts.entity),
            let store = named.first(where: { $0.mayContain(entity) })
        else { return nil }
        return try store.newObjectID(for: entity, reference: reference)
    }

    /// Returns the stores that may contain objects of an entity; empty if no store is open.
    ///
    /// If `orSubentities` is true, stores of its subentities are included.
    ///
    /// - Throws: `.invalidArgument` with the entity and the configurations if only other stores are open.
    func stores(having entity: Entity, orSubentities: Bool = false) throws -> [Store] {
        let all = stores
        if all.allSatisfy({ $0.holdings == nil }) { return all }
        let found = all.filter { $0.mayContain(entity, orSubentities: orSubentities) }
        if !found.isEmpty { return found }
        let open = all.map {
            "\(Coordinator.shown($0.path)) has the configuration "
                + "\"\($0.configuration ?? ModelConfiguration.defaultName)\""
        }
        let having = model.configurations.filter { configuration in
            (try? model.holdings(ofConfiguration: configuration.name))?.contains(entity.index) == true
        }.map(\.name)
        let noun = having.count == 1 ? "the configuration" : "the configurations"
        let place =
            having.isEmpty
            ? "is not in a configuration" : "is in \(noun) \(having.map { "\"\($0)\"" }.listed)"
        let which =
            having.isEmpty
            ? "without a configuration"
            : "with \(having.count == 1 ? "that configuration" : "one of them"), or without a configuration"
        let remedy = "call cst_coordinator_add_store (add_store, addStore) \(which)"
        throw CoreError(
            .invalidArgument, code: .persistentStoreOperation,
            "the open \(all.count == 1 ? "store" : "stores") cannot hold \(entity.name) objects: "
                + "\(open.joined(separator: ", ")), and \(entity.name) \(place); \(remedy)", entity: entity.name,
            file: all.count == 1 && !all[0].path.isEmpty ? all[0].path : nil)
    }

    /// Returns the store for new objects of an entity: the first writable one that may contain them.
    func writableStore(for entity: Entity) throws -> Store {
        let stores = try stores(having: entity)
        if let store = stores.first(where: { !$0.isReadOnly }) { return store }
        if let store = stores.first { throw store.readOnlyError() }
        throw CoreError(
            .invalidArgument, code: .persistentStoreSave,
            "cannot save \(entity.name) objects: \(withoutStores)", entity: entity.name)
    }
}

extension CoreError {
    /// Creates the error for a store with the identifier of one that the coordinator has open, such as its copy.
    static func identifierInUse(
        _ identifier: String, ofStoreAt path: String, byStoreAt openPath: String
    ) -> CoreError {
        CoreError(
            .invalidArgument, code: .persistentStoreOpen,
            path == openPath && !path.isEmpty
                ? "\(path) is already open in the coordinator; use the open store, or another coordinator"
                : "\(Coordinator.shown(path)) has the identifier \"\(identifier)\", like "
                    + "\(openPath.isEmpty ? "another store without a path" : openPath), which the coordinator "
                    + "already has open; use that store, or another coordinator",
            key: path.isEmpty ? "identifier" : "path", value: .string(path.isEmpty ? identifier : path),
            file: path)
    }
}
