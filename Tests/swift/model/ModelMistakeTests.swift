import CorestonePredicate
import CorestoneValues
import XCTest

@testable import CorestoneModel

/// Errors of models: when they are built, edited and frozen.
final class ModelMistakeTests: XCTestCase {
    private func failure(_ body: () throws -> Void) -> CoreError? {
        do { try body() } catch { return error as? CoreError }
        return nil
    }

    /// Returns the error of building or freezing a model with the entity `E`.
    private func refusal(_ build: (Model, Entity) throws -> Void) -> CoreError? {
        let model = Model()
        return failure {
            let entity = try model.addEntity(named: "E")
            try entity.addAttribute(named: "a", type: .string)
            try build(model, entity)
            try model.freeze()
        }
    }

    private func check(
        _ message: String, entity: String? = "E", key: String? = nil, line: UInt = #line,
        _ build: (Model, Entity) throws -> Void
    ) {
        let error = refusal(build)
        XCTAssertEqual(error?.message, message, line: line)
        XCTAssertEqual(error?.status, .model, line: line)
        XCTAssertEqual(error?.code, 134_060, line: line)
        XCTAssertEqual(error?.entity, entity, line: line)
        XCTAssertEqual(error?.key, key, line: line)
    }

    func testInvalidNamesAreRejected() {
        for name in ["a", "_", "_1", "é", "名", "a1", "A_b", String(repeating: "x", count: 255)] {
            XCTAssertTrue(isIdentifier(name), name)
        }
        for name in ["", "1", "1a", "a b", "a-b", "a.b", "a;", "\u{0}", String(repeating: "x", count: 256)] {
            XCTAssertFalse(isIdentifier(name), name)
        }
        check(
            "\"1a\" is not a valid name for a property of E; use letters, digits and underscores, without a leading digit",
            key: "1a"
        ) { try $1.addAttribute(named: "1a", type: .string) }
        check(
            "\"b c\" is not a valid name for an entity; use letters, digits and underscores, without a leading digit",
            entity: "b c", key: "b c"
        ) { model, _ in try model.addEntity(named: "b c") }
        check("the model already has an entity \"E\"; choose another name") { model, _ in
            try model.addEntity(named: "E")
        }
        for add: (Entity) throws -> Void in [
            { try $0.addAttribute(named: "a", type: .date) }, { try $0.addRelationship(named: "a", destination: $0) },
            { try $0.addFetchedProperty(named: "a", fetchRequest: FetchRequestTemplate(entityName: "E")) },
        ] { check("E already has a property \"a\"; choose another name", key: "a") { try add($1) } }
    }

    func testInvalidRelationshipsAreRejected() {
        check("E.r is to-one and cannot be ordered; make it to-many", key: "r") {
            try $1.addRelationship(named: "r", destination: $1, isOrdered: true)
        }
        check(
            "E.r cannot require at least 3 members and allow at most 2; raise the maximum or lower the minimum",
            key: "r"
        ) {
            try $1.addRelationship(named: "r", destination: $1, isToMany: true).setCounts(minimum: 3, maximum: 2)
        }
        check("E.r is ordered and cannot be limited to one member; make it unordered first", key: "r") {
            try $1.addRelationship(named: "r", destination: $1, isToMany: true, isOrdered: true)
                .setCounts(minimum: 0, maximum: 1)
        }
        let other = Model()
        check("F, the destination of E.r, does not belong to the model of E; set an entity of that model", key: "r") {
            try $1.addRelationship(named: "r", destination: try other.addEntity(named: "F"))
        }
        check(
            "F.s belongs to another model and cannot be the inverse of E.r; pass a relationship of the model of E",
            key: "r"
        ) {
            let foreign = try other.requireEntity(named: "F")
            let inverse = try foreign.addRelationship(named: "s", destination: foreign)
            try $1.addRelationship(named: "r", destination: $1).setInverse(inverse)
        }
        check("F belongs to another model and cannot be the superentity of E; pass an entity of the model of E") {
            try $1.setParent(try other.requireEntity(named: "F"))
        }
        check("E cannot inherit from E: the inheritance would be circular; set another superentity") {
            try $1.setParent($1)
        }
        check(
            "E.r has the inverse F.s, whose destination is F instead of E; set the destination of F.s to E, or set "
                + "another inverse",
            key: "r"
        ) { model, entity in
            let f = try model.addEntity(named: "F")
            let back = try f.addRelationship(named: "s", destination: f)
            try entity.addRelationship(named: "r", destination: f).setInverse(back)
        }
        check(
            "E.r has the destination E, but its inverse \"s\" belongs to F; set the destination to F, or set another inverse",
            key: "r"
        ) { model, entity in
            let f = try model.addEntity(named: "F")
            let back = try f.addRelationship(named: "s", destination: entity)
            try entity.addRelationship(named: "r", destination: entity).setInverse(back)
        }
    }

    func testInverseMayBelongToASubentity() throws {
        let model = Model()
        let (base, child) = (try model.addEntity(named: "Base"), try model.addEntity(named: "Child"))
        let other = try model.addEntity(named: "Other")
        try child.setParent(base)
        let there = try base.addRelationship(named: "there", destination: other)
        try there.setInverse(try other.addRelationship(named: "back", destination: child))
        try model.freeze()
        XCTAssertEqual(there.inverse?.name, "back")
        XCTAssertEqual([base.isKind(of: child), child.isKind(of: base), child.isKind(of: child)], [false, true, true])
        XCTAssertEqual([there.canContain(other), there.canContain(base)], [true, false])
        XCTAssertEqual(child.relationships(to: other).map(\.name), ["there"])
        XCTAssertEqual(other.relationships(to: base).map(\.name), [], "the destination is the subentity only")
    }

    func testNewInverseClearsTheFormerInverse() throws {
        let model = Model()
        let entity = try model.addEntity(named: "E")
        let all = try ["a", "b", "c", "d"].map { try entity.addRelationship(named: $0, destination: entity) }
        try all[0].setInverse(all[1])
        try all[2].setInverse(all[3])
        try all[0].setInverse(all[2])
        XCTAssertEqual(all.map { $0.inverse?.name }, ["c", nil, "a", nil])
        try all[1].setInverse(all[1])
        XCTAssertEqual(all[1].inverse?.name, "b")
        try all[0].setInverse(nil)
        XCTAssertEqual(all.map { $0.inverse?.name }, [nil, "b", nil, nil])
        try all[1].setInverse(nil)
        XCTAssertNil(all[1].inverse)
    }

    func testInvalidIndexesAreRejected() {
        func add(_ elements: [FetchIndex.Element], _ name: String = "i") -> (Model, Entity) throws -> Void {
            { try $1.addIndex(FetchIndex(name: name, elements: elements)) }
        }
        check(
            "the index \"i\" of E refers to the unknown property \"b\"; correct the name, or add the property",
            key: "b", add([.init(property: "b")]))
        check(
            "the index \"i\" of E contains \"t\", which does not have a column because it is transient; make it persistent, or use another property",
            key: "t"
        ) {
            try $1.addAttribute(named: "t", type: .string, isTransient: true)
            try $1.addIndex(FetchIndex(name: "i", elements: [.init(property: "a"), .init(property: "t")]))
        }
        check(
            "the index \"i\" of E contains the composite attribute \"place\"; use its elements: \"place.x\", \"place.y\"",
            key: "place"
        ) {
            let place = try $1.addAttribute(named: "place", type: .composite)
            for name in ["x", "y"] { try place.addElement(named: name, type: .double) }
            try $1.addIndex(FetchIndex(name: "i", elements: [.init(property: "place")]))
        }
        check(
            "the index \"i\" of E mixes R-tree and binary elements; create two indexes", key: "i",
            add([.init(property: "a"), .init(property: "a", collation: .rTree)]))
        check("E already has an index \"i\"; choose another name", key: "i") {
            for _ in 0..<2 { try $1.addIndex(FetchIndex(name: "i", elements: [.init(property: "a")])) }
        }
        check(
            "\"a b\" is not a valid name for an R-tree index of E; use letters, digits and underscores, without a leading digit",
            key: "a b", add([.init(property: "a", collation: .rTree)], "a b"))
        check(
            "the R-tree index \"i\" of E contains E.a (String), but takes numbers, Booleans and dates only; use a binary "
                + "index", key: "a", add([.init(property: "a", collation: .rTree)]))
        for (name, isRefused) in [
            ("", true), (String(repeating: "x", count: 1000), false), (String(repeating: "x", count: 1001), true),
            ("a\u{1F}", true), ("a b", false),
        ] {
            XCTAssertEqual(refusal(add([.init(property: "a")], name)) != nil, isRefused, name)
        }
    }

    func testInvalidConstraintsAreRejected() {
        check("a unique constraint of E is empty; add an attribute to it, or remove it") {
            try $1.addUniqueConstraint([])
        }
        check(
            "a unique constraint of E refers to the unknown property \"b\"; correct the name, or add the property",
            key: "b"
        ) {
            try $1.addUniqueConstraint(["a"])
            try $1.addUniqueConstraint(["a", "b"])
        }
        check(
            "a unique constraint of E contains \"r\", which does not have a column because it is to-many; use an attribute or a to-one relationship",
            key: "r"
        ) {
            try $1.addRelationship(named: "r", destination: $1, isToMany: true)
            try $1.addUniqueConstraint(["r"])
        }
        XCTAssertNil(
            refusal {
                try $1.addRelationship(named: "r", destination: $1)
                try $1.addUniqueConstraint(["r", "a"])
            }, "a to-one relationship has a column")
    }

    func testInvalidAttributesAreRejected() {
        let advice = "which only a transient attribute can have; set another type, or make it transient"
        check("E.u has the type Undefined, \(advice)", key: "u") {
            try $1.addAttribute(named: "u", type: .undefined)
        }
        check("E.o has the type Object ID, \(advice)", key: "o") {
            try $1.addAttribute(named: "o", type: .objectID)
        }
        XCTAssertNil(
            refusal {
                try $1.addAttribute(named: "u", type: .undefined, isTransient: true)
                try $1.addAttribute(named: "o", type: .objectID, isTransient: true).setIgnoresChanges(true)
            })
        check(
            "E.s ignores changes but is not transient; make it transient, or clear CST_PROPERTY_IGNORES_CHANGES "
                + "(ignores_changes, setIgnoresChanges)", key: "s"
        ) { try $1.addAttribute(named: "s", type: .string).setIgnoresChanges(true) }
        check(
            "E.p.x is an element of a composite attribute and cannot be derived; remove its derivation, or add a derived attribute to the entity",
            key: "p.x"
        ) {
            let element = try $1.addAttribute(named: "p", type: .composite).addElement(named: "x", type: .string)
            try element.setDerivation(Derivation(ExpressionText("a")))
        }
        check("E.p.q is composite but does not have elements; add an element", key: "p.q") {
            try $1.addAttribute(named: "p", type: .composite).addElement(named: "q", type: .composite)
        }
        for kind in 0..<3 {
            check(
                "Child.a has the name of an inherited property; rename or remove it", entity: "Child", key: "a"
            ) {
                let child = try $0.addEntity(named: "Child")
                try child.setParent($1)
                switch kind {
                case 0: try child.addAttribute(named: "a", type: .date)
                case 1: try child.addRelationship(named: "a", destination: child)
                default:
                    try child.addFetchedProperty(named: "a", fetchRequest: FetchRequestTemplate(entityName: "E"))
                }
            }
        }
    }

    func testConfigurationNamedDefaultIsRejected() {
        check(
            "\"Default\" is the name of the configuration with all entities; choose another name",
            entity: nil, key: "Default"
        ) { model, _ in try model.setConfiguration(ModelConfiguration(name: "Default", entityNames: ["E"])) }
    }

    func testErrorsSuggestSimilarNames() throws {
        let model = Model()
        let (base, child) = (try model.addEntity(named: "Person"), try model.addEntity(named: "Manager"))
        try child.setParent(base)
        try base.addAttribute(named: "salary", type: .decimal)
        try child.addAttribute(named: "bonus", type: .decimal)
        try base.addFetchedProperty(named: "peers", fetchRequest: FetchRequestTemplate(entityName: "Person"))
        try model.freeze()
        let cases: [(CoreError?, String, String?, String?)] = [
            (
                failure { _ = try child.requireProperty(named: "peers") },
                "Manager.peers is a fetched property, not an attribute or a relationship", "Manager", "peers"
            ),
            (
                failure { _ = try model.requireEntity(named: "Preson") },
                "the model has no entity \"Preson\"; did you mean \"Person\"?", "Preson", nil
            ),
            (
                failure { _ = try child.requireProperty(named: "salry") },
                "Manager has no property \"salry\"; did you mean \"salary\"?", "Manager", "salry"
            ),
            (
                failure { _ = try child.requireProperty(named: "zzzzzzzz") }, "Manager has no property \"zzzzzzzz\"",
                "Manager", "zzzzzzzz"
            ),
            (
                failure { _ = try child.requireOwnProperty(named: "salary") },
                "Manager has no property \"salary\" of its own; use Person.salary", "Manager", "salary"
            ),
            (
                failure { _ = try child.requireOwnProperty(named: "bonsu") },
                "Manager has no property \"bonsu\"; did you mean \"bonus\"?", "Manager", "bonsu"
            ),
        ]
        for (error, message, entity, key) in cases {
            XCTAssertEqual(error?.status, .invalidArgument)
            XCTAssertEqual(error?.message, message)
            XCTAssertEqual(error?.entity, entity)
            XCTAssertEqual(error?.key, key)
        }
    }

    // MARK: - Kept errors and rejected edits

    func testFirstModelErrorIsRepeatedByLaterCalls() throws {
        let model = Model()
        let entity = try model.addEntity(named: "E")
        XCTAssertNotNil(failure { try model.addEntity(named: "1") })
        let first = failure { try entity.setAbstract(true) }
        XCTAssertEqual(first?.message.hasPrefix("\"1\" is not a valid name for an entity"), true)
        XCTAssertFalse(entity.isAbstract)
        model.recordError(CoreError(.invalidArgument, "later"))
        XCTAssertEqual(failure { try model.freeze() }?.message, first?.message)
        XCTAssertFalse(model.isFrozen)
        let second = Model()
        second.recordError(CoreError(.invalidArgument, "earlier"))
        second.recordError(CoreError(.invalidArgument, "later"))
        XCTAssertEqual(failure { try second.addEntity(named: "E") }?.message, "earlier")
    }

    func testRejectedEditLeavesTheModelUsable() throws {
        let model = Model()
        let entity = try model.addEntity(named: "E")
        let attribute = try entity.addAttribute(named: "a", type: .string)
        try entity.addAttribute(named: "b", type: .string)
        try model.addEntity(named: "F")
        XCTAssertEqual(
            failure { try attribute.rename(to: "b") }?.message, "E already has a property \"b\"; choose another name")
        XCTAssertEqual(failure { try entity.rename(to: "F") }?.status, .model)
        XCTAssertEqual(failure { try entity.rename(to: "1") }?.status, .model)
        XCTAssertEqual(
            failure { try model.requireEntity(named: "F").remove(attribute) }?.message,
            "E.a is not declared by F; remove it from E")
        let otherModel = try Model().copy()
        XCTAssertEqual(
            failure { try otherModel.remove(entity) }?.message,
            "cannot remove E: it belongs to another model; pass an entity of this model")
        XCTAssertEqual([entity.name, attribute.name], ["E", "a"])
        XCTAssertFalse(try entity.removeIndex(named: "none"))
        XCTAssertFalse(try entity.removeUniqueConstraint(["a"]))
        XCTAssertFalse(try model.removeConfiguration(named: "none"))
        XCTAssertFalse(try model.removeVersionIdentifier("none"))
        try attribute.rename(to: "a")
        try entity.rename(to: "E")
        try model.freeze()
    }

    func testFrozenModelRejectsChanges() throws {
        let model = Model()
        let entity = try model.addEntity(named: "E")
        let attribute = try entity.addAttribute(named: "a", type: .string)
        let fetched = try entity.addFetchedProperty(named: "f", fetchRequest: FetchRequestTemplate(entityName: "E"))
        try model.freeze()
        try model.freeze()
        for change: () throws -> Void in [
            { try model.addEntity(named: "F") }, { try entity.setAbstract(true) }, { try attribute.setOptional(false) },
            { try attribute.rename(to: "b") }, { try model.setLocalization("x", forKey: "Entity/E") },
            { try attribute.setUserInfo("x", forKey: "k") }, { try fetched.setOptional(false) },
        ] {
            XCTAssertEqual(
                failure(change)?.message,
                "the model is frozen and cannot be changed; change a copy made by cst_model_copy (copy)")
        }
        XCTAssertEqual(fetched.userInfoChanges, 0)
        try fetched.setUserInfo("x", forKey: "k")
        XCTAssertEqual(fetched.userInfo, ["k": "x"], "user info may change in a frozen model")
        XCTAssertEqual(fetched.userInfoChanges, 1)
        let copy = try model.copy()
        XCTAssertFalse(copy.isFrozen)
        try copy.entities[0].setAbstract(true)
        XCTAssertFalse(entity.isAbstract)
    }

    func testConfigurationsOfTheSameNameKeepTheirPosition() throws {
        let model = Model()
        for name in ["A", "B", "C"] { try model.setConfiguration(ModelConfiguration(name: name, entityNames: [])) }
        try model.setConfiguration(ModelConfiguration(name: "B", entityNames: ["E"]))
        XCTAssertEqual(model.configurations.map(\.name), ["A", "B", "C"])
        XCTAssertEqual(model.configuration(named: "B")?.entityNames, ["E"])
        XCTAssertTrue(try model.removeConfiguration(named: "A"))
        XCTAssertNil(model.configuration(named: "A"))
        XCTAssertEqual(model.configuration(named: "C")?.name, "C")
        try model.setConfiguration(ModelConfiguration(name: "C", entityNames: ["F"]))
        XCTAssertEqual(model.configurations.map(\.entityNames), [["E"], ["F"]])
        for identifier in ["2", "1", "2"] { try model.addVersionIdentifier(identifier) }
        XCTAssertEqual(model.versionIdentifiers, ["2", "1"])
        XCTAssertTrue(try model.removeVersionIdentifier("2"))
        try model.addVersionIdentifier("2")
        XCTAssertEqual(model.versionIdentifiers, ["1", "2"])
    }
}
