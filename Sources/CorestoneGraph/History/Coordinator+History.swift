import CorestonePredicate
import CorestoneValues

/// The persistent history of the stores. All functions can be called on any thread.
extension Coordinator {
    /// Returns a cursor over the transactions of a request, for histories of any size.
    ///
    /// - Throws: Code 134301 if transactions after the token were deleted or the file was replaced.
    ///   Code 134501 for a token of other stores.
    ///   `.invalidArgument` for sort descriptors, which a cursor does not support.
    ///   `.predicate` for an unknown key.
    public func history(_ request: HistoryRequest = HistoryRequest()) throws -> HistoryCursor {
        if let first = request.sortDescriptors.first {
            throw CoreError(
                .invalidArgument,
                "cannot sort transactions by \"\(first.keyPath)\", because they are read in commit order; leave "
                    + "the sort descriptors out, or call cst_coordinator_fetch_history (history, fetchHistory)",
                key: first.keyPath)
        }
        return try HistoryCursor(request, in: self)
    }

    /// Reads all results of a request. Stores without a history do not contribute transactions.
    ///
    /// - Throws: The errors of `history(_:)`, except for sort descriptors, which are supported.
    public func fetchHistory(_ request: HistoryRequest = HistoryRequest()) throws -> HistoryResult {
        let sort = request.sortDescriptors
        for descriptor in sort { try HistorySubject.check(descriptor.path, request.subject) }
        var unsorted = request
        unsorted.sortDescriptors = []
        // The limit applies to the sorted transactions, so all are read.
        if !sort.isEmpty { unsorted.limit = 0 }
        let cursor = try HistoryCursor(unsorted, in: self)
        var found: [HistoryTransaction] = []
        var count = 0
        var ids = UniqueIDs()
        while let transaction = try cursor.next() {
            switch request.resultType {
            case .status: return .status(true)
            case .count: count += request.subject == .changes ? transaction.changes?.count ?? 0 : 1
            case .objectIDs: if sort.isEmpty { ids.add(transaction) } else { found.append(transaction) }
            case .transactions: found.append(HistoryTransaction(transaction.head, nil))
            case .changes, .transactionsAndChanges: found.append(transaction)
            }
        }
        switch request.resultType {
        case .status: return .status(false)
        case .count: return .count(request.limit == 0 ? count : min(count, request.limit))
        case .transactions, .transactionsAndChanges: return .transactions(try request.sorted(found))
        case .changes: return .changes(try request.sortedChanges(found))
        case .objectIDs:
            for change in try request.sortedChanges(found) { ids.add(change) }
            return .objectIDs(ids.list)
        }
    }

    /// Returns the token of the last transaction of the stores, after which a reader of the current objects can begin.
    ///
    /// Returns nil if no store has a history.
    ///
    /// - Parameter stores: The stores; if empty, all stores of the coordinator.
    public func currentHistoryToken(of stores: [Store] = []) throws -> HistoryToken? {
        var numbers: [String: Int64] = [:]
        for store in try historyStores(stores) {
            numbers[store.identifier] = try store.readHistory { try $0.bounds().highest }
        }
        return numbers.isEmpty ? nil : HistoryToken(transactionNumbers: numbers)
    }

    /// Deletes the transactions before a position, with their changes.
    ///
    /// For a token or a transaction, these are the transactions with lower numbers, so that the transaction at the
    /// position is kept. For a date, these are the transactions before the first transaction at or after the date.
    ///
    /// The deletion runs in steps, between which other writers can save. Objects do not change. A reader with an older
    /// token must fetch its objects again (code 134301).
    ///
    /// - Parameters:
    ///   - stores: The stores; if empty, all stores of the coordinator.
    ///   - progress: Called after each step with the numbers of deleted transactions and changes. If it returns false,
    ///     the deletion ends with `.cancelled`, and deleted transactions stay deleted.
    /// - Throws: `.storeReadOnly` if the store cannot be written.
    ///   Code 134501 for a token of other stores.
    ///   Code 134301 for a token after the last transaction.
    ///   `.cancelled` if `progress` returns false.
    @discardableResult
    public func deleteHistory(
        before end: HistoryRequest.Start, of stores: [Store] = [],
        progress: ((_ transactions: Int, _ changes: Int) -> Bool)? = nil
    ) throws -> (transactions: Int, changes: Int) {
        var request = HistoryRequest(after: end)
        request.affectedStores = stores
        var deletion = HistoryDeletion("delete history", "deletion", progress)
        for (store, number) in try request.ends(in: self) {
            let passed = try passedConsumers(of: store, before: number)
            let earlier = deletion.transactions
            // A deletion that fails or is cancelled may have deleted transactions too.
            defer { if deletion.transactions > earlier { logPassed(passed, of: store, before: number) } }
            try deletion.run(in: store) { try $0.deleteHistory(before: number) }
        }
        return (deletion.transactions, deletion.changes)
    }

    /// Returns the stores of a request: the given ones without duplicates, or all if the list is empty.
    func historyStores(_ given: [Store]) throws -> [Store] {
        guard !closing.hasClosed else {
            throw CoreError(
                .invalidHandle, code: .persistentStoreOperation,
                "cannot use the history of a coordinator that is closed; create a new coordinator with "
                    + "cst_coordinator_new (Coordinator)")
        }
        var chosen: [Store] = []
        for store in given where !chosen.contains(where: { $0 === store }) {
            try requireOwn(store)
            chosen.append(store)
        }
        return given.isEmpty ? stores : chosen
    }

    /// Returns the consumers that have not read all transactions with lower numbers.
    ///
    /// A deletion by position does not keep transactions for consumers.
    private func passedConsumers(of store: Store, before number: Int64) throws -> [HistoryConsumer] {
        let time = ReferenceDate.currentSeconds
        return try historyConsumers(of: store).filter {
            $0.isLiving(at: time) && $0.transactionNumber < number.addingClamped(-1)
        }
    }

    private func logPassed(_ consumers: [HistoryConsumer], of store: Store, before number: Int64) {
        for consumer in consumers {
            DebugLog.write(
                "CoreData: warning: transactions of \(store.path) with numbers below \(number) were deleted, but the "
                    + "consumer \"\(consumer.name)\" had read only up to transaction \(consumer.transactionNumber); call "
                    + "cst_coordinator_purge_history (purge_history, purgeHistory) to keep unread transactions")
        }
    }
}

/// Unique object IDs, in the order of their first occurrence.
struct UniqueIDs {
    private(set) var list: [ObjectID] = []
    private var seen: Set<ObjectID> = []

    mutating func add(_ transaction: HistoryTransaction) {
        for change in transaction.changes ?? [] { add(change) }
    }

    mutating func add(_ change: HistoryChange) { add(change.objectID) }

    mutating func add(_ id: ObjectID) { if seen.insert(id).inserted { list.append(id) } }
}

extension HistoryRequest {
    /// Returns the number before which transactions are deleted, for each store with a history.
    fileprivate func ends(in coordinator: Coordinator) throws -> [(store: Store, number: Int64)] {
        let stores = try coordinator.historyStores(affectedStores)
        try requireKnown(stores)
        return try stores.compactMap { store in
            try store.readHistory { history in
                switch start {
                case .beginning: return nil
                case .token(let token):
                    guard let number = token.transactionNumbers[store.identifier] else { return nil }
                    let bounds = try history.bounds()
                    guard number <= bounds.highest else {
                        throw HistoryToken.expired(number, bounds, store, deletes: true)
                    }
                    return (store, number)
                case .date(let date):
                    return (
                        store, try history.firstNumber(notBefore: date) ?? history.bounds().highest.addingClamped(1)
                    )
                case .transaction(let transaction):
                    return transaction.store.identifier == store.identifier ? (store, transaction.number) : nil
                }
            }
        }
    }

    fileprivate func sorted(_ transactions: [HistoryTransaction]) throws -> [HistoryTransaction] {
        if sortDescriptors.isEmpty { return transactions }
        guard subject == .transactions else {
            return try transactions.map { HistoryTransaction($0.head, try sorted($0.changes ?? [])) }
        }
        let ordered = try sort(transactions) { HistorySubject(.transactions, $0.head) }
        return limit > 0 ? Array(ordered.prefix(limit)) : ordered
    }

    fileprivate func sortedChanges(_ transactions: [HistoryTransaction]) throws -> [HistoryChange] {
        if subject == .transactions { return try sorted(transactions).flatMap { $0.changes ?? [] } }
        let changes = try sorted(transactions.flatMap { $0.changes ?? [] })
        return limit > 0 ? Array(changes.prefix(limit)) : changes
    }

    private func sorted(_ changes: [HistoryChange]) throws -> [HistoryChange] {
        if sortDescriptors.isEmpty { return changes }
        return try sort(changes) { change in
            let subject = HistorySubject(.changes, change.head)
            subject.change = change
            return subject
        }
    }

    private func sort<Element>(_ elements: [Element], _ subject: (Element) -> HistorySubject) throws -> [Element] {
        let keys = try elements.map { element in
            let subject = subject(element)
            return try sortDescriptors.map {
                try Expression.keyPath($0.path).value(with: .object(subject), arithmetic: .nilPropagating)
            }
        }
        let order = try elements.indices.sorted { one, other in
            let order = try sortDescriptors.order(keys[one], keys[other])
            return order == 0 ? one < other : order < 0
        }
        return order.map { elements[$0] }
    }
}
