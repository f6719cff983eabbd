extension ResultsDifference {
    /// The difference of the IDs as a `CollectionDifference`, for `[ObjectID].applying`.
    public var collectionDifference: CollectionDifference<ObjectID> {
        let changes = idChanges.map { change -> CollectionDifference<ObjectID>.Change in
            let (offset, id, other) = (change.offset, change.objectID, change.associatedOffset)
            return change.kind == .delete
                ? .remove(offset: offset, element: id, associatedWith: other)
                : .insert(offset: offset, element: id, associatedWith: other)
        }
        // Each offset occurs at most once among the removals and among the insertions, so the initialiser succeeds.
        return CollectionDifference(changes)!
    }
}
