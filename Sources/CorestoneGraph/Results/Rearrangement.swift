/// The changes from one list of rows to another, by the rules of list views.
///
/// Deletions and the former positions of moves refer to the former list, insertions and the new positions of moves to
/// the new one. All other rows keep their order.
struct Rearrangement {
    let former: SectionTable
    let new: SectionTable
    var removed: [(place: Int, row: ResultsRow)] = []
    var inserted: [(place: Int, row: ResultsRow)] = []
    /// The rows that were removed and inserted again, possibly at the same position.
    var replaced: [(former: Int, place: Int, row: ResultsRow, isUpdated: Bool)] = []
    /// The updated rows that kept their order.
    var updated: [(former: Int, place: Int, row: ResultsRow)] = []

    var isEmpty: Bool { removed.isEmpty && inserted.isEmpty && replaced.isEmpty && updated.isEmpty }

    /// The former positions of the removed and replaced rows, in order.
    private var freedPositions: [Int] { (removed.map(\.place) + replaced.map(\.former)).sorted() }
    /// The new positions of the inserted and replaced rows, in order.
    private var filledPositions: [Int] { (inserted.map(\.place) + replaced.map(\.place)).sorted() }

    func changes() -> (sections: [ResultsSectionChange], objects: [ResultsChange]) {
        let freedPositions = self.freedPositions
        let isKept = keptSections(freedPositions)
        var sections: [ResultsSectionChange] = []
        let hasSame = former.names == new.names && !isKept.contains(false)
        if !hasSame {
            let kept = Set(former.names.indices.lazy.filter { isKept[$0] }.map { former.names[$0] })
            for index in former.names.indices.reversed() where !isKept[index] {
                sections.append(ResultsSectionChange(kind: .delete, index: index, name: former.names[index].text))
            }
            for (index, name) in new.names.enumerated() where !kept.contains(name) {
                sections.append(ResultsSectionChange(kind: .insert, index: index, name: name.text))
            }
        }
        return (sections, objectChanges(freedPositions, isKept))
    }

    private func objectChanges(_ freedPositions: [Int], _ isKept: [Bool]) -> [ResultsChange] {
        var (deletions, insertions, moved) = (removed, inserted, [ResultsChange]())
        var changed = updated
        let (staying, moving) = split(freedPositions, isKept)
        for one in staying where one.isUpdated { changed.append((one.former, one.place, one.row)) }
        for one in moving {
            let (start, end) = (former.path(of: one.former), new.path(of: one.place))
            if start == end {
                // Other rows were deleted or inserted, so the index path is the same. A move must change the index
                // path.
                deletions.append((one.former, one.row))
                insertions.append((one.place, one.row))
            } else {
                moved.append(ResultsChange(kind: .move, objectID: one.row.id, indexPath: start, newIndexPath: end))
            }
        }
        deletions.sort { $0.place > $1.place }
        insertions.sort { $0.place < $1.place }
        changed.sort { $0.former < $1.former }
        return deletions.map { place, row in
            ResultsChange(kind: .delete, objectID: row.id, indexPath: former.path(of: place), newIndexPath: nil)
        }
            + insertions.map { place, row in
                ResultsChange(kind: .insert, objectID: row.id, indexPath: nil, newIndexPath: new.path(of: place))
            } + moved
            + changed.map { start, end, row in
                ResultsChange(
                    kind: .update, objectID: row.id, indexPath: former.path(of: start), newIndexPath: new.path(of: end))
            }
    }

    /// Splits the rows that were inserted again into kept and moved ones.
    ///
    /// As many rows as possible keep their order relative to all kept rows.
    private func split(
        _ freedPositions: [Int], _ isKept: [Bool]
    ) -> (
        staying: [(former: Int, place: Int, row: ResultsRow, isUpdated: Bool)],
        moving: [(former: Int, place: Int, row: ResultsRow, isUpdated: Bool)]
    ) {
        let filledPositions = self.filledPositions
        let ordered = replaced.sorted { $0.place < $1.place }
        // For each row, its gap between two kept rows; nil if the row was in another gap or another section before.
        let gaps = ordered.map { one -> Int? in
            let gap = one.former - RowList.partition(freedPositions.count) { freedPositions[$0] < one.former }
            let section = former.section(of: one.former)
            guard gap == one.place - RowList.partition(filledPositions.count, { filledPositions[$0] < one.place }),
                isKept[section],
                former.names[section] == new.names[new.section(of: one.place)]
            else { return nil }
            return gap
        }
        var stays = [Bool](repeating: false, count: ordered.count)
        let candidates = ordered.indices.filter { gaps[$0] != nil }
        // The gaps increase with the positions, so a single search finds the rows that keep their order in all gaps.
        for index in longestIncreasingSubsequence(candidates.map { ordered[$0].former }) {
            stays[candidates[index]] = true
        }
        return (
            ordered.indices.filter { stays[$0] }.map { ordered[$0] },
            ordered.indices.filter { !stays[$0] }.map { ordered[$0] }
        )
    }

    /// Returns, for each former section, whether it remains in the same order.
    ///
    /// The sections with kept rows remain. Another section remains if its new position is after those of the preceding
    /// sections that remain, and before those of the following sections with kept rows.
    private func keptSections(_ freedPositions: [Int]) -> [Bool] {
        var isKept = [Bool](repeating: true, count: former.count)
        if former.names == new.names { return isKept }
        let places = Dictionary(uniqueKeysWithValues: new.names.enumerated().map { ($1, $0) })
        var leaving = [Int](repeating: 0, count: former.count)
        for place in freedPositions { leaving[former.section(of: place)] += 1 }
        let hasStaying = former.names.indices.map { leaving[$0] < former.count(of: $0) }
        // The lowest new position of the sections with kept rows from an index on.
        var bounds = [Int](repeating: .max, count: former.count + 1)
        for index in former.names.indices.reversed() {
            let place = hasStaying[index] ? places[former.names[index]] : nil
            bounds[index] = min(bounds[index + 1], place ?? .max)
        }
        var last = -1
        for (index, name) in former.names.enumerated() {
            guard let place = places[name], place > last, hasStaying[index] || place < bounds[index + 1] else {
                isKept[index] = false
                continue
            }
            last = place
        }
        return isKept
    }
}

/// Returns the indexes of a longest increasing subsequence of distinct numbers.
func longestIncreasingSubsequence(_ numbers: [Int]) -> [Int] {
    // `ends`: by length minus one, the index of the smallest last number of an increasing subsequence. `before`: by
    // index, the index of the previous element.
    var ends: [Int] = [], before = [Int](repeating: -1, count: numbers.count)
    for (place, number) in numbers.enumerated() {
        let length = RowList.partition(ends.count) { numbers[ends[$0]] < number }
        if length > 0 { before[place] = ends[length - 1] }
        if length == ends.count { ends.append(place) } else { ends[length] = place }
    }
    var rise: [Int] = [], next = ends.last ?? -1
    while next >= 0 {
        rise.append(next)
        next = before[next]
    }
    return rise.reversed()
}
