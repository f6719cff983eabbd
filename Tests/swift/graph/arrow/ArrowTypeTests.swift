import CPlatform
import XCTest

@testable import CorestoneGraph
@testable import CorestoneModel
@testable import CorestoneValues

/// The types of columns, and decimals that share one.
final class ArrowTypeTests: XCTestCase {
    private let all: [ArrowType] = [
        .null, .bool, .int16, .int32, .int64, .float, .double, .decimal(scale: 18), .text, .bytes, .date, .uuid,
        .structure, .list,
    ]

    func testTypesHaveTheFormatStringsOfArrow() {
        XCTAssertEqual(
            all.map { $0.format(isLarge: false) },
            ["n", "b", "s", "i", "l", "f", "g", "d:38,18", "u", "z", "tsu:UTC", "w:16", "+s", "+l"])
        XCTAssertEqual(
            all.map { $0.format(isLarge: true) },
            ["n", "b", "s", "i", "l", "f", "g", "d:38,18", "U", "Z", "tsu:UTC", "w:16", "+s", "+L"])
        XCTAssertEqual(all.map(\.width), [0, 0, 2, 4, 8, 4, 8, 16, 0, 0, 8, 16, 0, 0])
        XCTAssertEqual(all.filter(\.hasOffsets), [.text, .bytes, .list])
    }

    func testJoinedTypeHoldsValuesOfBothTypes() {
        for type in all {
            XCTAssertEqual(type.joined(type), type)
            XCTAssertEqual(type.joined(.null), type)
            XCTAssertEqual(ArrowType.null.joined(type), type)
        }
        let decimal = ArrowType.decimal(scale: 18)
        let joined: [(ArrowType, ArrowType, ArrowType?)] = [
            (.int64, .double, .double), (decimal, .double, .double), (.int64, decimal, decimal),
            (.bool, .int64, nil), (.text, .bytes, nil), (.date, .double, nil), (.int64, .text, nil),
            (.uuid, .text, nil),
            (.bool, .double, nil),
        ]
        for (a, b, both) in joined {
            XCTAssertEqual(a.joined(b), both, "\(a) \(b)")
            XCTAssertEqual(b.joined(a), both, "\(b) \(a)")
        }
    }

    func testEachKindOfValueHasAType() throws {
        let values: [(PropertyValue, ArrowType?)] = [
            (.null, .null), (.bool(true), .bool), (.int(1), .int64), (.double(1), .double),
            (.decimal(DecimalNumber(1)), .decimal(scale: 18)), (.string("x"), .text), (.uri("http://x/"), .text),
            (.bytes(Bytes([1])), .bytes), (.date(0), .date), (.uuid(UUIDValue(high: 1, low: 2)), .uuid),
            (.array([]), nil), (.set([]), nil), (.dictionary([:]), nil),
        ]
        for (value, type) in values { XCTAssertEqual(ArrowType(value), type, "\(value)") }
    }

    // MARK: Decimals

    private func type(_ texts: String...) throws -> ArrowType {
        var decimals = ArrowDecimals()
        for text in texts { decimals.include(try DecimalNumber(text)) }
        return decimals.type
    }

    func testDecimalTypeHasAScaleThatFitsOrIsText() throws {
        XCTAssertEqual(try type(), .decimal(scale: 18))
        XCTAssertEqual(try type("0", "0.000"), .decimal(scale: 18))
        XCTAssertEqual(try type(String(repeating: "9", count: 20)), .decimal(scale: 18))
        XCTAssertEqual(try type(String(repeating: "9", count: 21)), .decimal(scale: 17))
        XCTAssertEqual(try type(String(repeating: "9", count: 38)), .decimal(scale: 0))
        XCTAssertEqual(try type(String(repeating: "9", count: 38), "0.5"), .text)
        XCTAssertEqual(try type("0.0000000000000000001"), .decimal(scale: 19), "19 digits after the decimal point")
        XCTAssertEqual(try type("0.000000000000000001"), .decimal(scale: 18))
        XCTAssertEqual(try type("1" + String(repeating: "0", count: 36), "0.1"), .decimal(scale: 1))
        XCTAssertEqual(try type("1" + String(repeating: "0", count: 37), "0.1"), .text)
        XCTAssertEqual(try type("2.50000000000000000000"), .decimal(scale: 18), "trailing zeros do not count")
    }

    func testScaledDecimalIsNilWhenItDoesNotFit() throws {
        let cases: [(String, Int, Int128?)] = [
            ("0", 38, 0), ("1.5", 1, 15), ("1.5", 3, 1500), ("1.5", 0, nil), ("-1.5", 2, -150), ("1.50", 1, 15),
            ("20", 0, 20), ("2e3", 0, 2000), ("1e37", 0, Int128("1" + String(repeating: "0", count: 37))),
            ("1e38", 0, nil), ("1e37", 1, nil),
            (String(repeating: "9", count: 38), 0, Int128(String(repeating: "9", count: 38))),
            (String(repeating: "9", count: 38), 1, nil), ("-0.001", 3, -1), ("0.001", 2, nil),
        ]
        for (text, scale, units) in cases {
            XCTAssertEqual(try DecimalNumber(text).scaled(to: scale), units, "\(text) \(scale)")
        }
    }

    func testDigitCountCountsTheDigitsOfTheMantissa() throws {
        for (mantissa, count) in [
            ("0", 0), ("9", 1), ("10", 2), ("9999999999999999999", 19), ("10000000000000000000", 20),
            ("18446744073709551615", 20), ("18446744073709551616", 20), (String(repeating: "9", count: 38), 38),
        ] {
            let number = DecimalNumber(mantissa: try XCTUnwrap(UInt128(mantissa)), exponent: 0, isNegative: false)
            XCTAssertEqual(number.digitCount, count, mantissa)
        }
    }

    // MARK: Columns of values

    private func table(_ values: [PropertyValue], text: Bool = false) throws -> ArrowTable {
        try ArrowTable(
            ArrowStream(
                FetchedRows(columns: ["a"], rows: values.map { [$0] }),
                options: ArrowOptions(showsDecimalsAsText: text)))
    }

    func testNumbersOfDifferentTypesShareAColumn() throws {
        let half = PropertyValue.decimal(try DecimalNumber("1.5"))
        for values in [[.int(2), .double(0.5)], [.double(0.5), .int(2)], [.double(2), half], [half, .double(2)]] {
            XCTAssertEqual(try table(values).formats, ["g"], "\(values)")
        }
        XCTAssertEqual(try table([.int(2), .null, .double(0.5)])["a"], ["2.0", nil, "0.5"])
        XCTAssertEqual(try table([half, .double(2)])["a"], ["1.5", "2.0"])
        for values in [[half, .int(2)], [.int(2), half]] {
            let table = try table(values)
            XCTAssertEqual(table.formats, ["d:38,18"])
            XCTAssertEqual(Set(table["a"]), ["1500000000000000000", "2000000000000000000"])
        }
    }

    func testIntegersInADecimalColumnAreExportedAsText() throws {
        let half = PropertyValue.decimal(try DecimalNumber("1.5"))
        let table = try table([half, .int(2), .int(0), .int(-7)], text: true)
        XCTAssertEqual(table.formats, ["u"])
        XCTAssertEqual(table["a"], ["1.5", "2", "0", "-7"])
    }

    func testDecimalsAreExportedAsTextWhenRequested() throws {
        let half = PropertyValue.decimal(try DecimalNumber("1.5"))
        let table = try table([half, .null, .decimal(DecimalNumber(2))], text: true)
        XCTAssertEqual(table.formats, ["u"])
        XCTAssertEqual(table["a"], ["1.5", nil, "2"])
    }

    func testEachKindOfValueIsExportedWithItsFormat() throws {
        let cases: [(PropertyValue, String, String)] = [
            (.bool(true), "b", "true"), (.int(-3), "l", "-3"), (.double(0.25), "g", "0.25"), (.string("é"), "u", "é"),
            (.uri("http://x/"), "u", "http://x/"), (.bytes(Bytes([0, 255])), "z", "00ff"),
            (.date(0), "tsu:UTC", "978307200000000"),
            (.uuid(UUIDValue(high: 1, low: 2)), "w:16", "00000000000000010000000000000002"),
        ]
        for (value, format, text) in cases {
            let table = try table([.null, value, .null])
            XCTAssertEqual(table.formats, [format])
            XCTAssertEqual(table["a"], [nil, text, nil])
        }
        XCTAssertEqual(try table([.null, .null]).formats, ["n"])
        XCTAssertEqual(try table([.bool(false), .bool(true), .bool(false)])["a"], ["false", "true", "false"])
    }

    func testValueOfAnotherTypeIsNamedInTheError() throws {
        for values in [[.string("x"), .int(1)], [.null, .array([])], [.bool(true), .int(1)]] as [[PropertyValue]] {
            XCTAssertThrowsError(try table(values)) { error in
                XCTAssertEqual((error as? CoreError)?.status, .typeMismatch)
                XCTAssertEqual((error as? CoreError)?.key, "a")
                XCTAssertEqual((error as? CoreError)?.value, values[1])
            }
        }
    }

    func testBatchSizeDefaultsTo65536AndMustBePositive() {
        for options in [ArrowOptions(), ArrowOptions(batchSize: 65_536)] {
            XCTAssertEqual(options.batchSize, 65_536)
            XCTAssertFalse(options.showsKeys || options.showsDecimalsAsText)
        }
        for size in [0, -1] {
            XCTAssertThrowsError(
                try ArrowStream(
                    FetchedRows(columns: ["a"], rows: [[.int(1)]]), options: ArrowOptions(batchSize: size))
            ) { XCTAssertEqual(($0 as? CoreError)?.status, .invalidArgument) }
        }
    }

    func testRowsOfValuesAreExportedInBatches() throws {
        let rows = FetchedRows(columns: ["a"], rows: (0..<5).map { [.int($0)] })
        for (size, batches) in [(1, [1, 1, 1, 1, 1]), (2, [2, 2, 1]), (5, [5]), (6, [5])] {
            let table = try ArrowTable(ArrowStream(rows, options: ArrowOptions(batchSize: size)))
            XCTAssertEqual(table.batches, batches)
            XCTAssertEqual(table["a"], ["0", "1", "2", "3", "4"])
        }
    }
}
