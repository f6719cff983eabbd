import XCTest

/// Key paths and their inner or outer joins.
final class PathTests: CompilerTestCase {
    func testKeysOfTheRowAndItsTargetsNeedNoJoin() throws {
        try check([
            ("Employee", "objectID == SELF", "ZEMPLOYEE t0 WHERE t0.Z_PK = t0.Z_PK", []),
            ("Employee", "self.name == 'x'", "ZEMPLOYEE t0 WHERE t0.ZNAME = ?", ["'x'"]),
            ("Employee", "SELF.agency == 'x'", "ZEMPLOYEE t0 WHERE t0.ZAGENCY = ?", ["'x'"]),
            ("Employee", "SELF == nil", "ZEMPLOYEE t0 WHERE t0.Z_PK IS NULL", []),
            ("Employee", "manager.objectID == nil", "ZEMPLOYEE t0 WHERE t0.ZMANAGER IS NULL", []),
            (
                "Employee", "manager.manager == nil",
                "ZEMPLOYEE t0 LEFT JOIN ZEMPLOYEE t1 ON t1.Z_PK = t0.ZMANAGER WHERE t1.ZMANAGER IS NULL",
                []
            ),
            (
                "Employee", "department.site.name == nil",
                "ZEMPLOYEE t0 LEFT JOIN ZDEPARTMENT t1 ON t1.Z_PK = t0.ZDEPARTMENT LEFT JOIN ZSITE t2 ON t2.Z_PK "
                    + "= t1.ZSITE WHERE t2.ZNAME IS NULL",
                []
            ),
            (
                "Employee", "nil == department.site.name",
                "ZEMPLOYEE t0 LEFT JOIN ZDEPARTMENT t1 ON t1.Z_PK = t0.ZDEPARTMENT LEFT JOIN ZSITE t2 ON t2.Z_PK "
                    + "= t1.ZSITE WHERE t2.ZNAME IS NULL",
                []
            ),
            (
                "Employee", "manager.agency == 'x'",
                "ZEMPLOYEE t0 JOIN ZEMPLOYEE t1 ON t1.Z_PK = t0.ZMANAGER WHERE t1.ZAGENCY = ?",
                ["'x'"]
            ),
            ("Employee", "agency.length > 2", "ZEMPLOYEE t0 WHERE cst_length(t0.ZAGENCY) > ?", ["2"]),
        ])
    }

    func testInnerJoinIsUsedWhereNilCannotMatch() throws {
        try check([
            (
                "Employee", "'x' == department.name",
                "ZEMPLOYEE t0 JOIN ZDEPARTMENT t1 ON t1.Z_PK = t0.ZDEPARTMENT WHERE t1.ZNAME = ?",
                ["'x'"]
            ),
            (
                "Employee", "'x' != department.name",
                "ZEMPLOYEE t0 LEFT JOIN ZDEPARTMENT t1 ON t1.Z_PK = t0.ZDEPARTMENT WHERE t1.ZNAME IS NOT ?",
                ["'x'"]
            ),
            (
                "Employee", "'x' < department.name",
                "ZEMPLOYEE t0 JOIN ZDEPARTMENT t1 ON t1.Z_PK = t0.ZDEPARTMENT WHERE t1.ZNAME > ?",
                ["'x'"]
            ),
            (
                "Employee", "department.name > 'x'",
                "ZEMPLOYEE t0 JOIN ZDEPARTMENT t1 ON t1.Z_PK = t0.ZDEPARTMENT WHERE t1.ZNAME > ?",
                ["'x'"]
            ),
            (
                "Employee", "department.name LIKE 'x'",
                "ZEMPLOYEE t0 JOIN ZDEPARTMENT t1 ON t1.Z_PK = t0.ZDEPARTMENT WHERE t1.ZNAME = ?",
                ["'x'"]
            ),
            (
                "Employee", "department.name BEGINSWITH[c] 'x'",
                "ZEMPLOYEE t0 JOIN ZDEPARTMENT t1 ON t1.Z_PK = t0.ZDEPARTMENT WHERE cst_begins(t1.ZNAME, ?, 1)",
                ["'x'"]
            ),
            (
                "Employee", "department.name ENDSWITH 'x'",
                "ZEMPLOYEE t0 JOIN ZDEPARTMENT t1 ON t1.Z_PK = t0.ZDEPARTMENT WHERE cst_ends(t1.ZNAME, ?, 0)",
                ["'x'"]
            ),
            (
                "Employee", "department.name CONTAINS[c] 'x'",
                "ZEMPLOYEE t0 JOIN ZDEPARTMENT t1 ON t1.Z_PK = t0.ZDEPARTMENT WHERE cst_contains(t1.ZNAME, ?, 1)",
                ["'x'"]
            ),
            (
                "Employee", "department.name MATCHES 'x'",
                "ZEMPLOYEE t0 JOIN ZDEPARTMENT t1 ON t1.Z_PK = t0.ZDEPARTMENT WHERE cst_matches(t1.ZNAME, ?, 0)",
                ["'x'"]
            ),
            (
                "Employee", "department.name IN {'x', 'y'}",
                "ZEMPLOYEE t0 JOIN ZDEPARTMENT t1 ON t1.Z_PK = t0.ZDEPARTMENT WHERE t1.ZNAME IN (?, ?)",
                ["'x'", "'y'"]
            ),
            (
                "Employee", "'x' IN department.name",
                "ZEMPLOYEE t0 JOIN ZDEPARTMENT t1 ON t1.Z_PK = t0.ZDEPARTMENT WHERE instr(t1.ZNAME, ?) > 0 AND "
                    + "cst_contains(t1.ZNAME, ?, 0)",
                ["'x'", "'x'"]
            ),
            (
                "Employee", "department.name UTI-EQUALS 'x'",
                "ZEMPLOYEE t0 LEFT JOIN ZDEPARTMENT t1 ON t1.Z_PK = t0.ZDEPARTMENT WHERE cst_compare(t1.ZNAME, "
                    + "?, 1) = 0",
                ["'x'"]
            ),
            (
                "Employee", "department.budget BETWEEN {1, 2}",
                "ZEMPLOYEE t0 JOIN ZDEPARTMENT t1 ON t1.Z_PK = t0.ZDEPARTMENT WHERE t1.ZBUDGET BETWEEN ? AND ?",
                ["1", "2"]
            ),
            (
                "Employee", "department.budget < age",
                "ZEMPLOYEE t0 JOIN ZDEPARTMENT t1 ON t1.Z_PK = t0.ZDEPARTMENT WHERE t1.ZBUDGET < t0.ZAGE",
                []
            ),
            (
                "Employee", "department.budget > age",
                "ZEMPLOYEE t0 JOIN ZDEPARTMENT t1 ON t1.Z_PK = t0.ZDEPARTMENT WHERE t1.ZBUDGET > t0.ZAGE",
                []
            ),
            (
                "Employee", "department.budget == age",
                "ZEMPLOYEE t0 LEFT JOIN ZDEPARTMENT t1 ON t1.Z_PK = t0.ZDEPARTMENT WHERE t1.ZBUDGET IS t0.ZAGE",
                []
            ),
            (
                "Employee", "department.budget != age",
                "ZEMPLOYEE t0 LEFT JOIN ZDEPARTMENT t1 ON t1.Z_PK = t0.ZDEPARTMENT WHERE t1.ZBUDGET IS NOT "
                    + "t0.ZAGE",
                []
            ),
            (
                "Employee", "department.budget <= age",
                "ZEMPLOYEE t0 LEFT JOIN ZDEPARTMENT t1 ON t1.Z_PK = t0.ZDEPARTMENT WHERE (t1.ZBUDGET <= t0.ZAGE "
                    + "OR (t1.ZBUDGET IS NULL AND t0.ZAGE IS NULL))",
                []
            ),
            (
                "Employee", "department.budget >= age",
                "ZEMPLOYEE t0 LEFT JOIN ZDEPARTMENT t1 ON t1.Z_PK = t0.ZDEPARTMENT WHERE (t1.ZBUDGET >= t0.ZAGE "
                    + "OR (t1.ZBUDGET IS NULL AND t0.ZAGE IS NULL))",
                []
            ),
            (
                "Employee", "age >= department.budget",
                "ZEMPLOYEE t0 LEFT JOIN ZDEPARTMENT t1 ON t1.Z_PK = t0.ZDEPARTMENT WHERE (t0.ZAGE >= t1.ZBUDGET "
                    + "OR (t0.ZAGE IS NULL AND t1.ZBUDGET IS NULL))",
                []
            ),
            (
                "Employee", "department.budget <= 4",
                "ZEMPLOYEE t0 JOIN ZDEPARTMENT t1 ON t1.Z_PK = t0.ZDEPARTMENT WHERE t1.ZBUDGET <= ?",
                ["4"]
            ),
            (
                "Employee", "department.budget >= 4",
                "ZEMPLOYEE t0 JOIN ZDEPARTMENT t1 ON t1.Z_PK = t0.ZDEPARTMENT WHERE t1.ZBUDGET >= ?",
                ["4"]
            ),
            (
                "Employee", "department.budget != nil",
                "ZEMPLOYEE t0 JOIN ZDEPARTMENT t1 ON t1.Z_PK = t0.ZDEPARTMENT WHERE t1.ZBUDGET IS NOT NULL",
                []
            ),
            (
                "Employee", "department.budget == nil",
                "ZEMPLOYEE t0 LEFT JOIN ZDEPARTMENT t1 ON t1.Z_PK = t0.ZDEPARTMENT WHERE t1.ZBUDGET IS NULL",
                []
            ),
            (
                "Employee", "nil != department.budget",
                "ZEMPLOYEE t0 JOIN ZDEPARTMENT t1 ON t1.Z_PK = t0.ZDEPARTMENT WHERE t1.ZBUDGET IS NOT NULL",
                []
            ),
            (
                "Employee", "abs(department.budget) > 4",
                "ZEMPLOYEE t0 JOIN ZDEPARTMENT t1 ON t1.Z_PK = t0.ZDEPARTMENT WHERE abs(t1.ZBUDGET) > ?",
                ["4"]
            ),
            (
                "Employee", "-department.budget > 4",
                "ZEMPLOYEE t0 JOIN ZDEPARTMENT t1 ON t1.Z_PK = t0.ZDEPARTMENT WHERE (-t1.ZBUDGET) > ?",
                ["4"]
            ),
            (
                "Employee", "department.budget + 3 > 4",
                "ZEMPLOYEE t0 JOIN ZDEPARTMENT t1 ON t1.Z_PK = t0.ZDEPARTMENT WHERE (t1.ZBUDGET + ?) > ?",
                ["3", "4"]
            ),
            (
                "Employee", "noindex:(department.budget) > 4",
                "ZEMPLOYEE t0 JOIN ZDEPARTMENT t1 ON t1.Z_PK = t0.ZDEPARTMENT WHERE t1.ZBUDGET > ?",
                ["4"]
            ),
            (
                "Employee", "sqrt(department.budget) > 4",
                "ZEMPLOYEE t0 LEFT JOIN ZDEPARTMENT t1 ON t1.Z_PK = t0.ZDEPARTMENT WHERE cst_sqrt(t1.ZBUDGET) > ?",
                ["4"]
            ),
            (
                "Employee", "NOT (department.budget > 4)",
                "ZEMPLOYEE t0 LEFT JOIN ZDEPARTMENT t1 ON t1.Z_PK = t0.ZDEPARTMENT WHERE (t1.ZBUDGET > ?) IS NOT "
                    + "TRUE",
                ["4"]
            ),
            (
                "Employee", "department.budget > 4 OR department.budget < 2",
                "ZEMPLOYEE t0 JOIN ZDEPARTMENT t1 ON t1.Z_PK = t0.ZDEPARTMENT WHERE (t1.ZBUDGET > ? OR "
                    + "t1.ZBUDGET < ?)",
                ["4", "2"]
            ),
            (
                "Employee", "department.budget > 4 OR department.site.name == 'x'",
                "ZEMPLOYEE t0 JOIN ZDEPARTMENT t1 ON t1.Z_PK = t0.ZDEPARTMENT LEFT JOIN ZSITE t2 ON t2.Z_PK = "
                    + "t1.ZSITE WHERE (t1.ZBUDGET > ? OR t2.ZNAME = ?)",
                ["4", "'x'"]
            ),
            (
                "Employee", "department.budget > 4 OR age == 2",
                "ZEMPLOYEE t0 LEFT JOIN ZDEPARTMENT t1 ON t1.Z_PK = t0.ZDEPARTMENT WHERE (t1.ZBUDGET > ? OR "
                    + "t0.ZAGE = ?)",
                ["4", "2"]
            ),
            (
                "Employee", "(department.budget > 4 OR department.name == 'x') AND age == 2",
                "ZEMPLOYEE t0 JOIN ZDEPARTMENT t1 ON t1.Z_PK = t0.ZDEPARTMENT WHERE (t1.ZBUDGET > ? OR t1.ZNAME "
                    + "= ?) AND t0.ZAGE = ?",
                ["4", "'x'", "2"]
            ),
            (
                "Employee", "NOT (NOT (department.budget > 4 AND department.site.name == 'x'))",
                "ZEMPLOYEE t0 LEFT JOIN ZDEPARTMENT t1 ON t1.Z_PK = t0.ZDEPARTMENT LEFT JOIN ZSITE t2 ON t2.Z_PK "
                    + "= t1.ZSITE WHERE NOT ((t1.ZBUDGET > ? AND t2.ZNAME = ?) IS NOT TRUE)",
                ["4", "'x'"]
            ),
        ])
    }
}
