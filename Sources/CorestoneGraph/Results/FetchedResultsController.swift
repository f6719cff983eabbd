import CorestoneModel
import CorestoneValues

/// The results of a request, by section and row, for a list that shows them; a delegate hears how they change.
///
/// It fetches once, and then looks at what events of its context changed: what is changed, saved, undone, merged and refreshed
/// there, so other contexts, batches and other processes count as far as the context merges what they do. On the queue of its
/// context, which it keeps.
///
/// It keeps the request's objects, as faults unless the request says otherwise; with a batch size their IDs and sort keys only,
/// and rows are read a batch at a time when they are asked for.
public final class FetchedResultsController {
    /// Changed only before `performFetch`, which takes a copy.
    public let fetchRequest: FetchRequest
    public let managedObjectContext: Context
    public let sectionNameKeyPath: String?
    public let cacheName: String?
    /// Key paths to objects whose changes are updates of the objects that lead to them: "department.name". What predicate, order
    /// and sections follow is among them. Set before `performFetch`.
    public var dependencyKeyPaths: [String] = []
    /// Changes are followed as long as there is a delegate. One that comes after the fetch hears with the next event what happened
    /// before it. Not kept.
    public weak var delegate: (any FetchedResultsControllerDelegate)? {
        didSet {
            guard let tracker, tracker.isFollowing != (delegate != nil) else { return }
            if delegate == nil { return tracker.end() }
            tracker.mistrust()
            tracker.begin()
        }
    }

    let naming: SectionNaming?
    private(set) var tracker: ResultsTracker?
    /// What the results were before the change that is being told.
    private var former = ResultsSnapshot()
    /// Objects of the batches that were asked for last.
    private var recent: [ManagedObject] = []

    /// - Parameters:
    ///   - sectionNameKeyPath: whose values, as text, name the sections; it may lead to a transient property. nil: all is one section.
    ///     Objects must come sorted so that those of a section lie together.
    ///   - cacheName: under which name the sections are remembered beyond the process; see `deleteCache(withName:)`.
    public convenience init(
        fetchRequest: FetchRequest, managedObjectContext: Context, sectionNameKeyPath: String? = nil,
        cacheName: String? = nil
    ) {
        self.init(fetchRequest, managedObjectContext, sectionNameKeyPath.map { .keyPath($0) }, cacheName)
    }

    /// The same with sections that a function names, such as the days of dates. It is called for each object, and when one
    /// changes; it may read the object, and change nothing.
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

    /// Fetches, for the first time or anew. Nobody is told of the difference.
    /// - Throws: `.invalidArgument` when the request's sort descriptors were never set (they may be set to none, without sections)
    ///   and for dependencies that lead nowhere; code 134060 naming the object when objects of one section do not lie together;
    ///   what fetching throws. The results are then what they were.
    public func performFetch() throws {
        try managedObjectContext.checkQueue()
        guard fetchRequest.isOrderGiven, naming == nil || !fetchRequest.sortDescriptors.isEmpty else {
            throw CoreError(
                .invalidArgument,
                "a results controller\(fetchRequest.entityName.map { " of \($0)" } ?? "") needs an order; set sort descriptors"
                    + (naming == nil ? "" : ", the first of which sorts by section"),
                entity: fetchRequest.entityName)
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

    /// What there is now; nil before `performFetch`, and after a reset.
    public var snapshot: ResultsSnapshot? { tracker?.snapshot }

    /// nil before `performFetch`, and after a reset.
    public var fetchedObjects: [ManagedObject]? { snapshot.map { objects(0..<$0.count) } }

    /// - Throws: `.invalidArgument` for a path that leads nowhere.
    public func object(at indexPath: ResultsIndexPath) throws -> ManagedObject {
        try managedObjectContext.checkQueue()
        guard let tracker, let snapshot, let place = snapshot.sections.place(of: indexPath) else {
            throw noObject(at: indexPath)
        }
        let object = try tracker.object(of: snapshot.rows[place])
        if tracker.holdsObjects || object.record != nil || object.hasChanges { return object }
        // Its neighbours will be asked for next.
        let size = max(fetchRequest.batchSize, 1), start = place / size * size
        let batch = try snapshot.rows[start..<min(start + size, snapshot.count)].map { try tracker.object(of: $0) }
        _ = try managedObjectContext.withAncestors { try managedObjectContext.loadRows(of: batch) }
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
            "the results\(fetchRequest.entityName.map { " of \($0)" } ?? "") have no object at \(path): \(place) \(count) "
                + "\(noun)\(count == 1 ? "" : "s")",
            entity: fetchRequest.entityName, value: .int(Int64(isRow ? path.row : path.section)))
    }

    private var noResults: CoreError {
        CoreError(
            .invalidArgument,
            "the controller\(fetchRequest.entityName.map { " of \($0)" } ?? "") has no results; call "
                + "cst_controller_perform_fetch (perform_fetch, performFetch) first", entity: fetchRequest.entityName)
    }

    /// nil for an object that is not among the results.
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

    /// nil before `performFetch`, and after a reset.
    public var sections: [ResultsSection]? {
        snapshot.map { snapshot in snapshot.sections.names.indices.map { ResultsSection(self, snapshot, $0) } }
    }

    /// The title of a section of that name in an index: what the delegate says, else the first letter as a capital.
    public func sectionIndexTitle(forSectionName name: String) -> String? {
        if let delegate { return delegate.controller(self, sectionIndexTitleForSectionName: name) }
        return FetchedResultsController.defaultIndexTitle(ofSection: name)
    }

    /// The first letter of a section's name as a capital.
    public static func defaultIndexTitle(ofSection name: String) -> String? {
        name.first.map { String($0).uppercased() }
    }

    /// The titles of the sections, each once, in the order of the sections; none without sections.
    public var sectionIndexTitles: [String] {
        guard naming != nil, let snapshot else { return [] }
        var seen: Set<String> = []
        return snapshot.sections.names.compactMap { sectionIndexTitle(forSectionName: $0.text) }
            .filter { seen.insert($0).inserted }
    }

    /// The section that a title of the index leads to: the first with that title.
    /// - Throws: `.invalidArgument` unless `sectionIndexTitles` has the title at the index.
    public func section(forSectionIndexTitle title: String, at index: Int) throws -> Int {
        let titles = sectionIndexTitles
        guard titles.indices.contains(index), titles[index] == title, let snapshot,
            let section = snapshot.sections.names.firstIndex(where: {
                sectionIndexTitle(forSectionName: $0.text) == title
            })
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
                + found, entity: fetchRequest.entityName, value: .string(title))
    }
}

// MARK: - Telling the delegate

extension FetchedResultsController: ResultsClient {
    var hearsRenames: Bool { isToldAtOnce }

    func resultsWillChange() {
        former = snapshot ?? ResultsSnapshot()
        if !isToldAtOnce { delegate?.controllerWillChangeContent(self) }
    }

    private var isToldAtOnce: Bool {
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
        // A delegate that fetches anew, or resets the context, has no use for the rest.
        let (told, epoch) = (tracker, tracker?.epoch)
        func tellObjects(_ isTold: (ResultsChange) -> Bool) {
            for (change, object) in zip(difference.changes, objects)
            where isTold(change) && tracker === told && told?.epoch == epoch {
                delegate?.controller(
                    self, didChange: object, at: change.indexPath, for: change.kind, newIndexPath: change.newIndexPath)
            }
        }
        // Core Data's order: a section goes after its objects.
        tellObjects { $0.kind == .delete }
        for change in difference.sectionChanges where tracker === told && told?.epoch == epoch {
            let section = ResultsSection(self, change.kind == .insert ? difference.snapshot : former, change.index)
            delegate?.controller(self, didChange: section, atSectionIndex: change.index, for: change.kind)
        }
        tellObjects { $0.kind != .delete }
        // The end of what began is told also to one who reset the context.
        if tracker === told, told?.epoch == epoch || told?.isLost == true { delegate?.controllerDidChangeContent(self) }
    }

    func resultsDidNotChange() {
        former = ResultsSnapshot()
        if !isToldAtOnce { delegate?.controllerDidChangeContent(self) }
    }

    func resultsWereLost(_ error: CoreError?) {
        recent = []
        delegate?.controllerDidReset(self, error: error)
    }
}

/// A section of a controller's results, as it is at one time.
public struct ResultsSection {
    private let controller: FetchedResultsController
    private let snapshot: ResultsSnapshot
    private let index: Int

    init(_ controller: FetchedResultsController, _ snapshot: ResultsSnapshot, _ index: Int) {
        (self.controller, self.snapshot, self.index) = (controller, snapshot, index)
    }

    /// Empty for objects without a name for their section, and without sections.
    public var name: String { snapshot.sections.names[index].text }
    public var indexTitle: String? { controller.sectionIndexTitle(forSectionName: name) }
    public var numberOfObjects: Int { snapshot.sections.count(of: index) }
    /// Those that are still there.
    public var objects: [ManagedObject] {
        snapshot.objectIDs(inSection: index).compactMap { try? controller.managedObjectContext.object(with: $0) }
    }
}
