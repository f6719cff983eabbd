import CorestoneValues

/// A delegate that a results controller notifies of changes of the results.
///
/// It is called on the context's queue. All methods are optional.
///
/// For each event of the context that changed the results (`FetchedResultsController`), `controllerWillChangeContent`
/// is called before the results change. The calls for the changes of sections and of objects follow, and then
/// `controllerDidChangeContent`. Former positions refer to the results before the event, new positions to the results
/// after the event. A list that applies all changes in one batch therefore shows the new results.
public protocol FetchedResultsControllerDelegate: AnyObject {
    func controllerWillChangeContent(_ controller: FetchedResultsController)

    /// Reports that a section was inserted or deleted. For a deletion, `section` is the former section.
    func controller(
        _ controller: FetchedResultsController, didChange section: ResultsSection, atSectionIndex index: Int,
        for kind: ResultsChangeKind)

    func controller(
        _ controller: FetchedResultsController, didChange object: ManagedObject, at indexPath: ResultsIndexPath?,
        for kind: ResultsChangeKind, newIndexPath: ResultsIndexPath?)

    func controllerDidChangeContent(_ controller: FetchedResultsController)

    /// Returns the title of a section in the section index; nil omits the section.
    ///
    /// Default: the first letter of the name as a capital.
    func controller(_ controller: FetchedResultsController, sectionIndexTitleForSectionName name: String) -> String?

    /// Reports that the controller lost its results, until `performFetch` is called again.
    ///
    /// The context was reset, or tracking failed with `error`. If the delegate resets the context during the
    /// notifications of a change, the remaining notifications are omitted except `controllerDidChangeContent`, which is
    /// called before this method.
    func controllerDidReset(_ controller: FetchedResultsController, error: CoreError?)
}

extension FetchedResultsControllerDelegate {
    public func controllerWillChangeContent(_ controller: FetchedResultsController) {}
    public func controller(
        _ controller: FetchedResultsController, didChange section: ResultsSection, atSectionIndex index: Int,
        for kind: ResultsChangeKind
    ) {}
    public func controller(
        _ controller: FetchedResultsController, didChange object: ManagedObject, at indexPath: ResultsIndexPath?,
        for kind: ResultsChangeKind, newIndexPath: ResultsIndexPath?
    ) {}
    public func controllerDidChangeContent(_ controller: FetchedResultsController) {}
    public func controller(
        _ controller: FetchedResultsController, sectionIndexTitleForSectionName name: String
    ) -> String? { FetchedResultsController.defaultIndexTitle(ofSection: name) }
    public func controllerDidReset(_ controller: FetchedResultsController, error: CoreError?) {}
}

/// A delegate that receives all changes of an event in one call.
///
/// Of the other methods, only those for the section index title and the reset are called.
public protocol FetchedResultsSnapshotDelegate: FetchedResultsControllerDelegate {
    /// Reports a change of the results.
    ///
    /// - Parameters:
    ///   - snapshot: The new results.
    ///   - difference: The difference from the former results.
    ///   - objects: The objects of the difference's changes, in the same order.
    func controller(
        _ controller: FetchedResultsController, didChangeContentWith snapshot: ResultsSnapshot,
        difference: ResultsDifference, objects: [ManagedObject])
}

/// A delegate that receives all changes of an event in one call, for a controller without sections.
///
/// If the controller has sections, the delegate is notified like every other delegate.
public protocol FetchedResultsDifferenceDelegate: FetchedResultsControllerDelegate {
    func controller(_ controller: FetchedResultsController, didChangeContentWith difference: ResultsDifference)
}
