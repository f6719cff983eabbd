import XCTest

@testable import CorestoneGraph
@testable import CorestoneModel
@testable import CorestoneValues

/// Lists of result rows, and the differences between two of them.
final class ResultsListTests: GraphTestCase {
    /// Rows with keys from 1.
    private func rows(_ count: Int, section: (Int) -> String = { _ in "" }) throws -> [ResultsRow] {
        let tiebreaker = SortTiebreaker(try context.insert("Employee"))
        let entity = try model.requireEntity(named: "Employee")
        return (0..<count).map { place in
            ResultsRow(
                id: ObjectID(store: coordinator.stores[0], entity: entity, reference: Int64(place + 1)),
                tiebreaker: tiebreaker,
                keys: [], section: SectionName(section(place)))
        }
    }

    private func snapshot(_ rows: [ResultsRow]) throws -> ResultsSnapshot {
        ResultsSnapshot(RowList(rows), try SectionTable(of: rows))
    }

    /// The difference between two lists of rows. Rows with the same ID are equal.
    private func difference(
        _ old: [ResultsRow], _ new: [ResultsRow], updated: Set<Int64> = [],
        renamed: [(former: ObjectID, id: ObjectID)] = []
    ) throws -> ResultsDifference {
        let (former, later) = (try snapshot(old), try snapshot(new))
        let names = Dictionary(uniqueKeysWithValues: renamed.map { ($0.id, $0.former) })
        let change = Rearrangement(
            from: former, to: later, before: new.map { row in old.first { $0.id == names[row.id] ?? row.id } },
            isUpdated: new.map { updated.contains($0.id.reference) })
        let (sections, changes) = change.changes()
        return ResultsDifference(from: former, to: later, sections, changes, renamed: renamed)
    }

    // MARK: Rows

    func testRowListMatchesAnArray() throws {
        let rows = try rows(2000)
        for count in [0, 1, 2, 255, 256, 257, 511, 512, 513, 1024, 2000] {
            let list = RowList(Array(rows[..<count]))
            XCTAssertEqual(list.count, count)
            XCTAssertEqual(list.isEmpty, count == 0)
            XCTAssertTrue(list.last === rows[..<count].last, "\(count)")
            XCTAssertTrue((0..<count).allSatisfy { list[$0] === rows[$0] }, "\(count)")
            XCTAssertTrue(list.all.elementsEqual(rows[..<count], by: ===), "\(count)")
            XCTAssertTrue(list[count / 3..<count].elementsEqual(rows[count / 3..<count], by: ===), "\(count)")
            for place in [0, 1, 2, 256, 512, count / 2, count - 1, count] where (0...count).contains(place) {
                XCTAssertEqual(list.partition { $0.id.reference <= Int64(place) }, place, "\(count)")
            }
        }
    }

    func testRowListMatchesAnArrayAfterInsertionsAndRemovals() throws {
        var dice = SeededGenerator(seed: 1)
        let rows = try rows(1600)
        for atEnd in [false, true] {
            var (list, mirror) = (RowList(), [ResultsRow]())
            func check(line: UInt = #line) {
                XCTAssertEqual(list.count, mirror.count, line: line)
                XCTAssertTrue(list.all.elementsEqual(mirror, by: ===), line: line)
                XCTAssertTrue(mirror.indices.allSatisfy { list[$0] === mirror[$0] }, line: line)
            }
            for (number, row) in rows.enumerated() {
                let place = atEnd ? mirror.count : Int.random(in: 0...mirror.count, using: &dice)
                list.insert(row, at: place)
                mirror.insert(row, at: place)
                if number % 400 == 0 { check() }
            }
            check()
            let former = list
            list.replace(at: 700, with: rows[0])
            XCTAssertTrue(list[700] === rows[0])
            XCTAssertTrue(former[700] === mirror[700], "a copy does not change")
            list.replace(at: 700, with: mirror[700])
            while !mirror.isEmpty {
                let place = Int.random(in: 0..<mirror.count, using: &dice)
                list.remove(at: place)
                mirror.remove(at: place)
                if mirror.count % 400 == 1 { check() }
            }
            XCTAssertTrue(list.isEmpty)
            XCTAssertNil(list.last)
            list.insert(rows[5], at: 0)
            XCTAssertEqual([list.count, former.count], [1, 1600])
            XCTAssertTrue(list[0] === rows[5])
        }
    }

    func testPartitionReturnsTheNumberOfPrecedingElements() {
        for count in 0...9 {
            for bound in 0...count { XCTAssertEqual(RowList.partition(count) { $0 < bound }, bound, "\(count)") }
        }
    }

    /// Compared with every subsequence of short lists of numbers.
    func testLongestRiseIsALongestIncreasingSubsequence() {
        var dice = SeededGenerator(seed: 2)
        XCTAssertEqual(longestIncreasingSubsequence([]), [])
        XCTAssertEqual(longestIncreasingSubsequence([7]), [0])
        XCTAssertEqual(longestIncreasingSubsequence([1, 2, 3]), [0, 1, 2])
        for count in 2...8 {
            for _ in 0..<40 {
                let numbers = (0..<count).map { $0 * 3 }.shuffled(using: &dice)
                let found = longestIncreasingSubsequence(numbers)
                XCTAssertTrue(zip(found, found.dropFirst()).allSatisfy { $0 < $1 && numbers[$0] < numbers[$1] })
                let best = (0..<1 << count).filter { mask in
                    let part = numbers.indices.filter { mask >> $0 & 1 == 1 }.map { numbers[$0] }
                    return zip(part, part.dropFirst()).allSatisfy(<)
                }.map(\.nonzeroBitCount).max()
                XCTAssertEqual(found.count, best, "\(numbers)")
            }
        }
    }

    // MARK: Sections

    func testSectionsAreRunsOfRows() throws {
        let names = ["a", "a", "b", "c", "c", "c"]
        let table = try SectionTable(of: try rows(6) { names[$0] })
        XCTAssertEqual(table.names.map(\.text), ["a", "b", "c"])
        XCTAssertEqual(table.starts, [0, 2, 3, 6])
        XCTAssertEqual(table.count, 3)
        XCTAssertEqual((0..<3).map(table.count(of:)), [2, 1, 3])
        XCTAssertEqual((0..<6).map(table.section(of:)), [0, 0, 1, 2, 2, 2])
        XCTAssertEqual((0..<6).map { table.path(of: $0).row }, [0, 1, 0, 0, 1, 2])
        for place in 0..<6 { XCTAssertEqual(table.place(of: table.path(of: place)), place) }
        for (row, section) in [(2, 0), (-1, 0), (1, 1), (3, 2), (0, 3), (0, -1)] {
            XCTAssertNil(table.place(of: ResultsIndexPath(row: row, section: section)), "(\(section), \(row))")
        }
    }

    func testEmptyResultsHaveNoSectionsUnlessUndivided() throws {
        let none = try SectionTable(of: [])
        XCTAssertEqual(none.count, 0)
        XCTAssertEqual(none.starts, [0])
        XCTAssertNil(none.place(of: ResultsIndexPath(row: 0, section: 0)))
        for count in [0, 5] {
            let whole = SectionTable(undivided: count)
            XCTAssertEqual(whole.names, [SectionName.none])
            XCTAssertEqual(whole.starts, [0, count])
            XCTAssertEqual(whole.count(of: 0), count)
        }
        let snapshot = ResultsSnapshot(RowList(), SectionTable(undivided: 0))
        XCTAssertEqual(snapshot.count, 0)
        XCTAssertEqual(snapshot.sectionNames, [""])
        XCTAssertEqual(snapshot.numberOfObjects(inSection: 0), 0)
        XCTAssertEqual(snapshot.objectIDs(inSection: 0), [])
    }

    func testSplitSectionIsRefused() throws {
        let rows = try rows(4) { ["a", "b", "b", "a"][$0] }
        XCTAssertThrowsError(try SectionTable(of: rows)) { error in
            let error = error as? CoreError
            XCTAssertEqual(error?.status, .invalidArgument)
            XCTAssertEqual(error?.code, 134060)
            XCTAssertEqual(error?.entity, "Employee")
            XCTAssertEqual(error?.objectURI, rows[3].id.uri)
            XCTAssertEqual(
                error?.message,
                "Employee \(rows[3].id.uri) is in section \"a\", but is sorted after section \"b\", apart from the "
                    + "other objects of its section; sort first by a key that keeps each section together")
        }
    }

    func testSnapshotFindsRowsByIndexPathAndID() throws {
        let rows = try rows(5) { $0 < 2 ? "a" : "b" }
        let snapshot = try snapshot(rows)
        XCTAssertEqual(snapshot.objectIDs, rows.map(\.id))
        XCTAssertEqual(snapshot.sectionNames, ["a", "b"])
        XCTAssertEqual(snapshot.objectIDs(inSection: 1), rows[2...].map(\.id))
        XCTAssertEqual(snapshot.numberOfObjects(inSection: 1), 3)
        XCTAssertEqual(snapshot.objectID(at: ResultsIndexPath(row: 2, section: 1)), rows[4].id)
        XCTAssertNil(snapshot.objectID(at: ResultsIndexPath(row: 2, section: 0)))
        XCTAssertEqual(snapshot.indexPath(of: rows[3].id), ResultsIndexPath(row: 1, section: 1))
        XCTAssertNil(snapshot.indexPath(of: ObjectID(store: nil, entity: rows[0].id.entity, reference: -9)))
    }

    func testIndexPathsAreOrderedBySectionThenRow() {
        let path = ResultsIndexPath(row: 2, section: 1)
        XCTAssertEqual([path.row, path.item, path.section], [2, 2, 1])
        XCTAssertEqual(path.description, "(1, 2)")
        XCTAssertLessThan(path, ResultsIndexPath(row: 0, section: 2))
        XCTAssertLessThan(path, ResultsIndexPath(row: 3, section: 1))
        XCTAssertFalse(path < path)
        XCTAssertFalse(path < ResultsIndexPath(row: 9, section: 0))
    }

    // MARK: Differences

    func testDifferenceListsRemovalsMovesUpdatesAndSections() throws {
        let rows = try rows(5) { ["a", "a", "a", "b", "c"][$0] }
        // 1 is removed, 3 moves before 2, 4 is removed with its section, 5 is updated.
        let found = try difference(Array(rows), [rows[2], rows[1], rows[4]], updated: [5])
        XCTAssertEqual(found.removals.map(\.objectID.reference), [4, 1])
        XCTAssertEqual(found.removals.map(\.indexPath?.description), ["(1, 0)", "(0, 0)"])
        XCTAssertEqual(found.moves.count, 1)
        XCTAssertEqual(found.insertions, [])
        XCTAssertEqual(found.updates.map(\.objectID.reference), [5])
        XCTAssertEqual(found.updates.map(\.indexPath?.description), ["(2, 0)"])
        XCTAssertEqual(found.updates.map(\.newIndexPath?.description), ["(1, 0)"])
        XCTAssertEqual(found.sectionChanges, [ResultsSectionChange(kind: .delete, index: 1, name: "b")])
        XCTAssertEqual(found.changes.map(\.kind), [.delete, .delete, .move, .update])
        XCTAssertFalse(found.isEmpty)
        XCTAssertTrue(try difference(rows, rows).isEmpty)
    }

    func testSwappedSectionsAreReportedAsDeletionAndInsertion() throws {
        let old = try rows(4) { ["a", "b", "c", "d"][$0] }
        let found = try difference(old, [old[1], old[0], old[2], old[3]])
        XCTAssertEqual(found.sectionChanges.map(\.kind), [.delete, .insert])
        XCTAssertEqual(Set(found.sectionChanges.map(\.name)).count, 1)
        XCTAssertEqual(found.sectionChanges.map(\.index), found.sectionChanges[0].name == "a" ? [0, 1] : [1, 0])
    }

    func testDifferenceIsEmptyOnlyWithoutChangesResetAndError() throws {
        let (empty, one) = (ResultsSnapshot(), try rows(1))
        let change = ResultsChange(kind: .insert, objectID: one[0].id, indexPath: nil, newIndexPath: nil)
        let section = ResultsSectionChange(kind: .insert, index: 0, name: "a")
        XCTAssertTrue(ResultsDifference(from: empty, to: empty, [], []).isEmpty)
        for difference in [
            ResultsDifference(from: empty, to: empty, [section], []),
            ResultsDifference(from: empty, to: empty, [], [change]),
            ResultsDifference(from: empty, to: empty, [], [], renamed: [(one[0].id, one[0].id)]),
            ResultsDifference(from: empty, to: empty, [], [], isReset: true),
            ResultsDifference(from: empty, to: empty, [], [], error: CoreError(.callback, "x")),
        ] { XCTAssertFalse(difference.isEmpty) }
    }

    /// The steps, applied in order, transform the former IDs into the new IDs.
    func testIDChangesTransformTheFormerIDsIntoTheNewIDs() throws {
        var dice = SeededGenerator(seed: 3)
        let names = "abcdef".map(String.init)
        for _ in 0..<200 {
            func some() throws -> [ResultsRow] {
                let chosen = (0..<30).filter { _ in Bool.random(using: &dice) }.shuffled(using: &dice)
                let sections = chosen.map { _ in names.randomElement(using: &dice) ?? "" }.sorted()
                let all = try rows(30)
                return zip(chosen, sections).map {
                    ResultsRow(id: all[$0].id, tiebreaker: all[$0].tiebreaker, keys: [], section: SectionName($1))
                }
            }
            let (old, new) = (try some(), try some())
            let steps = try difference(old, new).idChanges
            var ids = old.map(\.id)
            var offsets: [Int?: Int] = [:]
            for step in steps {
                if step.kind == .delete {
                    XCTAssertEqual(ids.remove(at: step.offset), step.objectID)
                    if let end = step.associatedOffset { offsets[end] = step.offset }
                } else {
                    ids.insert(step.objectID, at: step.offset)
                    if let start = step.associatedOffset { XCTAssertEqual(offsets[step.offset], start) }
                }
            }
            XCTAssertEqual(ids, new.map(\.id))
        }
    }

    func testIDChangesReplaceARenamedID() throws {
        let rows = try rows(3)
        let saved = ResultsRow(
            id: ObjectID(store: nil, entity: rows[0].id.entity, reference: 77), tiebreaker: rows[1].tiebreaker,
            keys: [],
            section: .none)
        let found = try difference(
            rows, [rows[0], saved, rows[2]], updated: [1], renamed: [(rows[1].id, saved.id)])
        XCTAssertEqual(found.changes.map(\.kind), [.update])
        XCTAssertEqual(found.idChanges.map(\.kind), [.delete, .insert])
        XCTAssertEqual(found.idChanges.map(\.offset), [1, 1])
        XCTAssertEqual(found.idChanges.map(\.associatedOffset), [1, 1])
        XCTAssertEqual(found.idChanges.map(\.objectID), [rows[1].id, saved.id])
        let moved = try difference(rows, [saved, rows[0], rows[2]], renamed: [(rows[1].id, saved.id)])
        XCTAssertEqual(moved.moves.count, 1)
        var ids = rows.map(\.id)
        for step in moved.idChanges {
            if step.kind == .delete { ids.remove(at: step.offset) } else { ids.insert(step.objectID, at: step.offset) }
        }
        XCTAssertEqual(ids, [saved.id, rows[0].id, rows[2].id])
    }

    // MARK: Pending differences

    func testDifferenceQueueReturnsASingleDifferenceUnchanged() throws {
        let rows = try rows(2)
        let queue = DifferenceQueue()
        XCTAssertNil(queue.take())
        XCTAssertFalse(queue.isEnded)
        queue.append(try difference([rows[0]], rows, updated: [1]))
        let taken = try XCTUnwrap(queue.take())
        XCTAssertEqual(taken.changes.map(\.kind), [.insert, .update])
        XCTAssertNil(queue.take())
        queue.append(try difference(rows, [rows[1]]))
        queue.end()
        XCTAssertFalse(queue.isEnded, "one difference is pending")
        XCTAssertEqual(queue.take()?.changes.map(\.kind), [.delete])
        XCTAssertTrue(queue.isEnded)
        XCTAssertNil(queue.take())
    }

    func testDifferenceQueueCombinesPendingDifferences() throws {
        let rows = try rows(4)
        let queue = DifferenceQueue()
        queue.append(try difference([rows[0]], [rows[0], rows[1]]))
        queue.append(try difference([rows[0], rows[1]], [rows[0], rows[1], rows[2]], updated: [1]))
        queue.append(try difference([rows[0], rows[1], rows[2]], [rows[0], rows[2], rows[3]]))
        let taken = try XCTUnwrap(queue.take())
        XCTAssertEqual(taken.insertions.map(\.objectID.reference), [3, 4])
        XCTAssertEqual(taken.updates.map(\.objectID.reference), [1], "the update of the second difference")
        XCTAssertEqual(taken.removals, [], "a row that was inserted and removed is not reported")
        XCTAssertFalse(taken.isReset)
        queue.append(try difference([rows[0]], [rows[0], rows[1]]))
        queue.append(try difference([rows[0], rows[1]], [rows[0]]))
        XCTAssertNil(queue.take(), "the differences cancel each other out")
    }

    func testDifferenceQueueFollowsRenamedIDs() throws {
        let rows = try rows(2)
        func renamed(_ key: Int64) -> ResultsRow {
            ResultsRow(
                id: ObjectID(store: nil, entity: rows[0].id.entity, reference: key), tiebreaker: rows[0].tiebreaker,
                keys: [],
                section: .none)
        }
        let (second, third) = (renamed(50), renamed(51))
        let queue = DifferenceQueue()
        queue.append(try difference([rows[0]], [rows[0], rows[1]], updated: [1]))
        queue.append(try difference([rows[0], rows[1]], [second, rows[1]], renamed: [(rows[0].id, second.id)]))
        queue.append(try difference([second, rows[1]], [third, rows[1]], renamed: [(second.id, third.id)]))
        let taken = try XCTUnwrap(queue.take())
        XCTAssertEqual(taken.renamed.map(\.former), [rows[0].id])
        XCTAssertEqual(taken.renamed.map(\.id), [third.id])
        XCTAssertEqual(taken.updates.map(\.objectID), [third.id])
        XCTAssertEqual(taken.insertions.map(\.objectID), [rows[1].id])
    }

    func testDifferenceQueueReportsResetsAndErrors() throws {
        let rows = try rows(3)
        let queue = DifferenceQueue()
        queue.append(try difference([], [rows[0]]))
        queue.append(ResultsDifference(inserting: try snapshot([rows[1]]), isReset: true))
        queue.append(try difference([rows[1]], [rows[1], rows[2]], updated: [2]))
        let taken = try XCTUnwrap(queue.take())
        XCTAssertTrue(taken.isReset)
        XCTAssertEqual(taken.insertions.map(\.objectID.reference), [2, 3])
        XCTAssertEqual(taken.updates, [])
        XCTAssertNil(taken.error)
        queue.append(try difference([], [rows[0]]))
        queue.append(
            ResultsDifference(inserting: ResultsSnapshot(), isReset: true, error: CoreError(.storeIO, "broken")))
        let last = try XCTUnwrap(queue.take())
        XCTAssertEqual(last.error?.message, "broken")
        XCTAssertTrue(last.isReset)
        XCTAssertEqual(last.changes, [])
    }
}
