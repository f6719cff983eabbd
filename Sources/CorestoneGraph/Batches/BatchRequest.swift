import CorestoneModel
import CorestoneValues

/// A change of many rows that is made in the store and bypasses all contexts.
///
/// The subclasses are `BatchInsertRequest`, `BatchUpdateRequest` and `BatchDeleteRequest`. Each affected store is
/// changed in its own transaction.
public class BatchRequest: PersistentStoreRequest, @unchecked Sendable {
    /// The content of the result. The raw values are those of Core Data.
    public enum ResultType: UInt32, Sendable, CaseIterable {
        /// Only the success of the request.
        case statusOnly = 0
        /// The IDs of the written or deleted rows.
        case objectIDs
        /// The number of these rows.
        case count
    }

    /// The entity of the rows.
    ///
    /// Nil before the first execution of a delete request whose fetch request has only the name of an entity.
    public internal(set) var entity: Entity? {
        didSet { model = entity?.model }
    }
    /// The model, which retains the entity.
    private var model: Model?
    public var resultType = ResultType.statusOnly
    /// Whether all open contexts of the coordinator merge the change.
    ///
    /// A context does not merge the change if its `automaticallyMergesBatchChanges` is false or if it is pinned.
    public var mergesIntoContexts = true

    init(entity: Entity?) {
        super.init()
        (self.entity, model) = (entity, entity?.model)
    }

    override func perform(in context: Context) throws -> RequestResult {
        let result: BatchResult = try context.execute(self)
        return resultType == .objectIDs ? .objectIDs(result.objectIDs) : .count(result.count)
    }

    /// Checks that the entity belongs to the model, and returns the entity.
    ///
    /// Delete requests first look up the entity of their fetch request.
    func resolve(in model: Model) throws -> Entity {
        guard let entity, entity.model === model, !entity.isRemoved else {
            throw CoreError(
                .invalidArgument,
                entity.map {
                    "\($0.name) does not belong to the model of this context's coordinator; use the entity of that model"
                }
                    ?? "the batch request does not have an entity; pass one to its initialiser",
                entity: entity?.name, key: "entity")
        }
        return entity
    }

    /// Returns the stores to change, in order; empty if the list of affected stores is empty.
    func stores(of entity: Entity, in context: Context) throws -> [Store] {
        if affectedStores?.isEmpty == true { return [] }
        try context.requireOpen(affectedStores)
        let found = try context.coordinator.stores(having: entity, orSubentities: true).filter(affects)
        guard found.isEmpty else { return found }
        throw CoreError(
            .invalidArgument, code: .persistentStoreOperation,
            affectedStores == nil
                ? "cannot run a batch request for \(entity.name): \(context.coordinator.withoutStores)"
                : "the affected stores cannot hold \(entity.name) objects; change the stores of the request "
                    + "with cst_batch_set_stores (stores, affectedStores)",
            entity: entity.name, file: affectedStores?.first?.path)
    }

    /// Finds the rows of all stores before the first store is changed.
    ///
    /// Returns nil if each store finds its own rows.
    func find(in stores: [Store], for context: Context) throws -> [ObjectID]? { nil }

    /// Changes one store within its transaction, and adds the rows to `changes`.
    func write(_ run: BatchRun, _ changes: inout ExternalChanges) throws {}
}

/// The execution of a batch request in one store.
struct BatchRun {
    let context: Context
    let entity: Entity
    let store: Store
    let transaction: any SaveTransaction
    /// The rows that were found in all stores (`BatchRequest.find`).
    let found: [ObjectID]?

    /// The number of rows that are read or written at a time, if the store does not execute the request itself.
    static let size = 512

    /// Creates a context that reads within the transaction, for rows that are processed in memory.
    ///
    /// It does not merge changes.
    func makeContext() -> Context {
        let scratch = context.makeInternalContext()
        // Only the transaction's own connection can read the uncommitted rows.
        scratch.faultState.lastReader = (store.number, store.backing)
        return scratch
    }

    /// Throws if the request was cancelled. Called between batches of rows.
    func checkCancelled() throws {
        guard context.interruptCheck?() == true else { return }
        throw CoreError(
            .cancelled, code: .persistentStoreSave,
            "the batch request for \(entity.name) was cancelled, and nothing was written to "
                + "\(Coordinator.shown(store.path))",
            entity: entity.name, file: store.path)
    }
}

extension Context {
    /// Creates a context for a batch request whose rows are processed in memory.
    ///
    /// It does not see unsaved changes of other contexts and does not merge saves.
    func makeInternalContext() -> Context {
        let scratch = Context(on: coordinator, parent: nil, queue: .caller)
        scratch.links.inbox.mergesBatches.store(false, ordering: .relaxed)
        scratch.interruptCheck = interruptCheck
        scratch.batchOwner = self
        return scratch
    }

    /// Clears a context that was created for a request.
    package func end() {
        forgetAll()
        batchOwner = nil
    }
}

/// The result of a batch request.
public struct BatchResult: Sendable {
    public let resultType: BatchRequest.ResultType
    /// The number of inserted, updated or deleted rows.
    ///
    /// Deleted rows include those that delete rules deleted.
    public let count: Int
    /// The IDs of these rows, for `.objectIDs`; otherwise empty.
    public let objectIDs: [ObjectID]
    /// The IDs by kind of change, for `Context.mergeChanges`; only for `.objectIDs`.
    ///
    /// They include more than `objectIDs`. `refreshed` contains the rows that were changed indirectly or lost members.
    /// `deleted` includes the rows that were deleted because of a unique constraint.
    public let changes: ChangedIDs
}

extension Store {
    func inBatchError() -> CoreError {
        CoreError(
            .invalidArgument, code: .persistentStoreSave,
            "a callback of a batch request must not write to \(Coordinator.shown(path)) while the request writes "
                + "to it; do so before or after the request", file: path)
    }
}
