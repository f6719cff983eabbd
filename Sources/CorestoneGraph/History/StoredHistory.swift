import CorestoneFileSystem
import CorestoneValues

/// The interface to the history of one store: a list of transactions in the order of their numbers.
package protocol StoredHistory: AnyObject {
    /// Returns the number of the first remaining transaction, and the highest number that was ever assigned.
    func bounds() throws -> HistoryBounds

    /// Returns the number of the first transaction at or after a date; nil if there is no such transaction.
    func firstNumber(notBefore date: Double) throws -> Int64?
    /// Returns the number of the first transaction after a date; nil if there is no such transaction.
    func firstNumber(after date: Double) throws -> Int64?

    /// Reads the next transactions after a number, up to a limit; empty after the last transaction.
    ///
    /// - Parameters:
    ///   - store: The store for the transactions and the object IDs.
    ///   - limit: The maximum number of transactions.
    func transactions(
        after number: Int64, of store: Store, limit: Int, includingChanges: Bool
    ) throws -> HistoryBatch

    // MARK: Past states

    /// Opens a copy of the store for reading, in its state after a transaction.
    ///
    /// - Parameter unknown: The unknown values of this store, if it is itself a past state.
    /// - Throws: Code 134301 if transactions after that one were deleted, or if the store was migrated since.
    func past(after number: Int64, of store: Store, unknown: UnknownValues) throws -> StoredPast

    /// Reads the changes of one object, oldest first.
    func changes(of id: ObjectID) throws -> StoredChanges

    /// Returns the existing objects for which old values were kept after a transaction.
    ///
    /// They include objects without a recorded change, such as owners of changed members and objects with derived
    /// values.
    func objectsWithOldValues(after number: Int64, of store: Store) throws -> [ObjectID]

    // MARK: Retention

    func consumers() throws -> [HistoryConsumer]
    /// Returns the number of the first transaction to keep, for `count` transactions or `bytes` bytes.
    ///
    /// Returns nil if the history is smaller.
    func firstNumber(ofNewest count: Int) throws -> Int64?
    func firstNumber(ofNewestBytes bytes: Int) throws -> Int64?
    func size() throws -> HistorySize
    /// Returns the number before which a purge may delete in a store that CloudKit mirrors, with the reason.
    ///
    /// Returns nil in other stores.
    func mirrorLimit() throws -> (number: Int64, reason: String)?
}

/// Transactions of a history, with its bounds in the same state of the store.
package struct HistoryBatch {
    package let transactions: [(head: HistoryHead, changes: [HistoryChange])]
    package let bounds: HistoryBounds

    package init(_ transactions: [(head: HistoryHead, changes: [HistoryChange])], _ bounds: HistoryBounds) {
        (self.transactions, self.bounds) = (transactions, bounds)
    }
}

/// A past state of a store.
package struct StoredPast {
    package let backing: any PersistentStore
    package let unknown: UnknownValues
    /// The folder of the copy. The folder on disk is removed when this object is deallocated.
    package let folder: WorkFolder

    package init(_ backing: any PersistentStore, _ unknown: UnknownValues, in folder: WorkFolder) {
        (self.backing, self.unknown, self.folder) = (backing, unknown, folder)
    }
}

/// The changes of one object.
package struct StoredChanges {
    package var list: [StoredChange] = []
    /// The transaction of the last migration, before which values may belong to another model; 0 without a migration.
    package var lastMigration: Int64 = 0
    /// The first transaction from which all old values are kept; one above the last transaction if they are not kept.
    package var completeFrom: Int64 = 0

    package init() {}
}

/// A change of an object, with the values that it replaced.
package struct StoredChange {
    package let change: HistoryChange
    /// The replaced values by the path of an attribute or to-one relationship.
    ///
    /// Nil if the transaction did not keep them.
    package let oldValues: [String: PropertyValue]?
    /// The paths of replaced values that could not be kept.
    package let lost: Set<String>

    package init(_ change: HistoryChange, _ oldValues: [String: PropertyValue]?, lost: Set<String> = []) {
        (self.change, self.oldValues, self.lost) = (change, oldValues, lost)
    }
}

/// The range of transaction numbers in a history.
package struct HistoryBounds: Sendable {
    /// The number of the first remaining transaction; one above `highest` if there are no transactions.
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

/// The result of one step of a deletion.
package struct HistoryDeletionStep: Sendable {
    package var transactions = 0
    package var changes = 0
    /// Whether the deletion is complete.
    package var isLast = true

    package init() {}
}
