import CorestoneFormats
import CorestoneValues
import XCTest

/// Reading of JSON as property values: kinds, errors and limits.
final class JSONReaderTests: XCTestCase {
    private func read(_ text: String, allowsTwins: Bool = true, keepsDigits: Bool = false) throws -> PropertyValue {
        try decodeJSON(Array(text.utf8), allowsTwins: allowsTwins, keepsDigits: keepsDigits)
    }

    private func assertFails(_ bytes: [UInt8], _ words: String, at offset: Int, line: UInt = #line) {
        let text = String(decoding: bytes.prefix(40), as: UTF8.self)
        XCTAssertThrowsError(try decodeJSON(bytes, allowsTwins: false), text, line: line) {
            let error = $0 as? CoreError
            XCTAssertEqual(error?.status, .invalidArgument, text, line: line)
            XCTAssertEqual(error?.message, "the JSON \(words) (at byte \(offset))", text, line: line)
            XCTAssertEqual(error?.offset, offset, text, line: line)
        }
    }

    func testLiteralsAndCollectionsAreRead() throws {
        XCTAssertEqual(try read("null"), .null)
        XCTAssertEqual(try read("[]"), .array([]))
        XCTAssertEqual(try read("[ ]"), .array([]))
        XCTAssertEqual(try read("{}"), .dictionary([:]))
        XCTAssertEqual(try read("{ }"), .dictionary([:]))
        XCTAssertEqual(
            try read(" \t\r\n[ true , false,null , \"x\" ] \n").exactDescription, "[true, false, null, \"x\"]")
        XCTAssertEqual(
            try read("{ \"a\" : {\"b\" : [1]} , \"\" : 2 }").exactDescription, "{\"\": int 2, \"a\": {\"b\": [int 1]}}")
    }

    func testNumbersHaveTheSmallestKindThatFits() throws {
        let digits = "12345678901234567890123456789012345678"
        let table = [
            ("0", "int 0"), ("-0", "int 0"), ("-7", "int -7"), ("9223372036854775807", "int 9223372036854775807"),
            ("-9223372036854775808", "int -9223372036854775808"),
            ("9223372036854775808", "decimal 9223372036854775808"),
            ("-9223372036854775809", "decimal -9223372036854775809"), (digits, "decimal \(digits)"),
            ("-\(digits)", "decimal -\(digits)"), ("1\(String(repeating: "0", count: 38))", "double 1e+38"),
            ("1.0", "double 1.0"), ("1e2", "double 100.0"), ("1E+2", "double 100.0"), ("25e-1", "double 2.5"),
            ("-0.5E1", "double -5.0"), ("0e0", "double 0.0"), ("0.1234567890123456789", "double 0.12345678901234568"),
        ]
        for (text, expected) in table { XCTAssertEqual(try read(text).exactDescription, expected, text) }
    }

    func testNumberBeyondDoublePrecisionBecomesADecimal() throws {
        let table = [
            ("0.1", "double 0.1"), ("0.1234567890123456789", "decimal 0.1234567890123456789"),
            ("-0.1234567890123456789", "decimal -0.1234567890123456789"),
            ("0.10000000000000000000", "double 0.1"), ("1.2345678901234567", "double 1.2345678901234567"),
            ("1234567890123456789.5e1", "decimal 12345678901234567895"),
            // More digits than a decimal has.
            ("1.234567890123456789012345678901234567891", "decimal 1.2345678901234567890123456789012345679"),
            (String(repeating: "1", count: 39), "decimal \(String(repeating: "1", count: 38))0"),
            ("1\(String(repeating: "0", count: 38))", "double 1e+38"), ("12", "int 12"),
            // Out of the range of decimals, or at its end, where few digits remain.
            ("1.2345678901234567890e200", "double 1.2345678901234567e+200"),
            ("1.2345678901234567890e-120", "double 1.2345678901234567e-120"),
            // Rounded to 38 digits, the number would be nearest to another double.
            ("9007199254740993.00000000000000000000000001", "double 9.007199254740994e+15"),
        ]
        for (text, expected) in table {
            XCTAssertEqual(try read(text, keepsDigits: true).exactDescription, expected, text)
        }
    }

    func testStringEscapesAreRead() throws {
        let table = [
            (#""""#, ""), (#""a\"\\\/\b\f\n\r\tz""#, "a\"\\/\u{8}\u{C}\n\r\tz"), (#""\u0041\u00e9\u00E9""#, "Aéé"),
            (#""\u0000""#, "\0"), (#""\ud7ff\ue000""#, "\u{D7FF}\u{E000}"), (#""\ud83d\ude00""#, "😀"),
            (#""\uD800\uDC00\uDBFF\uDFFF""#, "\u{10000}\u{10FFFF}"), ("\" \u{7F}é\u{1F600}\"", " \u{7F}é\u{1F600}"),
        ]
        for (text, expected) in table { XCTAssertEqual(try read(text), .string(expected), text) }
    }

    func testSyntaxErrorsNameTheByteOffset() {
        let table: [(String, String, Int)] = [
            ("", "ends where a value is expected", 0),
            ("  ", "ends where a value is expected", 2),
            ("+1", "has a character that cannot begin a value", 0),
            (".5", "has a character that cannot begin a value", 0),
            ("-", "has a number without digits", 1),
            ("1.", "has a number without a digit after its point", 2),
            ("1e", "has a number without a digit in its exponent", 2),
            ("1e+", "has a number without a digit in its exponent", 3),
            ("[1,]", "has a character that cannot begin a value", 3),
            ("\u{B}1", "has a character that cannot begin a value", 0),
            ("01", "has a number with a leading zero", 2), ("-01", "has a number with a leading zero", 3),
            ("1e400", "has a number that is too large", 5), ("-1e400", "has a number that is too large", 6),
            ("nul", "has a literal other than true, false or null", 0),
            ("trve", "has a literal other than true, false or null", 0),
            ("[fals]", "has a literal other than true, false or null", 1),
            ("falsey", "has text after its end", 5), ("1 2", "has text after its end", 2),
            ("[1", "is missing a \",\" or a \"]\"", 2),
            ("[1 x", "is missing a \",\" or a \"]\"", 3), (#"{"a" 1}"#, "is missing a \":\"", 5),
            (#"{"a":1"#, "is missing a \",\" or a \"}\"", 6),
            ("{1}", "has a member without a name in double quotes", 1),
            ("{", "ends where a name is expected", 1), (#"{"a":1,"#, "ends where a name is expected", 7),
            (#"{"a":1,}"#, "has a member without a name in double quotes", 7),
            ("\"a", "ends inside a string", 2),
            ("\"a\\", "ends inside a string", 3),
            (#""\q""#, "has an unknown escape (a backslash is written as \\\\)", 1),
            (#""\u12g4""#, "has an escape without four hexadecimal digits", 5),
            (#""\u123"#, "has an escape without four hexadecimal digits", 6),
            (#""\ud800x""#, "has an unpaired surrogate", 7), (#""\udc00\ud800""#, "has an unpaired surrogate", 7),
            (#""\ud800\n""#, "has an unpaired surrogate", 8),
            (#""\ud800\u0041""#, "has an unpaired surrogate", 13),
            (#""\udbff\ue000""#, "has an unpaired surrogate", 13),
            ("\"a\u{1}\"", "has a string with the control character U+0001, which must be written as \\u0001", 2),
            ("\"\u{1F}\"", "has a string with the control character U+001F, which must be written as \\u001F", 1),
            (#"{"a":1,"a":2}"#, "has the name \"a\" twice", 7),
        ]
        for (text, words, offset) in table { assertFails(Array(text.utf8), words, at: offset) }
        assertFails([0x22, 0xFF, 0x22], "is not valid UTF-8", at: 1)
    }

    func testLastMemberOfADuplicateNameIsUsed() throws {
        XCTAssertEqual(try read(#"{"a":1,"b":3,"a":2}"#), .dictionary(["a": .int(2), "b": .int(3)]))
        XCTAssertEqual(
            try read(#"{"a":1,"A":2}"#, allowsTwins: false), .dictionary(["a": .int(1), "A": .int(2)]))
    }

    func testNestingIsLimited() throws {
        func lists(_ count: Int) -> String {
            String(repeating: "[", count: count) + String(repeating: "]", count: count)
        }
        func objects(_ count: Int) -> String {
            String(repeating: "{\"a\":", count: count) + "1" + String(repeating: "}", count: count)
        }
        XCTAssertNoThrow(try read(lists(129)))
        assertFails(Array(lists(130).utf8), "is nested more than 128 levels deep", at: 129)
        XCTAssertNoThrow(try read(objects(128)))
        assertFails(Array(objects(129).utf8), "is nested more than 128 levels deep", at: 645)
    }
}

extension PropertyValue {
    /// The value with the kinds of its numbers, which `==` does not distinguish.
    var exactDescription: String {
        switch self {
        case .null: "null"
        case .bool(let value): "\(value)"
        case .int(let value): "int \(value)"
        case .double(let value): "double \(value)"
        case .decimal(let value): "decimal \(value)"
        case .text(let value): "\"\(value)\""
        case .array(let values): "[\(values.map(\.exactDescription).joined(separator: ", "))]"
        case .dictionary(let values):
            "{"
                + values.sorted { $0.key < $1.key }.map { "\"\($0.key)\": \($0.value.exactDescription)" }
                .joined(separator: ", ") + "}"
        default: "another value"
        }
    }
}
