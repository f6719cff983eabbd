import Corestone
import XCTest

/// Deferred merges: values of changed or deleted objects are merged when the change is reverted or saved.
final class LateMergeTests: BatchTestCase {
    /// The context under test, while `context` saves.
    private var here: Context!
    private var ada: ManagedObject!
    private var refreshed: [ManagedObject] = []
    private var deleted: [ManagedObject] = []
    private var observation: Observation?
    private let delegate = Follower()

    private final class Follower: FetchedResultsControllerDelegate {}

    override func setUpWithError() throws {
        try super.setUpWithError()
        try begin()
    }

    override func tearDown() {
        observation = nil
        (here, ada, refreshed, deleted) = (nil, nil, [], [])
        super.tearDown()
    }

    private func begin() throws {
        try open(GraphTestCase.company())
        try hire([("Ada", 1), ("Bea", 2)])
        here = fresh()
        here.automaticallyMergesChangesFromParent = true
        try here.setUndoManager(UndoManager())
        ada = try here.fetch("Employee", "name == 'Ada'")[0]
        XCTAssertEqual(try ada.get("age"), 1)
        observation = here.observe(.objectsDidChange) { [unowned self] _, changes in
            refreshed += changes.refreshed
            deleted += changes.deleted
        }
    }

    private enum Way: CaseIterable { case save, batch }

    /// Another context sets Ada's age.
    private func age(_ age: Int, by way: Way) throws {
        if way == .save {
            try context.fetch("Employee", "name == 'Ada'")[0].set("age", age)
            try context.save()
        } else {
            let request = BatchUpdateRequest(
                entity: try entity("Employee"), predicate: try Predicate.parse("name == 'Ada'"),
                propertiesToUpdate: ["age": .integer(Int64(age))])
            _ = try context.execute(request)
        }
        try here.processPendingChanges()
        (refreshed, deleted) = ([], [])
    }

    private func deleteAda() throws {
        let fetch = FetchRequest(entity: try entity("Employee"), predicate: try Predicate.parse("name == 'Ada'"))
        _ = try context.execute(BatchDeleteRequest(fetchRequest: fetch))
        try here.processPendingChanges()
        (refreshed, deleted) = ([], [])
    }

    private func list(pending: Bool = true) throws -> FetchedResultsController {
        let request = FetchRequest(
            entity: try entity("Employee"), predicate: nil, sortDescriptors: [SortDescriptor("age")])
        request.includesPendingChanges = pending
        let list = FetchedResultsController(fetchRequest: request, managedObjectContext: here)
        // Without a delegate, the controller would not track changes.
        list.delegate = delegate
        try list.performFetch()
        return list
    }

    private func names(_ list: FetchedResultsController) throws -> [String] {
        try XCTUnwrap(list.fetchedObjects).map { try $0.get("name") ?? "-" }
    }

    /// Ends a pending change by rollback, undo, refresh or save.
    private func end(_ way: String) throws {
        switch way {
        case "rollback": try here.rollback()
        case "undo": try here.undo()
        case "refresh": try here.refresh(ada, mergeChanges: false)
        default:
            here.mergePolicy = .storeTrump
            try here.save()
        }
        try here.processPendingChanges()
    }

    // MARK: Deleted objects

    func testRevertedDeletionShowsTheMergedValues() throws {
        for way in Way.allCases {
            for ending in ["rollback", "undo"] {
                try begin()
                let list = try list()
                try here.delete(ada)
                try age(9, by: way)
                XCTAssertTrue(ada.isDeleted)
                try end(ending)
                XCTAssertEqual(try ada.get("age"), 9, "\(way) \(ending)")
                XCTAssertFalse(here.hasChanges)
                XCTAssertTrue(refreshed.contains { $0 === ada }, "\(way) \(ending)")
                XCTAssertEqual(try names(list), ["Bea", "Ada"])
                guard ending == "undo" else { continue }
                try here.redo()
                XCTAssertTrue(ada.isDeleted)
                try here.save()
                XCTAssertEqual(try people(), ["Bea 2"])
            }
        }
    }

    func testSaveOfADeletionReportsTheConflictAfterAMerge() throws {
        try here.delete(ada)
        try age(9, by: .save)
        let error = failure { try here.save() }
        XCTAssertEqual(error.code, 133020)
        try here.rollback()
        XCTAssertEqual(try ada.get("age"), 9)
    }

    func testUndoneDeletionKeepsEarlierChangesAndMergedValues() throws {
        for way in Way.allCases {
            try begin()
            try ada.set("rating", 7.0)
            try here.processPendingChanges()
            try here.delete(ada)
            try age(9, by: way)
            try here.undo()
            XCTAssertEqual(try ada.get("age"), 9, "\(way)")
            XCTAssertEqual(try ada.get("rating"), 7.0)
            XCTAssertTrue(ada.isUpdated)
            try here.save()
            XCTAssertEqual(try people(), ["Ada 9", "Bea 2"])
        }
    }

    func testInvalidatedDeletedObjectIsReadAgainAfterRollback() throws {
        try here.delete(ada)
        try context.fetch("Employee", "name == 'Ada'")[0].set("age", 9)
        here.automaticallyMergesChangesFromParent = false
        try context.save()
        try here.mergeChanges(ChangedIDs(invalidated: [ada.objectID]))
        try here.rollback()
        XCTAssertEqual(try ada.get("age"), 9)
    }

    // MARK: Changed objects

    func testRevertedOrSavedChangeShowsTheMergedValues() throws {
        for way in Way.allCases {
            for ending in ["rollback", "undo", "refresh", "save"] {
                try begin()
                let list = try list()
                try ada.set("age", 5)
                try here.processPendingChanges()
                try age(9, by: way)
                XCTAssertEqual(try ada.get("age"), 5)
                if ending == "save", way == .save { continue }
                try end(ending)
                XCTAssertEqual(try ada.get("age"), 9, "\(way) \(ending)")
                XCTAssertFalse(here.hasChanges, "\(way) \(ending)")
                XCTAssertEqual(try names(list), ["Bea", "Ada"], "\(way) \(ending)")
                try here.save()
                XCTAssertEqual(try people(), ["Ada 9", "Bea 2"])
                guard ending == "undo" else { continue }
                try here.redo()
                XCTAssertEqual(try ada.get("age"), 5)
                try here.undo()
                XCTAssertEqual(try ada.get("age"), 9)
            }
        }
    }

    func testUndoAfterAMergeKeepsTheOtherChange() throws {
        try ada.set("rating", 7.0)
        try here.processPendingChanges()
        try ada.set("age", 5)
        try here.processPendingChanges()
        try age(9, by: .save)
        try here.undo()
        XCTAssertEqual(try ada.get("age"), 9)
        XCTAssertEqual(try ada.get("rating"), 7.0)
        XCTAssertEqual(try ada.changedValues().keys.sorted(), ["rating"])
        try here.undo()
        XCTAssertEqual(try ada.get("rating"), 1000.0)
        XCTAssertFalse(here.hasChanges)
    }

    /// Both sides of a relationship that another context changed in between.
    func testUndoOfATargetShowsTheMergedTarget() throws {
        for name in ["A", "B", "C"] { _ = try context.insert("Department", ["name": name]) }
        let theirs = try context.fetch("Employee", "name == 'Ada'")[0]
        func department(_ name: String, _ context: Context) throws -> ManagedObject {
            try context.fetch("Department", "name == %@", name)[0]
        }
        try theirs.set("department", try department("A", context))
        try context.save()
        let departments = try ["A", "B", "C"].map { try department($0, here) }
        XCTAssertEqual(try departments.map { try $0.memberCount("employees") }, [1, 0, 0])
        here.undoManager?.removeAllActions()
        try ada.set("department", departments[1])
        try here.processPendingChanges()
        XCTAssertEqual(try departments.map { try $0.memberCount("employees") }, [0, 1, 0])
        try theirs.set("department", try department("C", context))
        try context.save()
        try here.processPendingChanges()
        XCTAssertEqual(try departments.map { try $0.memberCount("employees") }, [0, 1, 0])
        while try here.undo() {}
        let target: ManagedObject? = try ada.get("department")
        XCTAssertTrue(target === departments[2])
        XCTAssertEqual(try departments.map { try $0.memberCount("employees") }, [0, 0, 1])
        XCTAssertFalse(here.hasChanges)
    }

    func testObjectOfADeletedRowIsDeletedWhenItsChangeIsReverted() throws {
        for ending in ["rollback", "undo", "refresh"] {
            try begin()
            let list = try list()
            try ada.set("age", 5)
            try here.processPendingChanges()
            try deleteAda()
            XCTAssertEqual(try names(list), ["Bea", "Ada"])
            try end(ending)
            XCTAssertTrue(ada.isDeleted, ending)
            XCTAssertTrue(deleted.contains { $0 === ada }, ending)
            XCTAssertEqual(try names(list), ["Bea"], ending)
            XCTAssertEqual(here.deletedObjects.count, 0)
            try here.save()
            XCTAssertTrue(ada.isGone)
        }
        try begin()
        try ada.set("age", 5)
        try deleteAda()
        here.mergePolicy = .objectTrump
        try here.save()
        XCTAssertFalse(ada.isDeleted, "the save reinserted the row")
        XCTAssertEqual(try people(), ["Ada 5", "Bea 2"])
        try ada.set("age", 6)
        try here.rollback()
        XCTAssertFalse(ada.isDeleted)
    }

    /// A transient change is not written and cannot be in conflict. The save ends it.
    func testObjectWithATransientChangeIsDeletedAtTheSaveWhenItsRowWas() throws {
        try ada.set("speed", 5.0)
        try deleteAda()
        XCTAssertFalse(ada.isDeleted)
        try here.save()
        XCTAssertTrue(ada.isDeleted)
        XCTAssertFalse(here.hasChanges)
    }

    func testFailedSaveKeepsTheDeferredMerge() throws {
        try ada.set("age", 5)
        try age(9, by: .batch)
        XCTAssertEqual(failure { try here.save() }.code, 133020)
        XCTAssertEqual(try ada.get("age"), 5)
        try here.rollback()
        XCTAssertEqual(try ada.get("age"), 9)
    }

    func testResetDiscardsTheDeferredMerge() throws {
        try here.delete(ada)
        try age(9, by: .save)
        try here.reset()
        XCTAssertTrue(ada.isGone)
        try here.rollback()
        XCTAssertEqual(try here.fetch("Employee", sort: ["name"])[0].get("age"), 9)
    }

    // MARK: Saved state, children

    func testResultsWithoutPendingChangesFollowSavesAtOnce() throws {
        let list = try list(pending: false)
        XCTAssertEqual(try names(list), ["Ada", "Bea"])
        try here.delete(ada)
        try here.processPendingChanges()
        try age(9, by: .save)
        XCTAssertEqual(list.fetchedObjects?.map(\.objectID).last, ada.objectID)
        try here.rollback()
        try ada.set("age", 0)
        try here.processPendingChanges()
        try age(1, by: .batch)
        XCTAssertEqual(list.fetchedObjects?.map(\.objectID).first, ada.objectID)
        try deleteAda()
        XCTAssertEqual(try names(list), ["Bea"])
    }

    func testChildMergesTheDeferredValuesOfItsParent() throws {
        let child = Context(parent: here)
        child.automaticallyMergesChangesFromParent = true
        let hers = try child.fetch("Employee", "name == 'Ada'")[0]
        XCTAssertEqual(try hers.get("age"), 1)
        try ada.set("age", 5)
        try here.processPendingChanges()
        try age(9, by: .batch)
        try child.processPendingChanges()
        try here.rollback()
        try child.processPendingChanges()
        XCTAssertEqual(try hers.get("age"), 9)
    }
}
