import CorestoneModel
import CorestoneValues

extension Context {
    /// Returns the store of the context's coordinator with the identifier of `other`, a store of any coordinator.
    @inline(__always)
    func store(like other: Store) -> Store? {
        other.coordinator == ObjectIdentifier(coordinator) ? other : store(identifier: other.identifier)
    }

    @inline(never)
    private func store(identifier: String) -> Store? { coordinator.stores.first { $0.identifier == identifier } }

    /// Returns the entity of the coordinator's model with the name of `other`, an entity of any model.
    @inline(__always)
    func entity(like other: Entity) -> Entity? {
        let index = Int(other.index)
        return index < entities.count && entities[index] === other ? other : coordinator.model.entity(named: other.name)
    }

    /// Returns the host slot of the registered object of a saved ID, without retaining anything.
    ///
    /// Returns 0 if the object is not registered or does not have a slot, and for IDs of other coordinators, models and
    /// entities than that of the row. The caller then calls `object(with:)`.
    package func registeredHostSlot(of id: ObjectID) -> UInt {
        guard let store = id.store, store.coordinator == ObjectIdentifier(coordinator) else { return 0 }
        return identityMap.hostSlot(store: store.number, entity: id.entity, primaryKey: id.reference)
    }

    /// Returns the object of an ID: the registered one, or a new fault. Does not access the store.
    ///
    /// - Throws: `.objectGone` if the ID is temporary and unknown to this context, or if the store was removed.
    ///   `.invalidArgument` if the ID's store or entity does not exist in this context's coordinator.
    public func object(with id: ObjectID) throws -> ManagedObject {
        if !id.isTemporary, let store = id.store, let own = self.store(like: store),
            let entity = self.entity(like: id.entity)
        {
            if !own.isOpen, identityMap.registered(store: own, root: entity, primaryKey: id.reference) == nil {
                try own.requireOpen()
            }
            // The ID's entity may be a superentity of the row's entity, or another entity of the same tree.
            return identityMap.object(store: own, entity: entity, primaryKey: id.reference, isEntityCertain: false)
        }
        if let known = try objectOfTemporary(id) { return known }
        guard let store = id.store, !id.isTemporary else { throw unknownTemporary(id) }
        throw CoreError(
            .invalidArgument, code: .managedObjectReferentialIntegrity,
            self.store(like: store) == nil
                ? "\(id.uri) belongs to \(Coordinator.shown(store.path)), which this context's coordinator does not "
                    + "have open; add the store with cst_coordinator_add_store (add_store, addStore), or use a "
                    + "context of the coordinator that the ID comes from"
                : "\(id.uri) has the entity \(id.entity.name), which the model of this context's coordinator does not have; use a "
                    + "context of the coordinator that the ID comes from",
            entity: id.entity.name,
            objectURI: id.uri, file: store.path)
    }

    private func unknownTemporary(_ id: ObjectID) -> CoreError {
        CoreError(
            .objectGone, code: .managedObjectReferentialIntegrity,
            "\(id.uri) is temporary and unknown to this context; call cst_context_save (save) on the object's own "
                + "context, and use the permanent ID",
            entity: id.entity.name, objectURI: id.uri)
    }

    /// Returns the registered object of an ID, or nil. Does not access the store.
    public func registeredObject(with id: ObjectID) -> ManagedObject? {
        identityMap.registered(with: id) ?? objectDeletedElsewhere(with: id)
    }

    /// Returns an object that another context or process deleted, or nil. It is available until the next save.
    private func objectDeletedElsewhere(with id: ObjectID) -> ManagedObject? {
        mergeState.deletedElsewhere.first(with: id, in: self)
    }

    /// Returns the object of an ID and loads its values.
    ///
    /// - Throws: `.objectGone` (133000) if the object does not exist.
    ///   The errors of `object(with:)` and of reading.
    public func existingObject(with id: ObjectID) throws -> ManagedObject {
        if let object = try storedObject(with: id) { return object }
        if id.isTemporary, try objectOfTemporary(id) == nil {
            throw unknownTemporary(id)
        }
        let isPinned = id.store.flatMap { self.store(like: $0) }.flatMap { pin(of: $0) } != nil
        let row =
            isPinned ? "its row is not in the context's query generation" : "its row was deleted or never saved"
        let cause = parent == nil ? row : "it was deleted in the parent context, or \(row)"
        let remedy =
            isPinned && parent == nil
            ? "pin the context again with cst_context_set_query_generation (pin, setQueryGeneration)"
            : "fetch the objects again with cst_context_fetch (fetch)"
        throw CoreError(
            .objectGone, code: .managedObjectReferentialIntegrity,
            "\(id.entity.name) \(id.uri) does not exist: \(cause); \(remedy)",
            entity: id.entity.name, objectURI: id.uri,
            file: id.store?.path)
    }

    /// Returns the object of an ID and loads its values; nil if the store does not have the row.
    package func storedObject(with id: ObjectID) throws -> ManagedObject? {
        try checkQueue()
        if id.isTemporary, try objectOfTemporary(id) == nil { return nil }
        let object = try object(with: id)
        if !object.isFault && !object.state.contains(.inaccessible) { return object }
        do { try object.fire() } catch let error as CoreError where error.status == .objectGone {
            // The ID may contain a superentity or another entity of the same tree, so the entity of the row is used.
            guard let store = object.store, let actual = storedEntity(of: object), actual !== object.entity else {
                return nil
            }
            let right = identityMap.object(store: store, entity: actual, primaryKey: object.primaryKey)
            try right.fire()
            return right
        }
        return object
    }

    /// Returns the entity of an object's row, if the row is in the row cache.
    func storedEntity(of object: ManagedObject) -> Entity? {
        object.store.flatMap { store in
            rowCache(of: store).row(object.entity.root, object.primaryKey) { entity(at: $0.header.pointee.entity) }
        }
    }
}
