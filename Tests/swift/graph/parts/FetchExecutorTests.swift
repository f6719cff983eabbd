import Corestone
import XCTest

@testable import CorestoneGraph
@testable import CorestoneModel

/// Fetches with unsaved changes from a database, which applies limit and offset before the changes are merged.
final class FetchExecutorTests: CompanyFileTestCase {
    private var executor: FetchExecutor { context.fetchExecutor }

    private func makeRequest(_ entity: String) throws -> FetchRequest {
        FetchRequest(entity: try model.requireEntity(named: entity))
    }

    /// Twelve saved employees of the ages 0 to 11, of which two are deleted and two have other ages, and two new ones.
    private func changedEmployees() throws -> [ManagedObject] {
        var saved: [ManagedObject] = []
        for age in 0..<12 { saved.append(try context.insert("Employee", ["name": "E\(age)", "age": age])) }
        try context.save()
        try context.delete(saved[1])
        try context.delete(saved[4])
        try saved[2].set("age", 50)
        try saved[9].set("age", -1)
        try context.insert("Employee", ["name": "N1", "age": 5])
        try context.insert("Employee", ["name": "N2", "age": 100])
        return saved
    }

    func testEveryLimitAndOffsetSelectFromTheMergedResult() throws {
        let saved = try changedEmployees()
        let all = try context.fetch("Employee", sort: ["age", "name"])
        let ages: [Int] = try all.map { try $0.get("age") ?? 0 }
        XCTAssertEqual(ages, [-1, 0, 3, 5, 5, 6, 7, 8, 10, 11, 50, 100])
        let request = try makeRequest("Employee")
        request.sortDescriptors = [SortDescriptor("age"), SortDescriptor("name")]
        for offset in 0...13 {
            for limit in 1...4 {
                (request.offset, request.limit) = (offset, limit)
                let expected = Array(all.dropFirst(offset).prefix(limit))
                XCTAssertEqual(try context.fetch(request), expected, "offset \(offset), limit \(limit)")
                XCTAssertEqual(try context.count(request), expected.count, "offset \(offset), limit \(limit)")
            }
        }
        withExtendedLifetime(saved) {}
    }

    func testLimitAndOffsetApplyToTheObjectsThatSatisfyThePredicate() throws {
        let saved = try changedEmployees()
        let all = try context.fetch("Employee", "age > 4 AND age < 60", sort: ["-age", "name"])
        let ages: [Int] = try all.map { try $0.get("age") ?? 0 }
        XCTAssertEqual(ages, [50, 11, 10, 8, 7, 6, 5, 5])
        for offset in 0...8 {
            let part = try context.fetch(
                "Employee", "age > 4 AND age < 60", sort: ["-age", "name"], limit: 3, offset: offset)
            XCTAssertEqual(part, Array(all.dropFirst(offset).prefix(3)), "offset \(offset)")
        }
        withExtendedLifetime(saved) {}
    }

    /// The number of rows to read is the sum of limit, offset and changes.
    func testLargestLimitAndOffsetDoNotOverflow() throws {
        let saved = try changedEmployees()
        let request = try makeRequest("Employee")
        request.sortDescriptors = [SortDescriptor("age")]
        request.limit = .max
        request.offset = 2
        XCTAssertEqual(try context.fetch(request).count, 10)
        request.offset = .max
        XCTAssertEqual(try context.fetch(request), [])
        XCTAssertEqual(try context.count(request), 0)
        withExtendedLifetime(saved) {}
    }

    func testPendingChangesAreThoseOfTheRequestedEntities() throws {
        let (ada, bob) = (try employee("Ada"), try employee("Bob"))
        try context.save()
        let boss = try context.insert("Manager", ["name": "Bo"])
        let sales = try department("Sales")
        try ada.set("age", 1)
        try context.delete(bob)

        let people = executor.pendingChanges(for: try makeRequest("Person"))
        XCTAssertEqual(people.inserted, [boss])
        XCTAssertEqual(people.updated, [ada])
        XCTAssertEqual(people.deletedCount, 1)
        let departments = executor.pendingChanges(for: try makeRequest("Department"))
        XCTAssertEqual(departments.inserted, [sales])
        XCTAssertEqual(departments.updated, [])
        XCTAssertEqual(departments.deletedCount, 0)

        let employees = try makeRequest("Employee")
        employees.includesSubentities = false
        XCTAssertEqual(executor.pendingChanges(for: employees).inserted, [])
        XCTAssertTrue(executor.hasPendingChanges(for: employees))
        try context.refresh(ada, mergeChanges: false)
        XCTAssertEqual(executor.pendingChanges(for: employees).updated, [], "a reverted change is pending")
        employees.includesPendingChanges = false
        XCTAssertFalse(executor.hasPendingChanges(for: employees))
    }

    func testFetchedIDsWithPendingChangesAreThoseOfTheObjects() throws {
        let saved = try changedEmployees()
        let request = try makeRequest("Employee")
        request.sortDescriptors = [SortDescriptor("age"), SortDescriptor("name")]
        (request.offset, request.limit) = (2, 5)
        let ids = try executor.foundIDs(request)
        XCTAssertEqual(ids, try context.fetch(request).map(\.objectID))
        XCTAssertEqual(ids.filter(\.isTemporary).count, 1)
        withExtendedLifetime(saved) {}
    }
}
