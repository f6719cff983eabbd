import Corestone
import CorestoneValues
import XCTest

@testable import CorestoneGraph
@testable import CorestoneModel
@testable import CorestonePredicate

/// The stores of a coordinator, the choice of a store, and statistics.
final class CoordinatorTests: GraphTestCase {
    private func failure(_ body: () throws -> Void, line: UInt = #line) -> CoreError {
        do { try body() } catch let error as CoreError { return error } catch { XCTFail("\(error)", line: line) }
        XCTFail("nothing failed", line: line)
        return CoreError(.internal, "")
    }

    private func store(_ number: Int) -> MemoryStore {
        MemoryStore(model: model, identifier: "00000000-0000-0000-0000-00000000000\(number)")
    }

    func testAddingAStoreTwiceFails() throws {
        let error = failure { _ = try coordinator.add(MemoryStore(model: model, identifier: store.identifier)) }
        XCTAssertEqual(error.status, .invalidArgument)
        XCTAssertEqual(error.code, 134080)
        XCTAssertEqual(error.file, "memory")
        XCTAssertEqual(
            error.message, "memory is already open in the coordinator; use the open store, or another coordinator")
        XCTAssertEqual(coordinator.stores.count, 1)
    }

    func testErrorNamesStoresWithoutAPath() throws {
        let coordinator = try Coordinator(model: model)
        let identifier = store(1).identifier
        _ = try coordinator.add(MemoryStore(model: model, identifier: identifier, path: ""))
        let duplicate = failure { _ = try coordinator.add(MemoryStore(model: model, identifier: identifier, path: "")) }
        XCTAssertEqual(
            duplicate.message,
            "a store without a path has the identifier \"\(identifier)\", like another store without a path, which the "
                + "coordinator already has open; use that store, or another coordinator")
        XCTAssertNil(duplicate.file)
        try coordinator.close()
        let late = failure { _ = try coordinator.add(MemoryStore(model: model, path: "")) }
        XCTAssertEqual(
            late.message,
            "cannot add a store without a path: the coordinator is closed; create a new coordinator with "
                + "cst_coordinator_new (Coordinator)")
        XCTAssertNil(late.file)
    }

    func testFetchAndSaveFailWhenTheCoordinatorIsClosed() throws {
        let closed =
            "the coordinator is closed; create a new coordinator or container with cst_coordinator_new or "
            + "cst_container_new (Coordinator, Container), or open the document again with cst_document_open"
        _ = try department("R&D")
        try coordinator.close(.discard)
        let fetch = failure { _ = try context.fetch("Employee") }
        XCTAssertEqual(fetch.status, .invalidArgument)
        XCTAssertEqual(
            fetch.message,
            "cannot fetch Employee: \(closed)")
        let save = failure { try context.save() }
        XCTAssertEqual(save.status, .invalidArgument)
        XCTAssertEqual(
            save.message,
            "cannot save Department objects: \(closed)")
    }

    func testWarningsOfOptionsPrecedeWarningsOfTheStore() throws {
        let cases: [(options: [String], own: [String])] = [
            ([], []), (["a"], []), ([], ["b"]), (["a"], ["b"]), (["a", "c"], ["b", "d"]), (["same"], ["same"]),
        ]
        for (place, each) in cases.enumerated() {
            let backing = store(place + 1)
            backing.warnings = each.own
            XCTAssertEqual(try coordinator.add(backing, warnings: each.options).warnings, each.options + each.own)
        }
        let other = store(9)
        other.warnings = ["own"]
        let moved = try coordinator.migrate(coordinator.stores[0], to: other, warnings: ["option"])
        XCTAssertEqual(moved.warnings, ["option", "own"])
    }

    func testRemovedStoreIsRefused() throws {
        let own = coordinator.stores[0]
        try coordinator.remove(own)
        XCTAssertFalse(own.isOpen)
        for error in [
            failure { try coordinator.remove(own) }, failure { _ = try coordinator.metadata(of: own) },
            failure { try coordinator.setMetadata([:], of: own) },
        ] {
            XCTAssertEqual(error.status, .invalidArgument)
            XCTAssertEqual(error.file, "memory")
        }
        XCTAssertEqual(failure { try own.requireOpen() }.status, .objectGone)
        XCTAssertEqual(failure { try own.requireOpen() }.code, 133000)
    }

    func testFetchAndSaveFailWithoutAStore() throws {
        let empty = try Coordinator(model: model)
        let context = Context(coordinator: empty)
        let error = failure { _ = try context.fetch("Employee") }
        XCTAssertEqual(error.status, .invalidArgument)
        XCTAssertEqual(error.code, 134070)
        XCTAssertEqual(error.entity, "Employee")
        _ = try context.insert("Department", ["name": "R&D"])
        let save = failure { try context.save() }
        XCTAssertEqual(save.status, .invalidArgument)
        XCTAssertEqual(save.code, 134030)
        XCTAssertTrue(context.hasChanges)
        let batch = failure {
            _ =
                try context.execute(
                    BatchDeleteRequest(fetchRequest: FetchRequest(entityName: "Employee")) as BatchRequest)
                as BatchResult
        }
        XCTAssertEqual(batch.code, 134070)
        XCTAssertEqual(batch.entity, "Employee")
    }

    /// New objects go to the first store that has their entity. Its configuration determines the entities of a store.
    func testConfigurationDeterminesTheStoreOfAnEntity() throws {
        let model = try GraphTestCase.company()
        let people = ["Person", "Employee", "Department"]
        try model.setConfiguration(ModelConfiguration(name: "People", entityNames: people))
        try model.setConfiguration(ModelConfiguration(name: "Work", entityNames: ["Project", "Task"]))
        let coordinator = try Coordinator(model: model)
        let stores = try ["People", "Work"].enumerated().map { number, name in
            try coordinator.add(
                MemoryStore(model: model, identifier: "00000000-0000-0000-0000-00000000000\(number)"),
                configuration: name)
        }
        XCTAssertEqual(stores.map(\.configuration), ["People", "Work"])
        let manager = try model.requireEntity(named: "Manager"), task = try model.requireEntity(named: "Task")
        XCTAssertEqual(stores.map { $0.mayContain(manager) }, [true, false], "a configuration includes subentities")
        XCTAssertEqual(stores.map { $0.mayContain(task) }, [false, true])
        XCTAssertTrue(try coordinator.writableStore(for: task) === stores[1])
        try coordinator.remove(stores[1])
        let error = failure { _ = try coordinator.stores(having: task) }
        XCTAssertEqual(error.status, .invalidArgument)
        XCTAssertEqual(error.code, 134070)
        XCTAssertEqual(error.entity, "Task")
        XCTAssertEqual(
            error.message,
            "the open store cannot hold Task objects: memory has the configuration \"People\", and Task is in the configuration \"Work\"; "
                + "call cst_coordinator_add_store (add_store, addStore) with that configuration, or without a "
                + "configuration")
        let context = Context(coordinator: coordinator)
        let new = try context.insert("Task")
        let refused = failure { try context.assign(new, to: stores[0]) }
        XCTAssertEqual(refused.status, .invalidArgument)
        XCTAssertEqual(refused.entity, "Task")
        XCTAssertTrue(
            refused.message.hasSuffix("the store's configuration \"People\" does not contain Task; pass another store"))
        XCTAssertEqual(refused.objectURI, new.objectID.uri)
    }

    func testUnsavedObjectIsSavedInTheStoreOfItsLastAssignment() throws {
        let second = try coordinator.add(store(2))
        let ada = try employee("Ada")
        try context.assign(ada, to: second)
        try context.assign(ada, to: coordinator.stores[0])
        try context.assign(ada, to: second)
        let bob = try employee("Bob")
        XCTAssertTrue(context.futureStore(of: ada) === second)
        XCTAssertTrue(context.futureStore(of: bob) === coordinator.stores[0])
        try context.save()
        XCTAssertTrue(ada.objectID.store === second, "the last assignment applies")
        XCTAssertTrue(bob.objectID.store === coordinator.stores[0])
        XCTAssertTrue(failure { try context.assign(ada, to: second) }.message.contains("it has a permanent ID"))
        let foreign = other()
        XCTAssertTrue(failure { try foreign.assign(bob, to: second) }.message.contains("belongs to another context"))
        let cid = try employee("Cid")
        try coordinator.remove(second)
        let gone = failure { try context.assign(cid, to: second) }
        XCTAssertTrue(gone.message.contains("the store is not open in this context's coordinator"), gone.message)
        XCTAssertEqual(gone.file, second.path)
        try context.delete(cid)
        try context.processPendingChanges()
        XCTAssertEqual(failure { try context.assign(cid, to: coordinator.stores[0]) }.status, .objectGone)
    }

    func testCoordinatorPerformsBlocksInOrderAndAllowsNesting() throws {
        struct Failure: Error {}
        var depth = 0
        let found = try coordinator.performAndWait { () -> Int in
            try coordinator.performAndWait { depth += 1 }
            _ = try employee("Ada")
            try context.save()
            return try context.count("Employee")
        }
        XCTAssertEqual([found, depth], [1, 1])
        XCTAssertThrowsError(try coordinator.performAndWait { throw Failure() }) { XCTAssertTrue($0 is Failure) }
        XCTAssertFalse(coordinator.stores[0].writing.isHeldByThisThread)
        let done = expectation(description: "performed")
        let order = Locked<[Int]>([])
        for number in 0..<20 {
            try coordinator.perform {
                order.withLock { $0.append(number) }
                if number == 19 { done.fulfill() }
            }
        }
        wait(for: [done], timeout: 60)
        XCTAssertEqual(order.withLock { $0 }, Array(0..<20))
    }

    // MARK: Statistics

    func testStatisticsCountFetchesFaultsAndSavedRows() throws {
        let (rAndD, ada) = (try department("R&D"), try employee("Ada"))
        try ada.set("department", rAndD)
        try context.save()
        XCTAssertEqual(coordinator.statistics.saves, 1)
        XCTAssertEqual(coordinator.statistics.inserted, 2)
        XCTAssertEqual([coordinator.statistics.updated, coordinator.statistics.deleted], [0, 0])
        coordinator.resetStatistics()
        XCTAssertEqual(coordinator.statistics, Coordinator.Statistics())
        try ada.set("age", 3)
        try context.delete(rAndD)
        try context.save()
        var found = coordinator.statistics
        XCTAssertEqual([found.saves, found.inserted, found.updated, found.deleted], [1, 0, 1, 1])
        XCTAssertGreaterThan(found.saveNanoseconds, 0)
        try context.save()
        XCTAssertEqual(coordinator.statistics.saves, 1, "nothing was written")
        _ = try employee("Bob")
        try context.save()
        coordinator.resetStatistics()
        let fresh = other()
        let people = try fresh.fetch("Employee")
        found = coordinator.statistics
        XCTAssertEqual([found.fetches, found.fetchedRows], [1, 2])
        XCTAssertEqual([found.faults, found.relationshipFaults, found.saves], [0, 0, 0])
        _ = try people[0].members("friends").count
        XCTAssertEqual(coordinator.statistics.relationshipFaults, 1)
        XCTAssertEqual(coordinator.statistics.fetches, 1)
    }

    // MARK: Conditions that a store cannot evaluate

    func testTransientPropertiesNeedEvaluationInMemory() throws {
        let names = HostNames(model)
        func reasons(_ text: String) throws -> [String] {
            HostNeeds(names, of: try Predicate.parse(text, arguments: [])).reasons
        }
        let transient = "Employee.speed is transient and not in the store"
        for text in [
            "age > 3 AND name BEGINSWITH 'a'", "ANY friends.age > 3", "TRUEPREDICATE", "age IN {1, 2}",
            "SUBQUERY(friends, $f, $f.age > 3).@count > 0", "TERNARY(age > 3, 1, 2) == 1",
        ] { XCTAssertEqual(try reasons(text), [], text) }
        for text in [
            "speed == 3", "3 == speed", "NOT speed == 3", "age > 3 OR (age > 4 AND speed > 1)",
            "friends.@sum.speed > 1",
            "age IN {1, speed}", "sum:({age, speed}) > 1", "SUBQUERY(friends, $f, $f.speed > 3).@count > 0",
            "TERNARY(speed > 3, 1, 2) == 1", "TERNARY(age > 3, speed, 2) == 1", "TERNARY(age > 3, 1, speed) == 1",
            "speed == 1 AND speed == 2",
        ] { XCTAssertEqual(try reasons(text), [transient], text) }
        let byAge = SortDescriptor("age"), bySpeed = SortDescriptor("spouse.speed")
        XCTAssertEqual(HostNeeds(names, of: [byAge]).reasons, [])
        XCTAssertEqual(HostNeeds(names, of: [byAge, bySpeed]).reasons, [transient])
    }
}
