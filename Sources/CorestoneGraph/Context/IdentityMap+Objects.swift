import CorestoneModel
import CorestoneValues

extension IdentityMap {
    func registered(store: Store?, root: Entity, primaryKey: Int64) -> ManagedObject? {
        object(store: store, root: root, primaryKey: primaryKey)
    }

    /// Returns the registered object of a row with the given entity, or nil.
    ///
    /// An object that was created with another entity, from a wrong ID, is removed from the context, because its row
    /// could never be loaded. If `isEntityCertain` is false and such an object has a row or changes, it is returned.
    @inline(__always)
    func registered(
        in table: KeyTable, _ primaryKey: Int64, entityIndex: UInt32, isEntityCertain: Bool = true
    ) -> ManagedObject? {
        guard let pointer = table.find(primaryKey) else { return nil }
        let known = Unmanaged<ManagedObject>.fromOpaque(pointer).takeUnretainedValue()
        if known.entity.index == entityIndex { return known }
        return removeUnlessUsed(known, from: table, isEntityCertain: isEntityCertain)
    }

    /// Removes a registered object whose entity differs from that of its row.
    ///
    /// Returns the object if it stays registered; see `registered(in:_:entityIndex:isEntityCertain:)`.
    @inline(never)
    private func removeUnlessUsed(
        _ known: ManagedObject, from table: KeyTable, isEntityCertain: Bool
    ) -> ManagedObject? {
        if !isEntityCertain, known.record != nil || known.hasChanges { return known }
        table.remove(known.primaryKey)
        if let store = known.store, store.observesRegistrations { note(.unregistered, known, in: store) }
        known.leaveContext()
        return nil
    }

    func register(_ object: ManagedObject) {
        if retained != nil { retain(object) }
        enter(object, table(store: object.store, root: object.entity))
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

    /// Reserves capacity for new objects of a store in the tables and the row cache, so that each grows only once.
    func reserveRoom(for objects: [ManagedObject], store: Store) {
        for (root, count) in countsByRoot(objects) {
            table(store: store, root: root).reserve(count)
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
        let table = table(store: object.store, root: object.entity)
        guard table.remove(object.primaryKey, of: Unmanaged.passUnretained(object).toOpaque()) != nil else { return }
        if let store = object.store, store.observesRegistrations, !object.state.contains(.inserted) {
            note(.unregistered, object, in: store)
        }
    }

    /// Returns the only object of a row: the registered one, or a new fault.
    ///
    /// - Parameter isEntityCertain: Whether `entity` is known from the store, so that a registered object of another
    ///   entity is wrong. If false, a registered object with a row or changes is kept.
    func object(
        store: Store?, entity: Entity, primaryKey: Int64, isEntityCertain: Bool = true
    ) -> ManagedObject {
        let table = table(store: store, root: entity)
        if let known = registered(
            in: table, primaryKey, entityIndex: entity.index, isEntityCertain: isEntityCertain)
        {
            return known
        }
        let object = ManagedObject(fault: primaryKey, entity, store, in: unretainedContext, owner: owner)
        table.set(primaryKey, Unmanaged.passUnretained(object).toOpaque())
        if retained != nil { retain(object) }
        if let store, store.observesRegistrations { note(.registered, object, in: store) }
        return object
    }

    /// Returns the only object of a row, retained for the caller: the registered one, or a new fault.
    func retainedObject(store: Store, entityIndex: UInt32, primaryKey: Int64) -> Unmanaged<ManagedObject> {
        let table = table(store: store, root: entities[Int(entityIndex)].root)
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

    /// Returns the registered object of an ID, or nil. An object whose deletion was merged is not registered.
    func registered(with id: ObjectID) -> ManagedObject? {
        guard id.isTemporary else {
            guard let store = id.store, let own = context.store(like: store),
                let entity = context.entity(like: id.entity)
            else {
                return nil
            }
            return registered(store: own, root: entity, primaryKey: id.reference)
        }
        let root = id.entity.root
        if let object = registered(store: nil, root: root, primaryKey: id.reference) { return object }
        guard let (place, key) = permanentPlace(of: id.reference, root: root) else { return nil }
        return tables[place].table.find(key).map {
            Unmanaged<ManagedObject>.fromOpaque($0).takeUnretainedValue()
        }
    }

    /// Returns the permanent key that replaced a temporary reference; nil if it was not replaced yet.
    func permanentKey(of reference: Int64, root: Entity) -> Int64? {
        permanentPlace(of: reference, root: root)?.key
    }

    /// Returns the permanent key that replaced a temporary reference, and its store; nil if it was not replaced yet.
    func permanentStore(of reference: Int64, root: Entity) -> (store: Store, key: Int64)? {
        guard let (place, key) = permanentPlace(of: reference, root: root) else { return nil }
        let number = tables[place].store
        return context.coordinator.stores.first { $0.number == number }.map { ($0, key) }
    }
}
