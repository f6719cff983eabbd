import CorestoneModel
import CorestoneValues

/// The assignment of permanent primary keys to inserted objects.
struct KeyAssignment {
    let context: Context

    /// Reserves consecutive primary keys per entity tree, in the order of the objects.
    ///
    /// Objects with a permanent key keep it.
    func reserveKeys(
        for objects: [ManagedObject], _ reserve: (_ root: Entity, _ count: Int) throws -> Int64
    ) throws -> [Int64] {
        var next = [Int64](repeating: 0, count: context.entities.count)
        for (root, count) in context.identityMap.countsByRoot(objects.lazy.filter(\.hasTemporaryID)) {
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
            if let given = context.changeTracker.reservedKeys[object.primaryKey], given.store === store,
                context.identityMap.registered(store: store, root: root, primaryKey: given.key) == nil
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
                    "\(Coordinator.shown(store.path)) did not return a primary key for each new object; report it as a defect of the library",
                    file: store.path)
            }
            // A custom store may return a key of a failed save for another object. The primary keys of all objects are
            // then requested again.
            if zip(new, keys).contains(where: { kept[$0.entity.rootIndex]?.contains($1) == true }) {
                for object in objects { context.changeTracker.reservedKeys[object.primaryKey] = nil }
                return try namedKeys(for: objects, in: store, obtain)
            }
            for (object, key) in zip(new, keys) { found[ObjectIdentifier(object)] = key }
        }
        for object in objects where object.hasTemporaryID {
            guard let key = found[ObjectIdentifier(object)],
                let other = context.identityMap.registered(store: store, root: object.entity.root, primaryKey: key)
            else { continue }
            throw CoreError(
                .invalidArgument, code: .persistentStoreSave,
                "\(Coordinator.shown(store.path)) returned the reference of \(other.objectID.uri) for a new "
                    + "\(object.entity.name); return references that are unique in the entity tree and never reused",
                entity: object.entity.name, objectURI: other.objectID.uri,
                file: store.path)
        }
        return objects.map { found[ObjectIdentifier($0)] ?? $0.primaryKey }
    }

    /// Replaces a temporary ID by a permanent one. The temporary ID still identifies the object.
    func makePermanent(_ object: ManagedObject, store: Store, key: Int64) {
        let temporary = object.primaryKey
        let identityMap = context.identityMap
        identityMap.unregister(object)
        object.store = store
        object.primaryKey = key
        let index = identityMap.index(store: store, root: object.entity)
        identityMap.enter(object, identityMap.tables[index].table)
        identityMap.note(temporary, became: key, inTableAt: index)
        if !context.links.children.isEmpty {
            context.links.note(
                Renaming(root: object.entity.rootIndex, reference: temporary, store: store, key: key))
        }
    }
}
