import CorestoneValues

extension Context {
    /// Returns a cursor over the transactions after a token.
    ///
    /// To process the saves of other writers incrementally, store the token of the last transaction
    /// (`HistoryCursor.token`) and pass it to the next call.
    ///
    /// - Parameters:
    ///   - token: The position after which to begin; nil for the beginning.
    ///   - author: The author whose transactions are skipped, usually the context's own `transactionAuthor`.
    ///     Transactions without an author are included.
    /// - Throws: The errors of `Coordinator.history(_:)`.
    public func history(
        since token: HistoryToken? = nil, excludingAuthor author: String? = nil
    ) throws -> HistoryCursor {
        var request = HistoryRequest(after: token.map { .token($0) } ?? .beginning)
        request.excludedAuthor = author
        return try coordinator.history(request)
    }

    /// Merges the changes of a transaction like `mergeChanges`. Another process may have written the transaction.
    public func merge(_ transaction: HistoryTransaction) throws {
        try checkQueue()
        let ids = transaction.changedIDs
        // The row cache of this coordinator may contain rows that are older than the transaction.
        coordinator.forgetRows(of: ids.updated + ids.deleted)
        try mergeChanges(ids)
    }

    /// The token of the last transaction that this context wrote in each store.
    ///
    /// In observers of `didSave`, it includes the transaction of that save. It is nil before the first save to a store
    /// with a history.
    public var savedHistoryToken: HistoryToken? { onQueue { settings.savedHistoryToken } }

    /// Records the transaction of a save or a batch request, if one was written, and starts due automatic purges.
    ///
    /// Must be called during the context's turn to write.
    ///
    /// - Parameter former: The store's last transaction before the save.
    func noteHistory(of store: Store, after former: Int64?) {
        guard let number = store.backing.lastOwnTransaction, number != former else { return }
        let token = HistoryToken(storeIdentifier: store.identifier, transactionNumber: number)
        settings.savedHistoryToken = settings.savedHistoryToken?.updated(with: token) ?? token
        if number % Coordinator.purgeInterval == 0 { coordinator.purgeAutomatically(store) }
    }
}
