import Corestone
import XCTest

/// What a store of a program's own says in Swift, beyond the scenarios.
final class CustomStoreTests: XCTestCase {
    private final class Street: IncrementalStore, @unchecked Sendable {
        let opening: StoreOpening
        var answer = FetchAnswer([])
        var lists: [[StoreNode]] = []
        var asked: [String] = []
        var notices: [(isIn: Bool, count: Int)] = []
        let isReadOnly: Bool

        init(_ opening: StoreOpening) throws {
            if opening.mustExist { throw StoreNotFound() }
            self.opening = opening
            isReadOnly = opening.path == "read-only"
        }

        var metadata: [String: PropertyListValue] { opening.metadata.dictionary }
        static var hearsRegistrations: Bool { true }

        func fetch(_ request: FetchRequest) throws -> FetchAnswer {
            asked.append("fetch \(request.sortDescriptors.count)")
            return answer
        }
        func nodes(for rows: [RowReference]) throws -> [StoreNode] {
            asked.append("nodes")
            return []
        }
        func memberNodes(of relationship: Relationship, for owners: [RowReference]) throws -> [[StoreNode]] {
            asked.append("members")
            return lists
        }
        func didRegister(_ rows: [RowReference]) { notices.append((true, rows.count)) }
        func didUnregister(_ rows: [RowReference]) { notices.append((false, rows.count)) }
    }

    private let typeName = "Street \(UUIDValue.random())"
    private let made = Locked<Street?>(nil)
    private var store: Street { made.withLock { $0! } }
    private var person: Entity!

    override func setUpWithError() throws {
        let made = made
        try StoreTypes.register(typeName, Street.self) { opening in
            let store = try Street(opening)
            made.withLock { $0 = store }
            return store
        }
    }

    override func tearDownWithError() throws { try StoreTypes.unregister(typeName) }

    private func open(_ path: String = "x", _ options: StoreOptions = StoreOptions()) throws -> Context {
        let model = Model()
        person = try model.addEntity(named: "Person")
        try person.addAttribute(named: "name", type: .string).setOptional(true)
        let boss = try person.addRelationship(named: "boss", destination: person)
        let reports = try person.addRelationship(named: "reports", destination: person, isToMany: true)
        try boss.setInverse(reports)
        let coordinator = try Coordinator(model: model)
        _ = try coordinator.addStore(StoreType(rawValue: typeName), at: path, options: options)
        return Context(coordinator: coordinator)
    }

    private func node(_ key: Int64, _ name: String?) -> StoreNode {
        StoreNode(person, .integer(key), name.map { ["name": .string($0), "boss": .null] } ?? [:], version: 1)
    }

    private func failure(_ body: () throws -> Void, line: UInt = #line) -> CoreError {
        do { try body() } catch let error as CoreError { return error } catch { XCTFail("\(error)", line: line) }
        XCTFail("nothing failed", line: line)
        return CoreError(.internal, "")
    }

    func testAStoreMaySayThatItIsReadOnly() throws {
        let context = try open("read-only")
        XCTAssertTrue(try XCTUnwrap(context.coordinator.stores.first).isReadOnly)
        _ = try context.insert("Person", ["name": "Ada"])
        XCTAssertEqual(failure { try context.save() }.status, .storeReadOnly)
    }

    func testAStoreThatHasNoSaveSaysSo() throws {
        let context = try open()
        _ = try context.insert("Person", ["name": "Ada"])
        let error = failure { try context.save() }
        XCTAssertTrue(error.message.contains("write save, or say that it is read-only"), error.message)
    }

    func testAStoreThatIsNotThere() throws {
        var options = StoreOptions()
        options.mustExist = true
        let error = failure { _ = try open("nowhere", options) }
        XCTAssertEqual(error.status, .storeIO)
        XCTAssertTrue(error.message.contains("there is no \(typeName) store at nowhere"), error.message)
    }

    func testMembersMayComeWithTheirValues() throws {
        let context = try open()
        store.answer = FetchAnswer([node(1, "Ada")])
        store.lists = [[node(2, "Bea"), node(3, nil)]]
        let ada = try XCTUnwrap(context.fetch("Person").first)
        let members = try ada.members("reports").sorted { $0.objectID.uri < $1.objectID.uri }
        XCTAssertEqual(try members[0].get("name"), "Bea")
        XCTAssertEqual(store.asked, ["fetch 0", "members"])
        // The other one came as a reference alone, and is not there.
        XCTAssertNil(try members[1].get("name", as: String.self))
        XCTAssertEqual(store.asked.last, "nodes")
    }

    func testAListForEachOwner() throws {
        let context = try open()
        store.answer = FetchAnswer([node(1, "Ada")])
        let ada = try XCTUnwrap(context.fetch("Person").first)
        let error = failure { _ = try ada.members("reports") }
        XCTAssertEqual([error.status, error.children.first?.status], [.callback, .callback])
        XCTAssertTrue(error.message.contains("gave 0 lists of Person.reports for 1 objects"), error.message)
    }

    func testCounts() throws {
        let context = try open("shelf")
        let request = FetchRequest(entity: person)
        request.sortDescriptors = [SortDescriptor("name")]
        store.answer.done = [.count]
        store.answer.count = 7
        XCTAssertEqual(try context.count(request), 7)
        XCTAssertEqual(store.asked, ["fetch 0"])
        (request.offset, request.limit) = (3, 10)
        XCTAssertEqual(try context.count(request), 4)
        request.predicate = try Predicate.parse("name == 'Ada'")
        var error = failure { _ = try context.count(request) }
        XCTAssertTrue(error.message.contains("shelf counted Person without its predicate"), error.message)
        store.answer.done = [.count, .predicate, .window]
        XCTAssertEqual(try context.count(request), 7)
        store.answer.count = -1
        error = failure { _ = try context.count(request) }
        XCTAssertEqual([error.entity, error.file], ["Person", "shelf"])
        XCTAssertTrue(error.message.contains("shelf counted -1 rows of Person"), error.message)
        error = failure { _ = try context.fetch(request) }
        XCTAssertTrue(error.message.contains("answered a fetch of Person with a count"), error.message)
    }

    func testNoticesComeInBatches() throws {
        var context: Context? = try open()
        store.answer = FetchAnswer((1...40).map { node($0, "n\($0)") })
        var found = try context?.fetch("Person")
        try context?.reset()
        XCTAssertEqual(store.notices.map(\.isIn), [true, false])
        XCTAssertEqual(store.notices.map(\.count), [40, 40])
        // References alone too, and the end of the context.
        store.answer = FetchAnswer((1...40).map { node($0, nil) }, done: .all)
        found = try context?.fetch("Person")
        let store = store
        context = nil
        XCTAssertEqual(store.notices.map(\.isIn), [true, false, true, false])
        XCTAssertEqual(store.notices.map(\.count), [40, 40, 40, 40])
        XCTAssertEqual(found?.count, 40)
    }
}
