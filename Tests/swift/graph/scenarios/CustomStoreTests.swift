import Corestone
import XCTest

/// Custom stores in Swift, beyond the scenarios.
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
        static var observesRegistrations: Bool { true }

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

    func testCustomStoreCanBeReadOnly() throws {
        let context = try open("read-only")
        XCTAssertTrue(try XCTUnwrap(context.coordinator.stores.first).isReadOnly)
        _ = try context.insert("Person", ["name": "Ada"])
        XCTAssertEqual(failure { try context.save() }.status, .storeReadOnly)
    }

    func testSaveFailsWhenTheStoreDoesNotImplementIt() throws {
        let context = try open()
        _ = try context.insert("Person", ["name": "Ada"])
        let error = failure { try context.save() }
        XCTAssertTrue(error.message.contains("implement it, or return true from isReadOnly"), error.message)
    }

    func testOpeningFailsWhenTheStoreDoesNotExist() throws {
        var options = StoreOptions()
        options.mustExist = true
        let error = failure { _ = try open("nowhere", options) }
        XCTAssertEqual(error.status, .storeIO)
        XCTAssertTrue(error.message.contains("the \(typeName) store nowhere does not exist"), error.message)
        XCTAssertTrue(
            error.message.hasSuffix("or open the store without CST_STORE_MUST_EXIST (must_exist)"), error.message)
        options.isReadOnly = true
        let readOnly = failure { _ = try open("nowhere", options) }
        XCTAssertTrue(readOnly.message.hasSuffix("does not exist; check the path"), readOnly.message)
    }

    func testMembersCanBeReturnedWithTheirValues() throws {
        let context = try open()
        store.answer = FetchAnswer([node(1, "Ada")])
        store.lists = [[node(2, "Bea"), node(3, nil)]]
        let ada = try XCTUnwrap(context.fetch("Person").first)
        let members = try ada.members("reports").sorted { $0.objectID.uri < $1.objectID.uri }
        XCTAssertEqual(try members[0].get("name"), "Bea")
        XCTAssertEqual(store.asked, ["fetch 0", "members"])
        // The store returned only a reference for the other member, and its row does not exist.
        XCTAssertNil(try members[1].get("name", as: String.self))
        XCTAssertEqual(store.asked.last, "nodes")
    }

    func testMembersFailWithoutAListForEachOwner() throws {
        let context = try open()
        store.answer = FetchAnswer([node(1, "Ada")])
        let ada = try XCTUnwrap(context.fetch("Person").first)
        let error = failure { _ = try ada.members("reports") }
        XCTAssertEqual([error.status, error.children.first?.status], [.callback, .callback])
        XCTAssertTrue(error.message.contains("returned 0 lists of Person.reports for 1 object;"), error.message)
    }

    func testStoreCountIsAdjustedOrRefused() throws {
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
        XCTAssertTrue(error.message.contains("shelf counted Person without the predicate"), error.message)
        store.answer.done = [.count, .predicate, .window]
        XCTAssertEqual(try context.count(request), 7)
        store.answer.count = -1
        error = failure { _ = try context.count(request) }
        XCTAssertEqual([error.entity, error.file], ["Person", "shelf"])
        XCTAssertTrue(error.message.contains("shelf returned the count -1 for Person"), error.message)
        error = failure { _ = try context.fetch(request) }
        XCTAssertTrue(error.message.contains("returned a count for a fetch of Person"), error.message)
    }

    func testStoreIsNotifiedOfRegistrationsInBatches() throws {
        var context: Context? = try open()
        store.answer = FetchAnswer((1...40).map { node($0, "n\($0)") })
        var found = try context?.fetch("Person")
        try context?.reset()
        XCTAssertEqual(store.notices.map(\.isIn), [true, false])
        XCTAssertEqual(store.notices.map(\.count), [40, 40])
        // Also for references without values, and for the release of the context.
        store.answer = FetchAnswer((1...40).map { node($0, nil) }, done: .all)
        found = try context?.fetch("Person")
        let store = store
        context = nil
        XCTAssertEqual(store.notices.map(\.isIn), [true, false, true, false])
        XCTAssertEqual(store.notices.map(\.count), [40, 40, 40, 40])
        XCTAssertEqual(found?.count, 40)
    }

    // MARK: Optional parts of a store

    /// A store that only fetches and saves. The library makes its references, and its relationships are empty.
    private final class Plain: IncrementalStore, @unchecked Sendable {
        static let saved = Locked<[SavedRow]>([])
        let opening: StoreOpening
        init(_ opening: StoreOpening) throws { self.opening = opening }
        var metadata: [String: PropertyListValue] { opening.metadata.dictionary }
        func fetch(_ request: FetchRequest) throws -> FetchAnswer { FetchAnswer([]) }
        func nodes(for rows: [RowReference]) throws -> [StoreNode] { [] }
        func save(_ request: SaveChangesRequest) throws -> [StoreNode] {
            Plain.saved.withLock { $0 = request.inserted }
            XCTAssertEqual(request.requestType, 2)
            do { try request.forEachRow { _, _ in } } catch let error as CoreError {
                XCTAssertEqual(error.status, .invalidArgument)
                XCTAssertEqual(error.code, CocoaCode.persistentStoreSave.rawValue)
            }
            return []
        }
    }

    func testLibrarySuppliesReferencesAndVersionsForASimpleStore() throws {
        let name = "Plain \(UUIDValue.random())"
        try StoreTypes.register(name, Plain.self)
        defer { _ = try? StoreTypes.unregister(name) }
        XCTAssertFalse(Plain.observesRegistrations)
        XCTAssertEqual(Plain.abilities, [])
        let model = Model()
        person = try model.addEntity(named: "Person")
        try person.addAttribute(named: "name", type: .string)
        let reports = try person.addRelationship(named: "reports", destination: person, isToMany: true)
        let boss = try person.addRelationship(named: "boss", destination: person)
        try boss.setInverse(reports)
        let coordinator = try Coordinator(model: model)
        let store = try coordinator.addStore(StoreType(rawValue: name), at: "x")
        XCTAssertFalse(store.isReadOnly)
        let context = Context(coordinator: coordinator)
        let (ada, bea) = (try context.insert("Person", ["name": "Ada"]), try context.insert("Person", ["name": "Bea"]))
        try bea.set("boss", ada)
        try context.save()
        let saved = Plain.saved.withLock { $0 }
        let rows = Dictionary(uniqueKeysWithValues: saved.map { ($0.values["name"], $0) })
        let (first, second) = (try XCTUnwrap(rows[.string("Ada")]), try XCTUnwrap(rows[.string("Bea")]))
        guard case .text(let text) = first.row.reference else { return XCTFail("a made reference is text") }
        XCTAssertNotNil(UUIDValue(text))
        XCTAssertEqual(first.version, 1)
        XCTAssertNil(first.oldVersion)
        XCTAssertEqual(first.changed, [])
        XCTAssertEqual(first.values, ["name": .string("Ada"), "boss": .null])
        XCTAssertEqual(first.targets, [:])
        XCTAssertEqual(second.values, ["name": .string("Bea"), "boss": first.row.reference.value])
        XCTAssertEqual(second.targets, ["boss": first.row])
        let other = Context(coordinator: coordinator)
        XCTAssertEqual(try other.object(with: ada.objectID).members("reports").count, 0)
    }

    func testNodesAndSaveRequestsCanBeCreatedByTheApplication() throws {
        _ = try open()
        let node = StoreNode(person, .integer(1))
        XCTAssertEqual(node.version, 0)
        XCTAssertEqual(node.values, [:])
        XCTAssertNil(node.value(of: "name"))
        node.update(["name": .string("Ada"), "unknown": .int(1)], version: 3)
        XCTAssertEqual(node.version, 3)
        XCTAssertEqual(node.value(of: "name"), .string("Ada"))
        XCTAssertEqual(node.row, RowReference(person, .integer(1)))
        let row = SavedRow(node.row, version: 2)
        XCTAssertNil(row.oldVersion)
        XCTAssertEqual([row.values.count, row.targets.count, row.changed.count], [0, 0, 0])
        let request = SaveChangesRequest(updated: [row])
        XCTAssertEqual(
            [request.inserted, request.updated, request.deleted, request.locked].map(\.count), [0, 1, 0, 0])
        XCTAssertTrue(request.memberChanges.isEmpty)
        XCTAssertNil(request.metadata)
        XCTAssertNoThrow(try request.addConflict(node.row))
        XCTAssertThrowsError(try request.forEachRow { _, _ in }) {
            XCTAssertEqual(($0 as? CoreError)?.status, .invalidArgument)
        }
        let answer = FetchAnswer([node])
        XCTAssertEqual(answer.done, [])
        XCTAssertEqual(answer.count, 0)
    }

    func testStoreAbilitiesAreConvertedOneByOne() {
        for (abilities, stores) in [
            ([], []), (.parallelReads, .parallelReads), (.uniqueConstraints, .uniqueConstraints),
            (.derivedAttributes, .derivedAttributes),
            ([.parallelReads, .derivedAttributes], [.parallelReads, .derivedAttributes]),
        ] as [(HostStoreAbilities, StoreAbilities)] {
            XCTAssertEqual(abilities.stores, stores)
        }
        XCTAssertEqual(
            [HostStoreAbilities.parallelReads, .uniqueConstraints, .derivedAttributes].map(\.rawValue), [1, 2, 4])
    }

    /// The naming callback reads the values of attributes, and null for unset ones and for other keys.
    func testStoreCanDeriveReferencesOfNewObjectsFromTheirValues() throws {
        let model = Model()
        let item = try model.addEntity(named: "Item")
        try item.addAttribute(named: "name", type: .string)
        try item.addAttribute(named: "other", type: .string)
        try item.addRelationship(named: "next", destination: item)
        try model.freeze()
        let store = MemStore(model: model)
        var seen: [PropertyValue] = []
        store.naming = { object, _ in
            seen += ["name", "other", "next", "nothing"].map { object.value(of: $0) }
            XCTAssertEqual(object.entity.name, "Item")
            guard case .text(let text) = object.value(of: "name") else { return nil }
            return .text("item-" + text.string)
        }
        let coordinator = try Coordinator(model: model)
        _ = try store.added(to: coordinator)
        let context = Context(coordinator: coordinator)
        try context.insert("Item", ["name": "a"])
        try context.save()
        XCTAssertEqual(seen, [.string("a"), .null, .null, .null])
        XCTAssertEqual(Array(store.rows.keys), [.text("item-a")])
        try context.insert("Item")
        let error = failure { try context.save() }
        XCTAssertEqual(error.status, .callback)
        XCTAssertEqual(error.code, CocoaCode.persistentStoreSave.rawValue)
        XCTAssertEqual(error.entity, "Item")
        XCTAssertTrue(
            error.message.contains("did not return a reference for the new Item, object 1 of 1"), error.message)
        try context.rollback()
        for _ in 0..<2 { try context.insert("Item", ["name": "b"]) }
        let twice = failure { try context.save() }
        XCTAssertEqual(twice.status, .callback)
        XCTAssertEqual(twice.value, .string("item-b"))
        XCTAssertEqual(store.rows.count, 1)
    }
}
