import CorestoneModel
import CorestoneValues

/// A request to delete the rows of a fetch request, or rows by their IDs.
///
/// The order, limit and offset of the fetch request apply.
///
/// Delete rules apply: `cascade` deletes related rows. `nullify` clears references to deleted rows, and makes the
/// request fail if such a reference is required. `deny` makes the request fail if a related row would remain. The
/// minimum counts of other rows' relationships are not checked.
public final class BatchDeleteRequest: BatchRequest, @unchecked Sendable {
    /// The fetch request; nil if the rows are deleted by their IDs.
    public let fetchRequest: FetchRequest?
    public let objectIDs: [ObjectID]

    /// Creates a request that deletes the objects of a fetch request.
    ///
    /// - Parameter fetchRequest: The request, which is read when the batch request is executed. Unsaved changes are
    ///   ignored.
    public init(fetchRequest: FetchRequest) {
        self.fetchRequest = fetchRequest
        objectIDs = []
        super.init(entity: fetchRequest.entity)
    }

    /// Creates a request that deletes the objects with these IDs.
    ///
    /// - Parameter objectIDs: The IDs, all of one entity. IDs whose rows were deleted are skipped.
    /// - Throws: `.invalidArgument` if the list is empty, has several entities or contains a temporary ID.
    public init(objectIDs: [ObjectID]) throws {
        guard let entity = objectIDs.first?.entity else {
            throw CoreError(
                .invalidArgument, "the batch delete request does not have object IDs; pass at least one", key: "ids")
        }
        if let other = objectIDs.first(where: { $0.entity !== entity }) {
            let addition = other.entity.name == entity.name ? " of another model" : ""
            throw CoreError(
                .invalidArgument,
                "a batch delete takes objects of one entity, not of \(entity.name) and "
                    + "\(other.entity.name)\(addition); create a request for each with "
                    + "cst_batch_delete_new_with_ids (BatchDeleteRequest)", entity: other.entity.name, key: "ids",
                objectURI: other.uri)
        }
        if let unsaved = objectIDs.first(where: \.isTemporary) {
            throw CoreError(
                .invalidArgument,
                "\(unsaved.uri) is a temporary ID and does not have a row; call cst_context_save (save) "
                    + "and pass the permanent ID of the object, or call cst_context_delete (delete)",
                entity: entity.name, key: "ids", objectURI: unsaved.uri)
        }
        fetchRequest = nil
        self.objectIDs = objectIDs
        super.init(entity: entity)
    }

    public override var requestType: UInt32 { RequestType.batchDelete.rawValue }

    override func resolve(in model: Model) throws -> Entity {
        try fetchRequest?.resolve(in: model)
        if let fetchRequest { entity = fetchRequest.entity }
        return try super.resolve(in: model)
    }

    override func stores(of entity: Entity, in context: Context) throws -> [Store] {
        let stores = try super.stores(of: entity, in: context)
        if let fetchRequest {
            try context.requireOpen(fetchRequest.affectedStores)
            return stores.filter(fetchRequest.affects)
        }
        for id in objectIDs { if let store = id.store { try context.coordinator.requireOwn(store) } }
        return stores.filter { store in objectIDs.contains { $0.store === store } }
    }

    /// Finds the rows of all stores if a limit or an offset applies to them together; otherwise returns nil.
    override func find(in stores: [Store], for context: Context) throws -> [ObjectID]? {
        guard let fetchRequest, stores.count > 1, fetchRequest.limit > 0 || fetchRequest.offset > 0 else { return nil }
        return try context.makeInternalContext().fetchIDs(fetchRequest.limited(to: stores))
    }

    override func write(_ run: BatchRun, _ changes: inout ExternalChanges) throws {
        let ids =
            try run.found ?? fetchRequest.map { try run.makeContext().fetchIDs($0.limited(to: [run.store])) }
            ?? objectIDs
        let deletion = BatchDeletion(run)
        try deletion.delete(ids.lazy.filter { $0.store === run.store }.map(\.reference), of: run.entity.root)
        try deletion.finish(&changes)
    }
}

extension FetchRequest {
    /// Returns a copy of the request that is limited to these stores.
    fileprivate func limited(to stores: [Store]) -> FetchRequest {
        let copy = copy()
        copy.affectedStores = stores
        return copy
    }
}
