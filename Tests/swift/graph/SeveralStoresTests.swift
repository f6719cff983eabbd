import Corestone
import XCTest

/// Two stores of one coordinator, in which the same keys identify different rows.
final class SeveralStoresTests: GraphTestCase {
    private var secondStore: MemoryStore!

    override func setUpWithError() throws {
        try super.setUpWithError()
        try fill("One")
        secondStore = MemoryStore(model: model, identifier: "00000000-0000-0000-0000-00000000000B")
        let filling = try Coordinator(model: model)
        _ = try filling.add(secondStore)
        let own = coordinator
        coordinator = filling
        try fill("Two")
        coordinator = own
        _ = try coordinator.add(secondStore)
        context = Context(coordinator: coordinator)
    }

    /// A department with an employee of the same name.
    private func fill(_ name: String) throws {
        context = Context(coordinator: coordinator)
        _ = try employee(name, in: department(name))
        try context.save()
    }

    private func department(named name: String) throws -> ManagedObject {
        try XCTUnwrap(context.fetch("Department", "name == %@", name).first)
    }

    /// An object that undo reinserts after a save is saved in its former store.
    func testUndoReinsertsAnObjectIntoItsStore() throws {
        try context.setUndoManager(UndoManager())
        let two = try department(named: "Two")
        let (id, store) = (two.objectID, two.objectID.store)
        try context.delete(two)
        try context.save()
        try context.undo()
        try context.save()
        XCTAssertTrue(two.objectID.store === store)
        XCTAssertNotEqual(two.objectID, id)
        XCTAssertEqual(try names(two.members("employees")), ["Two"])
        let new = try context.insert("Department", ["name": "Three"])
        try context.processPendingChanges()
        try context.assign(new, to: XCTUnwrap(store))
        try context.save()
        try context.undo()
        try context.save()
        try context.redo()
        try context.save()
        XCTAssertTrue(new.objectID.store === store)
    }

    /// Stores are locked in the order of their addition, regardless of their index. Debug builds check the order.
    func testStoresAreLockedInTheOrderOfTheirAddition() throws {
        let new = try coordinator.migrate(
            coordinator.stores[0], to: MemoryStore(model: model, identifier: "00000000-0000-0000-0000-00000000000C"))
        XCTAssertTrue(coordinator.stores[0] === new)
        try coordinator.performAndWait { try context.save() }
    }

    /// Rows and members are read from the store of the object.
    func testEachObjectIsReadFromItsOwnStore() throws {
        let request = FetchRequest(entity: try model.requireEntity(named: "Department"))
        request.relationshipKeyPathsForPrefetching = ["employees"]
        for department in try context.fetch(request) {
            XCTAssertEqual(try names(department.members("employees")), [try department.get("name") ?? ""])
        }
        let back = FetchRequest(entity: try model.requireEntity(named: "Employee"))
        back.relationshipKeyPathsForPrefetching = ["department"]
        context = Context(coordinator: coordinator)
        let employees = try context.fetch(back)
        XCTAssertEqual(employees.count, 2)
        for employee in employees {
            XCTAssertEqual(try employee.get("department.name", as: String.self), try employee.get("name"))
        }
    }

    /// Delete rules apply to members in the same store.
    func testDeleteRulesApplyWithinEachStore() throws {
        for department in try context.fetch("Department") { try context.delete(department) }
        try context.save()
        for employee in try other().fetch("Employee") {
            XCTAssertNil(try employee.get("department", as: ManagedObject.self))
        }
    }

    /// The key of a target is ambiguous without its store, which an unsaved object does not have yet.
    func testChildResolvesTargetsOfUnsavedObjectsInTheirStore() throws {
        let two = try department(named: "Two")
        let fresh = try employee("Fresh", in: two)
        try context.assign(fresh, to: try XCTUnwrap(two.objectID.store))
        let child = Context(parent: context)
        let theirs = try child.object(with: fresh.objectID)
        XCTAssertEqual(try theirs.get("department.name"), "Two")
        let more = try child.insert("Employee", ["name": "More"])
        try more.set("department", try theirs.get("department", as: ManagedObject.self))
        try child.assign(more, to: try XCTUnwrap(two.objectID.store))
        try child.save()
        try context.save()
        XCTAssertEqual(more.objectID.store?.identifier, secondStore.identifier)
        XCTAssertEqual(try other().count("Employee", "department.name == 'Two'"), 3)
    }

    func testRelationshipBetweenStoresIsRefused() throws {
        let two = try department(named: "Two")
        _ = try employee("New", in: two)
        XCTAssertThrowsError(try context.save()) { XCTAssertEqual(($0 as? CoreError)?.code, 133000 + 10) }
        XCTAssertTrue(context.hasChanges)
        try context.rollback()
        _ = try employee("New", in: department(named: "One"))
        try department(named: "Two").set("name", "Three")
        try context.save()
        let stored = try other().fetch("Employee", "department.name == 'One'")
        XCTAssertEqual(try names(stored), ["New", "One"])
        XCTAssertEqual(try other().count("Department", "name == 'Three'"), 1)
    }
}

/// A save into several stores, one of which fails.
final class IncompleteSaveTests: XCTestCase {
    func testErrorContainsTheOutcomeOfEachStore() throws {
        let model = Model()
        for name in ["One", "Two", "Three"] {
            let entity = try model.addEntity(named: name)
            try entity.addAttribute(named: "name", type: .string)
            try model.setConfiguration(ModelConfiguration(name: name, entityNames: [name]))
        }
        let coordinator = try Coordinator(model: model)
        let stores = (1...3).map { TestStore(model: model, identifier: "00000000-0000-0000-0000-00000000000\($0)") }
        for (store, name) in zip(stores, ["One", "Two", "Three"]) {
            _ = try coordinator.add(store, configuration: name)
        }
        let context = Context(coordinator: coordinator)
        let objects = try ["One", "Two", "Three"].map { try context.insert($0, ["name": "a"]) }
        stores[1].saveFailure = CoreError(.storeIO, code: .persistentStoreSave, "the disk is full")
        var thrown: CoreError?
        XCTAssertThrowsError(try context.save()) { thrown = $0 as? CoreError }
        let error = try XCTUnwrap(thrown)
        XCTAssertEqual(error.code, 134040)
        XCTAssertEqual(error.storeOutcomes.map(\.isCommitted), [true, false, false])
        XCTAssertEqual(error.storeOutcomes.map { $0.error?.code }, [nil, 134030, nil])
        XCTAssertEqual(error.storeOutcomes.map(\.objectIDs), objects.map { [$0.objectID] })
        XCTAssertEqual(error.children.count, 3)
        XCTAssertEqual(error.children[0].status, .ok)
        XCTAssertEqual(error.children[1].children.first?.message, "the disk is full")
        XCTAssertEqual(objects.map(\.isInserted), [false, true, true])
        stores[1].saveFailure = nil
        try context.save()
        XCTAssertEqual(stores.map(\.lastSave.inserted), [0, 1, 1])
        XCTAssertFalse(context.hasChanges)
        // Nothing was written, so the error is that of the store.
        stores[0].saveFailure = CoreError(.storeIO, code: .persistentStoreSave, "the disk is full")
        try objects[0].set("name", "b")
        try objects[1].set("name", "b")
        XCTAssertThrowsError(try context.save()) { XCTAssertEqual(($0 as? CoreError)?.code, 134030) }
    }
}
