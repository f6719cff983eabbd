import CorestoneModel
import CorestoneValues

// Partial fetches: a request that lists properties loads only their values. The whole row is loaded when another
// property is read.
extension FetchRequest {
    /// Returns the keys of the properties to load with the objects; nil for all.
    ///
    /// - Throws: `.invalidArgument` for an expression, a key path, or a property that is not stored in the row.
    func partKeys() throws -> Set<UInt32>? {
        if propertiesToFetch.isEmpty { return nil }
        var keys: Set<UInt32> = []
        for column in propertiesToFetch {
            guard case .property(let name) = column else {
                throw invalidPropertyError(
                    column.name, "is computed; call cst_context_fetch_rows (fetch_rows, fetchDictionaries) instead")
            }
            if name.utf8.contains(UInt8(ascii: ".")) {
                throw invalidPropertyError(name, "is a key path; use a property of the entity")
            }
            let property = try entity.requireProperty(named: name)
            if property.isTransient || property is FetchedProperty {
                throw invalidPropertyError(name, "is not stored; leave it out")
            }
            if let relationship = property as? Relationship, relationship.isToMany {
                throw invalidPropertyError(
                    name,
                    "is a to-many relationship; prefetch it with cst_fetch_request_set_prefetch (prefetch, "
                        + "relationshipKeyPathsForPrefetching) instead")
            }
            keys.insert(property.key)
            for element in (property as? Attribute)?.elements ?? [] { keys.insert(element.key) }
        }
        return keys
    }

    private func invalidPropertyError(_ name: String, _ problem: String) -> CoreError {
        CoreError(
            .invalidArgument, "cannot fetch \"\(name)\" of \(entity.name) objects: it \(problem)", entity: entity.name,
            key: name)
    }

    /// Whether partial rows are sufficient for the other settings of the request.
    fileprivate var allowsPartialRows: Bool {
        returnsObjectsAsFaults && !shouldRefreshRefetchedObjects && relationshipKeyPathsForPrefetching.isEmpty
    }
}

extension FaultLoader {
    /// Returns the keys to which a store may limit the rows; nil if whole rows are required.
    func partKeys(_ request: FetchRequest) throws -> Set<UInt32>? {
        let keys = try request.partKeys()
        return context.parent == nil && request.allowsPartialRows && context.stalenessInterval < 0 ? keys : nil
    }

    /// Loads some properties of objects whose rows are not loaded. Objects whose rows were deleted do not change.
    func loadParts(of objects: [ManagedObject], _ entity: Entity, _ keys: Set<UInt32>) throws {
        let unloaded = objects.filter { $0.record == nil && !$0.state.contains(.inserted) && !$0.hasTemporaryID }
        for (store, objects) in byStore(unloaded) {
            let references = objects.map { PropertyValue.object(ObjectIDReference($0.objectID)) }
            var fetch = StoreFetch(entity: entity, predicate: .oneOf(references))
            fetch.keys = keys
            let outcome = try context.fetchExecutor.run(fetch, store: store)
            if outcome.isPartial {
                _ = self.objects(forParts: outcome.batch, keys: keys, store: store)
            } else {
                _ = context.fetchExecutor.objects(for: outcome.batch, entity: entity, store: store)
            }
        }
    }

    /// Returns the registered object of each row: a fault with a partial row, unless its whole row is loaded.
    func objects(forParts batch: RowBatch, keys: Set<UInt32>, store: Store) -> [ManagedObject] {
        var unloaded: [ManagedObject] = []
        let objects = batch.records.map { record in
            let object = context.identityMap.object(
                store: store, entity: context.entity(at: record.header.pointee.entity), primaryKey: record.primaryKey)
            if object.isFault {
                if object.record != nil, object.version != record.version { object.turnIntoFault() }
                if object.record == nil {
                    object.setPart(RowPart(record: record, chunk: record.chunk.takeUnretainedValue(), keys: keys))
                    unloaded.append(object)
                }
            }
            return object
        }
        if let root = unloaded.first?.entity.root {
            context.faultState.groups.group(unloaded, root: root, store: store)
        }
        return objects
    }
}
