import CorestoneModel
import CorestonePredicate
import CorestoneValues

extension Context {
    /// What a request asks for, as record batches of Arrow.
    ///
    /// Where the store can do all of the fetch, and no unsaved change concerns it, rows are read when their batch is asked for,
    /// straight into columns: of the state that the store has now. Else all is read now: with unsaved changes as a fetch has them.
    ///
    /// - Parameters:
    ///   - request: read during the call only. A request for dictionaries gives the columns of these.
    ///   - keyPaths: the columns, by name: attributes, relationships, elements of composite attributes, all of them also behind
    ///     to-one relationships (`department.name`), and `objectID` for the objects themselves. Without any, every attribute that is
    ///     stored.
    /// - Throws: `.invalidArgument` for key paths that lead to no column, and what a fetch throws.
    public func fetchArrow(
        _ request: FetchRequest, keyPaths: [String] = [], options: ArrowOptions = ArrowOptions()
    ) throws -> ArrowStream {
        try options.check()
        if keyPaths.isEmpty, request.computesRows {
            return try ArrowStream(
                fetchDictionaries(request), of: request.entity, columns: request.propertiesToFetch, options: options)
        }
        // Columns of objects, whatever a fetch would give of them.
        let objects = request.copy()
        if request.resultType != .count { objects.resultType = .objects }
        try objects.requireObjects()
        objects.propertiesToFetch = []
        let named = request.resultType == .objectIDs ? [ArrowFields.objectID] : request.propertiesToFetch.map(\.name)
        return try preparedFetch(request) { request in
            let fields = ArrowFields(
                request.entity, includesSubentities: request.includesSubentities, options)
            let row = ArrowField(row: try fields.fields(keyPaths.isEmpty ? named : keyPaths))
            if let rows = try storedRows(request, row) {
                return ArrowStream(row, of: request.entity, .rows(rows), batchSize: options.batchSize)
            }
            let batches = ArrowBatches(row, batchSize: options.batchSize)
            if request.includesPendingChanges {
                let cursor = try cursor(objects)
                while case let objects = try cursor.next(), !objects.isEmpty { try batches.append(objects, of: self) }
            } else {
                for object in try fetch(objects) { try batches.append { try $0.append(saved: object) } }
            }
            return try ArrowStream(batches, of: request.entity)
        }
    }

    /// The rows of a fetch that its one store can do by itself; nil when memory has to have a hand in it.
    private func storedRows(_ request: FetchRequest, _ row: ArrowField) throws -> ArrowRows? {
        let stores = try stores(for: request)
        guard parent == nil, stores.count == 1, let store = stores.first, !isChanged(request, row),
            let pin = try pinForExport(of: store)
        else { return nil }
        func rows(_ row: ArrowField) throws -> ArrowRows? {
            var fetch = request.storeFetch(.rows)
            fetch.keys = row.neededKeys
            return try ArrowRows(fetch, of: pin, coordinator)
        }
        // The schema comes first, and a scale that fits all decimals is known when all were seen.
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
        row.settle()
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

    /// Whether unsaved changes concern what is to be exported.
    private func isChanged(_ request: FetchRequest, _ row: ArrowField) -> Bool {
        if hasPendingChanges(for: request) { return true }
        let roots = row.reached
        guard request.includesPendingChanges, !roots.isEmpty else { return false }
        return changeTracker.all.contains { object in
            roots.contains { $0 === object.entity.root }
        }
    }
}

extension ArrowBuilder {
    /// Appends what an object has in the store.
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
    /// Whether it is one for dictionaries, or has something that only these have.
    fileprivate var computesRows: Bool {
        let computes = propertiesToFetch.contains { if case .expression = $0 { true } else { false } }
        return resultType == .dictionaries || computes || !propertiesToGroupBy.isEmpty || returnsDistinctResults
    }
}
