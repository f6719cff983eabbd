import CorestonePredicate
import CorestoneValues
import XCTest

@testable import CorestoneModel

/// Model elements beyond plain attributes and relationships.
final class ModelNounTests: XCTestCase {
    func testDerivationOperatorsBecomeFunctions() {
        for (text, expected) in [
            ("pages.@count", "count:(pages)"), ("beachEntities.rating.@sum", "sum:(beachEntities.rating)"),
            ("items.@sum.price", "items.@sum.price"), ("primaryLabel.code", "primaryLabel.code"),
            ("canonical:(city)", "canonical:(city)"), ("now()", "now()"), ("count:(pages)", "count:(pages)"),
        ] {
            let derivation = Derivation(ExpressionText(text))
            XCTAssertEqual(derivation.expression.text, expected)
            XCTAssertNotNil(derivation.expression.expression, text)
            let intermediate = derivation.intermediateOperator
            XCTAssertEqual(intermediate?.hasSuffix("as in items.price.@sum"), text.contains("@sum.") ? true : nil)
        }
        XCTAssertEqual(Derivation(ExpressionText("no (( sense")).expression.text, "no (( sense")
    }

    func testUnreadablePredicateIsKeptAndFailsOnUse() {
        let text = PredicateText("name ~~ 3")
        XCTAssertNil(text.predicate)
        XCTAssertEqual(text.text, "name ~~ 3")
        XCTAssertThrowsError(try text.required()) { XCTAssertEqual(($0 as? CoreError)?.status, .predicateSyntax) }
    }

    func testCompositesHaveLeavesAndKeyPaths() throws {
        let model = Model()
        let place = try model.addEntity(named: "Place")
        let location = try place.addAttribute(named: "location", type: .composite)
        try location.setCompositeName("Location")
        try location.addElement(named: "latitude", type: .double)
        let altitude = try location.addElement(named: "altitude", type: .composite)
        try altitude.addElement(named: "meters", type: .float)
        try altitude.addElement(named: "source", type: .string, isOptional: false)
        XCTAssertEqual(
            location.leaves.map(\.path), ["location.latitude", "location.altitude.meters", "location.altitude.source"])
        XCTAssertEqual(altitude.composite?.name, "location")
        let plain = try XCTUnwrap(entityVersionHashes(of: model)["Place"])
        try altitude.addElement(named: "age", type: .date)
        XCTAssertNotEqual(entityVersionHashes(of: model)["Place"], plain)
        try model.freeze()
        XCTAssertEqual(
            place.properties.map(\.path),
            ["location"]
                + ["latitude", "altitude", "altitude.meters", "altitude.source", "altitude.age"].map {
                    "location.\($0)"
                })
        XCTAssertEqual(place.allProperties.map(\.path), ["location"])
    }

    func testInvalidCompositesAreRejected() throws {
        func message(_ build: (Entity) throws -> Void) -> String? {
            do {
                let model = Model()
                try build(try model.addEntity(named: "E"))
                try model.freeze()
                return nil
            } catch { return (error as? CoreError)?.message }
        }
        XCTAssertEqual(
            message { try $0.addAttribute(named: "a", type: .composite) },
            "E.a is composite but does not have elements; add an element")
        XCTAssertEqual(
            message { try $0.addAttribute(named: "a", type: .string).addElement(named: "b", type: .string) },
            "E.a is not composite and cannot have elements; set its type to Composite first")
        XCTAssertEqual(
            message { try $0.addAttribute(named: "a", type: .objectID) },
            "E.a has the type Object ID, which only a transient attribute can have; set another type, or make it transient"
        )
        XCTAssertEqual(
            message { entity in
                var attribute = try entity.addAttribute(named: "a", type: .composite)
                for _ in 0..<20 { attribute = try attribute.addElement(named: "a", type: .composite) }
            }?.suffix(83), "is nested 16 levels deep, which is the limit; add the element to an outer attribute")
    }

    func testConfigurationsAndTemplatesAreFoundByName() throws {
        let model = try SampleModels.everything()
        XCTAssertEqual(try model.entities(ofConfiguration: "Small").map(\.name), ["Tag", "note"])
        XCTAssertEqual(try model.entities(ofConfiguration: nil).count, 4)
        XCTAssertEqual(try model.entities(ofConfiguration: "Default").count, 4)
        XCTAssertThrowsError(try model.entities(ofConfiguration: "small")) {
            XCTAssertEqual(
                ($0 as? CoreError)?.message, "the model has no configuration \"small\"; did you mean \"Small\"?")
        }
        XCTAssertEqual(model.fetchRequestTemplates["notesBeginning"]?.entityName, "note")
        XCTAssertThrowsError(try model.setFetchRequestTemplate(nil, forName: "x"), "a frozen model")
        let note = try model.requireEntity(named: "note")
        XCTAssertEqual(note.fetchedProperties.map(\.name), ["sameTags"])
        XCTAssertNil(note.property(named: "sameTags"), "a fetched property does not have a slot")
    }

    func testInheritanceDepthIsLimited() throws {
        func chain(_ count: Int, topDown: Bool) throws -> Model {
            let model = Model()
            let entities = try (0..<count).map { try model.addEntity(named: "E\($0)") }
            let pairs = zip(entities.dropFirst(), entities)
            for (child, parent) in topDown ? Array(pairs) : pairs.reversed() { try child.setParent(parent) }
            try model.freeze()
            return model
        }
        for topDown in [true, false] {
            XCTAssertEqual(try chain(Entity.maximumInheritance, topDown: topDown).entities.count, 128)
            XCTAssertThrowsError(try chain(20_000, topDown: topDown)) {
                let message = ($0 as? CoreError)?.message ?? ""
                XCTAssertTrue(
                    message.hasSuffix(" more than 127 superentities, which is the limit; flatten the inheritance"),
                    message)
            }
        }
    }

    func testEntityTreeOfAnyDepthIsFreed() throws {
        weak var lowest: Entity?
        func grow() throws {
            let model = Model()
            let entities = try (0..<Model.maximumEntities).map { try model.addEntity(named: "E\($0)") }
            for (child, parent) in zip(entities.dropFirst(), entities).reversed() { try child.setParent(parent) }
            lowest = entities.last
            XCTAssertNotNil(lowest)
        }
        try grow()
        XCTAssertNil(lowest)
    }

    func testNumberOfSlotsIsLimited() throws {
        let model = Model()
        let base = try model.addEntity(named: "Base")
        for number in 0..<4000 { try base.addAttribute(named: "a\(number)", type: .boolean) }
        for number in 0..<1000 { try model.addEntity(named: "E\(number)").setParent(base) }
        XCTAssertThrowsError(try model.freeze()) {
            XCTAssertEqual(
                ($0 as? CoreError)?.message,
                "the model has 4004000 properties, counting inherited ones and elements, but the limit is 4000000; "
                    + "move inherited properties to subentities, or split the model")
        }
    }

    /// A hundred thousand equal entities with one superentity.
    func testLargeModelsFreezeInLinearTime() throws {
        try assertLinearTime(upTo: 100_000) { count in
            let model = Model()
            let base = try model.addEntity(named: "Base")
            for number in 0..<count {
                let entity = try model.addEntity(named: "E\(number)")
                try entity.setParent(base)
                try entity.addAttribute(named: "a", type: .string)
            }
            try model.freeze()
            XCTAssertEqual(model.entity(named: "E\(count - 1)")?.property(named: "a")?.slot, 0)
        }
    }
}
