/// What a context tells those who listen to it, on its queue.
///
/// A save posts in this order: `objectsDidChange`, if changes were pending; `willSave`, if there is something to save; after the
/// transaction `didSave` and `didSaveObjectIDs`, also of a save that had nothing to write.
public enum ContextNotification: UInt32, Sendable, CaseIterable {
    /// A save begins. Objects may still be changed: what changes now is saved too.
    case willSave = 1
    /// A save is done: `inserted`, `updated` and `deleted` are what it wrote.
    case didSave
    /// Pending changes were processed, or objects were refreshed or became invalid. Never posted for a fetch.
    case objectsDidChange
    /// Like `didSave`, with IDs only.
    case didSaveObjectIDs
    /// Changes of another context, or of a parent, were merged into this one; IDs only.
    case didMergeChangesObjectIDs
}

/// The objects that a notification is about. They belong to the context's queue; `ids` may cross threads.
public struct ContextChanges {
    public var inserted: [ManagedObject] = []
    public var updated: [ManagedObject] = []
    public var deleted: [ManagedObject] = []
    /// Read anew, without a change of the context's own.
    public var refreshed: [ManagedObject] = []
    /// Of a store that was removed: they are gone.
    public var invalidated: [ManagedObject] = []
    /// The context was reset: whatever was fetched from it is gone.
    public var invalidatedAll = false
    /// Of a save of a pinned context: the generation that it reads from now on.
    public private(set) var queryGeneration: QueryGenerationToken?
    /// For who tracks results: what others saved, known here or not, and whether nobody knows what.
    var merged: [ChangedIDs] = []
    var isEverything = false
    /// Which properties of updated objects changed, for who asked for `.slots`.
    var slots: [ObjectIdentifier: Set<Int>] = [:]
    /// Of a notification that has IDs only.
    private var givenIDs: ChangedIDs?

    public init() {}

    public init(ids: ChangedIDs) {
        givenIDs = ids
        invalidatedAll = ids.invalidatedAll
    }

    public var ids: ChangedIDs {
        if let givenIDs { return givenIDs }
        func ids(_ objects: [ManagedObject]) -> [ObjectID] { objects.map(\.objectID) }
        return ChangedIDs(
            inserted: ids(inserted), updated: ids(updated), deleted: ids(deleted), refreshed: ids(refreshed),
            invalidated: ids(invalidated), invalidatedAll: invalidatedAll)
    }

    func of(_ generation: QueryGenerationToken?) -> ContextChanges {
        var changes = self
        changes.queryGeneration = generation
        return changes
    }

    public var isEmpty: Bool {
        if let givenIDs { return givenIDs.isEmpty }
        return inserted.isEmpty && updated.isEmpty && deleted.isEmpty && refreshed.isEmpty && invalidated.isEmpty
            && !invalidatedAll
    }
}

/// The IDs of the objects that a notification is about.
public struct ChangedIDs: Sendable, Equatable {
    public var inserted, updated, deleted, refreshed, invalidated: [ObjectID]
    public var invalidatedAll: Bool

    public init(
        inserted: [ObjectID] = [], updated: [ObjectID] = [], deleted: [ObjectID] = [], refreshed: [ObjectID] = [],
        invalidated: [ObjectID] = [], invalidatedAll: Bool = false
    ) {
        self.inserted = inserted
        self.updated = updated
        self.deleted = deleted
        self.refreshed = refreshed
        self.invalidated = invalidated
        self.invalidatedAll = invalidatedAll
    }

    public var isEmpty: Bool {
        inserted.isEmpty && updated.isEmpty && deleted.isEmpty && refreshed.isEmpty && invalidated.isEmpty
            && !invalidatedAll
    }
}
