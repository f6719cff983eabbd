import Corestone
import XCTest

@testable import CorestoneGraph

/// Access to values that were not loaded yet: fault policies, counts of single faults, missing rows, stale rows.
final class FaultingTests: GraphTestCase {
    /// Three employees in three departments. The new context's coordinator has no cached rows.
    private func fresh() throws -> Context {
        for number in 1...3 { _ = try employee("E\(number)", in: department("D\(number)")) }
        try context.save()
        coordinator = try Coordinator(model: model)
        _ = try coordinator.add(store)
        return other()
    }

    private func failure(_ body: () throws -> Void) -> CoreError? {
        do {
            try body()
            return nil
        } catch { return error as? CoreError }
    }

    // MARK: Policies

    func testSingleFaultsAreCountedByRelationshipAndCallSite() throws {
        let context = try fresh()
        let employees = try context.fetch("Employee", sort: ["name"])
        XCTAssertFalse(context.countsSingleFaults)
        context.countsSingleFaults = true
        context.callSite = CallSite(file: "report.py", line: 40)
        for employee in employees { XCTAssertNotNil(try employee.get("department.name", as: String.self)) }
        context.callSite = nil
        for department in try context.fetch("Department") { XCTAssertEqual(try department.memberCount("employees"), 1) }
        XCTAssertEqual(
            context.singleFaults.map(\.description),
            ["Department.employees: 3 single faults", "Employee.department: 3 single faults, report.py:40"])
        XCTAssertEqual(
            context.singleFaultReport,
            "Department.employees: 3 single faults\nEmployee.department: 3 single faults, report.py:40\n")
        context.countsSingleFaults = true
        XCTAssertEqual(context.singleFaults, [])
        context.countsSingleFaults = false
        XCTAssertNil(context.faultState.watch)
    }

    func testPrefetchedAndCachedRowsDoNotCountAsSingleFaults() throws {
        let context = try fresh()
        context.countsSingleFaults = true
        context.faultPolicy = .error
        let request = FetchRequest(entity: try model.requireEntity(named: "Employee"))
        request.relationshipKeyPathsForPrefetching = ["department.employees"]
        for employee in try context.fetch(request) {
            XCTAssertNotNil(try employee.get("department.name", as: String.self))
            let department: ManagedObject? = try employee.get("department")
            XCTAssertEqual(try department?.memberCount("employees"), 1)
        }
        XCTAssertEqual(context.singleFaults, [])
        // Another context's faults are filled from the rows that this one read.
        let second = other()
        second.faultPolicy = .error
        for employee in try second.fetch("Employee") {
            XCTAssertNotNil(try employee.get("department.name", as: String.self))
        }
    }

    func testErrorFaultPolicyRejectsSingleFaults() throws {
        let context = try fresh()
        context.faultPolicy = .error
        let employee = try XCTUnwrap(context.fetch("Employee", sort: ["name"]).first)
        let department = try XCTUnwrap(employee.get("department", as: ManagedObject.self))
        context.markCallSite()
        for _ in 0..<2 {
            let refused = failure { _ = try department.get("name", as: String.self) }
            XCTAssertEqual(refused?.status, .unsupported)
            XCTAssertEqual([refused?.entity, refused?.key], ["Employee", "department"])
            let message = try XCTUnwrap(refused?.message)
            XCTAssert(message.contains("prefetch \"department\" in the fetch of Employee"), message)
            XCTAssert(message.contains("CorestoneGraphTests/FaultingTests.swift:"), message)
            XCTAssertTrue(department.isFault)
        }
        let members = failure { _ = try department.members("employees") }
        XCTAssertEqual([members?.entity, members?.key], ["Department", "employees"])
        // Faults that the library fires itself, as in a deletion, are not rejected.
        try context.delete(employee)
        try context.save()
        context.faultPolicy = .batch
        XCTAssertEqual(try department.get("name"), "D1")
        XCTAssertEqual(try department.memberCount("employees"), 0)
    }

    func testFaultPolicyAllowsFaultsOfExplicitIDs() throws {
        let ids = try fresh().fetchIDs(FetchRequest(entity: model.requireEntity(named: "Employee")))
        let context = other()
        context.faultPolicy = .error
        for id in ids { XCTAssertNotNil(try context.object(with: id).get("name", as: String.self)) }
    }

    func testWarnFaultPolicyLogsOncePerCallSite() throws {
        let context = try fresh()
        let lines = Locked<[String]>([])
        DebugLog.setSink { line in lines.withLock { $0.append(line) } }
        defer { DebugLog.setSink(nil) }
        context.faultPolicy = .warn
        context.callSite = CallSite(file: "a.c", line: 7)
        for employee in try context.fetch("Employee") { _ = try employee.get("department.name", as: String.self) }
        XCTAssertEqual(
            lines.withLock { $0 },
            [
                "CoreData: fault: Employee.department fired a single fault (a.c:7); prefetch \"department\" in the fetch of "
                    + "Employee with cst_fetch_request_set_prefetch (prefetch, relationshipKeyPathsForPrefetching)"
            ])
    }

    /// Members fire their owner's fault like any other property.
    func testReadingMembersFiresTheFaultOfTheirOwner() throws {
        _ = try employee("Ada", in: department("D"))
        try context.save()
        let reads: [(ManagedObject) throws -> Void] = [
            { XCTAssertEqual(try $0.members("employees").count, 1) },
            { XCTAssertEqual(try $0.memberCount("employees"), 1) },
            { XCTAssertNotEqual(try $0.value(forKey: "employees"), .null) },
            { XCTAssertEqual(try $0.value(forKeyPath: "employees.@count"), .int(1)) },
        ]
        for read in reads {
            for isPrefetched in [false, true] {
                try context.reset()
                let request = FetchRequest(entity: try model.requireEntity(named: "Department"))
                if isPrefetched { request.relationshipKeyPathsForPrefetching = ["employees"] }
                let department = try XCTUnwrap(context.fetch(request).first)
                XCTAssertTrue(department.isFault)
                let before = store.requests
                try read(department)
                XCTAssertFalse(department.isFault)
                XCTAssertEqual(store.requests - before, isPrefetched ? 0 : 1, "one request for the members")
            }
        }
        // An object without a cached row reads that row only.
        let uri = try XCTUnwrap(context.fetch("Department").first).objectID.uri
        coordinator = try Coordinator(model: model)
        _ = try coordinator.add(store)
        let department = try other().object(with: XCTUnwrap(coordinator.objectID(forURI: uri)))
        let before = store.requests
        XCTAssertEqual(try department.memberCount("employees"), 1)
        XCTAssertFalse(department.isFault)
        XCTAssertEqual(try department.get("name"), "D")
        XCTAssertEqual(store.requests - before, 2)
    }

    /// A hook that failed is called again.
    func testAwakeFromFetchIsCalledWhenMembersAreRead() throws {
        let calls = Locked(0), fails = Locked(true)
        var hooks = LifecycleHooks()
        hooks.awakeFromFetch = { _ in
            calls.withLock { $0 += 1 }
            if fails.withLock({ $0 }) { throw CoreError(.callback, "not now") }
        }
        model = try GraphTestCase.company()
        try model.requireEntity(named: "Department").setLifecycle(hooks)
        coordinator = try Coordinator(model: model)
        _ = try coordinator.add(MemoryStore(model: model))
        context = Context(coordinator: coordinator)
        let department = try department("D")
        _ = try employee("Ada", in: department)
        try context.save()
        try context.refresh(department, mergeChanges: false)
        XCTAssertThrowsError(try department.members("employees"))
        XCTAssertTrue(department.isFault)
        fails.withLock { $0 = false }
        XCTAssertEqual(try department.members("employees").count, 1)
        XCTAssertEqual(try department.members("employees").count, 1)
        XCTAssertEqual(calls.withLock { $0 }, 2)
    }

    func testFaultBatchSizeLimitsTheRowsPerRequest() throws {
        for number in 1...10 {
            _ = try employee("E\(number)", in: try context.fetch("Department").first ?? department("D"))
        }
        try context.save()
        coordinator = try Coordinator(model: model)
        _ = try coordinator.add(store)
        let context = other()
        try context.setFaultBatchSize(4)
        let members = try XCTUnwrap(context.fetch("Department").first).members("employees")
        let before = store.requests
        for member in members { XCTAssertNotNil(try member.get("name", as: String.self)) }
        XCTAssertEqual(store.requests - before, 3)
        XCTAssertEqual(failure { try context.setFaultBatchSize(0) }?.status, .invalidArgument)
        XCTAssertEqual(failure { try context.setFaultBatchSize(65_537) }?.status, .invalidArgument)
        XCTAssertEqual(context.faultBatchSize, 4)
    }

    // MARK: Missing rows

    /// A department and the fault of an employee whose row another context deleted.
    private func deletedElsewhere() throws -> (context: Context, fault: ManagedObject) {
        let ada = try employee("Ada", in: department("Research"))
        try ada.set("age", 36)
        try context.save()
        let second = other()
        let fault = try second.object(with: ada.objectID)
        try context.delete(ada)
        try context.save()
        return (second, fault)
    }

    func testInaccessibleFaultIsDeletedAndItsValuesAreNil() throws {
        let (context, fault) = try deletedElsewhere()
        XCTAssertTrue(context.shouldDeleteInaccessibleFaults)
        XCTAssertNil(try fault.get("name", as: String.self))
        XCTAssertNil(try fault.get("age", as: Int.self))
        XCTAssertNil(try fault.get("department", as: ManagedObject.self))
        XCTAssertNil(try fault.get("department.name", as: String.self))
        XCTAssertEqual(try fault.members("friends").count, 0)
        XCTAssertTrue(fault.isDeleted)
        XCTAssertFalse(fault.isFault)
        XCTAssertEqual(context.deletedObjects.count, 1)
        XCTAssertTrue(context.hasChanges)
        XCTAssertFalse(context.hasPersistentChanges)
        XCTAssertEqual(failure { try fault.set("name", "Eve") }?.code, 133000)
        XCTAssertThrowsError(try context.existingObject(with: fault.objectID)) {
            XCTAssertEqual(($0 as? CoreError)?.code, 133000)
        }
        try context.save()
        XCTAssertFalse(context.hasChanges)
        XCTAssertFalse(fault.isDeleted)
        XCTAssertTrue(fault.isFault)
        XCTAssertNil(try fault.get("name", as: String.self))
        try context.rollback()
        XCTAssertFalse(context.hasChanges)
        XCTAssertFalse(fault.isDeleted)
        XCTAssertNil(try fault.get("name", as: String.self))
        try context.refresh(fault, mergeChanges: true)
        XCTAssertTrue(fault.isFault)
        XCTAssertFalse(context.hasChanges)
    }

    func testInaccessibleFaultThrowsWhenDeletionIsDisabled() throws {
        let (context, fault) = try deletedElsewhere()
        context.shouldDeleteInaccessibleFaults = false
        let error = failure { _ = try fault.get("name", as: String.self) }
        XCTAssertEqual(error?.code, 133000)
        XCTAssertEqual([error?.entity, error?.objectURI], ["Employee", fault.objectID.uri])
        XCTAssertTrue(fault.isFault)
        XCTAssertFalse(context.hasChanges)
    }

    func testInaccessibleFaultHandlerDecidesBetweenErrorAndDeletion() throws {
        let (context, fault) = try deletedElsewhere()
        var asked: [String?] = []
        var answer = false
        context.inaccessibleFaultHandler = { object, id, property in
            XCTAssertIdentical(object, fault)
            XCTAssertEqual(id, object.objectID)
            // A read within the handler throws, and does not call the handler again.
            XCTAssertEqual(self.failure { _ = try object.get("name", as: String.self) }?.code, 133000)
            asked.append(property)
            return answer
        }
        XCTAssertThrowsError(try context.existingObject(with: fault.objectID)) {
            XCTAssertEqual(($0 as? CoreError)?.code, 133000)
        }
        XCTAssertEqual(asked, [])
        XCTAssertEqual(failure { _ = try fault.get("age", as: Int.self) }?.code, 133000)
        answer = true
        XCTAssertNil(try fault.get("department", as: ManagedObject.self))
        XCTAssertEqual(asked, ["age", "department"])
        XCTAssertNil(try fault.get("name", as: String.self))
        XCTAssertEqual(asked.count, 2)
    }

    func testInaccessibleFaultHandlerCanThrowOrResetTheContext() throws {
        let (context, fault) = try deletedElsewhere()
        context.inaccessibleFaultHandler = { _, _, _ in throw CoreError(.callback, "no idea") }
        XCTAssertEqual(failure { _ = try fault.get("age", as: Int.self) }?.message, "no idea")
        XCTAssertTrue(fault.isFault)
        context.inaccessibleFaultHandler = { object, _, _ in
            try object.context?.save()
            try object.context?.reset()
            return true
        }
        XCTAssertEqual(failure { _ = try fault.get("age", as: Int.self) }?.status, .objectGone)
        XCTAssertTrue(fault.isGone)
        XCTAssertFalse(context.hasChanges)
    }

    // MARK: Staleness

    func testCachedRowsExpireAfterTheStalenessInterval() throws {
        let ada = try employee("Ada")
        try context.save()
        let second = other()
        let same = try second.object(with: ada.objectID)
        XCTAssertEqual(try same.get("name"), "Ada")
        func changeInAnotherCoordinator(_ name: String) throws {
            let foreign = try Coordinator(model: model)
            _ = try foreign.add(store)
            let context = Context(coordinator: foreign)
            try XCTUnwrap(context.fetch("Employee").first).set("name", name)
            try context.save()
        }
        try changeInAnotherCoordinator("Eve")
        // Without an interval, the cached row is used.
        let third = other()
        let live = try third.object(with: ada.objectID)
        XCTAssertEqual(try live.get("name"), "Ada")
        // A loaded object keeps its values.
        third.stalenessInterval = 0
        XCTAssertEqual(try live.get("name"), "Ada")
        let fourth = other()
        fourth.stalenessInterval = 3600
        XCTAssertEqual(try fourth.object(with: ada.objectID).get("name"), "Ada")
        try fourth.reset()
        fourth.stalenessInterval = 0
        XCTAssertEqual(try fourth.object(with: ada.objectID).get("name"), "Eve")
        // A fault whose row was cached by a fetch.
        let fifth = other()
        fifth.stalenessInterval = 0
        let fetched = try XCTUnwrap(fifth.fetch("Employee").first)
        try changeInAnotherCoordinator("Mallory")
        XCTAssertEqual(try fetched.get("name"), "Mallory")
    }

    // MARK: Retention

    func testContextRetainsObjectsOnlyOnRequest() throws {
        _ = try fresh()
        let context = other()
        _ = try context.fetch("Employee")
        XCTAssertEqual(context.registeredObjects.count, 0)
        context.retainsRegisteredObjects = true
        for employee in try context.fetch("Employee") { _ = try employee.get("department", as: ManagedObject.self) }
        XCTAssertEqual(context.registeredObjects.count, 6)
        let gone = try context.insert("Department", ["name": "x"])
        try context.delete(gone)
        try context.processPendingChanges()
        XCTAssertEqual(context.registeredObjects.count, 6)
        try context.delete(XCTUnwrap(context.fetch("Employee").first))
        try context.save()
        XCTAssertEqual(context.registeredObjects.count, 5)
        context.retainsRegisteredObjects = false
        XCTAssertEqual(context.registeredObjects.count, 0)
        context.retainsRegisteredObjects = true
        _ = try context.fetch("Employee")
        try context.reset()
        XCTAssertEqual(context.registeredObjects.count, 0)
    }

    // MARK: Delete rules, refreshing

    func testDeleteRulesApplyAtSaveWhenPropagationIsDeferred() throws {
        let project = try context.insert("Project", ["title": "P"])
        let task = try context.insert("Task", ["title": "T"])
        try project.add(task, to: "tasks")
        try context.save()
        context.propagatesDeletesAtEndOfEvent = false
        try context.delete(project)
        try context.processPendingChanges()
        XCTAssertFalse(task.isDeleted)
        XCTAssertEqual(try context.count("Task"), 1)
        try context.save()
        XCTAssertTrue(task.isGone)
        XCTAssertEqual(try context.count("Task"), 0)
    }

    func testRefreshAllKeepsChangesAndRunsOneQuery() throws {
        let context = try fresh()
        let employees = try context.fetch("Employee", sort: ["name"])
        for employee in employees { try employee.set("age", 50) }
        let untouched = try context.fetch("Department")
        for department in untouched { _ = try department.get("name", as: String.self) }
        let before = store.requests
        try context.refreshAll()
        XCTAssertEqual(store.requests - before, 1)
        XCTAssertTrue(untouched.allSatisfy(\.isFault))
        XCTAssertEqual(try employees.map { try $0.get("age") }, [50, 50, 50])
        XCTAssertEqual(context.updatedObjects.count, 3)
        // The refresh ignores a deleted row; the next save reports it.
        let second = other()
        try second.delete(second.object(with: employees[0].objectID))
        try second.save()
        try context.refreshAll()
        XCTAssertEqual(failure { try context.save() }?.code, 133020)
    }
}
