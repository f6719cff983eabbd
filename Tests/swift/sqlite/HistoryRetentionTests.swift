import CorestoneModel
import CorestoneValues
import XCTest

@testable import CorestoneGraph
@testable import CorestoneSQLite

/// Consumers that hold up purges, and purges by age, count and size.
final class HistoryRetentionTests: HistoryTestCase {
    private var coordinator: Coordinator { here.coordinator }
    private var store: Store { here.coordinator.stores[0] }

    private func save(_ count: Int) throws {
        for _ in 0..<count {
            try insert("Car", in: here)
            try here.save()
        }
    }

    private func numbers() throws -> [Int64] { try transactions().map(\.number) }

    func testPurgeKeepsTheNewestTransactions() throws {
        try save(5)
        let purge = try coordinator.purgeHistory(of: store, keeping: HistoryRetention(count: 2))
        XCTAssertEqual([purge.transactions, purge.changes], [3, 3])
        XCTAssertEqual(try numbers(), [4, 5])
        XCTAssertEqual(try coordinator.purgeHistory(of: store, keeping: HistoryRetention(count: 10)).transactions, 0)
        XCTAssertEqual(try coordinator.purgeHistory(of: store, keeping: HistoryRetention(count: 0)).transactions, 2)
        XCTAssertEqual(try numbers(), [])
    }

    func testPurgeByAgeDeletesOldTransactions() throws {
        try save(3)
        _ = try shell("a.sqlite", "UPDATE ATRANSACTION SET ZTIMESTAMP = ZTIMESTAMP - 1000 WHERE Z_PK < 3")
        XCTAssertEqual(try coordinator.purgeHistory(of: store, keeping: HistoryRetention(age: 2000)).transactions, 0)
        XCTAssertEqual(try coordinator.purgeHistory(of: store, keeping: HistoryRetention(age: 500)).transactions, 2)
        XCTAssertEqual(try numbers(), [3])
    }

    func testPurgeBySizeDeletesTheOldestTransactions() throws {
        for _ in 0..<20 {
            for _ in 0..<100 { try insert("Car", in: here) }
            try here.save()
        }
        let size = try coordinator.historySize(of: store)
        XCTAssertEqual([size.transactions, size.changes], [20, 2000])
        XCTAssertGreaterThan(size.bytes, 20_000)
        try coordinator.purgeHistory(of: store, keeping: HistoryRetention(bytes: size.bytes / 2))
        let left = try numbers()
        XCTAssertTrue((9...10).contains(left.count), "\(left)")
        XCTAssertEqual(left.last, 20)
    }

    func testPurgeKeepsTransactionsThatAConsumerHasNotRead() throws {
        try save(2)
        try coordinator.registerHistoryConsumer("sync", of: store)
        try save(3)
        let purge = try coordinator.purgeHistory(of: store, keeping: HistoryRetention(count: 0))
        XCTAssertEqual(purge.transactions, 2)
        XCTAssertEqual(purge.heldBy?.name, "sync")
        XCTAssertEqual(try numbers(), [3, 4, 5])
        XCTAssertEqual(
            try there.history(since: HistoryToken(storeIdentifier: store.identifier, transactionNumber: 2)).next()?
                .number, 3)
        try coordinator.moveHistoryConsumer("sync", of: store, to: try token())
        // Without limits, a purge deletes the transactions that every consumer has read.
        XCTAssertEqual(try coordinator.purgeHistory(of: store).transactions, 3)
        XCTAssertTrue(try coordinator.unregisterHistoryConsumer("sync", of: store))
        XCTAssertFalse(try coordinator.unregisterHistoryConsumer("sync", of: store))
    }

    func testPurgeWithoutLimitsAndConsumersDeletesNothing() throws {
        try save(2)
        XCTAssertEqual(try coordinator.purgeHistory(of: store).transactions, 0)
        XCTAssertEqual(try numbers(), [1, 2])
    }

    func testPurgeStopsWhenItsLastConsumerIsDeregistered() throws {
        for _ in 0..<3 {
            for _ in 0..<6_000 { try insert("Car", in: here) }
            try here.save()
        }
        let first = HistoryToken(storeIdentifier: store.identifier, transactionNumber: 2)
        try coordinator.registerHistoryConsumer("sync", of: store, at: first)
        let purge = try coordinator.purgeHistory(of: store) { _, _ in
            (try? self.coordinator.unregisterHistoryConsumer("sync", of: self.store)) != nil
        }
        XCTAssertEqual(purge.transactions, 1)
        XCTAssertEqual(try numbers(), [2, 3])
    }

    func testConsumerTokenMustBeInTheHistory() throws {
        try save(4)
        try coordinator.purgeHistory(of: store, keeping: HistoryRetention(count: 2))
        func token(_ number: Int64) -> HistoryToken {
            HistoryToken(storeIdentifier: store.identifier, transactionNumber: number)
        }
        for number: Int64 in [1, 5, 1000] {
            assertCode(.persistentHistoryTokenExpired) {
                try self.coordinator.registerHistoryConsumer("sync", of: self.store, at: token(number))
            }
        }
        try coordinator.registerHistoryConsumer("sync", of: store, at: token(2))
        assertCode(.persistentHistoryTokenExpired) {
            try self.coordinator.moveHistoryConsumer("sync", of: self.store, to: token(1000))
        }
        XCTAssertEqual(try coordinator.moveHistoryConsumer("sync", of: store, to: token(3)).transactionNumber, 3)
    }

    func testPurgeFailsForAStoreWithoutHistory() throws {
        let plain = try context("plain", nil, at: "plain.sqlite", history: false)
        let store = plain.coordinator.stores[0]
        XCTAssertThrowsError(try plain.coordinator.purgeHistory(of: store)) {
            XCTAssertTrue((($0 as? CoreError)?.message ?? "").contains("does not have a history"))
        }
        var options = StoreOptions.readOnly
        options.keepsHistory = true
        let reader = try Coordinator(model: HistoryTestCase.cars())
        let readOnly = try reader.addSQLiteStore(at: path("plain.sqlite"), options: options)
        XCTAssertThrowsError(try reader.purgeHistory(of: readOnly)) {
            XCTAssertTrue((($0 as? CoreError)?.message ?? "").contains("; open the store for writing, with CST_STORE"))
        }
        XCTAssertEqual(try plain.coordinator.historySize(of: store), HistorySize())
    }

    func testExpiredLeaseDeregistersTheConsumer() throws {
        try coordinator.registerHistoryConsumer("old", of: store, lease: 60)
        try save(2)
        _ = try shell("a.sqlite", "UPDATE CST_HISTORYCONSUMER SET ZLASTSEEN = ZLASTSEEN - 61")
        let purge = try coordinator.purgeHistory(of: store, keeping: HistoryRetention(count: 0))
        XCTAssertEqual(purge.transactions, 2)
        XCTAssertEqual(purge.expired.map(\.name), ["old"])
        XCTAssertNil(purge.heldBy)
    }

    func testRegisteringAgainKeepsThePositionOfTheConsumer() throws {
        try save(1)
        try coordinator.registerHistoryConsumer("sync", of: store)
        try save(1)
        XCTAssertEqual(try coordinator.registerHistoryConsumer("sync", of: store, lease: 5).transactionNumber, 1)
        let back = HistoryToken(storeIdentifier: store.identifier, transactionNumber: 0)
        XCTAssertEqual(try coordinator.moveHistoryConsumer("sync", of: store, to: back).transactionNumber, 1)
        XCTAssertEqual(try there.coordinator.historyConsumers(of: there.coordinator.stores[0]).map(\.lease), [5])
        XCTAssertThrowsError(try coordinator.moveHistoryConsumer("nobody", of: store, to: back))
        XCTAssertThrowsError(try coordinator.registerHistoryConsumer("", of: store))
        XCTAssertThrowsError(try coordinator.registerHistoryConsumer("a", of: store, lease: 0))
    }

    func testPurgeKeepsAWeekForAMirroredStore() throws {
        try save(2)
        _ = try shell("a.sqlite", "CREATE TABLE ANSCKEXPORTMETADATA (Z_PK INTEGER PRIMARY KEY, ZHISTORYTOKEN BLOB)")
        let purge = try coordinator.purgeHistory(of: store, keeping: HistoryRetention(count: 0))
        XCTAssertEqual(purge.transactions, 0)
        XCTAssertTrue(try XCTUnwrap(purge.reason).contains("CloudKit"))
        XCTAssertEqual(try numbers(), [1, 2])
    }

    func testConsumerTableIsNotReportedAsDamage() throws {
        try coordinator.registerHistoryConsumer("sync", of: store)
        try save(1)
        XCTAssertEqual(try StoreReport(ofStoreAt: path("a.sqlite")).problems.map(\.message), [])
        XCTAssertFalse(try context("again", nil).coordinator.stores[0].isReadOnly)
    }
}
