import Corestone
import XCTest

final class CloneTests: GraphTestCase {
    func testCloneCopiesAttributesAndSharesNonExclusiveTargets() throws {
        let rAndD = try department("R&D")
        let (ada, bob) = (try employee("Ada", in: rAndD), try employee("Bob"))
        try ada.set(["age": 36, "rating": PropertyValue.null, "speed": 2.5, "spouse": bob])
        let project = try context.insert("Project", ["title": "p"])
        try ada.add(project, to: "projects")
        try context.save()
        let clone = try ada.clone()
        XCTAssertFalse(clone === ada)
        XCTAssertTrue(clone.isInserted)
        XCTAssertEqual(try clone.get("name"), "Ada")
        XCTAssertEqual(try clone.get("age"), 36)
        XCTAssertEqual(try clone.value(forKey: "rating"), .null, "null is copied, not replaced by the default")
        XCTAssertEqual(try clone.get("speed"), 2.5)
        XCTAssertEqual(try clone.get("department"), rAndD)
        XCTAssertEqual(try clone.members("projects"), [project])
        XCTAssertNil(try clone.get("spouse", as: ManagedObject.self), "a spouse cannot be shared")
        XCTAssertEqual(try ada.get("spouse"), bob)
        XCTAssertEqual(try rAndD.memberCount("employees"), 2)
        try context.save()
    }

    func testCloneDoesNotMoveMembersOfAToManyWithToOneInverse() throws {
        let project = try context.insert("Project", ["title": "p"])
        try project.add(context.insert("Task", ["title": "t"]), to: "tasks")
        XCTAssertEqual(try project.clone().memberCount("tasks"), 0)
        XCTAssertEqual(try project.memberCount("tasks"), 1)
    }

    func testDeepCloneCopiesOrderedMembersAndTheirInverse() throws {
        let project = try context.insert("Project", ["title": "p"])
        let tasks = try ["c", "a", "b"].map { try context.insert("Task", ["title": $0]) }
        try project.setMembers(tasks, of: "tasks")
        let ada = try employee("Ada")
        try ada.add(project, to: "projects")
        try context.save()
        context = other()
        let again = try context.object(with: project.objectID)
        let clone = try again.clone(CloneOptions(depth: 1, including: ["tasks"]))
        XCTAssertEqual(try clone.members("tasks").map { try $0.get("title") ?? "" }, ["c", "a", "b"])
        for task in try clone.members("tasks") { XCTAssertEqual(try task.get("project"), clone) }
        XCTAssertEqual(try again.memberCount("tasks"), 3)
        XCTAssertEqual(try clone.members("members").map(\.objectID), [ada.objectID], "shared")
        try context.save()
        XCTAssertEqual(
            try other().object(with: clone.objectID).members("tasks").map { try $0.get("title") ?? "" },
            ["c", "a", "b"])
    }

    func testCloneFollowsOnlyIncludedRelationshipsUpToItsDepth() throws {
        let rAndD = try department("R&D")
        let (ada, bob) = (try employee("Ada", in: rAndD), try employee("Bob", in: rAndD))
        try ada.set("spouse", bob)
        try ada.setMembers([bob], of: "friends")
        let before = context.insertedObjects.count
        let clone = try ada.clone(CloneOptions(depth: 2))
        XCTAssertEqual(context.insertedObjects.count, before + 3, "Ada, Bob and the department are cloned once each")
        let department = try XCTUnwrap(clone.get("department", as: ManagedObject.self))
        XCTAssertEqual(try names(department.members("employees")), ["Ada", "Bob"])
        XCTAssertEqual(try clone.get("spouse.spouse"), clone)
        XCTAssertEqual(try clone.get("friends.@count"), 1)
        XCTAssertEqual(try rAndD.memberCount("employees"), 2)
        let narrow = try rAndD.clone(CloneOptions(depth: 5, including: ["employees.spouse"]))
        XCTAssertEqual(try names(narrow.members("employees")), ["Ada", "Bob"])
        let shallow = try rAndD.clone(CloneOptions(depth: 0, including: ["employees"]))
        XCTAssertEqual(try shallow.memberCount("employees"), 0)
        XCTAssertThrowsError(try rAndD.clone(CloneOptions(depth: 1, including: ["name"])))
        XCTAssertThrowsError(try rAndD.clone(CloneOptions(depth: 1, including: ["employes"])))
        for (path, key) in [("employees.age", "age"), ("employees.aeg", "aeg")] {
            XCTAssertThrowsError(try rAndD.clone(CloneOptions(depth: 2, including: [path]))) {
                let error = $0 as? CoreError
                XCTAssertEqual([error?.entity, error?.key], ["Employee", key])
            }
        }
    }

    func testCloneOmitsUniqueValuesUnlessTheyAreKept() throws {
        let model = Model()
        let order = try model.addEntity(named: "Order")
        try order.addAttribute(named: "number", type: .integer64)
        try order.addAttribute(named: "note", type: .string)
        try order.addUniqueConstraint(["number"])
        let line = try model.addEntity(named: "Line")
        try line.addAttribute(named: "position", type: .integer32)
        let lines = try order.addRelationship(named: "lines", destination: line, isToMany: true)
        try lines.setInverse(line.addRelationship(named: "order", destination: order))
        let coordinator = try Coordinator(model: model)
        _ = try coordinator.add(MemoryStore(model: model))
        let context = Context(coordinator: coordinator)
        let first = try context.insert("Order", ["number": 1, "note": "n"])
        try first.add(context.insert("Line", ["position": 4]), to: "lines")
        let clone = try first.clone(CloneOptions(depth: 1))
        XCTAssertEqual(try clone.value(forKey: "number"), .null)
        XCTAssertEqual(try clone.get("note"), "n")
        XCTAssertEqual(try clone.members("lines")[0].get("position"), 4)
        XCTAssertEqual(try first.clone(CloneOptions(keepsUnique: true)).get("number"), 1)
    }

    func testCloneFailsForDeletedObjects() throws {
        let ada = try employee("Ada")
        let free = try ManagedObject(entity: model.requireEntity(named: "Department"))
        try free.set("name", "free")
        XCTAssertEqual(try free.clone().get("name"), "free")
        try context.save()
        try context.delete(ada)
        XCTAssertThrowsError(try ada.clone())
        try context.save()
        XCTAssertThrowsError(try ada.clone())
    }
}
