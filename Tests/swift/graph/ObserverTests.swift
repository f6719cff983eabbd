import Corestone
import XCTest

/// Observers of keys and key paths.
final class ObserverTests: GraphTestCase {
    /// The notifications that observers received, in order.
    private var heard: [String] = []

    private func text(_ value: PropertyValue) -> String {
        switch value {
        case .null: "-"
        case .array(let members): "[" + members.map(text).joined(separator: " ") + "]"
        case .object(let object as ManagedObject):
            (try? object.value(forKey: object.entityName == "Task" ? "title" : "name").textual?.string) ?? "?"
        default: value.textual?.string ?? "\(value.number ?? 0)"
        }
    }

    private func note(_ change: ValueChange) {
        let kind = change.isPrior ? "prior" : "\(change.kind)"
        let places = change.indexes.isEmpty ? "" : " \(change.indexes)"
        heard.append("\(kind) \(change.keyPath) \(text(change.old)) \(text(change.new))\(places)")
    }

    private func observe(
        _ object: ManagedObject, _ path: String, _ options: ObservationOptions = []
    ) throws -> Observation {
        try object.observe(keyPath: path, options: options) { [unowned self] _, change in note(change) }
    }

    private func expect(_ expected: [String], line: UInt = #line) {
        XCTAssertEqual(heard, expected, line: line)
        heard = []
    }

    // MARK: Values

    /// Change observation is independent of saving.
    func testS220ObserverIsNotifiedOfEachSetRegardlessOfSaves() throws {
        let ada = try employee("Ada")
        let token = try observe(ada, "name")
        try ada.set("name", "b")
        try ada.set("age", 3)
        try ada.set("name", "c")
        expect(["setting name Ada b", "setting name b c"])
        try context.save()
        expect([])
        try ada.set("name", "c")
        expect(["setting name c c"])
        token.cancel()
        try ada.set("name", "d")
        expect([])
    }

    func testInitialAndPriorOptionsAddNotifications() throws {
        let ada = try employee("Ada")
        let token = try observe(ada, "name", [.initial, .prior])
        expect(["setting name - Ada"])
        try ada.set("name", "Eve")
        expect(["prior name Ada -", "setting name Ada Eve"])
        withExtendedLifetime(token) {}
    }

    func testObservationEndsWhenItsTokenIsReleased() throws {
        var ada: ManagedObject? = try employee("Ada")
        weak var watched = ada
        do { _ = try ada.map { try observe($0, "name") } }
        try ada?.set("name", "Eve")
        expect([])
        try context.save()
        ada = nil
        _ = try context.count("Employee")
        XCTAssertNil(watched)
    }

    func testObservedObjectIsRetained() throws {
        try employee("Ada").set("age", 1)
        try context.save()
        var ada = try context.fetch("Employee").first
        let place = ada.map(ObjectIdentifier.init)
        let token = try ada.map { try observe($0, "name") }
        ada = nil
        let again = try XCTUnwrap(context.fetch("Employee").first)
        XCTAssertEqual(ObjectIdentifier(again), place)
        try again.set("name", "Eve")
        expect(["setting name Ada Eve"])
        token?.cancel()
    }

    func testObservationOfAnInvalidKeyPathIsRefused() throws {
        let ada = try employee("Ada")
        for path in ["nme", "department.nme", "projects.title", "name.length", "@count", ""] {
            XCTAssertThrowsError(try observe(ada, path), path)
        }
        XCTAssertThrowsError(try observe(ManagedObject(entity: model.requireEntity(named: "Employee")), "name"))
        try context.delete(ada)
        try context.processPendingChanges()
        XCTAssertThrowsError(try observe(ada, "name"))
    }

    // MARK: Relationships

    func testObserversAreNotifiedOfToOneChangesAndTheirInverses() throws {
        let (rAndD, sales) = (try department("R&D"), try department("Sales"))
        let ada = try employee("Ada", in: rAndD)
        try context.save()
        let tokens = [try observe(ada, "department"), try observe(rAndD, "employees"), try observe(sales, "employees")]
        try ada.set("department", sales)
        expect(["setting department R&D Sales", "removal employees [Ada] -", "insertion employees - [Ada]"])
        try sales.setMembers([], of: "employees")
        expect(["setting department Sales -", "setting employees [Ada] []"])
        for token in tokens { token.cancel() }
    }

    func testOrderedChangesContainTheirIndexes() throws {
        let project = try context.insert("Project")
        let tasks = try ["a", "b", "c", "d"].map { try context.insert("Task", ["title": $0]) }
        let token = try observe(project, "tasks")
        try project.add(tasks[0], tasks[1], to: "tasks")
        try project.insert(tasks[2], at: 1, in: "tasks")
        try project.moveMember(from: 0, to: 2, in: "tasks")
        try project.replaceMember(at: 1, with: tasks[3], in: "tasks")
        try project.removeMember(at: 0, from: "tasks")
        expect([
            "insertion tasks - [a] [0]", "insertion tasks - [b] [1]", "insertion tasks - [c] [1]",
            "replacement tasks [a c b] [c b a] [0, 1, 2]", "replacement tasks [b] [d] [1]", "removal tasks [c] - [0]",
        ])
        token.cancel()
    }

    /// Members of a relationship that is a fault are not loaded for its observers.
    func testMemberChangesOfAFaultAreReportedWithoutLoading() throws {
        let rAndD = try department("R&D")
        _ = try employee("Ada", in: rAndD)
        let bob = try employee("Bob")
        try context.save()
        context = other()
        let again = try context.object(with: rAndD.objectID), same = try context.object(with: bob.objectID)
        let token = try observe(again, "employees")
        try same.set("department", again)
        try same.set("department", nil)
        expect(["insertion employees - [Bob]", "removal employees [Bob] -"])
        XCTAssertTrue(try again.hasFault(forRelationship: "employees"))
        token.cancel()
    }

    func testDeletionNotifiesObserversOfNullifiedRelationships() throws {
        let rAndD = try department("R&D"), ada = try employee("Ada", in: rAndD)
        try context.save()
        let tokens = [try observe(ada, "department.name"), try observe(ada, "department")]
        try context.delete(rAndD)
        try context.processPendingChanges()
        XCTAssertEqual(Set(heard), ["setting department.name R&D -", "setting department R&D -"])
        for token in tokens { token.cancel() }
    }

    // MARK: Key paths

    func testKeyPathObserverFollowsChangedIntermediateObjects() throws {
        let (rAndD, sales) = (try department("R&D"), try department("Sales"))
        let ada = try employee("Ada", in: rAndD), bob = try employee("Bob", in: sales)
        try ada.set("spouse", bob)
        let token = try observe(ada, "spouse.department.name")
        try sales.set("name", "Sells")
        expect(["setting spouse.department.name Sales Sells"])
        try bob.set("department", rAndD)
        expect(["setting spouse.department.name Sells R&D"])
        try sales.set("name", "Sales")
        expect([])
        try rAndD.set("name", "Research")
        expect(["setting spouse.department.name R&D Research"])
        try ada.set("spouse", nil)
        expect(["setting spouse.department.name Research -"])
        try rAndD.set("name", "R&D")
        try bob.set("department", sales)
        expect([])
        try ada.set("spouse", bob)
        expect(["setting spouse.department.name - Sales"])
        token.cancel()
        try sales.set("name", "x")
        expect([])
    }

    func testKeyPathMayEndInAToManyRelationship() throws {
        let rAndD = try department("R&D"), ada = try employee("Ada", in: rAndD)
        let token = try observe(ada, "department.employees")
        let bob = try employee("Bob", in: rAndD)
        try ada.set("department", nil)
        try bob.set("department", nil)
        expect(["insertion department.employees - [Bob]", "setting department.employees [Ada Bob] -"])
        token.cancel()
    }

    // MARK: Rollback, refresh and merge

    func testRollbackNotifiesObserversOfChangedValues() throws {
        let (rAndD, sales) = (try department("R&D"), try department("Sales"))
        let ada = try employee("Ada", in: rAndD)
        try context.save()
        try ada.set("name", "Eve")
        try ada.set("age", nil)
        try ada.set("department", sales)
        let tokens = try [(ada, "name"), (ada, "age"), (ada, "department.name"), (rAndD, "employees")]
            .map { try observe($0.0, $0.1, .prior) }
        try context.rollback()
        XCTAssertEqual(
            Set(heard),
            ["setting name Eve Ada", "setting department.name Sales R&D", "insertion employees - [Ada]"])
        XCTAssertEqual(heard.count, 3)
        heard = []
        try rAndD.set("name", "Labs")
        expect(["prior department.name R&D -", "setting department.name R&D Labs"])
        for token in tokens { token.cancel() }
    }

    func testRefreshNotifiesObserversOfValuesSavedElsewhere() throws {
        let ada = try employee("Ada")
        try context.save()
        try ada.set("age", 5)
        let tokens = [try observe(ada, "name"), try observe(ada, "age")]
        let second = other()
        try second.object(with: ada.objectID).set("name", "Eve")
        try second.save()
        try context.refresh(ada, mergeChanges: true)
        expect(["setting name Ada Eve"])
        for token in tokens { token.cancel() }
    }

    /// Another context saves new names for objects.
    private func saveElsewhere(_ names: [(ManagedObject, String)]) throws -> ChangedIDs {
        let second = other()
        var ids = ChangedIDs()
        let token = second.observe(.didSaveObjectIDs) { ids = $1.ids }
        for (object, name) in names { try second.object(with: object.objectID).set("name", name) }
        try second.save()
        token.cancel()
        return ids
    }

    /// Refreshes and merges of saves by another context. The objects are not changed in this context.
    func testRefreshAndMergeNotifyObserversOfUnchangedObjects() throws {
        let (ada, bob) = (try employee("Ada", in: try department("R&D")), try employee("Bob"))
        try context.save()
        guard let rAndD: ManagedObject = try ada.get("department") else { return XCTFail("no department") }
        let token = try observe(ada, "department.name")
        let names = try observe(ada, "name")
        XCTAssertEqual(try bob.get("name"), "Bob")

        _ = try saveElsewhere([(rAndD, "a")])
        try context.refresh(rAndD, mergeChanges: true)
        expect(["setting department.name R&D a"])
        XCTAssertFalse(rAndD.isFault)

        _ = try saveElsewhere([(rAndD, "b"), (ada, "Eve"), (bob, "Rob")])
        try context.refreshAll()
        XCTAssertEqual(Set(heard), ["setting department.name a b", "setting name Ada Eve"])
        XCTAssertEqual(heard.count, 2)
        heard = []
        XCTAssert(bob.isFault)
        XCTAssertEqual(try bob.get("name"), "Rob")

        try context.mergeChanges(try saveElsewhere([(rAndD, "c"), (ada, "Ada"), (bob, "Bob")]))
        XCTAssertEqual(Set(heard), ["setting department.name b c", "setting name Eve Ada"])
        XCTAssertEqual(heard.count, 2)
        heard = []
        XCTAssert(bob.isFault)

        context.automaticallyMergesChangesFromParent = true
        _ = try saveElsewhere([(rAndD, "d")])
        try context.processPendingChanges()
        expect(["setting department.name c d"])
        try context.refreshAll()
        expect([])
        XCTAssertFalse(context.hasChanges)
        for token in [token, names] { token.cancel() }
        try context.refreshAll()
        XCTAssert(rAndD.isFault)
    }

    func testRefreshWithoutMergingNotifiesObserversOfDifferentValues() throws {
        let ada = try employee("Ada")
        try context.save()
        let token = try observe(ada, "name")
        try context.refresh(ada, mergeChanges: false)
        expect([])
        _ = try saveElsewhere([(ada, "Eve")])
        try context.refresh(ada, mergeChanges: false)
        expect(["setting name Ada Eve"])
        try ada.set("name", "Zoe")
        heard = []
        try context.refresh(ada, mergeChanges: false)
        expect(["setting name Zoe Eve"])
        XCTAssertFalse(ada.hasChanges)
        token.cancel()
    }

    func testRefreshOfADeletedRowDoesNotNotifyObservers() throws {
        let ada = try employee("Ada")
        try context.save()
        let token = try observe(ada, "name")
        let second = other()
        try second.delete(try second.object(with: ada.objectID))
        try second.save()
        try context.refresh(ada, mergeChanges: true)
        XCTAssert(ada.isFault)
        try context.refreshAll()
        try context.refresh(ada, mergeChanges: false)
        expect([])
        XCTAssertFalse(ada.isDeleted)
        token.cancel()
    }

    func testRefreshNotifiesObserversOfATargetDeletedElsewhere() throws {
        let rAndD = try department("R&D")
        let ada = try employee("Ada", in: rAndD)
        try context.save()
        let tokens = [try observe(rAndD, "name"), try observe(ada, "department.name")]
        let second = other()
        try second.delete(try second.object(with: rAndD.objectID))
        try second.save()
        try context.refreshAll()
        expect(["setting department.name R&D -"])
        XCTAssert(rAndD.isFault)
        XCTAssertFalse(rAndD.isDeleted)
        for token in tokens { token.cancel() }
    }

    func testKeyPathObserverFollowsAnIntermediateObjectChangedElsewhere() throws {
        let (rAndD, sales) = (try department("R&D"), try department("Sales"))
        let ada = try employee("Ada", in: rAndD)
        try context.save()
        XCTAssertEqual(try rAndD.members("employees").count, 1)
        let tokens = [try observe(ada, "department.name"), try observe(rAndD, "employees")]
        let second = other()
        try second.object(with: ada.objectID).set("department", try second.object(with: sales.objectID))
        try second.save()
        try context.refreshAll()
        XCTAssertEqual(Set(heard), ["setting department.name R&D Sales", "removal employees [Ada] -"])
        XCTAssertEqual(heard.count, 2)
        heard = []
        try sales.set("name", "Shop")
        expect(["setting department.name Sales Shop"])
        for token in tokens { token.cancel() }
    }

    func testRefreshInAChildNotifiesObserversOfParentChanges() throws {
        let ada = try employee("Ada")
        try context.save()
        let child = try Context(parent: context)
        let own = try child.object(with: ada.objectID)
        XCTAssertEqual(try own.get("name"), "Ada")
        let token = try observe(own, "name")
        try ada.set("name", "Eve")
        try child.refresh(own, mergeChanges: true)
        expect(["setting name Ada Eve"])
        try own.set("age", 3)
        try ada.set("name", "Zoe")
        try child.refresh(own, mergeChanges: true)
        expect(["setting name Eve Zoe"])
        try child.refresh(own, mergeChanges: false)
        expect([])
        token.cancel()
    }

    func testMergePolicyNotifiesObserversOfChangedValues() throws {
        let ada = try employee("Ada")
        try context.save()
        let tokens = [try observe(ada, "name"), try observe(ada, "age")]
        for (policy, name) in [(MergePolicy.storeTrump, "a"), (.objectTrump, "b"), (.rollback, "c")] {
            context.mergePolicy = policy
            _ = try saveElsewhere([(ada, name)])
            try ada.set("age", 7)
            heard = []
            try context.save()
            XCTAssert(heard.contains { $0.hasPrefix("setting name") && $0.hasSuffix(" \(name)") }, "\(heard)")
        }
        expect(["setting name b c"])
        for token in tokens { token.cancel() }
    }

    // MARK: Changes by observers

    func testObserverCanChangeTheObservedRelationship() throws {
        let departments = try ["a", "b", "c"].map(department)
        let ada = try employee("Ada", in: departments[0])
        let token = try ada.observe(keyPath: "department") { object, change in
            if change.new == .object(departments[1]) { try? object.set("department", departments[2]) }
        }
        try ada.set("department", departments[1])
        XCTAssertEqual(try ada.get("department"), departments[2])
        XCTAssertEqual(try departments.map { try $0.memberCount("employees") }, [0, 0, 1])
        token.cancel()
    }

    func testRecursionOfAnObserverIsStopped() throws {
        let ada = try employee("Ada")
        var calls = 0
        let token = try ada.observe(keyPath: "age") { object, change in
            calls += 1
            try? object.set("age", (change.new.number ?? 0) + 1)
        }
        try ada.set("age", 0)
        XCTAssertEqual(calls, 8)
        token.cancel()
    }

    func testObserverCanCancelItselfAndResetTheContext() throws {
        let ada = try employee("Ada", in: department("R&D"))
        var tokens: [Observation] = []
        for _ in 0..<2 {
            tokens.append(
                try ada.observe(keyPath: "department.name") { [unowned self] _, change in
                    note(change)
                    tokens = []
                    try? context.rollback()
                    try? context.reset()
                })
        }
        try ada.set("department", nil)
        expect(["setting department.name R&D -"])
        XCTAssertTrue(ada.isGone)
    }

    func testPriorObserverCannotChangeRelationships() throws {
        let (rAndD, sales) = (try department("R&D"), try department("Sales"))
        let ada = try employee("Ada", in: rAndD)
        var failures = 0
        let token = try ada.observe(keyPath: "department", options: .prior) { object, change in
            guard change.isPrior else { return }
            do { try object.set("department", sales) } catch { failures += 1 }
        }
        try ada.set("department", nil)
        XCTAssertEqual(failures, 1)
        XCTAssertNil(try ada.get("department", as: ManagedObject.self))
        XCTAssertEqual(try rAndD.memberCount("employees") + sales.memberCount("employees"), 0)
        let wild = try ada.observe(keyPath: "department", options: .prior) { [unowned self] _, change in
            if change.isPrior { try? context.reset() }
        }
        token.cancel()
        try ada.set("department", sales)
        XCTAssertTrue(ada.isGone)
        wild.cancel()
    }

    func testManualChangesNotifyObserversOnce() throws {
        let rAndD = try department("R&D"), ada = try employee("Ada")
        let tokens = [try observe(ada, "name"), try observe(ada, "department"), try observe(rAndD, "employees")]
        try ada.willChangeValue(forKey: "name")
        try ada.setPrimitive("name", "Eve")
        expect([])
        try ada.didChangeValue(forKey: "name")
        expect(["setting name Ada Eve"])
        try rAndD.willChangeValue(forKey: "employees", withSetMutation: .union, using: [ada])
        try rAndD.setPrimitiveMembers([ada], of: "employees")
        try rAndD.didChangeValue(forKey: "employees", withSetMutation: .union, using: [ada])
        XCTAssertEqual(Set(heard), ["setting department - R&D", "insertion employees - [Eve]"])
        XCTAssertEqual(heard.count, 2)
        for token in tokens { token.cancel() }
    }

    func testObservationCanBeCancelledOnAnotherThread() throws {
        let ada = try employee("Ada")
        let token = try observe(ada, "name")
        let done = expectation(description: "cancelled")
        Thread.detachNewThread {
            token.cancel()
            done.fulfill()
        }
        wait(for: [done], timeout: 60)
        try ada.set("name", "Eve")
        expect([])
    }

    func testReleasedContextReleasesItsObservers() throws {
        weak var watched: ManagedObject?
        var token: Observation?
        do {
            let context = Context(coordinator: coordinator)
            let ada = try context.insert("Employee", ["name": "Ada"])
            watched = ada
            token = try observe(ada, "name")
        }
        XCTAssertNil(watched)
        token?.cancel()
        token = nil
    }

    // MARK: Many observers

    /// Many key paths traverse one object: the remaining observers are notified in the order of their registration.
    func testObserversOfASharedObjectCanBeCancelledInAnyOrder() throws {
        let shared = try department("shared")
        var order: [Int] = []
        var tokens = try (0..<200).map { number in
            try employee("e", in: shared).observe(keyPath: "department.name") { _, _ in order.append(number) }
        }
        var left = Array(0..<200)
        for step in [7, 3, 2] {
            for number in left where number % step == 0 { tokens[number].cancel() }
            left.removeAll { $0 % step == 0 }
            order = []
            try shared.set("name", "by \(step)")
            XCTAssertEqual(order, left)
        }
        let late = try employee("late", in: shared).observe(keyPath: "department.name") { _, _ in order.append(-1) }
        order = []
        try shared.set("name", "late")
        XCTAssertEqual(order, left + [-1])
        late.cancel()
        tokens = []
        order = []
        try shared.set("name", "nobody")
        XCTAssertEqual(order, [])
    }

    /// A change that an observer makes is reported after all observers received the first change.
    func testChangeByAnObserverIsReportedAfterTheFirstChange() throws {
        let (one, two) = (try department("one"), try department("two"))
        let ada = try employee("Ada", in: one)
        var order: [Int] = []
        let tokens = try (0..<100).map { number in
            try ada.observe(keyPath: "department") { _, _ in
                order.append(number)
                if order.count == 10 { try? ada.set("department", two) }
            }
        }
        try ada.set("department", nil)
        XCTAssertEqual(order, Array(0..<100) + Array(0..<100))
        for token in tokens { token.cancel() }
    }

    // MARK: Kinds of properties

    func testElementChangeNotifiesObserversOfTheComposite() throws {
        let model = Model()
        let place = try model.addEntity(named: "Place")
        let spot = try place.addAttribute(named: "spot", type: .composite)
        try spot.addElement(named: "x", type: .double)
        try spot.addElement(named: "y", type: .double)
        try place.addAttribute(named: "rank", type: .double)
        let coordinator = try Coordinator(model: model)
        _ = try coordinator.add(MemoryStore(model: model))
        let context = Context(coordinator: coordinator)
        let object = try context.insert("Place")
        var whole: [PropertyValue] = []
        var part: [PropertyValue] = []
        let tokens = [
            try object.observe(keyPath: "spot") { _, change in whole += [change.old, change.new] },
            try object.observe(keyPath: "spot.y") { _, change in part += [change.old, change.new] },
        ]
        try object.setValue(.double(1), forKeyPath: "spot.y")
        XCTAssertEqual(whole, [.null, .dictionary(["y": .double(1)])])
        XCTAssertEqual(part, [.null, .double(1)])
        try object.setValue(.double(2), forKeyPath: "spot.x")
        XCTAssertEqual(whole.last, .dictionary(["x": .double(2), "y": .double(1)]))
        XCTAssertEqual(whole.count, 4)
        XCTAssertEqual(part.count, 2)
        try object.setValue(.double(3), forKeyPath: "rank")
        XCTAssertEqual([whole.count, part.count], [4, 2])
        for token in tokens { token.cancel() }
    }

    func testPriorNotificationOfAToManyContainsTheFormerMembers() throws {
        let rAndD = try department("R&D"), ada = try employee("Ada", in: rAndD), bob = try employee("Bob")
        let token = try observe(rAndD, "employees", [.initial, .prior])
        expect(["setting employees - [Ada]"])
        try rAndD.setMembers([bob], of: "employees")
        expect(["prior employees [Ada] -", "setting employees [Ada] [Bob]"])
        try ada.set("department", rAndD)
        XCTAssertEqual(heard.last, "insertion employees - [Ada]")
        token.cancel()
    }

    func testReplacedOrderedMembersAreReportedAsSetting() throws {
        let project = try context.insert("Project")
        let tasks = try ["a", "b", "c", "d"].map { try context.insert("Task", ["title": $0]) }
        try project.add(tasks[0], tasks[1], to: "tasks")
        let token = try observe(project, "tasks")
        try project.setMembers([tasks[2], tasks[3], tasks[0]], of: "tasks")
        expect(["setting tasks [a b] [c d a]"])
        try project.setMembers([], of: "tasks")
        expect(["setting tasks [c d a] []"])
        token.cancel()
    }

    func testKeyPathCannotNameAPropertyOfASubentity() throws {
        let ada = try employee("Ada")
        XCTAssertThrowsError(try observe(ada, "spouse.bonus")) {
            XCTAssertEqual(($0 as? CoreError)?.entity, "Employee")
            XCTAssertEqual(($0 as? CoreError)?.key, "bonus")
        }
        let boss = try context.insert("Manager", ["name": "Max", "bonus": 1.0])
        let token = try observe(boss, "bonus")
        try boss.set("bonus", 2.0)
        expect(["setting bonus 1.0 2.0"])
        token.cancel()
    }

    func testToManyRelationshipWithinAKeyPathIsRefused() throws {
        let ada = try employee("Ada")
        XCTAssertThrowsError(try observe(ada, "department.employees.name")) { error in
            XCTAssertEqual((error as? CoreError)?.status, .invalidArgument)
            XCTAssertEqual((error as? CoreError)?.entity, "Department")
            XCTAssertEqual((error as? CoreError)?.key, "employees.name")
        }
        XCTAssertThrowsError(try observe(ManagedObject(entity: model.requireEntity(named: "Employee")), "name")) {
            XCTAssertEqual(($0 as? CoreError)?.status, .invalidArgument)
            XCTAssertEqual(($0 as? CoreError)?.key, "name")
        }
        try ada.set("age", 1)
        expect([])
    }
}
