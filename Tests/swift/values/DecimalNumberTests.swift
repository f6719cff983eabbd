import XCTest

@testable import CorestoneValues

final class DecimalNumberTests: XCTestCase {
    private var generator = SeededGenerator(state: 20_011_031)

    override func setUp() { generator = SeededGenerator(state: 20_011_031) }

    /// Mantissas of every length, exponents mostly near zero, sometimes at the ends of their range.
    private func random(canonical: Bool = true) -> DecimalNumber {
        let digits = Int.random(in: 0...38, using: &generator)
        var mantissa: UInt128 = 0
        for _ in 0..<digits { mantissa = mantissa * 10 + UInt128(UInt64.random(in: 0...9, using: &generator)) }
        if !canonical { mantissa = UInt128.random(in: 0...UInt128.max, using: &generator) }
        let near = Int8.random(in: -45...45, using: &generator)
        let exponent =
            UInt64.random(in: 0...3, using: &generator) == 0 ? Int8.random(in: -128...127, using: &generator) : near
        return DecimalNumber(mantissa: mantissa, exponent: exponent, isNegative: Bool.random(using: &generator))
    }

    private func check(
        _ result: () throws -> DecimalNumber, _ expected: DecimalNumber?, _ what: String, line: UInt = #line
    ) {
        let value = try? result()
        XCTAssertEqual(value, expected, what, line: line)
        if let value { XCTAssertEqual(value.mantissa, value.normalized.mantissa, what, line: line) }
    }

    func testArithmeticMatchesTheExactReference() {
        for round in 0..<2000 {
            let (a, b) = (random(canonical: round % 7 != 0), random())
            let (x, y) = (ExactDecimal(a.mantissa >= limit ? roundedOperand(a) : a), ExactDecimal(b))
            check({ try a.adding(b) }, (x + y).rounded, "\(a) + \(b)")
            check({ try a.subtracting(b) }, (x + y.negated).rounded, "\(a) - \(b)")
            check({ try a.multiplied(by: b) }, (x * y).rounded, "\(a) * \(b)")
            XCTAssertEqual(DecimalNumber.compare(a, b).signum(), ExactDecimal(a).compare(to: y), "\(a) ? \(b)")
        }
    }

    private let limit: UInt128 = 100_000_000_000_000_000_000_000_000_000_000_000_000

    private func roundedOperand(_ number: DecimalNumber) -> DecimalNumber { ExactDecimal(number).rounded ?? number }

    /// The quotient is within half a unit of its last place: |a - q·b| ≤ unit·|b| / 2, unless it has fewer digits.
    func testQuotientsAreRoundedToTheNearestNumber() throws {
        var exact = 0
        for _ in 0..<1500 {
            let (a, b) = (random(), random())
            guard b.mantissa != 0 else {
                XCTAssertThrowsError(try a.divided(by: b))
                continue
            }
            guard let quotient = try? a.divided(by: b) else {
                let magnitude = abs(a.double / b.double)
                XCTAssert(magnitude > 1e163 || magnitude < 1e-127, "\(a) / \(b)")
                continue
            }
            let (x, y, q) = (ExactDecimal(a), ExactDecimal(b), ExactDecimal(quotient))
            let rest = x + (q * y).negated
            if rest.digits.isEmpty {
                exact += 1
                continue
            }
            let lastPlace = max(quotient.adjustedExponent - 37, -128)
            let bound = ExactDecimal(digits: [1], exponent: lastPlace, isNegative: false) * y
            let twice =
                ExactDecimal(digits: rest.digits, exponent: rest.exponent, isNegative: false)
                * ExactDecimal(digits: [2], exponent: 0, isNegative: false)
            XCTAssertLessThanOrEqual(
                twice.compare(to: ExactDecimal(digits: bound.digits, exponent: bound.exponent, isNegative: false)), 0,
                "\(a) / \(b)")
        }
        XCTAssertGreaterThan(exact, 50)
    }

    func testTextRoundTripsAndEqualNumbersHashAlike() throws {
        for _ in 0..<5000 {
            let number = random()
            let back = try DecimalNumber(number.description)
            XCTAssertEqual(back, number)
            XCTAssertEqual(back.hashValue, number.hashValue)
            if number.mantissa < limit / 10, number.exponent > -128 {
                let padded = DecimalNumber(
                    mantissa: number.mantissa * 10, exponent: number.exponent - 1, isNegative: number.isNegative)
                XCTAssertEqual(padded, number)
                XCTAssertEqual(padded.hashValue, number.hashValue)
                XCTAssertEqual(padded.double, number.double)
            }
        }
    }

    func testDecimalTextIsParsedAndNormalised() throws {
        let cases: [(String, String)] = [
            ("0", "0"), ("-0", "0"), ("000", "0"), ("0e999999999999999999999", "0"), ("1.50", "1.5"), ("+7", "7"),
            (".5", "0.5"), ("5.", "5"), ("-0.0015", "-0.0015"), ("12e2", "1200"), ("12E-4", "0.0012"),
            ("123456789012345678901234567890123456785", "123456789012345678901234567890123456790"),
            ("123456789012345678901234567890123456784", "123456789012345678901234567890123456780"),
            ("-99999999999999999999999999999999999999.5", "-100000000000000000000000000000000000000"),
            ("0.\(String(repeating: "0", count: 300))1e300", "0.1"),
            ("1\(String(repeating: "0", count: 300))e-300", "1"),
        ]
        for (text, expected) in cases { XCTAssertEqual(try DecimalNumber(text).description, expected, text) }
        XCTAssertEqual(try DecimalNumber("1e127").description.utf8.count, 128)
        XCTAssertEqual(try DecimalNumber("99999999999999999999999999999999999999e127").exponent, 127)
        XCTAssertEqual(try DecimalNumber("1e164").mantissa, powerOfTen(37))
        for junk in [
            "", " ", "+", "-", ".", "e5", "1e", "1e+", "1 ", " 1", "1,5", "1..2", "--1", "0x10", "nan", "inf", "1e5.5",
            "1e165", "1e-129", "4e-129", "1e99999999999999999999999", "-1e-99999999999999999999999", "١",
        ] { XCTAssertThrowsError(try DecimalNumber(junk), junk) }
        XCTAssertEqual(try DecimalNumber("5e-129").description, try DecimalNumber("1e-128").description)
    }

    func testDecimalsConvertToAndFromDoubles() throws {
        for (value, text) in [
            (0.0, "0"), (-0.0, "0"), (0.1, "0.1"), (1e22, "1\(String(repeating: "0", count: 22))"),
            (-2.5e-3, "-0.0025"),
            (9_007_199_254_740_992, "9007199254740992"), (1.7976931348623157e-120, "1.7976931348623157e-120"),
        ] { XCTAssertEqual(DecimalNumber(value), try DecimalNumber(text)) }
        for value in [
            Double.nan, .infinity, -.infinity, 1e300, 1e-300, .leastNonzeroMagnitude, -.greatestFiniteMagnitude,
        ] {
            XCTAssertNil(DecimalNumber(value))
        }
        for _ in 0..<5000 {
            let value = Double(bitPattern: UInt64.random(in: 0...UInt64.max, using: &generator))
            guard let number = DecimalNumber(value) else { continue }
            if abs(value) > 1e-105 { XCTAssertEqual(number.double, value) }
            let plain = Double.random(in: -1e9...1e9, using: &generator)
            XCTAssertEqual(DecimalNumber(plain)?.double, plain)
        }
        // The last number is half-way between two doubles, and the next one is just above.
        XCTAssertEqual(DecimalNumber(mantissa: 9_007_199_254_740_993).double, 9_007_199_254_740_992)
        XCTAssertEqual(try DecimalNumber("9007199254740993.0000000000000000000001").double, 9_007_199_254_740_994)
    }

    func testDecimalsConvertToAndFromIntegers() throws {
        for value in [Int64.min, Int64.max, 0, 1, -1, 1_000_000] {
            XCTAssertEqual(DecimalNumber(value).integer, value)
            XCTAssertEqual(DecimalNumber(value).description, String(value))
        }
        XCTAssertEqual(try DecimalNumber("12e3").integer, 12000)
        for text in ["0.5", "9223372036854775808", "-9223372036854775809", "1e19", "1e127", "1e-128"] {
            XCTAssertNil(try DecimalNumber(text).integer, text)
        }
    }

    func testExtremeOperandsDoNotTrap() {
        let extremes = [0, 1, 9, limit - 1, limit, UInt128.max].flatMap { mantissa in
            [Int8.min, -1, 0, 1, Int8.max].flatMap { exponent in
                [false, true].map { DecimalNumber(mantissa: mantissa, exponent: exponent, isNegative: $0) }
            }
        }
        for a in extremes {
            _ = (a.description, a.double, a.integer, a.hashValue, a.negated)
            for b in extremes {
                _ = (try? a.adding(b), try? a.subtracting(b), try? a.multiplied(by: b), try? a.divided(by: b))
                XCTAssertEqual(a < b, ExactDecimal(a).compare(to: ExactDecimal(b)) < 0)
            }
        }
    }

    func testErrorsDescribeOverflowAndDivisionByZero() throws {
        let large = try DecimalNumber("9e164")
        XCTAssertThrowsError(try large.adding(large)) { error in
            XCTAssertTrue(String(describing: error).contains("does not fit a decimal"))
        }
        XCTAssertThrowsError(try large.divided(by: .zero)) { error in
            XCTAssertTrue(String(describing: error).contains("by zero"))
        }
    }

    func testErrorsOfParsingAndArithmeticHaveTheirMessages() throws {
        func fault(_ words: String, value: PropertyValue? = nil, _ body: () throws -> DecimalNumber) {
            XCTAssertThrowsError(try body(), words) {
                let error = $0 as? CoreError
                XCTAssertEqual(error?.status, .invalidArgument)
                XCTAssertEqual(error?.message, words)
                XCTAssertEqual(error?.value, value, words)
            }
        }
        let (large, small) = (try DecimalNumber("9e164"), try DecimalNumber("1e-128"))
        let tail = "does not fit a decimal, which has up to 38 digits and exponents -128 to 127"
        let two = DecimalNumber(mantissa: 2)
        let five = DecimalNumber(mantissa: 5)
        fault("the sum of \(large) and \(large) \(tail)", value: .decimal(large)) { try large.adding(large) }
        fault("the difference of \(large) and \(large.negated) \(tail)", value: .decimal(large)) {
            try large.subtracting(large.negated)
        }
        fault("the product of \(large) and 2 \(tail)", value: .decimal(large)) { try large.multiplied(by: two) }
        fault("the product of \(small) and 0.4 \(tail)", value: .decimal(small)) {
            try small.multiplied(by: try DecimalNumber("0.4"))
        }
        fault("the quotient of \(large) and 0.5 \(tail)", value: .decimal(large)) {
            try large.divided(by: try DecimalNumber("0.5"))
        }
        fault("cannot divide 5 by zero", value: .decimal(five)) { try five.divided(by: .zero) }
        fault("cannot divide 0 by zero", value: .decimal(.zero)) { try DecimalNumber.zero.divided(by: .zero) }
        fault(
            "\"1,5\" is not a decimal number; write digits with an optional point and exponent, such as -12.5 or 3e8",
            value: .string("1,5")
        ) { try DecimalNumber("1,5") }
        fault("\"1e165\" \(tail)", value: .string("1e165")) {
            try DecimalNumber("1e165")
        }
        // The smallest numbers are rounded to the nearest number, halves away from zero.
        XCTAssertEqual(try small.multiplied(by: try DecimalNumber("0.5")), small)
    }

    func testQuotientsRoundTheLastDigit() throws {
        let table = [
            ("2", "3", "0.66666666666666666666666666666666666667"),
            ("1", "3", "0.33333333333333333333333333333333333333"),
            ("-2", "3", "-0.66666666666666666666666666666666666667"),
            ("-2", "-3", "0.66666666666666666666666666666666666667"), ("1", "8", "0.125"), ("0", "5", "0"),
            ("-0", "-5", "0"), ("10", "4", "2.5"), ("1200", "-3", "-400"), ("1", "1e-127", "1e127"),
        ]
        for (a, b, expected) in table {
            let quotient = try DecimalNumber(a).divided(by: try DecimalNumber(b))
            XCTAssertEqual(quotient.description, try DecimalNumber(expected).description, "\(a) / \(b)")
        }
    }

    func testSumsOfNumbersWithDistantExponentsAreRounded() throws {
        let ones = String(repeating: "1", count: 38)
        let table = [
            (ones, "0.4", ones), (ones, "0.5", String(repeating: "1", count: 37) + "2"),
            ("-" + ones, "-0.5", "-" + String(repeating: "1", count: 37) + "2"), (ones, "-0.5", ones),
            (ones, "-0.6", String(repeating: "1", count: 37) + "0"), ("1e100", "-1e-100", "1e100"),
            ("1e100", "1e-100", "1e100"), ("1e-100", "-1e100", "-1e100"), ("5", "-5", "0"), ("0", "-3", "-3"),
            ("-3", "0", "-3"), ("0.1", "-1", "-0.9"), ("1", "-0.1", "0.9"),
        ]
        for (a, b, expected) in table {
            let sum = try DecimalNumber(a).adding(try DecimalNumber(b))
            XCTAssertEqual(sum.description, try DecimalNumber(expected).description, "\(a) + \(b)")
        }
    }

    func testNormalFormHasNoTrailingZeros() {
        func parts(_ number: DecimalNumber) -> String {
            "\(number.isNegative ? "-" : "")\(number.mantissa)e\(number.exponent)"
        }
        func normal(_ mantissa: UInt128, _ exponent: Int8, _ isNegative: Bool = false) -> String {
            parts(DecimalNumber(mantissa: mantissa, exponent: exponent, isNegative: isNegative).normalized)
        }
        XCTAssertEqual(normal(0, 5, true), "0e0")
        XCTAssertEqual(normal(1500, -3), "15e-1")
        XCTAssertEqual(normal(1500, 0, true), "-15e2")
        XCTAssertEqual(normal(1000, 126), "100e127")
        XCTAssertEqual(normal(10, 127), "10e127")
        XCTAssertEqual(parts(DecimalNumber(mantissa: 0, exponent: 2).negated), "0e2")
        XCTAssertEqual(parts(DecimalNumber(mantissa: 7, exponent: 2).negated), "-7e2")
        XCTAssertEqual(parts(DecimalNumber(mantissa: 7, exponent: 2, isNegative: true).negated), "7e2")
        XCTAssertEqual(parts(DecimalNumber(Int64.min)), "-9223372036854775808e0")
    }

    func testDecimalsConvertToIntegersAtTheirLimits() throws {
        for (text, integer) in [
            ("9223372036854775807", Int64.max), ("-9223372036854775808", .min), ("1e18", 1_000_000_000_000_000_000),
            ("9223372036854775807.0", .max), ("-20", -20), ("-0", 0), ("9e18", 9_000_000_000_000_000_000),
        ] { XCTAssertEqual(try DecimalNumber(text).integer, integer, text) }
        for text in ["1e20", "-1e19", "1.5", "9223372036854775807.5"] {
            XCTAssertNil(try DecimalNumber(text).integer, text)
        }
    }
}

extension DecimalNumber {
    /// The exponent of the first digit.
    fileprivate var adjustedExponent: Int { String(mantissa).utf8.count - 1 + Int(exponent) }
}
