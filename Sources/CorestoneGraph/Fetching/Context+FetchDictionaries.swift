import CorestoneModel
import CorestonePredicate
import CorestoneValues

extension Context {
    /// Fetches the values of columns instead of objects.
    ///
    /// Columns are attributes, to-one relationships, computed expressions, and aggregates over all rows or over groups.
    ///
    /// Unsaved changes are ignored even if the request includes them. The unsaved changes of parent contexts are
    /// treated as saved. Groups that the sort descriptors do not order are in the order of their grouping values.
    ///
    /// - Throws: `Status.invalidArgument` for an invalid column: a to-many relationship, a transient attribute, or a
    ///   column of groups that is neither grouped nor aggregated.
    ///   The errors of a fetch.
    public func fetchDictionaries(_ request: FetchRequest) throws -> FetchedRows {
        try request.resolve(in: coordinator.model)
        let fetch = try DictionaryFetch(request)
        let candidates = request.candidates(fetch)
        if request.batchSize > 0 {
            if let place = fetch.identifierPlace {
                if !fetchExecutor.hasUnsavedAncestors {
                    return try fetchExecutor.batchedRows(fetch, candidates, identifier: place)
                }
            } else {
                fetch.warnOfBatchSize()
            }
        }
        if let found = try fetchExecutor.prepare(
            candidates, { try fetchExecutor.storedRows(fetch, $0) ?? fetchExecutor.readRows(fetch, $0) })
        {
            return found
        }
        let objects = try self.fetch(candidates)
        return try fetch.rows(of: objects.map { SavedState.of($0) })
    }

    /// Explains how `fetchDictionaries` would execute a request now.
    ///
    /// - Throws: The errors that `fetchDictionaries` throws before it reads a row.
    public func explainDictionaries(_ request: FetchRequest) throws -> FetchExplanation {
        try request.resolve(in: coordinator.model)
        let fetch = try DictionaryFetch(request)
        let candidates = request.candidates(fetch)
        let shares = try fetchExecutor.prepare(candidates) { candidates in
            try fetchExecutor.storesForRows(candidates).compactMap { store, isShare in
                try reading(store) {
                    try $0.explain(fetchExecutor.storeRequest(fetch, candidates, store, isShare: isShare))
                }
            }
        }
        if shares.isEmpty { return try explain(candidates) }
        return FetchExplanation(
            entity: request.entity.name, predicate: request.predicate, shares: shares, pendingObjects: 0)
    }
}
