import CorestoneModel
import CorestoneValues

extension FaultLoader {
    /// Loads the row of a fault from the row cache, or together with the rows of its siblings from the store.
    ///
    /// In a nested context, the values of ancestor contexts have precedence over the row; see `loadNestedRow`.
    ///
    /// - Parameter slot: The property that the application reads. If set, a fault whose row is missing is handled as
    ///   inaccessible; if nil, a missing row is an error.
    /// - Throws: `.objectGone` if the row is missing and `slot` is nil, or if the row has another entity.
    ///   The errors of reading, of the fault policy and of `handleInaccessible`.
    func loadRow(of object: ManagedObject, reading slot: Int? = nil) throws {
        if context.parent != nil { return try loadNestedRow(of: object, reading: slot) }
        guard let store = object.store else { throw object.detachedError() }
        let root = object.entity.root
        try watchFault(of: object, in: store)
        try context.using(store) { try fill(object, root, store) }
        guard object.record != nil else {
            if let actual = context.storedEntity(of: object), actual !== object.entity {
                throw CoreError(
                    .objectGone, code: .managedObjectReferentialIntegrity,
                    "\(object.objectID.uri) refers to a row of \(actual.name), not of \(object.entity.name); fetch the "
                        + "object with cst_context_fetch (fetch), or use the ID "
                        + ObjectID(store: store, entity: actual, reference: object.primaryKey).uri,
                    entity: object.entity.name, objectURI: object.objectID.uri,
                    file: store.path)
            }
            guard let slot else { throw object.deleted(from: store) }
            return try handleInaccessible(object, reading: slot)
        }
    }

    private func fill(_ object: ManagedObject, _ root: Entity, _ store: Store) throws {
        let cache = context.rowCache(of: store)
        if cachedRow(root, object.primaryKey, store, cache, { object.setRecord($0) }) {
            return context.coordinator.count {
                $0.faults += 1
                $0.cacheHits += 1
            }
        }
        let state = cache.state
        var found = 0
        defer {
            context.coordinator.count {
                $0.faults += 1
                $0.cacheMisses += 1
                $0.faultedRows += found
            }
        }
        guard object.faultGroup == 0 else {
            let batch = try context.reader(of: store).rows(of: root, primaryKeys: siblings(of: object))
            found = batch.records.count
            return setRows(batch, root: root, store: store, asOf: state)
        }
        guard let (row, chunk) = try context.reader(of: store).row(of: root, primaryKey: object.primaryKey) else {
            return
        }
        found = 1
        cache.add(row, root: root, chunk: chunk, asOf: state)
        object.setRecord(row)
        withExtendedLifetime(chunk) {}
    }

    /// Calls `take` with the cached row of a key, unless the row is stale for the context.
    ///
    /// Returns whether `take` was called. A stale row is removed from the cache.
    @inline(__always)
    private func cachedRow(
        _ root: Entity, _ key: Int64, _ store: Store, _ cache: RowCache, _ take: (Record) -> Void = { _ in }
    ) -> Bool {
        let isFresh = cache.row(root, key) { row in
            if context.stalenessInterval >= 0, isStale(row) { return false }
            take(row)
            return true
        }
        guard isFresh == false else { return isFresh ?? false }
        // The next read must use a new transaction, not the state that was read before.
        context.reader(of: store).endRead()
        cache.remove(root, key)
        return false
    }

    private func isStale(_ row: Record) -> Bool {
        let age = monotonicNanoseconds() &- row.chunk.takeUnretainedValue().madeAt
        return Double(age) >= context.stalenessInterval * 1e9
    }

    /// Discards the row that was fetched with a fault, if the row has expired since, so that it is read again.
    func dropStaleRow(of object: ManagedObject) {
        guard object.state.contains(.fault), !object.hasChanges, let record = object.record, isStale(Record(record))
        else {
            return
        }
        object.turnIntoFault()
    }

    /// Applies the fault policy if loading the fault requires a query for it alone.
    func watchFault(of object: ManagedObject, in store: Store) throws {
        guard let faultWatch = context.faultState.watch else { return }
        let origin = faultWatch.takeOrigin(of: object)
        do {
            if try isSingleFault(object, store) { try applyFaultPolicy(object, along: origin) }
        } catch {
            if let origin { faultWatch.note(object, reachedBy: origin) }
            throw error
        }
    }

    /// Whether loading a fault requires a query for it alone.
    private func isSingleFault(_ object: ManagedObject, _ store: Store) throws -> Bool {
        let isCached = try context.using(store) {
            cachedRow(object.entity.root, object.primaryKey, store, context.rowCache(of: store))
        }
        return !isCached && !hasSiblings(object)
    }

    private func hasSiblings(_ object: ManagedObject) -> Bool {
        guard context.settings.faultBatchSize > 1, let group = context.faultState.groups.group(object.faultGroup) else {
            return false
        }
        let table = context.identityMap.table(store: object.store, root: group.root)
        return group.primaryKeys[group.position...].contains { key in
            guard key != object.primaryKey, let pointer = table.find(key) else { return false }
            return Unmanaged<ManagedObject>.fromOpaque(pointer).takeUnretainedValue().record == nil
        }
    }

    /// Adds rows to the row cache, and sets them in the registered faults.
    private func setRows(_ batch: RowBatch, root: Entity, store: Store, asOf state: UInt64) {
        context.rowCache(of: store).add(batch, root: root, asOf: state)
        fill(from: batch, root: root, store: store)
    }

    /// Sets the rows of registered faults.
    func fill(from batch: RowBatch, root: Entity, store: Store) {
        let table = context.identityMap.table(store: store, root: root)
        withExtendedLifetime(batch.chunks) {
            for record in batch.records {
                guard let pointer = table.find(record.primaryKey) else { continue }
                let object = Unmanaged<ManagedObject>.fromOpaque(pointer).takeUnretainedValue()
                if object.record == nil { object.setRecord(record) }
            }
        }
    }

    /// Returns the primary keys of the rows to load when a fault fires: its own, then those of its siblings.
    func siblings(of object: ManagedObject) -> [Int64] {
        guard var group = context.faultState.groups.group(object.faultGroup) else { return [object.primaryKey] }
        var keys = [object.primaryKey]
        let table = context.identityMap.table(store: object.store, root: group.root)
        while keys.count < context.settings.faultBatchSize, group.position < group.primaryKeys.count {
            let key = group.primaryKeys[group.position]
            group.position += 1
            guard key != object.primaryKey, let pointer = table.find(key) else { continue }
            if Unmanaged<ManagedObject>.fromOpaque(pointer).takeUnretainedValue().record == nil { keys.append(key) }
        }
        context.faultState.groups.update(group, object.faultGroup)
        return keys
    }

    /// Loads the rows of saved objects that are not loaded yet, together. Returns the objects whose rows do not exist.
    @discardableResult
    func loadRows(of objects: [ManagedObject]) throws -> [ManagedObject] {
        if objects.allUnretained({ $0.record != nil }) { return [] }
        let unloaded = objects.filter { $0.record == nil && !$0.state.contains(.inserted) }
        if unloaded.isEmpty { return [] }
        if context.parent == nil {
            try loadStoredRows(of: unloaded)
        } else {
            try loadNestedRows(of: unloaded)
        }
        return unloaded.filter { $0.record == nil }
    }

    func loadStoredRows(of unloaded: [ManagedObject]) throws {
        for (store, objects) in byStore(unloaded) {
            for group in Dictionary(grouping: objects, by: \.entity.rootIndex).values {
                try loadRows(of: group, root: group[0].entity.root, store: store)
            }
        }
    }

    private func loadRows(of group: [ManagedObject], root: Entity, store: Store) throws {
        try context.using(store) {
            let cache = context.rowCache(of: store)
            let missing = group.filter { object in
                !cachedRow(root, object.primaryKey, store, cache, { object.setRecord($0) })
            }
            var found = 0
            defer {
                context.coordinator.count {
                    $0.cacheHits += group.count - missing.count
                    $0.cacheMisses += missing.count
                    $0.faultedRows += found
                }
            }
            if missing.isEmpty { return }
            let state = cache.state
            let batch = try context.reader(of: store).rows(of: root, primaryKeys: missing.map(\.primaryKey))
            found = batch.records.count
            setRows(batch, root: root, store: store, asOf: state)
        }
    }

    /// Groups saved objects by store, because primary keys are unique only within a store. Unsaved objects are omitted.
    func byStore(_ objects: [ManagedObject]) -> [(key: Store, elements: [ManagedObject])] {
        if let store = objects.first?.store, objects.allUnretained({ $0.store === store }) { return [(store, objects)] }
        var groups = GroupedElements<Store, ManagedObject>()
        for object in objects { if let store = object.store { groups.add(object, to: store) } }
        return groups.list
    }
}
