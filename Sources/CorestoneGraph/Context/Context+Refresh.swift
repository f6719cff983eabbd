import CorestoneModel
import CorestoneValues

extension Context {
    /// Reads the store's newest state. With `mergeChanges` the object keeps its own changes on top, else it drops them and
    /// becomes a fault.
    public func refresh(_ object: ManagedObject, mergeChanges: Bool) throws {
        try checkQueue()
        if object.state.contains(.gone) { throw object.gone() }
        guard let store = object.store, !object.state.contains(.inserted) else { return }
        coordinator.withLock {
            store.rowCache.remove(object.entity.root, object.primaryKey)
            store.backing.endRead()
        }
        guard mergeChanges, object.hasChanges else {
            if object.hasChanges { try object.takeBackRelationships() }
            object.turnIntoFault()
            return
        }
        // The newest row comes under the changes; their base is that row from now on.
        let isThere = try withNewestRow(of: object, in: store) { record in
            guard let record else { return false }
            object.setRecord(record)
            return true
        }
        guard isThere else {
            throw CoreError(
                .objectGone, code: .managedObjectReferentialIntegrity,
                "\(object.entity.name) \(object.objectID.uri) was deleted from the store; roll back or delete it here too",
                entity: object.entity.name, objectURI: object.objectID.uri, file: store.path)
        }
        object.forgetFiles()
        object.forgetFetched()
        object.forgetTransformedValues()
        object.dropToOneTargets()
        object.state.remove(.fault)
        for relationship in object.toManyRelationships { relationship?.reload() }
        try leaveNewOwners(object)
    }

    /// Hands `body` the row of a saved object as the store has it now; nil when it is deleted.
    func withNewestRow<Result>(
        of object: ManagedObject, in store: Store, _ body: (Record?) throws -> Result
    ) throws -> Result {
        let root = object.entity.root
        return try coordinator.withLock {
            try store.requireOpen()
            store.backing.endRead()
            store.rowCache.remove(root, object.primaryKey)
            let fresh = try store.backing.rows(of: root, primaryKeys: [object.primaryKey])
            store.rowCache.add(fresh, root: root)
            return try withExtendedLifetime(fresh) { try body(fresh.records.first) }
        }
    }

    /// The newest row may put the object into a list that its pending change takes it out of.
    private func leaveNewOwners(_ object: ManagedObject) throws {
        for relationship in object.entity.relationships where !relationship.isToMany {
            guard let inverse = relationship.inverse, inverse.isToMany, let overlay = object.overlay,
                overlay.isChanged(Int(relationship.slot)),
                case .object(let reference as ObjectIDReference) = try object.committedValue(
                    slot: Int(relationship.slot))
            else { continue }
            let owner = try self.object(with: reference.id)
            if try object.target(of: relationship) !== owner { try owner.toMany(inverse).drop(object) }
        }
    }

    /// Refreshes every object, keeping changes.
    public func refreshAll() throws {
        try checkQueue()
        for object in registeredObjects { try refresh(object, mergeChanges: true) }
    }
}
