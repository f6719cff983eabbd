import CorestoneValues

/// The history of one store, as its reader sees it: a list of transactions in the order of their numbers.
package protocol StoredHistory: AnyObject {
    /// The number of the first transaction that is left, and the highest number that was ever given.
    func bounds() throws -> HistoryBounds

    /// The number of the first transaction at or after a date; nil without one.
    func firstNumber(notBefore date: Double) throws -> Int64?
    /// The number of the first transaction after a date; nil without one.
    func firstNumber(after date: Double) throws -> Int64?

    /// The next transactions after a number, as many as one step should read; empty at the end.
    ///
    /// - Parameters:
    ///   - store: of the transactions, and of the IDs of their objects.
    ///   - limit: the most transactions.
    func transactions(
        after number: Int64, of store: Store, limit: Int, includingChanges: Bool
    ) throws -> HistoryBatch

    // MARK: The past

    /// Opens a copy of the store as it was after a transaction, for reading.
    ///
    /// - Parameter unknown: the values of this store that are unknown, if it is itself of the past.
    /// - Throws: code 134301 if the copy no longer has the transactions after that one, or was migrated since.
    func past(after number: Int64, of store: Store, unknown: UnknownValues) throws -> StoredPast

    /// The changes of one object, oldest first.
    func changes(of id: ObjectID) throws -> StoredChanges

    /// The objects whose stored values were changed after a transaction, as far as old values were kept, without those that no longer
    /// exist. An object may have changed without a change of its own in the history: the owners of members, derived values.
    func objectsWithOldValues(after number: Int64, of store: Store) throws -> [ObjectID]

    // MARK: Retention

    func consumers() throws -> [HistoryConsumer]
    /// The number of the first transaction to keep, so that so many are kept, or so many bytes; nil if the history has less than that.
    func firstNumber(ofNewest count: Int) throws -> Int64?
    func firstNumber(ofNewestBytes bytes: Int) throws -> Int64?
    func size() throws -> HistorySize
    /// The number before which a purge may delete, and why, in a store that CloudKit mirrors; nil in others.
    func mirrorLimit() throws -> (number: Int64, reason: String)?
}

/// Transactions of a history, and its bounds in the same state of the store.
package struct HistoryBatch {
    package let transactions: [(head: HistoryHead, changes: [HistoryChange])]
    package let bounds: HistoryBounds

    package init(_ transactions: [(head: HistoryHead, changes: [HistoryChange])], _ bounds: HistoryBounds) {
        (self.transactions, self.bounds) = (transactions, bounds)
    }
}

/// A store as it was.
package struct StoredPast {
    package let backing: any PersistentStore
    package let unknown: UnknownValues
    /// Ends with the store.
    package let folder: WorkFolder

    package init(_ backing: any PersistentStore, _ unknown: UnknownValues, in folder: WorkFolder) {
        (self.backing, self.unknown, self.folder) = (backing, unknown, folder)
    }
}

/// The changes of one object.
package struct StoredChanges {
    package var list: [StoredChange] = []
    /// The last migration, before which values may have been of another model; 0 without one.
    package var lastMigration: Int64 = 0
    /// From this transaction on all old values are kept; one above the last transaction if there are no such values.
    package var completeFrom: Int64 = 0

    package init() {}
}

/// A change of an object, with the values that it replaced.
package struct StoredChange {
    package let change: HistoryChange
    /// By the path of an attribute or to-one relationship; nil if the transaction did not keep them.
    package let oldValues: [String: PropertyValue]?
    /// Paths of values that it replaced, but could not keep.
    package let lost: Set<String>

    package init(_ change: HistoryChange, _ oldValues: [String: PropertyValue]?, lost: Set<String> = []) {
        (self.change, self.oldValues, self.lost) = (change, oldValues, lost)
    }
}

package struct HistoryBounds: Sendable {
    /// One above `highest` if there is no transaction.
    package var lowest: Int64
    package var highest: Int64

    package init(lowest: Int64, highest: Int64) { (self.lowest, self.highest) = (lowest, highest) }
}

extension StoreReading {
    package var history: (any StoredHistory)? { get throws { nil } }
}

extension SaveTransaction {
    package func deleteHistory(before number: Int64) throws -> HistoryDeletionStep? { nil }
    package func setHistoryConsumer(_ consumer: HistoryConsumer) throws {}
    package func removeHistoryConsumer(_ name: String) throws -> Bool { false }
}

/// What one bounded step of a deletion removed.
package struct HistoryDeletionStep: Sendable {
    package var transactions = 0
    package var changes = 0
    /// Whether there is nothing left to remove.
    package var isLast = true

    package init() {}
}
