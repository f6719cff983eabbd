import CorestoneFormats
@testable import CorestoneMigration
import CorestoneModel
import CorestonePredicate
import CorestoneValues
import Foundation
import XCTest

/// Reading of source and compiled mapping models. The Python tests read the mapping models of the fixtures.
final class MappingModelTests: XCTestCase {
    private func read(_ objects: String) throws -> MappingModel {
        try MappingModel(data: Array("<database>\(objects)</database>".utf8))
    }

    private let car = """
        <object type="XDDEVMAPPINGMODEL" id="z1"><relationship name="entitymappings" idrefs="z3 z2"/></object>
        <object type="XDDEVENTITYMAPPING" id="z2"><attribute name="sourcename">Car</attribute>
        <attribute name="destinationname">Car</attribute><attribute name="mappingnumber">1</attribute>
        <relationship name="relationshipmappings" idrefs="z4"/></object>
        <object type="XDDEVENTITYMAPPING" id="z3"><attribute name="sourcename">Wheel</attribute>
        <attribute name="mappingnumber">2</attribute></object>
        <object type="XDDEVRELATIONSHIPMAPPING" id="z4"><attribute name="name">seats</attribute>
        <attribute name="sourcemappingname">ChairToSeat</attribute>
        <attribute name="sourcekeypath">$source.chairs</attribute></object>
        """

    func testSourceFormFillsInMissingMappingDetails() throws {
        let model = try read(car)
        XCTAssertEqual(model.entityMappings.map(\.name), ["CarToCar", "Wheel"], "in the order of their numbers")
        XCTAssertEqual(model.entityMappings.map(\.kind), [.copy, .remove])
        XCTAssertEqual(
            model.entityMapping(named: "CarToCar")?.relationshipMappings.first?.valueExpression?.format,
            #"FUNCTION($manager, "destinationInstancesForEntityMappingNamed:sourceInstances:" , "ChairToSeat", $source.chairs)"#
        )
        XCTAssertEqual(
            model.entityMappings[0].sourceExpression?.format,
            #"FETCH(FUNCTION($manager, "fetchRequestForSourceEntityNamed:predicateString:" , "Car", "TRUEPREDICATE"), "#
                + "$manager.sourceContext, 0)")
        XCTAssertNil(model.sourceModel)
    }

    func testErrorNamesTheDefectOfADamagedSourceForm() throws {
        for (objects, words) in [
            ("", "an XDDEVMAPPINGMODEL object was not found"),
            ("<object id='a' type='b'/><object id='a' type='b'/>", "two objects have the id \"a\""),
            (
                "<object type='XDDEVMAPPINGMODEL' id='z1'><relationship name='entitymappings' idrefs='z7'/></object>",
                "z7"
            ),
            (
                "<object type='XDDEVMAPPINGMODEL' id='z1'><attribute name='sourcemodeldata'>!</attribute></object>",
                "base64"
            ),
        ] {
            XCTAssertThrowsError(try read(objects)) { error in
                let message = (error as? CoreError)?.message ?? ""
                XCTAssert(message.contains(words), message)
            }
        }
    }

    func testDamagedBytesAreReadOrRejectedWithoutATrap() throws {
        let bytes = Array("<database>\(car)</database>".utf8)
        var state: UInt64 = 1
        func random(_ limit: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % limit
        }
        for _ in 0..<1000 {
            var damaged = bytes
            for _ in 0..<3 { damaged[random(damaged.count)] = UInt8(random(256)) }
            _ = try? MappingModel(data: Array(damaged.prefix(random(damaged.count) + 1)))
        }
    }

    // MARK: Contents of a mapping

    private func mapping(_ attributes: [String: String], _ rest: String = "") throws -> EntityMapping {
        let elements = attributes.map { "<attribute name='\($0)'>\($1)</attribute>" }.joined()
        return try read(
            """
            <object type="XDDEVMAPPINGMODEL" id="z1"><relationship name="entitymappings" idrefs="z2"/></object>
            <object type="XDDEVENTITYMAPPING" id="z2">\(elements)
            <relationship name="attributemappings" idrefs="z3 z4"/></object>
            <object type="XDDEVATTRIBUTEMAPPING" id="z3"><attribute name="name">b</attribute>\(rest)</object>
            <object type="XDDEVATTRIBUTEMAPPING" id="z4"><attribute name="name">a</attribute></object>
            """
        ).entityMappings[0]
    }

    func testMissingMappingNamesAndKindsAreDerivedFromTheEntities() throws {
        for (attributes, name, kind) in [
            (["sourcename": "A", "destinationname": "B"], "AToB", .copy),
            (["sourcename": "A"], "A", .remove), (["destinationname": "B"], "B", .add), ([:], "", .add),
            (["sourcename": "", "destinationname": "B"], "B", .add),
            (["sourcename": "A", "destinationname": "B", "name": "Mine"], "Mine", .copy),
            (["sourcename": "A", "destinationname": "B", "name": ""], "AToB", .copy),
            (["sourcename": "A", "destinationname": "B", "migrationpolicyclassname": "P"], "AToB", .custom),
            (["sourcename": "A", "migrationpolicyclassname": "P"], "A", .custom),
        ] as [([String: String], String, EntityMapping.Kind)] {
            let found = try mapping(attributes)
            XCTAssertEqual(found.name, name)
            XCTAssertEqual(found.kind, kind, name)
            XCTAssertEqual(found.policyClassName, attributes["migrationpolicyclassname"])
            XCTAssertEqual(found.sourceName, attributes["sourcename"].flatMap { $0.isEmpty ? nil : $0 })
            XCTAssertEqual(found.destinationName, attributes["destinationname"])
            XCTAssertEqual(found.sourceExpression == nil, found.sourceName == nil)
            XCTAssertEqual(found.attributeMappings.map(\.name), ["a", "b"], "by name")
        }
    }

    func testMappingKindsHaveTheirNumbersAndNames() {
        let kinds: [(EntityMapping.Kind, Int64, String)] = [
            (.undefined, 0, "undefined"), (.custom, 1, "custom"), (.add, 2, "add"), (.remove, 3, "remove"),
            (.copy, 4, "copy"), (.transform, 5, "transform"),
        ]
        for (kind, number, name) in kinds {
            XCTAssertEqual(kind.rawValue, number)
            XCTAssertEqual(kind.name, name)
        }
    }

    /// An expression that cannot be read is marked as unreadable, unlike the missing expression of a copied attribute.
    func testUnreadableExpressionIsReportedWhenItIsUsed() throws {
        let archive = encodePropertyList(
            .dictionary([
                "$archiver": .string("NSKeyedArchiver"), "$version": .integer(100_000),
                "$top": .dictionary(["root": .uid(1)]),
                "$objects": .array([
                    .string("$null"), .dictionary(["$class": .uid(2)]),
                    .dictionary(["$classname": .string("Stranger"), "$classes": .array([.string("Stranger")])]),
                ]),
            ]))
        let found = try mapping(
            ["sourcename": "A", "destinationname": "B"],
            "<attribute name='valueexpressiondata'>\(base64(archive))</attribute>")
        XCTAssertEqual(found.attributeMappings.map(\.isUnreadable), [false, true])
        XCTAssertTrue(found.attributeMappings.allSatisfy { $0.valueExpression == nil })
        XCTAssertThrowsError(
            try mapping(["sourcename": "A"], "<attribute name='valueexpressiondata'>!</attribute>")
        ) {
            let message = ($0 as? CoreError)?.message ?? ""
            XCTAssertTrue(message.contains("\"valueexpressiondata\" of \"b\" in the entity mapping \""), message)
        }
    }

    func testSummaryContainsOnlyTheFieldsThatAreSet() throws {
        let model = MappingModel(
            [
                EntityMapping(name: "empty", kind: .undefined),
                EntityMapping(
                    name: "AToB", kind: .custom, sourceName: "A", destinationName: "B", sourceHash: [1],
                    destinationHash: [2],
                    attributeMappings: [
                        PropertyMapping(name: "x", valueExpression: MappingExpressions.source("y")),
                        PropertyMapping(name: "z", isUnreadable: true, userInfo: ["k": "v"]),
                    ],
                    relationshipMappings: [PropertyMapping(name: "r")], policyClassName: "P",
                    sourceExpression: MappingExpressions.source("s"), userInfo: ["a": "b"]),
            ], sourcePath: "from", destinationPath: "to")
        XCTAssertEqual(
            model.summary,
            .dictionary([
                "sourcePath": .string("from"), "destinationPath": .string("to"),
                "entityMappings": .array([
                    .dictionary([
                        "name": .string("empty"), "kind": .string("undefined"), "attributes": .array([]),
                        "relationships": .array([]),
                    ]),
                    .dictionary([
                        "name": .string("AToB"), "kind": .string("custom"), "source": .string("A"),
                        "destination": .string("B"), "sourceHash": .bytes(Bytes([1])),
                        "destinationHash": .bytes(Bytes([2])), "policyClass": .string("P"),
                        "sourceExpression": .string("$source.s"), "userInfo": .dictionary(["a": .string("b")]),
                        "attributes": .array([
                            .dictionary(["name": .string("x"), "expression": .string("$source.y")]),
                            .dictionary([
                                "name": .string("z"), "unreadable": .bool(true),
                                "userInfo": .dictionary(["k": .string("v")]),
                            ]),
                        ]),
                        "relationships": .array([.dictionary(["name": .string("r")])]),
                    ]),
                ]),
            ]))
        XCTAssertEqual(MappingModel([]).summary, .dictionary(["entityMappings": .array([])]))
        XCTAssertNil(model.entityMapping(named: "none"))
        XCTAssertEqual(model.entityMapping(named: "AToB")?.kind, .custom)
    }

    // MARK: With its models

    /// A mapping model with copies of both of its models, as Xcode keeps them.
    private func withModels(_ mappings: String) throws -> MappingModel {
        let model = Model()
        let (car, truck, seat) = (
            try model.addEntity(named: "Car"), try model.addEntity(named: "Truck"), try model.addEntity(named: "Seat")
        )
        try truck.setParent(car)
        try car.addAttribute(named: "plate", type: .string)
        let seats = try car.addRelationship(named: "seats", destination: seat, isToMany: true)
        let back = try seat.addRelationship(named: "car", destination: car)
        try seats.setInverse(back)
        let data = base64(try compiledModel(model))
        return try read(
            """
            <object type="XDDEVMAPPINGMODEL" id="z1"><relationship name="entitymappings" idrefs="z2 z3 z4"/>
            <attribute name="sourcemodelpath">a/b</attribute><attribute name="destinationmodelpath">c</attribute>
            <attribute name="sourcemodeldata">\(data)</attribute>
            <attribute name="destinationmodeldata">\(data)</attribute></object>
            <object type="XDDEVATTRIBUTEMAPPING" id="z10"><attribute name="name">plate</attribute></object>
            <object type="XDDEVATTRIBUTEMAPPING" id="z11"><attribute name="name">colour</attribute></object>
            <object type="XDDEVRELATIONSHIPMAPPING" id="z12"><attribute name="name">seats</attribute></object>
            <object type="XDDEVRELATIONSHIPMAPPING" id="z13"><attribute name="name">car</attribute></object>
            <object type="XDDEVENTITYMAPPING" id="z2"><attribute name="sourcename">Car</attribute>
            <attribute name="destinationname">Car</attribute><attribute name="mappingnumber">2</attribute>
            <relationship name="attributemappings" idrefs="z10 z11"/>
            <relationship name="relationshipmappings" idrefs="z12"/></object>
            <object type="XDDEVENTITYMAPPING" id="z3"><attribute name="sourcename">Seat</attribute>
            <attribute name="destinationname">Seat</attribute><attribute name="mappingnumber">1</attribute>
            <relationship name="relationshipmappings" idrefs="z13"/></object>
            \(mappings)
            """)
    }

    func testEmbeddedModelsFillInMissingMappings() throws {
        let model = try withModels(
            """
            <object type="XDDEVENTITYMAPPING" id="z4"><attribute name="destinationname">Truck</attribute></object>
            """)
        XCTAssertEqual(
            model.entityMappings.map(\.name), ["Truck", "SeatToSeat", "CarToCar"], "unnumbered mappings are first")
        XCTAssertEqual([model.sourcePath, model.destinationPath], ["a/b", "c"])
        XCTAssertEqual(model.sourceModel?.entities.map(\.name).sorted(), ["Car", "Seat", "Truck"])
        XCTAssertEqual(model.destinationModel?.entities.count, 3)
        let car = try XCTUnwrap(model.entityMapping(named: "CarToCar"))
        XCTAssertEqual(car.sourceHash?.count, 32)
        XCTAssertEqual(car.sourceHash, car.destinationHash)
        XCTAssertNil(model.entityMappings[0].sourceHash)
        XCTAssertEqual(model.entityMappings[0].destinationHash?.count, 32)
        // Attributes that the source has under the same name.
        XCTAssertEqual(car.attributeMappings.map(\.name), ["colour", "plate"])
        XCTAssertEqual(car.attributeMappings.map { $0.valueExpression?.format }, [nil, "$source.plate"])
        XCTAssertEqual(car.kind, .copy)
        // A Seat has one mapping. A Car may be a Truck, but Trucks have no mapping, so the name suffices there, too.
        XCTAssertEqual(
            car.relationshipMappings[0].valueExpression?.format,
            #"FUNCTION($manager, "destinationInstancesForEntityMappingNamed:sourceInstances:" , "SeatToSeat", $source.seats)"#
        )
        XCTAssertEqual(
            model.entityMapping(named: "SeatToSeat")?.relationshipMappings[0].valueExpression?.format,
            #"FUNCTION($manager, "destinationInstancesForEntityMappingNamed:sourceInstances:" , "CarToCar", $source.car)"#
        )
    }

    /// An object that several mappings may have migrated is found by its relationship.
    func testRelationshipToObjectsOfSeveralMappingsUsesTheRelationshipFunction() throws {
        for source in ["Truck", "Car"] {
            let model = try withModels(
                """
                <object type="XDDEVENTITYMAPPING" id="z4"><attribute name="sourcename">\(source)</attribute>
                <attribute name="destinationname">Truck</attribute></object>
                """)
            XCTAssertEqual(
                model.entityMapping(named: "SeatToSeat")?.relationshipMappings[0].valueExpression?.format,
                #"FUNCTION($manager, "destinationInstancesForSourceRelationshipNamed:sourceInstances:" , "car", $source.car)"#
            )
        }
    }

    // MARK: Compiled

    /// A keyed archive of the objects, of which the second one is its root.
    private func archive(_ objects: [PropertyListValue]) -> [UInt8] {
        encodePropertyList(
            .dictionary([
                "$archiver": .string("NSKeyedArchiver"), "$version": .integer(100_000),
                "$top": .dictionary(["root": .uid(1)]), "$objects": .array([.string("$null")] + objects),
            ]))
    }

    private func kind(_ name: String) -> PropertyListValue {
        .dictionary(["$classname": .string(name), "$classes": .array([.string(name), .string("NSObject")])])
    }

    func testCompiledMappingModelIsRead() throws {
        let bytes = archive([
            .dictionary(["$class": .uid(2), "NSEntityMappings": .uid(3)]), kind("NSMappingModel"),
            .dictionary(["$class": .uid(4), "NS.objects": .array([.uid(5), .uid(6)])]), kind("NSArray"),
            .dictionary([
                "$class": .uid(7), "NSMappingName": .uid(8), "NSMappingType": .integer(5),
                "NSSourceEntityName": .uid(9), "NSDestinationEntityName": .uid(10),
                "NSSourceEntityVersionHash": .uid(11), "NSDestinationEntityVersionHash": .uid(12),
                "NSEntityMigrationPolicyClassName": .uid(13), "NSAttributeMappings": .uid(14), "NSUserInfo": .uid(17),
                "NSRelationshipMappings": .uid(20),
            ]),
            .dictionary(["$class": .uid(7), "NSMappingType": .integer(99)]), kind("NSEntityMapping"),
            .string("CarToBus"), .string("Car"), .string("Bus"), .data([1, 2]), .data([3]), .string("Policy"),
            .dictionary(["$class": .uid(4), "NS.objects": .array([.uid(15)])]),
            .dictionary(["$class": .uid(16), "NSDestinationPropertyName": .uid(10), "NSValueExpression": .uid(9)]),
            kind("NSPropertyMapping"),
            .dictionary(["$class": .uid(18), "NS.keys": .array([.uid(9)]), "NS.objects": .array([.uid(10)])]),
            kind("NSDictionary"), .string("unused"),
            .dictionary(["$class": .uid(4), "NS.objects": .array([.uid(21), .uid(22)])]),
            .dictionary(["$class": .uid(16), "NSDestinationPropertyName": .uid(9), "NSUserInfo": .uid(17)]),
            .dictionary(["$class": .uid(16)]),
        ])
        let model = try MappingModel(data: bytes)
        XCTAssertEqual(model.entityMappings.map(\.name), ["CarToBus", ""])
        XCTAssertEqual(model.entityMappings.map(\.kind), [.transform, .undefined])
        let found = model.entityMappings[0]
        XCTAssertEqual([found.sourceName, found.destinationName, found.policyClassName], ["Car", "Bus", "Policy"])
        XCTAssertEqual([found.sourceHash, found.destinationHash], [[1, 2], [3]])
        XCTAssertEqual(found.userInfo, ["Car": "Bus"])
        XCTAssertEqual(found.attributeMappings.map(\.name), ["Bus"])
        XCTAssertEqual(found.attributeMappings.map(\.isUnreadable), [true])
        XCTAssertEqual(found.relationshipMappings.map(\.name), ["Car"], "the mapping without a name is skipped")
        XCTAssertEqual(found.relationshipMappings.map(\.isUnreadable), [false])
        XCTAssertEqual(found.relationshipMappings[0].userInfo, ["Car": "Bus"])
        XCTAssertNil(model.sourceModel)
        XCTAssertNil(model.sourcePath)
        XCTAssertNil(found.sourceExpression)
    }

    func testLimitOfAMappingModelCountsSharedPartsRepeatedly() {
        func many(_ number: UInt32, _ count: Int) -> PropertyListValue {
            .array(Array(repeating: .uid(number), count: count))
        }
        let bytes = archive([
            .dictionary(["$class": .uid(2), "NSEntityMappings": .uid(3)]), kind("NSMappingModel"),
            .dictionary(["$class": .uid(4), "NS.objects": many(5, 1001)]), kind("NSArray"),
            .dictionary(["$class": .uid(6), "NSUserInfo": .uid(7)]), kind("NSEntityMapping"),
            .dictionary(["$class": .uid(8), "NS.keys": many(9, 1000), "NS.objects": many(9, 1000)]),
            kind("NSDictionary"), .string("a"),
        ])
        XCTAssertThrowsError(try MappingModel(data: bytes)) {
            let message = ($0 as? CoreError)?.message ?? ""
            XCTAssertTrue(message.contains("1000000 mappings and user info entries, counting shared ones"), message)
        }
    }

    func testInvalidMappingModelFilesAreRejected() {
        for (bytes, words) in [
            (
                Array("text".utf8),
                "the data is not a mapping model; pass an xcmapping.xml or a compiled .cdm"
            ),
            ([], "pass an xcmapping.xml or a compiled .cdm"),
            (
                archive([.dictionary(["$class": .uid(2)]), kind("NSArray")]),
                "the keyed archive contains an object of the class \"NSArray\", not a mapping model; pass a compiled "
                    + ".cdm"
            ),
            (
                archive([.dictionary([:])]),
                "the keyed archive does not contain a mapping model; pass a compiled .cdm"
            ),
            (Array("<data/>".utf8), "expected <database>, found <data>"),
        ] as [([UInt8], String)] {
            XCTAssertThrowsError(try MappingModel(data: bytes)) {
                XCTAssertEqual(($0 as? CoreError)?.status, .storeCorrupt)
                XCTAssertTrue((($0 as? CoreError)?.message ?? "").contains(words), "\($0)")
            }
        }
        XCTAssertThrowsError(try MappingModel(contentsOf: "/nowhere/x.cdm")) {
            XCTAssertEqual(($0 as? CoreError)?.status, .storeIO)
        }
    }
}
