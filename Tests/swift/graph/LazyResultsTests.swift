import Corestone
import XCTest

/// Results of requests with a batch size.
final class LazyResultsTests: CompanyFileTestCase {
    private let count = 100

    override func setUpWithError() throws {
        try super.setUpWithError()
        let departments = try ["a", "b"].map { try department($0) }
        for number in 0..<count {
            let object = try employee("\(1000 + number)", in: departments[number % 2])
            try object.set("age", number)
        }
        try context.save()
        try reopen()
    }

    private func request(_ predicate: String? = nil, batchSize: Int = 10) throws -> FetchRequest {
        let request = FetchRequest(entityName: "Employee")
        request.predicate = try predicate.map { try Predicate.parse($0, arguments: []) }
        request.sortDescriptors = [SortDescriptor("name")]
        request.batchSize = batchSize
        return request
    }

    private func results(_ request: FetchRequest) throws -> Results {
        guard case .objects(let results) = try context.execute(request) else {
            throw CoreError(.internal, "no objects")
        }
        return results
    }

    private func rowsRead(_ body: () throws -> Void) rethrows -> Int {
        let before = coordinator.statistics.faultedRows
        try body()
        return coordinator.statistics.faultedRows - before
    }

    func testLazyResultsReadRowsInBatches() throws {
        let lazy = try results(request())
        XCTAssertTrue(lazy.isLazy)
        XCTAssertEqual(lazy.count, count)
        XCTAssertEqual(context.registeredObjects.count, 0)
        XCTAssertEqual(try rowsRead { XCTAssertEqual(try lazy[5].get("name"), "1005") }, 10)
        XCTAssertEqual(try rowsRead { XCTAssertEqual(try lazy[9].get("age"), 9) }, 0)
        XCTAssertEqual(try rowsRead { XCTAssertEqual(try lazy[99].get("age"), 99) }, 10)
        XCTAssertEqual(lazy.objectID(at: 42).entity.name, "Employee")
        XCTAssertEqual(context.registeredObjects.count, 20)
    }

    func testLazyResultsRefreshEachBatchOnRequest() throws {
        let known = try context.fetch("Employee", sort: ["name"])
        for object in known { _ = try object.get("age", as: Int.self) }
        let other = Context(coordinator: coordinator)
        for object in try other.fetch("Employee") { try object.set("age", -1) }
        try other.save()
        let plain = try results(request())
        XCTAssertEqual(try plain[25].get("age"), 25, "registered objects are not refreshed by default")
        let fresh = try request()
        fresh.shouldRefreshRefetchedObjects = true
        let lazy = try results(fresh)
        XCTAssertEqual(try known[95].get("age"), 95, "refreshed when its batch is read")
        try known[15].set("rating", 5.0)
        for place in [0, 9, 10, 55, 99] { XCTAssertEqual(try lazy[place].get("age"), -1, "\(place)") }
        XCTAssertTrue(lazy[55] === known[55])
        XCTAssertEqual(try lazy[15].get("rating"), 5.0, "the unsaved change is kept")
        XCTAssertTrue(lazy[15].isUpdated)
    }

    /// Only a few objects are in memory at any time, however many were read.
    func testLazyResultsReleaseEarlierBatches() throws {
        let lazy = try results(request())
        for (place, object) in lazy.enumerated() {
            XCTAssertEqual(try object.get("age"), place)
            XCTAssertLessThanOrEqual(context.registeredObjects.count, 50)
        }
        let first = lazy[0]
        for object in lazy { _ = try object.get("age", as: Int.self) }
        XCTAssertIdentical(lazy[0], first)
    }

    func testLazyResultsContainTheSameObjectsAsEagerResults() throws {
        let request = try request("age > 20 AND age < 77")
        request.limit = 30
        request.offset = 3
        let lazy = try results(request)
        request.batchSize = 0
        let eager = try results(request)
        XCTAssertFalse(eager.isLazy)
        XCTAssertEqual(lazy.count, 30)
        XCTAssertTrue(lazy.elementsEqual(eager, by: ===))
        XCTAssertTrue(Array(lazy.reversed()).elementsEqual(eager.reversed(), by: ===))
        XCTAssertIdentical(lazy.first, eager.first)
        XCTAssertIdentical(lazy.last, eager[29])
        XCTAssertEqual(lazy[5..<9].map(\.objectID), eager[5..<9].map(\.objectID))
        let chosen = lazy.choosing([7, 3, 29])
        XCTAssertTrue(chosen.isLazy)
        XCTAssertEqual(chosen.map(\.objectID), [7, 3, 29].map { eager[$0].objectID })
    }

    func testLazyResultsIncludeUnsavedChanges() throws {
        let all = try context.fetch(request(batchSize: 0))
        try all[3].set("name", "2000")
        try context.delete(all[50])
        try context.insert("Employee", ["name": "0999"])
        let lazy = try results(request())
        XCTAssertEqual(lazy.count, count)
        XCTAssertEqual(try lazy[0].get("name"), "0999")
        XCTAssertEqual(try lazy[99].get("name"), "2000")
        let new = lazy[0]
        try context.save()
        XCTAssertIdentical(lazy[0], new)
        XCTAssertFalse(lazy.objectID(at: 0).isTemporary)
        XCTAssertEqual(lazy.choosing([0]).first?.objectID, new.objectID)
    }

    /// The predicate is evaluated in memory, without loading all rows at once.
    func testLazyResultsApplyPredicatesThatAreEvaluatedInMemory() throws {
        let lazy = try results(request("speed == nil AND age >= 90"))
        XCTAssertEqual(try lazy.map { try $0.get("age") ?? -1 }, Array(90..<100))
        XCTAssertTrue(lazy.isLazy)
    }

    func testLazyResultsShowRowsChangedOrDeletedAfterTheFetch() throws {
        let lazy = try results(request())
        let writer = other()
        let all = try writer.fetch(request(batchSize: 0))
        try all[15].set("age", 500)
        try writer.delete(all[16])
        try writer.save()
        XCTAssertEqual(lazy.count, count)
        XCTAssertEqual(try lazy[15].get("age"), 500)
        XCTAssertTrue(lazy[16].isFault)
        // As with every fault whose row was deleted.
        XCTAssertNil(try lazy[16].get("age", as: Int.self))
        XCTAssertTrue(lazy[16].isDeleted)
        context.shouldDeleteInaccessibleFaults = false
        try writer.delete(all[36])
        try writer.save()
        XCTAssertThrowsError(try lazy[36].get("age", as: Int.self)) {
            XCTAssertEqual(($0 as? CoreError)?.code, 133000)
        }
        XCTAssertEqual(try lazy[17].get("age"), 17)
    }

    func testLazyResultsPrefetchPerBatch() throws {
        let request = try request()
        request.relationshipKeyPathsForPrefetching = ["department"]
        request.returnsObjectsAsFaults = false
        let lazy = try results(request)
        XCTAssertFalse(lazy[20].isFault)
        let before = coordinator.statistics.faults
        for place in 20..<30 { _ = try lazy[place].get("department.name", as: String.self) }
        XCTAssertEqual(coordinator.statistics.faults, before)
        XCTAssertEqual(context.registeredObjects.count, 12)
    }

    func testLazyResultsFailOnAWrongThread() throws {
        let lazy = try results(request())
        final class Box: @unchecked Sendable {
            let lazy: Results
            var failure: (any Error)?
            init(_ lazy: Results) { self.lazy = lazy }
        }
        let box = Box(lazy), done = expectation(description: "the other thread")
        Thread {
            do { _ = try box.lazy.object(at: 0) } catch { box.failure = error }
            done.fulfill()
        }.start()
        wait(for: [done], timeout: 60)
        XCTAssertEqual((box.failure as? CoreError)?.status, .wrongThread)
    }

    /// A list outlives a reset: its objects are fetched again.
    func testLazyResultsFetchObjectsAgainAfterAReset() throws {
        let lazy = try results(request())
        let former = lazy[0]
        try context.reset()
        XCTAssertTrue(former.isGone)
        XCTAssertEqual(try lazy[90].get("age"), 90)
    }
}
