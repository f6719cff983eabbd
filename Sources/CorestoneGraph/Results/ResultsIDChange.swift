import CorestoneValues

/// A step from the IDs of former results to those of the new ones: one that goes, or one that comes. A move is both.
public struct ResultsIDChange: Sendable, Equatable {
    /// `.delete` or `.insert`.
    public let kind: ResultsChangeKind
    /// Among all results, whatever their sections: of a deletion in the former ones, of an insertion in the new ones.
    public let offset: Int
    public let objectID: ObjectID
    /// Of a move, the offset of its other half.
    public let associatedOffset: Int?
}

extension ResultsDifference {
    /// The difference of the IDs alone: deletions from the last to the first, then insertions from the first to the last, which
    /// carried out one after the other make the new IDs of the former ones. An ID that became another one is a move, and so are
    /// temporary ones that a save made permanent. Updates are none.
    public var idChanges: [ResultsIDChange] {
        var gone: [ResultsIDChange] = [], come: [ResultsIDChange] = []
        let names = Dictionary(renamed.map { ($0.id, $0.former) }, uniquingKeysWith: { a, _ in a })
        var unmoved = names
        func add(_ start: Int?, _ end: Int?, _ id: ObjectID) {
            if let start {
                gone.append(
                    ResultsIDChange(kind: .delete, offset: start, objectID: names[id] ?? id, associatedOffset: end))
            }
            if let end {
                come.append(ResultsIDChange(kind: .insert, offset: end, objectID: id, associatedOffset: start))
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
        return gone.sorted { $0.offset > $1.offset } + come.sorted { $0.offset < $1.offset }
    }
}
