import Corestone
import XCTest

final class FetchTests: GraphTestCase {
    /// The brackets bind more tightly than the dot. The error explains it, and does not name the fetched entity.
    func testErrorOfAnUnknownKeyAfterAnIndexSuggestsParentheses() throws {
        _ = try employee("Ada", in: department("R&D"))
        for format in ["department.employees[0].name == 'Ada'", "department.employees[0].rank == 1"] {
            XCTAssertThrowsError(try context.fetch("Employee", format)) { error in
                let error = error as? CoreError
                XCTAssertEqual(error?.status, .predicate)
                XCTAssertNil(error?.entity, "the key may belong to the department")
                XCTAssertTrue(error?.message.contains("Put the path before the brackets in parentheses") == true)
            }
        }
        XCTAssertThrowsError(try context.fetch("Employee", "(department.employees)[0].rank == 1")) {
            XCTAssertEqual(($0 as? CoreError)?.entity, "Employee")
            XCTAssertEqual(($0 as? CoreError)?.key, "rank")
        }
        XCTAssertEqual(try context.fetch("Employee", "(department.employees)[0].name == 'Ada'").count, 1)
    }

    /// A fault with a newer row from a fetch discards the target and the members that were prefetched with the old row.
    func testFaultReadsRelationshipsOfTheRefetchedRow() throws {
        let (old, new) = (try department("old"), try department("new"))
        let ada = try employee("Ada", in: old)
        try context.save()
        let second = other()
        let request = FetchRequest(entity: try model.requireEntity(named: "Employee"))
        request.relationshipKeyPathsForPrefetching = ["department.employees"]
        _ = try second.fetch(request)
        let mine = try second.object(with: ada.objectID)
        let owner = try second.object(with: old.objectID)
        XCTAssertTrue(mine.isFault && owner.isFault)
        try ada.set("department", new)
        try context.save()
        _ = try second.fetch("Employee")
        XCTAssertEqual(try mine.get("department.name"), "new")
        _ = try second.fetch("Department")
        XCTAssertEqual(try owner.memberCount("employees"), 0)
    }

    /// A pending order is not lost in a fetch. The save reports the conflict of the members.
    func testFetchKeepsAPendingOrder() throws {
        let project = try context.insert("Project")
        let tasks = try ["a", "b"].map { try context.insert("Task", ["title": $0, "project": project]) }
        try context.save()
        let second = other()
        let mine = try XCTUnwrap(second.fetch("Project").first)
        try mine.insert(second.object(with: tasks[1].objectID), at: 0, in: "tasks")
        try project.add(context.insert("Task", ["title": "c"]), to: "tasks")
        try context.save()
        XCTAssertIdentical(try second.fetch("Project").first, mine)
        XCTAssertEqual(try mine.members("tasks").map { try $0.get("title") ?? "" }, ["b", "a"])
        XCTAssertThrowsError(try second.save()) { XCTAssertEqual(($0 as? CoreError)?.code, 133020) }
    }

    override func setUpWithError() throws {
        try super.setUpWithError()
        for (name, age) in [("alpha", 22), ("bravo", 25), ("charlie", 10)] {
            try employee(name).set("age", age)
        }
        try context.save()
    }

    private func makePendingChanges() throws -> [String: ManagedObject] {
        var all: [String: ManagedObject] = [:]
        for object in try context.fetch("Employee") { all[try object.get("name") ?? ""] = object }
        try all["alpha"]?.set("age", 5)
        try all["charlie"]?.set("age", 21)
        try context.delete(XCTUnwrap(all["bravo"]))
        try employee("delta").set("age", 30)
        try employee("echo").set("age", 40)
        return all
    }

    private func fetchNames(_ request: FetchRequest) throws -> [String] {
        try context.fetch(request).map { try $0.get("name") ?? "" }
    }

    func testFetchIncludesPendingChanges() throws {
        _ = try makePendingChanges()
        let found = try context.fetch("Employee", "age > 20", sort: ["name"]).map {
            try $0.get("name", as: String.self)
        }
        XCTAssertEqual(found, ["charlie", "delta", "echo"])
        XCTAssertEqual(try context.count("Employee", "age > 20"), 3)
    }

    /// Scenario S002: without pending changes, the store determines the objects, and the context their values.
    func testFetchWithoutPendingChangesReturnsStoredMembership() throws {
        let objects = try makePendingChanges()
        let request = FetchRequest(entity: try model.requireEntity(named: "Employee"))
        request.includesPendingChanges = false
        request.sortDescriptors = [SortDescriptor("name")]
        XCTAssertEqual(try fetchNames(request), ["alpha", "bravo", "charlie"])
        XCTAssertEqual(try objects["alpha"]?.get("age"), 5)
    }

    /// Scenario S008: order, limit and offset apply to the merged result.
    func testLimitAndOffsetApplyAfterPendingChanges() throws {
        _ = try makePendingChanges()
        let request = FetchRequest(entity: try model.requireEntity(named: "Employee"))
        request.sortDescriptors = [SortDescriptor("age")]
        request.offset = 1
        request.limit = 2
        XCTAssertEqual(try fetchNames(request), ["charlie", "delta"])
    }

    func testFetchIncludesSubentitiesUnlessExcluded() throws {
        _ = try context.insert("Manager", ["name": "Mona", "age": 50])
        try context.save()
        let request = FetchRequest(entity: try model.requireEntity(named: "Employee"))
        XCTAssertEqual(try context.fetch(request).count, 4)
        request.includesSubentities = false
        XCTAssertEqual(try context.fetch(request).count, 3)
        XCTAssertEqual(try context.fetch("Manager").first?.entityName, "Manager")
        let id = try XCTUnwrap(other().fetch("Employee", "name == 'Mona'").first).objectID
        XCTAssertEqual(id.entity.name, "Manager")
    }

    func testFetchesReturnTheSameObjectForARow() throws {
        let first = try XCTUnwrap(context.fetch("Employee", "name == 'alpha'").first)
        let second = try XCTUnwrap(context.fetch("Employee", sort: ["name"]).first)
        XCTAssertTrue(first === second)
        XCTAssertTrue(try context.object(with: first.objectID) === first)
    }

    func testFaultsOfAToManyRelationshipAreReadAsABatch() throws {
        let home = try department("Home")
        for index in 0..<50 { _ = try employee("e\(index)", in: home) }
        try context.save()
        // A new coordinator, so that no row is cached.
        let coordinator = try Coordinator(model: model)
        _ = try coordinator.add(store)
        let fresh = Context(coordinator: coordinator)
        let stored = try fresh.object(with: XCTUnwrap(coordinator.objectID(forURI: home.objectID.uri)))
        let before = store.requests
        let members = try stored.members("employees")
        XCTAssertEqual(Set(try members.map { try $0.get("name", as: String.self) }).count, 50)
        XCTAssertLessThanOrEqual(store.requests - before, 3, "for the owner, its members and their rows")
    }

    func testPrefetchingReadsEachRelationshipWithOneRequest() throws {
        let home = try department("Home")
        for index in 0..<20 { _ = try employee("e\(index)", in: home) }
        try context.save()
        let coordinator = try Coordinator(model: model)
        _ = try coordinator.add(store)
        let fresh = Context(coordinator: coordinator)
        let request = FetchRequest(entity: try model.requireEntity(named: "Employee"))
        request.relationshipKeyPathsForPrefetching = ["department", "projects"]
        let before = store.requests
        let found = try fresh.fetch(request)
        XCTAssertLessThanOrEqual(store.requests - before, 3)
        for object in found {
            _ = try object.get("department.name", as: String.self)
            _ = try object.memberCount("projects")
        }
        XCTAssertLessThanOrEqual(store.requests - before, 3)
    }

    func testPrefetchedMembersAreAssignedToTheirOwnersInAnyOrder() throws {
        for place in 0..<6 {
            let home = try department("d\(place)")
            for index in 0..<place { _ = try employee("e\(place)\(index)", in: home) }
        }
        try context.save()
        store.mixesMembers = true
        let coordinator = try Coordinator(model: model)
        _ = try coordinator.add(store)
        let request = FetchRequest(entity: try model.requireEntity(named: "Department"))
        request.relationshipKeyPathsForPrefetching = ["employees"]
        for isAscending in [true, false] {
            request.sortDescriptors = [SortDescriptor("name", ascending: isAscending)]
            let fresh = Context(coordinator: coordinator)
            for home in try fresh.fetch(request) {
                guard let name = try home.get("name", as: String.self), name.hasPrefix("d") else { continue }
                let names = try home.members("employees").compactMap { try $0.get("name", as: String.self) }
                let place = try XCTUnwrap(Int(name.dropFirst()))
                XCTAssertEqual(Set(names), Set((0..<place).map { "e\(place)\($0)" }), name)
                XCTAssertEqual(names.count, place)
            }
        }
    }

    func testContextRetainsOnlyChangedObjects() throws {
        context = nil
        let fresh = other()
        XCTAssertEqual(try fresh.fetch("Employee").count, 3)
        XCTAssertEqual(fresh.registeredObjects.count, 0, "unchanged objects are not retained")
        _ = try fresh.insert("Employee")
        XCTAssertEqual(fresh.registeredObjects.count, 1, "changed objects are retained")
    }

    /// Records of a subentity have their own layout: a prefetch over both must read each by its own.
    func testPrefetchingReadsRowsOfSubentities() throws {
        let departments = try (0..<5).map { try department("d\($0)") }
        for index in 0..<40 {
            let object = try context.insert(index % 3 == 0 ? "Manager" : "Employee", ["name": "x\(index)"])
            try object.set("department", departments[index % 5])
        }
        try context.save()
        let coordinator = try Coordinator(model: model)
        _ = try coordinator.add(store)
        let fresh = Context(coordinator: coordinator)
        let request = FetchRequest(entity: try model.requireEntity(named: "Employee"))
        request.relationshipKeyPathsForPrefetching = ["department"]
        for _ in 0..<2 {
            for object in try fresh.fetch(request) {
                let name = try object.get("name", as: String.self) ?? ""
                guard name.hasPrefix("x"), let index = Int(name.dropFirst()) else { continue }
                XCTAssertEqual(try object.get("department.name"), "d\(index % 5)", name)
            }
        }
    }
}
