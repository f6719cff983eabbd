import CorestonePredicate
import CorestoneValues
import XCTest

/// Analysis and transformation of predicates without evaluation.
final class SyntaxTests: XCTestCase {
    func testKeyPathsAreListedForEveryKindOfExpression() throws {
        let table: [(String, [String])] = [
            ("SELF.a.b == $x", ["a.b"]), ("$x.a == 1", []), ("a + b * c == d", ["a", "b", "c", "d"]), ("a == a", ["a"]),
            ("{a, b} == {1}", ["a", "b"]), ("a[b] == c[FIRST]", ["a", "b", "c"]), ("a.b[c] == 1", ["a", "b", "c"]),
            ("TERNARY(a == 1, b, c) == d", ["a", "b", "c", "d"]), ("a UNION b == c", ["a", "b", "c"]),
            ("CAST(a, b) == 1", ["a", "b"]), ("FUNCTION(a, b, c) == 1", ["a", "b", "c"]), ("($v := a) == 1", ["a"]),
            ("FETCH(a, b, c) == 1", ["a", "b", "c"]), ("ANYKEY == 1", []), ("a.$k == 1", ["a"]),
            ("uppercase(a).length == 1", ["a"]), ("NOT (a == 1 OR b == 2)", ["a", "b"]), ("TRUEPREDICATE", []),
            ("SUBQUERY(a, $x, $x.b == $y.c).@count == 0", ["a", "a.b"]),
            // The variable of the inner subquery hides the outer variable, which is visible again after the subquery.
            ("SUBQUERY(a, $x, SUBQUERY(b, $x, $x.c == 1).@count == $x.d).@count == 0", ["a", "b", "b.c", "a.d"]),
            ("SUBQUERY(a UNION b, $x, $x.c == 1).@count == 0", ["a", "b"]),
        ]
        for (format, paths) in table {
            XCTAssertEqual(try Predicate.parse(format).keyPaths.map(\.text), paths, format)
        }
        XCTAssertEqual(try Expression.parse("a.b + c").keyPaths.map(\.text), ["a.b", "c"])
        let block = Expression.block(BlockExpression { _, _, _ in .null }, [.key("a"), .key("b")])
        XCTAssertEqual(block.keyPaths.map(\.text), ["a", "b"])
    }

    func testFetchExpressionsAreFoundAnywhere() throws {
        let fetch = "FETCH(a, b, c)"
        for format in [
            "\(fetch) == 1", "1 == \(fetch)", "a == 1 OR NOT 2 == \(fetch)", "abs:(\(fetch)) == 1",
            "{1, \(fetch)} == 2",
            "SUBQUERY(a, $x, $x == \(fetch)).@count == 1", "TERNARY(a == \(fetch), 1, 2) == 1", "(\(fetch))[0] == 1",
            "TERNARY(a == 1, 1, \(fetch)) == 1", "FUNCTION(a, 'f:', \(fetch)) == 1",
        ] { XCTAssertTrue(try Predicate.parse(format).hasFetches, format) }
        for format in ["a == 1", "TRUEPREDICATE", "SUBQUERY(a, $x, $x == 1).@count == 1", "abs:(a) == $x"] {
            XCTAssertFalse(try Predicate.parse(format).hasFetches, format)
        }
        XCTAssertFalse(Predicate.block(BlockPredicate { _, _ in true }).hasFetches)
    }

    func testDeterministicPredicatesAreRecognised() throws {
        for format in [
            "TRUEPREDICATE", "a == 1", "a.b IN {1, 'x'} AND NOT c == $v", "SELF.a == 1", "$x.a == 1", "{a, 1} == b",
            "a[0] == 1", "SUBQUERY(a, $x, $x.b == 1).@count == 1", "TERNARY(a == 1, b, c) == 1", "a UNION b == c",
            "CAST(a, 'NSDate') == 1", "abs:(a) == 1",
        ] { XCTAssertTrue(try Predicate.parse(format).isLasting, format) }
        for format in [
            "a == now()", "now() == a", "a > random()", "a > random:(3)", "a > randomn:(3)", "a isLike: 'x'",
            "uppercase(a).length == 1", "a.$k == 1", "a.b[0] == 1", "FUNCTION(a, 'length') == 1", "($v := 1) == 1",
            "ANYKEY == 1", "FETCH(a, b, c) == 1", "a == 1 AND b == now()", "NOT b == now()", "abs:(now()) == a",
            "SUBQUERY(a, $x, $x == now()).@count == 1", "TERNARY(a == now(), 1, 2) == 1",
        ] { XCTAssertFalse(try Predicate.parse(format).isLasting, format) }
        XCTAssertFalse(Predicate.block(BlockPredicate { _, _ in true }).isLasting)
        let block = Expression.block(BlockExpression { _, _, _ in .null }, [])
        XCTAssertFalse(Predicate.comparison(Comparison(.key("a"), .equal, block)).isLasting)
        let object = PropertyValue.object(ExpressionValue(.selfObject))
        for value in [object, .array([.int(1), object]), .set([object]), .dictionary(["a": object])] {
            XCTAssertFalse(Predicate.comparison(Comparison(.key("a"), .equal, .constant(value))).isLasting)
        }
        for value in [PropertyValue.array([.int(1)]), .set([.int(1)]), .dictionary(["a": .int(1)])] {
            XCTAssertTrue(Predicate.comparison(Comparison(.key("a"), .equal, .constant(value))).isLasting)
        }
    }

    func testFreeVariablesExcludeBoundOnes() throws {
        let table: [(String, [String])] = [
            ("a == $x AND $y.b == $x", ["x", "y"]), ("a.$k == 1", ["k"]), ("a == 1", []),
            ("SUBQUERY(a, $x, $x == $y).@count == $z", ["y", "z"]), ("SUBQUERY(a, $x, $x == 1).@count == $x", ["x"]),
            ("SUBQUERY($a, $x, $x == 1).@count == 1", ["a"]), ("($v := $w) == 1 AND a == $v", ["w"]),
            ("SUBQUERY(a, $x, SUBQUERY($x.b, $y, $y == $x).@count == 1).@count == 1", []),
        ]
        for (format, names) in table { XCTAssertEqual(try Predicate.parse(format).freeVariables, names, format) }
    }

    func testBindingReplacesVariablesByTheirValues() throws {
        let person = PropertyValue.dictionary(["name": .string("Ada"), "boss": .dictionary(["age": .int(50)])])
        let values: [String: PropertyValue] = ["p": person, "n": .int(3), "none": .null, "x": .int(9)]
        let table = [
            ("a == $n AND b == $p.name", "a == 3 AND b == \"Ada\""), ("a > $p.boss.age", "a > 50"),
            ("a == $none", "a == nil"), ("a == $none.b", "a == nil"),
            (
                "SUBQUERY(a, $x, $x.b == $n AND $x == $x.c).@count > $x",
                "SUBQUERY(a, $x, $x.b == 3 AND $x == $x.c).@count > 9"
            ),
            ("SUBQUERY($p.boss, $y, $y.a == $p.name).@count > 0", "SUBQUERY({age=50}, $y, $y.a == \"Ada\").@count > 0"),
        ]
        for (format, bound) in table {
            XCTAssertEqual(try Predicate.parse(format).binding(values).format, bound, format)
        }
        XCTAssertThrowsError(try Predicate.parse("a == $n AND b == $q").binding(values)) {
            let error = $0 as? CoreError
            XCTAssertEqual(error?.status, .predicate)
            XCTAssertEqual(error?.key, "q")
            XCTAssertEqual(
                error?.message,
                "the variable $q does not have a value in the predicate \"a == $n AND b == $q\"; pass a value, or null")
        }
        XCTAssertThrowsError(try Predicate.parse("a == $n.nokey AND b == $x.other").binding(values)) {
            XCTAssertEqual(($0 as? CoreError)?.key, "nokey", "the first error is reported")
        }
    }

    func testSubstitutionReachesEveryKindOfExpression() throws {
        let values: [String: PropertyValue] = ["x": .int(7), "k": .string("name.given"), "n": .int(2)]
        let table = [
            ("a.$k == 1", "a.name.given == 1"), ("a.b.$k == 1", "a.b.name.given == 1"),
            ("a.$other == 1", "a.$other == 1"),
            ("a.$n == 1", "a.$n == 1"), ("$x.length == 1", "(7).length == 1"), ("{$x, 1} == a", "{7, 1} == a"),
            ("{$x, b} == a", "{7, b} == a"), ("abs:($x) == 1", "abs:(7) == 1"), ("a[$x] == 1", "a[7] == 1"),
            ("($x)[FIRST] == 1", "7[FIRST] == 1"), ("a.b[$x] == 1", "a.b[7] == 1"),
            ("CAST($x, $k) == 1", "CAST(7, \"name.given\") == 1"),
            ("FUNCTION($x, $k, $n) == 1", "FUNCTION(7, \"name.given\" , 2) == 1"),
            ("TERNARY($x == 1, $n, $k) == 1", "TERNARY(7 == 1, 2, \"name.given\") == 1"),
            ("$x UNION $n == 1", "7 UNION 2 == 1"), ("($v := $x) == 1", "$v := 7 == 1"),
            ("FETCH($x, $n, $x) == 1", "FETCH(7, 2, 7) == 1"), ("NOT (a == $x OR b == $n)", "NOT (a == 7 OR b == 2)"),
            ("ANY a <[cd] $x", "ANY a <[cd] 7"),
        ]
        for (format, printed) in table {
            XCTAssertEqual(try Predicate.parse(format).substituting(values).format, printed, format)
        }
        XCTAssertEqual(try Expression.parse("{$x, $n}").substituting(values), .constant(.array([.int(7), .int(2)])))
        XCTAssertEqual(try Expression.parse("{$x, $m}").substituting(values).format, "{7, $m}")
        let block = BlockExpression { _, _, _ in .null }
        XCTAssertEqual(
            try Expression.block(block, [.variable("x")]).substituting(values), .block(block, [.integer(7)]))
    }

    func testThreeValuedLogicIsExpressedWithNilComparisons() throws {
        let table = [
            ("a == 1", "a == 1"), ("a != 1", "a != nil AND a != 1"), ("a < 1", "a < 1"), ("a <= 1", "a <= 1"),
            ("a == b", "a != nil AND b != nil AND a == b"), ("a < b", "a < b"),
            ("a <= b", "a != nil AND b != nil AND a <= b"), ("a >= b", "a != nil AND b != nil AND a >= b"),
            ("NOT a == 1", "a != nil AND (NOT a == 1)"), ("NOT a < b", "a != nil AND b != nil AND (NOT a < b)"),
            ("NOT NOT a == 1", "a == 1"), ("a == nil", "a == nil"), ("a != nil", "a != nil"),
            ("NOT a == nil", "NOT a == nil"), ("nil == a", "nil == a"), ("a < nil", "a < nil AND FALSEPREDICATE"),
            ("NOT a < nil", "a < nil AND FALSEPREDICATE"),
            ("NOT (a == 1 AND b == 2)", "(a != nil AND (NOT a == 1)) OR (b != nil AND (NOT b == 2))"),
            ("NOT (a == 1 OR b == 2)", "(a != nil AND (NOT a == 1)) AND (b != nil AND (NOT b == 2))"),
            ("a == 1 OR b != 2", "a == 1 OR (b != nil AND b != 2)"), ("ANY a != 1", "ANY a != 1"),
            ("NOT ALL a != 1", "NOT ALL a != 1"),
            ("NOT TRUEPREDICATE", "FALSEPREDICATE"), ("TRUEPREDICATE", "TRUEPREDICATE"),
            ("a IN b", "a IN b"), ("a LIKE b", "a LIKE b"),
            ("SUBQUERY(a, $x, $x.b != 1).@count > 0", "SUBQUERY(a, $x, $x.b != nil AND $x.b != 1).@count > 0"),
            ("TERNARY(a != 1, b, c) == 1", "TERNARY(a != nil AND a != 1, b, c) == 1"),
        ]
        for (format, printed) in table {
            XCTAssertEqual(try Predicate.parse(format).withDatabaseNulls.format, printed, format)
        }
        let block = Predicate.block(BlockPredicate { _, _ in true })
        XCTAssertEqual(block.withDatabaseNulls, block)
        XCTAssertEqual(try Predicate.not(block).withDatabaseNulls, try Predicate.not(block))
    }

    func testRareExpressionsReturnTheirOperandsAndNames() throws {
        let table: [(String, [String], String?)] = [
            ("a.$k", ["a", "$k"], "k"), ("a.b[0]", ["a", "b[0]"], nil), ("($v := a)", ["a"], "v"),
            ("a[LAST]", ["a"], "LAST"),
            ("a[SIZE]", ["a"], "SIZE"), ("FETCH(a, b, c)", ["a", "b", "c"], nil),
            ("FUNCTION(a, b, c)", ["a", "b", "c"], "b"),
            ("ANYKEY", [], nil), ("{1, 2}", [], nil), ("uppercase(a).length", ["uppercase:(a)"], "length"),
        ]
        for (format, operands, name) in table {
            let expression = try Expression.parse(format)
            XCTAssertEqual(expression.operands.map(\.format), operands, format)
            XCTAssertEqual(expression.name, name, format)
        }
        XCTAssertEqual(try Expression.parse("TERNARY(a > 1, b, c)").condition?.format, "a > 1")
        XCTAssertNil(try Expression.parse("a + 1").condition)
        let path = KeyPath("a.b")
        XCTAssertEqual(path.appending(KeyPath("c.d")).text, "a.b.c.d")
        XCTAssertEqual(path.appending(KeyName("@count")).keys.map(\.isOperator), [false, false, true])
        XCTAssertNil(path.single)
        XCTAssertEqual(KeyPath("a").single?.text, "a")
        XCTAssertEqual(
            [KeyName("@sum"), KeyName("@nope"), KeyName("sum")].map(\.collectionOperator), [.sum, nil, nil])
        XCTAssertEqual(path, KeyPath(keys: [KeyName("a"), KeyName("b")]))
        XCTAssertEqual(path.hashValue, KeyPath("a.b").hashValue)
    }

    func testEqualityComparesEveryPart() throws {
        let comparison = Comparison(.key("a"), .contains, .string("b"), modifier: .any, options: [.caseInsensitive])
        for other in [
            Comparison(.key("x"), .contains, .string("b"), modifier: .any, options: [.caseInsensitive]),
            Comparison(.key("a"), .beginsWith, .string("b"), modifier: .any, options: [.caseInsensitive]),
            Comparison(.key("a"), .contains, .string("x"), modifier: .any, options: [.caseInsensitive]),
            Comparison(.key("a"), .contains, .string("b"), modifier: .all, options: [.caseInsensitive]),
            Comparison(.key("a"), .contains, .string("b"), modifier: .any),
        ] { XCTAssertNotEqual(comparison, other) }
        let same = Comparison(.key("a"), .contains, .string("b"), modifier: .any, options: [.caseInsensitive])
        XCTAssertEqual(comparison, same)
        XCTAssertEqual(comparison.hashValue, same.hashValue)
        let part = Predicate.comparison(same)
        XCTAssertNotEqual(try Predicate.and([part, part]), try Predicate.or([part, part]))
        XCTAssertNotEqual(try Predicate.and([part, part]), try Predicate.and([part]))
        XCTAssertEqual(try Predicate.and([part]).hashValue, try Predicate.and([.comparison(comparison)]).hashValue)
    }

    func testNotRequiresExactlyOnePart() throws {
        for count in [0, 2] {
            XCTAssertThrowsError(try Compound(.not, Array(repeating: .constant(true), count: count))) {
                XCTAssertEqual(($0 as? CoreError)?.status, .invalidArgument)
                XCTAssertEqual(($0 as? CoreError)?.message, "NOT takes exactly one predicate, not \(count)")
            }
        }
        XCTAssertNoThrow(try Compound(.not, [.constant(true)]))
    }

    func testErrorNamesTheExpectedArgumentCount() throws {
        for (name, count, message) in [
            ("sum:", 0, "sum: takes 1 or more arguments, not 0"), ("abs:", 2, "abs: takes 1 argument, not 2"),
            ("now", 1, "now takes 0 arguments, not 1"),
            (
                "zzzzzz:", 1,
                "the function \"zzzzzz:\" is not defined; use a built-in function, or FUNCTION(receiver, \"name\") for a registered one"
            ),
            ("raise:toPower:", 1, "raise:toPower: takes 2 arguments, not 1"),
        ] {
            XCTAssertThrowsError(try Expression.calling(name, Array(repeating: .key("a"), count: count)), name) {
                XCTAssertEqual(($0 as? CoreError)?.status, .invalidArgument)
                XCTAssertEqual(($0 as? CoreError)?.message, message)
                XCTAssertEqual(($0 as? CoreError)?.key, name)
                XCTAssertEqual(($0 as? CoreError)?.value, name == "zzzzzz:" ? nil : .int(Int64(count)))
            }
        }
        XCTAssertEqual(try Expression.calling("random", [.integer(3)]), .function(.randomBelow, [.integer(3)]))
        XCTAssertEqual(try Expression.calling("random", []), .function(.random, []))
        XCTAssertEqual(
            try Expression.calling("castObject:toType:", [.key("a"), .string("NSDate")]),
            .cast(.key("a"), type: .string("NSDate")))
        XCTAssertThrowsError(try Expression.function(.abs, []).checked()) {
            XCTAssertEqual(($0 as? CoreError)?.message, "abs: takes 1 argument, not 0")
        }
    }
}
