import Corestone
import TestSupport
import XCTest

/// The generated classes in Generated/. Tests/tool checks that `corestone model codegen` writes these files from
/// Tests/tool/models/Odd.xcdatamodel.
final class GeneratedClassTests: XCTestCase {
    private var folder = ""
    private var context: Corestone.Context!

    override func setUpWithError() throws {
        let model = Checkout.root.path + "/Tests/tool/models/Odd.xcdatamodel"
        let coordinator = try Coordinator(model: try Model(contentsOf: model))
        folder = FileManager.default.temporaryDirectory.path + "/" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try coordinator.addSQLiteStore(at: folder + "/odd.sqlite")
        context = Corestone.Context(coordinator: coordinator)
    }

    override func tearDownWithError() throws {
        context = nil
        try FileManager.default.removeItem(atPath: folder)
    }

    private func note(_ name: String) throws -> Note {
        let note = try context.insert(Note.self)
        try note.setClass(name)
        try note.setId(try XCTUnwrap(UUIDValue("12345678-1234-5678-1234-567812345678")))
        return note
    }

    func testAccessorsDistinguishRequiredOptionalAndScalarAttributes() throws {
        let note = try context.insert(Note.self)
        XCTAssertThrowsError(try note.class) {
            XCTAssertEqual(($0 as? CoreError)?.code, CocoaCode.validationMissingMandatoryProperty.rawValue)
        }
        XCTAssertNil(try note.score)
        XCTAssertEqual(try note.rank, 0)  // a scalar cannot be null
        XCTAssertFalse(try note.import)
        try note.setRank(7)
        try note.setScore(1.5)
        try note.setPrice(try DecimalNumber("12.50"))
        XCTAssertEqual(try note.rank, 7)
        XCTAssertEqual(try note.score, 1.5)
        XCTAssertEqual(try note.price, try DecimalNumber("12.5"))
    }

    func testRelationshipAccessorsReturnGeneratedClasses() throws {
        let (first, second) = (try note("first"), try note("second"))
        let tags = try ["red", "green", "blue"].map { name in
            let tag = try context.insert(Tag.self)
            try tag.setName(name)
            return tag
        }
        try first.setTags([tags[0], tags[1]])
        try first.insertIntoTags(tags[2], at: 0)
        try first.removeFromTags(tags[0])
        XCTAssertEqual(try first.tags.map { try $0.name }, ["blue", "green"])
        XCTAssertEqual(try tags[2].notes, [first])
        try tags[2].addToNotes(second)
        try second.setContext(first)
        XCTAssertEqual(try second.context?.cast(to: Note.self), first)
        XCTAssertNil(try second.context?.cast(to: Tag.self))
        XCTAssertEqual(try second.from.count, 0)
    }

    func testGeneratedFetchesReturnObjectsOfTheirClass() throws {
        let (first, second) = (try note("same"), try note("same"))
        let tag = try context.insert(Tag.self)
        try tag.setName("red")
        try tag.addToNotes(first)
        try context.save()
        XCTAssertEqual(try Note.fetchNotesOfTag(in: context, name: "red"), [first])
        XCTAssertEqual(try Tag.fetchAllTags(in: context), [tag])
        XCTAssertEqual(try first.twins, [second])
        XCTAssertEqual(try context.fetch(Note.self, "class == %@", "same", limit: 1).count, 1)
        XCTAssertEqual(try context.count(try Item.fetchRequest(in: context)), 2)
        XCTAssertEqual(NoteRelationships.context, "context")
        XCTAssertEqual(ItemUserInfo.color_of, "say \"red\"")
    }

    func testCompositesAndTransformablesHaveTypedAccessors() throws {
        let note = try note("first")
        XCTAssertNil(try note.place.x)
        try note.place.setX(1.5)
        try note.place.setName("here")
        try note.place.inner.setCount(3)
        XCTAssertEqual(try note.place.x, 1.5)
        XCTAssertEqual(try note.managedObject.value(forKeyPath: "place.inner.count"), .int(3))
        XCTAssertNil(try note.payload)
        try note.setPayload(PropertyValue.array([.int(1)]))
        XCTAssertEqual(try note.payload as? PropertyValue, .array([.int(1)]))
        try note.setWords("some words")
        XCTAssertEqual(try note.words, "some words")
    }

    func testNullOfATransformerIsNilForEveryType() throws {
        let note = try note("first")
        try note.setPayload(PropertyValue.null)
        XCTAssertEqual(try note.payload as? PropertyValue, .null)
        XCTAssertNil(try note.managedObject.transformed("payload", as: String.self))
        try context.save()
        try context.refresh(note.managedObject, mergeChanges: false)
        XCTAssertEqual(try note.payload as? PropertyValue, .null)
        XCTAssertNil(try note.managedObject.transformed("payload", as: String.self))
    }
}
