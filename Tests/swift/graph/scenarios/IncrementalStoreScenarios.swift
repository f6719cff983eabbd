import Corestone
import XCTest

/// Scenarios of a custom store through the public protocol (area incremental-store).
final class IncrementalStoreScenarios: XCTestCase {
    private var store: MemStore!
    private var opened: Store!
    private var coordinator: Coordinator!
    private var context: Context!
    private var person: Entity!

    override func setUpWithError() throws {
        let model = Model()
        person = try model.addEntity(named: "Person")
        try person.addAttribute(named: "name", type: .string).setOptional(true)
        try person.addAttribute(named: "age", type: .integer32).setOptional(true)
        let superior = try person.addRelationship(named: "manager", destination: person)
        try superior.setOptional(true)
        let reports = try person.addRelationship(named: "reports", destination: person, isToMany: true)
        try superior.setInverse(reports)
        let manager = try model.addEntity(named: "Manager")
        try manager.setParent(person)
        try manager.addAttribute(named: "level", type: .integer32).setOptional(true)
        let tag = try model.addEntity(named: "Tag")
        try tag.addAttribute(named: "label", type: .string)
        let tagged = try tag.addRelationship(named: "people", destination: person, isToMany: true)
        let tags = try person.addRelationship(named: "tags", destination: tag, isToMany: true)
        try tags.setInverse(tagged)
        coordinator = try Coordinator(model: model)
        store = MemStore(model: model)
        opened = try store.added(to: coordinator)
        context = Context(coordinator: coordinator)
    }

    func testS291IdentifierIsThatOfTheMetadata() throws {
        let metadata = try coordinator.metadata(of: opened)
        XCTAssertEqual(metadata["NSStoreType"]?.string, opened.type.rawValue)
        XCTAssertEqual(metadata["NSStoreUUID"]?.string, opened.identifier)
        XCTAssertEqual(store.opening?.metadata.uuid.description, opened.identifier)
    }

    func testS294IDsAreEqualByStoreEntityAndReference() throws {
        let ids = try ["r1", "r1", "r2"].map { try opened.newObjectID(for: person, reference: .text($0)) }
        XCTAssertEqual(ids[0], ids[1])
        XCTAssertEqual(ids[0].hashValue, ids[1].hashValue)
        XCTAssertNotEqual(ids[0], ids[2])
        // A store of another coordinator with another identifier has different IDs.
        let other = try Coordinator(model: coordinator.model)
        _ = try opened.newObjectID(for: person, reference: .text("another first"))
        let secondStore = MemStore(model: coordinator.model)
        let again = try secondStore.added(to: other)
        XCTAssertNotEqual(again.identifier, opened.identifier)
        XCTAssertNotEqual(try again.newObjectID(for: person, reference: .text("r1")), ids[0])
    }

    func testS297BytesAreWrittenAsHexadecimalInURIs() throws {
        let id = try opened.newObjectID(for: person, reference: .bytes([0x01, 0xAB, 0xFF]))
        XCTAssertTrue(id.uri.hasSuffix("/Person/p%3C01abff%3E"), id.uri)
        let back = try XCTUnwrap(coordinator.objectID(forURI: id.uri))
        XCTAssertEqual(back, id)
        XCTAssertEqual(back.storeReference, .bytes([0x01, 0xAB, 0xFF]))
    }

    /// The URIs are those of Core Data, which does not decode them when it parses them.
    func testTextReferenceIsEscapedAsTheURIPath() throws {
        let written = [
            "key with/slash": "key%20with/slash", "/": "/", "a//b/": "a//b/", "50%": "50%25", "é:@?#": "%C3%A9:@%3F%23",
            "p": "p", "..": "..", "7": "%37", "<ab>": "%3C%61b%3E", "%41": "%2541",
        ]
        for (text, expected) in written {
            let id = try opened.newObjectID(for: person, reference: .text(text))
            XCTAssertTrue(id.uri.hasSuffix("/Person/p" + expected), id.uri)
            XCTAssertEqual(try XCTUnwrap(coordinator.objectID(forURI: id.uri)).storeReference, .text(text))
        }
        // Another program may have escaped the slash.
        let uri = "x-coredata://\(opened.identifier)/Person/pkey%20with%2Fslash"
        XCTAssertEqual(try coordinator.objectID(forURI: uri)?.storeReference, .text("key with/slash"))
    }

    func testS300LibraryAppliesPredicateAndOrderThatTheStoreDoesNot() throws {
        try store.add("Person", 1, ["name": .string("Bob")])
        try store.add("Person", 2, ["name": .string("Alice")])
        XCTAssertEqual(try names(context.fetch("Person", "name == 'Alice'")), ["Alice"])
        XCTAssertEqual(try names(context.fetch("Person", sort: ["name"])), ["Alice", "Bob"])
        let request = FetchRequest(entity: person)
        request.sortDescriptors = [SortDescriptor("name")]
        (request.limit, request.offset) = (1, 1)
        XCTAssertEqual(try names(context.fetch(request)), ["Bob"])
        XCTAssertEqual(store.lastFetch?.limit, 1)
        XCTAssertEqual(store.lastFetch?.sortDescriptors.first?.keyPath, "name")
    }

    func testS302DictionariesAreMadeFromTheRowsOfTheStore() throws {
        try store.add("Person", 1, ["name": .string("Alice"), "age": .int(30)])
        let request = FetchRequest(entity: person)
        request.propertiesToFetch = ["name"]
        request.resultType = .dictionaries
        let before = store.fetchRequests
        let rows = try context.fetchDictionaries(request)
        XCTAssertEqual(try rows.rows, [[.string("Alice")]])
        XCTAssertEqual(store.fetchRequests, before + 1)
        XCTAssertEqual(store.lastFetch?.resultType, .dictionaries)
    }

    func testS305FetchExcludesSubentitiesOnRequest() throws {
        try store.add("Person", 1, ["name": .string("p")])
        try store.add("Manager", 2, ["name": .string("m")])
        let request = FetchRequest(entity: person)
        XCTAssertEqual(try context.fetch(request).count, 2)
        request.includesSubentities = false
        let found = try context.fetch(request)
        XCTAssertEqual(found.map(\.entity.name), ["Person"])
        XCTAssertEqual(store.lastFetch?.includesSubentities, false)
    }

    func testS308NodeIsUpdatedInPlace() {
        let node = StoreNode(person, .integer(1), ["name": .string("Bob"), "age": .int(30)], version: 1)
        node.update(["name": .string("Carol"), "age": .int(31)], version: 2)
        XCTAssertEqual(node.value(of: "name"), .string("Carol"))
        XCTAssertEqual(node.version, 2)
    }

    func testS311RequestsHaveTheirTypes() {
        let save = SaveChangesRequest(inserted: nil, updated: nil, deleted: nil, locked: nil)
        let requests: [PersistentStoreRequest] = [FetchRequest(entity: person), save]
        XCTAssertEqual(requests.map(\.requestType), [1, 2])
        let row = SavedRow(RowReference(person, .integer(1)), version: 1)
        let one = SaveChangesRequest(inserted: [row])
        XCTAssertEqual(one.inserted.map(\.row), [row.row])
        XCTAssertTrue(one.updated.isEmpty && one.deleted.isEmpty && one.locked.isEmpty)
    }

    private func names(_ objects: [ManagedObject]) throws -> [String] {
        try objects.map { try $0.get("name", as: String.self) ?? "" }
    }

    // MARK: Beyond the scenarios

    func testRowsOfReferencesAreReadInOneCall() throws {
        for key in 1...40 {
            try store.add("Person", Int64(key), ["name": .string("n\(key)")], targets: ["manager": nil])
        }
        let found = try context.fetch("Person")
        XCTAssertEqual(store.newValues, 0)
        XCTAssertEqual(found.count, 40)
        for object in found { _ = try object.get("name", as: String.self) }
        XCTAssertEqual(store.newValues, 1)
        XCTAssertEqual(store.relationshipCalls, 0)
    }

    func testRowsPushedByAFetchAreNotRequestedAgain() throws {
        store.pushesValues = true
        try store.add("Person", 1, ["name": .string("Boss")], targets: ["manager": nil])
        try store.add("Person", 2, ["name": .string("Worker")], targets: ["manager": 1])
        let worker = try XCTUnwrap(context.fetch("Person", "name == 'Worker'").first)
        XCTAssertEqual(try worker.get("name"), "Worker")
        XCTAssertEqual(store.newValues, 0)
    }

    func testReferencesAreDerivedFromValuesOrGenerated() throws {
        store.naming = { object, _ in
            if case .text(let name) = object.value(of: "name") { return .text(name.string) }
            return nil
        }
        let ada = try context.insert("Person", ["name": "Ada L."])
        try context.save()
        XCTAssertTrue(ada.objectID.uri.hasSuffix("/Person/pAda%20L."))
        store.naming = nil
        let grace = try context.insert("Person", ["name": "Grace"])
        try context.save()
        guard case .text(let made)? = grace.objectID.storeReference else { return XCTFail("no text") }
        XCTAssertNotNil(UUIDValue(made))
        store.naming = { _, _ in .text("Ada L.") }
        _ = try context.insert("Person", ["name": "x"])
        XCTAssertThrowsError(try context.save()) {
            XCTAssertTrue("\($0)".contains("for a new Person"), "\($0)")
        }
    }

    func testEntityOfATargetIsResolvedWhenTheStoreOmitsIt() throws {
        store.pushesValues = true
        try store.add("Manager", 1, ["name": .string("Boss"), "level": .int(3)], targets: ["manager": nil])
        store.rows[.integer(2)] = .init(
            entity: person, attributes: ["name": .string("Worker"), "manager": .int(1)], targets: [:])
        let request = FetchRequest(entity: person)
        request.includesSubentities = false
        let worker = try XCTUnwrap(context.fetch(request).first)
        let boss: ManagedObject = try XCTUnwrap(worker.get("manager", as: ManagedObject.self))
        XCTAssertEqual(boss.entity.name, "Manager")
        XCTAssertEqual(try boss.get("level"), 3)
    }

    func testReferenceOfAnotherEntityIsRefused() throws {
        try store.add("Manager", 1, ["name": .string("Boss")])
        _ = try context.fetch("Person")
        store.rows[.integer(1)] = nil
        try store.add("Person", 1, ["name": .string("Other")])
        XCTAssertThrowsError(try context.fetch("Person")) { error in
            let error = error as? CoreError
            XCTAssertEqual(error?.status, .callback)
            XCTAssertTrue(
                error?.message.contains("already identifies an object of Manager") == true,
                "\(String(describing: error))")
        }
    }

    func testSaveMergesRowsThatTheStoreReturns() throws {
        let ada = try context.insert("Person", ["name": "ada"])
        try context.save()
        let reference = try XCTUnwrap(ada.objectID.storeReference)
        store.afterSave = [StoreNode(person, reference, ["name": .string("Ada")], version: 7)]
        try ada.set("age", 36)
        try context.save()
        XCTAssertEqual(try ada.get("name"), "Ada")
        XCTAssertEqual(try ada.get("age"), 36)
        // The version is the store's: the next change is based on it.
        store.afterSave = []
        store.rows[reference]?.version = 7
        try ada.set("age", 37)
        try context.save()
        XCTAssertEqual(store.rows[reference]?.version, 8)
    }

    func testSavePassesBothSidesOfManyToManyRelationships() throws {
        let ada = try context.insert("Person", ["name": "Ada"])
        let first = try context.insert("Tag", ["label": "first"])
        try ada.add(first, to: "tags")
        try context.save()
        let (person, tag) = try (XCTUnwrap(ada.objectID.storeReference), XCTUnwrap(first.objectID.storeReference))
        XCTAssertEqual(store.rows[person]?.members["tags"], [tag])
        XCTAssertEqual(store.rows[tag]?.members["people"], [person])
        try context.delete(first)
        try context.save()
        XCTAssertEqual(store.rows[person]?.members["tags"], [])
    }

    func testStoreWithoutVersionsIsReadAgain() throws {
        let ada = try context.insert("Person", ["name": "Ada"])
        try context.save()
        let reference = try XCTUnwrap(ada.objectID.storeReference)
        store.rows[reference]?.version = 0
        store.rows[reference]?.attributes["name"] = .string("Changed elsewhere")
        let other = Context(coordinator: coordinator)
        store.pushesValues = true
        XCTAssertEqual(try names(other.fetch("Person")), ["Changed elsewhere"])
    }

    func testClosedStoreReceivesNoCalls() throws {
        try store.add("Person", 1, ["name": .string("Boss")])
        var objects: [ManagedObject]? = try context.fetch("Person")
        XCTAssertEqual(objects?.count, 1)
        try coordinator.remove(opened)
        XCTAssertTrue(store.isClosed)
        let log = store.log
        objects = nil
        context = nil
        XCTAssertEqual(store.log, log)
    }
}
