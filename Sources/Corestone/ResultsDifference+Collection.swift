extension ResultsDifference {
    /// The difference of the IDs as one of collections: what `[ObjectID].applying` takes.
    public var collectionDifference: CollectionDifference<ObjectID> {
        let changes = idChanges.map { change -> CollectionDifference<ObjectID>.Change in
            let (offset, id, other) = (change.offset, change.objectID, change.associatedOffset)
            return change.kind == .delete
                ? .remove(offset: offset, element: id, associatedWith: other)
                : .insert(offset: offset, element: id, associatedWith: other)
        }
        // Offsets are each used once.
        return CollectionDifference(changes)!
    }
}
