import CorestoneModel
import CorestoneValues

extension Context {
    func registered(store: Store?, root: Entity, primaryKey: Int64) -> ManagedObject? {
        identityMap.object(store: store, root: root, primaryKey: primaryKey)
    }

    /// The registered object of a row whose entity the store told. One that an ID with a wrong entity made leaves: it could
    /// never be filled.
    @inline(__always)
    func registered(
        in table: KeyTable, _ primaryKey: Int64, entityIndex: UInt32, isSureOfEntity: Bool = true
    ) -> ManagedObject? {
        guard let pointer = table.find(primaryKey) else { return nil }
        let known = Unmanaged<ManagedObject>.fromOpaque(pointer).takeUnretainedValue()
        if known.entity.index == entityIndex { return known }
        if !isSureOfEntity, known.record != nil || known.hasChanges { return known }
        table.remove(primaryKey)
        if let store = known.store, store.hearsRegistrations { note(.unregistered, known, in: store) }
        known.leaveContext()
        return nil
    }

    func register(_ object: ManagedObject) {
        if identityMap.retained != nil { retain(object) }
        enter(object, identityMap.table(store: object.store, root: object.entity))
    }

    /// Has a table find the object by its key. One that it found by that before leaves: it would never hear of the context's end.
    func enter(_ object: ManagedObject, _ table: KeyTable) {
        let pointer = Unmanaged.passUnretained(object).toOpaque()
        guard let former = table.set(object.primaryKey, pointer), former != pointer else { return }
        Unmanaged<ManagedObject>.fromOpaque(former).takeUnretainedValue().leaveContext()
    }

    /// Room in the tables for new objects of a store, so that these grow once.
    func reserveRoom(for objects: [ManagedObject], store: Store) {
        for (root, count) in countsByRoot(objects) {
            identityMap.table(store: store, root: root).reserve(count)
            store.rowCache.reserve(count, root: root)
        }
    }

    /// How many of some objects each inheritance tree has, by its root; trees without any are left out.
    func countsByRoot(_ objects: some Sequence<ManagedObject>) -> [(root: Entity, count: Int)] {
        var counts = [Int](repeating: 0, count: entities.count)
        for object in objects { counts[Int(object.entity.rootIndex)] += 1 }
        return counts.indices.filter { counts[$0] > 0 }.map { (entities[$0], counts[$0]) }
    }

    /// One that is not registered, as an object that others deleted, leaves the table as it is: its row may have another one.
    func unregister(_ object: ManagedObject) {
        let table = identityMap.table(store: object.store, root: object.entity)
        guard table.remove(object.primaryKey, of: Unmanaged.passUnretained(object).toOpaque()) != nil else { return }
        if let store = object.store, store.hearsRegistrations, !object.state.contains(.inserted) {
            note(.unregistered, object, in: store)
        }
    }

    /// Called by an object's end.
    func forget(_ object: ManagedObject) { unregister(object) }

    /// The one object of a row: the registered one, or a new fault.
    /// - Parameter isSureOfEntity: whether a registered object of another entity is wrong; else what was read, or changed, knows
    ///   better.
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
        if let store, store.hearsRegistrations { note(.registered, object, in: store) }
        return object
    }

    /// The one object of a row with one reference for the caller: the registered one, or a new fault.
    func retainedObject(store: Store, entityIndex: UInt32, primaryKey: Int64) -> Unmanaged<ManagedObject> {
        let table = identityMap.table(store: store, root: entities[Int(entityIndex)].root)
        return retainedObject(in: table, store: store, entityIndex: entityIndex, primaryKey: primaryKey)
    }

    /// The same, with the table of the entity's tree, which the caller has looked up.
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

    /// This coordinator's store for one that may be another coordinator's: the same file has the same identifier.
    func store(like other: Store) -> Store? {
        if other.coordinator == ObjectIdentifier(coordinator) { return other }
        return coordinator.stores.first { $0.identifier == other.identifier }
    }

    /// This model's entity for one that may be another model's.
    func entity(like other: Entity) -> Entity? {
        let index = Int(other.index)
        return index < entities.count && entities[index] === other ? other : coordinator.model.entity(named: other.name)
    }

    /// The object of an ID, as a fault when it is not known. Never touches the store.
    public func object(with id: ObjectID) throws -> ManagedObject {
        if !id.isTemporary, let store = id.store, let own = self.store(like: store),
            let entity = self.entity(like: id.entity)
        {
            if !own.isOpen, registered(store: own, root: entity, primaryKey: id.reference) == nil {
                try own.requireOpen()
            }
            // The host may name a parent of the row's entity, or a sibling of it.
            return object(store: own, entity: entity, primaryKey: id.reference, isSureOfEntity: false)
        }
        if let known = try registered(with: id) ?? unsavedObject(with: id) { return known }
        guard let store = id.store, !id.isTemporary else { throw unknownTemporary(id) }
        throw CoreError(
            .invalidArgument, code: .managedObjectReferentialIntegrity,
            self.store(like: store) == nil
                ? "\(id.uri) belongs to \(store.path), which this context's coordinator does not have open; add it first"
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

    /// The object of an ID if the context knows it. Never touches the store.
    public func registeredObject(with id: ObjectID) -> ManagedObject? {
        registered(with: id) ?? leftBehind(with: id)
    }

    /// An object that others deleted, until the next save.
    private func leftBehind(with id: ObjectID) -> ManagedObject? {
        mergeState.deletedElsewhere.isEmpty
            ? nil : mergeState.deletedElsewhere.first { $0.context === self && $0.objectID == id }
    }

    /// The same without those that others deleted: they stand for no row.
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

    /// The key that a temporary reference became; nil while it is temporary.
    func permanentKey(of reference: Int64, root: Entity) -> Int64? {
        identityMap.permanentPlace(of: reference, root: root)?.key
    }

    /// The same with the store in which the object is.
    func permanentStore(of reference: Int64, root: Entity) -> (store: Store, key: Int64)? {
        guard let (place, key) = identityMap.permanentPlace(of: reference, root: root) else { return nil }
        let number = identityMap.tables[place].store
        return coordinator.stores.first { $0.number == number }.map { ($0, key) }
    }

    /// The object of an ID with its values.
    ///
    /// - Throws: `.objectGone` (133000) when the store has no such row; what reading fails with.
    public func existingObject(with id: ObjectID) throws -> ManagedObject {
        if let object = try storedObject(with: id) { return object }
        if id.isTemporary, try registered(with: id) ?? unsavedObject(with: id) == nil { throw unknownTemporary(id) }
        throw CoreError(
            .objectGone, code: .managedObjectReferentialIntegrity,
            "\(id.entity.name) \(id.uri) does not exist: its row was deleted or never saved; fetch the objects again",
            entity: id.entity.name, objectURI: id.uri, file: id.store?.path)
    }

    /// The same; nil when the store has no such row.
    package func storedObject(with id: ObjectID) throws -> ManagedObject? {
        try checkQueue()
        if id.isTemporary, try registered(with: id) ?? unsavedObject(with: id) == nil { return nil }
        let object = try object(with: id)
        if !object.isFault && !object.state.contains(.inaccessible) { return object }
        do { try object.fire() } catch let error as CoreError where error.status == .objectGone {
            // The ID may have named a parent of the row's entity, or a sibling of it: the row knows better.
            guard let store = object.store, let actual = storedEntity(of: object), actual !== object.entity else {
                return nil
            }
            let right = self.object(store: store, entity: actual, primaryKey: object.primaryKey)
            try right.fire()
            return right
        }
        return object
    }

    /// The entity of an object's row, if the row was read.
    func storedEntity(of object: ManagedObject) -> Entity? {
        object.store.flatMap { store in
            rowCache(of: store).row(object.entity.root, object.primaryKey) { entity(at: $0.header.pointee.entity) }
        }
    }

    /// Takes objects whose rows are gone out of lists that nobody else tells: those of relationships without inverse, or of
    /// every relationship when another context deleted them. Targets that are only at hand are looked for again.
    func forgetMembers(among deleted: [ManagedObject], whereverTheyAre: Bool = false) {
        if deleted.isEmpty { return }
        let roots = Set(deleted.map { ObjectIdentifier($0.entity.root) })
        let concerned = coordinator.model.entities.contains { entity in
            entity.ownRelationships.contains {
                (whereverTheyAre || $0.isTakenBackByNoRule)
                    && roots.contains(ObjectIdentifier($0.destination.root))
            }
        }
        guard concerned else { return }
        let gone = Set(deleted.map(ObjectIdentifier.init))
        for object in everyObject {
            for case let keeper? in object.toManyRelationships {
                let forget = { keeper.forget { gone.contains(ObjectIdentifier($0)) } }
                if whereverTheyAre { object.replacingMembers(of: keeper, forget) } else { forget() }
            }
            object.letGoOfTargets(withChanges: whereverTheyAre) { gone.contains($0) }
        }
    }

    /// Cuts every object off from the context.
    func forgetAll() {
        let known = everyObject
        let all = known + mergeState.deletedElsewhere.filter { $0.context === self }
        // The lists let go only after each object was told, so that none ends while another still points at it.
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

    /// Has a host's own stores asked anew: nothing else tells what others changed there.
    func forgetHostRows() {
        if parent != nil { return }
        for store in coordinator.stores where store.references != nil {
            store.backing.endRead()
            store.rowCache.forgetAll()
        }
    }

    /// Those whose hooks hear that they turn into faults; empty where the model has no such hook.
    func objectsToTellOfFaulting(among objects: @autoclosure () -> [ManagedObject]) -> [ManagedObject] {
        let hooks = HookKinds(rawValue: coordinator.model.hookKinds)
        return hooks.isDisjoint(with: [.willTurnIntoFault, .didTurnIntoFault]) ? [] : objects().filter { !$0.isFault }
    }

    /// Forgets every object. Handles to them say so from now on.
    /// - Throws: what hooks threw that were told of it, when it is done; `.invalidArgument` within a hook.
    public func reset() throws {
        try checkQueue()
        try refuseInHook("reset the context")
        let told = objectsToTellOfFaulting(among: everyObject)
        for object in told { object.sendWillTurnIntoFault() }
        // A store that hears which objects leave may use the context, which has to be whole by then.
        tellingTogether(true) {
            forgetAll()
            forgetHostRows()
            if generation != nil { generation = Generation(token: .current) }
            forgetUndo()
            noteInvalidatedAll()
        }
        endEvent()
        for object in told { object.sendDidTurnIntoFault(in: self) }
        try throwHookFailure()
    }
}
