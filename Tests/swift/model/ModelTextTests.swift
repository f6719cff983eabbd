import CorestonePredicate
import CorestoneValues
import XCTest

@testable import CorestoneModel

/// Models from text: the effect of each word.
final class ModelTextTests: XCTestCase {
    private func model(_ text: String) throws -> Model { try Model(text: text) }

    /// The property `p` of the entity `E`, which a line describes.
    private func property(_ line: String) throws -> Property {
        let model = Model()
        let text = "{\"E\": {\"p\": \(quoted(line))}, \"T\": {\"i\": \"to-many E\"}}"
        try model.add(text: text)
        kept.append(model)
        return try XCTUnwrap(model.entity(named: "E")?.ownProperty(named: "p"))
    }
    private func attribute(_ line: String) throws -> Attribute { try XCTUnwrap(try property(line) as? Attribute, line) }
    private func relationship(_ line: String) throws -> Relationship {
        try XCTUnwrap(try property(line) as? Relationship, line)
    }

    private var kept: [Model] = []
    override func tearDown() {
        kept = []
        super.tearDown()
    }

    private func quoted(_ line: String) -> String {
        var text = ""
        text.appendJSON(line)
        return text
    }

    private func described(_ model: Model) -> String { JSONText(model.summary).text }

    // MARK: Models

    func testTextAndCallsCreateEqualModels() throws {
        let read = try model(
            """
            {
              "Person": {"name": "string indexed", "age": "int16? min 0 = 18", "friends": "to-many Person inverse friends",
                         "place": {"latitude": "double?"}},
              "Employee": {"@parent": "Person", "@unique": [["badge"]], "@indexes": {"byPay": ["-pay", "badge"]},
                           "badge": "string", "pay": "decimal = 10.50", "boss": "to-one Boss? inverse staff"},
              "Boss": {"@abstract": true, "@class_name": "Chief", "@user_info": {"k": "v"},
                       "staff": "to-many ordered Employee inverse boss delete deny min 1 max 9"}
            }
            """)
        let built = Model()
        let person = try built.addEntity(named: "Person")
        let employee = try built.addEntity(named: "Employee")
        let boss = try built.addEntity(named: "Boss")
        try boss.setAbstract(true)
        try boss.setClassName("Chief")
        try boss.setUserInfo("v", forKey: "k")
        try employee.setParent(person)
        try person.addAttribute(named: "name", type: .string, isOptional: false)
        try person.addIndex(FetchIndex(name: "name", elements: [.init(property: "name")]))
        let age = try person.addAttribute(named: "age", type: .integer16)
        try age.setDefaultValue(.int(18))
        try age.setBounds(least: .int(0), greatest: nil)
        let friends = try person.addRelationship(named: "friends", destination: person, isToMany: true)
        try friends.setInverse(friends)
        let place = try person.addAttribute(named: "place", type: .composite)
        try place.addElement(named: "latitude", type: .double)
        try employee.addAttribute(named: "badge", type: .string, isOptional: false)
        try employee.addAttribute(named: "pay", type: .decimal, isOptional: false)
            .setDefaultValue(.decimal(try DecimalNumber("10.50")))
        let up = try employee.addRelationship(named: "boss", destination: boss)
        try employee.addIndex(
            FetchIndex(name: "byPay", elements: [.init(property: "pay", isAscending: false), .init(property: "badge")]))
        try employee.addUniqueConstraint(["badge"])
        let staff = try boss.addRelationship(
            named: "staff", destination: employee, isToMany: true, isOptional: false, isOrdered: true)
        try staff.setDeleteRule(.deny)
        try staff.setCounts(minimum: 1, maximum: 9)
        try staff.setInverse(up)
        XCTAssertEqual(described(read), described(built))
        try read.freeze()
        try built.freeze()
        XCTAssertEqual(entityVersionHashes(of: read), entityVersionHashes(of: built))
        XCTAssertEqual(try compiledModel(read), try compiledModel(built))
    }

    func testEntitiesAndPropertiesKeepTheOrderOfTheText() throws {
        let model = try model("{\"Z\": {\"c\": \"int\", \"a\": \"to-one A?\", \"b\": \"int\"}, \"A\": {}}")
        XCTAssertEqual(model.entities.map(\.name), ["Z", "A"])
        XCTAssertEqual(model.entities[0].ownProperties.map(\.name), ["c", "a", "b"])
        XCTAssertFalse(model.isFrozen)
        try model.addEntity(named: "More")
    }

    func testEmptyTextCreatesAModelWithoutEntities() throws {
        XCTAssertEqual(try model("{}").entities.count, 0)
        XCTAssertEqual(try model(" { \"A\" : { } } ").entities.map(\.name), ["A"])
    }

    func testTextIsAddedToAModel() throws {
        let model = try model("{\"A\": {\"x\": \"int\"}}")
        try model.add(
            text: "{\"B\": {\"@parent\": \"A\", \"a\": \"to-one A? inverse bs\"}, \"A\": {\"bs\": \"to-many B\"}}")
        XCTAssertEqual(model.entities.map(\.name), ["A", "B"])
        XCTAssertEqual(model.entities[0].ownProperties.map(\.name), ["x", "bs"])
        XCTAssertEqual(model.entity(named: "B")?.ownRelationships.first?.inverse?.name, "bs")
        try model.freeze()
        XCTAssertThrowsError(try model.add(text: "{\"C\": {}}")) {
            XCTAssertEqual(
                ($0 as? CoreError)?.message,
                "the model is frozen and cannot be changed; change a copy made by cst_model_copy (copy)")
        }
    }

    func testFirstTextErrorIsRepeatedByLaterCalls() throws {
        let model = Model()
        XCTAssertThrowsError(try model.add(text: "{\"A\": {\"x\": \"integr\"}}"))
        XCTAssertThrowsError(try model.addEntity(named: "B")) { XCTAssertEqual(($0 as? CoreError)?.key, "x") }
        XCTAssertThrowsError(try model.freeze()) { XCTAssertEqual(($0 as? CoreError)?.entity, "A") }
    }

    func testMissingDestinationsAreReportedWhenAllowed() throws {
        let model = Model()
        let missing = try model.add(
            text: "{\"A\": {\"b\": \"to-one B? inverse a\", \"c\": \"to-one A inverse d\", \"e\": \"to-one A\"}}",
            allowsMissing: true)
        XCTAssertEqual(missing.map(\.relationship.name), ["b", "c"])
        XCTAssertEqual(missing.map(\.destination), ["B", "A"])
        XCTAssertEqual(missing.map(\.inverse), ["a", "d"])
        let message =
            "A.b has the destination \"B\", which is not an entity of the model; add the entity, or set another destination"
        for use in [{ try model.freeze() }, { _ = try model.source() }, { try model.copy().freeze() }] {
            XCTAssertThrowsError(try use()) {
                XCTAssertEqual(($0 as? CoreError)?.message, message)
                XCTAssertEqual(($0 as? CoreError)?.key, "b")
            }
        }
        let relationship = missing[0].relationship
        XCTAssertTrue(relationship.destination === relationship.entity)
        try relationship.setDestination(try model.addEntity(named: "B"))
        try model.freeze()
    }

    // MARK: Lines

    func testEveryTypeNameIsRead() throws {
        let names: [AttributeType: [String]] = [
            .undefined: ["undefined"], .integer16: ["int16", "integer16"], .integer32: ["int32", "integer32"],
            .integer64: ["int", "integer", "int64", "Integer64"], .decimal: ["decimal"], .double: ["double"],
            .float: ["FLOAT"], .string: ["string", "str", "String"], .boolean: ["bool", "boolean"],
            .date: ["date", "datetime"], .binary: ["binary", "bytes", "binary-data", "Binary_Data"],
            .uuid: ["uuid", "UUID"],
            .uri: ["uri"], .transformable: ["transformable"], .composite: ["composite"],
            .objectID: ["object-id", "objectID"],
        ]
        XCTAssertEqual(Set(names.keys), Set(AttributeType.allCases))
        for (type, names) in names {
            for name in names { XCTAssertEqual(try attribute(name).type, type, name) }
            let displayed = try model("{\"E\": {\"p\": {\"type\": \(quoted(type.displayName))}}}")
            XCTAssertEqual(displayed.entities[0].ownAttributes[0].type, type)
            let coded = try model("{\"E\": {\"p\": {\"type\": \(type.rawValue)}}}")
            XCTAssertEqual(coded.entities[0].ownAttributes[0].type, type)
        }
    }

    func testAttributeWordsAreRead() throws {
        let plain = try attribute(" string ")
        XCTAssertFalse(plain.isOptional)
        XCTAssertTrue(try attribute("string?").isOptional)
        let words = try attribute("BINARY? Indexed transient external preserved nan")
        XCTAssertEqual(words.type, .binary)
        XCTAssertTrue(words.isOptional && words.isTransient && words.allowsExternalStorage)
        XCTAssertTrue(words.preservesValueInHistory && words.allowsNaN)
        XCTAssertEqual(words.entity.indexes.map(\.name), ["p"])
        let patterned = try attribute("string max 9 match https?://.* min 1")
        XCTAssertFalse(patterned.isOptional)
        XCTAssertEqual(
            patterned.validationRules.map(\.predicate.text),
            ["length >= 1", "length <= 9", "SELF MATCHES \"https?://.*\""])
        XCTAssertEqual(
            try attribute("int16 min -1 max 5").validationRules.map(\.predicate.text), ["SELF >= -1", "SELF <= 5"])
        XCTAssertEqual(try attribute("string? renaming_identifier title = a").renamingIdentifier, "title")
        XCTAssertEqual(try attribute("transformable? transformer What?").valueTransformerName, "What?")
    }

    func testDefaultsAreReadByType() throws {
        let table: [(String, PropertyValue)] = [
            ("int16 = -7", .int(-7)), ("int64 = 9223372036854775807", .int(.max)), ("double = 1e3", .double(1000)),
            ("float=.5", .double(0.5)), ("decimal = 1.10", .decimal(try DecimalNumber("1.1"))),
            ("bool = YES", .bool(true)),
            ("bool = 0", .bool(false)), ("string = a = b", .string("a = b")), ("string = ' a '", .string(" a ")),
            ("string = \"", .string("\"")), ("string = \"a'", .string("\"a'")), ("string =", .string("")),
            ("string = ''", .string("")), ("string? = ?", .string("?")),
            ("uri = https://example.org", .uri(Text("https://example.org"))),
            ("date = 2001-01-01T02:00:00+02:00", .date(0)),
            ("date = 2001-01-01 00:00:01 +0000", .date(1)),
            (
                "uuid = 12345678-1234-5678-1234-567812345678",
                .uuid(try XCTUnwrap(UUIDValue("12345678-1234-5678-1234-567812345678")))
            ),
        ]
        for (line, value) in table { XCTAssertEqual(try attribute(line).defaultValue, value, line) }
    }

    func testDerivedAttributesAreRead() throws {
        let count = try attribute("derived int64? = articles.@count")
        XCTAssertEqual(count.derivation?.expression.text, "count:(articles)")
        XCTAssertTrue(count.isOptional)
        XCTAssertTrue(count.defaultValue.isNull)
        XCTAssertFalse(try attribute("Derived string = name").isOptional)
    }

    func testRelationshipWordsAreRead() throws {
        let plain = try relationship("to-one T")
        XCTAssertFalse(plain.isOptional || plain.isToMany)
        XCTAssertEqual(plain.deleteRule, .nullify)
        XCTAssertTrue(try relationship("TO_ONE T?").isOptional)
        let many = try relationship("to-many T? inverse i delete No-Action ordered max 3")
        XCTAssertTrue(many.isOptional && many.isToMany && many.isOrdered)
        XCTAssertEqual(many.inverse?.name, "i")
        XCTAssertEqual(many.deleteRule, .noAction)
        XCTAssertEqual([many.minimumCount, many.maximumCount], [0, 3])
        XCTAssertFalse(try relationship("to-many ordered T min 1").isOptional)
        XCTAssertTrue(try relationship("to-many T min 0").isOptional)
        for rule in ["nullify", "cascade", "DENY", "noaction"] {
            XCTAssertNoThrow(try relationship("to-one T delete \(rule)"))
        }
    }

    // MARK: Objects

    func testAttributeOptionsAreRead() throws {
        let model = try model(
            """
            {"E": {
              "a": {"type": "string", "optional": true, "default": "x y", "minimum": 1, "maximum": 8, "pattern": "[x y]=*",
                    "validation": {"SELF != 'b'": "No b."}, "user_info": {"label": "A"}, "indexed": true,
                    "transient": false, "preserved": 1, "transformer": null},
              "b": {"type": "date", "default": "2001-01-01T00:00:02Z", "minimum": {"$date": 1.5}},
              "c": {"type": "decimal", "default": 0.1, "maximum": "1.50"},
              "d": {"type": "binary", "default": "AQI=", "external_storage": true},
              "e": {"type": "double", "default": {"$real": "inf"}, "allows_nan": true},
              "f": {"type": "undefined", "transient": true, "ignores_changes": true},
              "g": {"type": "integer 64", "derived": "a.length", "derived_filter": "a != nil"},
              "h": {"type": "transformable", "default": {"$bytes": "AQI="}},
              "i": {"type": "string", "default": "2001-01-01"},
              "j": {"type": "string", "default": null}
            }}
            """)
        let all = Dictionary(uniqueKeysWithValues: model.entities[0].ownAttributes.map { ($0.name, $0) })
        let a = try XCTUnwrap(all["a"])
        XCTAssertTrue(a.isOptional && a.preservesValueInHistory)
        XCTAssertEqual(a.defaultValue, .string("x y"))
        XCTAssertEqual(
            a.validationRules.map(\.predicate.text),
            ["length >= 1", "length <= 8", "SELF MATCHES \"[x y]=*\"", "SELF != \"b\""])
        XCTAssertEqual(a.validationRules.last?.warning, .text("No b."))
        XCTAssertEqual(a.userInfo, ["label": "A"])
        XCTAssertEqual(model.entities[0].indexes.map(\.name), ["a"])
        XCTAssertEqual(all["b"]?.defaultValue, .date(2))
        XCTAssertEqual(all["b"]?.bounds.least, .date(1.5))
        XCTAssertEqual(all["c"]?.defaultValue, .decimal(try DecimalNumber("0.1")))
        XCTAssertEqual(all["c"]?.bounds.greatest, .decimal(try DecimalNumber("1.5")))
        XCTAssertEqual(all["d"]?.defaultValue, .bytes(Bytes([1, 2])))
        XCTAssertEqual(all["d"]?.allowsExternalStorage, true)
        XCTAssertEqual(all["e"]?.defaultValue, .double(.infinity))
        XCTAssertEqual(all["f"]?.ignoresChanges, true)
        XCTAssertEqual(all["g"]?.derivation?.filter?.text, "a != nil")
        XCTAssertEqual(all["h"]?.defaultValue, .bytes(Bytes([1, 2])))
        XCTAssertEqual(all["i"]?.defaultValue, .string("2001-01-01"))
        XCTAssertEqual(all["j"]?.defaultValue, .null)
    }

    func testRelationshipOptionsAreRead() throws {
        let model = try model(
            """
            {"E": {"one": {"to_one": "E", "delete": "cascade", "inverse": "many", "user_info": {"k": "v"}},
                   "many": {"to_many": "E", "ordered": true, "minimum": 1, "maximum": 4, "optional": false, "delete": 3,
                            "validation": {"SELF.@count != 2": "Not two."}, "transient": false}}}
            """)
        let (one, many) = (model.entities[0].ownRelationships[0], model.entities[0].ownRelationships[1])
        XCTAssertTrue(one.isOptional && !one.isToMany && one.inverse === many)
        XCTAssertEqual(one.deleteRule, .cascade)
        XCTAssertEqual(one.userInfo, ["k": "v"])
        XCTAssertTrue(!many.isOptional && many.isOrdered)
        XCTAssertEqual([many.minimumCount, many.maximumCount], [1, 4])
        XCTAssertEqual(many.deleteRule, .deny)
        XCTAssertEqual(many.validationRules.first?.warning, .text("Not two."))
    }

    func testCompositeAttributesAreRead() throws {
        let model = try model(
            """
            {"E": {"place": {"x": "double = 1.5", "y": {"type": "double", "default": 2}, "address": {"street": "string?"}},
                   "size": {"type": "composite", "elements": {"w": "int32? = 1", "h": "int32?", "in": {"u": "string"}},
                            "default": {"h": 3, "in": {"u": "cm"}}}}}
            """)
        let (place, size) = (model.entities[0].ownAttributes[0], model.entities[0].ownAttributes[1])
        XCTAssertEqual(
            place.withElements.map(\.path), ["place", "place.x", "place.y", "place.address", "place.address.street"])
        XCTAssertTrue(place.isOptional)
        XCTAssertEqual(place.elements[0].defaultValue, .double(1.5))
        XCTAssertEqual(place.elements[1].defaultValue, .double(2))
        XCTAssertFalse(size.isOptional)
        XCTAssertEqual(size.leaves.map(\.defaultValue), [.int(1), .int(3), .string("cm")])
    }

    func testEntityOptionsAreRead() throws {
        let model = try model(
            """
            {"A": {"@abstract": false, "@parent": null, "@unique": ["code", ["n", "m"]], "code": "string", "n": "int",
                   "m": "int", "@user_info": {"k": "v", "l": ""},
                   "@indexes": {"i": ["+n", "-m", ["n * m", "int64"]], "j": ["code"]}},
             "B": {"@class_name": "Bee", "@abstract": true, "@indexes": null, "@unique": null}}
            """)
        let (a, b) = (model.entities[0], model.entities[1])
        XCTAssertEqual(a.uniqueConstraints, [["code"], ["n", "m"]])
        XCTAssertEqual(a.indexes.map(\.name), ["i", "j"])
        XCTAssertEqual(a.indexes[0].elements.map(\.property), ["n", "m", "expression3"])
        XCTAssertEqual(a.indexes[0].elements.map(\.isAscending), [true, false, true])
        XCTAssertEqual(a.indexes[0].elements[2].expressionType, .integer64)
        XCTAssertEqual(a.userInfo, ["k": "v", "l": ""])
        XCTAssertEqual([a.isAbstract, b.isAbstract], [false, true])
        XCTAssertEqual([a.className, b.className], ["NSManagedObject", "Bee"])
    }

    func testRenamingIdentifiersAreRead() throws {
        let model = try Model(
            text: """
                {"Entry": {"@renaming_identifier": "Note", "headline": {"type": "string", "renaming_identifier": "title"},
                           "page": "to-one Page? renaming_identifier sheet", "links": "to-many Page renaming_identifier pages"},
                 "Page": {}}
                """)
        let entry = try XCTUnwrap(model.entity(named: "Entry"))
        XCTAssertEqual(entry.renamingIdentifier, "Note")
        XCTAssertEqual(
            entry.allProperties.map { "\($0.name) \($0.renamingIdentifier ?? "-")" },
            ["headline title", "page sheet", "links pages"])
    }
}
