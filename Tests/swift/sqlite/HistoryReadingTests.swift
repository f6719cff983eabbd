import CorestoneModel
import CorestonePredicate
import CorestoneContainers
import CorestoneValues
import Foundation
import XCTest

@testable import CorestoneGraph
@testable import CorestoneSQLite

/// Two containers on one file with a history: `here` saves as author1, `there` as author2.
class HistoryTestCase: StoreTestCase {
    var here: Context!
    var there: Context!
    var clock = 0

    static func cars() throws -> Model {
        let model = Model()
        let car = try model.addEntity(named: "Car")
        for name in ["maker", "model", "numberPlate"] {
            try car.addAttribute(named: name, type: .string).setOptional(true)
        }
        try model.addEntity(named: "SportCar").setParent(car)
        let person = try model.addEntity(named: "Person")
        try person.addAttribute(named: "firstName", type: .string).setOptional(true)
        let last = try person.addAttribute(named: "lastName", type: .string)
        try last.setOptional(true)
        try last.setPreservesValueInHistory(true)
        return model
    }

    func context(_ name: String, _ author: String?, at file: String = "a.sqlite", history: Bool = true) throws
        -> Context
    {
        let coordinator = try Coordinator(model: HistoryTestCase.cars())
        var options = StoreOptions()
        options.keepsHistory = history
        try coordinator.addSQLiteStore(at: path(file), options: options)
        let context = Context(coordinator: coordinator)
        context.name = name
        context.transactionAuthor = author
        return context
    }

    override func setUpWithError() throws {
        try super.setUpWithError()
        here = try context("viewContext1", "author1")
        there = try context("viewContext2", "author2")
    }

    override func tearDown() {
        (here, there) = (nil, nil)
        super.tearDown()
    }

    @discardableResult
    func insert(_ entity: String, in context: Context, _ values: [String: String] = [:]) throws -> ManagedObject {
        let object = try context.insert(context.coordinator.model.requireEntity(named: entity))
        for (key, value) in values { try object.setValue(.string(value), forKey: key) }
        return object
    }

    func transactions(_ request: HistoryRequest = HistoryRequest(), in context: Context? = nil) throws
        -> [HistoryTransaction]
    {
        guard case .transactions(let found) = try (context ?? here).coordinator.fetchHistory(request) else {
            throw CoreError(.internal, "no transactions")
        }
        return found
    }

    func token(_ context: Context? = nil) throws -> HistoryToken {
        try XCTUnwrap(try (context ?? here).coordinator.currentHistoryToken())
    }

    func assertCode(_ code: CocoaCode, _ body: () throws -> Void, line: UInt = #line) {
        XCTAssertThrowsError(try body(), line: line) {
            XCTAssertEqual(($0 as? CoreError)?.code, code.rawValue, line: line)
        }
    }

    /// T1: two cars and a sport car; T2: a person; T3: its name changes, and the second car is deleted.
    func drive() throws -> (tokens: [HistoryToken], person: ManagedObject) {
        var tokens = [try token()]
        func saved() throws {
            try here.save()
            XCTAssertEqual(try token(), try token(there))
            tokens.append(try token())
        }
        try insert("Car", in: here, ["numberPlate": "1"])
        let second = try insert("Car", in: here, ["numberPlate": "2"])
        try insert("SportCar", in: here)
        try saved()
        let person = try insert("Person", in: here, ["firstName": "Ann", "lastName": "Lee"])
        try saved()
        try person.setValue(.string("Eve"), forKey: "firstName")
        try here.delete(second)
        try saved()
        return (tokens, person)
    }
}

final class HistoryReadingTests: HistoryTestCase {
    func testNewStoreHasATokenAndNoTransaction() throws {
        XCTAssertEqual(try transactions().count, 0)
        let start = try token()
        XCTAssertEqual(start.transactionNumber(ofStore: here.coordinator.stores[0].identifier), 0)
        XCTAssertEqual(try transactions(HistoryRequest(after: .token(start))).count, 0)
        XCTAssertNil(here.savedHistoryToken)
    }

    func testTransactionsListTheirChanges() throws {
        let (tokens, person) = try drive()
        XCTAssertEqual(Set(tokens).count, 4)
        let all = try transactions()
        XCTAssertEqual(all.map(\.number), [1, 2, 3])
        XCTAssertEqual(all.map(\.token), Array(tokens.dropFirst()))
        XCTAssertEqual(all.map(\.author), ["author1", "author1", "author1"])
        XCTAssertEqual(all.map(\.contextName), ["viewContext1", "viewContext1", "viewContext1"])
        XCTAssertEqual(all[0].changes?.map(\.objectID.entity.name).sorted(), ["Car", "Car", "SportCar"])
        XCTAssertEqual(Set(all[0].changes?.map(\.kind) ?? []), [.insert])
        let last = try XCTUnwrap(all[2].changes)
        XCTAssertEqual(last.map(\.kind), [.update, .delete])
        XCTAssertEqual(last[0].objectID, person.objectID)
        XCTAssertEqual(last[0].updatedProperties.map(\.name), ["firstName"])
        XCTAssertNil(last[0].tombstone)
        XCTAssertEqual(last[1].tombstone, [:])
        XCTAssertEqual(here.savedHistoryToken, tokens[3])
    }

    func testTombstonesKeepPreservedValues() throws {
        let person = try insert("Person", in: here, ["firstName": "Ann", "lastName": "Lee"])
        try here.save()
        try here.delete(person)
        try here.save()
        let change = try XCTUnwrap(try transactions(in: there).last?.changes?.first)
        XCTAssertEqual(change.tombstone, ["lastName": .string("Lee")])
    }

    func testRequestReturnsTransactionsAfterTokenTransactionOrDate() throws {
        let (tokens, _) = try drive()
        for (place, count) in [3, 2, 1, 0].enumerated() {
            XCTAssertEqual(try transactions(HistoryRequest(after: .token(tokens[place]))).count, count)
        }
        let all = try transactions()
        XCTAssertEqual(try transactions(HistoryRequest(after: .transaction(all[0]))).map(\.number), [2, 3])
        XCTAssertEqual(try transactions(HistoryRequest(after: .date(all[1].timestamp))).map(\.number), [3])
        XCTAssertEqual(try transactions(HistoryRequest(after: .date(-.infinity))).map(\.number), [1, 2, 3])
    }

    func testHistoryRequestsReturnEachResultType() throws {
        let (tokens, _) = try drive()
        var request = HistoryRequest(after: .token(tokens[2]))
        request.resultType = .transactions
        XCTAssertNil(try transactions(request).first?.changes)
        request.resultType = .count
        guard case .count(1) = try here.coordinator.fetchHistory(request) else { return XCTFail() }
        request.resultType = .objectIDs
        guard case .objectIDs(let ids) = try here.coordinator.fetchHistory(request) else { return XCTFail() }
        XCTAssertEqual(ids.map(\.entity.name), ["Person", "Car"])
        request.resultType = .changes
        guard case .changes(let changes) = try here.coordinator.fetchHistory(request) else { return XCTFail() }
        XCTAssertEqual(changes.map(\.transaction.number), [3, 3])
        request.resultType = .status
        guard case .status(true) = try here.coordinator.fetchHistory(request) else { return XCTFail() }
    }

    func testPredicatesSelectTransactions() throws {
        let (tokens, _) = try drive()
        func count(_ format: String, _ arguments: [PropertyValue] = []) throws -> Int {
            var request = HistoryRequest()
            request.predicate = try Predicate.parse(format, arguments: arguments)
            return try transactions(request).count
        }
        let second = PropertyValue.object(HistoryTokenValue(tokens[2]))
        XCTAssertEqual(try count("token = %@", [second]), 1)
        XCTAssertEqual(try count("token >= %@", [second]), 2)
        XCTAssertEqual(try count("token <= %@", [second]), 2)
        XCTAssertEqual(try count("author = 'author1' AND contextName = 'viewContext1'"), 3)
        XCTAssertEqual(try count("author = 'author2' AND contextName = 'viewContext1'"), 0)
        XCTAssertEqual(try count("transactionNumber IN {1, 3}"), 2)
        assertCode(.persistentHistoryTokenExpired) {
            _ = try count("token > %@", [.object(HistoryTokenValue(tokens[0]))])
        }
        XCTAssertThrowsError(try count("changeType = 1")) { error in
            XCTAssertEqual((error as? CoreError)?.key, "changeType")
            XCTAssertEqual((error as? CoreError)?.entity, "Transaction")
        }
    }

    func testPredicatesSelectChanges() throws {
        let (tokens, person) = try drive()
        var request = HistoryRequest()
        request.subject = .changes
        request.resultType = .changes
        func changes(_ format: String, _ arguments: [PropertyValue] = [], in context: Context) throws -> [HistoryChange]
        {
            request.predicate = try Predicate.parse(format, arguments: arguments)
            guard case .changes(let found) = try context.coordinator.fetchHistory(request) else { return [] }
            return found
        }
        XCTAssertEqual(
            try changes("changeType = 0 AND (changedEntity = 'Car' OR changedEntity = 'Person')", in: here).count, 3)
        XCTAssertEqual(try changes("transaction.author = 'author1' AND author = 'author1'", in: here).count, 6)
        XCTAssertEqual(try changes("ANY updatedProperties = 'firstName'", in: here).count, 1)
        request.start = .token(tokens[2])
        for context in [here!, there!] {
            let id = PropertyValue.object(ObjectIDReference(person.objectID))
            let found = try changes("changedObjectID = %@", [id], in: context)
            XCTAssertEqual(found.map(\.kind), [.update])
        }
    }

    func testHistoryIsSortedAndLimited() throws {
        _ = try drive()
        var request = HistoryRequest()
        request.sortDescriptors = [SortDescriptor("-transactionNumber")]
        request.limit = 2
        XCTAssertEqual(try transactions(request).map(\.number), [3, 2])
        request.subject = .changes
        request.sortDescriptors = [SortDescriptor("changeType", ascending: false), SortDescriptor("changeID")]
        request.resultType = .changes
        guard case .changes(let changes) = try here.coordinator.fetchHistory(request) else { return XCTFail() }
        XCTAssertEqual(changes.map(\.kind), [.delete, .update])
        XCTAssertThrowsError(try here.coordinator.history(request))
    }

    func testExcludingAnAuthorKeepsTransactionsWithoutAuthor() throws {
        let unsigned = try context("other", nil)
        try insert("Car", in: unsigned)
        try unsigned.save()
        try insert("Car", in: here)
        try here.save()
        let cursor = try here.history(excludingAuthor: "author1")
        XCTAssertNil(try XCTUnwrap(try cursor.next()).author)
        XCTAssertNil(try cursor.next())
        XCTAssertEqual(cursor.token, try token())
    }

    func testCursorContinuesAfterItsEnd() throws {
        let cursor = try there.history()
        XCTAssertNil(try cursor.next())
        for number in 1...3 {
            try insert("Car", in: here)
            try here.save()
            XCTAssertEqual(try cursor.next()?.number, Int64(number))
            XCTAssertNil(try cursor.next())
        }
    }

    func testTransactionsAreReadInBatches() throws {
        for _ in 0..<40 {
            try insert("Car", in: here)
            try here.save()
        }
        for size in [1, 7, 0] {
            var request = HistoryRequest()
            request.batchSize = size
            XCTAssertEqual(try transactions(request).map(\.number), Array(1...40))
        }
    }

    func testTransactionsAreMergedIntoAContext() throws {
        let person = try insert("Person", in: here, ["firstName": "Ann"])
        try here.save()
        let id = try XCTUnwrap(try there.coordinator.objectID(forURI: person.objectID.uri))
        let copy = try there.object(with: id)
        XCTAssertEqual(try copy.value(forKey: "firstName"), .string("Ann"))
        let start = try token()
        try person.setValue(.string("Eve"), forKey: "firstName")
        try here.save()
        XCTAssertEqual(try copy.value(forKey: "firstName"), .string("Ann"))
        let cursor = try there.history(since: start, excludingAuthor: "author2")
        while let transaction = try cursor.next() { try there.merge(transaction) }
        XCTAssertEqual(try copy.value(forKey: "firstName"), .string("Eve"))
    }

    // MARK: - Deletion

    func testDeletionStopsBeforeTheTokenTransactionOrDate() throws {
        let (tokens, _) = try drive()
        let all = try transactions()
        let coordinator = here.coordinator
        XCTAssertEqual(try coordinator.deleteHistory(before: .transaction(all[0])).transactions, 0)
        XCTAssertEqual(try transactions().count, 3)
        XCTAssertEqual(try coordinator.deleteHistory(before: .token(tokens[3])).transactions, 2)
        XCTAssertEqual(try transactions().map(\.number), [3])
        XCTAssertEqual(try coordinator.deleteHistory(before: .date(.infinity)).changes, 2)
        XCTAssertEqual(try transactions().count, 0)
        XCTAssertEqual(try token(), tokens[3])
        // Numbering continues.
        try insert("Car", in: here)
        try here.save()
        XCTAssertEqual(try transactions().map(\.number), [4])
    }

    func testTokensOfDeletedTransactionsAreExpired() throws {
        let (tokens, _) = try drive()
        let cursor = try there.history(since: tokens[0])
        try here.coordinator.deleteHistory(before: .token(tokens[3]))
        assertCode(.persistentHistoryTokenExpired) { _ = try self.there.history(since: tokens[1]) }
        assertCode(.persistentHistoryTokenExpired) { _ = try cursor.next() }
        XCTAssertEqual(try transactions(HistoryRequest(after: .token(tokens[2]))).map(\.number), [3])
        let store = here.coordinator.stores[0].identifier
        assertCode(.persistentHistoryTokenExpired) {
            _ = try self.there.history(since: HistoryToken(storeIdentifier: store, transactionNumber: 4))
        }
        assertCode(.persistentHistoryTokenStore) {
            _ = try self.there.history(
                since: HistoryToken(storeIdentifier: "6E2D9D1C-6E5B-4E0A-9D61-0C5B9F1E3A77", transactionNumber: 1))
        }
        try here.coordinator.deleteHistory(before: .date(.infinity))
        assertCode(.persistentHistoryTokenExpired) { _ = try self.there.history(since: tokens[2]) }
        XCTAssertNil(try there.history(since: tokens[3]).next())
    }

    func testCursorFailsWhenUnreadTransactionsWereDeleted() throws {
        let cursor = try there.history()
        try insert("Car", in: here)
        try here.save()
        try here.coordinator.deleteHistory(before: .date(.infinity))
        assertCode(.persistentHistoryTokenExpired) { _ = try cursor.next() }
    }

    func testTokenFailsWhenTheFileWasRestored() throws {
        _ = try drive()
        let cursor = try there.history()
        while try cursor.next() != nil {}
        _ = try shell(
            "a.sqlite",
            "DELETE FROM ACHANGE WHERE ZTRANSACTIONID > 1; DELETE FROM ATRANSACTION WHERE Z_PK > 1; "
                + "UPDATE Z_PRIMARYKEY SET Z_MAX = 1 WHERE Z_ENT = 16002")
        assertCode(.persistentHistoryTokenExpired) { _ = try cursor.next() }
    }

    func testHistoryAfterADeletedTransactionFails() throws {
        _ = try drive()
        let all = try transactions()
        try here.coordinator.deleteHistory(before: .transaction(all[2]))
        assertCode(.persistentHistoryTokenExpired) {
            _ = try self.transactions(HistoryRequest(after: .transaction(all[0])))
        }
        XCTAssertEqual(try transactions(HistoryRequest(after: .transaction(all[1]))).map(\.number), [3])
    }

    /// A table of another program: its keys are text, so they do not have a numeric order.
    func testHistoryTablesWithTextualKeysAreReportedAsDamaged() throws {
        for _ in 0..<25 {
            try insert("Car", in: here)
            try here.save()
        }
        (here, there) = (nil, nil)
        func rebuild(_ table: String, _ column: String) throws {
            let sql = try shell("a.sqlite", "SELECT sql FROM sqlite_master WHERE name = '\(table)'")
                .replacingOccurrences(of: "\(column) INTEGER PRIMARY KEY", with: "\(column) VARCHAR")
                .replacingOccurrences(of: "\(column) INTEGER", with: "\(column) VARCHAR")
            _ = try shell(
                "a.sqlite",
                "ALTER TABLE \(table) RENAME TO OLD; \(sql); INSERT INTO \(table) SELECT * FROM OLD; DROP TABLE OLD")
        }
        try rebuild("ACHANGE", "ZTRANSACTIONID")
        try rebuild("ATRANSACTION", "Z_PK")
        _ = try shell("a.sqlite", "UPDATE ATRANSACTION SET Z_PK = 'a' WHERE Z_PK = '25'")
        here = try context("again", nil)
        for size in [2, 0] {
            var request = HistoryRequest()
            request.batchSize = size
            XCTAssertThrowsError(try transactions(request)) {
                XCTAssertEqual(($0 as? CoreError)?.status, .storeCorrupt)
            }
        }
    }

    func testDeletionIsCancelledBetweenSteps() throws {
        for _ in 0..<3 {
            for _ in 0..<6_000 { try insert("Car", in: here) }
            try here.save()
        }
        var steps: [[Int]] = []
        try here.coordinator.deleteHistory(before: .date(.infinity)) { transactions, changes in
            steps.append([transactions, changes])
            return true
        }
        XCTAssertEqual(steps, [[1, 6_000], [2, 12_000], [3, 18_000]])
        for _ in 0..<2 {
            for _ in 0..<6_000 { try insert("Car", in: here) }
            try here.save()
        }
        XCTAssertThrowsError(try here.coordinator.deleteHistory(before: .date(.infinity)) { _, _ in false }) {
            XCTAssertEqual(($0 as? CoreError)?.status, .cancelled)
        }
        XCTAssertEqual(try transactions().map(\.number), [5])
    }

    // MARK: - Stores

    func testStoreWithoutHistoryHasNoTokenAndNoTransactions() throws {
        let plain = try context("plain", nil, at: "plain.sqlite", history: false)
        try insert("Car", in: plain)
        try plain.save()
        XCTAssertNil(try plain.coordinator.currentHistoryToken())
        XCTAssertNil(try plain.history().next())
        XCTAssertNil(plain.savedHistoryToken)
    }

    func testStoreWithHistoryOpensReadOnlyWhenHistoryIsDisabled() throws {
        func open() throws -> Store {
            var options = StoreOptions()
            options.refusesHistory = true
            return try Coordinator(model: HistoryTestCase.cars()).addSQLiteStore(at: path("a.sqlite"), options: options)
        }
        // Empty history tables do not make the store read-only.
        XCTAssertFalse(try open().isReadOnly)
        _ = try drive()
        let store = try open()
        XCTAssertTrue(store.isReadOnly)
        XCTAssertTrue(try XCTUnwrap(store.readOnlyReason).contains("delete the history first"))
        try here.coordinator.deleteHistory(before: .date(.infinity))
        XCTAssertFalse(try open().isReadOnly)
    }

    func testHistoryOfSeveralStoresIsMergedByTime() throws {
        let coordinator = try Coordinator(model: HistoryTestCase.cars())
        var options = StoreOptions()
        options.keepsHistory = true
        let first = try coordinator.addSQLiteStore(at: path("one.sqlite"), options: options)
        let second = try coordinator.addSQLiteStore(at: path("two.sqlite"), options: options)
        let context = Context(coordinator: coordinator)
        for store in [first, second, first] {
            try context.assign(try insert("Car", in: context), to: store)
            try context.save()
        }
        let found = try transactions(in: context)
        XCTAssertEqual(found.map { $0.store === first }, [true, false, true])
        XCTAssertEqual(
            try coordinator.currentHistoryToken(),
            HistoryToken(transactionNumbers: [first.identifier: 2, second.identifier: 1]))
        var request = HistoryRequest(
            after: .token(HistoryToken(storeIdentifier: first.identifier, transactionNumber: 1)))
        XCTAssertEqual(
            try transactions(request, in: context).map(\.storeIdentifier), [second.identifier, first.identifier])
        request.affectedStores = [second]
        assertCode(.persistentHistoryTokenStore) { _ = try self.transactions(request, in: context) }
    }

    // MARK: - Tokens

    func testTokensOfTheSameStoresAreOrderedAndRoundTripAsJSON() throws {
        let (a, b) = ("6E2D9D1C-6E5B-4E0A-9D61-0C5B9F1E3A77", "7E2D9D1C-6E5B-4E0A-9D61-0C5B9F1E3A77")
        func token(_ numbers: [String: Int64]) -> HistoryToken { HistoryToken(transactionNumbers: numbers) }
        XCTAssertEqual(token([a: 1]).order(against: token([a: 2])), -1)
        XCTAssertEqual(token([a: 2, b: 1]).order(against: token([a: 2])), 1)
        XCTAssertEqual(token([a: 2, b: 0]).order(against: token([a: 2])), 0)
        XCTAssertNil(token([a: 2]).order(against: token([b: 2])))
        XCTAssertTrue(token([a: 1]) < token([a: 2]) && token([a: 2]) >= token([a: 2]))
        XCTAssertFalse(token([a: 2]) <= token([b: 2]))
        let both = token([a: 5, b: 7])
        XCTAssertEqual(try HistoryToken(json: both.json), both)
        XCTAssertEqual(try JSONDecoder().decode(HistoryToken.self, from: JSONEncoder().encode(both)), both)
        for bad in ["", "[]", "{\"x\": 1}", "{\"\(a)\": -1}", "{\"\(a)\": 1.5}"] {
            XCTAssertThrowsError(try HistoryToken(json: bad), bad)
        }
    }
}
