import Corestone
import XCTest

/// Two stores of one coordinator, in which the same keys stand for different rows.
final class SeveralStoresTests: GraphTestCase {
    private var secondStore: MemoryStore!

    override func setUpWithError() throws {
        try super.setUpWithError()
        try fill("One")
        secondStore = MemoryStore(model: model, identifier: "00000000-0000-0000-0000-00000000000B")
        let filling = try Coordinator(model: model)
        _ = try filling.add(secondStore)
        let own = coordinator
        coordinator = filling
        try fill("Two")
        coordinator = own
        _ = try coordinator.add(secondStore)
        context = Context(coordinator: coordinator)
    }

    /// A department with an employee of the same name.
    private func fill(_ name: String) throws {
        context = Context(coordinator: coordinator)
        _ = try employee(name, in: department(name))
        try context.save()
    }

    private func department(named name: String) throws -> ManagedObject {
        try XCTUnwrap(context.fetch("Department", "name == %@", name).first)
    }

    /// Rows and members come from the store of the object that asks.
    func testEachObjectReadsItsOwnStore() throws {
        let request = FetchRequest(entity: try model.requireEntity(named: "Department"))
        request.relationshipKeyPathsForPrefetching = ["employees"]
        for department in try context.fetch(request) {
            XCTAssertEqual(try names(department.members("employees")), [try department.get("name") ?? ""])
        }
        let back = FetchRequest(entity: try model.requireEntity(named: "Employee"))
        back.relationshipKeyPathsForPrefetching = ["department"]
        context = Context(coordinator: coordinator)
        let employees = try context.fetch(back)
        XCTAssertEqual(employees.count, 2)
        for employee in employees {
            XCTAssertEqual(try employee.get("department.name", as: String.self), try employee.get("name"))
        }
    }

    /// Delete rules reach the members in the same store.
    func testDeletingInBothStores() throws {
        for department in try context.fetch("Department") { try context.delete(department) }
        try context.save()
        for employee in try other().fetch("Employee") {
            XCTAssertNil(try employee.get("department", as: ManagedObject.self))
        }
    }

    func testNothingLeadsToAnotherStore() throws {
        let two = try department(named: "Two")
        _ = try employee("New", in: two)
        XCTAssertThrowsError(try context.save()) { XCTAssertEqual(($0 as? CoreError)?.code, 133000 + 10) }
        XCTAssertTrue(context.hasChanges)
        try context.rollback()
        _ = try employee("New", in: department(named: "One"))
        try department(named: "Two").set("name", "Three")
        try context.save()
        let stored = try other().fetch("Employee", "department.name == 'One'")
        XCTAssertEqual(try names(stored), ["New", "One"])
        XCTAssertEqual(try other().count("Department", "name == 'Three'"), 1)
    }
}
