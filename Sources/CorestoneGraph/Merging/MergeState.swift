/// Changes of other contexts and processes that a context has merged or still has to merge.
struct MergeState {
    /// Objects that the last merge, or all merges of a perform, registered.
    ///
    /// They are retained so that the application can use them.
    var mergedIn: [ManagedObject] = []
    /// Objects whose rows were deleted elsewhere. They stay registered with the application until the next save.
    var deletedElsewhere: [ManagedObject] = []
    /// The objects of `deletedElsewhere` whose rows were inserted again, until observers are notified.
    var reinsertedElsewhere: [ManagedObject] = []
    /// Changes that are merged later, by object.
    ///
    /// These objects have unsaved changes or are deleted here.
    var deferred: [ObjectIdentifier: DeferredMerge] = [:]

    /// Whether a save runs the merge policy, which must not save.
    var isResolving = false
    /// Whether a save passes unique values from one of its objects to another, which takes an additional statement.
    var passesUniqueValues = false

    /// Removes objects that left the context.
    mutating func removeGone() {
        mergedIn.removeAll(where: \.isGone)
        deletedElsewhere.removeAll(where: \.isGone)
        reinsertedElsewhere.removeAll(where: \.isGone)
        deferred = deferred.filter { !$0.value.object.isGone }
    }

    /// Releases all objects.
    mutating func removeAll() { (mergedIn, deletedElsewhere, reinsertedElsewhere, deferred) = ([], [], [], [:]) }
}
