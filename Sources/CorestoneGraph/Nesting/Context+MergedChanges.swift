import CPlatform
import CorestoneModel
import CorestoneValues

// Merging of saves of other contexts and processes into a context.
extension Context {
    /// Merges a save of another context.
    ///
    /// Updated objects have the newest values, and keep their unsaved changes. Inserted objects are registered and
    /// retained until the perform ends, or outside a perform until the next merge. Deleted objects are deleted here
    /// too, and their unsaved changes are discarded. A save of this context does not write these deletions.
    ///
    /// - Parameter ids: The IDs in the `didSave` notification of the other context, which may be a context of another
    ///   coordinator.
    /// - Throws: `.wrongThread`; errors of reading.
    public func mergeChanges(_ ids: ChangedIDs) throws { try mergeChanges(ids, late: []) }

    private func mergeChanges(_ ids: ChangedIDs, late: [ManagedObject]) throws {
        try merge(ids, late: late)
        // The child contexts with automatic merging merge the same changes.
        for inbox in links.children.merging { inbox.post(ids) }
    }

    /// Merges a save without notifying child contexts.
    ///
    /// - Parameter late: The objects for which an earlier merge skipped these changes.
    func merge(_ ids: ChangedIDs, late: [ManagedObject] = []) throws {
        try checkQueue()
        identityMap.holdNotices()
        defer { identityMap.sendNotices() }
        let others = (ids.inserted + ids.updated + ids.deleted + ids.refreshed).filter {
            $0.store.map { $0.coordinator != ObjectIdentifier(coordinator) } ?? false
        }
        coordinator.forgetRows(of: others.compactMap(ownID))
        try advanceGeneration()
        takeRenamed()
        var merged = ids
        try unrecorded {
            let former = inverses.targets(of: late)
            merged.refreshed += try mergeObjects(ids)
            for (object, former) in zip(late, former) {
                try object.unlessRowIsMissing { try inverses.updateAllInverses(object, former) }
            }
            try inverses.removeOneSidedPairs(of: late)
        }
        changeTracker.noteMerged(ids)
        try processPendingChanges()
        detachReinserted()
        // Result trackers retain the objects in their results.
        if observation.trackers.hasObservers(.event) { mergeState.mergedIn = [] }
        post(.didMergeChangesObjectIDs, ContextChanges(ids: merged))
    }

    /// Releases the merged objects at the end of the perform in which they were merged.
    func forgetMerged() { if !mergeState.mergedIn.isEmpty { mergeState.mergedIn = [] } }

    /// Merges changes into the context.
    ///
    /// - Returns: The IDs of objects, except faults, that were updated elsewhere or refreshed.
    private func mergeObjects(_ ids: ChangedIDs) throws -> [ObjectID] {
        var (observed, changed): ([ManagedObject], [ManagedObject]) = ([], [])
        var refreshed: [ObjectID] = []
        // An object that was treated as deleted because its row was missing may have a row now.
        for id in ids.inserted + ids.updated { identityMap.registered(with: id)?.endInaccessibility() }
        for id in try ids.updated + ids.refreshed + reinsertedRows(among: ids) {
            guard let object = identityMap.registered(with: id), object.state.isDisjoint(with: [.inserted, .detached]) else {
                continue
            }
            if object.isDeleted {
                deferMerge(object)
                continue
            }
            mergeState.deferred[ObjectIdentifier(object)] = nil
            if !object.isFault { refreshed.append(id) }
            if object.hasChanges {
                changed.append(object)
            } else if object.state.contains(.observed), parent == nil {
                observed.append(object)
            } else {
                try updateToNewestValues(object)
            }
        }
        try refreshObserved(observed)
        // Last, because their unsaved changes remove them again from the members of owners that were just read.
        for object in changed { try updateToNewestValues(object) }
        if changed.count > 1 {
            for object in changed { try object.unlessRowIsMissing { try inverses.updateInverses(of: object) } }
        }
        for id in ids.invalidated {
            guard let object = identityMap.registered(with: id) else { continue }
            if object.isDeleted { deferMerge(object) } else { try refresh(object, mergeChanges: false) }
        }
        let (seen, left) = try mergeDeletions(ids.deleted)
        if !mergeState.deferred.isEmpty {
            for id in ids.inserted { identityMap.registered(with: id).map { noteReinsertedRow(of: $0) } }
        }
        let back = try mergeReinserted(named: ids, left)
        var inserted =
            back
            + ids.inserted.compactMap { try? object(with: $0) }.filter { object in
                if object.isDeleted { deferMerge(object) }
                return !object.isDeleted && !back.contains { $0 === object }
            }
        // An inserted object whose row was deleted in the meantime is skipped.
        let missing = try faultLoader.loadRows(of: inserted)
        if !missing.isEmpty { inserted.removeAll { $0.record == nil } }
        if access.holds.isNone { mergeState.mergedIn = [] }
        mergeState.mergedIn += inserted
        try reloadOwners(inserted)
        changeTracker.noteMerged(inserted: inserted, deleted: seen)
        return refreshed
    }

    /// Makes an object use its newest values.
    ///
    /// An object with unsaved changes reads its row now. Without changes, the object becomes a fault, unless it is an
    /// observed object of a nested context.
    private func updateToNewestValues(_ object: ManagedObject) throws {
        if parent != nil, object.state.contains(.observed), !object.hasChanges {
            return try refreshNested(object, mergeChanges: true)
        }
        guard object.hasChanges else {
            let wasFault = object.isFault
            object.turnIntoFault()
            if !wasFault { noteRefreshedIfObserved(object) }
            return
        }
        do { try refresh(object, mergeChanges: true) } catch let error as CoreError where error.status == .objectGone {
            // The object's row was deleted in the meantime. The save of its changes reports the conflict.
        }
    }

    /// Deletes the objects of deleted rows.
    ///
    /// Their loaded values can be read until the next save. The objects are removed from the members of relationships
    /// and from the identity map, so that a row that is inserted again has a new object.
    ///
    /// - Returns: The deleted objects that were not faults, and the objects with missing rows, which left the context.
    private func mergeDeletions(_ ids: [ObjectID]) throws -> (seen: [ManagedObject], left: [ManagedObject]) {
        var deleted: [ManagedObject] = []
        for id in ids {
            guard let object = identityMap.registered(with: id), object.state.isDisjoint(with: [.inserted, .detached]) else {
                continue
            }
            if object.hasChanges && !object.isDeleted { try object.revertRelationships() }
            object.dropChanges()
            mergeState.deferred[ObjectIdentifier(object)] = nil
            deleted.append(object)
        }
        noteOwners(of: deleted)
        forgetMembers(among: deleted, whereverTheyAre: true)
        for object in deleted {
            identityMap.unregister(object)
            if object.record == nil {
                object.leaveContext()
            } else {
                object.state.formUnion([.deleted, .propagated])
                mergeState.deletedElsewhere.append(object)
            }
        }
        return (deleted.filter { !$0.isGone && !$0.isFault }, deleted.filter(\.isGone))
    }

    /// Returns the equivalent ID for the stores and the model of this context's coordinator; nil without such a store.
    func ownID(_ id: ObjectID) -> ObjectID? {
        guard let store = id.store.flatMap({ store(like: $0) }), let entity = entity(like: id.entity) else {
            return nil
        }
        return ObjectID(store: store, entity: entity, reference: id.reference)
    }
}

// MARK: - Automatic merging

extension Context {
    /// Whether automatic merging is enabled. Default: false.
    ///
    /// A child context merges the saves of its parent. Other contexts merge the saves of contexts of the same
    /// coordinator.
    ///
    /// The merge runs on the context's queue. A context with a private queue or on the main queue merges when the queue
    /// is free. A context that is confined to the saving thread merges immediately. A context that is confined to
    /// another thread merges when it next processes pending changes, or when it fetches without having changes of its
    /// own.
    ///
    /// A context that is pinned to the current generation advances to the newest state with each merge. A context that
    /// is pinned to another token does not merge automatically until it is pinned again (`setQueryGeneration`).
    public var automaticallyMergesChangesFromParent: Bool {
        get { links.inbox.merges.load(ordering: .relaxed) }
        set {
            links.inbox.merges.store(newValue, ordering: .relaxed)
            if parent != nil { return }
            if newValue { coordinator.followers.add(links.inbox) } else { coordinator.followers.remove(links.inbox) }
        }
    }

    /// Posts this context's save to the other contexts that merge automatically.
    func notifyOtherContexts(_ plan: SavePlan) {
        var others = links.children.merging
        if parent == nil { others += coordinator.followers.merging.filter { $0 !== links.inbox } }
        if others.isEmpty { return }
        let ids = plan.changes.ids
        for inbox in others { inbox.post(ids) }
    }

    /// Processes the inbox at the end of an operation, if the context does not have a queue.
    ///
    /// A context with a queue applies only permanent IDs here. It merges between two blocks, so that one block reads
    /// and saves a consistent state.
    func processInboxAtEnd() { if queueType == .caller { processInbox() } else { takeRenamed() } }

    /// Processes the inbox during an operation, unless the context has changes.
    ///
    /// With newer rows, the save of these changes would overwrite other saves without a conflict.
    func processInboxIfClean() {
        if links.inbox.isEmpty { return }
        if hasChanges { takeRenamed() } else { processInboxAtEnd() }
    }

    /// Processes the inbox: permanent IDs, removed stores, and changes to be merged.
    ///
    /// Has no effect while a merge cannot run.
    func processInbox() {
        if links.inbox.isEmpty || !mayMergeNow { return }
        takeRenamed()
        takeRemovedStores()
        switch links.inbox.takeMerges() {
        case _ where generation?.isChosen == true: break
        case .these(let changes): for ids in changes { mergeOrPutBack(ids) }
        case .everything:
            do {
                try advanceGeneration()
                try refreshAll()
            } catch { reportMergeFailure(error) }
            changeTracker.noteEverythingMerged()
            for inbox in links.children.merging { inbox.postEverything() }
        }
        for (store, changes) in links.inbox.takeForeign() {
            do { try merge(changes, of: store) } catch let error as CoreError where error.mayPass {
                links.inbox.putBack(changes, of: store)
            } catch { reportMergeFailure(error) }
        }
    }

    /// Whether a merge can run now. It cannot during a prior notification, a lifecycle hook or the merge policy.
    var mayMergeNow: Bool { observation.objects?.isNotifyingPrior != true && !isInHook && !mergeState.isResolving }

    /// Reports the failure of an automatic merge, which does not have a caller that could handle the error.
    ///
    /// Logs the error, and makes trackers fetch their results again.
    private func reportMergeFailure(_ error: any Error) {
        let reason = (error as? CoreError)?.message.withoutRemedy ?? "\(error)"
        DebugLog.write(
            "CoreData: error: \(label.text) did not merge all saves of other contexts and processes: \(reason); refresh its objects"
        )
        changeTracker.noteEverythingMerged()
    }

    /// Merges changes. If the rows cannot be read now, the changes are put back into the inbox.
    private func mergeOrPutBack(_ ids: ChangedIDs, late: [ManagedObject] = []) {
        do { try mergeChanges(ids, late: late) } catch let error as CoreError where error.mayPass {
            links.inbox.putBack(ids)
        } catch { reportMergeFailure(error) }
    }

    /// Merges changes that an earlier merge skipped.
    ///
    /// If a merge cannot run now, the changes are added to the inbox. If the context is pinned to a chosen state, the
    /// changes are ignored.
    func mergeLate(_ ids: ChangedIDs) {
        if ids.isEmpty || generation?.isChosen == true { return }
        if mayMergeNow {
            mergeOrPutBack(ids, late: ids.updated.compactMap { identityMap.registered(with: $0) })
        } else {
            links.inbox.putBack(ids)
        }
    }
}

extension CoreError {
    /// Whether the same operation may succeed later.
    fileprivate var mayPass: Bool { status == .storeBusy || status == .cancelled }
}

// MARK: - Changes by batch requests and other processes

/// A reference to an object of another context, process or machine: its ID or its URI.
public enum RemoteObject: Sendable, ExpressibleByStringLiteral {
    case id(ObjectID)
    case uri(String)

    public init(stringLiteral uri: String) { self = .uri(uri) }
}

extension Context {
    /// Merges into contexts the changes that a batch request or another process made in the stores.
    ///
    /// The call waits until each context has merged on its own queue. A context that is confined to another thread
    /// merges later, when it next fetches or processes pending changes.
    ///
    /// - Parameters:
    ///   - changes: The objects by kind of change. The keys are `inserted`, `updated`, `deleted`, `refreshed` and
    ///     `invalidated`, optionally with the suffix `_objectIDs`.
    ///   - contexts: The contexts that merge the changes.
    /// - Throws: `.invalidArgument` for another key, or for a text that is not the URI of a saved object; errors of
    ///   merging.
    public static func mergeChanges(
        fromRemoteContextSave changes: [String: [RemoteObject]], into contexts: [Context]
    ) throws {
        for context in contexts {
            let ids = try ChangedIDs(changes, context.coordinator)
            context.coordinator.forgetRows(
                of: ids.inserted + ids.updated + ids.deleted + ids.refreshed + ids.invalidated)
            if context.queueType == .caller && context.ownerThread != platform_thread_id() {
                context.links.inbox.post(ids)
            } else {
                // If the calling thread owns the context, merged objects stay retained, as in `mergeChanges`.
                if context.isOwn {
                    try context.mergeChanges(ids)
                } else {
                    try context.runAndWait { try $0.mergeChanges(ids) }
                }
            }
        }
    }
}

extension ChangedIDs {
    /// Creates the IDs of changes. URIs that do not have an ID in the coordinator's stores and model are skipped.
    fileprivate init(_ changes: [String: [RemoteObject]], _ coordinator: Coordinator) throws {
        self.init()
        for (key, objects) in changes {
            let ids = try objects.compactMap { object -> ObjectID? in
                switch object {
                case .id(let id): return id
                case .uri(let uri):
                    guard ObjectIDParts(uri: uri) != nil else {
                        throw CoreError(
                            .invalidArgument,
                            "\"\(uri)\" is not a URI of a saved object, which has the form x-coredata://<store UUID>/<Entity>/p<reference>",
                            key: key, value: .string(uri))
                    }
                    return try coordinator.objectID(forURI: uri)
                }
            }
            let suffix = "_objectIDs"
            switch key.hasSuffix(suffix) ? String(key.dropLast(suffix.count)) : key {
            case "inserted": inserted += ids
            case "updated": updated += ids
            case "deleted": deleted += ids
            case "refreshed": refreshed += ids
            case "invalidated": invalidated += ids
            default:
                throw CoreError(
                    .invalidArgument,
                    "\"\(key)\" is not a kind of changes to merge; use \"inserted\", \"updated\", \"deleted\", \"refreshed\" or "
                        + "\"invalidated\"", key: key, value: .string(key))
            }
        }
    }
}

extension Coordinator {
    /// Removes from the row cache the rows that another writer changed, so that they are read again.
    func forgetRows(of ids: [ObjectID]) {
        if ids.isEmpty { return }
        // Read transactions end first. Otherwise a fault could read an old row again in a transaction that began before
        // the change.
        for store in stores { store.backing.endRead() }
        for id in ids {
            guard let store = id.store, store.coordinator == ObjectIdentifier(self), store.isOpen else { continue }
            store.rowCache.forget(id.entity.root, id.reference)
        }
    }
}
