import CorestonePredicate
import CorestoneValues
import XCTest

final class ParserTests: XCTestCase {
    private func error(_ format: String, _ arguments: [PropertyValue] = []) -> CoreError? {
        do {
            let predicate = try Predicate.parse(format, arguments: arguments)
            XCTFail("\(format) was read as \(predicate)")
            return nil
        } catch let error as CoreError {
            XCTAssertEqual(error.status, .predicateSyntax, format)
            return error
        } catch {
            XCTFail("\(error)")
            return nil
        }
    }

    func testSyntaxErrorsNameTheByteOffset() throws {
        let table: [(format: String, offset: Int, words: String)] = [
            ("", 0, "expected a value or a key, found the end of the text"),
            ("age", 3, "expected a comparison operator such as ==, < or IN, found the end of the text"),
            ("age == ", 7, "expected a value or a key, found the end of the text"),
            ("age CONATINS 3", 4, "expected a comparison operator such as ==, < or IN, found \"CONATINS\""),
            ("1 < a < 3", 6, "expected AND, OR or the end of the text, found \"<\""),
            ("(a == 1", 7, "expected ), found the end of the text"),
            ("a == 'x", 5, "this string is missing its closing '"),
            ("a == %k", 5, "\"%k\" is not a conversion"),
            ("a IN {1, 2", 10, "expected } or a comma"),
            ("a == like", 5, "found the reserved word \"like\"; write a key of this name as \"#like\""),
            ("a == foo:(1)", 5, "the function \"foo:\" is not defined"),
            ("a == abs:(1, 2)", 5, "abs: takes 1 argument, not 2"),
            ("a == ?", 5, "unexpected \"?\""),
            ("a ==[x] 'b'", 5, "expected options"),
            ("a == (b == 1)", 13, "expected a value before this, found a predicate"),
        ]
        for (format, offset, words) in table {
            let error = try XCTUnwrap(error(format))
            XCTAssertEqual(error.offset, offset, format)
            XCTAssertTrue(error.message.contains(words), "\(format): \(error.message)")
        }
    }

    func testCaretMarksTheErrorInTheText() throws {
        XCTAssertEqual(
            error("größe > 3 AND")?.message,
            """
            cannot read the predicate at byte 15: expected a value or a key, found the end of the text
              größe > 3 AND
                           ^
            """)
        let message = try XCTUnwrap(error(String(repeating: "a == 1 AND ", count: 50) + "b ? 2")?.message)
        let lines = message.split(separator: "\n")
        XCTAssertLessThan(lines[1].count, 120)
        XCTAssertEqual(Array(lines[1])[lines[2].count - 1], "?")

        let nested = try XCTUnwrap(error(String(repeating: "(", count: 200) + "a == 1")?.message)
        let window = nested.split(separator: "\n")
        XCTAssertLessThan(window[1].count, 120)
        XCTAssertLessThan(window[2].count, window[1].count)
        XCTAssertEqual(window[2].last, "^")
    }

    func testArgumentsAreCheckedAndInserted() throws {
        XCTAssertTrue(try XCTUnwrap(error("a == %@")).message.contains("but the number of arguments is 0"))
        XCTAssertTrue(try XCTUnwrap(error("a == %d", [.string("x")])).message.contains("%d takes an integer"))
        XCTAssertTrue(try XCTUnwrap(error("%K == 1", [.int(3)])).message.contains("%K takes a key path"))
        XCTAssertEqual(
            try Predicate.parse(
                "%K > %ld AND b == %f AND c == %s", arguments: [.string("a.b"), .int(3), .int(2), .string("x")]
            ).format, #"a.b > 3 AND b == 2 AND c == "x""#)
        XCTAssertEqual(
            try Predicate.parse("a == %@", arguments: [.string(#"1" OR TRUEPREDICATE OR "" == "#)]).format,
            ##"a == "1\" OR TRUEPREDICATE OR \"\" == ""##)
    }

    func testKeyPathArgumentsFollowDots() throws {
        let table: [(format: String, arguments: [PropertyValue], printed: String)] = [
            ("items.%K == 1", [.string("a")], "items.a == 1"),
            ("items.%K.c == 1", [.string("a.b")], "items.a.b.c == 1"),
            ("SELF.%K = 1", [.string("a")], "SELF.a == 1"),
            ("$a.%K.%K == 1", [.string("x"), .string("y.z")], "$a.x.y.z == 1"),
            ("ANY %K.%K <= %lu", [.string("items"), .string("n"), .int(3)], "ANY items.n <= 3"),
            ("%K.@max.%K > 0", [.string("items"), .string("n")], "items.@max.n > 0"),
            ("items.%K > 0", [.string("@max.n")], "items.@max.n > 0"),
            ("items.%K[0] == 1", [.string("a")], "items.a[0] == 1"),
            ("%@.%K == 1", [.string("text"), .string("length")], #""text".length == 1"#),
            (
                "SUBQUERY(%K, $x, $x.%K >= %d).@count == 0", [.string("items"), .string("n"), .int(7)],
                "SUBQUERY(items, $x, $x.n >= 7).@count == 0"
            ),
        ]
        for (format, arguments, printed) in table {
            let predicate = try Predicate.parse(format, arguments: arguments)
            XCTAssertEqual(predicate.format, printed, format)
            XCTAssertEqual(predicate, try Predicate.parse(predicate.format), format)
        }
        let mistakes: [(format: String, arguments: [PropertyValue], offset: Int, words: String)] = [
            ("items.%K == 1", [], 6, "%K needs argument 1, but the number of arguments is 0"),
            (
                "%K.%K == 1", [.string("a"), .int(3)], 3,
                "%K takes a key path, as a string, but argument 2 is a number"
            ),
            ("%K.%K == 1", [.string("a"), .string("")], 3, "argument 2 is an empty string"),
            ("items.%@ == 1", [.string("a")], 6, "expected a key after the dot, found \"%@\""),
            ("items.%d == 1", [.int(1)], 6, "expected a key after the dot, found \"%d\""),
        ]
        for (format, arguments, offset, words) in mistakes {
            let error = try XCTUnwrap(error(format, arguments))
            XCTAssertEqual(error.offset, offset, format)
            XCTAssertTrue(error.message.contains(words), "\(format): \(error.message)")
        }
    }

    func testExpressionArgumentsAreInserted() throws {
        func value(_ format: String) throws -> PropertyValue { .object(ExpressionValue(try Expression.parse(format))) }
        XCTAssertEqual(
            try Predicate.parse("%@ > %@ * 2", arguments: [try value("a.b"), try value("c + 1")]).format,
            "a.b > (c + 1) * 2")
        XCTAssertEqual(
            try Predicate.parse("a BETWEEN %@", arguments: [.array([try value("b"), .int(3)])]).format,
            "a BETWEEN {b, 3}")
        XCTAssertEqual(
            try Predicate.parse("a == $x").substituting(["x": try value("b.c")]).format, "a == b.c")
        XCTAssertTrue(
            try Predicate.parse("a == $x").evaluate(
                with: .dictionary(["a": .int(1), "b": .int(1)]), variables: ["x": try value("b")]))
    }

    func testNotInNegatesQuantifiers() throws {
        let table = [
            ("a NOT IN b", "NOT a IN b"), ("ANY a NOT IN b", "NOT ALL a IN b"), ("ALL a NOT IN b", "NOT ANY a IN b"),
            ("NONE a NOT IN b", "ALL a IN b"), ("NONE a IN b", "NOT ANY a IN b"), ("SOME a IN b", "ANY a IN b"),
        ]
        for (format, printed) in table { XCTAssertEqual(try Predicate.parse(format).format, printed) }
    }

    func testErrorsNameTheExceededLimit() throws {
        let deep = PredicateLimits.maximumNesting + 1
        let table: [(String, [PropertyValue], String)] = [
            (String(repeating: "(", count: deep), [], "exceeds the limit of \(PredicateLimits.maximumNesting) levels"),
            (
                "a == 1" + String(repeating: " + 1", count: PredicateLimits.maximumDepth + 1), [],
                "exceed the limit of \(PredicateLimits.maximumDepth)"
            ),
            (
                "a == '" + String(repeating: "x", count: PredicateLimits.maximumLength) + "'", [],
                "but the limit is \(PredicateLimits.maximumLength)"
            ),
            (
                "a == 1", Array(repeating: .null, count: PredicateLimits.maximumArguments + 1),
                "but the limit is \(PredicateLimits.maximumArguments)"
            ),
        ]
        for (format, arguments, words) in table {
            let message = try XCTUnwrap(error(format, arguments)).message
            XCTAssertTrue(message.contains(words), String(message.prefix(300)))
        }
    }

    private static let hostile = [
        String(repeating: "(", count: 1 << 20), String(repeating: "NOT ", count: 1 << 18),
        String(repeating: "!", count: 1 << 20) + "a == 1", String(repeating: "-", count: 1 << 20) + "1 == 1",
        String(repeating: "~", count: 1 << 20), "a == " + String(repeating: "{", count: 1 << 20),
        "a == " + String(repeating: "f:(", count: 300_000), "a == " + String(repeating: "abs:(", count: 200_000),
        "a == " + String(repeating: "1 + ", count: 1 << 18) + "1",
        "a == " + String(repeating: "1 ** ", count: 200_000) + "1",
        "a" + String(repeating: "[0]", count: 300_000) + " == 1", "a" + String(repeating: "[a", count: 1 << 19),
        "a" + String(repeating: ".$b", count: 300_000) + " == 1", "a" + String(repeating: " UNION a", count: 100_000),
        String(repeating: "$a := ", count: 100_000), String(repeating: "TERNARY(", count: 100_000),
        String(repeating: "SUBQUERY(a, $x, ", count: 50_000), String(repeating: "ANY ", count: 1 << 18),
        String(repeating: "(", count: 5_000) + "a == 1" + String(repeating: ")", count: 5_000) + " == 2",
        String(repeating: "\\", count: 1 << 20), "'" + String(repeating: "\\u", count: 1 << 19),
        String(repeating: "a == 1 AND ", count: 90_000), String(repeating: "#", count: 1 << 20),
        String(repeating: "add:", count: 250_000), "a == " + String(repeating: "0x", count: 1 << 19),
    ]

    /// The deepest texts that are accepted.
    private static var deepest: [String] {
        let count = PredicateLimits.maximumNesting - 1
        func around(_ open: String, _ inner: String, _ close: String, _ count: Int) -> String {
            String(repeating: open, count: count) + inner + String(repeating: close, count: count)
        }
        return [
            around("(", "a == 1", ")", count), around("NOT ", "a == 1", "", count),
            around("NOT (", "a == 1", ")", count),
            "a == " + around("abs:(", "1", ")", count - 1), "a == " + around("{", "a", "}", count - 1),
            around("SUBQUERY(b, $x, ", "a == 1", ").@count > 0", min(count, PredicateLimits.maximumDepth / 3 - 1)),
            "a == " + around("TERNARY(a == 1, ", "1", ", 2)", count - 1),
            "a == " + around("-(", "a", ")", count / 2 - 1),
            "a == " + around("b[", "0", "]", count - 1),
            "a == " + String(repeating: "-", count: PredicateLimits.maximumDepth - 3) + "a",
            "a == 1" + String(repeating: " + 1", count: count),
            "a == 1" + String(repeating: " + 1", count: PredicateLimits.maximumDepth - 3),
            "a" + String(repeating: "[0]", count: PredicateLimits.maximumDepth - 3) + " == 1",
        ]
    }

    /// Runs `body` on a thread with a small stack. The library fits 512 KB, the stack of a thread on macOS, which tests
    /// of the built library use. Without optimisation every call takes more.
    private func onSmallStack(_ body: @escaping @Sendable () -> Void) {
        let done = expectation(description: "the thread ended")
        let thread = Thread {
            body()
            done.fulfill()
        }
        thread.stackSize = 4 << 20
        thread.start()
        wait(for: [done], timeout: 300)
    }

    func testHostileTextsAreRejectedOnASmallStack() {
        onSmallStack {
            for text in ParserTests.hostile {
                do {
                    _ = try Predicate.parse(text)
                    XCTFail("\(text.prefix(20)) was read")
                } catch { XCTAssertEqual((error as? CoreError)?.status, .predicateSyntax) }
                XCTAssertNil(try? Expression.parse(text))
            }
            let path = Array(repeating: "a", count: 1 << 19).joined(separator: ".")
            let predicate = try? Predicate.parse(path + " == 1")
            XCTAssertEqual(try? predicate?.evaluate(with: .dictionary([:])), false)
        }
    }

    func testDeepestTextsFitASmallStack() {
        onSmallStack {
            for text in ParserTests.deepest {
                do {
                    let predicate = try Predicate.parse(text)
                    // Chains print with parentheses, which nest deeper than a text may.
                    let again = try (try? Predicate.parse(predicate.format)) ?? Predicate.parse(text)
                    XCTAssertEqual(again, predicate)
                    XCTAssertEqual(again.hashValue, predicate.hashValue)
                    XCTAssertFalse(try predicate.substituting(["x": .int(1)]).format.isEmpty)
                    _ = predicate.keyPaths
                    _ = predicate.freeVariables
                    _ = try? predicate.evaluate(with: .dictionary(["a": .int(1), "b": .array([.int(1)])]))
                } catch { XCTFail("\(text.prefix(40)): \(error)") }
            }
        }
    }

    func testLongTextsAreParsed() throws {
        let chain = (0..<20_000).map { "a == \($0)" }.joined(separator: " OR ")
        guard case .compound(let compound) = try Predicate.parse(chain) else { return XCTFail("no compound") }
        XCTAssertEqual(compound.parts.count, 20_000)
        let path = Array(repeating: "a", count: 20_000).joined(separator: ".")
        XCTAssertEqual(try Predicate.parse(path + " == 1").format, path + " == 1")
    }

    func testTreesBuiltInCodeAreLimited() throws {
        var predicate = try Predicate.parse("a == 1")
        for _ in 0..<(PredicateLimits.maximumDepth - 1) { predicate = try .not(predicate) }
        XCTAssertThrowsError(try Predicate.not(predicate))
        XCTAssertThrowsError(try Compound(.not, []))

        var sum = Expression.key("a")
        for _ in 0..<PredicateLimits.maximumDepth { sum = try Expression.function(.add, [sum, .integer(1)]).checked() }
        XCTAssertThrowsError(try Expression.function(.add, [sum, .integer(1)]).checked())

        // Parts may share their subtrees: such a tree is small in memory, but its traversal takes exponential time.
        var doubled = Expression.key("a")
        var refusal: (any Error)?
        for _ in 0..<60 where refusal == nil {
            do { doubled = try Expression.function(.add, [doubled, doubled]).checked() } catch { refusal = error }
        }
        XCTAssertTrue((refusal as? CoreError)?.message.contains("\(PredicateLimits.maximumParts) parts") ?? false)
        refusal = nil
        for _ in 0..<60 where refusal == nil {
            do { predicate = try .and([.constant(true), predicate, predicate]) } catch { refusal = error }
        }
        XCTAssertNotNil(refusal)

        XCTAssertThrowsError(try Expression.function(.add, [.integer(1)]).checked())
        XCTAssertThrowsError(try Predicate.parse("a == $x").substituting(["x": .object(ExpressionValue(sum))]))
    }

    func testSubstitutionReplacesFreeVariables() throws {
        let predicate = try Predicate.parse("a == $x AND SUBQUERY(b, $y, $y.c == $x AND $y.d == $z).@count > 0")
        XCTAssertEqual(
            try predicate.substituting(["x": .int(3), "y": .int(9)]).format,
            "a == 3 AND SUBQUERY(b, $y, $y.c == 3 AND $y.d == $z).@count > 0")
    }

    func testKeyPathsOfAPredicateAreListed() throws {
        let predicate = try Predicate.parse(
            "a.b > 3 AND ANY c.d IN {e, 2} AND SUBQUERY(f, $x, $x.g == h AND SUBQUERY($x.i, $y, $y.j == 1).@count > 1)"
                + ".@count > 0 AND a.b < 5")
        XCTAssertEqual(predicate.keyPaths.map(\.text), ["a.b", "c.d", "e", "f", "f.g", "h", "f.i", "f.i.j"])
    }

    /// Returns the constant of a text, with its kind.
    private func constant(_ format: String, _ arguments: [PropertyValue] = []) throws -> String {
        switch try Expression.parse(format, arguments: arguments).constantValue {
        case .int(let number): "int \(number)"
        case .double(let number): "double \(number)"
        case .decimal(let number): "decimal \(number)"
        case .bool(let flag): "bool \(flag)"
        case .text(let text): "text \(text)"
        case .null: "nil"
        case let other: "\(other.map { "\($0.kind)" } ?? "no constant")"
        }
    }

    func testNumbersHaveTheSmallestKindThatFits() throws {
        let sevens = String(repeating: "7", count: 42)
        let digits = String(repeating: "9", count: 38)
        let table = [
            ("0", "int 0"), ("007", "int 7"), ("9223372036854775807", "int 9223372036854775807"),
            ("9223372036854775808", "decimal 9223372036854775808"),
            ("-9223372036854775808", "int -9223372036854775808"),
            ("-9223372036854775809", "decimal -9223372036854775809"), (digits, "decimal \(digits)"),
            ("-" + digits, "decimal -\(digits)"),
            (digits + "0", "double 1e+39"), ("1.", "double 1.0"), ("1.e2", "double 100.0"), ("1.5E+1", "double 15.0"),
            ("1e-2", "double 0.01"),
            ("1e999", "double inf"), ("-1.5", "double -1.5"), ("- -1", "int 1"), ("0xff", "int 255"),
            ("0XFF", "int 255"), ("0o17", "int 15"),
            ("0B101", "int 5"), ("0x7FFFFFFFFFFFFFFF", "int 9223372036854775807"),
            ("0x8000000000000000", "decimal 9223372036854775808"),
            ("0x" + String(repeating: "f", count: 32), "decimal \(UInt128.max)"),
            ("0x1" + String(repeating: "0", count: 32), "double \(0x1p128)"),
            ("0x3" + String(repeating: "0", count: 33), "double \(0x3p132)"),
            ("0o3" + sevens, "decimal \(UInt128.max)"),
            ("0o4" + String(repeating: "0", count: 42), "double \(0x1p128)"),
            ("0b" + String(repeating: "1", count: 128), "decimal \(UInt128.max)"),
            ("0b1" + String(repeating: "0", count: 128), "double \(0x1p128)"),
            ("0x" + String(repeating: "0", count: 50) + "1", "int 1"),
        ]
        for (format, expected) in table { XCTAssertEqual(try constant(format), expected, format) }
    }

    func testStringEscapesAreParsed() throws {
        let table = [
            (#"'\n\r\t\b\f\v\a'"#, "\n\r\t\u{8}\u{C}\u{B}\u{7}"), (#"'\101\7x\1234'"#, "A\u{7}xS4"), (#"'\0'"#, "\0"),
            (#"'\8'"#, "8"),
            (#"'\x41\x4g'"#, "Ax4g"), (#"'\u0042\u12'"#, "Bu12"), (#"'\ud83d\ude00'"#, "😀"), (#"'\ud83d'"#, "\u{FFFD}"),
            (#"'\ud83dx'"#, "\u{FFFD}x"), (#"'\ud83d\u0041'"#, "\u{FFFD}A"), (#"'\ude00'"#, "\u{FFFD}"),
            (#"'\ud83d\n'"#, "\u{FFFD}\n"),
            (#"'\'\"\\\q'"#, "'\"\\q"), (#""it's""#, "it's"), (#"'say "x"'"#, "say \"x\""), ("''", ""),
            ("'é\n😀'", "é\n😀"),
            (#"'\uDBFF\uDFFF'"#, "\u{10FFFF}"),
        ]
        for (format, expected) in table {
            XCTAssertEqual(try Expression.parse(format).constantValue, .string(expected), format)
        }
        XCTAssertTrue(try XCTUnwrap(error(#"a == 'x\"#)).message.contains("this string is missing its closing '"))
        XCTAssertTrue(try XCTUnwrap(error(#"a == "x\""#)).message.contains("this string is missing its closing \""))
    }

    func testNamesAndTheirEscapesAreParsed() throws {
        for (format, printed) in [
            ("_a1", "_a1"), ("größe.Ωx", "größe.Ωx"), (#"\x41b"#, "Ab"), (#"\X41b"#, "Ab"), (#"a\u00e9"#, "aé"),
            (#"\101\102"#, "AB"),
            ("#a", "a"), ("#AND", "#AND"), ("a.AND.size", "a.#AND.#size"), ("@count", "@count"),
            ("a.@max.b", "a.@max.b"), ("$größe", "$größe"),
            ("uti", "uti"), ("UTI - EQUALS", "UTI - EQUALS"), ("\ta\u{B}+\u{C}\r\nb ", "a + b"),
            ("yesterday", "yesterday"),
        ] {
            XCTAssertEqual(try Expression.parse(format).format, printed, format)
        }
        for (format, offset, words) in [
            ("$ == 1", 1, "expected a variable's name after $"), ("$1 == 1", 1, "expected a variable's name after $"),
            ("@ == 1", 1, "expected a key after @"), ("a.@1 == 1", 3, "expected a key after @"),
            ("# == 1", 1, "expected a key after #"),
            ("a.1 == 1", 2, "expected a key after the dot, found \"1\""),
            ("a..b == 1", 2, "expected a key after the dot, found \".\""),
            ("a == \u{1}", 5, "unexpected control character 1"),
            ("a == ;", 5, "unexpected \";\""),
            ("a == €", 5, "unexpected \"€\""), (#"\x4 == 1"#, 0, "unexpected \"\\\""),
        ] {
            let error = try XCTUnwrap(error(format))
            XCTAssertTrue(error.message.contains(words), error.message)
            XCTAssertEqual(error.offset, offset, format)
        }
        XCTAssertThrowsError(try Predicate.parse(utf8: [0x61, 0x20, 0xFF])) {
            XCTAssertEqual(($0 as? CoreError)?.message.contains("unexpected byte 255"), true)
            XCTAssertEqual(($0 as? CoreError)?.offset, 2)
        }
    }

    func testConversionsCheckTheKindOfTheirArgument() throws {
        let decimal = PropertyValue.decimal(DecimalNumber(mantissa: 25, exponent: -1))
        for letter in [
            "d", "i", "u", "D", "U", "o", "O", "x", "X", "c", "C", "hd", "hhu", "lld", "qi", "Lu", "zu", "jd", "td",
        ] {
            XCTAssertEqual(try constant("%" + letter, [.int(5)]), "int 5", letter)
            XCTAssertEqual(try constant("%" + letter, [.bool(true)]), "int 1", letter)
            XCTAssertEqual(try constant("%" + letter, [.bool(false)]), "int 0", letter)
            XCTAssertEqual(try constant("%" + letter, [.double(2.5)]), "double 2.5", letter)
            XCTAssertEqual(try constant("%" + letter, [decimal]), "decimal 2.5", letter)
            let isCharacter = letter.lowercased() == "c"
            for wrong in [PropertyValue.null, .date(1), .string("AB"), .string("")]
                + (isCharacter ? [] : [.string("A")])
            {
                let message = try XCTUnwrap(error("a == %" + letter, [wrong])).message
                let wanted = isCharacter ? "an integer or one character" : "an integer"
                XCTAssertTrue(
                    message.contains("%\(letter.suffix(1)) takes \(wanted), but argument 1 is "), message)
            }
        }
        XCTAssertEqual(try constant("%c", [.string("A")]), "int 65")
        XCTAssertEqual(try constant("%C", [.string("é")]), "int 233")
        for letter in ["f", "F", "e", "E", "g", "G", "a", "A", "lf", "Lf"] {
            XCTAssertEqual(try constant("%" + letter, [.int(5)]), "double 5.0", letter)
            XCTAssertEqual(try constant("%" + letter, [.bool(true)]), "double 1.0", letter)
            XCTAssertEqual(try constant("%" + letter, [decimal]), "decimal 2.5", letter)
            let message = try XCTUnwrap(error("a == %" + letter, [.string("5")])).message
            XCTAssertTrue(
                message.contains("%\(letter.suffix(1)) takes a number, but argument 1 is the string \"5\""), message)
        }
        for letter in ["s", "S"] {
            XCTAssertEqual(try constant("%" + letter, [.string("x")]), "text x")
            let message = try XCTUnwrap(error("a == %" + letter, [.int(5)])).message
            XCTAssertTrue(message.contains("%\(letter) takes a string, but argument 1 is a number"), message)
        }
        XCTAssertEqual(try constant("%@", [.null]), "nil")
        XCTAssertEqual(try constant("%@", [.bool(true)]), "bool true")
        for (format, arguments, offset, words) in [
            ("a == %%", [], 5, "%% (a percent sign) is allowed within a string only"),
            ("a == %l@", [.int(1)], 5, "\"%l@\" is not a conversion"),
            ("a == %lK", [.int(1)], 5, "\"%lK\" is not a conversion"), ("a == %", [], 5, "\"%\" is not a conversion"),
            ("a IN {%@, %@}", [.int(1)], 10, "%@ needs argument 2, but the number of arguments is 1"),
            ("a == %d", [], 5, "%d needs argument 1, but the number of arguments is 0"),
        ] as [(String, [PropertyValue], Int, String)] {
            let error = try XCTUnwrap(error(format, arguments))
            XCTAssertEqual(error.offset, offset, format)
            XCTAssertTrue(error.message.contains(words), error.message)
        }
        XCTAssertNoThrow(
            try Predicate.parse("a == %@", arguments: [.int(1), .int(2)]), "what is left over is not looked at")
    }

    func testSyntaxErrorsNameTheMissingToken() throws {
        for (format, offset, words) in [
            ("SUBQUERY(a $x, $x == 1).@count == 1", 11, "expected a comma after the collection, found \"$x\""),
            ("SUBQUERY(a, x, x == 1).@count == 1", 12, "expected a variable such as $x, found \"x\""),
            ("SUBQUERY(a, $x $x == 1).@count == 1", 15, "expected a comma after the variable, found \"$x\""),
            ("SUBQUERY(a, $x, $x == 1 == 1", 24, "expected ), found \"==\""),
            ("CAST(a 'x') == 1", 7, "expected a comma after the value, found 'x'"),
            ("CAST(a, 'x' == 1", 12, "expected ), found \"==\""),
            ("TERNARY(a == 1 b, c) == 1", 15, "expected a comma after the condition, found \"b\""),
            ("TERNARY(a == 1, b c) == 1", 18, "expected a comma after the first value, found \"c\""),
            ("TERNARY a == 1", 8, "expected (, found \"a\""),
            ("FUNCTION(a) == 1", 9, "FUNCTION takes a receiver and a selector, but has 1 argument"),
            ("FETCH(a, b) == 1", 6, "FETCH takes a request, a context and a count flag, but has 2 arguments"),
            ("FETCH(a, b, c, d) == 1", 6, "FETCH takes a request, a context and a count flag, but has 4 arguments"),
            ("a[0 == 1", 4, "expected ] after the index, found \"==\""),
            ("abs:(a == 1", 7, "expected ) or a comma, found \"==\""),
            ("abs: == 1", 5, "expected ( and the arguments of the function \"abs:\", found \"==\""),
            ("a NOT b", 6, "expected IN after NOT, found \"b\""),
            ("a NOT LIKE 'x'", 6, "expected IN after NOT, found \"LIKE\""),
            ("a ==[] 'b'", 5, "expected options of the letters c, d, n, l or w, found \"]\""),
            ("a ==[c 'b'", 7, "expected ] after the options, found 'b'"),
            ("a == 1 b", 7, "expected AND, OR or the end of the text, found \"b\""),
            ("a == 1 AND", 10, "expected a value or a key, found the end of the text"),
            ("(a) AND b == 1", 4, "expected a comparison operator"),
            ("1 + (a == 1) == 2", 13, "expected a value before this, found a predicate"),
            ("a == AND", 5, "found the reserved word \"AND\"; write a key of this name as \"#AND\""),
        ] {
            let error = try XCTUnwrap(error(format))
            XCTAssertEqual(error.offset, offset, format)
            XCTAssertTrue(error.message.contains(words), error.message)
        }
        XCTAssertThrowsError(try Expression.parse("a + 1 b")) {
            XCTAssertEqual(
                ($0 as? CoreError)?.message,
                "cannot read the expression at byte 6: expected an operator or the end of the text, found \"b\"\n  a + 1 b\n        ^"
            )
        }
        let long = String(repeating: "b", count: 41)
        XCTAssertTrue(try XCTUnwrap(error("a " + long.dropLast())).message.contains("found \"\(long.dropLast())\"\n"))
        XCTAssertTrue(try XCTUnwrap(error("a " + long)).message.contains("found \"\(long.dropLast())…\"\n"))
    }

    func testSyntaxErrorsShowTheLine() throws {
        func lines(_ format: String) throws -> [String] {
            try XCTUnwrap(error(format)).message.split(separator: "\n").dropFirst().map(String.init)
        }
        XCTAssertEqual(try lines("a == 1\nAND ; b\nOR c"), ["  AND ; b", "      ^"])
        XCTAssertEqual(try lines("a == 1 AND\r\t;\rx"), ["   ;", "   ^"])
        let before = String(repeating: "a", count: 59) + " "
        XCTAssertEqual(try lines(before + ";"), ["  \(before);", "  \(String(repeating: " ", count: 60))^"])
        XCTAssertEqual(
            try lines("a" + before + ";"), ["  ...\(before.suffix(57));", "  \(String(repeating: " ", count: 60))^"])
        let behind = String(repeating: "b", count: 39)
        XCTAssertEqual(try lines(";" + behind), ["  ;\(behind)", "  ^"])
        XCTAssertEqual(try lines(";b" + behind), ["  ;\(behind.prefix(36))...", "  ^"])
    }

    func testTextsAtTheLimitsAreParsed() throws {
        func nested(_ count: Int) -> String {
            String(repeating: "(", count: count) + "a == 1" + String(repeating: ")", count: count)
        }
        XCTAssertEqual(try Predicate.parse(nested(100)).format, "a == 1")
        XCTAssertEqual(error(nested(101))?.offset, 101)
        func sum(_ count: Int) -> String { "a" + String(repeating: " + 1", count: count) }
        XCTAssertNoThrow(try Expression.parse(sum(400)))
        XCTAssertThrowsError(try Expression.parse(sum(401)))
        let signs = String(repeating: "- ", count: 400)
        XCTAssertNoThrow(try Expression.parse(signs + "a"))
        XCTAssertThrowsError(try Expression.parse("- " + signs + "a"))
        XCTAssertNoThrow(try Predicate.parse(String(repeating: "!", count: 399) + "a == 1"))
        XCTAssertThrowsError(try Predicate.parse(String(repeating: "!", count: 400) + "a == 1"))
        XCTAssertNoThrow(try Predicate.parse(String(repeating: "!", count: 400) + "TRUEPREDICATE"))
        let deepest = PropertyValue.object(ExpressionValue(try Expression.parse(sum(400))))
        XCTAssertNoThrow(try Expression.parse("%@", arguments: [deepest]))
        XCTAssertThrowsError(try Expression.parse("%@ + 1", arguments: [deepest]))
        let many = [PropertyValue](repeating: .int(1), count: PredicateLimits.maximumArguments)
        XCTAssertEqual(try Predicate.parse("a == %@", arguments: many).format, "a == 1")
        let padding = String(repeating: " ", count: PredicateLimits.maximumLength - 6)
        XCTAssertEqual(try Predicate.parse("a == 1" + padding).format, "a == 1")
    }
}
