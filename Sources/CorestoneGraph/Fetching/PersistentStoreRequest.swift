import CorestoneValues

/// A request that `Context.execute` executes: a fetch, an asynchronous fetch or a batch request.
///
/// Two threads must not change a request at the same time. A context reads the request only during the call to which
/// it is passed.
open class PersistentStoreRequest: @unchecked Sendable {
    /// The types of requests, with the values of Core Data.
    public enum RequestType: UInt32, Sendable {
        case fetch = 1
        /// The request that a save passes to stores. A context does not execute it.
        case save = 2
        case batchInsert = 5
        case batchUpdate = 6
        case batchDelete = 7
    }

    /// The raw value of a `RequestType`. Other values are rejected.
    open var requestType: UInt32 { 0 }
    /// The stores to fetch from or to change; nil for all suitable stores.
    ///
    /// If the list is empty, a fetch has an empty result, and a batch request changes nothing.
    public var affectedStores: [Store]?

    public init() {}

    /// Whether the request affects a store.
    func affects(_ store: Store) -> Bool { affectedStores?.contains { $0 === store } ?? true }

    /// Executes the request. Each class of requests overrides this function.
    func perform(in context: Context) throws -> RequestResult {
        throw CoreError(
            .unsupported, code: .persistentStoreUnsupportedRequestType,
            "a context cannot execute requests of the class \(type(of: self)) (type \(requestType)); "
                + (requestType == RequestType.save.rawValue
                    ? "call save instead" : "use a fetch request, or a batch insert, update or delete request"),
            key: "request_type", value: .int(Int64(requestType)))
    }
}

/// The result of a request, by its type and result type.
public enum RequestResult {
    case objects(Results)
    case objectIDs([ObjectID])
    case dictionaries(FetchedRows)
    case count(Int)
    /// The running fetch of an asynchronous request.
    case asynchronous(AsynchronousFetchResult)

    /// The number of objects, IDs or rows, or the count; nil for an asynchronous fetch.
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
    /// Executes a request of any type. Must be called on the queue of the context.
    ///
    /// - Throws: Code 134091 for a type that contexts do not execute.
    ///   The errors of the request.
    public func execute(_ request: PersistentStoreRequest) throws -> RequestResult {
        try checkQueue()
        return try request.perform(in: self)
    }
}
