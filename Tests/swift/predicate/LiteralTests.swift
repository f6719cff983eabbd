import CorestoneValues
import XCTest

@testable import CorestonePredicate

/// The exact format is parsed into an equal predicate, with constants of every kind.
final class LiteralTests: XCTestCase {
    static let constants: [PropertyValue] = [
        .null, .bool(true), .bool(false), .int(.min), .int(.max), .int(-1), .double(0.1 + 0.2), .double(1e300),
        .double(5e-324), .double(-.greatestFiniteMagnitude), .double(1e16), .double(.infinity), .double(-.infinity),
        .decimal(DecimalNumber(mantissa: 12_345_678_901_234_567_890_123_456_789_012_345_678)),
        .decimal(DecimalNumber(mantissa: 100_000_000_000_000_000_001, exponent: -20)),
        .decimal(DecimalNumber(mantissa: 1, exponent: -120, isNegative: true)),
        .decimal(DecimalNumber(mantissa: 7, exponent: 120)), .string(""), .string("a\u{1}b\n\"'\\%@$x\u{0}\u{FFFF}é😀"),
        .bytes(Bytes([])), .bytes(Bytes([0, 1, 255])), .date(0), .date(-978_250_148), .date(0.1 + 0.2),
        .date(5e-324), .date(1e15), .date(.infinity), .date(-.infinity), .uuid(UUIDValue(high: 0, low: 1)),
        .uuid(UUIDValue(high: .max, low: .max)), .uri(Text("https://example.org/?q=\"a\"&b=1")), .uri(Text("")),
        .array([.int(1), .null, .string("x")]), .array([]), .set([.int(1), .double(2.5)]), .set([]),
        .dictionary(["k": .int(1), "a\"b": .uuid(UUIDValue(high: 1, low: 2))]), .dictionary([:]),
        .array([.array([.date(1.5)]), .set([.bytes(Bytes([1]))])]),
    ]

    func testEveryConstantRoundTripsInExactFormat() throws {
        for value in LiteralTests.constants {
            let predicate = Predicate.comparison(Comparison(.key("a"), .equal, .constant(value)))
            let read = try Predicate.parse(predicate.format(.exact))
            XCTAssertEqual(read, predicate, predicate.format(.exact))
            XCTAssertEqual(try Predicate.parse(read.format(.exact)), predicate)
            // As an operand, too.
            let sum = Expression.function(.add, [.key("a"), .constant(value)])
            XCTAssertEqual(try Expression.parse(sum.format(.exact)).format(.exact), sum.format(.exact))
        }
    }

    func testNaNRoundTripsInExactFormat() throws {
        let text = Expression.constant(.double(.nan)).format(.exact)
        XCTAssertEqual(text, "CAST(\"nan\", \"NSNumber\")")
        guard case .constant(.double(let number)) = try Expression.parse(text) else { return XCTFail(text) }
        XCTAssertTrue(number.isNaN)
        guard case .constant(.date(let seconds)) = try Expression.parse("CAST(\(text), 'NSDate')") else {
            return XCTFail("no date")
        }
        XCTAssertTrue(seconds.isNaN)
    }

    /// The kind of a number determines the result of a division, so only operands keep it.
    func testOperandsKeepTheKindOfTheirNumbers() throws {
        func text(_ value: PropertyValue) -> String {
            Expression.function(.divide, [.integer(3), .constant(value)]).format(.exact)
        }
        XCTAssertEqual(text(.double(2)), "3 / 2.0")
        XCTAssertEqual(text(.decimal(DecimalNumber(2))), "3 / CAST(\"2\", \"NSDecimalNumber\")")
        for value in [PropertyValue.double(2), .decimal(DecimalNumber(2))] {
            XCTAssertTrue(try Predicate.parse("\(text(value)) == 1.5").evaluate(with: .null))
            let plain = Predicate.comparison(Comparison(.key("a"), .equal, .constant(value)))
            XCTAssertEqual(plain.format(.exact), "a == 2")
        }
        XCTAssertEqual(Expression.function(.divide, [.integer(3), .constant(.double(2))]).format, "3 / 2")
    }

    /// Core Data's format, where it is known.
    func testPlainFormatMatchesCoreData() throws {
        func text(_ value: PropertyValue) -> String { Expression.constant(value).format }
        XCTAssertEqual(text(.date(-978_250_148)), "CAST(-978250148.000000, \"NSDate\")")
        for (seconds, digits) in [
            (0, "0.000000"), (-0.0, "0.000000"), (-4e-7, "0.000000"), (6e-7, "0.000001"), (-6e-7, "-0.000001"),
            (0.999_999_6, "1.000000"), (0.5, "0.500000"), (600_000_000_123.5, "600000000123.500000"),
            (1e12 + 0.1, "1000000000000.099976"), (0x1p53, "9007199254740992.000000"), (0x1p-7, "0.007812"),
            (0x3p-7, "0.023438"), (0.000_000_5, "0.000000"), (0.000_001_5, "0.000002"), (1e300, "1e+300"),
        ] { XCTAssertEqual(text(.date(seconds)), "CAST(\(digits), \"NSDate\")", "\(seconds)") }
        XCTAssertEqual(text(.double(1)), "1")
        XCTAssertEqual(text(.double(.infinity)), "CAST(\"inf\", \"NSNumber\")")
        XCTAssertEqual(text(.decimal(try DecimalNumber("9.99"))), "9.99")
        XCTAssertEqual(text(.set([.int(2), .int(1)])), "{1, 2}")
        XCTAssertEqual(
            text(.uuid(UUIDValue(high: 0, low: 1))), "CAST(\"00000000-0000-0000-0000-000000000001\", \"NSUUID\")")
        XCTAssertEqual(try Predicate.parse("a IN %@", arguments: [.set([.int(1)])]).format(.exact), "a IN {1}")
    }

    func testExcerptsAreReadable() {
        XCTAssertEqual(PropertyValue.date(567_993_600).excerpt, "2019-01-01T00:00:00Z")
        XCTAssertEqual(PropertyValue.uuid(UUIDValue(high: 0, low: 1)).excerpt, "00000000-0000-0000-0000-000000000001")
        XCTAssertEqual(PropertyValue.bytes(Bytes([1, 255])).excerpt, "<01ff>")
        XCTAssertEqual(PropertyValue.double(.nan).excerpt, "nan")
    }

    /// Every predicate that has a text: the parsed text has the same format.
    func testRandomPredicatesRoundTripInExactFormat() throws {
        for seed in 1...400 {
            var generator = PredicateGenerator(seed: UInt64(seed))
            let text = try generator.predicate(depth: 4).format(.exact)
            XCTAssertEqual(try Predicate.parse(text).format(.exact), text)
        }
    }
}
