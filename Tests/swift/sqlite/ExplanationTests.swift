import CorestoneGraph
import CorestoneModel
import CorestonePredicate
import CorestoneSQLite
import CorestoneValues
import Foundation
import XCTest

/// Query plans of fetches, their log lines, and statistics.
final class ExplanationTests: XCTestCase {
    private var path = ""
    private var coordinator: Coordinator!
    private var context: Context!
    private var person: Entity!

    override func setUpWithError() throws {
        let model = Model()
        person = try model.addEntity(named: "Person")
        try person.addAttribute(named: "name", type: .string)
        try person.addAttribute(named: "age", type: .integer32)
        try person.addIndex(FetchIndex(name: "byAge", elements: [FetchIndex.Element(property: "age")]))
        path = NSTemporaryDirectory() + UUID().uuidString + ".sqlite"
        coordinator = try Coordinator(model: model)
        try coordinator.addSQLiteStore(at: path)
        context = Context(coordinator: coordinator)
        for age in 0..<10 {
            let object = try context.insert(person)
            try object.setValue(.int(Int64(age)), forKey: "age")
        }
        try context.save()
    }

    override func tearDown() {
        DebugLog.setSink(nil)
        DebugLog.sqlDetail = .nothing
        for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + suffix) }
    }

    private func request(_ predicate: String) throws -> FetchRequest {
        FetchRequest(entity: person, predicate: try Predicate.parse(predicate))
    }

    func testExplanationNamesTheIndex() throws {
        let share = try XCTUnwrap(context.explain(try request("age > 7")).shares.first)
        XCTAssertEqual(share.indexes, ["Z_Person_byAge"])
        XCTAssertEqual(share.bindings, [.int(7)])
        XCTAssertNil(share.remainder)
        XCTAssertTrue(share.sql.hasPrefix("SELECT "))
    }

    func testExplanationNamesInMemoryPartsWithTheirReason() throws {
        let block = Predicate.block(BlockPredicate { _, _ in true })
        let told = try context.explain(
            FetchRequest(entity: person, predicate: try .and([block, try Predicate.parse("age > 7")])))
        let share = try XCTUnwrap(told.shares.first)
        XCTAssertNotNil(share.remainder)
        XCTAssertFalse(share.reasons.isEmpty)
        XCTAssertTrue(told.description.contains("in memory: "))
    }

    func testExplanationCountsUnsavedObjects() throws {
        _ = try context.insert(person)
        XCTAssertEqual(try context.explain(try request("age > 7")).pendingObjects, 1)
    }

    func testLogHasTheStatementAndItsRowCount() throws {
        let lines = Locked<[String]>([])
        DebugLog.setSink { line in lines.withLock { $0.append(line) } }
        DebugLog.sqlDetail = .statements
        _ = try context.fetch(try request("age > 7"))
        let told = lines.withLock { $0 }
        XCTAssertEqual(told.count, 2)
        XCTAssertTrue(told[0].hasPrefix("CoreData: sql: SELECT "), told[0])
        XCTAssertTrue(told[1].hasSuffix(" for 2 rows"), told[1])
    }

    /// A statement may be logged while the cursors of its file are being finished. A read by the sink fails, and leaves
    /// them as they are.
    func testReadByALogSinkFailsWhileACursorIsFinished() throws {
        let other = Context(coordinator: coordinator)
        other.stalenessInterval = 0
        let fault = try other.object(with: XCTUnwrap(context.fetch(try request("age == 9")).first).objectID)
        DebugLog.setSink { _ in }
        DebugLog.sqlDetail = .statements
        let cursor = try context.cursor(try request("age >= 0"), batchSize: 3)
        XCTAssertEqual(try cursor.next().count, 3)
        nonisolated(unsafe) let object = fault
        let errors = Locked<[(any Error)?]>([])
        DebugLog.setSink { _ in
            let error = Result { try object.value(forKey: "age") }.failure
            errors.withLock { $0.append(error) }
        }
        XCTAssertEqual(try other.fetch(try request("age > 7")).count, 2)
        DebugLog.setSink(nil)
        for error in errors.withLock({ $0 }) {
            let told = try XCTUnwrap(error as? CoreError, "the read did not fail")
            XCTAssertTrue(told.message.contains("the log callback used the store"), told.message)
        }
        XCTAssertEqual(errors.withLock { $0.count }, 3, "expected one line for the cursor and two for the fetch")
        XCTAssertEqual([try cursor.next().count, try cursor.next().count, try cursor.next().count], [3, 3, 1])
        XCTAssertEqual(try fault.value(forKey: "age"), .int(9))
    }

    func testStatisticsCountFetchesAndRowsUntilReset() throws {
        coordinator.resetStatistics()
        let other = Context(coordinator: coordinator)
        XCTAssertEqual(try other.fetch(try request("age > 7")).count, 2)
        XCTAssertEqual(try other.count(try request("age > 7")), 2)
        let counted = coordinator.statistics
        XCTAssertEqual(counted.fetches, 2)
        XCTAssertEqual(counted.fetchedRows, 2)
        XCTAssertEqual(counted.saves, 0)
        coordinator.resetStatistics()
        XCTAssertEqual(coordinator.statistics, Coordinator.Statistics())
    }

    func testLaunchArgumentsSetTheSQLDetail() throws {
        XCTAssertEqual(try LaunchArguments.take(["a", "-com.apple.CoreData.SQLDebug", "2"]), 1)
        XCTAssertEqual(DebugLog.sqlDetail, .transactions)
        XCTAssertThrowsError(try LaunchArguments.take(["-com.apple.CoreData.SQLDebug", "x"]))
        XCTAssertThrowsError(try LaunchArguments.take(["-com.apple.CoreData.SQLDbug", "1"])) {
            XCTAssertTrue("\($0)".contains("did you mean"), "\($0)")
        }
    }
}

extension Result {
    fileprivate var failure: Failure? {
        if case .failure(let error) = self { return error }
        return nil
    }
}
