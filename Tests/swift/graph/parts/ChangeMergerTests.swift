import Corestone
import XCTest

@testable import CorestoneGraph

/// Single merges of other saves into a context, and the changes that a merge defers.
final class ChangeMergerTests: GraphTestCase {
    private struct Stop: Error {}

    private var second: Context!
    private var ada: ManagedObject!
    private var same: ManagedObject!

    private var merger: ChangeMerger { second.changeMerger }
    private var deferred: DeferredMerge? { second.mergeState.deferred[ObjectIdentifier(same)] }

    /// Ada with the age 30, read by a second context.
    override func setUpWithError() throws {
        try super.setUpWithError()
        ada = try employee("Ada")
        try ada.set("age", 30)
        try context.save()
        second = other()
        same = try second.object(with: ada.objectID)
        XCTAssertEqual(try same.get("age"), 30)
    }

    /// Deletes the object in the second context, which then merges a change of the object's age.
    private func mergeIntoDeletedObject() throws {
        try second.delete(same)
        try ada.set("age", 31)
        try context.save()
        try merger.merge(ChangedIDs(updated: [ada.objectID]))
    }

    func testChangeOfADeletedObjectIsMergedByTheRollback() throws {
        try mergeIntoDeletedObject()
        XCTAssertTrue(same.isDeleted)
        XCTAssertEqual(deferred?.isRowGone, false)
        XCTAssertTrue(merger.hasDeferredMerge(same))
        try second.rollback()
        XCTAssertTrue(second.mergeState.deferred.isEmpty)
        XCTAssertEqual(try same.get("age"), 31)
    }

    func testDeferredChangeIsDiscardedOnlyWhenTheSaveSucceeds() throws {
        try mergeIntoDeletedObject()
        XCTAssertThrowsError(try merger.resolvingDeferred { () -> Void in throw Stop() })
        XCTAssertTrue(merger.hasDeferredMerge(same))
        merger.resolvingDeferred {}
        XCTAssertTrue(second.mergeState.deferred.isEmpty)
    }

    /// A save does not write an object with transient changes only, so it does not resolve its conflicts.
    func testDeferredChangeOfAnObjectThatIsNotWrittenIsKept() throws {
        try same.set("speed", 2.5)
        XCTAssertTrue(same.hasChanges)
        merger.deferMerge(same, isBatch: true)
        merger.resolvingDeferred {}
        XCTAssertTrue(merger.hasDeferredMerge(same))
        try same.set("name", "Eva")
        merger.resolvingDeferred {}
        XCTAssertFalse(merger.hasDeferredMerge(same))
    }

    func testDeferredBatchChangeStaysOneWhenTheRowIsDeletedAndInsertedAgain() throws {
        merger.noteReinsertedRow(of: same)
        XCTAssertNil(deferred, "the row was not deleted before")
        merger.deferMerge(same, isBatch: true)
        XCTAssertEqual(deferred?.isBatch, true)
        merger.deferMerge(same, isRowGone: true)
        XCTAssertTrue(merger.isRowGone(same))
        XCTAssertEqual(deferred?.isBatch, true)
        merger.noteReinsertedRow(of: same)
        XCTAssertFalse(merger.isRowGone(same))
        XCTAssertEqual(deferred?.isBatch, true)
    }

    /// Without a deferred deletion, the caller reads the row itself, so the entry is removed either way.
    func testDeferredDeletionIsMergedBeforeTheChangesAreDiscarded() throws {
        // An object without a loaded row would leave the context.
        try same.fireIfNeeded()
        XCTAssertFalse(merger.mergesDeletion(of: same))
        merger.deferMerge(same)
        XCTAssertFalse(merger.mergesDeletion(of: same))
        XCTAssertNil(deferred)
        try context.delete(ada)
        try context.save()
        merger.deferMerge(same, isRowGone: true)
        XCTAssertTrue(merger.mergesDeletion(of: same))
        XCTAssertNil(deferred)
        XCTAssertTrue(same.isDeleted)
        XCTAssertFalse(second.hasChanges, "the deletion of another context is saved again")
    }

    func testLateMergeWaitsInTheInboxWhileAMergeCannotRun() throws {
        try ada.set("age", 31)
        try context.save()
        second.mergeState.isResolving = true
        merger.mergeLate(ChangedIDs(updated: [ada.objectID]))
        second.processInbox()
        XCTAssertFalse(second.links.inbox.isEmpty)
        XCTAssertEqual(try same.get("age"), 30)
        second.mergeState.isResolving = false
        second.processInbox()
        XCTAssertTrue(second.links.inbox.isEmpty)
        XCTAssertEqual(try same.get("age"), 31)
    }

    func testIDsOfAnotherCoordinatorAreTranslatedByTheStoresIdentifier() throws {
        let elsewhere = try Coordinator(model: model)
        let theirs = try elsewhere.add(store)
        let id = ObjectID(store: theirs, entity: ada.entity, reference: ada.primaryKey)
        let own = try XCTUnwrap(merger.ownID(id))
        XCTAssertTrue(own.store === coordinator.stores[0])
        XCTAssertEqual(own, ada.objectID)
        let unknown = try elsewhere.add(
            MemoryStore(model: model, identifier: "00000000-0000-0000-0000-00000000000B", path: "second"))
        XCTAssertNil(merger.ownID(ObjectID(store: unknown, entity: ada.entity, reference: 1)))
        XCTAssertNil(merger.ownID(try employee("Bob").objectID))
    }
}
