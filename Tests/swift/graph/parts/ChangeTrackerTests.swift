import Corestone
import XCTest

@testable import CorestoneGraph

/// The lists of changed objects: their order, reverted changes, and what a save or rollback clears.
final class ChangeTrackerTests: GraphTestCase {
    private var tracker: ChangeTracker { context.changeTracker }
    private var place: Store { coordinator.stores[0] }

    /// The word that tells other threads whether the context has changes.
    private var changesWord: UInt64 { context.owner[2] }

    private func savedEmployees(_ names: [String]) throws -> [ManagedObject] {
        let objects = try names.map { try employee($0) }
        try context.save()
        return objects
    }

    // MARK: Lists

    func testUpdatedObjectsAreListedInTheOrderOfTheirFirstChange() throws {
        let people = try savedEmployees(["Ada", "Bob"])
        try people[1].set("age", 1)
        try people[0].set("age", 2)
        try people[1].set("age", 3)
        XCTAssertEqual(tracker.updated, [people[1], people[0]])
        tracker.checkInvariants()
    }

    func testDeletedObjectStaysInTheListOfItsUpdate() throws {
        let ada = try savedEmployees(["Ada"])[0]
        try ada.set("age", 1)
        try context.delete(ada)
        XCTAssertEqual(tracker.updated, [ada])
        XCTAssertEqual(tracker.deleted, [ada])
        XCTAssertEqual(context.updatedObjects, [])
        XCTAssertEqual(context.deletedObjects, [ada])
        tracker.checkInvariants()
    }

    func testRevertedUpdateStaysListedOnce() throws {
        let ada = try savedEmployees(["Ada"])[0]
        try ada.set("age", 5)
        try context.refresh(ada, mergeChanges: false)
        XCTAssertFalse(ada.isUpdated)
        XCTAssertEqual(tracker.updated, [ada])
        XCTAssertFalse(tracker.hasChanges)
        XCTAssertEqual(context.updatedObjects, [])
        try ada.set("age", 6)
        XCTAssertEqual(tracker.updated, [ada])
        XCTAssertTrue(tracker.hasChanges)
        tracker.checkInvariants()
    }

    func testObjectDeletedBeforeItsFirstSaveStaysListedAsInserted() throws {
        let ada = try employee("Ada")
        try context.delete(ada)
        try context.processPendingChanges()
        XCTAssertTrue(ada.isGone)
        XCTAssertEqual(tracker.inserted, [ada])
        XCTAssertFalse(tracker.hasChanges)
        XCTAssertEqual(context.insertedObjects, [])
        tracker.checkInvariants()
    }

    func testUndoneDeletionStaysListedOnce() throws {
        let ada = try savedEmployees(["Ada"])[0]
        try context.setUndoManager(UndoManager())
        try context.delete(ada)
        try context.processPendingChanges()
        try context.undo()
        XCTAssertFalse(ada.isDeleted)
        XCTAssertEqual(tracker.deleted, [ada])
        XCTAssertEqual(context.deletedObjects, [])
        try context.delete(ada)
        XCTAssertEqual(tracker.deleted, [ada])
        XCTAssertEqual(context.deletedObjects, [ada])
    }

    // MARK: Clearing

    func testClearEmptiesTheListsAndRemovesTheirFlags() throws {
        let people = try savedEmployees(["Ada", "Bob", "Dan"])
        let cid = try employee("Cid")
        try people[0].set("age", 1)
        try context.delete(people[1])
        try context.detectConflicts(for: people[2])
        XCTAssertEqual(tracker.all, [cid, people[0], people[1]])
        XCTAssertEqual(tracker.locked, [people[2]])
        tracker.clear()
        XCTAssertEqual(tracker.all, [])
        XCTAssertEqual(tracker.locked, [])
        let flags: ManagedObject.State = [.listedInserted, .listedUpdated, .listedDeleted, .locked]
        for object in people + [cid] { XCTAssertTrue(object.state.isDisjoint(with: flags)) }
        XCTAssertFalse(tracker.hasEvent)
        XCTAssertEqual(changesWord, 0)
    }

    /// The word may show a change that was reverted, but never misses one.
    func testOtherThreadsSeeAChangeUntilTheListsAreCleared() throws {
        let ada = try savedEmployees(["Ada"])[0]
        XCTAssertEqual(changesWord, 0)
        try ada.set("age", 1)
        XCTAssertEqual(changesWord, 1)
        try context.refresh(ada, mergeChanges: false)
        XCTAssertEqual(changesWord, 1)
        try context.rollback()
        XCTAssertEqual(changesWord, 0)
        try context.delete(ada)
        XCTAssertEqual(changesWord, 1)
        try context.save()
        XCTAssertEqual(changesWord, 0)
    }

    func testObjectIsLockedOnceUntilTheSave() throws {
        let ada = try savedEmployees(["Ada"])[0]
        try context.detectConflicts(for: ada)
        try context.detectConflicts(for: ada)
        XCTAssertEqual(tracker.locked, [ada])
        try context.save()
        XCTAssertEqual(tracker.locked, [])
        try context.detectConflicts(for: ada)
        XCTAssertEqual(tracker.locked, [ada])
    }

    func testDeletedRowIsKnownUntilTheListsAreCleared() throws {
        let people = try savedEmployees(["Ada", "Bob"])
        tracker.noteMissingRow(people[0])
        XCTAssertTrue(tracker.isRowDeleted(people[0]))
        XCTAssertFalse(tracker.isRowDeleted(people[1]))
        tracker.clear()
        XCTAssertFalse(tracker.isRowDeleted(people[0]))
    }

    // MARK: Stores

    func testRemovedStoreLosesItsAssignmentsAndKeys() throws {
        let second = try coordinator.add(
            MemoryStore(model: model, identifier: "00000000-0000-0000-0000-00000000000B", path: "second"))
        let (ada, bob) = (try employee("Ada"), try employee("Bob"))
        tracker.assign(place, to: ada)
        tracker.assign(second, to: bob)
        tracker.reservedKeys[ada.primaryKey] = (store: place, key: 7)
        tracker.reservedKeys[bob.primaryKey] = (store: second, key: 8)
        XCTAssertEqual(tracker.keyForSave(ada), 7)
        tracker.removeGone(in: place)
        XCTAssertNil(tracker.assignedStores[ObjectIdentifier(ada)])
        XCTAssertTrue(tracker.assignedStores[ObjectIdentifier(bob)] === second)
        XCTAssertEqual(tracker.keyForSave(ada), ada.primaryKey)
        XCTAssertEqual(tracker.keyForSave(bob), 8)
    }
}
