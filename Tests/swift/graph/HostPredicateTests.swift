import Corestone
import XCTest

/// Blocks and functions of the application in predicates receive the objects of the context.
final class HostPredicateTests: CompanyFileTestCase {
    override func setUpWithError() throws {
        try super.setUpWithError()
        let departments = try ["R&D", "Sales"].map { try department($0) }
        for (place, name) in ["Ada", "Bea", "Cleo", "Dora"].enumerated() {
            try employee(name, in: departments[place % 2]).set("age", place)
        }
        try context.save()
        try reopen()
    }

    private func fetch(_ predicate: Predicate, sort: SortDescriptor = SortDescriptor("name")) throws -> [String] {
        let request = FetchRequest(entityName: "Employee")
        (request.predicate, request.sortDescriptors) = (predicate, [sort])
        return try context.fetch(request).map { try $0.get("name") ?? "-" }
    }

    private func block(_ body: @escaping (ManagedObject) throws -> Bool) -> Predicate {
        let context = self.context!
        nonisolated(unsafe) let body = body
        return .block(
            BlockPredicate { value, variables in
                let value = variables["x"] ?? value
                guard case .object(let object) = value, let object = object as? ManagedObject else {
                    throw CoreError(.internal, "\(value) is no object of the context")
                }
                XCTAssertTrue(context.registeredObject(with: object.objectID) === object)
                return try body(object)
            })
    }

    func testBlockPredicateReceivesObjectsBesideKeyPaths() throws {
        let sales = try Predicate.parse("department.name == 'Sales'")
        let young = block { try $0.get("age", as: Int.self)! < 1 }
        for isChanged in [false, true] {
            if isChanged { try context.fetch("Employee", "name == 'Cleo'")[0].set("rating", 1.0) }
            XCTAssertEqual(try fetch(try .or([sales, young])), ["Ada", "Bea", "Dora"])
            XCTAssertEqual(try fetch(try .and([sales, try .not(young)])), ["Bea", "Dora"])
        }
    }

    func testBlockPredicateReceivesUnsavedChanges() throws {
        try context.fetch("Employee", "name == 'Ada'")[0].set("age", 50)
        let sales = try Predicate.parse("department.name == 'Sales'")
        let old = block { try $0.get("age", as: Int.self)! > 40 }
        XCTAssertEqual(try fetch(try .or([sales, old])), ["Ada", "Bea", "Dora"])
        let request = FetchRequest(entityName: "Employee")
        (request.predicate, request.includesPendingChanges) = (old, false)
        XCTAssertEqual(try context.fetch(request).count, 1, "also without pending changes")
    }

    func testSubqueryBlocksAndFunctionsReceiveObjects() throws {
        FunctionRegistry.register("isReal:") { receiver, arguments in
            let all = ([receiver] + arguments).allSatisfy { value in
                if case .object(let object) = value { object is ManagedObject } else { false }
            }
            return .bool(all)
        }
        defer { FunctionRegistry.unregister("isReal:") }
        try context.fetch("Employee", "name == 'Ada'")[0].set("rating", 1.0)
        try context.fetch("Department", "name == 'Sales'")[0].set("name", "Shop")
        let called = try Predicate.parse("FUNCTION(SELF, 'isReal:', department) == YES AND department.name != ''")
        XCTAssertEqual(try fetch(called).count, 4)
        let staff = Expression.subquery(
            try Expression.parse("department.employees"), variable: "x", block { _ in true })
        XCTAssertEqual(try fetch(.comparison(Comparison(.function(.count, [staff]), .equal, .integer(2)))).count, 4)
    }
}
