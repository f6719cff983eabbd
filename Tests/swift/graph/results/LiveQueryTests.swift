import Corestone
import XCTest

final class LiveQueryTests: GraphTestCase {
    private func request(_ sort: String...) throws -> FetchRequest {
        let request = FetchRequest(entity: try XCTUnwrap(model.entity(named: "Employee")))
        request.sortDescriptors = sort.map { SortDescriptor($0) }
        return request
    }

    func testLiveQueryReportsDifferencesUntilCancelled() throws {
        _ = try employee("Alice")
        try context.save()
        var told: [ResultsDifference] = [], objects: [[String]] = []
        let token = try context.observe(request("name")) { _, difference, found in
            told.append(difference)
            objects.append(found.map { (try? $0.get("name")) ?? "" })
        }
        XCTAssertEqual(told.map(\.insertions.count), [1])
        let bob = try employee("Bob")
        try context.processPendingChanges()
        try bob.set("name", "Aaron")
        try context.save()
        // The last difference replaces the temporary ID with the permanent one.
        XCTAssertEqual(objects, [["Alice"], ["Bob"], ["Aaron"], []])
        XCTAssertEqual(told[3].renamed.map(\.id), [bob.objectID])
        XCTAssertEqual(told[2].moves.map(\.newIndexPath), [ResultsIndexPath(row: 0, section: 0)])
        XCTAssertEqual(told[2].snapshot.count, 2)
        try context.reset()
        XCTAssertEqual(told.last?.isReset, true)
        XCTAssertEqual(told.last?.insertions.count, 2)
        _ = try employee("Cid")
        try context.processPendingChanges()
        XCTAssertEqual(told.last?.insertions.count, 1)
        let count = told.count
        token.cancel()
        _ = try employee("Dora")
        try context.processPendingChanges()
        XCTAssertEqual(told.count, count)
    }

    func testHandlerIsNotCalledRecursively() throws {
        var depth = 0, deepest = 0, count = 0
        let token = try context.observe(request("name")) { context, _, _ in
            depth += 1
            deepest = max(depth, deepest)
            count += 1
            if count < 5 {
                _ = try? context.insert("Employee", ["name": "N\(count)"])
                try? context.processPendingChanges()
            }
            depth -= 1
        }
        _ = try employee("A")
        try context.processPendingChanges()
        XCTAssertEqual(deepest, 1)
        XCTAssertEqual(count, 6)
        token.cancel()
    }

    func testSequenceCombinesDifferencesThatWereNotRead() async throws {
        let context = Context(coordinator: coordinator, queue: .privateQueue)
        let request = try request("name")
        let sequence = try await context.perform { try $0.differences(of: request) }
        var iterator = sequence.makeAsyncIterator()
        let first = await iterator.next()
        XCTAssertEqual(first?.snapshot.count, 0)
        for name in ["C", "A", "B"] {
            try await context.perform { context in
                _ = try context.insert("Employee", ["name": name])
            }
        }
        let joined = await iterator.next()
        XCTAssertEqual(joined?.insertions.count, 3)
        XCTAssertEqual(joined?.snapshot.count, 3)
        try await context.perform { context in
            try context.fetch("Employee", "name == 'B'").first?.set("name", "D")
            try context.save()
        }
        let moved = await iterator.next()
        XCTAssertEqual(moved?.moves.count, 1)
    }

    func testUpdateIsReportedUnderThePermanentID() async throws {
        let context = Context(coordinator: coordinator, queue: .privateQueue)
        let request = try request("name")
        let sequence = try await context.perform { context in
            _ = try context.insert("Employee", ["name": "Ada"])
            return try context.differences(of: request)
        }
        var iterator = sequence.makeAsyncIterator()
        let first = await iterator.next()
        try await context.perform { context in
            try context.fetch("Employee").first?.set("name", "Eve")
            try context.processPendingChanges()
            try context.save()
        }
        let joined = await iterator.next()
        XCTAssertEqual(joined?.renamed.map(\.former), first?.insertions.map(\.objectID))
        XCTAssertEqual(joined?.updates.map(\.objectID), joined?.renamed.map(\.id))
        XCTAssertEqual(joined?.updates.count, 1)
    }

    func testSequenceEndsWhenTheContextIsReleased() async throws {
        var context: Context? = Context(coordinator: coordinator, queue: .privateQueue)
        let request = try request("name")
        let sequence = try await context?.perform { try $0.differences(of: request) }
        context = nil
        var iterator = try XCTUnwrap(sequence).makeAsyncIterator()
        let first = await iterator.next()
        XCTAssertNotNil(first)
        let end = await iterator.next()
        XCTAssertNil(end)
    }
}
