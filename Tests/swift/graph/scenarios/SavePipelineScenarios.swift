import Corestone
import XCTest

/// Scenarios of saving into a custom store.
final class SavePipelineScenarios: XCTestCase {
    private var store: MemStore!
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
        store = MemStore(model: model)
        _ = try store.added(to: coordinator)
        context = Context(coordinator: coordinator)
    }

    func testS209SaveWithoutChangesReachesTheStore() throws {
        try context.save()
        XCTAssertEqual(store.log, ["save 0 0 0"])
        XCTAssertEqual(store.saveRequests, 1)
    }

    func testStoreWithoutTheAbilityReceivesNoEmptySaves() throws {
        let own = TestStore(model: coordinator.model)
        own.abilities = []
        coordinator = try Coordinator(model: coordinator.model)
        _ = try coordinator.add(own)
        try Context(coordinator: coordinator).save()
        XCTAssertEqual(own.saveRequests, 0)
    }

    func testS212SavedObjectIsReturnedByTheNextFetch() throws {
        let alice = try context.insert("Person", ["name": "Alice"])
        try context.save()
        let found = try context.fetch("Person")
        XCTAssertEqual(found.count, 1)
        XCTAssert(found.first === alice)
        XCTAssertEqual(found.first?.objectID, alice.objectID)
        XCTAssertEqual(try found.first?.get("name"), "Alice")
    }

    func testS215StoreIsNotifiedOfARegistrationAfterTheSave() throws {
        var simple: ManagedObject? = try context.insert("Simple", ["name": "a"])
        try context.save()
        XCTAssertEqual(store.log, ["obtainPermanentIDs", "save 1 0 0", "didRegister"])
        XCTAssert(try context.registeredObject(with: XCTUnwrap(simple).objectID) === simple)
        simple = nil
        XCTAssertEqual(store.log.last, "didUnregister")
        let found = try context.fetch("Simple")
        XCTAssertEqual(store.log.suffix(2), ["fetch", "didRegister"])
        try context.delete(found[0])
        try context.save()
        XCTAssertEqual(store.log.suffix(2), ["save 0 0 1", "didUnregister"])
    }

    func testS217DeletedUnsavedObjectNeverReachesTheStore() throws {
        let simple = try context.insert("Simple", ["name": "a"])
        let id = simple.objectID
        try context.delete(simple)
        try context.save()
        XCTAssertTrue(context.insertedObjects.isEmpty)
        XCTAssertTrue(context.deletedObjects.isEmpty)
        XCTAssertNil(context.registeredObject(with: id))
        XCTAssertEqual(store.log, ["save 0 0 0"])
    }

    func testFailedSaveKeepsPendingChanges() throws {
        let simple = try context.insert("Simple", ["name": "a"])
        store.saveFailure = CoreError(.storeIO, code: .persistentStoreSave, "no")
        XCTAssertThrowsError(try context.save()) { error in
            let error = error as? CoreError
            XCTAssertEqual(error?.code, 134030)
            XCTAssertEqual(error?.children.first?.message, "no")
            XCTAssertEqual(error?.entity, "Simple")
        }
        XCTAssertTrue(simple.hasTemporaryID)
        store.saveFailure = nil
        try context.save()
        XCTAssertEqual(store.lastSave.inserted, 1)
    }
}
