import CorestoneGraph
import CorestoneModel
import CorestonePredicate
import CorestoneValues
import XCTest

@testable import CorestoneSQL

/// Predicates with their SQL, after `FROM`, and their bindings.
final class FetchCompilerTests: CompilerTestCase {
    func testComparisonsBecomeSQL() throws {
        try check([
            ("Employee", "TRUEPREDICATE", "ZEMPLOYEE t0", []),
            ("Employee", "FALSEPREDICATE", "ZEMPLOYEE t0 WHERE 0", []),
            ("Contractor", "agency == 'x'", "ZEMPLOYEE t0 WHERE t0.Z_ENT = 3 AND t0.ZAGENCY = ?", ["'x'"]),
            ("Employee", "name == 'Ann'", "ZEMPLOYEE t0 WHERE t0.ZNAME = ?", ["'Ann'"]),
            ("Employee", "name != 'Ann'", "ZEMPLOYEE t0 WHERE t0.ZNAME IS NOT ?", ["'Ann'"]),
            ("Employee", "name == nil", "ZEMPLOYEE t0 WHERE t0.ZNAME IS NULL", []),
            ("Employee", "name != nil", "ZEMPLOYEE t0 WHERE t0.ZNAME IS NOT NULL", []),
            ("Employee", "name == email", "ZEMPLOYEE t0 WHERE t0.ZNAME IS t0.ZEMAIL", []),
            ("Employee", "name != email", "ZEMPLOYEE t0 WHERE t0.ZNAME IS NOT t0.ZEMAIL", []),
            (
                "Employee", "age <= salary",
                "ZEMPLOYEE t0 WHERE (t0.ZAGE <= t0.ZSALARY OR (t0.ZAGE IS NULL AND t0.ZSALARY IS NULL))",
                []
            ),
            ("Employee", "age < salary", "ZEMPLOYEE t0 WHERE t0.ZAGE < t0.ZSALARY", []),
            ("Employee", "40 < age", "ZEMPLOYEE t0 WHERE t0.ZAGE > ?", ["40"]),
            ("Employee", "age <= nil", "ZEMPLOYEE t0 WHERE t0.ZAGE IS NULL", []),
            ("Employee", "age < nil", "ZEMPLOYEE t0 WHERE 0", []),
            ("Employee", "active == YES", "ZEMPLOYEE t0 WHERE t0.ZACTIVE = ?", ["1"]),
            ("Employee", "name == 5", "ZEMPLOYEE t0 WHERE 0", []),
            ("Employee", "name != 5", "ZEMPLOYEE t0", []),
            ("Employee", "NOT (name == 5)", "ZEMPLOYEE t0", []),
            ("Employee", "name == age", "ZEMPLOYEE t0 WHERE (t0.ZNAME IS NULL AND t0.ZAGE IS NULL)", []),
            ("Employee", "NOT (name == 'Ann')", "ZEMPLOYEE t0 WHERE (t0.ZNAME = ?) IS NOT TRUE", ["'Ann'"]),
            ("Employee", "NOT (name == nil)", "ZEMPLOYEE t0 WHERE NOT (t0.ZNAME IS NULL)", []),
            (
                "Employee", "NOT (age > 3 AND name == 'x')",
                "ZEMPLOYEE t0 WHERE (t0.ZAGE > ? AND t0.ZNAME = ?) IS NOT TRUE",
                ["3", "'x'"]
            ),
            (
                "Employee", "(age > 3 AND age < 5) AND (name == 'a' OR name == 'b')",
                "ZEMPLOYEE t0 WHERE t0.ZAGE > ? AND t0.ZAGE < ? AND (t0.ZNAME = ? OR t0.ZNAME = ?)",
                ["3", "5", "'a'", "'b'"]
            ),
            ("Employee", "homepage == 'http://a'", "ZEMPLOYEE t0 WHERE t0.ZHOMEPAGE = ?", ["'http://a'"]),
            ("Employee", "badge == 'x'", "ZEMPLOYEE t0 WHERE 0", []),
            ("Employee", "rate > 3.5", "ZEMPLOYEE t0 WHERE t0.ZRATE > ?", ["3.5"]),
        ])
    }

    func testToOnePathIsJoinedOnce() throws {
        try check([
            (
                "Employee", "age > 40 AND department.name == 'R&D'",
                "ZEMPLOYEE t0 JOIN ZDEPARTMENT t1 ON t1.Z_PK = t0.ZDEPARTMENT WHERE t0.ZAGE > ? AND t1.ZNAME = ?",
                ["40", "'R&D'"]
            ),
            (
                "Employee", "age > 40 OR department.name == 'R&D'",
                "ZEMPLOYEE t0 LEFT JOIN ZDEPARTMENT t1 ON t1.Z_PK = t0.ZDEPARTMENT WHERE (t0.ZAGE > ? OR "
                    + "t1.ZNAME = ?)",
                ["40", "'R&D'"]
            ),
            (
                "Employee", "department.name != 'R&D'",
                "ZEMPLOYEE t0 LEFT JOIN ZDEPARTMENT t1 ON t1.Z_PK = t0.ZDEPARTMENT WHERE t1.ZNAME IS NOT ?",
                ["'R&D'"]
            ),
            (
                "Employee", "department.site.name == 'Oslo' AND department.name != 'x'",
                "ZEMPLOYEE t0 JOIN ZDEPARTMENT t1 ON t1.Z_PK = t0.ZDEPARTMENT JOIN ZSITE t2 ON t2.Z_PK = "
                    + "t1.ZSITE WHERE t2.ZNAME = ? AND t1.ZNAME IS NOT ?",
                ["'Oslo'", "'x'"]
            ),
            ("Employee", "department == nil", "ZEMPLOYEE t0 WHERE t0.ZDEPARTMENT IS NULL", []),
            (
                "Employee", "department.site == nil",
                "ZEMPLOYEE t0 LEFT JOIN ZDEPARTMENT t1 ON t1.Z_PK = t0.ZDEPARTMENT WHERE t1.ZSITE IS NULL",
                []
            ),
            (
                "Employee", "manager.department == department",
                "ZEMPLOYEE t0 LEFT JOIN ZEMPLOYEE t1 ON t1.Z_PK = t0.ZMANAGER WHERE t1.ZDEPARTMENT IS "
                    + "t0.ZDEPARTMENT",
                []
            ),
            ("Employee", "SELF == manager", "ZEMPLOYEE t0 WHERE t0.Z_PK = t0.ZMANAGER", []),
            ("Employee", "department IN {nil}", "ZEMPLOYEE t0 WHERE 0", []),
        ])
    }

    func testStringComparisonsBecomeSQL() throws {
        try check([
            ("Employee", "name ==[c] 'ann'", "ZEMPLOYEE t0 WHERE cst_compare(t0.ZNAME, ?, 1) = 0", ["'ann'"]),
            (
                "Employee", "name !=[cd] 'ann'",
                "ZEMPLOYEE t0 WHERE (cst_compare(t0.ZNAME, ?, 3) = 0) IS NOT TRUE",
                ["'ann'"]
            ),
            ("Employee", "name <[c] email", "ZEMPLOYEE t0 WHERE cst_compare(t0.ZNAME, t0.ZEMAIL, 1) < 0", []),
            (
                "Employee", "name BEGINSWITH 'Añ'",
                "ZEMPLOYEE t0 WHERE t0.ZNAME >= ? AND t0.ZNAME < ? AND cst_begins(t0.ZNAME, ?, 0)",
                ["'A'", "'B'", "'Añ'"]
            ),
            (
                "Employee", "name BEGINSWITH[n] 'Añ'", "ZEMPLOYEE t0 WHERE t0.ZNAME >= ? AND t0.ZNAME < ?",
                ["'Añ'", "'Aò'"]
            ),
            ("Employee", "name BEGINSWITH 'ñ'", "ZEMPLOYEE t0 WHERE cst_begins(t0.ZNAME, ?, 0)", ["'ñ'"]),
            (
                "Employee", "name BEGINSWITH 'An\u{303}'",
                "ZEMPLOYEE t0 WHERE t0.ZNAME >= ? AND t0.ZNAME < ? AND cst_begins(t0.ZNAME, ?, 0)",
                ["'A'", "'B'", "'An\u{303}'"]
            ),
            ("Employee", "name BEGINSWITH[c] 'a'", "ZEMPLOYEE t0 WHERE cst_begins(t0.ZNAME, ?, 1)", ["'a'"]),
            ("Employee", "name ENDSWITH 'n'", "ZEMPLOYEE t0 WHERE cst_ends(t0.ZNAME, ?, 0)", ["'n'"]),
            (
                "Employee", "name CONTAINS 'nn'",
                "ZEMPLOYEE t0 WHERE instr(t0.ZNAME, ?) > 0 AND cst_contains(t0.ZNAME, ?, 0)", ["'nn'", "'nn'"]
            ),
            ("Employee", "name CONTAINS 'ñ'", "ZEMPLOYEE t0 WHERE cst_contains(t0.ZNAME, ?, 0)", ["'ñ'"]),
            ("Employee", "name CONTAINS[n] 'ñ'", "ZEMPLOYEE t0 WHERE instr(t0.ZNAME, ?) > 0", ["'ñ'"]),
            ("Employee", "name CONTAINS[cd] 'nn'", "ZEMPLOYEE t0 WHERE cst_contains(t0.ZNAME, ?, 3)", ["'nn'"]),
            ("Employee", "name CONTAINS ''", "ZEMPLOYEE t0 WHERE 0", []),
            ("Employee", "name LIKE 'A*'", "ZEMPLOYEE t0 WHERE t0.ZNAME >= ? AND t0.ZNAME < ?", ["'A'", "'B'"]),
            ("Employee", "name LIKE 'A?n'", "ZEMPLOYEE t0 WHERE cst_like(t0.ZNAME, ?, 0)", ["'A?n'"]),
            ("Employee", "name LIKE 'Ann'", "ZEMPLOYEE t0 WHERE t0.ZNAME = ?", ["'Ann'"]),
            ("Employee", "name LIKE '*'", "ZEMPLOYEE t0 WHERE t0.ZNAME IS NOT NULL", []),
            ("Employee", "name MATCHES[c] 'a.*'", "ZEMPLOYEE t0 WHERE cst_matches(t0.ZNAME, ?, 1)", ["'a.*'"]),
        ])
    }

    func testListsBecomeSQL() throws {
        try check([
            ("Employee", "name IN {'a', 'b', nil, 3}", "ZEMPLOYEE t0 WHERE t0.ZNAME IN (?, ?)", ["'a'", "'b'"]),
            ("Employee", "age IN {}", "ZEMPLOYEE t0 WHERE 0", []),
            ("Employee", "age IN {7}", "ZEMPLOYEE t0 WHERE t0.ZAGE = ?", ["7"]),
            ("Employee", "age IN {salary, 3}", "ZEMPLOYEE t0 WHERE t0.ZAGE IN (t0.ZSALARY, ?)", ["3"]),
            (
                "Employee", "'a' IN name", "ZEMPLOYEE t0 WHERE instr(t0.ZNAME, ?) > 0 AND cst_contains(t0.ZNAME, ?, 0)",
                ["'a'", "'a'"]
            ),
            ("Employee", "name IN 'abc'", "ZEMPLOYEE t0 WHERE cst_contains(?, t0.ZNAME, 0)", ["'abc'"]),
            ("Employee", "age BETWEEN {18, 65}", "ZEMPLOYEE t0 WHERE t0.ZAGE BETWEEN ? AND ?", ["18", "65"]),
            (
                "Employee", "NOT age BETWEEN {18, 65}",
                "ZEMPLOYEE t0 WHERE (t0.ZAGE BETWEEN ? AND ?) IS NOT TRUE",
                ["18", "65"]
            ),
            ("Employee", "age BETWEEN {nil, 65}", "ZEMPLOYEE t0 WHERE 0", []),
        ])
    }

    func testArithmeticBecomesSQL() throws {
        try check([
            ("Employee", "salary * 12 > 100000", "ZEMPLOYEE t0 WHERE (t0.ZSALARY * ?) > ?", ["12", "100000"]),
            ("Employee", "age / 2 == 20", "ZEMPLOYEE t0 WHERE (t0.ZAGE / ?) = ?", ["2", "20"]),
            ("Employee", "-age < -3", "ZEMPLOYEE t0 WHERE (-t0.ZAGE) < ?", ["-3"]),
            ("Employee", "age & 1 == 1", "ZEMPLOYEE t0 WHERE (t0.ZAGE & ?) = ?", ["1", "1"]),
            (
                "Employee", "TERNARY(active == YES, age, 0) > 30",
                "ZEMPLOYEE t0 WHERE CASE WHEN t0.ZACTIVE = ? THEN t0.ZAGE ELSE ? END > ?",
                ["1", "0", "30"]
            ),
            ("Employee", "age + 1 != 3", "ZEMPLOYEE t0 WHERE (t0.ZAGE + ?) IS NOT ?", ["1", "3"]),
        ])
    }

    func testToManyPathsBecomeSubqueries() throws {
        try check([
            (
                "Department", "ANY employees.age > 40",
                "ZDEPARTMENT t0 WHERE EXISTS (SELECT 1 FROM ZEMPLOYEE t1 WHERE t1.ZDEPARTMENT = t0.Z_PK AND "
                    + "t1.ZAGE > ?)",
                ["40"]
            ),
            (
                "Department", "ALL employees.age > 40",
                "ZDEPARTMENT t0 WHERE NOT EXISTS (SELECT 1 FROM ZEMPLOYEE t1 WHERE t1.ZDEPARTMENT = t0.Z_PK AND "
                    + "(t1.ZAGE > ?) IS NOT TRUE)",
                ["40"]
            ),
            (
                "Department", "NONE employees.age > 40",
                "ZDEPARTMENT t0 WHERE NOT EXISTS (SELECT 1 FROM ZEMPLOYEE t1 WHERE t1.ZDEPARTMENT = t0.Z_PK AND "
                    + "t1.ZAGE > ?)",
                ["40"]
            ),
            (
                "Site", "ANY departments.employees.name == 'Ann'",
                "ZSITE t0 WHERE EXISTS (SELECT 1 FROM ZDEPARTMENT t1 WHERE t1.ZSITE = t0.Z_PK AND EXISTS (SELECT "
                    + "1 FROM ZEMPLOYEE t2 WHERE t2.ZDEPARTMENT = t1.Z_PK AND t2.ZNAME = ?))",
                ["'Ann'"]
            ),
            (
                "Employee", "ANY projects.name == 'Apollo'",
                "ZEMPLOYEE t0 WHERE EXISTS (SELECT 1 FROM Z_1PROJECTS t2 JOIN ZPROJECT t1 ON t1.Z_PK = "
                    + "t2.Z_2PROJECTS WHERE t2.Z_1MEMBERS = t0.Z_PK AND t1.ZNAME = ?)",
                ["'Apollo'"]
            ),
            (
                "Employee", "ANY friends.name == 'Ann'",
                #"ZEMPLOYEE t0 WHERE EXISTS (SELECT 1 FROM ZEMPLOYEE t1 WHERE t1.Z_PK IN (SELECT "REFLEXIVE" FROM "#
                    + "Z_1FRIENDS WHERE Z_1FRIENDS = t0.Z_PK UNION ALL SELECT Z_1FRIENDS FROM Z_1FRIENDS WHERE "
                    + #""REFLEXIVE" = t0.Z_PK) AND t1.ZNAME = ?)"#,
                ["'Ann'"]
            ),
            (
                "Employee", "ANY department.employees.name BEGINSWITH 'A'",
                "ZEMPLOYEE t0 WHERE EXISTS (SELECT 1 FROM ZEMPLOYEE t1 WHERE t1.ZDEPARTMENT = t0.ZDEPARTMENT AND "
                    + "t1.ZNAME >= ? AND t1.ZNAME < ? AND cst_begins(t1.ZNAME, ?, 0))",
                ["'A'", "'B'", "'A'"]
            ),
            (
                "Department", "ANY employees.manager.name == name",
                "ZDEPARTMENT t0 WHERE EXISTS (SELECT 1 FROM ZEMPLOYEE t1 LEFT JOIN ZEMPLOYEE t2 ON t2.Z_PK = "
                    + "t1.ZMANAGER WHERE t1.ZDEPARTMENT = t0.Z_PK AND t2.ZNAME IS t0.ZNAME)",
                []
            ),
            (
                "Department", "'Ann' IN employees.name",
                "ZDEPARTMENT t0 WHERE EXISTS (SELECT 1 FROM ZEMPLOYEE t1 WHERE t1.ZDEPARTMENT = t0.Z_PK AND "
                    + "t1.ZNAME = ?)",
                ["'Ann'"]
            ),
            (
                "Department", "employees.name CONTAINS 'Ann'",
                "ZDEPARTMENT t0 WHERE EXISTS (SELECT 1 FROM ZEMPLOYEE t1 WHERE t1.ZDEPARTMENT = t0.Z_PK AND "
                    + "t1.ZNAME = ?)",
                ["'Ann'"]
            ),
            (
                "Department", "employees.@count > 3",
                "ZDEPARTMENT t0 WHERE (SELECT COUNT(*) FROM ZEMPLOYEE t1 WHERE t1.ZDEPARTMENT = t0.Z_PK) > ?",
                ["3"]
            ),
            (
                "Department", "employees.@count == 0",
                "ZDEPARTMENT t0 WHERE NOT EXISTS (SELECT 1 FROM ZEMPLOYEE t1 WHERE t1.ZDEPARTMENT = t0.Z_PK)",
                []
            ),
            (
                "Employee", "projects.@count > 0",
                "ZEMPLOYEE t0 WHERE EXISTS (SELECT 1 FROM Z_1PROJECTS t2 WHERE t2.Z_1MEMBERS = t0.Z_PK)",
                []
            ),
            (
                "Employee", "department.employees.@count > 3",
                "ZEMPLOYEE t0 WHERE CASE WHEN t0.ZDEPARTMENT IS NULL THEN NULL ELSE (SELECT COUNT(*) FROM "
                    + "ZEMPLOYEE t1 WHERE t1.ZDEPARTMENT = t0.ZDEPARTMENT) END > ?",
                ["3"]
            ),
            (
                "Department", "employees.@avg.salary > 3",
                "ZDEPARTMENT t0 WHERE (SELECT COALESCE(TOTAL(t1.ZSALARY) / COUNT(*), 0.0) FROM ZEMPLOYEE t1 "
                    + "WHERE t1.ZDEPARTMENT = t0.Z_PK) > ?",
                ["3"]
            ),
            (
                "Department", "employees.@max.age >= 60",
                "ZDEPARTMENT t0 WHERE (SELECT MAX(t1.ZAGE) FROM ZEMPLOYEE t1 WHERE t1.ZDEPARTMENT = t0.Z_PK) >= ?",
                ["60"]
            ),
            (
                "Department", "employees.@sum.salary > budget",
                "ZDEPARTMENT t0 WHERE (SELECT COALESCE(SUM(t1.ZSALARY), 0) FROM ZEMPLOYEE t1 WHERE "
                    + "t1.ZDEPARTMENT = t0.Z_PK) > t0.ZBUDGET",
                []
            ),
            (
                "Department", "SUBQUERY(employees, $e, $e.age > 40 AND $e.salary < budget).@count > 0",
                "ZDEPARTMENT t0 WHERE EXISTS (SELECT 1 FROM ZEMPLOYEE t1 WHERE t1.ZDEPARTMENT = t0.Z_PK AND "
                    + "t1.ZAGE > ? AND t1.ZSALARY < t0.ZBUDGET)",
                ["40"]
            ),
            (
                "Department", "SUBQUERY(employees, $e, ANY $e.projects.name == 'Apollo').@count == 2",
                "ZDEPARTMENT t0 WHERE (SELECT COUNT(*) FROM ZEMPLOYEE t1 WHERE t1.ZDEPARTMENT = t0.Z_PK AND "
                    + "EXISTS (SELECT 1 FROM Z_1PROJECTS t3 JOIN ZPROJECT t2 ON t2.Z_PK = t3.Z_2PROJECTS WHERE "
                    + "t3.Z_1MEMBERS = t1.Z_PK AND t2.ZNAME = ?)) = ?",
                ["'Apollo'", "2"]
            ),
            (
                "Department",
                "SUBQUERY(employees, $e, $e.manager.name == 'x' AND $e.department.site.name == site.name)"
                    + ".@count == 2",
                "ZDEPARTMENT t0 LEFT JOIN ZSITE t5 ON t5.Z_PK = t0.ZSITE WHERE (SELECT COUNT(*) FROM ZEMPLOYEE "
                    + "t1 JOIN ZEMPLOYEE t2 ON t2.Z_PK = t1.ZMANAGER LEFT JOIN ZDEPARTMENT t3 ON t3.Z_PK = "
                    + "t1.ZDEPARTMENT LEFT JOIN ZSITE t4 ON t4.Z_PK = t3.ZSITE WHERE t1.ZDEPARTMENT = t0.Z_PK AND "
                    + "t2.ZNAME = ? AND t4.ZNAME IS t5.ZNAME) = ?",
                ["'x'", "2"]
            ),
        ])
    }

    func testPredicatesWithoutSQLAreEvaluatedInMemory() throws {
        let table: [(entity: String, format: String)] = [
            ("Employee", "mood == 'x'"),
            ("Employee", "rate * 2 > 3"),
            ("Department", "employees == {'x'}"),
            ("Employee", "name.description == 'x'"),
            ("Employee", "median:(projects.hours) > 3"),
            ("Employee", "SUBQUERY(reports.projects, $p, $p.hours > 3).@count > 0"),
        ]
        for (entity, format) in table {
            let compiled = try compile(entity, format)
            XCTAssertEqual(compiled.query.text, " FROM Z\(entity.uppercased()) t0", format)
            XCTAssertEqual(compiled.remainder?.predicate?.format, try Predicate.parse(format).format)
        }
    }

    func testFunctionsBecomeSQL() throws {
        try check([
            ("Employee", "uppercase(name) == 'A'", "ZEMPLOYEE t0 WHERE cst_uppercase(t0.ZNAME) = ?", ["'A'"]),
            ("Employee", "name.length > 3", "ZEMPLOYEE t0 WHERE cst_length(t0.ZNAME) > ?", ["3"]),
            ("Employee", "modulus:by:(age, 2) == 1", "ZEMPLOYEE t0 WHERE (t0.ZAGE % ?) = ?", ["2", "1"]),
            ("Employee", "salary ** 2 > 4", "ZEMPLOYEE t0 WHERE cst_raise(t0.ZSALARY, ?) > ?", ["2", "4"]),
            ("Employee", "hired < CAST(age, 'NSDate')", "ZEMPLOYEE t0 WHERE t0.ZHIRED < CAST(t0.ZAGE AS REAL)", []),
            ("Department", "employees == nil", "ZDEPARTMENT t0 WHERE 0", []),
            ("Employee", "agency == 'x'", "ZEMPLOYEE t0 WHERE t0.ZAGENCY = ?", ["'x'"]),
        ])
    }

    /// The SQL of a predicate that is evaluated in memory excludes as many rows as possible, and no row that may match.
    func testPredicateIsSplitBetweenSQLAndMemory() throws {
        let table: [(format: String, sql: String, remainder: String?)] = [
            ("age > 3 AND mood == 'x'", " WHERE t0.ZAGE > ?", #"mood == "x""#),
            ("mood == 'x' AND (age > 3 AND rate * 2 > 1)", " WHERE t0.ZAGE > ?", #"mood == "x" AND rate * 2 > 1"#),
            (
                "(mood == 'x' AND age > 3) OR age < 2", " WHERE (t0.ZAGE > ? OR t0.ZAGE < ?)",
                #"(mood == "x" AND age > 3) OR age < 2"#
            ),
            ("mood == 'x' OR age < 2", "", #"mood == "x" OR age < 2"#),
            ("NOT (mood == 'x' OR age < 2)", " WHERE (t0.ZAGE < ?) IS NOT TRUE", #"NOT (mood == "x" OR age < 2)"#),
            ("NOT (mood == 'x' AND age < 2)", "", #"NOT (mood == "x" AND age < 2)"#),
            (
                "mood == 'x' AND department.name == 'y' AND FALSEPREDICATE",
                " JOIN ZDEPARTMENT t1 ON t1.Z_PK = t0.ZDEPARTMENT"
                    + " WHERE 0", #"mood == "x""#
            ),
        ]
        for (format, sql, remainder) in table {
            let compiled = try compile("Employee", format)
            XCTAssertEqual(compiled.query.text, " FROM ZEMPLOYEE t0" + sql, format)
            XCTAssertEqual(compiled.remainder?.predicate?.format, remainder, format)
            XCTAssertEqual(compiled.remainder?.reasons.first, "Employee.mood is transient and not in the store")
        }
        let whole = StoreFetch(
            entity: try XCTUnwrap(model.entity(named: "Employee")), predicate: try Predicate.parse(table[0].format),
            sortDescriptors: [SortDescriptor("mood")], limit: 3, allowsRemainder: false)
        XCTAssertThrowsError(try compiler.compile(whole)) {
            XCTAssertEqual(($0 as? CoreError)?.status, .unsupported)
            XCTAssert(($0 as? CoreError)?.message.contains("Employee.mood is transient") == true)
        }
    }

    func testInvalidPredicatesFailWithTheirMessage() throws {
        let table: [(entity: String, format: String, message: String)] = [
            ("Employee", "nmae == 'x'", #"Employee has no property "nmae"; did you mean "name"?"#),
            (
                "Employee", "name < 3",
                "\"name < 3\" cannot be evaluated: Employee.name is a string (String), 3 is a number, and a string and a number cannot be "
                    + "ordered; compare Employee.name with a string"
            ),
            (
                "Employee", "ANY name == 'x'",
                "the left side of a comparison with ANY, SOME or NONE must be a collection, but Employee.name is a single "
                    + "value; leave the modifier out, or write NOT instead of NONE"
            ),
            (
                "Employee", "name MATCHES '('",
                #""(" cannot be compiled as a regular expression: missing closing parenthesis at byte 1"#
            ),
            (
                "Employee", "age BETWEEN {1}",
                "\"age BETWEEN {1}\" cannot be evaluated: BETWEEN takes a list of two bounds, {low, high}, not a list of 1"
            ),
            (
                "Employee", "age == $x",
                "$x does not have a value; substitute a value with cst_predicate_new_substituted (substituting), or pass "
                    + "one to cst_predicate_evaluate_value (evaluate) or cst_expression_value (value)"
            ),
            ("Employee", "department.nme == 'x'", #"Department has no property "nme"; did you mean "name"?"#),
            (
                "Employee", "name BEGINSWITH 3",
                "\"name BEGINSWITH 3\" cannot be evaluated: BEGINSWITH compares strings, not a string with a number; compare two "
                    + "strings, or convert with CAST(…, \"NSString\")"
            ),
            ("Employee", "name.foo == 3", #"Employee.name is of type String and has no key "foo""#),
            (
                "Employee", "name.lenght == 3",
                #"Employee.name is of type String and has no key "lenght"; did you mean "length"?"#
            ),
            ("Employee", "age.lenght == 3", #"Employee.age is of type Integer 16 and has no key "lenght""#),
        ]
        for (entity, format, message) in table {
            XCTAssertThrowsError(try compile(entity, format), format) {
                XCTAssertEqual(($0 as? CoreError)?.status, .predicate, format)
                XCTAssertEqual(($0 as? CoreError)?.message, message, format)
            }
        }
    }

    func testOrderAndWindowBecomeSQL() throws {
        func tail(
            _ sort: [SortDescriptor], limit: Int = 0, offset: Int = 0, result: StoreFetch.Result = .rows,
            _ format: String? = nil
        ) throws -> String {
            let fetch = StoreFetch(
                entity: try XCTUnwrap(model.entity(named: "Employee")),
                predicate: try format.map { try Predicate.parse($0) },
                sortDescriptors: sort, limit: limit, offset: offset, result: result)
            let compiled = try compiler.compile(fetch)
            if compiled.remainder?.isUnordered == true { return "memory\(compiled.query.text)" }
            return String(compiled.query.text.dropFirst(" FROM ZEMPLOYEE t0".count))
        }
        XCTAssertEqual(
            try tail([SortDescriptor("-salary"), SortDescriptor("name")]),
            " ORDER BY t0.ZSALARY DESC, t0.ZNAME, t0.Z_PK")
        XCTAssertEqual(
            try tail([SortDescriptor("name", caseInsensitive: true)], limit: 10, offset: 5),
            " ORDER BY t0.ZNAME COLLATE CST_NOCASE, t0.Z_PK LIMIT 10 OFFSET 5")
        XCTAssertEqual(
            try tail([SortDescriptor("age", caseInsensitive: true)], offset: 5),
            " ORDER BY t0.ZAGE, t0.Z_PK LIMIT -1 OFFSET 5")
        XCTAssertEqual(
            try tail([SortDescriptor("department.name")], limit: 3, "department.name != 'x'"),
            " LEFT JOIN ZDEPARTMENT t1 ON t1.Z_PK = t0.ZDEPARTMENT WHERE t1.ZNAME IS NOT ? ORDER BY t1.ZNAME, +t0.Z_PK LIMIT 3"
        )
        XCTAssertEqual(
            try tail([SortDescriptor("-projects.@count")]),
            " ORDER BY (SELECT COUNT(*) FROM Z_1PROJECTS t2 WHERE t2.Z_1MEMBERS = t0.Z_PK) DESC, t0.Z_PK")
        XCTAssertEqual(try tail([SortDescriptor("name")], result: .count), "")
        XCTAssertEqual(try tail([SortDescriptor("department")]), "memory FROM ZEMPLOYEE t0 ORDER BY t0.Z_PK")
        XCTAssertThrowsError(try tail([SortDescriptor("projects")]))
        XCTAssertEqual(try tail([SortDescriptor("mood")], limit: 2), "memory FROM ZEMPLOYEE t0 ORDER BY t0.Z_PK")
        for (selector, collation) in [
            (SortDescriptor.Selector.localized, "CST_LOCALIZED"), (.localizedCaseInsensitive, "CST_LOCALIZED_NOCASE"),
            (.localizedStandard, "CST_STANDARD"),
        ] {
            XCTAssertEqual(
                try tail([SortDescriptor(path: KeyPath("name"), selector: selector)]),
                " ORDER BY t0.ZNAME COLLATE \(collation), t0.Z_PK")
        }
        XCTAssertThrowsError(try tail([SortDescriptor("nmae")], result: .count))
    }

    func testFetchWithoutSubentitiesComparesTheEntityNumber() throws {
        let employee = try XCTUnwrap(model.entity(named: "Employee"))
        let query = try compiler.compile(StoreFetch(entity: employee, includesSubentities: false)).query
        XCTAssertEqual(query.text, " FROM ZEMPLOYEE t0 WHERE t0.Z_ENT = \(employee.number)")
    }

    func testObjectsAreComparedByKey() throws {
        let employee = try XCTUnwrap(model.entity(named: "Employee"))
        let department = try XCTUnwrap(model.entity(named: "Department"))
        func sql(_ format: String, _ ids: [ObjectID]) throws -> String {
            let arguments = ids.map { PropertyValue.object(ObjectIDReference($0)) }
            let predicate = try Predicate.parse(format, arguments: ids.count > 1 ? [.array(arguments)] : arguments)
            let query = try compiler.compile(StoreFetch(entity: employee, predicate: predicate)).query
            return query.text.dropFirst(" FROM ZEMPLOYEE t0 WHERE ".count) + " " + query.bindings.described.description
        }
        // Neither object is in this store. Key -1 matches no row, because keys are positive.
        let unsaved = ObjectID(store: nil, entity: department, reference: -7)
        let elsewhere = ObjectID(store: nil, entity: department, reference: 7)
        XCTAssertEqual(try sql("department == %@", [unsaved]), #"t0.ZDEPARTMENT = ? ["-1"]"#)
        XCTAssertEqual(try sql("department IN %@", [unsaved, elsewhere]), #"t0.ZDEPARTMENT IN (?, ?) ["-1", "-1"]"#)
        XCTAssertEqual(try sql("manager == %@", [elsewhere]), "0 []")
    }

    func testLongListIsOneBinding() throws {
        let list = PropertyValue.array((0..<5_000).map { .string("it's \"\($0)\"\n\\") })
        let predicate = try Predicate.parse("name IN %@", arguments: [list])
        let employee = try XCTUnwrap(model.entity(named: "Employee"))
        let query = try compiler.compile(StoreFetch(entity: employee, predicate: predicate)).query
        XCTAssertEqual(query.text, " FROM ZEMPLOYEE t0 WHERE t0.ZNAME IN (SELECT value FROM json_each(?))")
        XCTAssertEqual(query.bindings.count, 1)
    }

    func testArgumentsNeverBecomeSQLText() throws {
        let hostile = "x'; DROP TABLE ZEMPLOYEE; --"
        for format in [
            "name == %@", "name LIKE %@", "name IN {%@, 'a'}", "name MATCHES %@", "ANY projects.name CONTAINS[c] %@",
        ] {
            let predicate = try Predicate.parse(format, arguments: [.string(hostile)])
            let employee = try XCTUnwrap(model.entity(named: "Employee"))
            let query = try compiler.compile(StoreFetch(entity: employee, predicate: predicate)).query
            XCTAssertFalse(query.text.contains("DROP"), format)
        }
        XCTAssertEqual(SQLiteDialect().quoted("a\"b"), "\"a\"\"b\"")
    }
}
