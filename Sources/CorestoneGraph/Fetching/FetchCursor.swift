import CorestoneModel
import CorestonePredicate
import CorestoneValues

/// The objects of a fetch, a batch at a time: for more of them than memory should hold.
///
/// What one batch made is freed when nobody holds its objects any more. A cursor reads the state that the store had when
/// the cursor was made, as far as nothing was saved to it since: rows deleted meanwhile are left out, rows changed
/// meanwhile come as they are now. Where all objects are fetched at once they come as the context has them. On the queue of
/// its context.
public final class FetchCursor {
    private let context: Context
    private let wishes: FetchWishes
    private let batchSize: Int
    /// Of which its rows are: it lasts as long as the cursor.
    private let generation: QueryGenerationToken?
    private var source: Source

    private enum Source {
        /// Rows that the store finds in the order and the window of the request.
        case rows(any StoreCursor, Store)
        /// Rows of which memory has to choose those that match.
        case candidates(any StoreCursor, Store, Choice)
        /// All objects: where order or unsaved changes leave no other way.
        case objects(ArraySlice<ManagedObject>)
        case end
    }

    /// Which of the candidates match, and how many of those are still to be left out or given.
    fileprivate struct Choice {
        let predicate: Predicate
        let rules: FoundRows.Rules
        var offset: Int
        /// nil for no limit.
        var limit: Int?
    }

    init(_ context: Context, _ request: FetchRequest, batchSize: Int) throws {
        self.context = context
        self.batchSize = batchSize
        wishes = FetchWishes(request)
        generation = try context.generationToRead()
        source = try FetchCursor.source(context, request)
    }

    private static func source(_ context: Context, _ request: FetchRequest) throws -> Source {
        let stores = try context.stores(for: request)
        if stores.count == 1, let store = stores.first, !context.hasPendingChanges(for: request) {
            if let (rows, remainder) = try context.storeCursor(request.storeFetch(.rows), store) {
                guard let remainder else { return .rows(rows, store) }
                if !remainder.isUnordered, let predicate = remainder.predicate {
                    let limit = request.limit > 0 ? request.limit : nil
                    let choice = Choice(
                        predicate: predicate, rules: FoundRows(request, remainder, isSorted: true).rules,
                        offset: request.offset, limit: limit)
                    return .candidates(rows, store, choice)
                }
            }
        }
        return .objects(try context.fetch(request)[...])
    }

    /// The next objects, at most as many as a batch has; empty at the end.
    public func next() throws -> [ManagedObject] {
        try context.checkQueue()
        return try context.withAncestors {
            let objects = try nextObjects()
            if objects.isEmpty { source = .end } else { try context.fulfil(wishes, for: objects) }
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
            return context.objects(for: try read(rows, store), entity: wishes.entity, store: store)
        case .candidates(let rows, let store, var choice):
            var chosen: [ManagedObject] = []
            while chosen.isEmpty, choice.limit != 0 {
                let batch = try read(rows, store)
                if batch.records.isEmpty { break }
                let objects = context.objects(for: batch, entity: wishes.entity, store: store)
                let rows = FoundRows(choice.rules)
                rows.add(objects, batch, of: store, in: context)
                chosen = try choice.take(objects, rows)
            }
            source = .candidates(rows, store, choice)
            return chosen
        }
    }

    /// These objects, or others in the place of those that a reset of the context took away; without those whose rows are gone.
    private func present(_ objects: ArraySlice<ManagedObject>) throws -> [ManagedObject] {
        if objects.allSatisfy({ !$0.isGone }) { return Array(objects) }
        var replaced: [ManagedObject] = []
        let found = try objects.compactMap { object -> ManagedObject? in
            if !object.isGone { return object }
            // An object that was never saved is gone for good.
            guard !object.hasTemporaryID, !object.state.contains(.left) else { return nil }
            let other = try context.object(with: object.objectID)
            replaced.append(other)
            return other
        }
        let missing = Set(try context.loadRows(of: replaced).map(ObjectIdentifier.init))
        return missing.isEmpty ? found : found.filter { !missing.contains(ObjectIdentifier($0)) }
    }

    /// Rows of a cursor do not go into the row cache: they are not to stay.
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
    /// Those of the candidates that match and lie in the window.
    mutating func take(_ candidates: [ManagedObject], _ rows: FoundRows) throws -> [ManagedObject] {
        var chosen = try candidates.filter { object in
            // Arithmetic on nil is nil, as in the stores whose rows these objects stand for.
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
    /// A cursor over what a request asks for, in its order.
    ///
    /// The store finds the rows as they are asked for, so that memory does not grow with their number: but for sort keys
    /// that the store cannot express, several stores, stores other than SQLite, and unsaved changes that concern the
    /// request, where all objects are fetched at once.
    ///
    /// - Parameters:
    ///   - request: read during the call only.
    ///   - batchSize: how many objects one call of `next` gives at most; nil for the batch size of the request, else
    ///     1,000.
    /// - Throws: `.invalidArgument` for a batch size below 1, and what a fetch throws.
    public func cursor(_ request: FetchRequest, batchSize: Int? = nil) throws -> FetchCursor {
        let batchSize = batchSize ?? (request.batchSize > 0 ? request.batchSize : 1000)
        guard batchSize > 0 else {
            throw CoreError(
                .invalidArgument,
                "the batch size of a cursor\(request.entityName.map { " of \($0)" } ?? "") is \(batchSize), but must be 1 or more",
                entity: request.entityName, key: "batch_size", value: .int(Int64(batchSize)))
        }
        try request.requireObjects()
        return try preparedFetch(request) { try FetchCursor(self, $0, batchSize: batchSize) }
    }

    /// nil when the store has no cursors.
    fileprivate func storeCursor(
        _ fetch: StoreFetch, _ store: Store
    ) throws -> (rows: any StoreCursor, remainder: FetchRemainder?)? {
        try reading(store) { reader in
            coordinator.count { $0.fetches += 1 }
            return try reader.cursor(fetch)
        }
    }
}
