/// The notifications of a context, which are posted on its queue.
///
/// A save posts `objectsDidChange` if changes were pending, and `willSave` if the context has changes to save. After
/// the changes are written, the save posts `didSave` and `didSaveObjectIDs`. A save without changes posts these two as
/// well, unless an observer of `didSave` calls the save.
public enum ContextNotification: UInt32, Sendable, CaseIterable {
    /// A save begins. Objects can still be changed; these changes are saved too.
    case willSave = 1
    /// A save is complete. `inserted`, `updated` and `deleted` are the objects that the save wrote.
    case didSave
    /// Pending changes were processed, or objects were refreshed or invalidated. Not posted for a fetch.
    case objectsDidChange
    /// A save is complete, as for `didSave`, but with IDs instead of objects.
    case didSaveObjectIDs
    /// Changes of another context or process were merged into this context. Contains only IDs.
    case didMergeChangesObjectIDs
}

/// The objects of a notification.
///
/// The objects must be used on the context's queue. A value of `ids` can be used on any thread.
public struct ContextChanges {
    public var inserted: [ManagedObject] = []
    public var updated: [ManagedObject] = []
    public var deleted: [ManagedObject] = []
    /// The objects that were refreshed, or whose values a merge replaced.
    public var refreshed: [ManagedObject] = []
    /// The objects of a removed store, which have left the context.
    public var invalidated: [ManagedObject] = []
    /// Whether the context was reset, so that all of its objects have left it.
    public var invalidatedAll = false
    /// The generation that a pinned context reads after its save; nil in other notifications.
    public private(set) var queryGeneration: QueryGenerationToken?
    /// The merged saves of other writers, for results trackers.
    ///
    /// `isEverything` is true if the changes are unknown, so that all results must be checked.
    var merged: [ChangedIDs] = []
    var isEverything = false
    /// The slots of the changed properties of updated objects, if there is an observer of `.slots`.
    var slots: [ObjectIdentifier: Set<Int>] = [:]
    /// The IDs of a notification that does not contain objects.
    private var givenIDs: ChangedIDs?

    public init() {}

    public init(ids: ChangedIDs) {
        givenIDs = ids
        invalidatedAll = ids.invalidatedAll
    }

    /// The IDs of the changed objects.
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

/// The IDs of the objects of a notification.
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
