import CorestoneModel

/// The primary keys of the objects in a lazy list, and the objects of the batches that were used last.
final class ObjectBatches {
    /// The primary key, entity and store of one object, in 16 bytes.
    struct Entry {
        let primaryKey: Int64
        let entity: UInt32
        /// The index of the object's store in `Found.stores`.
        let store: UInt32
    }

    /// The objects that a fetch found.
    struct Found {
        var entries: [Entry] = []
        var stores: [Store] = []
        /// Unsaved objects by index, because their keys change.
        var unsaved: [Int: ManagedObject] = [:]

        mutating func place(of store: Store) -> UInt32 {
            if let place = stores.firstIndex(where: { $0 === store }) { return UInt32(place) }
            stores.append(store)
            return UInt32(stores.count - 1)
        }

        mutating func append(_ object: ManagedObject) {
            if object.hasTemporaryID { unsaved[entries.count] = object }
            let store = object.store.map { place(of: $0) } ?? 0
            entries.append(Entry(primaryKey: object.primaryKey, entity: object.entity.index, store: store))
        }
    }

    private let context: Context
    private let found: Found
    private let postFetchOptions: PostFetchOptions
    private let readsRows: Bool
    /// The keys of the required properties; nil for all.
    private let keys: Set<UInt32>?
    let size: Int
    /// The batches in memory, in the order of their last use.
    private var held: [(number: Int, objects: [ManagedObject])] = []

    /// The maximum number of batches in memory.
    ///
    /// Four batches are sufficient to compare objects at two positions with objects at two other positions.
    private static let maximumHeld = 4

    init(_ found: Found, _ request: FetchRequest, keys: Set<UInt32>?, _ context: Context) {
        self.context = context
        self.found = found
        self.keys = keys
        postFetchOptions = PostFetchOptions(request)
        readsRows = request.includesPropertyValues
        size = request.batchSize
    }

    private init(_ found: Found, of other: ObjectBatches) {
        (self.found, context, postFetchOptions, readsRows, keys, size) =
            (found, other.context, other.postFetchOptions, other.readsRows, other.keys, other.size)
    }

    var entries: [Entry] { found.entries }

    func object(at index: Int) throws -> ManagedObject {
        let number = index / size
        return try batch(number)[index - number * size]
    }

    /// Returns an object. On another thread, waits for the context's private queue.
    ///
    /// If the batch cannot be read, the object is a fault.
    func heldObject(at index: Int) -> ManagedObject {
        context.onQueue { (try? object(at: index)) ?? fault(at: index) }
    }

    func objectID(at index: Int) -> ObjectID {
        if let unsaved = found.unsaved[index] { return unsaved.objectID }
        let entry = found.entries[index]
        return ObjectID(
            store: found.stores[Int(entry.store)], entity: context.entity(at: entry.entity),
            reference: entry.primaryKey)
    }

    func choosing(_ indices: [Int]) -> ObjectBatches {
        var chosen = Found(stores: found.stores)
        chosen.entries.reserveCapacity(indices.count)
        for index in indices {
            if let unsaved = found.unsaved[index] { chosen.unsaved[chosen.entries.count] = unsaved }
            chosen.entries.append(found.entries[index])
        }
        return ObjectBatches(chosen, of: self)
    }

    private func batch(_ number: Int) throws -> [ManagedObject] {
        // After a reset of the context, the objects of the batches are invalid.
        if let last = held.last, last.objects.allSatisfy(\.isGone) { held = [] }
        if let last = held.last, last.number == number { return last.objects }
        if let place = held.firstIndex(where: { $0.number == number }) {
            held.append(held.remove(at: place))
            return held[held.count - 1].objects
        }
        let objects = try read(number)
        if held.count == ObjectBatches.maximumHeld { held.removeFirst() }
        held.append((number, objects))
        return objects
    }

    /// Reads a batch.
    ///
    /// Rows that are not loaded are read together, unless the request excludes property values. Loaded objects change
    /// only if the request refreshes them. An object whose row was deleted is a fault.
    private func read(_ number: Int) throws -> [ManagedObject] {
        try context.checkQueue()
        let first = number * size
        let objects = (first..<min(first + size, found.entries.count)).map { fault(at: $0) }
        try context.withAncestors {
            if postFetchOptions.refreshes {
                try context.fetchExecutor.refreshRefetched(objects, of: postFetchOptions.entity)
            }
            if readsRows {
                if let keys {
                    try context.faultLoader.loadParts(of: objects, postFetchOptions.entity, keys)
                } else {
                    try context.faultLoader.loadRows(of: objects)
                }
            }
            try context.fetchExecutor.applyOptions(postFetchOptions, for: objects)
        }
        return objects
    }

    private func fault(at index: Int) -> ManagedObject {
        if let unsaved = found.unsaved[index] { return unsaved }
        let entry = found.entries[index]
        return context.identityMap.object(
            store: found.stores[Int(entry.store)], entity: context.entity(at: entry.entity),
            primaryKey: entry.primaryKey)
    }
}

extension Context {
    /// Returns the primary keys of the objects of a request.
    ///
    /// Rows are read only if they must be evaluated in memory, and in batches if possible.
    func foundEntries(_ request: FetchRequest) throws -> ObjectBatches.Found {
        var found = ObjectBatches.Found()
        let stores = try fetchExecutor.stores(for: request)
        if !fetchExecutor.hasPendingChanges(for: request), stores.count == 1, let store = stores.first {
            let outcome = try fetchExecutor.run(request.storeFetch(.identifiers), store: store)
            if outcome.remainder == nil {
                found.stores = [store]
                found.entries = outcome.identifiers.map {
                    ObjectBatches.Entry(primaryKey: $0.primaryKey, entity: $0.entity, store: 0)
                }
                return found
            }
        }
        let plain = request.copy()
        (plain.relationshipKeyPathsForPrefetching, plain.returnsObjectsAsFaults) = ([], true)
        let cursor = try FetchCursor(self, plain, batchSize: 1000)
        while true {
            let batch = try cursor.next()
            if batch.isEmpty { return found }
            for object in batch { found.append(object) }
        }
    }
}
