import Corestone
import CorestoneGraph
import XCTest

/// The pool of threads that serve the queues of all contexts.
final class WorkersTests: GraphTestCase {
    private func contexts(_ count: Int) -> [Context] {
        (0..<count).map { _ in Context(coordinator: coordinator, queue: .privateQueue) }
    }

    /// State that is used on the queue of one context only.
    private final class Own: @unchecked Sendable {
        var order: [Int] = []
        var isInside = false
    }

    func testEachQueueRunsItsBlocksInOrderOnOneThreadAtATime() throws {
        let contexts = contexts(40), own = contexts.map { _ in Own() }, many = 300
        DispatchQueue.concurrentPerform(iterations: 4) { part in
            for number in 0..<many {
                for place in stride(from: part, to: contexts.count, by: 4) {
                    let own = own[place]
                    do {
                        try contexts[place].enqueue { _ in
                            XCTAssertFalse(own.isInside)
                            own.isInside = true
                            own.order.append(number)
                            own.isInside = false
                        }
                    } catch { XCTFail("\(error)") }
                }
            }
        }
        for (context, own) in zip(contexts, own) {
            try context.performAndWait { _ in }
            XCTAssertEqual(own.order, Array(0..<many))
        }
    }

    func testBusyQueuesDoNotStarveOtherQueues() throws {
        let restless = contexts(20), others = contexts(20), isEnough = Locked(false), done = DispatchGroup()
        @Sendable func again(_ context: Context) throws {
            guard !isEnough.withLock({ $0 }) else { return }
            for _ in 0..<2 { try context.enqueue { _ in usleep(10) } }
            try context.enqueue(again)
        }
        for context in restless { try context.enqueue(again) }
        for context in others {
            done.enter()
            try context.enqueue { _ in done.leave() }
        }
        XCTAssertEqual(done.wait(timeout: .now() + 60), .success)
        isEnough.withLock { $0 = true }
        for context in restless { try context.performAndWait { _ in } }
    }

    func testWorkersWaitingForAQueueDoNotBlockOtherQueues() throws {
        let waiting = contexts(40), others = contexts(40), done = DispatchGroup(), begun = DispatchSemaphore(value: 0)
        let gate = Context(coordinator: coordinator, queue: .privateQueue)
        try gate.lock()
        for context in waiting {
            done.enter()
            try context.enqueue { _ in
                begun.signal()
                try? gate.performAndWait { _ in }
                done.leave()
            }
        }
        for _ in waiting { XCTAssertEqual(begun.wait(timeout: .now() + 60), .success, "each block begins") }
        let behind = DispatchGroup()
        for context in others {
            behind.enter()
            try context.enqueue { _ in behind.leave() }
        }
        XCTAssertEqual(behind.wait(timeout: .now() + 60), .success, "waiting blocks free their worker slots")
        try gate.unlock()
        XCTAssertEqual(done.wait(timeout: .now() + 60), .success)
    }

    /// The lock of a thread that ended is released for a waiting block, also repeatedly.
    func testLocksOfEndedThreadsAreReleasedRepeatedly() throws {
        let worker = contexts(1)[0], ran = Locked(0)
        for round in 1...3 {
            let locked = expectation(description: "locked \(round)")
            Thread.detachNewThread {
                do {
                    try worker.lock()
                    try worker.enqueue { _ in ran.withLock { $0 += 1 } }
                } catch { XCTFail("\(error)") }
                locked.fulfill()
            }
            wait(for: [locked], timeout: 60)
            try worker.performAndWait { _ in XCTAssertEqual(ran.withLock { $0 }, round) }
        }
    }
}
