import CorestoneGraph
import CorestoneModel
import CorestonePredicate
import CorestoneValues
import XCTest

@testable import CorestoneSQLite

/// Several SQLite stores of one coordinator, each for a configuration of the model.
final class ConfigurationTests: StoreTestCase {
    private var coordinator: Coordinator!
    private var context: Context!

    /// Notes and their subentities are in "Cloud", drafts in "Local", tags in both, and stamps in no configuration.
    private func model() throws -> Model {
        let model = Model()
        let note = try model.addEntity(named: "Note")
        let draft = try model.addEntity(named: "Draft")
        let tag = try model.addEntity(named: "Tag")
        for entity in [note, draft, tag, try model.addEntity(named: "Stamp")] {
            try entity.addAttribute(named: "name", type: .string).setOptional(true)
        }
        let letter = try model.addEntity(named: "Letter")
        try letter.setParent(note)
        try tag.addRelationship(named: "note", destination: note).setOptional(true)
        try model.setConfiguration(ModelConfiguration(name: "Cloud", entityNames: ["Note", "Tag"]))
        try model.setConfiguration(ModelConfiguration(name: "Local", entityNames: ["Draft", "Tag"]))
        return model
    }

    private func open(_ stores: [(String, String?)]) throws {
        coordinator = try Coordinator(model: model())
        for (name, configuration) in stores {
            var options = StoreOptions()
            options.configuration = configuration
            try coordinator.addSQLiteStore(at: path(name), options: options)
        }
        context = Context(coordinator: coordinator)
    }

    @discardableResult
    private func insert(_ entity: String, _ name: String) throws -> ManagedObject {
        let object = try context.insert(coordinator.model.requireEntity(named: entity))
        try object.setValue(.string(name), forKey: "name")
        return object
    }

    private func store(_ index: Int) -> Store { coordinator.stores[index] }
    private func rows(_ file: String, _ table: String) throws -> String {
        try shell(file, "SELECT group_concat(ZNAME) FROM (SELECT ZNAME FROM \(table) ORDER BY ZNAME)")
    }
    private func names(_ entity: String, _ predicate: String? = nil) throws -> [String] {
        let request = FetchRequest(entity: try coordinator.model.requireEntity(named: entity))
        request.predicate = try predicate.map { try Predicate.parse($0) }
        request.sortDescriptors = [SortDescriptor("name")]
        let (count, ids) = (try context.count(request), try context.fetchIDs(request))
        XCTAssertEqual(count, ids.count)
        return try context.fetch(request).map { try $0.value(forKey: "name").textual?.string ?? "" }
    }

    private let both: [(String, String?)] = [("cloud.sqlite", "Cloud"), ("local.sqlite", "Local")]

    override func tearDown() {
        (context, coordinator) = (nil, nil)
        super.tearDown()
    }

    func testObjectsAreSavedToTheFirstStoreOfTheirConfiguration() throws {
        try open(both)
        for entity in ["Note", "Letter", "Draft", "Tag"] { try insert(entity, entity) }
        try context.obtainPermanentIDs(for: [insert("Draft", "Early")])
        try context.save()
        XCTAssertEqual(try rows("cloud.sqlite", "ZNOTE"), "Letter,Note")
        XCTAssertEqual(try rows("local.sqlite", "ZNOTE"), "")
        XCTAssertEqual(try rows("local.sqlite", "ZDRAFT"), "Draft,Early")
        XCTAssertEqual(try rows("cloud.sqlite", "ZTAG"), "Tag")
        XCTAssertEqual(store(1).configuration, "Local")
        try open(both)
        XCTAssertEqual(try names("Note"), ["Letter", "Note"])
        XCTAssertEqual(try names("Draft"), ["Draft", "Early"])
    }

    func testAssignedObjectsAreSavedToTheirStore() throws {
        try open(both)
        let tag = try insert("Tag", "b")
        try context.assign(tag, to: store(1))
        try insert("Tag", "a")
        try insert("Tag", "c")
        try context.save()
        XCTAssertEqual(tag.objectID.store?.configuration, "Local")
        XCTAssertEqual(try rows("cloud.sqlite", "ZTAG"), "a,c")
        // Order and window apply to the rows of both stores together.
        XCTAssertEqual(try names("Tag"), ["a", "b", "c"])
        XCTAssertEqual(try names("Tag", "name > 'a'"), ["b", "c"])
        let request = FetchRequest(entity: try coordinator.model.requireEntity(named: "Tag"))
        request.sortDescriptors = [SortDescriptor("name")]
        (request.offset, request.limit) = (1, 1)
        XCTAssert(try context.fetch(request).first === tag)
        XCTAssertEqual(failure { try context.assign(tag, to: store(0)) }.status, .invalidArgument)
        let error = try failure { try context.assign(insert("Draft", "x"), to: store(0)) }
        XCTAssert(error.message.contains("the store's configuration \"Cloud\" does not contain Draft"), error.message)
        // A rollback removes assignments.
        try context.assign(insert("Tag", "d"), to: store(1))
        try context.rollback()
        try insert("Tag", "e")
        try context.save()
        XCTAssertEqual(try rows("cloud.sqlite", "ZTAG"), "a,c,e")
    }

    func testFetchAndSaveFailForAnEntityWithoutAStore() throws {
        try open([both[0]])
        let error = failure { _ = try names("Draft") }
        XCTAssertEqual(error.status, .invalidArgument)
        XCTAssertEqual(error.entity, "Draft")
        XCTAssert(error.message.contains("cloud.sqlite has the configuration \"Cloud\""), error.message)
        XCTAssert(error.message.contains("Draft is in the configuration \"Local\""), error.message)
        try insert("Draft", "x")
        XCTAssertEqual(failure { try context.save() }.entity, "Draft")
        try context.rollback()
        XCTAssert(try failure { _ = try names("Stamp") }.message.contains("Stamp is not in a configuration"))
        // A store of the whole model accepts entities without a configuration.
        try open(both + [("all.sqlite", nil)])
        try insert("Stamp", "x")
        try context.save()
        XCTAssertEqual(try names("Stamp"), ["x"])
    }

    func testSaveFailsForARelationshipBetweenStores() throws {
        try open(both)
        let (note, tag) = (try insert("Note", "n"), try insert("Tag", "t"))
        try tag.setValue(.object(note), forKey: "note")
        try context.assign(tag, to: store(1))
        let error = failure { try context.save() }
        XCTAssertEqual(error.code, 133010)
        XCTAssertEqual([error.entity, error.key], ["Tag", "note"])
        for part in [note.objectID.uri, tag.objectID.uri, "cloud.sqlite", "local.sqlite"] {
            XCTAssert(error.message.contains(part), "\(error.message) lacks \(part)")
        }
        try context.assign(tag, to: store(0))
        try context.save()
    }

    /// The error about a unique constraint over a to-one relationship has the URI of the target.
    func testConstraintErrorNamesTheTargetOfARelationship() throws {
        let model = Model()
        let (seat, guest) = (try model.addEntity(named: "Seat"), try model.addEntity(named: "Guest"))
        try seat.addRelationship(named: "guest", destination: guest)
        try seat.addUniqueConstraint(["guest"])
        coordinator = try Coordinator(model: model)
        try coordinator.addSQLiteStore(at: path("seats.sqlite"))
        context = Context(coordinator: coordinator)
        let someone = try context.insert(guest)
        try context.save()
        for _ in 0..<2 { try context.insert(seat).setValue(.object(someone), forKey: "guest") }
        let error = failure { try context.save() }
        XCTAssertEqual(error.code, 133021)
        XCTAssertEqual([error.entity, error.key], ["Seat", "guest"])
        XCTAssertEqual(error.value, .uri(Text(someone.objectID.uri)))
        XCTAssert(error.message.contains(someone.objectID.uri), error.message)
    }

    func testUnknownConfigurationIsRejected() throws {
        try open([])
        var options = StoreOptions()
        options.configuration = "Clout"
        let error = failure { try coordinator.addSQLiteStore(at: path("x.sqlite"), options: options) }
        XCTAssert(error.message.contains("did you mean \"Cloud\""), error.message)
        XCTAssertEqual(try files(), [])
        options.configuration = "Default"
        let store = try coordinator.addSQLiteStore(at: path("x.sqlite"), options: options)
        try insert("Stamp", "x")
        try context.save()
        XCTAssertEqual(store.configuration, "Default")
        let model = Model()
        XCTAssertEqual(
            failure { try model.setConfiguration(ModelConfiguration(name: "Default", entityNames: [])) }.status, .model)
    }
}
