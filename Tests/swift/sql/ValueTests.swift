import CorestonePredicate
import CorestoneValues
import XCTest

@testable import CorestoneSQL

/// Bound values, and the results of the SQL functions of a store.
final class ValueTests: XCTestCase {
    // MARK: Bound values

    func testValuesHaveTheirSQLiteStorageClass() throws {
        let uuid = UUIDValue(high: 0x0102_0304_0506_0708, low: 0x090a_0b0c_0d0e_0f10)
        let cases: [(PropertyValue, SQLValue?)] = [
            (.null, .null), (.bool(true), .integer(1)), (.bool(false), .integer(0)), (.int(-7), .integer(-7)),
            (.double(2.5), .real(2.5)), (.double(3), .real(3)), (.string("é"), .text("é")), (.uri("a:b"), .text("a:b")),
            (.bytes(Bytes([1, 0, 255])), .blob(Bytes([1, 0, 255]))), (.date(-1.5), .real(-1.5)),
            (.uuid(uuid), .blob(Bytes((1...16).map { UInt8($0) }))),
            (.decimal(DecimalNumber(12)), .integer(12)),
            (.decimal(try XCTUnwrap(DecimalNumber("12.5"))), .real(12.5)),
            (.decimal(try XCTUnwrap(DecimalNumber("-0.1"))), .real(-0.1)),
            (.decimal(try XCTUnwrap(DecimalNumber("1e30"))), .real(1e30)),
            // The nearest double is another integer.
            (.decimal(try XCTUnwrap(DecimalNumber("9007199254740993"))), .real(9_007_199_254_740_992)),
            (.array([.int(1)]), nil), (.set([.int(1)]), nil), (.dictionary([:]), nil),
        ]
        for (value, bound) in cases { XCTAssertEqual(SQLValue(value), bound, "\(value)") }
    }

    func testPackedValuesRoundTrip() throws {
        let values: [SQLValue] = [
            .real(0), .real(-0.0), .real(0.1), .real(-1.5e300), .real(.infinity), .real(.leastNonzeroMagnitude),
            .text(""),
            .text("a\0b"), .text("é\"\\"), .blob(Bytes([])), .blob(Bytes([0, 1, 15, 16, 159, 160, 255])),
        ]
        for value in values {
            let packed = try XCTUnwrap(PackedValue.text(value))
            let found = Array(packed.utf8).withUnsafeBytes { PackedValue.value($0) }
            XCTAssertEqual(found, value, packed)
        }
        XCTAssertEqual(PackedValue.text(.real(1.5)), "r3ff8000000000000")
        XCTAssertEqual(PackedValue.text(.text("aé\0")), "t61c3a900")
        XCTAssertEqual(PackedValue.text(.blob(Bytes([0, 0xab, 0xff]))), "b00abff")
        XCTAssertNil(PackedValue.text(.null))
        XCTAssertNil(PackedValue.text(.integer(1)))
        XCTAssertNil(PackedValue.value(UnsafeRawBufferPointer(start: nil, count: 0)))
        XCTAssertNil(Array("rx".utf8).withUnsafeBytes { PackedValue.value($0) })
        let capitals = Array("bABCDEF".utf8).withUnsafeBytes { PackedValue.value($0) }
        XCTAssertEqual(capitals, .blob(Bytes([0xab, 0xcd, 0xef])))
    }

    // MARK: Statements

    func testFragmentsAreRenderedWithTheirBindingsInOrder() {
        let inner: SQLFragment = "\(identifier: "Z_A") = \(bind: .integer(1))"
        let whole: SQLFragment =
            "\(Alias(number: 2), "order") IN (\(inner), \(bind: .text("x"))) \(number: -5) \(Alias(number: 12))"
        let query = whole.rendered(SQLiteDialect())
        XCTAssertEqual(query.text, "t2.\"order\" IN (Z_A = ?, ?) -5 t12")
        XCTAssertEqual(query.bindings, [.integer(1), .text("x")])
        XCTAssertEqual(
            ([inner, inner, ""] as [SQLFragment]).joined(separator: ", ").rendered(SQLiteDialect()).text,
            "Z_A = ?, Z_A = ?, ")
        XCTAssertEqual(([] as [SQLFragment]).joined(separator: ", "), "")
        XCTAssertTrue(SQLFragment().isEmpty)
        XCTAssertTrue(("" as SQLFragment).isEmpty)
        XCTAssertFalse(inner.isEmpty)
        // Adjacent texts are joined, so that statements with equal text are equal.
        XCTAssertEqual(("a" as SQLFragment) + "b", "ab")
    }

    func testIdentifiersAreQuotedUnlessPlain() {
        let dialect = SQLiteDialect()
        for (name, quoted) in [
            ("ZNAME", "ZNAME"), ("Z_1name9", "Z_1name9"), ("ACHANGE", "\"ACHANGE\""), ("REFLEXIVE", "\"REFLEXIVE\""),
            ("zname", "\"zname\""), ("ZÉ", "\"ZÉ\""), ("Z NAME", "\"Z NAME\""), ("Z-", "\"Z-\""), ("1Z", "\"1Z\""),
            ("Z\"", "\"Z\"\"\""), ("", "\"\""),
        ] {
            XCTAssertEqual(dialect.quoted(name), quoted)
        }
    }

    func testLimitAndOffsetAreRendered() {
        let dialect = SQLiteDialect()
        for (limit, offset, text) in [
            (0, 0, ""), (1, 0, " LIMIT 1"), (7, 3, " LIMIT 7 OFFSET 3"), (0, 1, " LIMIT -1 OFFSET 1"), (-1, -1, ""),
            (-1, 2, " LIMIT -1 OFFSET 2"), (2, -1, " LIMIT 2"),
        ] {
            XCTAssertEqual(dialect.window(limit: limit, offset: offset).rendered(dialect).text, text)
        }
    }

    // MARK: Functions of texts

    private func result(_ function: StoreFunction, _ text: String, _ other: String, _ options: Int64) throws -> Int64 {
        let matcher = try StoreFunction.Matcher(function, Text(other), options: options)
        return try Array(text.utf8).withUnsafeBytes { try matcher.result($0) }
    }

    func testTextFunctionsReturnTheirResults() throws {
        let cases: [(StoreFunction, String, String, Int64, Int64)] = [
            (.compare, "a", "b", 0, -1), (.compare, "b", "a", 0, 1), (.compare, "a", "a", 0, 0),
            (.compare, "A", "a", 0, -1), (.compare, "A", "a", 1, 0), (.compare, "é", "e", 2, 0),
            (.compare, "É", "e", 1, 1), (.compare, "É", "e", 3, 0), (.compare, "B", "a", 1, 1),
            (.contains, "xaby", "ab", 0, 1), (.contains, "xaby", "AB", 0, 0), (.contains, "xaby", "AB", 1, 1),
            (.contains, "xaby", "ba", 0, 0), (.contains, "xéy", "e", 2, 1), (.contains, "xéy", "e", 1, 0),
            (.contains, "e\u{301}", "é", 0, 1), (.contains, "e\u{301}", "é", 4, 0), (.contains, "a", "", 0, 0),
            (.beginsWith, "abc", "ab", 0, 1), (.beginsWith, "abc", "bc", 0, 0), (.beginsWith, "ABC", "ab", 1, 1),
            (.endsWith, "abc", "bc", 0, 1), (.endsWith, "abc", "ab", 0, 0), (.endsWith, "ABC", "bc", 1, 1),
            (.like, "abc", "a?c", 0, 1), (.like, "abbc", "a?c", 0, 0), (.like, "abbc", "a*c", 0, 1),
            (.like, "ABC", "a*", 0, 0), (.like, "ABC", "a*", 1, 1), (.like, "ÀBC", "a*", 3, 1), (.like, "", "", 0, 1),
            (.matches, "abc", "a.c", 0, 1), (.matches, "abcd", "a.c", 0, 0), (.matches, "ABC", "a.c", 0, 0),
            (.matches, "ABC", "a.c", 1, 1), (.matches, "", "", 0, 0), (.matches, "a", "", 0, 0),
        ]
        for (function, text, other, options, expected) in cases {
            XCTAssertEqual(
                try result(function, text, other, options), expected, "\(function) \(text) \(other) \(options)")
        }
        XCTAssertThrowsError(try result(.matches, "a", "(", 0)) {
            XCTAssertEqual(($0 as? CoreError)?.status, .predicate)
        }
    }

    func testSortSelectorsHaveCollations() {
        XCTAssertEqual(
            SortCollation.all.map(\.name), ["CST_NOCASE", "CST_LOCALIZED", "CST_LOCALIZED_NOCASE", "CST_STANDARD"])
        XCTAssertEqual(
            SortCollation.all.map(\.selector),
            [.caseInsensitive, .localized, .localizedCaseInsensitive, .localizedStandard])
        for collation in SortCollation.all {
            XCTAssertEqual(
                SQLiteDialect().collation(for: collation.selector).rendered(SQLiteDialect()).text,
                " COLLATE \(collation.name)")
        }
        XCTAssertTrue(SQLiteDialect().collation(for: .compare).isEmpty)
    }

    // MARK: Functions of numbers

    func testRegisteredFunctionsReturnTheirResults() throws {
        let cases: [(Function, String, [PropertyValue], PropertyValue)] = [
            (.uppercase, "cst_uppercase", [.string("aé")], .string("AÉ")),
            (.lowercase, "cst_lowercase", [.string("AÉ")], .string("aé")),
            (.canonical, "cst_canonical", [.string("AÉ")], .string("ae")),
            (.length, "cst_length", [.string("aé")], .int(2)),
            (.modulus, "cst_modulus", [.int(7), .int(4)], .int(3)),
            (.power, "cst_raise", [.int(2), .int(3)], .double(8)),
            (.abs, "cst_abs", [.int(-3)], .int(3)), (.sqrt, "cst_sqrt", [.int(9)], .double(3)),
            (.log10, "cst_log", [.int(100)], .double(2)), (.naturalLog, "cst_ln", [.int(1)], .double(0)),
            (.exp, "cst_exp", [.int(0)], .double(1)), (.bitwiseAnd, "cst_bitwiseAnd", [.int(6), .int(3)], .int(2)),
            (.bitwiseOr, "cst_bitwiseOr", [.int(6), .int(3)], .int(7)),
            (.bitwiseXor, "cst_bitwiseXor", [.int(6), .int(3)], .int(5)),
            (.leftShift, "cst_leftshift", [.int(3), .int(2)], .int(12)),
            (.rightShift, "cst_rightshift", [.int(12), .int(2)], .int(3)),
            (.onesComplement, "cst_onesComplement", [.int(5)], .int(-6)),
            (.month, "cst_month", [.double(40 * 86400)], .int(2)),
            (.startOfYear, "cst_startOfYear", [.double(40 * 86400)], .date(0)),
        ]
        for (function, name, arguments, expected) in cases {
            let computed = ComputedFunction(function: function)
            XCTAssertEqual(computed.name, name)
            XCTAssertEqual(computed.argumentCount, arguments.count, name)
            XCTAssertEqual(try computed.value(of: arguments), expected, name)
            XCTAssertEqual(try computed.value(of: arguments.map { _ in .null }), .null, name)
        }
        for (function, number, expected) in [
            (Function.floor, -1.5, -2.0), (.ceiling, -1.5, -1), (.truncate, -1.5, -1), (.floor, 1.5, 1),
            (.ceiling, 1.5, 2),
            (.truncate, 1.5, 1),
        ] {
            XCTAssertEqual(
                try ComputedFunction(function: function).value(of: [.double(number)]).number, expected, "\(function)")
        }
        XCTAssertEqual(
            Set(ComputedFunction.all.map(\.function)),
            Set(cases.map(\.0) + [.floor, .ceiling, .truncate] + Function.allCases.filter(\.takesDate)))
        XCTAssertNil(ComputedFunction.call(.random, []))
        XCTAssertEqual(
            ComputedFunction.call(.modulus, ["a", "b"])?.rendered(SQLiteDialect()).text, "cst_modulus(a, b)")
    }

    func testAggregateFunctionsReturnTheirResults() throws {
        let numbers: [PropertyValue] = [.int(1), .int(2), .int(6)]
        for (function, gathering, value) in [
            (Function.sum, GatheringFunction.sum, 9.0), (.average, .average, 3), (.median, .median, 2),
        ] {
            XCTAssertEqual(GatheringFunction(function), gathering)
            XCTAssertEqual(try gathering.value(of: numbers).number, value)
        }
        XCTAssertEqual(GatheringFunction(.standardDeviation), .deviation)
        XCTAssertEqual(try GatheringFunction.deviation.value(of: [.int(2), .int(2)]).number, 0)
        XCTAssertNil(GatheringFunction(.count))
        XCTAssertEqual(try GatheringFunction.sum.value(of: []), .int(0))
        for function in GatheringFunction.allCases where function != .sum {
            XCTAssertEqual(try function.value(of: []), .null)
        }
        for function in GatheringFunction.allCases {
            XCTAssertEqual(function.sql.rendered(SQLiteDialect()).text, function.rawValue)
        }
    }
}
