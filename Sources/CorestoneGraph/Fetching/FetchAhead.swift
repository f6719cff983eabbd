import CorestoneModel
import CorestonePredicate
import CorestoneValues

/// The rows that another thread reads for a fetch that a context executes later.
struct FetchAhead {
    private let store: Store
    private let fetch: StoreFetch
    private(set) var outcome = StoreFetchOutcome()
    /// The state of the row cache before the rows were read.
    private(set) var state: UInt64 = 0
    /// The duration of the read, in nanoseconds.
    private(set) var duration: UInt64 = 0

    private static let batchSize = 1000

    init(_ store: Store, _ fetch: StoreFetch) { (self.store, self.fetch) = (store, fetch) }

    /// Reads the rows with a separate reader. Can be called on any thread.
    ///
    /// - Parameter progress: Called with the number of rows read so far.
    mutating func read(isStopped: @escaping () -> Bool, progress: (Int) -> Void) throws {
        let start = monotonicNanoseconds()
        state = store.rowCache.state
        let reader = store.backing.makeReader()
        func using<Result>(_ body: () throws -> Result) throws -> Result {
            try store.use {
                reader.setInterruptCheck(isStopped)
                defer { reader.setInterruptCheck(nil) }
                return try body()
            }
        }
        if fetch.result == .rows, let (cursor, remainder) = try using({ try reader.cursor(fetch) }) {
            outcome.remainder = remainder
            outcome.batch.ownsChunks = true
            while true {
                let batch = try using { try cursor.next(FetchAhead.batchSize) }
                if batch.records.isEmpty { break }
                outcome.batch.records += batch.records
                outcome.batch.chunks += batch.chunks
                progress(outcome.batch.records.count)
            }
        } else {
            outcome = try using { try reader.fetch(fetch) }
            progress(outcome.batch.records.count + outcome.identifiers.count)
        }
        duration = monotonicNanoseconds() - start
    }

    /// Whether the rows are the result of the fetch `other`, and the store was not changed since they were read.
    func matches(_ other: StoreFetch, in otherStore: Store) -> Bool {
        otherStore === store && other.entity === fetch.entity && other.result == fetch.result
            && other.limit == fetch.limit
            && other.offset == fetch.offset && other.includesSubentities == fetch.includesSubentities
            && other.predicate == fetch.predicate && other.sortDescriptors == fetch.sortDescriptors
            && store.rowCache.state == state
    }
}

extension Context {
    /// Prepares reading the rows of a request on another thread.
    ///
    /// Returns nil if the context must read the rows itself.
    func fetchAhead(of request: FetchRequest) throws -> FetchAhead? {
        guard parent == nil, generationState.isNone, request.resultType != .dictionaries,
            request.predicate?.hasFetches != true
        else { return nil }
        let stores = try fetchExecutor.prepare(request) { try self.fetchExecutor.stores(for: $0) }
        guard stores.count == 1, let store = stores.first else { return nil }
        let result: StoreFetch.Result =
            switch request.resultType {
            case .count: .count
            case .objects where request.batchSize == 0 && request.includesPropertyValues: .rows
            default: .identifiers
            }
        return FetchAhead(store, request.storeFetch(result))
    }

    /// Returns the serial queue that reads ahead for this context.
    func readsAhead() -> SerialQueue { faultState.queueForReadingAhead(label) }

    /// Runs `body`, whose fetch uses the rows that were read ahead. `isStopped` can cancel the fetch.
    func using<Result>(_ ahead: FetchAhead?, isStopped: @escaping () -> Bool, _ body: () throws -> Result) throws
        -> Result
    {
        let former = interruptCheck
        self.faultState.ahead = ahead
        interruptCheck = { isStopped() || former?() == true }
        defer {
            self.faultState.ahead = nil
            interruptCheck = former
        }
        return try body()
    }
}
