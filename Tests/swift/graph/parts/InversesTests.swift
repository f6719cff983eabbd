import Corestone
import XCTest

@testable import CorestoneGraph
@testable import CorestoneModel

/// The other sides of relationships, after one side was replaced without them, as a merge or a refresh does.
final class InversesTests: GraphTestCase {
    private func relationship(_ name: String, of object: ManagedObject) throws -> Relationship {
        try XCTUnwrap(object.entity.property(named: name) as? Relationship)
    }

    private func target(_ name: String, of object: ManagedObject) throws -> ManagedObject? { try object.get(name) }

    func testObjectMovesFromTheListOfItsStoredTarget() throws {
        let (sales, lab) = (try department("Sales"), try department("Lab"))
        let ada = try employee("Ada", in: sales)
        try context.save()
        XCTAssertEqual(try sales.members("employees"), [ada])
        XCTAssertEqual(try lab.members("employees"), [])
        try ada.setPrimitive("department", lab)
        try context.inverses.updateInverse(of: relationship("department", of: ada), ada)
        XCTAssertEqual(try sales.members("employees"), [])
        XCTAssertEqual(try lab.members("employees"), [ada])
    }

    func testFormerPartnerLosesAOneToOneReference() throws {
        let (ada, bob, eve) = (try employee("Ada"), try employee("Bob"), try employee("Eve"))
        try ada.set("spouse", bob)
        try context.save()
        try eve.setPrimitive("spouse", bob)
        try context.inverses.updateInverse(of: relationship("spouse", of: eve), eve)
        XCTAssertTrue(try target("spouse", of: bob) === eve)
        XCTAssertNil(try target("spouse", of: ada))
    }

    func testListOfADeletedTargetIsNotChanged() throws {
        let (sales, lab) = (try department("Sales"), try department("Lab"))
        let ada = try employee("Ada", in: sales)
        try context.save()
        XCTAssertEqual(try sales.members("employees"), [ada])
        context.deleteRules.markDeleted(sales)
        try ada.setPrimitive("department", lab)
        try context.inverses.updateInverse(of: relationship("department", of: ada), ada)
        XCTAssertEqual(try sales.members("employees"), [ada])
        XCTAssertEqual(try lab.members("employees"), [ada])
    }

    /// A membership that the member's row contains is not a change of the owner.
    func testOnlyUnsavedMembershipMarksTheOwnerAsChanged() throws {
        let (lab, ada, bob) = (try department("Lab"), try employee("Ada"), try employee("Bob"))
        try context.save()
        XCTAssertEqual(try lab.members("employees"), [])
        let list = try lab.toMany(relationship("employees", of: lab))
        context.inverses.updateMembership(of: ada, in: list, isMember: true, isStored: true)
        XCTAssertFalse(lab.isUpdated)
        context.inverses.updateMembership(of: bob, in: list, isMember: true, isStored: false)
        XCTAssertTrue(lab.isUpdated)
        XCTAssertEqual(list.addedMembers, [bob])
    }

    func testTargetsAreListedByRelationshipWithoutMembers() throws {
        let sales = try department("Sales")
        let ada = try employee("Ada", in: sales)
        try ada.add(try employee("Bob"), to: "friends")
        let targets = context.inverses.targets(of: [ada])[0]
        XCTAssertEqual(targets.count, ada.entity.relationships.count)
        for (relationship, target) in zip(ada.entity.relationships, targets) {
            XCTAssertTrue(target === (relationship.name == "department" ? sales : nil), relationship.name)
        }
    }

    func testPresentObjectOfARowIsTheOneThatWasRegisteredLast() throws {
        let (map, place) = (context.identityMap, coordinator.stores[0])
        let kind = try model.requireEntity(named: "Employee")
        let former = map.object(store: place, entity: kind, primaryKey: 7)
        XCTAssertTrue(context.inverses.present(former) === former)
        let present = ManagedObject(fault: 7, kind, place, in: map.unretainedContext, owner: map.owner)
        map.register(present)
        XCTAssertTrue(context.inverses.present(former) === present)
        XCTAssertTrue(context.inverses.present(present) === present)
        map.unregister(present)
        XCTAssertNil(context.inverses.present(former))
    }
}
