import CorestoneModel
import CorestoneValues

/// The application of delete rules to the objects that a context has marked as deleted.
///
/// 1. `markDeleted` adds an object to the pending deletions.
/// 2. `apply` takes the pending deletions, loads their members together, and applies the rules of each relationship,
///    which can delete more objects. It repeats this until there are no pending deletions.
/// 3. After each round, deleted objects that were never saved leave the context. Other deleted objects stay registered
///    until the save.
struct DeleteRules {
    let context: Context

    /// Marks an object as deleted. Does not run the deletion hook.
    func markDeleted(_ object: ManagedObject) {
        object.touchForDeletion()
        object.state.insert(.deleted)
        context.changeTracker.noteDeleted(object)
        context.changeTracker.pendingDeletions.append(object)
    }

    /// Schedules the delete rules of a deleted object again, because another object refers to the deleted object again.
    ///
    /// The row of the other object had another target before, or the change by the delete rules was discarded.
    func scheduleAgain(_ object: ManagedObject) {
        guard object.state.isSuperset(of: [.propagated, .listedDeleted]), !context.changeTracker.isRowDeleted(object)
        else { return }
        object.state.remove(.propagated)
        object.state.insert(.propagatesAgain)
        context.changeTracker.pendingDeletions.append(object)
    }

    /// Schedules the delete rules again for deleted objects to which other objects may refer again.
    func reapply() {
        for object in context.changeTracker.takeReconnectedDeletions() { scheduleAgain(object) }
    }

    /// Applies the delete rules of recently deleted objects, also of those that the rules delete.
    func apply() throws {
        while !context.changeTracker.pendingDeletions.isEmpty {
            let deleted = context.changeTracker.pendingDeletions
            context.changeTracker.pendingDeletions = []
            do {
                try context.batchingNotices(true) {
                    try context.together("apply delete rules") { try apply(to: deleted) }
                }
            } catch {
                context.changeTracker.pendingDeletions += deleted.filter { !$0.state.contains(.propagated) }
                throw error
            }
        }
    }

    private func apply(to pending: [ManagedObject]) throws {
        // A failed Arrow import restores objects that a callback deleted, or removes them from the context.
        let deleted = pending.filter { $0.state.contains(.deleted) && !$0.isGone }
        try loadMembers(of: deleted)
        var failure: (any Error)?
        var ending: [ManagedObject] = []
        do {
            for object in deleted where object.state.contains(.deleted) && !object.state.contains(.propagated) {
                try apply(to: object)
                object.state.insert(.propagated)
                if object.state.contains(.inserted) { ending.append(object) }
            }
        } catch { failure = error }
        // Last, because hooks may have created references to these objects.
        do { try clearOneSidedReferences(of: ending) } catch { failure = failure ?? error }
        for object in ending where object.context === context { context.discardInserted(object) }
        if let failure { throw failure }
    }

    private func apply(to object: ManagedObject) throws {
        let isAgain = object.state.remove(.propagatesAgain) != nil
        for relationship in object.entity.relationships {
            let led = try object.targets(of: relationship)
            // The row of an inaccessible target may exist again.
            for target in led { target.endInaccessibility() }
            // A target that was deleted before its first save has already left the context.
            let targets = try led.filter { try !$0.isGone && refersBack($0, relationship, object) }
            switch relationship.deleteRule {
            // Only a save checks the rule `deny`, and a save does not contain this object, because it was never saved.
            // Its references are therefore removed.
            case .deny where object.state.contains(.inserted): break
            case .noAction, .deny: continue
            case .cascade:
                for target in targets where !target.isDeleted {
                    try target.unlessRowIsMissing { try context.delete(target) }
                }
            case .nullify: break
            }
            try disconnect(object, relationship, from: targets, isAgain: isAgain)
        }
    }

    /// Removes the references of the inverse relationship to an object.
    ///
    /// - Parameter isAgain: Whether the delete rules were applied before. Lists are then loaded first, because a second
    ///   removal from a list that is not loaded is ignored.
    func disconnect(
        _ object: ManagedObject, _ relationship: Relationship, from targets: [ManagedObject], isAgain: Bool = false
    ) throws {
        guard let inverse = relationship.inverse else { return }
        for target in targets where !target.isDeleted {
            if inverse.isToMany {
                if isAgain { try target.unlessRowIsMissing { try target.toMany(inverse).load() } }
                try target.toMany(inverse).remove(object)
            } else {
                try target.writeTarget(nil, inverse)
            }
        }
    }

    /// Loads the members of deleted objects together, for each entity and to-many relationship.
    ///
    /// Relationships with the delete rule No Action are not loaded.
    func loadMembers(of deleted: [ManagedObject]) throws {
        let saved = deleted.filter { !$0.state.contains(.inserted) }
        var groups: [ObjectIdentifier: [ManagedObject]] = [:]
        for object in saved { groups[ObjectIdentifier(object.entity), default: []].append(object) }
        for group in groups.values {
            for relationship in group[0].entity.relationships
            where relationship.isToMany && relationship.deleteRule != .noAction {
                try context.faultLoader.loadMembers(of: relationship, owners: group)
            }
        }
    }

    /// Whether a target still refers to the object; false if the target's row is missing.
    ///
    /// True without a check if the inverse is not a to-one relationship, or if the target is deleted.
    ///
    /// The target's to-one relationship may be newer than the object's list, and refer to another object.
    func refersBack(
        _ target: ManagedObject, _ relationship: Relationship, _ object: ManagedObject
    ) throws -> Bool {
        guard let inverse = relationship.inverse, !inverse.isToMany, !target.isDeleted else { return true }
        return try target.unlessRowIsMissing {
            if try target.target(of: inverse) === object { return true }
            // The target's row may be older than the list, so it is read again.
            guard try rereadUnchanged(target, inverse) else { return false }
            return try target.target(of: inverse) === object
        } ?? false
    }

    /// Refreshes an object whose to-one relationship does not have an unsaved change.
    ///
    /// Returns whether the object was refreshed. An object that a save writes is not refreshed, because the save needs
    /// the object's version to detect a conflict.
    private func rereadUnchanged(_ object: ManagedObject, _ relationship: Relationship) throws -> Bool {
        if object.store == nil || object.overlay?.isChanged(Int(relationship.slot)) == true { return false }
        if object.hasChanges && object.concernsStore { return false }
        try context.reread(object)
        return true
    }
}
