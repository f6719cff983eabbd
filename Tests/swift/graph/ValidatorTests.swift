import Corestone
import XCTest

/// Validators: closures of the application that check values and objects before they are saved.
final class ValidatorTests: GraphTestCase {
    override func setUpWithError() throws {
        try super.setUpWithError()
        model = try GraphTestCase.company()
        let employee = try model.requireEntity(named: "Employee")
        try employee.addValidator(forKey: "name") { _, value in
            if value == .string("bad") { throw CoreError(.callback, "a bad name") }
            return value == .string("ada") ? .string("Ada") : value
        }
        try employee.addValidator(forKey: "friends") { _, value in
            guard case .array(let friends) = value, friends.count < 2 else { throw CoreError(.callback, "too popular") }
            return value
        }
        try model.requireEntity(named: "Project").addValidator { project, purpose in
            if purpose == .delete { throw CoreError(.callback, "projects stay", customCode: 42) }
            let count = try project.value(forKeyPath: "members.@count")
            if count == .int(0) { throw CoreError(.callback, "nobody works on it") }
        }
        coordinator = try Coordinator(model: model)
        store = MemoryStore(model: model)
        _ = try coordinator.add(store)
        context = Context(coordinator: coordinator)
    }

    private func failure(_ body: () throws -> Void) -> CoreError? {
        do { try body() } catch { return error as? CoreError }
        return nil
    }

    func testValueReplacedByAValidatorIsSaved() throws {
        let ada = try employee("ada")
        try context.save()
        XCTAssertEqual(try ada.get("name"), "Ada")
        XCTAssertEqual(try ada.validateValue(.string("ada"), forKey: "name"), .string("Ada"))
        try ada.set("name", "bad")
        let refused = try XCTUnwrap(failure { try context.save() })
        XCTAssertEqual(refused.code, CocoaCode.managedObjectValidation.rawValue)
        XCTAssertEqual([refused.entity, refused.key, refused.message], ["Employee", "name", "a bad name"])
        XCTAssertEqual(refused.value, .string("bad"))
        XCTAssertEqual(refused.objectURI, ada.objectID.uri)
        XCTAssertEqual(failure { try ada.validateForUpdate() }?.message, "a bad name")
        XCTAssertEqual(failure { try context.validate() }?.message, "a bad name")
    }

    func testInheritedValidatorsCheckMembers() throws {
        let boss = try context.insert("Manager", ["name": "ada"])
        try boss.setValue(.array([.object(try employee("B")), .object(try employee("C"))]), forKey: "friends")
        let refused = try XCTUnwrap(failure { try context.save() })
        XCTAssertEqual([refused.entity, refused.key], ["Manager", "friends"])
        XCTAssertEqual(try boss.get("name"), "Ada")
    }

    func testObjectValidatorRunsWhenAllValuesAreValid() throws {
        let project = try context.insert("Project", ["title": "P"])
        XCTAssertEqual(failure { try context.save() }?.message, "nobody works on it")
        try project.setValue(.array([.object(try employee("Ada"))]), forKey: "members")
        try context.save()
        try context.delete(project)
        XCTAssertEqual(failure { try context.save() }?.code, 42)
        XCTAssertEqual(failure { try project.validateForDelete() }?.code, 42)
    }

    func testValidatorErrorWithoutMessageNamesObject() throws {
        model = try GraphTestCase.company()
        try model.requireEntity(named: "Department").addValidator { department, purpose in
            if try purpose == .delete || department.value(forKey: "name") == .string("bad") {
                throw CoreError(.callback, "")
            }
        }
        coordinator = try Coordinator(model: model)
        _ = try coordinator.add(MemoryStore(model: model))
        context = Context(coordinator: coordinator)
        let object = try department("bad")
        XCTAssertEqual(
            failure { try context.save() }?.message,
            "Department \(object.objectID.uri) was rejected by a validator")
        try object.set("name", "good")
        try context.save()
        try context.delete(object)
        XCTAssertEqual(
            failure { try context.save() }?.message,
            "Department \(object.objectID.uri) cannot be deleted: a validator rejected the deletion")
    }

    func testSeveralValidatorFailuresAreChildrenOfOneError() throws {
        _ = [try employee("bad"), try employee("bad")]
        let refused = try XCTUnwrap(failure { try context.save() })
        XCTAssertEqual(refused.code, CocoaCode.validationMultipleErrors.rawValue)
        XCTAssertEqual(refused.children.map(\.key), ["name", "name"])
    }

    /// The flags for a pending validation and for a transformed value once shared a bit.
    func testValidatorRunsAfterATransformedValueWasRead() throws {
        model = Model()
        let item = try model.addEntity(named: "Item")
        try item.addAttribute(named: "name", type: .string)
        try item.addAttribute(named: "payload", type: .transformable)
        try item.addValidator(forKey: "name") { _, _ in throw CoreError(.callback, "no name will do") }
        coordinator = try Coordinator(model: model)
        _ = try coordinator.add(MemoryStore(model: model))
        context = Context(coordinator: coordinator)
        let object = try context.insert("Item", ["name": "x"])
        try object.setTransformed("payload", to: "red")
        XCTAssertEqual(try object.transformed("payload"), "red")
        XCTAssertEqual(failure { try context.save() }?.message, "no name will do")
        XCTAssertEqual(try object.transformed("payload"), "red")
        XCTAssertEqual(failure { try object.validateForInsert() }?.message, "no name will do")
    }

    func testCopyOfAModelKeepsValidatorsAndAFrozenModelRefusesThem() throws {
        let copy = try model.copy()
        try copy.freeze()
        XCTAssertEqual(copy.entity(named: "Manager")?.allValidators.values.count, 2)
        XCTAssertNotNil(
            failure { try model.requireEntity(named: "Employee").addValidator(forKey: "age") { $1 } })
    }

    func testEndlessValidatorRoundsAreStopped() throws {
        model = try GraphTestCase.company()
        try model.requireEntity(named: "Department").addValidator { department, purpose in
            if purpose == .insert { _ = try department.context?.insert("Department", ["name": "another"]) }
        }
        coordinator = try Coordinator(model: model)
        _ = try coordinator.add(MemoryStore(model: model))
        context = Context(coordinator: coordinator)
        _ = try department("first")
        let refused = try XCTUnwrap(failure { try context.save() })
        XCTAssertTrue(refused.message.contains("100 rounds"), refused.message)
    }
}
