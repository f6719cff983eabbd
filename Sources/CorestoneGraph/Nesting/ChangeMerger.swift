import CPlatform
import CorestoneModel
import CorestoneValues

/// The merging of saves of other contexts and processes into a context.
///
/// 1. The changes arrive in the context's inbox, or the application passes them (`Context.mergeChanges`).
/// 2. `merge` updates the registered objects, and removes those whose rows were deleted. Objects with unsaved changes
///    keep these; see `ConflictResolver` for the save of such objects.
/// 3. A change that cannot be merged yet is deferred until the object's own changes are saved or discarded.
/// 4. The event ends: observers are notified of the merged objects, and nested contexts merge the same changes.
struct ChangeMerger {
    let context: Context

    /// Merges a save, and posts it to the nested contexts that merge automatically.
    ///
    /// - Parameter late: The objects for which an earlier merge skipped these changes.
    func mergeChanges(_ ids: ChangedIDs, late: [ManagedObject]) throws {
        try merge(ids, late: late)
        for inbox in context.links.children.merging { inbox.post(ids) }
    }

    /// Merges a save without notifying nested contexts.
    ///
    /// - Parameter late: The objects for which an earlier merge skipped these changes.
    func merge(_ ids: ChangedIDs, late: [ManagedObject] = []) throws {
        try context.checkQueue()
        context.identityMap.holdNotices()
        defer { context.identityMap.sendNotices() }
        let others = (ids.inserted + ids.updated + ids.deleted + ids.refreshed).filter {
            $0.store.map { $0.coordinator != ObjectIdentifier(context.coordinator) } ?? false
        }
        context.coordinator.forgetRows(of: others.compactMap(ownID))
        try context.advanceGeneration()
        context.takeRenamed()
        var merged = ids
        try context.unrecorded("merge changes") {
            let former = context.inverses.targets(of: late)
            merged.refreshed += try mergeObjects(ids)
            for (object, former) in zip(late, former) {
                try object.unlessRowIsMissing { try context.inverses.updateAllInverses(object, former) }
            }
            try context.inverses.removeOneSidedPairs(of: late)
        }
        context.changeTracker.noteMerged(ids)
        try context.processPendingChanges()
        detachReinserted()
        // Result trackers retain the objects in their results.
        if context.observation.trackers.hasObservers(.event) { context.mergeState.mergedIn = [] }
        context.post(.didMergeChangesObjectIDs, ContextChanges(ids: merged))
    }

    /// Releases the merged objects at the end of the perform in which they were merged.
    func forgetMerged() { if !context.mergeState.mergedIn.isEmpty { context.mergeState.mergedIn = [] } }

    /// Merges changes into the context.
    ///
    /// - Returns: The IDs of objects, except faults, that were updated elsewhere or refreshed.
    private func mergeObjects(_ ids: ChangedIDs) throws -> [ObjectID] {
        var (observed, changed): ([ManagedObject], [ManagedObject]) = ([], [])
        var refreshed: [ObjectID] = []
        // An object that was treated as deleted because its row was missing may have a row now.
        for id in ids.inserted + ids.updated { context.identityMap.registered(with: id)?.endInaccessibility() }
        for id in try ids.updated + ids.refreshed + reinsertedRows(among: ids) {
            guard let object = context.identityMap.registered(with: id),
                object.state.isDisjoint(with: [.inserted, .detached])
            else {
                continue
            }
            if object.isDeleted {
                deferMerge(object)
                continue
            }
            context.mergeState.deferred[ObjectIdentifier(object)] = nil
            if !object.isFault { refreshed.append(id) }
            if object.hasChanges {
                changed.append(object)
            } else if object.state.contains(.observed), context.parent == nil {
                observed.append(object)
            } else {
                try updateToNewestValues(object)
            }
        }
        try context.objectRefresh.refreshObserved(observed)
        // Changed objects are last, because their unsaved changes remove them again from the members of owners that
        // were just read.
        for object in changed { try updateToNewestValues(object) }
        if changed.count > 1 {
            for object in changed { try object.unlessRowIsMissing { try context.inverses.updateInverses(of: object) } }
        }
        for id in ids.invalidated {
            guard let object = context.identityMap.registered(with: id) else { continue }
            if object.isDeleted { deferMerge(object) } else { try context.refresh(object, mergeChanges: false) }
        }
        let (seen, left) = try mergeDeletions(ids.deleted)
        if !context.mergeState.deferred.isEmpty {
            for id in ids.inserted { context.identityMap.registered(with: id).map { noteReinsertedRow(of: $0) } }
        }
        let back = try mergeReinserted(named: ids, left)
        let returned = Set(back.map(ObjectIdentifier.init))
        var inserted =
            back
            + ids.inserted.compactMap { try? context.object(with: $0) }.filter { object in
                if object.isDeleted { deferMerge(object) }
                return !object.isDeleted && !returned.contains(ObjectIdentifier(object))
            }
        // An inserted object whose row was deleted in the meantime is skipped.
        let missing = try context.faultLoader.loadRows(of: inserted)
        if !missing.isEmpty { inserted.removeAll { $0.record == nil } }
        if context.access.holds.isNone { context.mergeState.mergedIn = [] }
        context.mergeState.mergedIn += inserted
        try reloadOwners(inserted)
        context.changeTracker.noteMerged(inserted: inserted, deleted: seen)
        return refreshed
    }

    /// Makes an object use its newest values.
    ///
    /// An object with unsaved changes reads its row now. Without changes, the object becomes a fault, unless it is an
    /// observed object of a nested context.
    private func updateToNewestValues(_ object: ManagedObject) throws {
        if context.parent != nil, object.state.contains(.observed), !object.hasChanges {
            return try context.objectRefresh.refreshNested(object, mergeChanges: true)
        }
        guard object.hasChanges else {
            let wasFault = object.isFault
            object.turnIntoFault()
            if !wasFault { context.objectRefresh.noteRefreshedIfObserved(object) }
            return
        }
        do { try context.refresh(object, mergeChanges: true) } catch let error as CoreError
            where error.status == .objectGone
        {
            // The object's row was deleted in the meantime. The save of its changes reports the conflict.
        }
    }

    /// Deletes the objects of deleted rows.
    ///
    /// Their loaded values can be read until the next save. The objects are removed from the members of relationships
    /// and from the identity map, so that a row that is inserted again has a new object.
    ///
    /// - Returns: The deleted objects that were not faults, and those without a loaded row, which left the context.
    private func mergeDeletions(_ ids: [ObjectID]) throws -> (seen: [ManagedObject], left: [ManagedObject]) {
        var deleted: [ManagedObject] = []
        for id in ids {
            guard let object = context.identityMap.registered(with: id),
                object.state.isDisjoint(with: [.inserted, .detached])
            else {
                continue
            }
            if object.hasChanges && !object.isDeleted { try object.revertRelationships() }
            object.dropChanges()
            context.mergeState.deferred[ObjectIdentifier(object)] = nil
            deleted.append(object)
        }
        noteOwners(of: deleted)
        context.forgetMembers(among: deleted, inAllRelationships: true)
        for object in deleted {
            context.identityMap.unregister(object)
            if object.record == nil {
                object.leaveContext()
            } else {
                object.state.formUnion([.deleted, .propagated])
                context.mergeState.deletedElsewhere.append(object)
            }
        }
        return (deleted.filter { !$0.isGone && !$0.isFault }, deleted.filter(\.isGone))
    }

    /// Returns the equivalent ID for the stores and the model of the context's coordinator.
    ///
    /// Returns nil if the coordinator does not have such a store or entity.
    func ownID(_ id: ObjectID) -> ObjectID? {
        guard let store = id.store.flatMap({ context.store(like: $0) }), let entity = context.entity(like: id.entity)
        else {
            return nil
        }
        return ObjectID(store: store, entity: entity, reference: id.reference)
    }
}

// MARK: - Automatic merging

extension ChangeMerger {
    /// Reports the failure of an automatic merge, which does not have a caller that could handle the error.
    ///
    /// Logs the error, and makes trackers fetch their results again.
    func reportMergeFailure(_ error: any Error) {
        let reason = (error as? CoreError)?.message.withoutRemedy ?? "\(error)"
        DebugLog.write(
            "CoreData: error: \(context.label.text) did not merge all saves of other contexts and processes: \(reason); call "
                + "cst_context_refresh_all (refresh_all, refreshAll)")
        context.changeTracker.noteEverythingMerged()
    }

    /// Merges changes. If the rows cannot be read now, the changes are put back into the inbox.
    func mergeOrPutBack(_ ids: ChangedIDs, late: [ManagedObject] = []) {
        do { try mergeChanges(ids, late: late) } catch let error as CoreError where error.isRetryable {
            context.links.inbox.putBack(ids)
        } catch { reportMergeFailure(error) }
    }

    /// Merges changes that an earlier merge skipped.
    ///
    /// If a merge cannot run now, the changes are added to the inbox. If the context is pinned to a chosen state, the
    /// changes are ignored.
    func mergeLate(_ ids: ChangedIDs) {
        if ids.isEmpty || context.generation?.isChosen == true { return }
        if context.mayMergeNow {
            mergeOrPutBack(ids, late: ids.updated.compactMap { context.identityMap.registered(with: $0) })
        } else {
            context.links.inbox.putBack(ids)
        }
    }
}

extension CoreError {
    /// Whether the same operation may succeed later.
    var isRetryable: Bool { status == .storeBusy || status == .cancelled }
}

// MARK: - Changes by batch requests and other processes

/// A reference to an object of another context, process or machine: its ID or its URI.
public enum RemoteObject: Sendable, ExpressibleByStringLiteral {
    case id(ObjectID)
    case uri(String)

    public init(stringLiteral uri: String) { self = .uri(uri) }
}

extension ChangedIDs {
    /// Creates the IDs of changes. URIs that do not have an ID in the coordinator's stores and model are skipped.
    init(_ changes: [String: [RemoteObject]], _ coordinator: Coordinator) throws {
        self.init()
        for (key, objects) in changes {
            let ids = try objects.compactMap { object -> ObjectID? in
                switch object {
                case .id(let id): return id
                case .uri(let uri):
                    guard ObjectIDParts(uri: uri) != nil else {
                        throw CoreError(
                            .invalidArgument,
                            "\"\(uri)\" does not have the form x-coredata://<store UUID>/<Entity>/p<reference>; pass "
                                + "the URI of a saved object",
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
