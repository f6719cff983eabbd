import Corestone
import CorestoneGraph
import CorestoneValues
import XCTest

/// The objects of a store that is removed from its coordinator.
final class RemovedStoreTests: GraphTestCase {
    private var second: Store!
    private var lines = Locked<[String]>([])

    override func setUpWithError() throws {
        try super.setUpWithError()
        second = try coordinator.add(MemoryStore(model: model, identifier: "00000000-0000-0000-0000-00000000000B"))
        lines = Locked([])
        DebugLog.setSink { [lines] line in lines.withLock { $0.append(line) } }
    }

    override func tearDown() { DebugLog.setSink(nil) }

    /// The log lines about lost unsaved changes.
    private var losses: [String] { lines.withLock { $0 }.filter { $0.contains("unsaved changes") } }

    /// One object in the first store, and one in the second.
    private func two() throws -> (stays: ManagedObject, goes: ManagedObject) {
        let (stays, goes) = (try employee("Stays"), try employee("Goes"))
        try context.assign(goes, to: second)
        try context.save()
        return (stays, goes)
    }

    private func checkGone(_ object: ManagedObject, line: UInt = #line) {
        XCTAssertTrue(object.isGone && object.isFault, line: line)
        XCTAssertNil(object.context, line: line)
        XCTAssertThrowsError(try object.get("name", as: String.self), line: line) {
            XCTAssertEqual(($0 as? CoreError)?.status, .objectGone, line: line)
            XCTAssertTrue(($0 as? CoreError)?.message.contains("removed") == true, "\($0)", line: line)
        }
    }

    func testObjectsOfARemovedStoreAreInvalidatedInEveryContext() throws {
        let (stays, goes) = try two()
        let id = goes.objectID
        let contexts = [context!, other(), Context(parent: context)]
        var told: [[String]] = [[], [], []]
        let watches = contexts.enumerated().map { place, context in
            context.observe(.objectsDidChange) { _, changes in
                told[place] += changes.invalidated.map(\.objectID.uri)
                XCTAssertTrue(changes.updated.isEmpty && changes.deleted.isEmpty && changes.inserted.isEmpty)
                XCTAssertFalse(changes.invalidatedAll)
            }
        }
        let objects = try contexts.map { try $0.object(with: id) }
        for object in objects { XCTAssertEqual(try object.get("name"), "Goes") }
        try coordinator.remove(second)
        for (place, context) in contexts.enumerated() {
            checkGone(objects[place])
            XCTAssertEqual(told[place], [id.uri])
            XCTAssertNil(context.registeredObject(with: id))
            XCTAssertFalse(context.hasChanges)
            XCTAssertEqual(try names(context.fetch("Employee")), ["Stays"])
            XCTAssertThrowsError(try context.object(with: id)) {
                XCTAssertEqual(($0 as? CoreError)?.status, .objectGone)
            }
            XCTAssertThrowsError(try context.existingObject(with: id))
        }
        XCTAssertEqual(try stays.get("name"), "Stays")
        XCTAssertEqual(losses, [])
        for watch in watches { watch.cancel() }
    }

    func testContextWithAQueueIsNotifiedOnItsQueue() throws {
        let id = try two().goes.objectID
        let worker = Context(coordinator: coordinator, queue: .privateQueue)
        let told = Locked(0)
        var held: ManagedObject?
        try worker.performAndWait { context in
            held = try context.object(with: id)
            XCTAssertEqual(try held?.get("name"), "Goes")
        }
        let watch = worker.observe(.objectsDidChange) { context, changes in
            do { try context.processPendingChanges() } catch { XCTFail("not on its queue: \(error)") }
            told.withLock { $0 += changes.invalidated.count }
        }
        try coordinator.remove(second)
        try worker.performAndWait { _ in
            XCTAssertTrue(held?.isGone == true)
            held = nil
        }
        XCTAssertEqual(told.withLock { $0 }, 1)
        watch.cancel()
    }

    /// A context that is confined to another thread is notified when it next saves, fetches or processes changes.
    func testConfinedContextOfAnotherThreadIsNotifiedAtItsNextCall() throws {
        let goes = try two().goes
        try goes.set("age", 40)
        let removed = expectation(description: "removed")
        let (coordinator, second) = (coordinator!, second!)
        Thread.detachNewThread {
            do { try coordinator.remove(second) } catch { XCTFail("\(error)") }
            removed.fulfill()
        }
        wait(for: [removed], timeout: 60)
        XCTAssertFalse(goes.isGone)
        try context.save()
        checkGone(goes)
        XCTAssertEqual(losses.count, 1)
    }

    func testUnsavedChangesOfARemovedStoreAreLogged() throws {
        context.name = "editor"
        let (stays, goes) = try two()
        let deleted = try employee("Deleted")
        try context.assign(deleted, to: second)
        try context.save()
        try context.delete(deleted)
        try goes.set("age", 1)
        try stays.set("age", 2)
        let assigned = try department("Assigned"), free = try department("Free"), known = try department("Known")
        try context.assign(assigned, to: second)
        try context.assign(known, to: second)
        try context.obtainPermanentIDs(for: [known])
        try coordinator.remove(second)
        XCTAssertEqual(losses.count, 1)
        XCTAssertTrue(
            losses.first?.contains("2 Department inserted, 1 Employee updated, 1 Employee deleted") == true, "\(losses)"
        )
        XCTAssertTrue(losses.first?.contains("context \"editor\"") == true, "\(losses)")
        for object in [goes, deleted, assigned, known] { checkGone(object) }
        XCTAssertEqual(context.insertedObjects.map(\.objectID), [free.objectID])
        XCTAssertEqual(context.updatedObjects.map(\.objectID), [stays.objectID])
        XCTAssertTrue(context.deletedObjects.isEmpty)
        try context.save()
        XCTAssertTrue(free.objectID.store === coordinator.stores[0])
        XCTAssertEqual(losses.count, 1)
    }

    /// A context that discarded its changes does not report them as lost.
    func testDiscardedChangesOfARemovedStoreAreNotLogged() throws {
        try two().goes.set("age", 1)
        context.allowLoss()
        try coordinator.remove(second)
        XCTAssertFalse(context.hasChanges)
        XCTAssertEqual(losses, [])
    }

    func testReferencesToObjectsOfARemovedStoreAreRemoved() throws {
        let goes = try two().goes
        let home = try department("New"), spouse = try employee("Spouse"), project = try context.insert("Project")
        try home.add(goes, to: "employees")
        try spouse.set("spouse", goes)
        try project.add(goes, to: "members")
        try context.processPendingChanges()
        var told: ContextChanges?
        let watch = context.observe(.objectsDidChange) { told = $1 }
        var seen: [PropertyValue] = []
        let link = try spouse.observe(keyPath: "spouse") { seen.append($1.new) }
        try coordinator.remove(second)
        checkGone(goes)
        XCTAssertEqual(try home.members("employees").count, 0)
        XCTAssertEqual(try project.members("members").count, 0)
        XCTAssertNil(try spouse.get("spouse", as: ManagedObject.self))
        XCTAssertEqual(seen, [.null])
        XCTAssertEqual(told?.invalidated.map(\.objectID), [goes.objectID])
        XCTAssertEqual(
            Set(told?.updated.map(\.objectID) ?? []), [home.objectID, spouse.objectID, project.objectID])
        watch.cancel()
        link.cancel()
        try context.save()
        XCTAssertEqual(try names(context.fetch("Employee")), ["Spouse", "Stays"])
    }

    func testChildKeepsUnsavedObjectsWhenAStoreIsRemoved() throws {
        let goes = try two().goes
        let child = Context(parent: context)
        let theirs = try child.object(with: goes.objectID)
        let new = try child.insert("Employee", ["name": "New"])
        try new.set("spouse", theirs)
        try theirs.set("age", 9)
        try coordinator.remove(second)
        checkGone(theirs)
        XCTAssertEqual(losses.count, 1, "the parent has no changes")
        XCTAssertNil(try new.get("spouse", as: ManagedObject.self))
        try child.save()
        try context.save()
        XCTAssertEqual(try names(context.fetch("Employee")), ["New", "Stays"])
    }

    /// Objects that were deleted by a merge are still registered in the context.
    func testObjectsDeletedByAMergeAreInvalidated() throws {
        let goes = try two().goes
        let reader = other()
        let theirs = try reader.object(with: goes.objectID)
        XCTAssertEqual(try theirs.get("name"), "Goes")
        try context.delete(goes)
        try context.save()
        try reader.mergeChanges(ChangedIDs(deleted: [theirs.objectID]))
        XCTAssertTrue(theirs.isDeleted)
        try coordinator.remove(second)
        checkGone(theirs)
        XCTAssertTrue(reader.registeredObjects.isEmpty)
    }

    /// Pending deletions do not read related objects from a closed store.
    func testPendingDeletionInARemovedStoreIsDiscarded() throws {
        let home = try department("Home"), goes = try employee("Goes", in: home)
        for object in [home, goes] { try context.assign(object, to: second) }
        try context.save()
        try context.delete(home)
        try coordinator.remove(second)
        XCTAssertNoThrow(try context.processPendingChanges())
        XCTAssertFalse(context.hasChanges)
        checkGone(home)
    }

    func testLastStoreCanBeRemoved() throws {
        let (stays, goes) = try two()
        for store in coordinator.stores { try coordinator.remove(store) }
        checkGone(stays)
        checkGone(goes)
        XCTAssertThrowsError(try context.fetch("Employee"))
        _ = try employee("Late")
        XCTAssertThrowsError(try context.save())
        XCTAssertTrue(context.hasChanges)
    }

    /// Within a hook the context must not change, so the removal is applied at the next call.
    func testRemovalWithinAHookIsAppliedAfterTheHook() throws {
        let going = Locked<(Coordinator, Store)?>(nil), isGone = Locked<Bool?>(nil)
        var hooks = LifecycleHooks()
        hooks.awakeFromFetch = { object in
            if let (coordinator, store) = going.withLock({ $0 }) { try coordinator.remove(store) }
            isGone.withLock { $0 = object.isGone }
        }
        model = try GraphTestCase.company()
        try model.requireEntity(named: "Employee").setLifecycle(hooks)
        coordinator = try Coordinator(model: model)
        second = try coordinator.add(MemoryStore(model: model))
        context = Context(coordinator: coordinator)
        let goes = try employee("Goes")
        try context.save()
        try context.refresh(goes, mergeChanges: false)
        going.withLock { $0 = (coordinator, second) }
        XCTAssertEqual(try goes.get("name"), "Goes")
        XCTAssertEqual(isGone.withLock { $0 }, false)
        going.withLock { $0 = nil }
        try context.processPendingChanges()
        checkGone(goes)
    }

    /// Closing all stores does not report lost changes, and contexts keep the values that they have read.
    func testClosedCoordinatorKeepsLoadedObjects() throws {
        let goes = try two().goes
        try coordinator.close()
        XCTAssertEqual(try goes.get("name"), "Goes")
        XCTAssertEqual(losses, [])
    }

    // MARK: Results

    private func request() throws -> FetchRequest {
        let request = FetchRequest(entity: try model.requireEntity(named: "Employee"))
        request.sortDescriptors = [SortDescriptor("name")]
        return request
    }

    func testControllerRemovesObjectsOfARemovedStore() throws {
        let goes = try two().goes
        let controller = FetchedResultsController(fetchRequest: try request(), managedObjectContext: context)
        let list = ListModel()
        controller.delegate = list
        try controller.performFetch()
        try list.load(controller)
        XCTAssertEqual(controller.fetchedObjects?.count, 2)
        try coordinator.remove(second)
        XCTAssertEqual(list.take(), ["will", "delete ? (0, 0) -", "did"])
        XCTAssertEqual(list.rows.map(\.count), [1])
        XCTAssertEqual(try names(controller.fetchedObjects ?? []), ["Stays"])
        checkGone(goes)
    }

    /// Without a store, a fetch fails, but unsaved objects are still among the results.
    func testControllerKeepsUnsavedObjectsWhenTheLastStoreIsRemoved() throws {
        _ = try two()
        let request = try request()
        request.affectedStores = coordinator.stores
        let controller = FetchedResultsController(fetchRequest: request, managedObjectContext: context)
        let list = ListModel()
        controller.delegate = list
        try controller.performFetch()
        try list.load(controller)
        _ = try employee("New")
        _ = try employee("Another")
        try context.processPendingChanges()
        for store in coordinator.stores { try coordinator.remove(store) }
        XCTAssertEqual(list.resets, 0)
        XCTAssertEqual(list.rows.map(\.count), [2])
        XCTAssertEqual(try controller.fetchedObjects?.map { try $0.get("name") ?? "" }, ["Another", "New"])
    }

    /// Limit and offset may be as large as the largest integer.
    func testControllerKeepsItsLimitAndOffsetWhenTheLastStoreIsRemoved() throws {
        let windows: [(Int, Int, [String])] = [
            (1, 1, ["New"]), (1, .max, ["New", "Other"]), (.max, .max, []), (0, 2, ["Another", "New"]),
        ]
        for (offset, limit, expected) in windows {
            try context.reset()
            for store in coordinator.stores { try coordinator.remove(store) }
            try coordinator.addStore(.inMemory, at: "memory")
            for name in ["New", "Another", "Other"] { _ = try employee(name) }
            let request = try request()
            (request.offset, request.limit) = (offset, limit)
            let controller = FetchedResultsController(fetchRequest: request, managedObjectContext: context)
            let list = ListModel()
            controller.delegate = list
            try controller.performFetch()
            for store in coordinator.stores { try coordinator.remove(store) }
            try context.processPendingChanges()
            XCTAssertEqual(try names(controller.fetchedObjects ?? []), expected, "\(offset), \(limit)")
        }
    }

    /// The results do not retain the objects of batches: a removed row is reported with an invalidated object.
    func testControllerWithABatchSizeRemovesObjectsOfARemovedStore() throws {
        final class Gone: FetchedResultsControllerDelegate {
            var told: [ManagedObject] = []
            func controller(
                _ controller: FetchedResultsController, didChange object: ManagedObject,
                at indexPath: ResultsIndexPath?,
                for kind: ResultsChangeKind, newIndexPath: ResultsIndexPath?
            ) { if kind == .delete { told.append(object) } }
        }
        let id = try { try two().goes.objectID }()
        let request = try request()
        request.batchSize = 1
        let controller = FetchedResultsController(fetchRequest: request, managedObjectContext: context)
        let gone = Gone()
        controller.delegate = gone
        try controller.performFetch()
        XCTAssertNil(context.registeredObject(with: id))
        try coordinator.remove(second)
        XCTAssertEqual(gone.told.map(\.objectID), [id])
        XCTAssertEqual(try names(controller.fetchedObjects ?? []), ["Stays"])
        for object in gone.told { checkGone(object) }
    }

    func testLiveQueryRemovesObjectsOfARemovedStore() throws {
        let goes = try two().goes
        var told: [ResultsDifference] = []
        let token = try context.observe(request()) { _, difference, _ in told.append(difference) }
        XCTAssertEqual(told.map(\.insertions.count), [2])
        try coordinator.remove(second)
        XCTAssertEqual(told.map(\.removals.count), [0, 1])
        checkGone(goes)
        token.cancel()
    }
}
