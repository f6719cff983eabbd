import Corestone
import XCTest

@testable import CorestoneGraph

/// Batch requests over several stores.
final class BatchStoresTests: BatchTestCase {
    private var second: Store!

    override func setUpWithError() throws {
        try super.setUpWithError()
        second = try coordinator.addSQLiteStore(at: folder + "/second.sqlite")
        for (place, name) in ["a", "b", "c", "d", "e", "f"].enumerated() {
            let employee = try context.insert("Employee", ["name": name, "age": place])
            if place >= 3 { try context.assign(employee, to: second) }
        }
        try context.save()
    }

    private func names() throws -> String { try people().map { String($0.prefix(1)) }.joined() }

    private func deletion(_ order: [String] = ["name"], limit: Int = 0, offset: Int = 0) throws -> BatchDeleteRequest {
        let fetch = FetchRequest(entity: try entity("Employee"))
        (fetch.limit, fetch.offset) = (limit, offset)
        fetch.sortDescriptors = order.map { SortDescriptor($0) }
        let request = BatchDeleteRequest(fetchRequest: fetch)
        request.resultType = .count
        return request
    }

    private func run(_ request: BatchRequest) throws -> Int {
        request.resultType = .count
        let result: BatchResult = try context.execute(request)
        return result.count
    }

    func testBatchDeleteAppliesLimitAndOffsetAcrossStores() throws {
        XCTAssertEqual(try run(deletion(limit: 2)), 2)
        XCTAssertEqual(try names(), "cdef")
        XCTAssertEqual(try run(deletion(limit: 2, offset: 1)), 2)
        XCTAssertEqual(try names(), "cf")
        XCTAssertEqual(try run(deletion(offset: 1)), 1)
        XCTAssertEqual(try names(), "c")
        XCTAssertEqual(try run(deletion(offset: 1)), 0)
        XCTAssertEqual(try run(deletion()), 1)
    }

    func testBatchDeleteAppliesItsLimitToTheAffectedStores() throws {
        let request = try deletion(limit: 2)
        request.affectedStores = [second]
        XCTAssertEqual(try run(request), 2)
        XCTAssertEqual(try names(), "abcf")
        let fetch = FetchRequest(entity: try entity("Employee"))
        fetch.limit = 2
        fetch.affectedStores = [second]
        XCTAssertEqual(try run(BatchDeleteRequest(fetchRequest: fetch)), 1)
        XCTAssertEqual(try names(), "abc")
        XCTAssertNil(request.fetchRequest?.affectedStores, "the request of the application is unchanged")
    }

    func testEmptyAffectedStoresSelectNoRows() throws {
        let employee = try entity("Employee")
        XCTAssertEqual(try context.fetchIDs(request(of: employee, stores: [])).count, 0)
        var asked = 0
        let insertion = BatchInsertRequest(entity: employee) { (_: inout [String: PropertyValue]) in
            asked += 1
            return true
        }
        let all: [BatchRequest] = [
            insertion, BatchUpdateRequest(entity: employee, propertiesToUpdate: ["age": .integer(0)]), try deletion(),
            try BatchDeleteRequest(objectIDs: try context.fetchIDs(request(of: employee, stores: nil))),
        ]
        for each in all {
            each.affectedStores = []
            XCTAssertEqual(try run(each), 0)
        }
        XCTAssertEqual(try run(BatchDeleteRequest(fetchRequest: request(of: employee, stores: []))), 0)
        XCTAssertEqual(asked, 0)
        XCTAssertEqual(try people(), ["a 0", "b 1", "c 2", "d 3", "e 4", "f 5"])
        all[1].affectedStores = [second]
        XCTAssertEqual(try run(all[1]), 3)
        XCTAssertEqual(try people(), ["a 0", "b 1", "c 2", "d 0", "e 0", "f 0"])
    }

    func testAffectedStoreOfAnotherCoordinatorIsRefused() throws {
        let others = try Coordinator(model: GraphTestCase.company())
        let theirs = try others.addSQLiteStore(at: folder + "/theirs.sqlite")
        let request = try deletion()
        request.affectedStores = [theirs]
        XCTAssertEqual(failure { _ = try run(request) }.status, .invalidArgument)
        request.fetchRequest?.affectedStores = [theirs]
        request.affectedStores = nil
        XCTAssertEqual(failure { _ = try run(request) }.status, .invalidArgument)
        XCTAssertEqual(try names(), "abcdef")
    }

    private func request(of entity: Entity, stores: [Store]?) -> FetchRequest {
        let request = FetchRequest(entity: entity)
        request.affectedStores = stores
        return request
    }

    func testBatchInsertUsesTheFirstWritableAffectedStore() throws {
        let employee = try entity("Employee")
        func insert(_ name: String, into stores: [Store]?) throws -> Store? {
            let request = BatchInsertRequest(entity: employee, rows: [["name": .string(name)]])
            request.affectedStores = stores
            request.resultType = .objectIDs
            let result: BatchResult = try context.execute(request)
            return result.objectIDs[0].store
        }
        let first = coordinator.stores[0]
        XCTAssertTrue(try insert("g", into: nil) === first)
        XCTAssertTrue(try insert("h", into: [second]) === second)
        XCTAssertTrue(try insert("i", into: [second, first]) === first, "in the order of the coordinator")
        var options = StoreOptions()
        options.isReadOnly = true
        let made = try Coordinator(model: coordinator.model)
        try made.addSQLiteStore(at: folder + "/third.sqlite")
        let readOnly = try coordinator.addSQLiteStore(at: folder + "/third.sqlite", options: options)
        XCTAssertTrue(try insert("j", into: [readOnly, second]) === second, "the first that can be written")
        XCTAssertEqual(failure { _ = try insert("k", into: [readOnly]) }.status, .storeReadOnly)
        XCTAssertEqual(try names(), "abcdefghij")
    }

    func testBatchDeleteByIDsDeletesOnlyInTheStoreOfEachID() throws {
        let ids = try fresh().fetch("Employee", sort: ["name"]).map(\.objectID)
        XCTAssertEqual(ids[0].reference, ids[3].reference, "one key in both stores")
        XCTAssertEqual(try run(BatchDeleteRequest(objectIDs: [ids[3]])), 1)
        XCTAssertEqual(try names(), "abcef")
        XCTAssertEqual(try run(BatchDeleteRequest(objectIDs: [ids[0], ids[5]])), 2)
        XCTAssertEqual(try names(), "bce")
        let request = try BatchDeleteRequest(objectIDs: [ids[1], ids[4]])
        request.affectedStores = [second]
        XCTAssertEqual(try run(request), 1)
        XCTAssertEqual(try names(), "bc")
    }
}
