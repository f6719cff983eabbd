import CorestoneModel
import CorestoneValues

extension Context {
    /// How many siblings one firing fault fills.
    private static let batch = 256
    /// How many faults may wait in groups: 8 bytes each.
    private static let groupedFaultLimit = 1 << 20

    /// Gives a fault its row: from the row cache, else from the store, siblings with it.
    func loadRow(of object: ManagedObject) throws {
        guard let store = object.store else { throw object.gone() }
        let root = object.entity.root
        try coordinator.withLock {
            try store.requireOpen()
            coordinator.counted.faults += 1
            if let row = store.rowCache.row(root, object.primaryKey) {
                coordinator.counted.cacheHits += 1
                return object.setRecord(row)
            }
            coordinator.counted.cacheMisses += 1
            if object.faultGroup == 0 {
                guard let (row, chunk) = try store.backing.row(of: root, primaryKey: object.primaryKey) else { return }
                coordinator.counted.faultedRows += 1
                store.rowCache.add(row, root: root, chunk: chunk)
                return object.setRecord(row)
            }
            let keys = siblings(of: object)
            let batch = try store.backing.rows(of: root, primaryKeys: keys)
            take(batch, root: root, store: store)
            if object.record == nil, let row = store.rowCache.row(root, object.primaryKey) { object.setRecord(row) }
        }
        guard object.record != nil else {
            if let actual = storedEntity(of: object), actual !== object.entity {
                throw CoreError(
                    .objectGone, code: .managedObjectReferentialIntegrity,
                    "\(object.objectID.uri) names a row that is a \(actual.name), not a \(object.entity.name); "
                        + "fetch it, or use the ID \(ObjectID(store: store, entity: actual, reference: object.primaryKey).uri)",
                    entity: object.entity.name, objectURI: object.objectID.uri, file: store.path)
            }
            throw object.deleted(from: store)
        }
    }

    /// Puts rows into the row cache and into the faults of this context that wait for them. Under the coordinator's lock.
    func take(_ batch: RowBatch, root: Entity, store: Store) {
        coordinator.counted.faultedRows += batch.records.count
        store.rowCache.add(batch, root: root)
        fill(from: batch, root: root, store: store)
    }

    /// Puts rows into the faults of this context that wait for them.
    private func fill(from batch: RowBatch, root: Entity, store: Store) {
        let table = tables[tableIndex(store: store, root: root)].table
        withExtendedLifetime(batch.chunks) {
            for record in batch.records {
                guard let pointer = table.find(record.primaryKey) else { continue }
                let object = Unmanaged<ManagedObject>.fromOpaque(pointer).takeUnretainedValue()
                if object.record == nil { object.setRecord(record) }
            }
        }
    }

    /// The keys to load with a firing fault: itself and the next of its group that still wait.
    private func siblings(of object: ManagedObject) -> [Int64] {
        guard object.faultGroup != 0, var group = faultGroups[object.faultGroup] else { return [object.primaryKey] }
        var keys = [object.primaryKey]
        let index = tableIndex(store: object.store, root: group.root)
        while keys.count < Context.batch, group.position < group.primaryKeys.count {
            let key = group.primaryKeys[group.position]
            group.position += 1
            guard key != object.primaryKey, let pointer = tables[index].table.find(key) else { continue }
            if Unmanaged<ManagedObject>.fromOpaque(pointer).takeUnretainedValue().record == nil { keys.append(key) }
        }
        if group.position < group.primaryKeys.count {
            faultGroups[object.faultGroup] = group
        } else {
            faultGroups[object.faultGroup] = nil
            groupedFaults -= group.primaryKeys.count
        }
        return keys
    }

    /// Remembers faults that came together, so that the first to fire fills the others.
    func group(_ faults: [ManagedObject], root: Entity, store: Store) {
        guard faults.count > 1 else { return }
        lastFaultGroup &+= 1
        if lastFaultGroup == 0 { lastFaultGroup = 1 }
        faultGroups[lastFaultGroup] = FaultGroup(root: root, store: store, primaryKeys: faults.map(\.primaryKey))
        for fault in faults { fault.faultGroup = lastFaultGroup }
        groupedFaults += faults.count
        forgetOldGroups()
    }

    /// Groups whose faults never fire would stay for ever; a fault without its group fires alone.
    private func forgetOldGroups() {
        while groupedFaults > Context.groupedFaultLimit, oldestFaultGroup != lastFaultGroup {
            if let old = faultGroups.removeValue(forKey: oldestFaultGroup) { groupedFaults -= old.primaryKeys.count }
            oldestFaultGroup &+= 1
        }
    }

    /// Loads the rows of objects that have none, many at a time. Returns the objects for which the store has no row.
    @discardableResult
    func loadRows(of objects: [ManagedObject]) throws -> [ManagedObject] {
        let waiting = objects.filter { $0.record == nil && !$0.state.contains(.inserted) }
        if waiting.isEmpty { return [] }
        for (store, objects) in byStore(waiting) {
            for group in Dictionary(grouping: objects, by: \.entity.rootIndex).values {
                try loadRows(of: group, root: group[0].entity.root, store: store)
            }
        }
        return waiting.filter { $0.record == nil }
    }

    private func loadRows(of group: [ManagedObject], root: Entity, store: Store) throws {
        try coordinator.withLock {
            try store.requireOpen()
            var missing: [Int64] = []
            for object in group {
                if let row = store.rowCache.row(root, object.primaryKey) {
                    object.setRecord(row)
                } else {
                    missing.append(object.primaryKey)
                }
            }
            coordinator.counted.cacheHits += group.count - missing.count
            coordinator.counted.cacheMisses += missing.count
            if !missing.isEmpty {
                take(try store.backing.rows(of: root, primaryKeys: missing), root: root, store: store)
            }
        }
    }

    /// Saved objects by their store: a key says nothing without it.
    private func byStore(_ objects: [ManagedObject]) -> [(key: Store, elements: [ManagedObject])] {
        var groups = Groups<Store, ManagedObject>()
        for object in objects { if let store = object.store { groups.add(object, to: store) } }
        return groups.list
    }

    /// Loads the members of a to-many relationship for many owners in one query for each store.
    func loadMembers(of relationship: Relationship, owners: [ManagedObject], includingRows: Bool = false) throws {
        let waiting = try owners.filter { try !$0.toMany(relationship).isLoaded }
        for (store, owners) in byStore(waiting) {
            try loadMembers(of: relationship, waiting: owners, store: store, includingRows: includingRows)
        }
    }

    private func loadMembers(
        of relationship: Relationship, waiting: [ManagedObject], store: Store, includingRows: Bool
    ) throws {
        // The list belongs to the version of its owner that is read no later than it: a save of a stale one is a conflict.
        try loadRows(of: waiting)
        let root = relationship.destination.root
        let found = try coordinator.withLock {
            try store.requireOpen()
            let found = try store.backing.members(
                of: relationship, owners: waiting.map(\.primaryKey), includingRows: includingRows)
            coordinator.counted.relationshipFaults += 1
            coordinator.counted.faultedRows += found.batch.records.count
            if includingRows { store.rowCache.add(found.batch, root: root) }
            return found
        }
        var members: [Int64: [ManagedObject]] = [:]
        var faults: [ManagedObject] = []
        for member in found.members {
            let object = object(store: store, entity: entity(at: member.entity), primaryKey: member.primaryKey)
            if object.record == nil { faults.append(object) }
            members[member.owner, default: []].append(object)
        }
        if includingRows {
            fill(from: found.batch, root: root, store: store)
        } else {
            group(faults, root: root, store: store)
        }
        for owner in waiting {
            let (keeper, stored) = (try owner.toMany(relationship), members[owner.primaryKey] ?? [])
            keeper.didLoad(stored)
            // What was deleted here, its delete rules applied, is no member any more.
            for member in stored where member.state.contains(.propagated) && relationship.inverse != nil {
                keeper.drop(member)
            }
        }
    }
}
