import Corestone
import TestSupport
import XCTest

/// Unsaved changes: closing fails by default if there are any, and the log reports those that are lost.
final class UnsavedTests: XCTestCase {
    private var folder = ""

    override func setUpWithError() throws {
        folder = FileManager.default.temporaryDirectory.path + "/" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    }

    override func tearDownWithError() throws {
        DebugLog.setSink(nil)
        try FileManager.default.removeItem(atPath: folder)
    }

    private func model() throws -> Model { try Model(text: Checkout.company) }

    private func container() throws -> Container {
        let container = try Container(name: "Shop", model: model(), application: "corestone-test")
        container.storeDescriptions = [StoreDescription(path: folder + "/a.sqlite")]
        try container.loadStores()
        return container
    }

    private func failure(_ body: () throws -> Void, line: UInt = #line) -> CoreError {
        do { try body() } catch let error as CoreError { return error } catch { XCTFail("\(error)", line: line) }
        XCTFail("nothing failed", line: line)
        return CoreError(.internal, "")
    }

    /// Saved: Ada, Bob. Not saved: Eve, Fay and a department inserted, Ada changed, Bob deleted.
    private func edit(_ context: Corestone.Context) throws {
        let ada = try context.insert("Employee", ["name": "Ada"])
        let bob = try context.insert("Employee", ["name": "Bob"])
        try context.save()
        for name in ["Eve", "Fay"] { try context.insert("Employee", ["name": name]) }
        try context.insert("Department", ["name": "R&D"])
        try ada.set("name", "Ada Lovelace")
        try context.delete(bob)
    }

    private static let counts =
        "1 Department inserted, 2 Employee inserted, 1 Employee updated, 1 Employee deleted"
    private static let remedy =
        "call cst_context_save (save) or cst_context_rollback (rollback) on the context, or close with "
        + "CST_UNSAVED_DISCARD (.discard)"

    private func lines(_ body: () throws -> Void) rethrows -> [String] {
        let lines = Locked<[String]>([])
        DebugLog.setSink { line in lines.withLock { $0.append(line) } }
        defer { DebugLog.setSink(nil) }
        try body()
        return lines.withLock { $0 }
    }

    func testContainerCloseFailsWithUnsavedChangesByDefault() throws {
        let container = try container()
        try edit(container.viewContext)
        let error = failure { try container.close() }
        XCTAssertEqual(error.status, .unsavedChanges)
        XCTAssertEqual(
            error.message,
            "the container \"Shop\" stays open because context \"view\" has unsaved changes: \(UnsavedTests.counts); "
                + UnsavedTests.remedy)
        XCTAssertEqual(
            container.unsavedChanges.first?.entities,
            ["Department": .init(inserted: 1), "Employee": .init(inserted: 2, updated: 1, deleted: 1)])
        XCTAssertFalse(container.isClosed)
        XCTAssert(container.viewContext.hasChanges)
        try container.close(.save)
        XCTAssert(container.isClosed)
    }

    func testDocumentCloseFailsWithUnsavedChangesByDefault() throws {
        let document = try Document(model: model(), queue: .caller)
        try document.context.insert("Employee", ["name": "Ada"])
        let error = failure { try document.close() }
        XCTAssertEqual(error.status, .unsavedChanges)
        XCTAssertEqual(
            error.message,
            "the untitled document stays open because context \"document\" has unsaved changes: 1 Employee inserted; call "
                + "cst_document_save_as (save_as, saveAs), or close with CST_UNSAVED_DISCARD (.discard)")
        try document.saveAs(folder + "/a.store")
        try document.context.insert("Employee", ["name": "Bob"])
        XCTAssert(
            failure { try document.close() }.message.contains(
                "call cst_document_save (save) to keep them or cst_document_revert (revert) to discard them"))
        try document.context.close(.save)
        XCTAssertFalse(document.context.isClosed, "the context stays open until the document closes")
        try document.close()
    }

    func testUntitledDocumentStaysOpenBecauseOfItsOtherContexts() throws {
        let document = try Document(model: model(), queue: .caller)
        let child = Corestone.Context(parent: document.context, file: "Here.swift", line: 7)
        child.name = "form"
        try child.insert("Employee", ["name": "Ada"])
        XCTAssertEqual(
            failure { try document.close() }.message,
            "the untitled document stays open because context \"form\" (created at Here.swift:7) has unsaved changes: "
                + "1 Employee inserted; call cst_context_save (save) or cst_context_rollback (rollback) on the context "
                + "and then cst_document_save_as (save_as, saveAs), or close with CST_UNSAVED_DISCARD (.discard)")
        try document.context.insert("Department", ["name": "R&D"])
        let message = failure { try document.close() }.message
        XCTAssert(message.contains("on each of these contexts and then cst_document_save_as"), message)
        try child.save()
        try document.context.save()
        try document.saveAs(folder + "/a.store")
        try document.close()
    }

    func testContextCloseFailsWithUnsavedChangesByDefault() throws {
        let container = try container()
        for queue in [Corestone.Context.QueueType.caller, .privateQueue, .main] {
            if queue == .main { try MainQueue.bind() }
            let context = Corestone.Context(
                coordinator: container.coordinator, queue: queue, file: "Here.swift", line: 7)
            context.name = "editor"
            try context.performAndWait { try edit($0) }
            let error = failure { try context.close() }
            XCTAssertEqual(error.status, .unsavedChanges)
            XCTAssertEqual(
                error.message,
                "context \"editor\" (created at Here.swift:7) stays open because it has unsaved changes: \(UnsavedTests.counts); "
                    + UnsavedTests.remedy)
            XCTAssertFalse(context.isClosed)
            XCTAssert(try context.performAndWait { $0.hasChanges })
            try context.performAndWait { try $0.rollback() }
            try context.close()
            XCTAssert(context.isClosed)
            try context.close()
            XCTAssertFalse(context.hasChanges)
            XCTAssertEqual(
                failure { _ = try context.performAndWait { try $0.count("Employee") } }.status, .invalidHandle)
            XCTAssertEqual(failure { try context.save() }.status, .invalidHandle)
        }
        try container.close()
    }

    func testContextCloseSavesOrDiscardsByPolicy() throws {
        let container = try container()
        let saved = Corestone.Context(coordinator: container.coordinator)
        let ada = try saved.insert("Employee", ["name": "Ada"])
        try saved.close(.save)
        XCTAssertEqual(failure { _ = try ada.value(forKey: "name") }.status, .objectGone)
        let dropped = Corestone.Context(coordinator: container.coordinator, queue: .privateQueue)
        try dropped.performAndWait { _ = try $0.insert("Employee", ["name": "Bob"]) }
        try dropped.close(.discard)
        let invalid = Corestone.Context(coordinator: container.coordinator)
        try invalid.insert("Employee")
        XCTAssertEqual(failure { try invalid.close(.save) }.status, .validation)
        XCTAssertFalse(invalid.isClosed)
        try invalid.close(.discard)
        XCTAssertEqual(try container.viewContext.count("Employee"), 1)
        try container.close()
    }

    func testClosingAParentSavesChildContextsIntoIt() throws {
        let container = try container()
        let parent = Corestone.Context(coordinator: container.coordinator, queue: .privateQueue)
        let child = Corestone.Context(parent: parent, queue: .privateQueue)
        try child.performAndWait { _ = try $0.insert("Employee", ["name": "Ada"]) }
        XCTAssertEqual(failure { try parent.close() }.children.count, 1)
        XCTAssertFalse(child.isClosed)
        try parent.close(.save)
        XCTAssert(child.isClosed && parent.isClosed)
        XCTAssertEqual(try container.viewContext.count("Employee"), 1)
        try container.close()
    }

    func testClosingTheViewContextKeepsItOpen() throws {
        let container = try container()
        let view = container.viewContext
        try view.insert("Employee", ["name": "Ada"])
        XCTAssertEqual(failure { try view.close() }.status, .unsavedChanges)
        try view.close(.discard)
        XCTAssertFalse(view.hasChanges)
        XCTAssertFalse(view.isClosed)
        XCTAssert(view === container.viewContext)
        XCTAssertEqual(try view.count("Employee"), 0)
        try container.close()
    }

    func testCoordinatorCloseFailsWithUnsavedChangesByDefault() throws {
        let coordinator = try Coordinator(model: model())
        try coordinator.addSQLiteStore(at: folder + "/a.sqlite")
        let context = Corestone.Context(coordinator: coordinator)
        try context.insert("Employee", ["name": "Ada"])
        XCTAssert(
            failure { try coordinator.close() }.message.hasPrefix(
                "the coordinator stays open because a context (created at "))
        XCTAssertEqual(coordinator.stores.count, 1)
        try coordinator.close(.save)
        try coordinator.close()
        XCTAssertEqual(coordinator.stores.count, 0)
    }

    func testClosedCoordinatorRejectsStoresAndItsContainerCloses() throws {
        let container = try container()
        try container.coordinator.close()
        XCTAssertEqual(
            failure { try container.coordinator.addSQLiteStore(at: folder + "/b.sqlite") }.status, .invalidHandle)
        XCTAssertFalse(container.isClosed)
        try container.close()
        XCTAssert(container.isClosed)
        let document = try Document(model: model(), queue: .caller)
        try document.context.insert("Employee", ["name": "Ada"])
        try document.close(.discard)
        try document.context.coordinator.close()
    }

    func testConcurrentCloseOfAContainerFailsOnTheSecondThread() throws {
        let container = try container()
        let isBusy = DispatchSemaphore(value: 0), mayEnd = DispatchSemaphore(value: 0)
        let background = container.newBackgroundContext()
        try background.enqueue { context in
            try context.insert("Employee", ["name": "Ada"])
            isBusy.signal()
            mayEnd.wait()
        }
        isBusy.wait()
        let statuses = Locked<[Status]>([])
        let first = Thread {
            do { try container.close() } catch let error as CoreError {
                statuses.withLock { $0.append(error.status) }
            } catch {}
        }
        first.start()
        // Waits until the thread waits for the queue.
        for _ in 0..<2000 {
            if (try? background.enqueue { _ in }) == nil { break }
            usleep(1000)
        }
        XCTAssertEqual(failure { try container.close(.discard) }.status, .invalidHandle)
        mayEnd.signal()
        while !first.isFinished { usleep(1000) }
        XCTAssertEqual(statuses.withLock { $0 }, [.unsavedChanges])
        XCTAssertFalse(container.isClosed)
        XCTAssert(try background.performAndWait { $0.hasChanges })
        try container.close(.discard)
        XCTAssert(container.isClosed)
    }

    func testAsynchronousFetchAndActorFailOnAClosedContext() async throws {
        actor Worker {
            private let executor: ContextExecutor
            nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }
            init(_ context: Corestone.Context) throws { executor = try ContextExecutor(context) }
            func count() -> Int? { try? executor.context.count("Employee") }
        }
        let container = try container()
        let context = container.newBackgroundContext()
        let worker = try Worker(context)
        let before = await worker.count()
        XCTAssertEqual(before, 0)
        XCTAssertEqual(try context.close(), true)
        let after = await worker.count()
        XCTAssertNil(after)
        do {
            _ = try await context.fetchAsynchronously(FetchRequest(entityName: "Employee")) { _ in 0 }
            XCTFail("the fetch succeeded on a closed context")
        } catch let error as CoreError { XCTAssertEqual(error.status, .invalidHandle) }
        try container.close()
    }

    func testLogReportsUnsavedChangesOfAReleasedContext() throws {
        let container = try container()
        let told = try lines {
            let context = Corestone.Context(coordinator: container.coordinator, file: "Here.swift", line: 7)
            context.name = "editor"
            try edit(context)
        }
        XCTAssertEqual(
            told,
            [
                "CoreData: warning: context \"editor\" (created at Here.swift:7) was released with unsaved changes, which are lost: "
                    + "\(UnsavedTests.counts); call cst_context_save (save) or cst_context_rollback (rollback) "
                    + "before the last reference is released"
            ])
        try container.close()
    }

    func testLogIgnoresSavedAndDiscardedChanges() throws {
        let container = try container()
        let told = try lines {
            for end in 0..<4 {
                let context = Corestone.Context(coordinator: container.coordinator)
                try context.insert("Employee", ["name": "Ada"])
                if end == 0 { try context.save() }
                if end == 1 { try context.rollback() }
                if end == 2 { try context.reset() }
                if end == 3 { try context.close(.discard) }
            }
            let left = Corestone.Context(coordinator: container.coordinator)
            try left.insert("Employee", ["name": "Ada"])
            try container.close(.discard)
            withExtendedLifetime(left) {}
        }
        XCTAssertEqual(told, [])
    }

    func testLogReportsUnsavedChangesOfABackgroundTask() async throws {
        let container = try container()
        let lines = Locked<[String]>([])
        DebugLog.setSink { line in lines.withLock { $0.append(line) } }
        try await container.performBackgroundTask { _ = try $0.insert("Employee", ["name": "Ada"]) }
        for _ in 0..<500 where lines.withLock(\.isEmpty) { usleep(10_000) }
        XCTAssertEqual(lines.withLock(\.count), 1)
        XCTAssert(lines.withLock { $0.first?.contains("1 Employee inserted") == true })
        lines.withLock { $0 = [] }
        do {
            try await container.performBackgroundTask {
                _ = try $0.insert("Employee", ["name": "Ada"])
                throw CancellationError()
            }
        } catch is CancellationError {}
        usleep(100_000)
        XCTAssertEqual(lines.withLock { $0 }, [], "unsaved changes of a task that throws are rolled back")
        try container.close()
    }

    func testLogReportsUnsavedChangesOfReleasedContainersAndDocuments() throws {
        var container: Container? = try self.container()
        try container?.viewContext.insert("Employee", ["name": "Ada"])
        XCTAssert(
            lines { container = nil }.first?.contains("context \"view\" was released with unsaved changes") == true)
        var document: Document? = try Document(model: model(), queue: .caller)
        try document?.context.insert("Employee", ["name": "Ada"])
        try document?.context.save()
        XCTAssertEqual(
            lines { document = nil },
            [
                "CoreData: warning: an untitled document was released, and its content is lost; call cst_document_save_as "
                    + "(save_as, saveAs), or close it with CST_UNSAVED_DISCARD (.discard), before releasing it"
            ])
    }

    func testLogIgnoresRejectedRecords() throws {
        let container = try container()
        XCTAssertEqual(
            lines { XCTAssertEqual(failure { _ = try container.insert("Employee", [[:]]) }.status, .validation) }, [])
        try container.close()
    }
}
