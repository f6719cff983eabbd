import Corestone
import XCTest

@testable import CorestoneGraph
@testable import CorestoneModel

/// The validation of a save's plan: the order and the rounds of validators, and the errors of several objects.
final class SaveValidationTests: GraphTestCase {
    private var validation: SaveValidation { context.saveValidation }

    private func open(_ build: (Model) throws -> Void) throws {
        model = try GraphTestCase.company()
        try build(model)
        coordinator = try Coordinator(model: model)
        store = MemoryStore(model: model)
        _ = try coordinator.add(store)
        context = Context(coordinator: coordinator)
    }

    private func failure(_ body: () throws -> Void) -> CoreError? {
        do { try body() } catch { return error as? CoreError }
        return nil
    }

    private func runValidators() throws -> SavePlan {
        var failures = ValidationFailures()
        let plan = try validation.runValidators(context.pendingPlan, into: &failures)
        try failures.check()
        return plan
    }

    /// Saved employees, each of whom has the next one as manager. The validator of a changed employee changes the next.
    private func chain(_ count: Int) throws -> [ManagedObject] {
        try open { model in
            try model.requireEntity(named: "Employee").addValidator { employee, purpose in
                guard purpose == .update, let next = try employee.get("manager", as: ManagedObject.self) else { return }
                if try next.get("age", as: Int.self) != 1 { try next.set("age", 1) }
            }
        }
        let all = try (1...count).map { try employee("E\($0)") }
        for (employee, next) in zip(all, all.dropFirst()) { try employee.set("manager", next) }
        try context.save()
        try all[0].set("age", 1)
        return all
    }

    // MARK: Validators

    func testValidatorsRunForInsertedThenUpdatedThenDeletedObjects() throws {
        let calls = Locked<[String]>([])
        try open { model in
            try model.requireEntity(named: "Department").addValidator { department, purpose in
                let name = try department.get("name", as: String.self) ?? "-"
                calls.withLock { $0.append("\(purpose) \(name)") }
            }
        }
        let (old, gone) = (try department("old"), try department("gone"))
        try context.save()
        calls.withLock { $0 = [] }
        try context.delete(gone)
        try old.set("name", "changed")
        _ = try department("new")
        XCTAssertEqual(try runValidators().all.count, 3)
        XCTAssertEqual(calls.withLock { $0 }, ["insert new", "update changed", "delete gone"])
    }

    func testEachObjectIsValidatedOnceInAllRounds() throws {
        let calls = Locked<[String]>([])
        try open { model in
            try model.requireEntity(named: "Department").addValidator { department, purpose in
                let name = try department.get("name", as: String.self) ?? "-"
                calls.withLock { $0.append("\(purpose) \(name)") }
                if name == "first" { _ = try department.context?.insert("Department", ["name": "second"]) }
            }
        }
        let first = try department("first")
        let plan = try runValidators()
        XCTAssertEqual(plan.inserted.count, 2)
        XCTAssertTrue(plan.inserted.first === first)
        XCTAssertEqual(calls.withLock { $0 }, ["insert first", "insert second"])
    }

    /// Each round validates one object of this chain.
    func testPlanContainsTheChangesOfTheMaximumNumberOfRounds() throws {
        let all = try chain(SaveValidation.maximumValidationRounds)
        XCTAssertEqual(try runValidators().updated, all)
        try context.save()
        XCTAssertEqual(try other().count("Employee", "age == 1"), SaveValidation.maximumValidationRounds)
    }

    func testValidatorsThatChangeObjectsInTooManyRoundsAreStopped() throws {
        let count = SaveValidation.maximumValidationRounds + 1
        let all = try chain(count)
        let error = try XCTUnwrap(failure { _ = try runValidators() })
        XCTAssertEqual(error.status, .validation)
        XCTAssertEqual(error.code, CocoaCode.managedObjectValidation.rawValue)
        XCTAssertEqual(error.entity, "Employee")
        XCTAssertEqual(error.objectURI, all[count - 1].objectID.uri)
        XCTAssertFalse(context.hookState.isRunningValidators)
    }

    /// After a merge only the rules of the model are checked again, because validators may change objects.
    func testValidationByTheModelRunsNoValidators() throws {
        let calls = Locked(0)
        try open { model in
            try model.requireEntity(named: "Department").addValidator { _, _ in calls.withLock { $0 += 1 } }
        }
        let unnamed = try context.insert("Department")
        let error = failure { try validation.validateByModel(context.pendingPlan) }
        XCTAssertEqual(error?.code, CocoaCode.validationMissingMandatoryProperty.rawValue)
        XCTAssertEqual([error?.entity, error?.key], ["Department", "name"])
        XCTAssertEqual(error?.objectURI, unnamed.objectID.uri)
        XCTAssertEqual(calls.withLock { $0 }, 0)
    }

    func testUnvalidatedContextRunsNoValidatorsAndChecksNoRules() throws {
        let calls = Locked(0)
        try open { model in
            try model.requireEntity(named: "Department").addValidator { _, _ in calls.withLock { $0 += 1 } }
        }
        _ = try context.insert("Department")
        context.settings.savesUnvalidated = true
        XCTAssertEqual(try validation.validated(context.pendingPlan).inserted.count, 1)
        XCTAssertNoThrow(try validation.validateByModel(context.pendingPlan))
        XCTAssertEqual(calls.withLock { $0 }, 0)
    }

    // MARK: Failures

    func testErrorsOfOneObjectNameItAndErrorsOfSeveralDoNot() throws {
        var failures = ValidationFailures()
        XCTAssertNoThrow(try failures.check())
        let first = CoreError(
            .validation, "first", entity: "Employee", key: "name", objectURI: "x-coredata:///Employee/t1")
        failures.append(first)
        XCTAssertTrue(failure { try failures.check() } === first)
        failures.append(CoreError(.validation, "second", entity: "Employee", objectURI: "x-coredata:///Employee/t1"))
        let both = try XCTUnwrap(failure { try failures.check() })
        XCTAssertEqual(both.code, CocoaCode.validationMultipleErrors.rawValue)
        XCTAssertEqual([both.entity, both.objectURI], ["Employee", "x-coredata:///Employee/t1"])
        XCTAssertEqual(both.children.count, 2)
        failures.append(CoreError(.validation, "third", entity: "Employee", objectURI: "x-coredata:///Employee/t2"))
        let all = try XCTUnwrap(failure { try failures.check() })
        XCTAssertEqual([all.entity, all.objectURI], [nil, nil])
        XCTAssertEqual(all.children.map(\.message), ["first", "second", "third"])
    }
}
