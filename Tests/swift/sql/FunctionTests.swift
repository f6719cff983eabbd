import XCTest

/// Functions, casts and keys of plain values in SQL.
final class FunctionTests: CompilerTestCase {
    func testFunctionsOfValuesBecomeSQL() throws {
        try check([
            ("Employee", "lowercase(name) == 'a'", "ZEMPLOYEE t0 WHERE cst_lowercase(t0.ZNAME) = ?", ["'a'"]),
            ("Employee", "canonical(name) == 'a'", "ZEMPLOYEE t0 WHERE cst_canonical(t0.ZNAME) = ?", ["'a'"]),
            ("Employee", "length(name) > 3", "ZEMPLOYEE t0 WHERE cst_length(t0.ZNAME) > ?", ["3"]),
            ("Employee", "length(nil) > 3", "ZEMPLOYEE t0 WHERE 0", []),
            ("Employee", "homepage.length > 3", "ZEMPLOYEE t0 WHERE cst_length(t0.ZHOMEPAGE) > ?", ["3"]),
            ("Employee", "homepage.absoluteString == 'x'", "ZEMPLOYEE t0 WHERE t0.ZHOMEPAGE = ?", ["'x'"]),
            ("Employee", "photo.length > 3", "ZEMPLOYEE t0 WHERE length(t0.ZPHOTO) > ?", ["3"]),
            ("Employee", "name.self == 'x'", "ZEMPLOYEE t0 WHERE t0.ZNAME = ?", ["'x'"]),
            ("Employee", "name.uppercaseString == 'A'", "ZEMPLOYEE t0 WHERE cst_uppercase(t0.ZNAME) = ?", ["'A'"]),
            ("Employee", "name.lowercaseString == 'a'", "ZEMPLOYEE t0 WHERE cst_lowercase(t0.ZNAME) = ?", ["'a'"]),
            ("Employee", "hired.timeIntervalSinceReferenceDate > 0", "ZEMPLOYEE t0 WHERE t0.ZHIRED > ?", ["0"]),
            (
                "Employee", "hired.timeIntervalSince1970 > 0",
                "ZEMPLOYEE t0 WHERE (t0.ZHIRED + 978307200.0) > ?",
                ["0"]
            ),
            ("Employee", "age.doubleValue > 1.5", "ZEMPLOYEE t0 WHERE CAST(t0.ZAGE AS REAL) > ?", ["1.5"]),
            ("Employee", "rate.doubleValue > 1.5", "ZEMPLOYEE t0 WHERE CAST(t0.ZRATE AS REAL) > ?", ["1.5"]),
            ("Employee", "inverseOrderKey:(age) > 3", "ZEMPLOYEE t0 WHERE t0.ZAGE > ?", ["3"]),
            ("Employee", "noindex:(age) > 3", "ZEMPLOYEE t0 WHERE t0.ZAGE > ?", ["3"]),
        ])
    }

    func testArithmeticOperatorsBecomeSQL() throws {
        try check([
            ("Employee", "age - 1 == 3", "ZEMPLOYEE t0 WHERE (t0.ZAGE - ?) = ?", ["1", "3"]),
            ("Employee", "age | 1 == 1", "ZEMPLOYEE t0 WHERE (t0.ZAGE | ?) = ?", ["1", "1"]),
            ("Employee", "age ^ 1 == 1", "ZEMPLOYEE t0 WHERE cst_bitwiseXor(t0.ZAGE, ?) = ?", ["1", "1"]),
            ("Employee", "age << 1 == 2", "ZEMPLOYEE t0 WHERE (t0.ZAGE << ?) = ?", ["1", "2"]),
            ("Employee", "age >> 1 == 2", "ZEMPLOYEE t0 WHERE (t0.ZAGE >> ?) = ?", ["1", "2"]),
            ("Employee", "~age == 2", "ZEMPLOYEE t0 WHERE (~t0.ZAGE) = ?", ["2"]),
            ("Employee", "salary & 1 == 1", "ZEMPLOYEE t0 WHERE cst_bitwiseAnd(t0.ZSALARY, ?) = ?", ["1", "1"]),
            ("Employee", "~salary == 2", "ZEMPLOYEE t0 WHERE cst_onesComplement(t0.ZSALARY) = ?", ["2"]),
            ("Employee", "salary >> 1 == 2", "ZEMPLOYEE t0 WHERE cst_rightshift(t0.ZSALARY, ?) = ?", ["1", "2"]),
            (
                "Employee", "modulus:by:(salary, 2) == 1",
                "ZEMPLOYEE t0 WHERE cst_modulus(t0.ZSALARY, ?) = ?",
                ["2", "1"]
            ),
            ("Employee", "sqrt(salary) > 2", "ZEMPLOYEE t0 WHERE cst_sqrt(t0.ZSALARY) > ?", ["2"]),
            ("Employee", "exp(salary) > 2", "ZEMPLOYEE t0 WHERE cst_exp(t0.ZSALARY) > ?", ["2"]),
            ("Employee", "log:(salary) > 2", "ZEMPLOYEE t0 WHERE cst_log(t0.ZSALARY) > ?", ["2"]),
            ("Employee", "ln:(salary) > 2", "ZEMPLOYEE t0 WHERE cst_ln(t0.ZSALARY) > ?", ["2"]),
            ("Employee", "abs(salary) > 2", "ZEMPLOYEE t0 WHERE abs(t0.ZSALARY) > ?", ["2"]),
            ("Employee", "abs(age) > 2", "ZEMPLOYEE t0 WHERE cst_abs(t0.ZAGE) > ?", ["2"]),
            ("Employee", "abs(rate) > 2", "ZEMPLOYEE t0 WHERE abs(t0.ZRATE) > ?", ["2"]),
            ("Employee", "floor(salary) > 2", "ZEMPLOYEE t0 WHERE cst_floor(t0.ZSALARY) > ?", ["2"]),
            ("Employee", "ceiling(salary) > 2", "ZEMPLOYEE t0 WHERE cst_ceiling(t0.ZSALARY) > ?", ["2"]),
            ("Employee", "trunc(salary) > 2", "ZEMPLOYEE t0 WHERE cst_trunc(t0.ZSALARY) > ?", ["2"]),
            ("Employee", "age + salary > 2", "ZEMPLOYEE t0 WHERE (t0.ZAGE + t0.ZSALARY) > ?", ["2"]),
            ("Employee", "salary / age > 2", "ZEMPLOYEE t0 WHERE (t0.ZSALARY / t0.ZAGE) > ?", ["2"]),
            (
                "Employee", "rate + salary > 2",
                "ZEMPLOYEE t0 WHERE (CAST(t0.ZRATE AS REAL) + CAST(t0.ZSALARY AS REAL)) > ?",
                ["2"]
            ),
            (
                "Employee", "salary * rate > 2",
                "ZEMPLOYEE t0 WHERE (CAST(t0.ZSALARY AS REAL) * CAST(t0.ZRATE AS REAL)) > ?",
                ["2"]
            ),
            ("Employee", "-salary > 2", "ZEMPLOYEE t0 WHERE (-t0.ZSALARY) > ?", ["2"]),
            ("Employee", "-rate > 2", "ZEMPLOYEE t0 WHERE (-t0.ZRATE) > ?", ["2"]),
            ("Employee", "sqrt(rate) > 2", "ZEMPLOYEE t0 WHERE cst_sqrt(CAST(t0.ZRATE AS REAL)) > ?", ["2"]),
            (
                "Employee", "age ** rate > 2",
                "ZEMPLOYEE t0 WHERE cst_raise(t0.ZAGE, CAST(t0.ZRATE AS REAL)) > ?",
                ["2"]
            ),
        ])
    }

    func testCastsAndTernariesBecomeSQL() throws {
        try check([
            ("Employee", "CAST(hired, 'NSDate') == nil", "ZEMPLOYEE t0 WHERE t0.ZHIRED IS NULL", []),
            ("Employee", "CAST(hired, 'NSDate') == hired", "ZEMPLOYEE t0 WHERE t0.ZHIRED IS t0.ZHIRED", []),
            ("Employee", "CAST(name, 'NSString') == 'x'", "ZEMPLOYEE t0 WHERE t0.ZNAME = ?", ["'x'"]),
            ("Employee", "CAST(age, 'NSNumber') == 3", "ZEMPLOYEE t0 WHERE t0.ZAGE = ?", ["3"]),
            ("Employee", "CAST(rate, 'NSDecimalNumber') == 3", "ZEMPLOYEE t0 WHERE t0.ZRATE = ?", ["3"]),
            ("Employee", "CAST(hired, 'NSNumber') == 3", "ZEMPLOYEE t0 WHERE t0.ZHIRED = ?", ["3"]),
            ("Employee", "CAST(nil, 'NSDate') == hired", "ZEMPLOYEE t0 WHERE t0.ZHIRED IS NULL", []),
            ("Employee", "TERNARY(1 == 1, age, 0) == 3", "ZEMPLOYEE t0 WHERE t0.ZAGE = ?", ["3"]),
            ("Employee", "TERNARY(1 == 2, age, salary) == 3", "ZEMPLOYEE t0 WHERE t0.ZSALARY = ?", ["3"]),
            (
                "Employee", "TERNARY(active == YES, age, salary) > 3",
                "ZEMPLOYEE t0 WHERE CASE WHEN t0.ZACTIVE = ? THEN t0.ZAGE ELSE t0.ZSALARY END > ?",
                ["1", "3"]
            ),
            (
                "Employee", "TERNARY(active == YES, nil, name) == 'x'",
                "ZEMPLOYEE t0 WHERE CASE WHEN t0.ZACTIVE = ? THEN ? ELSE t0.ZNAME END = ?",
                ["1", "NULL", "'x'"]
            ),
            (
                "Employee", "TERNARY(active == YES, name, nil) == 'x'",
                "ZEMPLOYEE t0 WHERE CASE WHEN t0.ZACTIVE = ? THEN t0.ZNAME ELSE ? END = ?",
                ["1", "NULL", "'x'"]
            ),
            (
                "Employee", "entity.name == 'Contractor'",
                "ZEMPLOYEE t0 WHERE CASE t0.Z_ENT WHEN 2 THEN ? WHEN 3 THEN ? END = ?",
                ["'Employee'", "'Contractor'", "'Contractor'"]
            ),
            (
                "Employee", "SELF.entity.name == 'Contractor'",
                "ZEMPLOYEE t0 WHERE CASE t0.Z_ENT WHEN 2 THEN ? WHEN 3 THEN ? END = ?",
                ["'Employee'", "'Contractor'", "'Contractor'"]
            ),
        ])
    }

    func testEvaluationInMemoryHasAReason() throws {
        try checkMemory([
            ("Employee", "badge.length == 3", "\"length\" of Employee.badge is computed in memory"),
            ("Employee", "average(projects.hours) > 3", "\"average:(projects.hours)\" is computed in memory"),
            ("Employee", "max(age, salary) > 3", "\"max:(age, salary)\" is computed in memory"),
            ("Employee", "rate + age > 2", "decimal arithmetic with Employee.rate is computed in memory"),
            ("Employee", "rate + rate > 1", "decimal arithmetic with Employee.rate is computed in memory"),
            ("Employee", "CAST(age, 'NSString') == '3'", "CAST of \"age\" to \"NSString\" is computed in memory"),
            (
                "Employee", "CAST(age, name) == '3'",
                "CAST of \"age\" to \"name\", a computed type, is evaluated in memory"
            ),
            (
                "Employee", "TERNARY(active == YES, name, age) == 'x'",
                "TERNARY returns \"name\" or \"age\" of different types and is computed in memory"
            ),
            (
                "Employee", "TERNARY(active == YES, age, rate) == 3",
                "TERNARY returns \"age\" or \"rate\" of different types and is computed in memory"
            ),
            (
                "Employee", "name UTI-CONFORMS-TO 'public.text'",
                "\"name UTI-CONFORMS-TO \"public.text\"\" cannot be expressed in SQL"
            ),
            ("Employee", "name TOKENMATCHES 'x'", "\"name TOKENMATCHES \"x\"\" cannot be expressed in SQL"),
            (
                "Employee", "ANY projects.name TOKENMATCHES 'A*'",
                "\"ANY projects.name TOKENMATCHES \"A*\"\" cannot be expressed in SQL"
            ),
            ("Employee", "reports.@sum.rate > 3", "@sum of Employee.rate, a decimal, is exact only in memory"),
            ("Employee", "reports.@avg.rate > 3", "@avg of Employee.rate, a decimal, is exact only in memory"),
            (
                "Employee", "reports.@unionOfObjects.name == 'x'",
                "@unionOfObjects of Employee.name is computed in memory"
            ),
            ("Employee", "name[SIZE] > 2", "\"name[SIZE]\" is computed in memory"),
            ("Employee", "thing == 'x'", "Employee.thing is transformable and is compared in memory"),
            ("Employee", "projects == 3", "Employee.projects is a collection, which is compared in memory"),
            (
                "Employee", "projects == projects",
                "Employee.projects is a collection, which is compared in memory"
            ),
            ("Employee", "random() > age", "\"random()\" is computed in memory"),
            ("Employee", "entity == 'x'", "the entity of Employee objects is evaluated in memory"),
        ])
    }
}
