import CorestoneGraph
import CorestoneModel
import CorestoneValues
import Foundation
import XCTest

@testable import CorestoneSQLite

final class TriggerTests: StoreTestCase {
    /// Books with pages, which a trigger counts.
    private func library() throws -> Model {
        let model = Model()
        let book = try model.addEntity(named: "Book")
        let page = try model.addEntity(named: "Page")
        try book.addAttribute(named: "pagesCount", type: .integer16)
        try book.addAttribute(named: "title", type: .string)
        let pages = try book.addRelationship(named: "pages", destination: page, isToMany: true)
        try pages.setInverse(page.addRelationship(named: "book", destination: book))
        try model.freeze()
        return model
    }

    /// Apple's trigger for the first of five ways in which a count changes.
    private let counting =
        "CREATE TRIGGER Z_DA_ZPAGE_Book_pagesCount_PARAMETER_INSERT AFTER INSERT ON ZPAGE FOR EACH ROW WHEN (NEW.ZBOOK NOT "
        + "NULL) BEGIN UPDATE ZBOOK SET ZPAGESCOUNT = IFNULL(ZPAGESCOUNT, 0) + 1 WHERE Z_PK = NEW.ZBOOK; SELECT "
        + "NSCoreDataDATriggerUpdatedAffectedObjectValue('ZBOOK', Z_ENT, Z_PK, 'pagesCount', ZPAGESCOUNT) FROM ZBOOK WHERE "
        + "Z_PK = NEW.ZBOOK; END"

    func testValuesComputedByATriggerAreReadIntoObjects() throws {
        let model = try library()
        try open("a.sqlite", model).close()
        _ = try shell("a.sqlite", counting)
        let coordinator = try Coordinator(model: model)
        let store = try coordinator.addSQLiteStore(at: path("a.sqlite"))
        XCTAssertFalse(store.isReadOnly)
        let context = Context(coordinator: coordinator)
        let (book, page) = (try model.requireEntity(named: "Book"), try model.requireEntity(named: "Page"))
        let first = try context.insert(book)
        try first.setValue(.string("Moby"), forKey: "title")
        for _ in 0..<3 { try context.insert(page).setValue(.object(first), forKey: "book") }
        try context.save()
        XCTAssertEqual(try first.value(forKey: "pagesCount"), .int(3))
        XCTAssertEqual(try first.value(forKey: "title"), .string("Moby"))
        try context.insert(page).setValue(.object(first), forKey: "book")
        try first.setValue(.string("Dick"), forKey: "title")
        try context.save()
        XCTAssertEqual(try first.value(forKey: "pagesCount"), .int(4))
        let other = Context(coordinator: coordinator)
        let again = try XCTUnwrap(other.fetch(FetchRequest(entity: book)).first)
        XCTAssertEqual(try again.value(forKey: "pagesCount"), .int(4))
        XCTAssertFalse(context.hasChanges)
    }

    func testUnknownFunctionOrCollationMakesTheStoreReadOnly() throws {
        let model = try library()
        for (statement, lacking) in [
            (
                "CREATE TRIGGER T AFTER UPDATE OF ZTITLE ON ZBOOK BEGIN SELECT NSCoreDataFromTheFuture(1); END",
                "NSCoreDataFromTheFuture"
            ), ("CREATE INDEX I ON ZBOOK (ZTITLE COLLATE NSCollateNothing)", "NSCollateNothing"),
        ] {
            try open("a.sqlite", model).close()
            _ = try Fixtures.run(
                "python3",
                [
                    "-c",
                    "import sqlite3, sys; d = sqlite3.connect(sys.argv[1]); "
                        + "d.create_collation('NSCollateNothing', lambda a, b: 0); d.execute(sys.argv[2]); d.commit()",
                    path("a.sqlite"), statement,
                ])
            let store = try open("a.sqlite", model)
            XCTAssert(store.isReadOnly, lacking)
            let error = failure { try store.save { _ in } }
            XCTAssertEqual(error.status, .storeReadOnly)
            XCTAssert(error.message.contains(lacking), error.message)
            store.close()
            try FileManager.default.removeItem(atPath: path("a.sqlite"))
        }
    }
}
