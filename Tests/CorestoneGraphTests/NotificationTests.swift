import Corestone
import XCTest

/// What a context tells those who listen to it.
final class NotificationTests: GraphTestCase {
    func testASavePostsInOrder() throws {
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
            heard.filter { !$0.hasPrefix("willSave") }, ["didSave 0 0 0", "didSaveObjectIDs 0 0 0"], "nothing changed")
        for token in tokens { token.cancel() }
        heard = []
        try ada.set("age", 4)
        try context.save()
        XCTAssertEqual(heard, [])
    }

    func testIDsOfASaveCrossThreads() throws {
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

    func testAFailedSaveIsNotTold() throws {
        var saves = 0
        let token = context.observe(.didSave) { _, _ in saves += 1 }
        _ = try context.insert("Employee")
        XCTAssertThrowsError(try context.save())
        XCTAssertEqual(saves, 0)
        token.cancel()
    }

    func testAListenerMaySaveResetAndCancel() throws {
        var calls = 0
        var token: Observation?
        token = context.observe(.didSave) { context, _ in
            calls += 1
            _ = try? context.insert("Department", ["name": "another"])
            try? context.save()
        }
        _ = try department("first")
        try context.save()
        XCTAssertEqual(calls, 8, "not without end")
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

    func testAResetSaysThatAllIsInvalid() throws {
        var resets = 0
        let token = context.observe(.objectsDidChange) { _, changes in resets += changes.invalidatedAll ? 1 : 0 }
        _ = try employee("Ada")
        try context.reset()
        XCTAssertEqual(resets, 1)
        token.cancel()
    }

    func testChangesOfAnEvent() throws {
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

    func testChangesAsASequence() async throws {
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
}
