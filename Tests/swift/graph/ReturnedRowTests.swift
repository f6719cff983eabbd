import Corestone
import XCTest

/// A row that is deleted, and reinserted with the same key by a save that overwrites: contexts get a new object for it.
final class ReturnedRowTests: BatchTestCase {
    /// The context that merges what `context` and `rival` save, and the objects that it had before.
    private var here: Context!
    private var ada: ManagedObject!
    private var team: ManagedObject!
    /// The context whose conflicting changes of Ada reinsert the row.
    private var rival: Context!
    private var told: [String] = []
    private var insertedHere: [ManagedObject] = []
    private var observation: Observation?
    private let list = ListModel()

    override func tearDown() {
        observation = nil
        (here, rival, ada, team, insertedHere) = (nil, nil, nil, nil, [])
        super.tearDown()
    }

    private func begin(merges: Bool = true, batches: Bool = true, keepsHistory: Bool = false) throws {
        try open(GraphTestCase.company(), keepsHistory: keepsHistory)
        (told, insertedHere) = ([], [])
        let department = try context.insert("Department", ["name": "R&D"])
        for name in ["Ada", "Bea"] {
            try context.insert("Employee", ["name": name]).set("department", department)
        }
        try context.save()
        here = fresh()
        here.automaticallyMergesChangesFromParent = merges
        ada = try one("Ada", here)
        team = try XCTUnwrap(ada.get("department", as: ManagedObject.self))
        XCTAssertEqual(try team.get("name"), "R&D")
        XCTAssertEqual(try team.memberCount("employees"), 2)
        rival = fresh()
        rival.automaticallyMergesBatchChanges = false
        try one("Ada", rival).set("age", 50)
        observation = here.observe(.objectsDidChange) { [unowned self] _, changes in
            for object in changes.deleted { told.append("deleted \(object === ada ? "Ada" : "?")") }
            for object in changes.inserted {
                insertedHere.append(object)
                told.append("inserted \(object === ada ? "Ada" : "another")")
            }
        }
    }

    private func one(_ name: String, _ context: Context) throws -> ManagedObject {
        try XCTUnwrap(try context.fetch("Employee", "name == %@", name).first)
    }

    private func deleteAda() throws {
        try context.delete(try one("Ada", context))
        try context.save()
    }

    private func saveRival(_ policy: MergePolicy = .overwrite) throws {
        rival.mergePolicy = policy
        try rival.save()
    }

    /// Checks that `here` has one usable object after all merges, with both sides of its relationship.
    private func checkReturned(_ message: String, age: Int = 50, line: UInt = #line) throws {
        let found = try here.fetch("Employee", "name == 'Ada'")
        XCTAssertEqual(found.count, 1, message, line: line)
        guard let fresh = found.first else { return }
        XCTAssertFalse(fresh.isDeleted || fresh === ada, message, line: line)
        XCTAssertEqual(try fresh.get("age"), age, message, line: line)
        XCTAssertTrue(try fresh.get("department", as: ManagedObject.self) === team, message, line: line)
        XCTAssertTrue(try team.members("employees").contains { $0 === fresh }, message, line: line)
        XCTAssertEqual(try team.memberCount("employees"), 2, message, line: line)
        XCTAssertTrue(here.registeredObject(with: fresh.objectID) === fresh, message, line: line)
        try fresh.set("age", age + 1)
        try here.save()
        XCTAssertEqual(try people(), ["Ada \(age + 1)", "Bea -"], message, line: line)
    }

    private func checkGone(_ message: String, line: UInt = #line) {
        XCTAssertTrue(ada.isGone, message, line: line)
        XCTAssertEqual(failure { try ada.set("age", 7) }.status, .objectGone, message, line: line)
        XCTAssertEqual(failure { let _: Int? = try ada.get("age") }.status, .objectGone, message, line: line)
    }

    func testReinsertedRowGetsANewObject() throws {
        for policy in [MergePolicy.overwrite, .objectTrump] {
            try begin()
            try deleteAda()
            XCTAssertTrue(ada.isDeleted)
            XCTAssertEqual(try ada.get("name"), "Ada", "still readable")
            XCTAssertEqual(told, ["deleted Ada"])
            try saveRival(policy)
            XCTAssertEqual(told, ["deleted Ada", "inserted another"], "\(policy.type)")
            XCTAssertTrue(try insertedHere.first === one("Ada", here))
            checkGone("\(policy.type)")
            try checkReturned("\(policy.type)")
        }
    }

    func testControllerAndLiveQueryReportTheReinsertedRow() throws {
        for batchSize in [0, 20] {
            try begin()
            let request = FetchRequest(
                entity: try entity("Employee"), predicate: nil, sortDescriptors: [SortDescriptor("name")])
            request.batchSize = batchSize
            let controller = FetchedResultsController(fetchRequest: request, managedObjectContext: here)
            controller.delegate = list
            try controller.performFetch()
            try list.load(controller)
            _ = list.take()
            var live: [String] = []
            let token = try here.observe(request) { _, difference, objects in
                for (change, object) in zip(difference.changes, objects) {
                    live.append("\(change.kind) \(object === self.ada ? "Ada" : "another")")
                }
            }
            live = []
            try deleteAda()
            try saveRival()
            XCTAssertEqual(list.take(), ["will", "delete ? (0, 0) -", "did", "will", "insert Ada - (0, 0)", "did"])
            XCTAssertEqual(live.last, "insert another")
            XCTAssertEqual(live.count, 2)
            XCTAssertFalse(try XCTUnwrap(controller.fetchedObjects?.first) === ada)
            XCTAssertEqual(controller.fetchedObjects?.count, 2)
            token.cancel()
            try checkReturned("batch size \(batchSize)")
        }
    }

    func testRemoteChangesReportTheReinsertedRow() throws {
        for words in [["inserted"], ["updated"], ["refreshed"], ["deleted", "inserted"], ["deleted"]] {
            try begin(merges: false)
            try deleteAda()
            try here.mergeChanges(ChangedIDs(deleted: [ada.objectID]))
            XCTAssertTrue(ada.isDeleted)
            try saveRival()
            var changes: [String: [RemoteObject]] = [:]
            for word in words { changes[word] = [.uri(ada.objectID.uri)] }
            try Context.mergeChanges(fromRemoteContextSave: changes, into: [here])
            XCTAssertEqual(told.last, "inserted another", "\(words)")
            checkGone("\(words)")
            try checkReturned("\(words)")
        }
    }

    /// A deletion and an insertion of a loaded object in one merge: observers of the deletion can still read it.
    func testDeletionAndReinsertionInOneMergeCreateANewObject() throws {
        try begin(merges: false)
        let controller = FetchedResultsController(
            fetchRequest: FetchRequest(
                entity: try entity("Employee"), predicate: nil, sortDescriptors: [SortDescriptor("name")]),
            managedObjectContext: here)
        controller.delegate = list
        try controller.performFetch()
        try list.load(controller)
        var read: [String?] = []
        let token = here.observe(.objectsDidChange) { _, changes in
            for object in changes.deleted { read.append(try? object.get("name")) }
        }
        try deleteAda()
        try saveRival()
        try here.mergeChanges(ChangedIDs(inserted: [ada.objectID], deleted: [ada.objectID]))
        token.cancel()
        XCTAssertEqual(read, ["Ada"])
        XCTAssertEqual(told, ["deleted Ada", "inserted another"])
        XCTAssertEqual(list.take(), ["will", "update Ada (0, 0) (0, 0)", "did"], "the ID is unchanged")
        XCTAssertEqual(controller.fetchedObjects?.map(\.isGone), [false, false])
        checkGone("both")
        try checkReturned("both")
    }

    /// Notifications of two threads arrive in reverse: the insertion before the deletion.
    func testLateDeletionNotificationKeepsTheReinsertedRow() throws {
        try begin(merges: false)
        try deleteAda()
        try saveRival()
        try here.mergeChanges(ChangedIDs(inserted: [ada.objectID]))
        XCTAssertEqual(try ada.get("age"), 50, "the reinserted row was read")
        try here.mergeChanges(ChangedIDs(deleted: [ada.objectID]))
        try checkReturned("late")
    }

    func testObjectThatMissedTheDeletionReadsTheReinsertedRow() throws {
        for isInserted in [true, false] {
            try begin(merges: false)
            try deleteAda()
            try saveRival()
            try here.mergeChanges(
                isInserted ? ChangedIDs(inserted: [ada.objectID]) : ChangedIDs(updated: [ada.objectID]))
            XCTAssertEqual(try ada.get("age"), 50)
            XCTAssertTrue(try team.members("employees").contains { $0 === ada })
            try ada.set("age", 51)
            try here.save()
            XCTAssertEqual(try people(), ["Ada 51", "Bea -"])
        }
    }

    func testFetchReturnsTheReinsertedRowWithoutAMerge() throws {
        try begin(merges: false)
        let request = try BatchDeleteRequest(objectIDs: [ada.objectID])
        _ = try context.execute(request)
        try here.processPendingChanges()
        XCTAssertTrue(ada.isDeleted)
        try saveRival()
        XCTAssertNil(try here.fetch("Employee").first { $0.isDeleted })
        try checkReturned("batch")
        checkGone("batch")
    }

    func testRefreshAllReturnsTheReinsertedRow() throws {
        try begin(merges: false)
        try deleteAda()
        try here.mergeChanges(ChangedIDs(deleted: [ada.objectID]))
        try here.refreshAll()
        XCTAssertTrue(ada.isDeleted)
        XCTAssertEqual(failure { try here.refresh(ada, mergeChanges: true) }.status, .objectGone)
        try here.refresh(ada, mergeChanges: false)
        XCTAssertTrue(ada.isDeleted)
        try saveRival()
        try here.refreshAll()
        try here.processPendingChanges()
        XCTAssertEqual(told, ["deleted Ada", "inserted another"])
        try checkReturned("refresh")
    }

    func testResetDiscardsTheDeletedObject() throws {
        try begin()
        try deleteAda()
        try here.reset()
        checkGone("reset")
        try saveRival()
        team = try XCTUnwrap(here.fetch("Department").first)
        try checkReturned("reset")
    }

    func testUndoOfADeletionShowsTheStoredRow() throws {
        for savesRival in [true, false] {
            try begin()
            try here.setUndoManager(UndoManager())
            try here.delete(ada)
            try here.processPendingChanges()
            try deleteAda()
            if savesRival { try saveRival() }
            _ = try here.undo()
            try here.save()
            XCTAssertEqual(try people(), savesRival ? ["Ada 50", "Bea -"] : ["Bea -"], "\(savesRival)")
        }
    }

    func testChildGetsANewObjectForTheReinsertedRow() throws {
        for merges in [true, false] {
            try begin()
            let child = Context(parent: here)
            child.automaticallyMergesChangesFromParent = merges
            let hers = try one("Ada", child)
            XCTAssertNil(try hers.get("age", as: Int.self))
            try deleteAda()
            XCTAssertEqual(hers.isDeleted, merges)
            if !merges {
                try hers.set("age", 8)
                XCTAssertEqual(failure { try child.save() }.status, .conflict)
                try child.rollback()
            }
            try saveRival()
            XCTAssertEqual(hers.isGone, merges)
            if !merges { try child.refresh(hers, mergeChanges: false) }
            let found = try one("Ada", child)
            XCTAssertEqual(try found.get("age"), 50)
            try found.set("age", 60)
            try child.save()
            try here.save()
            XCTAssertEqual(try people(), ["Ada 60", "Bea -"])
        }
    }

    /// Another coordinator, which behaves like another process.
    func testAnotherCoordinatorMergesTheReinsertedRow() throws {
        for keepsHistory in [true, false] {
            for waits in [true, false] {
                try begin(keepsHistory: keepsHistory)
                let elsewhere = try Coordinator(model: GraphTestCase.company())
                var options = StoreOptions()
                options.keepsHistory = keepsHistory
                try elsewhere.addSQLiteStore(at: path, options: options)
                here = Context(coordinator: elsewhere)
                here.automaticallyMergesRemoteChanges = true
                ada = try one("Ada", here)
                team = try XCTUnwrap(ada.get("department", as: ManagedObject.self))
                XCTAssertEqual(try team.memberCount("employees"), 2)
                try deleteAda()
                if waits { try wait { ada.isDeleted } }
                try saveRival()
                try wait { try here.fetch("Employee", "name == 'Ada'").first?.get("age") == 50 }
                if waits {
                    try wait { ada.isGone }
                    checkGone("history \(keepsHistory)")
                }
                ada = waits ? ada : nil
                try checkReturned("history \(keepsHistory), waits \(waits)")
                here.automaticallyMergesRemoteChanges = false
            }
        }
    }

    private func wait(line: UInt = #line, until isTrue: () throws -> Bool) throws {
        let start = Date()
        while try !isTrue() {
            try here.processPendingChanges()
            if Date().timeIntervalSince(start) > 60 { return XCTFail("timed out", line: line) }
            usleep(1000)
        }
    }

    /// References to the deleted object point to the new one.
    func testReferenceWithoutInversePointsToTheNewObject() throws {
        let model = Model()
        let employee = try model.addEntity(named: "Employee")
        try employee.addAttribute(named: "name", type: .string)
        try employee.addAttribute(named: "age", type: .integer32)
        try employee.addRelationship(named: "idol", destination: employee)
        try open(model)
        for name in ["Ada", "Bea", "Cid"] { _ = try context.insert("Employee", ["name": name]) }
        try context.save()
        try one("Bea", context).set("idol", try one("Ada", context))
        try context.save()
        here = fresh()
        here.automaticallyMergesChangesFromParent = true
        ada = try one("Ada", here)
        let bea = try one("Bea", here), cid = try one("Cid", here)
        XCTAssertTrue(try bea.get("idol", as: ManagedObject.self) === ada)
        try cid.set("idol", ada)
        rival = fresh()
        try one("Ada", rival).set("age", 50)
        try deleteAda()
        try saveRival()
        let other = try one("Ada", here)
        XCTAssertFalse(other === ada)
        XCTAssertTrue(try bea.get("idol", as: ManagedObject.self) === other)
        XCTAssertTrue(try cid.get("idol", as: ManagedObject.self) === other)
        try here.save()
        let idol: ManagedObject? = try one("Cid", fresh()).get("idol")
        XCTAssertEqual(try idol?.get("name"), "Ada")
    }
}
