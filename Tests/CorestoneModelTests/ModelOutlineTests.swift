import CorestoneValues
import XCTest

@testable import CorestoneModel

final class ModelOutlineTests: XCTestCase {
    func testOwnModelsDoNotDifferFromThemselves() throws {
        let model = try SampleModels.everything()
        for form in [CompiledModelForm.cache, .file] {
            let outline = try ModelOutline(compiledModel: compiledModel(model, form: form))
            XCTAssertEqual(outline.differences(from: model), [])
            XCTAssertEqual(outline.entities.count, 4)
            XCTAssertEqual(outline.versionIdentifiers, ["1.0", "Ünïcode"])
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
            try ModelOutline(compiledModel: compiledModel(stored)).differences(from: wanted).map(\.text)
        }
        let plain = try model { _, _, _ in }
        XCTAssertEqual(
            try texts(
                try model { _, package, _ in try package.addAttribute(named: "size", type: .integer32) },
                try model { _, package, _ in try package.addAttribute(named: "size", type: .integer64) }),
            ["Package.size is Integer 32 in the store and is Integer 64 in the model"])
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
            ["Package.section is to-one in the store and is to-many with any number of members in the model"])
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

    /// Models rebuilt from what Apple's framework cached in real stores hash as the same framework said.
    func testHashesOfRealModelsAreTheKnownOnes() throws {
        var (models, entities) = (0, 0)
        for store in try Fixtures.stores() {
            guard let packed = store.packedModel else { continue }
            let outline = try ModelOutline(compiledModel: try inflateRaw(packed))
            let known = try StoreMetadata(decoding: store.metadata).entityVersionHashes
            guard let model = try rebuild(outline) else { continue }
            let hashes = entityVersionHashes(of: model)
            for (name, hash) in known {
                XCTAssertEqual(hashes[name], hash, "\(name) of \(store.name)")
                entities += 1
            }
            XCTAssertEqual(outline.differences(from: model), [], store.name)
            models += 1
        }
        XCTAssertGreaterThan(models, 25)
        XCTAssertGreaterThan(entities, 120)
    }

    /// A model of the outline's shape; nil when it has what our models cannot say, such as derived attributes.
    private func rebuild(_ outline: ModelOutline) throws -> Model? {
        let model = Model()
        for name in outline.entities.keys { try model.addEntity(named: name) }
        for (name, shape) in outline.entities {
            let entity = try XCTUnwrap(model.entity(named: name))
            if let parent = shape.parent.flatMap({ model.entity(named: $0) }) { try entity.setParent(parent) }
            try entity.setAbstract(shape.isAbstract)
            try entity.setVersionHashModifier(shape.versionHashModifier)
            for constraint in shape.uniqueConstraints { try entity.addUniqueConstraint(constraint) }
            let inherited = shape.parent.flatMap { outline.entities[$0] }?.properties ?? [:]
            for (key, property) in shape.properties where inherited[key] == nil {
                switch property.kind {
                case .derivedAttribute: return nil
                case .fetchedProperty: continue
                case .attribute:
                    guard let type = Int32(exactly: property.typeCode).flatMap(AttributeType.init(rawValue:)) else {
                        return nil
                    }
                    let attribute = try entity.addAttribute(
                        named: key, type: type, isOptional: property.isOptional, isTransient: property.isTransient)
                    try attribute.setAllowsExternalStorage(property.allowsExternalStorage)
                    try attribute.setPreservesValueInHistory(property.preservesValueInHistory)
                    try attribute.setVersionHashModifier(property.versionHashModifier)
                case .relationship:
                    guard let destination = property.destination.flatMap({ model.entity(named: $0) }) else {
                        return nil
                    }
                    let relationship = try entity.addRelationship(
                        named: key, destination: destination, isToMany: property.maximumCount != 1,
                        isOptional: property.isOptional, isOrdered: property.isOrdered)
                    try relationship.setCounts(
                        minimum: UInt32(clamping: property.minimumCount),
                        maximum: UInt32(clamping: property.maximumCount))
                    try relationship.setVersionHashModifier(property.versionHashModifier)
                    try relationship.setTransient(property.isTransient)
                }
            }
        }
        try connect(model, outline)
        return model
    }

    private func connect(_ model: Model, _ outline: ModelOutline) throws {
        for entity in model.entities {
            for relationship in entity.ownRelationships where relationship.inverse == nil {
                guard let name = outline.entities[entity.name]?.properties[relationship.name]?.inverse,
                    let inverse = relationship.destination.allProperties.first(where: { $0.name == name })
                        as? Relationship
                else { continue }
                try relationship.setInverse(inverse)
            }
        }
    }

    func testMutatedModelsNeverTrap() throws {
        let seed = compiledModel(try SampleModels.everything())
        let model = try SampleModels.everything()
        var generator = SeededGenerator(state: 815)
        var read = 0
        for _ in 0..<1000 {
            var bytes = seed
            for _ in 0..<Int.random(in: 1...8, using: &generator) {
                bytes[Int.random(in: 0..<bytes.count, using: &generator)] = UInt8.random(in: 0...255, using: &generator)
            }
            guard let outline = try? ModelOutline(compiledModel: bytes) else { continue }
            _ = outline.differences(from: model)
            read += 1
        }
        XCTAssertGreaterThan(read, 50)
    }
}
