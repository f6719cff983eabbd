import XCTest

@testable import CorestoneGraph
@testable import CorestoneModel
@testable import CorestoneValues

/// Parts of queues, and remote changes that wait for a context.
final class QueuePartsTests: GraphTestCase {
    // MARK: Lines

    func testLineIsInOrderOfArrival() {
        var line = FIFOQueue<Int>()
        XCTAssertTrue(line.isEmpty)
        XCTAssertNil(line.first)
        let places = (0..<5).map { line.append($0 * 10) }
        XCTAssertEqual(places, [0, 1, 2, 3, 4])
        line.remove(at: places[2])
        line.remove(at: places[2])
        line.removeFirst()
        XCTAssertEqual(line.first, 10)
        line.remove(at: places[0])
        XCTAssertEqual(line.first, 10, "an element that was already removed is ignored")
        line.remove(at: places[1])
        XCTAssertEqual(line.first, 30)
        line.remove(at: places[4])
        line.removeFirst()
        XCTAssertTrue(line.isEmpty)
        XCTAssertNil(line.first)
        XCTAssertEqual(line.append(50), 5, "places are not reused")
        XCTAssertEqual(line.first, 50)
    }

    func testLineMatchesAnArrayOverRandomRemovals() {
        var dice = SeededGenerator(seed: 4)
        var (line, mirror) = (FIFOQueue<Int>(), [(place: Int, number: Int)]())
        for number in 0..<3000 {
            mirror.append((line.append(number), number))
            let luck = Int.random(in: 0..<8, using: &dice)
            if luck < 4, !mirror.isEmpty, number > 300 {
                line.removeFirst()
                mirror.removeFirst()
            } else if luck == 4 {
                let gone = mirror.remove(at: Int.random(in: 0..<mirror.count, using: &dice))
                line.remove(at: gone.place)
            }
            XCTAssertEqual(line.first, mirror.first?.number)
        }
        while !mirror.isEmpty {
            XCTAssertEqual(line.first, mirror.removeFirst().number)
            line.removeFirst()
        }
        XCTAssertTrue(line.isEmpty)
    }

    // MARK: Serial queues

    func testClosedQueueRefusesGuests() throws {
        let label = ContextLabel(origin: CallSite(file: "a.swift", line: 2))
        label.name = "import"
        let queue = SerialQueue(label)
        XCTAssertTrue(queue.isIdle)
        XCTAssertFalse(queue.isClosed || queue.isAwaited)
        XCTAssertTrue(queue.tryAcquire(isFromApplication: true))
        XCTAssertFalse(queue.isIdle)
        XCTAssertFalse(queue.tryAcquire(isFromApplication: true), "the queue is busy")
        queue.release()
        queue.close(but: 12345)
        XCTAssertTrue(queue.isClosed)
        XCTAssertFalse(queue.tryAcquire(isFromApplication: true))
        for body: () throws -> Void in [
            { try queue.run(isFromApplication: true) { XCTFail("the block ran") } },
            { try queue.enqueue(isFromApplication: true) {} },
        ] {
            XCTAssertThrowsError(try body()) { error in
                XCTAssertEqual((error as? CoreError)?.status, .invalidHandle)
                XCTAssertEqual(
                    (error as? CoreError)?.message,
                    "context \"import\" (created at a.swift:2) does not accept work: its stores are closed or being closed; "
                        + "use the context before the stores are closed, or open them with a new coordinator, "
                        + "container or document (cst_coordinator_new, cst_container_new, cst_document_open)")
            }
        }
        var ran = 0
        try queue.run { ran += 1 }
        queue.close(but: queue.holder)
        queue.open()
        try queue.run(isFromApplication: true) { ran += 1 }
        XCTAssertEqual(ran, 2)
        XCTAssertTrue(queue.isIdle)
    }

    func testWorkThatTheQueueCannotAcceptRunsOrIsRefused() throws {
        let worker = Context(coordinator: coordinator, queue: .privateQueue)
        let failure = CoreError(.noMemory, "no thread")
        var calls: [String] = []
        func runAnyway() {
            worker.runAnyway({ calls.append("ran") }, refused: { calls.append("\($0)") }, because: failure)
        }
        runAnyway()
        XCTAssertEqual(calls, ["ran"])
        // The thread owns the queue, so it cannot wait for it.
        try worker.runAndWait { _ in runAnyway() }
        XCTAssertEqual(calls, ["ran", "no thread"])
    }

    func testContextLabelContainsNameAndCallSite() {
        let label = ContextLabel(origin: nil)
        XCTAssertEqual(label.text, "a context")
        label.name = "import"
        XCTAssertEqual(label.text, "context \"import\"")
        label.origin = CallSite(file: "a.swift", line: 2)
        XCTAssertEqual(label.text, "context \"import\" (created at a.swift:2)")
        label.name = nil
        XCTAssertEqual(label.text, "a context (created at a.swift:2)")
    }

    func testOnlyOneThreadCanCloseAtATime() throws {
        let closing = Closing()
        XCTAssertEqual(closing.closer, 0)
        XCTAssertFalse(closing.hasClosed || closing.isAwaited)
        XCTAssertTrue(try closing.begin(waits: true, "the container"))
        XCTAssertNotEqual(closing.closer, 0)
        XCTAssertThrowsError(try closing.begin(waits: true, "the container")) { error in
            XCTAssertEqual((error as? CoreError)?.status, .invalidHandle)
            XCTAssertTrue("\(error)".hasPrefix("the container is already being closed"), "\(error)")
        }
        closing.end()
        XCTAssertEqual(closing.closer, 0)
        XCTAssertTrue(try closing.begin(waits: false, "the container"))
        try closing.enter(ContextLabel(origin: nil))
        XCTAssertTrue(closing.isAwaited, "the closing thread can enter")
        closing.leave()
        XCTAssertFalse(closing.isAwaited)
        closing.finish()
        XCTAssertTrue(closing.hasClosed)
        XCTAssertFalse(try closing.begin(waits: true, "the container"))
    }

    // MARK: Remote changes

    private func changes(_ inserted: Int, _ updated: Int, _ deleted: Int, from first: Int64 = 1) -> ExternalChanges {
        var changes = ExternalChanges()
        func keys(_ count: Int) -> [RowKey] { (0..<count).map { (0, first + Int64($0)) } }
        (changes.inserted, changes.updated, changes.deleted) = (keys(inserted), keys(updated), keys(deleted))
        return changes
    }

    func testForeignChangesAreAccumulated() {
        var all = changes(1, 2, 3)
        XCTAssertEqual(all.count, 6)
        XCTAssertTrue(all.isComplete)
        all.transaction = 4
        var later = changes(1, 1, 1, from: 10)
        later.file = .replaced
        all.add(later)
        XCTAssertEqual(all.inserted.map(\.primaryKey), [1, 10])
        XCTAssertEqual(all.updated.map(\.primaryKey), [1, 2, 10])
        XCTAssertEqual(all.deleted.map(\.primaryKey), [1, 2, 3, 10])
        XCTAssertEqual(all.transaction, 4, "the later changes have no transaction")
        XCTAssertEqual(all.file, .replaced)
        XCTAssertTrue(all.isComplete)
        var last = ExternalChanges.unknown
        last.transaction = 9
        XCTAssertTrue(last.isEmpty)
        XCTAssertFalse(last.isComplete)
        all.add(last)
        XCTAssertEqual(all.transaction, 9)
        XCTAssertEqual(all.file, .written)
        XCTAssertFalse(all.isComplete)
        all.add(changes(1, 0, 0))
        XCTAssertFalse(all.isComplete, "incomplete changes stay incomplete")
    }

    func testForeignChangesAreIncompleteAboveTheLimit() {
        var all = changes(1 << 15, 1 << 14, (1 << 14) - 1)
        all.add(changes(0, 0, 1))
        XCTAssertEqual(all.count, 1 << 16)
        XCTAssertTrue(all.isComplete)
        all.add(changes(0, 1, 0))
        XCTAssertTrue(all.isEmpty)
        XCTAssertFalse(all.isComplete)
    }

    /// If several requests of one batch change the same row, only the final kind of change is reported.
    func testCondensedChangesContainEachRowOnce() {
        var all = ExternalChanges()
        all.inserted = [(0, 1), (0, 2), (0, 3)]
        all.updated = [(0, 2), (0, 4), (0, 4), (0, 5)]
        all.deleted = [(0, 3), (0, 5), (0, 6)]
        all.indirect = [(0, 1), (0, 6), (0, 7), (1, 6)]
        all.condense()
        XCTAssertEqual(all.inserted.map(\.primaryKey), [1, 2])
        XCTAssertEqual(all.updated.map(\.primaryKey), [4])
        XCTAssertEqual(all.deleted.map(\.primaryKey), [5, 6])
        XCTAssertEqual(all.indirect.map(\.primaryKey), [7, 6])
        XCTAssertEqual(all.indirect.map(\.entity), [0, 1], "keys are compared within their entity tree")
        var plain = changes(3, 0, 0)
        plain.indirect = [(0, 1)]
        plain.condense()
        XCTAssertEqual(plain.inserted.count, 3)
    }
}
