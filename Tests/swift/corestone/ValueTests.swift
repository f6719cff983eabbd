import Corestone
import XCTest

/// Conversion of Swift values to property values and back.
final class ValueTests: XCTestCase {
    private static let uuid = UUIDValue.random()

    /// One value of each kind.
    private static let all: [(name: String, value: PropertyValue)] = [
        ("null", .null), ("bool", .bool(true)), ("int", .int(7)), ("double", .double(1.5)),
        ("decimal", .decimal(DecimalNumber(12))), ("text", .string("x")), ("bytes", .bytes(Bytes([1, 2]))),
        ("date", .date(60)), ("uuid", .uuid(uuid)), ("uri", .uri("a:b")), ("array", .array([.int(1)])),
        ("dictionary", .dictionary(["a": .int(1)])),
    ]

    private func kinds<Value: PropertyConvertible>(_ type: Value.Type) -> [String] {
        ValueTests.all.filter { Value.from($0.value) != nil }.map(\.name)
    }

    func testSwiftTypesAreConvertedFromTheirOwnKinds() {
        XCTAssertEqual(kinds(Bool.self), ["bool"])
        for found in [kinds(Int.self), kinds(Int16.self), kinds(Int32.self), kinds(Int64.self), kinds(UInt64.self)] {
            XCTAssertEqual(found, ["int"])
        }
        XCTAssertEqual(kinds(String.self), ["text", "uri"])
        XCTAssertEqual(kinds([UInt8].self), ["bytes"])
        XCTAssertEqual(kinds(ReferenceDate.self), ["date"])
        XCTAssertEqual(kinds(UUIDValue.self), ["uuid"])
        XCTAssertEqual(kinds(DecimalNumber.self), ["decimal"])
        XCTAssertEqual(kinds([String: PropertyValue].self), ["dictionary"])
        XCTAssertEqual(kinds(ManagedObject.self), [])
        XCTAssertEqual(kinds(ObjectID.self), [])
        XCTAssertEqual(kinds(PropertyValue.self), ValueTests.all.map(\.name))
        XCTAssertEqual(kinds(Int?.self), ["null", "int"])
    }

    func testSwiftValuesRoundTrip() throws {
        func check<Value: PropertyConvertible & Equatable>(_ value: Value, _ wanted: PropertyValue, line: UInt = #line)
        {
            XCTAssertEqual(value.propertyValue, wanted, line: line)
            XCTAssertEqual(Value.from(value.propertyValue), value, line: line)
        }
        check(true, .bool(true))
        check(false, .bool(false))
        check(Int.min, .int(.min))
        check(Int16(-3), .int(-3))
        check(Int32.max, .int(2_147_483_647))
        check(Int64.max, .int(.max))
        check(UInt64(5), .int(5))
        check(UInt64(Int64.max), .int(.max))
        check(1.5, .double(1.5))
        check(Float(0.1), .double(Double(Float(0.1))))
        check("é", .string("é"))
        check([UInt8](0...3), .bytes(Bytes([0, 1, 2, 3])))
        check(ReferenceDate(secondsSinceReference: -1.5), .date(-1.5))
        check(ValueTests.uuid, .uuid(ValueTests.uuid))
        check(try DecimalNumber("-1.25"), .decimal(try DecimalNumber("-1.25")))
        check(["a": PropertyValue.int(1)], .dictionary(["a": .int(1)]))
        check(Int?.some(3), .int(3))
        check(Int?.none, .null)
        XCTAssertEqual(String.from(.uri("a:b")), "a:b")
    }

    /// An integer beyond 64 bits becomes a decimal, which the attribute then rejects.
    func testIntegersOutOfRangeAreNotConverted() {
        XCTAssertEqual(UInt64.max.propertyValue, .decimal(DecimalNumber(mantissa: 18_446_744_073_709_551_615)))
        XCTAssertEqual(
            (UInt64(Int64.max) + 1).propertyValue, .decimal(DecimalNumber(mantissa: 9_223_372_036_854_775_808)))
        XCTAssertEqual(Int16.from(.int(32767)), 32767)
        XCTAssertNil(Int16.from(.int(32768)))
        XCTAssertNil(Int16.from(.int(-32769)))
        XCTAssertNil(Int32.from(.int(1 << 31)))
        XCTAssertNil(UInt64.from(.int(-1)))
    }

    func testLiteralsCreatePropertyValues() {
        let record: PropertyValue = [
            "text": "x", "whole": 3, "real": 2.5, "flag": true, "list": [1, "two", false], "none": [:], "empty": [],
        ]
        XCTAssertEqual(
            record,
            .dictionary([
                "text": .string("x"), "whole": .int(3), "real": .double(2.5), "flag": .bool(true),
                "list": .array([.int(1), .string("two"), .bool(false)]), "none": .dictionary([:]), "empty": .array([]),
            ]))
        XCTAssertEqual(["a": 1, "a": 2] as PropertyValue, .dictionary(["a": .int(2)]), "the last value wins")
    }

    // MARK: Of objects

    private func context() throws -> Corestone.Context {
        let model = Model()
        let item = try model.addEntity(named: "Item")
        try item.addAttribute(named: "name", type: .string)
        try item.addAttribute(named: "count", type: .integer16)
        try item.addAttribute(named: "link", type: .uri)
        let parts = try item.addRelationship(named: "parts", destination: item, isToMany: true, isOrdered: true)
        let whole = try item.addRelationship(named: "whole", destination: item)
        try parts.setInverse(whole)
        let coordinator = try Coordinator(model: model)
        try coordinator.addStore(.inMemory, at: "memory")
        return Corestone.Context(coordinator: coordinator)
    }

    func testErrorNamesTheValueOfAnotherType() throws {
        let context = try context()
        let item = try context.insert("Item", ["name": "x", "count": 3])
        XCTAssertEqual(try item.get("count", as: Int.self), 3)
        XCTAssertNil(try item.get("link", as: String.self))
        XCTAssertNil(try item.get("whole", as: ManagedObject.self))
        XCTAssertThrowsError(try item.get("name", as: Int.self)) {
            let error = $0 as? CoreError
            XCTAssertEqual(error?.status, .typeMismatch)
            XCTAssertEqual(error?.entity, "Item")
            XCTAssertEqual(error?.key, "name")
            XCTAssertEqual(error?.value, .string("x"))
            XCTAssertEqual(error?.objectURI, item.objectID.uri)
        }
        try item.set("count", nil as Int?)
        XCTAssertNil(try item.get("count", as: Int.self))
        let part = try context.insert("Item", ["whole": item])
        XCTAssertEqual(try part.get("whole", as: ManagedObject.self), item)
        XCTAssertEqual(ObjectID.from(.object(item)), item.objectID)
        XCTAssertEqual(ObjectID.from(item.objectID.propertyValue), item.objectID)
        XCTAssertNil(ManagedObject.from(item.objectID.propertyValue))
        XCTAssertEqual(part.entityName, "Item")
    }

    /// An object whose values are rejected is not inserted.
    func testFailedInsertionLeavesNoObject() throws {
        let context = try context()
        XCTAssertThrowsError(try context.insert("Item", ["name": "x", "count": 40_000])) {
            XCTAssertEqual(($0 as? CoreError)?.key, "count")
        }
        XCTAssertThrowsError(try context.insert("Item", ["nothing": 1]))
        try context.processPendingChanges()
        XCTAssertFalse(context.hasChanges)
        XCTAssertEqual(try context.count("Item"), 0)
    }

    func testOrderedMembersAreInsertedMovedAndRemoved() throws {
        let context = try context()
        let whole = try context.insert("Item")
        let parts = try (0..<4).map { try context.insert("Item", ["name": "\($0)"]) }
        func names() throws -> [String] { try whole.members("parts").map { try $0.get("name") ?? "" } }
        try whole.add(parts[0], parts[1], parts[2], to: "parts")
        XCTAssertEqual(try names(), ["0", "1", "2"])
        try whole.insert(parts[3], at: 1, in: "parts")
        XCTAssertEqual(try names(), ["0", "3", "1", "2"])
        XCTAssertEqual(try whole.memberCount("parts"), 4)
        try whole.moveMember(from: 0, to: 2, in: "parts")
        XCTAssertEqual(try names(), ["3", "1", "0", "2"])
        try whole.removeMember(at: 1, from: "parts")
        XCTAssertEqual(try names(), ["3", "0", "2"])
        try whole.replaceMember(at: 0, with: parts[1], in: "parts")
        XCTAssertEqual(try names(), ["1", "0", "2"])
        try whole.remove(parts[1], parts[2], from: "parts")
        XCTAssertEqual(try names(), ["0"])
        XCTAssertNil(try parts[2].get("whole", as: ManagedObject.self))
        let members = try whole.mutableMembers("parts")
        XCTAssertTrue(members.owner === whole)
        XCTAssertTrue(try members.insert(parts[2]))
        XCTAssertFalse(try members.insert(parts[2]))
        try members.insert(parts[3], at: 0)
        XCTAssertEqual(try names(), ["3", "0", "2"])
        XCTAssertEqual(try members.count, 3)
        XCTAssertTrue(try members.contains(parts[0]))
        XCTAssertTrue(try members.remove(parts[0]))
        XCTAssertFalse(try members.remove(parts[0]))
        XCTAssertFalse(try members.contains(parts[0]))
        XCTAssertEqual(try members.all.map { try $0.get("name") ?? "" }, ["3", "2"])
        try members.removeAll()
        XCTAssertEqual(try names(), [])
        XCTAssertEqual(try members.count, 0)
    }

    func testChangedKeysAndCommittedValuesAreReported() throws {
        let context = try context()
        let item = try context.insert("Item", ["name": "a", "count": 1])
        try context.save()
        XCTAssertFalse(try item.isChanged("name"))
        try item.set(["name": "b", "link": "a:b"])
        XCTAssertTrue(try item.isChanged("name"))
        XCTAssertFalse(try item.isChanged("count"))
        XCTAssertEqual(try item.committedValue("name"), .string("a"))
        XCTAssertEqual(try item.committedValue("link"), .null)
        XCTAssertEqual(try item.primitiveValue("name"), .string("b"))
        XCTAssertEqual(try item.get("link"), "a:b")
        XCTAssertThrowsError(try item.isChanged("nothing")) {
            XCTAssertEqual(($0 as? CoreError)?.status, .invalidArgument)
        }
    }

    func testFetchAcceptsFormatSortLimitAndOffset() throws {
        let context = try context()
        for (name, size) in [("a", 3), ("b", 1), ("c", 2), ("d", 2)] {
            try context.insert("Item", ["name": name, "count": size])
        }
        try context.save()
        func names(_ found: [ManagedObject]) throws -> [String] { try found.map { try $0.get("name") ?? "" } }
        XCTAssertEqual(try names(context.fetch("Item", sort: ["count", "-name"])), ["b", "d", "c", "a"])
        XCTAssertEqual(
            try names(context.fetch("Item", "count > %d AND name != %@", 1, "c", sort: ["name"])), ["a", "d"])
        XCTAssertEqual(try names(context.fetch("Item", sort: ["name"], limit: 2, offset: 1)), ["b", "c"])
        XCTAssertEqual(try context.count("Item", "count == %d", 2), 2)
        XCTAssertEqual(try context.count("Item"), 4)
        XCTAssertThrowsError(try context.fetch("Thing")) {
            XCTAssertEqual(($0 as? CoreError)?.status, .invalidArgument)
        }
    }

    func testAggregatesAreComputedOverRowsAndGroups() throws {
        let context = try context()
        for (name, size) in [("a", 3), ("a", 1), ("b", 2), ("b", nil)] as [(String, Int?)] {
            try context.insert("Item", ["name": name, "count": size])
        }
        try context.save()
        XCTAssertEqual(try context.sum(of: "count", in: "Item"), .int(6))
        XCTAssertEqual(try context.average(of: "count", in: "Item", where: "name == %@", "a"), .double(2))
        XCTAssertEqual(try context.minimum(of: "count", in: "Item", where: "count > %d", 1), .int(2))
        XCTAssertEqual(try context.maximum(of: "count", in: "Item", where: "name == 'b'"), .int(2))
        XCTAssertEqual(try context.maximum(of: "count", in: "Item", where: "name == 'z'"), .null)
        XCTAssertEqual(try context.minimum(of: "count", in: "Item", where: "name == 'z'"), .null)
        for (found, values) in try [
            (context.sum(of: "count", in: "Item", by: "name"), [.int(4), .int(2)]),
            (context.average(of: "count", in: "Item", by: "name"), [.double(2), .double(2)]),
            (context.minimum(of: "count", in: "Item", by: "name"), [.int(1), .int(2)]),
            (context.maximum(of: "count", in: "Item", by: "name"), [.int(3), .int(2)]),
            (context.count(of: "count", in: "Item", by: "name"), [.int(2), .int(1)]),
            (context.count(in: "Item", by: "name"), [.int(2), .int(2)]),
        ] as [([AggregateGroup], [PropertyValue])] {
            XCTAssertEqual(found.map(\.key), [.string("a"), .string("b")])
            XCTAssertEqual(found.map(\.value), values)
        }
        for found in try [
            context.sum(of: "count", in: "Item", where: "count < %d", 3, by: "name"),
            context.minimum(of: "count", in: "Item", where: "count < %d", 3, by: "name"),
            context.maximum(of: "count", in: "Item", where: "count < %d", 3, by: "name"),
            context.average(of: "count", in: "Item", where: "count < %d", 3, by: "name"),
        ] {
            XCTAssertEqual(found.map { $0.value.number }, [1, 2])
        }
        XCTAssertEqual(
            try context.count(in: "Item", where: "count < %d", 3, by: "name").map(\.value), [.int(1), .int(1)])
    }

    /// The policy of the context is restored after a save with another policy, even if the save failed.
    func testMergePolicyOfOneSaveIsNotKept() throws {
        let context = try context()
        let item = try context.insert("Item", ["count": 1])
        try context.save()
        func change(_ size: Int) throws {
            let other = Corestone.Context(coordinator: context.coordinator)
            try other.fetch("Item").first?.set("count", size)
            try other.save()
        }
        context.mergePolicy = .error
        try change(2)
        try item.set("count", 3)
        try context.save(merging: .objectTrump)
        XCTAssertTrue(context.mergePolicy === MergePolicy.error)
        try change(4)
        try item.set("count", 5)
        XCTAssertThrowsError(try context.save())
        context.mergePolicy = .storeTrump
        XCTAssertThrowsError(try context.save(merging: .error))
        XCTAssertTrue(context.mergePolicy === MergePolicy.storeTrump)
        try context.save()
        XCTAssertEqual(try item.get("count"), 4)
    }
}
