import CorestoneModel
import CorestoneValues

extension Context {
    /// Validates, then writes all changes in one transaction. After a failure nothing was written and all is still pending.
    public func save() throws {
        try checkQueue()
        try processPendingChanges()
        let plan = SavePlan(inserted: insertedObjects, updated: updatedObjects, deleted: deletedObjects)
        if plan.isEmpty {
            clearLists()
            return
        }
        try validateForSave(inserted: plan.inserted, updated: plan.updated, deleted: plan.deleted)
        try loadRows(of: plan.updated)
        try write(plan)
    }

    private func write(_ plan: SavePlan) throws {
        let target =
            try plan.inserted.isEmpty && plan.updated.isEmpty && plan.deleted.isEmpty
            ? nil : (plan.inserted.contains { $0.store == nil } ? coordinator.writableStore() : nil)
        // Several stores are written one after the other; each is a transaction of its own.
        for store in coordinator.stores {
            let part = plan.part(in: store, newObjectsHere: store === target)
            if part.isEmpty { continue }
            guard !store.isReadOnly else { throw store.isReadOnlyError() }
            try write(part, to: store)
        }
        clearLists()
    }

    private func write(_ part: SavePlan, to store: Store) throws {
        try coordinator.withLock {
            try store.requireOpen()
            store.backing.setInterruptCheck(interruptCheck)
            defer { store.backing.setInterruptCheck(nil) }
            let writer = SaveWriter(context: self, store: store, plan: part)
            do {
                try store.backing.save { try writer.write(in: $0) }
            } catch {
                writer.undo()
                throw error
            }
            writer.commit()
            try takeComputedRows(of: store)
        }
    }

    /// Takes over what the store computed while it saved: the objects that it tells of get their rows anew.
    private func takeComputedRows(of store: Store) throws {
        let rows = Dictionary(grouping: store.backing.takeComputedRows()) { entity(at: $0.entity).rootIndex }
        for (rootIndex, group) in rows {
            let root = entity(at: rootIndex)
            for row in group { store.rowCache.remove(root, row.primaryKey) }
            let objects = group.compactMap { registered(store: store, root: root, primaryKey: $0.primaryKey) }
                .filter { $0.record != nil }
            if objects.isEmpty { continue }
            let fresh = try store.backing.rows(of: root, primaryKeys: objects.map(\.primaryKey))
            store.rowCache.add(fresh.records, root: root, chunks: fresh.chunks)
            for record in fresh.records {
                // Another version is somebody else's change, of which a refresh will tell.
                if let object = registered(store: store, root: root, primaryKey: record.primaryKey),
                    object.version == record.version
                {
                    object.setRecord(record)
                }
            }
        }
    }

    /// Gives inserted objects their final IDs before the save.
    public func obtainPermanentIDs(for objects: [ManagedObject]) throws {
        try checkQueue()
        for object in objects {
            if object.state.contains(.gone) { throw object.gone() }
            guard object.context === self else {
                throw CoreError(
                    .invalidArgument, "this \(object.entity.name) belongs to another context",
                    entity: object.entity.name,
                    objectURI: object.objectID.uri)
            }
        }
        let temporary = objects.filter { $0.hasTemporaryID && $0.isInserted }
        if temporary.isEmpty { return }
        let store = try coordinator.writableStore()
        for (root, group) in groupedByRoot(temporary) {
            let first = try coordinator.withLock {
                try store.backing.reservePrimaryKeys(of: root, count: group.count)
            }
            for (place, object) in group.enumerated() { makePermanent(object, store: store, key: first + Int64(place)) }
        }
    }

    /// Replaces a temporary ID; the old one still finds the object.
    func makePermanent(_ object: ManagedObject, store: Store, key: Int64) {
        let temporary = object.primaryKey
        unregister(object)
        object.store = store
        object.primaryKey = key
        let place = tableIndex(store: store, root: object.entity.root)
        tables[place].table.set(key, Unmanaged.passUnretained(object).toOpaque())
        if let bits = UnsafeMutableRawPointer(bitPattern: Int(key)) { tables[place].former.set(temporary, bits) }
    }
}

/// Objects by the root of their entity, both in order of first appearance.
func groupedByRoot(_ objects: [ManagedObject]) -> [(root: Entity, objects: [ManagedObject])] {
    grouped(objects) { $0.entity.root }.map { (root: $0.entity, objects: $0.objects) }
}

func grouped(
    _ objects: [ManagedObject], by key: (ManagedObject) -> Entity
) -> [(entity: Entity, objects: [ManagedObject])] {
    var groups: [(entity: Entity, objects: [ManagedObject])] = []
    var places: [ObjectIdentifier: Int] = [:]
    var last: (entity: Entity, place: Int)?
    for object in objects {
        let entity = key(object)
        if let last, last.entity === entity {
            groups[last.place].objects.append(object)
            continue
        }
        let place = places[ObjectIdentifier(entity)] ?? groups.count
        if place == groups.count {
            groups.append((entity, []))
            places[ObjectIdentifier(entity)] = place
        }
        groups[place].objects.append(object)
        last = (entity, place)
    }
    return groups
}

/// What a save writes.
struct SavePlan {
    let inserted: [ManagedObject]
    let updated: [ManagedObject]
    let deleted: [ManagedObject]

    var isEmpty: Bool { inserted.isEmpty && updated.isEmpty && deleted.isEmpty }

    /// The part that concerns one store; new objects without a store go to it when `newObjectsHere`.
    func part(in store: Store, newObjectsHere: Bool) -> SavePlan {
        SavePlan(
            inserted: inserted.filter { $0.store == nil ? newObjectsHere : $0.store === store },
            updated: updated.filter { $0.store === store }, deleted: deleted.filter { $0.store === store })
    }
}
