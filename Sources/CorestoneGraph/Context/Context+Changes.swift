import CorestoneModel
import CorestoneValues

extension Context {
    /// A new object with the defaults of its entity.
    public func insert(_ entity: Entity) throws -> ManagedObject {
        try checkQueue()
        guard entity.model === coordinator.model else {
            throw CoreError(
                .invalidArgument,
                "\(entity.name) does not belong to the model of this context's coordinator; use the entity of that model",
                entity: entity.name)
        }
        if entity.isAbstract { try ManagedObject.requireConcrete(entity) }
        let object = ManagedObject(
            entity: entity, context: self, store: nil, primaryKey: TemporaryReference.next(),
            state: [.inserted, .touched])
        object.applyDefaults()
        register(object)
        noteInserted(object)
        do { try object.sendAwakeFromInsert() } catch {
            withdraw([object])
            throw error
        }
        return object
    }

    /// A new object of the entity of that name.
    public func insert(_ entityName: String) throws -> ManagedObject {
        try insert(coordinator.model.requireEntity(named: entityName))
    }

    /// Takes in an object that was made outside every context, with the objects that it leads to.
    /// Returns all that came in; when a hook refuses one of them, none does, and they are gone.
    @discardableResult
    public func insert(_ object: ManagedObject) throws -> [ManagedObject] {
        try checkQueue()
        if object.context === self { return [] }
        guard object.context == nil, !object.isGone else {
            let obstacle = object.context == nil ? "was removed from its context" : "belongs to another context"
            throw CoreError(
                .invalidArgument, "\(object.entity.name) \(object.objectID.uri) \(obstacle); insert a new object",
                entity: object.entity.name, objectURI: object.objectID.uri)
        }
        guard object.entity.model === coordinator.model else {
            throw CoreError(
                .invalidArgument,
                "\(object.entity.name) does not belong to the model of this context's coordinator; use the entity of that model",
                entity: object.entity.name, objectURI: object.objectID.uri)
        }
        var (waiting, taken) = ([object], [ManagedObject]())
        while let next = waiting.popLast() {
            if next.context === self { continue }
            next.enter(self)
            register(next)
            noteInserted(next)
            taken.append(next)
            for relationship in next.entity.relationships {
                if relationship.isToMany {
                    waiting += try next.toMany(relationship).all()
                } else if let target = try next.target(of: relationship) {
                    waiting.append(target)
                }
            }
        }
        do { for object in taken { try object.sendAwakeFromInsert() } } catch {
            withdraw(taken)
            throw error
        }
        return taken
    }

    /// Marks an object for deletion; its delete rules are applied when pending changes are processed.
    public func delete(_ object: ManagedObject) throws {
        try checkQueue()
        if object.state.contains(.gone) { throw object.gone() }
        guard object.context === self else {
            throw object.elsewhere("delete it there")
        }
        // The hook is asked again, as Core Data's is.
        if object.state.contains(.deleted) {
            // Not from within hooks: those that delete what is deleted already would run once for each path that leads there.
            if !isInHook && !object.state.contains(.inaccessible) { try object.sendPrepareForDeletion() }
            return
        }
        if object.isFault && !object.state.contains(.inserted) { try object.fire() }
        try object.sendPrepareForDeletion()
        if !object.state.isDisjoint(with: [.deleted, .gone, .preparing]) { return }
        markDeleted(object)
    }

    /// The deletion itself, whose hook was asked.
    func markDeleted(_ object: ManagedObject) {
        object.touchForDeletion()
        object.state.insert(.deleted)
        noteDeleted(object)
        changeTracker.pendingDeletions.append(object)
    }

    /// Has delete rules applied once more when something leads to an object that was deleted here: its row led elsewhere before, or
    /// the change that the rules made was dropped.
    func applyDeleteRulesAgain(to object: ManagedObject) {
        guard object.state.isSuperset(of: [.propagated, .listedDeleted]), !isVanished(object) else { return }
        object.state.remove(.propagated)
        object.state.insert(.propagatesAgain)
        changeTracker.pendingDeletions.append(object)
    }

    /// The same for those to which a refresh led back.
    func applyTakenBackDeleteRules() {
        for object in changeTracker.reconnectedDeletions { applyDeleteRulesAgain(to: object) }
        changeTracker.reconnectedDeletions = []
    }

    /// Applies the delete rules of what was deleted since the last time, if `propagatesDeletesAtEndOfEvent`, and ends the event:
    /// it is one step of undo, and observers hear of its objects.
    public func processPendingChanges() throws {
        try checkQueue()
        takeMailAtEnd()
        try processPendingChanges(appliesDeleteRules: propagatesDeletesAtEndOfEvent)
    }

    /// The same for a save, which applies delete rules in any case, and merges nothing: what others changed is a conflict then. It
    /// gives up the objects of removed stores, since nothing of theirs can be saved.
    func processPendingChanges(appliesDeleteRules: Bool) throws {
        try checkQueue()
        takeRenamed()
        takeRemovedStores()
        observation.objects?.sweep()
        if appliesDeleteRules { try exemptFromFaultPolicy(applyDeleteRules) }
        endEvent()
    }

    private func applyDeleteRules() throws {
        while !changeTracker.pendingDeletions.isEmpty {
            let deleted = changeTracker.pendingDeletions
            changeTracker.pendingDeletions = []
            do { try tellingTogether(true) { try together { try applyDeleteRules(deleted) } } } catch {
                changeTracker.pendingDeletions += deleted.filter { !$0.state.contains(.propagated) }
                throw error
            }
        }
    }

    private func applyDeleteRules(_ deleted: [ManagedObject]) throws {
        try loadMembersForDeletion(deleted)
        var failure: (any Error)?
        var ending: [ManagedObject] = []
        do {
            for object in deleted where object.state.contains(.deleted) && !object.state.contains(.propagated) {
                try applyDeleteRules(to: object)
                object.state.insert(.propagated)
                if object.state.contains(.inserted) { ending.append(object) }
            }
        } catch { failure = error }
        // Last, since hooks that ran meanwhile may have made others lead to them.
        do { try letGoOneSided(of: ending) } catch { failure = failure ?? error }
        for object in ending where object.context === self { abandon(object) }
        if let failure { throw failure }
    }

    private func applyDeleteRules(to object: ManagedObject) throws {
        let isAgain = object.state.remove(.propagatesAgain) != nil
        for relationship in object.entity.relationships {
            let led = try self.targets(of: relationship, object)
            // A row may have come back since a value was asked for.
            for target in led { target.endInaccessibility() }
            // One that was deleted before it was ever saved is gone by now.
            let targets = try led.filter { try !$0.isGone && leadsBack($0, relationship, object) }
            switch relationship.deleteRule {
            // A new object is never saved, and only a save validates the rule.
            case .deny where object.state.contains(.inserted): break
            case .noAction, .deny: continue
            case .cascade:
                for target in targets where !target.isDeleted { try target.unlessGhost { try delete(target) } }
            case .nullify: break
            }
            try disconnect(object, relationship, from: targets, isAgain: isAgain)
        }
    }

    /// Has the other sides of a relationship lead to an object no more.
    /// - Parameter isAgain: whether that was done before, when it was taken out of lists that were not read: what they hold by now has to
    ///   be known to tell a change.
    private func disconnect(
        _ object: ManagedObject, _ relationship: Relationship, from targets: [ManagedObject], isAgain: Bool = false
    ) throws {
        guard let inverse = relationship.inverse else { return }
        for target in targets where !target.isDeleted {
            if inverse.isToMany {
                if isAgain { try target.unlessGhost { try target.toMany(inverse).load() } }
                try target.toMany(inverse).drop(object)
            } else {
                try target.writeTarget(nil, inverse)
            }
        }
    }

    /// One query for each to-many relationship of each entity, not one for each object.
    func loadMembersForDeletion(_ deleted: [ManagedObject]) throws {
        let saved = deleted.filter { !$0.state.contains(.inserted) }
        var groups: [ObjectIdentifier: [ManagedObject]] = [:]
        for object in saved { groups[ObjectIdentifier(object.entity), default: []].append(object) }
        for group in groups.values {
            for relationship in group[0].entity.relationships
            where relationship.isToMany && relationship.deleteRule != .noAction {
                try loadMembers(of: relationship, owners: group)
            }
        }
    }

    /// Whether a target is still the object's: its own to-one relationship, newer than the object's list, may lead elsewhere.
    private func leadsBack(
        _ target: ManagedObject, _ relationship: Relationship, _ object: ManagedObject
    ) throws -> Bool {
        guard let inverse = relationship.inverse, !inverse.isToMany, !target.isDeleted else { return true }
        return try target.unlessGhost {
            if try target.target(of: inverse) === object { return true }
            // Or its row was read before the list was, when it led elsewhere.
            guard try rereadUnchanged(target, inverse) else { return false }
            return try target.target(of: inverse) === object
        } ?? false
    }

    /// Has an object whose to-one relationship was not changed here stand on its newest row. Not one that a save writes: its
    /// version tells the save whether its row is stale, and the merge follows where the newest row leads.
    private func rereadUnchanged(_ object: ManagedObject, _ relationship: Relationship) throws -> Bool {
        if object.store == nil || object.overlay?.isChanged(Int(relationship.slot)) == true { return false }
        if object.hasChanges && object.concernsStore { return false }
        try reread(object)
        return true
    }

    /// Has an object that a save does not write stand on its newest row.
    func reread(_ object: ManagedObject) throws {
        object.store?.rowCache.remove(object.entity.root, object.primaryKey)
        if object.hasChanges || object.state.contains(.observed) {
            try refreshObserved([object])
        } else {
            object.turnIntoFault()
        }
    }

    func targets(of relationship: Relationship, _ object: ManagedObject) throws -> [ManagedObject] {
        if relationship.isToMany { return try object.toMany(relationship).all() }
        return try object.target(of: relationship).map { [$0] } ?? []
    }

    /// Has new objects leave that a hook refused. Others that the hook led to them let go first; no delete rule is applied.
    private func withdraw(_ objects: [ManagedObject]) {
        let leaving = objects.filter { $0.context === self && $0.state.contains(.inserted) }
        for object in leaving {
            for relationship in object.entity.relationships {
                // What the hook threw is the error. Targets whose rows are gone cannot be asked, and do not lead here.
                try? disconnect(
                    object, relationship,
                    from: targets(of: relationship, object).filter {
                        try !$0.isGone && leadsBack($0, relationship, object)
                    })
            }
        }
        try? letGoOneSided(of: leaving)
        for object in leaving where object.context === self { abandon(object) }
    }

    /// Forgets an inserted object that was deleted before it was ever saved.
    func abandon(_ object: ManagedObject) {
        keepContents(of: object)
        unregister(object)
        object.leaveContext()
    }

    /// Drops every change that was not saved, and all that could be undone.
    public func rollback() throws {
        try checkQueue()
        try refuseInHook("roll back the context")
        // A store that hears which objects leave may use the context, which has to be whole by then.
        try tellingTogether(true) {
            try together { try dropAllChanges() }
            mergeDeferred()
        }
    }

    private func dropAllChanges() throws {
        let (inserted, updated, deleted) = (changeTracker.inserted, changeTracker.updated, changeTracker.deleted)
        let isHeard = hearsOfEvents
        if isHeard { for object in inserted + updated + deleted { object.touchForDeletion() } }
        // A row that others deleted, and that was to come back, is one that is gone: its object is no new one.
        let returning = changeTracker.reinserted.filter { $0.context === self && $0.state.remove(.inserted) != nil }
        for object in inserted where object.context === self && object.state.contains(.inserted) { abandon(object) }
        // What others deleted does not come back.
        let gone = Set(mergeState.deletedElsewhere.map(ObjectIdentifier.init))
        let restored = (updated + deleted.filter { !$0.state.contains(.listedUpdated) }).filter {
            $0.context === self && !gone.contains(ObjectIdentifier($0))
        }
        replacingValues(of: restored) {
            for object in restored {
                object.dropChanges()
                object.state.subtract([.deleted, .propagated])
            }
        }
        for object in returning { object.turnIntoFault() }
        let changes = isHeard ? changesOfEvent() : ContextChanges()
        clearChanges()
        forgetUndo()
        for object in restored where !object.isGone { try object.sendAwake(fromSnapshotEvents: .rollback) }
        if isHeard { tellEvent(changes) }
    }
}
