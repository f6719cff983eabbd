import CorestoneModel
import CorestoneValues

extension Context {
    /// Removes deleted objects from lists that are not updated otherwise.
    ///
    /// These are the lists of one-sided relationships. If `inAllRelationships` is true, because another writer deleted
    /// the objects, they are the lists of all relationships. Cached to-one targets are discarded too.
    func forgetMembers(among deleted: [ManagedObject], inAllRelationships: Bool = false) {
        if deleted.isEmpty { return }
        let roots = Set(deleted.map { ObjectIdentifier($0.entity.root) })
        let concerned = coordinator.model.entities.contains { entity in
            entity.ownRelationships.contains {
                (inAllRelationships || $0.isOneSided)
                    && roots.contains(ObjectIdentifier($0.destination.root))
            }
        }
        guard concerned else { return }
        let deletedIdentifiers = Set(deleted.map(ObjectIdentifier.init))
        for object in everyObject {
            for case let collection? in object.toManyRelationships {
                let forget = { collection.forget { deletedIdentifiers.contains(ObjectIdentifier($0)) } }
                if inAllRelationships { object.replacingMembers(of: collection, forget) } else { forget() }
            }
            object.releaseTargets(withChanges: inAllRelationships) { deletedIdentifiers.contains($0) }
        }
    }

    /// Removes every object from the context.
    func forgetAll() {
        let known = everyObject
        let all = known + mergeState.deletedElsewhere.filter { $0.context === self }
        // The lists retain the objects until each has left, so that no object is deallocated while another one points
        // to it.
        withExtendedLifetime((all, changeTracker.all)) {
            identityMap.noteUnregistered(known)
            for object in all { object.leaveContext(individually: false) }
        }
        identityMap.removeAll()
        changeTracker.clear()
        mergeState.removeAll()
        links.takeRenamed()
        faultState.groups.removeAll()
    }

    /// Discards the cached rows of custom stores, because changes in these stores are not detected.
    func forgetHostRows() {
        if parent != nil { return }
        for store in coordinator.stores where store.references != nil {
            store.backing.endRead()
            store.rowCache.forgetAll()
        }
    }

    /// Returns the objects that are not faults; empty if the model does not have a hook for becoming a fault.
    func objectsToNotifyOfFaulting(among objects: @autoclosure () -> [ManagedObject]) -> [ManagedObject] {
        let hooks = HookKinds(rawValue: coordinator.model.hookKinds)
        return hooks.isDisjoint(with: [.willTurnIntoFault, .didTurnIntoFault]) ? [] : objects().filter { !$0.isFault }
    }

    /// Removes all objects from the context. Later calls on these objects fail with `.objectGone`.
    ///
    /// Unsaved changes and undo steps are discarded.
    ///
    /// - Throws: The error of a hook, after the reset is complete.
    ///   `.invalidArgument` within a hook, a validator or a merge policy.
    public func reset() throws {
        try checkQueue()
        try refuseInHook("reset the context")
        let notified = objectsToNotifyOfFaulting(among: everyObject)
        for object in notified { object.sendWillTurnIntoFault() }
        // A store that is notified of deregistered objects may use the context, so it is notified after the reset.
        batchingNotices(true) {
            forgetAll()
            forgetHostRows()
            if generation != nil { generation = Generation(token: .current) }
            forgetUndo()
            changeTracker.noteInvalidatedAll()
        }
        endEvent()
        for object in notified { object.sendDidTurnIntoFault(in: self) }
        try throwHookFailure()
    }
}
