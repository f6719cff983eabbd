import CorestoneGraph
import CorestonePredicate
import CorestoneSQL
import CorestoneValues
import XCTest

/// R-tree lookups for ranges, their bounds, and the probes that precede them.
final class SpatialTests: CompilerTestCase {
    override var hasTrees: Bool { true }

    typealias Served = (format: String, rows: String, condition: String, bindings: [String])

    private let most = "(SELECT min(ifnull(max(Z_PK), 0) / 32 + 64, 4096) FROM ZEMPLOYEE)"

    private func probe(_ rows: String, _ most: String) -> String {
        "SELECT (SELECT count(*) FROM (SELECT 1 FROM \(rows) LIMIT \(most))) < \(most)"
    }

    private func check(areNamed: Bool, _ table: [Served], line: UInt = #line) throws {
        for (format, rows, condition, bindings) in table {
            let compiled = try compile("Employee", format)
            let text = " FROM ZEMPLOYEE t0 WHERE t0.Z_PK IN (SELECT Z_PK FROM Z_RT_\(rows)) AND \(condition)"
            XCTAssertEqual(compiled.query.text, text, format, line: line)
            XCTAssertEqual(compiled.query.bindings.described, bindings, format, line: line)
            XCTAssertNil(compiled.remainder, format, line: line)
            // The probe of the tree, with the same bounds.
            let bounds = rows.filter { $0 == "?" }.count
            XCTAssertEqual(compiled.probe?.text, areNamed ? nil : probe("Z_RT_\(rows)", most), format, line: line)
            XCTAssertEqual(
                compiled.probe?.bindings.described, areNamed ? nil : Array(bindings.prefix(bounds)), format, line: line)
        }
    }

    func testRangeWithTwoBoundsUsesAnRTree() throws {
        try check(
            areNamed: false,
            [
                (
                    "salary BETWEEN {1, 2}",
                    "byPay WHERE ZSALARY_MAX >= ? AND ZSALARY_MIN <= ?", "t0.ZSALARY BETWEEN ? AND ?",
                    ["1.0", "2.0", "1", "2"]
                ),
                (
                    "salary >= 1 AND salary <= 2",
                    "byPay WHERE ZSALARY_MAX >= ? AND ZSALARY_MIN <= ?", "t0.ZSALARY >= ? AND t0.ZSALARY <= ?",
                    ["1.0", "2.0", "1", "2"]
                ),
                (
                    "salary > 1 AND salary < 2",
                    "byPay WHERE ZSALARY_MAX >= ? AND ZSALARY_MIN <= ?", "t0.ZSALARY > ? AND t0.ZSALARY < ?",
                    ["1.0", "2.0", "1", "2"]
                ),
                (
                    "1 < salary AND 2 > salary",
                    "byPay WHERE ZSALARY_MAX >= ? AND ZSALARY_MIN <= ?", "t0.ZSALARY > ? AND t0.ZSALARY < ?",
                    ["1.0", "2.0", "1", "2"]
                ),
                (
                    "1 <= salary AND 2 >= salary",
                    "byPay WHERE ZSALARY_MAX >= ? AND ZSALARY_MIN <= ?", "t0.ZSALARY >= ? AND t0.ZSALARY <= ?",
                    ["1.0", "2.0", "1", "2"]
                ),
                (
                    "salary > 1 AND salary < 9 AND salary > 3 AND salary < 7",
                    "byPay WHERE ZSALARY_MAX >= ? AND ZSALARY_MIN <= ?",
                    "t0.ZSALARY > ? AND t0.ZSALARY < ? AND t0.ZSALARY > ? AND t0.ZSALARY < ?",
                    ["3.0", "7.0", "1", "9", "3", "7"]
                ),
                (
                    "salary > 3 AND salary < 7 AND salary > 1 AND salary < 9",
                    "byPay WHERE ZSALARY_MAX >= ? AND ZSALARY_MIN <= ?",
                    "t0.ZSALARY > ? AND t0.ZSALARY < ? AND t0.ZSALARY > ? AND t0.ZSALARY < ?",
                    ["3.0", "7.0", "3", "7", "1", "9"]
                ),
                (
                    "salary BETWEEN {1, 2} AND age > 3",
                    "byPay WHERE ZAGE_MAX >= ? AND ZSALARY_MAX >= ? AND ZSALARY_MIN <= ?",
                    "t0.ZSALARY BETWEEN ? AND ? AND t0.ZAGE > ?",
                    ["3.0", "1.0", "2.0", "1", "2", "3"]
                ),
                (
                    "salary BETWEEN {1, 2} AND age == 3",
                    "byPay WHERE ZSALARY_MAX >= ? AND ZSALARY_MIN <= ?", "t0.ZSALARY BETWEEN ? AND ? AND t0.ZAGE = ?",
                    ["1.0", "2.0", "1", "2", "3"]
                ),
                (
                    "salary BETWEEN {1, 2} AND age > 3 AND hired BETWEEN {CAST(5, 'NSDate'), CAST(6, 'NSDate')}",
                    "byPay WHERE ZAGE_MAX >= ? AND ZSALARY_MAX >= ? AND ZSALARY_MIN <= ?",
                    "t0.ZSALARY BETWEEN ? AND ? AND t0.ZAGE > ? AND t0.ZHIRED BETWEEN ? AND ?",
                    ["3.0", "1.0", "2.0", "1", "2", "3", "5.0", "6.0"]
                ),
                (
                    "hired BETWEEN {CAST(5, 'NSDate'), CAST(6, 'NSDate')}",
                    "byHired WHERE ZHIRED_MAX >= ? AND ZHIRED_MIN <= ?", "t0.ZHIRED BETWEEN ? AND ?",
                    ["5.0", "6.0", "5.0", "6.0"]
                ),
                (
                    "salary BETWEEN {1, 2} AND name ==[c] 'x'",
                    "byPay WHERE ZSALARY_MAX >= ? AND ZSALARY_MIN <= ?",
                    "t0.ZSALARY BETWEEN ? AND ? AND cst_compare(t0.ZNAME, ?, 1) = 0",
                    ["1.0", "2.0", "1", "2", "'x'"]
                ),
                (
                    "salary BETWEEN {1, 2} AND name != 'x'",
                    "byPay WHERE ZSALARY_MAX >= ? AND ZSALARY_MIN <= ?",
                    "t0.ZSALARY BETWEEN ? AND ? AND t0.ZNAME IS NOT ?",
                    ["1.0", "2.0", "1", "2", "'x'"]
                ),
                (
                    "salary BETWEEN {1, 2} AND name == nil",
                    "byPay WHERE ZSALARY_MAX >= ? AND ZSALARY_MIN <= ?",
                    "t0.ZSALARY BETWEEN ? AND ? AND t0.ZNAME IS NULL",
                    ["1.0", "2.0", "1", "2"]
                ),
                (
                    "salary BETWEEN {1, 2} AND email == 'x'",
                    "byPay WHERE ZSALARY_MAX >= ? AND ZSALARY_MIN <= ?", "t0.ZSALARY BETWEEN ? AND ? AND t0.ZEMAIL = ?",
                    ["1.0", "2.0", "1", "2", "'x'"]
                ),
                (
                    "salary BETWEEN {-1e300, 5}",
                    "byPay WHERE ZSALARY_MIN <= ?", "t0.ZSALARY BETWEEN ? AND ?",
                    ["5.0", "-1e+300", "5"]
                ),
                (
                    "salary BETWEEN {5, 1e300}",
                    "byPay WHERE ZSALARY_MAX >= ?", "t0.ZSALARY BETWEEN ? AND ?",
                    ["5.0", "5", "1e+300"]
                ),
                (
                    "salary BETWEEN {0, 0}",
                    "byPay WHERE ZSALARY_MAX >= ? AND ZSALARY_MIN <= ?", "t0.ZSALARY BETWEEN ? AND ?",
                    ["-1.1754943508222875e-38", "1.1754943508222875e-38", "0", "0"]
                ),
                (
                    "salary BETWEEN {-1e-40, 2}",
                    "byPay WHERE ZSALARY_MAX >= ? AND ZSALARY_MIN <= ?", "t0.ZSALARY BETWEEN ? AND ?",
                    ["-1.1754943508222875e-38", "2.0", "-1e-40", "2"]
                ),
            ])
    }

    func testNamedRTreeServesRangesWithOneBound() throws {
        try check(
            areNamed: true,
            [
                ("indexed:by:(salary, 'byPay') > 1", "byPay WHERE ZSALARY_MAX >= ?", "t0.ZSALARY > ?", ["1.0", "1"]),
                ("indexed:by:(salary, 'byPay') >= 1", "byPay WHERE ZSALARY_MAX >= ?", "t0.ZSALARY >= ?", ["1.0", "1"]),
                ("indexed:by:(salary, 'byPay') < 1", "byPay WHERE ZSALARY_MIN <= ?", "t0.ZSALARY < ?", ["1.0", "1"]),
                ("indexed:by:(salary, 'byPay') <= 1", "byPay WHERE ZSALARY_MIN <= ?", "t0.ZSALARY <= ?", ["1.0", "1"]),
                (
                    "indexed:by:(salary, 'byPay') == 1",
                    "byPay WHERE ZSALARY_MAX >= ? AND ZSALARY_MIN <= ?", "t0.ZSALARY = ?",
                    ["1.0", "1.0", "1"]
                ),
                (
                    "indexed:by:(salary, 'byPay') BETWEEN {1, 2}",
                    "byPay WHERE ZSALARY_MAX >= ? AND ZSALARY_MIN <= ?", "t0.ZSALARY BETWEEN ? AND ?",
                    ["1.0", "2.0", "1", "2"]
                ),
                ("1 > indexed:by:(salary, 'byPay')", "byPay WHERE ZSALARY_MIN <= ?", "t0.ZSALARY < ?", ["1.0", "1"]),
                ("1 >= indexed:by:(salary, 'byPay')", "byPay WHERE ZSALARY_MIN <= ?", "t0.ZSALARY <= ?", ["1.0", "1"]),
                ("1 < indexed:by:(salary, 'byPay')", "byPay WHERE ZSALARY_MAX >= ?", "t0.ZSALARY > ?", ["1.0", "1"]),
                ("1 <= indexed:by:(salary, 'byPay')", "byPay WHERE ZSALARY_MAX >= ?", "t0.ZSALARY >= ?", ["1.0", "1"]),
                (
                    "1 == indexed:by:(salary, 'byPay')",
                    "byPay WHERE ZSALARY_MAX >= ? AND ZSALARY_MIN <= ?", "t0.ZSALARY = ?",
                    ["1.0", "1.0", "1"]
                ),
                (
                    "indexed:by:(salary, 'byPay') > 1 AND name == 'x'",
                    "byPay WHERE ZSALARY_MAX >= ?", "t0.ZSALARY > ? AND t0.ZNAME = ?",
                    ["1.0", "1", "'x'"]
                ),
                (
                    "indexed:by:(salary, 'byPay') > 1 AND age == 3",
                    "byPay WHERE ZSALARY_MAX >= ?", "t0.ZSALARY > ? AND t0.ZAGE = ?",
                    ["1.0", "1", "3"]
                ),
            ])
    }

    func testUnsuitablePredicatesDoNotUseAnRTree() throws {
        let formats = [
            "salary > 1",
            "salary < 2",
            "salary == 2",
            "salary > 1 AND age > 3",
            "salary > 1 AND age < 3",
            "indexed:by:(salary, 'byPay') != 1",
            "indexed:by:(salary, 'byPay') IN {1, 2}",
            "indexed:by:(salary, 'byPay') > 1 OR age == 2",
            "salary BETWEEN {1, 2} AND name == 'x'",
            "salary BETWEEN {1, 2} AND 'x' == name",
            "salary BETWEEN {1, 2} AND name IN {'x'}",
            "salary BETWEEN {1, 2} OR age == 3",
            "NOT salary BETWEEN {1, 2}",
            "salary BETWEEN {1, age}",
            "salary BETWEEN {1, nil}",
            "noindex:(salary) BETWEEN {1, 2}",
            "manager.salary BETWEEN {1, 2}",
            "ANY reports.salary BETWEEN {1, 2}",
            "salary BETWEEN {-1e300, 1e300}",
            "rate BETWEEN {1, 2}",
        ]
        for format in formats {
            let compiled = try compile("Employee", format)
            XCTAssertFalse(compiled.query.text.contains("Z_RT_"), "\(format): \(compiled.query.text)")
            XCTAssertNil(compiled.probe, format)
        }
    }

    func testInvalidIndexedByFails() {
        checkErrors([
            (
                "Employee", "indexed:by:(name, 'byPay') == 1", "Employee", "name",
                "the index \"byPay\" of Employee does not cover Employee.name, only \"salary\", \"age\"; name another "
                    + "index, or leave indexed:by: out"
            ),
            (
                "Employee", "indexed:by:(salary, 'byPayy') == 1", "Employee", "salary",
                "Employee has no index \"byPayy\" that covers Employee.salary; did you mean \"byPay\"?"
            ),
            (
                "Employee", "indexed:by:(salary, 'zzzzzzzzz') == 1", "Employee", "salary",
                "Employee has no index \"zzzzzzzzz\" that covers Employee.salary; add it to the model, or "
                    + "leave indexed:by: out"
            ),
            (
                "Employee", "indexed:by:(salary, name) == 1", "Employee", "salary",
                "indexed:by: takes a key path and the name of an index, as in indexed:by:(latitude, \"byPlace\"), "
                    + "not \"indexed:by:(salary, name)\""
            ),
            (
                "Employee", "indexed:by:(department, 'byPay') == 1", "Employee", "department",
                "indexed:by: takes an attribute, but Employee.department is not an attribute"
            ),
            (
                "Employee", "indexed:by:(projects.hours, 'byPay') == 1", "Employee", "projects.hours",
                "indexed:by: takes an attribute of a single object, but Employee.projects is a to-many relationship; "
                    + "leave indexed:by: out"
            ),
            (
                "Employee", "indexed:by:(department.budget, 'byPay') == 1", "Department", "budget",
                "Department has no index \"byPay\" that covers Department.budget; add it to the model, or "
                    + "leave indexed:by: out"
            ),
        ])
    }

    /// A tree that the author names is always used, and another one if its range is narrow.
    func testAnotherRTreeIsUsedBesideANamedOne() throws {
        let dates = "{CAST(5, 'NSDate'), CAST(6, 'NSDate')}"
        let compiled = try compile(
            "Employee", "indexed:by:(salary, 'byPay') > 1 AND age < 5 AND hired BETWEEN \(dates)")
        let hired = "Z_RT_byHired WHERE ZHIRED_MAX >= ? AND ZHIRED_MIN <= ?"
        XCTAssertEqual(
            compiled.query.text,
            " FROM ZEMPLOYEE t0 WHERE t0.Z_PK IN (SELECT Z_PK FROM Z_RT_byPay WHERE ZAGE_MIN <= ? AND ZSALARY_MAX >= ?) "
                + "AND t0.Z_PK IN (SELECT Z_PK FROM \(hired)) "
                + "AND t0.ZSALARY > ? AND t0.ZAGE < ? AND t0.ZHIRED BETWEEN ? AND ?")
        XCTAssertEqual(compiled.query.bindings.described, ["5.0", "1.0", "5.0", "6.0", "1", "5", "5.0", "6.0"])
        XCTAssertEqual(compiled.probe?.text, probe(hired, most))
        XCTAssertEqual(compiled.probe?.bindings.described, ["5.0", "6.0"])
    }

    /// The unary plus prevents SQLite from using the entity index instead of the tree.
    func testRTreeServesFetchesOfASubentity() throws {
        let rows = "Z_RT_byPay WHERE ZSALARY_MAX >= ? AND ZSALARY_MIN <= ?"
        let compiled = try compile("Contractor", "salary BETWEEN {1, 2}")
        XCTAssertEqual(
            compiled.query.text,
            " FROM ZEMPLOYEE t0 WHERE +t0.Z_ENT = 3 AND t0.Z_PK IN (SELECT Z_PK FROM \(rows)) "
                + "AND t0.ZSALARY BETWEEN ? AND ?")
        XCTAssertEqual(compiled.probe?.text, probe(rows, most))
        let plain = try compile("Contractor", "salary == 1")
        XCTAssertEqual(plain.query.text, " FROM ZEMPLOYEE t0 WHERE t0.Z_ENT = 3 AND t0.ZSALARY = ?")
        let employee = try XCTUnwrap(model.entity(named: "Employee"))
        let alone = StoreFetch(
            entity: employee, includesSubentities: false, predicate: try Predicate.parse("salary BETWEEN {1, 2}"))
        XCTAssertTrue(
            try compiler.compile(alone).query.text.hasPrefix(" FROM ZEMPLOYEE t0 WHERE +t0.Z_ENT = 2 AND t0.Z_PK IN"))
    }

    /// A scan that ends at a limit reads few rows, unless it has to sort them first.
    func testFetchLimitShortensTheProbe() throws {
        let rows = "Z_RT_byPay WHERE ZSALARY_MAX >= ? AND ZSALARY_MIN <= ?"
        func asked(limit: Int, offset: Int = 0, sort: [SortDescriptor] = []) throws -> String? {
            let fetch = StoreFetch(
                entity: try XCTUnwrap(model.entity(named: "Employee")),
                predicate: try Predicate.parse("salary BETWEEN {1, 2}"), sortDescriptors: sort, limit: limit,
                offset: offset)
            return try compiler.compile(fetch).probe?.text
        }
        XCTAssertEqual(try asked(limit: 0), probe(rows, most))
        XCTAssertEqual(try asked(limit: 0, offset: 5), probe(rows, most))
        XCTAssertEqual(try asked(limit: 1), probe(rows, "64"))
        XCTAssertEqual(try asked(limit: 1, sort: [SortDescriptor("name")]), probe(rows, most))
    }

    func testNamedModeUsesOnlyNamedRTrees() throws {
        func text(_ format: String, _ use: SpatialUse, inMemory reason: String? = nil) throws -> String {
            let fetch = StoreFetch(
                entity: try XCTUnwrap(model.entity(named: "Employee")), predicate: try Predicate.parse(format))
            return try compiler.compile(fetch, inMemory: reason, spatial: use).query.text
        }
        let plain = "salary BETWEEN {1, 2}"
        let named = "indexed:by:(salary, 'byPay') == 1"
        XCTAssertEqual(try text(plain, .named), " FROM ZEMPLOYEE t0 WHERE t0.ZSALARY BETWEEN ? AND ?")
        XCTAssertTrue(try text(named, .named).contains("Z_RT_byPay"))
        XCTAssertTrue(try text(named, .all).contains("Z_RT_byPay"))
        XCTAssertEqual(try text(plain, .all, inMemory: "a reason"), " FROM ZEMPLOYEE t0")
    }

    /// Dates are compared only with dates, and NaN is not a bound.
    func testBoundsOfOtherTypesAreConvertedOrRejected() throws {
        func probe(_ format: String, _ arguments: [PropertyValue]) throws -> [String]? {
            let fetch = StoreFetch(
                entity: try XCTUnwrap(model.entity(named: "Employee")),
                predicate: try Predicate.parse(format, arguments: arguments))
            return try compiler.compile(fetch).probe?.bindings.described
        }
        XCTAssertEqual(try probe("hired >= %@ AND hired <= %@", [.date(1.5), .date(2.5)]), ["1.5", "2.5"])
        XCTAssertEqual(try probe("salary >= %@ AND salary <= %@", [.bool(true), .int(2)]), ["1.0", "2.0"])
        XCTAssertEqual(
            try probe("salary >= %@ AND salary <= %@", [.decimal(DecimalNumber(3)), .double(4.5)]), ["3.0", "4.5"])
        XCTAssertNil(try probe("salary >= %@ AND salary <= %@", [.double(.nan), .double(4.5)]))
        XCTAssertNil(try probe("salary BETWEEN %@", [.array([.double(.nan), .double(4.5)])]))
    }
}
