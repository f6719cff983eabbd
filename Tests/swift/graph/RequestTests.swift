import Corestone
import XCTest

/// The properties of a fetch request, and its execution.
final class RequestTests: CompanyFileTestCase {
    private func saved(_ names: [String]) throws {
        for name in names { _ = try employee(name) }
        try context.save()
    }

    private func request(_ entityName: String = "Employee") -> FetchRequest {
        let request = FetchRequest(entityName: entityName)
        request.sortDescriptors = [SortDescriptor("name")]
        return request
    }

    /// Scenario S041, as far as it applies to Swift: lists are empty where those of Core Data are nil.
    func testS041RequestHasDefaults() {
        let request = FetchRequest()
        XCTAssertNil(request.entity)
        XCTAssertNil(request.entityName)
        XCTAssertNil(request.predicate)
        XCTAssertNil(request.affectedStores)
        XCTAssertNil(request.havingPredicate)
        XCTAssertTrue(request.sortDescriptors.isEmpty && request.propertiesToFetch.isEmpty)
        XCTAssertTrue(request.propertiesToGroupBy.isEmpty && request.relationshipKeyPathsForPrefetching.isEmpty)
        XCTAssertEqual([request.limit, request.offset, request.batchSize], [0, 0, 0])
        XCTAssertEqual(request.resultType, .objects)
        XCTAssertTrue(request.includesSubentities && request.includesPendingChanges)
        XCTAssertTrue(request.includesPropertyValues && request.returnsObjectsAsFaults)
        XCTAssertFalse(request.returnsDistinctResults || request.shouldRefreshRefetchedObjects)
        XCTAssertEqual(request.requestType, 1)
    }

    func testS044EntityNameIsResolvedWhenExecuted() throws {
        try saved(["Alice"])
        let request = request()
        XCTAssertNil(request.entity)
        XCTAssertEqual(try names(context.fetch(request)), ["Alice"])
        XCTAssertEqual(request.entity.name, "Employee")
        request.entityName = "Emplyee"
        XCTAssertThrowsError(try context.execute(request)) {
            XCTAssertEqual(($0 as? CoreError)?.status, .invalidArgument)
            XCTAssertTrue("\($0)".contains("Employee"), "\($0)")
        }
        XCTAssertThrowsError(try context.fetch(FetchRequest()))
        XCTAssertThrowsError(try context.count(FetchRequest()))
        XCTAssertThrowsError(try context.fetchDictionaries(FetchRequest()))
    }

    /// A request by entity name can be used in contexts of several models.
    func testRequestByEntityNameCanBeUsedWithEveryModel() throws {
        try saved(["Alice"])
        let request = request()
        XCTAssertEqual(try context.count(request), 1)
        let model = try GraphTestCase.company()
        let coordinator = try Coordinator(model: model)
        _ = try coordinator.add(MemoryStore(model: model))
        XCTAssertEqual(try Context(coordinator: coordinator).count(request), 0)
        XCTAssertTrue(request.entity.model === model)
        XCTAssertEqual(try context.count(request), 1)
    }

    func testExecuteReturnsResultsOfTheResultType() throws {
        try saved(["Alice", "Bob"])
        let request = request()
        guard case .objects(let objects) = try context.execute(request) else { return XCTFail("no objects") }
        XCTAssertEqual(objects.count, 2)
        request.resultType = .objectIDs
        guard case .objectIDs(let ids) = try context.execute(request) else { return XCTFail("no IDs") }
        XCTAssertEqual(ids, objects.map(\.objectID))
        request.resultType = .count
        guard case .count(2) = try context.execute(request) else { return XCTFail("no count") }
        request.resultType = .dictionaries
        request.propertiesToFetch = ["name"]
        guard case .dictionaries(let rows) = try context.execute(request) else { return XCTFail("no dictionaries") }
        XCTAssertEqual(try rows.rows, [[.string("Alice")], [.string("Bob")]])
    }

    func testUnknownRequestTypeIsRefused() throws {
        final class Odd: PersistentStoreRequest, @unchecked Sendable {
            override var requestType: UInt32 { 9 }
        }
        XCTAssertThrowsError(try context.execute(Odd())) {
            XCTAssertEqual(($0 as? CoreError)?.code, 134091)
            XCTAssertTrue("\($0)".contains("9"), "\($0)")
        }
    }

    func testCopyOfARequestIsIndependent() throws {
        try saved(["Alice", "Bob", "Carol"])
        let request = request()
        request.limit = 2
        request.predicate = try Predicate.parse("name != 'Bob'", arguments: [])
        let copy = request.copy()
        request.limit = 1
        request.predicate = nil
        XCTAssertEqual(try names(context.fetch(copy)), ["Alice", "Carol"])
        XCTAssertEqual(try names(context.fetch(request)), ["Alice"])
    }

    func testFetchWithoutPropertyValuesReturnsFaultsWithoutRows() throws {
        try saved(["Alice", "Bob"])
        try reopen()
        let second = other()
        let request = request()
        request.includesPropertyValues = false
        let found = try second.fetch(request)
        XCTAssertTrue(found.allSatisfy { $0.isFault && $0.record == nil })
        let before = coordinator.statistics.faultedRows
        XCTAssertEqual(try found.map { try $0.get("name", as: String.self) }, ["Alice", "Bob"])
        XCTAssertEqual(coordinator.statistics.faultedRows - before, 2)
        // The store cannot evaluate this predicate, so it is evaluated in memory.
        request.predicate = try Predicate.parse("speed == nil", arguments: [])
        XCTAssertEqual(try second.fetch(request).count, 2)
    }

    func testRefetchedObjectsAreRefreshedOnRequest() throws {
        try saved(["Alice", "Bob"])
        let second = other()
        let request = request()
        let mine = try second.fetch(request)
        for object in mine { _ = try object.get("age", as: Int.self) }
        try mine[1].set("age", 99)
        for object in try context.fetch(request) { try object.set("age", 7) }
        try context.save()
        _ = try second.fetch(request)
        XCTAssertNil(try mine[0].get("age", as: Int.self))
        request.shouldRefreshRefetchedObjects = true
        _ = try second.fetch(request)
        XCTAssertEqual(try mine[0].get("age"), 7)
        XCTAssertEqual(try mine[1].get("age"), 99)
        try second.rollback()
        _ = try second.fetch(request)
        XCTAssertEqual(try mine[1].get("age"), 7)
    }

    /// Scenario S050.
    func testS050ReturnsObjectsAsFaultsControlsRealization() throws {
        try saved(["alpha", "bravo"])
        let request = request()
        XCTAssertTrue(try other().fetch(request).allSatisfy(\.isFault))
        request.returnsObjectsAsFaults = false
        XCTAssertTrue(try other().fetch(request).allSatisfy { !$0.isFault })
        let fourth = other()
        try fourth.insert("Employee", ["name": "charlie"])
        let found = try fourth.fetch(request)
        XCTAssertEqual(found.count, 3)
        XCTAssertFalse(found.contains(where: \.isFault))
    }

    func testFetchIsLimitedToItsAffectedStores() throws {
        try saved(["Alice"])
        let added = try addStore(named: "second")
        context = Context(coordinator: coordinator)
        let bob = try employee("Bob")
        try context.assign(bob, to: added)
        try context.save()
        let request = request()
        XCTAssertEqual(try context.fetch(request).map { try $0.get("name") ?? "" }, ["Alice", "Bob"])
        request.affectedStores = [added]
        XCTAssertEqual(try names(context.fetch(request)), ["Bob"])
        XCTAssertEqual(try context.count(request), 1)
        XCTAssertEqual(try context.fetchIDs(request), [bob.objectID])
        let cleo = try employee("Cleo"), dora = try employee("Dora")
        try context.assign(cleo, to: added)
        XCTAssertEqual(try names(context.fetch(request)), ["Bob", "Cleo"])
        XCTAssertEqual(try context.count(request), 2)
        request.affectedStores = [coordinator.stores[0]]
        XCTAssertEqual(try names(context.fetch(request)), ["Alice", "Dora"])
        XCTAssertFalse(dora.isFault)
        request.affectedStores = []
        XCTAssertEqual(try context.fetch(request).count, 0)
        try context.rollback()
        try coordinator.remove(added)
        request.affectedStores = [added]
        XCTAssertThrowsError(try context.fetch(request)) {
            XCTAssertEqual(($0 as? CoreError)?.status, .invalidArgument)
        }
    }

    // MARK: Parts of rows

    private func faults(_ body: () throws -> Void) rethrows -> Int {
        let before = coordinator.statistics
        try body()
        let after = coordinator.statistics
        return after.faults + after.faultedRows - before.faults - before.faultedRows
    }

    func testPartialFetchReadsOnlyTheRequestedProperties() throws {
        let research = try department("Research")
        try saved(["Alice", "Bob"])
        for object in try context.fetch(request()) {
            try object.set("age", 7)
            try object.set("department", research)
        }
        try context.save()
        let uri = research.objectID.uri
        try reopen()
        let request = request()
        request.propertiesToFetch = ["name", "department"]
        let found = try context.fetch(request)
        XCTAssertTrue(found.allSatisfy { $0.isFault && $0.record == nil })
        try XCTAssertEqual(
            faults {
                XCTAssertEqual(try found.map { try $0.get("name", as: String.self) }, ["Alice", "Bob"])
                XCTAssertEqual(try found[0].get("department", as: ManagedObject.self)?.objectID.uri, uri)
            }, 0)
        XCTAssertTrue(found[0].isFault)
        // The first fault fills its sibling too.
        XCTAssertEqual(try faults { XCTAssertEqual(try found[0].get("age"), 7) }, 3)
        XCTAssertEqual(try faults { XCTAssertEqual(try found[1].get("rating"), 1000.0) }, 0)
        XCTAssertFalse(found[0].isFault || found[1].isFault)
        XCTAssertEqual(try found[1].get("name"), "Bob")
        // Loaded objects keep their values.
        XCTAssertEqual(try context.fetch(request).map(ObjectIdentifier.init), found.map(ObjectIdentifier.init))
        XCTAssertFalse(found[0].isFault)
    }

    func testPartialRowIsReplacedByARefreshOrFault() throws {
        try saved(["Alice", "Bob"])
        try reopen()
        let request = request()
        request.propertiesToFetch = ["name"]
        let found = try context.fetch(request)
        let writer = other()
        let all = try writer.fetch(self.request())
        try all[0].set("name", "Anna")
        try all[1].set("age", 3)
        try writer.save()
        XCTAssertEqual(try found[0].get("name"), "Alice")
        try context.refresh(found[0], mergeChanges: false)
        XCTAssertEqual(try found[0].get("name"), "Anna")
        XCTAssertEqual(try found[1].get("name"), "Bob")
        XCTAssertEqual(try found[1].get("age"), 3)
        try found[1].set("name", "Ben")
        XCTAssertEqual(try context.fetch(request).count, 2)
        try context.save()
        XCTAssertEqual(try found[1].get("name"), "Ben")
        try context.reset()
        XCTAssertThrowsError(try found[1].get("name", as: String.self))
    }

    func testInvalidPropertiesOfAPartialFetchAreRefused() throws {
        try saved(["Alice"])
        let request = request()
        let computed = ExpressionDescription(name: "double", expression: try Expression.parse("age * 2"))
        for (column, words) in [
            (FetchedColumn.expression(computed), "computed"), ("department.name", "key path"), ("nme", "name"),
            ("projects", "to-many"), ("speed", "stored"),
        ] {
            request.propertiesToFetch = [column]
            XCTAssertThrowsError(try context.fetch(request)) {
                XCTAssertEqual(($0 as? CoreError)?.status, .invalidArgument)
                XCTAssertTrue("\($0)".contains(words), "\($0)")
            }
            request.batchSize = 5
            XCTAssertThrowsError(try context.execute(request))
            request.batchSize = 0
        }
    }

    /// If rows are evaluated in memory, whole rows are read.
    func testPartialFetchReadsWholeRowsWhenEvaluatedInMemory() throws {
        try saved(["Alice", "Bob"])
        try reopen()
        let request = request()
        request.propertiesToFetch = ["name"]
        request.predicate = try Predicate.parse("speed == nil", arguments: [])
        XCTAssertEqual(try names(context.fetch(request)), ["Alice", "Bob"])
        _ = try employee("Carol")
        XCTAssertEqual(try names(context.fetch(request)), ["Alice", "Bob", "Carol"])
        request.predicate = nil
        XCTAssertEqual(try context.fetch(request).map { try $0.get("rating") ?? 0 }, [1000.0, 1000.0, 1000.0])
    }

    // MARK: Scenarios

    func testS053OffsetBeyondResultsReturnsEmpty() throws {
        try saved(["Alice"])
        let request = request()
        request.offset = 1000
        XCTAssertEqual(try context.fetch(request).count, 0)
        request.batchSize = 20
        guard case .objects(let lazy) = try context.execute(request) else { return XCTFail("no objects") }
        XCTAssertTrue(lazy.isEmpty)
        XCTAssertEqual(try context.count(request), 0)
    }

    /// Scenario S059, over two stores and with a predicate that is evaluated in memory.
    func testS059PredicateIsEvaluatedOnSavedValues() throws {
        try saved(["alpha", "bravo"])
        _ = try addStore(named: "second")
        for object in try context.fetch(request()) { try object.set("name", "zulu") }
        for predicate in ["name BEGINSWITH 'a'", "name BEGINSWITH 'a' AND speed == nil"] {
            let request = request()
            request.includesPendingChanges = false
            request.predicate = try Predicate.parse(predicate, arguments: [])
            XCTAssertEqual(try names(context.fetch(request)), ["zulu"], predicate)
            let cursor = try context.cursor(request)
            XCTAssertEqual(try names(cursor.next()), ["zulu"], predicate)
        }
    }
}

/// Archived requests.
final class ArchivedRequestTests: CompanyFileTestCase {
    func testArchivedRequestKeepsAllProperties() throws {
        let request = FetchRequest(entityName: "Employee")
        request.predicate = try Predicate.parse("age > 3 AND name BEGINSWITH[c] 'a'", arguments: [])
        request.sortDescriptors = [SortDescriptor("-age"), SortDescriptor("name")]
        (request.limit, request.offset, request.batchSize) = (7, 2, 20)
        request.resultType = .dictionaries
        request.includesSubentities = false
        request.includesPendingChanges = false
        request.includesPropertyValues = false
        request.returnsObjectsAsFaults = false
        request.shouldRefreshRefetchedObjects = true
        request.returnsDistinctResults = true
        request.relationshipKeyPathsForPrefetching = ["department.employees"]
        let total = ExpressionDescription(
            name: "total", expression: try Expression.parse("sum:(rating)"), resultType: .double)
        request.propertiesToFetch = ["department", .expression(total)]
        request.propertiesToGroupBy = ["department"]
        request.havingPredicate = try Predicate.parse("total > 5", arguments: [])
        (request.nulls, request.allowsSplit) = (.database, false)
        request.computesRowsInMemory = true
        let bytes = try request.archived()
        XCTAssertEqual(bytes, try request.archived())
        let same = try FetchRequest(archived: bytes)
        XCTAssertEqual(same.entityName, "Employee")
        XCTAssertEqual(same.template, request.template)
        XCTAssertEqual(same.propertiesToFetch.map(\.name), ["department", "total"])
        guard case .expression(total) = same.propertiesToFetch[1] else { return XCTFail("no expression") }
        XCTAssertEqual(same.propertiesToGroupBy, ["department"])
        XCTAssertEqual(same.havingPredicate, request.havingPredicate)
        XCTAssertFalse(same.includesPendingChanges || same.allowsSplit)
        XCTAssertTrue(same.shouldRefreshRefetchedObjects && same.computesRowsInMemory)
        XCTAssertEqual(same.nulls, .database)
        XCTAssertEqual(try same.archived(), bytes)
    }

    func testInvalidArchivesAndObjectsInRequestsAreRefused() throws {
        let empty = try FetchRequest(archived: FetchRequest().archived())
        XCTAssertNil(empty.entityName)
        XCTAssertNil(empty.predicate)
        try employee("Ada").set("age", 1)
        let request = FetchRequest(entityName: "Employee")
        request.predicate = try Predicate.parse("age == 1", arguments: [])
        XCTAssertEqual(try context.fetch(FetchRequest(archived: request.archived())).count, 1)
        for bytes in [[], Array("bplist00".utf8), try encodeArchive(.dictionary(["a": .int(1)]))] {
            XCTAssertThrowsError(try FetchRequest(archived: bytes)) {
                XCTAssertEqual(($0 as? CoreError)?.status, .storeCorrupt)
            }
        }
        let ada = try context.fetch("Employee")[0]
        request.predicate = try Predicate.parse("SELF == %@", arguments: [.object(ada)])
        XCTAssertThrowsError(try request.archived()) {
            XCTAssertEqual(($0 as? CoreError)?.status, .unsupported)
        }
    }
}
