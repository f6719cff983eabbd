import Corestone
import XCTest

/// Fetches of dictionaries by SQL: their statements, and that they create no objects.
final class ColumnsTests: XCTestCase {
    private var path = ""
    private var context: Context!
    private var employee: Entity!

    override func setUpWithError() throws {
        let model = Model()
        let department = try model.addEntity(named: "Department")
        try department.addAttribute(named: "name", type: .string)
        employee = try model.addEntity(named: "Employee")
        try employee.addAttribute(named: "name", type: .string)
        try employee.addAttribute(named: "age", type: .integer32)
        try employee.addAttribute(named: "salary", type: .double)
        try employee.addAttribute(named: "bonus", type: .decimal)
        try employee.addAttribute(named: "mood", type: .string, isTransient: true)
        let place = try employee.addRelationship(named: "department", destination: department)
        let staff = try department.addRelationship(named: "staff", destination: employee, isToMany: true)
        try place.setInverse(staff)
        path = NSTemporaryDirectory() + UUID().uuidString + ".sqlite"
        let coordinator = try Coordinator(model: model)
        try coordinator.addSQLiteStore(at: path)
        let writer = Context(coordinator: coordinator)
        let research = try writer.insert("Department", ["name": "Research"])
        for (name, age, salary) in [("amy", 10, 100.5), ("ben", 10, 200), ("cal", 20, 400)] {
            let one = try writer.insert("Employee", ["name": name, "age": age, "salary": salary])
            try one.setValue(.decimal(try DecimalNumber("0.1")), forKey: "bonus")
            if name != "cal" { try one.setValue(.object(research), forKey: "department") }
        }
        try writer.save()
        context = Context(coordinator: coordinator)
    }

    override func tearDown() {
        for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + suffix) }
    }

    private func request(
        _ columns: [FetchedColumn], where predicate: String? = nil, by keys: [String] = [], having: String? = nil,
        sort: [String] = []
    ) throws -> FetchRequest {
        let request = FetchRequest(entity: employee)
        request.predicate = try predicate.map { try Predicate.parse($0) }
        request.propertiesToFetch = columns
        request.propertiesToGroupBy = keys
        request.havingPredicate = try having.map { try Predicate.parse($0) }
        request.sortDescriptors = sort.map { SortDescriptor($0) }
        return request
    }

    private func column(_ name: String, _ format: String, _ type: AttributeType = .undefined) throws -> FetchedColumn {
        .expression(ExpressionDescription(name: name, expression: try Expression.parse(format), resultType: type))
    }

    private func sql(_ request: FetchRequest) throws -> String {
        try XCTUnwrap(context.explainDictionaries(request).shares.first).sql
    }

    func testGroupedFetchRunsOneStatement() throws {
        let request = try request(
            ["department.name", column("pay", "sum:(salary)"), column("heads", "count:(self)")], where: "age > 5",
            by: ["department.name"], having: "heads > 0", sort: ["-pay"])
        request.limit = 5
        XCTAssertEqual(
            try sql(request),
            "SELECT t1.ZNAME, COALESCE(SUM(t0.ZSALARY), 0), COUNT(*) FROM ZEMPLOYEE t0 LEFT JOIN ZDEPARTMENT t1 ON "
                + "t1.Z_PK = t0.ZDEPARTMENT WHERE t0.ZAGE > ? GROUP BY t1.ZNAME HAVING COUNT(*) > ? ORDER BY "
                + "COALESCE(SUM(t0.ZSALARY), 0) DESC, t1.ZNAME LIMIT 5")
        XCTAssertEqual(
            try context.fetchDictionaries(request).rows,
            [[.null, .double(400), .int(1)], [.string("Research"), .double(300.5), .int(2)]])
        XCTAssertEqual(try context.explainDictionaries(request).shares.first?.reasons, [])
    }

    func testDictionaryFetchCreatesNoObjects() throws {
        _ = try context.fetchDictionaries(try request(["name", "department"]))
        _ = try context.fetchDictionaries(try request(["age", try column("m", "median:(salary)")], by: ["age"]))
        XCTAssertTrue(context.registeredObjects.isEmpty)
    }

    /// 28 digits would be lost in doubles.
    func testDecimalsAreSummedExactly() throws {
        let found = try context.fetchDictionaries(try request([try column("sum", "sum:(bonus)")]))
        XCTAssertEqual("\(try found.rows[0][0])", "\(PropertyValue.decimal(try DecimalNumber("0.3")))")
        XCTAssertTrue(try sql(try request([try column("sum", "sum:(bonus)")])).contains("cst_exact_sum(t0.ZBONUS"))
    }

    func testExpressionsUnsupportedBySQLAreEvaluatedOnFetchedValues() throws {
        let request = try request(
            ["name", column("next", "bonus + 1")], where: "bonus + 1 > 1 AND age < 15", sort: ["-name"])
        let explained = try context.explainDictionaries(request)
        XCTAssertEqual(
            explained.shares.first?.sql,
            "SELECT t0.ZNAME, t0.ZBONUS FROM ZEMPLOYEE t0 WHERE t0.ZAGE < ? ORDER BY t0.ZNAME DESC, t0.Z_PK")
        XCTAssertEqual(explained.shares.first?.remainder?.format, "bonus + 1 > 1")
        let found = try context.fetchDictionaries(request)
        XCTAssertEqual(try found.rows.map(\.count), [2, 2])
        XCTAssertEqual(try found.rows.map { $0[0] }, [.string("ben"), .string("amy")])
        XCTAssertTrue(context.registeredObjects.isEmpty)
    }

    func testSQLSortsByComputedColumns() throws {
        let request = try request(["name", column("score", "salary * 2")], sort: ["-score", "department.name"])
        request.limit = 2
        XCTAssertEqual(
            try sql(request),
            "SELECT t0.ZNAME, (t0.ZSALARY * ?) FROM ZEMPLOYEE t0 LEFT JOIN ZDEPARTMENT t1 ON t1.Z_PK = t0.ZDEPARTMENT "
                + "ORDER BY (t0.ZSALARY * ?) DESC, t1.ZNAME, +t0.Z_PK LIMIT 2")
        XCTAssertEqual(try context.fetchDictionaries(request).rows.map { $0[0] }, [.string("cal"), .string("ben")])
    }

    /// Decimals are computed in memory, from values that one statement returns.
    func testRowsAreSortedInMemoryByColumnsThatSQLCannotCompute() throws {
        for type in [AttributeType.undefined, .string] {
            let request = try request(
                ["name", column("next", "TERNARY(age > 10, bonus, bonus + age)", type)], sort: ["next", "-name"])
            request.limit = 2
            let share = try XCTUnwrap(context.explainDictionaries(request).shares.first)
            XCTAssertTrue(share.isSortedInMemory && !share.sql.contains("ORDER BY"), share.sql)
            XCTAssertEqual(try context.fetchDictionaries(request).rows.map { $0[0] }, [.string("cal"), .string("ben")])
            XCTAssertTrue(context.registeredObjects.isEmpty)
        }
    }

    func testTransientPropertiesAreEvaluatedOnObjects() throws {
        let request = try request(["name"], where: "mood == nil")
        XCTAssertTrue(try sql(request).hasPrefix("SELECT t0.Z_PK, t0.Z_OPT"))
        XCTAssertEqual(try context.fetchDictionaries(request).rows.count, 3)
        request.allowsSplit = false
        XCTAssertThrowsError(try context.fetchDictionaries(request)) {
            XCTAssertEqual(($0 as? CoreError)?.status, .unsupported)
        }
    }

    func testDistinctRowsAreSorted() throws {
        let request = try request(["age"], sort: ["-age"])
        request.returnsDistinctResults = true
        request.limit = 1
        XCTAssertEqual(
            try sql(request),
            "SELECT t0.ZAGE FROM ZEMPLOYEE t0 GROUP BY t0.ZAGE ORDER BY t0.ZAGE DESC, MIN(t0.Z_PK) LIMIT 1")
        XCTAssertEqual(try context.fetchDictionaries(request).rows, [[.int(20)]])
    }

    func testSortRunsInMemoryWhenTheResultTypeChangesTheOrder() throws {
        let request = try request(["name", column("key", "max:(age)", .string)], by: ["name"], sort: ["key", "-name"])
        XCTAssertFalse(try sql(request).contains("ORDER BY"))
        XCTAssertEqual(
            try context.fetchDictionaries(request).rows.map { $0[0] }, [.string("ben"), .string("amy"), .string("cal")])
    }

    func testAggregateReadsTheLatestSavedState() throws {
        let cal = try XCTUnwrap(context.fetch("Employee", "name == 'cal'").first)
        XCTAssertEqual(try cal.get("age"), 20)
        let other = Context(coordinator: context.coordinator)
        try XCTUnwrap(other.fetch("Employee", "name == 'cal'").first).set("age", 30)
        try other.save()
        XCTAssertEqual(try context.maximum(of: "age", in: "Employee"), .int(30))
        XCTAssertEqual(try cal.get("age"), 20)
    }

    func testAggregateInAChildIncludesUnsavedChangesOfItsParent() throws {
        let child = Context(parent: context)
        XCTAssertEqual(try child.sum(of: "age", in: "Employee"), .int(40))
        try context.insert("Employee", ["name": "dan", "age": 5])
        XCTAssertEqual(try child.sum(of: "age", in: "Employee"), .int(45))
        XCTAssertEqual(try context.sum(of: "age", in: "Employee"), .int(40))
    }

    func testGroupedRequestCannotFetchObjects() throws {
        let request = try request([], by: ["age"])
        request.sortDescriptors = []
        XCTAssertThrowsError(try context.fetch(request)) { XCTAssertTrue("\($0)".contains("cst_context_fetch_rows")) }
    }

    func testGroupColumnIsRefusedWhenItHasOneValuePerRow() throws {
        let request = try request([try column("odd", "max:(age) + salary")])
        XCTAssertThrowsError(try context.fetchDictionaries(request)) {
            XCTAssertTrue("\($0)".contains("\"odd\" has one value per row, not per group"), "\($0)")
            XCTAssertTrue("\($0)".contains("max:(salary)"), "\($0)")
        }
    }
}

/// Sums, averages and the like without a request.
extension ColumnsTests {
    func testAggregatesReturnValuesOfTheirType() throws {
        func written(_ value: PropertyValue) -> String { "\(value)".components(separatedBy: ".").last ?? "" }
        XCTAssertEqual(written(try context.sum(of: "age", in: "Employee")), "int(40)")
        XCTAssertEqual(try context.sum(of: "salary", in: "Employee", where: "age == %d", 10), .double(300.5))
        XCTAssertEqual(try context.average(of: "age", in: "Employee"), .double(40.0 / 3))
        XCTAssertEqual(try context.minimum(of: "name", in: "Employee"), .string("amy"))
        XCTAssertEqual(try context.maximum(of: "department.name", in: "Employee"), .string("Research"))
        XCTAssertEqual(written(try context.sum(of: "salary", in: "Employee", where: "age > 99")), "int(0)")
        XCTAssertEqual(try context.average(of: "salary", in: "Employee", where: "age > 99"), .null)
        XCTAssertEqual(try context.sum(of: "staff.@count", in: "Department"), .int(2))
        XCTAssertEqual(try context.sum(of: "salary * 2", in: "Employee"), .double(1401))
        XCTAssertEqual(try context.sum(of: "name.length", in: "Employee"), .int(9))
    }

    func testAggregatesAreComputedPerGroup() throws {
        let found = try context.sum(of: "age", in: "Employee", where: "salary > 0", by: "department.name")
        XCTAssertEqual(found.map(\.key), [.null, .string("Research")])
        XCTAssertEqual(found.map(\.value), [.int(20), .int(20)])
        let heads = try context.count(in: "Employee", by: "age")
        XCTAssertEqual(heads.map(\.key), [.int(10), .int(20)])
        XCTAssertEqual(heads.map(\.value), [.int(2), .int(1)])
    }

    func testInvalidAggregatesAreRefused() throws {
        func complaint(_ body: () throws -> PropertyValue) -> String {
            do { return "gave \(try body())" } catch { return "\(error)" }
        }
        let text = complaint { try context.sum(of: "name", in: "Employee") }
        XCTAssertTrue(
            text.contains("the sum of Employee.name: Employee.name is of type String, but must be a number; use count"),
            text)
        let many = complaint { try context.sum(of: "staff.age", in: "Department") }
        XCTAssertTrue(many.contains("staff is to-many") && many.contains("staff.@count"), many)
        let object = complaint { try context.maximum(of: "department", in: "Employee") }
        XCTAssertTrue(object.contains("as in department.name"), object)
        let unknown = complaint { try context.sum(of: "salry", in: "Employee") }
        XCTAssertTrue(unknown.contains("salary"), unknown)
    }
}
