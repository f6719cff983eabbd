import CPlatform
import CorestoneModel
import CorestoneValues

/// Has the stores of a coordinator watched as long as somebody wants to know what others write into them: who listens for
/// `remoteChange`, and contexts that merge by themselves. Any thread.
///
/// Its lock is taken before the coordinator's.
final class RemoteWatching: Sendable {
    private struct State {
        var listeners = 0
        /// By the number of the store.
        var watches: [UInt32: any StoreWatch] = [:]
    }

    private let state = Locked(State(), .watches)
    /// Contexts that merge what others write.
    private let followers = ContextFollowers()

    func add(_ inbox: ContextInbox, in coordinator: Coordinator) throws {
        followers.add(inbox)
        do { try update(coordinator) } catch {
            followers.remove(inbox)
            throw error
        }
    }

    func remove(_ inbox: ContextInbox, in coordinator: Coordinator) {
        // What is watched, and what is locked, is the parent's after a fork.
        if platform_is_forked() { return }
        followers.remove(inbox)
        try? update(coordinator)
    }

    /// Has the stores watched as long as the observation lasts. Where the system lets none be watched, nothing is told but to the
    /// log.
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

    /// Watches what is to be watched now, and nothing else.
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

    /// Before a store is closed.
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
            coordinator.takeIn(changes, of: store)
        }
    }

    /// Has contexts merge what others wrote, each on its queue.
    func tell(_ changes: ForeignChanges, of store: Store) {
        for inbox in followers.all { inbox.post(changes, of: store) }
    }
}

/// Keeps the stores watched as long as somebody listens.
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
    /// Others wrote into a store: its cached rows may be old, contexts merge what changed, and who listens is told.
    fileprivate func takeIn(_ changes: ForeignChanges, of store: Store) {
        if changes.file == .written {
            forgetRows(changes, of: store)
            remote.tell(changes, of: store)
        }
        postRemoteChange(of: store, transaction: changes.transaction, isOwn: false, file: changes.file)
    }

    /// - Parameter isOwn: whether they are of a change of the coordinator's own, which holds the turn to save.
    func forgetRows(_ changes: ForeignChanges, of store: Store, isOwn: Bool = false) {
        guard store.isOpen else { return }
        // First, lest a fault read a forgotten row once more in a transaction that began before it was changed.
        store.backing.endRead()
        // Of attributes that were derived anew from other rows nobody tells, but a batch.
        let isAll = changes.isComplete && (changes.isBatch || model.entities.allSatisfy(\.slotsOfOtherRows.isEmpty))
        if isAll, changes.updated.count + changes.deleted.count <= ForeignChanges.limit {
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

    /// Tells those who asked for it of what a context saved.
    func postOwnChanges(_ plan: SavePlan) {
        historySignals.send()
        guard listeners.hears(.remoteChange) else { return }
        for store in stores where plan.concerns(store) { postOwnChange(of: store) }
    }

    /// The same for one store that was written.
    func postOwnChange(of store: Store) {
        historySignals.send()
        guard store.backing.postsOwnChanges, listeners.hears(.remoteChange) else { return }
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
