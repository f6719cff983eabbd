import CorestoneModel
import CorestoneValues

/// Deletes all rows that a fetch request finds, with its order, limit and offset, or rows by their IDs.
///
/// Delete rules hold: `cascade` takes rows along, `nullify` ends what leads to deleted rows and fails where that is required, `deny`
/// fails the request. How many members the relationships of others have left is not looked at.
public final class BatchDeleteRequest: BatchRequest, @unchecked Sendable {
    /// nil for rows by their IDs.
    public let fetchRequest: FetchRequest?
    public let objectIDs: [ObjectID]

    /// - Parameter fetchRequest: read when the batch request is executed. What was not saved does not count.
    public init(fetchRequest: FetchRequest) {
        self.fetchRequest = fetchRequest
        objectIDs = []
        super.init(entity: fetchRequest.entity)
    }

    /// - Parameter objectIDs: of one entity; those whose rows are gone are left out.
    /// - Throws: `.invalidArgument` for none, for objects of several entities, for an object that was never saved.
    public init(objectIDs: [ObjectID]) throws {
        guard let entity = objectIDs.first?.entity else {
            throw CoreError(.invalidArgument, "a batch delete has no object IDs; pass at least one")
        }
        if let other = objectIDs.first(where: { $0.entity !== entity }) {
            let addition = other.entity.name == entity.name ? " of another model" : ""
            throw CoreError(
                .invalidArgument,
                "a batch delete takes objects of one entity, not of \(entity.name) and "
                    + "\(other.entity.name)\(addition); create a request for each", entity: other.entity.name,
                objectURI: other.uri)
        }
        if let unsaved = objectIDs.first(where: \.isTemporary) {
            throw CoreError(
                .invalidArgument,
                "\(unsaved.uri) is a temporary ID and has no row; save the object and pass its permanent ID, or delete it in its context",
                entity: entity.name, objectURI: unsaved.uri)
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

    /// A window of several stores is one of all their rows together.
    override func find(in stores: [Store], for context: Context) throws -> [ObjectID]? {
        guard let fetchRequest, stores.count > 1, fetchRequest.limit > 0 || fetchRequest.offset > 0 else { return nil }
        return try context.makeScratch().fetchIDs(fetchRequest.limited(to: stores))
    }

    override func write(_ run: BatchRun, _ changes: inout ForeignChanges) throws {
        let ids =
            try run.found ?? fetchRequest.map { try run.makeContext().fetchIDs($0.limited(to: [run.store])) }
            ?? objectIDs
        let deletion = BatchDeletion(run)
        try deletion.delete(ids.lazy.filter { $0.store === run.store }.map(\.reference), of: run.entity.root)
        try deletion.finish(&changes)
    }
}

extension FetchRequest {
    /// The same for some stores alone.
    fileprivate func limited(to stores: [Store]) -> FetchRequest {
        let copy = copy()
        copy.affectedStores = stores
        return copy
    }
}
