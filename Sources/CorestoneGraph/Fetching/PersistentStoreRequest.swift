import CorestoneValues

/// What a context can be asked for with `Context.execute`: a fetch, or a batch of changes.
///
/// Changed by one thread at a time; a context reads it during the call only.
open class PersistentStoreRequest: @unchecked Sendable {
    /// The kinds that Core Data numbers.
    public enum RequestType: UInt32, Sendable {
        case fetch = 1
        /// What a save hands to its stores; no context carries one out.
        case save = 2
        case batchInsert = 5
        case batchUpdate = 6
        case batchDelete = 7
    }

    /// A `RequestType`; any other is refused.
    open var requestType: UInt32 { 0 }
    /// The stores to ask, or to change; nil for all that may have what is asked for. Nothing is found or done where there are none.
    public var affectedStores: [Store]?

    public init() {}

    /// Whether a store is among those to ask.
    func affects(_ store: Store) -> Bool { affectedStores?.contains { $0 === store } ?? true }

    /// What each kind does.
    func perform(in context: Context) throws -> RequestResult {
        throw CoreError(
            .unsupported, code: .persistentStoreUnsupportedRequestType,
            "a context cannot execute requests of the class \(type(of: self)) (type \(requestType)); use a fetch "
                + "request, or a batch insert, update or delete request", value: .int(Int64(requestType)))
    }
}

/// What came of a request, by its kind and by the result type that it asked for.
public enum RequestResult {
    case objects(Results)
    case objectIDs([ObjectID])
    case dictionaries(FetchedRows)
    case count(Int)
    /// Of an asynchronous fetch, which is under way.
    case asynchronous(AsynchronousFetchResult)

    /// How many objects, IDs or rows there are, or were counted; nil for a request that is under way.
    public var count: Int? {
        switch self {
        case .objects(let results): results.count
        case .objectIDs(let ids): ids.count
        case .dictionaries(let rows): rows.count
        case .count(let count): count
        case .asynchronous: nil
        }
    }
}

extension Context {
    /// Carries out a request of any kind. On the queue.
    ///
    /// - Throws: code 134091 for a kind that no context carries out, and what that kind throws.
    public func execute(_ request: PersistentStoreRequest) throws -> RequestResult {
        try checkQueue()
        return try request.perform(in: self)
    }
}
