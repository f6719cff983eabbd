import Corestone
import XCTest

/// Members of relationships after a save that inserted a row again which another context had deleted.
final class InsertedAgainTests: GraphTestCase {
    func testReinsertedRowIsAMemberOfItsOwnerAgain() throws {
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
        // The members are read while the row is deleted.
        try context.processPendingChanges()
        XCTAssertTrue(try department.members("employees").contains { $0 === bob })
        try context.save()
        XCTAssertEqual(try Context(coordinator: coordinator).count("Employee"), 2)
        XCTAssertEqual(
            Set(try department.members("employees").map { try $0.get("name") ?? "" }), ["Ada", "Bob"])
    }

    /// The context that had deleted the row applies the delete rules of its owner to it.
    ///
    /// It also does so if a value was read while the row did not exist, so that the object counted as deleted.
    func testDeletingContextAppliesDeleteRulesToTheReinsertedRow() throws {
        for merges in [true, false] {
            for (isMissed, processes) in [(false, false), (false, true), (true, false), (true, true)] {
                context.automaticallyMergesChangesFromParent = merges
                let department = try context.insert("Department", ["name": "R&D"])
                let bob = try employee("Bob")
                try context.save()
                let (others, id) = (other(), bob.objectID)
                (context.mergePolicy, others.mergePolicy) = (.objectTrump, .objectTrump)
                let theirs = try others.fetch("Employee", "name == 'Bob'")[0]
                try theirs.set("department", try others.fetch("Department", "name == 'R&D'")[0])
                try others.processPendingChanges()
                if merges { XCTAssertEqual(try department.memberCount("employees"), 0) }
                try context.delete(bob)
                try context.save()
                let missed = isMissed ? try context.object(with: id) : nil
                if let missed {
                    XCTAssertNil(try missed.get("name", as: String.self))
                    XCTAssertTrue(missed.isDeleted)
                }
                try others.save()
                if processes { try context.processPendingChanges() }
                if let missed, merges, processes {
                    XCTAssertFalse(missed.isDeleted)
                    XCTAssertEqual(try missed.get("name", as: String.self), "Bob")
                }
                try context.delete(department)
                try context.save()
                let found = try other().fetch("Employee", "name == 'Bob'")[0]
                XCTAssertNil(
                    try found.get("department", as: ManagedObject.self), "\(merges), \(isMissed), \(processes)")
                try context.delete(try context.fetch("Employee", "name == 'Bob'")[0])
                try context.save()
            }
        }
    }

    /// A context that deletes the owner in between, when the row is not a member, gets a conflict. The delete rules
    /// then apply to the row, too.
    func testOwnerDeletedBeforeTheReinsertionNullifiesTheReinsertedRow() throws {
        let department = try context.insert("Department", ["name": "R&D"])
        let project = try context.insert("Project", ["title": "P"])
        let bob = try employee("Bob", in: department)
        try context.save()
        let others = other()
        let theirs = try others.fetch("Employee", "name == 'Bob'")[0]
        try theirs.set("age", 40)
        try theirs.add(try others.fetch("Project")[0], to: "projects")
        (context.mergePolicy, others.mergePolicy) = (.objectTrump, .objectTrump)
        try context.delete(bob)
        try context.save()
        XCTAssertEqual(try [department.memberCount("employees"), project.memberCount("members")], [0, 0])
        try context.delete(department)
        try context.delete(project)
        try others.save()
        try context.save()
        let found = try other().fetch("Employee", "name == 'Bob'")[0]
        XCTAssertEqual(try found.get("age", as: Int.self), 40)
        XCTAssertNil(try found.get("department", as: ManagedObject.self))
        XCTAssertEqual(try found.memberCount("projects"), 0)
    }

    /// A context deletes a target before it reads a row that refers to it.
    ///
    /// The delete rules also apply to the row that the context inserts again.
    func testReinsertedRowDoesNotReferToATargetDeletedInTheSameSave() throws {
        for processes in [true, false] {
            let department = try context.insert("Department", ["name": "R&D"])
            let project = try context.insert("Project")
            let (bob, eve) = (try employee("Bob"), try employee("Eve"))
            let task = try context.insert("Task", ["title": "T"])
            try context.save()
            let others = other()
            (context.mergePolicy, others.mergePolicy) = (.objectTrump, .objectTrump)
            for object in [department, project, eve] { try others.delete(others.object(with: object.objectID)) }
            if processes { try others.processPendingChanges() }
            try bob.set("department", department)
            try bob.set("spouse", eve)
            try task.set("project", project)
            try context.save()
            // Their first read finds the current targets of the rows.
            try others.object(with: bob.objectID).set("age", 40)
            try others.object(with: task.objectID).set("title", "U")
            for object in [bob, task] { try context.delete(object) }
            try context.save()
            try others.save()
            let after = other()
            let found = try after.fetch("Employee", "name == 'Bob'")
            XCTAssertEqual(try found.map { try $0.get("age", as: Int.self) }, [40], "\(processes)")
            for key in ["department", "spouse"] {
                XCTAssertEqual(try found[0].committedValues(forKeys: [key])[key], .null, "\(key), \(processes)")
            }
            XCTAssertEqual(try after.count("Task"), 0, "the rule of a project deletes its tasks, \(processes)")
            for object in found { try after.delete(object) }
            try after.save()
            try context.reset()
        }
    }
}
