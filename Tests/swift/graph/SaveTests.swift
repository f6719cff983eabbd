import Corestone
import XCTest

final class SaveTests: GraphTestCase {
    /// A save succeeds even if values that the store computed cannot be read afterwards.
    ///
    /// The object is then a fault.
    func testSaveSucceedsWhenComputedRowsCannotBeRead() throws {
        let ada = try employee("Ada")
        try context.save()
        try ada.set("age", 30)
        store.computed = [(entity: ada.objectID.entity.index, primaryKey: ada.objectID.reference)]
        store.readFailure = CoreError(.storeIO, "the disk is away")
        try context.save()
        XCTAssertFalse(context.hasChanges)
        XCTAssertTrue(ada.isFault)
        XCTAssertThrowsError(try ada.get("age", as: Int.self))
        store.readFailure = nil
        XCTAssertEqual(try ada.get("age"), 30)
    }

    func testInsertedValuesAreReadByAnotherContext() throws {
        let ada = try employee("Ada", in: department("R&D"))
        try ada.set("age", 36)
        XCTAssertTrue(ada.hasTemporaryID)
        let temporary = ada.objectID
        try context.save()
        XCTAssertFalse(ada.hasTemporaryID)
        XCTAssertFalse(ada.hasChanges)
        XCTAssertFalse(context.hasChanges)
        XCTAssertTrue(context.registeredObject(with: temporary) === ada, "not registered under its temporary ID")
        let again = try other().object(with: ada.objectID)
        XCTAssertTrue(again.isFault)
        XCTAssertEqual(try again.get("age"), 36)
        XCTAssertFalse(again.isFault)
        XCTAssertEqual(try again.get("department.name"), "R&D")
        XCTAssertEqual(try again.get("rating"), 1000.0)
    }

    func testSaveFailsWhenRequiredPropertiesAreMissing() throws {
        _ = try context.insert("Employee")
        XCTAssertThrowsError(try context.save()) {
            let error = $0 as? CoreError
            XCTAssertEqual(error?.code, 1570)
            XCTAssertEqual(error?.key, "name")
        }
        _ = try context.insert("Department")
        XCTAssertThrowsError(try context.save()) {
            let error = $0 as? CoreError
            XCTAssertEqual(error?.code, 1560)
            XCTAssertEqual(error?.children.map(\.entity), ["Employee", "Department"])
        }
        XCTAssertEqual(context.insertedObjects.count, 2, "a failed save keeps all pending changes")
        XCTAssertTrue(store.rows.values.allSatisfy(\.isEmpty))
    }

    func testConflictNamesObjectAndProperties() throws {
        let ada = try employee("Ada")
        try context.save()
        let second = other()
        let same = try second.object(with: ada.objectID)
        try same.set("age", 40)
        try ada.set("age", 37)
        try context.save()
        XCTAssertThrowsError(try second.save()) {
            let error = $0 as? CoreError
            XCTAssertEqual(error?.status, .conflict)
            XCTAssertEqual(error?.code, 133020)
            XCTAssertEqual(error?.key, "age")
            XCTAssertEqual(error?.objectURI, ada.objectID.uri)
            XCTAssertEqual(error?.children.map(\.key), ["age"])
            XCTAssertEqual(error?.children.first?.value, .int(37))
        }
        XCTAssertEqual(try same.get("age"), 40, "the change is still pending")
        try second.refresh(same, mergeChanges: true)
        XCTAssertEqual(try same.get("age"), 40)
        try second.save()
        try context.refresh(ada, mergeChanges: false)
        XCTAssertEqual(try ada.get("age"), 40)
    }

    func testSaveConflictsWhenTheRowWasDeletedElsewhere() throws {
        let ada = try employee("Ada")
        try context.save()
        let second = other()
        let same = try second.object(with: ada.objectID)
        try same.set("age", 40)
        try context.delete(ada)
        try context.save()
        XCTAssertThrowsError(try second.save()) { XCTAssertEqual(($0 as? CoreError)?.code, 133020) }
        try second.rollback()
        try second.save()
        try second.refresh(same, mergeChanges: false)
        second.shouldDeleteInaccessibleFaults = false
        XCTAssertThrowsError(try same.get("age", as: Int.self)) {
            XCTAssertEqual(($0 as? CoreError)?.status, .objectGone)
            XCTAssertEqual(($0 as? CoreError)?.code, 133000)
        }
        XCTAssertThrowsError(try second.existingObject(with: ada.objectID)) {
            XCTAssertEqual(($0 as? CoreError)?.code, 133000)
        }
    }

    func testDeletionCascadesAndNullifies() throws {
        let project = try context.insert("Project", ["title": "P"])
        let tasks = try (0..<3).map { try context.insert("Task", ["title": "t\($0)", "project": project]) }
        let ada = try employee("Ada")
        try ada.add(project, to: "projects")
        try context.save()
        try context.delete(project)
        XCTAssertEqual(try ada.memberCount("projects"), 1, "delete rules are applied when changes are processed")
        try context.save()
        XCTAssertEqual(try ada.memberCount("projects"), 0)
        XCTAssertTrue(tasks.allSatisfy(\.isGone))
        XCTAssertTrue(project.isGone)
        XCTAssertFalse(project.isDeleted)
        XCTAssertEqual(try other().count("Task"), 0)
        XCTAssertThrowsError(try project.get("title", as: String.self))
    }

    func testDeletionOfAnUnsavedObjectLeavesNoPendingChange() throws {
        let ada = try employee("Ada", in: department("A"))
        let project = try context.insert("Project")
        try ada.add(project, to: "projects")
        try context.delete(ada)
        try context.processPendingChanges()
        XCTAssertTrue(ada.isGone)
        XCTAssertEqual(try project.memberCount("members"), 0)
        try context.delete(project)
        try context.processPendingChanges()
        XCTAssertEqual(context.updatedObjects.count, 0)
        XCTAssertEqual(context.insertedObjects.count, 1)
        try context.save()
        XCTAssertEqual(try context.count("Department"), 1)
    }

    func testDenyRuleFailsTheSave() throws {
        let model = Model()
        let section = try model.addEntity(named: "Section")
        let package = try model.addEntity(named: "Package")
        let packages = try section.addRelationship(named: "packages", destination: package, isToMany: true)
        let inSection = try package.addRelationship(named: "section", destination: section)
        try packages.setInverse(inSection)
        try packages.setDeleteRule(.deny)
        let coordinator = try Coordinator(model: model)
        _ = try coordinator.add(MemoryStore(model: model))
        let context = Context(coordinator: coordinator)
        let libs = try context.insert("Section")
        let zlib = try context.insert("Package", ["section": libs])
        try context.save()
        try context.delete(libs)
        XCTAssertThrowsError(try context.save()) { XCTAssertEqual(($0 as? CoreError)?.code, 1600) }
        try context.delete(zlib)
        try context.save()
        XCTAssertEqual(try context.count("Section"), 0)
    }

    func testRollbackRestoresValuesDeletionsAndInsertions() throws {
        let ada = try employee("Ada", in: department("A"))
        let bob = try employee("Bob")
        try context.save()
        try ada.set("name", "Alicia")
        try ada.set("department", nil)
        try context.delete(bob)
        let cyd = try employee("Cyd")
        let id = cyd.objectID
        try context.processPendingChanges()
        try context.rollback()
        XCTAssertEqual(try ada.get("name"), "Ada")
        XCTAssertEqual(try ada.get("department.name"), "A")
        XCTAssertFalse(bob.isDeleted)
        XCTAssertNil(context.registeredObject(with: id))
        XCTAssertFalse(context.hasChanges)
        XCTAssertEqual(context.insertedObjects.count + context.updatedObjects.count + context.deletedObjects.count, 0)
    }

    func testTransientValuesOutliveTheSaveAndAreNotWritten() throws {
        let ada = try employee("Ada")
        try ada.set("speed", 50.0)
        try context.save()
        XCTAssertEqual(try ada.get("speed"), 50.0)
        let version = store.rows[ada.objectID.entity.root.index]?[ada.objectID.reference]?.version
        try ada.set("speed", 10.0)
        XCTAssertTrue(context.hasChanges)
        try context.save()
        XCTAssertEqual(store.rows[ada.objectID.entity.root.index]?[ada.objectID.reference]?.version, version)
        try ada.set("age", 1)
        try context.save()
        try context.refresh(ada, mergeChanges: false)
        XCTAssertNil(try ada.get("speed", as: Double.self))
    }

    func testInsertionOfAnUnattachedObjectInsertsItsTargets() throws {
        let entity = try model.requireEntity(named: "Employee")
        let ada = try ManagedObject(entity: entity)
        try ada.set("name", "Ada")
        let home = try ManagedObject(entity: model.requireEntity(named: "Department"))
        try home.set("name", "Home")
        try ada.set("department", home)
        try context.insert(ada)
        XCTAssertEqual(context.insertedObjects.count, 2)
        try context.save()
        XCTAssertEqual(try other().fetch("Employee").first?.get("department.name"), "Home")
        XCTAssertEqual(try ada.get("rating"), 1000.0)
    }

    func testCommittedValueIsUpdatedByTheSave() throws {
        let ada = try employee("Ada")
        try context.save()
        try ada.set("name", "Alicia")
        XCTAssertEqual(try ada.committedValue("name"), .string("Ada"))
        XCTAssertTrue(try ada.isChanged("name"))
        XCTAssertFalse(try ada.isChanged("age"))
        try context.save()
        XCTAssertEqual(try ada.committedValue("name"), .string("Alicia"))
        XCTAssertFalse(try ada.isChanged("name"))
    }

    func testPermanentIDObtainedBeforeTheSaveIsKept() throws {
        let ada = try employee("Ada")
        try context.obtainPermanentIDs(for: [ada])
        let id = ada.objectID
        XCTAssertFalse(id.isTemporary)
        XCTAssertTrue(ada.isInserted)
        try context.save()
        XCTAssertEqual(ada.objectID, id)
        XCTAssertEqual(try coordinator.objectID(forURI: id.uri), id)
    }

    func testObtainPermanentIDsAcceptsDuplicateObjects() throws {
        let ada = try employee("Ada")
        let temporary = ada.objectID
        try context.obtainPermanentIDs(for: [ada, ada])
        XCTAssertIdentical(context.registeredObject(with: temporary), ada)
        try context.save()
        XCTAssertIdentical(context.registeredObject(with: temporary), ada)
        XCTAssertEqual(try context.count("Employee"), 1)
    }

    /// A save that writes no row does not change the row cache, which may have a newer row.
    func testSaveOfTransientValuesDoesNotReplaceACachedRow() throws {
        let ada = try employee("Ada")
        try context.save()
        let second = other()
        try second.object(with: ada.objectID).set("age", 41)
        try second.save()
        try ada.set("speed", 2)
        try context.save()
        XCTAssertEqual(try other().object(with: ada.objectID).get("age"), 41)
    }

    func testDeletionOfAFaultIsNotAConflict() throws {
        let ada = try employee("Ada")
        try context.save()
        try context.delete(ada)
        try context.processPendingChanges()
        try context.refresh(ada, mergeChanges: false)
        try context.save()
        XCTAssertEqual(try other().count("Employee"), 0)
    }

    func testResetInvalidatesAllObjects() throws {
        let ada = try employee("Ada")
        try context.save()
        try context.reset()
        XCTAssertTrue(ada.isGone)
        XCTAssertThrowsError(try ada.get("name", as: String.self)) {
            XCTAssertEqual(($0 as? CoreError)?.status, .objectGone)
        }
        XCTAssertEqual(context.registeredObjects.count, 0)
        XCTAssertEqual(try names(context.fetch("Employee")), ["Ada"])
    }
}

final class EndOfObjectsTests: XCTestCase {
    private func nodes() throws -> Context {
        let model = Model()
        let node = try model.addEntity(named: "Node")
        try node.addRelationship(named: "next", destination: node)
        try node.addRelationship(named: "others", destination: node, isToMany: true)
        let coordinator = try Coordinator(model: model)
        _ = try coordinator.add(MemoryStore(model: model))
        return Context(coordinator: coordinator)
    }

    /// Nested deallocation would need a stack frame for each object.
    func testLongChainOfObjectsIsReleasedWithoutRecursion() throws {
        let context = try nodes()
        var last: ManagedObject?
        for _ in 0..<100_000 {
            let node = try context.insert("Node")
            if let last { try node.set("next", last) }
            last = node
        }
        try context.save()
        XCTAssertEqual(context.registeredObjects.count, 100_000)
        last = nil
        XCTAssertEqual(context.registeredObjects.count, 0)
    }

    func testLongChainOfUnattachedObjectsIsReleasedWithoutRecursion() throws {
        let context = try nodes()
        let entity = try context.coordinator.model.requireEntity(named: "Node")
        var last: ManagedObject?
        for index in 0..<50_000 {
            let node = try ManagedObject(entity: entity)
            if let last { if index % 2 == 0 { try node.set("next", last) } else { try node.add(last, to: "others") } }
            last = node
        }
        last = nil
    }

    func testReadFromARemovedStoreFails() throws {
        let context = try nodes()
        let node = try context.insert("Node")
        try context.save()
        try context.refresh(node, mergeChanges: false)
        try context.coordinator.remove(XCTUnwrap(context.coordinator.stores.first))
        XCTAssertThrowsError(try node.get("next", as: ManagedObject.self)) {
            XCTAssertEqual(($0 as? CoreError)?.status, .objectGone)
            XCTAssertTrue(($0 as? CoreError)?.message.contains("was removed from the coordinator") == true)
        }
        XCTAssertTrue(node.objectID.uri.hasPrefix("x-coredata://"))
    }
}
