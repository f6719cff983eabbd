import CPlatform
import CorestoneModel
import CorestoneValues

extension Context {
    /// Merges a save of another context.
    ///
    /// Updated objects have the newest values, and keep their unsaved changes. Inserted objects are registered and
    /// retained until the perform ends, or outside a perform until the next merge. Deleted objects are deleted here
    /// too, and their unsaved changes are discarded. A save of this context does not write these deletions.
    ///
    /// - Parameter ids: The IDs in the `didSave` notification of the other context, which may be a context of another
    ///   coordinator.
    /// - Throws: `.wrongThread` on a thread other than the context's.
    ///   The store's error if a row cannot be read.
    public func mergeChanges(_ ids: ChangedIDs) throws { try changeMerger.mergeChanges(ids, late: []) }

    /// Whether automatic merging is enabled. Default: false.
    ///
    /// A nested context merges the saves of its parent. Other contexts merge the saves of contexts of the same
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
        case .these(let changes): for ids in changes { changeMerger.mergeOrPutBack(ids) }
        case .everything:
            do {
                try advanceGeneration()
                try refreshAll()
            } catch { changeMerger.reportMergeFailure(error) }
            changeTracker.noteEverythingMerged()
            for inbox in links.children.merging { inbox.postEverything() }
        }
        for (store, changes) in links.inbox.takeExternal() {
            do { try changeMerger.merge(changes, of: store) } catch let error as CoreError where error.isRetryable {
                links.inbox.putBack(changes, of: store)
            } catch { changeMerger.reportMergeFailure(error) }
        }
    }

    /// Whether a merge can run now. It cannot during a prior notification, a lifecycle hook or the merge policy.
    var mayMergeNow: Bool { observation.objects?.isNotifyingPrior != true && !isInHook && !mergeState.isResolving }

    /// Merges into contexts the changes that a batch request or another process made in the stores.
    ///
    /// The call waits until each context has merged on its own queue. A context that is confined to another thread
    /// merges later, when it next fetches or processes pending changes.
    ///
    /// - Parameters:
    ///   - changes: The objects by kind of change. The keys are `inserted`, `updated`, `deleted`, `refreshed` and
    ///     `invalidated`, optionally with the suffix `_objectIDs`.
    ///   - contexts: The contexts that merge the changes.
    /// - Throws: `.invalidArgument` for another key, or for a text that is not the URI of a saved object.
    ///   Errors of merging.
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
