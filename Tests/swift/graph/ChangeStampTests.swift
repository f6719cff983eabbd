import XCTest

@testable import CorestoneGraph
@testable import CorestoneModel
@testable import CorestoneValues

/// Change stamps: as long as an object has the same stamp, its attributes have the same values.
final class ChangeStampTests: GraphTestCase {
    /// What a host would cache of an object: the values that are in memory, for a stamp.
    private struct Cached {
        var object: ManagedObject
        var stamp: UInt32
        var values: [UInt32: PropertyValue?]

        init(_ object: ManagedObject) {
            self.object = object
            stamp = object.changes
            values = Cached.values(object)
        }

        static func values(_ object: ManagedObject) -> [UInt32: PropertyValue?] {
            let keys = (0..<Int(object.entity.slotCount)).map { object.entity.slotKeys[$0] }
            return Dictionary(uniqueKeysWithValues: keys.map { ($0, object.plainView(key: $0).map(\.propertyValue)) })
        }
    }

    func testEveryChangeHasAnotherStamp() throws {
        let ada = try employee("Ada")
        var last = ada.changes
        func changed(_ line: UInt = #line, _ body: () throws -> Void) rethrows {
            try body()
            XCTAssertNotEqual(ada.changes, last, line: line)
            last = ada.changes
        }
        try changed { try ada.set("name", "Ada L.") }
        try changed { try ada.set("name", "Ada Lovelace") }
        try changed { try context.save() }
        try changed { try context.refresh(ada, mergeChanges: false) }
        // Values of a fault are not cached, so firing it keeps the stamp.
        XCTAssertEqual(try ada.get("name"), "Ada Lovelace")
        XCTAssertEqual(ada.changes, last)
        try changed { try ada.set("name", "A.") }
        try changed { try context.rollback() }
        try changed { try context.delete(ada) }
        try changed { try context.save() }
    }

    func testReadsKeepTheStamp() throws {
        let ada = try employee("Ada", in: department("Research"))
        try context.save()
        _ = try ada.get("name") as String?
        let stamp = ada.changes
        XCTAssertEqual(try ada.get("name"), "Ada")
        _ = try ada.get("department") as ManagedObject?
        _ = try ada.members(key: ada.entity.requireProperty(named: "projects").key)
        XCTAssertEqual(ada.changes, stamp)
    }

    func testResidentSetterAcceptsTheSameValuesAsTheOtherOne() throws {
        let ada = try employee("Ada"), other = try employee("Other")
        let values: [PropertyValue] = [
            .null, .int(5), .int(70000), .int(1 << 40), .int(-(1 << 60)), .double(2.5), .double(3), .bool(true),
            .text("x"), .date(7), .bytes(Bytes([1])),
        ]
        for name in ["name", "age", "number", "level", "rating", "factor", "active", "hired", "photo", "salary"] {
            let key = try ada.entity.requireProperty(named: name).key
            for value in values where ada.setResident(value, key: key) {
                try other.set(value, key: key)
                XCTAssertEqual(ada.plainView(key: key)?.propertyValue, other.plainView(key: key)?.propertyValue)
            }
        }
        XCTAssertFalse(ada.setResident(.text("x"), key: .max))
    }

    func testResidentFaultIsFired() throws {
        _ = try employee("Ada")
        try context.save()
        let there = other()
        let ada = try XCTUnwrap(there.fetch("Employee").first)
        let key = try ada.entity.requireProperty(named: "name").key
        XCTAssertTrue(ada.isFault)
        XCTAssertEqual(ada.residentView(key: key)?.propertyValue, .text("Ada"))
        XCTAssertFalse(ada.isFault)
        try there.refresh(ada, mergeChanges: false)
        XCTAssertNil(ada.residentView(key: key), "a row was read")
        XCTAssertTrue(ada.isFault)
    }

    func testEqualStampsMeanEqualValues() throws {
        for seed in 0..<UInt64(60) {
            try setUpWithError()
            try run(seed)
        }
    }

    private func run(_ seed: UInt64) throws {
        var generator = SplitMix(state: seed)
        let there = other()
        try context.setUndoManager(UndoManager())
        for name in ["A", "B", "C", "D"] { _ = try employee(name, in: department("of " + name)) }
        try context.save()
        var cached: [ObjectIdentifier: Cached] = [:]
        for step in 0..<120 {
            for object in context.registeredObjects where !object.isGone { cached[.init(object)] = Cached(object) }
            let description = (try? change(there, &generator)) ?? "a failure"
            for each in cached.values where each.object.changes == each.stamp {
                let now = Cached.values(each.object)
                XCTAssertEqual(now, each.values, "seed \(seed), step \(step): \(description)")
                if now != each.values { return }
            }
        }
    }

    /// Makes a random change, and returns its description.
    private func change(_ there: Context, _ generator: inout SplitMix) throws -> String {
        func random(_ count: Int) -> Int { Int.random(in: 0..<count, using: &generator) }
        func any(_ context: Context) throws -> ManagedObject? {
            let found = try context.fetch("Employee").filter { !$0.isDeleted }
            return found.isEmpty ? nil : found[random(found.count)]
        }
        let kind = random(14)
        switch kind {
        case 0: _ = try context.undo()
        case 1: _ = try context.redo()
        case 2: try context.rollback()
        case 3: try context.save()
        case 4: try context.refreshAll()
        case 5: try any(context).map { try context.refresh($0, mergeChanges: random(2) == 0) }
        case 6: try any(context).map { try context.delete($0) }
        case 7: _ = try employee("N\(random(100))")
        case 8:
            try any(context).map {
                try $0.setPrimitive(.int(Int64(random(90))), key: $0.entity.requireProperty(named: "age").key)
            }
        case 9:
            try any(there).map { try $0.set("age", Int64(random(90))) }
            try there.save()
        case 10: try context.processPendingChanges()
        case 11: _ = try any(context)?.get("age") as Int64?
        default: try any(context).map { try $0.set("name", "name \(random(1000))") }
        }
        return "change \(kind)"
    }

    private struct SplitMix: RandomNumberGenerator {
        var state: UInt64
        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var z = state
            z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
            z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
            return z ^ (z >> 31)
        }
    }
}
