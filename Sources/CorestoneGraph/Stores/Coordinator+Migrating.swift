import CorestoneModel
import CorestoneValues

extension Coordinator {
    /// Copies all objects of a store to another store, which replaces the former store in the coordinator.
    ///
    /// The former store is removed from the coordinator, but its file stays.
    ///
    /// - Parameter backing: An empty store, which the coordinator owns from then on. If the call fails, the store is
    ///   closed.
    package func migrate(
        _ store: Store, to backing: any PersistentStore, warnings: [String] = [],
        options: StoreOptions = StoreOptions(),
        progress: @escaping (_ done: Int, _ total: Int) -> Bool = { _, _ in true }
    ) throws -> Store {
        let new: Store
        let ids: [ObjectID]
        // Until the coordinator has taken ownership, this function must close the store.
        var isOurs = true
        do {
            (new, ids) = try performAndWait(
                "migrate \(Coordinator.shown(store.path)) to \(Coordinator.shown(backing.path))"
            ) {
                try requireOwn(store)
                try requireMayAdd(backing)
                try check(backing.abilities, ofStoreAt: backing.path)
                let copy = try copied(store, into: backing, progress)
                isOurs = false
                let new = try keep(
                    backing, configuration: store.configuration, warnings: warnings, options: options,
                    inPlaceOf: store)
                return (new, copy.migratedIDs(from: store, to: new))
            }
        } catch {
            if isOurs { backing.close() }
            throw error
        }
        try? remote.update(self)
        post(.storesDidChange, StoreChanges(added: [new]))
        post(.storesDidChange, StoreChanges(uuidChanged: StoreReplacement(old: store, new: new, migratedIDs: ids)))
        // An observer may have removed the store.
        if stores.contains(where: { $0 === store }) { try remove(store) }
        return new
    }

    private func copied(
        _ store: Store, into backing: any PersistentStore, _ progress: @escaping (Int, Int) -> Bool
    ) throws -> StoreCopy {
        for root in model.entities where root.parent == nil {
            guard try backing.fetch(StoreFetch(entity: root, result: .count)).count == 0 else {
                throw CoreError(
                    .invalidArgument, code: .persistentStoreOperation,
                    "\(Coordinator.shown(backing.path)) contains \(root.name) objects, but a migration needs an empty "
                        + "store; choose an unused path, or call cst_coordinator_destroy_store (destroy_store, "
                        + "destroyStore) first",
                    entity: root.name, file: backing.path)
            }
        }
        // Other processes must not change the content during the copy, so a snapshot is read. A store without snapshots
        // is locked only within this process.
        let pinned = try? store.backing.pinnedReader()
        defer { if let pinned { store.backing.unpin(pinned) } }
        let metadata = try store.currentMetadata()
        var result: StoreCopy?
        try backing.saveUnmerged("import \(Coordinator.shown(store.path))") { transaction in
            var copy = StoreCopy(
                of: store.backing, read: pinned ?? store.backing, model, metadata, into: transaction,
                of: backing, progress: progress)
            try copy.run()
            result = copy
        }
        guard let result else {
            throw CoreError(
                .internal,
                "the copy of \(Coordinator.shown(store.path)) to \(Coordinator.shown(backing.path)) ended without a result; report it as a defect of the library",
                file: store.path)
        }
        store.wasMigrated(to: backing.path)
        return result
    }
}

extension StoreCopy {
    /// Returns the ID of each row, followed by its new ID.
    fileprivate func migratedIDs(from old: Store, to new: Store) -> [ObjectID] {
        var ids: [ObjectID] = []
        ids.reserveCapacity(2 * keys.reduce(0) { $0 + $1.count })
        for (entity, keys) in zip(model.entities, keys) {
            for key in keys {
                guard let renamed = newKey(key, entity) else { continue }
                ids.append(ObjectID(store: old, entity: entity, reference: key))
                ids.append(ObjectID(store: new, entity: entity, reference: renamed))
            }
        }
        return ids
    }
}
