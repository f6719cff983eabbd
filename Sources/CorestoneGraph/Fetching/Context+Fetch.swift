import CorestoneModel
import CorestonePredicate
import CorestoneValues

extension Context {
    public func fetch(_ request: FetchRequest) throws -> [ManagedObject] {
        try request.requireObjects()
        return try preparedFetch(request) { request in
            let pending = pendingChanges(for: request)
            let keys = try partKeys(request)
            let objects =
                try pending.isEmpty ? fetchStored(request, keys: keys) : fetchMerged(request, with: pending)
            try fulfil(FetchWishes(request), for: objects)
            return objects
        }
    }

    /// Does for fetched objects what a request wants beside them.
    func fulfil(_ wishes: FetchWishes, for objects: [ManagedObject]) throws {
        if !wishes.returnsObjectsAsFaults {
            try loadRows(of: objects)
            for object in objects where object.record != nil && object.state.remove(.fault) != nil {
                try object.sendAwakeFromFetch()
            }
        }
        if !wishes.prefetched.isEmpty { try prefetch(wishes.prefetched, of: objects, entity: wishes.entity) }
    }

    /// The IDs that a fetch would give; no object is made for rows that have none.
    public func fetchIDs(_ request: FetchRequest) throws -> [ObjectID] {
        try preparedFetch(request) { try foundIDs($0) }
    }

    private func foundIDs(_ request: FetchRequest) throws -> [ObjectID] {
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
                ids.append(ObjectID(store: store, entity: self.entity(at: entity), reference: key))
            }
        }
        return ids
    }

    /// How many objects a fetch would give, limit and offset included.
    public func count(_ request: FetchRequest) throws -> Int {
        try preparedFetch(request) { request in
            let pending = pendingChanges(for: request)
            if !pending.isEmpty { return try fetchMerged(request, with: pending).count }
            let stores = try stores(for: request)
            let isOne = stores.count == 1
            let counts = try stores.map { try run(request.storeFetch(.count, windowed: isOne), store: $0) }
            guard !counts.isEmpty, counts.allSatisfy({ $0.remainder == nil }) else {
                return try fetchStored(request).count
            }
            let whole = counts.reduce(0) { $0 + $1.count }
            if isOne { return whole }
            let rest = max(whole - request.offset, 0)
            return request.limit > 0 ? min(rest, request.limit) : rest
        }
    }

    /// Checks a request, processes pending changes, here and beneath, and runs `body`, which looks for what it asks for. `body`
    /// gets the request with what other fetches found in their place.
    func preparedFetch<Result>(
        _ request: FetchRequest, _ body: (FetchRequest) throws -> Result
    ) throws -> Result {
        try checkQueue()
        try request.resolve(in: coordinator.model)
        guard request.limit >= 0, request.offset >= 0 else {
            let (key, number) = request.limit < 0 ? ("limit", request.limit) : ("offset", request.offset)
            throw CoreError(
                .invalidArgument,
                "a fetch of \(request.entity.name) has limit \(request.limit) and offset \(request.offset), but both must be 0 or more",
                entity: request.entity.name, key: key, value: .int(Int64(number)))
        }
        try requireOpen(request.affectedStores)
        takeMailInPassing()
        if request.includesPendingChanges {
            try processPendingChanges(appliesDeleteRules: propagatesDeletesAtEndOfEvent)
        }
        return try withAncestors {
            try parent?.processPendingChangesBeneath()
            return try body(try withFetchesDone(request))
        }
    }
}

// MARK: - From the store

extension Context {
    /// The stores that may have what a request asks for.
    func stores(for request: FetchRequest) throws -> [Store] {
        let stores = try coordinator.stores(having: request.entity, orHeirs: request.includesSubentities)
            .filter(request.affects)
        guard let generation = try generationToRead() else { return stores }
        return stores.filter(generation.knows)
    }

    /// Runs a fetch in one store.
    func run(_ fetch: StoreFetch, store: Store) throws -> StoreFetchOutcome {
        if let ahead = faultLoader.ahead, ahead.answers(fetch, in: store) { return take(ahead, store, fetch.entity) }
        return try reading(store) { reader in
            let cache = rowCache(of: store)
            let state = cache.state
            let start = monotonicNanoseconds()
            let outcome = try reader.fetch(fetch)
            let duration = monotonicNanoseconds() - start
            coordinator.count {
                $0.fetched(outcome.batch.records.count + outcome.identifiers.count, in: duration)
            }
            if !outcome.batch.records.isEmpty, !outcome.isPartial, !store.hasRowsInMemory {
                cache.add(outcome.batch, root: fetch.entity.root, asOf: state)
            }
            return outcome
        }
    }

    private func take(_ ahead: FetchAhead, _ store: Store, _ entity: Entity) -> StoreFetchOutcome {
        self.faultLoader.ahead = nil
        let outcome = ahead.outcome
        coordinator.count {
            $0.fetched(outcome.batch.records.count + outcome.identifiers.count, in: ahead.duration)
        }
        if !outcome.batch.records.isEmpty, !store.hasRowsInMemory {
            rowCache(of: store).add(outcome.batch, root: entity.root, asOf: ahead.state)
        }
        return outcome
    }

    /// - Parameter keys: of the properties whose values will do; nil for all.
    func fetchStored(_ request: FetchRequest, keys: Set<UInt32>? = nil) throws -> [ManagedObject] {
        let stores = try stores(for: request)
        // A generation leaves out stores that came after it, and a request those that it does not affect.
        if stores.isEmpty && !coordinator.stores.isEmpty { return [] }
        guard !stores.isEmpty else { throw noStore(request) }
        if request.wantsNoRows, let faults = try fetchFaults(request, stores) { return faults }
        if stores.count == 1, let store = stores.first {
            var fetch = request.storeFetch(.rows)
            fetch.keys = keys
            fetch.allowsFaults = request.returnsObjectsAsFaults && !request.shouldRefreshRefetchedObjects
            let outcome = try run(fetch, store: store)
            if !outcome.identifiers.isEmpty { return faults(for: outcome, request, store: store) }
            if let keys, outcome.isPartial { return objects(forParts: outcome.batch, keys: keys, store: store) }
            let found = try objects(for: outcome.batch, request, store: store)
            guard let remainder = outcome.remainder else { return found }
            let rows = FoundRows(request, remainder, isSorted: !remainder.isUnordered)
            rows.add(found, outcome.batch, of: store, in: self)
            return try select(
                filtered(found, remainder, request, rows), request, isSorted: !remainder.isUnordered, rows)
        }
        // Several stores: each gives its candidates, order and window are those of the whole.
        var found: [ManagedObject] = []
        let rows = FoundRows(request)
        for store in stores {
            let outcome = try run(request.storeFetch(.rows, windowed: false), store: store)
            let objects = try objects(for: outcome.batch, request, store: store)
            rows.add(objects, outcome.batch, of: store, in: self)
            found += try filtered(objects, outcome.remainder, request, rows)
        }
        return try select(found, request, isSorted: false, rows)
    }

    /// Objects for the keys alone; nil when memory has to look at rows.
    private func fetchFaults(_ request: FetchRequest, _ stores: [Store]) throws -> [ManagedObject]? {
        guard stores.count == 1, let store = stores.first else { return nil }
        let outcome = try run(request.storeFetch(.identifiers), store: store)
        if outcome.remainder != nil { return nil }
        let objects = objects(for: outcome.identifiers, store)
        faultLoader.group(objects.filter { $0.record == nil }, root: request.entity.root, store: store)
        return objects
    }

    private func objects(for keys: [(primaryKey: Int64, entity: UInt32)], _ store: Store) -> [ManagedObject] {
        tellingTogether(store.hearsRegistrations) {
            keys.map { key, entity in object(store: store, entity: self.entity(at: entity), primaryKey: key) }
        }
    }

    /// The objects of rows of which not all came, in the order of their keys.
    private func faults(for outcome: StoreFetchOutcome, _ request: FetchRequest, store: Store) -> [ManagedObject] {
        let known = objects(for: outcome.batch, entity: request.entity, store: store)
        return withExtendedLifetime(known) {
            let objects = objects(for: outcome.identifiers, store)
            faultLoader.group(objects.filter { $0.record == nil }, root: request.entity.root, store: store)
            return objects
        }
    }

    /// The one object of each row, as a request wants them.
    private func objects(for batch: RowBatch, _ request: FetchRequest, store: Store) throws -> [ManagedObject] {
        let found = objects(for: batch, entity: request.entity, store: store)
        if request.shouldRefreshRefetchedObjects { try refresh(found, from: batch) }
        return found
    }

    /// Gives the objects of a batch, but those with changes, the rows that the store has now.
    func refreshRefetched(_ objects: [ManagedObject], of entity: Entity) throws {
        for (store, known) in byStore(objects.filter { !$0.hasChanges && $0.record != nil }) {
            let batch = try rows(of: entity.root, known.map(\.primaryKey), in: store)
            try refresh(self.objects(for: batch, entity: entity.root, store: store), from: batch)
        }
    }

    /// Gives objects without changes the rows that a fetch found.
    private func refresh(_ objects: [ManagedObject], from batch: RowBatch) throws {
        try withExtendedLifetime(batch.chunks) {
            for (object, record) in zip(objects, batch.records) where !object.isFault && !object.hasChanges {
                if parent != nil {
                    try refresh(object, mergeChanges: true)
                } else if object.version != record.version {
                    try object.refreshingValues {
                        object.setRecord(record)
                        try stand(object)
                    }
                    try object.sendAwake(fromSnapshotEvents: .refresh)
                }
            }
        }
        try throwHookFailure()
    }

    /// The one object of each row, new ones as faults over their rows.
    func objects(for batch: RowBatch, entity requested: Entity, store: Store) -> [ManagedObject] {
        let objects = storedObjects(for: batch, entity: requested, store: store)
        if parent != nil { followAncestors(objects) }
        return objects
    }

    private func storedObjects(for batch: RowBatch, entity requested: Entity, store: Store) -> [ManagedObject] {
        // An empty array would have its count written to where those of all threads lie.
        if batch.records.isEmpty { return [] }
        let place = identityMap.index(store: store, root: requested.root)
        let table = identityMap.tables[place].table
        table.reserve(batch.records.count)
        // The row cache may let go of the chunks meanwhile, for another thread.
        defer { withExtendedLifetime(batch.chunks) {} }
        if store.hearsRegistrations { holdNotices() }
        defer { if store.hearsRegistrations { sendNotices() } }
        let objects = [ManagedObject](unsafeUninitializedCapacity: batch.records.count) { buffer, count in
            var entity = requested
            for record in batch.records {
                let object: ManagedObject
                let index = record.header.pointee.entity
                if let known = registered(in: table, record.primaryKey, entityIndex: index) {
                    object = known
                    // A realised object keeps the state it was read at; a fault takes the newest row.
                    if object.state.contains(.fault) { object.renew(record) }
                } else {
                    if index != entity.index { entity = self.entity(at: index) }
                    object = ManagedObject(
                        entity: entity, context: self, store: store, primaryKey: record.primaryKey, state: [.fault])
                    object.setRecord(record)
                    table.set(record.primaryKey, Unmanaged.passUnretained(object).toOpaque())
                    if store.hearsRegistrations { note(.registered, object, in: store) }
                }
                (buffer.baseAddress! + count).initialize(to: object)
                count += 1
            }
        }
        if identityMap.retained != nil { retainAll(objects) }
        return objects
    }

    func noStore(_ request: FetchRequest) -> CoreError {
        CoreError(
            .invalidArgument, code: .persistentStoreOperation,
            "cannot fetch \(request.entity.name): the coordinator has no store; add one first",
            entity: request.entity.name)
    }
}

// MARK: - Over pending changes

/// The changed objects that a fetch has to look at itself.
struct PendingChanges {
    var inserted: [ManagedObject] = []
    var updated: [ManagedObject] = []
    var deletedCount = 0
    /// Those of them that contexts beneath inserted, changed or deleted, by identity: the store's row does not count.
    var decidedBeneath: [ObjectIdentifier: ManagedObject] = [:]

    var isEmpty: Bool { inserted.isEmpty && updated.isEmpty && deletedCount == 0 }
}

extension Context {
    /// Whether the request's answer depends on changes that were not saved.
    func hasPendingChanges(for request: FetchRequest) -> Bool { !pendingChanges(for: request).isEmpty }

    func pendingChanges(for request: FetchRequest) -> PendingChanges {
        var pending = PendingChanges()
        if request.includesPendingChanges {
            pending.inserted = changeTracker.inserted.filter { $0.isInserted && request.concerns($0) }
            pending.updated = changeTracker.updated.filter { $0.isUpdated && request.concerns($0) }
            pending.deletedCount = changeTracker.deleted.count { $0.isDeleted && request.concerns($0) }
        }
        if parent != nil { addPendingChangesBeneath(to: &pending, for: request) }
        return pending
    }

    /// What the store has, less what was changed or deleted here, plus what matches here; then order and window, as if all
    /// were saved.
    private func fetchMerged(_ request: FetchRequest, with pending: PendingChanges) throws -> [ManagedObject] {
        var found: [ManagedObject] = []
        let rows = FoundRows(request)
        for store in try stores(for: request) {
            // Each changed or deleted object takes at most one place away from the store's window.
            let spare = [request.offset, request.limit, pending.updated.count, pending.deletedCount].reduce(0) {
                $0.addingReportingOverflow($1).overflow ? .max : $0 + $1
            }
            let outcome = try run(
                request.storeFetch(.rows, windowed: false, limit: request.limit == 0 ? 0 : spare), store: store)
            let objects = try objects(for: outcome.batch, request, store: store)
            let unchanged = objects.filter { object in
                let isChanged = object.state.contains(.deleted) || object.isUpdated
                return !(isChanged && request.includesPendingChanges)
                    && (pending.decidedBeneath.isEmpty || pending.decidedBeneath[ObjectIdentifier(object)] == nil)
            }
            rows.add(objects, outcome.batch, of: store, in: self, except: pending.decidedBeneath)
            found += try filtered(unchanged, outcome.remainder, request, rows)
        }
        // A ghost is among the updated objects once it was let go of, but not among those that can be found.
        try loadRows(of: pending.updated)
        let updated = pending.updated.filter { $0.record != nil }
        let predicate = request.effectivePredicate
        for object in updated + pending.inserted where try matches(object, predicate, request) { found.append(object) }
        return try select(found, request, isSorted: false, rows)
    }

    /// The objects that satisfy what the store left of the predicate.
    private func filtered(
        _ objects: [ManagedObject], _ remainder: FetchRemainder?, _ request: FetchRequest, _ rows: FoundRows
    ) throws -> [ManagedObject] {
        guard let predicate = remainder?.predicate else { return objects }
        return try objects.filter { object in
            guard let row = rows[object] else { return try matches(object, predicate, request) }
            return try predicate.evaluate(with: row, arithmetic: .nilPropagating)
        }
    }

    /// - Parameter leadsOn: whether the predicate looks at other objects: of one without changes the store decides by what is saved,
    ///   also at the end of a key path.
    func matches(
        _ object: ManagedObject, _ predicate: Predicate?, _ request: FetchRequest, leadsOn: Bool = false
    ) throws -> Bool {
        guard let predicate else { return true }
        let judged: PropertyValue =
            leadsOn && !object.hasChanges
            ? .object(SavedState(object)) : request.includesPendingChanges ? .object(object) : SavedState.of(object)
        // Arithmetic on nil is nil, as in the stores whose rows these objects stand beside.
        return try predicate.evaluate(with: judged, arithmetic: .nilPropagating)
    }

    /// Sorts objects in memory, where they are not in order yet, and cuts the window.
    private func select(
        _ objects: [ManagedObject], _ request: FetchRequest, isSorted: Bool, _ rows: FoundRows
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
        _ objects: [ManagedObject], by descriptors: [SortDescriptor], usesSaved: Bool, _ rows: FoundRows
    ) throws -> [ManagedObject] {
        let keyed = try objects.enumerated().map { place, object in
            (
                place: place, object: object, tie: FetchTie(object),
                keys: try rows[object]?.sortKeys(descriptors)
                    ?? sortKeys(of: object, descriptors, usesSaved: usesSaved)
            )
        }
        return try keyed.sorted { a, b in
            let order = try descriptors.order(a.keys, b.keys)
            if order != 0 { return order < 0 }
            return a.tie == b.tie ? a.place < b.place : a.tie < b.tie
        }.map(\.object)
    }

    /// The values by which a fetch sorts an object.
    func sortKeys(
        of object: ManagedObject, _ descriptors: [SortDescriptor], usesSaved: Bool
    ) throws -> [PropertyValue] {
        try descriptors.map { descriptor in
            // The store has sorted objects without changes by what is saved, also at the end of a key path: a window of them
            // would not fit into an order by anything else.
            let leadsOn = descriptor.path.single == nil && !object.hasChanges
            if !usesSaved, !leadsOn { return try object.value(forKeyPath: descriptor.keyPath) }
            let saved = leadsOn ? .object(SavedState(object)) : SavedState.of(object)
            return try KeyPathEvaluation.value(of: saved, atKeyPath: descriptor.keyPath).withOriginals
        }
    }
}

/// What a request wants done for the objects that it finds.
struct FetchWishes {
    let entity: Entity
    let returnsObjectsAsFaults: Bool
    /// Whether objects that are known get the rows that the store has now.
    let refreshes: Bool
    /// Key paths of relationships.
    let prefetched: [String]

    init(_ request: FetchRequest) {
        entity = request.entity
        returnsObjectsAsFaults = request.returnsObjectsAsFaults
        refreshes = request.shouldRefreshRefetchedObjects
        prefetched = request.relationshipKeyPathsForPrefetching
    }
}

extension Predicate {
    /// Whether it looks at more than one object.
    var leadsOn: Bool { keyPaths.contains { $0.single == nil } }
}

extension FetchRequest {
    /// Whether objects of its entity, in its stores, are asked for.
    func concerns(_ object: ManagedObject) -> Bool {
        guard includesSubentities ? object.entity.isKind(of: entity) : object.entity === entity else { return false }
        guard let affectedStores else { return true }
        let store = object.context?.futureStore(of: object)
        return affectedStores.contains { $0 === store }
    }

    /// Whether IDs will do, as far as what else it asks for goes.
    fileprivate var wantsNoRows: Bool {
        !includesPropertyValues && returnsObjectsAsFaults && !shouldRefreshRefetchedObjects
    }

    /// The request as a store sees it.
    func storeFetch(_ result: StoreFetch.Result, windowed: Bool = true, limit spare: Int = 0) -> StoreFetch {
        StoreFetch(
            entity: entity, includesSubentities: includesSubentities, predicate: effectivePredicate,
            sortDescriptors: sortDescriptors, limit: windowed ? limit : spare, offset: windowed ? offset : 0,
            result: result, allowsRemainder: allowsSplit)
    }
}
