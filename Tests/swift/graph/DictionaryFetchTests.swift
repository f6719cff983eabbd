import Corestone
import Dispatch
import XCTest

/// Fetches of dictionaries: columns, expressions, groups.
final class DictionaryFetchTests: GraphTestCase {
    private var employee: Entity!

    override func setUpWithError() throws {
        try super.setUpWithError()
        employee = try XCTUnwrap(model.entity(named: "Employee"))
        let research = try context.insert("Department")
        try research.setValue(.string("Research"), forKey: "name")
        for (name, age, rating) in [("amy", 10, 100.0), ("ben", 10, 200), ("cal", 20, 400)] {
            let object = try context.insert("Employee")
            try object.setValue(.string(name), forKey: "name")
            try object.setValue(.int(Int64(age)), forKey: "age")
            try object.setValue(.double(rating), forKey: "rating")
            if name != "cal" { try object.setValue(.object(research), forKey: "department") }
        }
        try context.save()
    }

    private func request(
        _ columns: [FetchedColumn], where predicate: String? = nil, groupBy: [String] = [], having: String? = nil,
        sort: [SortDescriptor] = [SortDescriptor("name")]
    ) throws -> FetchRequest {
        let request = FetchRequest(
            entity: employee, predicate: try predicate.map { try Predicate.parse($0) }, sortDescriptors: sort)
        request.propertiesToFetch = columns
        request.propertiesToGroupBy = groupBy
        request.havingPredicate = try having.map { try Predicate.parse($0) }
        return request
    }

    private func column(_ name: String, _ format: String, _ type: AttributeType = .undefined) throws -> FetchedColumn {
        .expression(ExpressionDescription(name: name, expression: try Expression.parse(format), resultType: type))
    }

    func testS023DictionariesContainOnlyTheRequestedKeys() throws {
        let found = try context.fetchDictionaries(try request(["name"], where: "age > 15"))
        XCTAssertEqual(try found.dictionaries, [["name": .string("cal")]])
        XCTAssertEqual(found.columns, ["name"])
    }

    func testDictionariesContainKeyPathsAndObjectIDs() throws {
        let found = try context.fetchDictionaries(try request(["name", "department.name", "department"]))
        XCTAssertEqual(try found.rows[0][1], .string("Research"))
        XCTAssertEqual(try found.rows[2][1], .null)
        XCTAssertNil(try found.dictionaries[2]["department.name"])
        guard case .object(let reference as ObjectIDReference) = try found.rows[0][2] else {
            return XCTFail("\(try found.rows[0][2])")
        }
        XCTAssertEqual(reference.id.entity.name, "Department")
    }

    func testDictionariesContainAllStoredAttributesByDefault() throws {
        let departments = FetchRequest(entity: try model.requireEntity(named: "Department"))
        XCTAssertEqual(try context.fetchDictionaries(departments).columns, ["name", "budget"])
    }

    func testHavingPredicateFollowsTheNullMeaningOfTheRequest() throws {
        let dan = try context.insert("Employee", ["name": "dan", "age": 30])
        try dan.set("rating", nil)
        try context.save()
        let columns = ["age", try column("most", "max:(rating)")]
        for (nulls, ages) in [(FetchRequest.NullMeaning.memory, [10, 30]), (.database, [10])] {
            for having in ["most != 400", "max:(rating) != 400", "NOT (most == 400)"] {
                let request = try request(columns, groupBy: ["age"], having: having, sort: [SortDescriptor("age")])
                request.nulls = nulls
                XCTAssertEqual(
                    try context.fetchDictionaries(request).rows.map { $0[0] }, ages.map { .int(Int64($0)) }, having)
            }
        }
    }

    func testS026GroupsContainTheirCounts() throws {
        let found = try context.fetchDictionaries(
            try request(
                ["age", try column("headcount", "count:(name)")], groupBy: ["age"], sort: [SortDescriptor("age")]))
        XCTAssertEqual(try found.rows, [[.int(10), .int(2)], [.int(20), .int(1)]])
    }

    func testS029HavingPredicateFiltersByColumnOrFunction() throws {
        for having in ["headcount > 1", "count:(name) > 1"] {
            let found = try context.fetchDictionaries(
                try request(
                    ["age", try column("headcount", "count:(name)")], groupBy: ["age"], having: having, sort: []))
            XCTAssertEqual(try found.rows, [[.int(10), .int(2)]], having)
        }
    }

    func testS032ToManyColumnsAreRefused() throws {
        let department = try XCTUnwrap(model.entity(named: "Department"))
        let request = FetchRequest(entity: department)
        request.propertiesToFetch = ["employees"]
        XCTAssertThrowsError(try context.fetchDictionaries(request)) {
            XCTAssertTrue("\($0)".contains("Department.employees is a to-many relationship"), "\($0)")
        }
    }

    func testS035AggregateWithoutGroupsReturnsOneNamedRow() throws {
        let found = try context.fetchDictionaries(
            try request([try column("total age", "sum:(age)", .integer64)], sort: []))
        XCTAssertEqual(try found.dictionaries, [["total age": .int(40)]])
        let none = try context.fetchDictionaries(
            try request(
                [try column("total age", "sum:(age)"), try column("oldest", "max:(age)")], where: "age > 99", sort: []))
        XCTAssertEqual(try none.rows, [[.int(0), .null]])
    }

    func testExpressionColumnsHaveTheirResultType() throws {
        let found = try context.fetchDictionaries(
            try request([
                try column("whole", "rating / 3", .integer32), try column("text", "age", .string),
                try column("colleagues", "department.employees.@count"), try column("always", "7"),
            ]))
        XCTAssertEqual(try found.rows[0], [.int(33), .string("10"), .int(2), .int(7)])
        XCTAssertThrowsError(try context.fetchDictionaries(try request([try column("age", "name", .integer32)]))) {
            XCTAssertTrue("\($0)".contains("the column \"age\" has the type Integer 32"), "\($0)")
        }
    }

    func testExpressionsCanCombineAggregates() throws {
        let found = try context.fetchDictionaries(
            try request(
                [try column("spread", "max:(rating) - min:(rating)"), try column("mean", "average:(age)")], sort: []))
        XCTAssertEqual(try found.rows, [[.double(300), .double(40.0 / 3)]])
    }

    func testRowsAreSortedByComputedColumns() throws {
        let sorts: [([SortDescriptor], [String])] = [
            ([SortDescriptor("-score")], ["ben", "amy", "cal"]), ([SortDescriptor("score")], ["amy", "cal", "ben"]),
            ([SortDescriptor("age"), SortDescriptor("-score")], ["ben", "amy", "cal"]),
            ([SortDescriptor("-colleagues"), SortDescriptor("-name")], ["ben", "amy", "cal"]),
            // Equal rows are in the order of their primary keys.
            ([SortDescriptor("always")], ["amy", "ben", "cal"]),
            ([SortDescriptor("-first", caseInsensitive: true)], ["cal", "ben", "amy"]),
        ]
        let columns: [FetchedColumn] = [
            "name", try column("score", "modulus:by:(rating, 300)", .integer64),
            try column("colleagues", "department.employees.@count"), try column("always", "7"),
            try column("first", "uppercase:(name)"),
        ]
        for (sort, names) in sorts {
            let request = try request(columns, sort: sort)
            for isInMemory in [false, true] {
                request.computesRowsInMemory = isInMemory
                for (limit, offset) in [(0, 0), (2, 0), (1, 1), (0, 2)] {
                    (request.limit, request.offset) = (limit, offset)
                    let window = names.dropFirst(offset)
                    XCTAssertEqual(
                        try context.fetchDictionaries(request).rows.map { $0[0] },
                        (limit > 0 ? window.prefix(limit) : window).map { .string($0) },
                        "\(sort) \(isInMemory) \(limit) \(offset)")
                }
            }
        }
    }

    func testComputedColumnPrecedesThePropertyOfItsNameInTheOrder() throws {
        let request = try request(["name", try column("age", "0 - rating")], sort: [SortDescriptor("age")])
        for isInMemory in [false, true] {
            request.computesRowsInMemory = isInMemory
            XCTAssertEqual(
                try context.fetchDictionaries(request).rows.map { $0[0] },
                ["cal", "ben", "amy"].map { .string($0) })
        }
    }

    func testDistinctRowsAreSortedByComputedColumns() throws {
        let request = try request([try column("parity", "modulus:by:(age, 20)")], sort: [SortDescriptor("-parity")])
        request.returnsDistinctResults = true
        for isInMemory in [false, true] {
            request.computesRowsInMemory = isInMemory
            request.limit = 0
            XCTAssertEqual(try context.fetchDictionaries(request).rows, [[.int(10)], [.int(0)]])
            request.limit = 1
            XCTAssertEqual(try context.fetchDictionaries(request).rows, [[.int(10)]])
        }
    }

    func testLazyRowsAreSortedByComputedColumns() throws {
        let request = try request(
            ["name", "objectID", try column("score", "0 - rating")], sort: [SortDescriptor("score")])
        request.batchSize = 2
        let found = try context.fetchDictionaries(request)
        XCTAssertTrue(found.isLazy)
        XCTAssertEqual(try found.rows.map { $0[0] }, ["cal", "ben", "amy"].map { .string($0) })
        XCTAssertEqual(try found.row(at: 0)[2], .double(-400))
    }

    func testUnknownSortKeyOfRowsIsAnErrorBesideAComputedColumn() throws {
        let columns: [FetchedColumn] = ["name", try column("score", "rating * 2")]
        for isInMemory in [false, true] {
            let request = try request(columns, sort: [SortDescriptor("score"), SortDescriptor("nmae")])
            request.computesRowsInMemory = isInMemory
            XCTAssertThrowsError(try context.fetchDictionaries(request)) {
                XCTAssertTrue("\($0)".contains("nmae"), "\($0)")
            }
        }
    }

    func testLimitAndOffsetApplyToDistinctRows() throws {
        let request = try request(["age"], sort: [SortDescriptor("age", ascending: false)])
        request.returnsDistinctResults = true
        XCTAssertEqual(try context.fetchDictionaries(request).rows, [[.int(20)], [.int(10)]])
        request.offset = 1
        request.limit = 5
        XCTAssertEqual(try context.fetchDictionaries(request).rows, [[.int(10)]])
    }

    func testDictionaryFetchIgnoresUnsavedChanges() throws {
        let cal = try XCTUnwrap(context.fetch(try request([], where: "name == 'cal'")).first)
        try cal.setValue(.int(99), forKey: "age")
        _ = try context.insert("Employee")
        XCTAssertEqual(try context.fetchDictionaries(try request(["age"])).rows, [[.int(10)], [.int(10)], [.int(20)]])
    }

    func testDictionariesAreLazyWhenTheyContainTheObjectID() throws {
        let identified = FetchedColumn.expression(ExpressionDescription(name: "id", expression: .selfObject))
        for column in [identified, "objectID"] {
            let request = try request(["name", column], sort: [SortDescriptor("name", ascending: false)])
            let whole = try context.fetchDictionaries(request)
            XCTAssertFalse(whole.isLazy)
            request.batchSize = 2
            let lazy = try context.fetchDictionaries(request)
            XCTAssertTrue(lazy.isLazy)
            XCTAssertEqual([lazy.count, lazy.batchSize], [3, 2])
            XCTAssertEqual(try lazy.row(at: 0)[0], .string("cal"))
            XCTAssertEqual(try lazy.row(at: 1)[0], .string("ben"))
            XCTAssertEqual(try lazy.rows, try whole.rows)
            XCTAssertEqual(Array(try lazy.rows(in: 1..<3)), Array(try whole.rows[1...]))
            XCTAssertThrowsError(try lazy.row(at: 3))
        }
        let request = try request(["name"])
        request.batchSize = 2
        XCTAssertFalse(try context.fetchDictionaries(request).isLazy)
    }

    /// Rows that cannot be read cause an error, not rows of nulls or a crash.
    func testReadingLazyRowsFailsOnAWrongThreadOrWithoutAStore() throws {
        let request = try request(["name", "objectID"])
        request.batchSize = 2
        let lazy = try context.fetchDictionaries(request)
        let done = DispatchSemaphore(value: 0)
        nonisolated(unsafe) var told: [Status?] = []
        DispatchQueue.global().async {
            told = [
                { _ = try lazy.rows }, { _ = try lazy.dictionaries }, { _ = try lazy.row(at: 0) },
            ].map { (body: () throws -> Void) in
                do { try body() } catch { return (error as? CoreError)?.status }
                return nil
            }
            done.signal()
        }
        done.wait()
        XCTAssertEqual(told, [.wrongThread, .wrongThread, .wrongThread])
        try coordinator.remove(coordinator.stores[0])
        XCTAssertThrowsError(try lazy.rows)
        XCTAssertThrowsError(try lazy.dictionaries)
    }

    func testHavingPredicateCanNameColumnsByVariables() throws {
        let count = try column("n", "count:(name)")
        for having in ["$n > 1", "n > 1", "$n > 1 AND $age == 10"] {
            let request = try request(["age", count], groupBy: ["age"], having: having, sort: [])
            XCTAssertEqual(try context.fetchDictionaries(request).rows, [[.int(10), .int(2)]], having)
            request.nulls = .database
            XCTAssertEqual(try context.fetchDictionaries(request).rows, [[.int(10), .int(2)]], having)
            request.computesRowsInMemory = true
            XCTAssertEqual(try context.fetchDictionaries(request).rows, [[.int(10), .int(2)]], having)
        }
        let request = try request(["age", count], groupBy: ["age"], having: "$m > 1", sort: [])
        XCTAssertThrowsError(try context.fetchDictionaries(request)) {
            XCTAssertTrue(
                "\($0)".contains("uses $m, which is neither a column nor a property to group by"), "\($0)")
        }
    }

    func testInvalidColumnsAreRefused() throws {
        func complaint(_ request: FetchRequest) -> String {
            do { return "gave \(try context.fetchDictionaries(request).rows)" } catch { return "\(error)" }
        }
        let count = try column("n", "count:(name)")
        XCTAssertTrue(complaint(try request(["age", "age"])).contains("two columns have the name \"age\""))
        XCTAssertTrue(complaint(try request(["speed"])).contains("Employee.speed is not stored"))
        XCTAssertTrue(complaint(try request(["nothing"])).contains("nothing"))
        XCTAssertTrue(complaint(try request(["name", count], groupBy: ["age"])).contains("max:(name)"))
        XCTAssertTrue(complaint(try request(["name"], having: "name == 'x'")).contains("needs properties to group by"))
        XCTAssertTrue(complaint(try request([count], groupBy: ["age"])).contains("cannot be sorted by \"name\""))
    }
}
