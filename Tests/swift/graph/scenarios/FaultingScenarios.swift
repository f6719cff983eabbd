import Corestone
import CorestoneModel
import XCTest

@testable import CorestoneGraph

/// Scenarios of faulting against an incremental store: which of its functions are called, and how often.
final class FaultingScenarios: XCTestCase {
    private var store: MemStore!
    private var coordinator: Coordinator!
    private var context: Context!
    private var identifier = ""

    /// p1 {name Boss, reports [p2]}, p2 {name Worker, manager p1}; p1's row omits the manager.
    override func setUpWithError() throws {
        let model = Model()
        let person = try model.addEntity(named: "Person")
        try person.addAttribute(named: "name", type: .string)
        try person.addAttribute(named: "age", type: .integer32)
        let superior = try person.addRelationship(named: "manager", destination: person)
        let reports = try person.addRelationship(named: "reports", destination: person, isToMany: true)
        try superior.setInverse(reports)
        let manager = try model.addEntity(named: "Manager")
        try manager.setParent(person)
        try manager.addAttribute(named: "level", type: .integer32)
        coordinator = try Coordinator(model: model)
        store = MemStore(model: model)
        identifier = try store.added(to: coordinator).identifier
        try store.add("Person", 1, ["name": .string("Boss")], members: ["reports": [2]])
        try store.add("Person", 2, ["name": .string("Worker")], targets: ["manager": 1])
        context = Context(coordinator: coordinator)
    }

    private func person(_ key: Int64) throws -> ManagedObject {
        let uri = "x-coredata://\(identifier)/Person/p\(key)"
        return try context.object(with: XCTUnwrap(coordinator.objectID(forURI: uri)))
    }

    /// Firing the fault makes one call for each omitted to-one relationship. Reading a to-many one makes another call.
    func testS185ToManyRelationshipIsReadOnceOnFirstAccess() throws {
        let boss = try person(1)
        let before = store.relationshipCalls
        XCTAssertEqual(try boss.get("name"), "Boss")
        XCTAssertEqual(store.relationshipCalls, before + 1)
        XCTAssertEqual(try boss.memberCount("reports"), 1)
        XCTAssertEqual(store.relationshipCalls, before + 2)
        XCTAssertEqual(try boss.members("reports").map { try $0.get("name", as: String.self) }, ["Worker"])
        XCTAssertEqual(store.relationshipCalls, before + 2)
    }

    /// A fetch prefetches despite unsaved changes, with one call. Reading the members then makes no call.
    func testS188FetchPrefetchesDespiteUnsavedChanges() throws {
        _ = try context.insert("Person", ["name": "Extra"])
        let request = FetchRequest(entity: try coordinator.model.requireEntity(named: "Person"))
        request.predicate = try .parse("name == 'Boss'")
        request.relationshipKeyPathsForPrefetching = ["reports"]
        let found = try context.fetch(request)
        XCTAssertEqual(found.count, 1)
        let calls = store.relationshipCalls
        XCTAssertEqual(try found[0].memberCount("reports"), 1)
        XCTAssertEqual(try found[0].members("reports").map { try $0.get("name", as: String.self) }, ["Worker"])
        XCTAssertEqual(store.relationshipCalls, calls)
    }

    /// Setting a value keeps the row, from which the other values are read.
    func testS191SettingAValueDoesNotReadTheRowAgain() throws {
        let fresh = try context.insert("Person", ["name": "New", "age": 1])
        try context.save()
        let before = store.newValues
        try context.refresh(fresh, mergeChanges: true)
        XCTAssertEqual(try fresh.get("name"), "New")
        try fresh.set("age", 99)
        XCTAssertEqual(try fresh.get("name"), "New")
        XCTAssertEqual(try fresh.get("age"), 99)
        XCTAssertEqual(store.newValues, before + 1)
    }
}
