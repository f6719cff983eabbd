import CPlatform
import CorestoneModel
import CorestoneValues

/// The watchers of a coordinator's stores for remote changes. Thread-safe.
///
/// They run while there are observers of `remoteChange` or contexts with automatic merging of remote changes. The lock
/// of `state` is acquired before the coordinator's lock.
final class RemoteWatching: Sendable {
    private struct State {
        var listeners = 0
        /// The watchers, by the number of the store.
        var watches: [UInt32: any StoreWatch] = [:]
    }

    private let state = Locked(State(), .watches)
    /// The contexts that merge remote changes.
    private let followers = ContextFollowers()

    func add(_ inbox: ContextInbox, in coordinator: Coordinator) throws {
        followers.add(inbox)
        do { try update(coordinator) } catch {
            followers.remove(inbox)
            throw error
        }
    }

    func remove(_ inbox: ContextInbox, in coordinator: Coordinator) {
        // The child of a fork does not have the watcher threads, and a thread that does not exist there may hold the
        // lock.
        if platform_is_forked() { return }
        followers.remove(inbox)
        try? update(coordinator)
    }

    /// Returns an observation that also keeps the stores watched. A failure to watch them is logged.
    func keepWatching(_ coordinator: Coordinator, for observation: Observation) -> Observation {
        state.withLock { $0.listeners += 1 }
        do { try update(coordinator) } catch {
            DebugLog.write("CoreData: error: \((error as? CoreError)?.message ?? "\(error)")")
        }
        return Observation(RemoteListener(observation, coordinator))
    }

    fileprivate func removeListener(in coordinator: Coordinator?) {
        if platform_is_forked() { return }
        state.withLock { $0.listeners -= 1 }
        if let coordinator { try? update(coordinator) }
    }

    /// Starts and stops watchers according to the observers, contexts and open stores.
    func update(_ coordinator: Coordinator) throws {
        try state.withLock { state in
            let isWanted = state.listeners > 0 || !followers.isEmpty
            let stores = isWanted ? coordinator.stores : []
            for (number, watch) in state.watches where !stores.contains(where: { $0.number == number }) {
                watch.stop()
                state.watches[number] = nil
            }
            for store in stores where state.watches[store.number] == nil {
                state.watches[store.number] = try watch(store, of: coordinator)
            }
        }
    }

    /// Stops the watcher of a store before the store is closed; nil stops all watchers.
    func end(_ store: Store? = nil) {
        if platform_is_forked() { return }
        state.withLock { state in
            for (number, watch) in state.watches where store == nil || store?.number == number {
                watch.stop()
                state.watches[number] = nil
            }
        }
    }

    private func watch(_ store: Store, of coordinator: Coordinator) throws -> (any StoreWatch)? {
        try store.backing.watch { [weak coordinator, number = store.number] changes in
            guard let coordinator, let store = coordinator.stores.first(where: { $0.number == number }) else { return }
            coordinator.process(changes, of: store)
        }
    }

    /// Posts the changes of another writer to the inboxes of the contexts that merge remote changes.
    func notify(_ changes: ExternalChanges, of store: Store) {
        for inbox in followers.all { inbox.post(changes, of: store) }
    }
}

/// An observer that keeps the stores watched until it is cancelled.
private final class RemoteListener: Observer, @unchecked Sendable {
    private let inner: Observation
    private weak var coordinator: Coordinator?
    private let remote: RemoteWatching
    private let state = ObserverState()

    init(_ inner: Observation, _ coordinator: Coordinator) {
        self.inner = inner
        self.coordinator = coordinator
        remote = coordinator.remote
    }

    func cancel() {
        guard state.cancel() else { return }
        inner.cancel()
        remote.removeListener(in: coordinator)
    }
}

extension Coordinator {
    /// Processes the changes of another writer.
    ///
    /// If the file was written, removes stale rows from the row cache and posts the changes to contexts. Notifies
    /// observers in all cases.
    fileprivate func process(_ changes: ExternalChanges, of store: Store) {
        if changes.file == .written {
            forgetRows(changes, of: store)
            remote.notify(changes, of: store)
        }
        postRemoteChange(of: store, transaction: changes.transaction, isOwn: false, file: changes.file)
    }

    /// Removes changed rows from the row cache.
    ///
    /// - Parameter isOwn: Whether this coordinator changed the rows, during its turn to save.
    func forgetRows(_ changes: ExternalChanges, of store: Store, isOwn: Bool = false) {
        guard store.isOpen else { return }
        // The read transaction ends first. Otherwise a fault could read an old row again in a transaction that began
        // before the change.
        store.backing.endRead()
        // Only a batch request reports changes of attributes that are derived from other rows.
        let isAll = changes.isComplete && (changes.isBatch || model.entities.allSatisfy(\.slotsOfOtherRows.isEmpty))
        if isAll, changes.updated.count + changes.deleted.count <= ExternalChanges.limit {
            for row in changes.updated + changes.deleted {
                let root = model.entities[Int(row.entity)].root
                if isOwn {
                    store.rowCache.remove(root, row.primaryKey)
                } else {
                    store.rowCache.forget(root, row.primaryKey)
                }
            }
        } else {
            store.rowCache.forgetAll()
        }
    }

    /// Notifies observers of a save of a context.
    func postOwnChanges(_ plan: SavePlan) {
        historySignals.send()
        guard listeners.hasObservers(.remoteChange) else { return }
        for store in stores where plan.concerns(store) { postOwnChange(of: store) }
    }

    /// Notifies observers of a write to one store.
    func postOwnChange(of store: Store) {
        historySignals.send()
        guard store.backing.postsOwnChanges, listeners.hasObservers(.remoteChange) else { return }
        postRemoteChange(of: store, transaction: store.backing.lastOwnTransaction, isOwn: true)
    }

    private func postRemoteChange(
        of store: Store, transaction: Int64?, isOwn: Bool, file: RemoteChange.File = .written
    ) {
        let token = transaction.map {
            HistoryToken(storeIdentifier: store.identifier, transactionNumber: $0)
        }
        post(
            .remoteChange,
            StoreChanges(remote: RemoteChange(store: store, historyToken: token, isOwn: isOwn, file: file)))
    }
}

extension SavePlan {
    fileprivate func concerns(_ store: Store) -> Bool {
        [inserted, updated, deleted].contains { $0.contains { $0.store === store } }
    }
}
