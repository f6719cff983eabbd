import CorestoneModel
import CorestonePredicate
import CorestoneValues

/// An iterator over the objects of a fetch, which usually keeps only one batch in memory.
///
/// The memory of a batch is freed when its objects are released. A cursor returns the rows that matched when it was
/// created. It skips rows that were deleted since, and returns the present values of rows that were changed since. If
/// all objects must be fetched at the cursor's creation, the cursor retains them, and their values include the unsaved
/// changes of the context. A cursor must be used on the queue of its context.
public final class FetchCursor {
    private let context: Context
    private let postFetchOptions: PostFetchOptions
    private let batchSize: Int
    /// The query generation in which the cursor reads, retained by the cursor; nil for the newest state.
    private let generation: QueryGenerationToken?
    private var source: Source

    private enum Source {
        /// Rows from the store, in the order and the window of the request.
        case rows(any StoreCursor, Store)
        /// Rows whose predicate is partly evaluated in memory.
        case candidates(any StoreCursor, Store, Choice)
        /// The remaining objects, if all objects had to be fetched at the cursor's creation.
        case objects(ArraySlice<ManagedObject>)
        case end
    }

    /// The predicate for candidates, and the remaining offset and limit.
    fileprivate struct Choice {
        let predicate: Predicate
        let rules: FetchedRowMatcher.Rules
        var offset: Int
        /// The remaining limit; nil for no limit.
        var limit: Int?
    }

    init(_ context: Context, _ request: FetchRequest, batchSize: Int) throws {
        self.context = context
        self.batchSize = batchSize
        postFetchOptions = PostFetchOptions(request)
        generation = try context.generationToRead()
        source = try FetchCursor.source(context, request)
    }

    private static func source(_ context: Context, _ request: FetchRequest) throws -> Source {
        let stores = try context.fetchExecutor.stores(for: request)
        if stores.count == 1, let store = stores.first, !context.fetchExecutor.hasPendingChanges(for: request) {
            if let (rows, remainder) = try context.storeCursor(request.storeFetch(.rows), store) {
                guard let remainder else { return .rows(rows, store) }
                if !remainder.isUnordered, let predicate = remainder.predicate {
                    let limit = request.limit > 0 ? request.limit : nil
                    let choice = Choice(
                        predicate: predicate, rules: FetchedRowMatcher(request, remainder, isSorted: true).rules,
                        offset: request.offset, limit: limit)
                    return .candidates(rows, store, choice)
                }
            }
        }
        return .objects(try context.fetch(request)[...])
    }

    /// Returns the next batch of objects; empty after the last batch.
    public func next() throws -> [ManagedObject] {
        try context.checkQueue()
        return try context.withAncestors {
            let objects = try nextObjects()
            if objects.isEmpty {
                source = .end
            } else {
                try context.fetchExecutor.applyOptions(postFetchOptions, for: objects)
            }
            return objects
        }
    }

    private func nextObjects() throws -> [ManagedObject] {
        switch source {
        case .end: return []
        case .objects(let rest):
            var rest = rest
            var found: [ManagedObject] = []
            while found.isEmpty, !rest.isEmpty {
                found = try present(rest.prefix(batchSize))
                rest = rest.dropFirst(batchSize)
            }
            source = .objects(rest)
            return found
        case .rows(let rows, let store):
            return context.fetchExecutor.objects(
                for: try read(rows, store), entity: postFetchOptions.entity, store: store)
        case .candidates(let rows, let store, var choice):
            var chosen: [ManagedObject] = []
            while chosen.isEmpty, choice.limit != 0 {
                let batch = try read(rows, store)
                if batch.records.isEmpty { break }
                let objects = context.fetchExecutor.objects(for: batch, entity: postFetchOptions.entity, store: store)
                let rows = FetchedRowMatcher(choice.rules)
                rows.add(objects, batch, of: store, in: context)
                chosen = try choice.select(objects, rows)
            }
            source = .candidates(rows, store, choice)
            return chosen
        }
    }

    /// Returns the objects, with new ones for those that a reset removed from the context.
    ///
    /// Removed objects that were never saved, or whose rows were deleted, are skipped.
    private func present(_ objects: ArraySlice<ManagedObject>) throws -> [ManagedObject] {
        if objects.allSatisfy({ !$0.isGone }) { return Array(objects) }
        var replaced: [ManagedObject] = []
        let found = try objects.compactMap { object -> ManagedObject? in
            if !object.isGone { return object }
            // An object that was never saved cannot be fetched again.
            guard !object.hasTemporaryID, !object.state.contains(.detachedIndividually) else { return nil }
            let other = try context.object(with: object.objectID)
            replaced.append(other)
            return other
        }
        let missing = Set(try context.faultLoader.loadRows(of: replaced).map(ObjectIdentifier.init))
        return missing.isEmpty ? found : found.filter { !missing.contains(ObjectIdentifier($0)) }
    }

    /// Reads the next rows. They are not added to the row cache, so that they do not stay in memory.
    private func read(_ rows: any StoreCursor, _ store: Store) throws -> RowBatch {
        try context.reading(store) { _ in
            let start = monotonicNanoseconds()
            let batch = try rows.next(batchSize)
            let duration = monotonicNanoseconds() - start
            context.coordinator.count { $0.fetched(batch.records.count, in: duration, requests: 0) }
            return batch
        }
    }
}

extension FetchCursor.Choice {
    /// Returns the candidates that match and are within the offset and limit.
    mutating func select(_ candidates: [ManagedObject], _ rows: FetchedRowMatcher) throws -> [ManagedObject] {
        var chosen = try candidates.filter { object in
            // Arithmetic on nil is nil, as in the stores that contain these rows.
            try predicate.evaluate(
                with: rows[object].map { .object($0) } ?? .object(object), arithmetic: .nilPropagating)
        }
        let skipped = min(offset, chosen.count)
        chosen.removeFirst(skipped)
        offset -= skipped
        if let limit {
            chosen = Array(chosen.prefix(limit))
            self.limit = limit - chosen.count
        }
        return chosen
    }
}

extension Context {
    /// Creates a cursor over the objects of a request, in the order that the request specifies.
    ///
    /// If possible, the store reads the rows on demand, so that memory use does not depend on their number. All objects
    /// are fetched in this call if the store does not support a sort key, if unsaved changes affect the request, if the
    /// request covers several stores, and for stores other than SQLite.
    ///
    /// - Parameters:
    ///   - request: The request, which is read during the call only.
    ///   - batchSize: The maximum number of objects that `next` returns; nil for the batch size of the request, or
    ///     1,000 if it does not have one.
    /// - Throws: `.invalidArgument` for a batch size below 1.
    ///   The errors of a fetch.
    public func cursor(_ request: FetchRequest, batchSize: Int? = nil) throws -> FetchCursor {
        let batchSize = batchSize ?? (request.batchSize > 0 ? request.batchSize : 1000)
        guard batchSize > 0 else {
            throw CoreError(
                .invalidArgument,
                "the batch size of a cursor\(request.entityName.map { " of \($0)" } ?? "") is \(batchSize), but must be 1 or more",
                entity: request.entityName, key: "batch_size", value: .int(Int64(batchSize)))
        }
        try request.requireObjects(hasOtherForms: false)
        return try fetchExecutor.prepare(request) { try FetchCursor(self, $0, batchSize: batchSize) }
    }

    /// Opens a cursor of the store; nil if the store does not support cursors.
    fileprivate func storeCursor(
        _ fetch: StoreFetch, _ store: Store
    ) throws -> (rows: any StoreCursor, remainder: FetchRemainder?)? {
        try reading(store) { reader in
            coordinator.count { $0.fetches += 1 }
            return try reader.cursor(fetch)
        }
    }
}
