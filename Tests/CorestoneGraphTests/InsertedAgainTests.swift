import Corestone
import XCTest

/// Lists of members after a save that brought back a row which somebody else had deleted.
final class InsertedAgainTests: GraphTestCase {
    func testItIsAMemberAgain() throws {
        context.automaticallyMergesChangesFromParent = true
        context.mergePolicy = .objectTrump
        let department = try context.insert("Department", ["name": "R&D"])
        let (ada, bob) = (try employee("Ada", in: department), try employee("Bob", in: department))
        try context.save()
        XCTAssertEqual(try department.members("employees").count, 2)
        try ada.set("age", 36)
        let entity = try XCTUnwrap(model.entity(named: "Employee"))
        let deletion = BatchDeleteRequest(
            fetchRequest: FetchRequest(entity: entity, predicate: try Predicate.parse("name == 'Ada'")))
        _ = try Context(coordinator: coordinator).execute(deletion) as BatchResult
        // Read while the row is gone.
        try context.processPendingChanges()
        XCTAssertTrue(try department.members("employees").contains { $0 === bob })
        try context.save()
        XCTAssertEqual(try Context(coordinator: coordinator).count("Employee"), 2)
        XCTAssertEqual(
            Set(try department.members("employees").map { try $0.get("name") ?? "" }), ["Ada", "Bob"])
    }
}
