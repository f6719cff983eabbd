import CPlatform
import CorestoneModel
import CorestoneValues

// What others saved comes into a context that already has some of the objects.
extension Context {
    /// Takes over what another context saved: objects that were read already are read anew, keeping their own changes on top;
    /// new ones are registered, and retained until the perform ends, or outside a perform until the next merge; deleted ones are
    /// deleted here too, without being a change that this context would save.
    ///
    /// - Parameter ids: of that context's `didSave` notification, or those of a context of another coordinator.
    /// - Throws: `.wrongThread`; what reading fails with.
    public func mergeChanges(_ ids: ChangedIDs) throws { try mergeChanges(ids, late: []) }

    private func mergeChanges(_ ids: ChangedIDs, late: [ManagedObject]) throws {
        try merge(ids, late: late)
        // What is new beneath them is new to those above.
        for inbox in links.children.merging { inbox.post(ids) }
    }

    /// The same, telling no child.
    /// - Parameter late: those of the objects of which others have told before, when they did not take it in.
    func merge(_ ids: ChangedIDs, late: [ManagedObject] = []) throws {
        try checkQueue()
        holdNotices()
        defer { sendNotices() }
        let others = (ids.inserted + ids.updated + ids.deleted + ids.refreshed).filter {
            $0.store.map { $0.coordinator != ObjectIdentifier(coordinator) } ?? false
        }
        coordinator.forgetRows(of: others.compactMap(ownID))
        try advanceGeneration()
        takeRenamed()
        var merged = ids
        try unrecorded {
            let former = targets(of: late)
            merged.refreshed += try takeIn(ids)
            for (object, former) in zip(late, former) { try object.unlessGhost { try settleWhole(object, former) } }
            try settlePartners(of: late)
        }
        noteMerged(ids)
        try processPendingChanges()
        forgetReturned()
        // Who tracks results holds those that belong to them.
        if observation.trackers.hears(.event) { mergeState.mergedIn = [] }
        post(.didMergeChangesObjectIDs, ContextChanges(ids: merged))
    }

    /// Holds merged objects no longer: the block of a perform in which they came in is over.
    func forgetMerged() { if !mergeState.mergedIn.isEmpty { mergeState.mergedIn = [] } }

    /// - Returns: the objects that were read anew, which are updated elsewhere and refreshed here.
    private func takeIn(_ ids: ChangedIDs) throws -> [ObjectID] {
        var (observed, changed): ([ManagedObject], [ManagedObject]) = ([], [])
        var refreshed: [ObjectID] = []
        // One that counts as deleted for want of a row has one now.
        for id in ids.inserted + ids.updated { registered(with: id)?.endInaccessibility() }
        for id in try ids.updated + ids.refreshed + othersRows(among: ids) {
            guard let object = registered(with: id), object.state.isDisjoint(with: [.inserted, .gone]) else {
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
                try readAnew(object)
            }
        }
        try refreshObserved(observed)
        // Last, since they leave the lists of newer owners again.
        for object in changed { try readAnew(object) }
        if changed.count > 1 { for object in changed { try object.unlessGhost { try settleInverses(of: object) } } }
        for id in ids.invalidated {
            guard let object = registered(with: id) else { continue }
            if object.isDeleted { deferMerge(object) } else { try refresh(object, mergeChanges: false) }
        }
        let (seen, left) = try mergeDeletions(ids.deleted)
        if !mergeState.deferred.isEmpty {
            for id in ids.inserted { registered(with: id).map { noteReinsertedRow(of: $0) } }
        }
        let back = try takeInReturned(named: ids, left)
        var inserted =
            back
            + ids.inserted.compactMap { try? object(with: $0) }.filter { object in
                if object.isDeleted { deferMerge(object) }
                return !object.isDeleted && !back.contains { $0 === object }
            }
        // One that was deleted since is no longer there.
        let missing = try loadRows(of: inserted)
        if !missing.isEmpty { inserted.removeAll { $0.record == nil } }
        if access.holds.isNone { mergeState.mergedIn = [] }
        mergeState.mergedIn += inserted
        try enterLists(inserted)
        noteMerged(inserted: inserted, deleted: seen)
        return refreshed
    }

    /// A fault just reads the newest values when it fires, and nobody has seen others.
    private func readAnew(_ object: ManagedObject) throws {
        if parent != nil, object.state.contains(.observed), !object.hasChanges {
            return try refreshNested(object, mergeChanges: true)
        }
        guard object.hasChanges else {
            let wasFault = object.isFault
            object.turnIntoFault()
            if !wasFault { tellRefreshed(object) }
            return
        }
        do { try refresh(object, mergeChanges: true) } catch let error as CoreError where error.status == .objectGone {
            // Deleted since; the save of its changes will tell.
        }
    }

    /// Deletes objects whose rows are gone. Their values can still be read until the next save, and no list has them. Nor are
    /// they registered: were a row to come again, its object would be another one.
    /// - Returns: those that somebody had seen, and those of which nobody has values, which left the context.
    private func mergeDeletions(_ ids: [ObjectID]) throws -> (seen: [ManagedObject], left: [ManagedObject]) {
        var deleted: [ManagedObject] = []
        for id in ids {
            guard let object = registered(with: id), object.state.isDisjoint(with: [.inserted, .gone]) else {
                continue
            }
            if object.hasChanges && !object.isDeleted { try object.takeBackRelationships() }
            object.dropChanges()
            mergeState.deferred[ObjectIdentifier(object)] = nil
            deleted.append(object)
        }
        noteOwners(of: deleted)
        forgetMembers(among: deleted, whereverTheyAre: true)
        for object in deleted {
            unregister(object)
            if object.record == nil {
                object.leaveContext()
            } else {
                object.state.formUnion([.deleted, .propagated])
                mergeState.deletedElsewhere.append(object)
            }
        }
        return (deleted.filter { !$0.isGone && !$0.isFault }, deleted.filter(\.isGone))
    }

    /// The same ID in terms of this context's coordinator.
    func ownID(_ id: ObjectID) -> ObjectID? {
        guard let store = id.store.flatMap({ store(like: $0) }), let entity = entity(like: id.entity) else {
            return nil
        }
        return ObjectID(store: store, entity: entity, reference: id.reference)
    }
}

// MARK: - Merging by itself

extension Context {
    /// Whether the context merges what is saved beneath it, by itself: a child what its parent saves, any other what contexts of
    /// the same coordinator save. False at first.
    ///
    /// It merges on its own queue: one with a private queue or of the main queue as soon as that is free, one that belongs to
    /// the saving thread at once, one that is confined to another thread when it next processes pending changes, or fetches and has
    /// no changes of its own.
    ///
    /// A context that is pinned moves on to the newest state with each merge; but one that was pinned to the token of a state merges
    /// nothing by itself until it has moved on (`setQueryGeneration`).
    public var automaticallyMergesChangesFromParent: Bool {
        get { links.inbox.merges.load(ordering: .relaxed) }
        set {
            links.inbox.merges.store(newValue, ordering: .relaxed)
            if parent != nil { return }
            if newValue { coordinator.followers.add(links.inbox) } else { coordinator.followers.remove(links.inbox) }
        }
    }

    /// Tells the contexts that merge by themselves what this one saved.
    func tellOthers(_ plan: SavePlan) {
        var others = links.children.merging
        if parent == nil { others += coordinator.followers.merging.filter { $0 !== links.inbox } }
        if others.isEmpty { return }
        let ids = plan.changes.ids
        for inbox in others { inbox.post(ids) }
    }

    /// Takes what other contexts have to tell, where no queue has it taken between two pieces of work: within one, what was read
    /// and what is saved belong together.
    func takeMailAtEnd() { if queueType == .caller { takeMail() } else { takeRenamed() } }

    /// The same where nothing tells whether a piece of work has ended, but that nothing is left to save: newer rows under changes
    /// would let their save overwrite what others saved, without a conflict.
    func takeMailInPassing() {
        if links.inbox.isEmpty { return }
        if hasChanges { takeRenamed() } else { takeMailAtEnd() }
    }

    /// Takes what other contexts have to tell.
    func takeMail() {
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
            } catch { tellNotMerged(error) }
            noteEverythingMerged()
            for inbox in links.children.merging { inbox.postEverything() }
        }
        for (store, changes) in links.inbox.takeForeign() {
            do { try takeIn(changes, of: store) } catch let error as CoreError where error.mayPass {
                links.inbox.putBack(changes, of: store)
            } catch { tellNotMerged(error) }
        }
    }

    /// An observer that looks before a change is done gets what waits later, and so does a hook.
    var mayMergeNow: Bool { observation.objects?.isTellingPrior != true && !isInHook && !mergeState.isResolving }

    /// A merge that nobody called has nobody to throw to: the log tells, and results are fetched anew, which fails as loudly.
    private func tellNotMerged(_ error: any Error) {
        let reason = (error as? CoreError)?.message.withoutRemedy ?? "\(error)"
        DebugLog.write(
            "CoreData: error: \(label.text) did not merge all saves of other contexts and processes: \(reason); refresh its objects"
        )
        noteEverythingMerged()
    }

    /// What cannot be read now waits for the next call.
    private func mergeOrPutBack(_ ids: ChangedIDs, late: [ManagedObject] = []) {
        do { try mergeChanges(ids, late: late) } catch let error as CoreError where error.mayPass {
            links.inbox.putBack(ids)
        } catch { tellNotMerged(error) }
    }

    /// Merges what a merge had left out; with the mail where now is not the time.
    func mergeLate(_ ids: ChangedIDs) {
        if ids.isEmpty || generation?.isChosen == true { return }
        if mayMergeNow {
            mergeOrPutBack(ids, late: ids.updated.compactMap { registered(with: $0) })
        } else {
            links.inbox.putBack(ids)
        }
    }
}

extension CoreError {
    /// Whether it may go well another time.
    fileprivate var mayPass: Bool { status == .storeBusy || status == .cancelled }
}

// MARK: - From elsewhere

/// An object of another context, process or machine: its ID, or the URI of it.
public enum RemoteObject: Sendable, ExpressibleByStringLiteral {
    case id(ObjectID)
    case uri(String)

    public init(stringLiteral uri: String) { self = .uri(uri) }
}

extension Context {
    /// Tells contexts what changed in their stores behind their backs: by a batch request, or by another process.
    ///
    /// Each context merges on its own queue; one that is confined to another thread does when it next fetches or processes
    /// pending changes.
    /// - Parameter changes: by `inserted`, `updated`, `deleted`, `refreshed` and `invalidated`, or the same with `_objectIDs`.
    /// - Throws: `.invalidArgument` for another key, for a text that is no object URI; what merging fails with.
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
                // A thread that has the context keeps what comes in, as `mergeChanges` does.
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
    /// IDs that the coordinator's stores do not know are left out.
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
                            "\"\(uri)\" is not a URI of a saved object, which has the form x-coredata://<store UUID>/<Entity>/p<number>",
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
    /// Forgets the rows of objects that somebody else changed, so that they are read anew.
    func forgetRows(of ids: [ObjectID]) {
        if ids.isEmpty { return }
        // First, lest a fault read a forgotten row once more in a transaction that began before it was changed.
        for store in stores { store.backing.endRead() }
        for id in ids {
            guard let store = id.store, store.coordinator == ObjectIdentifier(self), store.isOpen else { continue }
            store.rowCache.forget(id.entity.root, id.reference)
        }
    }
}
