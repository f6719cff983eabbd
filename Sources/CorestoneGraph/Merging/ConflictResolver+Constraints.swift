import CorestoneModel
import CorestoneValues

/// Resolution of conflicts of unique constraints. One object keeps the values.
extension ConflictResolver {
    /// Resolves the conflict of an object with a stored object that has the same unique values.
    ///
    /// A new object of the stored object's entity becomes the object of the stored row. If the row already has an
    /// object in the context, that object receives the values instead. With `.rollback`, the new object is deleted.
    ///
    /// If the new object is of another entity, it is deleted (`.rollback`, `.storeTrump`), or else the stored object
    /// is. A saved object discards all changes (`.rollback`) or its unique values (`.storeTrump`), or else the stored
    /// object is deleted.
    func resolve(
        _ object: ManagedObject, against stored: ObjectID, _ constraint: [String], as type: MergePolicyType
    ) throws {
        guard try isOpen(object, stored, constraint) else { return }
        switch (type, object.isInserted) {
        case (.error, _): return
        case (.rollback, true): try abandonNew(object)
        case (.rollback, false): try object.replacingValues { try object.dropAllChanges() }
        case (.storeTrump, false):
            try object.replacingValues { try object.discardChanges(object.entity.slots(of: constraint)) }
        case (_, true) where object.entity === stored.entity:
            if let known = context.identityMap.registered(with: stored) {
                try mergeNew(object, into: known, as: type)
            } else {
                try object.replacingValues { try adopt(object, stored, as: type) }
            }
        case (.storeTrump, true): try abandonNew(object)
        case (_, _): try context.delete(context.object(with: stored))
        }
    }

    /// Whether an object still conflicts with a stored object.
    ///
    /// The resolution of an earlier conflict may have merged the two objects, deleted one of them, or changed values.
    private func isOpen(_ object: ManagedObject, _ stored: ObjectID, _ constraint: [String]) throws -> Bool {
        if object.isGone || object.isDeleted || object.objectID == stored { return false }
        guard let known = context.identityMap.registered(with: stored), known.hasChanges else { return true }
        if known.isDeleted { return false }
        return try constraint.allSatisfy { try known.value(forKeyPath: $0) == object.value(forKeyPath: $0) }
    }

    /// Resolves the conflict of objects of the context that have the same unique values.
    ///
    /// A saved object keeps the values. If all objects are new, the first one does.
    ///
    /// Other new objects of the same entity are merged into the object that keeps the values. With `.rollback`, and if
    /// they are of another entity, they are deleted instead. Other saved objects discard their unique values, or all
    /// changes with `.rollback`. Other saved objects whose unique values are unchanged are deleted.
    func resolve(duplicates: [ManagedObject], _ constraint: [String], as type: MergePolicyType) throws {
        let objects = duplicates.filter { !$0.isGone && !$0.isDeleted }
        let saved = objects.filter { !$0.isInserted }
        func isNewValue(_ object: ManagedObject) -> Bool {
            object.entity.slots(of: constraint).contains { object.overlay?.isChanged($0) == true }
        }
        let isObject = type == .objectTrump || type == .overwrite
        let kept = isObject ? saved.last(where: isNewValue) : saved.first { !isNewValue($0) }
        guard let survivor = kept ?? saved.first ?? objects.first else { return }
        for other in objects where other !== survivor {
            if other.isInserted {
                if type == .rollback || other.entity !== survivor.entity {
                    try abandonNew(other)
                } else {
                    try mergeNew(other, into: survivor, as: type)
                }
            } else if !isNewValue(other) {
                try context.delete(other)
            } else if type == .rollback {
                try other.replacingValues { try other.dropAllChanges() }
            } else {
                try other.replacingValues { try other.discardChanges(other.entity.slots(of: constraint)) }
            }
        }
    }

    /// Makes a new object the object of a stored row that does not have another object in the context.
    ///
    /// Has no effect if the row does not exist any more.
    func adopt(_ object: ManagedObject, _ stored: ObjectID, as type: MergePolicyType) throws {
        guard let store = stored.store else { return }
        let found = try context.objectRefresh.withNewestRow(of: stored, in: store) { row in
            row.map { ($0, $0.chunk.takeUnretainedValue()) }
        }
        guard let (row, chunk) = found else { return }
        if type == .storeTrump { try object.dropNewValues() }
        if object.hasTemporaryID {
            context.keyAssignment.makePermanent(object, store: store, key: stored.reference)
        } else {
            context.identityMap.unregister(object)
            object.primaryKey = stored.reference
            context.identityMap.register(object)
        }
        for collection in object.toManyRelationships { collection?.becomeSaved() }
        object.state.remove(.inserted)
        object.setRecord(row)
        withExtendedLifetime(chunk) {}
        object.state.insert(.updated)
        context.changeTracker.noteUpdated(object)
        object.willChange()
        if object.toManyRelationships.contains(where: { $0?.hasChanges == true }) {
            object.state.insert(.membersChanged)
        }
        if type == .overwrite { object.writeNulls() }
        for slot in object.entity.snapshotSlots
        where object.entity.layout.slots[slot].role == .toOne && object.overlay?.isChanged(slot) == true {
            try follow(object.entity.relationship(slot), of: object, from: nil)
        }
        object.forgetIfUnchanged()
    }

    /// Moves the changed values and the members of a new object to another object, and deletes the new object.
    ///
    /// With `.storeTrump`, only the members are moved. From now on, the temporary ID of the new object refers to the
    /// other object if the other object has a permanent ID.
    func mergeNew(_ object: ManagedObject, into other: ManagedObject, as type: MergePolicyType) throws {
        if type == .overwrite { object.writeNulls() }
        if type != .storeTrump, let overlay = object.overlay {
            try other.fireIfNeeded()
            for slot in object.entity.snapshotSlots where overlay.isChanged(slot) {
                if object.entity.layout.slots[slot].conditions.contains(.derived) { continue }
                guard object.entity.layout.slots[slot].role == .toOne else {
                    other.write(overlay[slot], slot)
                    continue
                }
                let relationship = object.entity.relationship(slot)
                let target = try object.target(of: relationship)
                try object.setTarget(nil, of: relationship)
                try other.setTarget(target === object ? other : target, of: relationship)
            }
        }
        for relationship in object.entity.relationships where relationship.isToMany {
            let collection = try object.toMany(relationship)
            for member in try collection.all() where !member.isGone {
                try object.detach(member, relationship, collection)
                // If the store has precedence, a reference of the object to itself is discarded.
                if member === other || member === object && type == .storeTrump { continue }
                _ = try other.add(member === object ? other : member, to: relationship)
            }
        }
        try context.deleteRules.redirectOneSided(from: object, to: other)
        let former = object.primaryKey
        try abandonNew(object)
        if former < 0, let store = other.store, !other.hasTemporaryID {
            context.identityMap.note(former, became: other.primaryKey, store: store, root: other.entity)
        }
    }

    func abandonNew(_ object: ManagedObject) throws {
        try context.delete(object)
        try context.processPendingChanges(appliesDeleteRules: true)
    }
}

extension ManagedObject {
    /// Discards all changes of the object, on both sides of relationships.
    func dropAllChanges() throws {
        let partners = try partners()
        try revertRelationships()
        dropChanges()
        for partner in partners { partner.forgetIfUnchanged() }
    }

    fileprivate func discardChanges(_ slots: [Int]) throws {
        for slot in slots { try discardChange(slot) }
        forgetIfUnchanged()
    }

    /// Discards the stored values of a new object, except members of to-many relationships.
    fileprivate func dropNewValues() throws {
        guard let overlay else { return }
        for slot in entity.snapshotSlots where overlay.isChanged(slot) {
            if entity.layout.slots[slot].role == .toOne { try setTarget(nil, of: entity.relationship(slot)) }
            clearChange(slot)
        }
    }

    /// Sets unset stored properties to null, so that they do not have the row's values.
    ///
    /// Derived attributes and to-many relationships are not changed.
    fileprivate func writeNulls() {
        let overlay = overlayForWriting()
        for slot in entity.snapshotSlots
        where !overlay.isChanged(slot) && !entity.layout.slots[slot].conditions.contains(.derived) {
            setChange(.null, slot)
        }
    }
}
