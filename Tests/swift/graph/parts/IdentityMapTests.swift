import Corestone
import XCTest

@testable import CorestoneGraph
@testable import CorestoneModel

/// The identity map without fetches and saves: registration, replacement, permanent IDs, retained objects.
final class IdentityMapTests: GraphTestCase {
    private var map: IdentityMap { context.identityMap }
    private var place: Store { coordinator.stores[0] }

    private func entity(_ name: String) throws -> Entity { try model.requireEntity(named: name) }

    /// Creates a fault that is not registered.
    private func unregisteredFault(_ key: Int64, of entity: Entity) -> ManagedObject {
        ManagedObject(fault: key, entity, place, in: map.unretainedContext, owner: map.owner)
    }

    // MARK: Registration

    func testInsertedObjectIsRegisteredWithoutAStore() throws {
        let ada = try employee("Ada")
        let (root, other) = (ada.entity.root, try entity("Department"))
        XCTAssertTrue(map.object(store: nil, root: root, primaryKey: ada.primaryKey) === ada)
        XCTAssertNil(map.object(store: place, root: root, primaryKey: ada.primaryKey))
        XCTAssertNil(map.object(store: nil, root: other, primaryKey: ada.primaryKey))
        XCTAssertEqual(map.count, 1)
        map.checkInvariants()
    }

    func testRegistrationDetachesTheObjectThatHadTheKey() throws {
        let kind = try entity("Employee")
        let first = map.object(store: place, entity: kind, primaryKey: 7)
        let second = unregisteredFault(7, of: kind)
        map.register(second)
        XCTAssertTrue(map.object(store: place, entity: kind, primaryKey: 7) === second)
        XCTAssertTrue(first.isGone)
        XCTAssertFalse(second.isGone)
        XCTAssertEqual(map.count, 1)
        map.register(second)
        XCTAssertFalse(second.isGone, "an object that is registered twice was detached")
        XCTAssertEqual(map.count, 1)
        map.checkInvariants()
    }

    /// An object that lost its registration must not remove its successor, even when it is deallocated.
    func testUnregisteredObjectDoesNotRemoveTheObjectWithItsKey() throws {
        let kind = try entity("Employee")
        let registered = map.object(store: place, entity: kind, primaryKey: 7)
        do {
            let loose = unregisteredFault(7, of: kind)
            map.unregister(loose)
            XCTAssertTrue(map.object(store: place, root: kind.root, primaryKey: 7) === registered)
        }
        XCTAssertTrue(map.object(store: place, root: kind.root, primaryKey: 7) === registered)
        XCTAssertEqual(map.count, 1)
    }

    func testDeallocatedObjectIsUnregistered() throws {
        let kind = try entity("Employee")
        do {
            let fault = map.object(store: place, entity: kind, primaryKey: 5)
            XCTAssertEqual(map.count, 1)
            withExtendedLifetime(fault) {}
        }
        XCTAssertEqual(map.count, 0)
        XCTAssertNil(map.object(store: place, root: kind.root, primaryKey: 5))
    }

    /// An unused object with another entity than its row is replaced. A used one is replaced if the entity is certain.
    func testObjectOfAWrongEntityIsReplacedUnlessItIsUsed() throws {
        let (kind, subkind) = (try entity("Employee"), try entity("Manager"))
        let guess = map.object(store: place, entity: kind, primaryKey: 900)
        let right = map.object(store: place, entity: subkind, primaryKey: 900, isEntityCertain: false)
        XCTAssertFalse(right === guess)
        XCTAssertTrue(guess.isGone)

        let boss = try context.insert("Manager", ["name": "Bo"])
        try context.save()
        let key = boss.primaryKey
        XCTAssertTrue(map.object(store: place, entity: kind, primaryKey: key, isEntityCertain: false) === boss)
        XCTAssertFalse(map.object(store: place, entity: kind, primaryKey: key) === boss)
        XCTAssertTrue(boss.isGone)
        map.checkInvariants()
    }

    // MARK: Permanent IDs

    func testTemporaryReferenceLeadsToThePermanentPlace() throws {
        let ada = try employee("Ada")
        let (root, temporary) = (ada.entity.root, ada.objectID)
        XCTAssertNil(map.permanentPlace(of: temporary.reference, root: root))
        context.keyAssignment.makePermanent(ada, store: place, key: 40)
        let found = try XCTUnwrap(map.permanentPlace(of: temporary.reference, root: root))
        XCTAssertEqual(found.key, 40)
        XCTAssertEqual(found.index, map.index(store: place, root: root))
        XCTAssertEqual(ada.objectID.reference, 40)
        XCTAssertNil(map.object(store: nil, root: root, primaryKey: temporary.reference))
        XCTAssertTrue(map.object(store: place, root: root, primaryKey: 40) === ada)
        XCTAssertTrue(map.registered(with: temporary) === ada)
        map.checkInvariants()
    }

    /// Two stores may assign the same key, and two entity trees have separate references.
    func testPermanentKeyBelongsToAStoreAndAnEntityTree() throws {
        let second = try coordinator.add(
            MemoryStore(model: model, identifier: "00000000-0000-0000-0000-00000000000B", path: "second"))
        let (ada, bob) = (try employee("Ada"), try employee("Bob"))
        let (first, other) = (ada.primaryKey, bob.primaryKey)
        context.keyAssignment.makePermanent(ada, store: place, key: 1)
        context.keyAssignment.makePermanent(bob, store: second, key: 1)
        let root = ada.entity.root
        XCTAssertTrue(map.permanentStore(of: first, root: root)?.store === place)
        XCTAssertTrue(map.permanentStore(of: other, root: root)?.store === second)
        XCTAssertEqual(map.permanentKey(of: other, root: root), 1)
        XCTAssertNil(map.permanentKey(of: first, root: try entity("Department")))
        XCTAssertTrue(map.object(store: second, root: root, primaryKey: 1) === bob)
        map.checkInvariants()
    }

    // MARK: Retained objects

    func testRetainedObjectHasOneReferenceForItsCaller() throws {
        let kind = try entity("Employee")
        let reference = map.retainedObject(store: place, entityIndex: kind.index, primaryKey: 3)
        let again = map.retainedObject(store: place, entityIndex: kind.index, primaryKey: 3)
        XCTAssertEqual(reference.toOpaque(), again.toOpaque())
        reference.release()
        XCTAssertEqual(map.count, 1)
        again.release()
        XCTAssertEqual(map.count, 0)
    }

    func testMapRetainsEarlierAndLaterObjectsOnRequest() throws {
        let kind = try entity("Employee")
        let earlier = map.object(store: place, entity: kind, primaryKey: 1)
        map.setRetainsAll(true)
        _ = map.object(store: place, entity: kind, primaryKey: 2)
        XCTAssertEqual(map.retained?.count, 2)
        XCTAssertEqual(map.count, 2)
        map.setRetainsAll(false)
        XCTAssertEqual(map.count, 1, "the object that only the map retained is still registered")
        XCTAssertTrue(map.object(store: place, root: kind.root, primaryKey: 1) === earlier)
    }

    func testReplacedObjectIsNotRetainedAnyMore() throws {
        let kind = try entity("Employee")
        map.setRetainsAll(true)
        weak var former: ManagedObject?
        do {
            let first = map.object(store: place, entity: kind, primaryKey: 7)
            former = first
            map.register(unregisteredFault(7, of: kind))
            XCTAssertTrue(first.isGone)
        }
        XCTAssertNil(former)
        XCTAssertEqual(map.retained?.count, 1)
        XCTAssertEqual(map.count, 1)
    }
}
