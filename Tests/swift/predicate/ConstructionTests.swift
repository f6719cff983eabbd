import CorestonePredicate
import CorestoneValues
import XCTest

/// Predicates and expressions that are built in code, and expressions as arguments.
final class ConstructionTests: XCTestCase {
    func testComparisonIsBuiltWithoutText() throws {
        let positive = Predicate.comparison(Comparison(.selfObject, .greater, .integer(0)))
        XCTAssertEqual(positive.format, "SELF > 0")
        XCTAssertTrue(try positive.evaluate(with: .int(3)))
        XCTAssertFalse(try positive.evaluate(with: .int(0)))
    }

    func testExpressionArgumentsAreInserted() throws {
        let doubled = PropertyValue.object(ExpressionValue(try Expression.parse("bonus * 2")))
        let predicate = try Predicate.parse("salary > %@ AND a IN {%@, 1}", arguments: [doubled, doubled])
        XCTAssertEqual(predicate.format, "salary > bonus * 2 AND a IN {bonus * 2, 1}")
        XCTAssertEqual(try Predicate.parse("$x == 1").substituting(["x": doubled]).format, "bonus * 2 == 1")
        XCTAssertEqual(
            try Predicate.parse("$x == 1"),
            try Predicate.parse("%@ == 1", arguments: [.object(ExpressionValue(.variable("x")))]))
    }

    func testFunctionsAreCalledByName() throws {
        XCTAssertEqual(try Expression.calling("uppercase", [.key("name")]).format, "uppercase:(name)")
        XCTAssertEqual(try Expression.calling("objectFrom:withIndex:", [.key("list"), .integer(2)]).format, "list[2]")
        XCTAssertThrowsError(try Expression.calling("upercase:", [.key("name")])) { error in
            XCTAssertEqual(
                (error as? CoreError)?.message,
                "the function \"upercase:\" is not defined; did you mean \"uppercase:\"?")
        }
        XCTAssertThrowsError(try Expression.calling("add:to:", [.key("name")])) { error in
            XCTAssertEqual((error as? CoreError)?.message, "add:to: takes 2 arguments, not 1")
        }
    }

    func testExpressionsReturnTheirOperandsAndNames() throws {
        let cases: [(String, [String], String?)] = [
            ("a.b", [], "a.b"), ("$x", [], "x"), ("$x.b", ["$x"], "b"), ("a + 1", ["a", "1"], "add:to:"),
            ("{a, 1}", ["a", "1"], nil), ("a[2]", ["a", "2"], "objectFrom:withIndex:"),
            ("(a.b)[FIRST]", ["a.b"], "FIRST"),
            ("SUBQUERY(a, $x, $x > 1)", ["a"], "x"), ("TERNARY(a > 1, b, c)", ["b", "c"], nil),
            ("a UNION b", ["a", "b"], nil), ("FUNCTION(a, 'f:', 2)", ["a", "2"], "f:"),
            ("CAST(a, 'NSDate')", ["a", "\"NSDate\""], "castObject:toType:"), ("SELF", [], nil), ("7", [], nil),
        ]
        for (format, operands, name) in cases {
            let expression = try Expression.parse(format)
            XCTAssertEqual(expression.operands.map(\.format), operands, format)
            XCTAssertEqual(expression.name, name, format)
        }
        XCTAssertEqual(try Expression.parse("SUBQUERY(a, $x, $x > 1)").condition?.format, "$x > 1")
    }

    func testSortOrderReturnsIndexes() throws {
        let order = try SortDescriptor.order(
            of: [.int(3), .null, .int(1)], by: [SortDescriptor(path: KeyPath("self"))])
        XCTAssertEqual(order, [1, 2, 0])
    }
}
