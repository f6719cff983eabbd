import CorestoneValues
import Foundation
import XCTest

final class LockTests: XCTestCase {
    /// Runs `body` on a new thread. The semaphore is signalled when it ends.
    private func onThread(_ body: @escaping @Sendable () -> Void) -> DispatchSemaphore {
        let done = DispatchSemaphore(value: 0)
        Thread {
            body()
            done.signal()
        }.start()
        return done
    }

    func testFairLockIsAcquiredInTheOrderOfRequests() {
        let lock = FairLock(.writer)
        let order = Locked<[Int]>([])
        lock.lock()
        lock.lock()
        XCTAssert(lock.isHeldByThisThread)
        var threads: [DispatchSemaphore] = []
        for number in 0..<5 {
            threads.append(
                onThread {
                    lock.with { order.withLock { $0.append(number) } }
                })
            usleep(50_000)
        }
        lock.unlock()
        XCTAssertEqual(order.withLock { $0 }, [])
        lock.unlock()
        XCTAssertFalse(lock.isHeldByThisThread)
        for thread in threads { XCTAssertEqual(thread.wait(timeout: .now() + 60), .success) }
        XCTAssertEqual(order.withLock { $0 }, [0, 1, 2, 3, 4])
        // The lock is free again.
        XCTAssert(lock.lock(unless: { true }))
        lock.unlock()
    }

    func testWaitForAFairLockIsCancelled() {
        let lock = FairLock(.writer)
        lock.lock()
        let cancelled = onThread { XCTAssertFalse(lock.lock(unless: { true })) }
        XCTAssertEqual(cancelled.wait(timeout: .now() + 60), .success)
        let next = onThread { lock.with {} }
        usleep(30_000)
        lock.unlock()
        XCTAssertEqual(next.wait(timeout: .now() + 60), .success)
    }

    func testFairLockExcludesOtherThreads() {
        let lock = FairLock(.connection)
        let counter = Counter()
        let threads = (0..<4).map { number in
            onThread {
                for round in 0..<5000 {
                    if (round + number) % 7 == 0, !lock.lock(unless: { true }) { continue }
                    if !lock.isHeldByThisThread { lock.lock() }
                    counter.value += 1
                    lock.unlock()
                    counter.all.withLock { $0 += 1 }
                }
            }
        }
        for thread in threads { XCTAssertEqual(thread.wait(timeout: .now() + 60), .success) }
        XCTAssertEqual(counter.value, counter.all.withLock { $0 })
    }

    #if DEBUG
        func testLockOutOfOrderIsReported() {
            let former = LockOrder.refuse
            defer { LockOrder.refuse = former }
            let told = Locked<[String]>([])
            LockOrder.refuse = { line in told.withLock { $0.append(line) } }
            let (writer, second) = (FairLock(.writer, number: 1), FairLock(.writer, number: 2))
            let rows = RecursiveLock(.rows), stores = RecursiveLock(.stores)
            // In order, and again by the same thread.
            writer.with { second.with { stores.with { rows.with { rows.with { writer.with {} } } } } }
            XCTAssertEqual(told.withLock { $0.count }, 0)
            rows.with { stores.with {} }
            second.with { writer.with {} }
            XCTAssertEqual(told.withLock { $0.count }, 2)
            XCTAssert(told.withLock { $0[0].contains("rows") && $0[0].contains("stores") }, "\(told.withLock { $0 })")
            XCTAssert(told.withLock { $0[1].contains("writer 2") && $0[1].contains("writer 1") })
        }
    #endif
}

private final class Counter: @unchecked Sendable {
    var value = 0
    let all = Locked(0)
}
