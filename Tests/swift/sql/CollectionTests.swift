import XCTest

/// To-many paths in SQL.
final class CollectionTests: CompilerTestCase {
    func testAnyAndAllBecomeSubqueries() throws {
        try check([
            (
                "Employee", "ANY projects.hours BETWEEN {1, 2}",
                "ZEMPLOYEE t0 WHERE EXISTS (SELECT 1 FROM Z_1PROJECTS t2 JOIN ZPROJECT t1 ON t1.Z_PK = "
                    + "t2.Z_2PROJECTS WHERE t2.Z_1MEMBERS = t0.Z_PK AND t1.ZHOURS BETWEEN ? AND ?)",
                ["1", "2"]
            ),
            (
                "Employee", "ANY projects.hours IN {1, 2}",
                "ZEMPLOYEE t0 WHERE EXISTS (SELECT 1 FROM Z_1PROJECTS t2 JOIN ZPROJECT t1 ON t1.Z_PK = "
                    + "t2.Z_2PROJECTS WHERE t2.Z_1MEMBERS = t0.Z_PK AND t1.ZHOURS IN (?, ?))",
                ["1", "2"]
            ),
            (
                "Employee", "ANY projects.name CONTAINS 'a'",
                "ZEMPLOYEE t0 WHERE EXISTS (SELECT 1 FROM Z_1PROJECTS t2 JOIN ZPROJECT t1 ON t1.Z_PK = "
                    + "t2.Z_2PROJECTS WHERE t2.Z_1MEMBERS = t0.Z_PK AND instr(t1.ZNAME, ?) > 0 AND "
                    + "cst_contains(t1.ZNAME, ?, 0))",
                ["'a'", "'a'"]
            ),
            (
                "Employee", "ANY projects.name LIKE 'A*'",
                "ZEMPLOYEE t0 WHERE EXISTS (SELECT 1 FROM Z_1PROJECTS t2 JOIN ZPROJECT t1 ON t1.Z_PK = "
                    + "t2.Z_2PROJECTS WHERE t2.Z_1MEMBERS = t0.Z_PK AND t1.ZNAME >= ? AND t1.ZNAME < ?)",
                ["'A'", "'B'"]
            ),
            (
                "Employee", "ANY projects.hours == nil",
                "ZEMPLOYEE t0 WHERE EXISTS (SELECT 1 FROM Z_1PROJECTS t2 JOIN ZPROJECT t1 ON t1.Z_PK = "
                    + "t2.Z_2PROJECTS WHERE t2.Z_1MEMBERS = t0.Z_PK AND t1.ZHOURS IS NULL)",
                []
            ),
            (
                "Employee", "ANY projects.hours != 3",
                "ZEMPLOYEE t0 WHERE EXISTS (SELECT 1 FROM Z_1PROJECTS t2 JOIN ZPROJECT t1 ON t1.Z_PK = "
                    + "t2.Z_2PROJECTS WHERE t2.Z_1MEMBERS = t0.Z_PK AND t1.ZHOURS IS NOT ?)",
                ["3"]
            ),
            (
                "Employee", "ALL projects.hours != 3",
                "ZEMPLOYEE t0 WHERE NOT EXISTS (SELECT 1 FROM Z_1PROJECTS t2 JOIN ZPROJECT t1 ON t1.Z_PK = "
                    + "t2.Z_2PROJECTS WHERE t2.Z_1MEMBERS = t0.Z_PK AND NOT (t1.ZHOURS IS NOT ?))",
                ["3"]
            ),
            (
                "Employee", "NONE projects.hours != 3",
                "ZEMPLOYEE t0 WHERE NOT EXISTS (SELECT 1 FROM Z_1PROJECTS t2 JOIN ZPROJECT t1 ON t1.Z_PK = "
                    + "t2.Z_2PROJECTS WHERE t2.Z_1MEMBERS = t0.Z_PK AND t1.ZHOURS IS NOT ?)",
                ["3"]
            ),
            (
                "Employee", "ANY reports.manager.name == 'x'",
                "ZEMPLOYEE t0 WHERE EXISTS (SELECT 1 FROM ZEMPLOYEE t1 JOIN ZEMPLOYEE t2 ON t2.Z_PK = "
                    + "t1.ZMANAGER WHERE t1.ZMANAGER = t0.Z_PK AND t2.ZNAME = ?)",
                ["'x'"]
            ),
            (
                "Employee", "ANY reports.manager.name == nil",
                "ZEMPLOYEE t0 WHERE EXISTS (SELECT 1 FROM ZEMPLOYEE t1 LEFT JOIN ZEMPLOYEE t2 ON t2.Z_PK = "
                    + "t1.ZMANAGER WHERE t1.ZMANAGER = t0.Z_PK AND t2.ZNAME IS NULL)",
                []
            ),
            (
                "Employee", "ALL reports.manager.name == 'x'",
                "ZEMPLOYEE t0 WHERE NOT EXISTS (SELECT 1 FROM ZEMPLOYEE t1 LEFT JOIN ZEMPLOYEE t2 ON t2.Z_PK = "
                    + "t1.ZMANAGER WHERE t1.ZMANAGER = t0.Z_PK AND (t2.ZNAME = ?) IS NOT TRUE)",
                ["'x'"]
            ),
            (
                "Employee", "ANY reports.department.employees.name == nil",
                "ZEMPLOYEE t0 WHERE EXISTS (SELECT 1 FROM ZEMPLOYEE t1 WHERE t1.ZMANAGER = t0.Z_PK AND (EXISTS "
                    + "(SELECT 1 FROM ZEMPLOYEE t2 WHERE t2.ZDEPARTMENT = t1.ZDEPARTMENT AND t2.ZNAME IS NULL) OR "
                    + "t1.ZDEPARTMENT IS NULL))",
                []
            ),
            (
                "Employee", "ANY reports.department.employees.name == 'x'",
                "ZEMPLOYEE t0 WHERE EXISTS (SELECT 1 FROM ZEMPLOYEE t1 WHERE t1.ZMANAGER = t0.Z_PK AND EXISTS "
                    + "(SELECT 1 FROM ZEMPLOYEE t2 WHERE t2.ZDEPARTMENT = t1.ZDEPARTMENT AND t2.ZNAME = ?))",
                ["'x'"]
            ),
            (
                "Employee", "ALL reports.department.employees.name == 'x'",
                "ZEMPLOYEE t0 WHERE NOT EXISTS (SELECT 1 FROM ZEMPLOYEE t1 WHERE t1.ZMANAGER = t0.Z_PK AND "
                    + "(EXISTS (SELECT 1 FROM ZEMPLOYEE t2 WHERE t2.ZDEPARTMENT = t1.ZDEPARTMENT AND (t2.ZNAME = ?) IS "
                    + "NOT TRUE) OR t1.ZDEPARTMENT IS NULL))",
                ["'x'"]
            ),
            (
                "Employee", "ALL projects.hours IN {}",
                "ZEMPLOYEE t0 WHERE NOT EXISTS (SELECT 1 FROM Z_1PROJECTS t2 JOIN ZPROJECT t1 ON t1.Z_PK = "
                    + "t2.Z_2PROJECTS WHERE t2.Z_1MEMBERS = t0.Z_PK)",
                []
            ),
            ("Employee", "ANY projects.hours == 'x'", "ZEMPLOYEE t0 WHERE 0", []),
            ("Employee", "ANY {1, 2} == age", "ZEMPLOYEE t0 WHERE (t0.ZAGE = ? OR t0.ZAGE = ?)", ["1", "2"]),
            ("Employee", "ALL {1, 2} < age", "ZEMPLOYEE t0 WHERE t0.ZAGE > ? AND t0.ZAGE > ?", ["1", "2"]),
            ("Employee", "ANY {} == age", "ZEMPLOYEE t0 WHERE 0", []),
            ("Employee", "ALL {} == age", "ZEMPLOYEE t0", []),
            (
                "Employee", "3 IN projects.hours",
                "ZEMPLOYEE t0 WHERE EXISTS (SELECT 1 FROM Z_1PROJECTS t2 JOIN ZPROJECT t1 ON t1.Z_PK = "
                    + "t2.Z_2PROJECTS WHERE t2.Z_1MEMBERS = t0.Z_PK AND t1.ZHOURS = ?)",
                ["3"]
            ),
            ("Employee", "nil IN projects.hours", "ZEMPLOYEE t0 WHERE 0", []),
            ("Employee", "'x' IN projects.hours", "ZEMPLOYEE t0 WHERE 0", []),
            (
                "Employee", "manager IN friends",
                "ZEMPLOYEE t0 WHERE EXISTS (SELECT 1 FROM ZEMPLOYEE t1 WHERE t1.Z_PK IN (SELECT \"REFLEXIVE\" FROM "
                    + "Z_1FRIENDS WHERE Z_1FRIENDS = t0.Z_PK UNION ALL SELECT Z_1FRIENDS FROM Z_1FRIENDS WHERE "
                    + "\"REFLEXIVE\" = t0.Z_PK) AND t1.Z_PK = t0.ZMANAGER)",
                []
            ),
            (
                "Employee", "friends CONTAINS manager",
                "ZEMPLOYEE t0 WHERE EXISTS (SELECT 1 FROM ZEMPLOYEE t1 WHERE t1.Z_PK IN (SELECT \"REFLEXIVE\" FROM "
                    + "Z_1FRIENDS WHERE Z_1FRIENDS = t0.Z_PK UNION ALL SELECT Z_1FRIENDS FROM Z_1FRIENDS WHERE "
                    + "\"REFLEXIVE\" = t0.Z_PK) AND t1.Z_PK = t0.ZMANAGER)",
                []
            ),
            (
                "Employee", "SELF IN reports",
                "ZEMPLOYEE t0 WHERE EXISTS (SELECT 1 FROM ZEMPLOYEE t1 WHERE t1.ZMANAGER = t0.Z_PK AND t1.Z_PK = "
                    + "t0.Z_PK)",
                []
            ),
            ("Employee", "projects == nil", "ZEMPLOYEE t0 WHERE 0", []),
            ("Employee", "projects != nil", "ZEMPLOYEE t0", []),
            ("Employee", "department.employees == nil", "ZEMPLOYEE t0 WHERE t0.ZDEPARTMENT IS NULL", []),
            ("Employee", "department.employees != nil", "ZEMPLOYEE t0 WHERE t0.ZDEPARTMENT IS NOT NULL", []),
            (
                "Employee", "ANY SUBQUERY(reports, $r, $r.age > 3).name == 'x'",
                "ZEMPLOYEE t0 WHERE EXISTS (SELECT 1 FROM ZEMPLOYEE t1 WHERE t1.ZMANAGER = t0.Z_PK AND t1.ZAGE > "
                    + "? AND t1.ZNAME = ?)",
                ["3", "'x'"]
            ),
            (
                "Employee", "'x' IN SUBQUERY(reports, $r, $r.age > 3).name",
                "ZEMPLOYEE t0 WHERE EXISTS (SELECT 1 FROM ZEMPLOYEE t1 WHERE t1.ZMANAGER = t0.Z_PK AND t1.ZAGE > "
                    + "? AND t1.ZNAME = ?)",
                ["3", "'x'"]
            ),
        ])
    }

    func testPathsOverSeveralToManyRelationshipsNestSubqueries() throws {
        try check([
            (
                "Site", "ANY departments.employees.projects.hours > 3",
                "ZSITE t0 WHERE EXISTS (SELECT 1 FROM ZDEPARTMENT t1 WHERE t1.ZSITE = t0.Z_PK AND EXISTS (SELECT "
                    + "1 FROM ZEMPLOYEE t2 WHERE t2.ZDEPARTMENT = t1.Z_PK AND EXISTS (SELECT 1 FROM Z_1PROJECTS t4 "
                    + "JOIN ZPROJECT t3 ON t3.Z_PK = t4.Z_2PROJECTS WHERE t4.Z_1MEMBERS = t2.Z_PK AND t3.ZHOURS > ?)))",
                ["3"]
            ),
            (
                "Site", "ALL departments.employees.name == 'x'",
                "ZSITE t0 WHERE NOT EXISTS (SELECT 1 FROM ZDEPARTMENT t1 WHERE t1.ZSITE = t0.Z_PK AND EXISTS "
                    + "(SELECT 1 FROM ZEMPLOYEE t2 WHERE t2.ZDEPARTMENT = t1.Z_PK AND (t2.ZNAME = ?) IS NOT TRUE))",
                ["'x'"]
            ),
            (
                "Project", "members.@count > 2",
                "ZPROJECT t0 WHERE (SELECT COUNT(*) FROM Z_1PROJECTS t2 WHERE t2.Z_2PROJECTS = t0.Z_PK) > ?",
                ["2"]
            ),
            (
                "Project", "ANY members.name == 'x'",
                "ZPROJECT t0 WHERE EXISTS (SELECT 1 FROM Z_1PROJECTS t2 JOIN ZEMPLOYEE t1 ON t1.Z_PK = "
                    + "t2.Z_1MEMBERS WHERE t2.Z_2PROJECTS = t0.Z_PK AND t1.ZNAME = ?)",
                ["'x'"]
            ),
            (
                "Project", "ANY members.manager.name == 'x'",
                "ZPROJECT t0 WHERE EXISTS (SELECT 1 FROM Z_1PROJECTS t2 JOIN ZEMPLOYEE t1 ON t1.Z_PK = "
                    + "t2.Z_1MEMBERS JOIN ZEMPLOYEE t3 ON t3.Z_PK = t1.ZMANAGER WHERE t2.Z_2PROJECTS = t0.Z_PK AND "
                    + "t3.ZNAME = ?)",
                ["'x'"]
            ),
            (
                "Contractor", "manager.name == 'x'",
                "ZEMPLOYEE t0 JOIN ZEMPLOYEE t1 ON t1.Z_PK = t0.ZMANAGER WHERE t0.Z_ENT = 3 AND t1.ZNAME = ?",
                ["'x'"]
            ),
        ])
    }

    func testCountsBecomeExistsOrCountSubqueries() throws {
        try check([
            (
                "Employee", "projects.@count >= 1",
                "ZEMPLOYEE t0 WHERE EXISTS (SELECT 1 FROM Z_1PROJECTS t2 WHERE t2.Z_1MEMBERS = t0.Z_PK)",
                []
            ),
            (
                "Employee", "projects.@count >= 2",
                "ZEMPLOYEE t0 WHERE (SELECT COUNT(*) FROM Z_1PROJECTS t2 WHERE t2.Z_1MEMBERS = t0.Z_PK) >= ?",
                ["2"]
            ),
            (
                "Employee", "projects.@count != 0",
                "ZEMPLOYEE t0 WHERE EXISTS (SELECT 1 FROM Z_1PROJECTS t2 WHERE t2.Z_1MEMBERS = t0.Z_PK)",
                []
            ),
            (
                "Employee", "projects.@count != 1",
                "ZEMPLOYEE t0 WHERE (SELECT COUNT(*) FROM Z_1PROJECTS t2 WHERE t2.Z_1MEMBERS = t0.Z_PK) <> ?",
                ["1"]
            ),
            (
                "Employee", "projects.@count < 1",
                "ZEMPLOYEE t0 WHERE NOT EXISTS (SELECT 1 FROM Z_1PROJECTS t2 WHERE t2.Z_1MEMBERS = t0.Z_PK)",
                []
            ),
            (
                "Employee", "projects.@count < 2",
                "ZEMPLOYEE t0 WHERE (SELECT COUNT(*) FROM Z_1PROJECTS t2 WHERE t2.Z_1MEMBERS = t0.Z_PK) < ?",
                ["2"]
            ),
            (
                "Employee", "projects.@count <= 0",
                "ZEMPLOYEE t0 WHERE NOT EXISTS (SELECT 1 FROM Z_1PROJECTS t2 WHERE t2.Z_1MEMBERS = t0.Z_PK)",
                []
            ),
            (
                "Employee", "projects.@count <= 1",
                "ZEMPLOYEE t0 WHERE (SELECT COUNT(*) FROM Z_1PROJECTS t2 WHERE t2.Z_1MEMBERS = t0.Z_PK) <= ?",
                ["1"]
            ),
            (
                "Employee", "projects.@count == 1",
                "ZEMPLOYEE t0 WHERE (SELECT COUNT(*) FROM Z_1PROJECTS t2 WHERE t2.Z_1MEMBERS = t0.Z_PK) = ?",
                ["1"]
            ),
            (
                "Employee", "projects.@count > 1",
                "ZEMPLOYEE t0 WHERE (SELECT COUNT(*) FROM Z_1PROJECTS t2 WHERE t2.Z_1MEMBERS = t0.Z_PK) > ?",
                ["1"]
            ),
            (
                "Employee", "0 < projects.@count",
                "ZEMPLOYEE t0 WHERE EXISTS (SELECT 1 FROM Z_1PROJECTS t2 WHERE t2.Z_1MEMBERS = t0.Z_PK)",
                []
            ),
            (
                "Employee", "0 == projects.@count",
                "ZEMPLOYEE t0 WHERE NOT EXISTS (SELECT 1 FROM Z_1PROJECTS t2 WHERE t2.Z_1MEMBERS = t0.Z_PK)",
                []
            ),
            (
                "Employee", "1 > projects.@count",
                "ZEMPLOYEE t0 WHERE NOT EXISTS (SELECT 1 FROM Z_1PROJECTS t2 WHERE t2.Z_1MEMBERS = t0.Z_PK)",
                []
            ),
            (
                "Employee", "NOT (projects.@count > 0)",
                "ZEMPLOYEE t0 WHERE NOT EXISTS (SELECT 1 FROM Z_1PROJECTS t2 WHERE t2.Z_1MEMBERS = t0.Z_PK)",
                []
            ),
            (
                "Employee", "friends.@count > 1",
                "ZEMPLOYEE t0 WHERE (SELECT COUNT(*) FROM ZEMPLOYEE t1 WHERE t1.Z_PK IN (SELECT \"REFLEXIVE\" FROM "
                    + "Z_1FRIENDS WHERE Z_1FRIENDS = t0.Z_PK UNION ALL SELECT Z_1FRIENDS FROM Z_1FRIENDS WHERE "
                    + "\"REFLEXIVE\" = t0.Z_PK)) > ?",
                ["1"]
            ),
            (
                "Employee", "friends.@count > 0",
                "ZEMPLOYEE t0 WHERE EXISTS (SELECT 1 FROM ZEMPLOYEE t1 WHERE t1.Z_PK IN (SELECT \"REFLEXIVE\" FROM "
                    + "Z_1FRIENDS WHERE Z_1FRIENDS = t0.Z_PK UNION ALL SELECT Z_1FRIENDS FROM Z_1FRIENDS WHERE "
                    + "\"REFLEXIVE\" = t0.Z_PK))",
                []
            ),
            (
                "Employee", "projects[SIZE] > 2",
                "ZEMPLOYEE t0 WHERE (SELECT COUNT(*) FROM Z_1PROJECTS t2 WHERE t2.Z_1MEMBERS = t0.Z_PK) > ?",
                ["2"]
            ),
            (
                "Employee", "reports.@count.age > 3",
                "ZEMPLOYEE t0 WHERE (SELECT COUNT(*) FROM ZEMPLOYEE t1 WHERE t1.ZMANAGER = t0.Z_PK) > ?",
                ["3"]
            ),
            (
                "Employee", "reports.department.@count > 3",
                "ZEMPLOYEE t0 WHERE (SELECT COUNT(*) FROM ZEMPLOYEE t1 WHERE t1.ZMANAGER = t0.Z_PK) > ?",
                ["3"]
            ),
            (
                "Employee", "manager.reports.@count == 0",
                "ZEMPLOYEE t0 WHERE CASE WHEN t0.ZMANAGER IS NULL THEN NULL ELSE (SELECT COUNT(*) FROM ZEMPLOYEE "
                    + "t1 WHERE t1.ZMANAGER = t0.ZMANAGER) END = ?",
                ["0"]
            ),
            (
                "Employee", "SUBQUERY(manager.reports, $r, $r.age > 3).@count == 0",
                "ZEMPLOYEE t0 WHERE NOT EXISTS (SELECT 1 FROM ZEMPLOYEE t1 WHERE t1.ZMANAGER = t0.ZMANAGER AND "
                    + "t1.ZAGE > ?)",
                ["3"]
            ),
            (
                "Employee", "count(projects) > 3",
                "ZEMPLOYEE t0 WHERE COALESCE((SELECT COUNT(*) FROM Z_1PROJECTS t2 WHERE t2.Z_1MEMBERS = "
                    + "t0.Z_PK), 0) > ?",
                ["3"]
            ),
            (
                "Employee", "count(department.employees) > 3",
                "ZEMPLOYEE t0 WHERE COALESCE(CASE WHEN t0.ZDEPARTMENT IS NULL THEN NULL ELSE (SELECT COUNT(*) "
                    + "FROM ZEMPLOYEE t1 WHERE t1.ZDEPARTMENT = t0.ZDEPARTMENT) END, 0) > ?",
                ["3"]
            ),
            (
                "Employee", "SUBQUERY(projects, $p, TRUEPREDICATE).@count > 0",
                "ZEMPLOYEE t0 WHERE EXISTS (SELECT 1 FROM Z_1PROJECTS t2 WHERE t2.Z_1MEMBERS = t0.Z_PK)",
                []
            ),
            (
                "Employee", "SUBQUERY(projects, $p, FALSEPREDICATE).@count > 0",
                "ZEMPLOYEE t0 WHERE EXISTS (SELECT 1 FROM Z_1PROJECTS t2 JOIN ZPROJECT t1 ON t1.Z_PK = "
                    + "t2.Z_2PROJECTS WHERE t2.Z_1MEMBERS = t0.Z_PK AND 0)",
                []
            ),
            (
                "Employee", "SUBQUERY(projects, $p, $p.hours > 1 OR $p.name == nil).@count > 1",
                "ZEMPLOYEE t0 WHERE (SELECT COUNT(*) FROM Z_1PROJECTS t2 JOIN ZPROJECT t1 ON t1.Z_PK = "
                    + "t2.Z_2PROJECTS WHERE t2.Z_1MEMBERS = t0.Z_PK AND (t1.ZHOURS > ? OR t1.ZNAME IS NULL)) > ?",
                ["1", "1"]
            ),
        ])
    }

    func testAggregatesAndSubqueriesBecomeScalarSubqueries() throws {
        try check([
            (
                "Employee", "sum(projects.hours) > 3",
                "ZEMPLOYEE t0 WHERE (SELECT COALESCE(SUM(t1.ZHOURS), 0) FROM Z_1PROJECTS t2 JOIN ZPROJECT t1 ON "
                    + "t1.Z_PK = t2.Z_2PROJECTS WHERE t2.Z_1MEMBERS = t0.Z_PK) > ?",
                ["3"]
            ),
            (
                "Employee", "min(projects.hours) > 3",
                "ZEMPLOYEE t0 WHERE (SELECT MIN(t1.ZHOURS) FROM Z_1PROJECTS t2 JOIN ZPROJECT t1 ON t1.Z_PK = "
                    + "t2.Z_2PROJECTS WHERE t2.Z_1MEMBERS = t0.Z_PK) > ?",
                ["3"]
            ),
            (
                "Employee", "max(projects.hours) > 3",
                "ZEMPLOYEE t0 WHERE (SELECT MAX(t1.ZHOURS) FROM Z_1PROJECTS t2 JOIN ZPROJECT t1 ON t1.Z_PK = "
                    + "t2.Z_2PROJECTS WHERE t2.Z_1MEMBERS = t0.Z_PK) > ?",
                ["3"]
            ),
            (
                "Employee", "projects.@sum.hours > 3",
                "ZEMPLOYEE t0 WHERE (SELECT COALESCE(SUM(t1.ZHOURS), 0) FROM Z_1PROJECTS t2 JOIN ZPROJECT t1 ON "
                    + "t1.Z_PK = t2.Z_2PROJECTS WHERE t2.Z_1MEMBERS = t0.Z_PK) > ?",
                ["3"]
            ),
            (
                "Employee", "reports.@sum.age > 3",
                "ZEMPLOYEE t0 WHERE (SELECT COALESCE(SUM(t1.ZAGE), 0) FROM ZEMPLOYEE t1 WHERE t1.ZMANAGER = "
                    + "t0.Z_PK) > ?",
                ["3"]
            ),
            (
                "Employee", "reports.@sum.active > 3",
                "ZEMPLOYEE t0 WHERE (SELECT COALESCE(SUM(t1.ZACTIVE), 0) FROM ZEMPLOYEE t1 WHERE t1.ZMANAGER = "
                    + "t0.Z_PK) > ?",
                ["3"]
            ),
            (
                "Employee", "reports.@sum.serial > 3",
                "ZEMPLOYEE t0 WHERE (SELECT cst_sum(t1.ZSERIAL) FROM ZEMPLOYEE t1 WHERE t1.ZMANAGER = t0.Z_PK) > "
                    + "?",
                ["3"]
            ),
            (
                "Employee", "reports.@sum.salary > 3",
                "ZEMPLOYEE t0 WHERE (SELECT COALESCE(SUM(t1.ZSALARY), 0) FROM ZEMPLOYEE t1 WHERE t1.ZMANAGER = "
                    + "t0.Z_PK) > ?",
                ["3"]
            ),
            (
                "Employee", "reports.@avg.age > 3",
                "ZEMPLOYEE t0 WHERE (SELECT COALESCE(CAST(COALESCE(SUM(t1.ZAGE), 0) AS REAL) / COUNT(*), 0.0) "
                    + "FROM ZEMPLOYEE t1 WHERE t1.ZMANAGER = t0.Z_PK) > ?",
                ["3"]
            ),
            (
                "Employee", "reports.@avg.serial > 3",
                "ZEMPLOYEE t0 WHERE (SELECT COALESCE(CAST(cst_sum(t1.ZSERIAL) AS REAL) / COUNT(*), 0.0) FROM "
                    + "ZEMPLOYEE t1 WHERE t1.ZMANAGER = t0.Z_PK) > ?",
                ["3"]
            ),
            (
                "Employee", "reports.@min.name == 'x'",
                "ZEMPLOYEE t0 WHERE (SELECT MIN(t1.ZNAME) FROM ZEMPLOYEE t1 WHERE t1.ZMANAGER = t0.Z_PK) = ?",
                ["'x'"]
            ),
            (
                "Employee", "reports.@max.hired != nil",
                "ZEMPLOYEE t0 WHERE (SELECT MAX(t1.ZHIRED) FROM ZEMPLOYEE t1 WHERE t1.ZMANAGER = t0.Z_PK) IS NOT "
                    + "NULL",
                []
            ),
            (
                "Employee", "reports.@max.rate > 3",
                "ZEMPLOYEE t0 WHERE (SELECT MAX(t1.ZRATE) FROM ZEMPLOYEE t1 WHERE t1.ZMANAGER = t0.Z_PK) > ?",
                ["3"]
            ),
            (
                "Employee", "reports.department.@sum.budget > 3",
                "ZEMPLOYEE t0 WHERE (SELECT COALESCE(SUM(t2.ZBUDGET), 0) FROM ZEMPLOYEE t1 LEFT JOIN ZDEPARTMENT "
                    + "t2 ON t2.Z_PK = t1.ZDEPARTMENT WHERE t1.ZMANAGER = t0.Z_PK) > ?",
                ["3"]
            ),
            (
                "Employee", "manager.reports.@sum.age > 3",
                "ZEMPLOYEE t0 WHERE CASE WHEN t0.ZMANAGER IS NULL THEN NULL ELSE (SELECT COALESCE(SUM(t1.ZAGE), "
                    + "0) FROM ZEMPLOYEE t1 WHERE t1.ZMANAGER = t0.ZMANAGER) END > ?",
                ["3"]
            ),
            (
                "Employee", "SUBQUERY(projects, $p, $p.hours > 1).@sum.hours > 0",
                "ZEMPLOYEE t0 WHERE (SELECT COALESCE(SUM(t1.ZHOURS), 0) FROM Z_1PROJECTS t2 JOIN ZPROJECT t1 ON "
                    + "t1.Z_PK = t2.Z_2PROJECTS WHERE t2.Z_1MEMBERS = t0.Z_PK AND t1.ZHOURS > ?) > ?",
                ["1", "0"]
            ),
            (
                "Employee", "SUBQUERY(SUBQUERY(reports, $r, $r.age > 3), $s, $s.age < 9).@count > 1",
                "ZEMPLOYEE t0 WHERE (SELECT COUNT(*) FROM ZEMPLOYEE t1 WHERE t1.ZMANAGER = t0.Z_PK AND t1.ZAGE > "
                    + "? AND t1.ZAGE < ?) > ?",
                ["3", "9", "1"]
            ),
            (
                "Employee", "SUBQUERY(reports, $r, $r == SELF).@count > 0",
                "ZEMPLOYEE t0 WHERE EXISTS (SELECT 1 FROM ZEMPLOYEE t1 WHERE t1.ZMANAGER = t0.Z_PK AND t1.Z_PK = "
                    + "t0.Z_PK)",
                []
            ),
            (
                "Employee", "SUBQUERY(reports, $r, $r.manager.age > 3).@count > 0",
                "ZEMPLOYEE t0 WHERE EXISTS (SELECT 1 FROM ZEMPLOYEE t1 JOIN ZEMPLOYEE t2 ON t2.Z_PK = "
                    + "t1.ZMANAGER WHERE t1.ZMANAGER = t0.Z_PK AND t2.ZAGE > ?)",
                ["3"]
            ),
            (
                "Employee", "SUBQUERY(reports, $r, $r.manager.age == $r.age).@count > 0",
                "ZEMPLOYEE t0 WHERE EXISTS (SELECT 1 FROM ZEMPLOYEE t1 LEFT JOIN ZEMPLOYEE t2 ON t2.Z_PK = "
                    + "t1.ZMANAGER WHERE t1.ZMANAGER = t0.Z_PK AND t2.ZAGE IS t1.ZAGE)",
                []
            ),
            (
                "Employee", "SUBQUERY(reports, $r, SUBQUERY($r.projects, $p, $p.hours > $r.age).@count > 0).@count > 0",
                "ZEMPLOYEE t0 WHERE EXISTS (SELECT 1 FROM ZEMPLOYEE t1 WHERE t1.ZMANAGER = t0.Z_PK AND EXISTS "
                    + "(SELECT 1 FROM Z_1PROJECTS t3 JOIN ZPROJECT t2 ON t2.Z_PK = t3.Z_2PROJECTS WHERE t3.Z_1MEMBERS "
                    + "= t1.Z_PK AND t2.ZHOURS > t1.ZAGE))",
                []
            ),
        ])
    }
}
