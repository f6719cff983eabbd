import CorestoneModel
import CorestoneValues

extension Context {
    /// Assigns permanent IDs to inserted objects before they are saved.
    ///
    /// Objects that already have permanent IDs are skipped.
    ///
    /// - Throws: Errors of the stores; an error for an object of another context or one that has left its context.
    public func obtainPermanentIDs(for objects: [ManagedObject]) throws {
        try checkQueue()
        for object in objects {
            if object.state.contains(.detached) { throw object.detachedError() }
            guard object.context === self else {
                throw object.elsewhere("obtain its permanent ID there")
            }
        }
        try obtainPermanentIDsInAncestors(for: objects)
        let temporary = objects.filter { $0.hasTemporaryID && $0.isInserted }
        if temporary.isEmpty { return }
        let targets = try SaveTargets(of: temporary, in: self)
        for store in coordinator.stores {
            let here = temporary.filter { targets.store(of: $0) === store }
            if here.isEmpty { continue }
            let keys =
                try store.references == nil
                ? reserveKeys(for: here) { root, count in
                    try writing(store) { try store.backing.reservePrimaryKeys(of: root, count: count) }
                }
                : namedKeys(for: here, in: store) { rows in
                    try writing(store) { try store.backing.obtainKeys(for: rows) }
                }
            // An object that is listed twice keeps its first key. A custom store may have removed objects from the
            // context while it returned keys.
            for (object, key) in zip(here, keys) where object.hasTemporaryID && object.context === self {
                makePermanent(object, store: store, key: key)
            }
        }
        let permanent = temporary.filter { $0.context === self }
        if observation.trackers.hasObservers(.save) {
            var renamed = ContextChanges()
            renamed.inserted = permanent
            keepingHold { observation.trackers.notify(.save, renamed) }
        }
        sendRenamedIDs()
        if let lost = temporary.first(where: \.isGone) { throw lost.detachedError() }
    }

    /// Reserves consecutive primary keys per entity tree, in the order of the objects.
    ///
    /// Objects with a permanent key keep it.
    func reserveKeys(
        for objects: [ManagedObject], _ reserve: (_ root: Entity, _ count: Int) throws -> Int64
    ) throws -> [Int64] {
        var next = [Int64](repeating: 0, count: entities.count)
        for (root, count) in countsByRoot(objects.lazy.filter(\.hasTemporaryID)) {
            next[Int(root.index)] = try reserve(root, count)
        }
        return objects.map { object in
            guard object.hasTemporaryID else { return object.primaryKey }
            let root = Int(object.entity.rootIndex)
            defer { next[root] += 1 }
            return next[root]
        }
    }

    /// Returns primary keys from a custom store, which identifies rows by reference objects.
    ///
    /// Objects with a permanent key keep it.
    func namedKeys(
        for objects: [ManagedObject], in store: Store, _ obtain: (_ rows: [NewRow]) throws -> [Int64]?
    ) throws -> [Int64] {
        var new: [ManagedObject] = []
        // An object may be listed twice.
        var found: [ObjectIdentifier: Int64] = [:]
        var kept: [UInt32: Set<Int64>] = [:]
        for object in objects where object.hasTemporaryID && found[ObjectIdentifier(object)] == nil {
            let root = object.entity.root
            if let given = changeTracker.reservedKeys[object.primaryKey], given.store === store,
                registered(store: store, root: root, primaryKey: given.key) == nil
            {
                found[ObjectIdentifier(object)] = given.key
                kept[root.index, default: []].insert(given.key)
            } else {
                found[ObjectIdentifier(object)] = 0
                new.append(object)
            }
        }
        if !new.isEmpty {
            guard let keys = try obtain(new.map { NewRow($0) }), keys.count == new.count else {
                throw CoreError(
                    .internal,
                    "\(store.path) did not return a key for each new object; report it as a defect of the library",
                    file: store.path)
            }
            // A custom store may return a key of a failed save for another object. The keys of all objects are then
            // requested again.
            if zip(new, keys).contains(where: { kept[$0.entity.rootIndex]?.contains($1) == true }) {
                for object in objects { changeTracker.reservedKeys[object.primaryKey] = nil }
                return try namedKeys(for: objects, in: store, obtain)
            }
            for (object, key) in zip(new, keys) { found[ObjectIdentifier(object)] = key }
        }
        for object in objects where object.hasTemporaryID {
            guard let key = found[ObjectIdentifier(object)],
                let other = registered(store: store, root: object.entity.root, primaryKey: key)
            else { continue }
            throw CoreError(
                .invalidArgument, code: .persistentStoreSave,
                "\(store.path) returned the reference of \(other.objectID.uri) for a new \(object.entity.name); return references "
                    + "that are unique in the entity tree and never reused", entity: object.entity.name,
                objectURI: other.objectID.uri, file: store.path)
        }
        return objects.map { found[ObjectIdentifier($0)] ?? $0.primaryKey }
    }

    /// Returns the primary key that the next save uses for an object; if it is unknown, the temporary key.
    ///
    /// A key from a failed save is reused.
    func keyForSave(_ object: ManagedObject) -> Int64 {
        changeTracker.reservedKeys.isEmpty
            ? object.primaryKey : changeTracker.reservedKeys[object.primaryKey]?.key ?? object.primaryKey
    }

    /// Replaces a temporary ID by a permanent one. The temporary ID still identifies the object.
    func makePermanent(_ object: ManagedObject, store: Store, key: Int64) {
        let temporary = object.primaryKey
        unregister(object)
        object.store = store
        object.primaryKey = key
        let index = identityMap.index(store: store, root: object.entity)
        enter(object, identityMap.tables[index].table)
        identityMap.note(temporary, became: key, inTableAt: index)
        if !links.children.isEmpty {
            links.renamed.append(Renaming(root: object.entity.rootIndex, reference: temporary, store: store, key: key))
        }
    }
}
