import Corestone
import XCTest

/// Lifecycle hooks: callbacks at insertion, fetch, save, deletion and validation of objects.
final class LifecycleTests: GraphTestCase {
    /// The calls of hooks, in order.
    private final class Log: @unchecked Sendable {
        var calls: [String] = []
        func count(_ call: String) -> Int { calls.filter { $0 == call }.count }
    }

    private let log = Log()

    /// A company whose entities have hooks.
    private func hooked(_ entities: [String: LifecycleHooks]) throws {
        model = try GraphTestCase.company()
        for (name, hooks) in entities { try model.requireEntity(named: name).setLifecycle(hooks) }
        coordinator = try Coordinator(model: model)
        store = MemoryStore(model: model)
        _ = try coordinator.add(store)
        context = Context(coordinator: coordinator)
    }

    private func hooks(_ fill: (inout LifecycleHooks) -> Void) -> LifecycleHooks {
        var hooks = LifecycleHooks()
        fill(&hooks)
        return hooks
    }

    private func failure(_ body: () throws -> Void) -> CoreError? {
        do { try body() } catch { return error as? CoreError }
        return nil
    }

    private struct HostError: Error {}

    /// The objects that a hook uses, by name.
    private final class Cast: @unchecked Sendable {
        private var objects: [String: ManagedObject] = [:]

        subscript(name: String) -> ManagedObject {
            get { objects[name]! }
            set { objects[name] = newValue }
        }
    }

    private func version(of object: ManagedObject) -> Int32? {
        store.rows[object.objectID.entity.root.index]?[object.objectID.reference]?.version
    }

    private func prepared(_ object: ManagedObject, _ name: String, _ value: PropertyValue) throws
        -> (target: ManagedObject, value: ManagedObject.Prepared)
    {
        let key = try object.entity.requireProperty(named: name).key
        return (target: object, value: try object.prepare(value, key: key))
    }

    // MARK: Insertion and fetch

    func testDefaultsAreSetBeforeAwakeFromInsert() throws {
        let log = log
        try hooked([
            "Employee": hooks {
                $0.awakeFromInsert = { object in
                    let rating: Double? = try object.get("rating")
                    log.calls.append("awake \(rating ?? 0)")
                    try object.set("age", 1)
                }
            }
        ])
        let ada = try employee("Ada")
        let boss = try context.insert("Manager")
        XCTAssertEqual(log.calls, ["awake 1000.0", "awake 1000.0"])
        XCTAssertEqual([try ada.get("age"), try boss.get("age")], [1, 1] as [Int?])
        try boss.set("name", "Bo")
        try context.save()
        XCTAssertEqual(try ada.committedValue("age"), .int(1))
        XCTAssertEqual(log.calls.count, 2)
    }

    func testInsertFailsWhenAwakeFromInsertThrows() throws {
        try hooked(["Employee": hooks { $0.awakeFromInsert = { _ in throw HostError() } }])
        XCTAssertThrowsError(try context.insert("Employee")) { XCTAssertTrue($0 is HostError) }
        XCTAssertFalse(context.hasChanges)
        XCTAssertEqual(context.registeredObjects.count, 0)
    }

    func testFailedAwakeFromInsertLeavesNoMemberInARelationship() throws {
        try hooked([
            "Employee": hooks {
                $0.awakeFromInsert = { object in
                    let departments = try object.context?.fetch("Department") ?? []
                    try object.set("department", departments.first)
                    throw HostError()
                }
            }
        ])
        let sales = try department("Sales")
        try context.save()
        XCTAssertEqual(try sales.members("employees"), [])
        XCTAssertThrowsError(try context.insert("Employee")) { XCTAssertTrue($0 is HostError) }
        XCTAssertEqual(try sales.members("employees"), [])
        try context.save()
        XCTAssertEqual(try other().object(with: sales.objectID).members("employees"), [])
    }

    func testAwakeFromFetchIsCalledOncePerLoadAndLeavesTheObjectClean() throws {
        let log = log
        try hooked([
            "Employee": hooks {
                $0.awakeFromFetch = { object in
                    log.calls.append("fetch \(try object.get("name") ?? "")")
                    try object.set("speed", 7.0)
                    try object.set("age", 40)
                }
            }
        ])
        _ = [try employee("Ada"), try employee("Bo")]
        try context.save()
        XCTAssertEqual(log.calls, [])
        let second = other()
        let found = try second.fetch("Employee")
        XCTAssertEqual(log.calls, [])
        XCTAssertEqual(try found[0].get("name"), "Ada")
        XCTAssertEqual(try found[0].get("speed"), 7.0)
        XCTAssertEqual(log.calls, ["fetch Ada"])
        XCTAssertFalse(found[0].isFault)
        XCTAssertFalse(found[0].hasChanges)
        XCTAssertFalse(second.hasChanges)
        XCTAssertTrue(found[1].isFault)
        try second.refresh(found[0], mergeChanges: false)
        XCTAssertEqual(try found[0].get("age"), 40)
        XCTAssertEqual(log.calls, ["fetch Ada", "fetch Ada"])
        let filled = FetchRequest(entity: try model.requireEntity(named: "Employee"))
        filled.returnsObjectsAsFaults = false
        _ = try second.fetch(filled)
        XCTAssertEqual(log.calls, ["fetch Ada", "fetch Ada", "fetch Bo"])
    }

    func testAwakeFromFetchIsCalledAgainAfterItThrew() throws {
        let log = log
        try hooked([
            "Employee": hooks {
                $0.awakeFromFetch = { _ in
                    log.calls.append("fetch")
                    if log.calls.count == 1 { throw HostError() }
                }
            }
        ])
        _ = try employee("Ada")
        try context.save()
        let ada = try XCTUnwrap(other().fetch("Employee").first)
        XCTAssertThrowsError(try ada.value(forKey: "name")) { XCTAssertTrue($0 is HostError) }
        XCTAssertTrue(ada.isFault)
        XCTAssertEqual(try ada.get("name"), "Ada")
        XCTAssertEqual(log.calls.count, 2)
    }

    // MARK: Deletion and faults

    func testPrepareForDeletionIsCalledBeforeDeleteRulesApply() throws {
        let log = log
        let prepare: LifecycleHooks.Hook = { object in
            let count = try object.entityName == "Project" ? object.memberCount("tasks") : 0
            log.calls.append("prepare \(object.entityName) \(count) \(object.isDeleted)")
            try object.context?.delete(object)
        }
        try hooked([
            "Project": hooks { $0.prepareForDeletion = prepare }, "Task": hooks { $0.prepareForDeletion = prepare },
        ])
        let project = try context.insert("Project", ["title": "P"])
        for title in ["a", "b"] { try project.add(try context.insert("Task", ["title": title]), to: "tasks") }
        try context.save()
        try context.delete(project)
        XCTAssertEqual(log.calls, ["prepare Project 2 false"])
        try context.delete(project)
        try context.save()
        XCTAssertEqual(
            log.calls,
            ["prepare Project 2 false", "prepare Project 2 true", "prepare Task 0 false", "prepare Task 0 false"])
        XCTAssertEqual(try context.count("Task"), 0)
    }

    func testDeletionFailsWhenPrepareForDeletionThrows() throws {
        try hooked(["Employee": hooks { $0.prepareForDeletion = { _ in throw HostError() } }])
        let ada = try employee("Ada")
        XCTAssertThrowsError(try context.delete(ada)) { XCTAssertTrue($0 is HostError) }
        XCTAssertFalse(ada.isDeleted)
        try context.save()
        XCTAssertEqual(try context.count("Employee"), 1)
    }

    func testFaultHooksAreCalledOnRefreshAndReset() throws {
        let log = log
        try hooked([
            "Employee": hooks {
                $0.willTurnIntoFault = { log.calls.append("will \(try $0.get("name") ?? "nil") \($0.isFault)") }
                $0.didTurnIntoFault = { log.calls.append("did \($0.isFault) \($0.isGone)") }
            }
        ])
        let ada = try employee("Ada")
        try context.save()
        try context.refresh(ada, mergeChanges: false)
        XCTAssertEqual(log.calls, ["will Ada false", "did true false"])
        try context.refresh(ada, mergeChanges: false)
        XCTAssertEqual(log.calls.count, 2)
        XCTAssertEqual(try ada.get("name"), "Ada")
        try context.reset()
        XCTAssertEqual(log.calls.suffix(2), ["will Ada false", "did true true"])
    }

    func testErrorOfWillTurnIntoFaultIsThrownAfterTheRefresh() throws {
        try hooked(["Employee": hooks { $0.willTurnIntoFault = { _ in throw HostError() } }])
        let ada = try employee("Ada")
        try context.save()
        XCTAssertThrowsError(try context.refresh(ada, mergeChanges: false)) { XCTAssertTrue($0 is HostError) }
        XCTAssertTrue(ada.isFault)
        XCTAssertEqual(try ada.get("name"), "Ada")
        XCTAssertThrowsError(try context.reset()) { XCTAssertTrue($0 is HostError) }
        XCTAssertTrue(ada.isGone)
    }

    func testAwakeFromSnapshotEventsIsCalledOnRollbackAndRefresh() throws {
        let log = log
        try hooked([
            "Employee": hooks {
                $0.awakeFromSnapshotEvents = { object, events in
                    log.calls.append("\(events.rawValue) \(try object.get("name") ?? "nil")")
                    try object.set("speed", 3.0)
                }
            }
        ])
        let ada = try employee("Ada")
        try context.save()
        try ada.set("name", "Eve")
        try context.rollback()
        XCTAssertFalse(ada.hasChanges)
        try ada.set("name", "Eve")
        try context.refresh(ada, mergeChanges: true)
        XCTAssertEqual(log.calls, ["16 Ada", "32 Eve"])
        XCTAssertEqual(try ada.get("speed"), 3.0)
    }

    // MARK: Inheritance, null, tracking

    func testHookOfASubentityOverridesTheInheritedHook() throws {
        let log = log
        try hooked([
            "Employee": hooks {
                $0.awakeFromInsert = { _ in log.calls.append("employee") }
                $0.willSave = { _ in log.calls.append("save") }
            }, "Manager": hooks { $0.awakeFromInsert = { _ in log.calls.append("manager") } },
        ])
        _ = try context.insert("Manager", ["name": "Bo"])
        try context.save()
        XCTAssertEqual(log.calls, ["manager", "save"])
    }

    func testSetNilValueIsCalledWhenAScalarIsSetToNil() throws {
        let log = log
        try hooked([
            "Employee": hooks {
                $0.setNilValue = { object, key in
                    log.calls.append(key)
                    if key == "age" { try object.set("age", 0) } else { try object.setValue(.null, forKey: key) }
                }
            }
        ])
        let ada = try employee("Ada")
        try ada.setValue(.null, forKey: "age")
        XCTAssertEqual(try ada.get("age"), 0)
        try ada.set("rating", nil)
        XCTAssertNil(try ada.get("rating") as Double?)
        try ada.set("name", nil)
        XCTAssertEqual(log.calls, ["age", "rating"])
        try ada.setPrimitive("age", nil)
        XCTAssertNil(try ada.get("age") as Int?)
    }

    func testSetOfSeveralObjectsChangesNothingWhenSetNilValueThrows() throws {
        try hooked([
            "Employee": hooks {
                $0.setNilValue = { object, key in
                    if key == "rating" { throw HostError() }
                    try object.set("age", 7)
                }
            }
        ])
        let ada = try employee("Ada")
        let bob = try employee("Bob")
        try ada.set("age", 36)
        XCTAssertThrowsError(
            try ManagedObject.apply([
                prepared(bob, "name", .text("Eve")), prepared(ada, "age", .null), prepared(bob, "rating", .null),
            ])
        ) { XCTAssertTrue($0 is HostError) }
        XCTAssertEqual(try bob.get("name"), "Bob")
        XCTAssertEqual(try ada.get("age"), 36)
        XCTAssertEqual(try bob.get("rating"), 1000.0)
        // The last value of a property counts.
        try ManagedObject.apply([
            prepared(ada, "age", .int(5)), prepared(ada, "age", .null), prepared(bob, "age", .null),
            prepared(bob, "age", .int(6)),
        ])
        XCTAssertEqual([try ada.get("age"), try bob.get("age")], [7, 6] as [Int?])
    }

    func testSetOfSeveralPropertiesRestoresOtherPropertiesWhenSetNilValueThrows() throws {
        try hooked([
            "Employee": hooks {
                $0.setNilValue = { object, key in
                    if key == "rating" { throw HostError() }
                    try object.set("age", 7)
                    try object.set("name", "changed")
                    try object.set("notes", "changed")
                    try object.set("speed", 9.0)
                    try object.set("department", try object.get("manager.department", as: ManagedObject.self))
                }
            }
        ])
        let (sales, research) = (try department("Sales"), try department("R&D"))
        let (ada, boss) = (try employee("Ada", in: sales), try employee("Bo", in: research))
        try ada.set("manager", boss)
        try ada.set("age", 36)
        try context.save()
        func setNil() throws {
            try ManagedObject.apply([
                prepared(ada, "floor", .int(3)), prepared(ada, "age", .null), prepared(ada, "rating", .null),
            ])
        }
        func checkRelationships() throws {
            XCTAssertTrue(try ada.get("department", as: ManagedObject.self) === sales)
            XCTAssertEqual(try sales.members("employees"), [ada])
            XCTAssertEqual(try research.members("employees"), [boss])
        }
        XCTAssertThrowsError(try setNil()) { XCTAssertTrue($0 is HostError) }
        XCTAssertEqual([try ada.get("name"), try ada.get("notes")], ["Ada", nil] as [String?])
        XCTAssertEqual([try ada.get("age"), try ada.get("floor")], [36, nil] as [Int?])
        XCTAssertEqual([try ada.get("rating"), try ada.get("speed")], [1000, nil] as [Double?])
        try checkRelationships()
        // Other objects are unchanged again too, after each failure.
        XCTAssertFalse(context.hasChanges)
        XCTAssertThrowsError(try setNil()) { XCTAssertTrue($0 is HostError) }
        XCTAssertFalse(context.hasChanges)
        // Values that were changed before the call are restored too.
        try ada.set("notes", "mine")
        try ada.set("speed", 1.0)
        try ada.set("department", nil)
        XCTAssertThrowsError(try setNil()) { XCTAssertTrue($0 is HostError) }
        XCTAssertEqual([try ada.get("name"), try ada.get("notes")], ["Ada", "mine"] as [String?])
        XCTAssertEqual(try ada.get("speed"), 1.0)
        XCTAssertNil(try ada.get("department", as: ManagedObject.self))
        XCTAssertEqual(try sales.members("employees"), [])
        XCTAssertEqual(try research.members("employees"), [boss])
        XCTAssertFalse(research.hasChanges)
        try ada.set("department", sales)
        let researchVersion = version(of: research)
        try context.save()
        XCTAssertEqual(version(of: research), researchVersion)
        try checkRelationships()
        XCTAssertEqual(try other().object(with: ada.objectID).get("notes"), "mine")
    }

    func testSetOfSeveralPropertiesRestoresBothSidesOfRelationshipsWhenSetNilValueThrows() throws {
        let cast = Cast()
        try hooked([
            "Employee": hooks {
                $0.setNilValue = { object, key in
                    if key == "rating" { throw HostError() }
                    try object.set("spouse", cast["Cyd"])
                    try object.add(cast["third"], to: "tasks")
                    try object.remove(cast["first"], from: "tasks")
                    try cast["Eve"].set("manager", object)
                    try object.setMembers([cast["new"]], of: "projects")
                }
            }
        ])
        for name in ["Ada", "Bob", "Cyd", "Dan", "Eve"] { cast[name] = try employee(name) }
        for title in ["first", "second", "third"] { cast[title] = try context.insert("Task", ["title": title]) }
        for title in ["old", "new"] { cast[title] = try context.insert("Project", ["title": title]) }
        let (ada, cyd) = (cast["Ada"], cast["Cyd"])
        try ada.set("spouse", cast["Bob"])
        try cyd.set("spouse", cast["Dan"])
        try ada.setMembers([cast["first"], cast["second"]], of: "tasks")
        try cyd.add(cast["third"], to: "tasks")
        try cast["Eve"].set("manager", cyd)
        try ada.add(cast["old"], to: "projects")
        func check() throws {
            for (name, spouse) in [("Ada", "Bob"), ("Bob", "Ada"), ("Cyd", "Dan"), ("Dan", "Cyd")] {
                XCTAssertTrue(try cast[name].get("spouse", as: ManagedObject.self) === cast[spouse], name)
            }
            XCTAssertEqual(try ada.members("tasks"), [cast["first"], cast["second"]])
            XCTAssertEqual(try cyd.members("tasks"), [cast["third"]])
            XCTAssertTrue(try cast["first"].get("owner", as: ManagedObject.self) === ada)
            XCTAssertTrue(try cast["third"].get("owner", as: ManagedObject.self) === cyd)
            XCTAssertTrue(try cast["Eve"].get("manager", as: ManagedObject.self) === cyd)
            XCTAssertEqual(try cyd.members("reports"), [cast["Eve"]])
            XCTAssertEqual(try ada.members("reports"), [])
            XCTAssertEqual(try ada.members("projects"), [cast["old"]])
            XCTAssertEqual(try cast["old"].members("members"), [ada])
            XCTAssertEqual(try cast["new"].members("members"), [])
        }
        // The objects are new, then saved.
        for isSaved in [false, true] {
            if isSaved { try context.save() }
            XCTAssertThrowsError(
                try ManagedObject.apply([prepared(ada, "age", .null), prepared(ada, "rating", .null)])
            ) { XCTAssertTrue($0 is HostError) }
            try check()
        }
        XCTAssertFalse(context.hasChanges)
        try context.save()
        try check()
        let fresh = other()
        XCTAssertEqual(try fresh.object(with: cyd.objectID).get("spouse.name"), "Dan")
        XCTAssertEqual(try names(fresh.object(with: cyd.objectID).members("reports")), ["Eve"])
        let tasks = try fresh.object(with: ada.objectID).members("tasks")
        XCTAssertEqual(try tasks.map { try $0.get("title", as: String.self) }, ["first", "second"])
    }

    func testRestorationDoesNotConnectTemporaryPartnersOfOtherObjects() throws {
        let cast = Cast()
        try hooked([
            "Employee": hooks {
                $0.setNilValue = { object, key in
                    if key == "rating" { throw HostError() }
                    for name in ["Ada", "Bob"] {
                        try cast["Eve"].set("manager", cast[name])
                        try cast["Eve"].set("spouse", cast[name])
                        try cast[name].set("spouse", cast["Dan"])
                    }
                }
            }
        ])
        for name in ["Ada", "Bob", "Dan", "Eve"] { cast[name] = try employee(name) }
        try context.save()
        XCTAssertThrowsError(
            try ManagedObject.apply([prepared(cast["Ada"], "age", .null), prepared(cast["Bob"], "rating", .null)])
        ) { XCTAssertTrue($0 is HostError) }
        for name in ["Ada", "Bob", "Dan", "Eve"] {
            XCTAssertNil(try cast[name].get("manager", as: ManagedObject.self), name)
            XCTAssertNil(try cast[name].get("spouse", as: ManagedObject.self), name)
            XCTAssertEqual(try cast[name].memberCount("reports"), 0, name)
        }
        XCTAssertFalse(context.hasChanges)
    }

    func testFailedCallInAHookDoesNotAffectTheRestorationOfTheOuterCall() throws {
        let cast = Cast()
        @Sendable func setNil(_ object: ManagedObject) throws {
            try object.set([("age", .null), ("rating", .null)])
        }
        try hooked([
            "Employee": hooks {
                $0.setNilValue = { object, key in
                    if key == "rating" { throw HostError() }
                    try cast["Eve"].set("manager", object)
                    if object === cast["Ada"] { XCTAssertThrowsError(try setNil(cast["Bob"])) }
                    XCTAssertTrue(try cast["Eve"].get("manager", as: ManagedObject.self) === object)
                }
            }
        ])
        for name in ["Ada", "Bob", "Eve"] { cast[name] = try employee(name) }
        try context.save()
        XCTAssertThrowsError(try setNil(cast["Ada"])) { XCTAssertTrue($0 is HostError) }
        XCTAssertNil(try cast["Eve"].get("manager", as: ManagedObject.self))
        for name in ["Ada", "Bob"] { XCTAssertEqual(try cast[name].memberCount("reports"), 0) }
        XCTAssertFalse(context.hasChanges)
    }

    func testSetOfOneValueRestoresTheObjectWhenSetNilValueThrows() throws {
        try hooked([
            "Employee": hooks {
                $0.setNilValue = { object, _ in
                    try object.set("name", "changed")
                    try object.set("department", nil)
                    throw HostError()
                }
            }
        ])
        let sales = try department("Sales")
        let ada = try employee("Ada", in: sales)
        try context.save()
        XCTAssertThrowsError(try ada.set("age", nil)) { XCTAssertTrue($0 is HostError) }
        XCTAssertEqual(try ada.get("name"), "Ada")
        XCTAssertEqual(try sales.members("employees"), [ada])
        XCTAssertFalse(context.hasChanges)
    }

    func testSetOfSeveralPropertiesIsCompleteWhenAnObserverDeletesATarget() throws {
        try hooked(["Employee": hooks { $0.setNilValue = { object, _ in try object.set("name", "changed") } }])
        for first in ["floor", "age"] {
            let sales = try department("Sales")
            let (ada, boss) = (try employee("Ada"), try employee("Bo"))
            try ada.set("age", 36)
            try context.save()
            let token = try ada.observe(keyPath: "department") { [unowned self] _, _ in
                try? context.delete(boss)
                try? context.processPendingChanges()
            }
            try ManagedObject.apply([
                prepared(ada, first, first == "age" ? .null : .int(3)), prepared(ada, "department", .object(sales)),
                prepared(ada, "manager", .object(boss)),
            ])
            token.cancel()
            XCTAssertTrue(try ada.get("department", as: ManagedObject.self) === sales)
            XCTAssertTrue(boss.isDeleted)
            XCTAssertNil(try ada.get("manager", as: ManagedObject.self))
            try context.save()
        }
    }

    func testObjectChangedWithoutTrackingIsSaved() throws {
        let ada = try employee("Ada")
        try context.save()
        let department: ManagedObject = try context.withoutTracking {
            try ada.set("age", 30)
            XCTAssertFalse(ada.hasChanges)
            let department = try self.department("R&D")
            try ada.set("department", department)
            return department
        }
        XCTAssertTrue(ada.isUpdated)
        XCTAssertTrue(context.isTracking)
        try context.save()
        XCTAssertEqual(try ada.committedValue("age"), .int(30))
        XCTAssertEqual(try other().count("Employee", "department.name == 'R&D'"), 1)
        XCTAssertTrue(department.objectID.isTemporary == false)
    }

    // MARK: Saving

    func testChangesInWillSaveAreSaved() throws {
        let log = log
        try hooked([
            "Employee": hooks {
                $0.willSave = { object in
                    log.calls.append("will \(object.isDeleted)")
                    if try object.get("age") as Int? == nil { try object.set("age", 50) }
                }
                $0.didSave = { log.calls.append("did \($0.hasChanges) \($0.isGone)") }
            }
        ])
        let ada = try employee("Ada")
        try context.save()
        // The hook changed the object, so it is called again.
        XCTAssertEqual(log.calls, ["will false", "will false", "did false false"])
        XCTAssertEqual(try ada.committedValue("age"), .int(50))
        XCTAssertEqual(try other().count("Employee", "age == 50"), 1)
        log.calls = []
        try context.save()
        XCTAssertEqual(log.calls, [])
        try context.delete(ada)
        try context.save()
        XCTAssertEqual(log.calls, ["will true", "did false true"])
        XCTAssertFalse(ada.isDeleted)
    }

    func testWillSaveCanInsertAndDeleteOtherObjects() throws {
        let log = log
        try hooked([
            "Employee": hooks {
                $0.willSave = { object in
                    guard let context = object.context, object.isInserted else { return }
                    let name: String = try object.get("name") ?? ""
                    log.calls.append(name)
                    if name == "Ada", try context.count("Employee", "name == 'Bo'") == 0 {
                        try context.insert("Employee").set("name", "Bo")
                    }
                    for project in try context.fetch("Project") { try context.delete(project) }
                }
            }
        ])
        _ = try context.insert("Project", ["title": "P"])
        _ = try employee("Ada")
        try context.save()
        XCTAssertEqual(log.calls, ["Ada", "Bo"])
        XCTAssertEqual(try other().count("Employee"), 2)
        XCTAssertEqual(try other().count("Project"), 0)
    }

    func testSaveFailsWhenWillSaveChangesTheObjectForever() throws {
        let log = log
        try hooked([
            "Employee": hooks {
                $0.willSave = {
                    log.calls.append("will")
                    try $0.set("age", 50)
                }
            }
        ])
        let ada = try employee("Ada")
        let error = try XCTUnwrap(failure { try context.save() })
        XCTAssertEqual(log.calls.count, 1000)
        XCTAssertEqual([error.entity, error.key, error.objectURI], ["Employee", "age", ada.objectID.uri])
        XCTAssertTrue(error.message.contains("1000 attempts"), error.message)
        XCTAssertTrue(ada.isInserted)
        XCTAssertEqual(try other().count("Employee"), 0)
    }

    func testErrorsOfWillSaveAndDidSaveAreThrown() throws {
        let log = log
        try hooked([
            "Employee": hooks {
                $0.willSave = { if try $0.get("age") == 1 { throw CoreError(.callback, "no", customCode: 4242) } }
                $0.didSave = { _ in
                    log.calls.append("did")
                    throw CoreError(.callback, "told", domain: "D", customCode: 7)
                }
            }
        ])
        let ada = try context.insert("Employee", ["name": "Ada", "age": 1])
        let refused = try XCTUnwrap(failure { try context.save() })
        XCTAssertEqual([refused.code, log.calls.count], [4242, 0])
        XCTAssertEqual([refused.entity, refused.objectURI], ["Employee", ada.objectID.uri])
        try ada.set("age", 2)
        _ = try employee("Bo")
        let told = try XCTUnwrap(failure { try context.save() })
        XCTAssertEqual([told.domain, told.message], ["D", "told"])
        XCTAssertEqual(log.calls, ["did", "did"])
        XCTAssertFalse(context.hasChanges)
        XCTAssertEqual(try other().count("Employee"), 2)
        try context.save()
    }

    func testValidationHooksReplaceAndRejectValues() throws {
        let log = log
        try hooked([
            "Employee": hooks {
                $0.willSave = { _ in log.calls.append("will") }
                $0.validate = { object, purpose in
                    log.calls.append("\(purpose)")
                    if try object.get("age") == 13 { throw CoreError(.callback, "D", domain: "D", customCode: 4242) }
                }
                $0.validateValue["name"] = { _, value, _ in value == .string("ada") ? .string("Ada") : value }
            },
            "Manager": hooks {
                $0.validateValue["name"] = { _, value, _ in value.isNull ? .string("Boss") : value }
            },
        ])
        let ada = try employee("ada")
        let boss = try context.insert("Manager")
        try context.save()
        XCTAssertEqual([try ada.get("name"), try boss.get("name")], ["Ada", "Boss"])
        // Validation changed the names of both objects, so their hooks are called again.
        XCTAssertEqual(log.calls, ["will", "will", "insert", "insert", "will", "will", "insert", "insert"])
        try boss.set("age", 13)
        let refused = try XCTUnwrap(failure { try context.save() })
        XCTAssertEqual([refused.domain, refused.entity, refused.objectURI], ["D", "Manager", boss.objectID.uri])
        XCTAssertEqual(refused.code, 4242)
    }

    // MARK: Calls that hooks must not make

    func testHooksCannotSaveResetRollbackOrRefresh() throws {
        let log = log
        let harm: [@Sendable (Context, ManagedObject) throws -> Void] = [
            { context, _ in try context.save() }, { context, _ in try context.reset() },
            { context, _ in try context.rollback() }, { try $0.refresh($1, mergeChanges: false) },
        ]
        let hook: LifecycleHooks.Hook = { object in
            let context = try XCTUnwrap(object.context)
            for body in harm {
                do { try body(context, object) } catch { log.calls.append((error as? CoreError)?.message ?? "") }
            }
        }
        try hooked([
            "Employee": hooks {
                $0.awakeFromInsert = hook
                $0.awakeFromFetch = hook
                $0.willSave = hook
                $0.prepareForDeletion = hook
                $0.willTurnIntoFault = hook
            }
        ])
        let ada = try employee("Ada")
        try context.save()
        try context.refresh(ada, mergeChanges: false)
        XCTAssertEqual(try ada.get("name"), "Ada")
        try context.delete(ada)
        try context.save()
        XCTAssertEqual(log.calls.count, 6 * 4)
        XCTAssertTrue(log.calls.allSatisfy { $0.hasPrefix("a hook or validator must not ") }, log.calls[0])
    }

    func testEndlessRecursionOfHooksIsStopped() throws {
        try hooked([
            "Employee": hooks { $0.awakeFromInsert = { _ = try $0.context?.insert("Employee") } },
            "Project": hooks { $0.awakeFromInsert = { try $0.context?.delete($0) } },
        ])
        let error = try XCTUnwrap(failure { _ = try context.insert("Employee") })
        XCTAssertTrue(error.message.contains("100 levels deep"), error.message)
        XCTAssertFalse(context.hasChanges)
        let project = try context.insert("Project")
        try context.processPendingChanges()
        XCTAssertTrue(project.isGone)
        XCTAssertFalse(context.hasChanges)
    }

    func testFrozenModelRefusesHooksAndItsCopyKeepsThem() throws {
        try hooked(["Employee": hooks { $0.willSave = { _ in } }])
        XCTAssertEqual(failure { try model.requireEntity(named: "Employee").setLifecycle(nil) }?.status, .model)
        let copy = try model.copy()
        let department = try copy.requireEntity(named: "Department")
        try department.setLifecycle(hooks { $0.validateValue["nmae"] = { _, value, _ in value } })
        XCTAssertTrue(failure { try copy.freeze() }?.message.contains("did you mean \"name\"?") == true)
        let log = log
        try department.setLifecycle(nil)
        try copy.requireEntity(named: "Manager").setLifecycle(hooks { $0.didSave = { _ in log.calls.append("x") } })
        coordinator = try Coordinator(model: copy)
        _ = try coordinator.add(MemoryStore(model: copy))
        context = Context(coordinator: coordinator)
        _ = try context.insert("Manager", ["name": "Bo"])
        try context.save()
        XCTAssertEqual(log.calls, ["x"])
    }
}
