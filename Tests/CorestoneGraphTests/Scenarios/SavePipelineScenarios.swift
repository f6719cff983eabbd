import Corestone
import XCTest

/// Scenarios of saving into a store of the host's own kind.
final class SavePipelineScenarios: XCTestCase {
    private var store: TestStore!
    private var coordinator: Coordinator!
    private var context: Context!

    override func setUpWithError() throws {
        let model = Model()
        let person = try model.addEntity(named: "Person")
        try person.addAttribute(named: "name", type: .string).setOptional(true)
        try person.addAttribute(named: "age", type: .integer32).setOptional(true)
        let manager = try person.addRelationship(named: "manager", destination: person)
        try manager.setOptional(true)
        let reports = try person.addRelationship(named: "reports", destination: person, isToMany: true)
        try manager.setInverse(reports)
        let simple = try model.addEntity(named: "Simple")
        try simple.addAttribute(named: "name", type: .string)
        try simple.addAttribute(named: "type", type: .integer16).setDefaultValue(.int(0))
        coordinator = try Coordinator(model: model)
        store = TestStore(model: model)
        _ = try coordinator.add(store)
        context = Context(coordinator: coordinator)
    }

    func testS209ASaveWithoutChangesReachesTheStore() throws {
        try context.save()
        XCTAssertEqual(store.log, ["save 0 0 0"])
        XCTAssertEqual(store.saveRequests, 1)
    }

    func testAStoreThatDoesNotAskHearsNothingOfEmptySaves() throws {
        store.abilities = []
        try context.save()
        XCTAssertEqual(store.saveRequests, 0)
    }

    func testS212AnInsertedObjectIsFetchedBack() throws {
        let alice = try context.insert("Person", ["name": "Alice"])
        try context.save()
        let found = try context.fetch("Person")
        XCTAssertEqual(found.count, 1)
        XCTAssert(found.first === alice)
        XCTAssertEqual(found.first?.objectID, alice.objectID)
        XCTAssertEqual(try found.first?.get("name"), "Alice")
    }

    func testS215RegistrationIsToldAfterTheSaveWithThePermanentID() throws {
        store.abilities = [.registrations]
        coordinator = try Coordinator(model: coordinator.model)
        _ = try coordinator.add(store)
        context = Context(coordinator: coordinator)
        var simple: ManagedObject? = try context.insert("Simple", ["name": "a"])
        try context.save()
        XCTAssertEqual(store.log, ["obtainPermanentIDs", "save 1 0 0", "didRegister permanent"])
        XCTAssert(try context.registeredObject(with: XCTUnwrap(simple).objectID) === simple)
        simple = nil
        XCTAssertEqual(store.log.last, "didUnregister permanent")
        let found = try context.fetch("Simple")
        XCTAssertEqual(store.log.suffix(2), ["fetch", "didRegister permanent"])
        try context.delete(found[0])
        try context.save()
        XCTAssertEqual(store.log.suffix(2), ["save 0 0 1", "didUnregister permanent"])
    }

    func testS217WhatWasNeverSavedNeverReachesTheStore() throws {
        let simple = try context.insert("Simple", ["name": "a"])
        let id = simple.objectID
        try context.delete(simple)
        try context.save()
        XCTAssertTrue(context.insertedObjects.isEmpty)
        XCTAssertTrue(context.deletedObjects.isEmpty)
        XCTAssertNil(context.registeredObject(with: id))
        XCTAssertEqual(store.log, ["save 0 0 0"])
    }

    func testAFailedSaveLeavesAllPending() throws {
        let simple = try context.insert("Simple", ["name": "a"])
        store.saveFailure = CoreError(.storeIO, code: .persistentStoreSave, "no")
        XCTAssertThrowsError(try context.save()) { XCTAssertEqual(($0 as? CoreError)?.code, 134030) }
        XCTAssertTrue(simple.hasTemporaryID)
        store.saveFailure = nil
        try context.save()
        XCTAssertEqual(store.lastSave.inserted, 1)
    }
}
