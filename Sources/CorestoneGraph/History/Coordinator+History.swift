import CorestonePredicate
import CorestoneValues

/// The persistent history of the stores. Any thread.
extension Coordinator {
    /// Reads the transactions of a request one after the other, for histories of any size.
    ///
    /// - Throws: code 134301 for a token whose following transactions were deleted, or of a file that was replaced; code 134501
    ///   for a token of other stores; `.invalidArgument` for sort descriptors, which need all transactions at once.
    public func history(_ request: HistoryRequest = HistoryRequest()) throws -> HistoryCursor {
        if let first = request.sortDescriptors.first {
            throw CoreError(
                .invalidArgument,
                "a history cursor returns transactions in commit order and cannot sort by \"\(first.keyPath)\"; use fetchHistory, "
                    + "or leave the sort descriptors out", key: first.keyPath)
        }
        return try HistoryCursor(request, in: self)
    }

    /// Reads the whole answer to a request. Stores without a history have no transactions.
    ///
    /// - Throws: as `history(_:)`.
    public func fetchHistory(_ request: HistoryRequest = HistoryRequest()) throws -> HistoryResult {
        let sort = request.sortDescriptors
        for descriptor in sort { try HistorySubject.check(descriptor.path, request.subject) }
        var unsorted = request
        unsorted.sortDescriptors = []
        // Which are the first, only the order can tell.
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

    /// The place after the last transaction of the stores now: where a reader that knows their objects may begin. nil if
    /// none of the stores keeps a history.
    ///
    /// - Parameter stores: which; all of the coordinator if empty.
    public func currentHistoryToken(of stores: [Store] = []) throws -> HistoryToken? {
        var numbers: [String: Int64] = [:]
        for store in try historyStores(stores) {
            numbers[store.identifier] = try store.readHistory { try $0.bounds().highest }
        }
        return numbers.isEmpty ? nil : HistoryToken(transactionNumbers: numbers)
    }

    /// Deletes the transactions before a place, with their changes: those whose numbers are lower than that of the token or
    /// the transaction, or that came before the first one of the date or later. The transaction itself stays.
    ///
    /// It deletes in steps, between which others may save. Objects are not touched. A reader whose token is older has to
    /// fetch its objects again (code 134301).
    ///
    /// - Parameters:
    ///   - stores: which; all of the coordinator if empty.
    ///   - progress: called after each step with the numbers of deleted transactions and changes; false ends the deletion with
    ///     `.cancelled`, and what was deleted stays deleted.
    /// - Throws: `.storeReadOnly`; code 134501 for a token of other stores.
    @discardableResult
    public func deleteHistory(
        before end: HistoryRequest.Start, of stores: [Store] = [],
        progress: ((_ transactions: Int, _ changes: Int) -> Bool)? = nil
    ) throws -> (transactions: Int, changes: Int) {
        var request = HistoryRequest(after: end)
        request.affectedStores = stores
        var deletion = HistoryDeletion("delete history", "deletion", progress)
        for (store, number) in try request.ends(in: self) {
            try logPassedConsumers(of: store, before: number)
            try deletion.run(in: store) { try $0.deleteHistory(before: number) }
        }
        return (deletion.transactions, deletion.changes)
    }

    /// The stores of a request: those that are given, or all.
    func historyStores(_ given: [Store]) throws -> [Store] {
        guard !closing.hasClosed else {
            throw CoreError(
                .invalidHandle, code: .persistentStoreOperation,
                "cannot use the history of a coordinator that is closed; create a new coordinator")
        }
        var chosen: [Store] = []
        for store in given where !chosen.contains(where: { $0 === store }) {
            try requireOwn(store)
            chosen.append(store)
        }
        return given.isEmpty ? stores : chosen
    }

    /// A deletion by place is the program's decision, as with Apple's framework. The log names the consumers that lose transactions.
    private func logPassedConsumers(of store: Store, before number: Int64) throws {
        let time = ReferenceDate.currentSeconds
        for consumer in try historyConsumers(of: store)
        where consumer.isLiving(at: time) && consumer.transactionNumber < number.addingClamped(-1) {
            DebugLog.write(
                "CoreData: warning: the history of \(store.path) is deleted before transaction \(number), but the consumer "
                    + "\"\(consumer.name)\" has read it up to \(consumer.transactionNumber) only")
        }
    }
}

/// Object IDs in the order in which they first come.
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
    /// By store with a history: the number before which transactions are to be deleted.
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
                    guard number <= bounds.highest else { throw HistoryToken.expired(number, bounds, store) }
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
