import Corestone
import XCTest

/// In-memory evaluation of requests uses the rows of the store, not the stale values of registered objects.
final class StaleObjectTests: XCTestCase {
    private var folder = ""

    override func setUpWithError() throws {
        folder = NSTemporaryDirectory() + "corestone-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    }

    override func tearDown() { try? FileManager.default.removeItem(atPath: folder) }

    private static func shop() throws -> Model {
        let model = Model()
        let (item, shelf) = (try model.addEntity(named: "Item"), try model.addEntity(named: "Shelf"))
        try item.addAttribute(named: "name", type: .string)
        try item.addAttribute(named: "price", type: .integer32)
        try shelf.addAttribute(named: "label", type: .string)
        let on = try item.addRelationship(named: "shelf", destination: shelf)
        let items = try shelf.addRelationship(named: "items", destination: item, isToMany: true)
        try on.setInverse(items)
        return model
    }

    /// Runs `body` with a context whose objects were read before another context changed them.
    private func check(_ isInMemory: Bool, _ body: (Context, [ManagedObject], [ManagedObject]) throws -> Void) throws {
        let coordinator = try Coordinator(model: StaleObjectTests.shop())
        if isInMemory {
            try coordinator.addStore(.inMemory, at: "memory")
        } else {
            try coordinator.addSQLiteStore(at: folder + "/shop-\(UUID().uuidString).sqlite")
        }
        let writer = Context(coordinator: coordinator)
        let shelves = try ["low", "high"].map { try writer.insert("Shelf", ["label": $0]) }
        for (place, name) in ["a old", "b old", "c old", "d old"].enumerated() {
            try writer.insert("Item", ["name": name, "price": place * 10, "shelf": shelves[0]])
        }
        try writer.save()
        let context = Context(coordinator: coordinator)
        let (items, known) = (try context.fetch("Item", sort: ["name"]), try context.fetch("Shelf", sort: ["-label"]))
        for object in items + known { _ = try object.value(forKey: object.entityName == "Item" ? "name" : "label") }
        for item in items { _ = try item.value(forKey: "shelf") }
        let theirs = try writer.fetch("Item", sort: ["name"])
        // a: highest price, renamed, on the other shelf. b: renamed.
        try theirs[0].set("price", 100)
        try theirs[0].set("name", "z new")
        try theirs[0].set("shelf", shelves[1])
        try theirs[1].set("name", "y new")
        try shelves[0].set("label", "bottom")
        try writer.save()
        try body(context, items, known)
        XCTAssertEqual(try items[0].get("price"), 0, "a fetch does not refresh registered objects by default")
    }

    private func ids(_ objects: [ManagedObject]) -> [String] { objects.map(\.objectID.uri).sorted() }

    func testFetchEvaluatesRowsInsteadOfStaleObjects() throws {
        try check(true) { context, items, _ in
            XCTAssertEqual(ids(try context.fetch("Item", "price > 50")), ids([items[0]]))
            XCTAssertEqual(ids(try context.fetch("Item", "name ENDSWITH 'old'")), ids([items[2], items[3]]))
            XCTAssertEqual(ids(try context.fetch("Item", "name == 'a old'")), [])
            XCTAssertEqual(try context.count("Item", "price == 0"), 0)
            XCTAssertTrue(try context.fetch("Item", sort: ["-price"], limit: 1).first === items[0])
            XCTAssertTrue(try context.fetch("Item", sort: ["name"], limit: 1, offset: 3).first === items[0])
            XCTAssertEqual(ids(try context.fetch("Item", "shelf.label == 'bottom'")), ids(Array(items[1...])))
            XCTAssertEqual(ids(try context.fetch("Item", "shelf.label == 'high'")), ids([items[0]]))
        }
    }

    /// TOKENMATCHES has no meaning in SQL, and a comparator sorts in memory.
    func testInMemoryEvaluationUsesTheRowsOfTheStore() throws {
        for isInMemory in [true, false] {
            try check(isInMemory) { context, items, shelves in
                XCTAssertEqual(ids(try context.fetch("Item", "name TOKENMATCHES 'new'")), ids([items[0], items[1]]))
                XCTAssertEqual(ids(try context.fetch("Item", "name TOKENMATCHES 'old'")), ids([items[2], items[3]]))
                XCTAssertEqual(
                    ids(try context.fetch("Item", "shelf.label TOKENMATCHES 'bottom'")), ids(Array(items[1...])))
                XCTAssertEqual(ids(try context.fetch("Shelf", "ANY items.name TOKENMATCHES 'z'")), ids([shelves[1]]))
                XCTAssertEqual(try context.count("Item", "name TOKENMATCHES 'new'"), 2)
                let item = try context.coordinator.model.requireEntity(named: "Item")
                let request = FetchRequest(entity: item, predicate: try Predicate.parse("name TOKENMATCHES 'old'"))
                let cursor = try context.cursor(request)
                XCTAssertEqual(ids(try cursor.next()), ids([items[2], items[3]]))
                let sorted = FetchRequest(entity: item)
                let backwards = SortComparator { a, b in
                    guard let a = a.number, let b = b.number else { return 0 }
                    return a < b ? 1 : a > b ? -1 : 0
                }
                sorted.sortDescriptors = [SortDescriptor(path: KeyPath("price"), comparator: backwards)]
                sorted.limit = 2
                XCTAssertEqual(try context.fetch(sorted).map(\.objectID), [items[0], items[3]].map(\.objectID))
                // Unsaved changes are evaluated in addition to the rows.
                try items[2].set("name", "new")
                XCTAssertEqual(
                    ids(try context.fetch("Item", "name TOKENMATCHES 'new'")), ids(Array(items[0...2])))
                request.includesPendingChanges = false
                XCTAssertEqual(ids(try context.fetch(request)), ids([items[2], items[3]]))
            }
        }
    }

    func testFetchedColumnsHaveTheValuesOfTheRows() throws {
        for isInMemory in [true, false] {
            try check(isInMemory) { context, _, _ in
                let request = FetchRequest(entity: try context.coordinator.model.requireEntity(named: "Item"))
                request.propertiesToFetch = ["name", "shelf.label"]
                request.sortDescriptors = [SortDescriptor("name")]
                let rows = try context.fetchDictionaries(request).rows
                XCTAssertEqual(rows.first, [.string("c old"), .string("bottom")])
                XCTAssertEqual(rows.last, [.string("z new"), .string("high")])
                request.computesRowsInMemory = true
                XCTAssertEqual(try context.fetchDictionaries(request).rows, rows)
            }
        }
    }

    func testPredicateFindsObjectsByAListOfIDs() throws {
        try check(true) { context, items, _ in
            let predicate = try Predicate.parse(
                "SELF IN %@ AND name TOKENMATCHES 'new'",
                arguments: [.array(items.map { .object(ObjectIDReference($0.objectID)) })])
            let request = FetchRequest(entity: items[0].entity, predicate: predicate)
            XCTAssertEqual(ids(try context.fetch(request)), ids([items[0], items[1]]))
        }
    }
}
