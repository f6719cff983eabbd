import CorestonePredicate
import CorestoneValues
import Foundation
import XCTest

@testable import CorestoneMigration

/// Mapping models of both kinds. Those among the fixtures are read by the tests of the Python package.
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

    func testWhatTheAuthorLeftOpenIsFilledIn() throws {
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

    func testDamageIsNamed() throws {
        for (objects, words) in [
            ("", "no mapping model"), ("<object id='a' type='b'/><object id='a' type='b'/>", "id of its own"),
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

    func testDamagedBytes() throws {
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
}
