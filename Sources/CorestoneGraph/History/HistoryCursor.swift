import CorestonePredicate
import CorestoneValues

/// An iterator over the transactions of a `HistoryRequest`, oldest first.
///
/// It does not hold a lock or a read transaction between two calls. Transactions that are committed before the cursor
/// reaches the end are returned too.
///
/// A cursor must be used by one thread at a time. It does not support sort descriptors; use `Coordinator.fetchHistory`
/// for them.
public final class HistoryCursor {
    private let request: HistoryRequest
    let coordinator: Coordinator
    let waiting = HistoryWaiting()
    /// The stores of the request, with their transactions that were not returned yet.
    private var sources: [HistorySource]
    private var subject: HistorySubject?
    private var count = 0
    /// Whether no transaction was read since the event of a wait was cleared.
    private var isWholePass = false
    var hasLimit: Bool { limit > 0 }
    /// The maximum number of transactions or changes; 0 for all.
    var limit: Int { request.limit }
    /// The position after the last transaction that was read, in all stores of the request.
    ///
    /// A later cursor can continue from this position. Transactions that do not satisfy the predicate count as read.
    public private(set) var token: HistoryToken

    init(_ request: HistoryRequest, in coordinator: Coordinator) throws {
        if let predicate = request.predicate { try HistorySubject.check(predicate, request.subject) }
        (self.request, self.coordinator) = (request, coordinator)
        sources = try request.sources(in: coordinator)
        token = HistoryToken(
            transactionNumbers: Dictionary(sources.map { ($0.store.identifier, $0.position) }) { $1 })
        if case .token(let start) = request.start { token = start.updated(with: token) }
    }

    /// Returns the next transaction with its changes; nil at the end.
    ///
    /// A later call returns transactions that were committed since.
    ///
    /// - Throws: Code 134301 if transactions were deleted before they were read.
    ///   The errors of reading the store and of the predicate.
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
            // Later commits set the event again. Another pass over all stores finds earlier commits.
            event.clear()
            isWholePass = true
        }
    }

    /// Returns the source with the earliest transaction.
    ///
    /// Transactions of several stores are merged by time, and each store keeps its order.
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

    /// Returns the part of a transaction that satisfies the request; nil if there is no such part.
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

    /// Whether a subject satisfies the predicate.
    ///
    /// A nil author differs from every name, so `author != 'x'` includes transactions without an author.
    private func holds(_ predicate: Predicate, _ subject: HistorySubject) throws -> Bool {
        try predicate.evaluate(with: subject, arithmetic: .nilPropagating)
    }

    /// Returns a transaction with its matching changes.
    ///
    /// The limit does not truncate the changes, because a reader that continues after the token would miss the omitted
    /// changes.
    private func chosen(_ head: HistoryHead, _ changes: [HistoryChange]) -> HistoryTransaction {
        count += changes.count
        return HistoryTransaction(head, request.resultType == .transactions ? nil : changes)
    }
}

/// The remaining transactions of one store, which are read in batches.
private final class HistorySource {
    let store: Store
    private let reader: any StoreReading
    private let history: any StoredHistory
    /// The number of the last transaction that was read.
    private(set) var position: Int64
    private var batch: [(head: HistoryHead, changes: [HistoryChange])] = []
    private var place = 0
    /// Whether the end was reached in the current pass over the stores.
    var isAtEnd = false

    /// The default number of transactions per read.
    ///
    /// It is large enough to make the overhead of a read small, and small enough for the processor's cache.
    private static let usualBatch = 256

    init(_ store: Store, _ reader: any StoreReading, _ history: any StoredHistory, after position: Int64) {
        (self.store, self.reader, self.history, self.position) = (store, reader, history, position)
    }

    /// The time of the next transaction of the batch; nil at the end of the batch.
    var time: Double? { place < batch.count ? batch[place].head.timestamp : nil }

    func take() -> (HistoryHead, [HistoryChange]) {
        defer { place += 1 }
        return batch[place]
    }

    /// Reads the next batch, if the last one was returned completely.
    func fill(limit: Int, includingChanges: Bool) throws {
        guard place == batch.count else { return }
        (batch, place) = ([], 0)
        let read = try store.use {
            reader.endRead()
            return try history.transactions(
                after: position, of: store, limit: limit > 0 ? limit : HistorySource.usualBatch,
                includingChanges: includingChanges)
        }
        // A purge may have removed unread transactions, or an older file may have replaced this one.
        try read.bounds.requireKept(after: position, store)
        batch = read.transactions
        if let last = batch.last { position = last.head.number }
    }
}

extension HistoryToken {
    /// Creates the error for a token without the store's position (code 134501).
    ///
    /// - Parameter hasHistory: Whether the store has a history, and therefore tokens.
    static func unknown(_ store: Store, _ token: HistoryToken, hasHistory: Bool = true) -> CoreError {
        let known = token.storeIdentifiers.abridged
        return CoreError(
            .invalidArgument, code: .persistentHistoryTokenStore,
            "the history token does not contain the store \(store.identifier)"
                + "\(store.path.isEmpty ? "" : " at \(store.path)")\(known.isEmpty ? "" : ", only \(known)"); "
                + (hasHistory
                    ? "pass a token of this store"
                    : "use a store that has a history, and pass a token of it"),
            key: "token", value: .string(token.json), file: store.path)
    }

    /// Creates the error for a token whose position the store no longer has (code 134301).
    ///
    /// - Parameters:
    ///   - opensPast: Whether the token selects a past state to open, and not the position of a reader.
    ///   - deletes: Whether the token is the position up to which transactions are deleted.
    ///   - isOfConsumer: Whether this is the position of a registered consumer, which a registration keeps.
    package static func expired(
        _ number: Int64, _ bounds: HistoryBounds, _ store: Store, opensPast: Bool = false, deletes: Bool = false,
        isOfConsumer: Bool = false
    ) -> CoreError {
        let isReplaced = number > bounds.highest
        let reason =
            isReplaced
            ? "the last transaction is \(bounds.highest), so the token is not from this file"
            : "the transactions before \(bounds.lowest) were deleted"
        let continuation =
            "fetch the objects again with cst_context_fetch (fetch), and continue from the current token, which "
            + "cst_coordinator_copy_history_token (history_token, currentHistoryToken) returns"
        let remedy =
            opensPast
            ? "choose a token from transaction \(bounds.lowest.addingClamped(-1)) to \(bounds.highest)"
            : deletes
                ? "pass a token of the present file"
                : isReplaced || isOfConsumer
                    ? continuation + ". First remove a registered consumer with "
                        + "cst_coordinator_unregister_history_consumer (unregister_history_consumer, "
                        + "unregisterHistoryConsumer)"
                    : continuation
        return CoreError(
            .invalidArgument, code: .persistentHistoryTokenExpired,
            "the history token of \(store.path) at transaction \(number) has expired: \(reason); \(remedy)",
            key: "token", value: .int(number), file: store.path)
    }
}

extension HistoryBounds {
    /// Checks that all transactions after `number` still exist.
    ///
    /// - Throws: Code 134301 if some were deleted, or if `number` is higher than the last transaction.
    package func requireKept(
        after number: Int64, _ store: Store, opensPast: Bool = false, isOfConsumer: Bool = false
    ) throws {
        guard lowest.addingClamped(-1) <= number, number <= highest else {
            throw HistoryToken.expired(number, self, store, opensPast: opensPast, isOfConsumer: isOfConsumer)
        }
    }
}

extension HistoryRequest {
    /// Returns the stores with a history, each with the start position of the request.
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

    /// Checks that the token contains a store of the request.
    ///
    /// - Throws: Code 134501 if it does not, because all transactions would be read again. An empty token is accepted.
    func requireKnown(_ stores: [Store]) throws {
        guard case .token(let token) = start, !token.transactionNumbers.isEmpty,
            let first = stores.first, !stores.contains(where: { token.transactionNumbers[$0.identifier] != nil })
        else { return }
        let store = try stores.first(where: { try $0.readHistory { _ in true } == true })
        throw HistoryToken.unknown(store ?? first, token, hasHistory: store != nil)
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
