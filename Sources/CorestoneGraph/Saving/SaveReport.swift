import CorestoneValues

/// The error for the part of a save that could not be written to its store.
struct PartFailure: Error, @unchecked Sendable {
    let store: Store
    let part: SavePlan
    let error: any Error

    init(_ store: Store, _ part: SavePlan, _ error: any Error) {
        (self.store, self.part, self.error) = (store, part, error)
    }
}

/// The result of a save for one store.
public struct StoreOutcome: Sendable {
    /// The path of the store's file.
    public let path: String
    /// The identifier of the store, which is a part of its object IDs.
    public let identifier: String
    /// Whether the part was written. If not, the changes of its objects are still pending.
    public let isCommitted: Bool
    /// The error of a part that failed; nil if the part was written or not attempted.
    public let error: CoreError?
    /// The IDs of the objects of this store in the save.
    public let objectIDs: [ObjectID]
    /// The IDs of the objects that the save inserts.
    private let insertedIDs: Set<ObjectID>
    /// The IDs of the objects that the save deletes.
    private let deletedIDs: Set<ObjectID>
}

/// The record of the stores that a save has written.
struct SaveReport {
    private(set) var written = SavePlan(inserted: [], updated: [], deleted: [])
    private var committed: [StoreOutcome] = []
    /// The parts that were to be written, in order.
    private var planned: [(store: Store, part: SavePlan)] = []

    mutating func begin(_ parts: [(store: Store, part: SavePlan)]) { planned = parts }

    /// Records that a part is written and its objects have their permanent IDs.
    mutating func commit(_ part: SavePlan, to store: Store) {
        written = written.isEmpty ? part : written.joined(with: part)
        // The list of objects is only read if there are several stores.
        committed.append(StoreOutcome(store, part, isCommitted: true, listsObjects: planned.count > 1))
    }

    /// Returns the error of a failed save.
    ///
    /// This is the store's error if nothing was written, otherwise an error that lists the stores of the save.
    func error(_ failure: PartFailure) -> any Error {
        if written.isEmpty { return failure.error }
        let cause =
            failure.error as? CoreError ?? CoreError(.storeIO, code: .persistentStoreSave, "\(failure.error)")
        var outcomes = committed
        outcomes.append(StoreOutcome(failure.store, failure.part, isCommitted: false, error: cause))
        for (store, part) in planned where !outcomes.contains(where: { $0.identifier == store.identifier }) {
            outcomes.append(StoreOutcome(store, part, isCommitted: false))
        }
        return CoreError(
            cause.status, code: .persistentStoreIncompleteSave,
            "the save is incomplete, because each store is written in its own transaction: "
                + outcomes.map(\.message).joined(separator: ", ")
                + (cause.status == .cancelled ? ". Save" : ". Fix the cause, which the details name, and save")
                + " again to write the rest",
            children: outcomes.map(\.child), file: failure.store.path, payload: OutcomeList(outcomes, cause.conflicts))
    }
}

extension StoreOutcome {
    fileprivate init(
        _ store: Store, _ part: SavePlan, isCommitted: Bool, error: CoreError? = nil, listsObjects: Bool = true
    ) {
        (path, identifier, self.isCommitted, self.error) = (store.path, store.identifier, isCommitted, error)
        objectIDs = listsObjects ? part.all.map(\.objectID) : []
        insertedIDs = listsObjects ? Set(part.inserted.map(\.objectID)) : []
        deletedIDs = listsObjects ? Set(part.deleted.map(\.objectID)) : []
    }

    fileprivate var message: String {
        let failure = error.map { $0.status == .cancelled ? "was cancelled" : "failed" }
        let outcome = isCommitted ? "was written" : failure ?? "was skipped"
        return "\(Coordinator.shown(path)) (\(objectIDs.count) object\(objectIDs.count == 1 ? "" : "s")) \(outcome)"
    }

    /// The outcome as a detail of the error.
    ///
    /// The outcome has its own details, for the cause and for each of the first 100 objects. The status of a store that
    /// was written is 0.
    fileprivate var child: CoreError {
        let objects = objectIDs.prefix(100).map { id in
            let change = deletedIDs.contains(id) ? "deleted" : "saved"
            let object = "\(id.entity.name) \(id.uri)"
            let pending =
                change == "deleted" || insertedIDs.contains(id)
                ? "\(object) is not \(change) yet" : "the changes of \(object) are not saved yet"
            return CoreError(
                isCommitted ? .ok : .unchanged, isCommitted ? "\(object) was \(change)" : pending,
                entity: id.entity.name, objectURI: id.uri, file: path)
        }
        return CoreError(
            error?.status ?? (isCommitted ? .ok : .unchanged), message, customCode: error?.code ?? 0,
            children: (error.map { [$0] } ?? []) + objects, file: path)
    }
}

/// The outcomes of an incomplete save, the payload of its error.
final class OutcomeList: Sendable {
    let outcomes: [StoreOutcome]
    let conflicts: [SaveConflict]
    init(_ outcomes: [StoreOutcome], _ conflicts: [SaveConflict]) {
        (self.outcomes, self.conflicts) = (outcomes, conflicts)
    }
}

extension CoreError {
    /// The result for each store of an incomplete save (code 134040); empty for other errors.
    public var storeOutcomes: [StoreOutcome] { (payload as? OutcomeList)?.outcomes ?? [] }
}
