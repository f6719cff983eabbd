import Corestone
import XCTest

@testable import CorestoneGraph
@testable import CorestoneModel

/// The primary keys of new objects, from stores with numbers and from stores with references.
final class KeyAssignmentTests: GraphTestCase {
    private var keys: KeyAssignment { context.keyAssignment }
    private var place: Store { coordinator.stores[0] }

    private func failure(_ body: () throws -> Void) -> CoreError? {
        do { try body() } catch { return error as? CoreError }
        return nil
    }

    /// As after a save that failed when the store had returned the key.
    private func reserve(_ key: Int64, for object: ManagedObject, in store: Store) {
        context.changeTracker.reservedKeys[object.primaryKey] = (store: store, key: key)
    }

    func testConsecutiveKeysAreReservedForEachEntityTree() throws {
        let saved = try department("Sales")
        try context.save()
        let (ada, lab) = (try employee("Ada"), try department("Lab"))
        let boss = try context.insert("Manager", ["name": "Bo"])
        var requests: [String: Int] = [:]
        let found = try keys.reserveKeys(for: [ada, saved, lab, boss]) { root, count in
            requests[root.name] = count
            return root.name == "Person" ? 10 : 50
        }
        XCTAssertEqual(found, [10, saved.primaryKey, 50, 11])
        XCTAssertEqual(requests, ["Person": 2, "Department": 1])
    }

    func testKeyOfAFailedSaveIsUsedAgain() throws {
        let (ada, bob) = (try employee("Ada"), try employee("Bob"))
        reserve(7, for: ada, in: place)
        var requested: [Int] = []
        let found = try keys.namedKeys(for: [ada, bob], in: place) { rows in
            requested.append(rows.count)
            return [8]
        }
        XCTAssertEqual(found, [7, 8])
        XCTAssertEqual(requested, [1])
    }

    func testReservedKeyOfAnotherStoreOrARegisteredObjectIsNotUsed() throws {
        let second = try coordinator.add(
            MemoryStore(model: model, identifier: "00000000-0000-0000-0000-00000000000B", path: "second"))
        let (ada, bob) = (try employee("Ada"), try employee("Bob"))
        let registered = context.identityMap.object(store: place, entity: ada.entity, primaryKey: 7)
        reserve(9, for: ada, in: second)
        reserve(7, for: bob, in: place)
        var requested: [Int] = []
        let found = try keys.namedKeys(for: [ada, bob], in: place) { rows in
            requested.append(rows.count)
            return [20, 21]
        }
        XCTAssertEqual(found, [20, 21])
        XCTAssertEqual(requested, [2])
        withExtendedLifetime(registered) {}
    }

    func testAllKeysAreRequestedAgainWhenTheStoreReturnsAReservedKey() throws {
        let (ada, bob) = (try employee("Ada"), try employee("Bob"))
        reserve(7, for: ada, in: place)
        var requested: [Int] = []
        let found = try keys.namedKeys(for: [ada, bob], in: place) { rows in
            requested.append(rows.count)
            return rows.count == 1 ? [7] : [7, 8]
        }
        XCTAssertEqual(found, [7, 8])
        XCTAssertEqual(requested, [1, 2])
        XCTAssertTrue(context.changeTracker.reservedKeys.isEmpty)
    }

    func testObjectThatIsListedTwiceGetsOneKey() throws {
        let (ada, bob) = (try employee("Ada"), try employee("Bob"))
        var requested: [Int] = []
        let found = try keys.namedKeys(for: [ada, bob, ada], in: place) { rows in
            requested.append(rows.count)
            return [5, 6]
        }
        XCTAssertEqual(found, [5, 6, 5])
        XCTAssertEqual(requested, [2])
    }

    func testObjectWithAPermanentKeyKeepsIt() throws {
        let ada = try employee("Ada")
        try context.save()
        let found = try keys.namedKeys(for: [ada], in: place) { _ in
            XCTFail("a key was requested for a saved object")
            return nil
        }
        XCTAssertEqual(found, [ada.primaryKey])
    }

    func testWrongNumberOfKeysIsAnInternalError() throws {
        let (ada, bob) = (try employee("Ada"), try employee("Bob"))
        for returned: [Int64]? in [nil, [1], [1, 2, 3]] {
            let error = failure { _ = try keys.namedKeys(for: [ada, bob], in: place) { _ in returned } }
            XCTAssertEqual(error?.status, .internal)
        }
        XCTAssertTrue(ada.hasTemporaryID && bob.hasTemporaryID)
    }

    func testKeyOfARegisteredObjectIsRejectedForANewObject() throws {
        let ada = try employee("Ada")
        let known = context.identityMap.object(store: place, entity: ada.entity, primaryKey: 3)
        let error = failure { _ = try keys.namedKeys(for: [ada], in: place) { _ in [3] } }
        XCTAssertEqual(error?.status, .invalidArgument)
        XCTAssertEqual(error?.code, CocoaCode.persistentStoreSave.rawValue)
        XCTAssertEqual(error?.entity, "Employee")
        XCTAssertEqual(error?.objectURI, known.objectID.uri)
    }
}
