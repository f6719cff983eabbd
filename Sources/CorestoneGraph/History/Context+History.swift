import CorestoneValues

extension Context {
    /// Reads the transactions after a place, for a program that follows what others save: it keeps the token of the last
    /// transaction that it has seen (`HistoryCursor.token`), and passes it the next time.
    ///
    /// - Parameters:
    ///   - token: where to begin; nil for the beginning.
    ///   - author: whose transactions are left out, usually the context's own `transactionAuthor`. Transactions without
    ///     author stay.
    /// - Throws: as `Coordinator.history(_:)`.
    public func history(
        since token: HistoryToken? = nil, excludingAuthor author: String? = nil
    ) throws -> HistoryCursor {
        var request = HistoryRequest(after: token.map { .token($0) } ?? .beginning)
        request.excludedAuthor = author
        return try coordinator.history(request)
    }

    /// Merges the changes of a transaction, which may be of another process, as `mergeChanges` does.
    public func merge(_ transaction: HistoryTransaction) throws {
        try checkQueue()
        let ids = transaction.changedIDs
        // Objects of this coordinator may have rows in the cache that are older than the transaction.
        coordinator.forgetRows(of: ids.updated + ids.deleted)
        try mergeChanges(ids)
    }

    /// The place after the last transaction that this context's last save wrote: in the observers of `didSave`, that of the
    /// very save. nil before the first save to a store with a history.
    public var savedHistoryToken: HistoryToken? { onQueue { settings.savedHistoryToken } }

    /// Remembers the transaction of a save or a batch request, unless it wrote none. While it is this context's turn to write.
    ///
    /// - Parameter former: the store's last transaction before.
    func noteHistory(of store: Store, after former: Int64?) {
        guard let number = store.backing.lastOwnTransaction, number != former else { return }
        let token = HistoryToken(storeIdentifier: store.identifier, transactionNumber: number)
        settings.savedHistoryToken = settings.savedHistoryToken?.updated(with: token) ?? token
        if number % Coordinator.purgeInterval == 0 { coordinator.purgeAutomatically(store) }
    }
}
