import CorestoneModel
import CorestoneValues

extension Context {
    /// Assigns permanent IDs to inserted objects before they are saved.
    ///
    /// Objects that already have permanent IDs are skipped.
    ///
    /// - Throws: Errors of the stores.
    ///   An error for an object of another context or one that has left its context.
    public func obtainPermanentIDs(for objects: [ManagedObject]) throws {
        try checkQueue()
        for object in objects {
            if object.state.contains(.detached) { throw object.detachedError() }
            guard object.context === self else {
                throw object.foreignObjectError(
                    "obtain its permanent ID there with cst_context_obtain_permanent_ids (obtain_permanent_ids, "
                        + "obtainPermanentIDs)")
            }
        }
        try obtainPermanentIDsInAncestors(for: objects)
        let temporary = objects.filter { $0.hasTemporaryID && $0.isInserted }
        if temporary.isEmpty { return }
        let targets = try SaveTargets(of: temporary, in: self)
        for store in coordinator.stores {
            let here = temporary.filter { targets.store(of: $0) === store }
            if here.isEmpty { continue }
            let keys =
                try store.references == nil
                ? keyAssignment.reserveKeys(for: here) { root, count in
                    try writing(store) { try store.backing.reservePrimaryKeys(of: root, count: count) }
                }
                : keyAssignment.namedKeys(for: here, in: store) { rows in
                    try writing(store) { try store.backing.obtainKeys(for: rows) }
                }
            // An object that is listed twice keeps its first key. A custom store may have removed objects from the
            // context while it returned keys; these are skipped.
            for (object, key) in zip(here, keys) where object.hasTemporaryID && object.context === self {
                keyAssignment.makePermanent(object, store: store, key: key)
            }
        }
        let permanent = temporary.filter { $0.context === self }
        if observation.trackers.hasObservers(.save) {
            var renamed = ContextChanges()
            renamed.inserted = permanent
            keepingHold { observation.trackers.notify(.save, renamed) }
        }
        sendRenamedIDs()
        if let lost = temporary.first(where: \.isGone) { throw lost.detachedError() }
    }
}
