import Corestone
import XCTest

/// The façade of a container: rows as plain values.
final class RecordTests: XCTestCase {
    private var container: Container!

    override func setUpWithError() throws {
        let model = Model()
        let item = try model.addEntity(named: "Item")
        try item.addAttribute(named: "name", type: .string, isOptional: false)
        try item.addAttribute(named: "price", type: .decimal)
        try item.addAttribute(named: "made", type: .date)
        try item.addAttribute(named: "count", type: .integer16)
        try item.addAttribute(named: "mark", type: .uuid)
        try item.addAttribute(named: "data", type: .binary)
        let shop = try model.addEntity(named: "Shop")
        try shop.addAttribute(named: "name", type: .string)
        let items = try shop.addRelationship(named: "items", destination: item, isToMany: true)
        try item.addFetchedProperty(
            named: "others", fetchRequest: FetchRequestTemplate(entityName: "Item", predicate: nil))
        let back = try item.addRelationship(named: "shop", destination: shop)
        try items.setInverse(back)
        let special = try model.addEntity(named: "Special")
        try special.setParent(item)
        container = try Container(name: "Records", model: model, application: "x")
        container.storeDescriptions = [StoreDescription(type: .inMemory)]
        try container.loadStores()
    }

    private func failure(_ body: () throws -> Void, line: UInt = #line) -> CoreError {
        do { try body() } catch let error as CoreError { return error } catch { XCTFail("\(error)", line: line) }
        XCTFail("nothing failed", line: line)
        return CoreError(.internal, "")
    }

    func testRecordValuesAreConvertedToAttributeTypes() throws {
        let date = ReferenceDate.description(86400)
        let uuid = UUIDValue.random()
        let record = try container.insert(
            "Item",
            [
                [
                    "name": .int(5), "price": .string("12.50"), "made": .string(date), "count": .string("7"),
                    "mark": .string(uuid.description), "data": .string("AQI="),
                ]
            ])[0]
        XCTAssertEqual(record["name"], .string("5"))
        XCTAssertEqual(record["price"], .decimal(try DecimalNumber("12.5")))
        XCTAssertEqual(record["made"], .date(86400))
        XCTAssertEqual(record["count"], .int(7))
        XCTAssertEqual(record["mark"], .uuid(uuid))
        XCTAssertEqual(record["data"], .bytes(Bytes([1, 2])))
        XCTAssertEqual(record["shop"], .null)
        // A record that was read can be inserted again.
        var again = record
        again["@id"] = nil
        XCTAssertEqual(try container.insert("Item", [again])[0]["price"], record["price"])
    }

    func testRecordErrorNamesEntityKeyAndValue() throws {
        for (key, value) in [
            ("count", PropertyValue.string("many")), ("count", .int(100_000)), ("made", .string("yesterday")),
            ("shop", .int(3)), ("shop", .string("x-coredata://nowhere/Shop/p1")), ("price", .bool(true)),
            ("others", .array([])),
        ] {
            let error = failure { try container.insert("Item", [["name": "a", key: value]]) }
            XCTAssertEqual(error.entity, "Item", error.message)
            XCTAssertEqual(error.key, key, error.message)
            XCTAssertEqual(error.value, value, error.message)
        }
        XCTAssertEqual(
            failure { try container.insert("Item", [["nam": "a"]]) }.message,
            "Item has no property \"nam\"; did you mean \"name\"?")
        XCTAssertEqual(
            failure { try container.insert("Item", [["others": .null]]) }.message,
            "Item.others is a fetched property and cannot be set; leave it out of the record")
        XCTAssertEqual(failure { try container.insert("Thing", [[:]]) }.status, .invalidArgument)
        XCTAssertEqual(failure { try container.insert("Item", [["name": "a"], [:]]) }.status, .validation)
        // A failed insert adds no records.
        XCTAssertEqual(try container.read("Item").count, 0)
    }

    func testRelationshipsAcceptRecordsAndURIs() throws {
        let shop = try container.insert(
            "Shop",
            [
                [
                    "name": "Toys",
                    "items": .array([
                        .dictionary(["name": "ball"]), .dictionary(["name": "kite", "@entity": "Special"]),
                    ]),
                ]
            ])[0]
        guard case .array(let items)? = shop["items"] else { return XCTFail() }
        XCTAssertEqual(items.count, 2)
        XCTAssertEqual(try container.read("Special").count, 1)
        let id = try XCTUnwrap(shop["@id"])
        let doll = try container.insert("Item", [["name": "doll", "shop": id]])[0]
        XCTAssertEqual(doll["shop"], id)
        let other = try container.insert(
            "Item", [["name": "yo-yo", "shop": .dictionary(["@id": id, "name": "Old toys"])]])[0]
        XCTAssertEqual(other["shop"], id)
        XCTAssertEqual(try container.read("Shop").map { $0["name"] }, ["Old toys"])
        try container.update("Item", where: "name == %@", "doll", values: ["shop": .null])
        XCTAssertEqual(try container.read("Item", where: "shop == nil").map { $0["name"] }, ["doll"])
    }

    func testRecordsAreReadUpdatedAndDeleted() throws {
        try container.insert("Item", (0..<10).map { ["name": .string("n\($0)"), "count": .int(Int64($0 % 3))] })
        func names(_ records: [Container.Record]) -> [PropertyValue] { records.compactMap { $0["name"] } }
        XCTAssertEqual(names(try container.read("Item", sort: ["count", "-name"], limit: 3)), ["n9", "n6", "n3"])
        XCTAssertEqual(names(try container.read("Item", sort: ["name"], ascending: false, limit: 2)), ["n9", "n8"])
        XCTAssertEqual(
            names(try container.read("Item", where: "count == %d", 1, sort: ["name"], offset: 1)), ["n4", "n7"])
        XCTAssertEqual(names(try container.read("Item", sort: ["name"], limit: 2, offset: 3)), ["n3", "n4"])
        XCTAssertEqual(try container.update("Item", where: "count == 2", values: ["count": "20"]).count, 3)
        let one = try container.read("Item", where: "name == 'n0'")[0]
        guard case .text(let uri)? = one["@id"] else { return XCTFail() }
        XCTAssertEqual(names(try container.read("Item", where: container.predicate(forObjectAt: uri.string))), ["n0"])
        XCTAssertEqual(try container.delete("Item", where: container.predicate(forObjectAt: uri.string)), 1)
        XCTAssertEqual(try container.delete("Item", where: "count == 20"), 3)
        XCTAssertEqual(try container.deleteAll("Item"), 6)
        XCTAssertEqual(try container.deleteAll("Item"), 0)
        XCTAssertEqual(failure { _ = try container.read("Item", where: "name ===") }.status, .predicateSyntax)
        try container.close()
        XCTAssertEqual(failure { _ = try container.read("Item") }.status, .invalidHandle)
    }

    func testRecordCallsWorkWithCallbacksAndAsyncAwait() async throws {
        let told = expectation(description: "told")
        container.insert("Item", [["name": "a"]]) { result in
            XCTAssertEqual((try? result.get())?.count, 1)
            told.fulfill()
        }
        await fulfillment(of: [told], timeout: 60)
        let failed = expectation(description: "failed")
        container.read("Thing") { result in
            if case .failure(let error as CoreError) = result {
                XCTAssertEqual(error.status, .invalidArgument)
            } else {
                XCTFail()
            }
            failed.fulfill()
        }
        await fulfillment(of: [failed], timeout: 60)
        let records = try await container.records { try $0.read("Item") }
        XCTAssertEqual(records.count, 1)
    }

    func testReadWithCallbackSortsDescending() async throws {
        try await container.records { _ = try $0.insert("Item", [["name": "a"], ["name": "b"]]) }
        let told = expectation(description: "told")
        container.read("Item", sort: ["name"], ascending: false) { result in
            XCTAssertEqual((try? result.get())?.map { $0["name"] }, ["b", "a"])
            told.fulfill()
        }
        await fulfillment(of: [told], timeout: 60)
    }

    func testRecordsHandleCompositesSubentitiesAndNull() throws {
        let model = Model()
        let place = try model.addEntity(named: "Place")
        let name = try place.addAttribute(named: "name", type: .string)
        try name.setDefaultValue("hello")
        let at = try place.addAttribute(named: "at", type: .composite)
        _ = try at.addElement(named: "cost", type: .decimal)
        _ = try at.addElement(named: "when", type: .date)
        let town = try model.addEntity(named: "Town")
        try town.setParent(place)
        let places = try Container(name: "Places", model: model, application: "x")
        places.storeDescriptions = [StoreDescription(type: .inMemory)]
        try places.loadStores()
        let given: Container.Record = [
            "@entity": "Town", "at": .dictionary(["cost": "1.5", "when": "2001-01-02T00:00:00Z"]),
        ]
        let record = try places.insert("Place", [given])[0]
        XCTAssertEqual(
            record["at"], .dictionary(["cost": .decimal(try DecimalNumber("1.5")), "when": .date(86400)]))
        XCTAssertEqual(record["@entity"], "Town")
        XCTAssertEqual(record["name"], "hello")
        XCTAssertEqual(try places.read("Place"), [record])
        XCTAssertNil(try places.read("Town")[0]["@entity"])
        XCTAssertEqual(try places.update("Place", where: nil, ["name": .null])[0]["name"], .null)
        XCTAssertEqual(failure { try places.insert("Place", [record]) }.key, "@id")
        XCTAssertEqual(failure { try places.insert("Town", [["@entity": "Place"]]) }.key, "@entity")
        XCTAssertEqual(failure { try places.insert("Town", [["@entity": .int(3)]]) }.status, .typeMismatch)
        XCTAssertEqual(try places.read("Place").count, 1)
    }

    // MARK: Relationships

    private func things() throws -> Container {
        let model = Model()
        let (node, leaf) = (try model.addEntity(named: "Node"), try model.addEntity(named: "Leaf"))
        try node.addAttribute(named: "name", type: .string)
        try leaf.addAttribute(named: "name", type: .string)
        let next = try node.addRelationship(named: "next", destination: node)
        let former = try node.addRelationship(named: "former", destination: node)
        try next.setInverse(former)
        let leaves = try node.addRelationship(named: "leaves", destination: leaf, isToMany: true, isOrdered: true)
        let owner = try leaf.addRelationship(named: "owner", destination: node)
        try leaves.setInverse(owner)
        let template = FetchRequestTemplate(entityName: "Leaf")
        try node.addFetchedProperty(named: "all", fetchRequest: template)
        let container = try Container(name: "Things", model: model, application: "x")
        container.storeDescriptions = [StoreDescription(type: .inMemory)]
        try container.loadStores()
        return container
    }

    private func nested(_ depth: Int) -> Container.Record {
        (1..<depth).reduce(["name": "1"]) { inner, level in
            ["name": .string("\(level + 1)"), "next": .dictionary(inner)]
        }
    }

    func testRecordsNestUpTo64Levels() throws {
        let things = try things()
        try things.insert("Node", [nested(64)])
        XCTAssertEqual(try things.read("Node").count, 64)
        let error = failure { try things.insert("Node", [nested(65)]) }
        XCTAssertEqual(error.status, .invalidArgument)
        XCTAssertEqual(error.entity, "Node")
        XCTAssertTrue(error.message.contains("more than 64 levels deep"), error.message)
        XCTAssertEqual(try things.read("Node").count, 64)
    }

    func testOrderedMembersKeepTheOrderOfTheList() throws {
        let things = try things()
        let leaves = try things.insert("Leaf", ["a", "b", "c"].map { ["name": $0] })
        let ids = try leaves.map { try XCTUnwrap($0["@id"]) }
        let node = try things.insert("Node", [["leaves": .array([ids[2], ids[0], .dictionary(["name": "d"])])]])[0]
        guard case .array(let members)? = node["leaves"] else { return XCTFail() }
        XCTAssertEqual(Array(members.prefix(2)), [ids[2], ids[0]])
        XCTAssertEqual(
            try things.read("Leaf", where: "owner != nil", sort: ["name"]).map { $0["name"] }, ["a", "c", "d"])
        XCTAssertEqual(try things.read("Leaf", where: "name == 'a'")[0]["owner"], node["@id"])
        // Replaced by other members, and by null.
        XCTAssertEqual(
            try things.update("Node", where: nil, ["leaves": .array([ids[1], ids[2]])])[0]["leaves"],
            .array([ids[1], ids[2]]))
        XCTAssertEqual(try things.update("Node", where: nil, ["name": "n"])[0]["leaves"], .array([ids[1], ids[2]]))
        XCTAssertEqual(try things.update("Node", where: nil, ["leaves": .null])[0]["leaves"], .array([]))
        XCTAssertEqual(try things.read("Leaf").count, 4)
    }

    func testRelationshipAcceptsURIsIDsAndRecords() throws {
        let things = try things()
        let first = try things.insert("Node", [["name": "first"]])[0]
        let id = try XCTUnwrap(first["@id"])
        guard case .text(let uri) = id else { return XCTFail() }
        let objectID = try things.coordinator.objectID(forURI: uri.string)
        for value in [id, .uri(uri), objectID.propertyValue, .dictionary(["@id": id])] {
            XCTAssertEqual(try things.insert("Node", [["next": value]])[0]["next"], id)
        }
        let leaf = try XCTUnwrap(try things.insert("Leaf", [["name": "l"]])[0]["@id"])
        for (key, value, status, words) in [
            (
                "next", .array([id]), .typeMismatch,
                "Node.next takes a URI or a record of Node, not a list"
            ),
            ("next", .bool(true), .typeMismatch, "Node.next takes a URI or a record of Node, not a boolean"),
            ("leaves", leaf, .typeMismatch, "Node.leaves takes a list of URIs or records of Leaf, not a string"),
            ("leaves", .dictionary([:]), .typeMismatch, "takes a list of URIs or records"),
            (
                "leaves", .array([.int(1)]), .typeMismatch,
                "Node.leaves takes a list of URIs or records of Leaf, not a list with an integer"
            ),
            (
                "next", .dictionary(["@id": .int(1)]), .typeMismatch,
                "the @id of a record in Node.next takes a URI as a string, not an integer"
            ),
            (
                "next", "nowhere", .invalidArgument,
                "Node.next cannot refer to \"nowhere\", which is not the URI of an object in an open store"
            ),
            ("all", .array([]), .invalidArgument, "all"),
        ] as [(String, PropertyValue, Status, String)] {
            let error = failure { try things.insert("Node", [[key: value]]) }
            XCTAssertEqual(error.status, status, error.message)
            XCTAssertEqual(error.entity, "Node")
            XCTAssertEqual(error.key, key)
            XCTAssertTrue(error.message.contains(words), error.message)
        }
        // A deleted object.
        try things.delete("Leaf", where: "name == 'l'")
        let gone = failure { try things.insert("Node", [["leaves": .array([leaf])]]) }
        XCTAssertEqual(gone.status, .invalidArgument)
        XCTAssertEqual([gone.entity, gone.key], ["Node", "leaves"])
        XCTAssertEqual(gone.value, leaf)
        XCTAssertTrue(gone.message.contains("which does not exist: its row was deleted or never saved"), gone.message)
        XCTAssertNil(first["all"])
        let unknown = failure { _ = try things.predicate(forObjectAt: "nowhere") }
        XCTAssertEqual(unknown.status, .invalidArgument)
        XCTAssertEqual(unknown.value, "nowhere")
    }

    /// A record that was read can be written back. Its keys `@id` and `@entity`, which identify the object, are
    /// ignored.
    func testRecordThatWasReadIsWrittenBack() throws {
        let things = try things()
        let node = try things.insert("Node", [["name": "n", "leaves": .array([.dictionary(["name": "a"])])]])[0]
        XCTAssertEqual(try things.update("Node", where: "name == 'n'", values: node), [node])
        var other = node
        other["@id"] = "anything"
        other["@entity"] = "anything"
        other["name"] = "m"
        let changed = try things.update("Node", where: nil, other)[0]
        XCTAssertEqual(changed["name"], "m")
        XCTAssertEqual(changed["@id"], node["@id"])
        XCTAssertEqual(changed["leaves"], node["leaves"])
        XCTAssertEqual(try things.insert("Node", [["@id": .null, "@entity": .null, "name": "x"]])[0]["name"], "x")
        XCTAssertEqual(try things.update("Node", where: "name == 'none'", values: ["name": "y"]), [])
    }

    func testSortKeysAcceptPlusAndMinus() throws {
        try container.insert("Item", ["b", "a", "c"].map { ["name": $0] })
        func names(_ sort: [String], _ ascending: Bool = true) throws -> [PropertyValue?] {
            try container.read("Item", sort: sort, ascending: ascending).map { $0["name"] }
        }
        XCTAssertEqual(try names(["+name"]), ["a", "b", "c"])
        XCTAssertEqual(try names(["-name"]), ["c", "b", "a"])
        XCTAssertEqual(try names(["+name"], false), ["c", "b", "a"])
        XCTAssertEqual(try names(["-name"], false), ["a", "b", "c"])
    }

    // MARK: JSON

    func testValuesWithoutAJSONTypeAreWrittenAsText() throws {
        let uuid = UUIDValue.random()
        for (value, json) in try [
            (.null, .null), (.bool(true), true), (.int(3), 3), (.string("x"), "x"), (.double(1.5), 1.5),
            (.double(.nan), "NaN"), (.double(.infinity), "Infinity"), (.double(-.infinity), "-Infinity"),
            (.decimal(DecimalNumber("12.50")), .string(DecimalNumber("12.50").description)),
            (.uuid(uuid), .string(uuid.description)), (.uri("a:b"), "a:b"), (.bytes(Bytes([1, 2])), "AQI="),
            (.bytes(Bytes([])), ""), (.array([.double(.nan), .int(1)]), .array(["NaN", 1])),
            (.dictionary(["a": .uri("b:c")]), .dictionary(["a": "b:c"])),
            (.date(0), "2001-01-01T00:00:00Z"), (.date(86400), "2001-01-02T00:00:00Z"),
            // Seconds are written where the text would not be exact, or where other parsers do not read it.
            (.date(0.1234567), 0.1234567), (.date(1e15), 1e15), (.date(-1e15), -1e15), (.date(.infinity), "Infinity"),
            (.date(.nan), "NaN"),
        ] as [(PropertyValue, PropertyValue)] {
            XCTAssertEqual(value.asPlainJSON, json, "\(value)")
        }
        let half = PropertyValue.date(0.5).asPlainJSON
        XCTAssertEqual(half, .string(ReferenceDate.description(0.5)))
        // The first and the last year of four digits.
        for (text, isText) in [
            ("0001-01-01T00:00:00Z", true), ("9999-12-31T23:59:59Z", true),
        ] {
            let seconds = try ReferenceDate.parse(text)
            XCTAssertEqual(PropertyValue.date(seconds).asPlainJSON == .string(text), isText, text)
        }
        let beyond = try ReferenceDate.parse("9999-12-31T23:59:59Z") + 1
        XCTAssertEqual(PropertyValue.date(beyond).asPlainJSON, .double(beyond))
    }
}
