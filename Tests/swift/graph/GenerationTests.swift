import Corestone
import CorestoneGraph
import CorestoneValues
import Foundation
import XCTest

/// Contexts that are pinned to a query generation of their SQLite stores.
final class GenerationTests: XCTestCase {
    private var folder = ""
    private var coordinator: Coordinator!
    private var store: Store!
    private var reader: Context!
    private var writer: Context!

    override func setUpWithError() throws {
        folder = NSTemporaryDirectory() + "corestone-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        coordinator = try Coordinator(model: GraphTestCase.company())
        store = try coordinator.addSQLiteStore(at: path("a.sqlite"), options: quick())
        (reader, writer) = (Context(coordinator: coordinator), Context(coordinator: coordinator))
        let labs = try writer.insert("Department", ["name": "Labs"])
        for name in ["Ada", "Bob", "Eve"] { _ = try writer.insert("Employee", ["name": name, "department": labs]) }
        try writer.save()
    }

    override func tearDown() {
        (reader, writer, store, coordinator) = (nil, nil, nil, nil)
        try? FileManager.default.removeItem(atPath: folder)
    }

    private func path(_ name: String) -> String { folder + "/" + name }

    private func quick(rollback: Bool = false) -> StoreOptions {
        var options = StoreOptions()
        options.normalSync = true
        options.rollbackJournal = rollback
        return options
    }

    private func request(_ entity: String = "Employee", _ predicate: String? = nil) throws -> FetchRequest {
        let request = FetchRequest(entity: try coordinator.model.requireEntity(named: entity))
        request.predicate = try predicate.map { try Predicate.parse($0) }
        request.sortDescriptors = [SortDescriptor(entity == "Project" || entity == "Task" ? "title" : "name")]
        return request
    }

    private func names(_ context: Context, _ predicate: String? = nil) throws -> [String] {
        try context.fetch(request("Employee", predicate)).map { try $0.get("name") ?? "" }
    }

    private func rename(_ old: String, _ new: String) throws {
        let found = try XCTUnwrap(writer.fetch(request("Employee", "name == '\(old)'")).first)
        try found.set("name", new)
        try writer.save()
    }

    private func failure(_ body: () throws -> Void, line: UInt = #line) -> CoreError {
        do { try body() } catch let error as CoreError { return error } catch { XCTFail("\(error)", line: line) }
        XCTFail("nothing was thrown", line: line)
        return CoreError(.ok, "")
    }

    /// Whether a checkpoint can truncate the write-ahead log.
    private func logCanBeTruncated() throws -> Bool {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["sqlite3", path("a.sqlite"), "PRAGMA wal_checkpoint(TRUNCATE)"]
        let pipe = Pipe()
        process.standardOutput = pipe
        try process.run()
        let output = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return String(decoding: output, as: UTF8.self).hasPrefix("0|")
    }

    // MARK: When a context is pinned

    func testContextIsPinnedByItsFirstRead() throws {
        XCTAssertNil(reader.queryGenerationToken)
        try reader.setQueryGeneration(from: .current)
        XCTAssertEqual(reader.queryGenerationToken, .current)
        try rename("Ada", "Ann")
        XCTAssertEqual(try names(reader), ["Ann", "Bob", "Eve"], "setQueryGeneration does not pin the context yet")
        let token = try XCTUnwrap(reader.queryGenerationToken)
        XCTAssertFalse(token.isCurrent)
        try rename("Ann", "Zoe")
        XCTAssertEqual(try names(reader, "name != 'Eve'"), ["Ann", "Bob"])
        XCTAssertEqual(try names(writer), ["Bob", "Eve", "Zoe"])
        XCTAssertEqual(reader.queryGenerationToken, token)
        try reader.setQueryGeneration(from: nil)
        XCTAssertNil(reader.queryGenerationToken)
        XCTAssertEqual(try names(reader, "name == 'Zoe'").count, 1)
    }

    func testFiringAFaultPinsTheContext() throws {
        let id = try XCTUnwrap(writer.fetch(request()).first).objectID
        try reader.setQueryGeneration(from: .current)
        let ada = try reader.object(with: id)
        XCTAssertEqual(reader.queryGenerationToken, .current, "nothing was read")
        XCTAssertEqual(try ada.get("name") as String?, "Ada")
        try rename("Bob", "Ben")
        XCTAssertEqual(try names(reader), ["Ada", "Bob", "Eve"])
    }

    // MARK: Reads

    func testEveryReadReturnsThePinnedGeneration() throws {
        let project = try writer.insert("Project", ["title": "One"])
        try project.setMembers(writer.fetch(request()), of: "members")
        let tasks = try ["a", "b", "c"].map { try writer.insert("Task", ["title": $0, "project": project]) }
        try writer.save()
        try reader.setQueryGeneration(from: .current)
        let mine = try XCTUnwrap(reader.fetch(request("Project")).first)
        let cursor = try reader.cursor(request(), batchSize: 1)
        XCTAssertEqual(try cursor.next().map { try $0.get("name") as String? }, ["Ada"])

        // Everything changes.
        try rename("Ada", "Ann")
        try writer.delete(XCTUnwrap(try writer.fetch(request("Employee", "name == 'Bob'")).first))
        _ = try writer.insert("Employee", ["name": "Dan"])
        try project.set("title", "Two")
        try writer.delete(tasks[1])
        try writer.save()

        XCTAssertEqual(try mine.get("title") as String?, "One")
        XCTAssertEqual(try reader.count(request()), 3)
        XCTAssertEqual(try reader.fetchIDs(request()).count, 3)
        XCTAssertEqual(try names(reader, "department.name == 'Labs'"), ["Ada", "Bob", "Eve"])
        XCTAssertEqual(
            try reader.fetch(request("Task")).map { try $0.get("title") as String? }, ["a", "b", "c"])
        let staff = try mine.members("members")
        XCTAssertEqual(try staff.map { try $0.get("name") ?? "" }.sorted(), ["Ada", "Bob", "Eve"])
        XCTAssertEqual(try mine.members("tasks").count, 3)
        XCTAssertEqual(try cursor.next().map { try $0.get("name") as String? }, ["Bob"])
        XCTAssertEqual(try cursor.next().map { try $0.get("name") as String? }, ["Eve"])
        XCTAssertEqual(try cursor.next().count, 0)
        let dictionaries = try request()
        dictionaries.propertiesToFetch = ["name"]
        XCTAssertEqual(
            try reader.fetchDictionaries(dictionaries).rows.map { $0[0] }, ["Ada", "Bob", "Eve"].map { .string($0) })
        let prefetching = try request("Department")
        prefetching.relationshipKeyPathsForPrefetching = ["employees"]
        let labs = try XCTUnwrap(reader.fetch(prefetching).first)
        XCTAssertEqual(
            try labs.members("employees").map { try $0.get("name") ?? "" }.sorted(),
            ["Ada", "Bob", "Eve"])
        try reader.refresh(mine, mergeChanges: false)
        XCTAssertEqual(try mine.get("title") as String?, "One", "a refresh stays in the generation")
        try reader.refreshAll()
        XCTAssertEqual(try names(reader), ["Ada", "Bob", "Eve"])
    }

    func testChildReadsTheGenerationOfItsParent() throws {
        try reader.setQueryGeneration(from: .current)
        let child = Context(parent: reader)
        XCTAssertNil(child.queryGenerationToken)
        let error = failure { try child.setQueryGeneration(from: .current) }
        XCTAssertEqual(error.status, .invalidArgument)
        XCTAssertTrue(error.message.contains("pin the outermost parent context"), error.message)
        XCTAssertThrowsError(try child.setQueryGeneration(from: nil))
        XCTAssertEqual(try names(child), ["Ada", "Bob", "Eve"])
        XCTAssertNotEqual(reader.queryGenerationToken, .current, "the child's read pinned it")
        try rename("Ada", "Ann")
        let grandchild = Context(parent: child)
        XCTAssertEqual(try names(grandchild), ["Ada", "Bob", "Eve"])
        let ada = try XCTUnwrap(grandchild.fetch(request()).first)
        XCTAssertEqual(try (ada.get("department") as ManagedObject?)?.get("name") as String?, "Labs")
        XCTAssertNil(grandchild.queryGenerationToken)
    }

    // MARK: Advancing

    func testOnlyItsOwnSaveAdvancesAPinnedContext() throws {
        try reader.setQueryGeneration(from: .current)
        XCTAssertEqual(try names(reader).count, 3)
        let token = reader.queryGenerationToken
        try rename("Ada", "Ann")
        try reader.save()
        XCTAssertEqual(reader.queryGenerationToken, token, "a save without changes does not advance the context")
        var told: [QueryGenerationToken?] = []
        let observations = [ContextNotification.didSave, .didSaveObjectIDs].map { kind in
            reader.observe(kind) { _, changes in told.append(changes.queryGeneration) }
        }
        _ = try reader.insert("Employee", ["name": "Dan"])
        XCTAssertEqual(try names(reader), ["Ada", "Bob", "Dan", "Eve"])
        try reader.save()
        XCTAssertNotEqual(reader.queryGenerationToken, token)
        XCTAssertEqual(told, [reader.queryGenerationToken, reader.queryGenerationToken])
        XCTAssertEqual(told.first??.isCurrent, false)
        XCTAssertEqual(try names(reader, "name BEGINSWITH 'An'"), ["Ann"])
        try rename("Bob", "Ben")
        XCTAssertEqual(try names(reader, "name BEGINSWITH 'B'"), ["Bob"], "still pinned")
        for observation in observations { observation.cancel() }
    }

    func testSaveConflictsWhenAPinnedRowHasChanged() throws {
        try reader.setQueryGeneration(from: .current)
        let ada = try XCTUnwrap(reader.fetch(request()).first)
        try rename("Ada", "Ann")
        try ada.set("age", 30)
        let token = reader.queryGenerationToken
        XCTAssertEqual(failure { try reader.save() }.code, 133020)
        XCTAssertEqual(reader.queryGenerationToken, token, "nothing was saved")
        XCTAssertEqual(try names(reader), ["Ada", "Bob", "Eve"])
        reader.mergePolicy = .objectTrump
        try reader.save()
        XCTAssertNotEqual(reader.queryGenerationToken, token)
        XCTAssertEqual(try ada.get("name") as String?, "Ann")
        XCTAssertEqual(try names(reader), ["Ann", "Bob", "Eve"])
        XCTAssertEqual(try names(writer, "age == 30"), ["Ann"])
    }

    func testMergeAndResetAdvanceAPinnedContext() throws {
        try reader.setQueryGeneration(from: .current)
        let all = try reader.fetch(request())
        var ids: [ChangedIDs] = []
        let token = writer.observe(.didSaveObjectIDs) { _, changes in ids.append(changes.ids) }
        try rename("Ada", "Ann")
        try rename("Bob", "Ben")
        XCTAssertEqual(try names(reader), ["Ada", "Bob", "Eve"])
        try reader.mergeChanges(ids[0])
        XCTAssertEqual(try all[0].get("name") as String?, "Ann")
        XCTAssertEqual(try all[1].get("name") as String?, "Bob", "read before, and not merged")
        try reader.refresh(all[1], mergeChanges: true)
        XCTAssertEqual(try all[1].get("name") as String?, "Ben", "the merge advanced the context")
        try rename("Eve", "Eva")
        XCTAssertEqual(try names(reader), ["Ann", "Ben", "Eve"])
        try reader.reset()
        XCTAssertEqual(reader.queryGenerationToken, .current)
        XCTAssertEqual(try names(reader), ["Ann", "Ben", "Eva"])
        token.cancel()
    }

    func testAutomaticMergingAdvancesAContextUnlessPinnedToAToken() throws {
        reader.automaticallyMergesChangesFromParent = true
        try reader.setQueryGeneration(from: .current)
        let all = try reader.fetch(request())
        try rename("Ada", "Ann")
        XCTAssertEqual(try all[0].get("name") as String?, "Ann")
        try reader.setQueryGeneration(from: reader.queryGenerationToken)
        try rename("Ann", "Amy")
        XCTAssertEqual(try all[0].get("name") as String?, "Ann", "the context stays in the generation of the token")
        XCTAssertEqual(try names(reader), ["Ann", "Bob", "Eve"])
        try all[1].set("age", 3)
        try reader.save()
        try rename("Amy", "Ada")
        XCTAssertEqual(try all[0].get("name") as String?, "Ada", "its own save advanced the context")
    }

    // MARK: Tokens

    func testGenerationIsKeptForEveryContextThatIsPinnedToIt() throws {
        try reader.setQueryGeneration(from: .current)
        XCTAssertEqual(try names(reader).count, 3)
        let other = Context(coordinator: coordinator, queue: .privateQueue)
        let token = try XCTUnwrap(reader.queryGenerationToken)
        try rename("Ada", "Ann")
        try other.performAndWait { context in
            try context.setQueryGeneration(from: token)
            XCTAssertEqual(try self.names(context), ["Ada", "Bob", "Eve"])
            XCTAssertEqual(context.queryGenerationToken, token)
        }
        try reader.setQueryGeneration(from: nil)
        XCTAssertEqual(try names(reader, "name == 'Ann'").count, 1)
        try other.performAndWait { XCTAssertEqual(try self.names($0), ["Ada", "Bob", "Eve"]) }
        XCTAssertFalse(try logCanBeTruncated())
    }

    func testLogCanBeTruncatedWhenTheLastTokenIsReleased() throws {
        var token = try coordinator.currentQueryGenerationToken
        XCTAssertNotNil(token)
        try rename("Ada", "Ann")
        XCTAssertFalse(try logCanBeTruncated())
        try reader.setQueryGeneration(from: token)
        token = nil
        XCTAssertFalse(try logCanBeTruncated())
        XCTAssertEqual(try names(reader), ["Ada", "Bob", "Eve"])
        _ = try reader.insert("Employee", ["name": "Dan"])
        try reader.save()
        try rename("Ann", "Amy")
        XCTAssertFalse(try logCanBeTruncated())
        try reader.setQueryGeneration(from: nil)
        XCTAssertTrue(try logCanBeTruncated())
    }

    func testTokenOfAnotherCoordinatorIsRefused() throws {
        let other = try Coordinator(model: GraphTestCase.company())
        try other.addSQLiteStore(at: path("b.sqlite"), options: quick())
        let token = try other.currentQueryGenerationToken
        let error = failure { try reader.setQueryGeneration(from: token) }
        XCTAssertEqual(error.status, .invalidArgument)
        XCTAssertTrue(error.message.contains("b.sqlite"), error.message)
        XCTAssertNil(reader.queryGenerationToken)
    }

    /// A writer moves years from one person to another: a pinned context always reads the same total.
    func testPinnedContextsNeverReadAPartialSave() throws {
        for person in try writer.fetch(request()) { try person.set("age", 100) }
        try writer.save()
        let failures = Locked<[String]>([])
        let done = expectation(description: "readers")
        done.expectedFulfillmentCount = 4
        for _ in 0..<4 {
            let coordinator = coordinator!
            let request = try request()
            Thread.detachNewThread {
                let context = Context(coordinator: coordinator)
                do {
                    for round in 0..<50 {
                        try context.setQueryGeneration(from: .current)
                        let ages = try context.fetch(request).reduce(0) { try $0 + ($1.get("age") ?? 0) }
                        try context.refreshAll()
                        let again = try context.fetch(request).reduce(0) { try $0 + ($1.get("age") ?? 0) }
                        if ages != 300 || again != 300 { failures.withLock { $0.append("\(round): \(ages) \(again)") } }
                    }
                } catch { failures.withLock { $0.append("\(error)") } }
                done.fulfill()
            }
        }
        let people = try writer.fetch(request())
        for step in 0..<300 {
            let (from, to) = (people[step % 3], people[(step + 1) % 3])
            try from.set("age", (from.get("age") ?? 0) - 1)
            try to.set("age", (to.get("age") ?? 0) + 1)
            try writer.save()
        }
        wait(for: [done], timeout: 120)
        XCTAssertEqual(failures.withLock { $0 }, [])
    }

    // MARK: Stores

    func testStoresAddedAfterPinningAreNotRead() throws {
        try reader.setQueryGeneration(from: .current)
        XCTAssertEqual(try names(reader).count, 3)
        let second = try coordinator.addSQLiteStore(at: path("b.sqlite"), options: quick())
        let dan = try writer.insert("Employee", ["name": "Dan"])
        try writer.assign(dan, to: second)
        try writer.save()
        XCTAssertEqual(try names(writer).count, 4)
        XCTAssertEqual(try names(reader), ["Ada", "Bob", "Eve"])
        XCTAssertEqual(try reader.count(request()), 3)
        let error = failure { _ = try reader.object(with: dan.objectID).get("name") as String? }
        XCTAssertEqual(error.code, 133000)
        XCTAssertTrue(error.message.contains("pin the context again"), error.message)
        try reader.setQueryGeneration(from: .current)
        XCTAssertEqual(try names(reader), ["Ada", "Bob", "Dan", "Eve"])

        // One of the stores is removed.
        let token = reader.queryGenerationToken
        try rename("Ada", "Ann")
        try coordinator.remove(second)
        XCTAssertEqual(try names(reader), ["Ada", "Bob", "Eve"])
        try reader.setQueryGeneration(from: nil)
        let partial = failure { try reader.setQueryGeneration(from: token) }
        XCTAssertEqual(partial.status, .objectGone)
        XCTAssertTrue(partial.message.contains("b.sqlite"), partial.message)
        XCTAssertEqual(reader.queryGenerationToken, token)
        try reader.refreshAll()
        XCTAssertEqual(try names(reader), ["Ada", "Bob", "Eve"], "still pinned in the other store")
    }

    func testS236_OnlyAPinnedSQLiteContextReportsAGeneration() throws {
        let memory = try Coordinator(model: GraphTestCase.company())
        _ = try memory.add(MemoryStore(model: memory.model))
        XCTAssertNil(try memory.currentQueryGenerationToken)
        for (context, hasToken) in [(Context(coordinator: memory), false), (reader!, true)] {
            try context.setQueryGeneration(from: .current)
            XCTAssertEqual(context.queryGenerationToken, hasToken ? .current : nil)
            var told: [QueryGenerationToken?] = []
            let token = context.observe(.didSave) { _, changes in told.append(changes.queryGeneration) }
            for name in ["Labs", "Sales"] { _ = try context.insert("Department", ["name": name]) }
            try context.save()
            XCTAssertEqual(told.count, 1)
            XCTAssertEqual(told.first.flatMap { $0 } != nil, hasToken)
            XCTAssertEqual(told.first, context.queryGenerationToken)
            token.cancel()
        }
    }

    func testPinningFailsWithARollbackJournalButNotInAReadOnlyStore() throws {
        let rollback = try Coordinator(model: GraphTestCase.company())
        try rollback.addSQLiteStore(at: path("r.sqlite"), options: quick(rollback: true))
        let error = failure { try Context(coordinator: rollback).setQueryGeneration(from: .current) }
        XCTAssertEqual(error.status, .unsupported)
        XCTAssertTrue(error.message.contains("write-ahead log"), error.message)

        let readOnly = try Coordinator(model: GraphTestCase.company())
        try readOnly.addSQLiteStore(at: path("a.sqlite"), options: .readOnly)
        let reading = Context(coordinator: readOnly)
        try reading.setQueryGeneration(from: .current)
        XCTAssertEqual(
            try reading.fetch(FetchRequest(entity: readOnly.model.requireEntity(named: "Employee"))).count, 3)
        XCTAssertNotNil(reading.queryGenerationToken)
    }

    func testBackingFilesAreKeptWhileAGenerationRefersToThem() throws {
        let model = Model()
        let note = try model.addEntity(named: "Note")
        try note.addAttribute(named: "data", type: .binary).setAllowsExternalStorage(true)
        let coordinator = try Coordinator(model: model)
        try coordinator.addSQLiteStore(at: path("n.sqlite"), options: quick())
        let (writer, reader) = (Context(coordinator: coordinator), Context(coordinator: coordinator))
        let mine = try writer.insert("Note", ["data": [UInt8](repeating: 1, count: 200_000)])
        try writer.save()
        func files() throws -> Int {
            try FileManager.default.contentsOfDirectory(atPath: path(".n_SUPPORT/_EXTERNAL_DATA")).count
        }
        try reader.setQueryGeneration(from: .current)
        let theirs = try XCTUnwrap(reader.fetch(FetchRequest(entity: note)).first)
        for value in UInt8(2)...4 {
            try mine.set("data", [UInt8](repeating: value, count: 200_000))
            try writer.save()
        }
        XCTAssertEqual(try files(), 4)
        XCTAssertEqual(try (theirs.get("data") as [UInt8]?)?.first, 1)
        try reader.setQueryGeneration(from: nil)
        XCTAssertEqual(try files(), 1)
        XCTAssertEqual(try theirs.entity.name, "Note")
    }
}
