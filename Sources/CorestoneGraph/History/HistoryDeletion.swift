import CorestoneValues

/// A deletion of transactions in steps, between which other writers can save.
struct HistoryDeletion {
    private let purpose: String
    private let noun: String
    private let progress: ((_ transactions: Int, _ changes: Int) -> Bool)?
    private(set) var transactions = 0
    private(set) var changes = 0

    /// Creates a deletion.
    ///
    /// - Parameters:
    ///   - purpose: Completes "cannot …".
    ///   - noun: Completes "the … of the history was cancelled".
    ///   - progress: Called after each step with the counts so far. If it returns false, the deletion ends.
    init(_ purpose: String, _ noun: String, _ progress: ((_ transactions: Int, _ changes: Int) -> Bool)?) {
        (self.purpose, self.noun, self.progress) = (purpose, noun, progress)
    }

    /// Runs `step` repeatedly, each time in a separate save, until it reports the last step.
    ///
    /// In a store without a history, `step` returns nil.
    ///
    /// - Throws: `.cancelled` if `progress` returns false. Deleted transactions stay deleted.
    mutating func run(in store: Store, _ step: (any SaveTransaction) throws -> HistoryDeletionStep?) throws {
        var isLast = false
        while !isLast {
            let deleted = try store.writingHistory(purpose) {
                var deleted = HistoryDeletionStep()
                try store.backing.save { deleted = try step($0) ?? deleted }
                return deleted
            }
            transactions += deleted.transactions
            changes += deleted.changes
            isLast = deleted.isLast
            if let progress, !progress(transactions, changes) {
                let result =
                    switch transactions {
                    case 0: "nothing was deleted"
                    case 1: "the deleted transaction stays deleted"
                    default: "the \(transactions) deleted transactions stay deleted"
                    }
                throw CoreError(
                    .cancelled,
                    "the \(noun) of the history of \(store.path) was cancelled"
                        + "\(isLast ? " after its last step" : ""), and \(result)",
                    file: store.path)
            }
        }
    }
}
