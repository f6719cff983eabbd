import Corestone
import XCTest

/// Both sides of a relationship agree after merges into changed objects and after undo; see `MergeUndoRandomTests`.
final class MergedRelationshipTests: GraphTestCase {
    private var here: Context!
    private var ada: ManagedObject!
    private var departments: [ManagedObject] = []

    override func setUpWithError() throws {
        try super.setUpWithError()
        for name in ["A", "B", "C"] { _ = try department(name) }
        _ = try employee("Ada", in: try one("Department", "A", context))
        _ = try employee("Bob")
        _ = try context.insert("Project", ["title": "P"])
        try context.save()
        here = other()
        here.automaticallyMergesChangesFromParent = true
        try here.setUndoManager(UndoManager())
        ada = try one("Employee", "Ada", here)
        departments = try ["A", "B", "C"].map { try one("Department", $0, here) }
        for department in departments { XCTAssertNotNil(try department.members("employees")) }
    }

    private func one(_ entity: String, _ name: String, _ context: Context) throws -> ManagedObject {
        try XCTUnwrap(try context.fetch(entity, entity == "Project" ? "title == %@" : "name == %@", name).first)
    }

    private var counts: [Int] { get throws { try departments.map { try $0.memberCount("employees") } } }

    private func move(_ name: String) throws {
        try one("Employee", "Ada", context).set("department", try one("Department", name, context))
        try context.save()
    }

    /// The merge removes Ada from the newer members without an undo step: the first undo has a visible effect.
    func testMergeRecordsNoUndoStep() throws {
        try ada.set("department", departments[1])
        try here.processPendingChanges()
        try move("C")
        XCTAssertEqual(try counts, [0, 1, 0])
        XCTAssertTrue(try here.undo())
        XCTAssertTrue(try ada.get("department", as: ManagedObject.self) === departments[2])
        XCTAssertEqual(try counts, [0, 0, 1])
        XCTAssertFalse(try here.undo(), "there was one step")
        XCTAssertFalse(here.hasChanges)
    }

    /// The changes before the merge in the same event form one undo step, without the merge.
    func testMergeWithinAnEventIsNotPartOfItsUndoStep() throws {
        try ada.set("department", departments[1])
        try move("C")
        XCTAssertEqual(try counts, [0, 1, 0])
        XCTAssertTrue(try here.undo())
        XCTAssertEqual(try counts, [0, 0, 1])
        XCTAssertFalse(try here.undo())
        XCTAssertTrue(try here.redo())
        XCTAssertEqual(try counts, [0, 1, 0])
        try here.processPendingChanges()
        here.mergePolicy = .objectTrump
        try here.save()
        XCTAssertEqual(try one("Department", "B", other()).memberCount("employees"), 1)
    }

    func testMoveAfterAnotherContextMadeTheSameMoveKeepsOneOwner() throws {
        try ada.set("department", departments[1])
        try here.processPendingChanges()
        try move("B")
        XCTAssertEqual(try counts, [0, 1, 0])
        try ada.set("department", departments[2])
        XCTAssertEqual(try counts, [0, 0, 1])
        try here.refreshAll()
        XCTAssertEqual(try counts, [0, 0, 1])
        try ada.set("department", departments[0])
        try here.refreshAll()
        XCTAssertEqual(try counts, [1, 0, 0])
    }

    /// A relationship that both contexts added can be removed.
    func testRelationshipAddedByBothContextsCanBeRemoved() throws {
        let project = try one("Project", "P", here)
        try ada.add(project, to: "projects")
        try here.processPendingChanges()
        try one("Employee", "Ada", context).add(try one("Project", "P", context), to: "projects")
        try context.save()
        try ada.remove(project, from: "projects")
        XCTAssertEqual(try [ada.memberCount("projects"), project.memberCount("members")], [0, 0])
        here.mergePolicy = .objectTrump
        try here.save()
        XCTAssertEqual(try one("Project", "P", other()).memberCount("members"), 0)
    }

    func testUndoOfAOneToOneChangeShowsTheMergedPartner() throws {
        let bob = try one("Employee", "Bob", here)
        try ada.set("spouse", bob)
        try here.processPendingChanges()
        let cid = try employee("Cid")
        try cid.set("spouse", try one("Employee", "Ada", context))
        try context.save()
        let third = try one("Employee", "Cid", here)
        XCTAssertTrue(try ada.get("spouse", as: ManagedObject.self) === bob)
        XCTAssertNil(try third.get("spouse", as: ManagedObject.self))
        XCTAssertTrue(try here.undo())
        XCTAssertTrue(try ada.get("spouse", as: ManagedObject.self) === third)
        XCTAssertTrue(try third.get("spouse", as: ManagedObject.self) === ada)
        XCTAssertNil(try bob.get("spouse", as: ManagedObject.self))
    }

    /// A relationship that another context removed stays removed when the deletion of one side is undone.
    func testUndoOfADeletionDoesNotRestoreARelationshipRemovedElsewhere() throws {
        let project = try one("Project", "P", here)
        let (theirAda, theirProject) = (try one("Employee", "Ada", context), try one("Project", "P", context))
        try theirAda.add(theirProject, to: "projects")
        try context.save()
        XCTAssertEqual(try project.memberCount("members"), 1)
        try here.delete(ada)
        try here.processPendingChanges()
        try theirAda.remove(theirProject, from: "projects")
        try context.save()
        XCTAssertTrue(try here.undo())
        XCTAssertEqual(try [ada.memberCount("projects"), project.memberCount("members")], [0, 0])
        XCTAssertFalse(here.hasChanges)
    }

    /// Undo does not change members that were not loaded and are correct in the store.
    ///
    /// The row of a refreshed member refers to its owner.
    func testUndoOfARefreshedChangeLeavesNoPendingMembers() throws {
        for (away, then, expected) in [(nil, "C", [0, 0, 1]), ("B", "B", [0, 1, 0])] {
            try setUpWithError()
            try ada.set("department", away.map { try one("Department", $0, here) })
            try here.processPendingChanges()
            try here.refresh(ada, mergeChanges: false)
            try here.refreshAll()
            try here.undo()
            try move(then)
            XCTAssertEqual(try counts, expected)
            XCTAssertFalse(here.hasChanges)
        }
    }

    /// Undo of a deletion does not change a partner that was refreshed in between.
    func testUndoOfADeletionDoesNotChangeARefreshedPartner() throws {
        let bob = try one("Employee", "Bob", here)
        try bob.set("spouse", ada)
        try here.processPendingChanges()
        try here.delete(bob)
        try here.processPendingChanges()
        try here.refresh(ada, mergeChanges: false)
        XCTAssertTrue(try here.undo())
        XCTAssertFalse(bob.isDeleted)
        XCTAssertNil(try bob.get("spouse", as: ManagedObject.self))
        XCTAssertNil(try ada.get("spouse", as: ManagedObject.self))
    }

    /// Loading members of which one is deleted is not a change. Undo of the deletion restores the member, whether or
    /// not the members of the deleted object were loaded since.
    func testUndoOfADeletionRestoresAMemberOfARefreshedPartner() throws {
        try one("Employee", "Bob", context).add(try one("Employee", "Ada", context), to: "friends")
        try context.save()
        for readsAgain in [true, false] {
            here = other()
            try here.setUndoManager(UndoManager())
            let (ada, bob) = (try one("Employee", "Ada", here), try one("Employee", "Bob", here))
            XCTAssertEqual(try [ada.memberCount("friends"), bob.memberCount("friends")], [1, 1])
            try here.delete(ada)
            try here.processPendingChanges()
            try here.refreshAll()
            try here.refresh(bob, mergeChanges: false)
            XCTAssertEqual(try bob.memberCount("friends"), 0)
            if readsAgain { XCTAssertEqual(try ada.memberCount("friends"), 1) }
            XCTAssertTrue(try here.undo())
            XCTAssertFalse(ada.isDeleted)
            XCTAssertEqual(try [ada.memberCount("friends"), bob.memberCount("friends")], [1, 1])
            XCTAssertFalse(here.hasChanges)
            XCTAssertFalse(try here.undo(), "there was one step")
        }
    }

    /// The members of the deleted object are newer than the row of a member, which was read before it was added.
    func testDeletionNullifiesAMemberWithAStaleRow() throws {
        for isChanged in [false, true] {
            let stale = other()
            stale.mergePolicy = .objectTrump
            let (held, deleted) = (try one("Employee", "Bob", stale), isChanged ? "B" : "C")
            XCTAssertNil(try held.get("department", as: ManagedObject.self))
            try one("Employee", "Bob", context).set("department", try one("Department", deleted, context))
            try context.save()
            try stale.delete(try one("Department", deleted, stale))
            if isChanged { try held.set("age", 50) }
            try stale.save()
            XCTAssertNil(try one("Employee", "Bob", other()).get("department", as: ManagedObject.self))
            XCTAssertNil(try held.get("department", as: ManagedObject.self))
            try context.refreshAll()
        }
    }

    /// Without a merge policy, the save reports a conflict.
    func testDeletionConflictsWithAStaleChangedMember() throws {
        let stale = other()
        let held = try one("Employee", "Bob", stale)
        XCTAssertNotNil(try held.get("name", as: String.self))
        try one("Employee", "Bob", context).set("department", try one("Department", "C", context))
        try context.save()
        try stale.delete(try one("Department", "C", stale))
        try held.set("age", 50)
        XCTAssertThrowsError(try stale.save()) { XCTAssertEqual(($0 as? CoreError)?.status, .conflict) }
        try stale.rollback()
        XCTAssertEqual(try one("Department", "C", other()).memberCount("employees"), 1)
    }

    /// The refresh reverts the effect of the delete rule, so that the member refers to the deleted object again.
    func testSaveNullifiesAMemberRefreshedAfterTheDeletion() throws {
        let (bob, department) = (try one("Employee", "Bob", context), try one("Department", "C", context))
        try bob.set("department", department)
        try context.save()
        try context.delete(department)
        try context.processPendingChanges()
        XCTAssertNil(try bob.get("department", as: ManagedObject.self))
        try context.refresh(bob, mergeChanges: false)
        try context.save()
        XCTAssertNil(try bob.get("department", as: ManagedObject.self))
        XCTAssertNil(try one("Employee", "Bob", other()).get("department", as: ManagedObject.self))
    }

    /// The refreshed object has the newest row, so that the save finds no conflict. The delete rules must apply to the
    /// member that was added in between.
    func testDeleteRulesApplyToNewMembersOfARefreshedDeletedObject() throws {
        for refreshesAll in [true, false] {
            let department = try one("Department", "C", context)
            _ = try department.memberCount("employees")
            try context.delete(department)
            try context.processPendingChanges()
            let others = other()
            try one("Employee", "Bob", others).set("department", try one("Department", "C", others))
            try others.save()
            if refreshesAll {
                try context.refreshAll()
            } else {
                try context.refresh(department, mergeChanges: true)
            }
            try context.save()
            XCTAssertNil(try one("Employee", "Bob", other()).get("department", as: ManagedObject.self))
            XCTAssertEqual(try other().fetch("Department").count, 2)
            _ = try context.insert("Department", ["name": "C"])
            try context.save()
        }
    }

    /// The delete rules change nothing in this case, so they do not record an undo step.
    func testSaveOfARefreshedDeletedObjectRecordsNoUndoStep() throws {
        let bob = try one("Employee", "Bob", here)
        for name in ["Ada", "Bob"] {
            try one("Employee", name, context).set("age", 50)
            try context.save()
        }
        try bob.add(ada, to: "friends")
        try here.delete(bob)
        try here.processPendingChanges()
        try here.refresh(ada, mergeChanges: true)
        try here.refresh(bob, mergeChanges: true)
        here.undoManager?.removeAllActions()
        here.mergePolicy = .objectTrump
        try here.save()
        XCTAssertEqual(here.undoManager?.canUndo, false)
    }
}
