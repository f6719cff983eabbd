import Corestone
import XCTest

@testable import CorestoneGraph

/// A store that does not support a feature of its model is refused.
final class StoreAbilityTests: XCTestCase {
    private func refusal(_ model: Model, _ abilities: StoreAbilities) throws -> CoreError? {
        let store = MemoryStore(model: model)
        store.abilities = abilities
        let coordinator = try Coordinator(model: model)
        do { _ = try coordinator.add(store) } catch {
            XCTAssertTrue(coordinator.stores.isEmpty)
            return error as? CoreError
        }
        return nil
    }

    /// In Core Data, atomic stores raise an exception when they are added.
    func testS164StoreWithoutDerivationRefusesDerivedAttributes() throws {
        let model = Model()
        let author = try model.addEntity(named: "Author")
        try author.addAttribute(named: "name", type: .string)
        let copy = try author.addAttribute(named: "nameCopy", type: .string)
        try copy.setDerivation(Derivation(ExpressionText("name")))
        let error = try XCTUnwrap(refusal(model, .uniqueConstraints))
        XCTAssertEqual(error.status, .unsupported)
        XCTAssertEqual(error.entity, "Author")
        XCTAssertEqual(error.key, "nameCopy")
        XCTAssertTrue(error.message.contains("Author.nameCopy is derived"), error.message)
        XCTAssertNil(try refusal(model, .derivedAttributes))
    }

    func testErrorNamesEachUnsupportedAttributeAndConstraint() throws {
        let model = Model()
        for name in ["Author", "Thing"] {
            let entity = try model.addEntity(named: name)
            try entity.addAttribute(named: "name", type: .string)
            try entity.addUniqueConstraint(["name"])
            try entity.addAttribute(named: "copy", type: .string).setDerivation(Derivation(ExpressionText("name")))
        }
        let derived = try XCTUnwrap(refusal(model, .uniqueConstraints))
        XCTAssertEqual([derived.entity, derived.key], ["Author", "copy"])
        XCTAssertTrue(derived.message.contains("Author.copy and Thing.copy are derived"), derived.message)
        let unique = try XCTUnwrap(refusal(model, .derivedAttributes))
        XCTAssertEqual([unique.entity, unique.key], ["Author", "name"])
        XCTAssertTrue(unique.message.contains("Author.name and Thing.name must be unique"), unique.message)
    }

    func testStoreWithoutUniqueChecksRefusesUniqueConstraints() throws {
        let model = Model()
        let thing = try model.addEntity(named: "Thing")
        try thing.addAttribute(named: "code", type: .string)
        try thing.addUniqueConstraint(["code"])
        let error = try XCTUnwrap(refusal(model, .derivedAttributes))
        XCTAssertEqual(error.entity, "Thing")
        XCTAssertEqual(error.key, "code")
        XCTAssertTrue(error.message.contains("Thing.code must be unique"), error.message)
        XCTAssertNil(try refusal(model, [.derivedAttributes, .uniqueConstraints]))
    }
}
