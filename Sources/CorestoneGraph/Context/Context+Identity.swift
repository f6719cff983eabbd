import CorestoneModel
import CorestoneValues

extension Context {
    func registered(store: Store?, root: Entity, primaryKey: Int64) -> ManagedObject? {
        identityMap.object(store: store, root: root, primaryKey: primaryKey)
    }

    /// Returns the registered object of a row whose entity is known from the store.
    ///
    /// An object that was created with another entity, from a wrong ID, is removed from the context, because its row
    /// could never be loaded. If `isSureOfEntity` is false and such an object has a row or changes, it is returned.
    @inline(__always)
    func registered(
        in table: KeyTable, _ primaryKey: Int64, entityIndex: UInt32, isSureOfEntity: Bool = true
    ) -> ManagedObject? {
        guard let pointer = table.find(primaryKey) else { return nil }
        let known = Unmanaged<ManagedObject>.fromOpaque(pointer).takeUnretainedValue()
        if known.entity.index == entityIndex { return known }
        if !isSureOfEntity, known.record != nil || known.hasChanges { return known }
        table.remove(primaryKey)
        if let store = known.store, store.observesRegistrations { note(.unregistered, known, in: store) }
        known.leaveContext()
        return nil
    }

    func register(_ object: ManagedObject) {
        if identityMap.retained != nil { retain(object) }
        enter(object, identityMap.table(store: object.store, root: object.entity))
    }

    /// Registers an object in a table.
    ///
    /// An object that had the same key before leaves the context, because it would not be notified when the context is
    /// deallocated.
    func enter(_ object: ManagedObject, _ table: KeyTable) {
        let pointer = Unmanaged.passUnretained(object).toOpaque()
        guard let former = table.set(object.primaryKey, pointer), former != pointer else { return }
        Unmanaged<ManagedObject>.fromOpaque(former).takeUnretainedValue().leaveContext()
    }

    /// Reserves capacity in the tables for new objects of a store, so that they grow only once.
    func reserveRoom(for objects: [ManagedObject], store: Store) {
        for (root, count) in countsByRoot(objects) {
            identityMap.table(store: store, root: root).reserve(count)
            store.rowCache.reserve(count, root: root)
        }
    }

    /// Returns the number of objects in each entity tree, with its root entity. Trees without objects are omitted.
    func countsByRoot(_ objects: some Sequence<ManagedObject>) -> [(root: Entity, count: Int)] {
        var counts = [Int](repeating: 0, count: entities.count)
        for object in objects { counts[Int(object.entity.rootIndex)] += 1 }
        return counts.indices.filter { counts[$0] > 0 }.map { (entities[$0], counts[$0]) }
    }

    /// Removes an object from its table.
    ///
    /// If the object is not registered, as after a deletion elsewhere, the table stays unchanged, because it may
    /// contain another object of the row.
    func unregister(_ object: ManagedObject) {
        let table = identityMap.table(store: object.store, root: object.entity)
        guard table.remove(object.primaryKey, of: Unmanaged.passUnretained(object).toOpaque()) != nil else { return }
        if let store = object.store, store.observesRegistrations, !object.state.contains(.inserted) {
            note(.unregistered, object, in: store)
        }
    }

    /// Unregisters an object that is deallocated.
    func forget(_ object: ManagedObject) { unregister(object) }

    /// Returns the only object of a row: the registered one, or a new fault.
    ///
    /// - Parameter isSureOfEntity: Whether `entity` is known from the store, so that a registered object of another
    ///   entity is wrong. If false, a registered object with a row or changes is kept.
    func object(
        store: Store?, entity: Entity, primaryKey: Int64, isSureOfEntity: Bool = true
    ) -> ManagedObject {
        let table = identityMap.table(store: store, root: entity)
        if let known = registered(
            in: table, primaryKey, entityIndex: entity.index, isSureOfEntity: isSureOfEntity)
        {
            return known
        }
        let object = ManagedObject(entity: entity, context: self, store: store, primaryKey: primaryKey, state: [.fault])
        table.set(primaryKey, Unmanaged.passUnretained(object).toOpaque())
        if identityMap.retained != nil { retain(object) }
        if let store, store.observesRegistrations { note(.registered, object, in: store) }
        return object
    }

    /// Returns the only object of a row, retained for the caller: the registered one, or a new fault.
    func retainedObject(store: Store, entityIndex: UInt32, primaryKey: Int64) -> Unmanaged<ManagedObject> {
        let table = identityMap.table(store: store, root: entities[Int(entityIndex)].root)
        return retainedObject(in: table, store: store, entityIndex: entityIndex, primaryKey: primaryKey)
    }

    /// Returns the only object of a row in the table of its entity tree, retained for the caller.
    @inline(__always)
    func retainedObject(
        in table: KeyTable, store: Store, entityIndex: UInt32, primaryKey: Int64
    ) -> Unmanaged<ManagedObject> {
        if let pointer = table.find(primaryKey) {
            let known = Unmanaged<ManagedObject>.fromOpaque(pointer)
            if known._withUnsafeGuaranteedRef({ $0.entity.index == entityIndex }) { return known.retain() }
        }
        return .passRetained(object(store: store, entity: entities[Int(entityIndex)], primaryKey: primaryKey))
    }

    /// Returns this coordinator's store with the identifier of `other`, a store of any coordinator.
    func store(like other: Store) -> Store? {
        if other.coordinator == ObjectIdentifier(coordinator) { return other }
        return coordinator.stores.first { $0.identifier == other.identifier }
    }

    /// Returns this model's entity with the name of `other`, an entity of any model.
    func entity(like other: Entity) -> Entity? {
        let index = Int(other.index)
        return index < entities.count && entities[index] === other ? other : coordinator.model.entity(named: other.name)
    }

    /// Returns the object of an ID: the registered one, or a new fault. Does not access the store.
    ///
    /// - Throws: `.objectGone` if the ID is temporary and unknown to this context, or if the store was removed;
    ///   `.invalidArgument` if the ID's store or entity does not exist in this context's coordinator.
    public func object(with id: ObjectID) throws -> ManagedObject {
        if !id.isTemporary, let store = id.store, let own = self.store(like: store),
            let entity = self.entity(like: id.entity)
        {
            if !own.isOpen, registered(store: own, root: entity, primaryKey: id.reference) == nil {
                try own.requireOpen()
            }
            // The application may pass a superentity or another entity of the same tree.
            return object(store: own, entity: entity, primaryKey: id.reference, isSureOfEntity: false)
        }
        if let known = try registered(with: id) ?? unsavedObject(with: id) { return known }
        guard let store = id.store, !id.isTemporary else { throw unknownTemporary(id) }
        throw CoreError(
            .invalidArgument, code: .managedObjectReferentialIntegrity,
            self.store(like: store) == nil
                ? "\(id.uri) belongs to \(store.path), which this context's coordinator does not have open; add the store with "
                    + "cst_coordinator_add_store (add_store, addStore)"
                : "\(id.uri) has the entity \(id.entity.name), which the model of this context's coordinator does not have; use a "
                    + "context of the coordinator that the ID comes from",
            entity: id.entity.name,
            objectURI: id.uri, file: store.path)
    }

    private func unknownTemporary(_ id: ObjectID) -> CoreError {
        CoreError(
            .objectGone, code: .managedObjectReferentialIntegrity,
            "\(id.uri) is temporary and unknown to this context; save the object and use its permanent ID",
            entity: id.entity.name, objectURI: id.uri)
    }

    /// Returns the registered object of an ID, or nil. Does not access the store.
    public func registeredObject(with id: ObjectID) -> ManagedObject? {
        registered(with: id) ?? leftBehind(with: id)
    }

    /// Returns an object that another context or process deleted. It is available until the next save.
    private func leftBehind(with id: ObjectID) -> ManagedObject? {
        mergeState.deletedElsewhere.isEmpty
            ? nil : mergeState.deletedElsewhere.first { $0.context === self && $0.objectID == id }
    }

    /// Returns the registered object of an ID, unless its row was deleted elsewhere.
    func registered(with id: ObjectID) -> ManagedObject? {
        guard id.isTemporary else {
            guard let store = id.store, let own = self.store(like: store), let entity = self.entity(like: id.entity)
            else {
                return nil
            }
            return registered(store: own, root: entity, primaryKey: id.reference)
        }
        let root = id.entity.root
        if let object = registered(store: nil, root: root, primaryKey: id.reference) { return object }
        guard let (place, key) = identityMap.permanentPlace(of: id.reference, root: root) else { return nil }
        return identityMap.tables[place].table.find(key).map {
            Unmanaged<ManagedObject>.fromOpaque($0).takeUnretainedValue()
        }
    }

    /// Returns the permanent key that replaced a temporary reference; nil before the first save.
    func permanentKey(of reference: Int64, root: Entity) -> Int64? {
        identityMap.permanentPlace(of: reference, root: root)?.key
    }

    /// Returns the permanent key that replaced a temporary reference, and its store; nil before the first save.
    func permanentStore(of reference: Int64, root: Entity) -> (store: Store, key: Int64)? {
        guard let (place, key) = identityMap.permanentPlace(of: reference, root: root) else { return nil }
        let number = identityMap.tables[place].store
        return coordinator.stores.first { $0.number == number }.map { ($0, key) }
    }

    /// Returns the object of an ID and loads its values.
    ///
    /// - Throws: `.objectGone` (133000) if the object does not exist; the errors of `object(with:)` and of reading.
    public func existingObject(with id: ObjectID) throws -> ManagedObject {
        if let object = try storedObject(with: id) { return object }
        if id.isTemporary, try registered(with: id) ?? unsavedObject(with: id) == nil { throw unknownTemporary(id) }
        let cause =
            parent == nil
            ? "its row was deleted or never saved"
            : "it was deleted in the parent context, or its row was deleted or never saved"
        throw CoreError(
            .objectGone, code: .managedObjectReferentialIntegrity,
            "\(id.entity.name) \(id.uri) does not exist: \(cause); fetch the objects again",
            entity: id.entity.name, objectURI: id.uri, file: id.store?.path)
    }

    /// Returns the object of an ID and loads its values; nil if the store does not have the row.
    package func storedObject(with id: ObjectID) throws -> ManagedObject? {
        try checkQueue()
        if id.isTemporary, try registered(with: id) ?? unsavedObject(with: id) == nil { return nil }
        let object = try object(with: id)
        if !object.isFault && !object.state.contains(.inaccessible) { return object }
        do { try object.fire() } catch let error as CoreError where error.status == .objectGone {
            // The ID may contain a superentity or another entity of the same tree, so the entity of the row is used.
            guard let store = object.store, let actual = storedEntity(of: object), actual !== object.entity else {
                return nil
            }
            let right = self.object(store: store, entity: actual, primaryKey: object.primaryKey)
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

    /// Removes deleted objects from lists that are not updated otherwise.
    ///
    /// These are the lists of one-sided relationships, or of all relationships if another context deleted the objects.
    /// Cached to-one targets are discarded too.
    func forgetMembers(among deleted: [ManagedObject], whereverTheyAre: Bool = false) {
        if deleted.isEmpty { return }
        let roots = Set(deleted.map { ObjectIdentifier($0.entity.root) })
        let concerned = coordinator.model.entities.contains { entity in
            entity.ownRelationships.contains {
                (whereverTheyAre || $0.isOneSided)
                    && roots.contains(ObjectIdentifier($0.destination.root))
            }
        }
        guard concerned else { return }
        let deletedIdentifiers = Set(deleted.map(ObjectIdentifier.init))
        for object in everyObject {
            for case let keeper? in object.toManyRelationships {
                let forget = { keeper.forget { deletedIdentifiers.contains(ObjectIdentifier($0)) } }
                if whereverTheyAre { object.replacingMembers(of: keeper, forget) } else { forget() }
            }
            object.releaseTargets(withChanges: whereverTheyAre) { deletedIdentifiers.contains($0) }
        }
    }

    /// Removes every object from the context.
    func forgetAll() {
        let known = everyObject
        let all = known + mergeState.deletedElsewhere.filter { $0.context === self }
        // The lists retain the objects until each has left, so that no object is deallocated while another one points
        // to it.
        withExtendedLifetime((all, changeTracker.all)) {
            noteUnregistered(known)
            for object in all { object.leaveContext(alone: false) }
        }
        identityMap.removeAll()
        clearChanges()
        mergeState.removeAll()
        links.renamed = []
        faultLoader.removeAllGroups()
    }

    /// Discards the cached rows of custom stores, because their changes cannot be detected otherwise.
    func forgetHostRows() {
        if parent != nil { return }
        for store in coordinator.stores where store.references != nil {
            store.backing.endRead()
            store.rowCache.forgetAll()
        }
    }

    /// Returns the objects that are not faults; empty if the model does not have a hook for becoming a fault.
    func objectsToNotifyOfFaulting(among objects: @autoclosure () -> [ManagedObject]) -> [ManagedObject] {
        let hooks = HookKinds(rawValue: coordinator.model.hookKinds)
        return hooks.isDisjoint(with: [.willTurnIntoFault, .didTurnIntoFault]) ? [] : objects().filter { !$0.isFault }
    }

    /// Removes all objects from the context. Calls on them fail with `.objectGone` afterwards.
    ///
    /// Unsaved changes and undo steps are discarded.
    ///
    /// - Throws: The error of a hook, after the reset is complete; `.invalidArgument` within a hook.
    public func reset() throws {
        try checkQueue()
        try refuseInHook("reset the context")
        let notified = objectsToNotifyOfFaulting(among: everyObject)
        for object in notified { object.sendWillTurnIntoFault() }
        // A store that is notified of deregistered objects may use the context, so it is notified after the reset.
        batchingNotices(true) {
            forgetAll()
            forgetHostRows()
            if generation != nil { generation = Generation(token: .current) }
            forgetUndo()
            noteInvalidatedAll()
        }
        endEvent()
        for object in notified { object.sendDidTurnIntoFault(in: self) }
        try throwHookFailure()
    }
}
