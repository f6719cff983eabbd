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
            throw CoreError(.invalidArgument, "a batch deletion needs the ID of an object at least")
        }
        if let other = objectIDs.first(where: { $0.entity !== entity }) {
            throw CoreError(
                .invalidArgument,
                "a batch deletion takes objects of one entity, and these are of \(entity.name) and \(other.entity.name); "
                    + "make a request for each", entity: other.entity.name, objectURI: other.uri)
        }
        if let unsaved = objectIDs.first(where: \.isTemporary) {
            throw CoreError(
                .invalidArgument,
                "\(unsaved.uri) was never saved, so there is no row to delete; save it, or delete the object",
                entity: entity.name, objectURI: unsaved.uri)
        }
        fetchRequest = nil
        self.objectIDs = objectIDs
        super.init(entity: entity)
    }

    public override var requestType: UInt32 { RequestType.batchDelete.rawValue }

    override func resolve(in model: Model) throws {
        try fetchRequest?.resolve(in: model)
        if let fetchRequest { entity = fetchRequest.entity }
        try super.resolve(in: model)
    }

    override func stores(in context: Context) throws -> [Store] {
        let stores = try super.stores(in: context)
        if fetchRequest != nil { return stores }
        for id in objectIDs { if let store = id.store { try context.coordinator.requireOwn(store) } }
        return stores.filter { store in objectIDs.contains { $0.store === store } }
    }

    override func write(_ run: BatchRun, _ changes: inout ForeignChanges) throws {
        let ids = try fetchRequest.map { try run.makeContext().fetchIDs($0) } ?? objectIDs
        let deletion = BatchDeletion(run)
        try deletion.delete(ids.lazy.filter { $0.store === run.store }.map(\.reference), of: entity.root)
        try deletion.finish(&changes)
    }
}
