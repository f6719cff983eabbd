import Corestone
import CorestoneModel
import CorestoneValues
import Foundation
import XCTest

final class FetchedResultsControllerTests: CompanyFileTestCase {
    private let list = ListModel()

    private func save(_ staff: [(String, String)]) throws {
        for (name, team) in staff {
            let found = try context.fetch("Department", "name == %@", team).first
            _ = try employee(name, in: found ?? department(team))
        }
        try context.save()
    }

    private func controller(
        _ format: String? = nil, sort: [String] = ["department.name", "name"], sections: String? = "department.name",
        cache: String? = nil
    ) throws -> FetchedResultsController {
        let request = FetchRequest(entity: try XCTUnwrap(model.entity(named: "Employee")))
        request.predicate = try format.map { try Predicate.parse($0) }
        request.sortDescriptors = sort.map { SortDescriptor($0) }
        let controller = FetchedResultsController(
            fetchRequest: request, managedObjectContext: context, sectionNameKeyPath: sections, cacheName: cache)
        controller.delegate = list
        return controller
    }

    private func fetched(_ controller: FetchedResultsController) throws -> FetchedResultsController {
        try controller.performFetch()
        try list.load(controller)
        return controller
    }

    private func one(_ name: String) throws -> ManagedObject {
        try XCTUnwrap(try context.fetch("Employee", "name == %@", name).first)
    }

    func testResultsAreNilBeforeTheFetchAndSectionedAfterwards() throws {
        try save([("Carol", "Sales"), ("Alice", "Engineering"), ("Bob", "Engineering")])
        let controller = try controller()
        XCTAssertNil(controller.fetchedObjects)
        XCTAssertNil(controller.sections)
        XCTAssertThrowsError(try controller.object(at: ResultsIndexPath(row: 0, section: 0)))
        try controller.performFetch()
        let sections = try XCTUnwrap(controller.sections)
        XCTAssertEqual(sections.map(\.name), ["Engineering", "Sales"])
        XCTAssertEqual(sections.map(\.numberOfObjects), [2, 1])
        XCTAssertEqual(sections.map(\.indexTitle), ["E", "S"])
        XCTAssertEqual(try sections[0].objects.map { try $0.get("name") ?? "" }, ["Alice", "Bob"])
        XCTAssertEqual(controller.sectionIndexTitles, ["E", "S"])
        XCTAssertEqual(try controller.section(forSectionIndexTitle: "S", at: 1), 1)
        XCTAssertThrowsError(try controller.section(forSectionIndexTitle: "S", at: 0))
        XCTAssertEqual(try controller.indexPath(for: one("Bob")), ResultsIndexPath(row: 1, section: 0))
        XCTAssertThrowsError(try controller.object(at: ResultsIndexPath(row: 2, section: 0)))
        XCTAssertThrowsError(try controller.object(at: ResultsIndexPath(row: -1, section: 0)))
        XCTAssertNil(try controller.indexPath(for: department("X")))
    }

    func testFetchRequiresSortDescriptors() throws {
        let request = FetchRequest(entity: try XCTUnwrap(model.entity(named: "Employee")))
        let controller = FetchedResultsController(fetchRequest: request, managedObjectContext: context)
        XCTAssertThrowsError(try controller.performFetch())
        request.sortDescriptors = []
        try controller.performFetch()
        XCTAssertEqual(controller.sections?.count, 1)
        XCTAssertThrowsError(
            try FetchedResultsController(
                fetchRequest: request, managedObjectContext: context, sectionNameKeyPath: "name"
            ).performFetch())
    }

    func testFetchFailsWhenTheOrderSplitsASection() throws {
        try save([("Ann", "Sales"), ("Bob", "Engineering"), ("Cid", "Sales")])
        XCTAssertThrowsError(try controller(sort: ["name"]).performFetch()) { error in
            let error = error as? CoreError
            XCTAssertEqual(error?.code, 134060)
            XCTAssertEqual(error?.objectURI, try? one("Cid").objectID.uri)
            XCTAssert(error?.message.hasPrefix("Employee ") == true)
        }
        // Any first key is accepted while it keeps the sections together. Otherwise the results are discarded.
        let controller = try fetched(self.controller("name != 'Cid'", sort: ["name"]))
        try one("Cid").set("name", "Dora")
        try context.processPendingChanges()
        XCTAssertEqual(list.take().first, "reset")
        XCTAssertNil(controller.fetchedObjects)
    }

    func testDelegateReceivesInsertsMovesUpdatesAndDeletes() throws {
        try save([("Alice", "Engineering"), ("Bob", "Engineering")])
        let controller = try fetched(controller())
        let sales = try department("Sales")
        let carol = try employee("Carol", in: sales)
        try context.processPendingChanges()
        XCTAssertEqual(list.take(), ["will", "section insert Sales 1", "insert Carol - (1, 0)", "did"])
        try one("Bob").set("department", sales)
        try context.processPendingChanges()
        XCTAssertEqual(list.take(), ["will", "move Bob (0, 1) (1, 0)", "did"])
        try one("Bob").set("age", 50)
        try context.processPendingChanges()
        XCTAssertEqual(list.take(), ["will", "update Bob (1, 0) (1, 0)", "did"])
        try context.save()
        XCTAssertEqual(list.take(), [])
        try context.delete(carol)
        try context.processPendingChanges()
        XCTAssertEqual(list.take(), ["will", "delete ? (1, 1) -", "did"])
        try one("Alice").set("department", sales)
        try context.processPendingChanges()
        XCTAssertEqual(
            list.take(),
            ["will", "delete Alice (0, 0) -", "section delete Engineering 0", "insert Alice - (0, 0)", "did"])
        try context.save()
        XCTAssertEqual(list.take(), [])
        XCTAssertEqual(controller.fetchedObjects?.count, 2)
    }

    func testDelegateReceivesMovesWithinASection() throws {
        try save([("Alice", "E"), ("Bob", "E"), ("Cid", "E")])
        let controller = try fetched(controller())
        XCTAssertEqual(controller.sectionIndexTitles, ["E"])
        try one("Alice").set("name", "Zoe")
        try context.processPendingChanges()
        XCTAssertEqual(list.take(), ["will", "move Zoe (0, 0) (0, 2)", "did"])
        try one("Zoe").set("name", "Zora")
        try context.processPendingChanges()
        XCTAssertEqual(list.take(), ["will", "update Zora (0, 2) (0, 2)", "did"])
    }

    func testUnrelatedChangesAreNotReported() throws {
        try save([("Alice", "E")])
        let controller = try fetched(controller("name == 'Alice'"))
        _ = try employee("Bob")
        _ = try department("S")
        try context.save()
        XCTAssertEqual(list.take(), [])
        XCTAssertEqual(controller.fetchedObjects?.count, 1)
    }

    func testDependencyKeyPathsReportChangesOfRelatedObjects() throws {
        try save([("Alice", "Engineering"), ("Bob", "Sales")])
        let controller = try controller(sort: ["name"], sections: nil)
        let engineering = try XCTUnwrap(try context.fetch("Department", sort: ["name"]).first)
        _ = try fetched(controller)
        try engineering.set("name", "Research")
        try context.processPendingChanges()
        XCTAssertEqual(list.take(), [])
        controller.dependencyKeyPaths = ["department.name"]
        _ = try fetched(controller)
        try engineering.set("name", "Development")
        try context.processPendingChanges()
        XCTAssertEqual(list.take(), ["will", "update Alice (0, 0) (0, 0)", "did"])
        controller.dependencyKeyPaths = ["nothing.name"]
        XCTAssertThrowsError(try controller.performFetch())
        XCTAssertEqual(controller.fetchedObjects?.count, 2)
    }

    func testChangesOfTheRequestAfterTheFetchHaveNoEffect() throws {
        try save([("Alice", "Engineering")])
        let controller = try controller(sort: ["name"], sections: nil)
        controller.dependencyKeyPaths = ["department.name"]
        _ = try fetched(controller)
        controller.fetchRequest.entityName = nil
        controller.fetchRequest.includesSubentities = false
        try XCTUnwrap(try context.fetch("Department").first).set("name", "Development")
        try context.processPendingChanges()
        XCTAssertEqual(list.take(), ["will", "update Alice (0, 0) (0, 0)", "did"])
    }

    func testDeletionWithALimitInsertsTheNextObject() throws {
        try save([("Alice", "E"), ("Bob", "E"), ("Cid", "E")])
        let controller = try controller(sort: ["name"], sections: nil)
        controller.fetchRequest.limit = 2
        _ = try fetched(controller)
        try context.delete(try one("Alice"))
        try context.processPendingChanges()
        XCTAssertEqual(list.take(), ["will", "delete ? (0, 0) -", "insert Cid - (0, 1)", "did"])
    }

    func testMergedChangesOfUnregisteredObjectsAreReported() throws {
        try save([("Alice", "E"), ("Bob", "E")])
        let controller = try controller("age > 10", sort: ["name"], sections: nil)
        controller.fetchRequest.batchSize = 10
        _ = try fetched(controller)
        context.automaticallyMergesChangesFromParent = true
        let second = other()
        for object in try second.fetch("Employee") { try object.set("age", 20) }
        try second.save()
        try context.processPendingChanges()
        XCTAssertEqual(list.take(), ["will", "insert Alice - (0, 0)", "insert Bob - (0, 1)", "did"])
        for object in try second.fetch("Employee", "name == 'Bob'") { try second.delete(object) }
        try second.save()
        try context.processPendingChanges()
        XCTAssertEqual(list.take(), ["will", "delete ? (0, 1) -", "did"])
    }

    func testBatchDeletionOfMembersUpdatesResultsThatDependOnThem() throws {
        try save([("Alice", "E"), ("Bob", "E"), ("Cid", "S")])
        let project = try context.insert("Project")
        for name in ["Alice", "Cid"] { try one(name).setMembers([project], of: "projects") }
        try one("Bob").set("age", 50)
        try context.save()
        let departments = FetchRequest(entity: try XCTUnwrap(model.entity(named: "Department")))
        departments.sortDescriptors = [SortDescriptor("name")]
        let told = ListModel()
        let all = FetchedResultsController(fetchRequest: departments, managedObjectContext: context)
        all.dependencyKeyPaths = ["employees"]
        all.delegate = told
        try all.performFetch()
        try told.load(all)
        func delete(_ name: String, in context: Context) throws -> BatchResult {
            let fetch = FetchRequest(
                entity: try XCTUnwrap(model.entity(named: "Employee")),
                predicate: try Predicate.parse("name == '\(name)'"))
            let request = BatchDeleteRequest(fetchRequest: fetch)
            request.resultType = .objectIDs
            return try context.execute(request)
        }
        let working = try fetched(controller("ANY department.employees.age > 30", sort: ["name"], sections: nil))
        XCTAssertEqual(working.fetchedObjects?.count, 2)
        let result = try delete("Bob", in: other())
        XCTAssertEqual(result.count, 1)
        XCTAssertEqual(result.changes.refreshed.map(\.entity.name), ["Department"], "its former department")
        XCTAssertEqual(list.take().count, 4)
        XCTAssertEqual(working.fetchedObjects, [])
        XCTAssertEqual(told.take(), ["will", "update E (0, 0) (0, 0)", "did"])
        working.delegate = nil
        let busy = try fetched(controller("ANY projects.members.name == 'Cid'", sort: ["name"], sections: nil))
        XCTAssertEqual(busy.fetchedObjects?.count, 2)
        XCTAssertEqual(try delete("Cid", in: context).changes.refreshed.map(\.entity.name), ["Department", "Project"])
        XCTAssertEqual(list.take(), ["will", "delete ? (0, 1) -", "delete Alice (0, 0) -", "did"])
        XCTAssertEqual(told.take(), ["will", "update S (0, 1) (0, 1)", "did"])
    }

    /// The deletion of a batch request in another process is known by its IDs only.
    func testRemoteDeletionOfMembersByIDUpdatesResults() throws {
        try save([("Alice", "E"), ("Bob", "E")])
        let controller = try fetched(controller("department.employees.@count > 1", sort: ["name"], sections: nil))
        let second = other()
        let bob = try XCTUnwrap(try second.fetch("Employee", "name == 'Bob'").first)
        let request = try BatchDeleteRequest(objectIDs: [bob.objectID])
        request.mergesIntoContexts = false
        _ = try second.execute(request)
        try Context.mergeChanges(fromRemoteContextSave: ["deleted": [.id(bob.objectID)]], into: [context])
        XCTAssertEqual(controller.fetchedObjects, [])
    }

    /// The rows of the owners are unchanged, so the loaded members determine which owners are affected.
    func testRemoteDeletionOfMembersIsReportedByDependencies() throws {
        for loads in [true, false] {
            try save([("Alice", "E\(loads)"), ("Bob", "E\(loads)")])
            let request = FetchRequest(entity: try XCTUnwrap(model.entity(named: "Department")))
            request.predicate = try Predicate.parse("name == 'E\(loads)'")
            request.sortDescriptors = [SortDescriptor("name")]
            let controller = FetchedResultsController(fetchRequest: request, managedObjectContext: context)
            controller.dependencyKeyPaths = ["employees.name"]
            controller.delegate = list
            try controller.performFetch()
            try list.load(controller)
            _ = list.take()
            let bob = try XCTUnwrap(
                context.fetch("Employee", "name == 'Bob' AND department.name == %@", "E\(loads)").first)
            if loads { XCTAssertEqual(try controller.fetchedObjects?.first?.memberCount("employees"), 2) }
            XCTAssertEqual(try bob.get("name"), "Bob")
            let second = other()
            let gone = try BatchDeleteRequest(objectIDs: [bob.objectID])
            gone.mergesIntoContexts = false
            _ = try second.execute(gone)
            try Context.mergeChanges(fromRemoteContextSave: ["deleted": [.id(bob.objectID)]], into: [context])
            XCTAssertEqual(list.take(), ["will", "update E\(loads) (0, 0) (0, 0)", "did"])
        }
    }

    func testResetOfTheContextIsReported() throws {
        try save([("Alice", "E")])
        let controller = try fetched(controller())
        try context.reset()
        XCTAssertEqual(list.take(), ["reset"])
        XCTAssertNil(controller.fetchedObjects)
        _ = try fetched(controller)
        XCTAssertEqual(controller.fetchedObjects?.count, 1)
    }

    /// If the delegate resets the context in a callback, the current change ends before the reset is reported.
    func testResetByTheDelegateEndsTheCurrentChange() throws {
        final class Resetting: FetchedResultsControllerDelegate {
            var told: [String] = []
            var place = ""
            private func tell(_ what: String, _ controller: FetchedResultsController) {
                told.append(what)
                if what == place { try? controller.managedObjectContext.reset() }
            }
            func controllerWillChangeContent(_ controller: FetchedResultsController) { tell("will", controller) }
            func controllerDidChangeContent(_ controller: FetchedResultsController) { tell("did", controller) }
            func controllerDidReset(_ controller: FetchedResultsController, error: CoreError?) {
                tell("reset", controller)
            }
            func controller(
                _ controller: FetchedResultsController, didChange object: ManagedObject,
                at indexPath: ResultsIndexPath?,
                for kind: ResultsChangeKind, newIndexPath: ResultsIndexPath?
            ) { tell("object", controller) }
        }
        try save([("Alice", "E"), ("Bob", "E")])
        let expected = [
            "will": ["will", "did", "reset"], "object": ["will", "object", "did", "reset"],
            "did": ["will", "object", "object", "did", "reset"],
        ]
        for (place, told) in expected {
            let delegate = Resetting()
            let controller = try controller(sections: nil)
            controller.delegate = delegate
            try controller.performFetch()
            delegate.place = place
            for object in try [one("Alice"), one("Bob")] { try object.set("age", 7) }
            try context.processPendingChanges()
            XCTAssertEqual(delegate.told, told, place)
            XCTAssertNil(controller.fetchedObjects)
        }
    }

    func testDelegateCanChangeFetchAndResetTheContext() throws {
        try save([("Alice", "E"), ("Bob", "E")])
        let controller = try fetched(controller())
        list.didChange = { [unowned self] in
            if list.events < 50 { try? context.insert("Employee", ["name": "N\(list.events)"]) }
            try? context.processPendingChanges()
        }
        try one("Bob").set("age", 3)
        try context.processPendingChanges()
        list.didChange = {}
        try context.processPendingChanges()
        XCTAssertEqual(list.rows.joined().count, controller.fetchedObjects?.count)
        // A fetch, or a reset, within a callback.
        list.willChange = { [unowned self] in
            try? controller.performFetch()
            try? list.load(controller)
        }
        try one("Bob").set("age", 4)
        try context.processPendingChanges()
        list.willChange = { [unowned self] in try? context.reset() }
        try one("Bob").set("age", 5)
        try context.processPendingChanges()
        XCTAssertEqual(list.resets, 1)
        XCTAssertNil(controller.fetchedObjects)
    }

    func testDelegatesReceiveSnapshotsOrDifferences() throws {
        final class Snapshots: FetchedResultsSnapshotDelegate {
            var told: [(ResultsSnapshot, ResultsDifference)] = []
            func controllerWillChangeContent(_ controller: FetchedResultsController) { XCTFail("reported twice") }
            func controller(
                _ controller: FetchedResultsController, didChangeContentWith snapshot: ResultsSnapshot,
                difference: ResultsDifference, objects: [ManagedObject]
            ) { told.append((snapshot, difference)) }
        }
        final class Differences: FetchedResultsDifferenceDelegate {
            var told: [ResultsDifference] = []
            var others = 0
            func controllerDidChangeContent(_ controller: FetchedResultsController) { others += 1 }
            func controller(
                _ controller: FetchedResultsController, didChangeContentWith difference: ResultsDifference
            ) { told.append(difference) }
        }
        try save([("Alice", "E")])
        let (snapshots, differences, divided) = (Snapshots(), Differences(), Differences())
        let first = try controller(), second = try controller(sort: ["name"], sections: nil), third = try controller()
        (first.delegate, second.delegate, third.delegate) = (snapshots, differences, divided)
        for each in [first, second, third] { try each.performFetch() }
        let bob = try employee("Bob")
        try context.processPendingChanges()
        XCTAssertEqual(snapshots.told.first?.0.sectionNames, ["", "E"])
        XCTAssertEqual(snapshots.told[0].1.sectionChanges.count, 1)
        XCTAssertEqual(snapshots.told[0].0.objectID(at: ResultsIndexPath(row: 0, section: 0)), bob.objectID)
        XCTAssertEqual(differences.told.map(\.insertions.count), [1])
        let ids = differences.told[0].idChanges
        XCTAssertEqual(ids.map(\.offset), [1])
        XCTAssertEqual(ids.map(\.objectID), [bob.objectID])
        let (alice, temporary) = (try one("Alice"), bob.objectID)
        try alice.set("name", "Zoe")
        try context.processPendingChanges()
        XCTAssertEqual(differences.told[1].idChanges.map(\.kind), [.delete, .insert])
        XCTAssertEqual(differences.told[1].idChanges.map(\.associatedOffset), [1, 0])
        try context.save()
        let all = [temporary, alice.objectID].applying(differences.told[2].collectionDifference)
        XCTAssertEqual(all, [bob.objectID, alice.objectID], "the permanent ID replaced the temporary ID")
        XCTAssertEqual([differences.others, divided.others, divided.told.count], [0, 2, 0])
    }

    func testChangesWithoutADelegateAreReportedToALaterDelegate() throws {
        try save([("Alice", "E")])
        let controller = try controller()
        controller.delegate = nil
        try controller.performFetch()
        _ = try employee("Bob")
        try context.processPendingChanges()
        XCTAssertEqual(controller.fetchedObjects?.count, 1)
        try list.load(controller)
        controller.delegate = list
        _ = try employee("Cid")
        try context.processPendingChanges()
        XCTAssertEqual(
            list.take(),
            ["will", "section insert  0", "insert Bob - (0, 0)", "insert Cid - (0, 1)", "did"])
    }

    func testFunctionDeterminesSectionNames() throws {
        try save([("Alice", "E"), ("Anna", "E"), ("Bob", "E")])
        let request = FetchRequest(entity: try XCTUnwrap(model.entity(named: "Employee")))
        request.sortDescriptors = [SortDescriptor("name")]
        let controller = FetchedResultsController(fetchRequest: request, managedObjectContext: context) {
            try ($0.get("name") ?? "").prefix(1).description
        }
        controller.delegate = list
        _ = try fetched(controller)
        XCTAssertEqual(controller.sections?.map(\.name), ["A", "B"])
        try one("Anna").set("name", "Carl")
        try context.processPendingChanges()
        XCTAssertEqual(list.take(), ["will", "section insert C 2", "move Carl (0, 1) (2, 0)", "did"])
    }

    /// Composed and decomposed é: equal strings in Swift, but different sections.
    func testSectionNamesAreComparedByUnicodeScalars() throws {
        for (name, age) in [("z", 2), ("\u{e9}", 3), ("e\u{301}", 1)] {
            try employee(name).set("age", age)
        }
        try context.save()
        let controller = try fetched(controller(sort: ["age"], sections: "name"))
        let names = { controller.sections?.map { Array($0.name.unicodeScalars.map(\.value)) } }
        XCTAssertEqual(names(), [[0x65, 0x301], [0x7a], [0xe9]])
        let z = try one("z")
        try context.delete(z)
        try context.processPendingChanges()
        XCTAssertEqual(list.take(), ["will", "delete ? (1, 0) -", "section delete z 1", "did"])
        XCTAssertEqual(names(), [[0x65, 0x301], [0xe9]])
        try one("\u{e9}").set("name", "e\u{301}")
        try context.processPendingChanges()
        XCTAssertEqual(list.take().count, 4)
        XCTAssertEqual(names(), [[0x65, 0x301]])
        XCTAssertEqual(list.rows.map(\.count), [2])
    }

    func testSectionFunctionMustNotThrowOrChangeObjects() throws {
        try save([("Alice", "E"), ("Bob", "E")])
        let request = FetchRequest(entity: try XCTUnwrap(model.entity(named: "Employee")))
        request.sortDescriptors = [SortDescriptor("name")]
        var act: (ManagedObject) throws -> Void = { _ in }
        let controller = FetchedResultsController(fetchRequest: request, managedObjectContext: context) {
            try act($0)
            return "all"
        }
        controller.delegate = list
        _ = try fetched(controller)
        let bob = try one("Bob")
        act = { if $0 === bob { throw CoreError(.callback, "no name") } }
        XCTAssertThrowsError(try controller.performFetch()) {
            XCTAssertEqual(($0 as? CoreError)?.objectURI, bob.objectID.uri)
        }
        XCTAssertEqual(controller.fetchedObjects?.count, 2)
        act = { try $0.set("age", 7) }
        XCTAssertThrowsError(try controller.performFetch()) {
            XCTAssertEqual(($0 as? CoreError)?.status, .invalidArgument)
            XCTAssertNotNil(($0 as? CoreError)?.objectURI)
        }
        try context.rollback()
        act = { _ in }
        _ = try fetched(controller)
        _ = list.take()
        act = { _ in try self.context.insert("Department", ["name": "D"]) }
        try bob.set("name", "Bea")
        try context.processPendingChanges()
        XCTAssertEqual(list.take().first, "reset")
        XCTAssertNil(controller.fetchedObjects)
    }

    /// Without a delegate, the controller does not track changes, so it does not notice a deletion.
    func testDeletedObjectWithoutADelegateIsAnInaccessibleFault() throws {
        try save([("Alice", "E"), ("Bob", "E"), ("Cid", "E")])
        let controller = try controller(sort: ["name"], sections: nil)
        controller.delegate = nil
        try controller.performFetch()
        try context.delete(one("Bob"))
        try context.save()
        let names = try XCTUnwrap(controller.fetchedObjects).map { try $0.get("name", as: String.self) }
        XCTAssertEqual(names, ["Alice", nil, "Cid"])
        XCTAssertNil(try controller.object(at: ResultsIndexPath(row: 1, section: 0)).get("name", as: String.self))
    }

    func testSectionCacheIsUsedOnlyWhenItIsValid() throws {
        setenv("XDG_CACHE_HOME", folder + "/cache", 1)
        defer { unsetenv("XDG_CACHE_HOME") }
        try save([("Alice", "Engineering"), ("Bob", "Sales")])
        XCTAssertEqual(try sections(cache: "staff"), ["Engineering", "Sales"])
        XCTAssertEqual(files(), [], "a file that was just written is not cached yet")
        usleep(3_100_000)
        for predicate in [nil, "name == 'Bob'", nil, nil] {
            XCTAssertEqual(
                try sections(predicate, cache: "staff"), predicate == nil ? ["Engineering", "Sales"] : ["Sales"])
        }
        let file = try XCTUnwrap(files().first)
        XCTAssertEqual(files().count, 1)
        // A changed cache file is used only if it matches the store.
        let whole = try XCTUnwrap(contents(file))
        for text in [
            String(whole.dropLast()) + "x", "", signed(whole, "Sales", "Sulks"), signed(whole, "/p2 ", "/p1 "),
        ] {
            write(text, file)
            XCTAssertEqual(try sections(cache: "staff"), ["Engineering", "Sales"])
        }
        XCTAssertEqual(contents(file), nil)
        XCTAssertEqual(try sections(cache: "staff"), ["Engineering", "Sales"])
        XCTAssertEqual(contents(file), whole)
        // Nothing is cached for predicates that depend on the time, on chance or on memory.
        FetchedResultsController.deleteCache(withName: "staff")
        for predicate in ["now() > CAST(0, 'NSDate')", "random() < 2", "speed == nil"] {
            _ = try sections(predicate, cache: "staff")
        }
        XCTAssertEqual(files(), [])
        let former = Collation.current
        Collation.use(locale: "sv_SE")
        _ = try sections(cache: "staff")
        let swedish = try XCTUnwrap(contents(file))
        Collation.use(locale: "de_DE")
        _ = try sections(cache: "staff")
        XCTAssertNotEqual(contents(file), swedish)
        Collation.use(locale: former.locale)
        FetchedResultsController.deleteCache(withName: "other")
        XCTAssertEqual(files().count, 1)
        FetchedResultsController.deleteCache(withName: nil)
        XCTAssertEqual(files(), [])
        try reopen()
        usleep(3_100_000)
        _ = try context.fetch("Department").map { try $0.get("name", as: String.self) }
        XCTAssertEqual(try cached("staff"), ["Engineering", "Sales"])
        XCTAssertEqual(files(), [], "a loaded department may be stale")
        context = Context(coordinator: coordinator)
        XCTAssertEqual(try cached("staff"), ["Engineering", "Sales"])
        XCTAssertEqual(files(), [], "a cached row may be stale")
        try reopen()
        _ = try employee("Cid")
        XCTAssertEqual(try cached("staff"), ["Engineering", "Sales", ""])
        XCTAssertEqual(files(), [])
    }

    /// The sections in a new context, as after a restart of the process.
    private func sections(_ format: String? = nil, cache: String) throws -> [String]? {
        try reopen()
        return try cached(cache, format)
    }

    private func cached(_ name: String, _ format: String? = nil) throws -> [String]? {
        let controller = try controller(format, sort: ["name"], cache: name)
        try controller.performFetch()
        return controller.sections?.map(\.name)
    }

    /// Returns a changed cache file with a valid digest.
    private func signed(_ whole: String, _ old: String, _ new: String) -> String {
        let body = String(whole.dropLast(64)).replacingOccurrences(of: old, with: new)
        return body + sha256(Array(body.utf8)).map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }

    private func files() -> [String] {
        guard let list = opendir(folder + "/cache/corestone/sections") else { return [] }
        defer { closedir(list) }
        var names: [String] = []
        while let entry = readdir(list) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if !name.hasPrefix(".") { names.append(folder + "/cache/corestone/sections/" + name) }
        }
        return names
    }

    private func contents(_ path: String) -> String? {
        guard let file = fopen(path, "r") else { return nil }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 65536)
        let count = fread(&bytes, 1, bytes.count, file)
        return String(decoding: bytes[..<count], as: UTF8.self)
    }

    private func write(_ text: String, _ path: String) {
        guard let file = fopen(path, "w") else { return XCTFail(path) }
        fputs(text, file)
        fclose(file)
    }

    // MARK: Section indexes and index paths

    func testSectionIndexTitlesAreDefaultsOrThoseOfTheDelegate() throws {
        final class Titles: FetchedResultsControllerDelegate {
            func controller(
                _ controller: FetchedResultsController, sectionIndexTitleForSectionName name: String
            ) -> String? { name == "Sales" ? nil : name.lowercased() }
        }
        try save([("Alice", "engineering"), ("Bob", "Energy"), ("Cid", "Sales")])
        let controller = try controller()
        XCTAssertEqual(controller.sectionIndexTitles, [], "nothing was fetched")
        try controller.performFetch()
        XCTAssertEqual(controller.sections?.map(\.name), ["Energy", "Sales", "engineering"])
        XCTAssertEqual(controller.sectionIndexTitles, ["E", "S"], "each title once")
        XCTAssertEqual(try controller.section(forSectionIndexTitle: "E", at: 0), 0, "the first section with that title")
        XCTAssertEqual(try controller.section(forSectionIndexTitle: "S", at: 1), 1)
        for (title, index) in [("E", 1), ("S", 2), ("S", -1), ("X", 0)] {
            XCTAssertThrowsError(try controller.section(forSectionIndexTitle: title, at: index)) {
                XCTAssertEqual(($0 as? CoreError)?.status, .invalidArgument)
            }
        }
        let titles = Titles()
        controller.delegate = titles
        XCTAssertEqual(controller.sectionIndexTitles, ["energy", "engineering"])
        XCTAssertEqual(controller.sections?.map(\.indexTitle), ["energy", nil, "engineering"])
        XCTAssertEqual(controller.sectionIndexTitle(forSectionName: "Sales"), nil)
        controller.delegate = nil
        XCTAssertEqual(controller.sectionIndexTitle(forSectionName: "élan"), "É")
        XCTAssertNil(controller.sectionIndexTitle(forSectionName: ""))
        XCTAssertEqual(FetchedResultsController.defaultIndexTitle(ofSection: "ß"), "SS")
        let undivided = try self.controller(sort: ["name"], sections: nil)
        try undivided.performFetch()
        XCTAssertEqual(undivided.sectionIndexTitles, [])
        XCTAssertEqual(undivided.sections?.map(\.name), [""])
        XCTAssertEqual(undivided.sections?.map(\.numberOfObjects), [3])
    }

    func testControllerHasThePropertiesOfItsInitialiser() throws {
        let controller = try controller(cache: "staff")
        XCTAssertEqual(controller.sectionNameKeyPath, "department.name")
        XCTAssertEqual(controller.cacheName, "staff")
        XCTAssertTrue(controller.managedObjectContext === context)
        XCTAssertEqual(controller.dependencyKeyPaths, [])
        XCTAssertNil(controller.snapshot)
        let named = FetchedResultsController(
            fetchRequest: controller.fetchRequest, managedObjectContext: context, sectionName: { _ in nil })
        XCTAssertNil(named.sectionNameKeyPath)
        XCTAssertNil(named.cacheName)
        XCTAssertNil(named.delegate)
    }

    /// With a batch size, rows are read in batches, and index paths refer to all results.
    func testIndexPathsWithABatchSizeAreThoseOfAllResults() throws {
        try save((10..<25).map { ("n\($0)", $0 < 18 ? "A" : "B") })
        try reopen()
        let controller = try controller()
        controller.fetchRequest.batchSize = 4
        try controller.performFetch()
        XCTAssertEqual(controller.sections?.map(\.numberOfObjects), [8, 7])
        for (section, first, count) in [(0, 10, 8), (1, 18, 7)] {
            for row in 0..<count {
                let path = ResultsIndexPath(row: row, section: section)
                let object = try controller.object(at: path)
                XCTAssertEqual(try object.get("name"), "n\(first + row)")
                XCTAssertEqual(try controller.indexPath(for: object), path)
            }
        }
        XCTAssertThrowsError(try controller.object(at: ResultsIndexPath(row: 8, section: 0))) {
            XCTAssertEqual(($0 as? CoreError)?.status, .invalidArgument)
            XCTAssertEqual(($0 as? CoreError)?.entity, "Employee")
        }
        let foreign = try XCTUnwrap(try other().fetch("Employee").first)
        XCTAssertNil(try controller.indexPath(for: foreign), "an object of another context")
    }

    /// Objects before the offset shift the results.
    func testChangesBeforeTheOffsetShiftTheResults() throws {
        try save([("Alice", "E"), ("Bob", "E"), ("Cid", "E"), ("Dan", "E")])
        let controller = try controller(sort: ["name"], sections: nil)
        (controller.fetchRequest.offset, controller.fetchRequest.limit) = (1, 2)
        _ = try fetched(controller)
        XCTAssertEqual(list.rows.joined().count, 2)
        _ = try employee("Aaron")
        try context.processPendingChanges()
        XCTAssertEqual(list.take(), ["will", "delete Cid (0, 1) -", "insert Alice - (0, 0)", "did"])
        try one("Dan").set("name", "Abe")
        try context.processPendingChanges()
        XCTAssertEqual(list.take(), ["will", "delete Bob (0, 1) -", "insert Abe - (0, 0)", "did"])
        try one("Cid").set("age", 7)
        try context.processPendingChanges()
        XCTAssertEqual(list.take(), [], "the object is beyond the limit")
    }

    func testSubentitiesAreReportedUnlessExcluded() throws {
        try save([("Alice", "E")])
        let (all, alone) = (
            try controller(sort: ["name"], sections: nil), try controller(sort: ["name"], sections: nil)
        )
        alone.fetchRequest.includesSubentities = false
        let other = ListModel()
        alone.delegate = other
        _ = try fetched(all)
        try alone.performFetch()
        try other.load(alone)
        _ = try context.insert("Manager", ["name": "Bea"])
        try context.processPendingChanges()
        XCTAssertEqual(list.take(), ["will", "insert Bea - (0, 1)", "did"])
        XCTAssertEqual(other.take(), [])
        XCTAssertEqual([all, alone].map { $0.fetchedObjects?.count }, [2, 1])
    }

    /// Many changes in one event use another code path, which must have the same result.
    func testManyChangesInOneEventMatchANewFetch() throws {
        try save((100..<200).map { ("n\($0)", $0 % 2 == 0 ? "A" : "B") })
        let controller = try fetched(controller())
        let all = try XCTUnwrap(controller.fetchedObjects)
        let sales = try department("0")
        for (place, object) in all.enumerated() {
            switch place % 5 {
            case 0: try object.set("department", sales)
            case 1: try context.delete(object)
            case 2: try object.set("name", "z\(place)")
            case 3: try object.set("age", 3)
            default: break
            }
        }
        for number in 0..<30 { _ = try employee("m\(number + 10)", in: sales) }
        try context.processPendingChanges()
        XCTAssertEqual(list.names, ["0", "A", "B"])
        XCTAssertEqual(list.rows.map(\.count), [50, 30, 30])
        let shown = try list.rows.joined().map { try $0.get("name", as: String.self) }
        let fresh = try self.controller()
        fresh.delegate = nil
        try fresh.performFetch()
        XCTAssertEqual(shown, try XCTUnwrap(fresh.fetchedObjects).map { try $0.get("name", as: String.self) })
    }
}
