import CorestonePredicate
import CorestoneValues
import XCTest

/// Arithmetic and statistics: the values and kinds of their results.
final class ArithmeticTests: XCTestCase {
    private static let object = PropertyValue.dictionary([
        "d": .decimal(DecimalNumber(mantissa: 25, exponent: -1)), "nan": .double(.nan), "yes": .bool(true),
        "huge": .double(1e30), "date": .date(100), "min": .int(.min),
    ])

    private func value(_ format: String, _ arithmetic: ArithmeticRule = .strict) throws -> PropertyValue {
        try Expression.parse(format).value(with: ArithmeticTests.object, arithmetic: arithmetic)
    }

    private func exact(_ value: PropertyValue) -> String {
        switch value {
        case .null: "nil"
        case .bool(let flag): "bool \(flag)"
        case .int(let number): "int \(number)"
        case .double(let number): "double \(number)"
        case .decimal(let number): "decimal \(number)"
        default: Expression.constant(value).format
        }
    }

    func testArithmeticResultsHaveTheKindOfTheirOperands() throws {
        let table = [
            ("1 + 2", "int 3"), ("1 + 2.0", "double 3.0"), ("5 - 7", "int -2"), ("5.5 - 1", "double 4.5"),
            ("2 * 3", "int 6"),
            ("2 * 1.5", "double 3.0"), ("7 / 2", "int 3"), ("-7 / 2", "int -3"), ("7 / 2.0", "double 3.5"),
            ("yes + yes", "int 2"),
            ("d + 1", "decimal 3.5"), ("1 - d", "decimal -1.5"), ("d * d", "decimal 6.25"), ("d / 2", "decimal 1.25"),
            ("d + 0.5", "double 3.0"), ("d - 0.5", "double 2.0"), ("d * 2.0", "double 5.0"), ("d / 2.0", "double 1.25"),
            ("d ** 2", "double 6.25"), ("2 ** 3", "double 8.0"),
            ("9223372036854775807 + 1", "double 9.223372036854776e+18"),
            ("min - 1", "double -9.223372036854776e+18"), ("min * 2", "double -1.8446744073709552e+19"),
            ("min / -1", "double 9.223372036854776e+18"), ("modulus:by:(7, -3)", "int 1"),
            ("modulus:by:(min, -1)", "int 0"),
            ("modulus:by:(7.9, 2)", "int 1"), ("modulus:by:(d, 2)", "int 0"), ("6 & 3", "int 2"), ("6 | 3", "int 7"),
            ("6 ^ 3", "int 5"), ("7.9 & d", "int 2"), ("1 << 62", "int 4611686018427387904"), ("1 << 64", "int 0"),
            ("1 << -1", "int 0"), ("-8 >> 1", "int -4"), ("-1 >> 70", "int -1"), ("negate:(d)", "decimal -2.5"),
            ("negate:(yes)", "int -1"),
            ("negate:(min)", "double 9.223372036854776e+18"), ("negate:(1.5 + 0)", "double -1.5"),
            ("negate:(4)", "int -4"),
            ("abs:(-4)", "int 4"), ("abs:(4)", "int 4"), ("abs:(0 - d)", "decimal 2.5"), ("abs:(d)", "decimal 2.5"),
            ("abs:(-1.5)", "double 1.5"), ("abs:(min)", "double 9.223372036854776e+18"), ("floor:(3)", "int 3"),
            ("floor:(-1.5)", "double -2.0"), ("floor:(d)", "double 2.0"), ("ceiling:(3)", "int 3"),
            ("ceiling:(-1.5)", "double -1.0"),
            ("ceiling:(1.2)", "double 2.0"), ("trunc:(3)", "int 3"), ("trunc:(-1.7)", "double -1.0"),
            ("trunc:(1.7)", "double 1.0"),
            ("sqrt:(16)", "double 4.0"), ("log:(1000)", "double 3.0"), ("ln:(1)", "double 0.0"),
            ("exp:(0)", "double 1.0"),
            ("onesComplement:(5)", "int -6"), ("onesComplement:(5.9)", "int -6"), ("~yes", "int -2"),
        ]
        for (format, expected) in table { XCTAssertEqual(exact(try value(format)), expected, format) }
    }

    func testStrictArithmeticFailsAndStoreArithmeticReturnsNil() throws {
        let range = "takes numbers from -9223372036854775808 to 9223372036854775807, not"
        for (format, message) in [
            ("nil + 1", "add:to: takes numbers, not nil"),
            ("1 - nil", "from:subtract: takes numbers, not nil"),
            ("negate:(nil)", "negate: takes a number, not nil"),
            ("abs:(nil)", "abs: takes a number, not nil"),
            ("1 / 0", "division by zero in \"1 / 0\""),
            ("1.5 / 0.0", "division by zero in \"1.5 / 0\""),
            ("d / 0", "division by zero in \"d / 0\""),
            ("modulus:by:(5, 0)", "division by zero in \"modulus:by:(5, 0)\""),
            (
                "modulus:by:(5, 0.9)",
                "division by zero in \"modulus:by:(5, 0.9)\", which truncates the divisor 0.9 to 0"
            ),
            ("huge & 1", "bitwiseAnd:with: \(range) 1e+30"),
            ("1 | huge", "bitwiseOr:with: \(range) 1e+30"),
            ("onesComplement:(huge)", "onesComplement: \(range) 1e+30"),
            ("nan << 1", "leftshift:by: \(range) nan"),
        ] {
            XCTAssertThrowsError(try value(format), format) {
                XCTAssertEqual(($0 as? CoreError)?.status, .predicate)
                XCTAssertEqual(($0 as? CoreError)?.message, message, format)
            }
            XCTAssertEqual(exact(try value(format, .nilPropagating)), "nil", format)
        }
        for (format, message) in [
            ("'a' + 1", "add:to: takes numbers, but \"a\" is a string"),
            ("1 + date", "add:to: takes numbers, but 2001-01-01T00:01:40Z is a date"),
            ("sqrt:('a')", "sqrt: takes a number, but \"a\" is a string"),
        ] {
            for rule in [ArithmeticRule.strict, .nilPropagating] {
                XCTAssertThrowsError(try value(format, rule), format) {
                    XCTAssertEqual(($0 as? CoreError)?.message, message, format)
                }
            }
        }
        XCTAssertEqual(exact(try value("sqrt:(-1)", .nilPropagating)), "nil")
        XCTAssertEqual(exact(try value("nan + 1", .nilPropagating)), "nil")
        guard case .double(let root) = try value("sqrt:(-1)") else { return XCTFail("no double") }
        XCTAssertTrue(root.isNaN)
        XCTAssertEqual(exact(try value("1 / 0.5", .nilPropagating)), "double 2.0")
        XCTAssertEqual(exact(try value("modulus:by:(5, 1)", .nilPropagating)), "int 0")
    }

    func testStatisticsIgnoreNil() throws {
        let table = [
            ("sum:({1, nil, 2})", "int 3"), ("sum:({1, 2.5})", "double 3.5"), ("sum:({d, 1})", "decimal 3.5"),
            ("sum:({})", "int 0"),
            ("sum:(nil)", "nil"), ("sum(nil, 4)", "int 4"), ("average:({1, nil, 3})", "double 2.0"),
            ("average:({})", "double 0.0"),
            ("average:({nil})", "double 0.0"), ("average:({d, 1})", "decimal 1.75"), ("average:(nil)", "nil"),
            ("count:(nil)", "int 0"),
            ("count:({1, nil})", "int 2"), ("count(1, 2, 3)", "int 3"), ("count:(SELF)", "int 6"),
            ("count:(5)", "int 1"),
            ("min:({3, nil, 1, 2})", "int 1"), ("max:({3, nil, 1, 2})", "int 3"), ("min:({'b', 'a'})", "\"a\""),
            ("max:({'b', 'a'})", "\"b\""), ("min:({})", "nil"), ("max:({nil})", "nil"), ("max(1, 2.5)", "double 2.5"),
            ("median:({9, 1, 5})", "double 5.0"), ("median:({4, 1, nil, 2, 3})", "double 2.5"), ("median:({})", "nil"),
            ("mode:({3, 1, 3, 1, 2})", "{1, 3}"), ("mode:({nil, nil, 2})", "{2}"), ("mode:({})", "{}"),
            ("stddev:({2, 4, 4, 4, 5, 5, 7, 9})", "double 2.0"), ("stddev:({nil, 5})", "double 0.0"),
            ("stddev:({})", "nil"),
            ("{1, nil, 2}.@avg.self", "double 1.0"), ("{1, nil, 3}.@sum.self", "int 4"),
            ("{nil, 2}.@min.self", "int 2"),
        ]
        for (format, expected) in table { XCTAssertEqual(exact(try value(format)), expected, format) }
        for (format, message) in [
            ("median:({1, 'a'})", "median: takes numbers, but \"a\" is a string"),
            ("stddev:({date})", "stddev: takes numbers, but 2001-01-01T00:01:40Z is a date"),
            (
                "max:({1, 'a'})",
                "cannot compute the maximum: \"a\" and 1 cannot be ordered: one is a string, the other a number; use values of the same kind"
            ),
            (
                "max:({nan, 1})",
                "cannot compute the maximum: a value is NaN; exclude NaN with a condition, or with SUBQUERY in an "
                    + "expression"
            ),
            (
                "min:({1, nan})",
                "cannot compute the minimum: a value is NaN; exclude NaN with a condition, or with SUBQUERY in an "
                    + "expression"
            ),
            ("distinct:(5)", "distinct: takes a list or a set, not 5"),
            ("uppercase:(5)", "uppercase: takes a string, not 5"),
            ("randomn:(0)", "randomn: takes a number of at least 1, not 0"),
            ("random:(-1)", "random: takes a number of at least 1, not -1"),
            (
                "distanceToLocation:fromLocation:({1}, {2, 3})",
                "distanceToLocation:fromLocation: takes a location, not {1}; pass a list of latitude and longitude in "
                    + "degrees, or an object or dictionary with numbers for the keys latitude and longitude"
            ),
        ] {
            XCTAssertThrowsError(try value(format), format) {
                XCTAssertEqual(($0 as? CoreError)?.message, message, format)
            }
        }
    }

    func testOtherFunctionsReturnTheirValues() throws {
        for format in ["noindex:('a')", "indexed:by:('a', 'index')", "inverseOrderKey:('a')"] {
            XCTAssertEqual(try value(format), .string("a"), format)
        }
        XCTAssertEqual(exact(try value("random:(1)")), "int 0")
        XCTAssertEqual(exact(try value("randomn:(1)")), "int 0")
        for function in ["uppercase", "lowercase", "canonical", "length"] {
            XCTAssertEqual(try value("\(function):(nil)"), .null)
        }
        // A quarter of the circumference of the earth, from the equator to the pole and along the equator.
        for places in ["({90, 0}, {0, 50})", "({0, 90}, {0, 0})", "({0, -45}, {0, 45})"] {
            let metres = try XCTUnwrap(try value("distanceToLocation:fromLocation:\(places)").number)
            XCTAssertEqual(metres, 10_007_557.2, accuracy: 0.1, places)
        }
        XCTAssertEqual(try value("distanceToLocation:fromLocation:({1, 2}, nil)"), .null)
    }
}
