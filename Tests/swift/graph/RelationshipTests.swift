import Corestone
import Foundation
import XCTest

final class RelationshipTests: GraphTestCase {
    func testSettingAToOneRelationshipUpdatesItsInverse() throws {
        let (a, b) = (try department("A"), try department("B"))
        let ada = try employee("Ada", in: a)
        XCTAssertEqual(try names(a.members("employees")), ["Ada"])
        try ada.set("department", b)
        XCTAssertEqual(try a.memberCount("employees"), 0)
        XCTAssertEqual(try names(b.members("employees")), ["Ada"])
        try ada.set("department", nil)
        XCTAssertEqual(try b.memberCount("employees"), 0)
    }

    func testAddingAMemberRemovesItFromItsFormerOwner() throws {
        let (a, b) = (try department("A"), try department("B"))
        let ada = try employee("Ada", in: a)
        try context.save()
        try b.add(ada, to: "employees")
        XCTAssertTrue(try ada.get("department", as: ManagedObject.self) === b)
        XCTAssertEqual(try a.memberCount("employees"), 0)
        try context.save()
        let fresh = other()
        let again = try fresh.object(with: b.objectID)
        XCTAssertEqual(try names(again.members("employees")), ["Ada"])
        XCTAssertEqual(try fresh.object(with: a.objectID).memberCount("employees"), 0)
    }

    func testSettingAOneToOneRelationshipClearsTheFormerPartner() throws {
        let (ada, bob, cyd) = (try employee("Ada"), try employee("Bob"), try employee("Cyd"))
        try ada.set("spouse", bob)
        XCTAssertTrue(try bob.get("spouse", as: ManagedObject.self) === ada)
        try cyd.set("spouse", bob)
        XCTAssertTrue(try bob.get("spouse", as: ManagedObject.self) === cyd)
        XCTAssertNil(try ada.get("spouse", as: ManagedObject.self))
        try context.save()
        let fresh = other()
        XCTAssertNil(try fresh.object(with: ada.objectID).get("spouse", as: ManagedObject.self))
    }

    /// Opens a store with two people and their homes. The rows of homes are not in the row cache.
    private func openHomes(_ hooks: LifecycleHooks? = nil) throws {
        model = try Model(
            text: """
                {
                  "Person": {"name": "string?", "age": "int32?", "home": "to-one Home? inverse owner"},
                  "Home": {"title": "string?", "owner": "to-one Person? inverse home"}
                }
                """)
        if let hooks { try model.requireEntity(named: "Person").setLifecycle(hooks) }
        coordinator = try Coordinator(model: model)
        store = MemoryStore(model: model)
        _ = try coordinator.add(store)
        context = Context(coordinator: coordinator)
        for number in 1...2 {
            let home = try context.insert("Home", ["title": "H\(number)"])
            _ = try context.insert("Person", ["name": "P\(number)", "age": number, "home": home])
        }
        try context.save()
        coordinator = try Coordinator(model: model)
        _ = try coordinator.add(store)
        context = Context(coordinator: coordinator)
    }

    /// Returns the people and homes of `openHomes`. Only the second home cannot be read afterwards.
    private func readAllButTheSecondHome() throws -> (people: [ManagedObject], homes: [ManagedObject]) {
        let people = try context.fetch("Person", sort: ["name"])
        XCTAssertEqual(try names(people), ["P1", "P2"])
        let homes = try people.map { try XCTUnwrap($0.get("home", as: ManagedObject.self)) }
        XCTAssertEqual(try homes[0].get("title"), "H1")
        XCTAssertTrue(homes[1].isFault)
        store.readFailure = CoreError(.storeIO, "the disk is away")
        return (people, homes)
    }

    private func checkHomes(_ people: [ManagedObject], _ homes: [ManagedObject]) throws {
        XCTAssertEqual(try names(people), ["P1", "P2"])
        for (person, home) in zip(people, homes) {
            XCTAssertTrue(try person.get("home", as: ManagedObject.self) === home)
        }
        XCTAssertEqual(try homes[0].get("title"), "H1")
        XCTAssertTrue(try homes[0].get("owner", as: ManagedObject.self) === people[0])
        XCTAssertFalse(context.hasChanges)
    }

    func testSettingAOneToOneRelationshipChangesNothingWhenAFormerPartnerCannotBeRead() throws {
        try openHomes()
        let (people, homes) = try readAllButTheSecondHome()
        let changes: [(object: ManagedObject, name: String, target: ManagedObject?)] = [
            (people[1], "home", nil), (people[1], "home", homes[0]), (homes[0], "owner", people[1]),
            (people[0], "home", homes[1]),
        ]
        for (object, name, target) in changes {
            XCTAssertThrowsError(try object.set(name, target)) { XCTAssertEqual(($0 as? CoreError)?.status, .storeIO) }
            try checkHomes(people, homes)
        }
        store.readFailure = nil
        try homes[0].set("owner", people[1])
        XCTAssertTrue(try people[1].get("home", as: ManagedObject.self) === homes[0])
        XCTAssertNil(try people[0].get("home", as: ManagedObject.self))
        XCTAssertNil(try homes[1].get("owner", as: ManagedObject.self))
    }

    func testSettingSeveralPropertiesChangesNothingWhenAFormerPartnerCannotBeRead() throws {
        var hooks = LifecycleHooks()
        hooks.setNilValue = { person, _ in try person.set("name", "changed") }
        try openHomes(hooks)
        let (people, homes) = try readAllButTheSecondHome()
        let changes: [(object: ManagedObject, values: [(name: String, value: PropertyValue)])] = [
            (people[1], [("name", .text("new")), ("home", .null)]),
            // The hook for the age runs before the home cannot be read.
            (people[1], [("age", .null), ("home", .null)]),
            (homes[0], [("title", .text("new")), ("owner", .object(people[1]))]),
        ]
        for (object, values) in changes {
            XCTAssertThrowsError(try object.set(values)) {
                XCTAssertEqual(($0 as? CoreError)?.status, .storeIO)
            }
            try checkHomes(people, homes)
        }
        store.readFailure = nil
        try people[1].set([("age", .null), ("home", .null)])
        XCTAssertEqual(try people[1].get("name"), "changed")
        XCTAssertNil(try people[1].get("home", as: ManagedObject.self))
        XCTAssertNil(try homes[1].get("owner", as: ManagedObject.self))
    }

    func testObjectCanBeItsOwnOneToOneTarget() throws {
        let ada = try employee("Ada")
        try ada.set("spouse", ada)
        XCTAssertTrue(try ada.get("spouse", as: ManagedObject.self) === ada)
        try ada.set("spouse", nil)
        XCTAssertNil(try ada.get("spouse", as: ManagedObject.self))
    }

    func testManyToManyRelationshipIsMaintainedOnBothSides() throws {
        let (ada, bob) = (try employee("Ada"), try employee("Bob"))
        let project = try context.insert("Project")
        try ada.add(project, to: "projects")
        try project.add(bob, to: "members")
        XCTAssertEqual(try names(project.members("members")), ["Ada", "Bob"])
        try context.save()
        let fresh = other()
        let stored = try fresh.object(with: project.objectID)
        XCTAssertEqual(try names(stored.members("members")), ["Ada", "Bob"])
        try stored.remove(fresh.object(with: ada.objectID), from: "members")
        try fresh.save()
        XCTAssertEqual(try other().object(with: ada.objectID).memberCount("projects"), 0)
        XCTAssertEqual(try other().object(with: bob.objectID).memberCount("projects"), 1)
    }

    func testReflexiveManyToManyRelationshipIsStoredSymmetrically() throws {
        let (ada, bob) = (try employee("Ada"), try employee("Bob"))
        try ada.add(bob, to: "friends")
        try ada.add(ada, to: "friends")
        XCTAssertEqual(try names(bob.members("friends")), ["Ada"])
        try context.save()
        XCTAssertEqual(try names(other().object(with: ada.objectID).members("friends")), ["Ada", "Bob"])
        XCTAssertEqual(try names(other().object(with: bob.objectID).members("friends")), ["Ada"])
    }

    func testChangesOfAnUnloadedRelationshipDoNotLoadIt() throws {
        let a = try department("A")
        for name in ["Ada", "Bob", "Cyd"] { _ = try employee(name, in: a) }
        try context.save()
        let fresh = other()
        let stored = try fresh.object(with: a.objectID)
        let bob = try XCTUnwrap(fresh.fetch("Employee", "name == 'Bob'").first)
        let before = store.requests
        try bob.set("department", nil)
        let dee = try fresh.insert("Employee", ["name": "Dee", "department": stored])
        XCTAssertLessThanOrEqual(store.requests - before, 1, "setting a department must not load its employees")
        XCTAssertEqual(try names(stored.members("employees")), ["Ada", "Cyd", "Dee"])
        try fresh.delete(dee)
        XCTAssertEqual(try names(stored.members("employees")).count, 3)
        try fresh.processPendingChanges()
        XCTAssertEqual(try names(stored.members("employees")), ["Ada", "Cyd"])
    }

    func testOrderedMembersKeepTheirOrder() throws {
        let project = try context.insert("Project")
        let tasks = try ["a", "b", "c", "d"].map { try context.insert("Task", ["title": $0]) }
        try project.setMembers(tasks, of: "tasks")
        try project.insert(tasks[3], at: 0, in: "tasks")
        func titles(_ object: ManagedObject) throws -> String {
            try object.members("tasks").map { try $0.get("title") ?? "" }.joined()
        }
        XCTAssertEqual(try titles(project), "dabc")
        try context.save()
        let fresh = other()
        let stored = try fresh.object(with: project.objectID)
        XCTAssertEqual(try titles(stored), "dabc")
        try stored.insert(fresh.object(with: tasks[2].objectID), at: 1, in: "tasks")
        XCTAssertEqual(try titles(stored), "dcab")
        try fresh.save()
        XCTAssertEqual(try titles(other().object(with: project.objectID)), "dcab")
        XCTAssertThrowsError(try stored.insert(fresh.object(with: tasks[0].objectID), at: 4, in: "tasks"))
    }

    func testOrderedMembersCanBeMovedReplacedAndRemovedByIndex() throws {
        let project = try context.insert("Project")
        let tasks = try ["a", "b", "c", "d"].map { try context.insert("Task", ["title": $0]) }
        func titles() throws -> String { try project.members("tasks").map { try $0.get("title") ?? "" }.joined() }
        try project.setMembers(Array(tasks[..<3]), of: "tasks")
        try project.moveMember(from: 0, to: 2, in: "tasks")
        XCTAssertEqual(try titles(), "bca")
        try project.replaceMember(at: 1, with: tasks[3], in: "tasks")
        XCTAssertEqual(try titles(), "bda")
        let former: ManagedObject? = try tasks[2].get("project")
        XCTAssertNil(former, "the replaced member is removed")
        try project.replaceMember(at: 0, with: tasks[0], in: "tasks")
        XCTAssertEqual(try titles(), "ad")
        try project.removeMember(at: 0, from: "tasks")
        XCTAssertEqual(try titles(), "d")
        XCTAssertThrowsError(try project.removeMember(at: 1, from: "tasks")) {
            XCTAssertEqual(($0 as? CoreError)?.key, "tasks")
        }
        XCTAssertThrowsError(try project.moveMember(from: 0, to: -1, in: "tasks"))
    }

    func testPrimitiveValueIsNotAPendingChange() throws {
        let task = try context.insert("Task", ["title": "a"])
        try context.save()
        try task.setPrimitive("title", "b")
        XCTAssertEqual(try task.get("title"), "b")
        XCTAssertFalse(context.hasChanges)
        try context.refresh(task, mergeChanges: false)
        XCTAssertEqual(try task.get("title"), "a")
    }

    func testTargetsOfOtherContextsAndEntitiesAreRefused() throws {
        let ada = try employee("Ada")
        let foreign = try other().insert("Department")
        XCTAssertThrowsError(try ada.set("department", foreign)) {
            XCTAssertEqual(($0 as? CoreError)?.status, .invalidArgument)
            XCTAssertEqual(($0 as? CoreError)?.key, "department")
        }
        XCTAssertThrowsError(try ada.set("department", ada)) {
            XCTAssertEqual(($0 as? CoreError)?.status, .typeMismatch)
        }
    }

    /// Discarding the changes of one object reverts the other side too, so that both sides agree after a save.
    func testRefreshWithoutMergingRevertsBothSides() throws {
        let (ada, bob) = (try employee("Ada"), try employee("Bob"))
        let (home, away) = (try department("Home"), try department("Away"))
        let project = try context.insert("Project")
        try ada.set("department", home)
        try bob.add(project, to: "projects")
        try context.save()
        try ada.add(project, to: "projects")
        try ada.set("department", away)
        try ada.set("spouse", bob)
        try context.refresh(ada, mergeChanges: false)
        XCTAssertEqual(try names(project.members("members")), ["Bob"])
        XCTAssertEqual(try names(home.members("employees")), ["Ada"])
        XCTAssertEqual(try away.memberCount("employees"), 0)
        XCTAssertNil(try bob.get("spouse", as: ManagedObject.self))
        try project.remove(bob, from: "members")
        try away.add(ada, to: "employees")
        try context.refresh(project, mergeChanges: false)
        try context.refresh(away, mergeChanges: false)
        XCTAssertEqual(try bob.memberCount("projects"), 1)
        XCTAssertTrue(try ada.get("department", as: ManagedObject.self) === home)
        try context.save()
        let fresh = other()
        XCTAssertEqual(try names(fresh.object(with: project.objectID).members("members")), ["Bob"])
        XCTAssertEqual(try names(fresh.object(with: home.objectID).members("employees")), ["Ada"])
    }

    /// An ID with the wrong entity of a tree never reads a row with the wrong layout.
    func testIDWithAWrongEntityIsNotReadWithItsLayout() throws {
        let mona = try context.insert("Manager", ["name": "Mona", "level": 3])
        let ada = try employee("Ada")
        try context.save()
        func id(_ object: ManagedObject, as entity: String) throws -> ObjectID {
            let uri = object.objectID.uri.replacingOccurrences(of: object.entityName, with: entity)
            return try XCTUnwrap(coordinator.objectID(forURI: uri))
        }
        let fresh = other()
        let wrong = try fresh.object(with: id(ada, as: "Manager"))
        XCTAssertThrowsError(try wrong.get("level", as: Int.self)) {
            XCTAssertEqual(($0 as? CoreError)?.status, .objectGone)
            XCTAssertTrue(($0 as? CoreError)?.message.contains("refers to a row of Employee, not of Manager") == true)
        }
        XCTAssertEqual(try fresh.existingObject(with: id(mona, as: "Employee")).entityName, "Manager")
        XCTAssertEqual(try fresh.existingObject(with: id(mona, as: "Employee")).get("level"), 3)
        let found = try XCTUnwrap(fresh.fetch("Employee", "name == 'Ada'").first)
        XCTAssertEqual(found.entityName, "Employee")
        XCTAssertTrue(wrong.isGone, "the fetch replaced the wrong object")
    }

    /// An ID with the wrong entity never detaches a changed object.
    func testIDWithAWrongEntityDoesNotReplaceARegisteredObject() throws {
        let mona = try context.insert("Manager", ["name": "Mona", "level": 3])
        try context.save()
        let uri = mona.objectID.uri.replacingOccurrences(of: "Manager", with: "Employee")
        let wrong = try XCTUnwrap(coordinator.objectID(forURI: uri))
        try mona.set("level", 4)
        XCTAssertIdentical(try context.object(with: wrong), mona)
        XCTAssertIdentical(try context.existingObject(with: wrong), mona)
        try context.save()
        XCTAssertEqual(try other().object(with: mona.objectID).get("level"), 4)
    }

    func testDeletedObjectRefusesTargets() throws {
        let (ada, home) = (try employee("Ada"), try department("Home"))
        try context.save()
        XCTAssertEqual(try home.memberCount("employees"), 0)
        try context.delete(ada)
        try context.processPendingChanges()
        XCTAssertThrowsError(try ada.set("department", home)) {
            XCTAssertEqual(($0 as? CoreError)?.status, .invalidArgument)
        }
        XCTAssertThrowsError(try home.add(ada, to: "employees"))
        try context.save()
        XCTAssertEqual(try home.members("employees").count, 0)
    }

    /// An unsaved object that is deleted has no effect on the save, although its delete rule denies deletions.
    func testUnsavedObjectCanBeDeletedRegardlessOfItsDenyRule() throws {
        let model = Model()
        let section = try model.addEntity(named: "Section")
        let package = try model.addEntity(named: "Package")
        let packages = try section.addRelationship(named: "packages", destination: package, isToMany: true)
        let inSection = try package.addRelationship(named: "section", destination: section)
        try packages.setInverse(inSection)
        try inSection.setDeleteRule(.deny)
        let friend = try section.addRelationship(named: "friend", destination: section)
        _ = friend
        let coordinator = try Coordinator(model: model)
        _ = try coordinator.add(MemoryStore(model: model))
        let context = Context(coordinator: coordinator)
        let libs = try context.insert("Section")
        try context.delete(context.insert("Package", ["section": libs]))
        try context.save()
        XCTAssertEqual(try libs.memberCount("packages"), 0)
        // A reference to an object that the save deletes is nil afterwards.
        let gone = try context.insert("Section")
        try context.save()
        try libs.set("friend", gone)
        try context.delete(gone)
        try context.save()
        XCTAssertNil(try libs.get("friend", as: ManagedObject.self))
    }

    func testDeletedTargetIsRefused() throws {
        let (ada, home) = (try employee("Ada"), try department("Home"))
        try context.save()
        try context.delete(home)
        try context.processPendingChanges()
        XCTAssertThrowsError(try ada.set("department", home)) {
            XCTAssertEqual(($0 as? CoreError)?.status, .invalidArgument)
        }
        try context.save()
        XCTAssertNil(try other().object(with: ada.objectID).get("department", as: ManagedObject.self))
    }

    /// An owner whose members were read before another context moved one must not delete or detach the moved member.
    func testDeletionOfAStaleOwnerDoesNotDeleteMovedMembers() throws {
        let project = try context.insert("Project", ["title": "old"])
        let task = try context.insert("Task", ["title": "t", "project": project])
        let next = try context.insert("Project", ["title": "next"])
        try context.save()
        let second = other()
        let stale = try second.object(with: project.objectID)
        XCTAssertEqual(try stale.memberCount("tasks"), 1)
        try task.set("project", next)
        try context.save()
        try second.delete(stale)
        XCTAssertThrowsError(try second.save(), "the project changed since its tasks were read") {
            XCTAssertEqual(($0 as? CoreError)?.code, 133020)
        }
        let fresh = other()
        XCTAssertEqual(try fresh.object(with: task.objectID).get("project.title"), "next")
    }

    func testRefreshWithAPendingMoveKeepsOneOwner() throws {
        let (a, b) = (try department("a"), try department("b"))
        let ada = try employee("Ada")
        try context.save()
        let second = other()
        let mine = try second.object(with: ada.objectID)
        try mine.set("department", second.object(with: b.objectID))
        try ada.set("department", a)
        try context.save()
        XCTAssertThrowsError(try second.save())
        try second.refresh(mine, mergeChanges: true)
        XCTAssertEqual(try second.object(with: a.objectID).memberCount("employees"), 0)
        XCTAssertEqual(try second.object(with: b.objectID).memberCount("employees"), 1)
    }

    /// A refresh keeps pending changes, including the order of members.
    func testRefreshWithMergingKeepsAPendingOrder() throws {
        let project = try context.insert("Project")
        let tasks = try ["a", "b", "c"].map { try context.insert("Task", ["title": $0]) }
        try project.setMembers(Array(tasks[..<2]), of: "tasks")
        try context.save()
        try project.insert(tasks[1], at: 0, in: "tasks")
        try project.insert(tasks[2], at: 1, in: "tasks")
        let changed = [tasks[1], tasks[2], tasks[0]]
        try context.refreshAll()
        XCTAssertTrue(try project.members("tasks").elementsEqual(changed, by: ===))
        try context.refresh(project, mergeChanges: true)
        XCTAssertTrue(try project.members("tasks").elementsEqual(changed, by: ===))
        try context.save()
        let again = try other().object(with: project.objectID)
        XCTAssertEqual(try again.members("tasks").map { try $0.get("title") ?? "" }, ["b", "c", "a"])
    }
}
