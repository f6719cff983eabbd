import CorestoneModel
import CorestoneValues

/// The replacement of the values of objects by the newest values of the store, or of the parent context.
struct ObjectRefresh {
    let context: Context

    /// Refreshes an object like `Context.refresh`, without its checks.
    func refreshNow(_ object: ManagedObject, mergeChanges: Bool) throws {
        if context.parent != nil { return try refreshNested(object, mergeChanges: mergeChanges) }
        guard let store = object.store, !object.state.contains(.inserted) else { return }
        guard mergeChanges, object.hasChanges, !object.state.contains(.inaccessible) else {
            forgetRows(of: [object], in: store)
            if mergeChanges, object.remainsLoadedInRefresh {
                try rebaseOnNewestRows([object], in: store)
                return try context.throwHookFailure()
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
            if !mergeChanges { context.forgetUndo(of: object) }
            noteRefreshedIfObserved(object)
            return try context.throwHookFailure()
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
                "\(object.entity.name) \(object.objectID.uri) was deleted from the store; call cst_context_rollback "
                    + "(rollback), or delete the object in this context too with cst_context_delete (delete)",
                entity: object.entity.name, objectURI: object.objectID.uri,
                file: store.path)
        }
        try discardDependentValues(object)
        try object.sendAwake(fromSnapshotEvents: .refresh)
    }

    /// Refreshes observed or changed objects.
    ///
    /// These objects keep their changes. Objects without changes whose rows were deleted become faults.
    func refreshObserved(_ objects: [ManagedObject]) throws {
        for (store, objects) in context.faultLoader.byStore(objects) {
            forgetRows(of: objects, in: store)
            try rebaseOnNewestRows(objects, in: store)
        }
    }

    /// Replaces the rows of changed or observed objects with the newest rows.
    ///
    /// The rows of an entity tree are read together. Observers are notified when all objects have their rows.
    func rebaseOnNewestRows(_ objects: [ManagedObject], in store: Store) throws {
        if objects.isEmpty { return }
        var groups = GroupedElements<Entity, ManagedObject>()
        for object in objects { groups.add(object, to: object.entity.root) }
        try context.together("refresh objects") {
            var objectsMissingRows: [ManagedObject] = []
            for (root, group) in groups.list { objectsMissingRows += try rebaseOnNewestRows(group, root, in: store) }
            // Last, because observed key paths of other objects may contain these objects.
            for object in objectsMissingRows {
                object.turnIntoFault()
                noteRefreshedIfObserved(object)
            }
        }
    }

    /// Replaces the rows of objects with the newest rows.
    ///
    /// - Returns: The objects without changes whose rows were deleted.
    func rebaseOnNewestRows(
        _ group: [ManagedObject], _ root: Entity, in store: Store
    ) throws -> [ManagedObject] {
        let fresh = try rows(of: root, group.map(\.primaryKey), in: store)
        try withExtendedLifetime(fresh.chunks) {
            // The values of a fault without a row were never read, so there is no change to report.
            var filledFaults = Set<Int64>()
            for record in fresh.records {
                guard
                    let object = context.identityMap.registered(
                        store: store, root: root, primaryKey: record.primaryKey),
                    object.record == nil, !object.hasChanges
                else { continue }
                object.setRecord(record)
                filledFaults.insert(record.primaryKey)
            }
            for record in fresh.records where !filledFaults.contains(record.primaryKey) {
                guard
                    let object = context.identityMap.registered(store: store, root: root, primaryKey: record.primaryKey)
                else { continue }
                try object.refreshingValues {
                    object.setRecord(record)
                    try discardDependentValues(object)
                }
                try object.sendAwake(fromSnapshotEvents: .refresh)
            }
        }
        if group.count > 1 {
            for object in group where object.state.contains(.updated) {
                try object.unlessRowIsMissing { try context.inverses.updateInverses(of: object) }
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
        try context.inverses.updateInverses(of: object)
        // The reloaded lists of a deleted object may contain members to which the delete rules were not applied.
        if object.isDeleted { context.changeTracker.noteReconnected(object) }
        noteRefreshedIfObserved(object)
    }

    /// Records a refreshed object if the context has observers of events.
    ///
    /// Otherwise it is not recorded, because the list of refreshed objects retains its elements.
    func noteRefreshedIfObserved(_ object: ManagedObject) {
        if context.hasEventObservers { context.changeTracker.noteRefreshed(object) }
    }

    /// Discards cached rows of objects, so that the next access reads the store's newest state.
    func forgetRows(of objects: [ManagedObject], in store: Store) {
        // This order guarantees that a read in between returns the newest state.
        context.reader(of: store).endRead()
        for object in objects { context.rowCache(of: store).remove(object.entity.root, object.primaryKey) }
    }

    /// Reads rows from the store and adds them to the row cache.
    func rows(of root: Entity, _ keys: [Int64], in store: Store) throws -> RowBatch {
        try context.using(store) {
            let state = context.rowCache(of: store).state
            let batch = try context.reader(of: store).rows(of: root, primaryKeys: keys)
            context.rowCache(of: store).add(batch, root: root, asOf: state)
            return batch
        }
    }

    /// Calls `body` with the newest row of a saved object, or with nil if the row was deleted.
    func withNewestRow<Result>(
        of object: ManagedObject, in store: Store, _ body: (Record?) throws -> Result
    ) throws -> Result {
        try withNewestRow(of: object.objectID, in: store, body)
    }

    func withNewestRow<Result>(of id: ObjectID, in store: Store, _ body: (Record?) throws -> Result) throws -> Result {
        try context.requireReadable(store)
        context.reader(of: store).endRead()
        context.rowCache(of: store).remove(id.entity.root, id.reference)
        let fresh = try rows(of: id.entity.root, [id.reference], in: store)
        return try withExtendedLifetime(fresh) { try body(fresh.records.first) }
    }

    /// Refreshes an object from the ancestor contexts; see `refresh`.
    func refreshNested(_ object: ManagedObject, mergeChanges: Bool) throws {
        if object.state.contains(.inserted) { return }
        if mergeChanges, !object.state.isDisjoint(with: [.updated, .deleted, .observed]),
            object.hasChanges || object.record != nil
        {
            return try object.refreshingValues { try rebaseOnNewestNestedRow(object) }
        }
        if object.state.contains(.observed) {
            try object.refreshingValues {
                try object.becomeFault()
                try context.faultLoader.loadNestedRows(of: [object])
            }
        } else {
            try object.becomeFault()
        }
        noteRefreshedIfObserved(object)
    }

    private func rebaseOnNewestNestedRow(_ object: ManagedObject) throws {
        let wasFault = object.isFault
        object.dropRecord()
        // If the values cannot be read now, the object remains a fault.
        object.state.insert(.fault)
        try context.faultLoader.loadNestedRows(of: [object])
        if object.record != nil { return try discardDependentValues(object) }
        if object.hasChanges { throw object.unknownInAncestorsError() }
        // The object is observed and was deleted in an ancestor or the store, so it becomes a fault.
        if !wasFault { object.state.remove(.fault) }
        object.turnIntoFault()
        noteRefreshedIfObserved(object)
    }
}

extension ManagedObject {
    /// Turns the object into a fault, and discards its changes on both sides of relationships.
    func becomeFault() throws {
        if hasChanges, !state.contains(.inaccessible) { try revertRelationships() }
        turnIntoFault()
    }

    /// Whether a refresh that keeps changes replaces only the row; otherwise the object becomes a fault.
    var remainsLoadedInRefresh: Bool {
        !state.isDisjoint(with: [.inserted, .updated, .deleted, .observed]) && !state.contains(.inaccessible)
    }
}
