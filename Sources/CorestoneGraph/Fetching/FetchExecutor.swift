import CorestoneModel
import CorestonePredicate
import CorestoneValues

/// The execution of fetch requests.
///
/// 1. `prepare` checks the request and processes pending changes.
/// 2. Without unsaved changes that concern the request, `fetchStored` returns the objects of the matching rows. Each
///    store evaluates as much of the predicate as it can, and the remainder is evaluated in memory.
/// 3. With unsaved changes, `fetchMerged` replaces the rows of changed objects by these objects.
/// 4. `applyOptions` loads rows and prefetches relationships.
struct FetchExecutor {
    let context: Context

    /// Loads rows and prefetches relationships of fetched objects, as the request specifies.
    func applyOptions(_ postFetchOptions: PostFetchOptions, for objects: [ManagedObject]) throws {
        if !postFetchOptions.returnsObjectsAsFaults {
            try context.faultLoader.loadRows(of: objects)
            for object in objects where object.record != nil && object.endFault() {
                try object.sendAwakeFromFetch()
            }
        }
        if !postFetchOptions.prefetched.isEmpty {
            try context.faultLoader.prefetch(postFetchOptions.prefetched, of: objects, entity: postFetchOptions.entity)
        }
    }

    func foundIDs(_ request: FetchRequest) throws -> [ObjectID] {
        let pending = pendingChanges(for: request)
        if !pending.isEmpty { return try fetchMerged(request, with: pending).map(\.objectID) }
        var ids: [ObjectID] = []
        let stores = try stores(for: request)
        for store in stores {
            let outcome = try run(request.storeFetch(.identifiers), store: store)
            guard outcome.remainder == nil, stores.count == 1 else {
                return try fetchStored(request).map(\.objectID)
            }
            ids.reserveCapacity(outcome.identifiers.count)
            for (key, entity) in outcome.identifiers {
                ids.append(ObjectID(store: store, entity: context.entity(at: entity), reference: key))
            }
        }
        return ids
    }

    /// Prepares a fetch and runs `body`, which executes the fetch.
    ///
    /// The preparation checks the request and processes pending changes of the parents, and of the context if the
    /// request includes them. `body` receives the request with its FETCH expressions replaced by their results.
    func prepare<Result>(
        _ request: FetchRequest, _ body: (FetchRequest) throws -> Result
    ) throws -> Result {
        try context.checkQueue()
        try request.resolve(in: context.coordinator.model)
        guard request.limit >= 0, request.offset >= 0 else {
            let (key, number) = request.limit < 0 ? ("limit", request.limit) : ("offset", request.offset)
            throw CoreError(
                .invalidArgument,
                "a fetch of \(request.entity.name) has limit \(request.limit) and offset \(request.offset), but both must be 0 or more",
                entity: request.entity.name, key: key, value: .int(Int64(number)))
        }
        try context.requireOpen(request.affectedStores)
        context.processInboxIfClean()
        if request.includesPendingChanges {
            try context.processPendingChanges(appliesDeleteRules: context.propagatesDeletesAtEndOfEvent)
        }
        return try context.withAncestors {
            try context.parent?.processPendingChangesInAncestors()
            return try body(try context.withFetchesDone(request))
        }
    }
}

// MARK: - From the store

extension FetchExecutor {
    /// Returns the stores that may contain objects of a request.
    func stores(for request: FetchRequest) throws -> [Store] {
        let stores = try context.coordinator.stores(having: request.entity, orSubentities: request.includesSubentities)
            .filter(request.affects)
        guard let generation = try context.generationToRead() else { return stores }
        return stores.filter(generation.includes)
    }

    /// Runs a fetch in one store, or returns the rows that were read ahead for the fetch.
    func run(_ fetch: StoreFetch, store: Store) throws -> StoreFetchOutcome {
        if let ahead = context.faultState.ahead, ahead.matches(fetch, in: store) {
            return useRows(ahead, store, fetch.entity)
        }
        return try context.reading(store) { reader in
            let cache = context.rowCache(of: store)
            let state = cache.state
            let start = monotonicNanoseconds()
            let outcome = try reader.fetch(fetch)
            let duration = monotonicNanoseconds() - start
            context.coordinator.count {
                $0.fetched(outcome.batch.records.count + outcome.identifiers.count, in: duration)
            }
            if !outcome.batch.records.isEmpty, !outcome.isPartial, !store.hasRowsInMemory {
                cache.add(outcome.batch, root: fetch.entity.root, asOf: state)
            }
            return outcome
        }
    }

    private func useRows(_ ahead: FetchAhead, _ store: Store, _ entity: Entity) -> StoreFetchOutcome {
        context.faultState.ahead = nil
        let outcome = ahead.outcome
        context.coordinator.count {
            $0.fetched(outcome.batch.records.count + outcome.identifiers.count, in: ahead.duration)
        }
        if !outcome.batch.records.isEmpty, !store.hasRowsInMemory {
            context.rowCache(of: store).add(outcome.batch, root: entity.root, asOf: ahead.state)
        }
        return outcome
    }

    /// Fetches saved objects, without unsaved changes.
    ///
    /// - Parameter keys: The keys of the required properties; nil for all.
    func fetchStored(_ request: FetchRequest, keys: Set<UInt32>? = nil) throws -> [ManagedObject] {
        let stores = try stores(for: request)
        // A generation excludes stores that were added after it, and a request excludes unaffected stores.
        if stores.isEmpty && !context.coordinator.stores.isEmpty { return [] }
        guard !stores.isEmpty else { throw noStore(request) }
        if request.needsOnlyIDs, let faults = try fetchFaults(request, stores) { return faults }
        if stores.count == 1, let store = stores.first {
            var fetch = request.storeFetch(.rows)
            fetch.keys = keys
            fetch.allowsFaults = request.returnsObjectsAsFaults && !request.shouldRefreshRefetchedObjects
            let outcome = try run(fetch, store: store)
            if !outcome.identifiers.isEmpty { return faults(for: outcome, request, store: store) }
            if let keys, outcome.isPartial {
                return context.faultLoader.objects(forParts: outcome.batch, keys: keys, store: store)
            }
            let found = try objects(for: outcome.batch, request, store: store)
            guard let remainder = outcome.remainder else { return found }
            let rows = FetchedRowMatcher(request, remainder, isSorted: !remainder.isUnordered)
            rows.add(found, outcome.batch, of: store, in: context)
            return try select(
                filtered(found, remainder, request, rows), request, isSorted: !remainder.isUnordered, rows)
        }
        // Several stores: each returns its candidates, and the sort descriptors, limit and offset apply to all of them.
        var found: [ManagedObject] = []
        let rows = FetchedRowMatcher(request)
        for store in stores {
            let outcome = try run(request.storeFetch(.rows, windowed: false), store: store)
            let objects = try objects(for: outcome.batch, request, store: store)
            rows.add(objects, outcome.batch, of: store, in: context)
            found += try filtered(objects, outcome.remainder, request, rows)
        }
        return try select(found, request, isSorted: false, rows)
    }

    /// Fetches faults from primary keys only; nil with several stores, or if rows must be evaluated in memory.
    private func fetchFaults(_ request: FetchRequest, _ stores: [Store]) throws -> [ManagedObject]? {
        guard stores.count == 1, let store = stores.first else { return nil }
        let outcome = try run(request.storeFetch(.identifiers), store: store)
        if outcome.remainder != nil { return nil }
        let objects = objects(for: outcome.identifiers, store)
        context.faultState.groups.group(objects.filter { $0.record == nil }, root: request.entity.root, store: store)
        return objects
    }

    private func objects(for keys: [(primaryKey: Int64, entity: UInt32)], _ store: Store) -> [ManagedObject] {
        context.batchingNotices(store.observesRegistrations) {
            keys.map { key, entity in
                context.identityMap.object(store: store, entity: context.entity(at: entity), primaryKey: key)
            }
        }
    }

    /// Returns the objects of a fetch that returned only some of the rows, in the order of its primary keys.
    private func faults(for outcome: StoreFetchOutcome, _ request: FetchRequest, store: Store) -> [ManagedObject] {
        let known = objects(for: outcome.batch, entity: request.entity, store: store)
        return withExtendedLifetime(known) {
            let objects = objects(for: outcome.identifiers, store)
            context.faultState.groups.group(
                objects.filter { $0.record == nil }, root: request.entity.root, store: store)
            return objects
        }
    }

    /// Returns the registered object of each row, refreshed if the request specifies it.
    private func objects(for batch: RowBatch, _ request: FetchRequest, store: Store) throws -> [ManagedObject] {
        let found = objects(for: batch, entity: request.entity, store: store)
        if request.shouldRefreshRefetchedObjects { try refresh(found, from: batch) }
        return found
    }

    /// Replaces the rows of loaded objects that do not have changes with the newest rows of the store.
    func refreshRefetched(_ objects: [ManagedObject], of entity: Entity) throws {
        for (store, known) in context.faultLoader.byStore(objects.filter { !$0.hasChanges && $0.record != nil }) {
            let batch = try context.objectRefresh.rows(of: entity.root, known.map(\.primaryKey), in: store)
            try refresh(self.objects(for: batch, entity: entity.root, store: store), from: batch)
        }
    }

    /// Sets the rows of a fetch on loaded objects without changes.
    private func refresh(_ objects: [ManagedObject], from batch: RowBatch) throws {
        try withExtendedLifetime(batch.chunks) {
            for (object, record) in zip(objects, batch.records) where !object.isFault && !object.hasChanges {
                if context.parent != nil {
                    try context.refresh(object, mergeChanges: true)
                } else if object.version != record.version {
                    try object.refreshingValues {
                        object.setRecord(record)
                        try context.objectRefresh.discardDependentValues(object)
                    }
                    try object.sendAwake(fromSnapshotEvents: .refresh)
                }
            }
        }
        try context.throwHookFailure()
    }

    /// Returns the registered object of each row. New objects are faults with rows.
    func objects(for batch: RowBatch, entity requested: Entity, store: Store) -> [ManagedObject] {
        let objects = storedObjects(for: batch, entity: requested, store: store)
        if context.parent != nil { context.faultLoader.followAncestors(objects) }
        return objects
    }

    private func storedObjects(for batch: RowBatch, entity requested: Entity, store: Store) -> [ManagedObject] {
        // `[]` avoids a write to the empty array storage, which all threads share.
        if batch.records.isEmpty { return [] }
        let identityMap = context.identityMap
        let place = identityMap.index(store: store, root: requested.root)
        let table = identityMap.tables[place].table
        table.reserve(batch.records.count)
        // Another thread may remove the chunks from the row cache meanwhile.
        defer { withExtendedLifetime(batch.chunks) {} }
        if store.observesRegistrations { identityMap.holdNotices() }
        defer { if store.observesRegistrations { identityMap.sendNotices() } }
        let objects = [ManagedObject](unsafeUninitializedCapacity: batch.records.count) { buffer, count in
            var entity = requested
            for record in batch.records {
                let object: ManagedObject
                let index = record.header.pointee.entity
                if let known = identityMap.registered(in: table, record.primaryKey, entityIndex: index) {
                    object = known
                    // A loaded object keeps its row; a fault gets the fetched row.
                    if object.state.contains(.fault) { object.renew(record) }
                } else {
                    if index != entity.index { entity = context.entity(at: index) }
                    object = ManagedObject(
                        entity: entity, context: context, store: store, primaryKey: record.primaryKey, state: [.fault])
                    object.setRecord(record)
                    table.set(record.primaryKey, Unmanaged.passUnretained(object).toOpaque())
                    if store.observesRegistrations { identityMap.note(.registered, object, in: store) }
                }
                (buffer.baseAddress! + count).initialize(to: object)
                count += 1
            }
        }
        if identityMap.retained != nil { identityMap.retainAll(objects) }
        return objects
    }

    func noStore(_ request: FetchRequest) -> CoreError {
        CoreError(
            .invalidArgument, code: .persistentStoreOperation,
            "cannot fetch \(request.entity.name): \(context.coordinator.withoutStores)", entity: request.entity.name)
    }
}

extension Coordinator {
    /// The reason why the coordinator does not have a store, with the remedy, as the end of an error message.
    var withoutStores: String {
        closing.hasClosed
            ? "the coordinator is closed; create a new coordinator or container with cst_coordinator_new or "
                + "cst_container_new (Coordinator, Container), or open the document again with cst_document_open"
            : "the coordinator does not have a store; add one with cst_coordinator_add_store (add_store, addStore), or "
                + "load the stores of the container with cst_container_load (load, loadStores)"
    }
}

// MARK: - With pending changes

/// The changed objects that a fetch evaluates in memory.
struct PendingChanges {
    var inserted: [ManagedObject] = []
    var updated: [ManagedObject] = []
    var deletedCount = 0
    /// The objects that parent contexts inserted, changed or deleted, by identity. Their rows in the store are ignored.
    var decidedByAncestors: [ObjectIdentifier: ManagedObject] = [:]

    var isEmpty: Bool { inserted.isEmpty && updated.isEmpty && deletedCount == 0 }
}

extension FetchExecutor {
    /// Whether the result of the request may depend on unsaved changes.
    func hasPendingChanges(for request: FetchRequest) -> Bool { !pendingChanges(for: request).isEmpty }

    func pendingChanges(for request: FetchRequest) -> PendingChanges {
        var pending = PendingChanges()
        if request.includesPendingChanges {
            pending.inserted = context.changeTracker.inserted.filter { $0.isInserted && request.concerns($0) }
            pending.updated = context.changeTracker.updated.filter { $0.isUpdated && request.concerns($0) }
            pending.deletedCount = context.changeTracker.deleted.count { $0.isDeleted && request.concerns($0) }
        }
        if context.parent != nil { addPendingChangesOfAncestors(to: &pending, for: request) }
        return pending
    }

    /// Fetches rows from the stores and merges them with unsaved changes.
    ///
    /// The merge removes changed and deleted objects, adds matching changed and inserted ones, and applies sort
    /// descriptors, limit and offset.
    func fetchMerged(_ request: FetchRequest, with pending: PendingChanges) throws -> [ManagedObject] {
        var found: [ManagedObject] = []
        let rows = FetchedRowMatcher(request)
        for store in try stores(for: request) {
            // Each changed or deleted object removes at most one row from the store's window.
            let spare = [request.offset, request.limit, pending.updated.count, pending.deletedCount].reduce(0) {
                $0.addingReportingOverflow($1).overflow ? .max : $0 + $1
            }
            let outcome = try run(
                request.storeFetch(.rows, windowed: false, limit: request.limit == 0 ? 0 : spare), store: store)
            let objects = try objects(for: outcome.batch, request, store: store)
            let unchanged = objects.filter { object in
                let isChanged = object.state.contains(.deleted) || object.isUpdated
                return !(isChanged && request.includesPendingChanges)
                    && (pending.decidedByAncestors.isEmpty
                        || pending.decidedByAncestors[ObjectIdentifier(object)] == nil)
            }
            rows.add(objects, outcome.batch, of: store, in: context, except: pending.decidedByAncestors)
            found += try filtered(unchanged, outcome.remainder, request, rows)
        }
        // An updated object whose row was deleted must not be returned.
        try context.faultLoader.loadRows(of: pending.updated)
        let updated = pending.updated.filter { $0.record != nil }
        let predicate = request.effectivePredicate
        for object in updated + pending.inserted where try matches(object, predicate, request) { found.append(object) }
        return try select(found, request, isSorted: false, rows)
    }

    /// Returns the objects that satisfy the part of the predicate that the store did not evaluate.
    private func filtered(
        _ objects: [ManagedObject], _ remainder: FetchRemainder?, _ request: FetchRequest, _ rows: FetchedRowMatcher
    ) throws -> [ManagedObject] {
        guard let predicate = remainder?.predicate else { return objects }
        return try objects.filter { object in
            guard let row = rows[object] else { return try matches(object, predicate, request) }
            return try predicate.evaluate(with: row, arithmetic: .nilPropagating)
        }
    }

    /// Whether an object satisfies a predicate.
    ///
    /// - Parameter refersToOtherObjects: Whether the predicate has key paths to other objects. For an object without
    ///   changes, these use saved values, as the store does.
    func matches(
        _ object: ManagedObject, _ predicate: Predicate?, _ request: FetchRequest, refersToOtherObjects: Bool = false
    ) throws -> Bool {
        guard let predicate else { return true }
        let evaluated: PropertyValue =
            refersToOtherObjects && !object.hasChanges
            ? .object(SavedState(object)) : request.includesPendingChanges ? .object(object) : SavedState.of(object)
        // Arithmetic on nil is nil, as in the stores that returned the other objects.
        return try predicate.evaluate(with: evaluated, arithmetic: .nilPropagating)
    }

    /// Sorts objects in memory if necessary, and applies offset and limit.
    private func select(
        _ objects: [ManagedObject], _ request: FetchRequest, isSorted: Bool, _ rows: FetchedRowMatcher
    ) throws -> [ManagedObject] {
        var chosen = objects
        if !isSorted, !request.sortDescriptors.isEmpty {
            chosen = try sorted(
                chosen, by: request.sortDescriptors, usesSaved: !request.includesPendingChanges, rows)
        }
        if request.offset > 0 { chosen = Array(chosen.dropFirst(request.offset)) }
        if request.limit > 0 { chosen = Array(chosen.prefix(request.limit)) }
        return chosen
    }

    private func sorted(
        _ objects: [ManagedObject], by descriptors: [SortDescriptor], usesSaved: Bool, _ rows: FetchedRowMatcher
    ) throws -> [ManagedObject] {
        let keyed = try objects.enumerated().map { place, object in
            (
                place: place, object: object, tiebreaker: SortTiebreaker(object),
                keys: try rows[object]?.sortKeys(descriptors)
                    ?? sortKeys(of: object, descriptors, usesSaved: usesSaved)
            )
        }
        return try keyed.sorted { a, b in
            let order = try descriptors.order(a.keys, b.keys)
            if order != 0 { return order < 0 }
            return a.tiebreaker == b.tiebreaker ? a.place < b.place : a.tiebreaker < b.tiebreaker
        }.map(\.object)
    }

    /// Returns the values by which an object is sorted.
    func sortKeys(
        of object: ManagedObject, _ descriptors: [SortDescriptor], usesSaved: Bool
    ) throws -> [PropertyValue] {
        try descriptors.map { descriptor in
            // The store sorts objects without changes by saved values, including those of related objects. The order in
            // memory must be the same, because limit and offset depend on it.
            let refersToOtherObjects = descriptor.path.single == nil && !object.hasChanges
            if !usesSaved, !refersToOtherObjects { return try object.value(forKeyPath: descriptor.keyPath) }
            let saved = refersToOtherObjects ? .object(SavedState(object)) : SavedState.of(object)
            return try KeyPathEvaluation.value(of: saved, atKeyPath: descriptor.keyPath).withOriginals
        }
    }
}

/// The options of a request for the objects that it returns.
struct PostFetchOptions {
    let entity: Entity
    let returnsObjectsAsFaults: Bool
    /// Whether registered objects are refreshed.
    let refreshes: Bool
    /// The key paths of the relationships to prefetch.
    let prefetched: [String]

    init(_ request: FetchRequest) {
        entity = request.entity
        returnsObjectsAsFaults = request.returnsObjectsAsFaults
        refreshes = request.shouldRefreshRefetchedObjects
        prefetched = request.relationshipKeyPathsForPrefetching
    }
}

extension Predicate {
    /// Whether the predicate has key paths to other objects.
    var refersToOtherObjects: Bool { keyPaths.contains { $0.single == nil } }
}

extension FetchRequest {
    /// Whether the object has an entity and a store that the request selects.
    func concerns(_ object: ManagedObject) -> Bool {
        guard includesSubentities ? object.entity.isKind(of: entity) : object.entity === entity else { return false }
        guard let affectedStores else { return true }
        let store = object.context?.futureStore(of: object)
        return affectedStores.contains { $0 === store }
    }

    /// Whether IDs are sufficient, because the request does not need rows.
    fileprivate var needsOnlyIDs: Bool {
        !includesPropertyValues && returnsObjectsAsFaults && !shouldRefreshRefetchedObjects
    }

    /// Returns the request in the form for a store.
    func storeFetch(_ result: StoreFetch.Result, windowed: Bool = true, limit spare: Int = 0) -> StoreFetch {
        StoreFetch(
            entity: entity, includesSubentities: includesSubentities, predicate: effectivePredicate,
            sortDescriptors: sortDescriptors, limit: windowed ? limit : spare, offset: windowed ? offset : 0,
            result: result, allowsRemainder: allowsSplit)
    }
}
