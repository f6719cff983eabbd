import CorestoneGraph
import CorestoneValues

extension WriteTransaction {
    /// The maximum number of changes that one step deletes, unless the first transaction of the step has more.
    private static let deletionStep: Int64 = 10_000
    /// The maximum number of transactions that one step deletes.
    private static let deletionTransactions: Int64 = 2_000

    /// Deletes the oldest transactions before a number, with all of their changes.
    ///
    /// One call deletes one step, whose size `deletionStep` and `deletionTransactions` limit.
    ///
    /// - Returns: nil for a store without history.
    func deleteHistory(before number: Int64) throws -> HistoryDeletionStep? {
        guard file.history != nil else { return nil }
        let purpose = "delete history of \(path)"
        let oldest = try connection.statement(
            "SELECT Z_PK, (SELECT count(*) FROM ACHANGE WHERE ZTRANSACTIONID = t.Z_PK) FROM ATRANSACTION t WHERE Z_PK < ? "
                + "ORDER BY Z_PK LIMIT ?", purpose)
        oldest.bind(number, at: 1)
        oldest.bind(WriteTransaction.deletionTransactions, at: 2)
        defer { oldest.reset() }
        var step = HistoryDeletionStep()
        var (last, changes, seen): (Int64, Int64, Int64) = (0, 0, 0)
        while try oldest.step(purpose) {
            let count = oldest.integer(1)
            if seen > 0 && changes.addingClamped(count) > WriteTransaction.deletionStep {
                step.isLast = false
                break
            }
            (last, changes, seen) = (oldest.integer(0), changes.addingClamped(count), seen + 1)
        }
        oldest.reset()
        if seen == 0 { return step }
        if seen == WriteTransaction.deletionTransactions { step.isLast = false }
        // Changes whose transaction is missing are deleted too.
        step.changes = try delete(from: "ACHANGE", "ZTRANSACTIONID", upTo: last, purpose)
        step.transactions = try delete(from: "ATRANSACTION", "Z_PK", upTo: last, purpose)
        try OldValueTables.delete(upTo: last, from: connection, purpose)
        return step
    }

    /// Deletes the rows up to a transaction, and returns the number of deleted rows.
    private func delete(from table: String, _ column: String, upTo last: Int64, _ purpose: String) throws -> Int {
        let deletion = try connection.statement("DELETE FROM \(table) WHERE \(column) <= ?", purpose)
        deletion.bind(last, at: 1)
        try deletion.run(purpose)
        return connection.changes
    }
}
