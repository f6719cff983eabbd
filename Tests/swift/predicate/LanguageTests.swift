import CorestonePredicate
import CorestoneValues
import XCTest

/// The evaluation rules of the predicate language, table by table.
final class LanguageTests: XCTestCase {
    private let object = PropertyValue.dictionary([
        "n": .array([.int(3), .int(1), .int(2), .int(3)]), "empty": .array([]), "text": .string("Hello"),
        "s": .set([.dictionary(["x": .int(1)]), .dictionary(["x": .int(5)])]),
        "list": .array([
            .dictionary(["x": .int(1), "t": .array([.string("p"), .string("q")])]),
            .dictionary(["x": .int(3), "t": .array([.string("q")])]), .dictionary(["t": .array([])]),
        ]), "d": .dictionary(["k": .string("v"), "other": .int(2)]), "key": .string("k"), "date": .date(100),
        "home": .array([.double(48.137), .double(11.575)]),
        "work": .dictionary(["latitude": .double(52.52), "longitude": .double(13.405)]),
    ])

    private func holds(_ format: String) throws -> Bool {
        try Predicate.parse(format).evaluate(with: object, variables: ["v": .int(7), "nothing": .null])
    }

    private func check(_ yes: [String], not no: [String] = [], errors: [(String, String)] = []) {
        for format in yes {
            XCTAssertTrue(try holds(format), format)
        }
        for format in no {
            XCTAssertFalse(try holds(format), format)
        }
        for (format, words) in errors {
            do { XCTFail("\(format) gave \(try holds(format))") } catch let error as CoreError {
                XCTAssertTrue(error.message.contains(words), "\(format): \(error.message)")
            } catch { XCTFail("\(error)") }
        }
    }

    func testLiteralsAreEvaluated() {
        check([
            "1. == 1", "1.e2 == 100", "1.5e-1 == 0.15", "0x1F == 31", "0X1f == 31", "0o17 == 15", "0b101 == 5",
            "0001 == 1",
            #"'\x41\u0042\103' == 'ABC'"#, #"'a\'b' == "a'b""#, #"'\q' == 'q'"#, #"te\x78t == 'Hello'"#,
            #"\164ext == 'Hello'"#, "#text == 'Hello'", "TrUe == yEs", "NULL == niL", "5.description == '5'",
            "1 / 2. == 0.5", "'%@ $x' == '%@ $x'", "{} == {}", "-1 == 0 - 1", "- -1 == 1", "~0 == -1",
        ])
        for format in [
            "1 == 'a", "a == 0x", "x.0 == 1", "a == 08x", "/* a */ a == 1", "a === 1", "a & b", "a == 1 // b",
        ] {
            XCTAssertThrowsError(try Predicate.parse(format), format)
        }
    }

    func testOperatorsHaveTheirPrecedence() throws {
        let table = [
            ("a + b * c == 1", "a + (b * c) == 1"), ("a * b ** c == 1", "a * (b ** c) == 1"),
            ("2 ** 3 ** 2 == 1", "(2 ** 3) ** 2 == 1"),
            ("-a ** 2 == 1", "(-a) ** 2 == 1"), ("a | b ^ c & d << 1 + 2 == 1", "a | (b ^ (c & (d << (1 + 2)))) == 1"),
            ("a UNION b + 1 == 1", "a UNION (b + 1) == 1"), ("a - b - c == 1", "(a - b) - c == 1"),
            ("NOT a = 1 OR b = 2", "(NOT a == 1) OR b == 2"), ("a=1 OR b=2 AND c=3", "a == 1 OR (b == 2 AND c == 3)"),
            ("!a=1&&!b=2", "(NOT a == 1) AND (NOT b == 2)"), ("NOT NOT a = 1", "NOT (NOT a == 1)"),
            ("$v := 3 + 4 == 7", "$v := 3 + 4 == 7"), ("(a == 1) AND ((b == 2))", "a == 1 AND b == 2"),
            ("((a)) + (1) == (2)", "a + 1 == 2"), ("a.b[0] == 1", "a.b[0] == 1"), ("(a.b)[0] == 1", "(a.b)[0] == 1"),
            ("a.b[0][1].c == 1", "a.b[0][1].c == 1"), ("a[FIRST].b == 1", "a[FIRST].b == 1"),
            ("a[$i].$k.c == 1", "a[$i].$k.c == 1"), ("ANY a.b ==[wlndc] 'x'", #"ANY a.b ==[cdnlw] "x""#),
        ]
        for (format, printed) in table {
            let predicate = try Predicate.parse(format)
            XCTAssertEqual(predicate.format, printed)
            XCTAssertEqual(try Predicate.parse(printed), predicate, format)
        }
    }

    func testOperatorsCompareNilOnEitherSide() {
        for (operation, both, one) in [
            ("==", true, false), ("!=", false, true), ("<", false, false), (">", false, false), ("<=", true, false),
            (">=", true, false), ("IN", false, false), ("CONTAINS", false, false), ("BEGINSWITH", false, false),
            ("ENDSWITH", false, false), ("LIKE", false, false), ("MATCHES", false, false), ("BETWEEN", false, false),
            ("TOKENMATCHES", false, false), ("UTI-EQUALS", false, false), ("isEqual:", false, false),
        ] {
            XCTAssertEqual(try holds("missing \(operation) nil"), both, operation)
            XCTAssertEqual(try holds("missing \(operation) $nothing"), both, operation)
            XCTAssertEqual(try holds("missing \(operation) 'a'"), one, operation)
            XCTAssertEqual(try holds("'a' \(operation) missing"), one, operation)
        }
    }

    func testFunctionsReturnTheirValues() {
        check(
            [
                "average:(n) == 2.25", "sum:(n) == 9", "count:(n) == 4", "min:(n) == 1", "max:(n) == 3",
                "median:(n) == 2.5",
                "median:({3, 1, 2}) == 2", "mode:(n) == {3}", "mode:({1, 2}) == {1, 2}", "sum(1, 2, 3) == 6",
                "sum:(empty) == 0", "count:(empty) == 0", "min:(empty) == nil",
                "abs:(stddev:({1, 2, 3, 4, 4, 5, 9, 11}) - 3.2186) < 0.0001", "41 / 2 * 2 == 40", "41 / 2.0 * 2 == 41",
                "2 ** 10 == 1024", "modulus:by:(7, 3) == 1", "modulus:by:(-7, 3) == -1", "modulus:by:(7.9, 3.9) == 1",
                "from:subtract:(5, 3) == 2", "add:to:(1, 2) == 3", "multiply:by:(2, 3) == 6", "divide:by:(7, 2) == 3",
                "raise:toPower:(2, 0.5) == sqrt:(2)", "log:(1000) == 3", "ln:(exp:(2)) == 2", "floor:(-1.5) == -2",
                "ceiling:(1.2) == 2", "trunc:(-1.7) == -1", "abs:(-3) == 3", "bitwiseAnd:with:(6, 3) == 2",
                "6 | 3 == 7",
                "6 ^ 3 == 5", "leftshift:by:(1, 4) == 16", "256 >> 4 == 16", "onesComplement:(5) == -6",
                "uppercase:(text) == 'HELLO'", "lowercase('ABC') == 'abc'", "canonical:('Ünï') == 'uni'",
                "length:(text) == 5", "length('😀') == 2", "noindex:(text) == text", "objectFrom:withIndex:(n, 2) == 2",
                "castObject:toType:('12', 'NSNumber') == 12", "distinct:(n) == distinct:({1, 2, 3})", "random() < 1",
                "random:(3) < 3", "randomn:(3) < 3", "now() > CAST(0, 'NSDate')",
                "abs:(distanceToLocation:fromLocation:(home, work) - 504400) < 1000",
                "distanceToLocation:fromLocation:(missing, home) == nil", "uppercase:(missing) == nil",
            ],
            errors: [
                ("'a' * 2 == 1", "takes numbers, but \"a\" is a string"),
                ("missing + 1 == 2", "takes numbers, not nil"),
                ("1 / 0 == 1", "division by zero in \"1 / 0\""),
                ("5.5 & 1 == 1e30 & 1", "bitwiseAnd:with: takes numbers from"),
                ("length:(5) == 1", "takes a string, not 5"), ("random:(0) == 1", "number of at least 1, not 0"),
                ("distanceToLocation:fromLocation:(text, home) == 1", "takes a location, but \"text\" is \"Hello\""),
                ("sum:({'a'}) == 1", "takes numbers"), ("max:({1, 'a'}) == 1", "cannot be ordered"),
            ])
        for format in [
            "abs:() == 1", "abs:(1, 2) == 1", "now(1) > 1", "sum:() == 0", "add:to:(1) == 1", "nope:(1) == 1",
        ] {
            XCTAssertThrowsError(try Predicate.parse(format), format) {
                XCTAssertEqual(($0 as? CoreError)?.status, .predicateSyntax)
            }
        }
    }

    func testCastsConvertBetweenTypes() {
        check(
            [
                "CAST(0, 'NSDate') < date", "CAST(date, 'NSNumber') == 100", "CAST(date, 'NSDate') == date",
                "CAST('12', 'NSNumber') == 12", "CAST('1.5', 'NSNumber') == 1.5", "CAST(1.5, 'NSString') == '1.5'",
                "CAST(1.0, 'NSString') == '1'", "CAST(YES, 'NSString') == '1'", "CAST({1, 2}, 'NSString') == '{1, 2}'",
                "CAST('1.25', 'NSDecimalNumber') * 4 == 5", "CAST(2, 'NSDecimalNumber') == 2",
                "CAST(missing, 'NSDate') == nil",
                "text isKindOfClass: CAST('NSString', 'Class')", "CAST(key, 'NSString') == 'k'",
            ],
            errors: [
                ("CAST('x', 'NSNumber') == 1", "\"x\" is not the text of a number and cannot be cast to NSNumber"),
                ("CAST('x', 'NSDecimalNumber') == 1", "cannot be cast to NSDecimalNumber"),
                ("CAST(text, 'Thing') == 1", "CAST does not support the type \"Thing\""),
                ("CAST(text, 5) == 1", "not 5"),
            ])
    }

    func testMembershipAndRangesAreEvaluated() {
        check(
            [
                "3 IN n", "n CONTAINS 3", "'v' IN d", "d CONTAINS 2", "'ell' IN text", "text CONTAINS 'ell'",
                "1 IN {1.0}", "NOT 'EL' IN text", "'EL' IN[c] text", "text IN {'Hello'}",
                "NOT text IN[c] {'hello'}", "3 BETWEEN {1, 3}", "1 BETWEEN {1, 3}", "NOT 5 BETWEEN {10, 1}",
                "'b' BETWEEN {'a', 'c'}", "NOT 3 BETWEEN {nil, 5}",
                "CAST(50, 'NSDate') BETWEEN {CAST(0, 'NSDate'), date}",
            ],
            errors: [
                ("3 IN 5", "IN needs a collection or a string, not 5"),
                ("5 CONTAINS 'a'", "CONTAINS needs a collection or a string, not 5"),
                ("3 IN text", "cannot search text for 3"), ("42 BETWEEN {23}", "{low, high}"),
                ("42 BETWEEN 3", "not 3"),
                (
                    "5 BEGINSWITH 'a'",
                    "BEGINSWITH compares strings, not 5 with \"a\"; compare two strings, or convert with CAST"
                ),
                ("text MATCHES 5", "MATCHES compares strings"), ("text < 5", "cannot be ordered"),
                ("text MATCHES '('", "cannot be compiled as a regular expression"),
            ])
    }

    func testQuantifiersAreEvaluated() {
        check(
            [
                "ANY n == 2", "SOME n > 2", "ALL n > 0", "NONE n > 3", "ALL empty == 1", "NONE empty == 1",
                "ANY list.x == 3", "ANY s.x == 5", "ANY list.t == 'q'", "ALL missing == 1",
            ], not: ["ANY empty == 1", "ANY missing == 1", "ALL n > 1", "n == 3", "list.x == 3"],
            errors: [
                (
                    "ANY text == 'a'",
                    "the left side of a comparison with ALL, ANY, SOME or NONE must be a list or a set, but \"text\" is "
                        + "\"Hello\". Leave ALL, ANY or SOME out, write NOT for NONE, or name a to-many key path"
                ),
                ("ALL 5 == 5", "the left side of a comparison with ALL, ANY, SOME or NONE"),
            ])
    }

    func testIndexesSelectElements() {
        check(
            [
                "n[0] == 3", "n[FIRST] == 3", "n[LAST] == 3", "n[SIZE] == 4", "s[SIZE] == 2", "d[SIZE] == 2",
                "d['k'] == 'v'",
                "d[key] == 'v'", "d['none'] == nil", "empty[FIRST] == nil", "empty[LAST] != 1", "missing[0] == nil",
                "list[FIRST].x == 1", "(SELF.n)[1] == 1", "n[1 + 1] == 2", "(list.x)[1] == 3",
                "n[1.0] == 1", "d.k == 'v'", "SELF['text'] == 'Hello'",
            ],
            errors: [
                ("n[4] == 1", "index 4 is out of bounds of \"n\", a list of 4"),
                ("n[-1] == 1", "index -1 is out of bounds"),
                ("n['a'] == 1", "indexed by a 64-bit integer, not by \"a\""),
                ("s[0] == 1", "\"s\", a set, cannot be indexed"),
                ("text[0] == 'H'", "but \"text\" is \"Hello\""), ("s[FIRST] == 1", "\"s\", a set, cannot be indexed"),
                ("SELF.n[1] == 1", "Put the path before the brackets in parentheses"),
                ("d.n[0] == 1", "as a key, but the value of the key is "),
                ("nums == 1 OR text.$v == 1", "is used as a key and must be a string"),
            ])
        let dynamic = PropertyValue.dictionary([
            "names": .array([.string("first")]), "person": .dictionary(["first": .int(1)]),
        ])
        XCTAssertTrue(try Predicate.parse("person.names[0] == 1").evaluate(with: dynamic))
    }

    func testSetOperationsAndSubqueriesAreEvaluated() {
        check(
            [
                "{1, 2} UNION {3} == n UNION n", "(n UNION {'b'})[SIZE] == 4", "n INTERSECT {1, 9} == distinct:({1})",
                "n INTERSECTION {1} == distinct:({1})", "n MINUS {3} == distinct:({1, 2})",
                "n MINUS d == distinct:({1, 3})",
                "SUBQUERY(n, $x, $x > 1).@count == 3", "SUBQUERY(list, $x, $x.x == n[1])[FIRST].x == 1",
                "SUBQUERY(list, $x, SUBQUERY($x.t, $y, $y == 'q' AND $x.x == 3).@count > 0).@count == 1",
                "SUBQUERY(n, $v, $v == 1).@count == 1 AND $v == 7", "SUBQUERY(missing, $x, $x == 1).@count == 0",
                "SUBQUERY(list, $x, $x.x > 0).@max.x == 3", "SUBQUERY(s, $x, $x.x == 5)[SIZE] == 1",
                "TERNARY(text == 'a', 1, 2) == 2",
                "$w := 3 == 3 AND $w == 3", "ANY SUBQUERY(list, $x, $x.x == 1).t == 'p'",
                "TRUEPREDICATE OR 1 / 0 == 1",
            ], not: ["{1, 2} UNION {3} == {1, 2, 3}", "FALSEPREDICATE AND 1 / 0 == 1"],
            errors: [
                ("n UNION 5 == 1", "UNION takes a list, a set or a dictionary on its right, not 5"),
                ("text MINUS n == 1", "a list or a set on its left, but \"text\" is \"Hello\""),
                (
                    "SUBQUERY(text, $x, $x == 1).@count == 1",
                    "SUBQUERY takes a list or a set, but \"text\" is \"Hello\""
                ),
                ("$unbound == 1", "$unbound does not have a value"),
            ])
    }

    func testCollectionOperatorsAreEvaluated() {
        check(
            [
                "n.@count == 4", "n.@sum.self == 9", "n.@avg.self == 2.25", "list.@sum.x == 4",
                "list.@avg.x == 4 / 3.0",
                "list.@min.x == 1", "list.@max.x == 3", "list.@max.nothing == nil", "list.@sum.nothing == 0",
                "list.@avg.nothing == 0", "empty.@avg.x == 0", "empty.@max.x == nil", "list.@count.ignored == 3",
                "list.@unionOfArrays.t == {'p', 'q', 'q'}", "list.@distinctUnionOfArrays.t == {'p', 'q'}",
                "(s.@distinctUnionOfObjects.x)[SIZE] == 2",
                "(list.@unionOfObjects.t)[SIZE] == 3", "list.t.@count == 3", "d.@count == 2",
                "d.@allKeys == {'k', 'other'}",
                "s.@sum.x == 6", "list.@sum.t.@count == 3",
            ],
            errors: [
                ("list.@unionOfObjects.x == 1", "does not take nil"),
                ("s.@unionOfObjects.x == 1", "not a set"),
                ("n.@median.self == 1", "\"@median\" is not a collection operator"),
                ("n.@sun.self == 1", "did you mean \"@sum\"?"),
                ("n.@unionOfArrays.self == 1", "joins collections"),
                ("text.@count == 1", "not key value coding-compliant"),
                ("n.count == 1", "not key value coding-compliant for the key \"count\""), ("d.@nope == 1", "@nope"),
                ("list.@unionOfSets.t == 1", "\"@unionOfSets\" is not a collection operator"),
            ])
    }

    func testTokensAndUniformTypesAreMatched() {
        check(
            [
                "'The quick-brown fox' TOKENMATCHES 'qui fox'", "'The quick fox' TOKENMATCHES[c] 'THE'",
                "'Café au lait' TOKENMATCHES[cd] 'cafe'", "'a b' TOKENMATCHES[w] 'b'",
                "'public.JPEG' UTI-EQUALS 'public.jpeg'",
                "'public.jpeg' UTI-CONFORMS-TO 'public.image'", "'public.jpeg' UTI-CONFORMS-TO 'public.data'",
                "'public.swift-source' UTI-CONFORMS-TO 'public.text'", "'com.acme.x' UTI-CONFORMS-TO 'com.acme.x'",
            ],
            not: [
                "'The quick fox' TOKENMATCHES 'THE'", "'The quick fox' TOKENMATCHES 'uick'",
                "'a bc' TOKENMATCHES[w] 'b'",
                "'a' TOKENMATCHES ''", "'public.image' UTI-CONFORMS-TO 'public.jpeg'",
                "'com.acme.x' UTI-CONFORMS-TO 'public.data'",
            ], errors: [("5 TOKENMATCHES 'a'", "compares strings"), ("'a' UTI-CONFORMS-TO 5", "compares strings")])
    }

    func testMembershipIsTestedInEveryKindOfCollection() throws {
        check(
            [
                "2 IN {1, 2, 3, 4, 5, 6, 7, 8}", "9 IN {1, 2, 3, 4, 5, 6, 7, 8, 9}",
                "1.0 IN {1, 2, 3, 4, 5, 6, 7, 8, 9}",
                "'v' IN {'a', 'v'}", "{3} IN {{3}, 1}", "2 IN {n}", "3 IN {1, n}", "'q' IN {list.t}", "2 IN n",
                "2 IN CAST({1, 2}, 'NSSet')", "CAST({1, 2}, 'NSSet') CONTAINS 2",
                "2 IN CAST({{'a', 2}}, 'NSDictionary')", "'q' IN list.t", "list.t CONTAINS 'q'",
                "2 IN {SUBQUERY(n, $x, $x == 2), 7}",
            ],
            not: [
                "9 IN {1, 2, 3, 4, 5, 6, 7, 8}", "10 IN {1, 2, 3, 4, 5, 6, 7, 8, 9}", "'V' IN[c] {'a', 'v'}",
                "3 IN {{3}, 1}",
                "'a' IN CAST({{'a', 2}}, 'NSDictionary')", "9 IN {1, n}", "missing IN {1}", "2 IN {}",
            ],
            errors: [
                ("1 CONTAINS 2", "CONTAINS needs a collection or a string, not 1"),
                (
                    "date IN 'x'",
                    "\"date IN \"x\"\" cannot be evaluated: cannot search a string for 2001-01-01T00:01:40Z; convert with "
                        + "CAST(…, \"NSString\")"
                ),
                (
                    "CAST('http://x.y/5', 'NSURL') CONTAINS 5",
                    "cannot be evaluated: cannot search a URI for 5; pass a string instead"
                ),
                ("n CONTAINS 3 AND 3 IN date", "IN needs a collection or a string"),
            ])
    }

    func testBetweenIncludesItsBounds() {
        check(
            [
                "1 BETWEEN {1, 1}", "1 BETWEEN {0.5, 1}", "1.5 BETWEEN {1, 2}", "date BETWEEN {date, date}",
                "'B' BETWEEN[c] {'a', 'b'}",
            ],
            not: [
                "0.99 BETWEEN {1, 2}", "2.01 BETWEEN {1, 2}", "1 BETWEEN {nil, 2}", "1 BETWEEN {0, nil}",
                "'B' BETWEEN {'a', 'b'}",
                "missing BETWEEN {1, 2}", "1 BETWEEN {2, 0}",
            ],
            errors: [
                ("1 BETWEEN {1, 2, 3}", "BETWEEN takes a list of two bounds, {low, high}, not {1, 2, 3}"),
                ("1 BETWEEN {1}", "not {1}"), ("1 BETWEEN 'ab'", "not \"ab\""),
                ("1 BETWEEN {'a', 2}", "cannot be ordered"),
            ])
    }

    func testErrorOfAnInvalidOrderNamesTheKeyAndTheKinds() throws {
        for (format, key, value, message) in [
            (
                "text < 5", "text", PropertyValue.int(5),
                "\"text < 5\" cannot be evaluated: \"Hello\" and 5 cannot be ordered: one is a string, the other a number; compare text with a string"
            ),
            (
                "5 >= SELF.text", "text", .int(5),
                "\"5 >= SELF.text\" cannot be evaluated: 5 and \"Hello\" cannot be ordered: one is a number, the other a string; compare text with a "
                    + "string"
            ),
            (
                "home < 5", "home", .int(5),
                "\"home < 5\" cannot be evaluated: {48.137, 11.575} and 5 cannot be ordered: one is a list, the other a number; write ANY "
                    + "home < 5 to compare each element"
            ),
            (
                "1 < 'a'", nil, .string("a"),
                "1 and \"a\" cannot be ordered: one is a number, the other a string; compare values of the same kind"
            ),
            (
                "text BETWEEN {1, 2}", "text", .int(1),
                "\"text BETWEEN {1, 2}\" cannot be evaluated: \"Hello\" and 1 cannot be ordered: one is a string, the other a number; compare text "
                    + "with a string"
            ),
            (
                "date BEGINSWITH 'a'", "date", .date(100),
                "BEGINSWITH compares strings, not 2001-01-01T00:01:40Z (date) with \"a\"; compare two strings, or convert with "
                    + "CAST(…, \"NSString\")"
            ),
            (
                "home BEGINSWITH 'a'", "home", .array([.double(48.137), .double(11.575)]),
                "BEGINSWITH compares strings, not {48.137, 11.575} (home) with \"a\"; write ANY home BEGINSWITH \"a\" "
                    + "to compare each element"
            ),
            (
                "'a' MATCHES date", "date", .date(100),
                "MATCHES compares strings, not \"a\" with 2001-01-01T00:01:40Z (date); compare two strings, or convert with "
                    + "CAST(…, \"NSString\")"
            ),
            (
                "5 TOKENMATCHES 'a'", nil, .int(5),
                "TOKENMATCHES compares strings, not 5 with \"a\"; compare two strings, or convert with CAST(…, \"NSString\")"
            ),
        ] as [(String, String?, PropertyValue, String)] {
            XCTAssertThrowsError(try holds(format), format) {
                let error = $0 as? CoreError
                XCTAssertEqual(error?.status, .predicate)
                XCTAssertEqual(error?.message, message)
                XCTAssertEqual(error?.key, key, format)
                XCTAssertEqual(error?.value, value, format)
                XCTAssertNil(error?.entity)
            }
        }
        let uuid = "CAST('00000000-0000-0000-0000-000000000001', 'NSUUID')"
        check(
            ["\(uuid) == \(uuid)", "\(uuid) != 'x'"],
            not: ["CAST('nan', 'NSNumber') < 1", "1 >= CAST('nan', 'NSNumber')"],
            errors: [("\(uuid) < \(uuid)", "cannot be ordered: each is a UUID")])
    }

    func testAnyKeyAndVariablesAreEvaluated() {
        check(
            [
                "'k' IN ANYKEY", "'Hello' IN ANYKEY", "ANYKEY CONTAINS 'k'", "$v == 7", "$nothing == nil",
                "SUBQUERY(n, $x, $x == $v - 4).@count == 2",
            ], not: ["'other' IN ANYKEY"],
            errors: [
                ("d.$v == 1", "$v is used as a key and must be a string"),
                ("$w == 1", "$w does not have a value; substitute a value with cst_predicate_new_substituted"),
            ])
        XCTAssertThrowsError(try Predicate.parse("FETCH(1, n, 3) == 1").evaluate(with: .dictionary(["n": .int(2)]))) {
            // Without the advice to use a fetch request, whose predicate can contain the same FETCH.
            XCTAssertEqual(($0 as? CoreError)?.message, "FETCH takes a context, not 2")
            XCTAssertEqual(($0 as? CoreError)?.key, "n")
        }
        XCTAssertThrowsError(try Predicate.parse("1 IN ANYKEY").evaluate(with: .int(1))) {
            XCTAssertEqual(
                ($0 as? CoreError)?.message, "ANYKEY applies to a dictionary, not to a number")
        }
        XCTAssertThrowsError(try Predicate.parse("($v := 1) == 1").evaluate(with: .int(1))) {
            XCTAssertEqual(
                ($0 as? CoreError)?.message,
                "$v := needs a dictionary of variables; pass one to cst_predicate_evaluate_value (evaluate) "
                    + "or cst_expression_value (value), or leave the assignment out")
        }
        // Variables inside an expression that is the value of a variable are not replaced.
        XCTAssertThrowsError(
            try Predicate.parse("$x == 1").evaluate(
                with: .null, variables: ["x": .object(ExpressionValue(.variable("x")))])
        ) { XCTAssertEqual(($0 as? CoreError)?.message.hasPrefix("$x does not have a value"), true) }
    }
}
