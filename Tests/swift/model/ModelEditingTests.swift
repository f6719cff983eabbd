import CorestonePredicate
import CorestoneValues
import XCTest

@testable import CorestoneModel

/// Changes of existing model elements: removal, renaming and changes of types.
final class ModelEditingTests: XCTestCase {
    private func failure(_ body: () throws -> Void) -> CoreError? {
        do { try body() } catch { return error as? CoreError }
        return nil
    }

    /// Departments with employees, of whom some are managers.
    private func company() throws -> Model {
        let model = Model()
        let department = try model.addEntity(named: "Department")
        try department.addAttribute(named: "title", type: .string)
        let employee = try model.addEntity(named: "Employee")
        try employee.addAttribute(named: "name", type: .string)
        try employee.addAttribute(named: "salary", type: .decimal)
        let manager = try model.addEntity(named: "Manager")
        try manager.setParent(employee)
        let works = try employee.addRelationship(named: "department", destination: department)
        let staff = try department.addRelationship(named: "staff", destination: employee, isToMany: true)
        try works.setInverse(staff)
        let total = try department.addAttribute(named: "total", type: .decimal)
        try total.setDerivation(Derivation(ExpressionText("staff.salary.@sum")))
        try employee.addIndex(FetchIndex(name: "name", elements: [.init(property: "name")]))
        try manager.addIndex(
            FetchIndex(
                name: "rich", elements: [.init(property: "salary", isAscending: false), .init(property: "name")],
                partialPredicate: PredicateText("salary > 100")))
        try employee.addUniqueConstraint(["name", "department"])
        var request = FetchRequestTemplate(
            entityName: "Department",
            predicate: PredicateText("SUBQUERY(staff, $s, $s.salary > $LEAST AND $s.name != nil).@count > 0"))
        request.sortDescriptors = [SortDescriptor("title")]
        try model.setFetchRequestTemplate(request, forName: "paying")
        try employee.addFetchedProperty(
            named: "namesakes",
            fetchRequest: FetchRequestTemplate(
                entityName: "Employee", predicate: PredicateText("name == $FETCH_SOURCE.name")))
        try model.setConfiguration(ModelConfiguration(name: "People", entityNames: ["Employee", "Manager"]))
        try model.setLocalization("Angestellte", forKey: "Entity/Employee")
        try model.setLocalization("Name", forKey: "Property/name/Entity/Employee")
        try model.setLocalization("Lohn", forKey: "Property/salary")
        return model
    }

    func testRenamingAnEntityUpdatesItsReferences() throws {
        let model = try company()
        let employee = try model.requireEntity(named: "Employee")
        try employee.rename(to: "Person")
        XCTAssertTrue(model.entity(named: "Person") === employee)
        XCTAssertNil(model.entity(named: "Employee"))
        XCTAssertEqual(model.configurations[0].entityNames, ["Person", "Manager"])
        XCTAssertEqual(employee.ownFetchedProperties[0].fetchRequest.entityName, "Person")
        XCTAssertEqual(model.localization["Property/name/Entity/Person"], "Name")
        XCTAssertEqual(employee.localizedName, "Angestellte")
        XCTAssertEqual(try company().copy().entities.count, 3)
        XCTAssertNotNil(failure { try model.requireEntity(named: "Manager").rename(to: "Department") })
    }

    func testRenamingAPropertyUpdatesItsReferences() throws {
        let model = try company()
        let (employee, department) = (
            try model.requireEntity(named: "Employee"), try model.requireEntity(named: "Department")
        )
        try employee.requireOwnProperty(named: "name").rename(to: "fullName")
        try employee.requireOwnProperty(named: "salary").rename(to: "pay")
        try department.requireOwnProperty(named: "staff").rename(to: "people")
        try employee.requireOwnProperty(named: "department").rename(to: "place")
        let manager = try model.requireEntity(named: "Manager")
        XCTAssertEqual(employee.indexes[0].name, "fullName")
        XCTAssertEqual(manager.indexes[0].elements.map(\.property), ["pay", "fullName"])
        XCTAssertEqual(manager.indexes[0].partialPredicate?.text, "pay > 100")
        XCTAssertEqual(employee.uniqueConstraints, [["fullName", "place"]])
        let total = try XCTUnwrap(department.ownProperty(named: "total") as? Attribute)
        XCTAssertEqual(total.derivation?.expression.text, "sum:(people.pay)")
        XCTAssertEqual(
            model.fetchRequestTemplates["paying"]?.predicate?.text,
            "SUBQUERY(people, $s, $s.pay > $LEAST AND $s.fullName != nil).@count > 0")
        XCTAssertEqual(
            employee.ownFetchedProperties[0].fetchRequest.predicate?.text, "fullName == $FETCH_SOURCE.fullName")
        XCTAssertEqual(model.localization["Property/fullName/Entity/Employee"], "Name")
        XCTAssertEqual(model.localization["Property/pay"], "Lohn")
        XCTAssertNil(model.localization["Property/salary"])
        try model.freeze()
        XCTAssertEqual(manager.property(named: "fullName")?.name, "fullName")
        let place = try XCTUnwrap(manager.property(named: "place") as? Relationship)
        XCTAssertEqual(place.inverse?.name, "people")
    }

    func testRemovingAPropertyRemovesItsReferences() throws {
        let model = try company()
        let employee = try model.requireEntity(named: "Employee")
        let works = try employee.requireOwnProperty(named: "department")
        try employee.remove(works)
        XCTAssertTrue(works.isRemoved)
        XCTAssertTrue(employee.uniqueConstraints.isEmpty)
        let staff = try model.requireEntity(named: "Department").requireOwnProperty(named: "staff") as? Relationship
        XCTAssertNil(staff?.inverse)
        try employee.remove(try employee.requireOwnProperty(named: "name"))
        XCTAssertTrue(employee.indexes.isEmpty)
        XCTAssertTrue(try model.requireEntity(named: "Manager").indexes.isEmpty)
        XCTAssertNil(model.localization["Property/name/Entity/Employee"])
        try employee.remove(try employee.requireOwnProperty(named: "namesakes"))
        try model.freeze()
        XCTAssertEqual(employee.properties.map(\.name), ["salary"])
        XCTAssertEqual(failure { try works.setOptional(true) }?.status, .model)
    }

    func testRemovingAnEntityRemovesItsReferences() throws {
        let model = try company()
        let employee = try model.requireEntity(named: "Employee")
        let (manager, department) = (
            try model.requireEntity(named: "Manager"), try model.requireEntity(named: "Department")
        )
        try model.remove(employee)
        XCTAssertTrue(employee.isRemoved)
        XCTAssertNil(manager.parent)
        XCTAssertNil(department.ownProperty(named: "staff"))
        XCTAssertEqual(model.configurations[0].entityNames, ["Manager"])
        XCTAssertNil(model.localization["Entity/Employee"])
        XCTAssertNil(model.localization["Property/salary"])
        try model.remove(department)
        XCTAssertTrue(model.fetchRequestTemplates.isEmpty)
        XCTAssertEqual(
            failure { try department.setAbstract(true) }?.message,
            "cannot change Department: it was removed from its model; add a new entity")
        XCTAssertEqual(
            failure { try model.remove(department) }?.message,
            "cannot remove Department: it was already removed from its model")
    }

    func testReferencesToARemovedEntityAreRejected() throws {
        let model = try company()
        let department = try model.requireEntity(named: "Department")
        try model.remove(department)
        let manager = try model.requireEntity(named: "Manager")
        XCTAssertEqual(failure { try manager.setParent(department) }?.status, .model)
        let copy = try company()
        let (employee, gone) = (try copy.requireEntity(named: "Employee"), try copy.requireEntity(named: "Department"))
        let staff = try XCTUnwrap(gone.ownProperty(named: "staff") as? Relationship)
        try copy.remove(gone)
        let boss = try employee.addRelationship(named: "boss", destination: employee)
        XCTAssertEqual(failure { try boss.setInverse(staff) }?.status, .model)
    }

    func testChangingTheTypeDropsUnsuitableSettings() throws {
        let model = Model()
        let entity = try model.addEntity(named: "A")
        let size = try entity.addAttribute(named: "size", type: .integer32)
        try size.setDefaultValue(.int(3))
        try size.setBounds(least: .int(1), greatest: .int(9))
        try size.setType(.double)
        XCTAssertEqual(size.defaultValue, .double(3))
        XCTAssertEqual(size.validationRules.count, 2)
        try size.setType(.string)
        XCTAssertTrue(size.defaultValue.isNull)
        XCTAssertTrue(size.validationRules.isEmpty)
        try size.setPattern("[a-z]+")
        try size.setType(.integer16)
        XCTAssertTrue(size.validationRules.isEmpty)
        let place = try entity.addAttribute(named: "place", type: .composite)
        let latitude = try place.addElement(named: "latitude", type: .double)
        try place.addElement(named: "longitude", type: .double)
        try place.removeElement(named: "longitude")
        try latitude.rename(to: "breadth")
        XCTAssertEqual(latitude.path, "place.breadth")
        try place.setType(.string)
        XCTAssertTrue(place.elements.isEmpty)
        XCTAssertTrue(latitude.isRemoved)
        try model.freeze()
    }

    func testRenamingAnElementUpdatesItsKeyPaths() throws {
        let model = Model()
        let entity = try model.addEntity(named: "Town")
        let place = try entity.addAttribute(named: "place", type: .composite)
        let point = try place.addElement(named: "point", type: .composite)
        let latitude = try point.addElement(named: "latitude", type: .double)
        try point.addElement(named: "longitude", type: .double)
        let house = try model.addEntity(named: "House")
        let town = try house.addRelationship(named: "town", destination: entity)
        try entity.addRelationship(named: "houses", destination: house, isToMany: true).setInverse(town)
        try house.addAttribute(named: "breadth", type: .double)
            .setDerivation(Derivation(ExpressionText("town.place.point.latitude")))
        try entity.addIndex(
            FetchIndex(
                name: "byPlace", elements: [.init(property: "place.point.latitude")],
                partialPredicate: PredicateText("place.point.longitude > 0")))
        try entity.addUniqueConstraint(["place.point.latitude", "place.point.longitude"])
        var request = FetchRequestTemplate(
            entityName: "House",
            predicate: PredicateText(
                "town.place.point.latitude > 1 AND SUBQUERY(town.houses, $h, $h.town.place != nil).@count > 0"))
        request.sortDescriptors = [SortDescriptor("town.place.point.latitude")]
        try model.setFetchRequestTemplate(request, forName: "north")
        try latitude.rename(to: "y")
        try point.rename(to: "at")
        XCTAssertEqual(entity.indexes[0].elements.map(\.property), ["place.at.y"])
        XCTAssertEqual(entity.indexes[0].partialPredicate?.text, "place.at.longitude > 0")
        XCTAssertEqual(entity.uniqueConstraints, [["place.at.y", "place.at.longitude"]])
        let derived = try XCTUnwrap(house.ownProperty(named: "breadth") as? Attribute)
        XCTAssertEqual(derived.derivation?.expression.text, "town.place.at.y")
        let north = try XCTUnwrap(model.fetchRequestTemplates["north"])
        XCTAssert(north.predicate?.text.hasPrefix("town.place.at.y > 1 AND SUBQUERY(") == true, "\(north)")
        XCTAssertEqual(north.sortDescriptors.map(\.keyPath), ["town.place.at.y"])
        XCTAssert(model.lint().allSatisfy { $0.rule != .unknownKey }, "\(model.lint())")
    }

    func testElementIsNotRemovedAsAPropertyOfItsEntity() throws {
        let model = Model()
        let entity = try model.addEntity(named: "A")
        try entity.addAttribute(named: "x", type: .string)
        let place = try entity.addAttribute(named: "place", type: .composite)
        let element = try place.addElement(named: "x", type: .double)
        XCTAssertNotNil(failure { try entity.remove(element) })
        XCTAssertNotNil(entity.ownProperty(named: "x"))
    }

    func testChangingARelationshipClearsUnsuitableSettings() throws {
        let model = try company()
        let (employee, department) = (
            try model.requireEntity(named: "Employee"), try model.requireEntity(named: "Department")
        )
        let works = try XCTUnwrap(employee.ownProperty(named: "department") as? Relationship)
        let staff = try XCTUnwrap(department.ownProperty(named: "staff") as? Relationship)
        try staff.setOrdered(true)
        try works.setToMany(true)
        try staff.setToMany(false)
        XCTAssertEqual([works.isToMany, staff.isToMany, staff.isOrdered], [true, false, false])
        try works.setDestination(employee)
        XCTAssertNil(works.inverse)
        XCTAssertNil(staff.inverse)
        try works.setDestination(department)
        try works.setInverse(staff)
        try staff.setInverse(nil)
        XCTAssertNil(works.inverse)
        try model.requireEntity(named: "Manager").setParent(nil)
        XCTAssertEqual(model.roots.count, 3)
        XCTAssertNotNil(failure { try staff.setOrdered(true) })
    }

    func testIndexesConstraintsAndConfigurationsAreRemoved() throws {
        let model = try company()
        let employee = try model.requireEntity(named: "Employee")
        XCTAssertTrue(try employee.removeIndex(named: "name"))
        XCTAssertFalse(try employee.removeIndex(named: "name"))
        XCTAssertTrue(try employee.removeUniqueConstraint(["department", "name"]))
        XCTAssertTrue(try model.removeConfiguration(named: "People"))
        XCTAssertNil(model.configuration(named: "People"))
        try model.addVersionIdentifier("1")
        XCTAssertTrue(try model.removeVersionIdentifier("1"))
        XCTAssertEqual(model.versionIdentifiers, [])
        try model.freeze()
        XCTAssertEqual(failure { try employee.removeIndex(named: "name") }?.status, .model)
    }

    func testEditingKeepsUnknownContentOfOtherElements() throws {
        let source = """
            <model type="X" documentVersion="1.0"><entity name="A" syncable="YES">
            <attribute name="a" attributeType="String" syncable="YES"/><attribute name="b" attributeType="String" odd="1"/>
            </entity><entity name="B" codeGenerationType="class"/>
            <elements><element name="A" positionX="1"/><element name="B" positionX="2"/></elements></model>
            """
        let model = try Model(data: Array(source.utf8))
        let (a, b) = (try model.requireEntity(named: "A"), try model.requireEntity(named: "B"))
        try a.rename(to: "C")
        try a.remove(try a.requireOwnProperty(named: "a"))
        try model.remove(b)
        XCTAssertEqual(model.extras.attributes["documentVersion"], "1.0")
        XCTAssertEqual(a.extras.attributes["syncable"], "YES")
        XCTAssertEqual(a.ownAttributes.map { $0.extras.attributes["odd"] }, ["1"])
        XCTAssertEqual(model.extras.elements[0].elements.map(\.attributes), [["name": "C", "positionX": "1"]])
    }
}
