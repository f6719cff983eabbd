/// The notifications of a coordinator, which are posted on the thread that causes them.
public enum CoordinatorNotification: UInt32, Sendable, CaseIterable {
    /// A store was added, removed or replaced.
    case storesDidChange = 1
    /// The store in `removed` is about to be removed. It is still open, and its objects can be read and saved.
    case willRemoveStore
    /// Another process or coordinator wrote to a store, or the store's file was replaced or removed.
    ///
    /// Posted on the watcher thread of the store. For stores with the option `postsOwnChanges`, also posted for saves
    /// of this coordinator's contexts, on the saving thread.
    case remoteChange
}

/// The contents of a coordinator's notification.
public struct StoreChanges: Sendable {
    public var added: [Store] = []
    public var removed: [Store] = []
    public var uuidChanged: StoreReplacement?
    public var remote: RemoteChange?

    public init(
        added: [Store] = [], removed: [Store] = [], uuidChanged: StoreReplacement? = nil, remote: RemoteChange? = nil
    ) {
        self.remote = remote
        self.added = added
        self.removed = removed
        self.uuidChanged = uuidChanged
    }
}

/// A store that replaced another one and has other object IDs.
public struct StoreReplacement: Sendable {
    /// The former store, which is removed next.
    public let old: Store
    public let new: Store
    /// The ID of each object followed by its ID in the new store: old, new, old, new.
    ///
    /// The pairs are in no particular order.
    public let migratedIDs: [ObjectID]
}

extension Coordinator {
    /// Calls `handler` for each notification of `kind`, on the thread that causes it.
    ///
    /// The observation ends when the token is cancelled or released. The handler may use the coordinator without
    /// restrictions, and may add and remove stores. It is not called recursively more than 8 times. This function can
    /// be called on any thread.
    public func observe(
        _ kind: CoordinatorNotification, _ handler: @escaping (Coordinator, StoreChanges) -> Void
    ) -> Observation { watching(kind, listeners.observe(kind, { handler($0.coordinator, $0.changes) })) }

    /// Observes notifications like `observe(_:_:)`, and the deallocation of the coordinator.
    ///
    /// `ended` is called once if the coordinator is deallocated before the token is cancelled or released.
    public func observe(
        _ kind: CoordinatorNotification, ended: @escaping @Sendable () -> Void,
        _ handler: @escaping (Coordinator, StoreChanges) -> Void
    ) -> Observation { watching(kind, listeners.observe(kind, { handler($0.coordinator, $0.changes) }, ended: ended)) }

    private func watching(_ kind: CoordinatorNotification, _ observation: Observation) -> Observation {
        kind == .remoteChange ? remote.keepWatching(self, for: observation) : observation
    }

    func post(_ kind: CoordinatorNotification, _ changes: @autoclosure () -> StoreChanges) {
        listeners.notify(kind, (self, changes()))
    }
}

typealias CoordinatorListeners = Listeners<CoordinatorNotification, (coordinator: Coordinator, changes: StoreChanges)>
