import Corestone
import XCTest

/// Primitive values, manual change notifications, and differences from the committed values.
final class AccessTests: GraphTestCase {
    // MARK: Primitive values

    /// Primitive writes bypass change tracking.
    func testS087PrimitiveWritesAreNotTracked() throws {
        let ada = try employee("Ada")
        try context.save()
        try ada.setPrimitive("name", "sneaky")
        XCTAssertEqual(try ada.changedValues(), [:])
        XCTAssertFalse(ada.hasChanges)
        XCTAssertFalse(ada.hasPersistentChangedValues)
        XCTAssertEqual(try ada.get("name"), "sneaky")
    }

    func testPrimitiveReadFiresNoFault() throws {
        let ada = try employee("Ada", in: department("R&D"))
        try context.save()
        try context.refresh(ada, mergeChanges: false)
        XCTAssertEqual(try ada.primitiveValue("name"), .null)
        XCTAssertTrue(ada.isFault)
        try ada.willAccessValue(forKey: "name")
        XCTAssertEqual(try ada.primitiveValue("name"), .string("Ada"))
        try ada.didAccessValue(forKey: "name")
        XCTAssertFalse(ada.isFault)
        let rAndD: ManagedObject = try XCTUnwrap(ada.get("department"))
        try context.refresh(rAndD, mergeChanges: false)
        XCTAssertEqual(try rAndD.primitiveValue("employees"), .null)
        try rAndD.willAccessValue(forKey: nil)
        XCTAssertFalse(rAndD.isFault, "nil fires the fault of the whole object")
        XCTAssertEqual(try rAndD.primitiveValue("employees"), .null)
        try rAndD.willAccessValue(forKey: "employees")
        XCTAssertEqual(try rAndD.primitiveValue("employees"), .array([.object(ada)]))
        XCTAssertThrowsError(try ada.willAccessValue(forKey: "nme"))
    }

    // MARK: Manual change notifications

    func testManualChangeNotificationMakesTheObjectDirty() throws {
        let ada = try employee("Ada")
        try context.save()
        try ada.willChangeValue(forKey: "name")
        try ada.setPrimitive("name", "Ada Lovelace")
        try ada.didChangeValue(forKey: "name")
        XCTAssertTrue(ada.isUpdated)
        XCTAssertEqual(try ada.changedValues(), ["name": .string("Ada Lovelace")])
        try context.save()
        XCTAssertEqual(try other().object(with: ada.objectID).get("name"), "Ada Lovelace")
    }

    func testInverseFollowsAPrimitiveTargetAfterDidChange() throws {
        let (rAndD, sales) = (try department("R&D"), try department("Sales"))
        let ada = try employee("Ada", in: rAndD)
        try context.save()
        try ada.willChangeValue(forKey: "department")
        try ada.setPrimitive("department", sales)
        XCTAssertEqual(try rAndD.memberCount("employees"), 1)
        try ada.didChangeValue(forKey: "department")
        XCTAssertEqual(try rAndD.memberCount("employees"), 0)
        XCTAssertEqual(try sales.members("employees"), [ada])
        try context.save()
        XCTAssertEqual(try other().object(with: ada.objectID).get("department.name"), "Sales")
    }

    func testInverseFollowsPrimitiveMembersAfterDidChange() throws {
        let rAndD = try department("R&D")
        let (ada, bob) = (try employee("Ada", in: rAndD), try employee("Bob"))
        try context.save()
        try rAndD.willChangeValue(forKey: "employees", withSetMutation: .union, using: [bob])
        try rAndD.setPrimitiveMembers([ada, bob], of: "employees")
        XCTAssertNil(try bob.get("department", as: ManagedObject.self))
        try rAndD.didChangeValue(forKey: "employees", withSetMutation: .union, using: [bob])
        XCTAssertEqual(try bob.get("department"), rAndD)
        try rAndD.willChangeValue(forKey: "employees", withSetMutation: .minus, using: [ada])
        try rAndD.setPrimitiveMembers([bob], of: "employees")
        try rAndD.didChangeValue(forKey: "employees", withSetMutation: .minus, using: [ada])
        XCTAssertNil(try ada.get("department", as: ManagedObject.self))
        try context.save()
        XCTAssertEqual(try names(other().object(with: rAndD.objectID).members("employees")), ["Bob"])
    }

    func testDidChangeFailsWithoutWillChange() throws {
        let ada = try employee("Ada")
        XCTAssertThrowsError(try ada.didChangeValue(forKey: "name")) {
            XCTAssertEqual(($0 as? CoreError)?.key, "name")
        }
        XCTAssertThrowsError(try ada.willChangeValue(forKey: "name", withSetMutation: .set, using: []))
        try ada.willChangeValue(forKey: "name")
        try ada.didChangeValue(forKey: "name")
        XCTAssertThrowsError(try ada.didChangeValue(forKey: "name"))
    }

    func testManualChangeOfAnUnattachedObjectUpdatesTheInverse() throws {
        let rAndD = try ManagedObject(entity: model.requireEntity(named: "Department"))
        let ada = try ManagedObject(entity: model.requireEntity(named: "Employee"))
        try ada.willChangeValue(forKey: "department")
        try ada.setPrimitive("department", rAndD)
        try ada.didChangeValue(forKey: "department")
        XCTAssertEqual(try rAndD.members("employees"), [ada])
        try ada.willChangeValue(forKey: "name")
    }

    // MARK: Differences

    /// A value that was reset does not count as changed. `hasChanges` still reports that a setter was called.
    func testChangedValuesOmitValuesThatWereSetBack() throws {
        let rAndD = try department("R&D"), ada = try employee("Ada", in: rAndD)
        try context.save()
        try ada.set("name", "Eve")
        try ada.set("department", nil)
        try ada.set("speed", 3.0)
        XCTAssertEqual(try ada.changedValues(), ["name": .string("Eve"), "department": .null])
        XCTAssertEqual(Set(try rAndD.changedValues().keys), ["employees"])
        try ada.set("name", "Ada")
        try ada.set("department", rAndD)
        XCTAssertEqual(try ada.changedValues(), [:])
        XCTAssertTrue(ada.hasChanges)
        XCTAssertTrue(ada.isUpdated)
        XCTAssertFalse(ada.hasPersistentChangedValues)
        XCTAssertFalse(rAndD.hasPersistentChangedValues)
    }

    /// `changedValues` does not load the members of a relationship to report that it changed.
    func testChangedValuesDoNotLoadMembers() throws {
        let rAndD = try department("R&D")
        _ = try employee("Ada", in: rAndD)
        let bob = try employee("Bob")
        try context.save()
        let second = other()
        let department = try second.object(with: rAndD.objectID)
        try second.object(with: bob.objectID).set("department", department)
        let before = store.requests
        XCTAssertEqual(try department.changedValues(), ["employees": .null])
        XCTAssertTrue(department.hasPersistentChangedValues)
        XCTAssertEqual(store.requests, before)
        XCTAssertEqual(try department.memberCount("employees"), 2)
        XCTAssertEqual(try department.changedValues().keys.sorted(), ["employees"])
    }

    /// Committed values are the last saved ones.
    func testS084CommittedValuesAreTheLastSavedOnes() throws {
        let ada = try employee("Alice")
        try context.save()
        try ada.set("name", "Alicia")
        XCTAssertEqual(try ada.committedValues(forKeys: ["name"]), ["name": .string("Alice")])
        try context.save()
        XCTAssertEqual(try ada.committedValues(forKeys: ["name"]), ["name": .string("Alicia")])
    }

    func testCommittedValuesOmitRelationshipsThatAreNotLoaded() throws {
        let rAndD = try department("R&D"), ada = try employee("Ada", in: rAndD)
        try ada.set("speed", 1.0)
        XCTAssertEqual(try ada.committedValues()["name"], .null, "nothing was saved yet")
        try context.save()
        try ada.set("age", 7)
        try ada.set("department", nil)
        let values = try ada.committedValues()
        let loaded = ada.objectID.entity.properties.filter {
            !$0.isTransient && ($0 as? Relationship)?.isToMany != true
        }
        XCTAssertEqual(values.keys.sorted(), loaded.map(\.name).sorted(), "friends are not loaded")
        XCTAssertEqual(values["age"], .null)
        XCTAssertEqual(values["department"], .object(ObjectIDReference(rAndD.objectID)))
        XCTAssertEqual(
            try rAndD.committedValues(forKeys: ["employees"]),
            ["employees": .array([.object(ObjectIDReference(ada.objectID))])])
        XCTAssertEqual(try ada.memberCount("friends"), 0)
        XCTAssertEqual(try ada.committedValues()["friends"], .array([]))
    }

    // MARK: Faults of relationships

    func testReadingRelationshipIDsCreatesNoObjects() throws {
        let rAndD = try department("R&D")
        let (ada, bob) = (try employee("Ada", in: rAndD), try employee("Bob", in: rAndD))
        let eve = try employee("Eve")
        try context.save()
        let second = other()
        let department = try second.object(with: rAndD.objectID)
        XCTAssertTrue(try department.hasFault(forRelationship: "employees"))
        XCTAssertEqual(Set(try department.objectIDs(forRelationship: "employees")), [ada.objectID, bob.objectID])
        XCTAssertTrue(department.isFault)
        XCTAssertTrue(try department.hasFault(forRelationship: "employees"))
        XCTAssertNil(second.registeredObject(with: ada.objectID))
        try second.object(with: eve.objectID).set("department", department)
        try second.object(with: bob.objectID).set("department", nil)
        XCTAssertEqual(Set(try department.objectIDs(forRelationship: "employees")), [ada.objectID, eve.objectID])
        let again = try second.object(with: ada.objectID)
        XCTAssertEqual(try again.objectIDs(forRelationship: "department"), [rAndD.objectID])
        XCTAssertTrue(again.isFault)
        XCTAssertEqual(try again.objectIDs(forRelationship: "spouse"), [])
        XCTAssertThrowsError(try again.objectIDs(forRelationship: "name"))
    }

    func testRelationshipIsAFaultUntilItsTargetIsLoaded() throws {
        let ada = try employee("Ada", in: department("R&D"))
        XCTAssertFalse(try ada.hasFault(forRelationship: "department"))
        XCTAssertFalse(try ada.hasFault(forRelationship: "friends"), "relationships of a new object are not faults")
        try context.save()
        let second = other()
        let again = try second.object(with: ada.objectID)
        XCTAssertEqual(again.faultingState, 1)
        _ = try again.get("name", as: String.self)
        XCTAssertEqual(again.faultingState, 0)
        XCTAssertTrue(try again.hasFault(forRelationship: "department"))
        XCTAssertFalse(try again.hasFault(forRelationship: "spouse"), "a nil relationship is not a fault")
        XCTAssertEqual(try again.get("department.name"), "R&D")
        XCTAssertFalse(try again.hasFault(forRelationship: "department"))
    }

    // MARK: Conversions

    /// Values from text formats such as JSON are converted to the type of the attribute.
    func testS398ValuesOfOtherTypesAreConverted() throws {
        let model = Model()
        let entity = try model.addEntity(named: "Conv")
        func attribute(_ type: AttributeType) throws -> Attribute {
            try entity.addAttribute(named: "a\(type.rawValue)", type: type)
        }
        let (date, decimal, double) = (try attribute(.date), try attribute(.decimal), try attribute(.double))
        let string = try attribute(.string)
        let counter = try attribute(.integer32)
        try counter.setDefaultValue(.int(7))
        XCTAssertEqual(try counter.converted(.null), .int(7))
        XCTAssertEqual(try counter.converted(.string("42")), .int(42))
        let id = "6F9619FF-8B86-D011-B42D-00C04FC964FF"
        XCTAssertEqual(try attribute(.uuid).converted(.string(id)), UUIDValue(id).map { .uuid($0) })
        XCTAssertEqual(try attribute(.binary).converted(.string("AQID")), .bytes(Bytes([1, 2, 3])))
        XCTAssertEqual(try date.converted(.string("2001-01-01T00:00:01Z")), .date(1))
        XCTAssertEqual(try attribute(.boolean).converted(.string("true")), .bool(true))
        XCTAssertEqual(try double.converted(.string("1.123456789012345")), .double(1.123456789012345))
        XCTAssertEqual(try string.converted(.int(42)), .string("42"))
        for text in ["2024-02-29", "2024-02-29T00:00", "2024-02-29 00:00", "2024-02-29T02:00:00+02:00"] {
            XCTAssertEqual(try date.converted(.string(text)), .date(730_857_600), text)
        }
        XCTAssertThrowsError(try date.converted(.string("20240229")))
        XCTAssertEqual(try decimal.converted(.double(0.1)), .decimal(try DecimalNumber("0.1")))
        let long = PropertyValue.decimal(try DecimalNumber("123456789012345678.25"))
        XCTAssertEqual(try decimal.converted(long), long)
        XCTAssertEqual(try double.converted(long), .double(123456789012345678.25))
        XCTAssertEqual(try attribute(.float).converted(long), .double(Double(Float(123456789012345678.25))))
        XCTAssertEqual(try date.converted(long), .date(123456789012345678.25))
        XCTAssertEqual(try string.converted(long), .string("123456789012345678.25"))
        let number = try attribute(.integer64)
        XCTAssertEqual(
            try number.converted(.decimal(try DecimalNumber("123456789012345678.0"))), .int(123_456_789_012_345_678))
        XCTAssertThrowsError(try number.converted(long))
        XCTAssertThrowsError(try number.converted(.string("not-a-number"))) {
            XCTAssertEqual(($0 as? CoreError)?.entity, "Conv")
            XCTAssertEqual(($0 as? CoreError)?.key, "a300")
        }
    }

    // MARK: Ignored changes, proxies

    func testIgnoredTransientChangeLeavesTheObjectClean() throws {
        let model = Model()
        let entity = try model.addEntity(named: "Car")
        try entity.addAttribute(named: "maker", type: .string)
        try entity.addAttribute(named: "speed", type: .double, isTransient: true).setIgnoresChanges(true)
        let coordinator = try Coordinator(model: model)
        _ = try coordinator.add(MemoryStore(model: model))
        let context = Context(coordinator: coordinator)
        let car = try context.insert("Car")
        try context.save()
        var told = 0
        let token = try car.observe(keyPath: "speed") { _, _ in told += 1 }
        try car.set("speed", 90.0)
        XCTAssertEqual(told, 1)
        XCTAssertFalse(car.hasChanges)
        XCTAssertFalse(context.hasChanges)
        XCTAssertEqual(try car.get("speed"), 90.0)
        token.cancel()
        let saved = Model()
        let wrong = try saved.addEntity(named: "Car").addAttribute(named: "maker", type: .string)
        try wrong.setIgnoresChanges(true)
        XCTAssertThrowsError(try saved.freeze())
    }

    /// The proxy works on a to-many relationship that was a fault.
    func testS395MutableMembersProxyChangesAFaultedRelationship() throws {
        let ada = try employee("Ada")
        let projects = try ["a", "b"].map { try context.insert("Project", ["title": $0]) }
        try ada.setMembers(projects, of: "projects")
        try context.save()
        let second = other()
        let members = try second.object(with: ada.objectID).mutableMembers("projects")
        XCTAssertEqual(try members.count, 2)
        XCTAssertTrue(try members.remove(members.all[0]))
        XCTAssertFalse(try members.insert(members.all[0]))
        try second.save()
        XCTAssertEqual(try other().object(with: ada.objectID).memberCount("projects"), 1)
    }
}
