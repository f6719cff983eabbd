import CorestoneModel
import CorestonePredicate
import CorestoneValues

extension FetchExecutor {
    /// Fetches the object IDs of the rows. The rows themselves are read on demand.
    func batchedRows(
        _ fetch: DictionaryFetch, _ candidates: FetchRequest, identifier: Int
    ) throws -> FetchedRows {
        let found =
            try fetch.sortsByColumn
            ? sortedEntries(fetch, identifier: identifier) : prepare(candidates) { try context.foundEntries($0) }
        return FetchedRows(
            columns: fetch.columns.map(\.name), RowBatches(found, fetch, identifier: identifier, context))
    }

    /// Returns the object IDs in the order of computed columns. No other columns are read.
    private func sortedEntries(_ fetch: DictionaryFetch, identifier: Int) throws -> ObjectBatches.Found {
        let request = fetch.request.copy()
        request.batchSize = 0
        let places = [identifier] + fetch.sortPlaces.filter { $0 != identifier }
        request.propertiesToFetch = places.map { fetch.columns[$0] }
        var found = ObjectBatches.Found()
        for row in try context.fetchDictionaries(request).rows {
            guard case .object(let reference as ObjectIDReference) = row[0], let store = reference.id.store else {
                continue
            }
            found.entries.append(
                ObjectBatches.Entry(
                    primaryKey: reference.id.reference, entity: reference.id.entity.index, store: found.place(of: store)
                ))
        }
        return found
    }

    /// Returns the rows that the stores compute; nil if the columns must be computed in memory.
    func storedRows(_ fetch: DictionaryFetch, _ candidates: FetchRequest) throws -> FetchedRows? {
        var shape: RowShape?
        var rows: [[PropertyValue]] = []
        for (store, isShare) in try storesForRows(candidates) {
            let rowsRequest = storeRequest(fetch, candidates, store, isShare: isShare)
            let start = monotonicNanoseconds()
            guard let found = try context.reading(store, { try $0.rows(rowsRequest) }),
                shape == nil || shape == found.shape
            else {
                return nil
            }
            context.coordinator.count { $0.fetched(found.rows.count, in: monotonicNanoseconds() - start) }
            shape = found.shape
            rows += found.rows
        }
        return try shape.map { try fetch.completed(rows, $0) }
    }

    /// Checks the columns of rows that are computed in memory, as a store does before it reads a row.
    private func check(_ fetch: DictionaryFetch, _ candidates: FetchRequest) throws {
        let columns = StoreRowsRequest(
            fetch: StoreFetch(
                entity: candidates.entity, includesSubentities: candidates.includesSubentities,
                sortDescriptors: fetch.sortsByColumn ? fetch.request.sortDescriptors : []),
            columns: fetch.columns, isGrouped: fetch.isGrouped, keys: fetch.keys, having: fetch.having,
            isDistinct: false, isShare: false, reference: { _, _ in .null })
        for store in try stores(for: candidates) { try context.reading(store) { try $0.check(columns) } }
    }

    /// Computes the columns in memory, from the rows of the stores; nil if objects are required.
    func readRows(_ fetch: DictionaryFetch, _ candidates: FetchRequest) throws -> FetchedRows? {
        try check(fetch, candidates)
        if hasUnsavedAncestors { return nil }
        let stores = try stores(for: candidates)
        guard let store = stores.first else { return nil }
        if stores.count == 1, let found = try computedRows(fetch, candidates, store) { return found }
        var rows: [StoredRow] = []
        var isSorted = stores.count == 1
        for store in stores {
            var rowsFetch = candidates.storeFetch(.rows, windowed: stores.count == 1)
            rowsFetch.isForDictionaries = true
            let outcome = try run(rowsFetch, store: store)
            var found = ContextRows(context, store).rows(outcome.batch)
            if let predicate = outcome.remainder?.predicate {
                found = try found.filter { try predicate.evaluate(with: $0, arithmetic: .nilPropagating) }
            }
            rows += found
            if outcome.remainder?.isUnordered == true { isSorted = false }
            if outcome.remainder == nil, stores.count == 1 { return try fetch.rows(of: rows.map { .object($0) }) }
        }
        if !isSorted { rows = try candidates.sorted(rows) }
        rows = Array(rows.dropFirst(candidates.offset))
        if candidates.limit > 0 { rows = Array(rows.prefix(candidates.limit)) }
        return try fetch.rows(of: rows.map { .object($0) })
    }

    /// Computes the columns from rows that the store has in memory; nil if this is not possible.
    private func computedRows(
        _ fetch: DictionaryFetch, _ candidates: FetchRequest, _ store: Store
    ) throws -> FetchedRows? {
        if fetch.needsHost { return nil }
        return try context.reading(store) { reader in
            guard let source = reader.rowSource(of: store) else { return nil }
            let start = monotonicNanoseconds()
            let outcome = try reader.fetch(candidates.storeFetch(.rows))
            if outcome.remainder != nil { return nil }
            context.coordinator.count { $0.fetched(outcome.batch.records.count, in: monotonicNanoseconds() - start) }
            defer { withExtendedLifetime(outcome) {} }
            do { return try fetch.rows(of: outcome.batch.records.map { .object(StoredRow(source, $0)) }) } catch {
                throw (error as? CoreError)?.withoutObjects ?? error
            }
        }
    }

    var hasUnsavedAncestors: Bool {
        sequence(first: context, next: \.parent).dropFirst().contains(where: \.hasChanges)
    }

    /// Returns the stores that compute columns; empty if the columns must be computed in memory.
    ///
    /// `isShare` means that there are several stores. The columns are computed in memory if the request specifies it.
    /// Objects are required if parent contexts have unsaved changes, which count as saved for the context.
    func storesForRows(_ candidates: FetchRequest) throws -> [(store: Store, isShare: Bool)] {
        if candidates.computesRowsInMemory || hasUnsavedAncestors { return [] }
        let stores = try stores(for: candidates)
        return stores.map { ($0, stores.count > 1) }
    }

    func storeRequest(
        _ fetch: DictionaryFetch, _ candidates: FetchRequest, _ store: Store, isShare: Bool
    ) -> StoreRowsRequest {
        let request = fetch.request
        return StoreRowsRequest(
            fetch: StoreFetch(
                entity: request.entity, includesSubentities: request.includesSubentities,
                predicate: candidates.effectivePredicate, sortDescriptors: request.sortDescriptors,
                limit: request.limit,
                offset: request.offset, allowsRemainder: request.allowsSplit),
            columns: fetch.columns, isGrouped: fetch.isGrouped, keys: fetch.keys, having: fetch.having,
            isDistinct: request.returnsDistinctResults, isShare: isShare,
            reference: { entity, key in
                .object(
                    ObjectIDReference(ObjectID(store: store, entity: context.entity(at: entity), reference: key)))
            })
    }
}

extension FetchRequest {
    /// Returns the fetch of the saved objects from which columns are computed.
    func candidates(_ fetch: DictionaryFetch) -> FetchRequest {
        let objects = copy()
        objects.includesPendingChanges = false
        objects.resultType = .objects
        (objects.propertiesToFetch, objects.propertiesToGroupBy, objects.havingPredicate) = ([], [], nil)
        objects.returnsDistinctResults = false
        let isUnordered = fetch.isGrouped || fetch.sortsByColumn
        if isUnordered { objects.sortDescriptors = [] }
        if isUnordered || returnsDistinctResults { (objects.limit, objects.offset) = (0, 0) }
        return objects
    }
}

extension FetchRequest {
    fileprivate func sorted(_ rows: [StoredRow]) throws -> [StoredRow] {
        if sortDescriptors.isEmpty { return rows }
        let keys = try rows.map { try $0.sortKeys(sortDescriptors) }
        var places = Array(rows.indices)
        try places.sort { a, b in
            let order = try sortDescriptors.order(keys[a], keys[b])
            if order != 0 { return order < 0 }
            // The same tie-breaker as for objects (`SortTiebreaker`). Rows of two stores with equal primary keys are in
            // the order of the stores.
            return (rows[a].primaryKey, a) < (rows[b].primaryKey, b)
        }
        return places.map { rows[$0] }
    }
}
