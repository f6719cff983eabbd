import CorestoneValues

/// A deletion or insertion of an ID between former and new results. A move consists of both.
public struct ResultsIDChange: Sendable, Equatable {
    /// The kind of the change: `.delete` or `.insert`.
    public let kind: ResultsChangeKind
    /// The position among all results, regardless of sections.
    ///
    /// It is a position in the former results for a deletion, and in the new ones for an insertion.
    public let offset: Int
    public let objectID: ObjectID
    /// The offset of the other half of a move; nil for other changes.
    public let associatedOffset: Int?
}

extension ResultsDifference {
    /// The difference of the IDs alone.
    ///
    /// Deletions are ordered from the last to the first, followed by insertions from the first to the last. Applied in
    /// this order to the former IDs, the changes produce the new ones. An ID that was replaced, for example by a
    /// permanent one, is a move. Updates are not included.
    public var idChanges: [ResultsIDChange] {
        var deletions: [ResultsIDChange] = [], insertions: [ResultsIDChange] = []
        let names = Dictionary(renamed.map { ($0.id, $0.former) }, uniquingKeysWith: { a, _ in a })
        var unmoved = names
        func add(_ start: Int?, _ end: Int?, _ id: ObjectID) {
            if let start {
                deletions.append(
                    ResultsIDChange(kind: .delete, offset: start, objectID: names[id] ?? id, associatedOffset: end))
            }
            if let end {
                insertions.append(ResultsIDChange(kind: .insert, offset: end, objectID: id, associatedOffset: start))
            }
        }
        for change in changes where change.kind != .update {
            unmoved[change.objectID] = nil
            add(
                change.indexPath.flatMap(former.sections.place), change.newIndexPath.flatMap(snapshot.sections.place),
                change.objectID)
        }
        if !unmoved.isEmpty {
            let before = former.rows.all.enumerated().map { ($1.id, $0) }
            let places = Dictionary(before, uniquingKeysWith: { a, _ in a })
            for (place, row) in snapshot.rows.all.enumerated() {
                if let former = unmoved[row.id] { add(places[former], place, row.id) }
            }
        }
        return deletions.sorted { $0.offset > $1.offset } + insertions.sorted { $0.offset < $1.offset }
    }
}
