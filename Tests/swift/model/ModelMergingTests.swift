import CorestoneValues
import Foundation
import XCTest

@testable import CorestoneModel

/// Copies and merged models.
final class ModelMergingTests: XCTestCase {
    private func failure(_ body: () throws -> Void) -> CoreError? {
        do { try body() } catch { return error as? CoreError }
        return nil
    }

    private func check(_ model: Model, _ name: String) throws {
        let copy = try model.copy()
        XCTAssertFalse(copy.isFrozen)
        XCTAssertTrue(copy.summary == model.summary, name)
        let merged = try Model.merging([model, copy])
        XCTAssertTrue(merged.entities.map(\.summary) == model.entities.map(\.summary), "\(name), merged with itself")
        // One fixture has an attribute without a type, so it cannot be frozen.
        do { try model.freeze() } catch { return }
        try copy.freeze()
        XCTAssertEqual(entityVersionHashes(of: copy), entityVersionHashes(of: model), name)
        for (one, two) in zip(model.entities, copy.entities) {
            XCTAssertEqual(one.properties.map(\.name), two.properties.map(\.name), "the slots of \(one.name) differ")
            XCTAssertEqual(one.number, two.number)
        }
    }

    func testCopiesEqualTheirModels() throws {
        try check(try SampleModels.everything(), "everything")
        var fixtures = 0
        let folder = try Fixtures.folder().appendingPathComponent("source-models")
        for case let file as URL in FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
            ?? .init()
        where file.lastPathComponent == "contents" {
            try check(try Model(contentsOf: file.path), file.path)
            fixtures += 1
        }
        for store in try Fixtures.stores() {
            guard let packed = store.packedModel else { continue }
            try check(try Model(modelCache: packed), store.name)
            fixtures += 1
        }
        XCTAssertGreaterThan(fixtures, 100)
    }

    /// Two halves of one model, which share an entity.
    private func half(_ name: String, age: AttributeType = .integer16, isAgeOptional: Bool = true) throws -> Model {
        let model = Model()
        let person = try model.addEntity(named: "Person")
        let other = try model.addEntity(named: name)
        try person.addAttribute(named: "age", type: age, isOptional: isAgeOptional)
        try other.addAttribute(named: "title", type: .string)
        try model.setConfiguration(ModelConfiguration(name: "Synced", entityNames: [name]))
        try model.addVersionIdentifier(name)
        return model
    }

    func testMergingCombinesModelsThatShareAnEntity() throws {
        let merged = try Model.merging([half("Book"), half("Song")])
        XCTAssertEqual(merged.entities.map(\.name), ["Person", "Book", "Song"])
        XCTAssertEqual(merged.configuration(named: "Synced")?.entityNames, ["Book", "Song"])
        XCTAssertEqual(merged.versionIdentifiers, ["Book", "Song"])
        XCTAssertEqual(try Model.merging([]).entities.count, 0)
    }

    func testMergeErrorNamesTheDifference() throws {
        let type = failure { _ = try Model.merging([half("Book"), half("Song", age: .integer32)]) }
        XCTAssertEqual(type?.status, .model)
        XCTAssertEqual(type?.entity, "Person")
        XCTAssertEqual(
            type?.message,
            "two models to merge have different entities named \"Person\": age.type is \"Integer 16\" in one and "
                + "\"Integer 32\" in the other; make the two entities equal, or rename one"
        )
        let optional = failure { _ = try Model.merging([half("Book"), half("Song", isAgeOptional: false)]) }
        XCTAssertTrue(optional?.message.contains("age.optional is 1 in one and 0") == true)
        let (one, two) = (try half("Book"), try half("Song"))
        try one.setFetchRequestTemplate(FetchRequestTemplate(entityName: "Book"), forName: "all")
        try two.setFetchRequestTemplate(FetchRequestTemplate(entityName: "Song"), forName: "all")
        XCTAssertTrue(
            failure { _ = try Model.merging([one, two]) }?.message.contains(
                "different fetch request templates named \"all\"")
                == true)
    }

    func testMergeCombinesLocalizationRequestsAndConfigurations() throws {
        let (one, two) = (try half("Book"), try half("Song"))
        try one.setLocalization("one", forKey: "Entity/Person")
        try one.setLocalization("stays", forKey: "Entity/Book")
        try two.setLocalization("two", forKey: "Entity/Person")
        try one.setFetchRequestTemplate(FetchRequestTemplate(entityName: "Book"), forName: "books")
        try two.setFetchRequestTemplate(FetchRequestTemplate(entityName: "Song"), forName: "songs")
        for model in [one, two] {
            try model.setFetchRequestTemplate(FetchRequestTemplate(entityName: "Person"), forName: "people")
        }
        try one.setConfiguration(ModelConfiguration(name: "Both", entityNames: ["Person", "Book"]))
        try two.setConfiguration(
            ModelConfiguration(name: "Both", entityNames: ["Song", "Person"], isUsedWithCloudKit: true))
        let merged = try Model.merging([one, two])
        XCTAssertEqual(
            merged.localization, ["Entity/Person": "two", "Entity/Book": "stays"], "the later entry is used")
        XCTAssertEqual(
            merged.fetchRequestTemplates.mapValues(\.entityName),
            [
                "books": "Book", "songs": "Song", "people": "Person",
            ])
        XCTAssertEqual(
            merged.configuration(named: "Both"),
            ModelConfiguration(name: "Both", entityNames: ["Person", "Book", "Song"], isUsedWithCloudKit: true))
        XCTAssertEqual(merged.configurations.map(\.name), ["Synced", "Both"])
        XCTAssertFalse(merged.isFrozen)
    }

    /// Every difference that prevents the merging of two entities with one name.
    func testEveryDifferenceOfEntitiesPreventsAMerge() throws {
        func model(_ change: (Entity) throws -> Void) throws -> Model {
            let model = Model()
            let entity = try model.addEntity(named: "E")
            try entity.addAttribute(named: "a", type: .string)
            try entity.addRelationship(named: "r", destination: entity, isToMany: true)
            try entity.addFetchedProperty(named: "f", fetchRequest: FetchRequestTemplate(entityName: "E"))
            try entity.addIndex(FetchIndex(name: "i", elements: [.init(property: "a")]))
            try change(entity)
            return model
        }
        let changes: [(String, (Entity) throws -> Void)] = [
            ("abstract is 0 in one and 1", { try $0.setAbstract(true) }),
            ("className is missing in one and \"C\"", { try $0.setClassName("C") }),
            ("userInfo.k is missing in one and \"v\"", { try $0.setUserInfo("v", forKey: "k") }),
            ("uniqueConstraints is ", { try $0.addUniqueConstraint(["a"]) }),
            ("a.default is missing in one and \"x\"", { try $0.ownAttributes[0].setDefaultValue(.string("x")) }),
            ("b.kind is missing in one and \"attributes\"", { try $0.addAttribute(named: "b", type: .date) }),
            ("r.deleteRule is \"Nullify\" in one and \"Deny\"", { try $0.ownRelationships[0].setDeleteRule(.deny) }),
            (
                "f.fetchRequest.limit is missing in one and 3",
                {
                    var request = FetchRequestTemplate(entityName: "E")
                    request.limit = 3
                    try $0.ownFetchedProperties[0].setFetchRequest(request)
                }
            ),
            (
                "i.elements is ",
                {
                    try $0.removeIndex(named: "i")
                    try $0.addIndex(FetchIndex(name: "i", elements: [.init(property: "a", isAscending: false)]))
                }
            ),
        ]
        for (words, change) in changes {
            let error = failure { _ = try Model.merging([try model { _ in }, try model(change)]) }
            XCTAssertEqual(error?.status, .model)
            XCTAssertTrue(
                error?.message.hasPrefix("two models to merge have different entities named \"E\": \(words)") == true,
                error?.message ?? words)
        }
        var extras = SourceExtras()
        extras.attributes = ["syncable": "YES"]
        XCTAssertEqual(
            try Model.merging([try model { _ in }, try model { try $0.setExtras(extras) }]).entities.count, 1,
            "content without a meaning for the library is not a difference")
    }

    func testMergeSelectsTheModelOfAStoreByHashes() throws {
        let (book, song) = (try half("Book"), try half("Song", age: .integer32))
        try book.freeze()
        try song.freeze()
        var hashes = entityVersionHashes(of: song)
        hashes["Book"] = entityVersionHashes(of: book)["Book"]
        let found = try Model.merging([book, song], forHashes: hashes)
        XCTAssertEqual(found.entities.map(\.name), ["Book", "Person", "Song"])
        XCTAssertEqual(found.entity(named: "Person")?.ownAttributes[0].type, .integer32)
        try found.freeze()
        XCTAssertEqual(entityVersionHashes(of: found), hashes)
        hashes["Film"] = hashes["Book"]
        hashes["Song"] = hashes["Book"]
        let missing = failure { _ = try Model.merging([book, song], forHashes: hashes) }
        XCTAssertEqual(missing?.status, .modelMismatch)
        XCTAssertEqual(missing?.code, 134130)
        XCTAssertTrue(
            missing?.message.hasPrefix(
                "the store's versions of Film and Song are not in any of the 2 models; add the model") == true,
            missing?.message ?? "")
    }
}
