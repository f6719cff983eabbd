import Corestone
import XCTest

/// In-memory stores: saving, conflicts and failed saves. `DifferentialTests` compares them with SQLite under random
/// changes, and Tests/scenarios has the scenarios.
final class InMemoryStoreTests: XCTestCase {
    private var coordinator: Coordinator!
    private var context: Context!

    override func setUpWithError() throws {
        coordinator = try Coordinator(model: InMemoryStoreTests.library())
        try coordinator.addStore(.inMemory, at: "memory")
        context = Context(coordinator: coordinator)
    }

    private static func library() throws -> Model {
        let model = Model()
        let (book, author, novel) = (
            try model.addEntity(named: "Book"), try model.addEntity(named: "Author"),
            try model.addEntity(named: "Novel")
        )
        try novel.setParent(book)
        try book.addAttribute(named: "isbn", type: .string)
        try book.addAttribute(named: "pages", type: .integer32)
        try book.addUniqueConstraint(["isbn"])
        try author.addAttribute(named: "name", type: .string)
        let authors = try book.addRelationship(named: "authors", destination: author, isToMany: true)
        let books = try author.addRelationship(named: "books", destination: book, isToMany: true, isOrdered: true)
        try authors.setInverse(books)
        return model
    }

    private func titles(_ author: ManagedObject) throws -> [String] {
        try author.members("books").map { try $0.get("isbn") ?? "" }
    }

    func testSavedObjectsAreFetchedByOtherContexts() throws {
        let ada = try context.insert("Author", ["name": "Ada"])
        for isbn in ["c", "a", "b"] { try ada.add(context.insert("Novel", ["isbn": isbn]), to: "books") }
        try context.save()
        let other = Context(coordinator: coordinator)
        let found = try XCTUnwrap(try other.fetch("Author", "ANY books.isbn == 'b'").first)
        XCTAssertEqual(try titles(found), ["c", "a", "b"])
        XCTAssertEqual(
            try other.fetch("Book", "isbn > 'a'", sort: ["isbn"]).map { $0.entity.name }, ["Novel", "Novel"])
        XCTAssertEqual(
            try other.fetch("Book", sort: ["-isbn"], limit: 1, offset: 1).map { try $0.get("isbn") ?? "" }, ["b"])
        XCTAssertEqual(try other.count("Author", "books.@count == 3"), 1)
        XCTAssertEqual(found.objectID.uri, ada.objectID.uri)
    }

    func testConcurrentChangeOfARowIsAConflict() throws {
        let book = try context.insert("Book", ["isbn": "1", "pages": 10])
        try context.save()
        let other = Context(coordinator: coordinator)
        try other.object(with: book.objectID).set("pages", 20)
        try other.save()
        try book.set("pages", 30)
        XCTAssertThrowsError(try context.save()) { XCTAssertEqual(($0 as? CoreError)?.code, 133020) }
        context.mergePolicy = .objectTrump
        try context.save()
        let fresh = Context(coordinator: coordinator)
        XCTAssertEqual(try fresh.fetch("Book").first?.get("pages"), 30)
    }

    /// The save fails after it has written other rows.
    func testFailedSaveChangesNoRows() throws {
        try context.insert("Book", ["isbn": "1"])
        let ada = try context.insert("Author", ["name": "Ada"])
        try context.save()
        try ada.set("name", "Lovelace")
        try ada.add(context.insert("Book", ["isbn": "2"]), to: "books")
        try context.insert("Novel", ["isbn": "1"])
        XCTAssertThrowsError(try context.save()) { error in
            XCTAssertEqual((error as? CoreError)?.code, 133021)
            XCTAssertEqual((error as? CoreError)?.key, "isbn")
        }
        let other = Context(coordinator: coordinator)
        XCTAssertEqual(try other.count("Book"), 1)
        XCTAssertEqual(try other.fetch("Author").first?.get("name"), "Ada")
        XCTAssertEqual(try other.count("Author", "books.@count > 0"), 0)
        context.mergePolicy = .objectTrump
        try context.save()
        XCTAssertEqual(try Context(coordinator: coordinator).count("Book"), 2)
    }

    func testUniqueValuesAreExchangedAndReused() throws {
        let old = try context.insert("Book", ["isbn": "x"])
        let second = try context.insert("Book", ["isbn": "y"])
        try context.save()
        try old.set("isbn", "y")
        try second.set("isbn", "x")
        try context.save()
        try context.delete(old)
        try context.insert("Book", ["isbn": "y"])
        try context.save()
        XCTAssertEqual(try context.fetch("Book", sort: ["isbn"]).map { try $0.get("isbn") ?? "" }, ["x", "y"])
    }

    func testDeletedObjectsAreRemovedFromRelationships() throws {
        let ada = try context.insert("Author", ["name": "Ada"])
        let books = try ["a", "b"].map { try context.insert("Book", ["isbn": $0]) }
        for book in books { try ada.add(book, to: "books") }
        try context.save()
        try context.delete(books[0])
        try context.save()
        let other = Context(coordinator: coordinator)
        XCTAssertEqual(try titles(XCTUnwrap(try other.fetch("Author").first)), ["b"])
        XCTAssertEqual(try other.count("Author", "books.@count == 1"), 1)
    }

    func testBatchInsertAddsRows() throws {
        let book = try XCTUnwrap(coordinator.model.entity(named: "Book"))
        _ = try context.execute(
            BatchInsertRequest(
                entity: book, rows: (0..<50).map { ["isbn": .string("\($0)"), "pages": .int(Int64($0))] }))
        XCTAssertEqual(try context.count("Book", "pages >= 25"), 25)
    }

    func testMigrationToSQLiteAndBackKeepsTheObjects() throws {
        let ada = try context.insert("Author", ["name": "Ada"])
        for isbn in ["c", "a", "b"] { try ada.add(context.insert("Book", ["isbn": isbn]), to: "books") }
        try context.save()
        let path = NSTemporaryDirectory() + "corestone-\(UUID().uuidString).sqlite"
        defer { for tail in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + tail) } }
        let file = try coordinator.migrateStore(XCTUnwrap(coordinator.stores.first), to: .sqlite, at: path)
        let memory = try coordinator.migrateStore(file, to: .inMemory, at: "memory")
        XCTAssertEqual(coordinator.stores.map(\.identifier), [memory.identifier])
        let fresh = Context(coordinator: coordinator)
        XCTAssertEqual(try titles(XCTUnwrap(try fresh.fetch("Author").first)), ["c", "a", "b"])
    }

    func testModelWithDerivedAttributesIsRejected() throws {
        let model = Model()
        let entity = try model.addEntity(named: "Note")
        try entity.addAttribute(named: "title", type: .string)
        try entity.addAttribute(named: "folded", type: .string).setDerivation(
            Derivation(ExpressionText("canonical:(title)")))
        let coordinator = try Coordinator(model: model)
        XCTAssertThrowsError(try coordinator.addStore(.inMemory, at: "memory")) { error in
            XCTAssertEqual((error as? CoreError)?.key, "folded")
        }
        // Nor is a file written for a store that failed to open.
        let path = NSTemporaryDirectory() + "corestone-\(UUID().uuidString).store"
        XCTAssertThrowsError(try coordinator.addStore(.binary, at: path))
        XCTAssertFalse(FileManager.default.fileExists(atPath: path))
        XCTAssertTrue(coordinator.stores.isEmpty)
    }
}
