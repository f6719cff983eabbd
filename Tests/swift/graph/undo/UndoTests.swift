import XCTest

@testable import CorestoneGraph
@testable import CorestoneModel
@testable import CorestoneValues

/// Undo and redo of a context's changes.
final class UndoTests: GraphTestCase {
    private var manager: UndoManager!

    override func setUpWithError() throws {
        try super.setUpWithError()
        manager = UndoManager()
        try context.setUndoManager(manager)
    }

    private func key(_ object: ManagedObject, _ name: String) throws -> UInt32 {
        try object.entity.requireProperty(named: name).key
    }

    private func target(_ object: ManagedObject, _ name: String) throws -> ManagedObject? { try object.get(name) }

    private func members(_ object: ManagedObject, _ name: String) throws -> [ManagedObject] {
        try object.members(key: key(object, name))
    }

    private func count(_ entity: String) -> Int { store.rows[model.entity(named: entity)!.root.index]?.count ?? 0 }

    func testContextHasNoUndoManagerByDefault() throws {
        let plain = Context(coordinator: coordinator)
        XCTAssertNil(plain.undoManager)
        _ = try plain.insert("Department")
        try plain.undo()
        try plain.redo()
        XCTAssertEqual(plain.insertedObjects.count, 1)
        try plain.setUndoManager(nil)
        try context.setUndoManager(nil)
        XCTAssertNil(context.undoManager)
    }

    /// Detaches the manager from the context during an undo, between the context's actions of the step.
    func testContextDetachedDuringAnUndoLeavesNoAction() throws {
        struct Failure: Error {}
        for fails in [false, true] {
            weak var kept: UndoManager?
            do {
                let manager = UndoManager()
                kept = manager
                let other = Context(coordinator: coordinator)
                try other.setUndoManager(manager)
                try manager.beginUndoGrouping()
                _ = try other.insert("Department")
                try other.processPendingChanges()
                try manager.registerUndo { [unowned manager] in
                    try other.setUndoManager(nil)
                    XCTAssertTrue(manager.recorders.isEmpty)
                    if fails { throw Failure() }
                }
                try manager.endUndoGrouping()
                if fails {
                    XCTAssertThrowsError(try manager.undo())
                } else {
                    try manager.undo()
                }
                XCTAssertFalse(manager.canUndo)
                XCTAssertFalse(manager.canRedo)
                // The action of the context was not undone.
                XCTAssertEqual(other.insertedObjects.count, 1)
            }
            XCTAssertNil(kept)
        }
    }

    /// An observer detaches the manager while the context registers its changes.
    func testContextDetachedWhileRecordingLeavesNoAction() throws {
        weak var kept: UndoManager?
        do {
            let manager = UndoManager()
            kept = manager
            let other = Context(coordinator: coordinator)
            try other.setUndoManager(manager)
            let token = manager.observe(.didOpenGroup) { _ in try? other.setUndoManager(nil) }
            _ = try other.insert("Department")
            try other.processPendingChanges()
            token.cancel()
            XCTAssertTrue(manager.recorders.isEmpty)
            manager.closeEventGroup()
            XCTAssertFalse(manager.canUndo)
        }
        XCTAssertNil(kept)
    }

    func testRemovalOfActionsWithinANestedUndoAffectsTheOuterGroup() throws {
        var undone = 0
        try manager.beginUndoGrouping()
        try manager.registerUndo(target: self) { undone += 1 }
        try manager.beginUndoGrouping()
        try manager.registerUndo { [unowned self] in manager.removeAllActions(for: self) }
        try manager.endUndoGrouping()
        try manager.undoNestedGroup()
        try manager.endUndoGrouping()
        try manager.undo()
        XCTAssertEqual(undone, 0)
    }

    func testUndoAndRedoRevertInsertions() throws {
        let sales = try department("Sales")
        let ann = try employee("Ann", in: sales)
        let id = ann.objectID
        try context.undo()
        XCTAssertTrue(context.insertedObjects.isEmpty)
        XCTAssertTrue(ann.isGone)
        XCTAssertNil(context.registeredObject(with: id))
        XCTAssertFalse(context.hasChanges)
        XCTAssertFalse(manager.canUndo)
        try context.redo()
        XCTAssertEqual(context.insertedObjects.count, 2)
        XCTAssertTrue(context.registeredObject(with: id) === ann)
        XCTAssertEqual(try ann.get("name"), "Ann")
        XCTAssertTrue(try target(ann, "department") === sales)
        XCTAssertTrue(try members(sales, "employees").elementsEqual([ann], by: ===))
        try context.save()
        XCTAssertEqual(count("Employee"), 1)
    }

    func testUndoOfChangesOfSavedObjectsLeavesThemClean() throws {
        let (sales, support) = (try department("Sales"), try department("Support"))
        let ann = try employee("Ann", in: sales)
        try context.save()
        try ann.set("name", "Anna")
        try ann.set("speed", 3.0)
        try ann.set("department", support)
        try context.undo()
        XCTAssertEqual(try ann.get("name"), "Ann")
        XCTAssertEqual(try ann.get("speed"), Double?.none)
        XCTAssertTrue(try target(ann, "department") === sales)
        XCTAssertTrue(try members(sales, "employees").elementsEqual([ann], by: ===))
        XCTAssertTrue(try members(support, "employees").isEmpty)
        XCTAssertFalse(context.hasChanges)
        XCTAssertNil(ann.overlay)
        try context.redo()
        XCTAssertEqual(try ann.get("name"), "Anna")
        XCTAssertEqual(try ann.get("speed"), 3.0)
        XCTAssertTrue(try target(ann, "department") === support)
        XCTAssertTrue(try members(support, "employees").elementsEqual([ann], by: ===))
        XCTAssertEqual(context.updatedObjects.count, 3)
        try context.save()
        try context.undo()
        XCTAssertEqual(try ann.get("name"), "Ann")
        XCTAssertTrue(ann.isUpdated)
        try context.redo()
        XCTAssertFalse(context.hasChanges)
    }

    func testUndoOfADeletionRestoresRelationshipsBeforeAndAfterASave() throws {
        let project = try context.insert("Project")
        let tasks = try (0..<3).map { try context.insert("Task", ["title": "\($0)"]) }
        try project.addMembers(tasks, key: key(project, "tasks"))
        let ann = try employee("Ann")
        _ = try project.addMember(ann, key: key(project, "members"))
        try context.save()
        for savesBetween in [false, true] {
            try context.delete(project)
            if savesBetween { try context.save() } else { try context.processPendingChanges() }
            XCTAssertTrue(try members(ann, "projects").isEmpty)
            try context.undo()
            XCTAssertFalse(project.isDeleted)
            XCTAssertFalse(project.isGone)
            XCTAssertEqual(project.isInserted, savesBetween)
            XCTAssertTrue(try members(project, "tasks").elementsEqual(tasks, by: ===))
            XCTAssertTrue(try tasks.allSatisfy { try target($0, "project") === project })
            XCTAssertTrue(try members(ann, "projects").elementsEqual([project], by: ===))
            XCTAssertEqual(try tasks.map { try $0.get("title") }, ["0", "1", "2"])
            XCTAssertEqual(context.hasChanges, savesBetween)
            try context.save()
        }
        XCTAssertEqual(count("Task"), 3)
        XCTAssertEqual(count("Project"), 1)
    }

    func testUndoOfASavedInsertionDeletesTheObject() throws {
        let sales = try department("Sales")
        try context.save()
        let ann = try employee("Ann", in: sales)
        try context.save()
        try context.undo()
        XCTAssertTrue(ann.isDeleted)
        XCTAssertTrue(try members(sales, "employees").isEmpty)
        try context.redo()
        XCTAssertFalse(context.hasChanges)
        try context.undo()
        try context.save()
        XCTAssertEqual(count("Employee"), 0)
        try context.redo()
        XCTAssertTrue(ann.isInserted)
        XCTAssertTrue(try members(sales, "employees").elementsEqual([ann], by: ===))
        try context.save()
        XCTAssertEqual(count("Employee"), 1)
    }

    func testUndoRestoresTheOrderOfMembers() throws {
        let project = try context.insert("Project")
        let tasks = try (0..<4).map { try context.insert("Task", ["title": "\($0)"]) }
        let key = try key(project, "tasks")
        try project.addMembers(tasks, key: key)
        for isSaved in [false, true] {
            if isSaved { try context.save() } else { try context.processPendingChanges() }
            try project.moveMember(from: 0, to: 3, key: key)
            try project.removeMember(at: 0, key: key)
            try context.undo()
            XCTAssertTrue(try project.members(key: key).elementsEqual(tasks, by: ===))
            XCTAssertEqual(project.isUpdated, false)
            try context.redo()
            XCTAssertTrue(try project.members(key: key).elementsEqual([tasks[2], tasks[3], tasks[0]], by: ===))
            try context.undo()
        }
        XCTAssertFalse(context.hasChanges)
    }

    /// The positions of many members are restored together.
    func testUndoOfDeletionsRestoresPositionsInAnOrderedRelationship() throws {
        let project = try context.insert("Project")
        let tasks = try (0..<600).map { try context.insert("Task", ["title": "\($0)"]) }
        let key = try key(project, "tasks")
        try project.addMembers(tasks, key: key)
        try context.save()
        for hasOtherChanges in [false, true] {
            var expected = tasks
            if hasOtherChanges {
                // The unsaved order remains, and so does a new member.
                try project.moveMember(from: 0, to: 599, key: key)
                let task = try context.insert("Task", ["title": "new"])
                try project.addMember(task, key: key)
                try context.processPendingChanges()
                expected = Array(tasks[1...]) + [tasks[0], task]
            }
            for task in tasks.enumerated() where task.offset % 3 != 1 { try context.delete(task.element) }
            try context.processPendingChanges()
            XCTAssertEqual(try project.memberCount(key: key), hasOtherChanges ? 201 : 200)
            try context.undo()
            XCTAssertTrue(try project.members(key: key).elementsEqual(expected, by: ===), "\(hasOtherChanges)")
            XCTAssertEqual(project.isUpdated, hasOtherChanges)
            try context.redo()
            XCTAssertEqual(try project.memberCount(key: key), hasOtherChanges ? 201 : 200)
            try context.undo()
            XCTAssertTrue(try project.members(key: key).elementsEqual(expected, by: ===), "\(hasOtherChanges)")
        }
        try context.save()
        let read = try other().object(with: project.objectID).members(key: key)
        XCTAssertEqual(try read.prefix(2).map { try $0.get("title") }, ["1", "2"])
        XCTAssertEqual(try read.suffix(2).map { try $0.get("title") }, ["0", "new"])
    }

    func testDeletionOfAnUnsavedObjectIsUndone() throws {
        let (sales, ann) = (try department("Sales"), try employee("Ann"))
        try context.processPendingChanges()
        try ann.set("department", sales)
        try ann.set("name", "Anna")
        try context.delete(ann)
        try context.processPendingChanges()
        XCTAssertTrue(ann.isGone)
        try context.undo()
        XCTAssertTrue(ann.isInserted)
        XCTAssertEqual(try ann.get("name"), "Ann")
        XCTAssertNil(try target(ann, "department"))
        XCTAssertTrue(try members(sales, "employees").isEmpty)
        XCTAssertEqual(context.insertedObjects.count, 2)
        try context.redo()
        XCTAssertTrue(ann.isGone)
        try context.undo()
        try context.undo()
        XCTAssertTrue(context.insertedObjects.isEmpty)
        XCTAssertFalse(manager.canUndo)
    }

    func testRollbackResetAndRefreshRemoveUndoSteps() throws {
        let ann = try employee("Ann")
        try context.save()
        XCTAssertTrue(manager.canUndo)
        try context.rollback()
        XCTAssertFalse(manager.canUndo)
        try ann.set("name", "Anna")
        try context.save()
        try ann.set("age", 7)
        try context.processPendingChanges()
        try context.refresh(ann, mergeChanges: false)
        try context.undo()
        try context.undo()
        XCTAssertEqual(try ann.get("name"), "Anna")
        XCTAssertFalse(ann.isUpdated)
        try ann.set("name", "Annie")
        try context.undo()
        XCTAssertEqual(try ann.get("name"), "Anna")
        try context.redo()
        try context.reset()
        XCTAssertFalse(manager.canUndo || manager.canRedo)
    }

    func testUndoKeepsChangesWithoutRegistration() throws {
        let (sales, support, stock) = (try department("Sales"), try department("Support"), try department("Stock"))
        let ann = try employee("Ann", in: sales)
        try context.save()
        for isLoaded in [false, true] {
            if isLoaded { for each in [sales, support, stock] { _ = try members(each, "employees") } }
            try ann.set("department", support)
            manager.disableUndoRegistration()
            try ann.set("department", stock)
            try ann.set("age", 5)
            try manager.enableUndoRegistration()
            try context.undo()
            XCTAssertTrue(try target(ann, "department") === sales)
            XCTAssertEqual(try ann.get("age"), 5)
            XCTAssertTrue(try members(sales, "employees").elementsEqual([ann], by: ===))
            XCTAssertTrue(try members(support, "employees").isEmpty)
            XCTAssertTrue(try members(stock, "employees").isEmpty)
            try context.rollback()
        }
        XCTAssertThrowsError(try manager.enableUndoRegistration())
    }

    func testLevelsOfUndoLimitTheStepsOfAContext() throws {
        manager.levelsOfUndo = 2
        let ann = try employee("Ann")
        for name in ["a", "b", "c"] {
            try context.processPendingChanges()
            try ann.set("name", name)
        }
        for _ in 0..<5 { try context.undo() }
        XCTAssertEqual(try ann.get("name"), "a")
        XCTAssertFalse(manager.canUndo)
    }

    /// Objects of a removed store cannot be restored, so their undo steps are removed.
    func testUndoStepsAreRemovedWithTheStoreOfTheirObjects() throws {
        let ann = try employee("Ann")
        try context.save()
        try ann.set("name", "Anna")
        try context.processPendingChanges()
        let new = try employee("New")
        try new.set("spouse", ann)
        try coordinator.remove(coordinator.stores[0])
        XCTAssertTrue(ann.isGone)
        XCTAssertFalse(manager.canUndo)
        XCTAssertFalse(try context.undo())
        XCTAssertNil(try new.get("spouse", as: ManagedObject.self))
        try new.set("age", 3)
        try context.undo()
        XCTAssertNil(try new.get("age", as: Int.self))
        // Also without pending changes.
        let second = try coordinator.add(MemoryStore(model: model, identifier: "00000000-0000-0000-0000-00000000000B"))
        try context.save()
        try coordinator.remove(second)
        XCTAssertTrue(new.isGone)
        _ = try employee("Last")
        try context.processPendingChanges()
        XCTAssertTrue(manager.canUndo)
    }

    func testTwoContextsCanShareAnUndoManager() throws {
        let second = other()
        try second.setUndoManager(manager)
        let sales = try department("Sales")
        try context.processPendingChanges()
        let support = try second.insert("Department")
        try manager.undo()
        XCTAssertTrue(support.isGone)
        XCTAssertFalse(sales.isGone)
        try context.rollback()
        XCTAssertTrue(manager.canRedo)
        try manager.redo()
        XCTAssertFalse(support.isGone)
        try second.setUndoManager(nil)
        XCTAssertFalse(manager.canUndo)
    }

    func testTenThousandChangesAreUndoneAndRedone() throws {
        let all = try (0..<10_000).map { try employee("\($0)") }
        try context.save()
        for object in all { try object.set("age", 1) }
        try context.processPendingChanges()
        let clock = ContinuousClock()
        let undone = try clock.measure { try context.undo() }
        XCTAssertFalse(context.hasChanges)
        let redone = try clock.measure { try context.redo() }
        XCTAssertEqual(context.updatedObjects.count, 10_000)
        print("undo \(undone), redo \(redone)")
    }
}
