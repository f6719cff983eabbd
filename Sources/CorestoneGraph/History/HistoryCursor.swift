import CorestonePredicate
import CorestoneValues

/// Reads the transactions of a `HistoryRequest` one after the other, the oldest first, without holding a lock or a read
/// transaction between two steps. Transactions that are committed meanwhile are read too, if they come before the end is reached.
///
/// One thread at a time uses a cursor. Sort descriptors need all transactions at once and are refused; use
/// `Coordinator.fetchHistory`.
public final class HistoryCursor {
    private let request: HistoryRequest
    let coordinator: Coordinator
    let waiting = HistoryWaiting()
    /// Of stores with transactions that were not returned yet.
    private var sources: [HistorySource]
    private var subject: HistorySubject?
    private var count = 0
    /// Whether nothing was returned since the event of a wait was cleared.
    private var isWholePass = false
    var hasLimit: Bool { limit > 0 }
    /// How many transactions or changes the request asks for; 0 for all.
    var limit: Int { request.limit }
    /// The place after the last transaction that was read, in all stores of the request: where to go on later. Transactions that
    /// the predicate leaves out count as read.
    public private(set) var token: HistoryToken

    init(_ request: HistoryRequest, in coordinator: Coordinator) throws {
        if let predicate = request.predicate { try HistorySubject.check(predicate, request.subject) }
        (self.request, self.coordinator) = (request, coordinator)
        sources = try request.sources(in: coordinator)
        token = HistoryToken(
            transactionNumbers: Dictionary(sources.map { ($0.store.identifier, $0.position) }) { $1 })
        if case .token(let start) = request.start { token = start.updated(with: token) }
    }

    /// The next transaction with its changes; nil at the end. May be called again then: it returns what was committed meanwhile.
    ///
    /// - Throws: code 134301 if transactions that were not read yet were deleted; what reading the store or the predicate fails with.
    public func next() throws -> HistoryTransaction? {
        if request.limit > 0 && count >= request.limit { return nil }
        while true {
            while let source = try earliest() {
                isWholePass = false
                let (head, changes) = source.take()
                token = token.updated(with: HistoryTransaction(head, nil).token)
                guard let chosen = try choose(head, changes) else { continue }
                if request.subject == .transactions { count += 1 }
                return chosen
            }
            for source in sources { source.isAtEnd = false }
            guard let event = waiting.event, !isWholePass else {
                isWholePass = false
                return nil
            }
            // What is committed from here on sets it again; what was committed before, another look at all stores finds.
            event.clear()
            isWholePass = true
        }
    }

    /// The source with the earliest transaction. Stores are merged by the times of their transactions, each in its own order.
    private func earliest() throws -> HistorySource? {
        var found: HistorySource?
        for source in sources where !source.isAtEnd {
            try source.fill(limit: request.batchSize, includingChanges: request.includesChanges)
            guard let time = source.time else {
                source.isAtEnd = true
                continue
            }
            if let best = found?.time, best <= time { continue }
            found = source
        }
        return found
    }

    /// The part of a transaction that the request wants; nil for nothing.
    private func choose(_ head: HistoryHead, _ changes: [HistoryChange]) throws -> HistoryTransaction? {
        if let excluded = request.excludedAuthor, head.author == excluded { return nil }
        let all = request.resultType == .transactions ? nil : request.includesChanges ? changes : nil
        guard let predicate = request.predicate else {
            guard request.subject == .changes else { return HistoryTransaction(head, all) }
            return changes.isEmpty ? nil : chosen(head, changes)
        }
        let subject = subject ?? HistorySubject(request.subject, head)
        self.subject = subject
        subject.head = head
        guard request.subject == .changes else {
            return try holds(predicate, subject) ? HistoryTransaction(head, all) : nil
        }
        let matching = try changes.filter { change in
            subject.change = change
            return try holds(predicate, subject)
        }
        return matching.isEmpty ? nil : chosen(head, matching)
    }

    /// A missing author equals no author: `author != 'x'` keeps transactions without one.
    private func holds(_ predicate: Predicate, _ subject: HistorySubject) throws -> Bool {
        try predicate.evaluate(with: subject, arithmetic: .nilPropagating)
    }

    /// A transaction with some of its changes. A limit does not cut it: who goes on after the token would miss the rest.
    private func chosen(_ head: HistoryHead, _ changes: [HistoryChange]) -> HistoryTransaction {
        count += changes.count
        return HistoryTransaction(head, request.resultType == .transactions ? nil : changes)
    }
}

/// The transactions of one store that a cursor has yet to return, a batch at a time.
private final class HistorySource {
    let store: Store
    private let reader: any StoreReading
    private let history: any StoredHistory
    /// The number of the last transaction that was read.
    private(set) var position: Int64
    private var batch: [(head: HistoryHead, changes: [HistoryChange])] = []
    private var place = 0
    /// Whether its end was seen since the cursor last began to read; looked at again when all stores are at their end.
    var isAtEnd = false

    /// Large enough that a step costs little beside its rows, small enough that the rows of a step fit into a processor's cache.
    private static let usualBatch = 256

    init(_ store: Store, _ reader: any StoreReading, _ history: any StoredHistory, after position: Int64) {
        (self.store, self.reader, self.history, self.position) = (store, reader, history, position)
    }

    /// The time of the next transaction; nil at the end.
    var time: Double? { place < batch.count ? batch[place].head.timestamp : nil }

    func take() -> (HistoryHead, [HistoryChange]) {
        defer { place += 1 }
        return batch[place]
    }

    /// Reads the next batch, if the last one was taken.
    func fill(limit: Int, includingChanges: Bool) throws {
        guard place == batch.count else { return }
        (batch, place) = ([], 0)
        let read = try store.use {
            reader.endRead()
            return try history.transactions(
                after: position, of: store, limit: limit > 0 ? limit : HistorySource.usualBatch,
                includingChanges: includingChanges)
        }
        // A purge removed transactions that were not read, or an older file took the place of this one.
        try read.bounds.requireKept(after: position, store)
        batch = read.transactions
        if let last = batch.last { position = last.head.number }
    }
}

extension HistoryToken {
    /// Core Data's code 134501.
    static func unknown(_ store: Store, _ token: HistoryToken) -> CoreError {
        let known = token.storeIdentifiers.joined(separator: ", ")
        return CoreError(
            .invalidArgument, code: .persistentHistoryTokenStore,
            "the history token does not contain the store \(store.identifier) at \(store.path)"
                + "\(known.isEmpty ? "" : ", only \(known)"); pass a token of this store",
            value: .string(token.json), file: store.path)
    }

    /// - Parameter opensPast: whether the token is the place of a past, not where a reader goes on.
    package static func expired(
        _ number: Int64, _ bounds: HistoryBounds, _ store: Store, opensPast: Bool = false
    ) -> CoreError {
        let isReplaced = number > bounds.highest
        let reason =
            isReplaced
            ? "the last transaction of the store is \(bounds.highest), so the file was replaced or restored"
            : "the transactions before \(bounds.lowest) were deleted"
        let remedy =
            opensPast
            ? "choose a token from transaction \(bounds.lowest.addingClamped(-1)) to \(bounds.highest)"
            : isReplaced
                ? "fetch the objects again, remove a registered consumer with cst_coordinator_unregister_history_consumer "
                    + "(unregister_history_consumer, unregisterHistoryConsumer), and continue from the current token"
                : "fetch the objects again, and continue from the current token"
        return CoreError(
            .invalidArgument, code: .persistentHistoryTokenExpired,
            "the history token of \(store.path) at transaction \(number) has expired: \(reason); \(remedy)",
            value: .int(number), file: store.path)
    }
}

extension HistoryBounds {
    /// Throws code 134301 unless all transactions after a number are there, and the number is not of a later state.
    package func requireKept(after number: Int64, _ store: Store, opensPast: Bool = false) throws {
        guard lowest.addingClamped(-1) <= number, number <= highest else {
            throw HistoryToken.expired(number, self, store, opensPast: opensPast)
        }
    }
}

extension HistoryRequest {
    /// The stores with a history, each with the place where the request begins.
    fileprivate func sources(in coordinator: Coordinator) throws -> [HistorySource] {
        let stores = try coordinator.historyStores(affectedStores)
        try requireKnown(stores)
        return try stores.compactMap { store in
            let reader = store.backing.makeReader()
            return try store.use {
                reader.endRead()
                guard let history = try reader.history else { return nil }
                return HistorySource(store, reader, history, after: try start(in: history, of: store))
            }
        }
    }

    /// A token that knows no store of the request is a mistake: everything would come again.
    func requireKnown(_ stores: [Store]) throws {
        guard case .token(let token) = start, !token.transactionNumbers.isEmpty, let store = stores.first,
            !stores.contains(where: { token.transactionNumbers[$0.identifier] != nil })
        else { return }
        throw HistoryToken.unknown(store, token)
    }

    private func start(in history: any StoredHistory, of store: Store) throws -> Int64 {
        let bounds = try history.bounds()
        switch start {
        case .beginning: return bounds.lowest.addingClamped(-1)
        case .token(let token):
            guard let number = token.transactionNumbers[store.identifier] else {
                return bounds.lowest.addingClamped(-1)
            }
            try bounds.requireKept(after: number, store)
            return number
        case .date(let date): return try history.firstNumber(after: date).map { $0.addingClamped(-1) } ?? bounds.highest
        case .transaction(let transaction):
            if transaction.store.identifier == store.identifier {
                try bounds.requireKept(after: transaction.number, store)
                return transaction.number
            }
            return try history.firstNumber(after: transaction.timestamp).map { $0.addingClamped(-1) } ?? bounds.highest
        }
    }
}
