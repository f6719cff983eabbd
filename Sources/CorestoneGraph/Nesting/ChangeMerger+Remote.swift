import CorestoneModel
import CorestonePredicate
import CorestoneValues

// Automatic merging of remote changes into contexts.
extension ChangeMerger {
    /// Merges writes of other writers to a store, or the changes of a batch request.
    func merge(_ changes: ExternalChanges, of store: Store) throws {
        if changes.isBatch { return try merge(batch: changes, of: store) }
        if !store.isOpen || context.generation?.isChosen == true { return }
        try context.advanceGeneration()
        func ids(_ rows: [RowKey]) -> [ObjectID] {
            rows.map { ObjectID(store: store, entity: context.entity(at: $0.entity), reference: $0.primaryKey) }
        }
        var found = ChangedIDs(
            inserted: ids(changes.inserted), updated: ids(changes.updated), deleted: ids(changes.deleted))
        if !changes.isComplete {
            try compareVersions(with: store, &found)
            // The tracked results may contain changed rows without registered objects.
            context.changeTracker.noteEverythingMerged()
        }
        try compareDerived(with: store, &found)
        if !found.isEmpty || !changes.isComplete && context.observation.trackers.hasObservers(.event) {
            try mergeChanges(found, late: [])
        }
        // Nested contexts may have registered other objects.
        for child in context.links.children.merging { child.post(changes, of: store) }
    }

    /// Adds the loaded objects whose version in the store differs, and objects whose row does not exist.
    ///
    /// Objects whose rows were deleted and exist again are added as inserted.
    func compareVersions(with store: Store, _ found: inout ChangedIDs) throws {
        var groups = GroupedElements<Entity, ManagedObject>()
        for object in context.everyObject
        where object.store === store && object.state.isDisjoint(with: [.inserted, .detached, .inaccessible]) {
            groups.add(object, to: object.entity.root)
        }
        found.inserted += try returned(to: store)
        for (root, objects) in groups.list {
            let versions = try context.reading(store) {
                try $0.versions(of: root, primaryKeys: objects.map(\.primaryKey))
            }
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
        let slots = context.entities.map(\.slotsOfOtherRows)
        if slots.allSatisfy(\.isEmpty) { return }
        let reported = Set(found.updated + found.deleted)
        var groups = GroupedElements<Entity, ManagedObject>()
        for object in context.everyObject
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
        let fresh = try context.reading(store) { try $0.rows(of: root, primaryKeys: objects.map(\.primaryKey)) }
        withExtendedLifetime(fresh.chunks) {
            for row in fresh.records {
                guard let object = context.identityMap.registered(store: store, root: root, primaryKey: row.primaryKey),
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
