/// What a coordinator tells those who listen to it, on the thread that causes it, and while nothing is locked.
public enum CoordinatorNotification: UInt32, Sendable, CaseIterable {
    /// A store was added or removed, or another one took its place.
    case storesDidChange = 1
    /// The store in `removed` is about to be removed: it is still open, and its objects can be read and saved.
    case willRemoveStore
    /// Somebody else wrote into a store, another process or another coordinator of this one; on a thread of the store's watch. For
    /// stores that were opened with `postsOwnChanges` contexts of this coordinator too, on the thread that saved.
    case remoteChange
}

/// What a notification of a coordinator is about.
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

/// A store that took the place of another one, with objects of other IDs.
public struct StoreReplacement: Sendable {
    /// It is removed next.
    public let old: Store
    public let new: Store
    /// The ID of each object, followed by the one that it has in the new store: old, new, old, new. In no particular order.
    public let migratedIDs: [ObjectID]
}

extension Coordinator {
    /// Calls `handler` whenever the coordinator posts `kind`, on the thread that causes it, until the token is cancelled or ends.
    /// Any thread may ask. The handler may use the coordinator at will, add and remove stores too. It is not called more than 8
    /// times within itself.
    public func observe(
        _ kind: CoordinatorNotification, _ handler: @escaping (Coordinator, StoreChanges) -> Void
    ) -> Observation { watching(kind, listeners.observe(kind, { handler($0.coordinator, $0.changes) })) }

    /// The same, and calls `ended` once when the coordinator ends before the token.
    public func observe(
        _ kind: CoordinatorNotification, ended: @escaping @Sendable () -> Void,
        _ handler: @escaping (Coordinator, StoreChanges) -> Void
    ) -> Observation { watching(kind, listeners.observe(kind, { handler($0.coordinator, $0.changes) }, ended: ended)) }

    private func watching(_ kind: CoordinatorNotification, _ observation: Observation) -> Observation {
        kind == .remoteChange ? remote.keepWatching(self, for: observation) : observation
    }

    func post(_ kind: CoordinatorNotification, _ changes: @autoclosure () -> StoreChanges) {
        listeners.tell(kind, (self, changes()))
    }
}

typealias CoordinatorListeners = Listeners<CoordinatorNotification, (coordinator: Coordinator, changes: StoreChanges)>
