import CorestoneModel
import CorestoneValues

extension Context {
    /// Replaces an object's values with the newest values of the store, or of the parent in a nested context.
    ///
    /// If `mergeChanges` is true, the object keeps its unsaved changes. Otherwise it discards them, on both sides of
    /// its relationships, releases its to-one targets and becomes a fault. An object without changes becomes a fault in
    /// both cases, unless it is observed. Observers are notified of values that differ.
    ///
    /// An object that was never saved does not change, because the store does not have values for it.
    ///
    /// - Throws: Code 133000 if the object has changes to keep but its row was deleted, or if it left the context;
    ///   `.invalidArgument` within a hook; the error of a hook.
    public func refresh(_ object: ManagedObject, mergeChanges: Bool) throws {
        try checkQueue()
        try refuseInHook("refresh \(object.entity.name) \(object.objectID.uri)")
        if object.state.contains(.detached) { throw object.detachedError() }
        if !mergeChanges, mergesDeletion(of: object) { return }
        if object.isDeleted, isDeletedElsewhere(object) {
            if !mergeChanges { return }
            throw object.store.map { object.deleted(from: $0) } ?? object.detachedError()
        }
        if !mergeChanges, object.hasChanges { return try unrecorded { try refreshNow(object, mergeChanges: false) } }
        try refreshNow(object, mergeChanges: mergeChanges)
    }

    private func refreshNow(_ object: ManagedObject, mergeChanges: Bool) throws {
        if parent != nil { return try refreshNested(object, mergeChanges: mergeChanges) }
        guard let store = object.store, !object.state.contains(.inserted) else { return }
        guard mergeChanges, object.hasChanges, !object.state.contains(.inaccessible) else {
            forgetRows(of: [object], in: store)
            if mergeChanges, object.staysInRefresh {
                try rebaseOnNewestRows([object], in: store)
                return try throwHookFailure()
            }
            if object.state.contains(.observed) {
                // Observers read the values, so the newest row is read now. If it is missing, the object stays a fault.
                try object.refreshingValues {
                    try object.becomeFault()
                    try withNewestRow(of: object, in: store) { if let row = $0 { object.setRecord(row) } }
                }
            } else {
                try object.becomeFault()
            }
            if !mergeChanges { forgetUndo(of: object) }
            noteRefreshedIfObserved(object)
            return try throwHookFailure()
        }
        try object.refreshingValues { try rebaseOnNewestRow(object, in: store) }
    }

    /// Sets the newest row as the base of the object's unsaved changes.
    private func rebaseOnNewestRow(_ object: ManagedObject, in store: Store) throws {
        let isThere = try withNewestRow(of: object, in: store) { record in
            guard let record else { return false }
            object.setRecord(record)
            return true
        }
        guard isThere else {
            throw CoreError(
                .objectGone, code: .managedObjectReferentialIntegrity,
                "\(object.entity.name) \(object.objectID.uri) was deleted from the store; roll back, or delete it in this context too",
                entity: object.entity.name, objectURI: object.objectID.uri, file: store.path)
        }
        try discardDependentValues(object)
        try object.sendAwake(fromSnapshotEvents: .refresh)
    }

    /// Refreshes all objects and keeps unsaved changes.
    ///
    /// Objects without changes become faults, unless they are observed. All other saved objects get the newest rows,
    /// which are read with one query per entity tree of a store. If the row of a changed object was deleted, the
    /// object's save reports a conflict.
    public func refreshAll() throws {
        try checkQueue()
        try refuseInHook("refresh all objects")
        if parent != nil {
            for object in everyObject { try refreshNested(object, mergeChanges: true) }
            try mergeAllReinserted()
            return try throwHookFailure()
        }
        forgetHostRows()
        for (store, objects) in faultLoader.byStore(everyObject.filter { !$0.state.contains(.inserted) }) {
            forgetRows(of: objects, in: store)
            let kept = objects.filter(\.staysInRefresh)
            for object in objects where !object.staysInRefresh {
                object.turnIntoFault()
                noteRefreshedIfObserved(object)
            }
            try rebaseOnNewestRows(kept, in: store)
        }
        try mergeAllReinserted()
        try throwHookFailure()
    }

    /// Refreshes observed or changed objects.
    ///
    /// They keep their changes. Objects without changes whose rows were deleted become faults.
    func refreshObserved(_ objects: [ManagedObject]) throws {
        for (store, objects) in faultLoader.byStore(objects) {
            forgetRows(of: objects, in: store)
            try rebaseOnNewestRows(objects, in: store)
        }
    }

    /// Sets the newest rows of changed or observed objects, which are read with one query per entity tree.
    ///
    /// Observers are notified when all objects have their rows.
    private func rebaseOnNewestRows(_ objects: [ManagedObject], in store: Store) throws {
        if objects.isEmpty { return }
        var groups = GroupedElements<Entity, ManagedObject>()
        for object in objects { groups.add(object, to: object.entity.root) }
        try together {
            var objectsMissingRows: [ManagedObject] = []
            for (root, group) in groups.list { objectsMissingRows += try rebaseOnNewestRows(group, root, in: store) }
            // Last, because observed key paths of other objects may contain them.
            for object in objectsMissingRows {
                object.turnIntoFault()
                noteRefreshedIfObserved(object)
            }
        }
    }

    /// Replaces the rows of objects with the newest rows.
    ///
    /// - Returns: The objects without changes whose rows were deleted.
    private func rebaseOnNewestRows(
        _ group: [ManagedObject], _ root: Entity, in store: Store
    ) throws -> [ManagedObject] {
        let fresh = try rows(of: root, group.map(\.primaryKey), in: store)
        try withExtendedLifetime(fresh.chunks) {
            // The values of a fault without a row were never read, so there is no change to report.
            var unseen = Set<Int64>()
            for record in fresh.records {
                guard let object = identityMap.registered(store: store, root: root, primaryKey: record.primaryKey),
                    object.record == nil, !object.hasChanges
                else { continue }
                object.setRecord(record)
                unseen.insert(record.primaryKey)
            }
            for record in fresh.records where !unseen.contains(record.primaryKey) {
                guard let object = identityMap.registered(store: store, root: root, primaryKey: record.primaryKey) else { continue }
                try object.refreshingValues {
                    object.setRecord(record)
                    try discardDependentValues(object)
                }
                try object.sendAwake(fromSnapshotEvents: .refresh)
            }
        }
        if group.count > 1 {
            for object in group where object.state.contains(.updated) {
                try object.unlessRowIsMissing { try inverses.updateInverses(of: object) }
            }
        }
        if fresh.records.count == group.count { return [] }
        let found = Set(fresh.records.map(\.primaryKey))
        return group.filter { !$0.hasChanges && !found.contains($0.primaryKey) }
    }

    /// Discards the values that depended on the former row of an object, after the row was replaced.
    func discardDependentValues(_ object: ManagedObject) throws {
        object.forgetFiles()
        object.forgetFetched()
        object.forgetTransformedValues()
        object.dropToOneTargets()
        object.state.remove(.fault)
        for relationship in object.toManyRelationships { relationship?.reload() }
        try inverses.updateInverses(of: object)
        // Its reloaded lists may contain members to which the delete rules were not applied.
        if object.isDeleted { changeTracker.reconnectedDeletions.append(object) }
        noteRefreshedIfObserved(object)
    }

    /// Records a refreshed object, but only for observers, because the record retains the object.
    func noteRefreshedIfObserved(_ object: ManagedObject) { if hasEventObservers { changeTracker.noteRefreshed(object) } }

    /// Discards cached rows of objects, so that the next access reads the store's newest state.
    private func forgetRows(of objects: [ManagedObject], in store: Store) {
        // This order guarantees that a read in between returns the newest state.
        reader(of: store).endRead()
        for object in objects { rowCache(of: store).remove(object.entity.root, object.primaryKey) }
    }

    /// Reads rows from the store and adds them to the row cache.
    func rows(of root: Entity, _ keys: [Int64], in store: Store) throws -> RowBatch {
        try using(store) {
            let state = rowCache(of: store).state
            let batch = try reader(of: store).rows(of: root, primaryKeys: keys)
            rowCache(of: store).add(batch, root: root, asOf: state)
            return batch
        }
    }

    /// Calls `body` with the newest row of a saved object; nil if the row was deleted.
    func withNewestRow<Result>(
        of object: ManagedObject, in store: Store, _ body: (Record?) throws -> Result
    ) throws -> Result {
        try withNewestRow(of: object.objectID, in: store, body)
    }

    func withNewestRow<Result>(of id: ObjectID, in store: Store, _ body: (Record?) throws -> Result) throws -> Result {
        try requireReadable(store)
        reader(of: store).endRead()
        rowCache(of: store).remove(id.entity.root, id.reference)
        let fresh = try rows(of: id.entity.root, [id.reference], in: store)
        return try withExtendedLifetime(fresh) { try body(fresh.records.first) }
    }
}

extension ManagedObject {
    /// Turns the object into a fault, and discards its changes on both sides of relationships.
    func becomeFault() throws {
        if hasChanges, !state.contains(.inaccessible) { try revertRelationships() }
        turnIntoFault()
    }

    /// Whether a refresh that keeps changes replaces only the row; otherwise the object becomes a fault.
    fileprivate var staysInRefresh: Bool {
        !state.isDisjoint(with: [.inserted, .updated, .deleted, .observed]) && !state.contains(.inaccessible)
    }
}
