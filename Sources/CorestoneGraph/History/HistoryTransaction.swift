import CorestoneModel
import CorestoneValues

/// One transaction of a store's history: a save, a batch request or a migration step, with its changes.
public struct HistoryTransaction: Sendable {
    let head: HistoryHead
    /// The changes in the order in which the store recorded them; nil if only transactions were requested.
    public let changes: [HistoryChange]?

    init(_ head: HistoryHead, _ changes: [HistoryChange]?) { (self.head, self.changes) = (head, changes) }

    public var store: Store { head.store }
    /// The UUID of the store.
    public var storeIdentifier: String { head.store.identifier }
    /// The number of the transaction. In one store file, later transactions have larger numbers.
    public var number: Int64 { head.number }
    /// The time of the save, in seconds since 2001-01-01 00:00:00 UTC.
    public var timestamp: Double { head.timestamp }
    /// The author of the context that saved; nil if it did not have one.
    public var author: String? { head.author }
    /// The name of the context that saved; nil if it did not have one.
    public var contextName: String? { head.contextName }
    /// The bundle identifier of the application that saved; for a program without a bundle identifier, its name.
    public var bundleIdentifier: String? { head.bundleIdentifier }
    /// The name of the process that saved.
    public var processIdentifier: String? { head.processIdentifier }
    /// The position after this transaction.
    public var token: HistoryToken {
        HistoryToken(storeIdentifier: storeIdentifier, transactionNumber: number)
    }

    /// The IDs of the changed objects, for `Context.mergeChanges`; empty if the changes were not requested.
    public var changedIDs: ChangedIDs {
        var ids = ChangedIDs()
        for change in changes ?? [] {
            switch change.kind {
            case .insert: ids.inserted.append(change.objectID)
            case .update: ids.updated.append(change.objectID)
            case .delete: ids.deleted.append(change.objectID)
            }
        }
        return ids
    }
}

/// The kind of a change.
public enum HistoryChangeKind: UInt32, Sendable {
    case insert = 0
    case update, delete
}

/// One object that a transaction inserted, updated or deleted.
public struct HistoryChange: Sendable {
    let head: HistoryHead
    /// The number of the change. Later changes in the same store have larger numbers.
    public let id: Int64
    public let kind: HistoryChangeKind
    /// The ID of the object, which may no longer exist.
    public let objectID: ObjectID
    /// The properties that an update changed; empty for other changes.
    public let updatedProperties: [Property]
    /// The tombstone of a deleted object; nil for other changes.
    ///
    /// It contains the values of attributes that the model preserves (`preservesValueInHistory`), without nil values.
    public let tombstone: [String: PropertyValue]?

    /// The transaction without its changes.
    public var transaction: HistoryTransaction { HistoryTransaction(head, nil) }

    /// The transaction with this change only.
    package var asTransaction: HistoryTransaction { HistoryTransaction(head, [self]) }

    package init(
        of head: HistoryHead, id: Int64, kind: HistoryChangeKind, objectID: ObjectID, updatedProperties: [Property],
        tombstone: [String: PropertyValue]?
    ) {
        (self.head, self.id, self.kind, self.objectID) = (head, id, kind, objectID)
        (self.updatedProperties, self.tombstone) = (updatedProperties, tombstone)
    }
}

/// The row of a transaction, shared by its changes.
package final class HistoryHead: Sendable {
    package let store: Store
    package let number: Int64
    package let timestamp: Double
    let author, contextName, bundleIdentifier, processIdentifier: String?

    package init(
        _ store: Store, number: Int64, timestamp: Double, author: String?, contextName: String?,
        bundleIdentifier: String?, processIdentifier: String?
    ) {
        (self.store, self.number, self.timestamp) = (store, number, timestamp)
        (self.author, self.contextName) = (author, contextName)
        (self.bundleIdentifier, self.processIdentifier) = (bundleIdentifier, processIdentifier)
    }
}
