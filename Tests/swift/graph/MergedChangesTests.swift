import Corestone
import CorestoneGraph
import CorestoneValues
import XCTest

/// Merging of saved changes into other contexts.
final class MergedChangesTests: GraphTestCase {
    private var saved: [ChangedIDs] = []
    private var observation: Observation?

    override func setUpWithError() throws {
        try super.setUpWithError()
        saved = []
        observation = context.observe(.didSaveObjectIDs) { [unowned self] _, changes in saved.append(changes.ids) }
    }

    func testMergeUpdatesLoadedObjectsAndKeepsUnsavedChanges() throws {
        let ada = try employee("Ada")
        try context.save()
        let second = other()
        let theirs = try second.fetch("Employee")[0]
        XCTAssertEqual(try theirs.get("name"), "Ada")
        try ada.set("name", "Alicia")
        try ada.set("age", 30)
        try context.save()
        XCTAssertEqual(try theirs.get("name"), "Ada")
        try theirs.set("rating", 7.0)
        try second.mergeChanges(saved[1])
        XCTAssertEqual(try theirs.get("name"), "Alicia")
        XCTAssertEqual(try theirs.get("rating"), 7.0)
        XCTAssertTrue(theirs.hasChanges)
        try second.save()
        XCTAssertEqual(try other().fetch("Employee")[0].get("rating"), 7.0)
    }

    func testMergeRegistersInsertedObjects() throws {
        let ada = try employee("Ada")
        try context.save()
        let second = other()
        XCTAssertNil(second.registeredObject(with: ada.objectID))
        try second.mergeChanges(saved[0])
        let theirs = try XCTUnwrap(second.registeredObject(with: ada.objectID))
        XCTAssertEqual(try theirs.get("name"), "Ada")
        XCTAssertFalse(second.hasChanges)
    }

    /// Objects whose rows were deleted elsewhere are found by ID until the next save.
    ///
    /// Objects that a merge names as deleted although their rows exist have new objects, to which unsaved references
    /// refer.
    func testObjectsDeletedElsewhereAreFoundByID() throws {
        let objects = try (0..<60).map { try employee("\($0)") }
        try context.save()
        let second = other()
        let ids = objects.map(\.objectID)
        let theirs = try ids.map { try second.existingObject(with: $0) }
        func mergeDeletions(_ ids: ArraySlice<ObjectID>) throws {
            try Context.mergeChanges(fromRemoteContextSave: ["deleted": ids.map { .id($0) }], into: [second])
        }
        for object in objects[..<30] { try context.delete(object) }
        try context.save()
        try mergeDeletions(ids[..<30])
        for (id, object) in zip(ids[..<30], theirs) {
            XCTAssertTrue(second.registeredObject(with: id) === object)
            XCTAssertTrue(object.isDeleted)
        }
        let task = try second.insert("Task")
        try task.set("watcher", theirs[40])
        try mergeDeletions(ids[30...])
        for (id, object) in zip(ids[30...], theirs[30...]) {
            let fresh = try XCTUnwrap(second.registeredObject(with: id))
            XCTAssertFalse(fresh === object, "\(id.uri)")
            XCTAssertTrue(object.isGone, "\(id.uri)")
            XCTAssertFalse(fresh.isDeleted)
        }
        XCTAssertTrue(try task.get("watcher", as: ManagedObject.self) === second.registeredObject(with: ids[40]))
        for (id, object) in zip(ids[..<30], theirs) { XCTAssertTrue(second.registeredObject(with: id) === object) }
        try second.save()
        for id in ids[..<30] { XCTAssertNil(second.registeredObject(with: id)) }
    }

    func testMergedDeletionIsNotAPendingChange() throws {
        let department = try self.department("R&D")
        let ada = try employee("Ada", in: department)
        _ = try employee("Bob", in: department)
        try context.save()
        let second = other()
        let theirs = try second.fetch("Employee", "name == 'Ada'")[0]
        let home: ManagedObject = try theirs.get("department")!
        XCTAssertEqual(try home.memberCount("employees"), 2)
        try theirs.set("department", try second.insert("Department", ["name": "new"]))
        try context.delete(ada)
        try context.save()
        try second.mergeChanges(saved[1])
        XCTAssertTrue(theirs.isDeleted)
        XCTAssertEqual(try theirs.get("name"), "Ada", "still readable")
        XCTAssertEqual(try names(home.members("employees")), ["Bob"])
        XCTAssertEqual(second.insertedObjects.count, 1)
        XCTAssertTrue(second.updatedObjects.allSatisfy { $0 === home })
        XCTAssertEqual(second.deletedObjects.count, 0)
        try second.save()
        XCTAssertTrue(theirs.isGone)
        XCTAssertEqual(try other().count("Employee"), 1)
    }

    func testRootContextMergesAutomatically() throws {
        let ada = try employee("Ada")
        try context.save()
        let second = other()
        second.automaticallyMergesChangesFromParent = true
        XCTAssertTrue(second.automaticallyMergesChangesFromParent)
        let theirs = try second.fetch("Employee")[0]
        XCTAssertEqual(try theirs.get("name"), "Ada")
        var merged = 0
        let watch = second.observe(.didMergeChangesObjectIDs) { _, changes in merged += changes.ids.updated.count }
        try ada.set("name", "Alicia")
        try context.save()
        XCTAssertEqual(try theirs.get("name"), "Alicia")
        XCTAssertEqual(merged, 1)
        watch.cancel()
        second.automaticallyMergesChangesFromParent = false
        try ada.set("name", "Zoe")
        try context.save()
        XCTAssertEqual(try theirs.get("name"), "Alicia")
    }

    func testPrivateQueueContextMergesOnItsQueue() throws {
        let ada = try employee("Ada")
        try context.save()
        let second = Context(coordinator: coordinator, queue: .privateQueue)
        second.automaticallyMergesChangesFromParent = true
        var held: ManagedObject?
        try second.performAndWait {
            held = try $0.fetch("Employee")[0]
            XCTAssertEqual(try held?.get("name"), "Ada")
        }
        try ada.set("name", "Alicia")
        try context.save()
        try second.performAndWait { _ in XCTAssertEqual(try held?.get("name"), "Alicia") }
        try second.performAndWait { try $0.reset() }
    }

    func testChildMergesSavesOfItsParent() throws {
        let ada = try employee("Ada")
        try context.save()
        let child = Context(parent: context)
        child.automaticallyMergesChangesFromParent = true
        let theirs = try child.fetch("Employee")[0]
        XCTAssertEqual(try theirs.get("name"), "Ada")
        try ada.set("name", "Alicia")
        XCTAssertEqual(try theirs.get("name"), "Ada", "merged before the parent saved")
        try context.save()
        XCTAssertEqual(try theirs.get("name"), "Alicia")
    }

    func testRemoteChangesAreMergedByURI() throws {
        let ada = try employee("Ada")
        try context.save()
        let second = other()
        let theirs = try second.fetch("Employee")[0]
        XCTAssertEqual(try theirs.get("name"), "Ada")
        // A change in the store that bypasses the coordinator.
        let root = ada.objectID.entity.root.index
        let slot = Int(try ada.objectID.entity.requireProperty(named: "name").slot)
        store.rows[root]?[ada.objectID.reference]?.values[slot] = .string("Remote")
        store.rows[root]?[ada.objectID.reference]?.version += 1
        try Context.mergeChanges(
            fromRemoteContextSave: ["updated_objectIDs": [.uri(ada.objectID.uri)], "inserted": []],
            into: [second, context])
        XCTAssertEqual(try theirs.get("name"), "Remote")
        XCTAssertEqual(try ada.get("name"), "Remote")
        XCTAssertThrowsError(
            try Context.mergeChanges(fromRemoteContextSave: ["changed": []], into: [second])
        ) { XCTAssertEqual(($0 as? CoreError)?.status, .invalidArgument) }
    }

    func testOnlyInvalidatedRemoteChangesDiscardUnsavedChanges() throws {
        let slot = Int(try model.requireEntity(named: "Employee").requireProperty(named: "name").slot)
        for suffix in ["", "_objectIDs"] {
            for (key, keeps) in [("updated", true), ("refreshed", true), ("invalidated", false)] {
                let what = key + suffix
                let mine = try [employee("\(what) 0"), employee("\(what) 1")]
                try context.save()
                let second = other()
                let theirs = try mine.map { try second.object(with: $0.objectID) }
                for object in theirs {
                    try object.set("rating", 7.0)
                    let id = object.objectID
                    store.rows[id.entity.root.index]?[id.reference]?.values[slot] = .string("Remote \(what)")
                    store.rows[id.entity.root.index]?[id.reference]?.version += 1
                }
                let changes: [RemoteObject] = [.uri(mine[0].objectID.uri), .id(mine[1].objectID)]
                try Context.mergeChanges(fromRemoteContextSave: [what: changes], into: [second])
                for object in theirs {
                    XCTAssertEqual(try object.get("name"), "Remote \(what)")
                    XCTAssertEqual(try object.get("rating"), keeps ? 7.0 : 1000.0, what)
                    XCTAssertEqual(object.hasChanges, keeps, what)
                }
                XCTAssertEqual(second.updatedObjects.count, keeps ? 2 : 0, what)
            }
        }
    }

    func testS231_MergeNotifiesOnlyOfChangesToRegisteredObjects() throws {
        for number in 0..<10 { _ = try employee("E\(number)") }
        try context.save()
        let viewer = other()
        viewer.automaticallyMergesChangesFromParent = true
        let seen = try viewer.fetch("Employee", "name IN {'E1', 'E2'}")
        XCTAssertEqual(try names(seen), ["E1", "E2"])
        var posted: [ContextChanges] = []
        let watch = viewer.observe(.objectsDidChange) { _, changes in posted.append(changes) }
        defer { watch.cancel() }
        let editor = other()
        func edit(_ name: String, _ body: (ManagedObject) throws -> Void) throws {
            try body(try editor.fetch("Employee", "name == %@", name)[0])
            try editor.save()
        }
        try edit("E3") { try $0.set("age", 3) }
        try edit("E6") { try editor.delete($0) }
        try edit("E2") { try $0.set("age", 2) }
        XCTAssertEqual(posted.count, 1)
        let changes = try XCTUnwrap(posted.first)
        XCTAssertEqual(changes.refreshed.count, 1)
        XCTAssertTrue(changes.inserted.isEmpty && changes.updated.isEmpty && changes.deleted.isEmpty)
        XCTAssertEqual(try names(changes.refreshed), ["E2"])
    }

    func testS233_IDsOfAChildSaveAreTemporary() throws {
        let child = Context(parent: context)
        var told: [ChangedIDs] = []
        let watch = child.observe(.didSaveObjectIDs) { _, changes in told.append(changes.ids) }
        defer { watch.cancel() }
        for number in 0..<2 { _ = try child.insert("Employee", ["name": "E\(number)"]) }
        try child.save()
        XCTAssertEqual(told.map(\.inserted.count), [2])
        XCTAssertTrue(told[0].inserted.allSatisfy(\.isTemporary))
        for number in 0..<2 { _ = try context.insert("Employee", ["name": "R\(number)"]) }
        try context.save()
        XCTAssertEqual(saved.map(\.inserted.count), [4])
        XCTAssertFalse(saved[0].inserted.contains(where: \.isTemporary))
    }

    /// A save of another thread conflicts with unsaved changes of a confined context, and is merged after a rollback.
    func testSaveOfAnotherThreadConflictsWithUnsavedChanges() throws {
        let ada = try employee("Ada")
        try ada.set("age", 1)
        try context.save()
        context.automaticallyMergesChangesFromParent = true
        try ada.set("age", 2)
        let (coordinator, id) = (coordinator!, ada.objectID)
        let saved = expectation(description: "saved")
        Thread.detachNewThread {
            do {
                let other = Context(coordinator: coordinator)
                try other.object(with: id).set("age", 10)
                try other.save()
            } catch { XCTFail("\(error)") }
            saved.fulfill()
        }
        wait(for: [saved], timeout: 60)
        _ = try context.count("Department")
        XCTAssertThrowsError(try context.save()) { XCTAssertEqual(($0 as? CoreError)?.code, 133020) }
        try context.rollback()
        _ = try context.count("Department")
        XCTAssertEqual(try ada.get("age"), 10)
    }

    /// An automatic merge has no caller that could receive its error, so the error is logged.
    func testFailedAutomaticMergeIsLogged() throws {
        let ada = try employee("Ada")
        try context.save()
        let second = other()
        second.name = "list"
        second.automaticallyMergesChangesFromParent = true
        try second.fetch("Employee")[0].set("rating", 7.0)
        let lines = Locked<[String]>([])
        DebugLog.setSink { line in lines.withLock { $0.append(line) } }
        defer { DebugLog.setSink(nil) }
        try ada.set("age", 30)
        let watch = context.observe(.didSave) { [unowned self] _, _ in
            store.readFailure = CoreError(.storeIO, "the disk is on fire")
        }
        try context.save()
        watch.cancel()
        try second.processPendingChanges()
        store.readFailure = nil
        let told = lines.withLock { $0 }.filter { $0.contains("did not merge") }
        XCTAssertEqual(told.count, 1)
        XCTAssertTrue(told.first?.contains("context \"list\"") == true && told.first?.contains("on fire") == true)
    }

    func testChildMergesChangesThatItsParentMerges() throws {
        let ada = try employee("Ada")
        try ada.set("age", 1)
        try context.save()
        let middle = Context(coordinator: coordinator), child = Context(parent: middle)
        middle.automaticallyMergesChangesFromParent = true
        child.automaticallyMergesChangesFromParent = true
        let theirs = try child.object(with: ada.objectID)
        XCTAssertEqual(try theirs.get("age"), 1)
        try ada.set("age", 7)
        try context.save()
        XCTAssertEqual(try middle.object(with: ada.objectID).get("age"), 7)
        XCTAssertEqual(try theirs.get("age"), 7)
    }
}
