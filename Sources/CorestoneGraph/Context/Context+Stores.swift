import CorestoneModel
import CorestoneValues

/// Which store each object belongs in: new ones in the store that they were assigned to, else in the first that is for
/// objects of their entity and can be written.
struct SaveTargets {
    private var assigned: [ObjectIdentifier: Store] = [:]
    /// By the entity's index.
    private var ofNew: [UInt32: Store] = [:]

    /// Where there is one store, and it holds the whole model.
    init() {}

    /// - Throws: as `Coordinator.writableStore(for:)`.
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
    /// Says which store an inserted object is to be saved into, instead of the first that takes it.
    ///
    /// - Throws: `.invalidArgument` for an object that has its place already, and for a store that is not open in this
    ///   context's coordinator or whose configuration lacks the object's entity.
    public func assign(_ object: ManagedObject, to store: Store) throws {
        try checkQueue()
        if object.state.contains(.gone) { throw object.gone() }
        func refused(_ why: String) -> CoreError {
            CoreError(
                .invalidArgument, "\(object.objectID.uri) cannot be assigned to \(store.path): \(why)",
                entity: object.entity.name, objectURI: object.objectID.uri, file: store.path)
        }
        guard object.context === self else {
            throw refused(
                object.context == nil
                    ? "it is not in a context; insert it first" : "it belongs to another context; assign it there")
        }
        guard object.isInserted, object.hasTemporaryID else {
            throw refused(
                object.isDeleted
                    ? "it is deleted; roll back first"
                    : "it has a permanent ID and cannot change its store; insert a new object")
        }
        guard coordinator.stores.contains(where: { $0 === store }) else {
            throw refused("the store is not one of this context's coordinator; pass one of its stores")
        }
        guard store.mayHold(object.entity) else {
            throw refused(
                "the store's configuration \"\(store.configuration ?? "")\" does not contain \(object.entity.name); "
                    + "pass another store")
        }
        changeTracker.assignedStores[ObjectIdentifier(object)] = store
    }
}

extension Context {
    /// The store that has the row of an object, or that a save would write it into; nil when no store would take it.
    func futureStore(of object: ManagedObject) -> Store? {
        object.store ?? changeTracker.assignedStores[ObjectIdentifier(object)]
            ?? (try? coordinator.writableStore(for: object.entity))
    }

    /// - Throws: `.invalidArgument` for a store that is not open in this context's coordinator.
    func requireOpen(_ stores: [Store]?) throws {
        guard let stores else { return }
        let open = coordinator.stores
        for store in stores where !open.contains(where: { $0 === store }) {
            throw CoreError(
                .invalidArgument,
                "the affected store \(store.path) is not one of this context's coordinator; set the affected stores again, with "
                    + "stores of that coordinator",
                file: store.path)
        }
    }
}
