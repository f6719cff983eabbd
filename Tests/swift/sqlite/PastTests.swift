import CorestoneFileSystem
@testable import CorestoneGraph
import CorestoneModel
@testable import CorestoneSQLite
import CorestoneValues
import Foundation
import XCTest

/// Former states of stores. Tests/history/past.py compares random states with copies.
final class PastTests: StoreTestCase {
    private func model() throws -> Model {
        let model = Model()
        let person = try model.addEntity(named: "Person")
        for name in ["name", "email"] { try person.addAttribute(named: name, type: .string).setOptional(true) }
        let place = try model.addEntity(named: "Place")
        try place.setParent(person)
        try place.addAttribute(named: "width", type: .double).setOptional(true)
        try person.addUniqueConstraint(["email"])
        return model
    }

    private func open(complete: Bool = true, _ model: Model? = nil) throws -> Context {
        let coordinator = try Coordinator(model: model ?? self.model())
        var options = StoreOptions()
        (options.normalSync, options.keepsHistory, options.keepsCompleteHistory) = (true, true, complete)
        try coordinator.addSQLiteStore(at: path("a.sqlite"), options: options)
        return Context(coordinator: coordinator)
    }

    private func token(_ context: Context) throws -> HistoryToken {
        try XCTUnwrap(context.coordinator.currentHistoryToken())
    }

    private func names(_ context: Context) throws -> [String] {
        let request = FetchRequest(entity: try context.coordinator.model.requireEntity(named: "Person"))
        return try context.fetch(request).map { object in
            guard case .text(let name) = try object.value(forKey: "name") else { return "nil" }
            return name.description
        }.sorted()
    }

    private func insert(_ name: String, _ email: String?, in context: Context, _ entity: String = "Person") throws
        -> ManagedObject
    {
        let object = try context.insert(context.coordinator.model.requireEntity(named: entity))
        try object.setValue(.string(name), forKey: "name")
        if let email { try object.setValue(.string(email), forKey: "email") }
        return object
    }

    private func same(_ object: ManagedObject, in context: Context) throws -> ManagedObject {
        let id = try XCTUnwrap(context.coordinator.objectID(forURI: object.objectID.uri))
        let found = try context.existingObject(with: id)
        kept.append(context)
        return found
    }

    /// Contexts that must outlive their objects.
    private var kept: [Context] = []

    override func tearDown() {
        kept = []
        super.tearDown()
    }

    /// During the reconstruction both objects have the same value temporarily.
    func testPastStateRestoresExchangedUniqueValues() throws {
        let context = try open()
        let one = try insert("a", "1", in: context), other = try insert("b", "2", in: context)
        try context.save()
        let start = try token(context)
        try one.setValue(.string("x"), forKey: "email")
        try context.save()
        try other.setValue(.string("1"), forKey: "email")
        try context.save()
        try one.setValue(.string("2"), forKey: "email")
        try context.save()
        let past = try context.at(.token(start))
        XCTAssertEqual(try same(one, in: past).value(forKey: "email"), .string("1"))
        XCTAssertEqual(try same(other, in: past).value(forKey: "email"), .string("2"))
        XCTAssertTrue(try XCTUnwrap(past.past).isComplete)
        XCTAssertNil(context.past)
    }

    func testPastStatesAreReachableFromAPastState() throws {
        let context = try open()
        var tokens: [HistoryToken] = []
        for name in ["a", "b", "c"] {
            _ = try insert(name, nil, in: context, name == "b" ? "Place" : "Person")
            try context.save()
            tokens.append(try token(context))
        }
        let second = try context.at(.token(tokens[1]))
        XCTAssertEqual(try names(second), ["a", "b"])
        XCTAssertEqual(try token(second), tokens[1])
        XCTAssertEqual(try names(second.at(.token(tokens[0]))), ["a"])
        XCTAssertEqual(try names(second.at(.beginning)), [])
        XCTAssertThrowsError(try second.at(.token(tokens[2])))
        guard case .transactions(let transactions) = try context.coordinator.fetchHistory() else {
            return XCTFail("no transactions")
        }
        XCTAssertEqual(try names(context.at(.transaction(transactions[1]))), ["a", "b"])
    }

    /// The copies are removed with the coordinator of the past state.
    func testCopiesOfPastStatesAreRemoved() throws {
        let context = try open()
        _ = try insert("a", nil, in: context)
        try context.save()
        // Other processes have copies in the default folder.
        let (former, folder) = (temporaryFolder, path("temporary"))
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        setenv("TMPDIR", folder, 1)
        defer { setenv("TMPDIR", former, 1) }
        func copies() throws -> Int {
            try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasPrefix("corestone-past-") }.count
        }
        var past: Context? = try context.at(.token(token(context)))
        XCTAssertEqual(try past.map(names), ["a"])
        XCTAssertEqual(try copies(), 1)
        past = nil
        XCTAssertEqual(try copies(), 0)
    }

    /// Each part of the history is used as far as it is known.
    func testUnknownPastValuesAreKnownInEarlierStates() throws {
        let context = try open()
        let person = try insert("a", nil, in: context)
        try context.save()
        let first = try token(context)
        try person.setValue(.string("b"), forKey: "name")
        try context.save()
        let second = try token(context)
        try person.setValue(.string("c"), forKey: "name")
        try context.save()
        // As if another program had written the third transaction.
        _ = try shell(
            "a.sqlite", "DELETE FROM CST_HISTORYVALUE WHERE ZTRANSACTION = 3; UPDATE CST_HISTORYSPAN SET ZLAST = 2;")
        let unknown = try same(person, in: context.at(.token(second)))
        XCTAssertEqual(try unknown.value(forKey: "name"), .null)
        XCTAssertFalse(try unknown.isKnown("name"))
        XCTAssertEqual(unknown.unknownKeys, ["name"])
        let known = try same(person, in: context.at(.token(first)))
        XCTAssertEqual(try known.value(forKey: "name"), .string("a"))
        XCTAssertTrue(try known.isKnown("name"))
        XCTAssertThrowsError(try known.isKnown("nmae"))
    }

    func testDerivedPastValuesAreKnownBeforeATransactionThatKeptThem() throws {
        let books = try BookModel(weight: .double)
        try books.model.freeze()
        let context = try open(books.model)
        let writer = try context.insert("Writer"), other = try context.insert("Writer")
        let removed = try context.insert("Writer")
        try context.insert("Book").setValue(.object(writer), forKey: "author")
        try context.insert("Book").setValue(.object(removed), forKey: "author")
        try context.save()
        let (first, removedURI) = (try token(context), removed.objectID.uri)
        try context.insert("Book").setValue(.object(writer), forKey: "author")
        try context.delete(removed)
        try context.save()
        let second = try token(context)
        try writer.setValue(.string("Ann"), forKey: "name")
        try context.save()
        // As if another program had written the third transaction.
        _ = try shell(
            "a.sqlite", "DELETE FROM CST_HISTORYVALUE WHERE ZTRANSACTION = 3; UPDATE CST_HISTORYSPAN SET ZLAST = 2;")
        let unknown = try same(writer, in: context.at(.token(second)))
        XCTAssertEqual(try unknown.value(forKey: "bookCount"), .null)
        XCTAssertFalse(try unknown.isKnown("bookCount"))
        let past = try context.at(.token(first))
        let known = try same(writer, in: past)
        XCTAssertEqual(try known.value(forKey: "bookCount"), .int(1))
        XCTAssertTrue(try known.isKnown("bookCount"))
        // The third transaction may have changed values that the second one did not replace.
        XCTAssertEqual(try same(other, in: past).value(forKey: "bookCount"), .null)
        let recreated = try past.fetch(FetchRequest(entityName: "Writer")).first { $0.objectID.uri == removedURI }
        XCTAssertEqual(try recreated?.value(forKey: "bookCount"), .int(1))
        XCTAssertEqual(try recreated?.isKnown("pageCount"), true)
    }

    /// Tables that name missing columns or unknown transactions do no harm.
    func testHostileTablesOfOldValuesAreIgnored() throws {
        let context = try open()
        let person = try insert("a", nil, in: context)
        try context.save()
        let first = try token(context)
        try person.setValue(.string("b"), forKey: "name")
        try context.save()
        _ = try shell(
            "a.sqlite",
            "INSERT INTO CST_HISTORYCOLUMN (ZTABLE, ZCOLUMN) VALUES ('sqlite_schema', 'sql'), ('ZPERSON', 'Z_PK; DROP'), (1, NULL);"
                + "INSERT INTO CST_HISTORYVALUE SELECT 2, Z_PK, 1, 'x' FROM CST_HISTORYCOLUMN WHERE ZCOLUMN <> 'ZNAME';"
                + "INSERT INTO CST_HISTORYSPAN VALUES (-5, -9), (9223372036854775807, 9223372036854775807), (3, 1);")
        let past = try context.at(.token(first))
        XCTAssertEqual(try names(past), ["a"])
    }

    func testRevisionsAreFoundByAnIDOfAnotherCoordinator() throws {
        let context = try open()
        let person = try insert("a", nil, in: context)
        try context.save()
        XCTAssertEqual(try person.history().count, 1)
        let other = try open()
        XCTAssertEqual(try other.coordinator.history(of: person.objectID).map(\.kind), [.insert])
        let empty = try Coordinator(model: context.coordinator.model)
        XCTAssertThrowsError(try empty.history(of: person.objectID)) {
            XCTAssertEqual(($0 as? CoreError)?.entity, "Person")
        }
        XCTAssertThrowsError(try empty.past(at: .beginning))
    }
}
