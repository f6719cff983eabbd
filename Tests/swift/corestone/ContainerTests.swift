import Corestone
import XCTest

final class ContainerTests: XCTestCase {
    private var folder = ""
    private var former: [String: String?] = [:]

    override func setUpWithError() throws {
        folder = FileManager.default.temporaryDirectory.path + "/" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    }

    override func tearDownWithError() throws {
        for (name, value) in former { if let value { setenv(name, value, 1) } else { unsetenv(name) } }
        former = [:]
        try FileManager.default.removeItem(atPath: folder)
    }

    private func set(_ name: String, _ value: String?) {
        if former[name] == nil { former[name] = .some(getenv(name).map { String(cString: $0) }) }
        if let value { setenv(name, value, 1) } else { unsetenv(name) }
    }

    private func path(_ name: String) -> String { folder + "/" + name }

    private func model() throws -> Model {
        let model = Model()
        let item = try model.addEntity(named: "Item")
        try item.addAttribute(named: "name", type: .string, isOptional: false)
        return model
    }

    private func container(_ path: String = "a.sqlite", name: String = "Shop") throws -> Container {
        let container = try Container(name: name, model: model(), application: "corestone-test")
        container.storeDescriptions = [StoreDescription(path: self.path(path))]
        return container
    }

    private func failure(_ body: () throws -> Void, line: UInt = #line) -> CoreError {
        do { try body() } catch let error as CoreError { return error } catch { XCTFail("\(error)", line: line) }
        XCTFail("nothing failed", line: line)
        return CoreError(.internal, "")
    }

    private final class Told: @unchecked Sendable {
        private let lock = NSLock()
        private var all: [(index: Int, path: String?, result: Result<Store, CoreError>, thread: pthread_t)] = []
        func add(_ index: Int, _ description: StoreDescription, _ result: Result<Store, CoreError>) {
            lock.withLock { all.append((index, description.path, result, pthread_self())) }
        }
        var calls: [(index: Int, path: String?, result: Result<Store, CoreError>, thread: pthread_t)] {
            lock.withLock { all }
        }
    }

    func testStoreIsInTheDataFolderByDefault() throws {
        set("XDG_DATA_HOME", path("data"))
        let container = try Container(name: "Shop", model: model(), application: "my app")
        try container.loadStores()
        XCTAssertEqual(container.coordinator.stores.map(\.path), [path("data/my app/Shop.sqlite")])
        var facts = stat()
        XCTAssertEqual(stat(path("data"), &facts), 0)
        XCTAssertEqual(facts.st_mode & 0o777, 0o700)
        try container.close()

        set("XDG_DATA_HOME", "relative")
        set("HOME", path("home/"))
        XCTAssertEqual(try Container.defaultFolder(application: "x"), path("home/.local/share/x"))
        let xml = try Container(name: "Shop", model: model(), application: "x")
        xml.storeDescriptions = [StoreDescription(type: .xml)]
        try xml.loadStores()
        let context = Corestone.Context(coordinator: xml.coordinator)
        try context.insert("Item", ["name": "a"])
        try context.save()
        XCTAssert(FileManager.default.fileExists(atPath: path("home/.local/share/x/Shop.xml")))

        set("HOME", nil)
        let error = failure { _ = try Container.defaultFolder(application: "x") }
        XCTAssertEqual(error.status, .invalidArgument)
        XCTAssert(error.message.contains("XDG_DATA_HOME"), error.message)
        XCTAssertEqual(
            failure { try Container(name: "S", model: model(), application: "x").loadStores() }.status, .invalidArgument
        )
        for name in ["", "..", "a/b"] {
            XCTAssertEqual(failure { _ = try Container.defaultFolder(application: name) }.status, .invalidArgument)
        }
        XCTAssertEqual(failure { _ = try Container(name: "a/b", model: model()) }.status, .invalidArgument)
    }

    func testModelIsFoundByName() throws {
        set("XDG_DATA_HOME", path("data"))
        set("CORESTONE_MODEL_PATH", path("nothing") + ":" + path("models"))
        let error = failure { _ = try Container(name: "Shop") }
        XCTAssertEqual(error.status, .model)
        XCTAssert(error.message.contains(path("models")), error.message)
        try FileManager.default.createDirectory(atPath: path("models"), withIntermediateDirectories: true)
        try model().write(to: path("models/Shop.mom"))
        XCTAssertEqual(try Container(name: "Shop").model.entities.map(\.name), ["Item"])
        set("CORESTONE_MODEL_PATH", nil)
        XCTAssertEqual(try Container(name: "Shop", modelFolders: [path("models")]).model.entities.count, 1)
    }

    func testLoadHandlerIsCalledOncePerStoreEvenOnFailure() throws {
        let container = try Container(name: "Shop", model: model(), application: "x")
        try "no store".write(toFile: path("text"), atomically: true, encoding: .utf8)
        container.storeDescriptions = [
            StoreDescription(path: path("a.sqlite")), StoreDescription(path: path("text")),
            StoreDescription(path: path("new/b.xml"), type: .xml), StoreDescription(type: .inMemory),
        ]
        let told = Told()
        try container.loadStores(told.add)
        XCTAssertEqual(told.calls.map(\.index), [0, 1, 2, 3])
        XCTAssertEqual(told.calls.map { (try? $0.result.get()) != nil }, [true, false, true, true])
        guard case .failure(let error) = told.calls[1].result else { return XCTFail() }
        XCTAssertEqual(error.status, .notAStore, error.message)
        XCTAssertEqual(container.coordinator.stores.count, 3)
        // Open stores are not opened again.
        let again = Told()
        try container.loadStores(again.add)
        XCTAssertEqual(again.calls.map(\.index), [1])
        XCTAssertEqual(failure { try container.loadStores() }.status, .notAStore)
        unlink(path("text"))
        try container.loadStores()
        XCTAssertEqual(container.coordinator.stores.count, 4)
        let none = Told()
        try container.loadStores(none.add)
        XCTAssert(none.calls.isEmpty)
    }

    func testLoadErrorHasTheErrorsOfTheStoresAsChildren() throws {
        let container = try Container(name: "Shop", model: model(), application: "x")
        container.storeDescriptions = ["a", "b", "c"].map { StoreDescription(path: path($0)) }
        for name in ["a", "b"] { try "no store".write(toFile: path(name), atomically: true, encoding: .utf8) }
        let error = failure { try container.loadStores() }
        XCTAssertEqual(error.children.compactMap(\.file), [path("a"), path("b")])
        XCTAssert(error.message.contains("2 of 3"), error.message)
        XCTAssertEqual(container.coordinator.stores.count, 1)
    }

    func testContainerMigratesUnlessMigrationIsDisabled() throws {
        let first = try container()
        try first.loadStores()
        try first.viewContext.insert("Item", ["name": "a"])
        try first.close(.save)
        let other = Model()
        try other.addEntity(named: "Item").addAttribute(named: "label", type: .string)
        let container = try Container(name: "Shop", model: other, application: "x")
        var options = StoreOptions()
        options.migration = MigrationOptions()
        container.storeDescriptions = [StoreDescription(path: path("a.sqlite"), options: options)]
        XCTAssertEqual(failure { try container.loadStores() }.status, .modelMismatch)
        container.storeDescriptions = [StoreDescription(path: path("a.sqlite"))]
        try container.loadStores()
        XCTAssertEqual(try container.viewContext.fetch("Item").count, 1)
    }

    func testAsynchronousStoresAreOpenedOnAnotherThread() throws {
        let container = try Container(name: "Shop", model: model(), application: "x")
        var later = StoreDescription(path: path("later.sqlite"))
        later.shouldAddStoreAsynchronously = true
        container.storeDescriptions = [later, StoreDescription(path: path("now.sqlite"))]
        let told = Told()
        let done = expectation(description: "both")
        done.expectedFulfillmentCount = 2
        try container.loadStores {
            told.add($0, $1, $2); done.fulfill()
        }
        XCTAssert(told.calls.contains { $0.index == 1 })
        wait(for: [done], timeout: 60)
        XCTAssertEqual(Set(told.calls.map(\.index)), [0, 1])
        for call in told.calls { XCTAssertEqual(pthread_equal(call.thread, pthread_self()) != 0, call.index == 1) }
    }

    func testLoadingAndBackgroundTasksWorkWithAsyncAwait() async throws {
        let container = try container()
        try await container.loadStores()
        let count = try await container.performBackgroundTask { context in
            try context.insert("Item", ["name": "a"])
            try context.save()
            return try context.count("Item")
        }
        XCTAssertEqual(count, 1)
        try await container.loadStores()
        try container.close()
    }

    func testViewContextUsesTheMainQueueAndMergesSaves() throws {
        let container = try container()
        try container.loadStores()
        let view = container.viewContext
        XCTAssert(view === container.viewContext)
        XCTAssertEqual(view.queueType, .main)
        try view.insert("Item", ["name": "a"])
        try view.save()
        XCTAssertEqual(try container.newBackgroundContext().performAndWait { try $0.count("Item") }, 1)
    }

    func testCloseFailsAndCountsUnsavedChangesPerContext() throws {
        let container = try container()
        try container.loadStores()
        let view = container.viewContext
        let kept = try view.insert("Item", ["name": "kept"])
        let gone = try view.insert("Item", ["name": "gone"])
        try view.save()
        try kept.set("name", "other")
        try view.delete(gone)
        let background = container.newBackgroundContext()
        background.name = "import"
        let child = Corestone.Context(parent: background, queue: .privateQueue)
        try child.performAndWait { context in for _ in 0..<3 { try context.insert("Item", ["name": "new"]) } }
        let error = failure { try container.close() }
        XCTAssertEqual(error.status, .unsavedChanges)
        XCTAssertEqual(error.children.count, 2)
        XCTAssert(error.message.contains("context \"view\""), error.message)
        XCTAssert(error.message.contains("1 Item updated, 1 Item deleted"), error.message)
        XCTAssert(error.message.contains("3 Item inserted"), error.message)
        XCTAssertFalse(container.isClosed)
        XCTAssertEqual(
            container.unsavedChanges.first { $0.name == "view" }?.counts, .init(inserted: 0, updated: 1, deleted: 1))
        // Changes of a child are saved to its parent, and from there to the store.
        try container.close(.save)
        XCTAssert(container.isClosed)
        XCTAssertEqual(failure { try container.loadStores() }.status, .invalidHandle)
        try container.close()
        let again = try self.container()
        try again.loadStores()
        XCTAssertEqual(try Corestone.Context(coordinator: again.coordinator).count("Item"), 4)
    }

    func testFailedSaveKeepsTheContainerOpen() throws {
        let container = try container()
        try container.loadStores()
        let context = Corestone.Context(coordinator: container.coordinator)
        try context.insert("Item")
        XCTAssertEqual(failure { try container.close(.save) }.status, .validation)
        XCTAssertFalse(container.isClosed)
        try container.close(.discard)
        XCTAssert(container.coordinator.stores.isEmpty)
        XCTAssertNotEqual(failure { try context.save() }.status, .internal)
    }

    func testCloseSavesContextsOfEndedThreadsOnly() throws {
        let container = try container()
        try container.loadStores()
        final class Box: @unchecked Sendable { var context: Corestone.Context? }
        let box = Box()
        let made = DispatchSemaphore(value: 0), end = DispatchSemaphore(value: 0), ended = DispatchSemaphore(value: 0)
        let thread = Thread {
            let context = Corestone.Context(coordinator: container.coordinator)
            try? context.insert("Item", ["name": "a"])
            box.context = context
            made.signal()
            end.wait()
            ended.signal()
        }
        thread.start()
        made.wait()
        let error = failure { try container.close() }
        XCTAssertEqual(error.status, .unsavedChanges)
        XCTAssert(error.message.contains("the calling thread cannot"), error.message)
        XCTAssertNil(container.unsavedChanges.first?.counts)
        end.signal()
        ended.wait()
        while !thread.isFinished { usleep(1000) }
        usleep(50_000)
        // The thread of the context has ended, so only `close` can save the context.
        try container.close(.save)
        let again = try self.container()
        try again.loadStores()
        XCTAssertEqual(try Corestone.Context(coordinator: again.coordinator).count("Item"), 1)
        box.context = nil
    }

    // MARK: Names and folders

    func testNamesThatNoFileCanHaveAreRejected() throws {
        for name in ["", "a/b", "/", "a\u{0}b"] {
            let error = failure { _ = try Container(name: name, model: model()) }
            XCTAssertEqual(error.status, .invalidArgument)
            XCTAssertEqual(error.code, CocoaCode.persistentStoreOpen.rawValue)
            XCTAssertEqual(error.value, .string(name))
        }
        set("XDG_DATA_HOME", path("data"))
        for name in ["", ".", "..", "a/b", "a\u{0}b"] {
            let error = failure { _ = try Container.defaultFolder(application: name) }
            XCTAssertEqual(error.status, .invalidArgument)
            XCTAssertEqual(error.key, "application")
            XCTAssertEqual(error.value, .string(name))
        }
        XCTAssertEqual(try Container.defaultFolder(application: "..."), path("data/..."))
        XCTAssertEqual(
            try Container.defaultFolder(),
            path("data/")
                + (try XCTUnwrap(FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) as NSString)
                .lastPathComponent)
        for (home, wanted) in [(path("d//"), path("d/x")), ("/", "//x")] {
            set("XDG_DATA_HOME", home)
            XCTAssertEqual(try Container.defaultFolder(application: "x"), wanted)
        }
    }

    func testModelIsLoadedFromTheFirstFolderThatHasIt() throws {
        func make(_ place: String, _ entity: String) throws {
            let folder = (path(place) as NSString).deletingLastPathComponent
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            let model = Model()
            try model.addEntity(named: entity).addAttribute(named: "name", type: .string)
            try model.write(to: path(place))
        }
        func found(_ folders: [String] = []) throws -> String? {
            try Container(name: "Shop", application: "app", modelFolders: folders.map(path)).model.entities.first?.name
        }
        set("CORESTONE_MODEL_PATH", path("p") + ":" + path("q"))
        set("XDG_DATA_HOME", path("home"))
        set("XDG_DATA_DIRS", "relative:" + path("d1") + ":" + path("d2"))
        // From the last folder of the search order to the first.
        try make("d2/app/Shop.mom", "InSecondDataDirectory")
        XCTAssertEqual(try found(), "InSecondDataDirectory")
        try make("d1/app/Shop.mom", "InFirstDataDirectory")
        XCTAssertEqual(try found(), "InFirstDataDirectory")
        try make("home/app/Shop.mom", "InDataFolder")
        XCTAssertEqual(try found(), "InDataFolder")
        try make("q/Shop.mom", "InSecondOfPath")
        XCTAssertEqual(try found(), "InSecondOfPath")
        try make("p/Shop.mom", "InFirstOfPath")
        XCTAssertEqual(try found(), "InFirstOfPath")
        try make("n/Shop.mom", "Named")
        XCTAssertEqual(try found(["m", "n"]), "Named")
        try make("m/Shop.xcdatamodel", "Source")
        XCTAssertEqual(try found(["m", "n"]), "Source")
        try make("m/Shop.mom", "Compiled")
        XCTAssertEqual(try found(["m", "n"]), "Compiled", "a compiled model precedes a source model in one folder")
        let error = failure { _ = try Container(name: "Nothing", application: "app", modelFolders: [path("m")]) }
        XCTAssertEqual(error.status, .model)
        XCTAssertEqual(error.value, .string("Nothing"))
        XCTAssertTrue(
            error.message.contains(
                "cannot find the model \"Nothing\" (.momd, .mom, .xcdatamodeld, .xcdatamodel) in "
                    + "\(path("m")), \(path("p")), \(path("q")), "), error.message)
    }

    func testStoreFileNameFollowsContainerNameAndType() throws {
        set("XDG_DATA_HOME", path("data"))
        let container = try Container(name: "Shop", model: model(), application: "app")
        XCTAssertEqual(container.storeDescriptions.map(\.path), [nil])
        container.storeDescriptions = [
            StoreDescription(), StoreDescription(type: .xml), StoreDescription(type: .binary),
            StoreDescription(type: .inMemory),
        ]
        try container.loadStores()
        XCTAssertEqual(
            container.coordinator.stores.map(\.path),
            [path("data/app/Shop.sqlite"), path("data/app/Shop.xml"), path("data/app/Shop.binary"), "Shop"])
        try container.close()
    }

    /// No folder is created for a store that must exist, or that is read-only.
    func testFoldersAreCreatedForNewStoresOnly() throws {
        func load(_ change: (inout StoreDescription) -> Void) throws -> CoreError {
            let container = try container()
            var description = StoreDescription(path: path("new/deep/a.sqlite"))
            change(&description)
            container.storeDescriptions = [description]
            return failure { try container.loadStores() }
        }
        for change: (inout StoreDescription) -> Void in [
            { $0.options.mustExist = true }, { $0.isReadOnly = true }, { $0.shouldMakeFolder = false },
        ] {
            XCTAssertEqual(try load(change).status, .storeIO)
            XCTAssertFalse(FileManager.default.fileExists(atPath: path("new")))
        }
        try "x".write(toFile: path("new"), atomically: true, encoding: .utf8)
        let error = try load { _ in }
        XCTAssertEqual(error.status, .storeIO)
        XCTAssertEqual(error.file, path("new/deep/a.sqlite"))
    }

    // MARK: Descriptions

    func testStoreDescriptionPropertiesMirrorItsOptions() {
        var description = StoreDescription(path: "p", type: .xml)
        XCTAssertEqual(description.timeout, 5)
        XCTAssertFalse(description.isReadOnly)
        XCTAssertNil(description.configuration)
        XCTAssertFalse(description.shouldAddStoreAsynchronously)
        XCTAssertTrue(description.shouldMakeFolder)
        description.configuration = "Local"
        description.isReadOnly = true
        description.pragmas = ["cache_size": "5"]
        XCTAssertEqual(description.options.configuration, "Local")
        XCTAssertTrue(description.options.isReadOnly)
        XCTAssertEqual(description.options.pragmas, ["cache_size": "5"])
        description.options.configuration = "Other"
        description.options.pragmas = [:]
        XCTAssertEqual(description.configuration, "Other")
        XCTAssertEqual(description.pragmas, [:])
        for (seconds, milliseconds) in [
            (0, 0), (0.25, 250), (2, 2000), (-1, 0), (.nan, 0), (2_000_000, 2_000_000_000), (1e300, 2_000_000_000),
        ] as [(Double, Int)] {
            description.timeout = seconds
            XCTAssertEqual(description.options.busyTimeoutMilliseconds, milliseconds)
            XCTAssertEqual(description.timeout, Double(milliseconds) / 1000)
        }
    }

    /// Open stores stay open when other stores are described.
    func testChangedDescriptionsOpenOnlyNewStores() throws {
        let container = try container()
        try container.loadStores()
        let store = container.coordinator.stores[0]
        var same = StoreDescription(path: path("a.sqlite"))
        same.isReadOnly = true
        container.storeDescriptions = [StoreDescription(path: path("b.sqlite")), same]
        let told = Told()
        try container.loadStores(told.add)
        XCTAssertEqual(told.calls.map(\.path), [path("b.sqlite")])
        XCTAssertEqual(told.calls.map(\.index), [0])
        XCTAssertTrue(container.coordinator.stores[0] === store)
        XCTAssertEqual(container.coordinator.stores.count, 2)
        XCTAssertEqual(container.storeDescriptions.map(\.isReadOnly), [false, true])
        // A removed store is opened again, with its new description.
        try container.coordinator.remove(store)
        try container.loadStores()
        XCTAssertEqual(container.coordinator.stores.map(\.isReadOnly), [false, true])
    }

    func testOpenCreatesAContainerForAnExistingStore() throws {
        let first = try container()
        try first.loadStores()
        try first.viewContext.insert("Item", ["name": "a"])
        try first.close(.save)
        let opened = try Container.open(path("a.sqlite"))
        XCTAssertEqual(opened.name, "a.sqlite")
        XCTAssertEqual(opened.storeDescriptions.map(\.path), [path("a.sqlite")])
        XCTAssertEqual(opened.storeDescriptions.map(\.type), [.sqlite])
        XCTAssertTrue(opened.coordinator.stores[0].isReadOnly)
        XCTAssertEqual(try Corestone.Context(coordinator: opened.coordinator).count("Item"), 1)
        let told = Told()
        try opened.loadStores(told.add)
        XCTAssertTrue(told.calls.isEmpty, "the store is already open")
        try opened.close()
        XCTAssertEqual(failure { _ = try Container.open(path("none")) }.status, .storeIO)
    }

    // MARK: Work

    func testBackgroundTaskReportsItsResultOrError() throws {
        let container = try container()
        try container.loadStores()
        func ended(_ body: @escaping @Sendable (Corestone.Context) throws -> Int) -> Result<Int, any Error>? {
            final class Box: @unchecked Sendable { var result: Result<Int, any Error>? }
            let (box, done) = (Box(), expectation(description: "ended"))
            container.performBackgroundTask(body) {
                box.result = $0
                done.fulfill()
            }
            wait(for: [done], timeout: 60)
            return box.result
        }
        XCTAssertEqual(
            try ended { context in
                try context.insert("Item", ["name": "a"])
                try context.save()
                return 7
            }?.get(), 7)
        XCTAssertThrowsError(
            try ended { context in
                try context.insert("Item", ["name": "b"])
                throw CoreError(.callback, "no")
            }?.get()
        ) { XCTAssertEqual(($0 as? CoreError)?.status, .callback) }
        XCTAssertEqual(try container.newBackgroundContext().performAndWait { try $0.count("Item") }, 1)
        XCTAssertTrue(container.unsavedChanges.isEmpty, "changes of a task that throws are rolled back")
        try container.close()
        XCTAssertThrowsError(try ended { _ in 1 }?.get()) { XCTAssertEqual(($0 as? CoreError)?.status, .invalidHandle) }
        XCTAssertEqual(failure { try container.performBackgroundTask { _ in } }.status, .invalidHandle)
        XCTAssertEqual(failure { try container.loadStores { _, _, _ in } }.status, .invalidHandle)
    }
}
