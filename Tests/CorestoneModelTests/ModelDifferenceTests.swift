import CorestoneValues
import XCTest

@testable import CorestoneModel

final class ModelDifferenceTests: XCTestCase {
    func testOwnModelsDoNotDifferFromThemselves() throws {
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
            ["Package.size is Integer 32 in the store and Integer 64 in the model"])
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
            ["Base has no unique constraint in the store and unique (name) in the model"])
        XCTAssertEqual(
            try texts(try model { base, _, _ in try base.setAbstract(true) }, plain),
            ["Base is abstract in the store and not abstract in the model"])
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
