import Corestone
import CorestoneGraph
import XCTest

/// `await context.perform`, actors, sequences.
final class PerformTests: GraphTestCase {
    private func privateContext() -> Context { Context(coordinator: coordinator, queue: .privateQueue) }

    func testPerformReturnsValuesAndThrowsErrors() async throws {
        let worker = privateContext()
        let id = try await worker.perform { context in
            let object = try context.insert("Employee", ["name": "Ada"])
            try context.save()
            return object.objectID
        }
        let name = try await worker.perform(schedule: .enqueued) { context in
            try context.object(with: id).get("name", as: String.self)
        }
        XCTAssertEqual(name, "Ada")
        do {
            try await worker.perform { _ in throw CoreError(.unsupported, "never mind") }
            XCTFail("an error was lost")
        } catch { XCTAssertEqual((error as? CoreError)?.status, .unsupported) }
    }

    func testCancelledTaskDoesNotRunItsBlock() async throws {
        let worker = privateContext(), ran = Locked(false), gate = DispatchSemaphore(value: 0)
        try worker.enqueue { _ in gate.wait() }
        let waiting = Task { try await worker.perform { _ in ran.withLock { $0 = true } } }
        try await Task.sleep(nanoseconds: 20_000_000)
        waiting.cancel()
        let result = await waiting.result
        XCTAssertThrowsError(try result.get()) { XCTAssertTrue($0 is CancellationError) }
        gate.signal()
        let late = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await worker.perform { _ in ran.withLock { $0 = true } }
        }
        let second = await late.result
        XCTAssertThrowsError(try second.get()) { XCTAssertTrue($0 is CancellationError) }
        try await worker.perform { _ in }
        XCTAssertFalse(ran.withLock { $0 })
    }

    func testManyTasksWaitWithoutBlockingThreads() async throws {
        let worker = privateContext()
        let total = try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 0..<200 {
                group.addTask {
                    try await worker.perform { context in
                        _ = try context.insert("Employee", ["name": "E\(number)"])
                        return 1
                    }
                }
            }
            return try await group.reduce(0, +)
        }
        XCTAssertEqual(total, 200)
        let found = try await worker.perform { try $0.count("Employee") }
        XCTAssertEqual(found, 200)
    }

    // MARK: Actors

    private actor Importer {
        let context: Context
        private var imported = 0

        init(_ context: Context) { self.context = context }

        func add(_ name: String) async throws -> ObjectID {
            imported += 1
            return try await context.perform { context in
                let object = try context.insert("Employee", ["name": name])
                try context.save()
                return object.objectID
            }
        }

        func names() throws -> [String] {
            try context.performAndWait { try $0.fetch("Employee", sort: ["name"]).map { try $0.get("name") ?? "" } }
        }
    }

    func testActorCanOwnAContext() async throws {
        let importer = Importer(privateContext())
        let id = try await importer.add("Ada")
        XCTAssertFalse(id.isTemporary)
        _ = try await importer.add("Bob")
        let names = try await importer.names()
        XCTAssertEqual(names, ["Ada", "Bob"])
    }

    private actor Editor {
        private let executor: ContextExecutor
        nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }
        private var last: ManagedObject?

        init(_ context: Context) throws { executor = try ContextExecutor(context) }

        func add(_ name: String) throws -> Int {
            let object = try executor.context.insert("Employee", ["name": name])
            last = object
            return try executor.context.count("Employee")
        }

        func rename() async throws -> String? {
            try last?.set("name", "first")
            await Task.yield()
            try last?.set("name", "second")
            assertIsolated()
            try executor.context.save()
            return try last?.get("name")
        }
    }

    func testActorCanRunOnTheQueueOfAContext() async throws {
        let worker = privateContext()
        let editor = try Editor(worker)
        let count = try await editor.add("Ada")
        XCTAssertEqual(count, 1)
        let name = try await editor.rename()
        XCTAssertEqual(name, "second")
        let found = try await worker.perform { try $0.count("Employee", "name == 'second'") }
        XCTAssertEqual(found, 1)
        XCTAssertThrowsError(try ContextExecutor(context))
    }

    // MARK: The main queue

    @MainActor
    func testMainActorDrainsTheMainQueue() async throws {
        try MainQueue.bindToMainActor()
        defer { MainQueue.setWaker(nil) }
        let shown = Context(coordinator: coordinator, queue: .main)
        _ = try shown.insert("Employee", ["name": "Ada"])
        let here = try await shown.perform { context in
            XCTAssertTrue(Thread.isMainThread)
            return try context.count("Employee")
        }
        XCTAssertEqual(here, 1)
        let there = try await Task.detached {
            try await shown.perform(schedule: .enqueued) { context in
                XCTAssertTrue(Thread.isMainThread)
                _ = try context.insert("Employee", ["name": "Bob"])
                return try context.count("Employee")
            }
        }.value
        XCTAssertEqual(there, 2)
        let above = Context(parent: shown, queue: .privateQueue)
        let child = try await above.perform { try $0.count("Employee") }
        XCTAssertEqual(child, 2, "the main thread serves a child while it drains")
    }

    // MARK: Sequences

    func testNotificationSequenceDeliversSavesUntilItsTaskIsCancelled() async throws {
        let worker = privateContext()
        let saves = worker.notifications(.didSaveObjectIDs)
        let id = try await worker.perform { context in
            let object = try context.insert("Employee", ["name": "Ada"])
            try context.save()
            return object.objectID
        }
        for await ids in saves {
            XCTAssertEqual(ids.inserted, [id])
            break
        }
        let newest = worker.notifications(.didSaveObjectIDs, buffering: .bufferingNewest(1))
        for age in 1...3 {
            try await worker.perform { context in
                try context.object(with: id).set("age", age)
                try context.save()
            }
        }
        var iterator = newest.makeAsyncIterator()
        let last = await iterator.next()
        XCTAssertEqual(last?.updated, [id])
        let reader = Task { await iterator.next() }
        reader.cancel()
        let nothing = await reader.value
        XCTAssertNil(nothing, "a cancelled task ends the sequence")
    }

    func testCoordinatorSequenceEndsWhenTheCoordinatorIsReleased() async throws {
        var coordinator: Coordinator? = try Coordinator(model: model)
        let changes = try XCTUnwrap(coordinator).notifications(.storesDidChange)
        let store = try XCTUnwrap(coordinator).add(MemoryStore(model: model))
        coordinator = nil
        var added: [Store] = []
        for await change in changes { added += change.added }
        XCTAssertTrue(added.map(ObjectIdentifier.init) == [ObjectIdentifier(store)])
    }

    func testNotificationSequenceEndsWhenTheContextIsReleased() async throws {
        var worker: Context? = privateContext()
        let saves = try XCTUnwrap(worker).notifications(.didSave)
        try await worker?.perform { context in
            _ = try context.insert("Employee", ["name": "Ada"])
            try context.save()
        }
        worker = nil
        var seen = 0
        for await ids in saves { seen += ids.inserted.count }
        XCTAssertEqual(seen, 1)
    }
}
