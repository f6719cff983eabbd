import CorestoneModel

/// Looks out for what others write into a store, until it is stopped.
package protocol StoreWatch: AnyObject, Sendable {
    /// Ends the watch. A call that runs meanwhile still ends; whoever is called may stop it too.
    func stop()
}

/// A row, by its concrete entity's index in the model and its primary key.
package typealias RowKey = (entity: UInt32, primaryKey: Int64)

/// What others wrote into a store since it was last looked at; or a batch request, past all contexts.
package struct ForeignChanges: Sendable {
    package var inserted: [RowKey] = []
    package var updated: [RowKey] = []
    package var deleted: [RowKey] = []
    /// Whether these are all. Else other rows may have changed or gone, which their versions tell.
    package var isComplete = true
    /// The number of the last transaction in the store's history, if it has one.
    package var transaction: Int64?
    package var file = RemoteChange.File.written
    /// Whether a batch request of this coordinator changed the rows.
    package var isBatch = false
    /// Rows that a batch request changed as it changed others: those that led to deleted ones, or had them as members.
    package var indirect: [RowKey] = []

    package init() {}

    var count: Int { inserted.count + updated.count + deleted.count }
    var isEmpty: Bool { count == 0 }

    /// How many rows are remembered for those who do not come for them; beyond, versions tell what changed, and what was
    /// inserted shows when it is fetched.
    package static let limit = 1 << 16

    /// Whatever it was.
    package static var unknown: ForeignChanges {
        var changes = ForeignChanges()
        changes.isComplete = false
        return changes
    }

    /// Takes in what was written later.
    mutating func add(_ later: ForeignChanges) {
        inserted += later.inserted
        updated += later.updated
        deleted += later.deleted
        isComplete = isComplete && later.isComplete
        transaction = later.transaction ?? transaction
        file = later.file
        if count > ForeignChanges.limit { forgetRows() }
    }

    /// Leaves it to the rows' versions to tell what changed.
    package mutating func forgetRows() {
        (inserted, updated, deleted) = ([], [], [])
        isComplete = false
    }
}

extension PersistentStore {
    package var postsOwnChanges: Bool { false }
    package var lastOwnTransaction: Int64? { nil }
    package var isNew: Bool { false }

    package func watch(_ tell: @escaping @Sendable (ForeignChanges) -> Void) throws -> (any StoreWatch)? { nil }
}

extension StoreReading {
    package func versions(of root: Entity, primaryKeys: [Int64]) throws -> [Int64: Int32] {
        let batch = try rows(of: root, primaryKeys: primaryKeys)
        return withExtendedLifetime(batch.chunks) {
            Dictionary(batch.records.map { ($0.primaryKey, $0.version) }, uniquingKeysWith: { $1 })
        }
    }
}
