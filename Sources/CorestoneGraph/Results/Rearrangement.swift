/// How one list of rows became another, told as changes by the rules of lists that are shown: deletions and the beginnings of
/// moves count in the former list, insertions and the ends of moves in the new one, and what is not told keeps its order.
struct Rearrangement {
    let former: SectionTable
    let new: SectionTable
    var removed: [(place: Int, row: ResultsRow)] = []
    var inserted: [(place: Int, row: ResultsRow)] = []
    /// Rows that were taken out and put in again, at the same place perhaps.
    var replaced: [(former: Int, place: Int, row: ResultsRow, isUpdated: Bool)] = []
    /// Rows that kept their order, and were updated.
    var updated: [(former: Int, place: Int, row: ResultsRow)] = []

    var isEmpty: Bool { removed.isEmpty && inserted.isEmpty && replaced.isEmpty && updated.isEmpty }

    /// The places that rows left, and those that rows came to; all other rows keep their order.
    private var left: [Int] { (removed.map(\.place) + replaced.map(\.former)).sorted() }
    private var taken: [Int] { (inserted.map(\.place) + replaced.map(\.place)).sorted() }

    func changes() -> (sections: [ResultsSectionChange], objects: [ResultsChange]) {
        let left = self.left
        let isKept = keptSections(left)
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
        return (sections, objectChanges(left, isKept))
    }

    private func objectChanges(_ left: [Int], _ isKept: [Bool]) -> [ResultsChange] {
        var (gone, come, moved) = (removed, inserted, [ResultsChange]())
        var changed = updated
        let (staying, moving) = split(left, isKept)
        for one in staying where one.isUpdated { changed.append((one.former, one.place, one.row)) }
        for one in moving {
            let (start, end) = (former.path(of: one.former), new.path(of: one.place))
            if start == end {
                // What lies between went or came: as a move it would lead nowhere.
                gone.append((one.former, one.row))
                come.append((one.place, one.row))
            } else {
                moved.append(ResultsChange(kind: .move, objectID: one.row.id, indexPath: start, newIndexPath: end))
            }
        }
        gone.sort { $0.place > $1.place }
        come.sort { $0.place < $1.place }
        changed.sort { $0.former < $1.former }
        return gone.map { place, row in
            ResultsChange(kind: .delete, objectID: row.id, indexPath: former.path(of: place), newIndexPath: nil)
        }
            + come.map { place, row in
                ResultsChange(kind: .insert, objectID: row.id, indexPath: nil, newIndexPath: new.path(of: place))
            } + moved
            + changed.map { start, end, row in
                ResultsChange(
                    kind: .update, objectID: row.id, indexPath: former.path(of: start), newIndexPath: new.path(of: end))
            }
    }

    /// Of the rows that were put in again, those that keep their order with all that stayed, as many as can, and the others.
    private func split(
        _ left: [Int], _ isKept: [Bool]
    ) -> (
        staying: [(former: Int, place: Int, row: ResultsRow, isUpdated: Bool)],
        moving: [(former: Int, place: Int, row: ResultsRow, isUpdated: Bool)]
    ) {
        let taken = self.taken
        let ordered = replaced.sorted { $0.place < $1.place }
        // Which of them lie between the same two rows that stayed, as before, in a section that stayed.
        let gaps = ordered.map { one -> Int? in
            let gap = one.former - RowList.partition(left.count) { left[$0] < one.former }
            let section = former.section(of: one.former)
            guard gap == one.place - RowList.partition(taken.count, { taken[$0] < one.place }), isKept[section],
                former.names[section] == new.names[new.section(of: one.place)]
            else { return nil }
            return gap
        }
        var stays = [Bool](repeating: false, count: ordered.count)
        let candidates = ordered.indices.filter { gaps[$0] != nil }
        // Gaps rise with the places, so one search finds what keeps its order in each of them.
        for index in longestRise(candidates.map { ordered[$0].former }) { stays[candidates[index]] = true }
        return (
            ordered.indices.filter { stays[$0] }.map { ordered[$0] },
            ordered.indices.filter { !stays[$0] }.map { ordered[$0] }
        )
    }

    /// Which of the former sections are still there, in the same order. Those that have rows that stayed are; of the others as
    /// many as fit in between.
    private func keptSections(_ left: [Int]) -> [Bool] {
        var isKept = [Bool](repeating: true, count: former.count)
        if former.names == new.names { return isKept }
        let places = Dictionary(uniqueKeysWithValues: new.names.enumerated().map { ($1, $0) })
        var leaving = [Int](repeating: 0, count: former.count)
        for place in left { leaving[former.section(of: place)] += 1 }
        let hasStaying = former.names.indices.map { leaving[$0] < former.count(of: $0) }
        // The first place of a section with rows that stayed, from here to the end.
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

/// The places of a longest part of distinct numbers that rises, not necessarily without gaps.
func longestRise(_ numbers: [Int]) -> [Int] {
    // By length less one, the place of the least number that ends such a part; and by place the one before it in its part.
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
