import CorestoneValues

/// The kind of change of an object or a section, with Core Data's raw values.
public enum ResultsChangeKind: UInt32, Sendable {
    case insert = 1
    case delete, move, update
}

/// A change of one object.
///
/// `indexPath` is its index path before, `newIndexPath` its index path after all changes of the difference. An
/// insertion does not have a former index path, and a deletion does not have a new one. A move always changes the index
/// path, and counts as an update too.
public struct ResultsChange: Sendable, Equatable {
    public let kind: ResultsChangeKind
    public let objectID: ObjectID
    public let indexPath: ResultsIndexPath?
    public let newIndexPath: ResultsIndexPath?
}

/// A section that was inserted, with its new index, or deleted, with its former index.
public struct ResultsSectionChange: Sendable, Equatable {
    public let kind: ResultsChangeKind
    public let index: Int
    public let name: String
}

/// The difference between former and new results.
///
/// To convert the former results to the new ones, first delete the sections and objects that were deleted or moved, by
/// their former positions. Then insert first the sections and then the objects that were inserted or moved, by their
/// new positions.
public struct ResultsDifference: Sendable {
    /// The changes of sections: deletions from the last to the first, then insertions in order.
    public let sectionChanges: [ResultsSectionChange]
    /// The changes of objects.
    ///
    /// Deletions are ordered from the last to the first; insertions, moves and updates from the first to the last.
    public let changes: [ResultsChange]
    /// The new results.
    public let snapshot: ResultsSnapshot
    let former: ResultsSnapshot
    /// Whether the context was reset, or tracking failed.
    ///
    /// Former objects are then invalid, and `changes` insert all new results.
    public let isReset: Bool
    /// The error that ended the tracking; nil if it continues. After an error, there are no results.
    public let error: CoreError?
    /// The IDs that became permanent, with the former temporary IDs.
    ///
    /// The application must replace the former IDs in a list of IDs. A renaming does not change index paths.
    public let renamed: [(former: ObjectID, id: ObjectID)]

    init(
        from former: ResultsSnapshot, to snapshot: ResultsSnapshot, _ sectionChanges: [ResultsSectionChange],
        _ changes: [ResultsChange], renamed: [(former: ObjectID, id: ObjectID)] = [], isReset: Bool = false,
        error: CoreError? = nil
    ) {
        (self.former, self.snapshot, self.sectionChanges, self.changes) = (former, snapshot, sectionChanges, changes)
        (self.renamed, self.isReset, self.error) = (renamed, isReset, error)
    }

    /// Creates a difference that inserts all results.
    init(inserting snapshot: ResultsSnapshot, isReset: Bool = false, error: CoreError? = nil) {
        let rows = snapshot.rows.all
        let change = Rearrangement(
            from: ResultsSnapshot(), to: snapshot, before: Array(repeating: nil, count: rows.count),
            isUpdated: Array(repeating: false, count: rows.count))
        let (sections, changes) = change.changes()
        self.init(from: ResultsSnapshot(), to: snapshot, sections, changes, isReset: isReset, error: error)
    }

    public var isEmpty: Bool {
        sectionChanges.isEmpty && changes.isEmpty && renamed.isEmpty && !isReset && error == nil
    }

    public var removals: [ResultsChange] { changes.filter { $0.kind == .delete } }
    public var insertions: [ResultsChange] { changes.filter { $0.kind == .insert } }
    public var moves: [ResultsChange] { changes.filter { $0.kind == .move } }
    public var updates: [ResultsChange] { changes.filter { $0.kind == .update } }
}

/// A snapshot of results: IDs by position.
///
/// It can be used on any thread. It shares its storage with the tracked results, so they are not copied.
public struct ResultsSnapshot: Sendable {
    let rows: RowList
    let sections: SectionTable

    /// Creates a snapshot without results.
    public init() { self.init(RowList(), SectionTable()) }

    init(_ rows: RowList, _ sections: SectionTable = SectionTable()) {
        (self.rows, self.sections) = (rows, sections)
    }

    public var count: Int { rows.count }
    public var sectionNames: [String] { sections.names.map(\.text) }
    public var objectIDs: [ObjectID] { rows.all.map(\.id) }

    public func numberOfObjects(inSection section: Int) -> Int { sections.count(of: section) }

    public func objectIDs(inSection section: Int) -> [ObjectID] {
        rows[sections.starts[section]..<sections.starts[section + 1]].map(\.id)
    }

    /// Returns the ID at an index path; nil if the results do not have the index path.
    public func objectID(at path: ResultsIndexPath) -> ObjectID? { sections.place(of: path).map { rows[$0].id } }

    /// Returns the index path of an ID by a linear search; nil if the ID is not in the results.
    public func indexPath(of id: ObjectID) -> ResultsIndexPath? {
        rows.all.firstIndex { $0.id == id }.map { sections.path(of: $0) }
    }
}
