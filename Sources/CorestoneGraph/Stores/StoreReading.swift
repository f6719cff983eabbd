import CorestoneModel
import CorestonePredicate
import CorestoneValues

/// A reader of a store, or of a snapshot of a store.
package protocol StoreReading: AnyObject {
    /// Returns a reader for one context.
    func makeReader() -> any StoreReading

    /// Runs a fetch. The outcome lists conditions that the store cannot express and omits.
    func fetch(_ fetch: StoreFetch) throws -> StoreFetchOutcome

    /// Returns a cursor over the rows of a fetch, and the conditions that remain to be evaluated.
    ///
    /// Returns nil if the store does not support cursors.
    func cursor(_ fetch: StoreFetch) throws -> (rows: any StoreCursor, remainder: FetchRemainder?)?

    /// Explains how the store would run a fetch; returns nil if the store does not support this.
    func explain(_ fetch: StoreFetch) throws -> FetchExplanation.Share?

    /// Reads columns instead of objects; returns nil if they must be computed from objects.
    func rows(_ request: StoreRowsRequest) throws -> StoreRows?

    /// Validates the columns that `rows` would read, without reading rows.
    func check(_ request: StoreRowsRequest) throws

    /// Explains how the store would read columns; returns nil if the store does not support this.
    func explain(_ request: StoreRowsRequest) throws -> FetchExplanation.Share?

    /// Returns the source of related rows for stores that have all rows in memory; otherwise nil.
    ///
    /// Used within one call to the store.
    func rowSource(of store: Store) -> (any RowSource)?

    /// Reads rows by primary key, in any order. Missing rows are omitted.
    func rows(of root: Entity, primaryKeys: [Int64]) throws -> RowBatch

    /// Reads one row, with its chunk; nil if the row does not exist.
    func row(of root: Entity, primaryKey: Int64) throws -> (record: Record, chunk: RecordChunk)?

    /// Returns the versions of rows by primary key. Missing rows are omitted if rows have versions.
    func versions(of root: Entity, primaryKeys: [Int64]) throws -> [Int64: Int32]

    /// Reads the members of a to-many relationship for owners.
    ///
    /// The owners are in any order, and the members of each owner are in order if the relationship is ordered. If
    /// `includingRows` is true, the members' rows are read too.
    func members(of relationship: Relationship, owners: [Int64], includingRows: Bool) throws -> StoreMembers

    /// The history of the store; nil for a store without a history.
    var history: (any StoredHistory)? { get throws }

    /// Sets a function that is called repeatedly while a request runs.
    ///
    /// Returning true stops the request with `Status.cancelled`. nil removes the function.
    func setInterruptCheck(_ check: (() -> Bool)?)

    /// Ends the held read transaction, so that the next read sees the newest state.
    func endRead()
}

extension StoreReading {
    package func makeReader() -> any StoreReading { self }

    package func cursor(_ fetch: StoreFetch) throws -> (rows: any StoreCursor, remainder: FetchRemainder?)? { nil }

    package func explain(_ fetch: StoreFetch) throws -> FetchExplanation.Share? { nil }

    package func rows(_ request: StoreRowsRequest) throws -> StoreRows? { nil }
    package func check(_ request: StoreRowsRequest) throws {}
    package func explain(_ request: StoreRowsRequest) throws -> FetchExplanation.Share? { nil }
    package func rowSource(of store: Store) -> (any RowSource)? { nil }

    package func row(of root: Entity, primaryKey: Int64) throws -> (record: Record, chunk: RecordChunk)? {
        let batch = try rows(of: root, primaryKeys: [primaryKey])
        return batch.records.first.map { ($0, $0.chunk.takeUnretainedValue()) }
    }
}

/// The rows of one fetch, read on demand.
package protocol StoreCursor: AnyObject {
    /// Returns at most `count` further rows, in the order of the fetch; empty after the last one.
    func next(_ count: Int) throws -> RowBatch
}

/// A fetch from a store.
package struct StoreFetch {
    package enum Result { case rows, identifiers, count }

    package let entity: Entity
    package let includesSubentities: Bool
    package let predicate: Predicate?
    package let sortDescriptors: [SortDescriptor]
    /// The maximum number of rows; 0 for no limit.
    package let limit: Int
    package let offset: Int
    package let result: Result
    /// Whether conditions that the store cannot express may be evaluated in memory. If not, they cause an error.
    package let allowsRemainder: Bool
    /// The properties whose values are needed if no conditions remain to be evaluated; nil for all.
    package var keys: Set<UInt32>?
    /// Whether `.rows` may return only the keys of some rows if no conditions remain.
    ///
    /// `identifiers` then contains all keys, in order.
    package var allowsFaults = false
    /// Whether the rows are read for the values of dictionaries.
    package var isForDictionaries = false

    package init(
        entity: Entity, includesSubentities: Bool = true, predicate: Predicate? = nil,
        sortDescriptors: [SortDescriptor] = [], limit: Int = 0, offset: Int = 0, result: Result = .rows,
        allowsRemainder: Bool = true
    ) {
        self.allowsRemainder = allowsRemainder
        self.entity = entity
        self.includesSubentities = includesSubentities
        self.predicate = predicate
        self.sortDescriptors = sortDescriptors
        self.limit = limit
        self.offset = offset
        self.result = result
    }

    /// The fetch without an order.
    package var unordered: StoreFetch {
        if sortDescriptors.isEmpty { return self }
        var fetch = StoreFetch(
            entity: entity, includesSubentities: includesSubentities, predicate: predicate, limit: limit,
            offset: offset, result: result, allowsRemainder: allowsRemainder)
        (fetch.keys, fetch.allowsFaults, fetch.isForDictionaries) = (keys, allowsFaults, isForDictionaries)
        return fetch
    }
}

/// The result of a fetch from a store.
package struct StoreFetchOutcome {
    /// The rows, for `.rows`.
    package var batch = RowBatch()
    /// Whether the rows contain only the requested values.
    package var isPartial = false
    /// The primary keys and entity indexes of a fetch of `.identifiers`.
    ///
    /// Also those of a fetch of `.rows` that did not return all rows (`allowsFaults`).
    package var identifiers: [(primaryKey: Int64, entity: UInt32)] = []
    /// The number of rows, for `.count`.
    package var count = 0
    /// The conditions that the store could not express; nil without such conditions.
    ///
    /// With conditions, the result is `.rows` without offset and limit, regardless of the request.
    package var remainder: FetchRemainder?

    package init() {}
}

/// The part of a fetch that remains to be done in memory.
package struct FetchRemainder: Sendable {
    /// The part of the predicate that remains to be evaluated; nil if the predicate was evaluated.
    package let predicate: Predicate?
    /// Whether the rows remain to be sorted.
    package let isUnordered: Bool
    /// The reasons why the store could not run the whole fetch, as clauses.
    package let reasons: [String]

    package init(predicate: Predicate?, isUnordered: Bool, reasons: [String] = []) {
        self.predicate = predicate
        self.isUnordered = isUnordered
        self.reasons = reasons
    }
}

/// Rows, with the chunks of memory that contain them.
package struct RowBatch {
    package var records: ContiguousArray<Record> = []
    package var chunks: [RecordChunk] = []
    /// Whether the chunks contain only these rows.
    package var ownsChunks = false

    package init() {}
}

/// The members of a to-many relationship, with their rows if requested.
package struct StoreMembers {
    package struct Member {
        package let owner: Int64
        package let primaryKey: Int64
        /// The index of the member's concrete entity in the model.
        package let entity: UInt32

        package init(owner: Int64, primaryKey: Int64, entity: UInt32) {
            self.owner = owner
            self.primaryKey = primaryKey
            self.entity = entity
        }
    }

    package var members: [Member] = []
    package var batch = RowBatch()

    package init() {}
}
