import Corestone
import CorestoneValues
import XCTest

/// Notifications of a coordinator.
final class CoordinatorNotificationTests: GraphTestCase {
    private func line(_ kind: CoordinatorNotification, _ changes: StoreChanges) -> String {
        "\(kind) +\(changes.added.map(\.identifier.last!)) -\(changes.removed.map(\.identifier.last!))"
    }

    private func store(_ number: Int) -> TestStore {
        TestStore(model: model, identifier: "00000000-0000-0000-0000-00000000000\(number)")
    }

    func testObserversAreNotifiedWhenStoresAreAddedAndRemoved() throws {
        let coordinator = try Coordinator(model: model)
        var heard: [String] = []
        let tokens = CoordinatorNotification.allCases.map { kind in
            coordinator.observe(kind) { of, changes in
                XCTAssertTrue(of === coordinator)
                heard.append(self.line(kind, changes))
                if kind == .willRemoveStore { XCTAssertTrue(changes.removed[0].isOpen) }
            }
        }
        let one = try coordinator.add(store(1))
        _ = try coordinator.add(store(2))
        XCTAssertThrowsError(try coordinator.add(store(2)))
        try coordinator.remove(one)
        XCTAssertThrowsError(try coordinator.remove(one))
        XCTAssertEqual(
            heard,
            [
                "storesDidChange +[\"1\"] -[]", "storesDidChange +[\"2\"] -[]", "willRemoveStore +[] -[\"1\"]",
                "storesDidChange +[] -[\"1\"]",
            ])
        for token in tokens { token.cancel() }
        _ = try coordinator.add(store(1))
        XCTAssertEqual(heard.count, 4)
    }

    func testObserverOfAStoreRemovalCanRemoveTheStore() throws {
        let coordinator = try Coordinator(model: model)
        let one = try coordinator.add(store(1))
        var removals = 0
        let token = coordinator.observe(.willRemoveStore) { of, changes in
            removals += 1
            if removals == 1 { do { try of.remove(changes.removed[0]) } catch { XCTFail("\(error)") } }
        }
        XCTAssertThrowsError(try coordinator.remove(one), "the observer has already removed the store")
        XCTAssertEqual(removals, 2)
        XCTAssertTrue(coordinator.stores.isEmpty)
        token.cancel()
    }

    /// Notifications on one thread do not suppress those on another.
    func testObserverIsNotifiedOfStoresAddedOnEveryThread() throws {
        let coordinator = try Coordinator(model: model)
        let heard = Locked(0)
        let token = coordinator.observe(.storesDidChange) { _, _ in heard.withLock { $0 += 1 } }
        let done = expectation(description: "threads")
        done.expectedFulfillmentCount = 12
        for number in 0..<12 {
            let store = TestStore(model: model, identifier: "00000000-0000-0000-0000-0000000000\(number + 10)")
            Thread.detachNewThread {
                _ = try? coordinator.add(store)
                done.fulfill()
            }
        }
        wait(for: [done], timeout: 60)
        XCTAssertEqual(heard.withLock { $0 }, 12)
        token.cancel()
    }
}
