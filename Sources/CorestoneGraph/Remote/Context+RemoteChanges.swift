import CorestoneModel
import CorestonePredicate
import CorestoneValues

// Automatic merging of remote changes into contexts.
extension Context {
    /// Whether the context automatically merges saves of other processes. Default: false.
    ///
    /// Saves of other coordinators of this process are included. The changes are merged as by `mergeChanges`: objects
    /// in memory are read again and keep their own changes, and objects of deleted rows are deleted. Can be set on any
    /// thread.
    ///
    /// The merge runs on the context's queue. A context with a private queue or of the main queue merges as soon as the
    /// queue is free. A context that is confined to a thread merges when it next processes pending changes, or when it
    /// fetches without having changes of its own.
    ///
    /// The changes are read from the history of the store. Without a history, or if there are too many changes, the
    /// versions of all registered objects are compared with those in the store. The next fetch then finds the inserted
    /// rows. Saves from before the property was set are not merged.
    ///
    /// The property cannot be set for a child context. A child context that merges the saves of its parent also merges
    /// the remote changes that the parent has merged. A context that is pinned to the current state advances to the
    /// newest state with each merge. A context that `setQueryGeneration` pinned to another token does not merge.
    public var automaticallyMergesRemoteChanges: Bool {
        get { links.inbox.mergesRemote.load(ordering: .relaxed) }
        set { try? setMergesRemoteChanges(newValue) }
    }

    /// Sets `automaticallyMergesRemoteChanges`.
    ///
    /// - Throws: `.invalidArgument` for a child context; `.noMemory` or `.storeIO` if a store cannot be watched.
    package func setMergesRemoteChanges(_ merges: Bool) throws {
        guard parent == nil else {
            throw CoreError(
                .invalidArgument,
                "a child context does not read stores and cannot merge remote changes; call "
                    + "cst_context_set_merges_remote_changes (automatically_merges_remote_changes) for the parent, and "
                    + "cst_context_set_automatically_merges (automatically_merges) for the child")
        }
        if links.inbox.mergesRemote.exchange(merges, ordering: .relaxed) == merges { return }
        guard merges else { return coordinator.remote.remove(links.inbox, in: coordinator) }
        do { try coordinator.remote.add(links.inbox, in: coordinator) } catch {
            links.inbox.mergesRemote.store(false, ordering: .relaxed)
            throw error
        }
    }

    /// Merges writes of other writers to a store, or the changes of a batch request.
    func merge(_ changes: ExternalChanges, of store: Store) throws {
        if changes.isBatch { return try merge(batch: changes, of: store) }
        if !store.isOpen || generation?.isChosen == true { return }
        try advanceGeneration()
        func ids(_ rows: [RowKey]) -> [ObjectID] {
            rows.map { ObjectID(store: store, entity: entity(at: $0.entity), reference: $0.primaryKey) }
        }
        var found = ChangedIDs(
            inserted: ids(changes.inserted), updated: ids(changes.updated), deleted: ids(changes.deleted))
        if !changes.isComplete {
            try compareVersions(with: store, &found)
            // The tracked results may contain changed rows without registered objects.
            changeTracker.noteEverythingMerged()
        }
        try compareDerived(with: store, &found)
        if !found.isEmpty || !changes.isComplete && observation.trackers.hasObservers(.event) {
            try mergeChanges(found)
        }
        // Child contexts may have registered other objects.
        for child in links.children.merging { child.post(changes, of: store) }
    }

    /// Adds the loaded objects whose version in the store differs, and objects whose row does not exist.
    ///
    /// Objects whose rows were deleted and exist again are added as inserted.
    func compareVersions(with store: Store, _ found: inout ChangedIDs) throws {
        var groups = GroupedElements<Entity, ManagedObject>()
        for object in everyObject
        where object.store === store && object.state.isDisjoint(with: [.inserted, .detached, .inaccessible]) {
            groups.add(object, to: object.entity.root)
        }
        found.inserted += try returned(to: store)
        for (root, objects) in groups.list {
            let versions = try reading(store) { try $0.versions(of: root, primaryKeys: objects.map(\.primaryKey)) }
            for object in objects {
                guard let version = versions[object.primaryKey] else {
                    found.deleted.append(object.objectID)
                    continue
                }
                let isKnown = object.record != nil || object.state.contains(.partial)
                if isKnown && object.version != version { found.updated.append(object.objectID) }
            }
        }
    }
    /// Adds the objects with a changed value of an attribute that is derived from other rows.
    ///
    /// Such a change neither increments the version nor appears in the history.
    private func compareDerived(with store: Store, _ found: inout ChangedIDs) throws {
        let slots = entities.map(\.slotsOfOtherRows)
        if slots.allSatisfy(\.isEmpty) { return }
        let reported = Set(found.updated + found.deleted)
        var groups = GroupedElements<Entity, ManagedObject>()
        for object in everyObject
        where object.store === store && object.record != nil && !slots[Int(object.entity.index)].isEmpty
            && object.state.isDisjoint(with: [.inserted, .detached]) && !reported.contains(object.objectID)
        {
            groups.add(object, to: object.entity.root)
        }
        for (root, objects) in groups.list {
            try forEachNewestRow(of: objects, root, store) { object, known, row in
                let layouts = object.entity.layout.slots
                let isOther = slots[Int(object.entity.index)].contains { !known.isEqual(to: row, $0, layouts[$0]) }
                if isOther { found.updated.append(object.objectID) }
            }
        }
    }

    /// Calls `body` with each loaded object whose row exists in the store, its loaded row, and the stored row.
    func forEachNewestRow(
        of objects: [ManagedObject], _ root: Entity, _ store: Store,
        _ body: (_ object: ManagedObject, _ known: Record, _ newest: Record) -> Void
    ) throws {
        let fresh = try reading(store) { try $0.rows(of: root, primaryKeys: objects.map(\.primaryKey)) }
        withExtendedLifetime(fresh.chunks) {
            for row in fresh.records {
                guard let object = identityMap.registered(store: store, root: root, primaryKey: row.primaryKey),
                    let known = object.record
                else { continue }
                body(object, Record(known), row)
            }
        }
    }
}

extension Entity {
    /// The slots of attributes that are derived from other rows.
    var slotsOfOtherRows: [Int] {
        (0..<Int(slotCount)).filter { slot in
            let derivation = (properties[slot] as? Attribute)?.derivation
            return derivation?.expression.expression?.keyPaths.contains {
                property(named: $0.keys[0].text) is Relationship
            } ?? false
        }
    }
}
