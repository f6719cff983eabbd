import CorestoneModel
import CorestoneValues

/// Settles conflicts of versions: what an object holds is merged with what the store holds, in memory, so that the save goes
/// on upon the store's newest row.
extension Context {
    /// - Parameter row: as the store has it now; nil for a deleted one.
    func merge(_ object: ManagedObject, with row: Record?, as type: MergePolicyType) throws {
        if let row {
            if object.isDeleted {
                // A deletion stands whatever became of the row, unless all changes are given up.
                try object.replacingValues {
                    object.rebase(on: row, keepingOrder: true)
                    if type == .rollback { try revive(object) } else { try deleteAgain(object) }
                }
            } else {
                try object.replacingValues { try mergeValues(of: object, with: row, as: type) }
            }
        } else if object.isDeleted {
            changeTracker.vanished.insert(ObjectIdentifier(object))
        } else if type == .overwrite || type == .objectTrump && object.hasChanges {
            try object.replacingValues { try insertAgain(object) }
        } else {
            try vanish(object)
        }
    }

    /// Whether the row of a deleted object went away already.
    func isVanished(_ object: ManagedObject) -> Bool {
        !changeTracker.vanished.isEmpty && changeTracker.vanished.contains(ObjectIdentifier(object))
    }

    // MARK: A row that changed

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
            case .storeTrump: try object.giveUp(slot)
            case .overwrite: try object.insist(on: slot)
            // Setting what was there already is no change.
            case .objectTrump where !object.differsFromBase(slot): try object.giveUp(slot)
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

    /// The store's row leads elsewhere than the object did: the lists of both targets are read again, and an inverse that is
    /// to-one lets go of the object where another target won here.
    func follow(_ relationship: Relationship, of object: ManagedObject, from former: ManagedObject?) throws {
        guard let inverse = relationship.inverse else { return }
        let (slot, layout) = (Int(relationship.slot), object.entity.layout.slots[Int(relationship.slot)])
        var stored: ManagedObject?
        if let store = object.store, let record = object.record, let (key, index) = Record(record).target(slot, layout)
        {
            stored = self.object(store: store, entity: entity(at: index), primaryKey: key)
        }
        if let stored { applyDeleteRulesAgain(to: stored) }
        if inverse.isToMany {
            for partner in [former, stored] { partner?.reread(inverse) }
            return
        }
        for partner in [former, stored] {
            guard let partner, !partner.hasChanges, partner !== object else { continue }
            if partner.state.contains(.observed) {
                try refreshObserved([partner])
            } else {
                partner.turnIntoFault()
            }
        }
        let mine = try object.target(of: relationship)
        guard let stored, stored !== mine, object.overlay?.isChanged(slot) == true else { return }
        try stored.unlessGhost {
            if try stored.target(of: inverse) === object { try stored.writeTarget(nil, inverse) }
        }
        if let mine, try mine.target(of: inverse) !== object { try mine.writeTarget(object, inverse) }
    }

    /// Relationships that are to-one on both sides lead to each other after a merge: what was set here wins over what the store
    /// has, and where both sides were set here nobody leads there.
    func mendPairs(of object: ManagedObject) throws {
        for relationship in object.entity.relationships where !relationship.isToMany {
            guard let inverse = relationship.settledInverse, !inverse.isToMany,
                let target = try object.target(of: relationship), !target.isDeleted
            else { continue }
            try target.unlessGhost {
                let other = try target.target(of: inverse)
                if other === object { return }
                guard object.overlay?.isChanged(Int(relationship.slot)) == true,
                    target.overlay?.isChanged(Int(inverse.slot)) != true
                else { return try object.writeTarget(nil, relationship) }
                if let other, !other.isDeleted {
                    try other.unlessGhost {
                        if try other.target(of: relationship) === target { try other.writeTarget(nil, relationship) }
                    }
                }
                try target.writeTarget(object, inverse)
            }
        }
    }

    /// Has the delete rules speak of those, too, whom others led to the object since it was deleted here.
    private func deleteAgain(_ object: ManagedObject) throws {
        for relationship in object.entity.relationships where relationship.isToMany {
            let keeper = try object.toMany(relationship)
            keeper.reload()
            guard let inverse = relationship.inverse, !inverse.isToMany else { continue }
            for member in try keeper.all() where !member.isGone && !member.isDeleted && !member.hasChanges {
                // One that leads elsewhere was read before.
                if try member.target(of: inverse) !== object { try reread(member) }
            }
        }
        applyDeleteRulesAgain(to: object)
    }

    /// Takes back a deletion, with what was changed before it and the references to the object that its delete rules cleared.
    private func revive(_ object: ManagedObject) throws {
        object.state.subtract([.deleted, .propagated, .propagatesAgain])
        changeTracker.pendingDeletions.removeAll { $0 === object }
        let relationships = object.entity.relationships.filter { $0.inverse != nil }
        let former = try relationships.map { try targets(of: $0, object) }
        object.dropChanges()
        // Where no row tells, the store may lead it elsewhere by now.
        for keeper in object.toManyRelationships { keeper?.reload() }
        for (relationship, former) in zip(relationships, former) {
            var all = ObjectList(former)
            for target in try targets(of: relationship, object) { _ = all.append(target) }
            for target in all.objects where !target.isDeleted { try takeBack(object, at: target, relationship) }
        }
    }

    /// Has the other side of a relationship lead to an object again that was deleted, if it did.
    private func takeBack(_ object: ManagedObject, at target: ManagedObject, _ relationship: Relationship) throws {
        guard let inverse = relationship.inverse else { return }
        if !inverse.isToMany {
            try target.unlessGhost { try target.takeBackTarget(of: inverse) }
        } else {
            let keeper = try target.toMany(inverse)
            if target.isInserted || keeper.lost(object) { keeper.takingBack { keeper.take(object) } }
        }
        target.forgetIfUnchanged()
    }

    // MARK: A reference that a new object got

    /// A row of the same reference is the same object: the new one becomes it, with its own values where they win. Where there is
    /// no such row, the object is given another reference.
    func merge(inserted object: ManagedObject, with row: Record?, as type: MergePolicyType) throws {
        if object.isGone || object.isDeleted { return }
        if type == .rollback { return try abandonNew(object) }
        let (temporary, key) = (object.primaryKey, keyForSave(object))
        guard let row else { return changeTracker.reservedKeys[temporary] = nil }
        guard let store = object.store ?? changeTracker.reservedKeys[temporary]?.store else { return }
        let entity = entity(at: row.header.pointee.entity)
        let stored = ObjectID(store: store, entity: entity, reference: key)
        guard entity === object.entity else {
            throw CoreError(
                .conflict, code: .managedObjectMerge,
                "the new \(object.entity.name) has the reference of \(stored.uri), which is already in the store; use a reference "
                    + "that is unique in the entity tree", entity: object.entity.name, objectURI: stored.uri,
                file: store.path)
        }
        changeTracker.reservedKeys[temporary] = nil
        if let known = registered(with: stored), known !== object {
            try absorb(object, into: known, as: type)
        } else {
            try object.replacingValues { try adopt(object, stored, as: type) }
        }
    }

    // MARK: A row that went away

    /// The object is deleted like its row. No delete rules: whoever deleted the row applied them.
    private func vanish(_ object: ManagedObject) throws {
        let partners = try object.partners()
        try object.dropAllChanges()
        for partner in partners {
            for case let keeper? in partner.toManyRelationships { partner.rereadMembers(of: keeper) }
        }
        object.state.insert([.deleted, .propagated])
        changeTracker.vanished.insert(ObjectIdentifier(object))
        noteDeleted(object)
    }

    /// The object gets its row back under the same ID, with all that it holds.
    ///
    /// - Throws: `.conflict` for a value whose file has gone with the row, before anything changes.
    private func insertAgain(_ object: ManagedObject) throws {
        for slot in 0..<Int(object.entity.slotCount) { try object.insistOnFile(slot) }
        for keeper in object.toManyRelationships { keeper?.becomeNew() }
        object.state.remove(.updated)
        object.state.insert(.inserted)
        noteInserted(object)
        changeTracker.reinserted.append(object)
    }

    /// Has objects that get their rows back lead to no row that is gone. Called when all of them are known, for some lead to others.
    ///
    /// They are new members of the lists that they belong to, so the owners of those are changed: who deletes one meanwhile, with an
    /// older list, meets a conflict.
    func tieReturningRows() throws {
        for object in changeTracker.reinserted where object.context === self && object.isInserted {
            for relationship in object.entity.relationships where !object.isDeleted {
                let isInList = relationship.settledInverse?.isToMany == true
                if relationship.isToMany {
                    if !isInList { continue }
                    let keeper = object.toMany(ordinal: Int(object.entity.layout.slots[Int(relationship.slot)].ordinal))
                    for member in keeper?.knownMembers ?? [] { try noteNewMember(of: member) }
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

    /// A target that the same save deletes. Its rules do not reach the object by themselves: the target's list has lost the row, or was
    /// read before the row led there.
    private func applyDeleteRule(
        of target: ManagedObject, to object: ManagedObject, _ relationship: Relationship
    ) throws {
        guard let inverse = relationship.inverse else { return }
        guard inverse.deleteRule == .cascade else { return object.placeTarget(nil, relationship) }
        // The row stays away. The object's own rules reach further, as those of any deletion.
        object.state.remove(.inserted)
        changeTracker.vanished.insert(ObjectIdentifier(object))
        try delete(object)
    }

    private func noteNewMember(of owner: ManagedObject) throws {
        if owner.isInserted || owner.isDeleted || owner.isGone { return }
        try owner.unlessGhost {
            try owner.fireIfNeeded()
            owner.willChangeMembers()
        }
    }

    /// Whether an object may be led to: it is new, or the store has its row.
    fileprivate func hasRow(_ object: ManagedObject) throws -> Bool {
        guard let store = object.store, !object.state.contains(.inserted) else { return true }
        return try writing(store) {
            try !store.backing.rows(of: object.entity.root, primaryKeys: [object.primaryKey]).records.isEmpty
        }
    }
}

extension ManagedObject {
    /// The targets and known members of relationships with an inverse.
    func partners() throws -> [ManagedObject] {
        try entity.relationships.filter { $0.inverse != nil }.flatMap { relationship in
            let slot = Int(relationship.slot)
            if relationship.isToMany {
                let keeper = toMany(ordinal: Int(entity.layout.slots[slot].ordinal))
                return (keeper?.knownMembers ?? []) + (keeper?.removedMembers ?? [])
            }
            return try [partner(at: slot), record == nil ? nil : committedTarget(slot)].compactMap { $0 }
        }
    }

    /// The target of the relationship of a slot; nil for attributes.
    fileprivate func partner(at slot: Int) throws -> ManagedObject? {
        guard entity.layout.slots[slot].role == .toOne, record != nil || overlay != nil else { return nil }
        return try target(of: entity.relationship(slot))
    }

    private func committedTarget(_ slot: Int) throws -> ManagedObject? {
        guard case .object(let reference as ObjectIDReference) = try committedValue(slot: slot) else { return nil }
        return try context?.object(with: reference.id)
    }

    /// Whether the value of a slot is another one than the object was read with.
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

    /// Drops the change of a slot.
    func giveUp(_ slot: Int) throws {
        guard let overlay, overlay.isChanged(slot) else { return }
        if entity.layout.slots[slot].role == .toOne {
            let partners = try [partner(at: slot), committedTarget(slot)]
            try takeBackTarget(of: entity.relationship(slot))
            for partner in partners { partner?.forgetIfUnchanged() }
        }
        overlay.clear(slot)
    }

    /// Makes the value that a slot was read with a change, which is written.
    fileprivate func insist(on slot: Int) throws {
        if overlay?.isChanged(slot) == true || record == nil { return }
        if entity.layout.slots[slot].conditions.contains(.derived) { return }
        if entity.layout.slots[slot].role == .toOne {
            let relationship = entity.relationship(slot)
            let target = try target(of: relationship)
            // Whoever deleted the target's row has cleared the reference, and nobody wants it back.
            if let target, let context, try !context.hasRow(target) { return }
            willChange()
            placeTarget(target, relationship)
        } else {
            write(try committedValue(slot: slot), slot)
        }
    }

    /// Makes a value that lies in a file a change, so that a save writes another file: the row's own files go with the row.
    fileprivate func insistOnFile(_ slot: Int) throws {
        let layout = entity.layout.slots[slot]
        guard layout.role == .external, let record, Record(record).fileName(slot, layout) != nil else { return }
        do { try insist(on: slot) } catch let error as CoreError {
            let name = entity.properties[slot].path
            throw CoreError(
                .conflict, code: .managedObjectMerge,
                "\(objectID.uri) was deleted in the store, and the backing file of \(entity.name).\(name) cannot be read; "
                    + "set \(entity.name).\(name) before saving again, or delete the object",
                entity: entity.name, key: name, objectURI: objectID.uri, children: [error], file: error.file)
        }
    }

    /// Puts a newer row under the changes of the object.
    func rebase(on row: Record, keepingOrder: Bool) {
        forgetFiles()
        forgetFetched()
        forgetTransformedValues()
        setRecord(row)
        dropToOneTargets()
        state.remove(.fault)
        if isDeleted { return }
        for keeper in toManyRelationships { keeper?.rebase(keepingOrder: keepingOrder) }
    }

    /// Leaves the list of changed objects where nothing is left to save.
    func forgetIfUnchanged() {
        if state.contains(.inserted) || isDeleted { return }
        let hasMembers = toManyRelationships.contains { $0?.hasChanges == true }
        if !hasMembers { state.remove(.membersChanged) }
        if overlay?.isEmpty == true { dropOverlay() }
        if overlay == nil && !hasMembers { state.subtract([.updated, .touched]) }
    }

    /// Reads the members again when next asked, if they were read.
    fileprivate func reread(_ relationship: Relationship) {
        let keeper = toMany(ordinal: Int(entity.layout.slots[Int(relationship.slot)].ordinal))
        if let keeper { rereadMembers(of: keeper) }
    }
}
