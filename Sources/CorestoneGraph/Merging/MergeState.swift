/// The state of merging: changes of other writers that a context has merged or must still merge, and running merges.
struct MergeState {
    /// Objects that were inserted elsewhere and registered by the last merge, or by all merges of a perform.
    ///
    /// They are retained so that the application can use them.
    var mergedIn: [ManagedObject] = []
    /// Objects whose rows were deleted elsewhere.
    ///
    /// They are no longer in the identity map, but the application can find and read them until the next save.
    var deletedElsewhere = ObjectsByID()
    /// The objects of `deletedElsewhere` whose rows were inserted again, until observers are notified.
    var reinsertedElsewhere: [ManagedObject] = []
    /// Changes of rows that are merged later, by object.
    ///
    /// The objects had unsaved changes or were deleted here when the changes were skipped.
    var deferred: [ObjectIdentifier: DeferredMerge] = [:]

    /// Whether a save is running the merge policy. The policy must not save.
    var isResolving = false
    /// Whether a save passes unique values from one of its objects to another, which requires additional statements.
    var passesUniqueValues = false

    /// Removes objects that left the context.
    mutating func removeGone() {
        mergedIn.removeAll(where: \.isGone)
        deletedElsewhere.removeAll(where: \.isGone)
        reinsertedElsewhere.removeAll(where: \.isGone)
        deferred = deferred.filter { !$0.value.object.isGone }
    }

    /// Releases all objects.
    mutating func removeAll() {
        (mergedIn, deletedElsewhere, reinsertedElsewhere, deferred) = ([], ObjectsByID(), [], [:])
    }
}
