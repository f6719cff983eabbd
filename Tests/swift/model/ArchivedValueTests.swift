import CorestoneFormats
@testable import CorestoneModel
import CorestoneValues
import Foundation
import XCTest

final class ArchivedValueTests: XCTestCase {
    /// Foundation's own archiver is the independent writer.
    private func archive(_ object: Any) throws -> [UInt8] {
        Array(try NSKeyedArchiver.archivedData(withRootObject: object, requiringSecureCoding: false))
    }

    func testPlainDataOfFoundationIsRead() throws {
        let uuid = UUID()
        let object: NSDictionary = [
            "text": "Zoë", "number": 42, "real": 1.5, "flag": true, "date": Date(timeIntervalSinceReferenceDate: 7.25),
            "data": Data([1, 2, 3]), "list": [1, "two", [3]] as NSArray, "set": NSSet(array: ["a", "b"]),
            "uuid": uuid as NSUUID, "link": NSURL(string: "https://example.org/a?b=c")!, "null": NSNull(),
            "inner": ["deep": ["er": "x"]],
        ]
        guard case .dictionary(let values) = try decodeArchive(archive(object)) else { return XCTFail("no dictionary") }
        XCTAssertEqual(values["text"], .string("Zoë"))
        XCTAssertEqual(values["number"], .int(42))
        XCTAssertEqual(values["real"], .double(1.5))
        XCTAssertEqual(values["flag"], .bool(true))
        XCTAssertEqual(values["date"], .date(7.25))
        XCTAssertEqual(values["data"], .bytes(Bytes([1, 2, 3])))
        XCTAssertEqual(values["list"], .array([.int(1), .string("two"), .array([.int(3)])]))
        XCTAssertEqual(values["set"], .set([.string("a"), .string("b")]))
        XCTAssertEqual(values["uuid"], try .uuid(XCTUnwrap(UUIDValue(uuid.uuidString))))
        XCTAssertEqual(values["link"], .uri(Text("https://example.org/a?b=c")))
        XCTAssertEqual(values["null"], .null)
        XCTAssertEqual(values["inner"], .dictionary(["deep": .dictionary(["er": .string("x")])]))
    }

    func testScalarsAsRootAreRead() throws {
        XCTAssertEqual(try decodeArchive(archive("x" as NSString)), .string("x"))
        XCTAssertEqual(try decodeArchive(archive(NSDate(timeIntervalSinceReferenceDate: 3))), .date(3))
        XCTAssertEqual(try decodeArchive(archive(NSArray())), .array([]))
        XCTAssertEqual(
            try decodeArchive(KeyedArchiver().archive { $0.value(.decimal(try DecimalNumber("-12.5"))) }),
            .decimal(try DecimalNumber("-12.5")))
    }

    func testMutableAndOrderedCollectionsAreRead() throws {
        XCTAssertEqual(
            try decodeArchive(archive(NSOrderedSet(array: ["b", "a", 3]))),
            .array([.string("b"), .string("a"), .int(3)]))
        XCTAssertEqual(
            try decodeArchive(archive(NSMutableOrderedSet(array: [2, 1]))), .array([.int(2), .int(1)]))
        XCTAssertEqual(try decodeArchive(archive(NSOrderedSet())), .array([]))
        for name in ["NSOrderedSet", "NSMutableOrderedSet"] {
            let listed = KeyedArchiver().archive { archiver in
                archiver.add(.init(name), ["NS.objects": .array([archiver.string("y"), archiver.string("x")])])
            }
            XCTAssertEqual(try decodeArchive(listed), .array([.string("y"), .string("x")]), name)
        }
        let numbered = KeyedArchiver().archive { archiver in
            archiver.add(
                .init("NSDictionary"),
                [
                    "NS.key.0": archiver.string("k"), "NS.object.0": archiver.string("v"),
                    "NS.key.1": archiver.string("l"), "NS.object.1": archiver.add(.integer(9)),
                ])
        }
        XCTAssertEqual(try decodeArchive(numbered), .dictionary(["k": .string("v"), "l": .int(9)]))
        XCTAssertEqual(try decodeArchive(archive(NSMutableString(string: "m"))), .string("m"))
        XCTAssertEqual(try decodeArchive(archive(NSMutableData(data: Data([7])))), .bytes(Bytes([7])))
        XCTAssertEqual(
            try decodeArchive(KeyedArchiver().archive { $0.add(.unsigned(.max)) }),
            .decimal(try DecimalNumber("18446744073709551615")))
    }

    /// Values in the fields that Foundation's classes use.
    func testEveryFieldFormOfAValueIsRead() throws {
        func value(_ name: String, _ fields: [String: PropertyListValue]) throws -> PropertyValue {
            try decodeArchive(KeyedArchiver().archive { $0.add(KeyedArchiver.ClassName(name), fields) })
        }
        for name in ["NSData", "NSMutableData"] {
            XCTAssertEqual(try value(name, ["NS.bytes": .data([1, 2])]), .bytes(Bytes([1, 2])), name)
            XCTAssertEqual(try value(name, ["NS.data": .data([3])]), .bytes(Bytes([3])), name)
        }
        for name in ["NSString", "NSMutableString"] {
            XCTAssertEqual(try value(name, ["NS.string": .string("s")]), .string("s"), name)
        }
        XCTAssertEqual(try value("NSDate", ["NS.time": .real(1.5)]), .date(1.5))
        XCTAssertEqual(try value("NSDate", ["NS.time": .integer(-2)]), .date(-2))
        XCTAssertEqual(
            try value("NSUUID", ["NS.uuidbytes": .data(Array(0...15))]),
            .uuid(UUIDValue(high: 0x0001_0203_0405_0607, low: 0x0809_0A0B_0C0D_0E0F)))
        for (name, fields) in [
            ("NSData", ["NS.text": .data([1])]), ("NSString", ["NS.string": .integer(1)]), ("NSDate", [:]),
            ("NSUUID", ["NS.uuidbytes": .data(Array(0...14))]), ("NSURL", [:]), ("NSDecimalNumber", [:]),
        ] as [(String, [String: PropertyListValue])] {
            XCTAssertThrowsError(try value(name, fields), name) {
                XCTAssertEqual(
                    ($0 as? CoreError)?.message,
                    "the archive contains an object of class \"\(name)\" with unknown content; decode the archive in the "
                        + "application")
            }
        }
    }

    func testDecimalsOfEitherByteOrderAreRead() throws {
        func decimal(_ changes: [String: PropertyListValue], _ name: String = "NSDecimalNumber") throws -> PropertyValue
        {
            let fields: [String: PropertyListValue] = [
                "NS.mantissa": .data([0x39, 0x30, 0x01, 0x00] + [UInt8](repeating: 0, count: 12)),
                "NS.length": .integer(2), "NS.exponent": .integer(-2), "NS.negative": .bool(false),
                "NS.mantissa.bo": .integer(1),
            ]
            return try decodeArchive(
                KeyedArchiver().archive {
                    $0.add(
                        KeyedArchiver.ClassName(name), fields.merging(changes) { _, new in new }.filter { $1 != .null })
                })
        }
        func number(_ text: String) throws -> PropertyValue { .decimal(try DecimalNumber(text)) }
        // 0x13039 is 77881.
        XCTAssertEqual(try decimal([:]), try number("778.81"))
        XCTAssertEqual(try decimal([:], "NSDecimalNumberPlaceholder"), try number("778.81"))
        XCTAssertEqual(try decimal(["NS.negative": .bool(true)]), try number("-778.81"))
        XCTAssertEqual(try decimal(["NS.negative": .null, "NS.mantissa.bo": .null]), try number("778.81"))
        XCTAssertEqual(try decimal(["NS.length": .integer(1)]), try number("123.45"), "only one word is used")
        XCTAssertEqual(try decimal(["NS.length": .integer(0)]), try number("0"))
        XCTAssertEqual(try decimal(["NS.length": .integer(8)]), try number("778.81"))
        XCTAssertEqual(try decimal(["NS.exponent": .integer(3)]), try number("77881000"))
        XCTAssertEqual(
            try decimal(["NS.mantissa": .data([0x30, 0x39, 0x00, 0x01]), "NS.mantissa.bo": .integer(0)]),
            try number("778.81"))
        for changes: [String: PropertyListValue] in [
            ["NS.length": .integer(9)], ["NS.length": .integer(-1)], ["NS.length": .null], ["NS.mantissa": .null],
            ["NS.mantissa": .data([1, 2, 3])], ["NS.exponent": .integer(128)], ["NS.exponent": .integer(-129)],
            ["NS.length": .integer(0), "NS.negative": .bool(true)],
        ] { XCTAssertThrowsError(try decimal(changes), "\(changes)") }
    }

    func testDictionaryWithUnequalKeyAndValueCountsIsRejected() {
        let odd = KeyedArchiver().archive { archiver in
            archiver.add(
                KeyedArchiver.ClassName("NSDictionary"),
                [
                    "NS.keys": .array([archiver.string("a"), archiver.string("b")]),
                    "NS.objects": .array([archiver.string("c")]),
                ])
        }
        XCTAssertThrowsError(try decodeArchive(odd)) {
            XCTAssertEqual(($0 as? CoreError)?.status, .storeCorrupt)
            XCTAssertEqual(
                ($0 as? CoreError)?.message,
                "a dictionary in the archive has 2 keys but 1 value; archive the dictionary again")
        }
    }

    func testXMLArchivesAreRead() throws {
        let object: NSDictionary = [
            "text": "Zoë <&>", "number": -42, "real": 0.25, "flag": false,
            "date": Date(timeIntervalSinceReferenceDate: 7),
            "data": Data([1, 2, 3]), "list": NSOrderedSet(array: ["a", "b"]), "null": NSNull(),
        ]
        let archiver = NSKeyedArchiver(requiringSecureCoding: false)
        archiver.outputFormat = .xml
        archiver.encode(object, forKey: NSKeyedArchiveRootObjectKey)
        archiver.finishEncoding()
        let bytes = Array(archiver.encodedData)
        XCTAssertTrue(bytes.starts(with: "<?xml".utf8))
        XCTAssertEqual(try decodeArchive(bytes), try decodeArchive(archive(object)))
        XCTAssertThrowsError(try decodeArchive(Array("<plist><dict><key>a</key><true/></dict></plist>".utf8))) {
            XCTAssertEqual(
                ($0 as? CoreError)?.message, "the property list is not a keyed archive of NSKeyedArchiver"
            )
        }
    }

    func testArchiveWithSeveralRootsIsADictionary() throws {
        let archiver = NSKeyedArchiver(requiringSecureCoding: false)
        archiver.encode("x" as NSString, forKey: "name")
        archiver.encode(7, forKey: "count")
        archiver.finishEncoding()
        XCTAssertEqual(
            try decodeArchive(Array(archiver.encodedData)), .dictionary(["name": .string("x"), "count": .int(7)]))
    }

    func testErrorsDescribeTheProblemAndTheRemedy() throws {
        func message(_ bytes: [UInt8]) -> String {
            do { return "\(try decodeArchive(bytes))" } catch {
                XCTAssertEqual((error as? CoreError)?.status, .unsupported)
                return (error as? CoreError)?.message ?? ""
            }
        }
        let remedy = "; decode the archive in the application"
        XCTAssertEqual(
            message(try archive(NSDictionary(object: "a", forKey: NSNumber(value: 1)))),
            "the archive contains a dictionary with a number as a key instead of a string\(remedy)")
        XCTAssertEqual(
            message(try archive(NSDictionary(object: "a", forKey: NSDate()))),
            "the archive contains a dictionary with an object of class \"NSDate\" as a key instead of a string\(remedy)"
        )
        XCTAssertEqual(
            message(try archive(NSURL(string: "b", relativeTo: URL(string: "https://example.org/a"))!)),
            "the archive contains an object of class \"NSURL\" with unknown content\(remedy)")
        let noNumber = KeyedArchiver().archive { archiver in
            archiver.add(
                .init("NSDecimalNumber"),
                [
                    "NS.mantissa": .data([UInt8](repeating: 0, count: 16)), "NS.length": .integer(0),
                    "NS.exponent": .integer(0), "NS.negative": .bool(true),
                ])
        }
        XCTAssertEqual(
            message(noNumber),
            "the archive contains an object of class \"NSDecimalNumber\" with unknown content\(remedy)")
        XCTAssertEqual(
            message([4, 11] + Array("streamtyped".utf8) + [0x81, 0xe8, 3]),
            "the archive is a typed stream of NSArchiver, not a keyed archive\(remedy)")
        XCTAssertEqual(
            message(KeyedArchiver().archive { $0.add(.array([])) }),
            "the archive contains a value without a class\(remedy)")
    }

    func testSharedTextIsLimited() throws {
        let bomb = KeyedArchiver().archive { archiver in
            let text = archiver.string(String(repeating: "x", count: 1 << 20))
            return archiver.array(Array(repeating: text, count: 100_000))
        }
        XCTAssertThrowsError(try decodeArchive(bomb)) {
            XCTAssert("\($0)".contains("would expand to more than"), "\($0)")
        }
    }

    func testUnknownClassIsKeptByNameAndNotInstantiated() throws {
        let foreign = KeyedArchiver().archive { archiver in
            archiver.array([archiver.add(KeyedArchiver.ClassName("UIColor"), ["UIRed": .real(1)])])
        }
        let colour = ArchivedObject(className: "UIColor", fields: ["UIRed": .double(1)])
        XCTAssertEqual(try decodeArchive(foreign), .array([.object(colour)]))
        XCTAssertEqual(
            JSONText(try decodeArchive(foreign)).text,
            #"[{"$object": {"class": "UIColor", "fields": {"UIRed": 1.0}}}]"#)
        let numbered = try archive(NSDictionary(object: "a", forKey: NSNumber(value: 1)))
        XCTAssertThrowsError(try decodeArchive(numbered)) {
            XCTAssert("\($0)".contains("a number as a key instead of a string"), "\($0)")
        }
    }

    func testDamagedArchivesAreRejected() throws {
        for bytes in [[], Array("bplist00".utf8), encodePropertyList(.dictionary(["a": .integer(1)]))] {
            XCTAssertThrowsError(try decodeArchive(bytes)) { XCTAssertEqual(($0 as? CoreError)?.status, .storeCorrupt) }
        }
        // An array that is its own element.
        let circle = KeyedArchiver().archive { archiver in
            let number = archiver.reserve()
            archiver.fill(number, KeyedArchiver.ClassName("NSArray"), ["NS.objects": .array([.uid(number)])])
            return .uid(number)
        }
        XCTAssertThrowsError(try decodeArchive(circle)) { XCTAssert("\($0)".contains("contains a cycle"), "\($0)") }
        // Thirty arrays, each with two references to the next one, expand to a thousand million values.
        let bomb = KeyedArchiver().archive { archiver in
            (0..<30).reduce(archiver.string("x")) { inner, _ in archiver.array([inner, inner]) }
        }
        XCTAssertThrowsError(try decodeArchive(bomb)) { XCTAssert("\($0)".contains("values"), "\($0)") }
        var generator = SeededGenerator(state: 4)
        let good = try archive(["a": [1, 2, "x"] as NSArray, "b": NSSet(array: [1]), "c": Date()] as NSDictionary)
        for _ in 0..<5000 {
            var bad = good
            for _ in 0..<Int.random(in: 1...4, using: &generator) {
                bad[Int.random(in: 0..<bad.count, using: &generator)] = UInt8.random(in: 0...255, using: &generator)
            }
            _ = try? decodeArchive(bad)
        }
    }

    /// The transformables of the fixture stores.
    func testTransformablesOfAppleStoresAreRead() throws {
        let program = """
            import glob, sys, sqlite3
            from decode_model import open_store, model_from_store, unarchive, entities, kk
            for path in sorted(glob.glob(sys.argv[1] + '/stores/*/*')):
                c = open_store(path)
                for (t, text) in c.execute("select name, sql from sqlite_master where name glob 'Z[A-Z]*' and type='table'").fetchall():
                    for (_, column, kind, *_) in c.execute(f'pragma table_info("{t}")').fetchall():
                        if kind == 'BLOB':
                            for (b,) in c.execute(f'select {column} from "{t}" where {column} is not null').fetchall():
                                if isinstance(b, bytes) and b[:8] == b'bplist00' and b'NSKeyedArchiver' in b: print(b.hex())
            """
        var (decoded, refused) = (0, [String: Int]())
        for line in try Fixtures.python(program, [try Fixtures.folder().path]).split(separator: "\n") {
            do {
                _ = try decodeArchive(Fixtures.bytes(hex: String(line)))
                decoded += 1
            } catch let error as CoreError {
                XCTAssertEqual(error.status, .unsupported, error.message)
                refused[error.message, default: 0] += 1
            }
        }
        print("archives of fixture stores: \(decoded) decoded, \(refused.values.reduce(0, +)) refused \(refused)")
    }
}

extension KeyedArchiver {
    func archive(_ root: (KeyedArchiver) throws -> PropertyListValue) rethrows -> [UInt8] {
        encoded(root: try root(self))
    }
}
