import Corestone
import CorestoneGraph
import XCTest

/// The queue of a context: errors on other threads, locks and deadlocks.
final class QueueTests: GraphTestCase {
    private func privateContext(parent: Context? = nil, line: Int = #line) -> Context {
        parent.map { Context(parent: $0, queue: .privateQueue, line: line) }
            ?? Context(coordinator: coordinator, queue: .privateQueue, line: line)
    }

    /// Runs `body` on a new thread, and returns the error that it threw.
    @discardableResult
    private func onThread(_ body: @escaping @Sendable () throws -> Void) -> CoreError? {
        let thrown = Locked<CoreError?>(nil), done = DispatchSemaphore(value: 0)
        let thread = Thread {
            do { try body() } catch { thrown.withLock { $0 = error as? CoreError } }
            done.signal()
        }
        thread.start()
        XCTAssertEqual(done.wait(timeout: .now() + 60), .success, "hangs")
        return thrown.withLock { $0 }
    }

    // MARK: The wrong thread

    func testWrongThreadErrorNamesBothThreadsAndTheCreationOfTheContext() throws {
        let worker = privateContext(line: 40)
        worker.name = "import"
        XCTAssertThrowsError(try worker.insert("Employee")) { error in
            let message = (error as? CoreError)?.message ?? ""
            let number = "thread \(getpid()) ("  // the first thread's number is that of the process
            if Thread.isMainThread { XCTAssertTrue(message.hasPrefix(number), message) }
            XCTAssertTrue(
                message.contains("used context \"import\" (created at CorestoneGraphTests/QueueTests.swift:40)"),
                message)
            XCTAssertTrue(
                message.contains("private queue, which is not in use; use the context inside cst_context_perform"),
                message)
        }
        try worker.performAndWait { _ in
            let error = onThread { try worker.save() }
            XCTAssertEqual(error?.status, .wrongThread)
            let message = error?.message ?? ""
            XCTAssertTrue(message.contains(") used context \"import\""), message)
            XCTAssertTrue(message.contains(", which thread "), message)
            XCTAssertTrue(message.contains(") is using; use the context inside cst_context_perform (perform)"), message)
        }
        let confined = context!
        let message = onThread { _ = try confined.count("Employee") }?.message ?? ""
        XCTAssertTrue(message.contains("used a context (created at CorestoneGraphTests/GraphTestCase.swift:"), message)
        XCTAssertTrue(message.contains("which is confined to thread "), message)
        let child = onThread { try Context(parent: confined, queue: .privateQueue).performAndWait { _ in } }
        XCTAssertNil(child, "creation of a child does not use its parent")
        let fetch = onThread {
            _ = try Context(parent: confined, queue: .privateQueue).performAndWait { try $0.count("Employee") }
        }
        XCTAssertTrue(
            fetch?.message.contains("used a nested context of a context (created at") == true, fetch?.message ?? "")
    }

    func testWrongThreadErrorReportsThatTheOwnerThreadEnded() throws {
        let coordinator = coordinator!, made = Locked<Context?>(nil)
        onThread {
            let context = Context(coordinator: coordinator)
            made.withLock { $0 = context }
        }
        let context = try XCTUnwrap(made.withLock { $0 })
        var message = ""
        for _ in 0..<500 where !message.contains("(ended); create a context") {
            Thread.sleep(forTimeInterval: 0.01)
            XCTAssertThrowsError(try context.save()) { message = "\($0)" }
        }
        XCTAssertTrue(message.contains("(ended); create a context"), message)
    }

    func testQueueThreadHasTheNameOfItsContext() throws {
        let stray = privateContext(), worker = privateContext(), message = Locked("")
        stray.name = "painter of walls and fences"
        try stray.enqueue { _ in
            do { try worker.save() } catch { message.withLock { $0 = "\(error)" } }
        }
        try stray.performAndWait { _ in }
        XCTAssertTrue(message.withLock { $0 }.contains(" (painter of wall) used a context"), message.withLock { $0 })
    }

    func testContextCanBeConfiguredOnAnyThread() throws {
        let worker = privateContext()
        worker.mergePolicy = .overwrite
        worker.transactionAuthor = "importer"
        worker.userInfo = 7
        worker.stalenessInterval = 2
        XCTAssertFalse(worker.hasChanges)
        try worker.performAndWait { context in
            _ = try context.insert("Employee", ["name": "Ada"])
            XCTAssertEqual(context.transactionAuthor, "importer")
            XCTAssertEqual(context.stalenessInterval, 2)
        }
        XCTAssertTrue(worker.hasChanges, "hasChanges waits for the queue")
        XCTAssertEqual(worker.insertedObjects.count, 1)
        let workersObject = worker.insertedObjects[0]
        XCTAssertThrowsError(try workersObject.set("name", "Eve"))
        XCTAssertThrowsError(try workersObject.members("friends"))
        XCTAssertThrowsError(try workersObject.get("name", as: String.self)) { error in
            XCTAssertEqual((error as? CoreError)?.status, .wrongThread, "the object can be used on its queue only")
        }
    }

    // MARK: perform

    func testNestedPerformsEndTheEventOnce() throws {
        let worker = privateContext()
        var changes = 0
        let token = worker.observe(.objectsDidChange) { _, _ in changes += 1 }
        let found = try worker.performAndWait { context in
            _ = try context.performAndWait { try $0.insert("Employee", ["name": "Ada"]) }
            XCTAssertEqual(changes, 0, "the outermost perform ends the event")
            return try context.performAndWait { try $0.performAndWait { try $0.count("Employee") } }
        }
        XCTAssertEqual(found, 1)
        XCTAssertEqual(changes, 1)
        token.cancel()
        XCTAssertThrowsError(try worker.performAndWait { _ in throw CancellationError() }) { error in
            XCTAssertTrue(error is CancellationError)
        }
        XCTAssertEqual(try worker.performAndWait { try $0.count("Employee") }, 1, "the queue continues after an error")
    }

    func testQueuedBlocksRunInOrder() throws {
        let worker = privateContext(), order = Locked<[Int]>([])
        let many = 20_000
        for number in 0..<many { try worker.enqueue { _ in order.withLock { $0.append(number) } } }
        try worker.performAndWait { _ in }
        XCTAssertEqual(order.withLock { $0 }, Array(0..<many))
    }

    func testPerformWithinAHookDoesNotEndTheEvent() throws {
        let worker = privateContext()
        let token = worker.observe(.willSave) { context, _ in
            try? context.performAndWait { _ = try $0.insert("Employee", ["name": "late"]) }
        }
        try worker.performAndWait { context in
            _ = try context.insert("Employee", ["name": "Ada"])
            try context.save()
            XCTAssertFalse(context.hasChanges)
            XCTAssertEqual(try context.count("Employee"), 2)
        }
        token.cancel()
    }

    // MARK: Locks

    func testLockHoldsTheQueue() throws {
        let worker = privateContext()
        try worker.lock()
        try worker.lock()
        _ = try worker.insert("Employee", ["name": "Ada"])
        let busy = Locked<Bool?>(nil)
        onThread { try busy.withLock { $0 = try worker.tryLock() } }
        XCTAssertEqual(busy.withLock { $0 }, false)
        let ran = Locked(false)
        try worker.enqueue { _ in ran.withLock { $0 = true } }
        try worker.performAndWait { try $0.save() }
        try worker.unlock()
        XCTAssertTrue(try worker.tryLock(), "still locked by this thread")
        try worker.unlock()
        XCTAssertFalse(ran.withLock { $0 }, "work waits for the lock")
        try worker.unlock()
        XCTAssertThrowsError(try worker.count("Employee")) { XCTAssertEqual(($0 as? CoreError)?.status, .wrongThread) }
        try worker.performAndWait { _ in }
        XCTAssertTrue(ran.withLock { $0 })
    }

    func testUnlockFailsWithoutItsLock() throws {
        func check(_ body: () throws -> Void, line: UInt = #line) {
            XCTAssertThrowsError(try body(), line: line) { error in
                XCTAssertEqual((error as? CoreError)?.code, 132000, line: line)
            }
        }
        check(context.unlock)
        try context.lock()
        try context.performAndWait { check($0.unlock) }
        try context.unlock()
        let worker = privateContext()
        try worker.performAndWait { context in
            check(context.unlock)
            try context.lock()
        }
        XCTAssertTrue(try worker.tryLock(), "a lock within a block ends with it")
        let token = worker.observe(.willSave) { context, _ in check(context.unlock) }
        _ = try worker.insert("Employee", ["name": "Ada"])
        try worker.save()
        token.cancel()
        try worker.unlock()
        let confined = context!
        XCTAssertEqual(onThread { try confined.lock() }?.status, .wrongThread)
    }

    func testLockIsReleasedWhenItsThreadEnds() throws {
        let worker = privateContext()
        onThread {
            try worker.lock()
            _ = try worker.insert("Employee", ["name": "Ada"])
        }
        XCTAssertEqual(try worker.performAndWait { try $0.count("Employee") }, 1)
        XCTAssertThrowsError(try worker.unlock())
    }

    // MARK: Deadlocks

    func testDeadlockOfTwoQueuesIsReported() throws {
        let a = privateContext(), b = privateContext()
        a.name = "a"
        b.name = "b"
        let both = DispatchGroup(), held = DispatchSemaphore(value: 0), errors = Locked<[CoreError]>([])
        for (first, second) in [(a, b), (b, a)] {
            DispatchQueue.global().async(group: both) {
                do {
                    try first.performAndWait { _ in
                        held.signal()
                        Thread.sleep(forTimeInterval: 0.2)
                        try second.performAndWait { _ in }
                    }
                } catch { errors.withLock { $0.append(error as! CoreError) } }
            }
        }
        XCTAssertEqual(both.wait(timeout: .now() + 60), .success, "hangs")
        let found = errors.withLock { $0 }
        XCTAssertEqual(found.map(\.code), [132000], "one of the threads continues")
        XCTAssertTrue(found.first?.message.contains("would deadlock on the queue of context \"") == true)
    }

    func testDeadlockOfParentAndChildIsReported() throws {
        let parent = privateContext(), child = privateContext(parent: parent)
        let inChild = DispatchSemaphore(value: 0), inParent = DispatchSemaphore(value: 0), done = DispatchGroup()
        let errors = Locked<[Int]>([])
        DispatchQueue.global().async(group: done) {
            do {
                try child.performAndWait { context in
                    inChild.signal()
                    inParent.wait()
                    _ = try context.count("Employee")  // of the parent
                }
            } catch { errors.withLock { $0.append((error as? CoreError)?.code ?? 0) } }
        }
        do {
            try parent.performAndWait { _ in
                inChild.wait()
                inParent.signal()
                try child.performAndWait { _ in }
            }
        } catch { errors.withLock { $0.append((error as? CoreError)?.code ?? 0) } }
        XCTAssertEqual(done.wait(timeout: .now() + 60), .success, "hangs")
        XCTAssertEqual(errors.withLock { $0 }, [132000])
        XCTAssertEqual(try child.performAndWait { try $0.count("Employee") }, 0)
    }

    func testPerformAndWaitSerialisesManyThreads() throws {
        let worker = privateContext(), count = 8, rounds = 500
        var total = 0
        nonisolated(unsafe) let place = withUnsafeMutablePointer(to: &total) { $0 }
        DispatchQueue.concurrentPerform(iterations: count) { _ in
            for _ in 0..<rounds {
                do { try worker.performAndWait { _ in place.pointee += 1 } } catch { XCTFail("\(error)") }
            }
        }
        XCTAssertEqual(try worker.performAndWait { _ in place.pointee }, count * rounds)
    }

    /// A block that waits for a thread which ended with the queue locked still runs.
    func testQueuedBlockRunsAfterTheLockingThreadEnded() throws {
        let context = Context(coordinator: coordinator, queue: .privateQueue)
        let locked = expectation(description: "locked"), ran = expectation(description: "ran")
        Thread.detachNewThread {
            do { try context.lock() } catch { XCTFail("\(error)") }
            locked.fulfill()
        }
        wait(for: [locked], timeout: 60)
        try context.enqueue { _ in ran.fulfill() }
        wait(for: [ran], timeout: 60)
        // The worker unlocks the queue after the block.
        try context.lock()
        try context.unlock()
    }
}
