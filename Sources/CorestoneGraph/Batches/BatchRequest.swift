import CorestoneModel
import CorestoneValues

/// A change of many rows, made in the store and past all contexts: `BatchInsertRequest`, `BatchUpdateRequest`,
/// `BatchDeleteRequest`. Of several stores each is changed by a transaction of its own.
public class BatchRequest: PersistentStoreRequest, @unchecked Sendable {
    /// What a result tells; the values are those of Core Data.
    public enum ResultType: UInt32, Sendable, CaseIterable {
        /// That it is done.
        case statusOnly = 0
        /// The IDs of the rows that were written or deleted.
        case objectIDs
        /// How many they are.
        case count
    }

    /// nil for a deletion whose fetch request knows its entity by name, before a context has looked that up.
    public internal(set) var entity: Entity? {
        didSet { model = entity?.model }
    }
    /// On which the entity depends.
    private var model: Model?
    public var resultType = ResultType.statusOnly
    /// Whether every open context of the coordinator learns of the change by itself, as far as it wants to
    /// (`Context.automaticallyMergesBatchChanges`).
    public var mergesIntoContexts = true

    init(entity: Entity?) {
        super.init()
        (self.entity, model) = (entity, entity?.model)
    }

    override func perform(in context: Context) throws -> RequestResult {
        let result: BatchResult = try context.execute(self)
        return resultType == .objectIDs ? .objectIDs(result.objectIDs) : .count(result.count)
    }

    /// The entity, which may have to be looked up by name.
    func resolve(in model: Model) throws -> Entity {
        guard let entity, entity.model === model, !entity.isRemoved else {
            throw CoreError(
                .invalidArgument,
                entity.map {
                    "\($0.name) does not belong to the model of this context's coordinator; use the entity of that model"
                }
                    ?? "the batch request has no entity; create it with an entity",
                entity: entity?.name)
        }
        return entity
    }

    /// The stores to change, in order; none where the host wants none.
    func stores(of entity: Entity, in context: Context) throws -> [Store] {
        if affectedStores?.isEmpty == true { return [] }
        try context.requireOpen(affectedStores)
        let found = try context.coordinator.stores(having: entity, orHeirs: true).filter(affects)
        guard found.isEmpty else { return found }
        throw CoreError(
            .invalidArgument, code: .persistentStoreOperation,
            affectedStores == nil
                ? "no open store can hold \(entity.name) objects; add such a store first"
                : "no affected store can hold \(entity.name) objects; change the affected stores of the request",
            entity: entity.name, file: affectedStores?.first?.path)
    }

    /// What has to be found before the first of the stores is changed; nil where each store tells by itself.
    func find(in stores: [Store], for context: Context) throws -> [ObjectID]? { nil }

    /// Makes the change in one store, within its transaction, and notes the rows in `changes`.
    func write(_ run: BatchRun, _ changes: inout ForeignChanges) throws {}
}

/// A batch request at work in one store.
struct BatchRun {
    let context: Context
    let entity: Entity
    let store: Store
    let transaction: any SaveTransaction
    /// What the request found in all of its stores (`BatchRequest.find`).
    let found: [ObjectID]?

    /// How many rows are in memory at a time where they go through it.
    static let size = 512

    /// A context that looks into the transaction, for rows that have to go through memory. It merges nothing.
    func makeContext() -> Context {
        let scratch = context.makeScratch()
        // What the transaction wrote, its own connection alone can see.
        scratch.faultLoader.lastReader = (store.number, store.backing)
        return scratch
    }

    /// Between two pieces of work.
    func checkCancelled() throws {
        guard context.interruptCheck?() == true else { return }
        throw CoreError(
            .cancelled, code: .persistentStoreSave,
            "the batch request for \(entity.name) was cancelled, and nothing was written to \(store.path)",
            entity: entity.name, file: store.path)
    }
}

extension Context {
    /// A context for what a batch request does in memory. It knows nothing of what others have not saved, and merges nothing.
    func makeScratch() -> Context {
        let scratch = Context(on: coordinator, parent: nil, queue: .caller)
        scratch.links.inbox.mergesBatches.store(false, ordering: .relaxed)
        scratch.interruptCheck = interruptCheck
        scratch.batchOwner = self
        return scratch
    }

    /// Leaves nothing of a context that a request worked in.
    package func end() {
        forgetAll()
        batchOwner = nil
    }
}

/// What a batch request did.
public struct BatchResult: Sendable {
    public let resultType: BatchRequest.ResultType
    /// How many rows were inserted or updated; of a deletion, how many were deleted, with those that delete rules took along.
    public let count: Int
    /// Their IDs, for `.objectIDs`; else empty.
    public let objectIDs: [ObjectID]
    /// The same by what became of them, as `Context.mergeChanges` takes them; with it, the rows that the request changed
    /// indirectly, or took members from, as `refreshed`, and those that made room for others' unique values, as `deleted`.
    public let changes: ChangedIDs
}

extension Store {
    func isInBatchError() -> CoreError {
        CoreError(
            .invalidArgument, code: .persistentStoreSave,
            "a batch request is writing to \(path), so its callbacks cannot save there or run another batch request; do so "
                + "before or after", file: path)
    }
}
