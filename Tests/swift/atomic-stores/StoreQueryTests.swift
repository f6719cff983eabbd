import Corestone
import XCTest

/// Query plans of a store that is kept in memory.
final class StoreQueryTests: XCTestCase {
    private var coordinator: Coordinator!
    private var context: Context!

    override func setUpWithError() throws {
        coordinator = try Coordinator(model: StoreQueryTests.library())
        try coordinator.addStore(.inMemory, at: "memory")
        context = Context(coordinator: coordinator)
    }

    private static func library() throws -> Model {
        let model = Model()
        let (book, novel, author) = (
            try model.addEntity(named: "Book"), try model.addEntity(named: "Novel"),
            try model.addEntity(named: "Author")
        )
        try novel.setParent(book)
        try book.addAttribute(named: "isbn", type: .string)
        try book.addAttribute(named: "title", type: .string)
        try book.addAttribute(named: "pages", type: .integer32)
        try book.addAttribute(named: "price", type: .decimal)
        try book.addAttribute(named: "mood", type: .string, isTransient: true)
        try book.addUniqueConstraint(["isbn"])
        try book.addUniqueConstraint(["price"])
        try author.addAttribute(named: "name", type: .string)
        let by = try book.addRelationship(named: "author", destination: author)
        let books = try author.addRelationship(named: "books", destination: book, isToMany: true)
        try by.setInverse(books)
        return model
    }

    private func fill(_ count: Int) throws {
        let authors = try (0..<3).map { try context.insert("Author", ["name": "author \($0)"]) }
        for number in 0..<count {
            try context.insert(
                number % 3 == 0 ? "Novel" : "Book",
                ["isbn": "\(number)", "title": "t\(number % 7)", "pages": number, "author": authors[number % 3]])
        }
        try context.save()
    }

    private func request(_ entity: String, _ format: String, _ arguments: PropertyValue...) throws -> FetchRequest {
        FetchRequest(
            entity: try coordinator.model.requireEntity(named: entity),
            predicate: try Predicate.parse(format, arguments: arguments))
    }

    private func plan(_ request: FetchRequest) throws -> [String] {
        try XCTUnwrap(try context.explain(request).shares.first).steps.map(\.detail)
    }

    func testSelectiveConditionsUseLookupsInsteadOfScans() throws {
        try fill(40)
        let book = try XCTUnwrap(try context.fetch("Book", "isbn == '7'").first)
        XCTAssertEqual(try book.get("pages"), 7)
        XCTAssertEqual(try plan(request("Book", "pages > 3 AND isbn == '7'")), ["SEARCH Book BY UNIQUE isbn"])
        XCTAssertEqual(try plan(request("Novel", "isbn IN {'7', '9'}")), ["SEARCH Novel BY UNIQUE isbn"])
        XCTAssertEqual(try context.count(request("Novel", "isbn IN {'7', '9', 'x'}")), 1)
        XCTAssertEqual(try plan(request("Book", "SELF == %@", .object(book))), ["SEARCH Book BY KEY"])
        XCTAssertTrue(
            try context.fetch(request("Book", "%@ == SELF", .object(ObjectIDReference(book.objectID)))).first === book)
        XCTAssertEqual(try context.count(request("Novel", "SELF == %@", .object(book))), 0)
        let author = try XCTUnwrap(try context.fetch("Author", "name == 'author 1'").first)
        XCTAssertEqual(try plan(request("Book", "author == %@", .object(author))), ["SEARCH Book BY author"])
        XCTAssertEqual(try context.count(request("Book", "author == %@", .object(author))), 13)
        XCTAssertEqual(try plan(request("Book", "author.name ENDSWITH '1'")), ["SEARCH Book BY author OF Author"])
        XCTAssertEqual(try context.count(request("Book", "author.name ENDSWITH '1' AND pages < 9")), 3)
        // Rows without an author match too, so the author index cannot be used.
        XCTAssertEqual(try plan(request("Book", "author.name != 'author 1'")), ["SCAN Book"])
        XCTAssertEqual(try plan(request("Book", "isbn ==[c] 'x'")), ["SCAN Book"])
        let sorted = try request("Book", "pages > 3")
        sorted.sortDescriptors = [SortDescriptor("-title"), SortDescriptor("pages")]
        (sorted.offset, sorted.limit) = (2, 3)
        XCTAssertEqual(try plan(sorted), ["SCAN Book", "SORT"])
        XCTAssertEqual(try context.fetch(sorted).map { try $0.get("pages") ?? 0 }, [20, 27, 34])
        XCTAssertFalse(try context.explain(sorted).description.contains("sql"))
    }

    /// A lookup by value finds one row; a double may equal several decimals.
    func testDoubleConstantMatchesAllEqualDecimals() throws {
        let digits = ["0.1", "0.10000000000000000001"]
        for text in digits {
            try context.insert("Book").setValue(.decimal(XCTUnwrap(DecimalNumber(text))), forKey: "price")
        }
        try context.save()
        XCTAssertEqual(try context.count(request("Book", "price == %@", .double(0.1))), 2)
        XCTAssertEqual(try context.count(request("Book", "price == %@", .decimal(XCTUnwrap(DecimalNumber("0.1"))))), 1)
    }

    func testInvalidPredicatesFailWithoutRows() throws {
        for format in ["nonsense == 3", "title < 5", "author.nonsense == 1", "books.title == 'x'"] {
            XCTAssertThrowsError(try context.fetch(request("Book", format)), format) {
                XCTAssertEqual(($0 as? CoreError)?.status, .predicate)
            }
        }
        let sorted = FetchRequest(entity: try coordinator.model.requireEntity(named: "Author"))
        sorted.sortDescriptors = [SortDescriptor("books")]
        XCTAssertThrowsError(try context.fetch(sorted))
    }

    func testBlockPredicatesAreEvaluatedByTheContext() throws {
        try fill(9)
        let block = Predicate.block(
            BlockPredicate { value, _ in
                guard case .object(let object as ManagedObject) = value else { return false }
                return try (object.get("pages") ?? 0) > 6
            })
        let book = try coordinator.model.requireEntity(named: "Book")
        let request = FetchRequest(entity: book, predicate: try .and([block, .parse("title != 't8'")]))
        XCTAssertEqual(try context.count(request), 2)
        let share = try XCTUnwrap(try context.explain(request).shares.first)
        XCTAssertEqual(share.remainder?.format, block.format)
        XCTAssertEqual(share.reasons.count, 1)
        request.allowsSplit = false
        XCTAssertThrowsError(try context.fetch(request)) { XCTAssertEqual(($0 as? CoreError)?.status, .unsupported) }
        let moods = try self.request("Book", "mood == nil AND pages < 2")
        XCTAssertEqual(try context.count(moods), 2)
        XCTAssertEqual(
            try context.explain(moods).shares.first?.reasons, ["Book.mood is transient and not in the store"])
    }

    func testInterruptCheckStopsALongScan() throws {
        try fill(3000)
        let request = try request("Book", "SUBQUERY(author.books, $b, $b.title CONTAINS[cd] 'é').@count > 0")
        let patient = Context(coordinator: coordinator)
        var asked = 0
        patient.interruptCheck = {
            asked += 1
            return asked > 2
        }
        XCTAssertThrowsError(try patient.fetch(request)) { XCTAssertEqual(($0 as? CoreError)?.status, .cancelled) }
        XCTAssertEqual(asked, 3)
    }

    // MARK: Batches

    func testBatchUpsertReplacesRowsWithEqualUniqueValues() throws {
        try fill(6)
        let book = try coordinator.model.requireEntity(named: "Book")
        let known = try XCTUnwrap(try context.fetch("Book", "isbn == '1'").first)
        XCTAssertEqual(try known.get("pages"), 1)
        let request = BatchInsertRequest(
            entity: book,
            rows: [
                ["isbn": .string("1"), "pages": .int(100)], ["isbn": .string("3"), "pages": .int(300)],
                ["isbn": .string("new"), "pages": .int(7)], ["isbn": .string("new"), "pages": .int(8)],
            ])
        XCTAssertThrowsError(try context.execute(request) as BatchResult) {
            XCTAssertEqual(($0 as? CoreError)?.code, 133021)
        }
        XCTAssertEqual(try context.count("Book"), 6)
        context.mergePolicy = .objectTrump
        request.resultType = .objectIDs
        let result: BatchResult = try context.execute(request)
        let fresh = Context(coordinator: coordinator)
        let pages = { (isbn: String) in try fresh.fetch("Book", "isbn == %@", isbn).map { try $0.get("pages") ?? 0 } }
        XCTAssertEqual(try pages("1"), [100])
        XCTAssertEqual(
            try fresh.fetch("Book", "isbn == '1'").first?.get("title"), "t1", "what the row does not name stays")
        XCTAssertEqual(try pages("new"), [8])
        // The row with "3" is a Novel, which cannot become a Book.
        XCTAssertEqual(try fresh.fetch("Book", "isbn == '3'").map(\.entityName), ["Book"])
        XCTAssertEqual(try known.get("pages"), 100, "the context has merged it")
        XCTAssertTrue(result.changes.updated.contains(known.objectID))
        XCTAssertEqual(result.changes.inserted.count, 2)
        context.mergePolicy = .storeTrump
        _ =
            try context.execute(BatchInsertRequest(entity: book, rows: [["isbn": .string("1"), "pages": .int(0)]]))
            as BatchResult
        XCTAssertEqual(try pages("1"), [100])
    }

    func testBatchUpsertOfManyRowsTakesLinearTime() throws {
        let book = try coordinator.model.requireEntity(named: "Book")
        context.mergePolicy = .objectTrump
        func time(_ count: Int) throws -> Double {
            let start = ProcessInfo.processInfo.systemUptime
            for round in 0..<2 {
                _ =
                    try context.execute(
                        BatchInsertRequest(
                            entity: book,
                            rows: (0..<count).map { ["isbn": .string("\(count) \($0)"), "pages": .int(Int64(round))] }))
                    as BatchResult
            }
            return ProcessInfo.processInfo.systemUptime - start
        }
        let few = try time(1000)
        XCTAssertLessThan(try time(8000), 8 * 4 * max(few, 0.01))
        XCTAssertEqual(try context.count("Book", "pages == 1"), 9000)
    }

    func testBatchUpdateComputesValuesOrChangesNothing() throws {
        try fill(10)
        let book = try coordinator.model.requireEntity(named: "Book")
        let request = BatchUpdateRequest(
            entity: book, predicate: try Predicate.parse("author.name == 'author 1'"),
            propertiesToUpdate: [
                "pages": try Expression.parse("pages * 10"), "title": .string("a title that is longer than the former"),
            ])
        request.resultType = .objectIDs
        let known = try XCTUnwrap(try context.fetch("Book", "pages == 4").first)
        XCTAssertEqual(try known.get("title"), "t4")
        let result: BatchResult = try context.execute(request)
        XCTAssertEqual(result.count, 3)
        XCTAssertEqual(try known.get("pages"), 40)
        let fresh = Context(coordinator: coordinator)
        XCTAssertEqual(
            try fresh.fetch("Book", "title BEGINSWITH 'a title'", sort: ["pages"]).map { try $0.get("pages") ?? 0 },
            [10, 40, 70])
        XCTAssertEqual(try fresh.count("Book", "author.name == 'author 1'"), 3)
        request.propertiesToUpdate = ["pages": try Expression.parse("pages * 1000000000000")]
        XCTAssertThrowsError(try context.execute(request) as BatchResult) {
            XCTAssertEqual(($0 as? CoreError)?.key, "pages")
            XCTAssertNotNil(($0 as? CoreError)?.objectURI)
        }
        XCTAssertEqual(try Context(coordinator: coordinator).count("Book", "pages == 40"), 1)
        // Unique values move from row to row.
        request.propertiesToUpdate = ["isbn": try Expression.parse("CAST(pages, 'NSString')")]
        request.predicate = nil
        XCTAssertEqual((try context.execute(request) as BatchResult).count, 10)
    }
}
