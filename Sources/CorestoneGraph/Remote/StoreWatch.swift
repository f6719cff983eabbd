import CorestoneModel

/// A watcher of a store for writes by other processes and coordinators.
package protocol StoreWatch: AnyObject, Sendable {
    /// Stops the watcher. A running callback still completes, and may itself call this function.
    func stop()
}

/// The key of a row: the index of its concrete entity in the model, and its primary key.
package typealias RowKey = (entity: UInt32, primaryKey: Int64)

/// The writes of other writers to a store since the last check, or the changes of a batch request.
package struct ExternalChanges: Sendable {
    package var inserted: [RowKey] = []
    package var updated: [RowKey] = []
    package var deleted: [RowKey] = []
    /// Whether the lists contain all changes.
    ///
    /// If not, other rows may have been changed or deleted, which a comparison of versions detects.
    package var isComplete = true
    /// The number of the last transaction in the store's history; nil if it is unknown.
    package var transaction: Int64?
    package var file = RemoteChange.File.written
    /// Whether a batch request of this coordinator changed the rows.
    package var isBatch = false
    /// The rows that a batch request changed indirectly.
    ///
    /// Such a row referred to a deleted row, or had it as a member.
    package var indirect: [RowKey] = []

    package init() {}

    var count: Int { inserted.count + updated.count + deleted.count }
    var isEmpty: Bool { count == 0 }

    /// The maximum number of rows in the three lists together.
    ///
    /// If there are more, changes are detected by comparing versions, and inserted rows by the next fetch.
    package static let limit = 1 << 16

    /// An instance for unknown changes.
    package static var unknown: ExternalChanges {
        var changes = ExternalChanges()
        changes.isComplete = false
        return changes
    }

    /// Adds later changes.
    mutating func add(_ later: ExternalChanges) {
        inserted += later.inserted
        updated += later.updated
        deleted += later.deleted
        isComplete = isComplete && later.isComplete
        transaction = later.transaction ?? transaction
        file = later.file
        if count > ExternalChanges.limit { forgetRows() }
    }

    /// Discards the lists of rows, so that changes are detected by comparing versions.
    package mutating func forgetRows() {
        (inserted, updated, deleted) = ([], [], [])
        isComplete = false
    }
}

extension PersistentStore {
    package var postsOwnChanges: Bool { false }
    package var lastOwnTransaction: Int64? { nil }
    package var isNew: Bool { false }

    package func watch(_ notify: @escaping @Sendable (ExternalChanges) -> Void) throws -> (any StoreWatch)? { nil }
}

extension StoreReading {
    package func versions(of root: Entity, primaryKeys: [Int64]) throws -> [Int64: Int32] {
        let batch = try rows(of: root, primaryKeys: primaryKeys)
        return withExtendedLifetime(batch.chunks) {
            Dictionary(batch.records.map { ($0.primaryKey, $0.version) }, uniquingKeysWith: { $1 })
        }
    }
}
