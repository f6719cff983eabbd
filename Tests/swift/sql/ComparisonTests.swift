import XCTest

/// Comparisons of columns, constants, texts and lists in SQL.
final class ComparisonTests: CompilerTestCase {
    func testEveryOperatorIsCompiledWithOperandsInEitherOrder() throws {
        try check([
            ("Employee", "3 <= age", "ZEMPLOYEE t0 WHERE t0.ZAGE >= ?", ["3"]),
            ("Employee", "3 > age", "ZEMPLOYEE t0 WHERE t0.ZAGE < ?", ["3"]),
            ("Employee", "3 >= age", "ZEMPLOYEE t0 WHERE t0.ZAGE <= ?", ["3"]),
            ("Employee", "3 == age", "ZEMPLOYEE t0 WHERE t0.ZAGE = ?", ["3"]),
            ("Employee", "3 != age", "ZEMPLOYEE t0 WHERE t0.ZAGE IS NOT ?", ["3"]),
            ("Employee", "age < 3", "ZEMPLOYEE t0 WHERE t0.ZAGE < ?", ["3"]),
            ("Employee", "age <= 3", "ZEMPLOYEE t0 WHERE t0.ZAGE <= ?", ["3"]),
            ("Employee", "age >= 3", "ZEMPLOYEE t0 WHERE t0.ZAGE >= ?", ["3"]),
            ("Employee", "age > salary", "ZEMPLOYEE t0 WHERE t0.ZAGE > t0.ZSALARY", []),
            (
                "Employee", "age >= salary",
                "ZEMPLOYEE t0 WHERE (t0.ZAGE >= t0.ZSALARY OR (t0.ZAGE IS NULL AND t0.ZSALARY IS NULL))",
                []
            ),
            ("Employee", "age >= nil", "ZEMPLOYEE t0 WHERE t0.ZAGE IS NULL", []),
            ("Employee", "age > nil", "ZEMPLOYEE t0 WHERE 0", []),
            ("Employee", "age == nil", "ZEMPLOYEE t0 WHERE t0.ZAGE IS NULL", []),
            ("Employee", "nil == name", "ZEMPLOYEE t0 WHERE t0.ZNAME IS NULL", []),
            ("Employee", "nil != name", "ZEMPLOYEE t0 WHERE t0.ZNAME IS NOT NULL", []),
            ("Employee", "nil == nil", "ZEMPLOYEE t0", []),
            ("Employee", "age == {1}", "ZEMPLOYEE t0 WHERE 0", []),
            ("Employee", "age != {1}", "ZEMPLOYEE t0", []),
            ("Employee", "department == 3", "ZEMPLOYEE t0 WHERE 0", []),
            ("Employee", "badge == badge", "ZEMPLOYEE t0 WHERE t0.ZBADGE IS t0.ZBADGE", []),
            ("Employee", "name == homepage", "ZEMPLOYEE t0 WHERE t0.ZNAME IS t0.ZHOMEPAGE", []),
            ("Employee", "active == 3", "ZEMPLOYEE t0 WHERE t0.ZACTIVE = ?", ["3"]),
            ("Employee", "thing == nil", "ZEMPLOYEE t0 WHERE t0.ZTHING IS NULL", []),
            ("Employee", "photo == nil", "ZEMPLOYEE t0 WHERE t0.ZPHOTO IS NULL", []),
            ("Employee", "rate == 0.1", "ZEMPLOYEE t0 WHERE t0.ZRATE = ?", ["0.1"]),
            ("Employee", "NOT TRUEPREDICATE", "ZEMPLOYEE t0 WHERE 0", []),
            ("Employee", "NOT (name == email)", "ZEMPLOYEE t0 WHERE NOT (t0.ZNAME IS t0.ZEMAIL)", []),
            ("Employee", "NOT (name != 'x')", "ZEMPLOYEE t0 WHERE NOT (t0.ZNAME IS NOT ?)", ["'x'"]),
            ("Employee", "NOT (NOT (name == 'x'))", "ZEMPLOYEE t0 WHERE NOT ((t0.ZNAME = ?) IS NOT TRUE)", ["'x'"]),
            ("Employee", "NOT (name == age)", "ZEMPLOYEE t0 WHERE NOT (t0.ZNAME IS NULL AND t0.ZAGE IS NULL)", []),
            ("Employee", "age == 1 OR TRUEPREDICATE", "ZEMPLOYEE t0", []),
            ("Employee", "age == 1 OR FALSEPREDICATE", "ZEMPLOYEE t0 WHERE t0.ZAGE = ?", ["1"]),
            ("Employee", "age == 1 AND FALSEPREDICATE", "ZEMPLOYEE t0 WHERE 0", []),
            ("Employee", "age == 1 AND TRUEPREDICATE", "ZEMPLOYEE t0 WHERE t0.ZAGE = ?", ["1"]),
        ])
    }

    func testTextOptionsBecomeComparisonFunctions() throws {
        try check([
            (
                "Employee", "name ==[c] email",
                "ZEMPLOYEE t0 WHERE (cst_compare(t0.ZNAME, t0.ZEMAIL, 1) = 0 OR (t0.ZNAME IS NULL AND t0.ZEMAIL "
                    + "IS NULL))",
                []
            ),
            (
                "Employee", "name !=[c] email",
                "ZEMPLOYEE t0 WHERE (cst_compare(t0.ZNAME, t0.ZEMAIL, 1) = 0 OR (t0.ZNAME IS NULL AND t0.ZEMAIL "
                    + "IS NULL)) IS NOT TRUE",
                []
            ),
            ("Employee", "name >[c] email", "ZEMPLOYEE t0 WHERE cst_compare(t0.ZNAME, t0.ZEMAIL, 1) > 0", []),
            (
                "Employee", "name <=[c] email",
                "ZEMPLOYEE t0 WHERE (cst_compare(t0.ZNAME, t0.ZEMAIL, 1) <= 0 OR (t0.ZNAME IS NULL AND t0.ZEMAIL "
                    + "IS NULL))",
                []
            ),
            (
                "Employee", "name >=[c] email",
                "ZEMPLOYEE t0 WHERE (cst_compare(t0.ZNAME, t0.ZEMAIL, 1) >= 0 OR (t0.ZNAME IS NULL AND t0.ZEMAIL "
                    + "IS NULL))",
                []
            ),
            ("Employee", "name <=[c] 'x'", "ZEMPLOYEE t0 WHERE cst_compare(t0.ZNAME, ?, 1) <= 0", ["'x'"]),
            ("Employee", "name >[d] 'x'", "ZEMPLOYEE t0 WHERE cst_compare(t0.ZNAME, ?, 2) > 0", ["'x'"]),
            ("Employee", "name ==[n] 'x'", "ZEMPLOYEE t0 WHERE t0.ZNAME = ?", ["'x'"]),
            ("Employee", "name ==[l] 'x'", "ZEMPLOYEE t0 WHERE cst_compare(t0.ZNAME, ?, 8) = 0", ["'x'"]),
            ("Employee", "name <[cdl] 'x'", "ZEMPLOYEE t0 WHERE cst_compare(t0.ZNAME, ?, 11) < 0", ["'x'"]),
            (
                "Employee", "homepage ==[c] name",
                "ZEMPLOYEE t0 WHERE (cst_compare(t0.ZHOMEPAGE, t0.ZNAME, 1) = 0 OR (t0.ZHOMEPAGE IS NULL AND "
                    + "t0.ZNAME IS NULL))",
                []
            ),
            (
                "Employee", "name BETWEEN[c] {'a', 'b'}",
                "ZEMPLOYEE t0 WHERE (cst_compare(t0.ZNAME, ?, 1) >= 0 AND cst_compare(t0.ZNAME, ?, 1) <= 0)",
                ["'a'", "'b'"]
            ),
        ])
    }

    func testTextOperatorsBecomeFunctionsRangesOrConstants() throws {
        try check([
            ("Employee", "name LIKE 'a\\\\\\\\*'", "ZEMPLOYEE t0 WHERE cst_like(t0.ZNAME, ?, 0)", ["'a\\\\*'"]),
            ("Employee", "name LIKE 'An*n*'", "ZEMPLOYEE t0 WHERE cst_like(t0.ZNAME, ?, 0)", ["'An*n*'"]),
            ("Employee", "name LIKE 'An*?'", "ZEMPLOYEE t0 WHERE cst_like(t0.ZNAME, ?, 0)", ["'An*?'"]),
            ("Employee", "name LIKE '*a'", "ZEMPLOYEE t0 WHERE cst_like(t0.ZNAME, ?, 0)", ["'*a'"]),
            ("Employee", "name LIKE ''", "ZEMPLOYEE t0 WHERE t0.ZNAME = ?", ["''"]),
            ("Employee", "name LIKE[c] 'Ann'", "ZEMPLOYEE t0 WHERE cst_like(t0.ZNAME, ?, 1)", ["'Ann'"]),
            ("Employee", "name LIKE[n] 'A*'", "ZEMPLOYEE t0 WHERE t0.ZNAME >= ? AND t0.ZNAME < ?", ["'A'", "'B'"]),
            ("Employee", "name LIKE nil", "ZEMPLOYEE t0 WHERE 0", []),
            ("Employee", "nil LIKE 'a'", "ZEMPLOYEE t0 WHERE 0", []),
            ("Employee", "name LIKE email", "ZEMPLOYEE t0 WHERE cst_like(t0.ZNAME, t0.ZEMAIL, 0)", []),
            ("Employee", "name MATCHES ''", "ZEMPLOYEE t0 WHERE 0", []),
            ("Employee", "name MATCHES email", "ZEMPLOYEE t0 WHERE cst_matches(t0.ZNAME, t0.ZEMAIL, 0)", []),
            ("Employee", "name ENDSWITH ''", "ZEMPLOYEE t0 WHERE 0", []),
            ("Employee", "name ENDSWITH[cd] 'x'", "ZEMPLOYEE t0 WHERE cst_ends(t0.ZNAME, ?, 3)", ["'x'"]),
            ("Employee", "name BEGINSWITH ''", "ZEMPLOYEE t0 WHERE 0", []),
            ("Employee", "name BEGINSWITH[n] ''", "ZEMPLOYEE t0 WHERE 0", []),
            ("Employee", "name BEGINSWITH email", "ZEMPLOYEE t0 WHERE cst_begins(t0.ZNAME, t0.ZEMAIL, 0)", []),
            ("Employee", "name BEGINSWITH nil", "ZEMPLOYEE t0 WHERE 0", []),
            (
                "Employee", "name UTI-EQUALS 'public.text'",
                "ZEMPLOYEE t0 WHERE cst_compare(t0.ZNAME, ?, 1) = 0",
                ["'public.text'"]
            ),
            ("Employee", "'abc' BEGINSWITH 'a'", "ZEMPLOYEE t0", []),
            ("Employee", "'abc' BEGINSWITH 'b'", "ZEMPLOYEE t0 WHERE 0", []),
            ("Employee", "name CONTAINS email", "ZEMPLOYEE t0 WHERE cst_contains(t0.ZNAME, t0.ZEMAIL, 0)", []),
            ("Employee", "name CONTAINS nil", "ZEMPLOYEE t0 WHERE 0", []),
            ("Employee", "nil CONTAINS name", "ZEMPLOYEE t0 WHERE 0", []),
            ("Employee", "'abc' CONTAINS 'b'", "ZEMPLOYEE t0", []),
            ("Employee", "'abc' CONTAINS 'B'", "ZEMPLOYEE t0 WHERE 0", []),
            ("Employee", "'abc' CONTAINS[c] 'B'", "ZEMPLOYEE t0", []),
            ("Employee", "name CONTAINS[d] 'b'", "ZEMPLOYEE t0 WHERE cst_contains(t0.ZNAME, ?, 2)", ["'b'"]),
            ("Employee", "name CONTAINS[cn] 'b'", "ZEMPLOYEE t0 WHERE instr(t0.ZNAME, ?) > 0", ["'b'"]),
        ])
    }

    func testListsAndRangesBecomeInAndBetween() throws {
        try check([
            (
                "Employee", "age IN {1, 2, 3, 4, 5, 6, 7, 8}",
                "ZEMPLOYEE t0 WHERE t0.ZAGE IN (?, ?, ?, ?, ?, ?, ?, ?)",
                ["1", "2", "3", "4", "5", "6", "7", "8"]
            ),
            (
                "Employee", "age IN {1, 2, 3, 4, 5, 6, 7, 8, 9}",
                "ZEMPLOYEE t0 WHERE t0.ZAGE IN (SELECT value FROM json_each(?))",
                ["'[1,2,3,4,5,6,7,8,9]'"]
            ),
            (
                "Employee", "salary IN {1.5, 2, 3, 4, 5, 6, 7, 8, 9}",
                "ZEMPLOYEE t0 WHERE t0.ZSALARY IN (SELECT cst_unpack(value) FROM json_each(?))",
                ["'[\"r3ff8000000000000\",2,3,4,5,6,7,8,9]'"]
            ),
            (
                "Employee", "name IN {'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i\"'}",
                "ZEMPLOYEE t0 WHERE t0.ZNAME IN (SELECT value FROM json_each(?))",
                ["'[\"a\",\"b\",\"c\",\"d\",\"e\",\"f\",\"g\",\"h\",\"i\\\"\"]'"]
            ),
            (
                "Employee", "age IN {1, 2, 3, 4, 5, 6, 7, 8, salary}",
                "ZEMPLOYEE t0 WHERE t0.ZAGE IN (?, ?, ?, ?, ?, ?, ?, ?, t0.ZSALARY)",
                ["1", "2", "3", "4", "5", "6", "7", "8"]
            ),
            ("Employee", "3 IN {3, 4}", "ZEMPLOYEE t0", []),
            ("Employee", "5 IN {3, 4}", "ZEMPLOYEE t0 WHERE 0", []),
            ("Employee", "5 IN {age, 3}", "ZEMPLOYEE t0 WHERE ? IN (t0.ZAGE, ?)", ["5", "3"]),
            ("Employee", "nil IN {age, nil}", "ZEMPLOYEE t0 WHERE 0", []),
            ("Employee", "age IN {age}", "ZEMPLOYEE t0 WHERE t0.ZAGE = t0.ZAGE", []),
            ("Employee", "age IN {'a', 3, 'b'}", "ZEMPLOYEE t0 WHERE t0.ZAGE = ?", ["3"]),
            (
                "Employee", "name IN {projects.name, 'x'}",
                "ZEMPLOYEE t0 WHERE (t0.ZNAME = ? OR EXISTS (SELECT 1 FROM Z_1PROJECTS t2 JOIN ZPROJECT t1 ON "
                    + "t1.Z_PK = t2.Z_2PROJECTS WHERE t2.Z_1MEMBERS = t0.Z_PK AND t1.ZNAME = t0.ZNAME))",
                ["'x'"]
            ),
            (
                "Employee", "name IN {projects.name}",
                "ZEMPLOYEE t0 WHERE EXISTS (SELECT 1 FROM Z_1PROJECTS t2 JOIN ZPROJECT t1 ON t1.Z_PK = "
                    + "t2.Z_2PROJECTS WHERE t2.Z_1MEMBERS = t0.Z_PK AND t1.ZNAME = t0.ZNAME)",
                []
            ),
            ("Employee", "name BETWEEN {'a', 'b'}", "ZEMPLOYEE t0 WHERE t0.ZNAME BETWEEN ? AND ?", ["'a'", "'b'"]),
            ("Employee", "3 BETWEEN {1, 5}", "ZEMPLOYEE t0", []),
            ("Employee", "3 BETWEEN {4, 5}", "ZEMPLOYEE t0 WHERE 0", []),
            ("Employee", "3 BETWEEN {1, age}", "ZEMPLOYEE t0 WHERE t0.ZAGE >= ?", ["3"]),
            ("Employee", "3 BETWEEN {4, age}", "ZEMPLOYEE t0 WHERE 0", []),
            ("Employee", "3 BETWEEN {age, 4}", "ZEMPLOYEE t0 WHERE t0.ZAGE <= ?", ["3"]),
            ("Employee", "age BETWEEN {salary, 5}", "ZEMPLOYEE t0 WHERE t0.ZAGE BETWEEN t0.ZSALARY AND ?", ["5"]),
            (
                "Employee", "age BETWEEN {salary, salary}",
                "ZEMPLOYEE t0 WHERE t0.ZAGE BETWEEN t0.ZSALARY AND t0.ZSALARY",
                []
            ),
            ("Employee", "age BETWEEN {5, nil}", "ZEMPLOYEE t0 WHERE 0", []),
            ("Employee", "nil BETWEEN {1, age}", "ZEMPLOYEE t0 WHERE 0", []),
        ])
    }

    func testErrorNamesEntityAndKey() {
        checkErrors([
            (
                "Employee", "reports.@sum.name > 3", "Employee", "name",
                "@sum takes numbers, but Employee.name is a string"
            ),
            (
                "Department", "employees.@avg.hired > 3", "Employee", "hired",
                "@avg takes numbers, but Employee.hired is a date"
            ),
            (
                "Employee", "length(age) > 3", "Employee", "age",
                "length: takes a string, but Employee.age is a number"
            ),
            (
                "Employee", "abs(name) > 2", "Employee", "name",
                "abs: takes a number, but Employee.name is a string"
            ),
            (
                "Employee", "department.name + 3 > 4", "Department", "name",
                "add:to: takes numbers, but Department.name is a string"
            ),
            (
                "Employee", "age < {1}", "Employee", "age",
                "\"age < {1}\" cannot be evaluated: Employee.age is a number (Integer 16), {1} is a list, and a number "
                    + "and a list cannot be ordered; compare Employee.age with a number"
            ),
            (
                "Employee", "badge < homepage", "Employee", "badge",
                "\"badge < homepage\" cannot be evaluated: Employee.badge is a UUID (UUID), Employee.homepage is a URI, "
                    + "and a UUID and a URI cannot be ordered; compare Employee.badge only by == or IN"
            ),
            (
                "Employee", "badge < badge", "Employee", "badge",
                "\"badge < badge\" cannot be evaluated: Employee.badge is a UUID (UUID), Employee.badge is a UUID, "
                    + "and a UUID and a UUID cannot be ordered; compare Employee.badge only by == or IN"
            ),
            (
                "Employee", "department < manager", "Employee", "department",
                "\"department < manager\" cannot be evaluated: an object and an object cannot be ordered; compare them only by == or IN"
            ),
            (
                "Employee", "hired > 3", "Employee", "hired",
                "\"hired > 3\" cannot be evaluated: Employee.hired is a date (Date), 3 is a number, and a date and a "
                    + "number cannot be ordered; compare Employee.hired with a date"
            ),
            (
                "Employee", "age BEGINSWITH 'b'", "Employee", "age",
                "\"age BEGINSWITH \"b\"\" cannot be evaluated: Employee.age is a number (Integer 16), \"b\" is a string, and "
                    + "BEGINSWITH compares strings; compare a string, or CAST(age, \"NSString\")"
            ),
            (
                "Employee", "'b' BEGINSWITH age", "Employee", "age",
                "\"\"b\" BEGINSWITH age\" cannot be evaluated: Employee.age is a number (Integer 16), \"b\" is a string, and "
                    + "BEGINSWITH compares strings; compare a string, or CAST(age, \"NSString\")"
            ),
            (
                "Employee", "name CONTAINS 3", "Employee", "name",
                "cannot search Employee.name for a number (3); pass a string instead"
            ),
            (
                "Employee", "age CONTAINS 'x'", "Employee", "age",
                "\"age CONTAINS \"x\"\" cannot be evaluated: CONTAINS needs a collection or a string, but Employee.age is a number"
            ),
            (
                "Employee", "3 IN age", "Employee", "age",
                "\"3 IN age\" cannot be evaluated: IN needs a collection or a string, but Employee.age is a number"
            ),
            (
                "Employee", "age BETWEEN 5", "Employee", "age",
                "\"age BETWEEN 5\" cannot be evaluated: BETWEEN takes a list of two bounds, {low, high}, not 5"
            ),
            (
                "Employee", "age BETWEEN {1, 2, 3}", "Employee", "age",
                "\"age BETWEEN {1, 2, 3}\" cannot be evaluated: BETWEEN takes a list of two bounds, {low, high}, not a list of 3"
            ),
            (
                "Employee", "age BETWEEN {'a', 'b'}", "Employee", "age",
                "\"age BETWEEN {\"a\", \"b\"}\" cannot be evaluated: Employee.age is a number (Integer 16), \"a\" is a string, "
                    + "and a number and a string cannot be ordered; compare Employee.age with a number"
            ),
            (
                "Employee", "projects < 3", "Employee", "projects",
                "\"projects < 3\" cannot be evaluated: Employee.projects spans a to-many relationship, and < "
                    + "cannot compare a collection. Use projects.@count for the number of members, "
                    + "or ANY with an attribute of the members"
            ),
            (
                "Employee", "projects BEGINSWITH 'a'", "Employee", "projects",
                "\"projects BEGINSWITH \"a\"\" cannot be evaluated: BEGINSWITH compares strings, but Employee.projects "
                    + "spans a to-many relationship, so its values are one collection. Use ANY with a string attribute "
                    + "of the members"
            ),
            (
                "Employee", "projects.hours BETWEEN {1, 2}", "Employee", "projects.hours",
                "\"projects.hours BETWEEN {1, 2}\" cannot be evaluated: Employee.projects.hours spans a to-many "
                    + "relationship, and BETWEEN cannot compare a collection. Write ANY "
                    + "projects.hours BETWEEN {1, 2} to find objects with at least one such value"
            ),
            (
                "Employee", "3 >= projects.hours", "Employee", "projects.hours",
                "\"3 >= projects.hours\" cannot be evaluated: Employee.projects.hours spans a to-many "
                    + "relationship, and >= cannot compare a collection. Write ANY "
                    + "projects.hours <= 3 to find objects with at least one such value"
            ),
            (
                "Employee", "department.agency == 'x'", "Department", "agency",
                "Department has no property \"agency\""
            ),
            (
                "Employee", "ALL department.name == 'x'", "Employee", "department.name",
                "the left side of a comparison with ALL must be a collection, but Employee.department.name is a single "
                    + "value; leave ALL out"
            ),
        ])
    }
}
