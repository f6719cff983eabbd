import Corestone
import CorestoneGraph
import XCTest

/// Nested contexts: their view of the parent's objects, and the effect of their saves.
final class NestingTests: GraphTestCase {
    private var child: Context!

    override func setUpWithError() throws {
        try super.setUpWithError()
        child = Context(parent: context)
        child.shouldDeleteInaccessibleFaults = false
    }

    private func inChild(_ object: ManagedObject) throws -> ManagedObject { try child.object(with: object.objectID) }

    func testChildSeesUnsavedStateOfItsParent() throws {
        let department = try self.department("R&D")
        let ada = try employee("Ada", in: department)
        try context.save()
        try ada.set("name", "Ada L.")
        try ada.set("speed", 7.5)
        let bob = try employee("Bob", in: department)

        let found = try child.fetch("Employee", sort: ["name"])
        XCTAssertEqual(try found.map { try $0.get("name") ?? "" }, ["Ada L.", "Bob"])
        XCTAssertEqual(found.map(\.objectID), [ada.objectID, bob.objectID])
        XCTAssertFalse(found[0] === ada)
        XCTAssertTrue(found[0].isEqual(to: ada))
        XCTAssertTrue(found[1].isEqual(to: bob))
        XCTAssertNil(try found[0].get("speed", as: Double.self), "transient values are not shared")
        XCTAssertFalse(child.hasChanges)
        XCTAssertTrue(found.allSatisfy { !$0.hasChanges && !$0.isInserted })
        XCTAssertTrue(found[1].hasTemporaryID)
        // Relationships in both directions, and between saved and unsaved objects.
        let theirs: ManagedObject = try found[1].get("department")!
        XCTAssertEqual(theirs.objectID, department.objectID)
        XCTAssertEqual(try names(theirs.members("employees")), ["Ada L.", "Bob"])
        XCTAssertEqual(try child.count("Employee", "name BEGINSWITH 'Ada L'"), 1)
        XCTAssertEqual(try child.count("Employee", "department.name == 'R&D'"), 2)
        XCTAssertEqual(try child.count("Employee", "name == 'Ada'"), 0)
    }

    func testChildDoesNotSeeObjectsDeletedInItsParent() throws {
        let (ada, bob) = (try employee("Ada"), try employee("Bob"))
        try context.save()
        let held = try inChild(ada)
        try context.delete(ada)
        XCTAssertEqual(try names(child.fetch("Employee")), ["Bob"])
        XCTAssertEqual(try child.count("Employee"), 1)
        XCTAssertThrowsError(try held.get("name", as: String.self)) {
            XCTAssertEqual(($0 as? CoreError)?.status, .objectGone)
        }
        XCTAssertThrowsError(try child.existingObject(with: ada.objectID)) {
            XCTAssertEqual(($0 as? CoreError)?.code, 133000)
        }
        try child.delete(try inChild(bob))
        XCTAssertEqual(try child.count("Employee"), 0)
        XCTAssertEqual(try context.count("Employee"), 1)
    }

    func testChildSaveReachesTheParentOnly() throws {
        let department = try self.department("R&D")
        let ada = try employee("Ada", in: department)
        try context.save()
        let requests = store.rows.values.map(\.count).reduce(0, +)

        let theirs = try inChild(ada)
        try theirs.set("name", "Ada L.")
        let bob = try child.insert("Employee", ["name": "Bob"])
        try bob.set("department", try inChild(department))
        XCTAssertEqual(ada.objectID, theirs.objectID)
        XCTAssertEqual(try ada.get("name"), "Ada")
        try child.save()

        XCTAssertFalse(child.hasChanges)
        XCTAssertTrue(bob.hasTemporaryID)
        XCTAssertFalse(bob.isInserted)
        XCTAssertEqual(store.rows.values.map(\.count).reduce(0, +), requests, "the store is unchanged")
        XCTAssertEqual(context.insertedObjects.map(\.objectID), [bob.objectID])
        XCTAssertEqual(Set(context.updatedObjects.map(\.objectID)), [ada.objectID, department.objectID])
        XCTAssertEqual(try ada.get("name"), "Ada L.")
        XCTAssertEqual(try names(department.members("employees")), ["Ada L.", "Bob"])
        XCTAssertEqual(try bob.get("name"), "Bob")

        let temporary = bob.objectID
        try context.save()
        XCTAssertFalse(bob.hasTemporaryID, "the child has the permanent ID")
        XCTAssertEqual(bob.objectID, try context.fetch("Employee", "name == 'Bob'")[0].objectID)
        XCTAssertTrue(child.registeredObject(with: temporary) === bob)
        XCTAssertTrue(try child.fetch("Employee", "name == 'Bob'")[0] === bob)
        let fresh = other()
        XCTAssertEqual(try names(fresh.fetch("Employee")), ["Ada L.", "Bob"])
        XCTAssertEqual(try names(fresh.fetch("Department")[0].members("employees")), ["Ada L.", "Bob"])
    }

    func testTemporaryIDIsKnownAfterTheObjectsOfAncestorsAreFreed() throws {
        let temporary = try { try employee("Ada", in: department("R&D")).objectID }()
        try context.save()
        let theirs = try child.object(with: temporary)
        try context.refreshAll()
        XCTAssertNil(context.registeredObject(with: temporary), "the object was not freed")

        XCTAssertTrue(try child.object(with: temporary) === theirs)
        let another = Context(parent: context)
        XCTAssertEqual(try another.object(with: temporary).get("name"), "Ada")
        XCTAssertEqual(try context.object(with: temporary).objectID, theirs.objectID)
        XCTAssertEqual(try context.existingObject(with: temporary).get("name"), "Ada")
        XCTAssertThrowsError(try other().object(with: temporary), "known to a context that is not related")
    }

    func testChildSaveDeletesObjectsAndAppliesDeleteRulesInTheParent() throws {
        let project = try context.insert("Project", ["title": "P"])
        let tasks = try (0..<3).map { try context.insert("Task", ["title": "T\($0)"]) }
        try project.setMembers(tasks, of: "tasks")
        let ada = try employee("Ada")
        try ada.add(project, to: "projects")
        try context.save()

        try child.delete(try inChild(project))
        let held = try inChild(ada)
        try child.save()
        XCTAssertEqual(context.deletedObjects.count, 4)
        XCTAssertTrue(project.isDeleted && tasks.allSatisfy(\.isDeleted))
        XCTAssertEqual(try ada.memberCount("projects"), 0)
        XCTAssertEqual(try held.memberCount("projects"), 0)
        try context.save()
        XCTAssertEqual(try other().count("Project"), 0)
        XCTAssertEqual(try other().count("Task"), 0)

        // An object that was never stored is removed from the parent.
        let bob = try child.insert("Employee", ["name": "Bob"])
        try child.save()
        XCTAssertEqual(context.insertedObjects.count, 1)
        try child.delete(bob)
        try child.save()
        XCTAssertTrue(bob.isGone)
        XCTAssertFalse(context.hasChanges)
    }

    func testGrandchildrenSeeAndSaveThroughAllLevels() throws {
        let grandchild = Context(parent: child)
        let ada = try employee("Ada")
        let theirs = try grandchild.fetch("Employee")[0]
        XCTAssertEqual(theirs.objectID, ada.objectID)
        try theirs.set("name", "Ada L.")
        let bob = try grandchild.insert("Employee", ["name": "Bob"])
        try bob.set("spouse", theirs)
        try grandchild.save()
        XCTAssertEqual(try ada.get("name"), "Ada")
        XCTAssertEqual(try names(child.fetch("Employee")), ["Ada L.", "Bob"])
        try child.save()
        XCTAssertEqual(try ada.get("name"), "Ada L.")
        XCTAssertEqual((try ada.get("spouse", as: ManagedObject.self))?.objectID, bob.objectID)
        try context.save()
        XCTAssertFalse(bob.hasTemporaryID || theirs.hasTemporaryID)
        XCTAssertEqual(bob.objectID, (try ada.get("spouse", as: ManagedObject.self))?.objectID)
        XCTAssertTrue(try theirs.get("spouse", as: ManagedObject.self) === bob)
        XCTAssertEqual(try grandchild.fetch("Employee").count, 2)
    }

    func testPermanentIDsAreSetInAllNestedContexts() throws {
        let grandchild = Context(parent: child)
        let ada = try employee("Ada")
        let inMiddle = try inChild(ada)
        let onTop = try grandchild.object(with: ada.objectID)
        XCTAssertTrue(onTop.hasTemporaryID)
        try grandchild.obtainPermanentIDs(for: [onTop])
        XCTAssertFalse(ada.hasTemporaryID)
        XCTAssertTrue(ada.isInserted)
        XCTAssertEqual(onTop.objectID, ada.objectID)
        XCTAssertEqual(inMiddle.objectID, ada.objectID)

        let bob = try grandchild.insert("Employee", ["name": "Bob"])
        try grandchild.obtainPermanentIDs(for: [bob])
        let id = bob.objectID
        XCTAssertFalse(id.isTemporary)
        try grandchild.save()
        try child.save()
        XCTAssertEqual(context.insertedObjects.map(\.objectID), [ada.objectID, id])
        XCTAssertEqual(try names(grandchild.fetch("Employee")), ["Ada", "Bob"])
        try context.save()
        XCTAssertEqual(bob.objectID, id)
        XCTAssertEqual(Set(try other().fetch("Employee").map(\.objectID)), [ada.objectID, id])
    }

    func testChildSaveKeepsParentChangesOfOtherProperties() throws {
        let ada = try employee("Ada")
        try context.save()
        let theirs = try inChild(ada)
        try theirs.set("name", "child")
        try ada.set("name", "parent")
        try ada.set("age", 36)
        try child.save()
        XCTAssertEqual(try ada.get("name"), "child")
        XCTAssertEqual(try ada.get("age"), 36)
        try child.refresh(theirs, mergeChanges: true)
        XCTAssertEqual(try theirs.get("age"), 36)
    }

    func testRefreshInAChildAppliesItsChangesToTheParentsState() throws {
        let ada = try employee("Ada")
        try context.save()
        let theirs = try inChild(ada)
        try theirs.set("age", 1)
        try ada.set("name", "parent")
        try ada.set("age", 2)
        XCTAssertEqual(try theirs.get("name"), "Ada", "a loaded object keeps its values")
        try child.refresh(theirs, mergeChanges: true)
        XCTAssertEqual(try theirs.get("name"), "parent")
        XCTAssertEqual(try theirs.get("age"), 1)
        XCTAssertTrue(theirs.hasChanges)
        try child.refresh(theirs, mergeChanges: false)
        XCTAssertEqual(try theirs.get("age"), 2)
        XCTAssertFalse(child.hasChanges)
    }

    func testChildSaveFailsWhenTheParentDiscardedItsObjects() throws {
        let ada = try employee("Ada")
        let theirs = try inChild(ada)
        let fault = try inChild(try employee("Bob"))
        try theirs.set("name", "child")
        try context.reset()
        XCTAssertThrowsError(try child.save()) { XCTAssertEqual(($0 as? CoreError)?.status, .conflict) }
        XCTAssertThrowsError(try fault.get("name", as: String.self)) {
            XCTAssertEqual(($0 as? CoreError)?.status, .objectGone)
        }
        XCTAssertTrue(child.hasChanges)
        XCTAssertFalse(context.hasChanges)
        try child.rollback()
        XCTAssertFalse(child.hasChanges)
        XCTAssertEqual(try child.count("Employee"), 0)

        let eve = try employee("Eve")
        let held = try inChild(eve)
        try held.set("spouse", try child.insert("Employee", ["name": "Kim"]))
        try context.rollback()
        XCTAssertThrowsError(try child.save()) { XCTAssertEqual(($0 as? CoreError)?.status, .conflict) }
        XCTAssertFalse(context.hasChanges, "the parent is unchanged")
    }

    func testTransientChangesOfAChildMakeTheParentDirty() throws {
        let ada = try child.insert("Employee", ["name": "Ada"])
        try child.save()
        XCTAssertTrue(context.hasChanges)
        try context.save()
        let own = try context.object(with: ada.objectID)
        try ada.set("speed", 30.0)
        try child.save()
        XCTAssertTrue(context.hasChanges)
        XCTAssertEqual(try own.get("speed"), 30.0)
        let writes = store.rows
        try context.save()
        XCTAssertEqual(
            store.rows.values.map { $0.values.map(\.version).max() ?? 0 },
            writes.values.map { $0.values.map(\.version).max() ?? 0 })
    }

    func testChildSaveKeepsTheOrderOfMembers() throws {
        let project = try context.insert("Project", ["title": "P"])
        let tasks = try (0..<4).map { try context.insert("Task", ["title": "T\($0)"]) }
        try project.setMembers(tasks, of: "tasks")
        try context.save()
        let theirs = try inChild(project)
        try theirs.moveMember(from: 3, to: 0, in: "tasks")
        try theirs.insert(try child.insert("Task", ["title": "new"]), at: 2, in: "tasks")
        try child.save()
        func titles(_ project: ManagedObject) throws -> [String] {
            try project.members("tasks").map { try $0.get("title") ?? "" }
        }
        XCTAssertEqual(try titles(project), ["T3", "T0", "new", "T1", "T2"])
        XCTAssertEqual(try titles(theirs), ["T3", "T0", "new", "T1", "T2"])
        try context.save()
        XCTAssertEqual(try titles(other().fetch("Project")[0]), ["T3", "T0", "new", "T1", "T2"])
    }

    func testFetchInAChildReadsTheStoreOnce() throws {
        for number in 0..<10 { _ = try employee("E\(number)") }
        try context.save()
        let parent = other()
        let above = Context(parent: parent)
        let requests = store.requests
        XCTAssertEqual(try names(above.fetch("Employee")).count, 10)
        XCTAssertEqual(store.requests, requests + 1)
        XCTAssertEqual(parent.registeredObjects.count, 0)
        // A clean object's row is shared.
        let held = try parent.fetch("Employee", "name == 'E3'")[0]
        _ = try held.get("name", as: String.self)
        let theirs = try above.object(with: held.objectID)
        XCTAssertEqual(try theirs.get("name"), "E3")
        XCTAssertEqual(theirs.record, held.record)
    }

    func testPrivateQueueParentServesChildrenOnEveryThread() throws {
        let root = Context(coordinator: coordinator, queue: .privateQueue)
        let above = Context(parent: root, queue: .privateQueue)
        let mine = Context(parent: root)
        try root.performAndWait { _ = try $0.insert("Employee", ["name": "Ada"]) }
        let held = try mine.fetch("Employee")[0]
        XCTAssertEqual(try held.get("name"), "Ada")
        try above.performAndWait { context in
            let ada = try context.fetch("Employee")[0]
            try ada.set("name", "Ada L.")
            _ = try context.insert("Employee", ["name": "Bob"])
            try context.save()
        }
        XCTAssertEqual(try names(mine.fetch("Employee")), ["Ada", "Bob"], "a loaded object keeps its values")
        try root.performAndWait { try $0.save() }
        XCTAssertEqual(try names(other().fetch("Employee")), ["Ada L.", "Bob"])
        XCTAssertTrue(try mine.fetch("Employee").allSatisfy { !$0.hasTemporaryID })

        let done = expectation(description: "another thread")
        let confined = Unconfined(context!), status = Locked(Status.ok)
        Thread {
            let stray = Context(parent: confined.value, queue: .privateQueue)
            let result = Result { try stray.performAndWait { try $0.count("Employee") } }
            if case .failure(let error as CoreError) = result { status.withLock { $0 = error.status } }
            done.fulfill()
        }.start()
        wait(for: [done], timeout: 60)
        XCTAssertEqual(status.withLock { $0 }, .wrongThread)
    }

    func testLimitAndOffsetIncludeChangesOfChildAndParent() throws {
        for number in 0..<6 { try employee("E\(number)").set("age", number) }
        try context.save()
        func own(_ name: String, _ context: Context) throws -> ManagedObject {
            try context.fetch("Employee", "name == %@", name)[0]
        }
        let deleted = try own("E0", context), moved = try own("E5", context), above = try own("E2", child)
        try context.delete(deleted)
        try moved.set("age", -1)
        _ = try context.insert("Employee", ["name": "N", "age": 3])
        try above.set("age", 10)
        func ages(_ limit: Int, _ offset: Int) throws -> [String] {
            try child.fetch("Employee", "age < 10", sort: ["age", "name"], limit: limit, offset: offset)
                .map { try $0.get("name") ?? "" }
        }
        XCTAssertEqual(try ages(0, 0), ["E5", "E1", "E3", "N", "E4"])
        XCTAssertEqual(try ages(2, 1), ["E1", "E3"])
        XCTAssertEqual(try ages(2, 3), ["N", "E4"])
        XCTAssertEqual(try child.count("Employee", "age < 10"), 5)
        let request = FetchRequest(entity: try model.requireEntity(named: "Employee"))
        XCTAssertEqual(try child.fetchIDs(request).count, 6)
        let cursor = try child.cursor(request, batchSize: 4)
        XCTAssertEqual(try [cursor.next().count, cursor.next().count, cursor.next().count], [4, 2, 0])
        // Without its own pending changes, the child returns the objects of its parent.
        request.includesPendingChanges = false
        request.predicate = try Predicate.parse("age < 10")
        XCTAssertEqual(try child.count(request), 6)
    }

    func testChildSaveConflictsWhenTheParentDeletedTheObject() throws {
        let (ada, bob) = (try employee("Ada"), try employee("Bob"))
        try context.save()
        let (theirs, other) = (try inChild(ada), try inChild(bob))
        try theirs.set("age", 1)
        try other.set("age", 1)
        try context.delete(ada)
        XCTAssertThrowsError(try child.save()) { error in
            XCTAssertEqual((error as? CoreError)?.status, .conflict)
            XCTAssertEqual((error as? CoreError)?.objectURI, ada.objectID.uri)
        }
        XCTAssertNil(try bob.get("age", as: Int.self), "the parent is unchanged")
        try child.delete(theirs)
        try child.save()
        XCTAssertEqual(try bob.get("age"), 1)
    }

    func testEachContextHasItsOwnUndoStack() throws {
        try context.setUndoManager(UndoManager())
        try child.setUndoManager(UndoManager())
        let ada = try employee("Ada")
        try context.save()
        context.undoManager?.removeAllActions()
        let theirs = try inChild(ada)
        try theirs.set("name", "one")
        try child.processPendingChanges()
        try theirs.set("age", 2)
        try child.save()
        XCTAssertEqual(try ada.get("name"), "one")
        try context.undo()
        XCTAssertEqual(try ada.get("name"), "Ada")
        XCTAssertNil(try ada.get("age", as: Int.self), "the changes of one save are one undo step")
        try child.undo()
        XCTAssertNil(try theirs.get("age", as: Int.self))
        XCTAssertEqual(try theirs.get("name"), "one")
    }

    func testChildSaveFailsWhileItsParentIsBeingSaved() throws {
        // A frozen model refuses validators, so this test has its own stack.
        let own = try GraphTestCase.company(), above = Locked<Context?>(nil), failure = Locked<CoreError?>(nil)
        try own.requireEntity(named: "Employee").addValidator(forKey: "name") { _, value in
            do { try above.withLock { $0 }?.save() } catch { failure.withLock { $0 = error as? CoreError } }
            return value
        }
        let coordinator = try Coordinator(model: own)
        _ = try coordinator.add(MemoryStore(model: own))
        let root = Context(coordinator: coordinator), child = Context(parent: root)
        above.withLock { $0 = child }
        _ = try root.insert("Employee", ["name": "Ada"])
        _ = try child.insert("Department", ["name": "R&D"])
        try root.save()
        XCTAssertNotNil(failure.withLock { $0 })
        XCTAssertTrue(child.hasChanges)
        try child.save()
        try root.save()
        XCTAssertEqual(try Context(coordinator: coordinator).count("Department"), 1)
    }

    func testFaultsFilledByTheParentAreNotSingleFaults() throws {
        let department = try self.department("R&D")
        let ada = try employee("Ada", in: department)
        child.faultPolicy = .error
        let theirs = try inChild(ada)
        XCTAssertEqual(try theirs.get("name"), "Ada")
        XCTAssertEqual(try theirs.get("department.name"), "R&D")
    }

    /// Observers of the parent's objects are notified while the child saves into it.
    func testChildRefusesResetAndRollbackDuringItsSave() throws {
        let ada = try employee("Ada")
        try context.save()
        let theirs = try inChild(ada)
        try theirs.set("name", "Grace")
        try theirs.set("age", 85)
        var refusals: [Status?] = []
        let token = try ada.observe(keyPath: "age") { [unowned child = child!] _, _ in
            let calls = [
                { try child.rollback() }, { try child.reset() }, { try child.refresh(theirs, mergeChanges: false) },
            ]
            for call in calls {
                do { try call() } catch { refusals.append((error as? CoreError)?.status) }
            }
        }
        try child.save()
        token.cancel()
        XCTAssertEqual(refusals, [.invalidArgument, .invalidArgument, .invalidArgument])
        XCTAssertEqual(try ada.get("name"), "Grace")
        XCTAssertEqual(try ada.get("age"), 85)
        XCTAssertFalse(child.hasChanges)
        try child.rollback()
    }

    /// A wait for a context that the same thread saves would deadlock.
    func testObserverOfAParentCannotWaitForTheChildThatIsSaved() throws {
        let ada = try employee("Ada")
        try context.save()
        let closed = Context(parent: context, queue: .privateQueue), above = Context(parent: closed)
        let fault = try above.object(with: ada.objectID)
        var refusals: [Status?] = []
        func refused(_ call: () throws -> Void) {
            do { try call() } catch { refusals.append((error as? CoreError)?.status) }
        }
        func tryAll() {
            refused { try closed.runAndWait { _ in } }
            refused { try closed.lock() }
            refused { _ = try above.fetch("Employee") }
            refused { _ = try fault.get("age", as: Int.self) }
            XCTAssertEqual(closed.insertedObjects.count, 0)
        }
        let ofObject = try ada.observe(keyPath: "age") { _, _ in tryAll() }
        let ofContext = context.observe(.objectsDidChange) { _, _ in tryAll() }
        try closed.runAndWait { closed in
            try closed.object(with: ada.objectID).set("age", 85)
            try closed.save()
            ofObject.cancel()
            ofContext.cancel()
            XCTAssertFalse(closed.hasChanges)
        }
        XCTAssertEqual(refusals, Array(repeating: .invalidArgument, count: 8))
        XCTAssertEqual(try fault.get("age"), 85)
    }

    func testChildRetainsItsParent() throws {
        var parent: Context? = Context(coordinator: coordinator)
        weak let watched = parent
        let above = Context(parent: parent!)
        _ = try parent!.insert("Employee", ["name": "Ada"])
        parent = nil
        XCTAssertNotNil(watched)
        XCTAssertEqual(try above.count("Employee"), 1)
        XCTAssertNotNil(above.parent)
    }
}

/// Passes a context to the wrong thread.
private struct Unconfined: @unchecked Sendable {
    let value: Context
    init(_ value: Context) { self.value = value }
}
