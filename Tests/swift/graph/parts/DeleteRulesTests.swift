import Corestone
import XCTest

@testable import CorestoneGraph

/// Delete rules as a step of their own, between the deletion of an object and the save.
final class DeleteRulesTests: GraphTestCase {
    private var rules: DeleteRules { context.deleteRules }
    private var pending: [ManagedObject] { context.changeTracker.pendingDeletions }

    private func watcher(of task: ManagedObject) throws -> ManagedObject? { try task.get("watcher") }

    func testMarkedObjectKeepsItsReferencesUntilTheRulesAreApplied() throws {
        let sales = try department("Sales")
        let ada = try employee("Ada", in: sales)
        try context.save()
        rules.markDeleted(sales)
        XCTAssertEqual(pending, [sales])
        XCTAssertTrue(try ada.get("department", as: ManagedObject.self) === sales)
        try rules.apply()
        XCTAssertNil(try ada.get("department", as: ManagedObject.self))
        XCTAssertTrue(sales.state.contains(.propagated))
        XCTAssertEqual(pending, [])
    }

    func testRulesOfCascadedObjectsAreAppliedToo() throws {
        let (ada, project) = (try employee("Ada"), try context.insert("Project", ["title": "P"]))
        let task = try context.insert("Task", ["title": "T"])
        try task.set("project", project)
        try task.set("owner", ada)
        try context.save()
        rules.markDeleted(project)
        try rules.apply()
        XCTAssertTrue(task.isDeleted)
        XCTAssertTrue(task.state.contains(.propagated))
        XCTAssertEqual(context.changeTracker.deleted, [project, task])
        XCTAssertEqual(try ada.members("tasks"), [])
        XCTAssertEqual(pending, [])
    }

    /// The rule Deny fails a save, not the deletion, so that the referring objects can be deleted in between.
    func testDenyRuleIsNotCheckedBeforeTheSave() throws {
        let (ada, project) = (try employee("Ada"), try context.insert("Project", ["title": "P"]))
        try project.add(ada, to: "reviewers")
        try context.save()
        rules.markDeleted(ada)
        try rules.apply()
        XCTAssertEqual(try project.members("reviewers"), [ada])
        XCTAssertThrowsError(try context.save()) {
            XCTAssertEqual(($0 as? CoreError)?.code, CocoaCode.validationRelationshipDeniedDelete.rawValue)
        }
        try context.delete(project)
        try context.save()
        XCTAssertTrue(ada.isGone)
    }

    /// No row refers to an object that was never saved, so only unsaved references to it are removed.
    func testOneSidedReferencesAreClearedInUnsavedChangesOnly() throws {
        let ada = try employee("Ada")
        let old = try context.insert("Task", ["title": "old", "watcher": ada])
        try context.save()
        let new = try context.insert("Task", ["title": "new", "watcher": ada])
        try rules.clearOneSidedReferences(of: [ada])
        XCTAssertNil(try watcher(of: new))
        XCTAssertTrue(try watcher(of: old) === ada)
        XCTAssertFalse(old.hasChanges)
    }

    func testOneSidedReferencesAreRedirectedToTheReplacingObject() throws {
        let (ada, bob, eve) = (try employee("Ada"), try employee("Bob"), try employee("Eve"))
        let moved = try context.insert("Task", ["title": "moved", "watcher": eve])
        let kept = try context.insert("Task", ["title": "kept", "watcher": bob])
        try rules.redirectOneSided(from: eve, to: ada)
        XCTAssertTrue(try watcher(of: moved) === ada)
        XCTAssertTrue(try watcher(of: kept) === bob)
    }

    func testDeletionStaysPendingWhenAMemberCannotBeRead() throws {
        _ = try employee("Ada", in: department("Sales"))
        try context.save()
        // The rows are not in the row cache of the new coordinator.
        coordinator = try Coordinator(model: model)
        _ = try coordinator.add(store)
        let second = other()
        let sales = try XCTUnwrap(second.fetch("Department").first)
        second.deleteRules.markDeleted(sales)
        store.readFailure = CoreError(.storeIO, "the disk is away")
        XCTAssertThrowsError(try second.deleteRules.apply())
        XCTAssertEqual(second.changeTracker.pendingDeletions, [sales])
        XCTAssertFalse(sales.state.contains(.propagated))
        store.readFailure = nil
        try second.deleteRules.apply()
        XCTAssertEqual(second.changeTracker.pendingDeletions, [])
        let ada = try XCTUnwrap(second.fetch("Employee").first)
        XCTAssertNil(try ada.get("department", as: ManagedObject.self))
    }

    func testRulesAreScheduledAgainOnlyAfterTheyWereApplied() throws {
        let sales = try department("Sales")
        try context.save()
        rules.scheduleAgain(sales)
        XCTAssertEqual(pending, [], "an object that is not deleted was scheduled")
        rules.markDeleted(sales)
        rules.scheduleAgain(sales)
        XCTAssertEqual(pending, [sales], "rules that are pending were scheduled twice")
        try rules.apply()
        rules.scheduleAgain(sales)
        XCTAssertEqual(pending, [sales])
        XCTAssertFalse(sales.state.contains(.propagated))
        try rules.apply()
        context.changeTracker.noteMissingRow(sales)
        rules.scheduleAgain(sales)
        XCTAssertEqual(pending, [], "an object whose row is deleted was scheduled")
    }
}
