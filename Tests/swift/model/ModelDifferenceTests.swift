import CorestoneValues
import XCTest

@testable import CorestoneModel

final class ModelDifferenceTests: XCTestCase {
    func testModelDoesNotDifferFromItsCompiledForm() throws {
        let model = try SampleModels.everything()
        for form in [CompiledModelForm.cache, .file] {
            let read = try Model(compiledModel: compiledModel(model, form: form))
            XCTAssertEqual(read.differences(from: model), [])
            XCTAssertEqual(read.entities.count, 4)
            XCTAssertEqual(read.versionIdentifiers, ["1.0", "Ünïcode"])
        }
    }

    func testDifferencesNameEntityAndProperty() throws {
        func model(_ change: (Entity, Entity, Entity) throws -> Void) throws -> Model {
            let model = Model()
            let (base, package, section) = (
                try model.addEntity(named: "Base"), try model.addEntity(named: "Package"),
                try model.addEntity(named: "Section")
            )
            try package.setParent(base)
            try base.addAttribute(named: "name", type: .string, isOptional: false)
            try package.addAttribute(named: "cache", type: .undefined, isTransient: true)
            try change(base, package, section)
            return model
        }
        func texts(_ stored: Model, _ wanted: Model) throws -> [String] {
            try Model(compiledModel: compiledModel(stored)).differences(from: wanted).map(\.text)
        }
        let plain = try model { _, _, _ in }
        XCTAssertEqual(
            try texts(
                try model { _, package, _ in try package.addAttribute(named: "size", type: .integer32) },
                try model { _, package, _ in try package.addAttribute(named: "size", type: .integer64) }),
            ["Package.size is of type Integer 32 in the store and of type Integer 64 in the model"])
        XCTAssertEqual(
            try texts(plain, try model { base, _, _ in try base.addAttribute(named: "x", type: .date) }),
            ["Base.x is in the model only"], "an inherited property is named once")
        XCTAssertEqual(
            try texts(
                try model { _, package, section in try package.addRelationship(named: "section", destination: section)
                },
                try model { _, package, section in
                    try package.addRelationship(named: "section", destination: section, isToMany: true)
                }),
            ["Package.section is to-one in the store and to-many with any number of members in the model"])
        XCTAssertEqual(
            try texts(
                plain,
                try model { _, package, _ in try package.addAttribute(named: "t", type: .string, isTransient: true) }),
            [])
        XCTAssertEqual(try texts(plain, Model()).count, 3)
        XCTAssertEqual(
            try texts(plain, try model { base, _, _ in try base.addUniqueConstraint(["name"]) }),
            ["Base does not have a unique constraint in the store and has the unique constraint (name) in the model"])
        XCTAssertEqual(
            try texts(try model { base, _, _ in try base.setAbstract(true) }, plain),
            ["Base is abstract in the store and not abstract in the model"])
    }

    /// Each input of the version hash, one at a time.
    func testEveryInputOfTheVersionHashIsADifference() throws {
        struct Parts {
            let entity: Entity
            let attribute: Attribute
            let relationship: Relationship
        }
        func model(_ change: (Parts) throws -> Void) throws -> Model {
            let model = Model()
            let (entity, other) = (try model.addEntity(named: "E"), try model.addEntity(named: "F"))
            let attribute = try entity.addAttribute(named: "a", type: .binary)
            let relationship = try entity.addRelationship(named: "r", destination: other, isToMany: true)
            try other.addRelationship(named: "back", destination: entity)
            try change(Parts(entity: entity, attribute: attribute, relationship: relationship))
            return model
        }
        let changes: [(String, (Parts) throws -> Void)] = [
            (
                "E.a is an attribute in the store and a derived attribute in the model",
                { try $0.attribute.setDerivation(Derivation(ExpressionText("r.@count"))) }
            ),
            (
                "E.a is an attribute in the store and a relationship in the model",
                {
                    try $0.entity.remove($0.attribute)
                    try $0.entity.addRelationship(named: "a", destination: $0.entity)
                }
            ),
            (
                "E.a is of type Binary Data in the store and of type String in the model",
                { try $0.attribute.setType(.string) }
            ),
            ("E.a is optional in the store and required in the model", { try $0.attribute.setOptional(false) }),
            (
                "E.a does not allow external storage in the store and allows external storage in the model",
                { try $0.attribute.setAllowsExternalStorage(true) }
            ),
            (
                "E.a is not preserved in the history in the store and preserved in the history in the model",
                { try $0.attribute.setPreservesValueInHistory(true) }
            ),
            (
                "E.a does not have a version hash modifier in the store and has the version hash modifier \"m\" in the "
                    + "model",
                { try $0.attribute.setVersionHashModifier("m") }
            ),
            ("E.a is in the store only", { try $0.attribute.setTransient(true) }),
            (
                "E.r has the destination F in the store and the destination E in the model",
                { try $0.relationship.setDestination($0.entity) }
            ),
            (
                "E.r does not have an inverse in the store and has the inverse back in the model",
                { try $0.relationship.setInverse(try XCTUnwrap($0.relationship.destination.ownRelationships.first)) }
            ),
            (
                "E.r is to-many with any number of members in the store and to-many with at most 3 members in the model",
                { try $0.relationship.setCounts(minimum: 0, maximum: 3) }
            ),
            (
                "E.r has at least 0 members in the store and at least 2 members in the model",
                { try $0.relationship.setCounts(minimum: 2, maximum: 0) }
            ),
            ("E.r is not ordered in the store and ordered in the model", { try $0.relationship.setOrdered(true) }),
            (
                "E does not have a superentity in the store and has the superentity F in the model",
                { try $0.entity.setParent(try $0.entity.model.requireEntity(named: "F")) }
            ),
            (
                "E has different version hash modifiers in the store and in the model",
                { try $0.entity.setVersionHashModifier("m") }
            ),
            (
                "E does not have a unique constraint in the store and has the unique constraints (a), (r, a) in the "
                    + "model",
                {
                    try $0.entity.addUniqueConstraint(["r", "a"])
                    try $0.entity.addUniqueConstraint(["a"])
                }
            ),
        ]
        let plain = try model { _ in }
        for (text, change) in changes {
            let other = try model(change)
            let found = plain.differences(from: other)
            XCTAssertEqual(found.first { $0.entity == "E" }?.text, text)
            XCTAssertNotEqual(entityVersionHashes(of: plain)["E"], entityVersionHashes(of: other)["E"], text)
            let subject = text.prefix { $0 != " " }.split(separator: ".").map(String.init)
            XCTAssertEqual(found.first { $0.entity == "E" }?.key, subject.count == 2 ? subject[1] : nil, text)
        }
        let unbounded = try model { try $0.relationship.setCounts(minimum: 0, maximum: .max) }
        XCTAssertEqual(plain.differences(from: unbounded), [], "the difference does not affect the hash")
        let modified = try model { try $0.attribute.setVersionHashModifier("m") }
        XCTAssertEqual(
            modified.differences(from: plain).map(\.text),
            [
                "E.a has the version hash modifier \"m\" in the store and does not have a version hash modifier in the "
                    + "model"
            ])
    }

    func testMutatedModelsNeverTrap() throws {
        let seed = try compiledModel(try SampleModels.everything())
        let model = try SampleModels.everything()
        var generator = SeededGenerator(state: 815)
        var count = 0
        for _ in 0..<1000 {
            var bytes = seed
            for _ in 0..<Int.random(in: 1...8, using: &generator) {
                bytes[Int.random(in: 0..<bytes.count, using: &generator)] = UInt8.random(in: 0...255, using: &generator)
            }
            guard let read = try? Model(compiledModel: bytes) else { continue }
            _ = read.differences(from: model)
            count += 1
        }
        XCTAssertGreaterThan(count, 50)
    }
}
