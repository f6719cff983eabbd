import CorestoneModel
import CorestoneValues
import Foundation
import XCTest

@testable import CorestoneGraph
@testable import CorestoneSQLite

/// Readers that wait for transactions of any process.
final class HistoryFeedTests: HistoryTestCase {
    private func save(_ count: Int, in context: Context) throws {
        for _ in 0..<count {
            try insert("Car", in: context)
            try context.save()
        }
    }

    func testCursorWaitsForTransactions() throws {
        let cursor = try there.history()
        XCTAssertNil(try cursor.next())
        // The first wait returns immediately, because it only starts the watch.
        XCTAssertTrue(try cursor.wait(milliseconds: 0))
        XCTAssertNil(try cursor.next())
        XCTAssertFalse(try cursor.wait(milliseconds: 10))
        // Another coordinator, and then its own.
        for context in [here!, there!] {
            try save(1, in: context)
            XCTAssertTrue(try cursor.wait(milliseconds: 10_000))
            XCTAssertEqual(try cursor.next()?.author, context.transactionAuthor)
            while try cursor.next() != nil {}
        }
    }

    func testWaitIsCancelledByAnotherThread() throws {
        let cursor = try there.history()
        _ = try cursor.wait()
        _ = try cursor.next()
        nonisolated(unsafe) let shared = cursor
        let thread = Thread {
            usleep(50_000); shared.cancel()
        }
        thread.start()
        XCTAssertThrowsError(try cursor.wait(milliseconds: 10_000)) {
            XCTAssertEqual(($0 as? CoreError)?.status, .cancelled)
        }
        XCTAssertThrowsError(try cursor.wait(milliseconds: 0))
    }

    func testWaitEndsForTransactionsOfEveryStore() throws {
        let coordinator = try Coordinator(model: HistoryTestCase.cars())
        var options = StoreOptions()
        options.keepsHistory = true
        let stores = try ["one.sqlite", "two.sqlite"].map {
            try coordinator.addSQLiteStore(at: path($0), options: options)
        }
        let context = Context(coordinator: coordinator)
        func save(to store: Store) throws {
            try context.assign(try insert("Car", in: context), to: store)
            try context.save()
        }
        let cursor = try coordinator.history()
        _ = try cursor.wait()
        XCTAssertNil(try cursor.next())
        for _ in 0..<3 { try save(to: stores[1]) }
        XCTAssertEqual(try cursor.next()?.store === stores[1], true)
        // The first store was at its end when the pass began.
        try save(to: stores[0])
        var seen: [Int64] = []
        while let transaction = try cursor.next() { seen.append(transaction.number) }
        XCTAssertEqual(seen.sorted(), [1, 2, 3])
        XCTAssertFalse(try cursor.wait(milliseconds: 0))
    }

    func testWaitingAndFollowingRejectALimit() throws {
        var request = HistoryRequest()
        request.limit = 1
        XCTAssertThrowsError(try there.coordinator.history(request).wait(milliseconds: 0)) {
            XCTAssertEqual(($0 as? CoreError)?.key, "limit")
        }
        XCTAssertThrowsError(try there.coordinator.followHistory(request) { _, _ in })
    }

    func testClosingTheCoordinatorEndsAWait() throws {
        let coordinator = there.coordinator
        let cursor = try there.history()
        _ = try cursor.wait()
        XCTAssertNil(try cursor.next())
        let ended = expectation(description: "the follower ended")
        let observation = try coordinator.followHistory(ended: { _ in ended.fulfill() }) { _, _ in }
        let thread = Thread {
            usleep(50_000); try? coordinator.close()
        }
        thread.start()
        XCTAssertTrue(try cursor.wait(milliseconds: 20_000))
        wait(for: [ended], timeout: 20)
        XCTAssertThrowsError(try cursor.next())
        withExtendedLifetime(observation) {}
    }

    func testFollowersGetEachTransactionInOrder() throws {
        try save(3, in: here)
        let seen = Locked<[Int64]>([])
        let done = expectation(description: "six transactions")
        let observation = try there.coordinator.followHistory { transaction, cursor in
            XCTAssertEqual(cursor.token, transaction.token)
            let count = seen.withLock { seen in
                seen.append(transaction.number)
                return seen.count
            }
            if count == 6 { done.fulfill() }
        }
        try save(2, in: here)
        try save(1, in: there)
        wait(for: [done], timeout: 20)
        observation.cancel()
        try save(1, in: there)
        usleep(100_000)
        XCTAssertEqual(seen.withLock { $0 }, [1, 2, 3, 4, 5, 6])
    }

    func testFollowerThatThrowsEnds() throws {
        let ended = expectation(description: "ended")
        let observation = try there.coordinator.followHistory(
            ended: { error in
                XCTAssertEqual((error as? CoreError)?.message, "enough")
                ended.fulfill()
            },
            { _, _ in throw CoreError(.internal, "enough") })
        try save(2, in: here)
        wait(for: [ended], timeout: 20)
        withExtendedLifetime(observation) {}
    }

    func testChangesIncludeCurrentValues() throws {
        let person = try insert("Person", in: here, ["firstName": "Ann", "lastName": "Lee"])
        let car = try insert("Car", in: here, ["maker": "A"])
        try here.save()
        try person.setValue(.string("Eve"), forKey: "firstName")
        try here.delete(car)
        try here.save()
        let cursor = try there.history()
        let first = try XCTUnwrap(try cursor.next())
        let inserted = try first.currentValues()
        let place = try XCTUnwrap(first.changes?.firstIndex { $0.objectID.entity.name == "Person" })
        // The current values of the object; a deleted object has no values.
        XCTAssertEqual(inserted[place]?["firstName"], .string("Eve"))
        XCTAssertEqual(inserted[place]?["lastName"], .string("Lee"))
        XCTAssertNil(inserted[1 - place])
        let second = try XCTUnwrap(try cursor.next())
        XCTAssertEqual(try second.currentValues(), [["firstName": .string("Eve")], nil])
    }
}
