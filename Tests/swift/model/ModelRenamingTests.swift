import CorestonePredicate
import CorestoneValues
import XCTest

@testable import CorestoneModel

/// References to a model element are updated when it is renamed, and removed with it.
final class ModelRenamingTests: XCTestCase {
    /// A reference to an entity does not keep its model alive.
    private var models: [Model] = []

    /// Departments with employees, of whom some are managers.
    private func company() throws -> (model: Model, department: Entity, employee: Entity, manager: Entity) {
        let model = Model()
        models.append(model)
        let (department, employee) = (
            try model.addEntity(named: "Department"), try model.addEntity(named: "Employee")
        )
        let manager = try model.addEntity(named: "Manager")
        try manager.setParent(employee)
        try department.addAttribute(named: "name", type: .string)
        try employee.addAttribute(named: "name", type: .string)
        try manager.addAttribute(named: "bonus", type: .decimal)
        let works = try employee.addRelationship(named: "department", destination: department)
        try works.setInverse(try department.addRelationship(named: "staff", destination: employee, isToMany: true))
        return (model, department, employee, manager)
    }

    private func rename(_ entity: Entity, _ name: String, to newName: String) throws {
        try XCTUnwrap(entity.ownProperty(named: name)).rename(to: newName)
    }

    func testPredicatesFollowARenamedProperty() throws {
        let texts = [
            ("staff.name == 'x'", "staff.title == \"x\""), ("ANY staff.name == name", "ANY staff.title == name"),
            ("SUBQUERY(staff, $e, $e.name == $N).@count > 1", "SUBQUERY(staff, $e, $e.title == $N).@count > 1"),
            ("staff.department.staff.name == name", "staff.department.staff.title == name"),
            ("staff.name.@count > 1", "staff.title.@count > 1"),
            ("staff.@max.name == 'a'", "staff.@max.title == \"a\""),
            ("SUBQUERY(staff.department, $d, $d.name == 'x').@count > 1", nil), ("name == 'name'", nil),
        ]
        for (former, new) in texts {
            let (model, _, employee, _) = try company()
            try model.setFetchRequestTemplate(
                FetchRequestTemplate(entityName: "Department", predicate: PredicateText(former)), forName: "t")
            try rename(employee, "name", to: "title")
            XCTAssertEqual(model.fetchRequestTemplates["t"]?.predicate?.text, new ?? former, former)
        }
    }

    func testPredicatesFollowARenamedPropertyOfASubentity() throws {
        let (model, _, employee, manager) = try company()
        try model.setFetchRequestTemplate(
            FetchRequestTemplate(entityName: "Department", predicate: PredicateText("staff.bonus > 1")), forName: "t")
        try employee.addIndex(FetchIndex(name: "i", elements: [.init(property: "name")]))
        try manager.addIndex(FetchIndex(name: "j", elements: [.init(property: "name"), .init(property: "bonus")]))
        try manager.addUniqueConstraint(["bonus", "name"])
        try rename(manager, "bonus", to: "extra")
        try rename(employee, "name", to: "title")
        XCTAssertEqual(model.fetchRequestTemplates["t"]?.predicate?.text, "staff.extra > 1")
        XCTAssertEqual(employee.indexes[0].elements.map(\.property), ["title"])
        XCTAssertEqual(manager.indexes[0].elements.map(\.property), ["title", "extra"])
        XCTAssertEqual(manager.uniqueConstraints, [["extra", "title"]])
    }

    func testRequestsRulesAndDerivationsFollowARenamedProperty() throws {
        let (model, department, employee, _) = try company()
        var request = FetchRequestTemplate(entityName: "Department")
        request.sortDescriptors = [
            SortDescriptor(path: KeyPath("staff.name"), ascending: false, selector: .localized), SortDescriptor("name"),
        ]
        request.relationshipKeyPathsForPrefetching = ["staff.department", "staff"]
        try model.setFetchRequestTemplate(request, forName: "t")
        try employee.addFetchedProperty(
            named: "twins",
            fetchRequest: FetchRequestTemplate(
                entityName: "Department",
                predicate: PredicateText("staff.name == $FETCH_SOURCE.name AND $OTHER.name == 'x'")))
        try department.ownRelationships[0].addValidation(PredicateText("name != 'x'"), warning: "w")
        let derived = try department.addAttribute(named: "first", type: .string)
        try derived.setDerivation(
            Derivation(ExpressionText("min:(staff.name)"), filter: PredicateText("name != 'x'")))
        try department.addIndex(
            FetchIndex(
                name: "i",
                elements: [
                    .init(
                        expression: ExpressionText("lowercase:(staff.name)"), named: "expression1", type: .string,
                        isAscending: false)
                ]))
        try employee.addValidator(forKey: "name") { _, value, _ in value }
        try rename(employee, "name", to: "title")
        let renamed = try XCTUnwrap(model.fetchRequestTemplates["t"])
        XCTAssertEqual(
            renamed.sortDescriptors,
            [
                SortDescriptor(path: KeyPath("staff.title"), ascending: false, selector: .localized),
                SortDescriptor("name"),
            ])
        XCTAssertEqual(
            employee.ownFetchedProperties[0].fetchRequest.predicate?.text,
            "staff.title == $FETCH_SOURCE.title AND $OTHER.name == \"x\"")
        XCTAssertEqual(department.ownRelationships[0].validationRules.map(\.predicate.text), ["title != \"x\""])
        XCTAssertEqual(department.ownRelationships[0].validationRules.map(\.warning), [.text("w")])
        XCTAssertEqual(derived.derivation?.expression.text, "min:(staff.title)")
        XCTAssertEqual(derived.derivation?.filter?.text, "title != \"x\"")
        let element = department.indexes[0].elements[0]
        XCTAssertEqual(element.expression?.text, "lowercase:(staff.title)")
        XCTAssertEqual(element.property, "expression1")
        XCTAssertEqual(element.expressionType, .string)
        XCTAssertFalse(element.isAscending)
        XCTAssertEqual(employee.validators.values.map(\.key), ["title"])
        try rename(department, "staff", to: "people")
        XCTAssertEqual(
            model.fetchRequestTemplates["t"]?.relationshipKeyPathsForPrefetching, ["people.department", "people"])
        XCTAssertEqual(model.fetchRequestTemplates["t"]?.sortDescriptors.map(\.keyPath), ["people.title", "name"])
    }

    func testIndexNamedAfterItsAttributeIsRenamedWithIt() throws {
        let (_, _, employee, _) = try company()
        try employee.addIndex(FetchIndex(name: "name", elements: [.init(property: "name")]))
        try employee.addIndex(FetchIndex(name: "other", elements: [.init(property: "name")]))
        try employee.appendIndex(
            FetchIndex(name: "name", elements: [.init(property: "name", isAscending: false)]).spelt(.compoundIndex))
        try rename(employee, "name", to: "title")
        XCTAssertEqual(employee.indexes.map(\.name), ["title", "other", "name"])
        XCTAssertEqual(employee.indexes.map { $0.elements[0].property }, ["title", "title", "title"])
        XCTAssertEqual(employee.indexes.map { $0.elements[0].isAscending }, [true, true, false])
        XCTAssertEqual(employee.indexes.map(\.spelling), [.fetchIndex, .fetchIndex, .compoundIndex])
    }

    func testLocalizationFollowsARenamedProperty() throws {
        let (model, department, employee, _) = try company()
        let words = [
            "Property/name": "any", "Property/name/Entity/Employee": "e", "Property/name/Entity/Manager": "m",
            "Property/name/Entity/Department": "d", "ErrorString/name": "error",
        ]
        for (key, text) in words { try model.setLocalization(text, forKey: key) }
        try rename(employee, "name", to: "title")
        XCTAssertEqual(
            model.localization,
            [
                "Property/name": "any", "Property/title": "any", "Property/title/Entity/Employee": "e",
                "Property/title/Entity/Manager": "m", "Property/name/Entity/Department": "d",
                "ErrorString/name": "error",
            ], "another entity has a property of that name")
        try rename(department, "name", to: "label")
        XCTAssertNil(model.localization["Property/name"], "no property has the name now")
        XCTAssertEqual(model.localization["Property/label"], "any")
        try employee.remove(try XCTUnwrap(employee.ownProperty(named: "title")))
        XCTAssertEqual(
            model.localization,
            ["Property/label": "any", "Property/label/Entity/Department": "d", "ErrorString/name": "error"])
    }

    func testReferencesFollowARenamedEntity() throws {
        let (model, department, employee, _) = try company()
        try model.setFetchRequestTemplate(FetchRequestTemplate(entityName: "Employee"), forName: "e")
        try model.setFetchRequestTemplate(FetchRequestTemplate(entityName: "Department"), forName: "d")
        for name in ["Employee", "Department"] {
            try department.addFetchedProperty(
                named: "all\(name)", fetchRequest: FetchRequestTemplate(entityName: name))
        }
        try model.setConfiguration(
            ModelConfiguration(name: "C", entityNames: ["Department", "Employee"], isUsedWithCloudKit: true))
        for key in ["Entity/Employee", "Entity/Department", "Property/name/Entity/Employee", "Property/Employee"] {
            try model.setLocalization(key, forKey: key)
        }
        try employee.rename(to: "Person")
        XCTAssertEqual(model.fetchRequestTemplates.mapValues(\.entityName), ["e": "Person", "d": "Department"])
        XCTAssertEqual(
            department.ownFetchedProperties.map(\.fetchRequest.entityName), ["Person", "Department"])
        XCTAssertEqual(
            model.configurations,
            [ModelConfiguration(name: "C", entityNames: ["Department", "Person"], isUsedWithCloudKit: true)])
        XCTAssertEqual(
            model.localization,
            [
                "Entity/Person": "Entity/Employee", "Entity/Department": "Entity/Department",
                "Property/name/Entity/Person": "Property/name/Entity/Employee",
                "Property/Employee": "Property/Employee",
            ])
        XCTAssertEqual(employee.nameText.string, "Person")
        XCTAssertNil(model.entity(named: "Employee"))
    }

    func testRemovingAnEntityRemovesItsReferences() throws {
        let (model, department, employee, manager) = try company()
        let base = try model.addEntity(named: "Base")
        try employee.setParent(base)
        try model.setFetchRequestTemplate(FetchRequestTemplate(entityName: "Employee"), forName: "e")
        try model.setFetchRequestTemplate(FetchRequestTemplate(entityName: "Department"), forName: "d")
        for name in ["Employee", "Department"] {
            try manager.addFetchedProperty(named: "all\(name)", fetchRequest: FetchRequestTemplate(entityName: name))
        }
        try manager.addIndex(FetchIndex(name: "i", elements: [.init(property: "name")]))
        try manager.addIndex(FetchIndex(name: "j", elements: [.init(property: "bonus")]))
        try manager.addUniqueConstraint(["bonus"])
        try manager.addUniqueConstraint(["bonus", "name"])
        let alone = try department.addRelationship(named: "chief", destination: manager)
        try model.remove(employee)
        XCTAssertTrue(manager.parent === base)
        XCTAssertTrue(base.children.count == 1 && base.children[0] === manager)
        XCTAssertNil(department.ownProperty(named: "staff"), "its destination was removed")
        XCTAssertTrue(department.ownProperty(named: "chief") === alone)
        XCTAssertEqual(manager.ownFetchedProperties.map(\.name), ["allDepartment"])
        XCTAssertEqual(Set(model.fetchRequestTemplates.keys), ["d"])
        XCTAssertEqual(manager.indexes.map(\.name), ["j"])
        XCTAssertEqual(manager.uniqueConstraints, [["bonus"]])
        XCTAssertEqual(model.entities.map(\.name), ["Department", "Manager", "Base"])
        XCTAssertEqual(model.removedEntities.map(\.name), ["Employee"])
        XCTAssertEqual([employee.isRemoved, alone.isRemoved], [true, false])
        try model.addEntity(named: "Employee")
        try model.freeze()
    }

    func testRemovingAPropertyRemovesItsReferences() throws {
        let (model, department, employee, manager) = try company()
        try employee.addAttribute(named: "age", type: .integer16)
        for (name, elements, predicate) in [
            ("plain", [FetchIndex.Element(property: "name")], nil), ("age", [.init(property: "age")], nil),
            ("partial", [.init(property: "age")], "name != nil"),
            ("computed", [.init(expression: ExpressionText("lowercase:(name)"), named: "expression1")], nil),
        ] as [(String, [FetchIndex.Element], String?)] {
            try manager.addIndex(
                FetchIndex(name: name, elements: elements, partialPredicate: predicate.map { PredicateText($0) }))
        }
        try manager.addUniqueConstraint(["age", "name"])
        try manager.addUniqueConstraint(["age"])
        for key in ["name", "age"] { try manager.addValidator(forKey: key) { _, value, _ in value } }
        let name = try XCTUnwrap(employee.ownProperty(named: "name"))
        try employee.remove(name)
        XCTAssertEqual(manager.indexes.map(\.name), ["age"])
        XCTAssertEqual(manager.uniqueConstraints, [["age"]])
        XCTAssertEqual(manager.validators.values.map(\.key), ["age"])
        XCTAssertEqual(employee.ownAttributes.map(\.name), ["age"])
        XCTAssertEqual(model.removedProperties.map(\.name), ["name"])
        XCTAssertTrue(name.isRemoved)
        XCTAssertNotNil(department.ownProperty(named: "name"))
        XCTAssertThrowsError(try name.setOptional(false)) {
            XCTAssertEqual(
                ($0 as? CoreError)?.message,
                "cannot change Employee.name: it was removed from its model; add a new property")
            XCTAssertEqual(($0 as? CoreError)?.key, "name")
        }
        XCTAssertThrowsError(try employee.remove(name)) {
            XCTAssertEqual(
                ($0 as? CoreError)?.message,
                "cannot remove Employee.name: it was already removed from its model")
        }
    }

    func testConstraintIsRemovedByItsKeysInAnyOrder() throws {
        let (_, _, employee, _) = try company()
        for constraint in [["name", "department"], ["name"]] { try employee.addUniqueConstraint(constraint) }
        XCTAssertTrue(try employee.removeUniqueConstraint(["department", "name"]))
        XCTAssertEqual(employee.uniqueConstraints, [["name"]])
    }

    func testChangingTheTypeKeepsSuitableSettings() throws {
        let (_, _, employee, _) = try company()
        let attribute = try employee.addAttribute(named: "a", type: .transformable)
        try attribute.setValueTransformerName("T")
        try attribute.setValueClassName("C")
        try attribute.setType(.transformable)
        XCTAssertEqual([attribute.valueTransformerName, attribute.valueClassName], ["T", "C"])
        try attribute.setType(.integer64)
        XCTAssertEqual([attribute.valueTransformerName, attribute.valueClassName], [nil, nil])
        try attribute.setDefaultValue(.int(70_000))
        try attribute.setBounds(least: .int(1), greatest: nil)
        try attribute.addValidation(PredicateText("SELF != 3"), warning: "w")
        try attribute.setType(.integer32)
        XCTAssertEqual(attribute.defaultValue, .int(70_000))
        XCTAssertEqual(attribute.validationRules.count, 2, "numbers have the same bounds")
        try attribute.setType(.integer16)
        XCTAssertEqual(attribute.defaultValue, .null, "the default is too large for the new type")
        try attribute.setType(.date)
        XCTAssertEqual(attribute.validationRules.map(\.warning), [.text("w")])
        let place = try employee.addAttribute(named: "place", type: .composite)
        try place.setCompositeName("Place")
        let element = try place.addElement(named: "x", type: .double)
        try place.setType(.composite)
        XCTAssertEqual(place.elements.count, 1)
        try place.setType(.binary)
        XCTAssertNil(place.compositeName)
        XCTAssertEqual([element.isRemoved, place.isRemoved], [true, false])
    }

    func testChangingToOneAndToManyKeepsSuitableCounts() throws {
        let (model, department, employee, _) = try company()
        let staff = department.ownRelationships[0]
        try staff.setCounts(minimum: 2, maximum: 5)
        try staff.setToMany(true)
        XCTAssertEqual([staff.minimumCount, staff.maximumCount], [2, 5], "the relationship is already to-many")
        try staff.setOrdered(true)
        try staff.setToMany(false)
        XCTAssertEqual([staff.minimumCount, staff.maximumCount], [0, 1])
        XCTAssertFalse(staff.isOrdered)
        try staff.setOrdered(false)
        try staff.setToMany(true)
        XCTAssertEqual([staff.minimumCount, staff.maximumCount], [0, 0])
        try staff.setDestination(try model.requireEntity(named: "Manager"))
        XCTAssertEqual(staff.inverse?.name, "department", "a manager is an employee")
        try staff.setDestination(department)
        XCTAssertNil(staff.inverse)
        XCTAssertNil(employee.ownRelationships[0].inverse)
    }

    // MARK: - Copies

    func testCopyHasTheValidators() throws {
        let (model, _, employee, manager) = try company()
        try employee.addValidator(forKey: "name") { _, value, _ in value }
        try employee.addObjectValidator { _, _ in }
        try manager.addValidator(forKey: "bonus") { _, value, _ in value }
        let copy = try model.copy()
        for model in [model, copy] {
            try model.freeze()
            XCTAssertTrue(model.hasValidators)
            let checks = try model.requireEntity(named: "Manager").allValidators
            XCTAssertEqual(checks.values.map(\.key), ["name", "bonus"], "parents' first")
            XCTAssertEqual(checks.objects.count, 1)
            XCTAssertEqual(try model.requireEntity(named: "Employee").allValidators.values.map(\.key), ["name"])
            XCTAssertTrue(try model.requireEntity(named: "Department").allValidators.isEmpty)
        }
        let (plain, _, person, _) = try company()
        try plain.copy().freeze()
        XCTAssertFalse(plain.hasValidators)
        try person.addValidator(forKey: "nmae") { _, value, _ in value }
        XCTAssertThrowsError(try plain.freeze()) {
            XCTAssertEqual(
                ($0 as? CoreError)?.message,
                "Employee has a validator for \"nmae\", which is not a property; did you mean \"name\"?")
            XCTAssertEqual(($0 as? CoreError)?.key, "nmae")
        }
    }
}
