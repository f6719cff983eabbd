import Corestone
import XCTest

/// Closing while other threads work: accepted changes are in the file, and rejected calls got an error.
final class ClosingTests: XCTestCase {
    private var folder = ""

    override func setUpWithError() throws {
        folder = FileManager.default.temporaryDirectory.path + "/" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    }

    override func tearDownWithError() throws { try FileManager.default.removeItem(atPath: folder) }

    private func model() throws -> Model {
        let model = Model()
        try model.addEntity(named: "Item").addAttribute(named: "name", type: .string, isOptional: false)
        return model
    }

    private func container(_ name: String) throws -> Container {
        let container = try Container(name: "Closing", model: model())
        container.storeDescriptions = [StoreDescription(path: folder + "/" + name)]
        try container.loadStores()
        return container
    }

    private func names(_ path: String) throws -> Set<String> {
        let container = try Container.open(path, model: model())
        defer { try? container.close(.discard) }
        return Set(
            try container.newBackgroundContext().performAndWait {
                try $0.fetch("Item").compactMap { try $0.get("name") }
            })
    }

    private final class Locker<Value>: @unchecked Sendable {
        private let lock = NSLock()
        private var value: Value
        init(_ value: Value) { self.value = value }
        func with<Result>(_ body: (inout Value) -> Result) -> Result { lock.withLock { body(&value) } }
    }

    private struct Told {
        var accepted: Set<String> = []
        var refused = 0
        var others: [String] = []

        mutating func note(_ error: any Error) {
            if (error as? CoreError)?.status == .invalidHandle { refused += 1 } else { others.append("\(error)") }
        }
    }

    /// Threads schedule blocks in every possible way until they are rejected. Closing saves the last changes.
    func testClosingSavesEveryAcceptedChange() throws {
        for round in 0..<8 {
            let file = "\(round).store"
            let container = try container(file)
            let shared = container.newBackgroundContext()
            let child = Corestone.Context(parent: container.newBackgroundContext(), queue: .privateQueue)
            let told = Locker(Told())
            let threads = DispatchGroup()
            let tasks = DispatchGroup()

            @Sendable func begin(_ name: String, _ body: @escaping @Sendable (String) throws -> Void) {
                threads.enter()
                Thread.detachNewThread {
                    defer { threads.leave() }
                    for number in 0... {
                        do { try body("\(name) \(number)") } catch {
                            told.with { $0.note(error) }
                            return
                        }
                    }
                }
            }
            for (name, context) in [("shared", shared), ("child", child)] {
                begin(name) { item in
                    try context.performAndWait { _ = try $0.insert("Item", ["name": item]) }
                    told.with { _ = $0.accepted.insert(item) }
                }
                begin(name + " later") { item in
                    // Requested outside the queue.
                    let done = DispatchSemaphore(value: 0)
                    let result = Locker<Result<Void, any Error>>(.success(()))
                    Task {
                        do {
                            try await context.perform(schedule: .enqueued) { _ = try $0.insert("Item", ["name": item]) }
                        } catch { result.with { $0 = .failure(error) } }
                        done.signal()
                    }
                    done.wait()
                    try result.with { $0 }.get()
                    told.with { _ = $0.accepted.insert(item) }
                }
            }
            begin("task") { item in
                let refusal = Locker<(any Error)?>(nil)
                tasks.enter()
                container.performBackgroundTask(
                    { context in
                        _ = try context.insert("Item", ["name": item])
                        if item.hasSuffix("0") { try context.save() }
                    },
                    ended: { result in
                        switch result {
                        case .success: told.with { _ = $0.accepted.insert(item) }
                        case .failure(let error): refusal.with { $0 = error }
                        }
                        tasks.leave()
                    })
                usleep(200)
                if let error = refusal.with({ $0 }) { throw error }
            }
            begin("record") { item in
                try container.insert("Item", [["name": .string(item)]])
                told.with { _ = $0.accepted.insert(item) }
            }
            usleep(30_000)
            try container.close(.save)
            threads.wait()
            tasks.wait()
            let (accepted, refused, others) = told.with { ($0.accepted, $0.refused, $0.others) }
            XCTAssertEqual(others, [])
            XCTAssertEqual(refused, 6)
            // The context of a task ends with the task, and its unsaved changes are discarded.
            let kept = accepted.filter { !$0.hasPrefix("task") || $0.hasSuffix("0") }
            let found = try names(folder + "/" + file)
            XCTAssertEqual(kept.subtracting(found).sorted(), [], "round \(round)")
            XCTAssertEqual(found.subtracting(kept).sorted(), [], "round \(round)")
        }
    }

    func testFailedCloseKeepsTheQueuesOpen() throws {
        let container = try container("a")
        let context = container.newBackgroundContext()
        try context.performAndWait { _ = try $0.insert("Item") }
        for policy in [Container.Unsaved.refuse, .save] {
            XCTAssertThrowsError(try container.close(policy))
            XCTAssertFalse(container.isClosed)
            try context.performAndWait { XCTAssertEqual(try $0.count("Item"), 1) }
        }
        try context.performAndWait { try $0.fetch("Item")[0].set("name", "a") }
        try container.close(.save)
        XCTAssertThrowsError(try container.performBackgroundTask { _ in }) {
            XCTAssertEqual(($0 as? CoreError)?.status, .invalidHandle)
        }
        let ended = expectation(description: "ended")
        container.performBackgroundTask(
            { _ in XCTFail("the rejected block ran") },
            ended: { (result: Result<Void, any Error>) in
                if case .failure = result { ended.fulfill() }
            })
        wait(for: [ended], timeout: 60)
        try container.close(.save)
        XCTAssertEqual(try names(folder + "/a"), ["a"])
    }

    func testCloseRunsPendingBlocksOfTheMainQueue() throws {
        let container = try container("a")
        let context = container.viewContext
        try context.performAndWait { _ in }
        let done = expectation(description: "done")
        Task.detached {
            async let result: Void = context.perform(schedule: .enqueued) {
                _ = try $0.insert("Item", ["name": "main"])
            }
            usleep(1000)
            done.fulfill()
            try await result
        }
        wait(for: [done], timeout: 60)
        usleep(100_000)
        try container.close(.save)
        XCTAssertEqual(try names(folder + "/a"), ["main"])
    }

    func testClosingADocumentSavesEveryAcceptedChange() throws {
        let path = folder + "/document"
        let document = try Document(model: model())
        try document.saveAs(path)
        let told = Locker(Told())
        let threads = DispatchGroup()
        for name in ["a", "b"] {
            threads.enter()
            Thread.detachNewThread {
                defer { threads.leave() }
                for number in 0... {
                    let item = "\(name) \(number)"
                    do {
                        try document.context.performAndWait { _ = try $0.insert("Item", ["name": item]) }
                        told.with { _ = $0.accepted.insert(item) }
                    } catch { return told.with { $0.note(error) } }
                }
            }
        }
        usleep(30_000)
        try document.close(.save)
        threads.wait()
        XCTAssertEqual(told.with(\.others), [])
        XCTAssertEqual(try names(path), told.with(\.accepted))
    }
}
