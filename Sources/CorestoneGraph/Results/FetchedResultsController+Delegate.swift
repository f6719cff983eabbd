import CorestoneValues

/// Who shows the results of a controller, and hears how they change. Called on the context's queue; every method may be left
/// out.
///
/// Of each event that changed the results: `controllerWillChangeContent`, while they are what they were; the sections; the
/// objects; `controllerDidChangeContent`. Former places are those before the event, new ones those after it, so that a list
/// that is told them in one batch is then what the results are.
public protocol FetchedResultsControllerDelegate: AnyObject {
    func controllerWillChangeContent(_ controller: FetchedResultsController)

    /// A section came, or went: then `section` is what it was.
    func controller(
        _ controller: FetchedResultsController, didChange section: ResultsSection, atSectionIndex index: Int,
        for kind: ResultsChangeKind)

    func controller(
        _ controller: FetchedResultsController, didChange object: ManagedObject, at indexPath: ResultsIndexPath?,
        for kind: ResultsChangeKind, newIndexPath: ResultsIndexPath?)

    func controllerDidChangeContent(_ controller: FetchedResultsController)

    /// The title of a section in an index; nil leaves it out. The first letter as a capital, unless a delegate knows better.
    func controller(_ controller: FetchedResultsController, sectionIndexTitleForSectionName name: String) -> String?

    /// The context was reset, or following its changes failed with `error`: there are no results until `performFetch`. Where a
    /// delegate resets it while it is told of a change, `controllerDidChangeContent` comes before, without the rest of the change.
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

/// A delegate that wants the whole of each change at once: of the other methods only the title and the reset are called.
public protocol FetchedResultsSnapshotDelegate: FetchedResultsControllerDelegate {
    /// - Parameters:
    ///   - snapshot: what the results are now.
    ///   - difference: from the results before.
    ///   - objects: those of the difference's changes, in the same order.
    func controller(
        _ controller: FetchedResultsController, didChangeContentWith snapshot: ResultsSnapshot,
        difference: ResultsDifference, objects: [ManagedObject])
}

/// The same for a controller without sections; with sections it is told as any delegate.
public protocol FetchedResultsDifferenceDelegate: FetchedResultsControllerDelegate {
    func controller(_ controller: FetchedResultsController, didChangeContentWith difference: ResultsDifference)
}
