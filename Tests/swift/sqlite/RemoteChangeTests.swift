import CSQLite
import CorestoneModel
import CorestonePredicate
import CorestoneValues
import Foundation
import CorestoneContainers
import CorestoneFileSystem
import XCTest

@testable import CorestoneGraph
@testable import CorestoneSQLite

/// Remote changes: writes by another process (the sqlite3 shell), or by another coordinator of this process.
final class RemoteChangeTests: StoreTestCase {
    private var here: Coordinator!
    private var there: Coordinator!

    private func model() throws -> Model {
        let model = Model()
        let note = try model.addEntity(named: "Note")
        let tag = try model.addEntity(named: "Tag")
        try note.addAttribute(named: "title", type: .string).setOptional(true)
        try note.addAttribute(named: "pages", type: .integer64).setOptional(true)
        try model.addEntity(named: "Letter").setParent(note)
        try tag.addAttribute(named: "name", type: .string).setOptional(true)
        let tags = try note.addRelationship(named: "tags", destination: tag, isToMany: true)
        let notes = try tag.addRelationship(named: "notes", destination: note, isToMany: true)
        try tags.setInverse(notes)
        return model
    }

    /// Opens a store in two coordinators, `here` with the changed options.
    private func open(_ change: (inout StoreOptions) -> Void = { _ in }) throws {
        var options = StoreOptions()
        change(&options)
        here = try Coordinator(model: model())
        try here.addSQLiteStore(at: path("a.sqlite"), options: options)
        there = try Coordinator(model: model())
        options.postsOwnChanges = false
        try there.addSQLiteStore(at: path("a.sqlite"), options: options)
    }

    override func tearDown() {
        (here, there) = (nil, nil)
        super.tearDown()
    }

    private func note(in context: Context, _ title: String) throws -> ManagedObject {
        let note = try context.insert(context.coordinator.model.requireEntity(named: "Note"))
        try note.setValue(.string(title), forKey: "title")
        return note
    }

    private func notes(in context: Context, _ predicate: String? = nil) throws -> [ManagedObject] {
        let request = FetchRequest(entity: try context.coordinator.model.requireEntity(named: "Note"))
        request.predicate = try predicate.map { try Predicate.parse($0) }
        request.sortDescriptors = [SortDescriptor("title")]
        return try context.fetch(request)
    }

    private func title(_ note: ManagedObject) throws -> String? { try note.value(forKey: "title").textual?.string }

    /// Waits until the condition is true and returns the seconds.
    @discardableResult
    private func wait(
        _ limit: TimeInterval = 60, line: UInt = #line, until isTrue: () throws -> Bool
    ) rethrows -> TimeInterval {
        let start = Date()
        while try !isTrue() {
            if Date().timeIntervalSince(start) > limit {
                XCTFail("the condition was not met in time", line: line)
                break
            }
            usleep(1000)
        }
        return Date().timeIntervalSince(start)
    }

    /// The notifications that `here` posts.
    private final class Heard: @unchecked Sendable {
        private let all = Locked<[RemoteChange]>([])
        var token: Observation?
        var changes: [RemoteChange] { all.withLock { $0 } }

        init(_ coordinator: Coordinator) {
            token = coordinator.observe(.remoteChange) { [all] _, changes in
                if let change = changes.remote { all.withLock { $0.append(change) } }
            }
        }
    }

    /// Threads of this process that watch a store.
    private func threads() throws -> Int {
        let all = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")
        // A thread may end between the two readings.
        let names = all.compactMap { try? String(contentsOfFile: "/proc/self/task/\($0)/comm", encoding: .utf8) }
        return names.filter { $0 == FolderWatch.threadName + "\n" }.count
    }

    /// The number of watcher threads after those of earlier tests have ended.
    private func settledThreads() throws -> Int {
        var (last, count) = (-1, 0)
        try wait {
            (last, count) = (count, try threads())
            usleep(200_000)
            return try count == last && threads() == count
        }
        return count
    }

    // MARK: Detection

    private func checkDetection(_ change: (inout StoreOptions) -> Void) throws {
        try open(change)
        let other = Context(coordinator: there)
        _ = try note(in: other, "one")
        try other.save()
        let heard = Heard(here)
        var seconds: [TimeInterval] = []
        for count in 1...5 {
            _ = try note(in: other, "more")
            try other.save()
            seconds.append(wait { heard.changes.count >= count })
        }
        XCTAssertLessThan(seconds.sorted()[2], 1, "expected a median below 1 second: \(seconds)")
        usleep(100_000)
        XCTAssertEqual(heard.changes.count, 5, "each commit is reported once")
        XCTAssertTrue(heard.changes.allSatisfy { !$0.isOwn && $0.file == .written })
        XCTAssertEqual(heard.changes[0].storeIdentifier, here.stores[0].identifier)
        XCTAssertEqual(heard.changes[0].path, path("a.sqlite"))
    }

    func testCommitsAreDetectedInAWriteAheadLog() throws { try checkDetection { _ in } }
    func testCommitsAreDetectedInARollbackJournal() throws { try checkDetection { $0.rollbackJournal = true } }
    func testCommitsAreDetectedInAHistory() throws { try checkDetection { $0.keepsHistory = true } }

    func testCommitsOfTheSQLiteShellAreMerged() throws {
        try open()
        let context = Context(coordinator: here)
        context.automaticallyMergesRemoteChanges = true
        let mine = try note(in: context, "mine")
        try context.save()
        _ = try shell("a.sqlite", "UPDATE ZNOTE SET ZTITLE = 'theirs', Z_OPT = Z_OPT + 1")
        try wait {
            try context.processPendingChanges()
            return try title(mine) == "theirs"
        }
    }

    func testOwnSavesAreNotRemoteChanges() throws {
        for rollbackJournal in [false, true] {
            try checkOwnSaves { $0.rollbackJournal = rollbackJournal }
            (here, there) = (nil, nil)
            try FileManager.default.removeItem(atPath: path("a.sqlite"))
        }
    }

    private func checkOwnSaves(_ change: (inout StoreOptions) -> Void) throws {
        try open(change)
        let heard = Heard(here)
        let context = Context(coordinator: here)
        for _ in 0..<20 {
            _ = try note(in: context, "own")
            try context.save()
        }
        usleep(200_000)
        XCTAssertEqual(heard.changes.count, 0)
        let other = Context(coordinator: there)
        _ = try note(in: other, "theirs")
        try other.save()
        _ = try note(in: context, "own")
        try context.save()
        wait { heard.changes.count == 1 }
        XCTAssertEqual(heard.changes.map(\.isOwn), [false])
    }

    func testOwnSavesArePostedWhenRequested() throws {
        try open {
            $0.postsOwnChanges = true
            $0.keepsHistory = true
        }
        let heard = Heard(here)
        let context = Context(coordinator: here)
        for _ in 0..<3 {
            _ = try note(in: context, "own")
            try context.save()
        }
        try context.save()
        XCTAssertEqual(heard.changes.map(\.isOwn), [true, true, true], "expected one notification for each save")
        XCTAssertEqual(heard.changes.map { $0.historyToken?.transactionNumbers.values.first }, [1, 2, 3])
        XCTAssertEqual(heard.changes[0].historyToken?.storeIdentifiers, [here.stores[0].identifier])
        let other = Context(coordinator: there)
        _ = try note(in: other, "theirs")
        try other.save()
        wait { heard.changes.count == 4 }
        XCTAssertEqual(heard.changes.last?.isOwn, false)
        XCTAssertEqual(heard.changes.last?.historyToken?.transactionNumbers.values.first, 4)
    }

    func testWatchPollsWithItsIntervalWithoutInotify() throws {
        try open { $0.watchIntervalMilliseconds = 50 }
        let store = try XCTUnwrap(here.stores[0].backing as? SQLiteStore)
        let told = Locked(0)
        // A watcher that receives no notifications of the folder.
        let watch = SQLiteWatch(store, usesEvents: false) { _ in told.withLock { $0 += 1 } }
        try watch.start()
        defer { watch.stop() }
        usleep(300_000)
        let other = Context(coordinator: there)
        var seconds: [TimeInterval] = []
        for count in 1...5 {
            _ = try note(in: other, "theirs")
            try other.save()
            seconds.append(wait { told.withLock { $0 } == count })
        }
        // The default interval is half a second.
        XCTAssertLessThan(seconds.sorted()[2], 0.2, "\(seconds)")
    }

    /// An observer that is added while the file is locked is notified when it is unlocked.
    func testWatchStartsWhileTheFileIsLocked() throws {
        try open {
            $0.rollbackJournal = true
            $0.busyTimeoutMilliseconds = 20
        }
        let writer = try Connection(path("a.sqlite"), path: "a.sqlite", flags: SQLITE_OPEN_READWRITE)
        try writer.execute("BEGIN EXCLUSIVE", "lock")
        let heard = Heard(here)
        usleep(50_000)
        XCTAssertEqual(heard.changes.count, 0)
        try writer.execute(
            "INSERT INTO ZTAG (Z_PK, Z_ENT, Z_OPT) SELECT 1, Z_ENT, 1 FROM Z_PRIMARYKEY WHERE Z_NAME = 'Tag'", "write")
        try writer.execute("COMMIT", "write")
        wait { heard.changes.count == 1 }
        try writer.execute("UPDATE ZTAG SET ZNAME = 'x'", "write")
        wait { heard.changes.count == 2 }
    }

    func testRemovedAndReplacedFilesAreReported() throws {
        try open()
        let heard = Heard(here)
        let moved = path("moved.sqlite")
        rename(path("a.sqlite"), moved)
        wait { heard.changes.count == 1 }
        XCTAssertEqual(heard.changes.last?.file, .removed)
        let unrelated = try Coordinator(model: model())
        try unrelated.addSQLiteStore(at: path("b.sqlite"))
        rename(path("b.sqlite"), path("a.sqlite"))
        wait { heard.changes.count == 2 }
        XCTAssertEqual(heard.changes.last?.file, .replaced)
    }

    func testReadOnlyStoreReportsRemoteChanges() throws {
        try open()
        let reader = try Coordinator.open(path("a.sqlite"), options: .readOnly)
        let heard = Heard(reader)
        let other = Context(coordinator: there)
        _ = try note(in: other, "theirs")
        try other.save()
        wait { !heard.changes.isEmpty }
        XCTAssertEqual(heard.changes.first?.isOwn, false)
    }

    // MARK: The watcher thread

    func testWatchStartsOnlyOnRequest() throws {
        try open()
        let before = try settledThreads()
        let store = try XCTUnwrap(here.stores[0].backing as? SQLiteStore)
        func isWatched() -> Bool { store.watched.withLock { $0.watch != nil } }
        XCTAssertFalse(isWatched())
        var heard: Heard? = Heard(here)
        XCTAssertTrue(isWatched())
        let context = Context(coordinator: here)
        context.automaticallyMergesRemoteChanges = true
        try wait { try threads() == before + 1 }
        heard?.token?.cancel()
        heard = nil
        XCTAssertTrue(isWatched())
        context.automaticallyMergesRemoteChanges = false
        wait { !isWatched() }
        try wait { try threads() == before }
    }

    func testWatchEndsWithItsContextStoreOrCoordinator() throws {
        try open()
        let before = try settledThreads()
        var context: Context? = Context(coordinator: here)
        context?.automaticallyMergesRemoteChanges = true
        try wait { try threads() == before + 1 }
        context = nil
        try wait { try threads() == before }
        let heard = Heard(here)
        try wait { try threads() == before + 1 }
        try here.remove(here.stores[0])
        try wait { try threads() == before }
        try here.addSQLiteStore(at: path("a.sqlite"))
        try wait { try threads() == before + 1 }
        let other = Context(coordinator: there)
        _ = try note(in: other, "theirs")
        try other.save()
        wait { heard.changes.count == 1 }
        here = nil
        try wait { try threads() == before }
        heard.token?.cancel()
    }

    /// The connection of the watch is closed too, so the last connection removes the log.
    func testRemovingAWatchedStoreRemovesTheLog() throws {
        try open()
        there = nil
        let heard = Heard(here)
        let context = Context(coordinator: here)
        _ = try note(in: context, "own")
        try context.save()
        try here.remove(here.stores[0])
        XCTAssertEqual(try files(), ["a.sqlite"])
        XCTAssertEqual(heard.changes.count, 0)
    }

    func testObserverMayRemoveTheStoreAndTheObservation() throws {
        try open()
        let done = Locked(false)
        let token = Locked<Observation?>(nil, .writer)
        token.withLock {
            $0 = here.observe(.remoteChange) { coordinator, _ in
                token.withLock { $0 = nil }
                try? coordinator.remove(coordinator.stores[0])
                done.withLock { $0 = true }
            }
        }
        let other = Context(coordinator: there)
        _ = try note(in: other, "theirs")
        try other.save()
        wait { done.withLock { $0 } }
        XCTAssertEqual(here.stores.count, 0)
    }

    // MARK: Merging

    private func checkMerging(_ change: (inout StoreOptions) -> Void) throws {
        try open(change)
        let other = Context(coordinator: there)
        let (a, b, c) = (try note(in: other, "a"), try note(in: other, "b"), try note(in: other, "c"))
        _ = try note(in: other, "d")
        try other.save()
        let context = Context(coordinator: here)
        context.automaticallyMergesRemoteChanges = true
        let mine = try notes(in: context)
        XCTAssertEqual(try mine.map(title), ["a", "b", "c", "d"])
        let merged = Locked<[ChangedIDs]>([])
        let token = context.observe(.didMergeChangesObjectIDs) { _, changes in
            merged.withLock { $0.append(changes.ids) }
        }
        defer { token.cancel() }
        try mine[1].setValue(.int(7), forKey: "pages")
        // One note changed, one changed in both contexts, one deleted, and two inserted, one of them a letter.
        try a.setValue(.string("a2"), forKey: "title")
        try b.setValue(.string("b2"), forKey: "title")
        try other.delete(c)
        let e = try note(in: other, "e")
        let letter = try other.insert(there.model.requireEntity(named: "Letter"))
        try letter.setValue(.string("f"), forKey: "title")
        try other.save()
        try wait {
            try context.processPendingChanges()
            return !merged.withLock(\.isEmpty)
        }
        let ids = merged.withLock { $0[0] }
        XCTAssertEqual(Set(ids.updated.map(\.reference)), [a.primaryKey, b.primaryKey])
        XCTAssertEqual(ids.deleted.map(\.reference), [c.primaryKey])
        XCTAssertEqual(Set(ids.inserted.map(\.reference)), [e.primaryKey, letter.primaryKey])
        XCTAssertTrue(ids.inserted.contains { $0.entity.name == "Letter" })
        XCTAssertEqual(try title(mine[0]), "a2")
        XCTAssertEqual(try title(mine[1]), "b2")
        XCTAssertEqual(try mine[1].value(forKey: "pages"), .int(7), "the unsaved change is kept")
        XCTAssertTrue(mine[1].hasChanges)
        XCTAssertTrue(mine[2].isDeleted)
        XCTAssertNotNil(context.registeredObject(with: ids.inserted[0]), "inserted objects are registered")
        XCTAssertFalse(context.hasChanges && !context.updatedObjects.contains { $0 === mine[1] })
        try context.save()
        XCTAssertEqual(try notes(in: context, "pages == 7").count, 1)
    }

    func testContextMergesRemoteChangesFromAWriteAheadLog() throws { try checkMerging { _ in } }
    func testContextMergesRemoteChangesFromAHistory() throws { try checkMerging { $0.keepsHistory = true } }
    func testContextMergesRemoteChangesWithARollbackJournal() throws { try checkMerging { $0.rollbackJournal = true } }

    func testPrivateQueueContextMergesAutomatically() throws {
        try open()
        let other = Context(coordinator: there)
        let theirs = try note(in: other, "a")
        try other.save()
        let context = Context(coordinator: here, queue: .privateQueue)
        context.automaticallyMergesRemoteChanges = true
        var mine: ManagedObject?
        try context.runAndWait { mine = try notes(in: $0).first }
        let merged = Locked(0)
        let token = context.observe(.didMergeChangesObjectIDs) { _, _ in merged.withLock { $0 += 1 } }
        defer { token.cancel() }
        try theirs.setValue(.string("b"), forKey: "title")
        try other.save()
        XCTAssertLessThan(wait { merged.withLock { $0 } == 1 }, 1)
        try context.runAndWait { _ in XCTAssertEqual(try mine.flatMap(title), "b") }
    }

    func testAutomaticMergingIsOffByDefault() throws {
        try open()
        let other = Context(coordinator: there)
        let theirs = try note(in: other, "a")
        try other.save()
        let context = Context(coordinator: here)
        XCTAssertFalse(context.automaticallyMergesRemoteChanges)
        let mine = try XCTUnwrap(notes(in: context).first)
        XCTAssertEqual(try title(mine), "a")
        let heard = Heard(here)
        try theirs.setValue(.string("b"), forKey: "title")
        try other.save()
        wait { heard.changes.count == 1 }
        try context.processPendingChanges()
        XCTAssertEqual(try title(mine), "a")
        // But a new read finds the new row: the row cache no longer has the old one.
        let second = Context(coordinator: here)
        XCTAssertEqual(try title(second.object(with: mine.objectID)), "b")
        XCTAssertEqual(failure { try Context(parent: context).setMergesRemoteChanges(true) }.status, .invalidArgument)
    }

    func testChildContextMergesWithItsParent() throws {
        try open()
        let other = Context(coordinator: there)
        let theirs = try note(in: other, "a")
        try other.save()
        let context = Context(coordinator: here)
        context.automaticallyMergesRemoteChanges = true
        let child = Context(parent: context)
        child.automaticallyMergesChangesFromParent = true
        let mine = try XCTUnwrap(notes(in: child).first)
        XCTAssertEqual(try title(mine), "a")
        try theirs.setValue(.string("b"), forKey: "title")
        try other.save()
        try wait {
            try context.processPendingChanges()
            try child.processPendingChanges()
            return try title(mine) == "b"
        }
    }

    /// A context that is pinned to the current state advances with each merge. A context with a chosen query generation
    /// keeps it.
    func testPinnedContextAdvancesUnlessItsGenerationWasChosen() throws {
        try open()
        let other = Context(coordinator: there)
        let theirs = try note(in: other, "a")
        try other.save()
        let (following, staying) = (Context(coordinator: here), Context(coordinator: here))
        try following.setQueryGeneration(from: .current)
        let mine = try XCTUnwrap(notes(in: following).first)
        try staying.setQueryGeneration(from: following.queryGenerationToken)
        let kept = try XCTUnwrap(notes(in: staying).first)
        XCTAssertEqual(try [mine, kept].map(title), ["a", "a"])
        following.automaticallyMergesRemoteChanges = true
        staying.automaticallyMergesRemoteChanges = true
        try theirs.setValue(.string("b"), forKey: "title")
        try other.save()
        try wait {
            try following.processPendingChanges()
            return try title(mine) == "b"
        }
        try staying.processPendingChanges()
        try staying.refresh(kept, mergeChanges: true)
        XCTAssertEqual(try title(kept), "a")
    }

    func testPairsOfManyToManyRelationshipsAreMerged() throws {
        for keepsHistory in [false, true] {
            try open { $0.keepsHistory = keepsHistory }
            let other = Context(coordinator: there)
            let theirs = try note(in: other, "a")
            try other.save()
            let context = Context(coordinator: here)
            context.automaticallyMergesRemoteChanges = true
            let mine = try context.object(
                with: try XCTUnwrap(
                    here.objectID(forURI: theirs.objectID.uri)))
            XCTAssertEqual(try mine.value(forKeyPath: "tags.@count"), .int(0))
            let tag = try other.insert(there.model.requireEntity(named: "Tag"))
            try tag.setValue(.string("new"), forKey: "name")
            let tags = try XCTUnwrap(theirs.entity.property(named: "tags") as? Relationship)
            XCTAssertTrue(try theirs.add(tag, to: tags))
            try other.save()
            try wait {
                try context.processPendingChanges()
                return try mine.value(forKeyPath: "tags.@count") == .int(1)
            }
            (here, there) = (nil, nil)
            try FileManager.default.removeItem(atPath: path("a.sqlite"))
        }
    }

    /// Saves of other contexts of the same coordinator do not count as remote changes, in any order of saves.
    func testOnlyRemoteInsertionsAreMerged() throws {
        for keepsHistory in [false, true] {
            try open { $0.keepsHistory = keepsHistory }
            let (own, other) = (Context(coordinator: here), Context(coordinator: there))
            let context = Context(coordinator: here)
            context.automaticallyMergesRemoteChanges = true
            let inserted = Locked<Set<Int64>>([])
            let token = context.observe(.didMergeChangesObjectIDs) { _, changes in
                inserted.withLock { $0.formUnion(changes.ids.inserted.map(\.reference)) }
            }
            defer { token.cancel() }
            var foreign: Set<Int64> = []
            for number in 0..<60 {
                let object = try note(in: number % 3 == 0 ? other : own, "n")
                try object.context?.save()
                if number % 3 == 0 { foreign.insert(object.primaryKey) }
            }
            try wait {
                try context.processPendingChanges()
                return inserted.withLock { $0.count } >= foreign.count
            }
            XCTAssertEqual(inserted.withLock { $0 }, foreign)
            (here, there) = (nil, nil)
            try FileManager.default.removeItem(atPath: path("a.sqlite"))
        }
    }

    /// A context reserves keys and saves its rows after other rows with higher keys.
    func testRowsWithReservedLowerKeysAreMergedLater() throws {
        try open()
        let (first, second) = (Context(coordinator: there), Context(coordinator: there))
        let early = try note(in: first, "early")
        try first.obtainPermanentIDs(for: [early])
        let context = Context(coordinator: here)
        context.automaticallyMergesRemoteChanges = true
        var inserted: Set<Int64> = []
        func merge(_ wanted: ManagedObject) throws {
            let token = context.observe(.didMergeChangesObjectIDs) { _, changes in
                inserted.formUnion(changes.ids.inserted.map(\.reference))
            }
            defer { token.cancel() }
            try wait {
                try context.processPendingChanges()
                return inserted.contains(wanted.primaryKey)
            }
        }
        let late = try note(in: second, "late")
        try second.save()
        try merge(late)
        try first.save()
        XCTAssertLessThan(early.primaryKey, late.primaryKey)
        try merge(early)
    }

    /// If there are more changes than the limit, changed rows are found by their versions.
    func testChangesBeyondTheLimitAreMergedByVersion() throws {
        for keepsHistory in [false, true] {
            try open { $0.keepsHistory = keepsHistory }
            let other = Context(coordinator: there)
            let theirs = try note(in: other, "a")
            try other.save()
            let context = Context(coordinator: here)
            context.automaticallyMergesRemoteChanges = true
            let mine = try XCTUnwrap(notes(in: context).first)
            XCTAssertEqual(try title(mine), "a")
            for _ in 0...ExternalChanges.limit { _ = try other.insert(there.model.requireEntity(named: "Tag")) }
            try theirs.setValue(.string("b"), forKey: "title")
            try other.save()
            try wait {
                try context.processPendingChanges()
                return try title(mine) == "b"
            }
            XCTAssertLessThan(context.registeredObjects.count, 10)
            (here, there) = (nil, nil)
            try FileManager.default.removeItem(atPath: path("a.sqlite"))
        }
    }

    /// A history with a missing transaction, and a write that is not in the history.
    func testHistoryWithMissingTransactionsIsNotUsed() throws {
        try open { $0.keepsHistory = true }
        let other = Context(coordinator: there)
        _ = try note(in: other, "a")
        try other.save()
        let context = Context(coordinator: here)
        context.automaticallyMergesRemoteChanges = true
        let mine = try XCTUnwrap(notes(in: context).first)
        XCTAssertEqual(try title(mine), "a")
        for (title, statement) in [
            ("past", "SELECT 1"),
            ("hole", "INSERT INTO ATRANSACTION (Z_PK, Z_ENT) SELECT 2 + max(Z_PK), 16002 FROM ATRANSACTION"),
        ] {
            _ = try shell(
                "a.sqlite", "BEGIN; UPDATE ZNOTE SET ZTITLE = '\(title)', Z_OPT = Z_OPT + 1; \(statement); COMMIT")
            try wait {
                try context.processPendingChanges()
                return try self.title(mine) == title
            }
        }
    }

    /// Values that both sides changed are a conflict unless the context has merged, even if the other save is long ago.
    func testSaveDoesNotMergeRemoteChanges() throws {
        for queue in [Context.QueueType.caller, .privateQueue] {
            try open()
            let other = Context(coordinator: there)
            let theirs = try note(in: other, "a")
            try other.save()
            let context = Context(coordinator: here, queue: queue)
            context.automaticallyMergesRemoteChanges = true
            let heard = Heard(here)
            var code = 0
            try context.runAndWait { context in
                let mine = try XCTUnwrap(notes(in: context).first)
                try mine.setValue(.int(1), forKey: "pages")
                try theirs.setValue(.string("b"), forKey: "title")
                try other.save()
                wait { heard.changes.count == 1 }
                if queue == .privateQueue { _ = try notes(in: context) }
                code = failure { try context.save() }.code
                try context.rollback()
            }
            XCTAssertEqual(code, CocoaCode.managedObjectMerge.rawValue)
            (here, there) = (nil, nil)
            try FileManager.default.removeItem(atPath: path("a.sqlite"))
        }
    }

    func testSaveAfterAMergeIsNotAConflict() throws {
        try open()
        let other = Context(coordinator: there)
        let theirs = try note(in: other, "a")
        try other.save()
        let context = Context(coordinator: here)
        context.automaticallyMergesRemoteChanges = true
        let mine = try XCTUnwrap(notes(in: context).first)
        try mine.setValue(.int(1), forKey: "pages")
        try theirs.setValue(.string("b"), forKey: "title")
        try other.save()
        XCTAssertEqual(failure { try context.save() }.code, CocoaCode.managedObjectMerge.rawValue, "not merged yet")
        try wait {
            try context.processPendingChanges()
            return try title(mine) == "b"
        }
        try context.save()
        XCTAssertEqual(try shell("a.sqlite", "SELECT ZTITLE, ZPAGES, Z_OPT FROM ZNOTE"), "b|1|3")
    }
}
