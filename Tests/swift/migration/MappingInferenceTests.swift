import CorestoneModel
import CorestonePredicate
import CorestoneValues
import Foundation
import XCTest

@testable import CorestoneMigration

/// Inferred mapping models, the check of their names, and the search for the mapping model of two models.
final class MappingInferenceTests: XCTestCase {
    private func models() throws -> (source: Model, destination: Model) {
        (
            try Model(
                text: """
                    {"Car": {"title": "string?", "doors": "int16?", "place": {"street": "string?", "city": "string?"},
                             "owner": "to-one Person? inverse cars"},
                     "Person": {"cars": "to-many Car inverse owner"}, "Gone": {"x": "string?"}}
                    """),
            try Model(
                text: """
                    {"Auto": {"@renaming_identifier": "Car", "name": {"type": "string", "optional": true, "renaming_identifier": "title"}, "doors": "int16?", "new": "string?",
                              "place": {"street": "string?", "city": "string?"}, "owner": "to-one Person? inverse cars"},
                     "Person": {"cars": "to-many Auto inverse owner"}, "Fresh": {"y": "string?"}}
                    """)
        )
    }

    func testInferenceMapsAddedRemovedRenamedAndChangedEntities() throws {
        let (source, destination) = try models()
        let model = try MappingModel(inferredFrom: source, to: destination)
        XCTAssertEqual(
            model.entityMappings.map { "\($0.name) \($0.kind.name)" }.sorted(),
            ["CarToAuto transform", "Fresh add", "Gone remove", "PersonToPerson transform"])
        XCTAssertEqual(model.entityMappings.last?.name, "Gone", "removed entities are the last ones")
        let car = try XCTUnwrap(model.entityMapping(named: "CarToAuto"))
        XCTAssertEqual(
            car.attributeMappings.map { "\($0.name): \($0.valueExpression?.format ?? "-")" },
            ["doors: $source.doors", "name: $source.title", "new: -", "place: $source.place"])
        XCTAssertEqual(
            car.relationshipMappings.map { $0.valueExpression?.format },
            [
                #"FUNCTION($manager, "destinationInstancesForSourceRelationshipNamed:sourceInstances:" , "owner", $source.owner)"#
            ])
        XCTAssertEqual(car.sourceExpression, MappingExpressions.objects(of: "Car"))
        XCTAssertEqual(car.sourceHash, entityVersionHashes(of: source)["Car"])
        XCTAssertEqual(car.destinationHash, entityVersionHashes(of: destination)["Auto"])
        let fresh = try XCTUnwrap(model.entityMapping(named: "Fresh"))
        XCTAssertNil(fresh.sourceExpression)
        XCTAssertNil(fresh.sourceHash)
        XCTAssertEqual(fresh.attributeMappings, [PropertyMapping(name: "y")])
        XCTAssertEqual(model.entityMapping(named: "Gone")?.attributeMappings, [])
        XCTAssertNoThrow(try model.validate())
        XCTAssertTrue(model.matches(source: source, destination: destination))
        XCTAssertFalse(model.matches(source: destination, destination: source))
        XCTAssertEqual(try MappingModel(data: model.source()).entityMappings, model.entityMappings)
        XCTAssertEqual(try MappingModel(data: model.compiled()).entityMappings, model.entityMappings)
        XCTAssertEqual(try MappingModel(json: model.json).entityMappings, model.entityMappings)
    }

    func testEqualEntitiesGetCopyMappings() throws {
        let source = try models().source
        let model = try MappingModel(inferredFrom: source, to: try models().source)
        XCTAssertEqual(Set(model.entityMappings.map(\.kind)), [.copy])
    }

    func testCompositeAttributeWithOtherElementsIsMappedByElement() throws {
        let source = try Model(text: #"{"A": {"place": {"street": "string?", "city": "string?"}}}"#)
        let destination = try Model(text: #"{"A": {"place": {"street": "string?", "country": "string?"}}}"#)
        let model = try MappingModel(inferredFrom: source, to: destination)
        XCTAssertEqual(
            model.entityMappings[0].attributeMappings.map { "\($0.name): \($0.valueExpression?.format ?? "-")" },
            ["place.country: -", "place.street: $source.place.street"])
        XCTAssertNoThrow(try model.validate())
    }

    func testInferredMappingWithTheNameOfAnotherOneGetsANumber() throws {
        let source = try Model(text: #"{"A": {"x": "string?"}, "AToB": {"x": "string?"}}"#)
        let destination = try Model(
            text: """
                {"BToC": {"@renaming_identifier": "A", "x": "string?"}, "C": {"@renaming_identifier": "AToB", "x": "string?"}}
                """)
        let model = try MappingModel(inferredFrom: source, to: destination)
        XCTAssertEqual(model.entityMappings.map(\.name), ["AToBToC", "AToBToC2"])
        XCTAssertEqual(try MappingModel(data: model.source()), model)
    }

    func testInferenceFailsForATypeChangeUnlessConversionIsAllowed() throws {
        let source = try Model(text: #"{"A": {"x": "string?"}}"#)
        let destination = try Model(text: #"{"A": {"x": "int16?"}}"#)
        XCTAssertThrowsError(try MappingModel(inferredFrom: source, to: destination)) {
            XCTAssertEqual(($0 as? CoreError)?.code, 134190)
            XCTAssertEqual(($0 as? CoreError)?.key, "x")
        }
        let model = try MappingModel(inferredFrom: source, to: destination, typeChanges: .exact)
        XCTAssertEqual(
            model.entityMappings[0].attributeMappings,
            [PropertyMapping(name: "x", valueExpression: MappingExpressions.source("x"))])
    }

    // MARK: Validation

    private func problem(_ mappings: [EntityMapping], _ change: (inout EntityMapping) -> Void = { _ in }) -> CoreError?
    {
        do {
            let (source, destination) = try models()
            var mappings = mappings
            change(&mappings[0])
            try MappingModel(mappings).validate(source: source, destination: destination)
            return nil
        } catch { return error as? CoreError }
    }

    private func car(_ change: (inout EntityMapping) -> Void) -> [EntityMapping] {
        var mapping = EntityMapping(name: "CarToAuto", kind: .transform, sourceName: "Car", destinationName: "Auto")
        change(&mapping)
        return [mapping]
    }

    func testValidationNamesTheMappingAndTheProperty() {
        XCTAssertNil(problem(car { _ in }))
        for (mappings, words, entity, key) in [
            (car { $0.name = "" }, "an entity mapping of Auto does not have a name", "Auto", nil),
            (
                car { $0.sourceName = "Cra" },
                "the entity mapping \"CarToAuto\" has the source \"Cra\", which is not an entity of the source model; did you mean "
                    + "\"Car\"?", "Cra", nil
            ),
            (
                car { $0.destinationName = "Atuo" },
                "has the destination \"Atuo\", which is not an entity of the destination model; did you mean \"Auto\"?",
                "Atuo", nil
            ),
            (
                car { $0.attributeMappings = [PropertyMapping(name: "nmae")] },
                "the entity mapping \"CarToAuto\" maps the attribute \"nmae\", which Auto does not have; did you mean \"name\"?",
                "Auto", "nmae"
            ),
            (
                car { $0.relationshipMappings = [PropertyMapping(name: "ownr")] },
                "maps the relationship \"ownr\", which Auto does not have; did you mean \"owner\"?", "Auto", "ownr"
            ),
            (
                car { $0.attributeMappings = [PropertyMapping(name: "owner")] },
                "maps Auto.owner as an attribute, but it is a relationship; move it to the relationship mappings",
                "Auto", "owner"
            ),
            (
                car { $0.relationshipMappings = [PropertyMapping(name: "name")] },
                "maps Auto.name as a relationship, but it is an attribute; move it to the attribute mappings", "Auto",
                "name"
            ),
            (
                car { $0.attributeMappings = [PropertyMapping(name: "name"), PropertyMapping(name: "name")] },
                "maps the property \"name\" twice", "Auto", "name"
            ),
            (
                car {
                    $0.relationshipMappings = [
                        PropertyMapping(
                            name: "owner",
                            valueExpression: MappingExpressions.destinations(
                                of: MappingExpressions.source("owner"), byMapping: "CarToAtuo"))
                    ]
                },
                "\"owner\" in the entity mapping \"CarToAuto\" refers to the entity mapping \"CarToAtuo\", which does not exist; did "
                    + "you mean \"CarToAuto\"?", "Auto", "owner"
            ),
            (car { $0.kind = .add }, "has the kind add and the source Car; remove the source", "Car", nil),
            (car { $0.kind = .remove }, "has the kind remove and the destination Auto", "Auto", nil),
            (
                car { $0.sourceName = nil },
                "has the kind transform, but does not have a source; set the source, or use the kind add", "Auto", nil
            ),
            (
                car { $0.destinationName = nil },
                "has the kind transform, but does not have a destination; set the destination, or use the kind remove",
                "Car", nil
            ),
            (car { _ in } + car { _ in }, "two entity mappings have the name \"CarToAuto\"", "Auto", nil),
        ] as [([EntityMapping], String, String?, String?)] {
            let found = problem(mappings)
            XCTAssertEqual(found?.status, .migration)
            XCTAssertEqual(found?.code, 134110)
            XCTAssertTrue((found?.message ?? "").contains(words), found?.message ?? "no error for \(words)")
            XCTAssertEqual(found?.entity, entity, words)
            XCTAssertEqual(found?.key, key, words)
        }
    }

    func testValidationRejectsCustomMappingsWithoutPolicy() {
        let found = problem(car { $0.kind = .custom })
        XCTAssertEqual(found?.code, 134170)
        XCTAssertEqual(
            found?.message,
            "the entity mapping \"CarToAuto\" has the kind custom, but does not have a policy class; set the policy class, or use another kind"
        )
        XCTAssertNil(problem(car { ($0.kind, $0.policyClassName) = (.custom, "P") }))
    }

    func testValidationReportsEveryProblem() {
        let found = problem(
            car {
                ($0.sourceName, $0.kind) = (nil, .remove)
                $0.attributeMappings = [PropertyMapping(name: "x")]
            } + [EntityMapping(name: "n", kind: .add), EntityMapping(name: "c", kind: .custom, policyClassName: "P")]
                + [
                    EntityMapping(
                        name: "r", kind: .remove, sourceName: "Gone", attributeMappings: [PropertyMapping(name: "x")])
                ])
        XCTAssertEqual(found?.children.count, 6)
        XCTAssertTrue(
            (found?.message ?? "").contains("has 6 problems, which the details list. The first: "), "\(found as Any)")
    }

    // MARK: Matching

    func testMappingModelMatchesOnlyIfEveryHashMatches() throws {
        let (source, destination) = try models()
        func matches(_ mappings: [EntityMapping]) -> Bool {
            MappingModel(mappings).matches(source: source, destination: destination)
        }
        XCTAssertFalse(matches([]))
        XCTAssertFalse(matches([EntityMapping(name: "n", kind: .undefined)]))
        XCTAssertFalse(matches(car { _ in }), "the mapping has no hashes")
        let hashed = MappingModel(car { _ in }, source: source, destination: destination).entityMappings
        XCTAssertTrue(matches(hashed))
        XCTAssertTrue(matches(hashed + [EntityMapping(name: "n", kind: .undefined)]))
        var other = hashed
        other[0].destinationHash?[0] ^= 1
        XCTAssertFalse(matches(hashed + other))
    }

    func testMappingModelIsFoundInFoldersAndBundles() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try FileManager.default.createDirectory(
            atPath: folder + "/App.app/Contents/Resources/Model.momd", withIntermediateDirectories: true)
        try FileManager.default.createDirectory(atPath: folder + "/other", withIntermediateDirectories: true)
        let (source, destination) = try models()
        let lines = Lines()
        DebugLog.setSink { lines.add($0) }
        defer { DebugLog.setSink(nil) }
        func find(_ paths: String...) -> String? {
            MappingModel.find(in: paths.map { folder + $0 }, from: source, to: destination)?.entityMappings.first?.name
        }
        let model = try MappingModel(inferredFrom: source, to: destination)
        var first = model.entityMappings[0]
        func write(_ name: String, to path: String) throws {
            first.name = name
            try MappingModel([first], source: source, destination: destination).write(to: folder + path)
        }
        XCTAssertNil(find(""))
        try write("hidden", to: "/other/x.cdm")
        XCTAssertNil(find(""), "other folders are not searched")
        XCTAssertEqual(find("/other"), "hidden")
        try write("deep", to: "/App.app/Contents/Resources/Model.momd/x.cdm")
        XCTAssertEqual(find(""), "deep")
        XCTAssertEqual(find("/App.app"), "deep")
        try write("source", to: "/AA.xcmappingmodel")
        XCTAssertEqual(find(""), "source")
        XCTAssertEqual(find("/AA.xcmappingmodel"), "source")
        XCTAssertTrue(lines.all.isEmpty, "\(lines.all)")
        try Data("bplist00".utf8).write(to: URL(fileURLWithPath: folder + "/A.cdm"))
        XCTAssertEqual(find("/nothing", ""), "source", "unreadable files are skipped")
        XCTAssertEqual(lines.all.count, 2)
        XCTAssertTrue(
            lines.all[0].contains(
                "CoreData: warning: \(folder)/nothing was skipped in the search for a mapping model: "),
            lines.all[0])
        XCTAssertTrue(lines.all[1].contains("A.cdm was skipped"), lines.all[1])
        XCTAssertNil(MappingModel.find(in: [folder], from: destination, to: source))
    }
}

private final class Lines: @unchecked Sendable {
    private let lock = NSLock()
    private var lines: [String] = []

    var all: [String] { lock.withLock { lines } }
    func add(_ line: String) { lock.withLock { lines.append(line) } }
}
