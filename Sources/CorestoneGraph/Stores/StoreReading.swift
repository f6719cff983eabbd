import CorestoneModel
import CorestonePredicate
import CorestoneValues

/// What a context reads through: a store, or a state of one that stays as it is.
package protocol StoreReading: AnyObject {
    /// What one context reads through.
    func makeReader() -> any StoreReading

    /// Reads what a fetch request asks for. What the store cannot express it leaves out and says so in the outcome.
    func fetch(_ fetch: StoreFetch) throws -> StoreFetchOutcome

    /// The rows of a fetch, to be read a batch at a time, and what is left to do with them; nil when the store has no
    /// cursors.
    func cursor(_ fetch: StoreFetch) throws -> (rows: any StoreCursor, remainder: FetchRemainder?)?

    /// How the store would answer a fetch; nil when it has nothing to say about that.
    func explain(_ fetch: StoreFetch) throws -> FetchExplanation.Share?

    /// Reads columns instead of objects; nil where they have to be computed of objects.
    func rows(_ request: StoreRowsRequest) throws -> StoreRows?

    /// Finds mistakes in the columns that `rows` would find, where it is not asked.
    func check(_ request: StoreRowsRequest) throws

    /// How the store would answer that; nil when it would not.
    func explain(_ request: StoreRowsRequest) throws -> FetchExplanation.Share?

    /// What rows lead to, for stores that have all of them in memory; nil for others. Used within one call to the store.
    func rowSource(of store: Store) -> (any RowSource)?

    /// Reads rows by primary key; rows that do not exist are left out. Any order.
    func rows(of root: Entity, primaryKeys: [Int64]) throws -> RowBatch

    /// Reads one row, with the chunk that it lies in; nil when it does not exist.
    func row(of root: Entity, primaryKey: Int64) throws -> (record: Record, chunk: RecordChunk)?

    /// The versions of rows by primary key; rows that do not exist are left out.
    func versions(of root: Entity, primaryKeys: [Int64]) throws -> [Int64: Int32]

    /// The members of a to-many relationship for each of the owners, in the relationship's order, owners in any order.
    /// With `includingRows` the members' rows too.
    func members(of relationship: Relationship, owners: [Int64], includingRows: Bool) throws -> StoreMembers

    /// The history of the store; nil for one without.
    var history: (any StoredHistory)? { get throws }

    /// Called every few milliseconds while a request runs; true stops it with `Status.cancelled`. nil: never.
    func setInterruptCheck(_ check: (() -> Bool)?)

    /// Lets go of the held read transaction, so that the next read sees the newest state.
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

/// Rows of one fetch that are read as they are asked for.
package protocol StoreCursor: AnyObject {
    /// At most `count` rows more, in the order of the fetch; none at the end.
    func next(_ count: Int) throws -> RowBatch
}

/// What a context asks of a store.
package struct StoreFetch {
    package enum Result { case rows, identifiers, count }

    package let entity: Entity
    package let includesSubentities: Bool
    package let predicate: Predicate?
    package let sortDescriptors: [SortDescriptor]
    /// 0 is no limit.
    package let limit: Int
    package let offset: Int
    package let result: Result
    /// Whether the store may leave something to do; else that is an error.
    package let allowsRemainder: Bool
    /// The properties whose values will do, if the store leaves nothing to do; nil for all.
    package var keys: Set<UInt32>?
    /// Whether of `.rows` some may be told by their keys alone, if nothing is left to do: `identifiers` has all then, in order.
    package var allowsFaults = false
    /// Whether the rows are wanted for the values of dictionaries.
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

    /// The same without an order.
    package var unordered: StoreFetch {
        if sortDescriptors.isEmpty { return self }
        var fetch = StoreFetch(
            entity: entity, includesSubentities: includesSubentities, predicate: predicate, limit: limit,
            offset: offset, result: result, allowsRemainder: allowsRemainder)
        (fetch.keys, fetch.allowsFaults, fetch.isForDictionaries) = (keys, allowsFaults, isForDictionaries)
        return fetch
    }
}

/// What a store answers to a fetch.
package struct StoreFetchOutcome {
    /// Rows, for `.rows`.
    package var batch = RowBatch()
    /// Whether they have only the values that were asked for.
    package var isPartial = false
    /// Primary key and entity index, for `.identifiers`, and for `.rows` of which some did not come (`allowsFaults`).
    package var identifiers: [(primaryKey: Int64, entity: UInt32)] = []
    /// For `.count`.
    package var count = 0
    /// What the store could not express: then the result is `.rows`, without a window, whatever was asked for.
    package var remainder: FetchRemainder?

    package init() {}
}

/// What is left to do in memory with the rows that a store found.
package struct FetchRemainder: Sendable {
    /// The part of the predicate that rows have yet to satisfy; nil when they satisfy all of it.
    package let predicate: Predicate?
    /// Whether rows have yet to be sorted.
    package let isUnordered: Bool
    /// Why the store could not do it, one sentence for each part.
    package let reasons: [String]

    package init(predicate: Predicate?, isUnordered: Bool, reasons: [String] = []) {
        self.predicate = predicate
        self.isUnordered = isUnordered
        self.reasons = reasons
    }
}

/// Rows in the order of the request, with the memory they lie in.
package struct RowBatch {
    package var records: ContiguousArray<Record> = []
    package var chunks: [RecordChunk] = []
    /// Whether the chunks hold these rows and never any others.
    package var ownsChunks = false

    package init() {}
}

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
