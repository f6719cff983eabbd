import XCTest

@testable import CorestoneAtomicStores

/// How an XML store writes and reads numbers, text and bytes (docs/XML-STORE.md).
final class XMLTextTests: XCTestCase {
    private func written(_ body: (XMLBytes) throws -> Void) rethrows -> String {
        let bytes = XMLBytes(capacity: 0)
        try body(bytes)
        return bytes.string
    }

    private func holding(_ text: String) -> XMLBytes {
        let bytes = XMLBytes(capacity: 0)
        bytes.append(text)
        return bytes
    }

    // MARK: Bytes

    func testBytesAreKeptWhenTheBufferGrows() {
        let bytes = XMLBytes(capacity: 0)
        for number in 0..<1000 { bytes.append(UInt8(truncatingIfNeeded: number)) }
        bytes.append([1, 2, 3])
        bytes.append([])
        XCTAssertEqual(bytes.count, 1003)
        XCTAssertEqual(bytes.array, (0..<1000).map { UInt8(truncatingIfNeeded: $0) } + [1, 2, 3])
        bytes.shorten(to: 2)
        XCTAssertEqual(bytes.array, [0, 1])
        bytes.append("é")
        XCTAssertEqual(bytes.array, [0, 1, 0xC3, 0xA9])
        bytes.removeAll()
        XCTAssertEqual(bytes.array, [])
    }

    /// An appended piece may be longer than twice the former capacity.
    func testPieceLongerThanTheBufferIsAppended() {
        let text = String(repeating: "0123456789", count: 500)
        XCTAssertEqual(written { $0.append(text) }, text)
    }

    // MARK: Numbers

    func testIntegersAreWrittenUpToTheirLimits() {
        for number in [0, 7, -7, 10, 99, 100, -1000, Int64.max, .min, .max - 1, .min + 1] {
            XCTAssertEqual(written { $0.append(number) }, "\(number)")
        }
    }

    func testNumbersArePaddedWithZeros() {
        for (number, least, text) in [
            (0, 1, "0"), (0, 3, "000"), (12, 3, "012"), (123, 3, "123"), (1234, 3, "1234"),
            (UInt64.max, 10, "18446744073709551615"),
        ] as [(UInt64, Int, String)] {
            XCTAssertEqual(written { $0.append(digits: number, atLeast: least) }, text)
        }
    }

    func testIntegersAreReadAndInvalidOnesRejected() {
        for (text, number) in [
            ("0", 0), ("-0", 0), ("+0", 0), ("7", 7), ("+7", 7), ("-7", -7), ("007", 7),
            ("9223372036854775807", .max), ("9223372036854775808", nil), ("-9223372036854775808", .min),
            ("-9223372036854775809", nil), ("92233720368547758070", nil), ("", nil), ("-", nil), ("+", nil),
            ("--1", nil), ("+-1", nil), ("1-", nil), ("1 ", nil), (" 1", nil), ("1.0", nil), ("1a", nil), ("/", nil),
            (":", nil),
        ] as [(String, Int64?)] {
            XCTAssertEqual(holding(text).integer(), number, text)
        }
    }

    func testDoublesAreReadAndInvalidOnesRejected() {
        for (text, number) in [
            ("0", 0), ("1", 1), ("-1", -1), ("12.000", 12), ("-12.0", -12), ("12.001", 12.001), ("0.5", 0.5),
            ("-0.5", -0.5), ("1e3", 1000), ("1E3", 1000), ("-2.5e-1", -0.25), ("123456789012345", 123_456_789_012_345),
            ("1234567890123456", 1_234_567_890_123_456), ("123456789012345.0", 123_456_789_012_345),
            ("12345678901234567890.0", 12_345_678_901_234_567_890), ("inf", .infinity), ("-inf", -.infinity),
            ("", nil), ("-", nil), (".", nil), ("x", nil), ("INF", nil), ("infinity", nil), ("+inf", nil),
            ("0x10", nil), ("1,5", nil), ("1 ", nil), (" 1", nil), ("1.0.0", nil), ("1.x", nil), ("12.00a", nil),
            ("1e", nil), ("NaN", nil), ("-nan", nil),
        ] as [(String, Double?)] {
            XCTAssertEqual(holding(text).double(), number, text)
        }
        XCTAssertEqual(holding("nan").double()?.isNaN, true)
        XCTAssertEqual(holding("-0.00").double()?.sign, .minus)
        XCTAssertEqual(holding("0.00").double()?.sign, .plus)
    }

    func testDoublesAreWrittenWithTheShortestExactDigits() {
        for (number, text) in [
            (0.1, "0.1"), (-2, "-2.0"), (1e300, "1e+300"), (.infinity, "inf"), (-.infinity, "-inf"), (.nan, "nan"),
        ] {
            XCTAssertEqual(written { $0.append(number) }, text)
        }
    }

    /// A number that fits single precision has the digits of a `Float`; any other has those of a `Double`.
    func testSinglePrecisionNumbersAreWrittenWithFloatDigits() {
        for (number, text) in [
            (Double(Float(0.1)), "0.1"), (Double(Float(1) / 3), "0.33333334"), (1.0 / 3, "0.3333333333333333"),
            (1e300, "1e+300"), (-.infinity, "-inf"),
        ] {
            XCTAssertEqual(written { $0.append(single: number) }, text)
        }
    }

    func testSecondsBeyondTwentyDecimalsUseExponents() {
        for (seconds, text) in [
            (0, "0.00000000000000000000"), (-0.0, "-0.00000000000000000000"), (1, "1.00000000000000000000"),
            (-1.5, "-1.50000000000000000000"), (0x1p-13, "0.00012207031250000000"), (0x1p-14, "6.103515625e-05"),
            (0x1p62, "4611686018427387904.00000000000000000000"), (0x1p63, "9.223372036854776e+18"),
            (0.1, "0.10000000000000000555"), (.infinity, "inf"), (.nan, "nan"),
        ] {
            XCTAssertEqual(written { $0.append(seconds: seconds) }, text)
        }
    }

    // MARK: Base64

    func testBase64BreaksTheLineOnceAndAtTheEnd() {
        func text(_ count: Int) -> String {
            [UInt8](repeating: 0, count: count).withUnsafeBytes { bytes in written { $0.append(base64: bytes) } }
        }
        func digits(_ count: Int) -> String { String(repeating: "A", count: count) }
        XCTAssertEqual(text(0), "")
        XCTAssertEqual(text(1), "AA==\n")
        XCTAssertEqual(text(2), "AAA=\n")
        XCTAssertEqual(text(3), "AAAA\n")
        XCTAssertEqual(text(56), digits(75) + "=\n")
        XCTAssertEqual(text(57), digits(76) + "\n")
        XCTAssertEqual(text(58), digits(76) + "\nAA==\n")
        XCTAssertEqual(text(114), digits(76) + "\n" + digits(76) + "\n")
        XCTAssertEqual(text(171), digits(76) + "\n" + digits(152) + "\n")
    }

    func testBase64WritesEveryDigit() {
        let bytes: [UInt8] = [
            0x00, 0x10, 0x83, 0x10, 0x51, 0x87, 0x20, 0x92, 0x8B, 0x30, 0xD3, 0x8F, 0x41, 0x14, 0x93, 0x51, 0x55, 0x97,
            0x61, 0x96, 0x9B, 0x71, 0xD7, 0x9F, 0x82, 0x18, 0xA3, 0x92, 0x59, 0xA7, 0xA2, 0x9A, 0xAB, 0xB2, 0xDB, 0xAF,
            0xC3, 0x1C, 0xB3, 0xD3, 0x5D, 0xB7, 0xE3, 0x9E, 0xBB, 0xF3, 0xDF, 0xBF,
        ]
        let text = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/\n"
        XCTAssertEqual(bytes.withUnsafeBytes { bytes in written { $0.append(base64: bytes) } }, text)
        let read = holding(text)
        XCTAssertTrue(read.decodeBase64())
        XCTAssertEqual(read.array, bytes)
    }

    func testBase64IsReadAndInvalidTextRejected() {
        for (text, bytes) in [
            ("", []), (" \t\r\n", []), ("AQ==", [1]), ("AQI=", [1, 2]), ("AQID", [1, 2, 3]),
            ("A\tQ\r\nI D", [1, 2, 3]),
            ("AQ= =", [1]), ("AQIDBA==\n", [1, 2, 3, 4]), ("A", nil), ("AQ", nil), ("AQI", nil), ("AQ=", nil),
            ("AQ===", nil), ("AQ==AQ==", nil), ("A===", nil), ("====", nil), ("AQ-_", nil), ("AQ!D", nil),
            ("AQID\u{1}", nil),
        ] as [(String, [UInt8]?)] {
            let read = holding(text)
            XCTAssertEqual(read.decodeBase64(), bytes != nil, text)
            if let bytes { XCTAssertEqual(read.array, bytes, text) }
        }
    }

    // MARK: Text

    private func escaped(_ text: String) -> String {
        Array(text.utf8).withUnsafeBytes { bytes in written { $0.append(escaping: bytes) } }
    }

    func testSpecialCharactersAreEscaped() {
        for (text, spelling) in [
            ("", ""), ("plain \"text\" 'x'", "plain \"text\" 'x'"), ("\t\n", "\t\n"), ("<", "\\u3c00"),
            (">", "\\u3e00"), ("&", "\\u2600"), ("\\", "\\\\"), ("\r", "\\u0d00"), ("\u{0}", "\\u0000"),
            ("\u{8}", "\\u0800"), ("\u{B}", "\\u0b00"), ("\u{1F}", "\\u1f00"), (" ", " "), ("~", "~"),
            ("\u{7F}", "\\u7f00"), ("\u{80}", "\u{80}"), ("é", "é"), ("\u{FFD}", "\u{FFD}"), ("\u{D7FF}", "\u{D7FF}"),
            ("\u{E000}", "\u{E000}"), ("\u{F000}", "\u{F000}"), ("\u{FE0F}", "\u{FE0F}"), ("\u{FEFE}", "\u{FEFE}"),
            ("\u{FEFF}", "\\ufffe"), ("\u{FF08}", "\\u08ff"), ("\u{FFFF}", "\\uffff"), ("\u{10000}", "\\u00d8\\u00dc"),
            ("\u{10FFFF}", "\\uffdb\\uffdf"), ("a<b\u{1F600}c", "a\\u3c00b\\u3dd8\\u00dec"), ("<<", "\\u3c00\\u3c00"),
            ("\\u3c00", "\\\\u3c00"),
        ] {
            XCTAssertEqual(escaped(text), spelling)
            let read = holding(spelling)
            XCTAssertTrue(read.unescape(), spelling)
            XCTAssertEqual(read.array, Array(text.utf8), spelling)
        }
    }

    /// Code units of each length in UTF-8, with all bits of the unit in use.
    func testEscapesOfEveryUTF8LengthAreRead() {
        for (spelling, text) in [
            ("\\u7f00", "\u{7F}"), ("\\u8000", "\u{80}"), ("\\uff07", "\u{7FF}"), ("\\u0008", "\u{800}"),
            ("\\uffd7", "\u{D7FF}"), ("\\u00e0", "\u{E000}"), ("\\uABAB", "\u{ABAB}"), ("\\uaBcD", "\u{CDAB}"),
            ("\\u3dd8\\u00de!", "\u{1F600}!"),
        ] {
            let read = holding(spelling)
            XCTAssertTrue(read.unescape(), spelling)
            XCTAssertEqual(read.string, text, spelling)
        }
    }

    /// A backslash before any other character is literal.
    func testInvalidEscapesAreReadLiterally() {
        for text in ["\\", "\\x", "\\u", "\\u3c0", "\\u3c0g", "\\U3c00", "a\\", "\\n"] {
            let read = holding(text)
            XCTAssertTrue(read.unescape(), text)
            XCTAssertEqual(read.string, text)
        }
        let read = holding("\\\\\\\\")
        XCTAssertTrue(read.unescape())
        XCTAssertEqual(read.string, "\\\\")
    }

    func testLoneSurrogatesAreRejected() {
        for text in ["\\u00d8", "\\u00dc", "\\u00d8x", "\\u00d8\\u00d8", "\\u00dc\\u00d8", "\\u00d8\\u4100", "\\uffdb"]
        {
            XCTAssertFalse(holding(text).unescape(), text)
        }
    }

    func testTextIsEscapedWithXMLEntities() throws {
        for (text, spelling, attribute) in [
            ("plain é", "plain é", "plain é"), ("&<>", "&amp;&lt;&gt;", "&amp;&lt;&gt;"), ("\"", "\"", "&quot;"),
            ("'", "'", "'"), ("\r", "&#13;", "&#13;"), ("\n", "\n", "&#10;"), ("\t", "\t", "&#9;"),
            ("\u{7F}\u{1F600}", "\u{7F}\u{1F600}", "\u{7F}\u{1F600}"),
        ] {
            XCTAssertEqual(try written { try $0.append(xml: text) }, spelling)
            XCTAssertEqual(try written { try $0.append(xml: text, isAttribute: true) }, attribute)
        }
        for (text, name) in [
            ("a\u{0}", "U+0000"), ("\u{1}", "U+0001"), ("\u{B}", "U+000B"), ("\u{1F}", "U+001F"),
            ("\u{FFFE}", "U+FFFE"), ("\u{FFFF}", "U+FFFF"),
        ] {
            XCTAssertThrowsError(try written { try $0.append(xml: text) }) {
                XCTAssertEqual(($0 as? XMLLacksCharacter)?.name, name)
            }
        }
    }

    // MARK: Prolog

    private struct Refused: Error { let offset: Int }

    private func prolog(_ text: String) throws -> String? {
        try prolog(Array(text.utf8)).map { String(decoding: $0, as: UTF8.self) }
    }

    /// The bytes that replace the prolog; nil if it is unchanged.
    private func prolog(_ bytes: [UInt8]) throws -> [UInt8]? {
        var refused: Refused?
        do {
            let found = try XMLProlog(bytes) { what, offset, _ in
                refused = Refused(offset: offset)
                return .init(.storeCorrupt, what)
            }
            return found.bytes.isEmpty ? nil : found.bytes
        } catch { throw refused ?? error }
    }

    func testDocumentTypeIsBlankedOut() throws {
        for (text, read) in [
            ("<database>", nil), ("", nil), ("<?xml version=\"1.0\"?>\n<database>", nil), ("<!-- <!DOCTYPE -->", nil),
            ("<!-- no end <!DOCTYPE database>", nil), ("<? no end <!DOCTYPE database>", nil),
            ("<!DOCTYPE database><database>", String(repeating: " ", count: 19)),
            ("<!DOCTYPE database SYSTEM \"a b\"><database/>", String(repeating: " ", count: 32)),
            ("<!DOCTYPE database SYSTEM '>'>x", String(repeating: " ", count: 30)),
            ("<!DOCTYPE\n\tdatabase >x", "         \n           "),
            ("<?a?>\n<!-- ' --> <!DOCTYPE database>x", "<?a?>\n<!-- ' --> " + String(repeating: " ", count: 19)),
            ("\u{FEFF}<!DOCTYPE database>x", "\u{FEFF}" + String(repeating: " ", count: 19)),
        ] as [(String, String?)] {
            XCTAssertEqual(try prolog(text), read, text)
        }
    }

    func testUnsafeDocumentTypesAreRejected() {
        for (text, offset) in [
            ("<!DOCTYPE databases>", 0), (" <!DOCTYPE>", 1), ("<!DOCTYPE database SYSTEM>", 0),
            ("<!DOCTYPE database PUBLIC \"a\">", 0), ("<!DOCTYPE database PUBLIC \"a\" \"b\">", 0),
            ("<!DOCTYPE database SYSTEM \"a\" x>", 0), ("<!DOCTYPE database SYSTEM \"a\"", 0),
            ("<!DOCTYPE database", 0),
            ("\n<!DOCTYPE database [<!ENTITY a 'b'>]>", 1), ("<!DOCTYPE database SYSTEM \"é\">", 27),
            ("<!DOCTYPE database\u{1}>", 18), ("<!DOCTYPE database\u{7F}>", 18),
        ] {
            XCTAssertThrowsError(try prolog(text), text) { XCTAssertEqual(($0 as? Refused)?.offset, offset, text) }
        }
    }

    func testUTF16TextIsRejected() {
        for mark: [UInt8] in [[0xFE, 0xFF], [0xFF, 0xFE], [0x00, 0x3C], [0x3C, 0x00]] {
            XCTAssertThrowsError(try prolog(mark + [0x3C])) { XCTAssertEqual(($0 as? Refused)?.offset, 0) }
        }
    }
}
