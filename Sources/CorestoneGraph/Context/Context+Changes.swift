import CorestoneModel
import CorestoneValues

extension Context {
    /// Inserts a new object with the default values of its entity.
    public func insert(_ entity: Entity) throws -> ManagedObject {
        try checkQueue()
        guard entity.model === coordinator.model else {
            throw CoreError(
                .invalidArgument,
                "\(entity.name) does not belong to the model of this context's coordinator; use the entity of that model",
                entity: entity.name, key: "entity")
        }
        if entity.isAbstract { try ManagedObject.requireConcrete(entity) }
        let object = ManagedObject(
            entity: entity, context: self, store: nil, primaryKey: TemporaryReference.next(),
            state: [.inserted, .touched])
        object.applyDefaults()
        identityMap.register(object)
        changeTracker.noteInserted(object)
        do { try object.sendAwakeFromInsert() } catch {
            removeRejected([object])
            throw error
        }
        return object
    }

    /// Inserts a new object of the named entity.
    public func insert(_ entityName: String) throws -> ManagedObject {
        try insert(coordinator.model.requireEntity(named: entityName))
    }

    /// Inserts an object that was created without a context, and all objects to which it refers directly or indirectly.
    ///
    /// Returns the inserted objects; empty if the object is already in this context. If a hook throws for one of them,
    /// all are removed from the context again and become invalid.
    ///
    /// - Throws: `.invalidArgument` if the object belongs to another context or model, or was removed from its context.
    ///   The error of a hook.
    @discardableResult
    public func insert(_ object: ManagedObject) throws -> [ManagedObject] {
        try checkQueue()
        if object.context === self { return [] }
        guard object.context == nil, !object.isGone else {
            let obstacle =
                object.context == nil
                ? "was removed from its context; insert a new object with cst_context_insert (insert)"
                : "belongs to another context; save it there with cst_context_save (save), and get it here with "
                    + "cst_context_object_with_id (get, object)"
            throw CoreError(
                .invalidArgument, "\(object.entity.name) \(object.objectID.uri) \(obstacle)",
                entity: object.entity.name, objectURI: object.objectID.uri)
        }
        guard object.entity.model === coordinator.model else {
            throw CoreError(
                .invalidArgument,
                "\(object.entity.name) does not belong to the model of this context's coordinator; create the "
                    + "object with cst_object_new (new, ManagedObject) and the entity of that model",
                entity: object.entity.name, objectURI: object.objectID.uri)
        }
        var (pending, taken) = ([object], [ManagedObject]())
        while let next = pending.popLast() {
            if next.context === self { continue }
            next.enter(self)
            identityMap.register(next)
            changeTracker.noteInserted(next)
            taken.append(next)
            for relationship in next.entity.relationships {
                if relationship.isToMany {
                    pending += try next.toMany(relationship).all()
                } else if let target = try next.target(of: relationship) {
                    pending.append(target)
                }
            }
        }
        do { for object in taken { try object.sendAwakeFromInsert() } } catch {
            removeRejected(taken)
            throw error
        }
        return taken
    }

    /// Marks an object for deletion.
    ///
    /// Its delete rules are applied when pending changes are processed, or only in the next save if
    /// `propagatesDeletesAtEndOfEvent` is false.
    public func delete(_ object: ManagedObject) throws {
        try checkQueue()
        if object.state.contains(.detached) { throw object.detachedError() }
        guard object.context === self else {
            throw object.foreignObjectError("call cst_context_delete (delete) there")
        }
        // The hook runs again for an object that is already deleted, as in Core Data.
        if object.state.contains(.deleted) {
            // Not within hooks: a hook that deletes objects again would run once for each path to such an object.
            if !isInHook && !object.state.contains(.inaccessible) { try object.sendPrepareForDeletion() }
            return
        }
        if object.isFault && !object.state.contains(.inserted) { try object.fire() }
        try object.sendPrepareForDeletion()
        if !object.state.isDisjoint(with: [.deleted, .detached, .preparing]) { return }
        deleteRules.markDeleted(object)
    }

    /// Applies the delete rules of recently deleted objects and ends the event.
    ///
    /// The rules are applied only if `propagatesDeletesAtEndOfEvent` is true. The changes of the event are recorded for
    /// undo, and observers are notified of the changed objects. A context that is confined to a thread merges the
    /// waiting saves of other writers first.
    public func processPendingChanges() throws {
        try checkQueue()
        processInboxAtEnd()
        try processPendingChanges(appliesDeleteRules: propagatesDeletesAtEndOfEvent)
    }

    /// Processes pending changes without merging the saves of other contexts.
    ///
    /// A save calls this function, so that saves of other contexts are detected as conflicts, and always applies delete
    /// rules. Objects of removed stores are discarded, because they cannot be saved.
    ///
    /// - Parameter closesGroup: Whether the undo step of the event ends too.
    func processPendingChanges(appliesDeleteRules: Bool, closesGroup: Bool = true) throws {
        try checkQueue()
        takeRenamed()
        takeRemovedStores()
        observation.objects?.sweep()
        if appliesDeleteRules { try faultLoader.exemptFromFaultPolicy(deleteRules.apply) }
        endEvent(closesGroup: closesGroup)
    }

    /// Refreshes an object that a save does not write.
    func reread(_ object: ManagedObject) throws {
        object.store?.rowCache.remove(object.entity.root, object.primaryKey)
        if object.hasChanges || object.state.contains(.observed) {
            try objectRefresh.refreshObserved([object])
        } else {
            object.turnIntoFault()
        }
    }

    /// Removes inserted objects, and the references to them, after a hook failed. Delete rules are not applied.
    private func removeRejected(_ objects: [ManagedObject]) {
        let leaving = objects.filter { $0.context === self && $0.state.contains(.inserted) }
        for object in leaving {
            for relationship in object.entity.relationships {
                // Errors are ignored, because the hook's error is reported. A target whose row is missing does not
                // refer to the object.
                try? deleteRules.disconnect(
                    object, relationship,
                    from: object.targets(of: relationship).filter {
                        try !$0.isGone && deleteRules.refersBack($0, relationship, object)
                    })
            }
        }
        try? deleteRules.clearOneSidedReferences(of: leaving)
        for object in leaving where object.context === self { discardInserted(object) }
    }

    /// Removes an object, which was never saved, from the context.
    func discardInserted(_ object: ManagedObject) {
        keepContents(of: object)
        identityMap.unregister(object)
        object.leaveContext()
    }

    /// Discards all unsaved changes and all undo steps.
    public func rollback() throws {
        try checkQueue()
        try refuseInHook("roll back the context")
        // A store that is notified of deregistered objects may use the context, so it is notified after the rollback.
        try batchingNotices(true) {
            try together("roll back") { try dropAllChanges() }
            changeMerger.mergeDeferred()
        }
    }

    private func dropAllChanges() throws {
        let (inserted, updated, deleted) = (changeTracker.inserted, changeTracker.updated, changeTracker.deleted)
        let notifiesObservers = hasEventObservers
        if notifiesObservers { for object in inserted + updated + deleted { object.touchForDeletion() } }
        // An object whose deleted row was to be inserted again is not a new object, so it becomes a fault.
        let returning = changeTracker.reinserted.filter { $0.context === self && $0.state.remove(.inserted) != nil }
        for object in inserted where object.context === self && object.state.contains(.inserted) {
            discardInserted(object)
        }
        // Objects that were deleted elsewhere are not restored.
        let deletedIdentifiers = Set(mergeState.deletedElsewhere.map(ObjectIdentifier.init))
        let restored = (updated + deleted.filter { !$0.state.contains(.listedUpdated) }).filter {
            $0.context === self && !deletedIdentifiers.contains(ObjectIdentifier($0))
        }
        replacingValues(of: restored) {
            for object in restored {
                object.dropChanges()
                object.state.subtract([.deleted, .propagated])
            }
        }
        for object in returning { object.turnIntoFault() }
        let changes = notifiesObservers ? changeTracker.changesOfEvent() : ContextChanges()
        changeTracker.clear()
        forgetUndo()
        for object in restored where !object.isGone { try object.sendAwake(fromSnapshotEvents: .rollback) }
        if notifiesObservers { notifyEvent(changes) }
    }
}
