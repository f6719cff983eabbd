import CorestoneValues

/// Why the part of a save that belongs to one store was not written.
struct PartFailure: Error, @unchecked Sendable {
    let store: Store
    let part: SavePlan
    let error: any Error

    init(_ store: Store, _ part: SavePlan, _ error: any Error) {
        (self.store, self.part, self.error) = (store, part, error)
    }
}

/// What became of the part of a save that belongs to one store.
public struct StoreOutcome: Sendable {
    /// The store's file, and the UUID that its object IDs have.
    public let path: String
    public let identifier: String
    /// Whether it is written, and its objects have no changes any more; else they are pending.
    public let isCommitted: Bool
    /// Why not; nil also where the save did not come so far.
    public let error: CoreError?
    public let objectIDs: [ObjectID]
}

/// Which stores a save has written.
struct SaveReport {
    private(set) var written = SavePlan(inserted: [], updated: [], deleted: [])
    private var committed: [StoreOutcome] = []
    /// The parts that were to be written, in order.
    private var planned: [(store: Store, part: SavePlan)] = []

    mutating func begin(_ parts: [(store: Store, part: SavePlan)]) { planned = parts }

    /// The part is written, and its objects have their final IDs.
    mutating func commit(_ part: SavePlan, to store: Store) {
        written = written.isEmpty ? part : written.joined(with: part)
        // Nobody asks about objects where there is one store.
        committed.append(StoreOutcome(store, part, isCommitted: true, listsObjects: planned.count > 1))
    }

    /// The error of a save that failed: that of the store while nothing is written, else one that tells of each store.
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
                + ". Fix the cause, which the details name, and save again to write the rest",
            children: outcomes.map(\.child), file: failure.store.path, payload: OutcomeList(outcomes, cause.conflicts))
    }
}

extension StoreOutcome {
    fileprivate init(
        _ store: Store, _ part: SavePlan, isCommitted: Bool, error: CoreError? = nil, listsObjects: Bool = true
    ) {
        (path, identifier, self.isCommitted, self.error) = (store.path, store.identifier, isCommitted, error)
        objectIDs = listsObjects ? part.all.map(\.objectID) : []
    }

    fileprivate var message: String {
        let what = isCommitted ? "was written" : error == nil ? "was skipped" : "failed"
        return "\(path) (\(objectIDs.count) object\(objectIDs.count == 1 ? "" : "s")) \(what)"
    }

    /// The outcome as a detail of the error: status 0 for a store that is written, one more detail for each of the first
    /// objects, and for the cause.
    fileprivate var child: CoreError {
        let objects = objectIDs.prefix(100).map { id in
            CoreError(
                isCommitted ? .ok : .unchanged,
                "\(id.entity.name) \(id.uri) \(isCommitted ? "was saved" : "is not saved yet")", entity: id.entity.name,
                objectURI: id.uri, file: path)
        }
        return CoreError(
            error?.status ?? (isCommitted ? .ok : .unchanged), message, customCode: error?.code ?? 0,
            children: (error.map { [$0] } ?? []) + objects, file: path)
    }
}

/// The outcomes of an incomplete save, as its error carries them.
final class OutcomeList: Sendable {
    let outcomes: [StoreOutcome]
    let conflicts: [SaveConflict]
    init(_ outcomes: [StoreOutcome], _ conflicts: [SaveConflict]) {
        (self.outcomes, self.conflicts) = (outcomes, conflicts)
    }
}

extension CoreError {
    /// What became of each store, for errors of code 134040.
    public var storeOutcomes: [StoreOutcome] { (payload as? OutcomeList)?.outcomes ?? [] }
}
