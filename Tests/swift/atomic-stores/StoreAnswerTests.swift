import Corestone
import XCTest

/// Fetches from a store that is kept in memory: comparisons, order and windows of every kind of value.
final class StoreAnswerTests: XCTestCase {
    private var coordinator: Coordinator!
    private var context: Context!

    override func setUpWithError() throws {
        coordinator = try Coordinator(model: StoreAnswerTests.library())
        try coordinator.addStore(.inMemory, at: "memory")
        context = Context(coordinator: coordinator)
    }

    private static func library() throws -> Model {
        let model = Model()
        let (item, special, owner) = (
            try model.addEntity(named: "Item"), try model.addEntity(named: "Special"),
            try model.addEntity(named: "Owner")
        )
        try special.setParent(item)
        for (name, type) in [
            ("name", .string), ("i16", .integer16), ("i32", .integer32), ("i64", .integer64), ("flag", .boolean),
            ("real", .double), ("made", .date), ("price", .decimal), ("link", .uri), ("code", .string),
        ] as [(String, AttributeType)] {
            try item.addAttribute(named: name, type: type)
        }
        try item.addUniqueConstraint(["code"])
        try item.addUniqueConstraint(["name", "i64"])
        try owner.addAttribute(named: "name", type: .string)
        let by = try item.addRelationship(named: "owner", destination: owner)
        let items = try owner.addRelationship(named: "items", destination: item, isToMany: true)
        try by.setInverse(items)
        try owner.addRelationship(named: "likes", destination: item, isToMany: true)
        return model
    }

    private func request(_ format: String?, _ arguments: PropertyValue..., entity: String = "Item") throws
        -> FetchRequest
    {
        let request = FetchRequest(entity: try coordinator.model.requireEntity(named: entity))
        request.predicate = try format.map { try Predicate.parse($0, arguments: arguments) }
        return request
    }

    private func names(_ request: FetchRequest) throws -> [String] {
        try context.fetch(request).map { try $0.get("name") ?? "-" }
    }

    private func plan(_ request: FetchRequest) throws -> [String] {
        try XCTUnwrap(try context.explain(request).shares.first).steps.map(\.detail)
    }

    /// Inserts one row for each value, named by its index.
    private func fill(_ key: String, _ values: [PropertyValue]) throws {
        for object in try context.fetch("Item") { try context.delete(object) }
        for (place, value) in values.enumerated() {
            let item = try context.insert("Item", ["name": "\(place)"])
            try item.setValue(value, forKey: key)
        }
        try context.save()
    }

    // MARK: Comparisons

    private let operators: [(String, (Double, Double) -> Bool)] = [
        ("==", { $0 == $1 }), ("!=", { $0 != $1 }), ("<", { $0 < $1 }), ("<=", { $0 <= $1 }), (">", { $0 > $1 }),
        (">=", { $0 >= $1 }),
    ]

    /// Null is unequal to every value, and neither less nor greater than any value.
    private func check(_ key: String, _ numbers: [Double?], _ value: (Double) -> PropertyValue) throws {
        try fill(key, numbers.map { $0.map(value) ?? .null })
        for constant in numbers.compactMap({ $0 }) {
            for (sign, holds) in operators {
                let wanted = numbers.enumerated().filter { $1.map { holds($0, constant) } ?? (sign == "!=") }
                let (left, right) = try (
                    request("\(key) \(sign) %@", value(constant)),
                    request("NOT (NOT (\(key) \(sign) %@))", value(constant))
                )
                XCTAssertEqual(try names(left), wanted.map { "\($0.offset)" }, "\(key) \(sign) \(constant)")
                XCTAssertEqual(try names(right), wanted.map { "\($0.offset)" }, "\(key) \(sign) \(constant)")
            }
        }
    }

    func testIntegersAreComparedWithConstantsOnEitherSide() throws {
        try check("i16", [nil, -32768, -1, 0, 1, 32767, 0]) { .int(Int64($0)) }
        try check("i32", [7, nil, -2_147_483_648, 2_147_483_647, 7]) { .int(Int64($0)) }
        try check("i64", [nil, -4_503_599_627_370_496, 4_503_599_627_370_496, 0]) { .int(Int64($0)) }
    }

    func testDoublesAndDatesAreComparedWithConstantsOnEitherSide() throws {
        try check("real", [0.5, nil, -0.5, 0, 1e300]) { .double($0) }
        try check("real", [2, nil, -3, 0]) { .int(Int64($0)) }
        try check("made", [86400, nil, -1.5, 0]) { .date($0) }
    }

    func testBooleansAreComparedWithBooleansNumbersAndNil() throws {
        try fill("flag", [.bool(true), .bool(false), .null])
        for (format, wanted) in [
            ("flag == YES", ["0"]), ("flag == NO", ["1"]), ("flag != YES", ["1", "2"]), ("flag != NO", ["0", "2"]),
            ("flag == 1", ["0"]), ("flag == 0", ["1"]), ("flag > 0", ["0"]), ("flag == 2", []), ("flag == nil", ["2"]),
            ("flag != nil", ["0", "1"]),
        ] {
            XCTAssertEqual(try names(request(format)), wanted, format)
        }
    }

    /// A double that is not a whole number, one beyond 64 bits, and an integer that a double cannot represent.
    func testNumbersOfDifferentTypesAreComparedByValue() throws {
        try fill("i64", [.int(9_007_199_254_740_993), .int(9_007_199_254_740_992), .int(3)])
        XCTAssertEqual(try names(request("i64 == %@", .int(9_007_199_254_740_993))), ["0"])
        XCTAssertEqual(try names(request("i64 < 3.5")), ["2"])
        XCTAssertEqual(try names(request("i64 <= 3.0")), ["2"])
        XCTAssertEqual(try names(request("i64 < 1e30")), ["0", "1", "2"])
        try fill("real", [.double(9_007_199_254_740_992), .double(9_007_199_254_740_994), .null])
        XCTAssertEqual(try names(request("real > %@", .int(9_007_199_254_740_992))), ["1"])
        XCTAssertEqual(try names(request("real >= %@", .int(9_007_199_254_740_993))), ["1"])
    }

    /// An attribute has the same slot in rows of subentities, which may have further attributes.
    func testComparisonIncludesRowsOfSubentities() throws {
        for (place, entity) in ["Item", "Special", "Item", "Special"].enumerated() {
            try context.insert(entity, ["name": "\(place)", "i32": place])
        }
        try context.save()
        XCTAssertEqual(try names(request("i32 >= 1")), ["1", "2", "3"])
        XCTAssertEqual(try names(request("i32 >= 1", entity: "Special")), ["1", "3"])
        let alone = try request("i32 >= 1")
        alone.includesSubentities = false
        XCTAssertEqual(try names(alone), ["2"])
        let all = try request(nil)
        all.includesSubentities = false
        XCTAssertEqual(try names(all), ["0", "2"])
        XCTAssertEqual(try context.count(all), 2)
    }

    // MARK: Order

    /// Null is first in ascending and last in descending order; equal values are ordered by key.
    func testEveryAttributeTypeIsSortedWithNullFirst() throws {
        let kinds: [(String, [PropertyValue])] = try [
            ("i16", [.int(-1), .null, .int(2)]), ("i32", [.int(-70000), .null, .int(2)]),
            ("i64", [.int(.min), .null, .int(.max)]), ("flag", [.bool(false), .null, .bool(true)]),
            ("real", [.double(-0.5), .null, .double(0.25)]), ("made", [.date(-1), .null, .date(1)]),
            ("price", [.decimal(DecimalNumber("-1.5")), .null, .decimal(DecimalNumber("1.25"))]),
            ("link", [.uri("a:1"), .null, .uri("b:1")]),
        ]
        for (key, values) in kinds {
            // 24 rows: each value eight times, in turn.
            try fill(key, (0..<24).map { values[$0 % 3] })
            let groups = [1, 0, 2].map { first in stride(from: first, to: 24, by: 3).map { "\($0)" } }
            let (up, down) = (groups.flatMap { $0 }, groups.reversed().flatMap { $0 })
            for (sort, wanted) in [(key, up), ("-" + key, down)] {
                let request = try request(nil)
                request.sortDescriptors = [SortDescriptor(sort)]
                XCTAssertEqual(try names(request), wanted, sort)
                // A small limit, and a limit so large that all rows are sorted.
                for (offset, limit) in [(0, 1), (0, 3), (2, 3), (0, 5), (1, 5), (7, 10), (23, 1), (24, 1), (20, 100)] {
                    (request.offset, request.limit) = (offset, limit)
                    XCTAssertEqual(
                        try names(request), Array(wanted.dropFirst(offset).prefix(limit)), "\(sort) \(offset) \(limit)")
                }
            }
        }
    }

    func testFetchSortsBySeveralKeysAndToOnePaths() throws {
        let owners = try ["x", "y"].map { try context.insert("Owner", ["name": $0]) }
        for (place, (owner, i32)) in [(1, 1), (0, 2), (nil, 1), (0, 1), (1, 2), (nil, 2)].enumerated() {
            let item = try context.insert("Item", ["name": "\(place)", "i32": i32])
            if let owner { try item.set("owner", owners[owner]) }
        }
        try context.save()
        for (sort, wanted) in [
            (["i32", "-name"], ["3", "2", "0", "5", "4", "1"]), (["-i32", "name"], ["1", "4", "5", "0", "2", "3"]),
            (["owner.name", "i32"], ["2", "5", "3", "1", "0", "4"]),
            (["-owner.name", "-i32"], ["4", "0", "1", "3", "5", "2"]),
        ] {
            let request = try request(nil)
            request.sortDescriptors = sort.map { SortDescriptor($0) }
            XCTAssertEqual(try names(request), wanted, "\(sort)")
            request.limit = 1
            XCTAssertEqual(try names(request), [wanted[0]], "\(sort)")
        }
    }

    // MARK: Windows

    func testWindowsAreOrderedByKeyWithoutSortDescriptors() throws {
        try fill("i32", (0..<10).map { .int($0 % 2) })
        let request = try request("i32 == 1")
        for (offset, limit, wanted) in [
            (0, 0, ["1", "3", "5", "7", "9"]), (0, 2, ["1", "3"]), (1, 2, ["3", "5"]), (4, 2, ["9"]), (5, 2, []),
            (3, 0, ["7", "9"]), (0, 5, ["1", "3", "5", "7", "9"]), (1, .max, ["3", "5", "7", "9"]),
        ] as [(Int, Int, [String])] {
            (request.offset, request.limit) = (offset, limit)
            XCTAssertEqual(try names(request), wanted, "\(offset) \(limit)")
            XCTAssertEqual(try context.count(request), wanted.count, "\(offset) \(limit)")
        }
    }

    func testFetchedIDsHaveTheOrderOfTheRequest() throws {
        try fill("i32", (0..<6).map { .int(-$0) })
        let request = try request("i32 > -5")
        request.sortDescriptors = [SortDescriptor("i32")]
        (request.offset, request.limit) = (1, 3)
        let wanted = try context.fetch(request).map(\.objectID)
        request.resultType = .objectIDs
        guard case .objectIDs(let ids) = try context.execute(request) else { return XCTFail() }
        XCTAssertEqual(ids, wanted)
        XCTAssertEqual(ids.count, 3)
    }

    // MARK: Lookups

    func testEqualityOnAUniqueAttributeUsesTheUniqueIndex() throws {
        for (place, code) in ["a", "b", "c", nil].enumerated() {
            let item = try context.insert(place == 1 ? "Special" : "Item", ["name": "\(place)"])
            if let code { try item.set("code", code) }
        }
        try context.save()
        let found = "SEARCH Item BY UNIQUE code"
        for (format, wanted, step) in [
            ("code == 'a'", ["0"], found), ("'a' == code", ["0"], found),
            ("code IN {'c', 'a', 'c', 'x'}", ["0", "2"], found),
            ("code IN {}", [], found), ("code == 'x'", [], found), ("code == nil", ["3"], "SCAN Item"),
            ("code IN {'a', nil}", ["0"], "SCAN Item"), ("code != 'a'", ["1", "2", "3"], "SCAN Item"),
            ("code == 'a' OR code == 'b'", ["0", "1"], "SCAN Item"),
            ("name == '0' AND code == 'a'", ["0"], found), ("name == '1' AND code == 'a'", [], found),
            // One value of a two-attribute constraint does not allow a lookup.
            ("name == '1'", ["1"], "SCAN Item"),
        ] {
            XCTAssertEqual(try names(request(format)), wanted, format)
            XCTAssertEqual(try plan(request(format)), [step], format)
        }
        XCTAssertEqual(try names(request("code IN {'a', 'b'}", entity: "Special")), ["1"])
        let alone = try request("code IN {'a', 'b'}")
        alone.includesSubentities = false
        XCTAssertEqual(try names(alone), ["0"])
        XCTAssertEqual(try context.explain(alone).shares.first?.indexes, ["Item.code"])
        XCTAssertEqual(try context.explain(request("name == '1'")).shares.first?.indexes, [])
    }

    func testComparisonWithObjectsUsesPrimaryKeys() throws {
        try fill("i32", [.int(1), .int(2), .int(3)])
        let items = try context.fetch("Item", sort: ["i32"])
        let owner = try context.insert("Owner")
        try context.save()
        let list = PropertyValue.array([items[2], items[0], items[2], owner].map { .object($0) })
        for (format, value, wanted) in [
            ("SELF IN %@", list, ["0", "2"]), ("SELF == %@", .object(items[1]), ["1"]),
            ("objectID == %@", .object(items[1]), ["1"]), ("SELF == %@", .object(owner), []),
        ] as [(String, PropertyValue, [String])] {
            XCTAssertEqual(try names(request(format, value)), wanted, format)
            XCTAssertEqual(try plan(request(format, value)), ["SEARCH Item BY KEY"], format)
        }
        // An object of another store has the same key.
        let other = try Coordinator(model: coordinator.model)
        try other.addStore(.inMemory, at: "other")
        let unrelated = try Context(coordinator: other).insert("Item", ["name": "unrelated"])
        try unrelated.context?.save()
        XCTAssertEqual(try names(request("SELF == %@", .object(ObjectIDReference(unrelated.objectID)))), [])
    }

    func testComparisonOfAToOneWithObjectsUsesItsInverseIndex() throws {
        let owners = try ["x", "y"].map { try context.insert("Owner", ["name": $0]) }
        for place in 0..<7 {
            let item = try context.insert("Item", ["name": "\(place)"])
            if place < 6 { try item.set("owner", owners[place % 2]) }
        }
        try context.save()
        let both = PropertyValue.array(owners.reversed().map { .object($0) })
        XCTAssertEqual(try names(request("owner == %@", .object(owners[1]))), ["1", "3", "5"])
        XCTAssertEqual(try names(request("owner IN %@", both)), ["0", "1", "2", "3", "4", "5"])
        XCTAssertEqual(try plan(request("owner IN %@", both)), ["SEARCH Item BY owner"])
        XCTAssertEqual(try context.explain(request("owner IN %@", both)).shares.first?.indexes, ["Item.owner"])
        XCTAssertEqual(try names(request("owner == nil")), ["6"])
        XCTAssertEqual(try plan(request("owner == nil")), ["SCAN Item"])
        // The inverse index follows changes.
        let items = try context.fetch("Item", sort: ["name"])
        try items[0].set("owner", owners[1])
        try items[6].set("owner", owners[1])
        try items[1].set("owner", nil)
        try context.delete(items[3])
        try context.save()
        XCTAssertEqual(try names(request("owner == %@", .object(owners[1]))), ["0", "5", "6"])
        XCTAssertEqual(try names(request("owner == %@", .object(owners[0]))), ["2", "4"])
        XCTAssertEqual(try context.count("Owner", "items.@count == 3"), 1)
        // Rows of a failed save are not found.
        try items[5].set("owner", owners[0])
        try context.insert("Item", ["name": "2", "code": "same"])
        try context.insert("Item", ["name": "3", "code": "same"])
        XCTAssertThrowsError(try context.save())
        try context.rollback()
        XCTAssertEqual(try names(request("owner == %@", .object(owners[1]))), ["0", "5", "6"])
    }

    /// The lookup is used if there are at least four times as many rows as targets.
    func testPathThroughFewTargetsUsesTheInverseIndex() throws {
        let owners = try ["xa", "ya"].map { try context.insert("Owner", ["name": $0]) }
        for place in 0..<7 { try context.insert("Item", ["name": "\(place)", "owner": owners[place % 2]]) }
        try context.save()
        XCTAssertEqual(try plan(request("owner.name == 'xa'")), ["SCAN Item"])
        XCTAssertEqual(try names(request("owner.name == 'xa'")), ["0", "2", "4", "6"])
        try context.insert("Item", ["name": "7"])
        try context.save()
        for (format, wanted) in [
            ("owner.name == 'xa'", ["0", "2", "4", "6"]),
            ("owner.name ENDSWITH 'a'", ["0", "1", "2", "3", "4", "5", "6"]),
            ("owner.name IN {'ya', 'za'}", ["1", "3", "5"]), ("owner.name ==[c] 'YA'", ["1", "3", "5"]),
            ("owner.name > 'xz'", ["1", "3", "5"]), ("owner.name == 'z'", []),
        ] {
            XCTAssertEqual(try plan(request(format)), ["SEARCH Item BY owner OF Owner"], format)
            XCTAssertEqual(try names(request(format)), wanted, format)
        }
        for (format, wanted) in [
            ("owner.name != 'xa'", ["1", "3", "5", "7"]), ("owner.name == nil", ["7"]),
            ("NOT owner.name == 'xa'", ["1", "3", "5", "7"]),
        ] {
            XCTAssertEqual(try plan(request(format)), ["SCAN Item"], format)
            XCTAssertEqual(try names(request(format)), wanted, format)
        }
    }

    /// Members of a relationship without inverse that were deleted do not count.
    func testDeletedMembersAreNotCounted() throws {
        try fill("i32", [.int(1), .int(2), .int(3)])
        let items = try context.fetch("Item", sort: ["i32"])
        let owner = try context.insert("Owner", ["name": "x"])
        try owner.setMembers(items, of: "likes")
        try context.save()
        XCTAssertEqual(try context.count("Owner", "likes.@count == 3"), 1)
        try context.delete(items[1])
        try context.save()
        XCTAssertEqual(try context.count("Owner", "likes.@count == 2"), 1)
        XCTAssertEqual(try context.count("Owner", "ANY likes.i32 == 2"), 0)
        XCTAssertEqual(try context.count("Owner", "ANY likes.i32 == 3"), 1)
        let fresh = Context(coordinator: coordinator)
        XCTAssertEqual(try fresh.fetch("Owner").first?.members("likes").count, 2)
    }

    // MARK: Batches

    func testBatchInsertKeepsTheOrderOfItsRows() throws {
        let item = try coordinator.model.requireEntity(named: "Item")
        let rows: [[String: PropertyValue]] = (0..<101).map { ["name": .string("\($0)"), "i32": .int(Int64($0))] }
        XCTAssertEqual((try context.execute(BatchInsertRequest(entity: item, rows: rows)) as BatchResult).count, 101)
        XCTAssertEqual(try names(request(nil)), (0..<101).map { "\($0)" })
        XCTAssertEqual(try names(request("i32 >= 99")), ["99", "100"])
    }

    /// The outcome of each merge policy for a row whose unique values exist.
    func testBatchInsertResolvesUniqueConflictsByMergePolicy() throws {
        let item = try coordinator.model.requireEntity(named: "Item")
        func outcome(_ policy: MergePolicy, _ row: [String: PropertyValue]) throws -> [String] {
            for object in try context.fetch("Item") { try context.delete(object) }
            try context.insert("Item", ["name": "n", "i64": 1, "code": "a", "i32": 10, "i16": 5])
            try context.insert("Item", ["name": "n", "i64": 2, "code": "b", "i32": 20, "i16": 6])
            try context.save()
            let other = Context(coordinator: coordinator)
            other.mergePolicy = policy
            _ = try other.execute(BatchInsertRequest(entity: item, rows: [row])) as BatchResult
            let fresh = Context(coordinator: coordinator)
            return try fresh.fetch("Item", sort: ["i32"]).map { found in
                let numbers = try ["i64", "i32", "i16"].map { try found.get($0, as: Int.self).map { "\($0)" } ?? "-" }
                return try ([found.get("name") ?? "-", found.get("code") ?? "-"] + numbers).joined(separator: " ")
            }
        }
        func row(_ name: String, _ i64: Int64, _ code: String?) -> [String: PropertyValue] {
            var row: [String: PropertyValue] = ["name": .string(name), "i64": .int(i64), "i32": .int(99)]
            if let code { row["code"] = .string(code) }
            return row
        }
        let there = ["n a 1 10 5", "n b 2 20 6"]
        for (policy, given, wanted) in [
            (.storeTrump, row("n", 1, nil), there), (.rollback, row("n", 1, nil), there),
            // Values that the row omits are kept or reset, depending on the policy.
            (.objectTrump, row("n", 1, nil), ["n b 2 20 6", "n a 1 99 5"]),
            (.overwrite, row("n", 1, nil), ["n b 2 20 6", "n - 1 99 -"]),
            (.storeTrump, row("m", 1, "b"), there), (.objectTrump, row("m", 1, "b"), ["n a 1 10 5", "m b 1 99 6"]),
            // One of two unique values belongs to another row.
            (.objectTrump, row("n", 3, nil), there + ["n - 3 99 -"]),
            (.rollback, row("m", 1, nil), there + ["m - 1 99 -"]),
        ] as [(MergePolicy, [String: PropertyValue], [String])] {
            XCTAssertEqual(try outcome(policy, given), wanted, "\(policy.type) \(given)")
        }
        XCTAssertThrowsError(try outcome(.error, row("n", 1, nil))) { XCTAssertEqual(($0 as? CoreError)?.code, 133021) }
    }
}
