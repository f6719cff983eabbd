import CorestoneModel
import CorestoneValues

extension Context {
    /// Reads the store's newest state. With `mergeChanges` the object keeps its own changes on top, else it drops them, on both
    /// sides of its relationships, lets go of the objects that it led to, and becomes a fault. One without changes becomes a
    /// fault either way, unless it is observed. Observers hear of the values that differ.
    ///
    /// An object that was never saved stays as it is: the store has nothing to take the place of its values.
    /// - Throws: code 133000 when the object has changes to keep but its row is gone.
    public func refresh(_ object: ManagedObject, mergeChanges: Bool) throws {
        try checkQueue()
        try refuseInHook("refresh \(object.entity.name) \(object.objectID.uri)")
        if object.state.contains(.gone) { throw object.gone() }
        if !mergeChanges, mergesDeletion(of: object) { return }
        if object.isDeleted, isDeletedElsewhere(object) {
            if !mergeChanges { return }
            throw object.store.map { object.deleted(from: $0) } ?? object.gone()
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
                try standOnNewestRows([object], in: store)
                return try throwHookFailure()
            }
            if object.state.contains(.observed) {
                // Observers ask for the values, and a row that is gone is no change of them.
                try object.refreshingValues {
                    try object.becomeFault()
                    try withNewestRow(of: object, in: store) { if let row = $0 { object.setRecord(row) } }
                }
            } else {
                try object.becomeFault()
            }
            if !mergeChanges { forgetUndo(of: object) }
            tellRefreshed(object)
            return try throwHookFailure()
        }
        try object.refreshingValues { try standOnNewestRow(object, in: store) }
    }

    /// The newest row comes under the object's changes; their base is that row from now on.
    private func standOnNewestRow(_ object: ManagedObject, in store: Store) throws {
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
        try stand(object)
        try object.sendAwake(fromSnapshotEvents: .refresh)
    }

    /// Refreshes every object, keeping changes: those without become faults, unless they are observed; the others stand on the
    /// newest rows, which one query for each inheritance tree reads. Where the row of a changed object is gone, the save will
    /// say so.
    public func refreshAll() throws {
        try checkQueue()
        try refuseInHook("refresh all objects")
        if parent != nil {
            for object in everyObject { try refreshNested(object, mergeChanges: true) }
            try takeInAllReturned()
            return try throwHookFailure()
        }
        forgetHostRows()
        for (store, objects) in byStore(everyObject.filter { !$0.state.contains(.inserted) }) {
            forgetRows(of: objects, in: store)
            let kept = objects.filter(\.staysInRefresh)
            for object in objects where !object.staysInRefresh {
                object.turnIntoFault()
                tellRefreshed(object)
            }
            try standOnNewestRows(kept, in: store)
        }
        try takeInAllReturned()
        try throwHookFailure()
    }

    /// Refreshes observed objects without changes, which cannot wait until somebody fires a fault.
    func refreshObserved(_ objects: [ManagedObject]) throws {
        for (store, objects) in byStore(objects) {
            forgetRows(of: objects, in: store)
            try standOnNewestRows(objects, in: store)
        }
    }

    /// Objects that are changed or observed get the newest rows, by one query for each inheritance tree. Observers are told when
    /// all have them.
    private func standOnNewestRows(_ objects: [ManagedObject], in store: Store) throws {
        if objects.isEmpty { return }
        var groups = Groups<Entity, ManagedObject>()
        for object in objects { groups.add(object, to: object.entity.root) }
        try together {
            var gone: [ManagedObject] = []
            for (root, group) in groups.list { gone += try standOnNewestRows(group, root, in: store) }
            // Last, since paths from the others may have led to them.
            for object in gone {
                object.turnIntoFault()
                tellRefreshed(object)
            }
        }
    }

    /// - Returns: those without changes whose rows are gone.
    private func standOnNewestRows(
        _ group: [ManagedObject], _ root: Entity, in store: Store
    ) throws -> [ManagedObject] {
        let fresh = try rows(of: root, group.map(\.primaryKey), in: store)
        try withExtendedLifetime(fresh.chunks) {
            // Nobody has seen values of a fault without a row: what differs next time is told.
            var unseen = Set<Int64>()
            for record in fresh.records {
                guard let object = registered(store: store, root: root, primaryKey: record.primaryKey),
                    object.record == nil, !object.hasChanges
                else { continue }
                object.setRecord(record)
                unseen.insert(record.primaryKey)
            }
            for record in fresh.records where !unseen.contains(record.primaryKey) {
                guard let object = registered(store: store, root: root, primaryKey: record.primaryKey) else { continue }
                try object.refreshingValues {
                    object.setRecord(record)
                    try stand(object)
                }
                try object.sendAwake(fromSnapshotEvents: .refresh)
            }
        }
        if group.count > 1 {
            for object in group where object.state.contains(.updated) {
                try object.unlessGhost { try settleInverses(of: object) }
            }
        }
        if fresh.records.count == group.count { return [] }
        let found = Set(fresh.records.map(\.primaryKey))
        return group.filter { !$0.hasChanges && !found.contains($0.primaryKey) }
    }

    /// A changed object has got a newer row: what was read beside the old one is read again.
    func stand(_ object: ManagedObject) throws {
        object.forgetFiles()
        object.forgetFetched()
        object.forgetTransformedValues()
        object.dropToOneTargets()
        object.state.remove(.fault)
        for relationship in object.toManyRelationships { relationship?.reload() }
        try settleInverses(of: object)
        // Its newest lists may have members that no delete rule has reached.
        if object.isDeleted { changeTracker.reconnectedDeletions.append(object) }
        tellRefreshed(object)
    }

    /// Only a listener makes the context keep an object that nobody else wants.
    func tellRefreshed(_ object: ManagedObject) { if hearsOfEvents { noteRefreshed(object) } }

    /// Has the store's newest state read when rows of some objects are asked for.
    private func forgetRows(of objects: [ManagedObject], in store: Store) {
        // In this order: what is read in between is of the newest state.
        reader(of: store).endRead()
        for object in objects { rowCache(of: store).remove(object.entity.root, object.primaryKey) }
    }

    /// Rows as the reader of the store finds them, which the row cache takes.
    func rows(of root: Entity, _ keys: [Int64], in store: Store) throws -> RowBatch {
        try using(store) {
            let state = rowCache(of: store).state
            let batch = try reader(of: store).rows(of: root, primaryKeys: keys)
            rowCache(of: store).add(batch, root: root, asOf: state)
            return batch
        }
    }

    /// Hands `body` the row of a saved object as the store has it now; nil when it is deleted.
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
    /// Drops changes too, on both sides of relationships.
    func becomeFault() throws {
        if hasChanges, !state.contains(.inaccessible) { try takeBackRelationships() }
        turnIntoFault()
    }

    /// Whether a refresh that keeps changes leaves the object what it is, with another row; else it becomes a fault.
    fileprivate var staysInRefresh: Bool {
        !state.isDisjoint(with: [.inserted, .updated, .deleted, .observed]) && !state.contains(.inaccessible)
    }
}
