import CorestoneModel
import CorestoneValues

/// The transfer of the changes of a save from a nested context to its parent.
///
/// Values that changed in the child replace those of the parent for the same property. Other values of the parent
/// remain. The parent updates inverses and applies delete rules itself, so that its graph stays consistent even if the
/// parent has changed since the child read it.
struct NestedSave {
    let plan: SavePlan
    let child: Context
    let parent: Context
    /// The parent's objects for the inserted objects of the plan, in the plan's order.
    var inserted: [ManagedObject] = []
    /// The parent's objects for the updated objects of the plan, in the plan's order.
    var updated: [ManagedObject] = []
    /// The parent's objects to be deleted.
    var deleted: [ManagedObject] = []

    init(_ plan: SavePlan, from child: Context, into parent: Context) {
        self.plan = plan
        self.child = child
        self.parent = parent
    }

    private var changed: [(object: ManagedObject, own: ManagedObject)] {
        Array(zip(plan.inserted + plan.updated, inserted + updated))
    }

    // MARK: Preparation

    /// Looks up the parent's objects and reads the rows that the changes require.
    ///
    /// All rows are read here, because a failure of a later step would leave the parent partly changed.
    ///
    /// - Throws: `.conflict` if an updated object was deleted in the parent or the store, or the parent discarded it.
    ///   The store's error if a row cannot be read.
    mutating func prepare() throws {
        updated = plan.updated.map { parent.counterpart(of: $0) }
        deleted = plan.deleted.map { parent.counterpart(of: $0) }
        try parent.faultLoader.loadRows(of: updated + deleted)
        var conflicts: [CoreError] = []
        for (object, own) in zip(plan.updated, updated) {
            if own.isDeleted || own.record == nil && !own.state.contains(.inserted) {
                conflicts.append(object.lostInParentError())
                continue
            }
            try own.fireIfNeeded()
            try prepareRelationships(of: object, own)
        }
        if conflicts.count == 1 { throw conflicts[0] }
        if !conflicts.isEmpty {
            throw CoreError(
                .conflict, code: .managedObjectMerge,
                "\(conflicts.count) objects, the first of them \(conflicts[0].objectURI ?? "unknown"), have changes but "
                    + "were deleted elsewhere, or the parent context was rolled back or reset; call "
                    + "cst_context_rollback (rollback), or delete the objects in this context with "
                    + "cst_context_delete (delete)",
                entity: conflicts[0].entity, objectURI: conflicts[0].objectURI, children: conflicts)
        }
        for object in plan.inserted { try prepareTargets(of: object, nil) }
        // Objects that are also deleted in the parent, or do not have a row any more, are skipped.
        deleted = deleted.filter { !$0.isDeleted && ($0.record != nil || $0.state.contains(.inserted)) }
    }

    private func prepareRelationships(of object: ManagedObject, _ own: ManagedObject) throws {
        try prepareTargets(of: object, own)
        for collection in object.keptToManyRelationships where collection.isOrderChanged {
            try collection.load()
            try own.toMany(collection.relationship).load()
        }
    }

    /// Fires the faults of objects whose side of a one-to-one relationship the transfer will change.
    private func prepareTargets(of object: ManagedObject, _ own: ManagedObject?) throws {
        for (relationship, target) in object.changedTargets {
            guard let inverse = relationship.resolvedInverse, !inverse.isToMany else { continue }
            if let old = try own?.target(of: relationship) { try old.unlessRowIsMissing { try old.fireIfNeeded() } }
            guard let target, !target.state.contains(.inserted), let counterpart = try present(target) else { continue }
            let partner = try counterpart.target(of: inverse)
            try partner?.unlessRowIsMissing { try partner?.fireIfNeeded() }
        }
    }

    /// Returns the conflicts, by store, of objects that were saved elsewhere since the child read them.
    ///
    /// The parent already has the newer rows of these objects. Without this check, changes that are based on older rows
    /// would overwrite the newer rows without a conflict.
    func conflicts() -> [(key: Store, elements: [MergeConflict])] {
        var conflicts = GroupedElements<Store, MergeConflict>()
        // Retains the rows that are written here until the conflicts retain them.
        var writer: RecordWriter?
        let deletions = plan.deleted.map { ($0, parent.counterpart(of: $0)) }
        for (object, own) in Array(zip(plan.updated, updated)) + deletions {
            guard let store = own.store, own.conflictsWithChanges(of: object) else { continue }
            var row = own.record.map { Record($0) }
            if own.hasChanges {
                var open = writer ?? RecordWriter()
                row = own.writeValues(&open)
                writer = open
                object.state.insert(.nested)
            }
            conflicts.add(
                MergeConflict(object, row: row, cached: row, in: child, store: store, key: object.primaryKey), to: store
            )
        }
        return withExtendedLifetime(writer) { conflicts.list }
    }

    // MARK: Changes

    mutating func write() throws {
        inserted = plan.inserted.map { parent.insertCopy(of: $0) }
        for (object, own) in changed { own.copyValues(of: object) }
        for (object, own) in changed {
            for (relationship, target) in object.changedTargets {
                // A target that was deleted in the parent becomes nil. If a target is required, the validation in the
                // parent's save fails.
                try own.setTarget(try target.flatMap(present), of: relationship)
            }
        }
        for (object, own) in changed { try writeMembers(of: object, own) }
        // The nested context has already run the deletion hooks.
        for own in deleted where !own.isDeleted { parent.deleteRules.markDeleted(own) }
    }

    private func writeMembers(of object: ManagedObject, _ own: ManagedObject) throws {
        for collection in object.keptToManyRelationships where collection.hasChanges {
            let relationship = collection.relationship
            let parentMembers = try own.toMany(relationship)
            // If this side does not own the join rows, the change is transferred from the inverse or the to-one side.
            if relationship.ownsJoinRows {
                let inverse = relationship.resolvedInverse
                for member in collection.removedMembers where !member.isGone {
                    guard let ownMember = try present(member) else { continue }
                    parentMembers.remove(ownMember)
                    if let inverse { try ownMember.toMany(inverse).remove(own) }
                }
                for member in collection.addedMembers where member.state.isDisjoint(with: [.deleted, .detached]) {
                    guard let ownMember = try present(member) else { continue }
                    parentMembers.add(ownMember)
                    if let inverse { try ownMember.toMany(inverse).add(own) }
                }
            }
            if relationship.isOrdered, collection.isOrderChanged { try writeOrder(collection, parentMembers) }
        }
    }

    /// Returns the parent's object for a target or a member.
    ///
    /// Returns nil if the object was deleted in the parent, or was never saved and is not in the parent.
    private func present(_ object: ManagedObject) throws -> ManagedObject? {
        let own =
            object.hasTemporaryID
            ? try parent.registeredCounterpart(of: object) ?? parent.unsavedObject(with: object.objectID)
            : parent.counterpart(of: object)
        return own?.isDeleted == true ? nil : own
    }

    /// Arranges the parent's members in the child's order, followed by the members that only the parent has.
    private func writeOrder(_ collection: ToManyRelationship, _ parentMembers: ToManyRelationship) throws {
        let members = try parentMembers.all()
        var (rest, order) = (ObjectList(members), ObjectList())
        for member in try collection.all() where member.state.isDisjoint(with: [.deleted, .detached]) {
            let own = parent.counterpart(of: member)
            if rest.remove(own, keepingOrder: true) { _ = order.append(own) }
        }
        for own in rest.objects { _ = order.append(own) }
        if !order.objects.elementsEqual(members, by: ===) { parentMembers.arrange(order.objects) }
    }

    // MARK: Commit

    /// Removes the moved changes from the nested context.
    func commit() {
        var writer = RecordWriter(expectedBytes: (plan.inserted.count + plan.updated.count) * 128)
        for object in plan.inserted + plan.updated {
            object.didSave(object.writeValues(&writer))
            object.state.insert(.nested)
        }
        for object in plan.missingRowUpdates { object.dropChanges() }
        child.forgetMembers(among: plan.deleted)
        for object in plan.deleted {
            child.identityMap.unregister(object)
            object.leaveContext()
        }
    }
}

extension Context {
    /// Inserts an object into this context for an object that a nested context inserted.
    fileprivate func insertCopy(of object: ManagedObject) -> ManagedObject {
        let own = ManagedObject(
            entity: object.entity, context: self, store: object.store, primaryKey: object.primaryKey, state: [.inserted]
        )
        identityMap.register(own)
        changeTracker.noteInserted(own)
        if let store = object.context?.changeTracker.assignedStores[ObjectIdentifier(object)] {
            changeTracker.assign(store, to: own)
        }
        return own
    }
}

extension ManagedObject {
    /// Whether the object's row is newer than that of a nested context's object and conflicts with the child's changes.
    ///
    /// The newer row has another value of a property that the child changed, or of any property if the child deletes
    /// the object. Properties with pending changes in the parent do not count, because the child's changes replace
    /// these changes.
    fileprivate func conflictsWithChanges(of other: ManagedObject) -> Bool {
        guard let record, let former = other.record, !isDeleted, version > other.version else { return false }
        let (base, now) = (Record(former), Record(record))
        return entity.snapshotSlots.contains { slot in
            if overlay?.isChanged(slot) == true || !other.isDeleted && !other.differsFromBase(slot) { return false }
            let layout = entity.layout.slots[slot]
            if layout.role == .toOne { return other.committedTargetKey(slot) != committedTargetKey(slot) }
            return !base.isEqual(to: now, slot, layout)
        }
    }

    /// Returns the primary key of the target in the row.
    ///
    /// Returns the permanent key if the target had a temporary one when the row was written.
    private func committedTargetKey(_ slot: Int) -> Int64? {
        guard let record, let (key, index) = Record(record).target(slot, entity.layout.slots[slot]) else { return nil }
        guard key < 0, let context else { return key }
        return context.identityMap.permanentKey(of: key, root: context.entity(at: index).root) ?? key
    }

    /// Copies the attributes that have unsaved changes in another context's object.
    fileprivate func copyValues(of other: ManagedObject) {
        guard let overlay = other.overlay else { return }
        for slot in 0..<Int(entity.slotCount) where overlay.isChanged(slot) {
            switch entity.layout.slots[slot].role {
            case .attribute, .external, .transient: write(overlay[slot], slot)
            case .composite, .toOne, .toMany: break
            }
        }
    }

    /// The changed to-one relationships with their current targets; nil for deleted targets.
    fileprivate var changedTargets: [(relationship: Relationship, target: ManagedObject?)] {
        guard let overlay else { return [] }
        var targets: [(Relationship, ManagedObject?)] = []
        for slot in 0..<Int(entity.slotCount) where overlay.isChanged(slot) && entity.layout.slots[slot].role == .toOne
        {
            if case .object(let target as ManagedObject) = overlay[slot],
                target.state.isDisjoint(with: [.deleted, .detached])
            {
                targets.append((entity.relationship(slot), target))
            } else {
                targets.append((entity.relationship(slot), nil))
            }
        }
        return targets
    }

    fileprivate func lostInParentError() -> CoreError {
        CoreError(
            .conflict, code: .managedObjectMerge,
            "\(entity.name) \(objectID.uri) has changes but was deleted in the parent context or in the store, or the "
                + "parent was rolled back or reset; call cst_context_rollback (rollback), or delete the object in this "
                + "context with cst_context_delete (delete)",
            entity: entity.name,
            objectURI: objectID.uri)
    }
}

extension Context {
    /// Throws if this context is running a lifecycle hook, a validator or its merge policy.
    func refuseDuringSave() throws {
        try refuseInHook("save a child context of the context that runs it")
        if hookState.isRunningValidators {
            throw CoreError(
                .invalidArgument,
                "a validator must not save a child context of the context that runs it; call cst_context_save "
                    + "(save) after the validation has ended")
        }
    }
}
