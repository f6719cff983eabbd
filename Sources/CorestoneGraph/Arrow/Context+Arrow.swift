import CorestoneModel
import CorestonePredicate
import CorestoneValues

extension Context {
    /// Fetches the results of a request as Arrow record batches.
    ///
    /// Batches of objects are read on demand if the context has no parent, if one store that supports generations
    /// executes the whole fetch, and if no unsaved change affects it. They contain the state of the context's query
    /// generation, or else the store's state at the time of this call. Otherwise all rows are read in this call, and
    /// unsaved changes are included as in a fetch.
    ///
    /// - Parameters:
    ///   - request: The request, which is read during the call only. If it fetches dictionaries, their columns are
    ///     exported.
    ///   - keyPaths: The columns: attributes, relationships and elements of composite attributes, including those of
    ///     to-one targets (`department.name`), and `objectID` for the objects themselves. If empty, the columns of the
    ///     request (for object IDs `objectID`), or else every stored attribute.
    /// - Throws: `.invalidArgument` if a key path cannot be a column.
    ///   The errors of a fetch.
    public func fetchArrow(
        _ request: FetchRequest, keyPaths: [String] = [], options: ArrowOptions = ArrowOptions()
    ) throws -> ArrowStream {
        try options.check(request.entityName)
        if keyPaths.isEmpty, request.computesRows {
            return try ArrowStream(
                fetchDictionaries(request), of: request.entity, columns: request.propertiesToFetch, options: options)
        }
        // The columns are those of objects, even if the request fetches object IDs. Requests for counts are rejected.
        let objects = request.copy()
        if request.resultType != .count { objects.resultType = .objects }
        try objects.requireObjects(hasOtherForms: false)
        objects.propertiesToFetch = []
        let named = request.resultType == .objectIDs ? [ArrowFields.objectID] : request.propertiesToFetch.map(\.name)
        return try fetchExecutor.prepare(request) { request in
            let fields = ArrowFields(
                request.entity, includesSubentities: request.includesSubentities, options)
            let row = ArrowField(row: try fields.fields(keyPaths.isEmpty ? named : keyPaths))
            if let found = try computedRows(request, row) {
                return try ArrowStream(found, row, of: request.entity, options)
            }
            if let rows = try storedRows(request, row) {
                return ArrowStream(row, of: request.entity, .rows(rows), batchSize: options.batchSize)
            }
            let batches = ArrowBatches(row, of: request.entity, batchSize: options.batchSize)
            if request.includesPendingChanges {
                let cursor = try cursor(objects)
                while case let objects = try cursor.next(), !objects.isEmpty { try batches.append(objects, of: self) }
            } else {
                for object in try fetch(objects) { try batches.append { try $0.append(saved: object) } }
            }
            return try ArrowStream(batches, of: request.entity)
        }
    }

    /// Returns the values of columns, some of which are computed; nil if the export needs objects.
    private func computedRows(_ request: FetchRequest, _ row: ArrowField) throws -> FetchedRows? {
        guard row.children.contains(where: { $0.computed != nil }), !isChanged(request, row) else { return nil }
        let rows = request.copy()
        (rows.resultType, rows.batchSize) = (.dictionaries, 0)
        rows.propertiesToFetch = row.children.map { child in
            child.computed.map { .expression($0) } ?? .property(child.name)
        }
        // Lists, and properties of subentities, are read from objects.
        guard (try? DictionaryFetch(rows)) != nil else { return nil }
        return try fetchDictionaries(rows)
    }

    /// Returns rows that are read on demand; nil if all rows must be read in the call (see `fetchArrow`).
    func storedRows(_ request: FetchRequest, _ row: ArrowField) throws -> ArrowRows? {
        if row.children.contains(where: { $0.computed != nil }) { return nil }
        let stores = try fetchExecutor.stores(for: request)
        guard parent == nil, stores.count == 1, let store = stores.first, !isChanged(request, row),
            let pin = try pinForExport(of: store)
        else { return nil }
        func rows(_ row: ArrowField) throws -> ArrowRows? {
            var fetch = request.storeFetch(.rows)
            fetch.keys = row.neededKeys
            return try ArrowRows(fetch, of: pin, coordinator)
        }
        // Consumers read the schema first, but a column's scale depends on all of its decimals. The decimals are
        // therefore read in advance.
        let decimals = ArrowField(row: row.children.filter(\.hasDecimals))
        if !decimals.children.isEmpty {
            guard let rows = try rows(decimals) else { return nil }
            var count = 0
            repeat {
                let builder = ArrowBuilder(decimals)
                try rows.fill(builder, 4096)
                count = builder.count
            } while count > 0
        }
        guard let found = try rows(row) else { return nil }
        row.finaliseType()
        return found
    }

    private func pinForExport(of store: Store) throws -> StorePin? {
        if let pin = pin(of: store) { return pin }
        do { return try store.use { try store.backing.pinnedReader().map { StorePin(store, $0) } } } catch let error
            as CoreError where error.status == .unsupported
        {
            return nil
        }
    }

    /// Whether unsaved changes can affect the export.
    private func isChanged(_ request: FetchRequest, _ row: ArrowField) -> Bool {
        if fetchExecutor.hasPendingChanges(for: request) { return true }
        let roots = row.reached
        guard request.includesPendingChanges, !roots.isEmpty else { return false }
        return changeTracker.all.contains { object in
            roots.contains { $0 === object.entity.root }
        }
    }
}

extension ArrowBuilder {
    /// Appends the saved values of an object.
    fileprivate func append(saved object: ManagedObject) throws {
        for child in children {
            var path = child.field.name
            if case .identity = child.field.source {
                path = String(path.dropLast(ArrowFields.objectID.count + (child.field.hops.isEmpty ? 0 : 1)))
            }
            let row = SavedState.of(object)
            try child.append(path.isEmpty ? row : KeyPathEvaluation.value(of: row, atKeyPath: path))
        }
        endRows(1)
    }
}

extension FetchRequest {
    /// Whether the request fetches dictionaries, expressions, groups or distinct results.
    fileprivate var computesRows: Bool {
        let computes = propertiesToFetch.contains { if case .expression = $0 { true } else { false } }
        return resultType == .dictionaries || computes || !propertiesToGroupBy.isEmpty || returnsDistinctResults
    }
}
