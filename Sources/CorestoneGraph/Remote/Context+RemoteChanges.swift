import CorestoneModel
import CorestonePredicate
import CorestoneValues

// What another process saved comes into contexts that asked for it.
extension Context {
    /// Whether the context merges, by itself, what other processes save, and other coordinators of this one, as `mergeChanges`
    /// merges: objects without changes get the new values, changed ones keep their changes on top, inserted ones come in, deleted
    /// ones go. False at first. Any thread may set it.
    ///
    /// It merges on its own queue: one with a private queue or of the main queue as soon as that is free, one that is confined to
    /// a thread when it next fetches or processes pending changes. Of a store with a history it learns exactly what changed; of
    /// one without, it compares the versions of all objects that it has registered with those in the store, by one query for
    /// each hundred. What was saved before it began to listen, it does not learn.
    ///
    /// A child has nothing to set: it merges what its parent merges, if it merges what its parent saves. A context that is pinned
    /// moves on to the newest state with each merge; but one that was pinned to the token of a state merges nothing
    /// (`setQueryGeneration`).
    public var automaticallyMergesRemoteChanges: Bool {
        get { links.inbox.mergesRemote.load(ordering: .relaxed) }
        set { try? setMergesRemoteChanges(newValue) }
    }

    /// - Throws: `.invalidArgument` for a child; `.noMemory` or `.storeIO` when the system lets no store be watched.
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

    /// Merges what others wrote into a store.
    func takeIn(_ changes: ForeignChanges, of store: Store) throws {
        if changes.isBatch { return try takeIn(batch: changes, of: store) }
        if !store.isOpen || generation?.isChosen == true { return }
        try advanceGeneration()
        func ids(_ rows: [RowKey]) -> [ObjectID] {
            rows.map { ObjectID(store: store, entity: entity(at: $0.entity), reference: $0.primaryKey) }
        }
        var found = ChangedIDs(
            inserted: ids(changes.inserted), updated: ids(changes.updated), deleted: ids(changes.deleted))
        if !changes.isComplete {
            try compareVersions(with: store, &found)
            // Results have rows that nobody has registered.
            noteEverythingMerged()
        }
        try compareDerived(with: store, &found)
        if !found.isEmpty || !changes.isComplete && observation.trackers.hears(.event) { try mergeChanges(found) }
        // They know objects that this one does not.
        for child in links.children.merging { child.post(changes, of: store) }
    }

    /// Adds the registered objects that have another version in their store, or none; and those that others deleted whose rows
    /// are there again.
    func compareVersions(with store: Store, _ found: inout ChangedIDs) throws {
        var groups = Groups<Entity, ManagedObject>()
        for object in everyObject
        where object.store === store && object.state.isDisjoint(with: [.inserted, .gone, .inaccessible]) {
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
    /// Adds the objects that have another value of an attribute that is derived from other rows. Such a change raises no version,
    /// and no history tells of it.
    private func compareDerived(with store: Store, _ found: inout ChangedIDs) throws {
        let slots = entities.map(\.slotsOfOtherRows)
        if slots.allSatisfy(\.isEmpty) { return }
        let told = Set(found.updated + found.deleted)
        var groups = Groups<Entity, ManagedObject>()
        for object in everyObject
        where object.store === store && object.record != nil && !slots[Int(object.entity.index)].isEmpty
            && object.state.isDisjoint(with: [.inserted, .gone]) && !told.contains(object.objectID)
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

    /// Hands over registered objects that have a row, with that and the one that the store has now.
    func forEachNewestRow(
        of objects: [ManagedObject], _ root: Entity, _ store: Store,
        _ body: (_ object: ManagedObject, _ known: Record, _ newest: Record) -> Void
    ) throws {
        let fresh = try reading(store) { try $0.rows(of: root, primaryKeys: objects.map(\.primaryKey)) }
        withExtendedLifetime(fresh.chunks) {
            for row in fresh.records {
                guard let object = registered(store: store, root: root, primaryKey: row.primaryKey),
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
