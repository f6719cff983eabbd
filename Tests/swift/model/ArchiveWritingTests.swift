import CorestoneFormats
@testable import CorestoneModel
import CorestoneValues
import Foundation
import XCTest

/// Archives that the library writes, read by the library and by Foundation.
final class ArchiveWritingTests: XCTestCase {
    private let uuid = UUIDValue("123E4567-E89B-12D3-A456-426614174000")!

    private var plain: PropertyValue {
        get throws {
            .dictionary([
                "text": .string("Zoë"), "number": .int(42), "real": .double(1.5), "flag": .bool(true),
                "date": .date(1000), "data": .bytes(Bytes([1, 2, 3])), "null": .null,
                "list": .array([.int(1), .string("two"), .array([])]), "set": .set([.string("a"), .string("b")]),
                "uuid": .uuid(uuid), "link": .uri(Text("https://example.org/a")),
                "decimal": .decimal(try DecimalNumber("-12345678901234567890.5")), "$odd": .dictionary([:]),
            ])
        }
    }

    func testArchivedValuesRoundTripDeterministically() throws {
        let value = try plain
        XCTAssertEqual(try decodeArchive(encodeArchive(value)), value)
        XCTAssertEqual(try encodeArchive(value), try encodeArchive(value))
        for scalar in [PropertyValue.null, .string(""), .int(-1), .double(0.5), .bool(false), .date(-3)] {
            XCTAssertEqual(try decodeArchive(encodeArchive(scalar)), scalar)
        }
    }

    /// Foundation's own reader finds objects of the classes that it would have archived.
    func testFoundationReadsTheArchive() throws {
        guard case .dictionary(var entries) = try plain else { return XCTFail("no dictionary") }
        entries["decimal"] = nil
        let data = Data(try encodeArchive(.dictionary(entries)))
        let unarchiver = try NSKeyedUnarchiver(forReadingFrom: data)
        unarchiver.requiresSecureCoding = false
        let read = try XCTUnwrap(unarchiver.decodeObject(forKey: NSKeyedArchiveRootObjectKey) as? NSDictionary)
        XCTAssertEqual(read["text"] as? String, "Zoë")
        XCTAssertEqual(read["number"] as? Int, 42)
        XCTAssertEqual(read["real"] as? Double, 1.5)
        XCTAssertEqual(read["flag"] as? Bool, true)
        XCTAssertEqual((read["date"] as? Date)?.timeIntervalSinceReferenceDate, 1000)
        XCTAssertEqual(read["data"] as? Data, Data([1, 2, 3]))
        XCTAssertEqual((read["list"] as? NSArray)?.count, 3)
        XCTAssertEqual(read["set"] as? Set<String>, ["a", "b"])
        XCTAssertEqual((read["uuid"] as? UUID)?.uuidString, uuid.description)
        XCTAssertEqual((read["link"] as? URL)?.absoluteString, "https://example.org/a")
        XCTAssert(read["null"] is NSNull)
    }

    func testObjectsOfOtherClassesRoundTrip() throws {
        let colour = ArchivedObject(
            className: "Colour", classes: ["Colour", "Shade", "NSObject"],
            fields: [
                "red": .double(0.25), "count": .int(3), "on": .bool(true), "name": .string("sky"), "none": .null,
                "inner": .object(ArchivedObject(className: "Shade", fields: [:])), "list": .array([.int(1)]),
            ])
        let bytes = try encodeArchive(.array([.object(colour), .object(colour)]))
        XCTAssertEqual(try decodeArchive(bytes), .array([.object(colour), .object(colour)]))
        XCTAssertNotNil(Data(bytes).range(of: Data("Colour".utf8)))
        let text = JSONText(.object(colour)).text
        XCTAssertEqual(try decodeTaggedJSON(Array(text.utf8)), .object(colour))
    }

    /// An object that contains itself, and arrays that double thirty times, are rejected.
    func testCyclesAndExpansionBombsAreRejected() throws {
        let circle = KeyedArchiver().archive { archiver in
            let number = archiver.reserve()
            archiver.fill(number, KeyedArchiver.ClassName("Node"), ["next": .uid(number)])
            return .uid(number)
        }
        XCTAssertThrowsError(try decodeArchive(circle)) { XCTAssert("\($0)".contains("contains a cycle"), "\($0)") }
        let bomb = KeyedArchiver().archive { archiver in
            (0..<30).reduce(archiver.string("x")) { inner, _ in
                archiver.add(KeyedArchiver.ClassName("Node"), ["a": inner, "b": inner])
            }
        }
        XCTAssertThrowsError(try decodeArchive(bomb)) { XCTAssert("\($0)".contains("1000000 values"), "\($0)") }
        let deep = (0..<200).reduce(PropertyValue.int(1)) { inner, _ in .array([inner]) }
        XCTAssertThrowsError(try encodeArchive(deep)) { XCTAssert("\($0)".contains("128 levels deep"), "\($0)") }
    }

    func testEveryTagOfTaggedJSONRoundTrips() throws {
        let values: [(PropertyValue, String)] = [
            (.null, "null"), (.bool(true), "true"), (.bool(false), "false"), (.int(-3), "-3"), (.double(3), "3.0"),
            (.double(.infinity), #"{"$real": "inf"}"#), (.double(-.infinity), #"{"$real": "-inf"}"#),
            (.decimal(try DecimalNumber("1.50")), #"{"$decimal": "1.5"}"#), (.string("a\"b"), #""a\"b""#),
            (.bytes(Bytes([1, 2])), #"{"$bytes": "AQI="}"#), (.date(2.5), #"{"$date": 2.5}"#),
            (.uuid(uuid), #"{"$uuid": "123E4567-E89B-12D3-A456-426614174000"}"#),
            (.uri(Text("a:b")), #"{"$uri": "a:b"}"#),
            (.array([.int(1), .int(2)]), "[1, 2]"),
            (.set([.int(2), .int(1), .string("0")]), #"{"$set": ["0", 1, 2]}"#),
            (.dictionary(["b": .int(1), "a": .null]), #"{"a": null, "b": 1}"#),
            (.dictionary(["a": .int(1), "$b": .int(2)]), #"{"$dictionary": {"$b": 2, "a": 1}}"#),
            (
                .object(ArchivedObject(className: "C", fields: ["f": .int(1)])),
                #"{"$object": {"class": "C", "fields": {"f": 1}}}"#
            ),
            (
                .object(ArchivedObject(className: "C", classes: ["C", "B", "NSObject"], fields: [:])),
                #"{"$object": {"class": "C", "classes": ["C", "B", "NSObject"], "fields": {}}}"#
            ),
        ]
        for (value, text) in values {
            XCTAssertEqual(JSONText(value).text, text)
            XCTAssertEqual(try decodeTaggedJSON(Array(text.utf8)), value, text)
        }
        XCTAssertEqual(try decodeTaggedJSON(Array(#"{"$date": 3}"#.utf8)), .date(3))
        XCTAssertEqual(
            try decodeTaggedJSON(Array(#"{"$a": 1, "b": 2}"#.utf8)), .dictionary(["$a": .int(1), "b": .int(2)]),
            "a tag must be the only key")
        for text in [
            #"{"$set": {}}"#, #"{"$dictionary": []}"#, #"{"$uri": 1}"#, #"{"$real": 1}"#, #"{"$decimal": 1}"#,
            #"[{"$object": {"class": "C"}}]"#,
        ] {
            XCTAssertThrowsError(try decodeTaggedJSON(Array(text.utf8)), text) {
                XCTAssertEqual(($0 as? CoreError)?.status, .invalidArgument)
            }
        }
    }

    func testTaggedJSONRoundTripsAndInvalidTagsAreRejected() throws {
        let value = try plain
        XCTAssertEqual(try decodeTaggedJSON(Array(JSONText(value).text.utf8)), value)
        for text in [
            #"{"$date": "x"}"#, #"{"$uuid": "x"}"#, #"{"$what": 1}"#, #"{"$object": {"class": 1}}"#,
            #"{"$bytes": "?"}"#,
        ] {
            XCTAssertThrowsError(try decodeTaggedJSON(Array(text.utf8)), text) {
                XCTAssertEqual(($0 as? CoreError)?.status, .invalidArgument)
            }
        }
    }
}

final class JSONReaderTests: XCTestCase {
    private func read(_ text: String) throws -> PropertyValue { try decodeJSON(Array(text.utf8)) }

    func testJSONValuesAreRead() throws {
        XCTAssertEqual(
            try read(#" {"a": [1, -2.5e1, true, false, null, "x\n\u00e9\ud83d\ude00\/"], "b": {}} "#),
            .dictionary([
                "a": .array([.int(1), .double(-25), .bool(true), .bool(false), .null, .string("x\né😀/")]),
                "b": .dictionary([:]),
            ]))
        XCTAssertEqual(try read("9223372036854775807"), .int(.max))
        XCTAssertEqual(try read("18446744073709551615"), .decimal(try DecimalNumber("18446744073709551615")))
        XCTAssertEqual(try read("1" + String(repeating: "0", count: 60)), .double(1e60))
        XCTAssertEqual(try read("[]"), .array([]))
    }

    /// Digits beyond the precision of a double are kept in a decimal, if requested and if they fit.
    func testJSONDigitsAreKeptInADecimalOnRequest() throws {
        func exact(_ text: String) throws -> PropertyValue { try decodeJSON(Array(text.utf8), keepsDigits: true) }
        for text in [
            "123456789012345678.25", "-0.10000000000000000001", "9007199254740993.0",
            "12345678901234567890123456789012345678e-10",
            "1234567890123456789.5E+20", "1.00000000000000000000000000000000000010000000000000000000000000000000000000",
        ] {
            XCTAssertEqual(try exact(text), .decimal(try DecimalNumber(text)), text)
            XCTAssertEqual(try read(text), try XCTUnwrap(Double(text)).asValue, text)
        }
        for text in [
            "0.1", "0.30000000000000004", "1.7976931348623157e308", "5e-324", "-0.0", "1.50000000000000000000", "1e22",
            "1.000000000000000000000000000000000000001", "1.23456789012345678e-128", "1.23456789012345678e200",
            "0." + String(repeating: "0", count: 80) + "1" + String(repeating: "0", count: 80) + "1",
        ] { XCTAssertEqual(try exact(text), try XCTUnwrap(Double(text)).asValue, text) }
    }

    func testInvalidJSONFailsWithAnOffset() {
        for text in [
            "", "{", "[1,]", "[1 2]", "{\"a\" 1}", "{a: 1}", "01", "1.", "-", "tru", "\"a", "\"\\x\"", "\"\\ud800\"",
            "\"\u{1}\"", "1 2", "1e999", "\"\\u12\"", String(repeating: "[", count: 200),
        ] {
            XCTAssertThrowsError(try read(text), text) { error in
                XCTAssertEqual((error as? CoreError)?.status, .invalidArgument, text)
                XCTAssertNotNil((error as? CoreError)?.offset, text)
            }
        }
        XCTAssertThrowsError(try decodeJSON([0x22, 0xFF, 0x22]))
    }
}

extension Double {
    fileprivate var asValue: PropertyValue { .double(self) }
}
