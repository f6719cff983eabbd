import Corestone
import CorestoneGraph
import CorestoneValues
import Foundation
import XCTest

@testable import CorestoneSQLite

/// Threads that read a store while another thread saves.
final class ConnectionPoolTests: XCTestCase {
    private var folder = ""
    private var coordinator: Coordinator!
    private var store: Store!
    private var connections: ConnectionPool!

    override func setUpWithError() throws {
        folder = NSTemporaryDirectory() + "corestone-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        (coordinator, store) = try open()
        connections = try XCTUnwrap(store.backing as? SQLiteStore).connections
    }

    override func tearDown() {
        (connections, store, coordinator) = (nil, nil, nil)
        try? FileManager.default.removeItem(atPath: folder)
    }

    private var path: String { folder + "/store.sqlite" }

    private func open(maximum: Int = StoreOptions.usualConnections) throws -> (Coordinator, Store) {
        let coordinator = try Coordinator(model: GraphTestCase.company())
        var options = StoreOptions()
        options.normalSync = true
        options.maximumConnections = maximum
        return (coordinator, try coordinator.addSQLiteStore(at: path, options: options))
    }

    /// Opens the store again, in the same file.
    private func reopen(maximum: Int) throws {
        try coordinator.remove(store)
        (coordinator, store) = try open(maximum: maximum)
        connections = try XCTUnwrap(store.backing as? SQLiteStore).connections
    }

    private func fill(_ count: Int) throws {
        let context = Context(coordinator: coordinator)
        for number in 0..<count { _ = try context.insert("Employee", ["name": "E\(number)", "age": 0]) }
        try context.save()
    }

    private func request(_ predicate: String? = nil) throws -> FetchRequest {
        let request = FetchRequest(entity: try coordinator.model.requireEntity(named: "Employee"))
        request.predicate = try predicate.map { try Predicate.parse($0) }
        return request
    }

    /// A request that runs for many milliseconds in SQLite.
    private func slowRequest() throws -> FetchRequest {
        try request((0..<60).map { "name CONTAINS[cd] 'x\($0)'" }.joined(separator: " OR "))
    }

    /// Runs `body` on `count` threads. Fails if one throws or if they do not finish.
    private func onThreads(_ count: Int, line: UInt = #line, _ body: @escaping @Sendable (Int) throws -> Void) {
        let group = DispatchGroup(), failures = Locked<[String]>([])
        for number in 0..<count {
            let thread = Thread {
                do { try body(number) } catch { failures.withLock { $0.append("\(error)") } }
                group.leave()
            }
            group.enter()
            thread.start()
        }
        XCTAssertEqual(group.wait(timeout: .now() + 120), .success, "deadlock: the threads did not finish", line: line)
        XCTAssertEqual(failures.withLock { $0 }, [], line: line)
    }

    private func failure(_ body: () throws -> Void, line: UInt = #line) -> CoreError {
        do { try body() } catch let error as CoreError { return error } catch { XCTFail("\(error)", line: line) }
        XCTFail("nothing was thrown", line: line)
        return CoreError(.ok, "")
    }

    // MARK: In parallel

    /// Each fetch, in the middle of it, waits for the other: they end only when both run at the same time.
    func testTwoFetchesRunConcurrently() throws {
        try fill(4000)
        let barrier = Barrier(2), coordinator = Unchecked(coordinator!), request = Unchecked(try slowRequest())
        onThreads(2) { _ in
            let context = Context(coordinator: coordinator.value)
            let hasWaited = Locked(false)
            context.interruptCheck = {
                if !hasWaited.withLock({ $0 }) {
                    hasWaited.withLock { $0 = true }
                    barrier.wait()
                }
                return false
            }
            XCTAssertEqual(try context.fetch(request.value).count, 0)
            XCTAssert(hasWaited.withLock { $0 }, "the fetch ended before the interrupt check was called")
        }
        XCTAssert(barrier.isPassed, "one fetch waited until the other had finished")
        XCTAssertEqual(connections.count, 2)
    }

    /// A save completes while a fetch reads its rows, and the fetch continues with its snapshot.
    func testSaveDoesNotWaitForAFetch() throws {
        try fill(4000)
        let barrier = Barrier(2), isSaved = Locked(false), coordinator = Unchecked(coordinator!)
        let slow = Unchecked(try slowRequest()), all = Unchecked(try request())
        onThreads(2) { number in
            let context = Context(coordinator: coordinator.value)
            if number == 0 {
                context.interruptCheck = {
                    if !isSaved.withLock({ $0 }) { barrier.wait() }
                    for _ in 0..<6000 where !isSaved.withLock({ $0 }) { usleep(10_000) }
                    return false
                }
                _ = try context.fetch(slow.value)
                XCTAssert(isSaved.withLock { $0 })
                XCTAssertEqual(try context.fetch(all.value).count, 4001)
            } else {
                barrier.wait()
                _ = try context.insert("Employee", ["name": "new"])
                try context.save()
                isSaved.withLock { $0 = true }
            }
        }
    }

    func testContextsOnOneThreadShareOneConnection() throws {
        try fill(50)
        let contexts = (0..<3).map { _ in Context(coordinator: coordinator) }
        for (round, context) in (contexts + contexts).enumerated() {
            let all = try context.fetch(request())
            XCTAssertEqual(try all[7].get("name") ?? "", "E7")
            try all[round].set("age", round)
            try context.save()
        }
        XCTAssertEqual(connections.count, 1)
    }

    func testPoolDoesNotExceedItsMaximumNumberOfConnections() throws {
        try fill(500)
        for maximum in [1, 3] {
            try reopen(maximum: maximum)
            let coordinator = Unchecked(coordinator!), connections = Unchecked(connections!)
            let request = Unchecked(try request("name MATCHES '.*7'"))
            onThreads(8) { number in
                let context = Context(coordinator: coordinator.value)
                for round in 0..<15 {
                    XCTAssertEqual(try context.fetch(request.value).count, 50)
                    XCTAssertLessThanOrEqual(connections.value.count, maximum)
                    guard number == round % 8 else { continue }
                    _ = try context.insert("Department", ["name": "D\(round)"])
                    try context.save()
                }
            }
        }
        let count = FetchRequest(entity: try coordinator.model.requireEntity(named: "Department"))
        XCTAssertEqual(try Context(coordinator: coordinator).count(count), 30)
    }

    // MARK: Agreement

    /// Many threads change the same objects: each change is saved, or its save fails with a conflict.
    func testConcurrentUpdatesAreSavedOrReportedAsConflicts() throws {
        try fill(3)
        let coordinator = Unchecked(coordinator!), request = Unchecked(try request())
        let conflicts = Locked(0)
        onThreads(4) { number in
            let context = Context(coordinator: coordinator.value)
            for round in 0..<60 {
                while true {
                    let employee = try context.fetch(request.value)[(number + round) % 3]
                    try employee.set("age", (employee.get("age") ?? 0) + 1)
                    do {
                        try context.save()
                        break
                    } catch let error as CoreError where error.status == .conflict {
                        conflicts.withLock { $0 += 1 }
                        try context.rollback()
                    }
                }
            }
        }
        let last = Context(coordinator: self.coordinator)
        let ages = try last.fetch(request.value).map { try $0.get("age") ?? 0 }
        XCTAssertEqual(ages.reduce(0, +), 240)
        let statistics = self.coordinator.statistics
        XCTAssertEqual(statistics.updated, 240)
        // Cached rows equal those of the file, regardless of concurrent reads and saves.
        let cold = try open().0
        for employee in try last.fetch(request.value) {
            let other = Context(coordinator: self.coordinator), fresh = Context(coordinator: cold)
            let uri = employee.objectID.uri
            let cached = try other.existingObject(with: XCTUnwrap(self.coordinator.objectID(forURI: uri)))
            let stored = try fresh.existingObject(with: XCTUnwrap(cold.objectID(forURI: uri)))
            XCTAssertEqual(try cached.get("age", as: Int.self), try stored.get("age", as: Int.self))
        }
    }

    /// Faults read the same snapshot as their fetch, although another coordinator wrote to the file in between.
    func testFaultsReadTheSnapshotOfTheirFetch() throws {
        try fill(20)
        let other = Context(coordinator: try open().0)
        let foreign = FetchRequest(entity: try other.coordinator.model.requireEntity(named: "Employee"))
        let theirs = try other.fetch(foreign)
        for attempt in 1...50 {
            // The row cache is empty.
            try reopen(maximum: 4)
            let reader = Context(coordinator: coordinator)
            let start = Date()
            let before = try reader.fetchIDs(request()).map { try reader.object(with: $0) }
            for employee in theirs { try employee.set("age", attempt) }
            try other.save()
            let found = Set(try before.map { try $0.get("age", as: Int.self) ?? -1 })
            // The transaction ends if the next read is too late, as it may be on a busy machine.
            if Date().timeIntervalSince(start) > 0.04 { continue }
            XCTAssertEqual(found, [attempt - 1])
            let fresh = Context(coordinator: coordinator)
            for employee in try fresh.fetch(request()) { XCTAssertEqual(try employee.get("age"), attempt) }
            return
        }
        throw XCTSkip("the machine was too busy")
    }

    /// A save by a context of this coordinator is visible to the next read.
    func testSaveIsVisibleToTheNextReadOfEveryContext() throws {
        try fill(20)
        let reader = Context(coordinator: coordinator)
        let before = try reader.fetchIDs(request()).map { try reader.object(with: $0) }
        let coordinator = Unchecked(coordinator!), request = Unchecked(try request())
        onThreads(1) { _ in
            let writer = Context(coordinator: coordinator.value)
            let all = try writer.fetch(request.value)
            for employee in all { try employee.set("age", 5) }
            try writer.delete(all[19])
            try writer.save()
        }
        XCTAssertEqual(Set(try before[..<19].map { try $0.get("age", as: Int.self) ?? -1 }), [5])
        XCTAssertEqual(try reader.fetch(request.value).count, 19)
    }

    func testCursorReadsItsSnapshotWhileOtherContextsSave() throws {
        try fill(300)
        let reader = Context(coordinator: coordinator)
        let cursor = try reader.cursor(request(), batchSize: 50)
        var names = try cursor.next().map { try $0.get("name", as: String.self) ?? "" }
        let coordinator = Unchecked(coordinator!), request = Unchecked(try request())
        onThreads(2) { number in
            let context = Context(coordinator: coordinator.value)
            for round in 0..<5 {
                _ = try context.insert("Employee", ["name": "N\(number).\(round)"])
                try context.save()
                XCTAssertGreaterThan(try context.fetch(request.value).count, 300)
            }
        }
        while true {
            let batch = try cursor.next()
            if batch.isEmpty { break }
            names += try batch.map { try $0.get("name", as: String.self) ?? "" }
        }
        XCTAssertEqual(names, (0..<300).map { "E\($0)" })
    }

    // MARK: Fairness

    func testNeitherReadersNorWritersStarve() throws {
        try fill(200)
        for maximum in [1, 2] {
            try reopen(maximum: maximum)
            let coordinator = Unchecked(coordinator!), request = Unchecked(try request())
            let isOver = Locked(false), reads = Locked(0)
            onThreads(5) { number in
                let context = Context(coordinator: coordinator.value)
                if number == 0 {
                    for round in 0..<40 {
                        _ = try context.insert("Department", ["name": "D\(round)"])
                        try context.save()
                    }
                    let seen = reads.withLock { $0 }
                    // Other threads continue to save while this thread reads.
                    for _ in 0..<40 { _ = try context.fetch(request.value) }
                    XCTAssertGreaterThan(seen, 0)
                    isOver.withLock { $0 = true }
                } else {
                    while !isOver.withLock({ $0 }) {
                        _ = try context.fetch(request.value)
                        reads.withLock { $0 += 1 }
                        if number == 4 {
                            _ = try context.insert("Project", ["title": "P"])
                            try context.save()
                        }
                    }
                }
            }
        }
    }

    /// Idle readers of old snapshots do not make the log grow.
    func testWriteAheadLogStaysSmallBesideIdleReaders() throws {
        try fill(10)
        let coordinator = Unchecked(coordinator!), request = Unchecked(try request())
        let text = String(repeating: "long ", count: 40_000)
        let isOver = Locked(false), longest = Locked(0), log = path + "-wal"
        onThreads(3) { number in
            let context = Context(coordinator: coordinator.value)
            if number > 0 {
                while !isOver.withLock({ $0 }) {
                    for employee in try context.fetch(request.value) { _ = try employee.get("name", as: String.self) }
                    usleep(2_000)
                }
                return
            }
            defer { isOver.withLock { $0 = true } }
            let task = try context.insert("Task", ["title": text])
            for round in 0..<500 {
                try task.set("title", "\(round)" + text)
                try context.save()
                let size = try FileManager.default.attributesOfItem(atPath: log)[.size] as? Int ?? 0
                longest.withLock { $0 = max($0, size) }
            }
        }
        // 100 MB were written; a checkpoint runs whenever the log has 16 MB.
        XCTAssertLessThan(longest.withLock { $0 }, 50 << 20)
    }

    // MARK: Removal and replacement

    func testStoreCanBeRemovedDuringFetches() throws {
        try fill(300)
        let coordinator = Unchecked(coordinator!), request = Unchecked(try request()), store = Unchecked(store!)
        let gone = Locked(0)
        onThreads(5) { number in
            if number == 0 {
                usleep(30_000)
                return try coordinator.value.remove(store.value)
            }
            let context = Context(coordinator: coordinator.value)
            do {
                for _ in 0..<10_000 { _ = try context.fetch(request.value).map { try $0.get("name", as: String.self) } }
            } catch let error as CoreError {
                XCTAssert([.objectGone, .invalidArgument].contains(error.status), "\(error)")
                gone.withLock { $0 += 1 }
            }
        }
        XCTAssertEqual(gone.withLock { $0 }, 4)
        XCTAssertEqual(try FileManager.default.contentsOfDirectory(atPath: folder), ["store.sqlite"])
    }

    /// Another file at the same path is not this store.
    func testReplacedFileIsNotRead() throws {
        try fill(4000)
        try FileManager.default.moveItem(atPath: path, toPath: folder + "/moved.sqlite")
        XCTAssert(FileManager.default.createFile(atPath: path, contents: Data("no store".utf8)))
        let coordinator = Unchecked(coordinator!), request = Unchecked(try request())
        onThreads(3) { _ in
            let context = Context(coordinator: coordinator.value)
            for _ in 0..<10 { XCTAssertEqual(try context.fetch(request.value).count, 4000) }
        }
        XCTAssertEqual(connections.count, 1)
    }

    // MARK: Deadlocks

    /// A callback during a fetch must neither save nor wait for a queue. Such calls fail instead of waiting forever.
    func testSavesAndQueueWaitsFailWithinAFetchCallback() throws {
        try fill(4000)
        let context = Context(coordinator: coordinator), other = Context(coordinator: coordinator)
        let queued = Context(coordinator: coordinator, queue: .privateQueue)
        _ = try other.insert("Employee", ["name": "new"])
        var errors: [CoreError] = []
        var rows = 0
        let all = try request()
        context.interruptCheck = { [coordinator, store, self] in
            if !errors.isEmpty { return false }
            errors = [
                failure { try other.save() }, failure { try queued.performAndWait { _ = try $0.fetch(all) } },
                failure { try coordinator?.performAndWait {} },
                failure { if let store { try coordinator?.remove(store) } },
            ]
            // Reads are allowed.
            rows = (try? other.fetch(all).count) ?? 0
            return false
        }
        XCTAssertEqual(try context.fetch(slowRequest()).count, 0)
        XCTAssertEqual(errors.map(\.status), Array(repeating: .invalidArgument, count: 4))
        XCTAssert(errors.allSatisfy { $0.message.contains("during a fetch") }, "\(errors)")
        XCTAssertEqual(rows, 4001)
        XCTAssertEqual(connections.count, 1)
        try other.save()
    }

    func testWaitForAConnectionCanBeCancelled() throws {
        try fill(4000)
        try reopen(maximum: 1)
        let barrier = Barrier(2), coordinator = Unchecked(coordinator!)
        let slow = Unchecked(try slowRequest()), all = Unchecked(try request())
        let isDone = Locked(false)
        onThreads(2) { number in
            let context = Context(coordinator: coordinator.value)
            if number == 0 {
                context.interruptCheck = {
                    barrier.wait()
                    for _ in 0..<6000 where !isDone.withLock({ $0 }) { usleep(10_000) }
                    return false
                }
                _ = try context.fetch(slow.value)
            } else {
                barrier.wait()
                context.interruptCheck = { true }
                do {
                    _ = try context.fetch(all.value)
                    XCTFail("the fetch was not cancelled")
                } catch let error as CoreError { XCTAssertEqual(error.status, .cancelled) }
                isDone.withLock { $0 = true }
            }
        }
        XCTAssertEqual(try Context(coordinator: self.coordinator).fetch(request()).count, 4000)
    }

    // MARK: Blocks of the coordinator

    func testSaveWaitsUntilTheCoordinatorsBlockEnds() throws {
        try fill(10)
        let coordinator = Unchecked(coordinator!), request = Unchecked(try request())
        let barrier = Barrier(2), isInside = Locked(true)
        onThreads(2) { number in
            let context = Context(coordinator: coordinator.value)
            _ = try context.insert("Project", ["title": "P\(number)"])
            if number == 0 {
                let answer = try coordinator.value.performAndWait {
                    barrier.wait()
                    usleep(50_000)
                    // Its own saves and reads, within another block, too.
                    try coordinator.value.performAndWait { try context.save() }
                    isInside.withLock { $0 = false }
                    return try context.fetch(request.value).count
                }
                XCTAssertEqual(answer, 10)
            } else {
                barrier.wait()
                XCTAssertEqual(try context.fetch(request.value).count, 10, "reads are not blocked")
                try context.save()
                XCTAssertFalse(isInside.withLock { $0 }, "the save did not wait")
            }
        }
        struct Failure: Error {}
        XCTAssertThrowsError(try coordinator.value.performAndWait { throw Failure() }) { XCTAssert($0 is Failure) }
        let done = DispatchSemaphore(value: 0)
        try coordinator.value.perform { done.signal() }
        XCTAssertEqual(done.wait(timeout: .now() + 60), .success)
        // A store may be removed there.
        try coordinator.value.performAndWait { try coordinator.value.remove(store) }
    }
}

/// Releases the threads when all of them have arrived, or after 20 seconds.
private final class Barrier: @unchecked Sendable {
    private let condition = NSCondition()
    private let count: Int
    private var arrived = 0

    init(_ count: Int) { self.count = count }

    var isPassed: Bool {
        condition.lock()
        defer { condition.unlock() }
        return arrived >= count
    }

    func wait() {
        condition.lock()
        defer { condition.unlock() }
        arrived += 1
        condition.broadcast()
        let deadline = Date(timeIntervalSinceNow: 20)
        while arrived < count, condition.wait(until: deadline) {}
    }
}

/// Passes a value that is not Sendable into closures of threads.
private struct Unchecked<Value>: @unchecked Sendable {
    let value: Value
    init(_ value: Value) { self.value = value }
}
