import CorestoneValues

/// What may happen to an object or a section among results; Core Data's numbers.
public enum ResultsChangeKind: UInt32, Sendable {
    case insert = 1
    case delete, move, update
}

/// What happened to one object. `indexPath` is its place before, `newIndexPath` its place after all changes of the difference; an
/// insertion has no former place, a deletion no new one. A move never leads to the same place, and is an update too.
public struct ResultsChange: Sendable, Equatable {
    public let kind: ResultsChangeKind
    public let objectID: ObjectID
    public let indexPath: ResultsIndexPath?
    public let newIndexPath: ResultsIndexPath?
}

/// A section that came, at its new index, or went, at its former one.
public struct ResultsSectionChange: Sendable, Equatable {
    public let kind: ResultsChangeKind
    public let index: Int
    public let name: String
}

/// How results differ from what they were.
///
/// Take away the sections and the objects that were deleted or moved, by their former places; put in the sections, then the
/// objects, that were inserted or moved, by their new places: that gives the new results from the former ones, always.
public struct ResultsDifference: Sendable {
    /// Deletions from the last to the first, then insertions from the first to the last.
    public let sectionChanges: [ResultsSectionChange]
    /// Deletions from the last to the first, insertions, moves and updates from the first to the last.
    public let changes: [ResultsChange]
    /// The new results.
    public let snapshot: ResultsSnapshot
    let former: ResultsSnapshot
    /// The context was reset, or tracking failed: what was shown is gone, and `changes` insert all that there is.
    public let isReset: Bool
    /// What tracking failed with; there are no results any more then.
    public let error: CoreError?
    /// Objects whose IDs were temporary and are others now: who keeps IDs keeps these instead. With sections and rows alone, that is
    /// no change.
    public let renamed: [(former: ObjectID, id: ObjectID)]

    init(
        from former: ResultsSnapshot, to snapshot: ResultsSnapshot, _ sectionChanges: [ResultsSectionChange],
        _ changes: [ResultsChange], renamed: [(former: ObjectID, id: ObjectID)] = [], isReset: Bool = false,
        error: CoreError? = nil
    ) {
        (self.former, self.snapshot, self.sectionChanges, self.changes) = (former, snapshot, sectionChanges, changes)
        (self.renamed, self.isReset, self.error) = (renamed, isReset, error)
    }

    /// What there is now, out of nothing.
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

/// Results as they were at one time: IDs by place. It may cross threads, and costs no copy of the results.
public struct ResultsSnapshot: Sendable {
    let rows: RowList
    let sections: SectionTable

    init(_ rows: RowList = RowList(), _ sections: SectionTable = SectionTable()) {
        (self.rows, self.sections) = (rows, sections)
    }

    public var count: Int { rows.count }
    public var sectionNames: [String] { sections.names.map(\.text) }
    public var objectIDs: [ObjectID] { rows.all.map(\.id) }

    public func numberOfObjects(inSection section: Int) -> Int { sections.count(of: section) }

    public func objectIDs(inSection section: Int) -> [ObjectID] {
        rows[sections.starts[section]..<sections.starts[section + 1]].map(\.id)
    }

    /// nil for a path that leads nowhere.
    public func objectID(at path: ResultsIndexPath) -> ObjectID? { sections.place(of: path).map { rows[$0].id } }

    /// By a search of all.
    public func indexPath(of id: ObjectID) -> ResultsIndexPath? {
        rows.all.firstIndex { $0.id == id }.map { sections.path(of: $0) }
    }
}
