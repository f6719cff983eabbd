import Corestone
import XCTest

/// Asynchronous fetches, and fetches within predicates.
final class AsynchronousFetchTests: CompanyFileTestCase {
    private let count = 3000

    override func setUpWithError() throws {
        try super.setUpWithError()
        for number in 0..<count { try employee("\(10_000 + number)").set("age", number) }
        try context.save()
        try reopen()
    }

    private func request(_ predicate: String? = nil) throws -> FetchRequest {
        let request = FetchRequest(entityName: "Employee")
        request.predicate = try predicate.map { try Predicate.parse($0, arguments: []) }
        request.sortDescriptors = [SortDescriptor("name")]
        return request
    }

    /// Executes a request on a private queue and waits for its end.
    private func run(
        _ request: FetchRequest, in context: Context, estimate: Int = 0,
        meanwhile: (Context, AsynchronousFetchResult) throws -> Void = { _, _ in },
        check: @escaping (AsynchronousFetchResult) throws -> Void
    ) throws {
        let done = expectation(description: "the end")
        done.assertForOverFulfill = true
        let asynchronous = AsynchronousFetchRequest(request) { result in
            XCTAssertTrue(result.progress.isFinished)
            do { try check(result) } catch { XCTFail("\(error)") }
            done.fulfill()
        }
        asynchronous.estimatedResultCount = estimate
        try context.performAndWait { context in
            guard case .asynchronous(let result) = try context.execute(asynchronous) else {
                return XCTFail("not asynchronous")
            }
            try meanwhile(context, result)
        }
        wait(for: [done], timeout: 60)
    }

    private func background() -> Context { Context(coordinator: coordinator, queue: .privateQueue) }

    func testAsynchronousFetchReturnsFaultsOnTheQueueOfTheContext() throws {
        let context = background()
        try run(try request("age >= 10"), in: context, estimate: 5000) { _, result in
            XCTAssertNil(result.finalResult)
            XCTAssertGreaterThan(result.progress.totalUnitCount, 0)
        } check: { result in
            guard case .objects(let found)? = result.finalResult else { return XCTFail("no objects") }
            XCTAssertEqual(found.count, self.count - 10)
            XCTAssertTrue(found[0].isFault)
            XCTAssertEqual(try found[0].get("age"), 10)
            XCTAssertNil(result.operationError)
            XCTAssertEqual(result.progress.completedUnitCount, self.count - 10)
            XCTAssertEqual(result.progress.totalUnitCount, self.count - 10)
        }
    }

    /// The store is read once, by the thread that reads ahead, for each result type.
    func testAsynchronousFetchReadsTheStoreOnceForEachResultType() throws {
        for type in [FetchRequest.ResultType.objects, .objectIDs, .count, .dictionaries] {
            for batchSize in type == .objects ? [0, 50] : [0] {
                let request = try request("age < 100")
                request.resultType = type
                request.batchSize = batchSize
                let before = coordinator.statistics.fetches
                try run(request, in: background()) { result in
                    XCTAssertEqual(result.finalResult?.count, 100, "\(type)")
                    XCTAssertEqual(self.coordinator.statistics.fetches - before, 1, "\(type)")
                }
            }
        }
    }

    /// Changes made while the rows are read are included: the result is that of a fetch at the end.
    func testAsynchronousFetchIncludesChangesMadeDuringTheRead() throws {
        let context = background()
        try run(try request("age < 10"), in: context) { context, _ in
            let all = try context.fetch(try self.request("age < 3"))
            try context.delete(all[0])
            try all[1].set("age", 5000)
            try context.insert("Employee", ["name": "20000", "age": 1])
            try context.save()
            try all[2].set("age", 6000)
        } check: { result in
            guard case .objects(let found)? = result.finalResult else { return XCTFail("no objects") }
            XCTAssertEqual(try found.map { try $0.get("age") ?? -1 }, [3, 4, 5, 6, 7, 8, 9, 1])
        }
    }

    func testCancelledFetchReportsCancellation() throws {
        try run(try request(), in: background()) { _, result in
            result.cancel()
        } check: { result in
            XCTAssertTrue(result.isCancelled)
            XCTAssertNil(result.finalResult)
            XCTAssertEqual((result.operationError as? CoreError)?.status, .cancelled)
        }
    }

    /// A scan that would run indefinitely stops in the middle of a row.
    func testCancellationStopsALongScan() throws {
        // Every pair of employees, compared.
        let endless = try request(
            "SUBQUERY(department.employees, $a, SUBQUERY(department.employees, $b, $a.age * $b.age == -7).@count > 0)"
                + ".@count > 0")
        let everybody = try department("all")
        for object in try context.fetch("Employee") { try object.set("department", everybody) }
        try context.save()
        let start = Date()
        try run(endless, in: background()) { _, result in
            Thread.detachNewThread {
                Thread.sleep(forTimeInterval: 0.3)
                result.cancel()
            }
        } check: { result in
            XCTAssertEqual((result.operationError as? CoreError)?.status, .cancelled)
        }
        XCTAssertLessThan(Date().timeIntervalSince(start), 20)
    }

    func testInvalidAsynchronousFetchReportsItsError() throws {
        try run(try request("age < 'x'"), in: background()) { result in
            XCTAssertEqual((result.operationError as? CoreError)?.status, .predicate)
        }
        XCTAssertThrowsError(try context.execute(AsynchronousFetchRequest(request()))) {
            XCTAssertEqual(($0 as? CoreError)?.status, .invalidArgument)
            XCTAssertTrue("\($0)".contains("needs a context with a queue"), "\($0)")
        }
        let wrong = FetchRequest(entityName: "Nobody")
        XCTAssertThrowsError(try background().performAndWait { try $0.execute(AsynchronousFetchRequest(wrong)) })
    }

    /// The queue is free while a fetch runs.
    func testChildFetchesAsynchronouslyThroughItsParent() throws {
        let parent = background()
        let child = Context(parent: parent, queue: .privateQueue)
        try parent.performAndWait { try $0.insert("Employee", ["name": "20000", "age": -5]) }
        try run(try request("age < 1"), in: child) { result in
            XCTAssertEqual(result.finalResult?.count, 2)
        }
    }

    func testFetchCanBeAwaitedAndItsTaskCancelled() async throws {
        let context = background()
        let names = try await context.fetchAsynchronously(try request("age < 3")) { result -> [String] in
            guard case .objects(let people) = result else { return [] }
            return try people.map { try $0.get("name") ?? "" }
        }
        XCTAssertEqual(names, ["10000", "10001", "10002"])
        let request = try request()
        let task = Task { try await context.fetchAsynchronously(request) { $0.count ?? 0 } }
        task.cancel()
        do {
            _ = try await task.value
        } catch let error as CoreError { XCTAssertEqual(error.status, .cancelled) }
        do {
            _ = try await self.context.fetchAsynchronously(request) { $0.count ?? 0 }
            XCTFail("a confined context has no queue")
        } catch let error as CoreError {
            XCTAssertTrue([.invalidArgument, .wrongThread].contains(error.status), "\(error)")
        }
    }

    // MARK: FETCH

    private func names(_ predicate: Predicate) throws -> [String] {
        let request = try request()
        request.predicate = predicate
        return try context.fetch(request).map { try $0.get("name") ?? "" }
    }

    func testPredicateMayContainAFetchRequest() throws {
        let old = try request("age >= 2998"), young = try request("age < 2")
        let isOld = Predicate.comparison(Comparison(.selfObject, .in, .fetch(old, in: nil)))
        XCTAssertEqual(try names(isOld), ["12998", "12999"])
        let counted = Expression.fetch(young, in: context, isCounted: true)
        let isCount = Predicate.comparison(Comparison(.key("age"), .equal, counted))
        XCTAssertEqual(try names(isCount), ["10002"])
        // Unsaved changes count in the inner fetch as well.
        try context.fetch(request("age == 7"))[0].set("age", 3000)
        XCTAssertEqual(try names(isOld), ["10007", "12998", "12999"])
        let inMemory = Predicate.comparison(Comparison(.selfObject, .in, .fetch(old, in: context)))
        let found = try context.fetch(request("age == 2999"))[0]
        XCTAssertTrue(try inMemory.evaluate(with: .object(found)))
        XCTAssertEqual(
            try context.count(
                try {
                    let r = try request(); r.predicate = isOld; return r
                }()), 3)
        XCTAssertThrowsError(try isOld.evaluate(with: .object(found))) {
            XCTAssertTrue("\($0)".contains("context"), "\($0)")
        }
        old.predicate = nil
        XCTAssertEqual(try names(isOld).count, 3)
        XCTAssertTrue(isOld.format.hasPrefix("SELF IN FETCH("), isOld.format)
    }

    func testInvalidFetchInAPredicateIsRefused() throws {
        let wrong = Predicate.comparison(Comparison(.selfObject, .in, .fetch(try request("nme == 1"), in: nil)))
        XCTAssertThrowsError(try names(wrong)) { XCTAssertEqual(($0 as? CoreError)?.status, .predicate) }
        let text = try Predicate.parse("SELF IN FETCH('x', nil, NO)", arguments: [])
        XCTAssertThrowsError(try names(text)) { XCTAssertTrue("\($0)".contains("fetch request"), "\($0)") }
    }
}
