import CorestoneModel
import CorestoneValues

/// The results of a fetch request, by section and row, for a list. A delegate is notified of changes.
///
/// `performFetch` runs the fetch. While a delegate is set, the controller then tracks the events of its context:
/// changes, saves, undo, merges and refreshes. Changes of other contexts, batch requests and other processes are
/// included if the context merges them. The controller retains its context, and must be used on the context's queue.
///
/// The controller retains the objects of its results. If the request has a batch size, it retains only their IDs, their
/// sort keys and the last accessed objects, and reads rows in batches on access.
public final class FetchedResultsController {
    /// The fetch request. Changes of the request take effect with the next `performFetch`, which copies it.
    public let fetchRequest: FetchRequest
    public let managedObjectContext: Context
    /// The key path of the section names; nil for a single section, or if a function names the sections.
    public let sectionNameKeyPath: String?
    /// The name of the section cache; nil for no cache.
    public let cacheName: String?
    /// The key paths of related objects whose changes count as updates, for example "department.name".
    ///
    /// Such a change is an update of the objects that refer to the changed object. The key paths of the predicate, the
    /// order and the sections are tracked too, unless a relationship in them does not have an inverse. Must be set
    /// before `performFetch`.
    public var dependencyKeyPaths: [String] = []
    /// The delegate, not retained.
    ///
    /// Changes are tracked while a delegate is set. At the next event, a delegate that was set after the fetch is
    /// notified of all changes since the fetch.
    public weak var delegate: (any FetchedResultsControllerDelegate)? {
        didSet {
            guard let tracker, tracker.isFollowing != (delegate != nil) else { return }
            if delegate == nil { return tracker.end() }
            tracker.requireComparison()
            tracker.begin()
        }
    }

    let naming: SectionNaming?
    private(set) var tracker: ResultsTracker?
    /// The results before the change that is being reported.
    private var former = ResultsSnapshot()
    /// The objects of the last accessed batches.
    private var recent: [ManagedObject] = []

    /// Creates a controller for the results of a fetch request.
    ///
    /// - Parameters:
    ///   - sectionNameKeyPath: The key path whose values, as text, name the sections; it may end at a transient
    ///     property. It is nil for a single section. Objects must be sorted by section.
    ///   - cacheName: The name under which the sections are cached across processes; see `deleteCache(withName:)`.
    public convenience init(
        fetchRequest: FetchRequest, managedObjectContext: Context, sectionNameKeyPath: String? = nil,
        cacheName: String? = nil
    ) {
        self.init(fetchRequest, managedObjectContext, sectionNameKeyPath.map { .keyPath($0) }, cacheName)
    }

    /// Creates a controller whose sections are named by a function, for example by the day of a date.
    ///
    /// The function is called for each object, and again when an object changes. It may read the object, but must not
    /// change anything.
    public convenience init(
        fetchRequest: FetchRequest, managedObjectContext: Context,
        sectionName: @escaping (ManagedObject) throws -> String?
    ) { self.init(fetchRequest, managedObjectContext, .function(sectionName), nil) }

    private init(_ request: FetchRequest, _ context: Context, _ naming: SectionNaming?, _ cacheName: String?) {
        fetchRequest = request
        managedObjectContext = context
        self.naming = naming
        sectionNameKeyPath = naming?.keyPath
        self.cacheName = cacheName
    }

    /// Runs the fetch, for the first time or again. The delegate is not notified of the difference.
    ///
    /// - Throws: `.invalidArgument` if the request's sort descriptors were never set (an empty array is allowed without
    ///   sections), or if a dependency path is invalid.
    ///   Code 134060 with the object if the objects of a section are not contiguous.
    ///   Errors of the fetch.
    ///   After an error, the results are unchanged.
    public func performFetch() throws {
        try managedObjectContext.checkQueue()
        guard fetchRequest.isOrderGiven, naming == nil || !fetchRequest.sortDescriptors.isEmpty else {
            throw CoreError(
                .invalidArgument,
                "a results controller\(fetchRequest.entityName.map { " of \($0)" } ?? "") needs an order; set sort "
                    + "descriptors with cst_fetch_request_set_sort (sort, sortDescriptors)"
                    + (naming == nil ? "" : ", and sort first by section"),
                entity: fetchRequest.entityName, key: "sort")
        }
        let fresh = try ResultsTracker(
            fetchRequest, naming, dependencies: dependencyKeyPaths, in: managedObjectContext,
            holdsObjects: fetchRequest.batchSize == 0, client: self)
        try SectionCache.fetch(fresh, cacheName)
        tracker?.end()
        tracker = fresh
        recent = []
        if delegate != nil { fresh.begin() }
    }

    // MARK: Results

    /// The current results; nil before `performFetch`, and after a reset or an error of tracking.
    public var snapshot: ResultsSnapshot? { tracker?.snapshot }

    /// The objects of the results; nil before `performFetch`, and after a reset or an error of tracking.
    public var fetchedObjects: [ManagedObject]? { snapshot.map { objects(0..<$0.count) } }

    /// Returns the object at an index path.
    ///
    /// - Throws: `.invalidArgument` if there are no results, or if they do not have the index path.
    ///   The store's error if a row cannot be read.
    public func object(at indexPath: ResultsIndexPath) throws -> ManagedObject {
        try managedObjectContext.checkQueue()
        guard let tracker, let snapshot, let place = snapshot.sections.place(of: indexPath) else {
            throw noObject(at: indexPath)
        }
        let object = try tracker.object(of: snapshot.rows[place])
        if tracker.holdsObjects || object.record != nil || object.hasChanges { return object }
        // The neighbours of the object are likely to be accessed next, so the rows of a whole batch are read.
        let size = max(fetchRequest.batchSize, 1), start = place / size * size
        let batch = try snapshot.rows[start..<min(start + size, snapshot.count)].map { try tracker.object(of: $0) }
        _ = try managedObjectContext.withAncestors { try managedObjectContext.faultLoader.loadRows(of: batch) }
        recent = recent.suffix(size) + batch
        return object
    }

    private func noObject(at path: ResultsIndexPath) -> CoreError {
        guard let sections = snapshot?.sections else { return noResults }
        let isRow = sections.names.indices.contains(path.section)
        let count = isRow ? sections.count(of: path.section) : sections.count
        let place = isRow ? "section \(path.section) has" : count == 1 ? "there is" : "there are"
        let noun = isRow ? "object" : "section"
        return CoreError(
            .invalidArgument,
            "the results\(fetchRequest.entityName.map { " of \($0)" } ?? "") do not have an object at \(path): \(place) \(count) "
                + "\(noun)\(count == 1 ? "" : "s")",
            entity: fetchRequest.entityName, key: isRow ? "row" : "section",
            value: .int(Int64(isRow ? path.row : path.section)))
    }

    private var noResults: CoreError {
        CoreError(
            .invalidArgument,
            "the controller\(fetchRequest.entityName.map { " of \($0)" } ?? "") does not have results; call "
                + "cst_controller_perform_fetch (perform_fetch, performFetch) first", entity: fetchRequest.entityName)
    }

    /// Returns the index path of an object; nil if the object is not in the results.
    public func indexPath(for object: ManagedObject) throws -> ResultsIndexPath? {
        try managedObjectContext.checkQueue()
        guard let tracker, let snapshot, object.context === managedObjectContext, let member = tracker.member(object)
        else {
            return nil
        }
        return snapshot.sections.path(of: try tracker.place(of: member.row, in: snapshot.rows))
    }

    func objects(_ places: Range<Int>) -> [ManagedObject] {
        guard let tracker, let snapshot else { return [] }
        return places.compactMap { try? tracker.object(of: snapshot.rows[$0]) }
    }

    // MARK: Sections

    /// The sections of the results; nil before `performFetch`, and after a reset or an error of tracking.
    public var sections: [ResultsSection]? {
        snapshot.map { snapshot in snapshot.sections.names.indices.map { ResultsSection(self, snapshot, $0) } }
    }

    /// Returns the index title of a section name.
    ///
    /// The delegate returns the title. Without a delegate, the title is the first letter of the name as a capital.
    public func sectionIndexTitle(forSectionName name: String) -> String? {
        if let delegate { return delegate.controller(self, sectionIndexTitleForSectionName: name) }
        return FetchedResultsController.defaultIndexTitle(ofSection: name)
    }

    /// Returns the first letter of a section's name as a capital; nil for an empty name.
    public static func defaultIndexTitle(ofSection name: String) -> String? {
        name.first.map { String($0).uppercased() }
    }

    /// The distinct index titles of the sections, in the order of the sections; empty without sections.
    public var sectionIndexTitles: [String] { FetchedResultsController.distinct(titlesOfSections) }

    /// The index title of each section; empty without sections.
    private var titlesOfSections: [String?] {
        guard naming != nil, let snapshot else { return [] }
        return snapshot.sections.names.map { sectionIndexTitle(forSectionName: $0.text) }
    }

    private static func distinct(_ titles: [String?]) -> [String] {
        var seen: Set<String> = []
        return titles.compactMap { $0 }.filter { seen.insert($0).inserted }
    }

    /// Returns the index of the first section with the given index title.
    ///
    /// - Parameter index: The index of the title in `sectionIndexTitles`.
    /// - Throws: `.invalidArgument` if there are no results, or if `title` is not the element of `sectionIndexTitles`
    ///   at `index`.
    public func section(forSectionIndexTitle title: String, at index: Int) throws -> Int {
        // The delegate may return other titles on a second call.
        let sectionTitles = titlesOfSections
        let titles = FetchedResultsController.distinct(sectionTitles)
        guard titles.indices.contains(index), titles[index] == title, snapshot != nil,
            let section = sectionTitles.firstIndex(of: title)
        else {
            throw self.snapshot == nil ? noResults : noTitle(title, at: index, titles)
        }
        return section
    }

    private func noTitle(_ title: String, at index: Int, _ titles: [String]) -> CoreError {
        let found =
            titles.indices.contains(index)
            ? "the title there is \"\(titles[index])\""
            : "the section index has \(titles.count) title\(titles.count == 1 ? "" : "s")"
        return CoreError(
            .invalidArgument,
            "\"\(title)\" is not the title at index \(index) of the section index\(fetchRequest.entityName.map { " of \($0)" } ?? ""): "
                + found, entity: fetchRequest.entityName, key: "title", value: .string(title))
    }
}

// MARK: - Notifying the delegate

extension FetchedResultsController: ResultsClient {
    var observesRenames: Bool { receivesWholeDifference }

    func resultsWillChange() {
        former = snapshot ?? ResultsSnapshot()
        if !receivesWholeDifference { delegate?.controllerWillChangeContent(self) }
    }

    private var receivesWholeDifference: Bool {
        delegate is any FetchedResultsSnapshotDelegate
            || naming == nil && delegate is any FetchedResultsDifferenceDelegate
    }

    func resultsDidChange(_ difference: ResultsDifference, objects: [ManagedObject]) {
        defer { former = ResultsSnapshot() }
        if let delegate = delegate as? any FetchedResultsSnapshotDelegate {
            return delegate.controller(
                self, didChangeContentWith: difference.snapshot, difference: difference, objects: objects)
        }
        if naming == nil, let delegate = delegate as? any FetchedResultsDifferenceDelegate {
            return delegate.controller(self, didChangeContentWith: difference)
        }
        // A delegate that fetches again, or resets the context, does not receive the remaining changes.
        let (notifiedTracker, epoch) = (tracker, tracker?.epoch)
        func notifyOfObjects(_ isIncluded: (ResultsChange) -> Bool) {
            for (change, object) in zip(difference.changes, objects)
            where isIncluded(change) && tracker === notifiedTracker && notifiedTracker?.epoch == epoch {
                delegate?.controller(
                    self, didChange: object, at: change.indexPath, for: change.kind, newIndexPath: change.newIndexPath)
            }
        }
        // Core Data's order: a section is deleted after its objects.
        notifyOfObjects { $0.kind == .delete }
        for change in difference.sectionChanges where tracker === notifiedTracker && notifiedTracker?.epoch == epoch {
            let section = ResultsSection(self, change.kind == .insert ? difference.snapshot : former, change.index)
            delegate?.controller(self, didChange: section, atSectionIndex: change.index, for: change.kind)
        }
        notifyOfObjects { $0.kind != .delete }
        // Also called after the delegate has reset the context, to match `controllerWillChangeContent`.
        if tracker === notifiedTracker, notifiedTracker?.epoch == epoch || notifiedTracker?.isLost == true {
            delegate?.controllerDidChangeContent(self)
        }
    }

    func resultsDidNotChange() {
        former = ResultsSnapshot()
        if !receivesWholeDifference { delegate?.controllerDidChangeContent(self) }
    }

    func resultsWereLost(_ error: CoreError?) {
        recent = []
        delegate?.controllerDidReset(self, error: error)
    }
}

/// A section of a controller's results at one point in time.
public struct ResultsSection {
    private let controller: FetchedResultsController
    private let snapshot: ResultsSnapshot
    private let index: Int

    init(_ controller: FetchedResultsController, _ snapshot: ResultsSnapshot, _ index: Int) {
        (self.controller, self.snapshot, self.index) = (controller, snapshot, index)
    }

    /// The section's name; empty for objects without a section name, and without sections.
    public var name: String { snapshot.sections.names[index].text }
    public var indexTitle: String? { controller.sectionIndexTitle(forSectionName: name) }
    public var numberOfObjects: Int { snapshot.sections.count(of: index) }
    /// The objects of the section, without those of stores that were removed.
    public var objects: [ManagedObject] {
        snapshot.objectIDs(inSection: index).compactMap { try? controller.managedObjectContext.object(with: $0) }
    }
}
