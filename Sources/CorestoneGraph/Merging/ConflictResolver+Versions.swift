import CorestoneModel
import CorestoneValues

/// Resolution of version conflicts.
///
/// The values of an object are merged in memory with the newest row of the store. This row is then the base of the
/// save.
extension ConflictResolver {
    /// Resolves the conflict of an object with its row.
    ///
    /// - Parameter row: The object's newest row in the store; nil if the row is deleted.
    func merge(_ object: ManagedObject, with row: Record?, as type: MergePolicyType) throws {
        if let row {
            if object.isDeleted {
                // The object stays deleted regardless of changes of the row, unless all of its changes are discarded.
                try object.replacingValues {
                    object.rebase(on: row, keepingOrder: true)
                    if type == .rollback { try revertDeletion(object) } else { try reapplyDeleteRules(object) }
                }
            } else {
                try object.replacingValues { try mergeValues(of: object, with: row, as: type) }
            }
        } else if object.isDeleted {
            context.changeTracker.noteMissingRow(object)
        } else if type == .overwrite || type == .objectTrump && object.hasChanges {
            try object.replacingValues { try reinsert(object) }
        } else {
            try deleteWithoutRules(object)
        }
    }

    // MARK: Changed rows

    private func mergeValues(of object: ManagedObject, with row: Record, as type: MergePolicyType) throws {
        let slots = object.entity.snapshotSlots
        guard row.header.pointee.entity == object.entity.index else { return }
        let base = object.record.map { Record($0) }
        let theirs = slots.filter { slot in
            base.map { !$0.isEqual(to: row, slot, object.entity.layout.slots[slot]) } ?? true
        }
        if type == .rollback { try object.dropAllChanges() }
        for slot in theirs {
            switch type {
            case .storeTrump: try object.discardChange(slot)
            case .overwrite: try object.markChanged(on: slot)
            // An assignment of the same value does not count as a change.
            case .objectTrump where !object.differsFromBase(slot): try object.discardChange(slot)
            case .objectTrump, .rollback, .error: break
            }
        }
        let former = try theirs.map { try object.partner(at: $0) }
        object.rebase(on: row, keepingOrder: type != .storeTrump)
        for (slot, former) in zip(theirs, former) where object.entity.layout.slots[slot].role == .toOne {
            try follow(object.entity.relationship(slot), of: object, from: former)
        }
        object.forgetIfUnchanged()
    }

    /// Updates the other sides of an object's to-one relationship after the newest row has become the object's base.
    ///
    /// If the inverse is to-many, the members of the former target and of the row's target are read again. If the
    /// inverse is to-one, these two targets are refreshed unless they have changes. If the object's own target has
    /// precedence, the inverse of the row's target is cleared, and that of the object's own target is set to the
    /// object.
    func follow(_ relationship: Relationship, of object: ManagedObject, from former: ManagedObject?) throws {
        guard let inverse = relationship.inverse else { return }
        let (slot, layout) = (Int(relationship.slot), object.entity.layout.slots[Int(relationship.slot)])
        var stored: ManagedObject?
        if let store = object.store, let record = object.record, let (key, index) = Record(record).target(slot, layout)
        {
            stored = context.identityMap.object(store: store, entity: context.entity(at: index), primaryKey: key)
        }
        if let stored { context.deleteRules.scheduleAgain(stored) }
        if inverse.isToMany {
            for partner in [former, stored] { partner?.reread(inverse) }
            return
        }
        for partner in [former, stored] {
            guard let partner, !partner.hasChanges, partner !== object else { continue }
            if partner.state.contains(.observed) {
                try context.objectRefresh.refreshObserved([partner])
            } else {
                partner.turnIntoFault()
            }
        }
        let mine = try object.target(of: relationship)
        guard let stored, stored !== mine, object.overlay?.isChanged(slot) == true else { return }
        try stored.unlessRowIsMissing {
            if try stored.target(of: inverse) === object { try stored.writeTarget(nil, inverse) }
        }
        if let mine, try mine.target(of: inverse) !== object { try mine.writeTarget(object, inverse) }
    }

    /// Makes both sides of one-to-one relationships consistent after a merge.
    ///
    /// If the two sides contradict each other, a side that was set here has precedence over a side from the store. If
    /// both sides or neither were set here, the object's side becomes null.
    func restoreOneToOnePairs(of object: ManagedObject) throws {
        for relationship in object.entity.relationships where !relationship.isToMany {
            guard let inverse = relationship.resolvedInverse, !inverse.isToMany,
                let target = try object.target(of: relationship), !target.isDeleted
            else { continue }
            try target.unlessRowIsMissing {
                let other = try target.target(of: inverse)
                if other === object { return }
                guard object.overlay?.isChanged(Int(relationship.slot)) == true,
                    target.overlay?.isChanged(Int(inverse.slot)) != true
                else { return try object.writeTarget(nil, relationship) }
                if let other, !other.isDeleted {
                    try other.unlessRowIsMissing {
                        if try other.target(of: relationship) === target { try other.writeTarget(nil, relationship) }
                    }
                }
                try target.writeTarget(object, inverse)
            }
        }
    }

    /// Makes the delete rules apply to objects that other writers have related to a deleted object.
    private func reapplyDeleteRules(_ object: ManagedObject) throws {
        for relationship in object.entity.relationships where relationship.isToMany {
            let collection = try object.toMany(relationship)
            collection.reload()
            guard let inverse = relationship.inverse, !inverse.isToMany else { continue }
            for member in try collection.all() where !member.isGone && !member.isDeleted && !member.hasChanges {
                // A member with another target has values of an older row.
                if try member.target(of: inverse) !== object { try context.reread(member) }
            }
        }
        context.deleteRules.scheduleAgain(object)
    }

    /// Reverts the deletion of an object and the object's earlier changes.
    ///
    /// References to the object that its delete rules cleared are restored.
    private func revertDeletion(_ object: ManagedObject) throws {
        object.state.subtract([.deleted, .propagated, .propagatesAgain])
        context.changeTracker.pendingDeletions.removeAll { $0 === object }
        let relationships = object.entity.relationships.filter { $0.inverse != nil }
        let former = try relationships.map { try object.targets(of: $0) }
        object.dropChanges()
        // The members are not part of the object's row, and may have changed in the store.
        for collection in object.toManyRelationships { collection?.reload() }
        for (relationship, former) in zip(relationships, former) {
            var all = ObjectList(former)
            for target in try object.targets(of: relationship) { _ = all.append(target) }
            for target in all.objects where !target.isDeleted { try restoreReference(object, at: target, relationship) }
        }
    }

    /// Restores a target's former reference to an object whose deletion was reverted.
    private func restoreReference(_ object: ManagedObject, at target: ManagedObject, _ relationship: Relationship)
        throws
    {
        guard let inverse = relationship.inverse else { return }
        if !inverse.isToMany {
            try target.unlessRowIsMissing { try target.revertTarget(of: inverse) }
        } else {
            let collection = try target.toMany(inverse)
            if target.isInserted || collection.hasRemoved(object) {
                collection.restoringPosition { collection.add(object) }
            }
        }
        target.forgetIfUnchanged()
    }

    // MARK: References of new objects

    /// Resolves the conflict of a new object whose store reference the store reported.
    ///
    /// With `.rollback`, the new object is deleted. If no row has the reference, the next attempt to save the object
    /// requests another reference. If a row has the reference, the new object becomes the row's object. If the row
    /// already has an object in the context, that object receives the values instead.
    ///
    /// - Throws: `.conflict` if the row is of another entity.
    func merge(inserted object: ManagedObject, with row: Record?, as type: MergePolicyType) throws {
        if object.isGone || object.isDeleted { return }
        if type == .rollback { return try abandonNew(object) }
        let (temporary, key) = (object.primaryKey, context.changeTracker.keyForSave(object))
        guard let row else { return context.changeTracker.reservedKeys[temporary] = nil }
        guard let store = object.store ?? context.changeTracker.reservedKeys[temporary]?.store else { return }
        let entity = context.entity(at: row.header.pointee.entity)
        let stored = ObjectID(store: store, entity: entity, reference: key)
        guard entity === object.entity else {
            throw CoreError(
                .conflict, code: .managedObjectMerge,
                "the new \(object.entity.name) has the reference of \(stored.uri), which is already in the store; use a reference "
                    + "that is unique in the entity tree", entity: object.entity.name,
                value: stored.storeReference?.value, objectURI: stored.uri, file: store.path)
        }
        context.changeTracker.reservedKeys[temporary] = nil
        if let known = context.identityMap.registered(with: stored), known !== object {
            try mergeNew(object, into: known, as: type)
        } else {
            try object.replacingValues { try adopt(object, stored, as: type) }
        }
    }

    // MARK: Deleted rows

    /// Deletes the object without delete rules, because the writer that deleted its row applied them.
    private func deleteWithoutRules(_ object: ManagedObject) throws {
        let partners = try object.partners()
        try object.dropAllChanges()
        for partner in partners {
            for case let collection? in partner.toManyRelationships { partner.rereadMembers(of: collection) }
        }
        object.state.insert([.deleted, .propagated])
        context.changeTracker.noteMissingRow(object)
        context.changeTracker.noteDeleted(object)
    }

    /// Makes the save insert the row of an object again, under the same ID and with the object's current values.
    ///
    /// - Throws: `.conflict` if the backing file of an unchanged value cannot be read any more.
    private func reinsert(_ object: ManagedObject) throws {
        for slot in 0..<Int(object.entity.slotCount) { try object.markFileChanged(slot) }
        for collection in object.toManyRelationships { collection?.becomeNew() }
        object.state.remove(.updated)
        object.state.insert(.inserted)
        context.changeTracker.noteInserted(object)
        context.changeTracker.noteReinserted(object)
    }

    /// Removes references to deleted rows from the objects whose rows are inserted again.
    ///
    /// Called when all of these objects are known, because they may refer to each other. The owners of to-many
    /// relationships that contain these objects are marked as changed. A writer that read the members earlier and
    /// deletes an owner therefore finds a conflict.
    func connectReinsertedObjects() throws {
        for object in context.changeTracker.reinserted where object.context === context && object.isInserted {
            for relationship in object.entity.relationships where !object.isDeleted {
                let isInList = relationship.resolvedInverse?.isToMany == true
                if relationship.isToMany {
                    if !isInList { continue }
                    let collection = object.toMany(
                        ordinal: Int(object.entity.layout.slots[Int(relationship.slot)].ordinal))
                    for member in collection?.knownMembers ?? [] { try noteNewMember(of: member) }
                } else if let target = try object.target(of: relationship) {
                    if try !hasRow(target) {
                        object.placeTarget(nil, relationship)
                    } else if target.isDeleted {
                        try applyDeleteRule(of: target, to: object, relationship)
                    } else if isInList {
                        try noteNewMember(of: target)
                    }
                }
            }
        }
    }

    /// Applies the delete rule of a target that the same save deletes.
    ///
    /// The deletion of the target does not affect an object that is missing among the target's members. The object was
    /// removed from the members when its row was deleted, or the members were read before the row referred to the
    /// target.
    private func applyDeleteRule(
        of target: ManagedObject, to object: ManagedObject, _ relationship: Relationship
    ) throws {
        guard let inverse = relationship.inverse else { return }
        guard inverse.deleteRule == .cascade else { return object.placeTarget(nil, relationship) }
        // The object's row is not inserted. The object's own delete rules apply, as for any deletion.
        object.state.remove(.inserted)
        context.changeTracker.noteMissingRow(object)
        try context.delete(object)
    }

    private func noteNewMember(of owner: ManagedObject) throws {
        if owner.isInserted || owner.isDeleted || owner.isGone { return }
        try owner.unlessRowIsMissing {
            try owner.fireIfNeeded()
            owner.willChangeMembers()
        }
    }

    /// Whether other rows may refer to an object, because the object is new or the store contains its row.
    fileprivate func hasRow(_ object: ManagedObject) throws -> Bool {
        guard let store = object.store, !object.state.contains(.inserted) else { return true }
        return try context.writing(store) {
            try !store.backing.rows(of: object.entity.root, primaryKeys: [object.primaryKey]).records.isEmpty
        }
    }
}

extension ManagedObject {
    /// Returns the current and former targets and known members of relationships with an inverse.
    func partners() throws -> [ManagedObject] {
        try entity.relationships.filter { $0.inverse != nil }.flatMap { relationship in
            let slot = Int(relationship.slot)
            if relationship.isToMany {
                let collection = toMany(ordinal: Int(entity.layout.slots[slot].ordinal))
                return (collection?.knownMembers ?? []) + (collection?.removedMembers ?? [])
            }
            return try [partner(at: slot), record == nil ? nil : committedTarget(slot)].compactMap { $0 }
        }
    }

    /// Returns the target of the to-one relationship at a slot.
    ///
    /// Returns nil for an attribute, for a null reference, and for a fault without changes.
    fileprivate func partner(at slot: Int) throws -> ManagedObject? {
        guard entity.layout.slots[slot].role == .toOne, record != nil || overlay != nil else { return nil }
        return try target(of: entity.relationship(slot))
    }

    private func committedTarget(_ slot: Int) throws -> ManagedObject? {
        guard case .object(let reference as ObjectIDReference) = try committedValue(slot: slot) else { return nil }
        return try context?.object(with: reference.id)
    }

    /// Whether a slot was changed here and its value differs from the value in the object's row.
    ///
    /// A changed value always differs if the object does not have a row, or if the row's value is in a backing file.
    func differsFromBase(_ slot: Int) -> Bool {
        guard let overlay, overlay.isChanged(slot), let record else { return overlay?.isChanged(slot) ?? false }
        let layout = entity.layout.slots[slot]
        if layout.role == .toOne {
            let mine: Int64? =
                if case .object(let target as ManagedObject) = overlay[slot] { target.primaryKey } else { nil }
            return mine != Record(record).target(slot, layout)?.primaryKey
        }
        if Record(record).fileName(slot, layout) != nil { return true }
        return !ValueView.same(ValueView(overlay[slot]), Record(record).view(slot, layout))
    }

    /// Discards the unsaved change of a slot.
    func discardChange(_ slot: Int) throws {
        guard let overlay, overlay.isChanged(slot) else { return }
        if entity.layout.slots[slot].role == .toOne {
            let partners = try [partner(at: slot), committedTarget(slot)]
            try revertTarget(of: entity.relationship(slot))
            for partner in partners { partner?.forgetIfUnchanged() }
        }
        clearChange(slot)
    }

    /// Marks the unchanged value of a slot as changed, so that the save writes it.
    ///
    /// Derived attributes and references to deleted rows are not marked.
    fileprivate func markChanged(on slot: Int) throws {
        if overlay?.isChanged(slot) == true || record == nil { return }
        if entity.layout.slots[slot].conditions.contains(.derived) { return }
        if entity.layout.slots[slot].role == .toOne {
            let relationship = entity.relationship(slot)
            let target = try target(of: relationship)
            // The writer that deleted the target's row has cleared the reference, which must not be restored.
            if let target, let context, try !context.conflictResolver.hasRow(target) { return }
            willChange()
            placeTarget(target, relationship)
        } else {
            write(try committedValue(slot: slot), slot)
        }
    }

    /// Marks the value of a backing file as changed, so that a save writes a new file.
    ///
    /// The backing file was deleted with the row.
    ///
    /// - Throws: `.conflict` if the file cannot be read any more.
    fileprivate func markFileChanged(_ slot: Int) throws {
        let layout = entity.layout.slots[slot]
        guard layout.role == .external, let record, Record(record).fileName(slot, layout) != nil else { return }
        do { try markChanged(on: slot) } catch let error as CoreError {
            let name = entity.properties[slot].path
            throw CoreError(
                .conflict, code: .managedObjectMerge,
                "\(objectID.uri) was deleted in the store, and the backing file of \(entity.name).\(name) cannot be read; "
                    + "set \(entity.name).\(name) before saving again, or call cst_context_delete (delete) on the "
                    + "object",
                entity: entity.name, key: name, objectURI: objectID.uri, children: [error], file: error.file)
        }
    }

    /// Replaces the row on which the object's changes are based with a newer row.
    ///
    /// - Parameter keepingOrder: Whether a changed order of members has precedence over a newer order in the store.
    func rebase(on row: Record, keepingOrder: Bool) {
        forgetFiles()
        forgetFetched()
        forgetTransformedValues()
        setRecord(row)
        dropToOneTargets()
        state.remove(.fault)
        if isDeleted { return }
        for collection in toManyRelationships { collection?.rebase(keepingOrder: keepingOrder) }
    }

    /// Clears the change flags of a saved object that does not have changes any more.
    func forgetIfUnchanged() {
        if state.contains(.inserted) || isDeleted { return }
        let hasMembers = toManyRelationships.contains { $0?.hasChanges == true }
        if !hasMembers { state.remove(.membersChanged) }
        if overlay?.isEmpty == true { dropOverlay() }
        if overlay == nil && !hasMembers { state.subtract([.updated, .touched]) }
    }

    /// Makes the next access read the members of a relationship again, if they were read.
    fileprivate func reread(_ relationship: Relationship) {
        let collection = toMany(ordinal: Int(entity.layout.slots[Int(relationship.slot)].ordinal))
        if let collection { rereadMembers(of: collection) }
    }
}
