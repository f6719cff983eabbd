import CorestoneFormats
@testable import CorestoneModel
import CorestoneValues
import XCTest

final class XMLPropertyListTests: XCTestCase {
    private func document(_ content: String) -> [UInt8] {
        let header = """
            <?xml version="1.0" encoding="UTF-8"?>
            <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">

            """
        return Array((header + "<plist version=\"1.0\">\(content)</plist>\n").utf8)
    }

    func testEveryKindOfValueIsRead() throws {
        let content = """
            <dict><key>a &amp; b</key><string>Grüße &lt;1&gt;</string><key>i</key><array><integer>-5</integer>
            <integer>0xFF</integer><integer>18446744073709551615</integer></array><key>r</key><real>-1.5e3</real>
            <key>t</key><true/><key>f</key><false></false><key>d</key><date>2001-01-01T00:00:09Z</date>
            <key>b</key><data>
              AQID
              /w==
            </data><key>e</key><string></string><key>u</key><dict><key>CF$UID</key><integer>7</integer></dict>
            <key>n</key><dict/><key>m</key><array/></dict>
            """
        XCTAssertEqual(
            try decodeXMLPropertyList(document(content)),
            .dictionary([
                "a & b": .string("Grüße <1>"), "i": .array([.integer(-5), .integer(255), .unsigned(.max)]),
                "r": .real(-1500),
                "t": .bool(true), "f": .bool(false), "d": .date(9), "b": .data([1, 2, 3, 255]), "e": .string(""),
                "u": .uid(7),
                "n": .dictionary([:]), "m": .array([]),
            ]))
    }

    func testXMLMetadataOfOldStoresIsRead() throws {
        let hash = base64([UInt8](repeating: 7, count: 32))
        let content = """
            <dict><key>NSPersistenceFrameworkVersion</key><integer>186</integer><key>NSStoreModelVersionHashes</key>
            <dict><key>E</key><data>\(hash)</data></dict><key>NSStoreType</key><string>SQLite</string></dict>
            """
        let metadata = try StoreMetadata(decoding: document(content))
        XCTAssertEqual(metadata.entityVersionHashes, ["E": [UInt8](repeating: 7, count: 32)])
        XCTAssertEqual(try StoreMetadata(decoding: metadata.encoded()).values, metadata.values)
    }

    func testFoundationXMLIsRead() throws {
        let plain: [String: Any] = [
            "text": "a\u{0}b".replacingOccurrences(of: "\u{0}", with: "<&>"), "data": Data((0...255).map { UInt8($0) }),
            "list": [1, 2.5, true, Date(timeIntervalSinceReferenceDate: 86400)],
        ]
        let bytes = try PropertyListSerialization.data(fromPropertyList: plain, format: .xml, options: 0)
        XCTAssertEqual(
            try decodeAnyPropertyList(Array(bytes)),
            .dictionary([
                "text": .string("a<&>b"), "data": .data([UInt8](0...255)),
                "list": .array([.integer(1), .real(2.5), .bool(true), .date(86400)]),
            ]))
    }

    func testEveryKindOfValueIsWritten() throws {
        let value = PropertyListValue.dictionary([
            "b": .array([.integer(-5), .unsigned(.max), .real(1.5), .bool(true), .bool(false)]),
            "a & b": .string("<1>"),
            "d": .date(9.75), "e": .array([]), "f": .dictionary([:]), "g": .data([1, 2, 3]), "h": .uid(7),
            "i": .date(-0.5),
        ])
        let expected = """
            <?xml version="1.0" encoding="UTF-8"?>
            <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
            <plist version="1.0">
            <dict>
            \t<key>a &amp; b</key>
            \t<string>&lt;1&gt;</string>
            \t<key>b</key>
            \t<array>
            \t\t<integer>-5</integer>
            \t\t<integer>18446744073709551615</integer>
            \t\t<real>1.5</real>
            \t\t<true/>
            \t\t<false/>
            \t</array>
            \t<key>d</key>
            \t<date>2001-01-01T00:00:09Z</date>
            \t<key>e</key>
            \t<array/>
            \t<key>f</key>
            \t<dict/>
            \t<key>g</key>
            \t<data>
            \tAQID
            \t</data>
            \t<key>h</key>
            \t<dict>
            \t\t<key>CF$UID</key>
            \t\t<integer>7</integer>
            \t</dict>
            \t<key>i</key>
            \t<date>2000-12-31T23:59:59Z</date>
            </dict>
            </plist>

            """
        XCTAssertEqual(String(decoding: try encodeXMLPropertyList(value), as: UTF8.self), expected)
        for wrong in [PropertyListValue.null, .array([.null]), .date(.infinity)] {
            XCTAssertThrowsError(try encodeXMLPropertyList(wrong)) {
                XCTAssertEqual(($0 as? CoreError)?.status, .invalidArgument)
            }
        }
    }

    func testMetadataOfAnXMLStoreIsWritten() throws {
        let text = String(
            decoding: try encodeXMLStoreMetadata([
                "a": .data([UInt8](repeating: 0, count: 46)), "b": .array([]), "c": .bool(true), "d": .integer(3),
            ]), as: UTF8.self)
        XCTAssertEqual(
            text,
            """
                        <plist version="1.0">
                            <dict>
                                <key>a</key>
                                <data>
            \t\(String(repeating: "A", count: 62))==
            \t</data>
                                <key>b</key>
                                <array></array>
                                <key>c</key>
                                <true></true>
                                <key>d</key>
                                <integer>3</integer>
                            </dict>
                        </plist>

            """)
        // A line has 76 columns, and each tab takes eight.
        let long = String(
            decoding: try encodeXMLStoreMetadata(["a": .data([UInt8](repeating: 0, count: 60))]), as: UTF8.self)
        XCTAssertEqual(
            long.split(separator: "\n").filter { $0.hasPrefix("\t") }.map(\.count), [69, 13, 8], "with one tab each")
        XCTAssertThrowsError(try encodeXMLStoreMetadata(["fine": .integer(1), "wrong": .null])) {
            let error = $0 as? CoreError
            XCTAssertEqual(error?.status, .invalidArgument)
            XCTAssertEqual(error?.code, CocoaCode.persistentStoreSave.rawValue)
            XCTAssertEqual(error?.key, "wrong")
        }
    }

    func testIntegersOfEveryFormAreReadOrRejected() throws {
        for (text, value) in [
            ("0", .integer(0)), ("-9223372036854775808", .integer(.min)), ("9223372036854775808", .unsigned(1 << 63)),
            ("0xff", .integer(255)), ("0XFFFFFFFFFFFFFFFF", .unsigned(.max)),
        ] as [(String, PropertyListValue)] {
            XCTAssertEqual(try decodeXMLPropertyList(document("<integer>\(text)</integer>")), value, text)
        }
        for text in ["", "1.5", "x", "0x", "ff", "18446744073709551616"] {
            XCTAssertThrowsError(try decodeXMLPropertyList(document("<integer>\(text)</integer>")), text)
        }
    }

    func testLimitsAreEnforcedExactly() throws {
        var limits = PropertyListLimits()
        (limits.depth, limits.count) = (3, 3)
        func nested(_ depth: Int) -> [UInt8] {
            document(String(repeating: "<array>", count: depth) + String(repeating: "</array>", count: depth))
        }
        XCTAssertNoThrow(try decodeXMLPropertyList(nested(3), limits: limits))
        XCTAssertThrowsError(try decodeXMLPropertyList(nested(4), limits: limits)) {
            XCTAssertEqual(($0 as? CoreError)?.message.hasSuffix("more than 3 levels deep, which is the limit"), true)
        }
        XCTAssertNoThrow(try decodeXMLPropertyList(document("<array><true/><true/></array>"), limits: limits))
        XCTAssertThrowsError(
            try decodeXMLPropertyList(document("<array><true/><true/><true/></array>"), limits: limits)
        ) { XCTAssertEqual(($0 as? CoreError)?.message.hasSuffix("more than 3 values, which is the limit"), true) }
    }

    func testXMLIsRecognisedByItsFirstBytes() {
        for (bytes, isXML) in [
            (Array("<a/>".utf8), true), (Array(" \t\r\n<a/>".utf8), true), ([0xEF, 0xBB, 0xBF, 0x78], true),
            ([0xFE, 0xFF], true), ([0xFF, 0xFE], true), (Array("x<a/>".utf8), false), ([], false), ([0xFE], false),
        ] as [([UInt8], Bool)] { XCTAssertEqual(XMLParser.mayRead(bytes), isXML, "\(bytes)") }
        XCTAssertThrowsError(try decodeAnyPropertyList(Array("text".utf8))) {
            XCTAssertEqual(
                ($0 as? CoreError)?.message, "the bytes are neither a binary nor an XML property list")
        }
    }

    func testHostileDocumentsAreRejected() throws {
        let nested = String(repeating: "<array>", count: 200) + String(repeating: "</array>", count: 200)
        for content in [
            "", "<dict><key>a</key></dict>", "<dict><string>a</string></dict>", "<array><key>a</key></array>",
            "<key>a</key>",
            "<integer>x</integer>", "<integer></integer>", "<real>1,5</real>", "<date>yesterday</date>",
            "<data>A</data>",
            "<data>A*==</data>", "<string>a<true/></string>", "<unknown/>", "<true/><true/>", "<true/><plist/>", nested,
            "<dict><key>a</key><key>b</key><true/></dict>", "<array>", "&undefined;",
        ] {
            XCTAssertThrowsError(try decodeXMLPropertyList(document(content)), content) { error in
                XCTAssertEqual((error as? CoreError)?.status, .storeCorrupt)
            }
        }
        let entities =
            "<!DOCTYPE plist [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;&a;\">]><plist><string>&b;</string></plist>"
        XCTAssertThrowsError(try decodeXMLPropertyList(Array(entities.utf8))) { error in
            XCTAssertTrue(String(describing: error).contains("entity"), "\(error)")
        }
        XCTAssertThrowsError(try decodeAnyPropertyList([]))
        XCTAssertThrowsError(try decodeAnyPropertyList([0, 1, 2, 255]))
    }

    func testMutatedDocumentsNeverTrap() {
        let content = """
            <dict><key>a</key><array><integer>5</integer><real>1.5</real><true/></array><key>b</key><data>AQID</data>
            <key>c</key><date>2001-01-01T00:00:00Z</date><key>d</key><dict><key>e</key><string>text</string></dict></dict>
            """
        let seed = document(content)
        var generator = SeededGenerator(state: 31)
        var read = 0
        for _ in 0..<5000 {
            var bytes = seed
            for _ in 0..<Int.random(in: 1...3, using: &generator) {
                let place = Int.random(in: 0..<bytes.count, using: &generator)
                switch UInt64.random(in: 0...2, using: &generator) {
                case 0: bytes[place] = UInt8.random(in: 0...255, using: &generator)
                case 1: bytes.removeSubrange(place..<min(bytes.count, place + 8))
                default: bytes.insert(contentsOf: bytes[place..<min(bytes.count, place + 20)], at: place)
                }
            }
            if (try? decodeXMLPropertyList(bytes)) != nil { read += 1 }
        }
        XCTAssertGreaterThan(read, 100)
    }

    func testBase64RoundTripsAndInvalidTextIsRejected() {
        for count in 0..<20 {
            let bytes = (0..<count).map { UInt8($0 * 37 & 255) }
            XCTAssertEqual(decodeBase64(Array(base64(bytes).utf8)), bytes)
        }
        for junk in ["A", "AA", "AAA", "A===", "AA=A", "AAAA=", "AA==AA==", "é"] {
            XCTAssertNil(decodeBase64(Array(junk.utf8)), junk)
        }
    }
}
