import Corestone
import XCTest

/// The parts of a hand-written file that an XML store accepts, and those that it rejects (docs/XML-STORE.md).
final class XMLReadingTests: XCTestCase {
    private var path = ""
    private var model: Model!

    override func setUpWithError() throws {
        path = NSTemporaryDirectory() + "corestone-\(UUID().uuidString).xml"
        model = Model()
        let (thing, special, owner, form) = (
            try model.addEntity(named: "Thing"), try model.addEntity(named: "Special"),
            try model.addEntity(named: "Owner"), try model.addEntity(named: "Form")
        )
        try special.setParent(thing)
        try form.setAbstract(true)
        for (name, type) in [
            ("title", .string), ("flag", .boolean), ("i16", .integer16), ("i32", .integer32), ("i64", .integer64),
            ("price", .decimal), ("single", .float), ("real", .double), ("made", .date), ("data", .binary),
            ("number", .uuid), ("link", .uri),
        ] as [(String, AttributeType)] { try thing.addAttribute(named: name, type: type) }
        let holder = try thing.addRelationship(named: "owner", destination: owner)
        let things = try owner.addRelationship(named: "things", destination: thing, isToMany: true, isOrdered: true)
        try holder.setInverse(things)
        let likes = try owner.addRelationship(named: "likes", destination: special, isToMany: true)
        let fans = try special.addRelationship(named: "fans", destination: owner, isToMany: true)
        try likes.setInverse(fans)
    }

    override func tearDown() { try? FileManager.default.removeItem(atPath: path) }

    private static let metadata = "<metadata></metadata>"
    private static let uuid = "343C8D7F-A000-42C4-8463-43FA1E5EF3FB"

    private func info(_ next: String = "101") -> String {
        "<databaseInfo><version>134481920</version><UUID>\(XMLReadingTests.uuid)</UUID><nextObjectID>\(next)</nextObjectID>"
            + "\(XMLReadingTests.metadata)</databaseInfo>"
    }

    private func open(file: String) throws -> Context {
        try file.write(toFile: path, atomically: true, encoding: .utf8)
        let coordinator = try Coordinator(model: model)
        try coordinator.addStore(.xml, at: path)
        return Context(coordinator: coordinator)
    }

    private func open(_ objects: String, next: String = "101") throws -> Context {
        try open(file: "<database>\(info(next))\(objects)</database>")
    }

    private func failure(_ body: () throws -> Context, line: UInt = #line) -> CoreError {
        do { _ = try body() } catch let error as CoreError { return error } catch { XCTFail("\(error)", line: line) }
        XCTFail("nothing failed", line: line)
        return CoreError(.internal, "")
    }

    private func thing(_ inner: String, _ id: String = "z1", _ type: String = "THING") -> String {
        "<object type=\"\(type)\" id=\"\(id)\">\(inner)</object>"
    }

    private func attribute(_ name: String, _ type: String, _ text: String) -> String {
        thing("<attribute name=\"\(name)\" type=\"\(type)\">\(text)</attribute>")
    }

    // MARK: Values

    func testValuesAtTheirLimitsAreRead() throws {
        let date = "387448838.07320100069046020508"
        for (name, type, text, value) in [
            ("title", "string", " a\n\\u3c00 ", .string(" a\n< ")), ("title", "string", "", .string("")),
            ("flag", "bool", "0", .bool(false)), ("flag", "bool", "1", .bool(true)),
            ("i16", "int16", "32767", .int(32767)), ("i16", "int16", "-32768", .int(-32768)),
            ("i32", "int32", "2147483647", .int(2_147_483_647)), ("i32", "int32", "-2147483648", .int(-2_147_483_648)),
            ("i64", "int64", "9223372036854775807", .int(.max)), ("i64", "int64", "-9223372036854775808", .int(.min)),
            ("single", "float", "0.1", .double(Double(Float(0.1)))), ("real", "double", "0.1", .double(0.1)),
            ("real", "double", "-inf", .double(-.infinity)), ("made", "date", date, .date(387448838.073201)),
            ("price", "decimal", "-12.50", try .decimal(DecimalNumber("-12.5"))),
            ("data", "binary", "AQI=\n", .bytes(Bytes([1, 2]))), ("data", "binary", "", .bytes(Bytes([]))),
            ("link", "uri", "a:b?c=1", .uri("a:b?c=1")),
            ("number", "uuid", XMLReadingTests.uuid, .uuid(try XCTUnwrap(UUIDValue(XMLReadingTests.uuid)))),
        ] as [(String, String, String, PropertyValue)] {
            let context = try open(attribute(name, type, text))
            XCTAssertEqual(try context.fetch("Thing").first?.value(forKey: name), value, "\(name) \(text)")
        }
    }

    func testInvalidValuesAreRejected() throws {
        let typeNames = [
            "string": "String", "bool": "Boolean", "int16": "Integer 16", "int32": "Integer 32", "int64": "Integer 64",
            "float": "Float", "double": "Double", "date": "Date", "decimal": "Decimal", "binary": "Binary Data",
            "uuid": "UUID", "uri": "URI",
        ]
        for (name, type, text) in [
            ("title", "string", "\\u00d8"), ("flag", "bool", ""), ("flag", "bool", "2"), ("flag", "bool", "11"),
            ("i16", "int16", "32768"), ("i16", "int16", "-32769"), ("i16", "int16", ""), ("i16", "int16", "1.0"),
            ("i32", "int32", "2147483648"), ("i32", "int32", "-2147483649"), ("i64", "int64", "9223372036854775808"),
            ("single", "float", "x"), ("real", "double", ""), ("made", "date", "2001-01-01"), ("price", "decimal", "x"),
            ("data", "binary", "A"), ("number", "uuid", "343C8D7F"), ("link", "uri", "\\u00dc"),
            ("title", "string", "\\u3c00br\\u3e00 \\u00d8 and so on"),
            ("data", "binary", "QUJDRA==QUJD"), ("data", "binary", String(repeating: "QUJD", count: 100) + "?"),
            ("title", "string", String(repeating: "\\u3c00", count: 50) + "\\u00d8"),
        ] {
            let error = failure { try open(attribute(name, type, text)) }
            XCTAssertEqual(error.status, .storeCorrupt, error.message)
            XCTAssertEqual(error.code, CocoaCode.persistentStoreOpen.rawValue)
            XCTAssertEqual(error.entity, "Thing")
            XCTAssertEqual(error.key, name)
            XCTAssertEqual(error.file, path)
            XCTAssertTrue(error.message.contains("Thing.\(name) is \""), error.message)
            let shown = try XCTUnwrap(typeNames[type])
            XCTAssertTrue(error.message.contains("\", which is not a value of type \(shown)"), error.message)
            let quoted = text.count > 60 ? "\(text.prefix(60))…" : text
            XCTAssertEqual(error.value, .string(quoted))
            XCTAssertTrue(error.message.contains("is \"\(quoted)\","), error.message)
        }
    }

    func testTypesThatDifferFromTheModelAreRejected() throws {
        for (name, type, own) in [
            ("i16", "int32", "Integer 16"), ("i64", "int32", "Integer 64"), ("real", "float", "Double"),
            ("title", "uri", "String"),
            ("data", "string", "Binary Data"), ("flag", "int16", "Boolean"), ("made", "nonsense", "Date"),
        ] {
            let error = failure { try open(attribute(name, type, "1")) }
            XCTAssertEqual(error.status, .modelMismatch)
            XCTAssertEqual(error.code, CocoaCode.persistentStoreIncompatibleVersionHash.rawValue)
            XCTAssertEqual([error.entity, error.key], ["Thing", name])
            XCTAssertTrue(
                error.message.contains("has the type \"\(type)\" in the file, but \(own) in the model"), error.message)
        }
    }

    /// Names are case-insensitive.
    func testNamesInAnotherCaseAreRead() throws {
        let context = try open(
            "<object id=\"z7\" type=\"Special\"><attribute type=\"string\" name=\"TITLE\">x</attribute>"
                + "<relationship name=\"OWNER\" type=\"0/1\" destination=\"Owner\" idrefs=\"z8\"/></object>"
                + "<object type=\"owner\" id=\"z8\"/>")
        let special = try XCTUnwrap(try context.fetch("Thing").first)
        XCTAssertEqual(special.entityName, "Special")
        XCTAssertEqual(try special.get("title"), "x")
        XCTAssertTrue(special.objectID.uri.hasSuffix("/Special/p7"))
        XCTAssertEqual(try context.fetch("Owner").first?.members("things"), [special])
    }

    // MARK: Structure

    func testMisplacedElementsAndAttributesAreRejected() throws {
        let relationship = "<relationship name=\"owner\" type=\"0/1\" destination=\"OWNER\""
        for (objects, words) in [
            ("<object id=\"z1\"/>", "an <object> does not have a type"),
            ("<object type=\"THING\"/>", "an <object> does not have an id"),
            ("<object type=\"THING\" id=\"z1\" x=\"y\"/>", "<object> has the unknown attribute \"x\""),
            (thing("<attribute type=\"string\">x</attribute>"), "an <attribute> does not have a name"),
            (thing("<attribute name=\"title\">x</attribute>"), "the <attribute> \"title\" does not have a type"),
            (
                thing("<attribute name=\"title\" type=\"string\" x=\"y\">x</attribute>"),
                "<attribute> has the unknown attribute \"x\""
            ),
            (
                thing("<relationship name=\"owner\" type=\"0/1\"/>"),
                "the <relationship> \"owner\" does not have a destination"
            ),
            (
                thing("<relationship name=\"owner\" destination=\"OWNER\"/>"),
                "the <relationship> \"owner\" does not have a type"
            ),
            (
                thing("<relationship type=\"0/1\" destination=\"OWNER\"/>"),
                "a <relationship> does not have a name"
            ),
            (thing("\(relationship) x=\"y\"/>"), "<relationship> has the unknown attribute \"x\""),
            (thing("<thing/>"), "the element <thing> is not allowed here"),
            (thing("x"), "text (byte 120) is not"),
            (
                thing("<attribute name=\"title\" type=\"string\">x<b/></attribute>"),
                "the element <b> is not allowed here"
            ),
            (thing("\(relationship)>x</relationship>"), "text (byte 120) is not"),
            ("x", "text (byte 120) is not"),
            (thing(thing("", "z2")), "the element <object> is not allowed here"),
            (info(), "the element <databaseInfo> is not allowed here"),
            ("<!-- c --><x/>", "the element <x> is not allowed"),
            (thing("") + "&amp;", "text (byte 38) is not"),
        ] {
            let error = failure { try open(objects) }
            XCTAssertEqual(error.status, .storeCorrupt, error.message)
            XCTAssertEqual(error.code, CocoaCode.persistentStoreOpen.rawValue)
            let hasEntity = ["<attribute> ", "<relationship> ", "have an id"].contains { words.contains($0) }
            XCTAssertEqual(error.entity, hasEntity ? "Thing" : nil)
            XCTAssertTrue(error.message.contains(words), error.message)
        }
        XCTAssertEqual(try open(" \n\t<!-- a comment -->" + thing("<!-- x -->\n") + "\r\n").count("Thing"), 1)
    }

    func testDatabaseInfoIsRequiredAndValidated() throws {
        let (version, uuid) = ("<version>134481920</version>", "<UUID>\(XMLReadingTests.uuid)</UUID>")
        let (next, metadata) = ("<nextObjectID>101</nextObjectID>", XMLReadingTests.metadata)
        func file(_ parts: String...) -> String {
            "<database><databaseInfo>\(parts.joined())</databaseInfo></database>"
        }
        for (text, words) in [
            (file(version, uuid, next), "its <metadata> is missing"),
            (file(uuid, next, metadata), "its <version> is missing"),
            (file(version, next, metadata), "its <UUID> is missing"),
            (file(version, uuid, metadata), "its <nextObjectID> is missing"),
            (file(version, version, uuid, next, metadata), "the element <version> is not allowed here"),
            (file(version, uuid, uuid, next, metadata), "the element <UUID> is not allowed here"),
            (file(version, uuid, next, metadata, metadata), "the element <metadata> is not allowed here"),
            (file(version, uuid, next, "<other/>", metadata), "the element <other> is not allowed here"),
            (file(version, uuid, next, "<version x=\"1\"/>", metadata), "is not allowed here"),
            (file(version, uuid, next, "<metadata>x</metadata>"), "text (byte 120) is not"),
            (
                file(version, uuid, next, "<metadata><plist version=\"1.0\"><array/></plist></metadata>"),
                "<metadata> does not contain a dictionary"
            ),
            (file(version, uuid, next, "<metadata><plist><x/></plist></metadata>"), "<metadata> is invalid: "),
            ("<database>\(thing(""))\(info())</database>", "an <object> precedes <databaseInfo>"),
            ("<database x=\"1\">\(info())</database>", "the attribute \"x\" is not allowed here"),
            ("<store>\(info())</store>", "<store>"), ("<database>\(info())", "no element found"),
            ("<database>\(info("-1"))</database>", "<nextObjectID> is \"-1\", but must be a number from 0"),
            ("<database>\(info("x"))</database>", "<nextObjectID> is \"x\", but must be a number from 0"),
            (
                "<database>\(info("1152921504606846977"))</database>",
                "<nextObjectID> is \"1152921504606846977\", but must be a number from 0 to 1152921504606846976"
            ),
        ] {
            let error = failure { try open(file: text) }
            XCTAssertTrue([.storeCorrupt, .notAStore].contains(error.status), error.message)
            XCTAssertEqual(error.code, CocoaCode.persistentStoreOpen.rawValue)
            XCTAssertTrue(error.message.contains(words), error.message)
        }
        // In another order, with white space around.
        let context = try open(
            file:
                "<database><databaseInfo>\(metadata)<nextObjectID> 7\n</nextObjectID>\(uuid)<version>\n134481920 </version>"
                + "</databaseInfo></database>")
        XCTAssertEqual(context.coordinator.stores[0].identifier, XMLReadingTests.uuid)
    }

    func testErrorNamesTheLineAndTheOffset() throws {
        let error = failure { try open("\n\n" + thing("\n<attribute name=\"flag\" type=\"bool\">\n5</attribute>")) }
        XCTAssertTrue(error.message.contains("cannot be read as an XML store (line 4): Thing.flag"), error.message)
        let file = try String(contentsOfFile: path, encoding: .utf8)
        let place = try XCTUnwrap(file.range(of: "<attribute")).lowerBound
        XCTAssertEqual(Int(error.offset), file.utf8.distance(from: file.startIndex, to: place))
    }

    func testEntitiesAndPropertiesThatTheModelLacksAreRejected() throws {
        for (objects, entity, key, words) in [
            (thing("", "z1", "THINGS"), "THINGS", nil, "the model does not have the entity \"THINGS\""),
            (
                thing("", "z1", "FORM"), "Form", nil,
                "Form is abstract in the model, but the store has an object of this entity"
            ),
            (attribute("nothing", "string", "x"), "Thing", "nothing", "Thing has no property \"nothing\" in the model"),
            (attribute("owner", "string", "x"), "Thing", "owner", "Thing.owner is a relationship in the model"),
            (
                thing("<relationship name=\"title\" type=\"0/1\" destination=\"OWNER\"/>"), "Thing", "title",
                "Thing.title is not a relationship in the model"
            ),
            (
                thing("<relationship name=\"owner\" type=\"0/1\" destination=\"THING\"/>"), "Thing", "owner",
                "Thing.owner has the destination \"THING\" in the file, but Owner in the model"
            ),
            (
                thing("<relationship name=\"owner\" type=\"0/0\" destination=\"OWNER\"/>"), "Thing", "owner",
                "Thing.owner is to-many in the file, but not in the model"
            ),
            (
                thing("<relationship name=\"things\" type=\"0/1\" destination=\"THING\"/>", "z1", "OWNER"), "Owner",
                "things",
                "Owner.things is to-one in the file, but not in the model"
            ),
        ] as [(String, String, String?, String)] {
            let error = failure { try open(objects) }
            XCTAssertEqual(error.status, .modelMismatch, error.message)
            XCTAssertEqual(error.code, CocoaCode.persistentStoreIncompatibleVersionHash.rawValue)
            XCTAssertEqual([error.entity, error.key], [entity, key])
            XCTAssertTrue(error.message.contains(words), error.message)
        }
        // A relationship with other counts is accepted.
        let context = try open(
            thing("<relationship name=\"things\" type=\"1/5\" destination=\"THING\"/>", "z1", "OWNER"))
        XCTAssertEqual(try context.count("Owner"), 1)
        for counts in ["1", "1/2/3", "/1", "a/1", "1/", "1/b", ""] {
            let error = failure {
                try open(thing("<relationship name=\"owner\" type=\"\(counts)\" destination=\"OWNER\"/>"))
            }
            XCTAssertEqual(error.status, .storeCorrupt)
            XCTAssertEqual([error.entity, error.key], ["Thing", "owner"])
            XCTAssertEqual(error.value, .string(counts))
        }
    }

    func testDuplicatePropertiesAndIDsAreRejected() throws {
        let title = "<attribute name=\"title\" type=\"string\">x</attribute>"
        let owner = "<relationship name=\"owner\" type=\"0/1\" destination=\"OWNER\"/>"
        for (inner, key) in [(title + title, "title"), (title + owner + title, "title"), (owner + owner, "owner")] {
            let error = failure { try open(thing("", "z1") + thing(inner, "z2")) }
            XCTAssertEqual(error.status, .storeCorrupt)
            XCTAssertEqual([error.entity, error.key], ["Thing", key])
            XCTAssertTrue(error.message.contains("Thing.\(key) occurs twice in an object"), error.message)
        }
        XCTAssertEqual(try open(thing(title, "z1") + thing(title, "z2")).count("Thing", "title == 'x'"), 2)
        let object = failure { try open(thing("", "z3") + thing("", "z3", "OWNER")) }
        XCTAssertEqual(object.status, .storeCorrupt)
        XCTAssertEqual(object.entity, "Owner")
        XCTAssertTrue(object.message.contains("two objects have the id z3"), object.message)
    }

    // MARK: Numbers and words

    func testInvalidObjectNumbersAreRejected() throws {
        for id in ["z0", "z01", "z00", "z1152921504606846977", "z9999999999999999999", "z99999999999999999999999", ""] {
            let error = failure { try open(thing("", id)) }
            XCTAssertEqual(error.status, .storeCorrupt, id)
            XCTAssertTrue(error.message.contains("the object id \"\(id)\" "), error.message)
        }
        let context = try open(thing("", "z1") + thing("", "z1152921504606846976", "OWNER"))
        XCTAssertEqual(try context.fetch("Thing").first?.objectID.uri.hasSuffix("/p1"), true)
        XCTAssertEqual(try context.fetch("Owner").first?.objectID.uri.hasSuffix("/p1152921504606846976"), true)
    }

    /// These objects get numbers after all others, in the order of their first mention.
    func testObjectsWithNonNumericIDsGetNewNumbers() throws {
        let objects =
            thing("<relationship name=\"owner\" type=\"0/1\" destination=\"OWNER\" idrefs=\"second\"/>", "first")
            + thing("", "second", "OWNER") + thing("", "z120") + thing("", "z1a") + thing("", "Z5")
        let context = try open(objects, next: "110")
        XCTAssertEqual(
            try context.fetch("Thing").map { String($0.objectID.uri.split(separator: "/").last ?? "") },
            ["p120", "p121", "p123", "p124"])
        XCTAssertEqual(try context.fetch("Owner").first?.objectID.uri.hasSuffix("/p122"), true)
        XCTAssertEqual(try context.fetch("Owner").first?.memberCount("things"), 1)
        let added = try context.insert("Thing")
        try context.save()
        XCTAssertTrue(added.objectID.uri.hasSuffix("/p125"), added.objectID.uri)
        let file = try String(contentsOfFile: path, encoding: .utf8)
        XCTAssertTrue(file.contains("<nextObjectID>125</nextObjectID>"))
        XCTAssertTrue(file.contains("<object type=\"THING\" id=\"z121\">"))
        // The number of the file is used if it is higher.
        let other = try open(thing("", "z5"), next: "200")
        let last = try other.insert("Owner")
        try other.save()
        XCTAssertTrue(last.objectID.uri.hasSuffix("/p201"), last.objectID.uri)
    }

    // MARK: Links

    private func link(_ name: String, _ counts: String, _ destination: String, _ ids: String) -> String {
        "<relationship name=\"\(name)\" type=\"\(counts)\" destination=\"\(destination)\" idrefs=\"\(ids)\"/>"
    }

    func testOrderedMembersKeepTheOrderOfTheFile() throws {
        let context = try open(
            thing(link("things", "0/0", "THING", " z3\nz1  z2 "), "z9", "OWNER")
                + ["z1", "z2", "z3"].map { thing(link("owner", "0/1", "OWNER", "z9"), $0) }.joined())
        let members = try XCTUnwrap(try context.fetch("Owner").first).members("things")
        XCTAssertEqual(members.map { $0.objectID.uri.suffix(2) }, ["p3", "p1", "p2"])
    }

    /// An object without an element for a to-many relationship gets its members from the other side.
    func testMembersAreReadFromTheInverseAlone() throws {
        let context = try open(
            thing("", "z9", "OWNER") + thing(link("owner", "0/1", "OWNER", "z9"), "z2")
                + thing(link("owner", "0/1", "OWNER", "z9") + link("fans", "0/0", "OWNER", "z9"), "z1", "SPECIAL"))
        let owner = try XCTUnwrap(try context.fetch("Owner").first)
        XCTAssertEqual(try owner.members("things").map { $0.objectID.uri.suffix(2) }, ["p1", "p2"])
        XCTAssertEqual(try owner.members("likes").map { $0.objectID.uri.suffix(2) }, ["p1"])
    }

    func testInvalidReferencesAreRejected() throws {
        let owner = thing("", "z9", "OWNER")
        for (objects, entity, key, words) in [
            (
                thing(link("owner", "0/1", "OWNER", "z9")), "Thing", "owner",
                "Thing.owner of z1 refers to z9, which does not exist"
            ),
            (
                thing(link("owner", "0/1", "OWNER", "nobody"), "first"), "Thing", "owner",
                "Thing.owner of \"first\" refers to \"nobody\", which does not exist"
            ),
            (
                thing(link("owner", "0/1", "OWNER", "z2")) + thing("", "z2"), "Thing", "owner",
                "Thing.owner of z1 refers to z2, an object of Thing, not of Owner"
            ),
            (
                owner + thing(link("owner", "0/1", "OWNER", "z9 z9")), "Thing", "owner",
                "Thing.owner is to-one, but refers to 2 objects"
            ),
            (
                thing(link("likes", "0/0", "SPECIAL", "z1"), "z9", "OWNER") + thing(""), "Owner", "likes",
                "refers to z1, an object of Thing, not of Special"
            ),
            (
                thing(link("likes", "0/0", "SPECIAL", "z2 z1 z2"), "z9", "OWNER")
                    + ["z1", "z2"].map { thing(link("fans", "0/0", "OWNER", "z9"), $0, "SPECIAL") }.joined(), "Owner",
                "likes", "Owner.likes of z9 refers to z2 twice"
            ),
            (
                thing(link("things", "0/0", "THING", "z1"), "z9", "OWNER") + thing(""), "Owner", "things",
                "Owner.things of z9 refers to z1, but Thing.owner of z1 does not refer back"
            ),
            (
                thing("<relationship name=\"things\" type=\"0/0\" destination=\"THING\"/>", "z9", "OWNER")
                    + thing(link("owner", "0/1", "OWNER", "z9")), "Thing", "owner",
                "Thing.owner of z1 refers to z9, but Owner.things of z9 does not refer back"
            ),
        ] {
            let error = failure { try open(objects) }
            XCTAssertEqual(error.status, .storeCorrupt, error.message)
            XCTAssertEqual([error.entity, error.key], [entity, key], error.message)
            XCTAssertTrue(error.message.contains(words), error.message)
        }
    }

    /// An XML store cannot distinguish names that differ only in case.
    func testModelWithNamesThatDifferOnlyInCaseIsRejected() throws {
        func refusal(_ change: (Model) throws -> Void) throws -> CoreError {
            let model = Model()
            try model.addEntity(named: "Thing").addAttribute(named: "title", type: .string)
            try change(model)
            self.model = model
            return failure { try open("") }
        }
        let entities = try refusal { try $0.addEntity(named: "THING") }
        XCTAssertEqual(entities.entity, "THING")
        XCTAssertNil(entities.key)
        let properties = try refusal {
            try $0.entity(named: "Thing")?.addAttribute(named: "Title", type: .string)
        }
        XCTAssertEqual([properties.entity, properties.key], ["Thing", "Title"])
        for error in [entities, properties] {
            XCTAssertEqual(error.status, .unsupported)
            XCTAssertEqual(error.code, CocoaCode.persistentStoreIncompatibleSchema.rawValue)
            XCTAssertTrue(error.message.contains("have the same name in an XML store"), error.message)
        }
    }
}
