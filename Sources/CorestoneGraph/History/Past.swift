import CorestoneModel
import CorestoneValues

/// The stores of a coordinator as they were at a place of their histories: what `Coordinator.past(at:)` opened.
///
/// A history alone tells which objects existed, and which values are the same since. Other values are unknown, and read as nil. A
/// complete history (`StoreOptions.keepsCompleteHistory`) keeps the values that each transaction replaced: then every value is known.
public final class Past: @unchecked Sendable {
    /// The place: the last transaction of each store that the past includes.
    public let token: HistoryToken
    /// By the UUID of a store.
    let unknown: [String: UnknownValues]
    /// The copies of the stores are removed with them.
    private let folders: [WorkFolder]

    init(_ token: HistoryToken, _ unknown: [String: UnknownValues], _ folders: [WorkFolder]) {
        (self.token, self.unknown, self.folders) = (token, unknown, folders)
    }

    /// Whether every value is known.
    public var isComplete: Bool { unknown.values.allSatisfy(\.isEmpty) }

    /// Whether the value that a property of an object had is known. That of a composite attribute is if all of its elements are.
    public func isKnown(_ property: Property, of id: ObjectID) -> Bool {
        guard let store = id.store, let unknown = unknown[store.identifier], !unknown.isEmpty else { return true }
        if let attribute = property as? Attribute {
            return !attribute.leaves.contains { unknown.contains($0, ofRow: id.reference, id.entity) }
        }
        return !unknown.contains(property, ofRow: id.reference, id.entity)
    }
}

extension Coordinator {
    /// Opens the stores as they were after a transaction: a coordinator for reading, with the same model and the same object URIs.
    ///
    /// Each store is copied into `TMPDIR` and taken back there, so the time it takes grows with the size of the store and with the
    /// number of later changes. Later saves do not change the past. Any thread.
    ///
    /// - Parameters:
    ///   - place: the end of the transactions that the past includes: a token, a transaction, or a date. `.beginning` is the
    ///     state before the first transaction that is left.
    ///   - stores: which; all of the coordinator if empty.
    /// - Throws: code 134301 if later transactions were deleted, for a date before the first transaction that is left, and for a
    ///   place before a migration; code 134501 for a token of other stores; `.invalidArgument` for a store without a history.
    public func past(at place: HistoryRequest.Start, of stores: [Store] = []) throws -> Coordinator {
        let past = try Coordinator(model: model)
        var token = HistoryToken(transactionNumbers: [:])
        var unknown: [String: UnknownValues] = [:]
        var folders: [WorkFolder] = []
        let chosen = try historyStores(stores)
        if chosen.isEmpty {
            throw CoreError(
                .invalidArgument, code: .persistentStoreOperation,
                "the coordinator has no store, so it has no past; add a store with CST_STORE_HISTORY (history)")
        }
        for store in chosen {
            let opened = try store.readHistory { history -> (Int64, StoredPast)? in
                let number = try place.last(in: history, of: store)
                let unknown = self.past?.unknown[store.identifier] ?? UnknownValues()
                return (number, try history.past(after: number, of: store, unknown: unknown))
            }
            guard let (number, stored) = opened else { throw store.hasNoHistory() }
            _ = try past.add(stored.backing, configuration: store.configuration)
            token = token.updated(with: HistoryToken(storeIdentifier: store.identifier, transactionNumber: number))
            unknown[store.identifier] = stored.unknown
            folders.append(stored.folder)
        }
        past.past = Past(token, unknown, folders)
        return past
    }
}

extension Context {
    /// A context for reading the stores as they were at a token, after a transaction or at a date, in the way of
    /// `Coordinator.past(at:)`. Its objects have the same URIs; `ManagedObject.isKnown(_:)` says whether a value is known.
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
    /// Whether the value of a property is known. In a context of the past, a value that a later transaction replaced without
    /// keeping it is not, and reads as nil. Always true in a context of the present.
    ///
    /// - Throws: `.invalidArgument` for a property that the entity does not have.
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
    /// The number of the last transaction before the place.
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
                return try last(notAfter: transaction.timestamp, bounds, history, store)
            }
            try bounds.requireKept(after: transaction.number, store, opensPast: true)
            return transaction.number
        }
    }

    /// When a state before the first transaction began, no history tells.
    private func last(
        notAfter date: Double, _ bounds: HistoryBounds, _ history: any StoredHistory, _ store: Store
    ) throws -> Int64 {
        if bounds.lowest > bounds.highest {
            throw CoreError(
                .invalidArgument, code: .persistentHistoryTokenExpired,
                "the history of \(store.path) has no transactions, so its state at a date is unknown; use the current token "
                    + "(cst_coordinator_copy_history_token, history_token, currentHistoryToken)", value: .date(date),
                file: store.path)
        }
        let last = try history.firstNumber(after: date).map { $0.addingClamped(-1) } ?? bounds.highest
        guard last >= bounds.lowest else {
            throw CoreError(
                .invalidArgument, code: .persistentHistoryTokenExpired,
                "the history of \(store.path) begins with transaction \(bounds.lowest), after the date "
                    + "\(ReferenceDate.description(date)). Choose a later date, or the token of transaction "
                    + "\(bounds.lowest.addingClamped(-1)) for the state before the history",
                value: .date(date), file: store.path)
        }
        return last
    }
}
