import Corestone
import XCTest

@testable import CorestoneGraph
@testable import CorestoneModel

/// Groups of faults that were fetched together: which of them are loaded with a fault that fires.
final class FaultGroupsTests: GraphTestCase {
    private var place: Store { coordinator.stores[0] }

    private func entity(_ name: String) throws -> Entity { try model.requireEntity(named: name) }

    /// Faults with the keys 1 to `count`, which the store does not contain.
    private func faults(_ count: Int) throws -> [ManagedObject] {
        let kind = try entity("Employee")
        return (1...Int64(count)).map { context.identityMap.object(store: place, entity: kind, primaryKey: $0) }
    }

    private func group(_ faults: [ManagedObject]) throws {
        context.faultState.groups.group(faults, root: try entity("Employee").root, store: place)
    }

    func testSingleFaultIsNotGrouped() throws {
        let alone = try faults(1)
        try group(alone)
        XCTAssertEqual(alone[0].faultGroup, 0)
        XCTAssertEqual(context.faultLoader.siblings(of: alone[0]), [1])
    }

    func testSiblingsAreTheNextFaultsUpToTheBatchSize() throws {
        let all = try faults(10)
        try group(all)
        let number = all[0].faultGroup
        try context.setFaultBatchSize(4)
        XCTAssertEqual(context.faultLoader.siblings(of: all[0]), [1, 2, 3, 4])
        XCTAssertEqual(context.faultLoader.siblings(of: all[5]), [6, 5, 7, 8])
        XCTAssertNotNil(context.faultState.groups.group(number))
        XCTAssertEqual(context.faultLoader.siblings(of: all[8]), [9, 10])
        XCTAssertNil(context.faultState.groups.group(number), "a group that was read completely was kept")
        XCTAssertEqual(context.faultLoader.siblings(of: all[1]), [2], "a fault without its group fires alone")
    }

    func testBatchSizeOfOneLeavesTheGroupUnread() throws {
        let all = try faults(3)
        try group(all)
        try context.setFaultBatchSize(1)
        XCTAssertEqual(context.faultLoader.siblings(of: all[1]), [2])
        try context.setFaultBatchSize(256)
        XCTAssertEqual(context.faultLoader.siblings(of: all[1]), [2, 1, 3])
    }

    func testLoadedAndDeallocatedFaultsAreNotSiblings() throws {
        let saved = try (1...4).map { try employee("E\($0)") }
        try context.save()
        let (keys, kind) = (saved.map(\.primaryKey), try entity("Employee"))
        let second = other()
        var faults = keys.map { second.identityMap.object(store: place, entity: kind, primaryKey: $0) }
        XCTAssertEqual(try faults[1].get("name"), "E2")
        second.faultState.groups.group(faults, root: kind.root, store: place)
        faults.removeLast()
        XCTAssertEqual(second.faultLoader.siblings(of: faults[0]), [keys[0], keys[2]])
    }

    func testMembersThatWereReadTogetherAreOneGroup() throws {
        let sales = try department("Sales")
        for number in 1...3 { _ = try employee("E\(number)", in: sales) }
        try context.save()
        let second = other()
        let members = try second.object(with: sales.objectID).members("employees")
        XCTAssertEqual(members.count, 3)
        XCTAssertEqual(Set(members.map(\.faultGroup)).count, 1)
        XCTAssertNotEqual(members[0].faultGroup, 0)
    }

    /// The limit is about a million faults. The newest group is kept, even if it is larger.
    func testOldestGroupsAreRemovedAboveTheLimit() throws {
        let fault = try faults(1)[0]
        let root = fault.entity.root
        let quarter = [ManagedObject](repeating: fault, count: 1 << 18)
        var groups = FaultGroups()
        for _ in 1...4 { groups.group(quarter, root: root, store: place) }
        XCTAssertNotNil(groups.group(1))
        groups.group(quarter, root: root, store: place)
        XCTAssertNil(groups.group(1))
        for number: UInt32 in 2...5 { XCTAssertNotNil(groups.group(number)) }
        groups.group([ManagedObject](repeating: fault, count: (1 << 20) + 1), root: root, store: place)
        for number: UInt32 in 2...5 { XCTAssertNil(groups.group(number)) }
        XCTAssertNotNil(groups.group(6))
    }

    /// Faults keep the number of a removed group, which a later group must not have.
    func testNumbersOfRemovedGroupsAreNotReused() throws {
        let all = try faults(4)
        try group(all)
        let former = all[0].faultGroup
        context.faultState.groups.removeAll()
        XCTAssertNil(context.faultState.groups.group(former))
        try group(Array(all[2...]))
        XCTAssertNotEqual(all[2].faultGroup, former)
        XCTAssertEqual(context.faultLoader.siblings(of: all[0]), [1])
        XCTAssertEqual(context.faultLoader.siblings(of: all[2]), [3, 4])
    }
}
