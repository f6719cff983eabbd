import CorestoneModel
import CorestonePredicate
import CorestoneValues

extension Context {
    /// Returns the objects of a request, in the order that the request specifies.
    ///
    /// - Returns: The objects. Objects that were not registered before are faults whose rows are loaded, unless the
    ///   request specifies otherwise.
    /// - Throws: `.unsupported` if the result type is not objects.
    ///   `.invalidArgument` for an invalid request.
    ///   `.predicate` for an unknown key in the predicate.
    ///   The errors of the store.
    public func fetch(_ request: FetchRequest) throws -> [ManagedObject] {
        try request.requireObjects()
        return try fetchExecutor.prepare(request) { request in
            let pending = fetchExecutor.pendingChanges(for: request)
            let keys = try faultLoader.partKeys(request)
            let objects =
                try pending.isEmpty
                ? fetchExecutor.fetchStored(request, keys: keys) : fetchExecutor.fetchMerged(request, with: pending)
            try fetchExecutor.applyOptions(PostFetchOptions(request), for: objects)
            return objects
        }
    }

    /// Returns the IDs of the objects that a fetch returns, if possible without creating objects.
    public func fetchIDs(_ request: FetchRequest) throws -> [ObjectID] {
        try fetchExecutor.prepare(request) { try fetchExecutor.foundIDs($0) }
    }

    /// Returns the number of objects that a fetch with the same limit and offset returns.
    public func count(_ request: FetchRequest) throws -> Int {
        try fetchExecutor.prepare(request) { request in
            let pending = fetchExecutor.pendingChanges(for: request)
            if !pending.isEmpty { return try fetchExecutor.fetchMerged(request, with: pending).count }
            let stores = try fetchExecutor.stores(for: request)
            let isOne = stores.count == 1
            let counts = try stores.map {
                try fetchExecutor.run(request.storeFetch(.count, windowed: isOne), store: $0)
            }
            guard !counts.isEmpty, counts.allSatisfy({ $0.remainder == nil }) else {
                return try fetchExecutor.fetchStored(request).count
            }
            let whole = counts.reduce(0) { $0 + $1.count }
            if isOne { return whole }
            let rest = max(whole - request.offset, 0)
            return request.limit > 0 ? min(rest, request.limit) : rest
        }
    }
}
