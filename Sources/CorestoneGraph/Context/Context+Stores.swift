import CorestoneModel
import CorestoneValues

/// The stores of the objects of a save.
///
/// A new object is saved into the store to which it was assigned, otherwise into the first writable store for its
/// entity.
struct SaveTargets {
    private var assigned: [ObjectIdentifier: Store] = [:]
    /// The default store of new objects, by entity index.
    private var ofNew: [UInt32: Store] = [:]

    /// Creates targets without new objects, for a save into a single store that holds the whole model.
    init() {}

    /// Determines the store of each inserted object.
    ///
    /// - Throws: The errors of `Coordinator.writableStore(for:)`.
    init(of inserted: [ManagedObject], in context: Context) throws {
        assigned = context.changeTracker.assignedStores
        for object in inserted where object.store == nil && assigned[ObjectIdentifier(object)] == nil {
            let entity = object.entity
            if ofNew[entity.index] == nil { ofNew[entity.index] = try context.coordinator.writableStore(for: entity) }
        }
    }

    func store(of object: ManagedObject) -> Store? {
        object.store ?? assigned[ObjectIdentifier(object)] ?? ofNew[object.entity.index]
    }
}

extension Context {
    /// Sets the store into which an inserted object is saved.
    ///
    /// The default is the first writable store that can hold the object.
    ///
    /// - Throws: `.invalidArgument` if the object is deleted, has a permanent ID or is not in this context, if the
    ///   store is not open in this context's coordinator, or if the store's configuration does not contain the object's
    ///   entity.
    ///   `.objectGone` if the object was removed from its context.
    public func assign(_ object: ManagedObject, to store: Store) throws {
        try checkQueue()
        if object.state.contains(.detached) { throw object.detachedError() }
        func refused(_ reason: String, key: String? = nil) -> CoreError {
            CoreError(
                .invalidArgument,
                "\(object.objectID.uri) cannot be assigned to \(Coordinator.shown(store.path)): \(reason)",
                entity: object.entity.name, key: key, objectURI: object.objectID.uri,
                file: store.path)
        }
        guard object.context === self else {
            throw refused(
                object.context == nil
                    ? "it is not in a context; insert it with cst_context_insert_object (insert_object, insert) first"
                    : "it belongs to another context; call cst_context_assign (assign) there")
        }
        guard object.isInserted, object.hasTemporaryID else {
            throw refused(
                object.isDeleted
                    ? "it is deleted; insert a new object with cst_context_insert (insert)"
                    : object.hasTemporaryID
                        ? "it is an unsaved object of the parent context; call cst_context_assign (assign) there"
                        : "it has a permanent ID and cannot change its store; insert a new object with "
                            + "cst_context_insert (insert)")
        }
        guard coordinator.stores.contains(where: { $0 === store }) else {
            throw refused(
                "the store is not open in this context's coordinator; pass a store of that coordinator", key: "store")
        }
        guard store.mayContain(object.entity) else {
            throw refused(
                "the store's configuration \"\(store.configuration ?? "")\" does not contain \(object.entity.name); "
                    + "pass another store", key: "store")
        }
        changeTracker.assign(store, to: object)
    }
}

extension Context {
    /// Returns the store that contains the row of an object, or into which it will be saved.
    ///
    /// Returns nil if no writable store can hold the object.
    func futureStore(of object: ManagedObject) -> Store? {
        object.store ?? changeTracker.assignedStores[ObjectIdentifier(object)]
            ?? (try? coordinator.writableStore(for: object.entity))
    }

    /// Checks that the stores are open in this context's coordinator.
    ///
    /// - Throws: `.invalidArgument` if a store is not open in this context's coordinator.
    func requireOpen(_ stores: [Store]?) throws {
        guard let stores else { return }
        let open = coordinator.stores
        for store in stores where !open.contains(where: { $0 === store }) {
            throw CoreError(
                .invalidArgument,
                "the affected store \(store.path.isEmpty ? "without a path" : store.path) is not open in this "
                    + "context's coordinator; set open stores of that coordinator with "
                    + "cst_fetch_request_set_affected_stores or cst_batch_set_stores (stores, affectedStores)",
                key: "affected_stores", file: store.path)
        }
    }
}
