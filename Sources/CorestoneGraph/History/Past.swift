import CorestoneFileSystem
import CorestoneModel
import CorestoneValues

/// A past state of a coordinator's stores, opened by `Coordinator.past(at:)`.
///
/// From a plain history, the existing objects and the values that later transactions did not change are known. Other
/// values are unknown and read as nil. A complete history (`StoreOptions.keepsCompleteHistory`) keeps the values that
/// each transaction replaced, so that these are known too.
public final class Past: @unchecked Sendable {
    /// The position: the last transaction of each store that the past includes.
    public let token: HistoryToken
    /// The unknown values by the UUID of the store.
    let unknown: [String: UnknownValues]
    /// The folders with the copies of the stores, which are removed when the past is deallocated.
    private let folders: [WorkFolder]

    init(_ token: HistoryToken, _ unknown: [String: UnknownValues], _ folders: [WorkFolder]) {
        (self.token, self.unknown, self.folders) = (token, unknown, folders)
    }

    /// Whether every value is known.
    public var isComplete: Bool { unknown.values.allSatisfy(\.isEmpty) }

    /// Whether the past value of an object's property is known.
    ///
    /// A composite attribute is known if all of its elements are known.
    public func isKnown(_ property: Property, of id: ObjectID) -> Bool {
        guard let store = id.store, let unknown = unknown[store.identifier], !unknown.isEmpty else { return true }
        if let attribute = property as? Attribute {
            return !attribute.leaves.contains { unknown.contains($0, ofRow: id.reference, id.entity) }
        }
        return !unknown.contains(property, ofRow: id.reference, id.entity)
    }
}

extension Coordinator {
    /// Opens a past state of the stores for reading, in a new coordinator with the same model and object URIs.
    ///
    /// Each store is copied into `TMPDIR`, and the later transactions are undone in the copy. The time depends on the
    /// size of the store and the number of later changes. Later saves do not change the past. Can be called on any
    /// thread.
    ///
    /// - Parameters:
    ///   - place: The position up to which the past includes transactions: a token, a transaction or a date.
    ///     `.beginning` is the state before the first remaining transaction.
    ///   - stores: The stores; if empty, all stores of the coordinator.
    /// - Throws: Code 134301 if later transactions were deleted, for a date before the first remaining transaction, and
    ///   for a position before a migration.
    ///   Code 134501 for a token of other stores.
    ///   `.invalidArgument` for a store without a history.
    public func past(at place: HistoryRequest.Start, of stores: [Store] = []) throws -> Coordinator {
        let past = try Coordinator(model: model)
        var token = HistoryToken(transactionNumbers: [:])
        var unknown: [String: UnknownValues] = [:]
        var folders: [WorkFolder] = []
        let chosen = try historyStores(stores)
        if chosen.isEmpty {
            throw CoreError(
                .invalidArgument, code: .persistentStoreOperation,
                "cannot open a past state: the coordinator does not have a store; call cst_coordinator_add_store "
                    + "(add_store, addStore) with CST_STORE_HISTORY (history), or load the stores of the container "
                    + "with cst_container_load (load, loadStores)")
        }
        for store in chosen {
            let opened = try store.readHistory { history -> (Int64, StoredPast)? in
                let number = try place.last(in: history, of: store)
                let unknown = self.past?.unknown[store.identifier] ?? UnknownValues()
                return (number, try history.past(after: number, of: store, unknown: unknown))
            }
            guard let (number, stored) = opened else { throw store.noHistoryError() }
            _ = try past.add(stored.backing, configuration: store.configuration, options: store.options)
            token = token.updated(with: HistoryToken(storeIdentifier: store.identifier, transactionNumber: number))
            unknown[store.identifier] = stored.unknown
            folders.append(stored.folder)
        }
        past.past = Past(token, unknown, folders)
        return past
    }
}

extension Context {
    /// Creates a context that reads a past state of the stores.
    ///
    /// The state is opened by `Coordinator.past(at:)`. The context's objects have the same URIs.
    /// `ManagedObject.isKnown(_:)` returns whether a value is known.
    ///
    ///     let lastWeek = try context.at(.date(ReferenceDate.currentSeconds - 7 * 86_400))
    public func at(_ place: HistoryRequest.Start, of stores: [Store] = []) throws -> Context {
        try checkQueue()
        return Context(coordinator: try coordinator.past(at: place, of: stores), queue: .caller)
    }

    /// The past that the context reads; nil for a context of the present.
    public var past: Past? { coordinator.past }
}

extension ManagedObject {
    /// Whether the value of a property is known.
    ///
    /// In a context of a past state, values that later transactions replaced without keeping them are unknown and read
    /// as nil. Always true in a context of the present.
    ///
    /// - Throws: `.invalidArgument` if the entity does not have the property.
    public func isKnown(_ key: String) throws -> Bool {
        isKnown(try entity.requireProperty(named: key))
    }

    package func isKnown(key: UInt32) throws -> Bool { isKnown(entity.properties[try slot(of: key)]) }

    private func isKnown(_ property: Property) -> Bool {
        coordinatorPast.map { $0.isKnown(property, of: objectID) } ?? true
    }

    /// The properties whose values are unknown, in the order of the model.
    public var unknownKeys: [String] {
        guard let past = coordinatorPast else { return [] }
        return entity.properties.filter { !$0.isTransient && !past.isKnown($0, of: objectID) }.map(\.path)
    }

    private var coordinatorPast: Past? { context?.coordinator.past }
}

extension HistoryRequest.Start {
    /// Returns the number of the last transaction before the position.
    fileprivate func last(in history: any StoredHistory, of store: Store) throws -> Int64 {
        let bounds = try history.bounds()
        switch self {
        case .beginning: return bounds.lowest.addingClamped(-1)
        case .token(let token):
            guard let number = token.transactionNumber(ofStore: store.identifier) else {
                throw HistoryToken.unknown(store, token)
            }
            try bounds.requireKept(after: number, store, opensPast: true)
            return number
        case .date(let date): return try last(notAfter: date, bounds, history, store)
        case .transaction(let transaction):
            guard transaction.store.identifier == store.identifier else {
                return try last(notAfter: transaction.timestamp, of: transaction, bounds, history, store)
            }
            try bounds.requireKept(after: transaction.number, store, opensPast: true)
            return transaction.number
        }
    }

    /// Returns the last transaction at or before a date.
    ///
    /// Throws for a date before the first transaction, because the store may have had another state at that date.
    ///
    /// - Parameter transaction: The transaction of another store whose date this is; nil for a date of the caller.
    private func last(
        notAfter date: Double, of transaction: HistoryTransaction? = nil, _ bounds: HistoryBounds,
        _ history: any StoredHistory, _ store: Store
    ) throws -> Int64 {
        let time =
            ReferenceDate.description(date)
            + (transaction.map { " (transaction \($0.number) of \($0.store.path))" } ?? "")
        let key = transaction == nil ? "date" : "transaction"
        if bounds.lowest > bounds.highest {
            throw CoreError(
                .invalidArgument, code: .persistentHistoryTokenExpired,
                "the history of \(store.path) does not contain transactions, so the state at \(time) is unknown; "
                    + "pass the token that cst_coordinator_copy_history_token (history_token, currentHistoryToken) "
                    + "returns",
                key: key, value: .date(date), file: store.path)
        }
        let last = try history.firstNumber(after: date).map { $0.addingClamped(-1) } ?? bounds.highest
        guard last >= bounds.lowest else {
            throw CoreError(
                .invalidArgument, code: .persistentHistoryTokenExpired,
                "the history of \(store.path) begins with transaction \(bounds.lowest), after the date "
                    + "\(time); choose a later date, or the token of transaction "
                    + "\(bounds.lowest.addingClamped(-1)) for the state before the history",
                key: key, value: .date(date), file: store.path)
        }
        return last
    }
}
