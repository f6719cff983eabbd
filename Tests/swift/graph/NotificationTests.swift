import Corestone
import XCTest

/// Notifications of a context.
final class NotificationTests: GraphTestCase {
    func testSavePostsNotificationsInOrder() throws {
        var heard: [String] = []
        let tokens = ContextNotification.allCases.map { kind in
            context.observe(kind) { _, changes in
                let ids = changes.ids
                heard.append("\(kind) \(ids.inserted.count) \(ids.updated.count) \(ids.deleted.count)")
            }
        }
        let (ada, bob) = (try employee("Ada"), try employee("Bob"))
        XCTAssertEqual(heard, [])
        try context.save()
        XCTAssertEqual(
            heard.filter { !$0.hasPrefix("willSave") },
            ["objectsDidChange 2 0 0", "didSave 2 0 0", "didSaveObjectIDs 2 0 0"])
        heard = []
        try ada.set("age", 3)
        try context.delete(bob)
        try context.save()
        XCTAssertEqual(
            heard.filter { !$0.hasPrefix("willSave") },
            ["objectsDidChange 0 1 1", "didSave 0 1 1", "didSaveObjectIDs 0 1 1"])
        heard = []
        try context.save()
        _ = try context.fetch("Employee")
        XCTAssertEqual(
            heard.filter { !$0.hasPrefix("willSave") }, ["didSave 0 0 0", "didSaveObjectIDs 0 0 0"], "no changes")
        for token in tokens { token.cancel() }
        heard = []
        try ada.set("age", 4)
        try context.save()
        XCTAssertEqual(heard, [])
    }

    func testDidSaveObjectIDsContainsPermanentIDsOnly() throws {
        let ada = try employee("Ada")
        var ids = ChangedIDs()
        let token = context.observe(.didSaveObjectIDs) { _, changes in
            XCTAssertTrue(changes.inserted.isEmpty)
            ids = changes.ids
        }
        try context.save()
        XCTAssertEqual(ids.inserted, [ada.objectID])
        XCTAssertFalse(ids.inserted[0].isTemporary)
        try context.delete(ada)
        try context.save()
        XCTAssertEqual(ids, ChangedIDs(deleted: [ada.objectID]))
        token.cancel()
    }

    func testFailedSavePostsNoDidSave() throws {
        var saves = 0
        let token = context.observe(.didSave) { _, _ in saves += 1 }
        _ = try context.insert("Employee")
        XCTAssertThrowsError(try context.save())
        XCTAssertEqual(saves, 0)
        token.cancel()
    }

    func testObserverCanSaveResetAndCancelItself() throws {
        var calls = 0
        var token: Observation?
        token = context.observe(.didSave) { context, _ in
            calls += 1
            _ = try? context.insert("Department", ["name": "another"])
            try? context.save()
        }
        _ = try department("first")
        try context.save()
        XCTAssertEqual(calls, 8, "the recursion is limited")
        token?.cancel()
        token = context.observe(.objectsDidChange) { context, _ in
            token = nil
            try? context.reset()
        }
        _ = try department("second")
        try context.save()
        XCTAssertNil(token)
        XCTAssertFalse(context.hasChanges)
    }

    func testResetPostsInvalidatedAll() throws {
        var resets = 0
        let token = context.observe(.objectsDidChange) { _, changes in resets += changes.invalidatedAll ? 1 : 0 }
        _ = try employee("Ada")
        try context.reset()
        XCTAssertEqual(resets, 1)
        token.cancel()
    }

    func testChangedValuesForCurrentEventContainTheFormerValues() throws {
        let rAndD = try department("R&D"), ada = try employee("Ada", in: rAndD)
        XCTAssertEqual(try ada.changedValuesForCurrentEvent()["name"], .null)
        try context.save()
        XCTAssertEqual(try ada.changedValuesForCurrentEvent(), [:])
        try ada.set("name", "Eve")
        try context.processPendingChanges()
        try ada.set("name", "Zoe")
        try ada.set("department", nil)
        try ada.set("speed", 9.0)
        XCTAssertEqual(
            try ada.changedValuesForCurrentEvent(), ["name": .string("Eve"), "department": .object(rAndD)])
        XCTAssertEqual(try rAndD.changedValuesForCurrentEvent(), ["employees": .array([.object(ada)])])
        XCTAssertEqual(try ada.changedValues(), ["name": .string("Zoe"), "department": .null])
        XCTAssertTrue(try context.fetch("Employee").contains(ada), "a fetch ends the event")
        XCTAssertEqual(try ada.changedValuesForCurrentEvent(), [:])
    }

    func testNotificationsCanBeIteratedAsASequence() async throws {
        let context = Context(coordinator: coordinator, queue: .privateQueue)
        let stream = context.notifications(.didSaveObjectIDs)
        let id = try await context.perform { context in
            let object = try context.insert("Department", ["name": "R&D"])
            try context.save()
            return object.objectID
        }
        for await ids in stream {
            XCTAssertEqual(ids.inserted, [id])
            break
        }
    }

    func testChangesAreEmptyOnlyWithoutObjects() throws {
        let ada = try employee("Ada")
        let id = ada.objectID
        XCTAssertTrue(ContextChanges().isEmpty)
        XCTAssertTrue(ContextChanges().ids.isEmpty)
        for path: WritableKeyPath<ContextChanges, [ManagedObject]> in [
            \.inserted, \.updated, \.deleted, \.refreshed, \.invalidated,
        ] {
            var changes = ContextChanges()
            changes[keyPath: path] = [ada]
            XCTAssertFalse(changes.isEmpty)
            XCTAssertFalse(changes.ids.isEmpty)
        }
        var all = ContextChanges()
        all.invalidatedAll = true
        XCTAssertFalse(all.isEmpty)
        XCTAssertEqual(all.ids, ChangedIDs(invalidatedAll: true))
        for path: WritableKeyPath<ChangedIDs, [ObjectID]> in [
            \.inserted, \.updated, \.deleted, \.refreshed, \.invalidated,
        ] {
            var ids = ChangedIDs()
            ids[keyPath: path] = [id]
            XCTAssertFalse(ids.isEmpty)
            XCTAssertFalse(ContextChanges(ids: ids).isEmpty)
            XCTAssertEqual(ContextChanges(ids: ids).ids, ids)
        }
        XCTAssertTrue(ContextChanges(ids: ChangedIDs()).isEmpty)
        XCTAssertTrue(ContextChanges(ids: ChangedIDs(invalidatedAll: true)).invalidatedAll)
        XCTAssertFalse(ChangedIDs(invalidatedAll: true).isEmpty)
    }

    func testChangedIDsContainEachKindOfChange() throws {
        let objects = try ["a", "b", "c", "d", "e"].map { try employee($0) }
        var changes = ContextChanges()
        (changes.inserted, changes.updated, changes.deleted) = ([objects[0]], [objects[1]], [objects[2]])
        (changes.refreshed, changes.invalidated) = ([objects[3]], [objects[4]])
        let ids = objects.map(\.objectID)
        XCTAssertEqual(
            changes.ids,
            ChangedIDs(
                inserted: [ids[0]], updated: [ids[1]], deleted: [ids[2]], refreshed: [ids[3]], invalidated: [ids[4]]))
    }

    /// An observation that outlives its context is notified of the end once, unless it was cancelled before.
    func testObserverIsNotifiedOnceWhenTheContextIsReleased() throws {
        let ended = Locked<[String]>([])
        var context: Corestone.Context? = Corestone.Context(coordinator: coordinator)
        func observe(_ name: String) -> Observation? {
            context?.observe(.didSave, ended: { ended.withLock { $0.append(name) } }, { _, _ in })
        }
        let (kept, cancelled) = (observe("kept"), observe("cancelled"))
        cancelled?.cancel()
        XCTAssertEqual(ended.withLock { $0 }, [])
        context = nil
        XCTAssertEqual(ended.withLock { $0 }, ["kept"])
        kept?.cancel()
        kept?.cancel()
        XCTAssertEqual(ended.withLock { $0 }, ["kept"])
    }

    /// Each observer receives its own kind of notification, in the order of registration.
    func testObserversAreNotifiedInOrderUntilCancelled() throws {
        var heard: [String] = []
        let tokens = [
            context.observe(.didSave) { _, _ in heard.append("first") },
            context.observe(.objectsDidChange) { _, _ in heard.append("changes") },
            context.observe(.didSave) { _, _ in heard.append("second") },
        ]
        _ = try employee("Ada")
        try context.processPendingChanges()
        XCTAssertEqual(heard, ["changes"])
        try context.save()
        XCTAssertEqual(heard, ["changes", "first", "second"])
        tokens[0].cancel()
        try context.save()
        XCTAssertEqual(heard, ["changes", "first", "second", "second"])
        tokens[1].cancel()
        tokens[2].cancel()
        try context.save()
        XCTAssertEqual(heard.count, 4)
    }
}
