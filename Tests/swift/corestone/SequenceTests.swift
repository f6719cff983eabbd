import Corestone
import XCTest

/// Contexts and tasks: where a block runs, and the notifications that a sequence delivers to another task.
final class SequenceTests: XCTestCase {
    private class Item: EntityObject {
        override class var entityName: String { "Item" }
    }
    private final class Special: Item {
        override class var entityName: String { "Special" }
    }

    private func coordinator() throws -> Coordinator {
        let model = Model()
        let item = try model.addEntity(named: "Item")
        try item.addAttribute(named: "name", type: .string)
        try item.addAttribute(named: "count", type: .integer16)
        try model.addEntity(named: "Special").setParent(item)
        let coordinator = try Coordinator(model: model)
        try coordinator.addStore(.inMemory, at: "memory")
        return coordinator
    }

    private func context() throws -> Corestone.Context {
        Corestone.Context(on: try coordinator(), parent: nil, queue: .privateQueue)
    }

    private func status(_ body: () async throws -> Void) async -> Status? {
        do {
            try await body()
            return nil
        } catch { return (error as? CoreError)?.status }
    }

    // MARK: Blocks

    func testConfinedContextHasNeitherEnqueuedBlocksNorAnExecutor() async throws {
        let confined = Corestone.Context(coordinator: try coordinator())
        let enqueued = await status { _ = try await confined.perform(schedule: .enqueued) { _ in 1 } }
        XCTAssertEqual(enqueued, .invalidArgument)
        XCTAssertThrowsError(try ContextExecutor(confined)) {
            XCTAssertEqual(($0 as? CoreError)?.status, .invalidArgument)
        }
    }

    /// A block runs immediately on the queue of the context, and otherwise when the queue reaches it.
    func testAsyncPerformRunsOnTheQueueAndProcessesChanges() async throws {
        let context = try context()
        for schedule in [PerformSchedule.immediate, .enqueued] {
            let count = try await context.perform(schedule: schedule) { context in
                XCTAssertTrue(context.isOwn)
                try context.insert("Item", ["name": "a"])
                return try context.count("Item")
            }
            XCTAssertEqual(count, schedule == .immediate ? 1 : 2, "unsaved objects are counted")
        }
        let inserted = try await context.perform { context in
            try context.save()
            return try context.count("Item")
        }
        XCTAssertEqual(inserted, 2)
        let failed = await status { try await context.perform { _ in throw CoreError(.callback, "no") } }
        XCTAssertEqual(failed, .callback)
    }

    func testExecutorIsIsolatedOnlyOnItsQueue() async throws {
        let executor = try ContextExecutor(context())
        XCTAssertEqual(executor.isIsolatingCurrentContext(), false)
        let isIsolated = try await executor.context.perform { [executor] _ in executor.isIsolatingCurrentContext() }
        XCTAssertEqual(isIsolated, true)
    }

    // MARK: Sequences

    private func save(_ context: Corestone.Context, _ names: [String]) throws {
        for name in names {
            try context.performAndWait { context in
                try context.insert("Item", ["name": name])
                try context.save()
            }
        }
    }

    /// Unread notifications are buffered: all of them, or only the newest.
    func testUnreadNotificationsAreBuffered() async throws {
        let context = try context()
        let all = context.notifications(.didSaveObjectIDs)
        let newest = context.notifications(.didSaveObjectIDs, buffering: .bufferingNewest(1))
        try save(context, ["a", "b", "c"])
        var counts: [Int] = []
        for await ids in all {
            counts.append(ids.inserted.count)
            if counts.count == 3 { break }
        }
        XCTAssertEqual(counts, [1, 1, 1])
        var last: [ObjectID] = []
        for await ids in newest {
            last = ids.inserted
            break
        }
        let wanted = try await context.perform { try $0.fetch("Item", "name == 'c'").map(\.objectID) }
        XCTAssertEqual(last, wanted)
    }

    /// Changes that the reader did not read in time become one difference.
    func testUnreadDifferencesAreCombined() async throws {
        let context = try context()
        try save(context, ["b"])
        let request = FetchRequest(entity: try context.coordinator.model.requireEntity(named: "Item"))
        request.sortDescriptors = [SortDescriptor("name")]
        let differences = try context.performAndWait { try $0.differences(of: request) }
        var iterator = differences.makeAsyncIterator()
        let first = await iterator.next()
        XCTAssertEqual(first?.changes.map(\.kind), [.insert])
        try save(context, ["a", "c"])
        let second = await iterator.next()
        XCTAssertEqual(second?.changes.map(\.kind), [.insert, .insert])
        let before = try await context.perform { try $0.fetch("Item", "name == 'b'").map(\.objectID) }
        let after = try await context.perform { try $0.fetch("Item", sort: ["name"]).map(\.objectID) }
        XCTAssertEqual(try before.applying(XCTUnwrap(second).collectionDifference), after)
    }

    // MARK: Classes

    func testObjectClassWrapsItsManagedObject() throws {
        let context = Corestone.Context(coordinator: try coordinator())
        let item = try context.insert(Item.self)
        let special = try context.insert(Special.self)
        XCTAssertEqual(item.managedObject.entityName, "Item")
        XCTAssertEqual(special.managedObject.entityName, "Special")
        XCTAssertEqual(item, Item(item.managedObject))
        XCTAssertNotEqual(item, special)
        XCTAssertEqual(Set([item, Item(item.managedObject), special]).count, 2)
        // Casts to its own class and its superclasses.
        XCTAssertEqual(special.cast(to: Item.self)?.managedObject, special.managedObject)
        XCTAssertEqual(Item(special.managedObject).cast(to: Special.self), special)
        XCTAssertNil(item.cast(to: Special.self))
        XCTAssertNil(item.cast(to: EntityObject.self), "EntityObject has no entity")
        try item.setValue("x", "name")
        XCTAssertEqual(try item.requiredValue("name"), "x")
        XCTAssertThrowsError(try item.requiredValue("count") as Int) {
            let error = $0 as? CoreError
            XCTAssertEqual(error?.status, .validation)
            XCTAssertEqual(error?.code, CocoaCode.validationMissingMandatoryProperty.rawValue)
            XCTAssertEqual([error?.entity, error?.key], ["Item", "count"])
            XCTAssertEqual(error?.objectURI, item.managedObject.objectID.uri)
        }
        XCTAssertNil(try item.optionalValue("count") as Int?)
        try item.setValue(3, "count")
        try item.setNilValue(forKey: "count")
        XCTAssertNil(try item.optionalValue("count") as Int?)
        XCTAssertEqual(try item.validate(.int(1), forKey: "count"), .int(1))
        XCTAssertEqual(Item.validatedKeys, [])
        try context.save()
        XCTAssertEqual(
            try context.fetch(Item.self, sort: ["-name"]).map(\.managedObject), [item, special].map(\.managedObject))
        XCTAssertEqual(try context.fetch(Special.self), [special])
        XCTAssertEqual(try context.fetch(Item.self, "name == %@", "x", limit: 1, offset: 1), [])
        XCTAssertEqual(try context.count(Special.fetchRequest(in: context)), 1)
        XCTAssertThrowsError(try EntityObject.fetchRequest(in: context)) {
            XCTAssertEqual(($0 as? CoreError)?.status, .invalidArgument)
        }
    }
}
