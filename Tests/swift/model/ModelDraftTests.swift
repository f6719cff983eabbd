import CorestonePredicate
import CorestoneValues
import Foundation
import XCTest

@testable import CorestoneModel

/// Unfinished source models, and the resolution of key paths by entities.
final class ModelDraftTests: FolderTestCase {
    private func draft(_ inner: String) throws -> Model {
        try put("<model>\(inner)</model>", "contents")
        return try Model(draftAt: path("contents"))
    }

    func testDraftReportsEachProblemAndReadsTheRest() throws {
        let model = try draft(
            """
            <entity name='A' parentEntity='Gone'>
              <attribute name='untyped'/><attribute name='tensor' attributeType='Tensor'/>
              <attribute name='fine' attributeType='String'/><attribute name='fine' attributeType='Date'/>
              <attribute name='place' attributeType='Composite' composite='Nowhere'/>
              <relationship name='lost' destinationEntity='Gone'/><relationship name='open'/>
              <fetchedProperty name='empty'/>
              <fetchIndex name='i'><fetchIndexElement property='missing' order='descending'/></fetchIndex>
            </entity>
            <entity name='B' parentEntity='A'><attribute name='fine' attributeType='String'/>
              <attribute name='own' attributeType='Date'/></entity>
            <entity name='1'/>
            """)
        let tensor =
            "A.tensor has the unknown attribute type \"Tensor\"; use a type of Xcode's model editor, such as "
            + "\"Integer 64\" or \"String\""
        XCTAssertEqual(
            model.draftProblems.map(\.message),
            [
                tensor,
                "A already has a property \"fine\"; choose another name",
                "the fetched property A.empty does not have a fetch request; add a <fetchRequest>",
                "\"1\" is not a valid name for an entity; use letters, digits and underscores, without a leading digit",
                "A inherits from \"Gone\", which is not an entity of the model; add the entity, or set another superentity",
                "A.lost has the destination \"Gone\", which is not an entity of the model; add the entity, or set another destination",
                "A.open does not have a destination; set one",
                "A.place has the composite type \"Nowhere\", which is not defined in the model; define it, or set another "
                    + "composite type",
                "B.fine has the name of an inherited property; rename or remove it",
                "A.untyped has the type Undefined, which only a transient attribute can have; set another type, or make it "
                    + "transient",
                "the index \"i\" of A refers to the unknown property \"missing\"; correct the name, or add the property",
            ])
        XCTAssertTrue(model.isFrozen)
        let (a, b) = (try model.requireEntity(named: "A"), try model.requireEntity(named: "B"))
        XCTAssertEqual(a.ownAttributes.map(\.name), ["untyped", "tensor", "fine", "place"])
        XCTAssertEqual(a.ownAttributes.map(\.type), [.undefined, .undefined, .string, .composite])
        XCTAssertEqual(a.ownRelationships.map(\.missingDestination), ["Gone", ""])
        XCTAssertEqual(b.ownAttributes.map(\.name), ["own"])
        XCTAssertEqual(b.properties.map(\.name), ["untyped", "tensor", "fine", "place", "lost", "open", "own"])
        for use: () throws -> Void in [
            { try model.freeze() }, { _ = try model.source() }, { try model.write(to: self.path("a.mom")) },
            { try model.copy().freeze() },
        ] {
            XCTAssertEqual(message(.model, use), tensor, "the error names the first problem")
        }
    }

    func testDraftWithoutProblemsIsAUsableModel() throws {
        let model = try draft("<entity name='A'><attribute name='a' attributeType='String'/></entity>")
        XCTAssertEqual(model.draftProblems.count, 0)
        XCTAssertTrue(model.isFrozen)
        try model.write(to: path("a.mom"))
        XCTAssertEqual(try entities("a.mom"), ["A"])
    }

    func testUnreadableDraftsAreRejected() throws {
        for text in ["<model><entity name='A'></model>", "<other/>", "text"] {
            try put(text, "contents")
            XCTAssertTrue(
                message(.model) { _ = try Model(draftAt: path("contents")) }.hasPrefix(
                    "\(path("contents")) cannot be read as a model: "))
        }
        XCTAssertTrue(message(.storeIO) { _ = try Model(draftAt: path("none")) }.hasPrefix(path("none")))
    }

    func testDraftsWithMoreThanAThousandProblemsAreRejected() throws {
        func text(_ count: Int) -> String {
            (0..<count).map { "<entity name='A\($0)' parentEntity='Gone'/>" }.joined()
        }
        XCTAssertEqual(try draft(text(1000)).draftProblems.count, 1000)
        XCTAssertEqual(
            message(.model) { _ = try draft(text(1001)) },
            "\(path("contents")) cannot be read as a model: A1000 inherits from \"Gone\", which is not an entity of the model; "
                + "add the entity, or set another superentity")
    }

    // MARK: - Paths

    private func company() throws -> Model {
        let model = Model()
        let (department, employee) = (
            try model.addEntity(named: "Department"), try model.addEntity(named: "Employee")
        )
        let manager = try model.addEntity(named: "Manager")
        try manager.setParent(employee)
        let place = try department.addAttribute(named: "place", type: .composite)
        try place.addElement(named: "point", type: .composite).addElement(named: "x", type: .double)
        try employee.addAttribute(named: "name", type: .string)
        try manager.addAttribute(named: "bonus", type: .decimal)
        let works = try employee.addRelationship(named: "department", destination: department)
        try works.setInverse(try department.addRelationship(named: "staff", destination: employee, isToMany: true))
        try employee.addFetchedProperty(named: "rooms", fetchRequest: FetchRequestTemplate(entityName: "Department"))
        return model
    }

    func testKeyPathsAreResolvedToPropertiesAndDestination() throws {
        let model = try company()
        let employee = try model.requireEntity(named: "Employee")
        for (text, names, destination) in [
            ("name", ["Employee.name"], nil),
            ("department.staff.name", ["Employee.department", "Department.staff", "Employee.name"], "Employee"),
            ("bonus", ["Manager.bonus"], nil),
            ("department.nothing.name", ["Employee.department", nil, nil], "Department"),
            ("rooms.staff", ["Employee.rooms", "Department.staff"], "Employee"),
            (
                "department.place.point.x",
                ["Employee.department", "Department.place", "Department.place.point", "Department.place.point.x"],
                "Department"
            ),
            ("department.staff.@count", ["Employee.department", "Department.staff", nil], "Employee"),
            ("name.length", ["Employee.name", nil], nil),
        ] as [(String, [String?], String?)] {
            let found = employee.properties(along: KeyPath(text)).map { $0.map { "\($0.entity.name).\($0.path)" } }
            XCTAssertEqual(found, names, text)
            XCTAssertEqual(employee.destination(along: KeyPath(text))?.name, destination, text)
        }
    }

    func testExpressionsAreResolvedToEntities() throws {
        let model = try company()
        let (employee, department) = (
            try model.requireEntity(named: "Employee"), try model.requireEntity(named: "Department")
        )
        for (text, name) in [
            ("SELF", "Employee"), ("department", "Department"), ("$D", "Department"), ("$D.staff", "Employee"),
            ("$X", nil), ("$X.staff", nil), ("name", nil), ("SUBQUERY($D.staff, $s, $s.name != nil)", "Employee"),
            ("rooms[0]", "Department"), ("$D.staff UNION name", "Employee"), ("1", nil),
            ("SELF.department", "Department"),
        ] as [(String, String?)] {
            let expression = try Expression.parse(text)
            XCTAssertEqual(employee.reached(by: expression, ["D": department])?.name, name, text)
        }
    }

    func testPropertiesIncludeThoseOfSuperentities() throws {
        let model = try company()
        let (employee, manager) = (
            try model.requireEntity(named: "Employee"), try model.requireEntity(named: "Manager")
        )
        XCTAssertEqual(manager.allProperties.map(\.name), ["name", "department", "bonus"])
        XCTAssertEqual(manager.anyProperty(named: "rooms")?.name, "rooms")
        XCTAssertNil(manager.ownProperty(named: "name"))
        XCTAssertNil(employee.anyProperty(named: "bonus"))
        XCTAssertEqual(manager.fetchedProperty(named: "rooms")?.entity.name, "Employee")
        XCTAssertNil(manager.fetchedProperty(named: "name"))
        XCTAssertEqual(employee.withDescendants.map(\.name), ["Employee", "Manager"])
        XCTAssertTrue(manager.root === employee, "also before the model is frozen")
        XCTAssertEqual(model.roots.map(\.name), ["Department", "Employee"])
        try model.freeze()
        XCTAssertEqual(manager.attributes.map(\.path), ["name", "bonus"])
        XCTAssertEqual(manager.relationships.map(\.name), ["department"])
        let department = try model.requireEntity(named: "Department")
        XCTAssertEqual(department.attributes.map(\.path), ["place", "place.point", "place.point.x"])
        XCTAssertEqual(department.property(named: "place.point.x")?.name, "x")
        XCTAssertNil(department.property(named: "x"))
    }

    // MARK: - Hooks

    private final class Hooks: EntityHooks, @unchecked Sendable {
        let kinds: UInt32
        let validators: EntityValidators
        init(_ kinds: UInt32, _ validators: EntityValidators = EntityValidators()) {
            (self.kinds, self.validators) = (kinds, validators)
        }
        func inheriting(_ parent: any EntityHooks) -> any EntityHooks {
            Hooks(kinds | parent.kinds << 8, validators)
        }
    }

    func testLifecycleHooksAreInherited() throws {
        let model = Model()
        let entities = try ["A", "B", "C", "D"].map { try model.addEntity(named: $0) }
        for (child, parent) in zip(entities[1..<3], entities) { try child.setParent(parent) }
        try entities[0].setHooks(Hooks(1))
        try entities[2].setHooks(Hooks(4, EntityValidators(objects: [{ _, _ in }], hook: { _, _ in })))
        try entities[3].setHooks(Hooks(2))
        try entities[3].setHooks(nil)
        try model.freeze()
        XCTAssertEqual(entities.map(\.hookKinds), [1, 1, 4 | 1 << 8, 0])
        XCTAssertTrue(entities[1].allHooks === entities[0].hooks)
        XCTAssertNil(entities[3].allHooks)
        XCTAssertEqual(model.hookKinds, 1 | 4 | 1 << 8)
        XCTAssertTrue(model.hasValidators)
        XCTAssertEqual(entities.map(\.allValidators.isEmpty), [true, true, false, true])
        let copy = try model.copy()
        try copy.freeze()
        XCTAssertEqual(copy.entities.map(\.hookKinds), entities.map(\.hookKinds))
    }
}
