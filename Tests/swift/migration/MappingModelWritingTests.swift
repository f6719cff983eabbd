import CorestoneModel
import CorestonePredicate
import CorestoneValues
import Foundation
import XCTest

@testable import CorestoneMigration

/// Writing of mapping models, as JSON and as files. The Python tests write the mapping models of the fixtures.
final class MappingModelWritingTests: XCTestCase {
    private var folder = ""

    override func setUpWithError() throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    }

    override func tearDown() { try? FileManager.default.removeItem(atPath: folder) }

    private func models() throws -> (source: Model, destination: Model) {
        (
            try Model(
                text: """
                    {"Car": {"plate": "string?", "doors": "int16?", "owner": "to-one Person? inverse cars"},
                     "Person": {"name": "string?", "cars": "to-many Car inverse owner"}, "Old": {"x": "string?"}}
                    """),
            try Model(
                text: """
                    {"Car": {"plate": "string?", "doors": "int32?", "isFast": "bool?", "owner": "to-one Person? inverse cars"},
                     "Person": {"name": "string?", "title": "string?", "cars": "to-many Car inverse owner",
                                "friends": "to-many Person"}, "New": {"y": "string?"}}
                    """)
        )
    }

    /// A mapping model with everything that the forms represent in different ways.
    private func sample() throws -> MappingModel {
        let (source, destination) = try models()
        let person = try Expression.parse(
            "FUNCTION($manager, \"destinationInstancesForEntityMappingNamed:sourceInstances:\", \"People\", $source.owner)"
        )
        var cars = EntityMapping(
            name: "CarToCar", kind: .custom, sourceName: "Car", destinationName: "Car",
            attributeMappings: [
                PropertyMapping(name: "doors", valueExpression: try Expression.parse("$source.doors + 1")),
                PropertyMapping(name: "isFast"),
                PropertyMapping(
                    name: "plate", valueExpression: MappingExpressions.source("plate"), userInfo: ["why": "a < b & c"]),
            ],
            relationshipMappings: [PropertyMapping(name: "owner", valueExpression: person)],
            policyClassName: "Module.Policy", userInfo: ["modelVersion": "V3", "é": "\\u3c00"])
        cars.filter = "doors < 10000 AND plate != \"\\\\\""
        let people = EntityMapping(
            name: "People", kind: .copy, sourceName: "Person", destinationName: "Person",
            attributeMappings: [
                PropertyMapping(name: "name", valueExpression: MappingExpressions.source("name")),
                PropertyMapping(name: "title", valueExpression: .constant(.string("<none>"))),
            ],
            relationshipMappings: [
                PropertyMapping(
                    name: "cars", valueExpression: MappingExpressions.destinations(ofRelationship: "cars")),
                PropertyMapping(
                    name: "friends",
                    valueExpression: MappingExpressions.destinations(
                        of: try Expression.parse("$source.cars.@distinctUnionOfObjects.owner"), byMapping: "People")),
            ],
            sourceExpression: try Expression.parse("FUNCTION($manager, \"people\")"))
        var removed = EntityMapping(name: "Old", kind: .remove, sourceName: "Old")
        removed.sourceExpression = nil
        return MappingModel(
            [
                people, cars, removed, EntityMapping(name: "New", kind: .add, destinationName: "New"),
                EntityMapping(name: "again", kind: .transform, sourceName: "Car", destinationName: "New"),
            ], source: source, destination: destination, sourcePath: "a/<b>", destinationPath: "c")
    }

    func testSampleMappingModelIsValid() throws { XCTAssertNoThrow(try sample().validate()) }

    func testJSONReadsBackEqual() throws {
        let model = try sample()
        let read = try MappingModel(json: model.json)
        XCTAssertEqual(read.entityMappings, model.entityMappings)
        XCTAssertEqual(read, model)
        XCTAssertEqual([read.sourcePath, read.destinationPath], ["a/<b>", "c"])
        XCTAssertEqual(read.json, model.json)
        XCTAssertNil(read.sourceModel)
    }

    func testCompiledFormReadsBackEqual() throws {
        let model = try sample()
        try model.write(to: folder + "/x.cdm")
        let read = try MappingModel(contentsOf: folder + "/x.cdm")
        XCTAssertEqual(read.entityMappings, model.entityMappings)
        XCTAssertNil(read.sourceModel)
        XCTAssertNil(read.sourcePath)
    }

    func testSourceFormReadsBackEqual() throws {
        let model = try sample()
        let path = folder + "/x.xcmappingmodel"
        try model.write(to: path)
        try Data("note".utf8).write(to: URL(fileURLWithPath: path + "/note.txt"))
        try model.write(to: path)
        let read = try MappingModel(contentsOf: path)
        XCTAssertEqual(read.entityMappings, model.entityMappings)
        XCTAssertEqual([read.sourcePath, read.destinationPath], ["a/<b>", "c"])
        let models = try self.models()
        for (one, other) in [(read.sourceModel, models.source), (read.destinationModel, models.destination)] {
            XCTAssertEqual(try entityVersionHashes(of: XCTUnwrap(one)), entityVersionHashes(of: other))
            XCTAssertTrue(try XCTUnwrap(one).differences(from: other).isEmpty)
        }
        XCTAssertEqual(try String(contentsOfFile: path + "/note.txt", encoding: .utf8), "note", "other files stay")
        let text = try String(contentsOfFile: path + "/xcmapping.xml", encoding: .utf8)
        XCTAssertTrue(text.contains(">doors \\u3c00 10000 AND plate != \"\\\\\\\\\"<"), "the filter is escaped")
        XCTAssertTrue(text.contains("<attribute name=\"sourcemappingname\" type=\"string\">People</attribute>"))
        XCTAssertTrue(text.contains(">$source.cars.@distinctUnionOfObjects.owner<"))
        XCTAssertTrue(text.contains("<attribute name=\"mappingtypename\" type=\"string\">Copy</attribute>"))
    }

    func testSourceFormIgnoresTheOrderOfPropertyMappings() throws {
        let mapping = EntityMapping(
            name: "", kind: .add, destinationName: "A",
            attributeMappings: [PropertyMapping(name: "b"), PropertyMapping(name: "a")])
        let model = MappingModel([mapping])
        let read = try MappingModel(data: try model.source())
        XCTAssertEqual(read.entityMappings[0].attributeMappings.map(\.name), ["a", "b"])
        XCTAssertEqual(read.entityMappings[0].name, "A")
        XCTAssertEqual(
            try MappingModel(data: model.compiled()), model, "an order of property mappings does not distinguish models"
        )
    }

    func testWritingRejectsAnotherExtension() throws {
        XCTAssertThrowsError(try MappingModel([]).write(to: folder + "/x.xml")) {
            XCTAssertEqual(($0 as? CoreError)?.status, .invalidArgument)
            XCTAssertTrue("\($0)".contains("use the extension .xcmappingmodel or .cdm"), "\($0)")
        }
        XCTAssertThrowsError(try MappingModel([]).write(to: folder + "/none/x.cdm")) {
            XCTAssertEqual(($0 as? CoreError)?.status, .storeIO)
        }
    }

    func testSourceFormRejectsContentThatItCannotRepresent() throws {
        let (source, destination) = try models()
        let hashed = MappingModel(
            [EntityMapping(name: "a", kind: .copy, sourceName: "Car", destinationName: "Car")], source: source,
            destination: destination
        ).entityMappings
        var car = hashed[0]
        car.attributeMappings = [PropertyMapping(name: "plate")]
        var strange = hashed[0]
        strange.sourceHash = [1]
        var unreadable = hashed[0]
        unreadable.relationshipMappings = [PropertyMapping(name: "owner", isUnreadable: true)]
        for (model, words) in [
            (
                MappingModel(hashed),
                "does not have its source model, which an .xcmappingmodel contains instead of version hashes; call cst_mapping_model_new_from_json"
            ),
            (MappingModel(hashed, source: source), "does not have its destination model"),
            (
                MappingModel([strange], source: source, destination: destination),
                "the source version hash of the entity mapping \"a\" is not the hash of Car in the source model"
            ),
            (
                MappingModel([car], source: source, destination: destination),
                "cannot represent the missing expression of \"plate\" in the entity mapping \"a\", because Car has a property of that name"
            ),
            (
                MappingModel([unreadable], source: source, destination: destination),
                "\"owner\" in the entity mapping \"a\" cannot be written: its expression could not be read"
            ),
        ] {
            XCTAssertThrowsError(try model.source()) { XCTAssertTrue("\($0)".contains(words), "\($0)") }
        }
        XCTAssertThrowsError(try MappingModel([unreadable]).compiled())
        XCTAssertNoThrow(try MappingModel(hashed).compiled())
    }

    // MARK: JSON

    func testJSONFillsInDefaults() throws {
        let (source, destination) = try models()
        let model = try MappingModel(
            json: """
                {"entityMappings": [
                  {"source": "Car", "destination": "Car", "attributes": {"plate": "$source.plate", "doors": null},
                   "filter": "doors > 2"},
                  {"name": "p", "source": "Person", "destination": "Person", "attributes": {"title": "$source.name"}},
                  {"destination": "New"}, {"source": "Old"}, {"source": "Old", "policyClass": "P", "kind": "custom"}]}
                """, source: source, destination: destination)
        XCTAssertEqual(model.entityMappings.map(\.name), ["CarToCar", "p", "New", "Old", "Old"])
        XCTAssertEqual(model.entityMappings.map(\.kind), [.copy, .transform, .add, .remove, .custom])
        XCTAssertEqual(model.entityMappings[0].filter, "doors > 2")
        XCTAssertEqual(
            model.entityMappings[0].sourceExpression, MappingExpressions.objects(of: "Car", matching: "doors > 2"))
        XCTAssertEqual(model.entityMappings[1].sourceExpression, MappingExpressions.objects(of: "Person"))
        XCTAssertNil(model.entityMappings[2].sourceExpression)
        let none = try MappingModel(json: #"{"entityMappings": [{"source": "Car", "sourceExpression": null}]}"#)
        XCTAssertNil(none.entityMappings[0].sourceExpression)
        XCTAssertEqual(try MappingModel(json: none.json), none)
        XCTAssertEqual(model.entityMappings[0].sourceHash, entityVersionHashes(of: source)["Car"])
        XCTAssertEqual(model.entityMappings[0].destinationHash, entityVersionHashes(of: destination)["Car"])
        XCTAssertEqual(model.entityMappings[0].attributeMappings.map(\.name), ["doors", "plate"])
        XCTAssertTrue(model.matches(source: source, destination: destination))
    }

    func testJSONErrorsNameTheMappingAndTheKey() throws {
        XCTAssertThrowsError(try MappingModel(json: "{\"entityMappings\": [1]}")) {
            XCTAssertEqual(($0 as? CoreError)?.key, "entityMappings")
        }
        func mapping(_ text: String) -> String { "{\"entityMappings\": [{\"name\": \"M\", \(text)}]}" }
        for (json, words) in [
            ("", "the JSON of the mapping model cannot be read"),
            ("[]", "the mapping model is "), ("{}", "\"entityMappings\" of the mapping model is missing"),
            (
                "{\"entityMappings\": [], \"sourcepath\": \"\"}",
                "unknown key \"sourcepath\"; did you mean \"sourcePath\"?"
            ),
            ("{\"entityMappings\": [1]}", "the entity mapping at index 0 is 1, but must be a JSON object"),
            (mapping("\"polcyClass\": \"P\""), "unknown key \"polcyClass\"; did you mean \"policyClass\"?"),
            (mapping("\"kind\": \"move\""), "\"kind\" of the entity mapping \"M\" is \"move\", but must be"),
            (mapping("\"source\": 3"), "\"source\" of the entity mapping at index 0 is 3, but must be a string"),
            (mapping("\"attributes\": 3"), "\"attributes\" of the entity mapping \"M\" is 3, but must be a list"),
            (mapping("\"attributes\": [{}]"), "does not have a \"name\""),
            (mapping("\"attributes\": {\"a\": \"$\"}"), "\"a\" of \"attributes\" of the entity mapping \"M\""),
            (mapping("\"attributes\": [{\"name\": \"a\", \"unreadable\": 1}]"), "must be true or false"),
            (mapping("\"sourceHash\": \"x\""), "\"sourceHash\" of the entity mapping \"M\""),
            (
                mapping("\"userInfo\": {\"a\": 1}"),
                "the value of \"a\" in \"userInfo\" of the entity mapping \"M\" is 1"
            ),
            (mapping("\"userInfo\": []"), "must be a JSON object"),
            (mapping("\"filter\": \"x\""), "has the filter \"x\", but does not have a source"),
            (
                mapping("\"source\": \"A\", \"filter\": \"x == 1\", \"sourceExpression\": \"$source\""),
                "has a \"filter\" and a different \"sourceExpression\"; remove one of the two"
            ),
        ] {
            XCTAssertThrowsError(try MappingModel(json: json), json) {
                let message = ($0 as? CoreError)?.message ?? ""
                XCTAssertTrue(message.contains(words), message)
            }
        }
    }

    // MARK: Filters and generated expressions

    private func read(_ entity: String, _ properties: String = "", references: String = "") throws -> EntityMapping {
        try MappingModel(
            data: Array(
                """
                <database><object type="XDDEVMAPPINGMODEL" id="z1"><relationship name="entitymappings" idrefs="z2"/></object>
                <object type="XDDEVENTITYMAPPING" id="z2"><attribute name="sourcename">Car</attribute>
                <attribute name="destinationname">Car</attribute>\(entity)
                <relationship name="relationshipmappings" idrefs="\(references)"/></object>\(properties)</database>
                """.utf8)
        ).entityMappings[0]
    }

    func testFilterReplacesTheTruePredicate() throws {
        func filter(_ text: String) throws -> EntityMapping {
            try read("<attribute name=\"sourcefilterpredicatestring\" type=\"string\">\(text)</attribute>")
        }
        let found = try filter("messageID \\u3c00 10000")
        XCTAssertEqual(found.filter, "messageID < 10000")
        XCTAssertEqual(
            found.sourceExpression?.format,
            #"FETCH(FUNCTION($manager, "fetchRequestForSourceEntityNamed:predicateString:" , "Car", "messageID < 10000"), "#
                + "$manager.sourceContext, 0)")
        XCTAssertEqual(try filter("image != nil").filter, "image != nil")
        XCTAssertNil(try filter("").filter)
        XCTAssertEqual(try filter("").sourceExpression, MappingExpressions.objects(of: "Car"))
        XCTAssertEqual(try filter("a == \"\\u3dd8\\u00de\\\\\"").filter, "a == \"😀\\\"")
        XCTAssertThrowsError(try filter("\\u3dd8")) {
            XCTAssertTrue(
                "\($0)".contains("\"sourcefilterpredicatestring\" contains half of a surrogate pair"), "\($0)")
        }
    }

    func testFilterChangesTheSourceExpression() {
        var mapping = EntityMapping(name: "a", kind: .copy, sourceName: "Car", destinationName: "Car")
        XCTAssertNil(mapping.filter)
        XCTAssertEqual(mapping.sourceExpression, MappingExpressions.objects(of: "Car"))
        mapping.filter = "a == 1"
        XCTAssertEqual(mapping.sourceExpression, MappingExpressions.objects(of: "Car", matching: "a == 1"))
        mapping.filter = nil
        XCTAssertEqual(mapping.sourceExpression, MappingExpressions.objects(of: "Car"))
        mapping.sourceName = nil
        mapping.filter = "a == 1"
        XCTAssertNil(mapping.sourceExpression)
    }

    func testSourceExpressionIsGeneratedOnlyWithTheFlag() throws {
        XCTAssertNil(
            try read("<attribute name=\"autogenerateexpression\" type=\"bool\">0</attribute>").sourceExpression)
        XCTAssertNotNil(
            try read("<attribute name=\"autogenerateexpression\" type=\"bool\">1</attribute>").sourceExpression)
    }

    func testRelationshipExpressionIsGeneratedFromAKeyPathOrAMappingName() throws {
        for (attributes, expected) in [
            (
                ["sourcekeypath": "$source.cars"],
                "ForSourceRelationshipNamed:sourceInstances:\" , \"cars\", $source.cars)"
            ),
            (
                ["sourcekeypath": "$source.country.continent"],
                "ForSourceRelationshipNamed:sourceInstances:\" , \"continent\", $source.country.continent)"
            ),
            (["sourcekeypath": "$source"], "ForSourceRelationshipNamed:sourceInstances:\" , \"owner\", $source)"),
            (
                ["sourcekeypath": "$source", "sourcemappingname": "P"],
                "ForEntityMappingNamed:sourceInstances:\" , \"P\", $source)"
            ),
        ] {
            let elements = attributes.map { "<attribute name=\"\($0)\">\($1)</attribute>" }.joined()
            let found = try read(
                "",
                "<object type=\"XDDEVRELATIONSHIPMAPPING\" id=\"z3\"><attribute name=\"name\">owner</attribute>\(elements)</object>",
                references: "z3")
            let format = found.relationshipMappings[0].valueExpression?.format ?? ""
            XCTAssertEqual(format, "FUNCTION($manager, \"destinationInstances" + expected)
        }
        XCTAssertThrowsError(
            try read(
                "",
                "<object type=\"XDDEVRELATIONSHIPMAPPING\" id=\"z3\"><attribute name=\"name\">owner</attribute>"
                    + "<attribute name=\"sourcekeypath\">$</attribute></object>", references: "z3")
        ) {
            XCTAssertTrue(
                "\($0)".contains("\"sourcekeypath\" of \"owner\" in the entity mapping \"CarToCar\""), "\($0)")
        }
    }

    func testRelationshipOfAMappingWithoutAKeyPathGetsAnExpression() throws {
        let (source, destination) = try models()
        let model = MappingModel(
            [
                EntityMapping(
                    name: "CarToCar", kind: .copy, sourceName: "Car", destinationName: "Car",
                    relationshipMappings: [PropertyMapping(name: "owner")])
            ], source: source, destination: destination)
        let text = String(decoding: try model.source(), as: UTF8.self)
        XCTAssertNil(try MappingModel(data: Array(text.utf8)).entityMappings[0].relationshipMappings[0].valueExpression)
        let named = text.replacingOccurrences(
            of: "<attribute name=\"autogenerateexpression\" type=\"bool\">0</attribute>",
            with: "<attribute name=\"sourcemappingname\" type=\"string\">P</attribute>")
        XCTAssertEqual(
            try MappingModel(data: Array(named.utf8)).entityMappings[0].relationshipMappings[0].valueExpression,
            MappingExpressions.destinations(of: MappingExpressions.source("owner"), byMapping: "P"))
    }
}
