import CorestoneGraph
import CorestoneModel
import CorestoneValues
import Foundation
import XCTest

@testable import CorestoneSQLite

final class DerivedAttributeTests: StoreTestCase {
    private func model() throws -> Model {
        let books = try BookModel(weight: .double)
        try books.book.addAttribute(named: "title", type: .string)
        try books.derive(books.person, "searchName", .string, "canonical:(name)")
        try books.derive(books.book, "loudTitle", .string, "uppercase:(title)")
        try books.derive(books.book, "quietTitle", .string, "lowercase:(title)")
        try books.model.freeze()
        return books.model
    }

    /// Compares the expected value of each derived attribute with the objects of `context` and of a new context.
    private func check(_ context: Context, line: UInt = #line) throws {
        let model = context.coordinator.model
        for context in [context, Context(coordinator: context.coordinator)] {
            for writer in try context.fetch(FetchRequest(entity: model.requireEntity(named: "Writer"))) {
                for (derived, path) in [("bookCount", "books.@count"), ("pageCount", "books.@sum.pages")] {
                    XCTAssertEqual(
                        try writer.value(forKey: derived), try writer.value(forKeyPath: path), derived, line: line)
                }
            }
            for book in try context.fetch(FetchRequest(entity: model.requireEntity(named: "Book"))) {
                for (derived, path) in [
                    ("tagCount", "tags.@count"), ("tagWeight", "tags.@sum.weight"), ("authorName", "author.name"),
                ] {
                    XCTAssertEqual(
                        try book.value(forKey: derived), try book.value(forKeyPath: path), derived, line: line)
                }
            }
        }
    }

    func testDerivedAttributesFollowTheirSourceValues() throws {
        let model = try model()
        let coordinator = try Coordinator(model: model)
        try coordinator.addSQLiteStore(at: path("a.sqlite"))
        let context = Context(coordinator: coordinator)
        let writers = try (0..<3).map { number in
            let writer = try context.insert("Writer")
            try writer.setValue(.string("Zoë \(number)"), forKey: "name")
            return writer
        }
        let tags = try (1...4).map { number in
            let tag = try context.insert("Tag")
            try tag.setValue(.double(Double(number)), forKey: "weight")
            return tag
        }
        var books: [ManagedObject] = []
        for number in 0..<6 {
            let book = try context.insert("Book")
            try book.setValue(.string("Äpfel \(number)"), forKey: "title")
            try book.setValue(.int(Int64(number * 10)), forKey: "pages")
            try book.setValue(.object(writers[number % 3]), forKey: "author")
            try book.setValue(.set(Set(tags.prefix(number % 4).map { .object($0) })), forKey: "tags")
            books.append(book)
        }
        try context.save()
        try check(context)
        XCTAssertEqual(try writers[0].value(forKey: "searchName"), .string("zoe 0"))
        XCTAssertEqual(try books[1].value(forKey: "loudTitle"), .string("ÄPFEL 1"))
        XCTAssertEqual(try books[1].value(forKey: "quietTitle"), .string("äpfel 1"))
        guard case .date(let first) = try books[0].value(forKey: "changed") else { return XCTFail("no date") }
        XCTAssertEqual(first, ReferenceDate.currentSeconds, accuracy: 60)

        try writers[1].setValue(.string("Ann"), forKey: "name")
        try books[0].setValue(.int(500), forKey: "pages")
        try books[1].setValue(.object(writers[2]), forKey: "author")
        try books[2].setValue(.null, forKey: "author")
        try tags[0].setValue(.double(100), forKey: "weight")
        try books[0].setValue(.set([.object(tags[3])]), forKey: "tags")
        try context.delete(books[5])
        try context.delete(tags[1])
        try context.save()
        try check(context)
        XCTAssertEqual(try writers[1].value(forKey: "searchName"), .string("ann"))
        guard case .date(let second) = try books[0].value(forKey: "changed") else { return XCTFail("no date") }
        XCTAssertGreaterThan(second, first)

        try context.delete(writers[2])
        try context.save()
        try check(context)
    }

    /// Only the store sets a derived attribute: setters fail for new objects and for saved ones.
    func testSettingADerivedAttributeFails() throws {
        let model = Model()
        let item = try model.addEntity(named: "Item")
        try item.addAttribute(named: "name", type: .string)
        let search = try item.addAttribute(named: "search", type: .string)
        try search.setDerivation(Derivation(ExpressionText("canonical:(name)")))
        let coordinator = try Coordinator(model: model)
        try coordinator.addSQLiteStore(at: path("a.sqlite"))
        let context = Context(coordinator: coordinator)
        let object = try context.insert(item)
        try object.setValue(.string("Zoë"), forKey: "name")
        func refused(_ value: PropertyValue) {
            for error in [
                failure { try object.setValue(value, forKey: "search") },
                failure { _ = try object.prepare(value, key: search.key) },
            ] {
                XCTAssertEqual(error.status, .invalidArgument)
                XCTAssertEqual([error.entity, error.key], ["Item", "search"])
                XCTAssert(error.message.contains("canonical:(name)"), error.message)
            }
        }
        refused(.string("mine"))
        XCTAssertEqual(try object.value(forKey: "search"), .null)
        try context.save()
        refused(.null)
        XCTAssertFalse(object.hasChanges)
        // Errors about other calls do not recommend setting it.
        XCTAssertEqual(
            failure { _ = try object.transformedValue(key: search.key) }.message,
            "Item.search is not a transformable attribute, but of type String; read it with cst_object_get (get)")
        XCTAssertEqual(
            failure { _ = try object.members(key: search.key) }.message,
            "Item.search is an attribute, not a to-many relationship; read it with cst_object_get (get)")
        XCTAssertEqual(try shell("a.sqlite", "SELECT ZNAME, ZSEARCH, Z_OPT FROM ZITEM"), "Zoë|zoe|1")
        try object.setValue(.string("Åsa"), forKey: "name")
        try context.save()
        XCTAssertEqual(try object.value(forKey: "search"), .string("asa"))
    }

    /// Triggers in the file call only functions that Apple's framework has.
    func testTriggersUseOnlyFunctionsOfApple() throws {
        let model = try model()
        try open("a.sqlite", model).close()
        let text = try shell("a.sqlite", "SELECT group_concat(sql) FROM sqlite_master WHERE type = 'trigger'")
        XCTAssertFalse(text.contains("corestone"))
        XCTAssert(text.contains("Z_DA_ZPERSON_Writer_bookCount_SOURCE_INSERT"), text)
        XCTAssert(text.contains("WHEN (NEW.Z_ENT IN (3))"), text)
        XCTAssertNil(try open("a.sqlite", model).readOnlyReason)
    }

    func testUnsupportedDerivationIsRejected() throws {
        let model = Model()
        let thing = try model.addEntity(named: "Thing")
        try thing.addAttribute(named: "size", type: .double)
        try thing.addAttribute(named: "root", type: .double).setDerivation(Derivation(ExpressionText("sqrt:(size)")))
        try model.freeze()
        let error = failure { _ = try open("a.sqlite", model) }
        XCTAssertEqual(error.status, .unsupported)
        XCTAssertEqual(error.key, "root")
        XCTAssert(error.message.contains("sqrt"), error.message)
        XCTAssertEqual(try files(), [])
    }

    /// A declared R-tree finds the rows in a rectangle.
    func testSpatialIndexFollowsItsAttributes() throws {
        let model = Model()
        let place = try model.addEntity(named: "Place")
        try place.addAttribute(named: "latitude", type: .double)
        try place.addAttribute(named: "longitude", type: .double)
        try place.addIndex(
            FetchIndex(
                name: "where",
                elements: ["latitude", "longitude"].map { FetchIndex.Element(property: $0, collation: .rTree) }))
        try model.freeze()
        let store = try open("a.sqlite", model)
        var rows = Rows()
        let latitude = Int(try XCTUnwrap(place.property(named: "latitude")).slot)
        try store.save { save in
            try save.insert(
                (1...3).map {
                    rows.add(place, $0, ["latitude": .double(Double($0)), "longitude": .double(Double($0 * 10))])
                }, entity: place)
        }
        let inside = "SELECT group_concat(Z_PK) FROM Z_RT_Place_where WHERE ZLATITUDE_MIN >= 1.5"
        XCTAssertEqual(try shell("a.sqlite", inside), "2,3")
        try store.save { save in
            let row = UpdatedRow(
                record: rows.add(place, 2, version: 2, ["latitude": .double(0), "longitude": .double(0)]),
                oldVersion: 1)
            XCTAssertEqual(try save.update([row], slots: [latitude], entity: place), [])
        }
        XCTAssertEqual(try shell("a.sqlite", inside), "3")
        try store.save { XCTAssertEqual(try $0.delete([(3, 1)], entity: place), []) }
        XCTAssertEqual(try shell("a.sqlite", "SELECT count(*) FROM Z_RT_Place_where"), "2")
    }
}
