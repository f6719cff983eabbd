import Corestone
import Dispatch
import XCTest

/// The context and the entity of objects, the store of IDs, names and options of coordinators and stores, and editors.
final class IdentityTests: XCTestCase {
    private var coordinator: Corestone.Coordinator!
    private var context: Corestone.Context!

    override func setUpWithError() throws {
        coordinator = try Coordinator(model: try model())
        context = Corestone.Context(coordinator: coordinator)
    }

    private func model() throws -> Model {
        let model = Model()
        let note = try model.addEntity(named: "Note")
        try note.addAttribute(named: "title", type: .string)
        try note.addAttribute(named: "made", type: .date)
        return model
    }

    private func failure(_ body: () throws -> Void, line: UInt = #line) -> CoreError {
        do { try body() } catch let error as CoreError { return error } catch { XCTFail("\(error)", line: line) }
        XCTFail("nothing failed", line: line)
        return CoreError(.internal, "")
    }

    // MARK: Objects, IDs and stores

    func testObjectKnowsItsContextAndEntity() throws {
        try coordinator.addStore(.inMemory, at: "notes")
        let object = try context.insert("Note")
        XCTAssertTrue(object.context === context)
        XCTAssertEqual(object.entity.name, "Note")
        let alone = try ManagedObject(entity: object.entity)
        XCTAssertNil(alone.context)
        try context.insert(alone)
        XCTAssertTrue(alone.context === context)
        try context.delete(alone)
        try context.save()
        XCTAssertNil(alone.context)
        XCTAssertEqual(alone.entity.name, "Note")
    }

    func testIDKnowsItsStoreAfterTheSave() throws {
        let store = try coordinator.addStore(.inMemory, at: "notes")
        let object = try context.insert("Note")
        XCTAssertNil(object.objectID.persistentStore)
        try context.save()
        XCTAssertTrue(object.objectID.persistentStore === store)
    }

    func testCoordinatorHasAName() throws {
        XCTAssertNil(coordinator.name)
        coordinator.name = "main"
        XCTAssertEqual(coordinator.name, "main")
        coordinator.name = nil
        XCTAssertNil(coordinator.name)
    }

    func testStoreKeepsItsOptionsWithoutThoseOfTheMigration() throws {
        var options = StoreOptions()
        options.busyTimeoutMilliseconds = 1500
        options.migration = MigrationOptions()
        let store = try coordinator.addStore(.inMemory, at: "notes", options: options)
        XCTAssertEqual(store.options.busyTimeoutMilliseconds, 1500)
        XCTAssertNil(store.options.migration)
        XCTAssertEqual(try store.metadata["NSStoreType"], .string("InMemory"))
        try coordinator.remove(store)
        XCTAssertEqual(failure { _ = try store.metadata }.status, .objectGone)
    }

    // MARK: Custom stores

    private final class Noticed: AtomicStore, @unchecked Sendable {
        static let events = Events()
        private let opening: StoreOpening
        init(_ opening: StoreOpening) throws { self.opening = opening }
        var metadata: [String: PropertyListValue] { opening.metadata.dictionary }
        func load() throws -> [StoreNode] { [] }
        func didAdd(to coordinator: Corestone.Coordinator) {
            Self.events.all.append("added to \(coordinator.name ?? "")")
        }
        func willRemove(from coordinator: Corestone.Coordinator) {
            Self.events.all.append("removed from \(coordinator.name ?? "")")
        }
        func close() { Self.events.all.append("closed") }
    }

    private final class Events: @unchecked Sendable {
        var all: [String] = []
    }

    func testCustomStoreIsNotifiedOfItsCoordinator() throws {
        let type = try StoreTypes.register("Noticed \(UUIDValue.random())", Noticed.self)
        coordinator.name = "main"
        let store = try coordinator.addStore(type, at: "shelf")
        XCTAssertEqual(Noticed.events.all, ["added to main"])
        try coordinator.remove(store)
        XCTAssertEqual(Noticed.events.all, ["added to main", "removed from main", "closed"])
    }

    // MARK: Locks

    func testUnlockWithoutALockHasCoreDatasCode() throws {
        let background = Corestone.Context(coordinator: coordinator, queue: .privateQueue)
        for context in [background, context!] {
            let error = failure { try context.unlock() }
            XCTAssertEqual(error.status, .wrongThread)
            XCTAssertEqual(error.code, CocoaCode.managedObjectContextLocking.rawValue)
        }
        try background.lock()
        try background.unlock()
        XCTAssertEqual(failure { try background.unlock() }.code, 132000)
    }

    // MARK: Editors

    private final class Field: Editor {
        let object: ManagedObject
        let text: String
        var error: CoreError?
        var discards = 0
        init(_ object: ManagedObject, _ text: String) { (self.object, self.text) = (object, text) }
        func commitEditing() throws {
            if let error { throw error }
            try object.set("title", text)
        }
        func discardEditing() { discards += 1 }
    }

    func testEditorsAreCommittedInOrder() throws {
        let object = try context.insert("Note")
        let (first, second) = (Field(object, "one"), Field(object, "two"))
        for field in [first, second, first] { context.objectDidBeginEditing(field) }
        try context.commitEditing()
        XCTAssertEqual(try object.get("title"), "two")
        context.objectDidEndEditing(second)
        try context.commitEditing()
        XCTAssertEqual(try object.get("title"), "one")
        first.error = CoreError(.invalidArgument, "too long")
        context.objectDidBeginEditing(second)
        XCTAssertEqual(failure { try context.commitEditing() }.message, "too long")
        XCTAssertEqual(try object.get("title"), "one")
        try context.discardEditing()
        XCTAssertEqual([first.discards, second.discards], [1, 1])
        try checkRefusalOnAnotherThread(context)
    }

    private func checkRefusalOnAnotherThread(_ context: Corestone.Context) throws {
        nonisolated(unsafe) let shared = context
        let done = DispatchSemaphore(value: 0)
        nonisolated(unsafe) var refusal: CoreError?
        Thread {
            do { try shared.commitEditing() } catch { refusal = error as? CoreError }
            done.signal()
        }.start()
        done.wait()
        XCTAssertEqual(refusal?.status, .wrongThread)
    }

    // MARK: Dates

    func testRowsAreGroupedByPartsOfDates() throws {
        let folder = FileManager.default.temporaryDirectory.path + "/" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        for type in [StoreType.sqlite, .inMemory] {
            let coordinator = try Coordinator(model: try model())
            try coordinator.addStore(type, at: folder + "/notes.sqlite")
            let context = Corestone.Context(coordinator: coordinator)
            for text in ["2024-01-31T23:59:59Z", "2024-02-01T00:00:00Z", "2024-02-29T12:00:00.5Z"] {
                try context.insert("Note", ["made": try ReferenceDate(text)])
            }
            try context.insert("Note")
            try context.save()
            XCTAssertEqual(try context.fetch("Note", "month(made) == 2").count, 2)
            XCTAssertEqual(try context.fetch("Note", "made != nil AND startOfDay:(made) == made").count, 1)
            let request = FetchRequest(entity: try coordinator.model.requireEntity(named: "Note"))
            request.propertiesToFetch = [
                .expression(ExpressionDescription(name: "month", expression: try .parse("startOfMonth:(made)"))),
                .expression(ExpressionDescription(name: "n", expression: try .parse("count:(SELF)"))),
            ]
            request.propertiesToGroupBy = ["month"]
            request.sortDescriptors = [SortDescriptor("month")]
            let rows = try context.fetchDictionaries(request)
            let january = try ReferenceDate("2024-01-01T00:00:00Z").secondsSinceReference
            let february = try ReferenceDate("2024-02-01T00:00:00Z").secondsSinceReference
            XCTAssertEqual(
                try rows.rows,
                [[.null, .int(1)], [.date(january), .int(1)], [.date(february), .int(2)]])
        }
    }
}
