import CorestonePredicate
import CorestoneValues
import XCTest

/// The text of every kind of predicate and expression, in each style.
final class PrintingTests: XCTestCase {
    private typealias Row = (format: String, plain: String, blank: String)

    func testEveryKindOfExpressionIsFormatted() throws {
        let table: [Row] = [
            ("SELF", "SELF", "SELF"), ("a.b", "a.b", "a.b"), ("#like.#Size.x", "#like.#Size.x", "#like.#Size.x"),
            ("$x.a", "$x.a", "$x.a"), ("a.$k", "a.$k", "a.$k"), ("a.b[1]", "a.b[1]", "a.b[%@]"),
            ("(a.b)[1]", "(a.b)[1]", "(a.b)[%@]"), ("a[first]", "a[FIRST]", "a[FIRST]"),
            ("a[last]", "a[LAST]", "a[LAST]"),
            ("a[size]", "a[SIZE]", "a[SIZE]"), ("($x.a)[0]", "($x.a)[0]", "($x.a)[%@]"),
            ("(a.$k)[0]", "(a.$k)[0]", "(a.$k)[%@]"), ("(-1)[0]", "(-1)[0]", "(%@)[%@]"),
            ("(a + b)[0]", "(a + b)[0]", "(a + b)[%@]"),
            ("'x'.length", "\"x\".length", "%@.length"), ("5.description", "(5).description", "(%@).description"),
            ("(a + b).c", "(a + b).c", "(a + b).c"), ("(a UNION b).c", "(a UNION b).c", "(a UNION b).c"),
            ("{a, 1, 'x'}", "{a, 1, \"x\"}", "{a, %@, %@}"), ("{1, 'x'}", "{1, \"x\"}", "%@"), ("{}", "{}", "%@"),
            ("abs:(a)", "abs:(a)", "abs:(a)"), ("sum(1, a)", "sum:(1, a)", "sum:(%@, a)"), ("now()", "now()", "now()"),
            ("uppercase(a)", "uppercase:(a)", "uppercase:(a)"),
            ("modulus:by:(a, 2)", "modulus:by:(a, 2)", "modulus:by:(a, %@)"),
            ("-a", "-a", "-a"), ("~a", "~a", "~a"), ("-(a + b)", "-(a + b)", "-(a + b)"), ("-(-a)", "-(-a)", "-(-a)"),
            ("a + b * c", "a + (b * c)", "a + (b * c)"), ("(a | b) & c", "(a | b) & c", "(a | b) & c"),
            ("a ^ b << 2", "a ^ (b << 2)", "a ^ (b << %@)"), ("a >> 1", "a >> 1", "a >> %@"),
            ("a ** b", "a ** b", "a ** b"),
            ("a / b - c", "(a / b) - c", "(a / b) - c"), ("add:to:(a, 1)", "a + 1", "a + %@"),
            ("FUNCTION(a, 'f:', 2, b)", "FUNCTION(a, \"f:\" , 2, b)", "FUNCTION(a, %@ , %@, b)"),
            ("FUNCTION(a, 'f')", "FUNCTION(a, \"f\")", "FUNCTION(a, %@)"),
            ("SUBQUERY(a, $x, $x.b > 1)", "SUBQUERY(a, $x, $x.b > 1)", "SUBQUERY(a, $x, $x.b > %@)"),
            ("TERNARY(a == 1, b, 'c')", "TERNARY(a == 1, b, \"c\")", "TERNARY(a == %@, b, %@)"),
            (
                "a UNION b INTERSECTION c MINUS d", "((a UNION b) INTERSECT c) MINUS d",
                "((a UNION b) INTERSECT c) MINUS d"
            ),
            ("CAST(a, 'NSDate')", "CAST(a, \"NSDate\")", "CAST(a, %@)"), ("$v := 3 + a", "$v := 3 + a", "$v := %@ + a"),
            ("($v := 3) + 1", "($v := 3) + 1", "($v := %@) + %@"), ("ANYKEY", "ANYKEY", "ANYKEY"),
            ("FETCH(a, b, NO)", "FETCH(a, b, 0)", "FETCH(a, b, %@)"), ("nil", "nil", "nil"), ("YES", "1", "%@"),
            ("NO", "0", "%@"),
        ]
        for (format, plain, blank) in table {
            let expression = try Expression.parse(format)
            XCTAssertEqual(expression.format, plain, format)
            XCTAssertEqual(expression.description, plain, format)
            XCTAssertEqual(expression.format(.blank), blank, format)
            XCTAssertEqual(try Expression.parse(plain), expression, format)
        }
    }

    func testEveryOperatorAndConnectiveIsFormatted() throws {
        let table: [Row] = [
            ("a = 1", "a == 1", "a == %@"), ("a <> 1", "a != 1", "a != %@"), ("a =< 1", "a <= 1", "a <= %@"),
            ("a => 1", "a >= 1", "a >= %@"), ("a < 1", "a < 1", "a < %@"), ("a > 1", "a > 1", "a > %@"),
            ("a beginswith[Cd] 'x'", "a BEGINSWITH[cd] \"x\"", "a BEGINSWITH[cd] %@"),
            ("a endswith[D] 'x'", "a ENDSWITH[d] \"x\"", "a ENDSWITH[d] %@"),
            ("a contains[n] 'x'", "a CONTAINS[n] \"x\"", "a CONTAINS[n] %@"),
            ("a like[l] 'x'", "a LIKE[l] \"x\"", "a LIKE[l] %@"),
            ("a matches 'x'", "a MATCHES \"x\"", "a MATCHES %@"),
            ("a tokenmatches[w] 'x'", "a TOKENMATCHES[w] \"x\"", "a TOKENMATCHES[w] %@"),
            ("a between {1, 2}", "a BETWEEN {1, 2}", "a BETWEEN %@"), ("a in {1, 2}", "a IN {1, 2}", "a IN %@"),
            ("a in {1, b}", "a IN {1, b}", "a IN {%@, b}"),
            ("a uti-equals 'x'", "a UTI-EQUALS \"x\"", "a UTI-EQUALS %@"),
            ("a uti-conforms-to 'x'", "a UTI-CONFORMS-TO \"x\"", "a UTI-CONFORMS-TO %@"),
            ("a isLike: 'x'", "a isLike: \"x\"", "a isLike: %@"), ("a == nil", "a == nil", "a == nil"),
            ("some a == 1", "ANY a == 1", "ANY a == %@"), ("all a == 1", "ALL a == 1", "ALL a == %@"),
            ("none a == 1", "NOT ANY a == 1", "NOT ANY a == %@"), ("truepredicate", "TRUEPREDICATE", "TRUEPREDICATE"),
            ("falsepredicate", "FALSEPREDICATE", "FALSEPREDICATE"),
            ("not truepredicate", "NOT TRUEPREDICATE", "NOT TRUEPREDICATE"),
            ("a = 1 && b = 2 && c = 3", "a == 1 AND b == 2 AND c == 3", "a == %@ AND b == %@ AND c == %@"),
            (
                "a = 1 || b = 2 && !c = 3", "a == 1 OR (b == 2 AND (NOT c == 3))",
                "a == %@ OR (b == %@ AND (NOT c == %@))"
            ),
            ("!(a = 1 || b = 2)", "NOT (a == 1 OR b == 2)", "NOT (a == %@ OR b == %@)"),
        ]
        for (format, plain, blank) in table {
            let predicate = try Predicate.parse(format)
            XCTAssertEqual(predicate.format, plain, format)
            XCTAssertEqual(predicate.description, plain, format)
            XCTAssertEqual(predicate.format(.blank), blank, format)
            XCTAssertEqual(try Predicate.parse(plain), predicate, format)
        }
    }

    func testCompoundsWithNoPartOrOnePartAreFormatted() throws {
        let part = try Predicate.parse("a == 1")
        let (all, any) = (try Predicate.and([]), try Predicate.or([]))
        XCTAssertEqual([all.format, any.format], ["TRUEPREDICATE", "FALSEPREDICATE"])
        XCTAssertEqual([try Predicate.and([part]).format, try Predicate.or([part]).format], ["a == 1", "a == 1"])
        XCTAssertEqual(try Predicate.not(all).format, "NOT TRUEPREDICATE")
        XCTAssertEqual(try Predicate.and([any, part]).format, "FALSEPREDICATE AND a == 1")
        XCTAssertEqual(try Predicate.or([try .and([part]), part]).format, "(a == 1) OR a == 1")
        XCTAssertTrue(try all.evaluate(with: .null))
        XCTAssertFalse(try any.evaluate(with: .null))
    }

    func testConstantsAreFormattedInEachStyle() throws {
        let uuid = UUIDValue(high: 0, low: 1)
        let uuidText = "00000000-0000-0000-0000-000000000001"
        let table: [(PropertyValue, plain: String, exact: String, operand: String, message: String)] = [
            (.null, "nil", "nil", "nil", "nil"), (.bool(true), "1", "1", "1", "1"), (.bool(false), "0", "0", "0", "0"),
            (.double(2), "2", "2", "2.0", "2"), (.double(0.1), "0.1", "0.1", "0.1", "0.1"),
            (
                .double(-0x1p53), "-9007199254740992.0", "-9007199254740992.0", "-9007199254740992.0",
                "-9007199254740992.0"
            ),
            (
                .double(9_007_199_254_740_991), "9007199254740991", "9007199254740991", "9007199254740991.0",
                "9007199254740991"
            ),
            (
                .double(-.infinity), "CAST(\"-inf\", \"NSNumber\")", "CAST(\"-inf\", \"NSNumber\")",
                "CAST(\"-inf\", \"NSNumber\")", "-inf"
            ),
            (.decimal(DecimalNumber(7)), "7", "7", "CAST(\"7\", \"NSDecimalNumber\")", "7"),
            (
                .decimal(try DecimalNumber("0.12345678901234567890")), "0.1234567890123456789",
                "CAST(\"0.1234567890123456789\", \"NSDecimalNumber\")",
                "CAST(\"0.1234567890123456789\", \"NSDecimalNumber\")", "0.1234567890123456789"
            ),
            (.string("a\"\\\n"), "\"a\\\"\\\\\n\"", "\"a\\\"\\\\\\u000a\"", "\"a\\\"\\\\\\u000a\"", "\"a\\\"\\\\\n\""),
            (
                .string("\u{1F}\u{FFFE}"), "\"\u{1F}\u{FFFE}\"", "\"\\u001f\\ufffe\"", "\"\\u001f\\ufffe\"",
                "\"\u{1F}\u{FFFE}\""
            ),
            (
                .uri("x:y"), "CAST(\"x:y\", \"NSURL\")", "CAST(\"x:y\", \"NSURL\")", "CAST(\"x:y\", \"NSURL\")",
                "\"x:y\""
            ),
            (
                .bytes(Bytes([0x0F, 0xF0])), "CAST(\"0ff0\", \"NSData\")", "CAST(\"0ff0\", \"NSData\")",
                "CAST(\"0ff0\", \"NSData\")", "<0ff0>"
            ),
            (
                .uuid(uuid), "CAST(\"\(uuidText)\", \"NSUUID\")", "CAST(\"\(uuidText)\", \"NSUUID\")",
                "CAST(\"\(uuidText)\", \"NSUUID\")", uuidText
            ),
            (
                .set([.int(2), .int(1)]), "{1, 2}", "CAST({1, 2}, \"NSSet\")", "CAST({1, 2}, \"NSSet\")", "{1, 2}"
            ),
            (
                .dictionary(["b": .string("x"), "a": .int(1)]), "{a=1, b=\"x\"}",
                "CAST({{\"a\", 1}, {\"b\", \"x\"}}, \"NSDictionary\")",
                "CAST({{\"a\", 1}, {\"b\", \"x\"}}, \"NSDictionary\")", "{a=1, b=\"x\"}"
            ),
            (.array([.double(1), .string("x")]), "{1, \"x\"}", "{1, \"x\"}", "{1.0, \"x\"}", "{1, \"x\"}"),
        ]
        for (value, plain, exact, operand, message) in table {
            let expression = Expression.constant(value)
            XCTAssertEqual(expression.format(.plain), plain)
            XCTAssertEqual(expression.format(.exact), exact)
            XCTAssertEqual(expression.format(.operand), operand)
            XCTAssertEqual(expression.format(.message), message)
        }
    }

    func testDatesHaveSixDecimalsUnlessMoreAreNeeded() {
        for (seconds, plain, exact) in [
            (0.0, "0.000000", "0.000000"), (1.5, "1.500000", "1.500000"), (-1.25, "-1.250000", "-1.250000"),
            (0.1, "0.100000", "0.100000"), (0.000_000_4, "0.000000", "4e-07"), (-0.000_000_4, "0.000000", "-4e-07"),
            (1.999_999_9, "2.000000", "1.9999999"), (5e11, "500000000000.000000", "500000000000.000000"),
        ] {
            let expression = Expression.constant(.date(seconds))
            XCTAssertEqual(expression.format, "CAST(\(plain), \"NSDate\")")
            XCTAssertEqual(expression.format(.exact), "CAST(\(exact), \"NSDate\")")
        }
    }

    func testExcerptsAreShortened() {
        for (count, shown) in [(58, 58), (59, 56)] {
            let excerpt = PropertyValue.string(String(repeating: "x", count: count)).excerpt
            let end = count == shown ? "\"" : "…"
            XCTAssertEqual(excerpt, "\"" + String(repeating: "x", count: shown) + end)
        }
    }

    func testSetAsOperandOfInIsFormattedAsAList() throws {
        let arguments: [PropertyValue] = [.set([.int(1), .int(2)])]
        let membership = try Predicate.parse("a IN %@", arguments: arguments)
        XCTAssertEqual(membership.format(.exact), "a IN {1, 2}")
        XCTAssertEqual(membership.format(.blank), "a IN %@")
        XCTAssertEqual(
            try Predicate.parse("a == %@", arguments: arguments).format(.exact), "a == CAST({1, 2}, \"NSSet\")")
    }

    func testCastsOfConstantsAreParsedAsConstants() throws {
        let table: [(String, PropertyValue)] = [
            ("CAST(5, 'NSDate')", .date(5)), ("CAST('-inf', 'NSNumber')", .double(-.infinity)),
            ("CAST('0.1234567890123456789', 'NSDecimalNumber')", .decimal(try DecimalNumber("0.1234567890123456789"))),
            ("CAST('00000000-0000-0000-0000-000000000001', 'NSUUID')", .uuid(UUIDValue(high: 0, low: 1))),
            ("CAST('x:y', 'NSURL')", .uri("x:y")), ("CAST('0fF0', 'NSData')", .bytes(Bytes([0x0F, 0xF0]))),
            ("CAST('', 'NSData')", .bytes(Bytes([]))), ("CAST({1, 1, 2}, 'NSSet')", .set([.int(1), .int(2)])),
            ("CAST({{'a', 1}, {'b', {2}}}, 'NSDictionary')", .dictionary(["a": .int(1), "b": .array([.int(2)])])),
            ("CAST({}, 'NSDictionary')", .dictionary([:])),
        ]
        for (format, value) in table {
            let constant = try XCTUnwrap(try Expression.parse(format).constantValue, format)
            XCTAssertEqual(constant, value, format)
            XCTAssertEqual(constant.kind, value.kind, format)
        }
        for format in [
            "CAST('12', 'NSNumber')", "CAST('1.5', 'NSDecimalNumber')", "CAST('x', 'NSUUID')", "CAST('0f0', 'NSData')",
            "CAST('0g', 'NSData')", "CAST({{'a'}}, 'NSDictionary')", "CAST({{1, 2}}, 'NSDictionary')",
            "CAST({{'a', 1, 2}}, 'NSDictionary')", "CAST({1}, 'NSDictionary')", "CAST('a', 'NSDate')",
            "CAST(5, 'NSURL')",
        ] { XCTAssertNil(try Expression.parse(format).constantValue, format) }
        for format in [
            "CAST('x', 'NSUUID')", "CAST('0f0', 'NSData')", "CAST({1}, 'NSDictionary')", "CAST(5, 'NSURL')",
            "CAST(5, 'NSSet')", "CAST(5, 'Class')", "CAST('a', 'NSDate')", "CAST({1}, 'NSNumber')",
        ] {
            XCTAssertThrowsError(try Expression.parse(format).value(with: .null), format) {
                XCTAssertEqual(
                    ($0 as? CoreError)?.message.contains(" and cannot be cast to NS") ?? false,
                    !format.contains("Class"))
                XCTAssertEqual(($0 as? CoreError)?.status, .predicate)
            }
        }
    }
}
