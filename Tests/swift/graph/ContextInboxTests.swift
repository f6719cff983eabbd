import Corestone
import XCTest

@testable import CorestoneGraph

/// Changes that wait for a context with a private queue.
final class ContextInboxTests: GraphTestCase {
    /// Changes that could not be merged are put back, and must not prevent the delivery of later changes.
    func testChangesPutBackAreDeliveredWithTheNextSave() throws {
        let ada = try employee("Ada"), bob = try employee("Bob")
        try context.save()
        let shown = Context(coordinator: coordinator, queue: .privateQueue)
        shown.automaticallyMergesChangesFromParent = true
        try shown.performAndWait { for each in try $0.fetch("Employee") { _ = try each.get("name", as: String.self) } }
        let merged = Locked<Set<ObjectID>>([])
        let observation = try shown.performAndWait { shown in
            shown.observe(.didMergeChangesObjectIDs) { _, changes in
                merged.withLock { $0.formUnion(changes.ids.updated) }
            }
        }
        // As after a merge that failed because another connection held the store's lock.
        shown.links.inbox.putBack(ChangedIDs(updated: [ada.objectID]))
        try bob.set("name", "Robert")
        try context.save()
        let end = ContinuousClock.now + .seconds(60)
        while merged.withLock({ $0.count }) < 2, ContinuousClock.now < end { usleep(2000) }
        XCTAssertEqual(merged.withLock { $0 }, [ada.objectID, bob.objectID])
        observation.cancel()
    }

    /// While a block that processes the inbox is queued, further saves do not queue another one.
    func testInboxMergesManySavesInOneBlock() throws {
        let ada = try employee("Ada")
        try context.save()
        let shown = Context(coordinator: coordinator, queue: .privateQueue)
        shown.automaticallyMergesChangesFromParent = true
        let theirs = try shown.performAndWait { try $0.fetch("Employee")[0] }
        let go = DispatchSemaphore(value: 0)
        try shown.enqueue { _ in go.wait() }
        for age in 1...20 {
            try ada.set("age", age)
            try context.save()
        }
        go.signal()
        XCTAssertEqual(try shown.performAndWait { _ in try theirs.get("age", as: Int.self) }, 20)
        XCTAssertTrue(shown.links.inbox.isEmpty)
    }
}
