import CorestoneValues
import XCTest

@testable import CorestoneModel

/// Errors in the text of a model: each names entity, key and word, and the remedy.
final class ModelTextMistakeTests: XCTestCase {
    private func failure(_ text: String) -> CoreError? {
        do { try Model(text: text).freeze() } catch { return error as? CoreError }
        return nil
    }

    private func check(
        _ text: String, _ message: String, entity: String? = nil, key: String? = nil, status: Status = .model,
        line: UInt = #line
    ) {
        let error = failure(text)
        XCTAssertEqual(error?.message, message, text, line: line)
        XCTAssertEqual(error?.status, status, text, line: line)
        XCTAssertEqual(error?.entity, entity, text, line: line)
        XCTAssertEqual(error?.key, key, text, line: line)
        if status == .model { XCTAssertEqual(error?.code, 134_060, text, line: line) }
    }

    /// Checks the error of a line for the property `p` of `E`.
    private func check(_ line: String, says message: String, at number: UInt = #line) {
        var quoted = ""
        quoted.appendJSON(line)
        check("{\"E\": {\"p\": \(quoted)}}", message, entity: "E", key: "p", line: number)
    }

    /// Checks the error of an object of options for the property `p` of `E`.
    private func check(
        options: String, says message: String, key: String = "p", status: Status = .model, at number: UInt = #line
    ) {
        check("{\"E\": {\"p\": \(options)}}", message, entity: "E", key: key, status: status, line: number)
    }

    func testJSONErrorNamesLineAndColumn() {
        let table = [
            ("", "ends where a value is expected, at line 1, column 1", 0),
            ("{\n  \"A\": {\n    \"x\" \"int\"\n  }\n}", "is missing a \":\", at line 3, column 9", 19),
            ("{\"A\": {\"é\" 1}}", "is missing a \":\", at line 1, column 12", 12),
            ("{\"A\": {}}\n\nx", "has text after its end, at line 3, column 1", 11),
            ("{\"A\": {\"x\": \"int", "ends inside a string, at line 1, column 17", 16),
            ("{\"A\": {\"x\": nul}}", "has a literal other than true, false or null, at line 1, column 13", 12),
            ("{\"A\": {},}", "has a member without a name in double quotes, at line 1, column 10", 9),
        ]
        for (text, complaint, offset) in table {
            check(text, "the model text \(complaint)")
            XCTAssertEqual(failure(text)?.offset, offset, text)
        }
        check(
            String(repeating: "{\"a\":", count: 200),
            "the model text is nested more than 128 levels deep, at line 1, column 646")
    }

    func testTooLargeTextsAreRejected() {
        check(
            "[" + String(repeating: "0,", count: 1_000_000) + "0]",
            "the model text has more than the limit of 1000000 values, at line 1, column 2000000; split the text")
        check(
            String(repeating: " ", count: (64 << 20) + 1),
            "the model text has 67108865 bytes, but the limit is 67108864; split the model")
    }

    func testTextMustBeAnObjectOfEntities() {
        let wanted = "but must be an object of entities, such as {\"Person\": {\"name\": \"string\"}}"
        check("[]", "the model text is a list, \(wanted)")
        check("7", "the model text is a number (7), \(wanted)")
        check(
            "{\"E\": \"string\"}", "E is a string, but must be an object of properties, such as {\"name\": \"string\"}",
            entity: "E")
        let line = "a line such as \"string?\", or an object such as {\"type\": \"string\", \"optional\": true}"
        check(options: "7", says: "E.p is a number (7), but must be \(line)")
        check(options: "null", says: "E.p is null, but must be \(line)")
        check(options: "true", says: "E.p is true, but must be \(line)")
        check(options: "[\"string\"]", says: "E.p is a list, but must be \(line)")
        check(options: "{}", says: "E.p is an empty object, but must be \(line)")
    }

    func testDuplicateNamesAreRejected() {
        check("{\"E\": {}, \"E\": {}}", "E is in the text more than once; keep one", entity: "E")
        check(
            "{\"E\": {\"p\": \"int\", \"p\": \"int\"}}", "E.p is in the text more than once; keep one",
            entity: "E", key: "p")
        check(
            "{\"E\": {\"@abstract\": true, \"@abstract\": true}}",
            "E: \"@abstract\" is in the text more than once; keep one", entity: "E", key: "@abstract")
        check(
            options: "{\"type\": \"int\", \"optional\": true, \"optional\": true}",
            says: "E.p has \"optional\" more than once; keep one")
        check(options: "{\"x\": \"int\", \"x\": \"int\"}", says: "E.p has \"x\" more than once; keep one")
        check(
            options: "{\"type\": \"composite\", \"elements\": {\"x\": \"int\"}, \"default\": {\"x\": 1, \"x\": 2}}",
            says: "E.p: \"default\" has \"x\" more than once; keep one")
    }

    func testInvalidNamesAreRejected() {
        check(
            "{\"1st\": {}}",
            "\"1st\" is not a valid name for an entity; use letters, digits and underscores, without a leading digit",
            entity: "1st", key: "1st")
        check(
            "{\"E\": {\"a b\": \"int\"}}",
            "\"a b\" is not a valid name for a property of E; use letters, digits and underscores, without a leading digit",
            entity: "E",
            key: "a b")
    }

    func testInvalidEntityOptionsAreRejected() {
        check("{\"E\": {\"@parents\": \"A\"}}", "E has no option \"@parents\"; did you mean \"@parent\"?", entity: "E")
        check(
            "{\"E\": {\"@kind\": 1}}",
            "E has no option \"@kind\"; use \"@abstract\", \"@class_name\", \"@indexes\", \"@parent\", \"@renaming_identifier\", \"@unique\" or \"@user_info\"",
            entity: "E"
        )
        check(
            "{\"Person\": {}, \"E\": {\"@parent\": \"Persn\"}}",
            "E inherits from \"Persn\", which is not an entity of the model; did you mean \"Person\"?", entity: "E")
        check(
            "{\"Persons\": {\"@parent\": \"Person\"}}",
            "Persons inherits from \"Person\", which is not an entity of the model; add the entity, or correct the "
                + "name",
            entity: "Persons")
        check(
            "{\"E\": {\"@abstract\": \"yes\"}}", "E: \"@abstract\" is a string, but must be true or false", entity: "E",
            key: "@abstract")
        check(
            "{\"E\": {\"@unique\": \"code\"}}", "E: \"@unique\" is a string, but must be a list of lists of attributes",
            entity: "E", key: "@unique")
        check(
            "{\"E\": {\"@unique\": [[\"a\", [\"b\"]]]}}",
            "E: \"@unique\" contains a list in place of the name of an attribute", entity: "E", key: "@unique")
        check(
            "{\"E\": {\"@user_info\": {\"k\": 1}}}", "E: \"k\" is a number (1), but must be a string", entity: "E",
            key: "k")
        check(
            "{\"E\": {\"a\": \"int\", \"@indexes\": {\"i\": \"a\"}}}",
            "E: \"i\" is a string, but must be a list of properties, such as [\"name\", \"-age\"]", entity: "E",
            key: "i")
        check(
            "{\"E\": {\"a\": \"int\", \"@indexes\": {\"i\": [\"b\"]}}}",
            "the index \"i\" of E refers to the unknown property \"b\"; correct the name, or add the property",
            entity: "E", key: "b")
    }

    func testInvalidAttributeWordsAreRejected() {
        check("strin", says: "E.p: \"strin\" is not an attribute type; did you mean \"string\"?")
        check("to-mny E", says: "E.p: \"to-mny\" is not an attribute type; did you mean \"to-many\"?")
        check(
            "wombat",
            says:
                "E.p: \"wombat\" is not an attribute type; use one of \"int16\", \"int32\", \"int64\", \"decimal\", "
                + "\"double\", \"float\", \"string\", \"bool\", \"date\", \"binary\" and 5 more")
        check("", says: "E.p does not have an attribute type; write a line such as \"string?\" or \"int16 = 0\"")
        check("= 3", says: "E.p does not have an attribute type; write a line such as \"string?\" or \"int16 = 0\"")
        check(
            "derived",
            says: "E.p does not have an attribute type; write a line such as \"derived int64? = articles.@count\"")
        check("string indexd", says: "E.p: \"indexd\" is not an option of an attribute; did you mean \"indexed\"?")
        check(
            "string wonderful",
            says:
                "E.p: \"wonderful\" is not an option of an attribute; use \"indexed\", \"transient\", \"external\", "
                + "\"preserved\", \"nan\", \"min\", \"max\", \"match\", \"transformer\" or \"renaming_identifier\"")
        check("string min", says: "E.p: \"min\" needs a value after it")
        check("string match", says: "E.p: \"match\" needs a regular expression (without spaces or \"=\") after it")
        check("transformable transformer", says: "E.p: \"transformer\" needs the name of a transformer after it")
        check(
            "derived int64",
            says: "E.p does not have an expression; write a line such as \"derived int64? = articles.@count\"")
        check(
            "derived int64 = ",
            says: "E.p does not have an expression; write a line such as \"derived int64? = articles.@count\""
        )
    }

    func testInvalidValuesInLinesAreRejected() {
        check("int = seven", says: "E.p: \"seven\" is not a value of type Integer 64")
        check("int16 max 1.5", says: "E.p: \"1.5\" is not a value of type Integer 16")
        check("string min abc", says: "E.p: the minimum length \"abc\" is not a 64-bit integer")
        check("string max many", says: "E.p: the maximum length \"many\" is not a 64-bit integer")
        check("bool = maybe", says: "E.p: \"maybe\" is not a value of type Boolean; write true or false")
        check("uuid = 7", says: "E.p: \"7\" is not a value of type UUID")
        check("decimal = x", says: "E.p: \"x\" is not a value of type Decimal")
        check(
            "date = soon", says: "E.p: \"soon\" is not a date: at byte 0, expected a year of four digits")
        check(
            "binary = x",
            says:
                "E.p is of type Binary Data, whose values cannot be written in a line; write an object with \"default\""
        )
        check(
            "transformable = x",
            says:
                "E.p is of type Transformable, whose values cannot be written in a line; write an object with \"default\""
        )
        check(
            "objectid transient = x",
            says: "E.p is of type Object ID, whose values cannot be written in a line; remove the value")
        check(
            "bool min 0",
            says:
                "E.p is of type Boolean, but only numbers, dates and strings (by length) can have a minimum or maximum")
        check(
            "int16 min 2 max 1",
            says: "the minimum of E.p (2) is greater than its maximum (1); raise the maximum or lower the minimum")
        check(
            "string min -1",
            says: "E.p is a string, so its bounds are lengths and must be integers from 0, not -1")
    }

    func testInvalidRelationshipWordsAreRejected() {
        check("to-one", says: "E.p does not have a destination; write a line such as \"to-one Person\"")
        check("to-many ordered", says: "E.p does not have a destination; write a line such as \"to-many Person\"")
        check(
            "to-one E ordered",
            says:
                "E.p: \"ordered\" is not an option of a to-one relationship; use \"inverse\", \"delete\" or \"renaming_identifier\""
        )
        check(
            "to-one E invers p",
            says: "E.p: \"invers\" is not an option of a to-one relationship; did you mean \"inverse\"?")
        check("to-one E inverse", says: "E.p: \"inverse\" needs the name of a relationship after it")
        check("to-many E min few", says: "E.p: \"min\" takes a number of members from 0 to 4294967295, not \"few\"")
        check("to-many E max -1", says: "E.p: \"max\" takes a number of members from 0 to 4294967295, not \"-1\"")
        check(
            "to-one E delete destroy",
            says: "E.p: \"destroy\" is not a delete rule; use \"no-action\", \"nullify\", \"cascade\" or \"deny\"")
        check("to-one E delete casade", says: "E.p: \"casade\" is not a delete rule; did you mean \"cascade\"?")
        check(
            "to-many E min 3 max 2",
            says: "E.p cannot require at least 3 members and allow at most 2; raise the maximum or lower the minimum")
    }

    func testUnknownDestinationsAndInversesAreRejected() {
        check(
            "{\"A\": {\"b\": \"to-one Bee?\"}, \"Been\": {}}",
            "A.b has the destination \"Bee\", which is not an entity of the model; did you mean \"Been\"?", entity: "A",
            key: "b")
        check(
            "{\"A\": {\"b\": \"to-one B inverse ass\"}, \"B\": {\"as_\": \"to-many A\", \"asses\": \"string\"}}",
            "A.b has the inverse \"ass\", but B does not have a relationship of that name; did you mean \"as_\"?",
            entity: "A",
            key: "b")
        check(
            "{\"A\": {\"b\": \"to-one B inverse x\"}, \"B\": {\"x\": \"to-one A inverse c\", \"c\": \"to-one A\"}}",
            "B.x has the inverse \"c\", but A does not have a relationship of that name; add the relationship, or correct the name",
            entity: "B", key: "x")
        check(
            "{\"A\": {\"b\": \"to-one B inverse x\", \"c\": \"to-one B\"}, \"B\": {\"x\": \"to-one A inverse c\"}}",
            "A.b has the inverse B.x, but B.x has the inverse A.c; set the inverse of B.x to \"b\", or name the "
                + "inverse on one side only",
            entity: "A", key: "b")
        check(
            "{\"A\": {\"b\": \"to-one B inverse x\"}, \"B\": {\"x\": \"to-one C inverse b\"}, "
                + "\"C\": {\"b\": \"to-one B\"}}",
            "A.b has the inverse B.x, but B.x has the inverse C.b; set a different inverse for A.b", entity: "A",
            key: "b")
        check(
            "{\"A\": {\"b\": \"to-one B inverse x\", \"c\": \"to-one B inverse x\"}, \"B\": {\"x\": \"to-one A\"}}",
            "A.c and A.b have the same inverse, B.x; set a different inverse for one of them",
            entity: "A", key: "c")
    }

    func testInvalidPropertyOptionsAreRejected() {
        check(
            options: "{\"type\": \"binary\", \"externalStorage\": true}",
            says: "E.p has no option \"externalStorage\"; did you mean \"external_storage\"?")
        check(
            options: "{\"to_one\": \"E\", \"wombat\": 1}",
            says:
                "E.p has no option \"wombat\"; use \"delete\", \"inverse\", \"optional\", \"renaming_identifier\", \"transient\", \"user_info\" or \"validation\""
        )
        check(
            options: "{\"to_many\": \"E\", \"indexed\": true, \"ordered\": true}",
            says:
                "E.p has no option \"indexed\"; use \"delete\", \"inverse\", \"maximum\", \"minimum\", \"optional\", \"ordered\", \"renaming_identifier\", \"transient\", \"user_info\" or \"validation\""
        )
        check(
            options: "{\"type\": \"string\", \"optional\": \"yes\"}",
            says: "E.p: \"optional\" is a string, but must be true or false")
        check(
            options: "{\"type\": \"string\", \"pattern\": 1}",
            says: "E.p: \"pattern\" is a number (1), but must be a string")
        check(
            options: "{\"type\": 7}",
            says: "E.p: 7 is not the code of an attribute type; use a name, such as \"int64\" or \"string\"")
        check(
            options: "{\"type\": null}", says: "E.p: \"type\" is null, but must be the name of an attribute type")
        check(
            options: "{\"to_one\": \"E\", \"delete\": 7}",
            says: "E.p: 7 is not the code of a delete rule; use \"no-action\", \"nullify\", \"cascade\" or \"deny\"")
        check(
            options: "{\"to_many\": \"E\", \"minimum\": -1}",
            says: "E.p: \"minimum\" is a number (-1), but must be a number of members, 0 to 4294967295")
        check(
            options: "{\"type\": \"string\", \"user_info\": {\"k\": null}}",
            says: "E.p: \"k\" is null, but must be a string")
        check(
            options: "{\"type\": \"int\", \"default\": \"7\"}", says: "E.p takes Integer 64, not a string",
            status: .typeMismatch)
        check(
            options: "{\"type\": \"int16\", \"default\": 70000}",
            says: "E.p takes -32768 to 32767 (Integer 16), not 70000", status: .validation)
        check(options: "{\"type\": \"uuid\", \"default\": \"x\"}", says: "E.p: \"x\" is not a value of type UUID")
        check(
            options: "{\"type\": \"date\", \"default\": {\"$date\": \"x\"}}",
            says: "E.p: \"default\": the JSON tag \"$date\" takes a number of seconds since 2001-01-01 UTC, not \"x\"",
            status: .invalidArgument)
    }

    func testUnreadableConditionsAndExpressionsAreRejected() {
        for options in [
            "{\"type\": \"int16\", \"validation\": {\"SELF >\": \"cut off\"}}",
            "{\"type\": \"int\", \"derived\": \"a.\"}",
            "{\"type\": \"int\", \"derived\": \"a\", \"derived_filter\": \"a >\"}",
        ] {
            let error = failure("{\"E\": {\"p\": \(options)}}")
            XCTAssertEqual(error?.status, .predicateSyntax, options)
            XCTAssertEqual(error?.entity, "E", options)
            XCTAssertEqual(error?.key, "p", options)
        }
        let error = failure("{\"E\": {\"p\": {\"type\": \"string\", \"pattern\": \"(\"}}}")
        XCTAssertEqual(error?.entity, "E")
        XCTAssertEqual(error?.key, "p")
    }

    func testInvalidElementsAreRejected() {
        check(
            options: "{\"b\": \"to-one E\"}",
            says:
                "E.p.b is an element of a composite attribute and cannot be a relationship; add the relationship to the entity",
            key: "p.b")
        check(
            options: "{\"b\": \"string indexed\"}",
            says: "E.p.b is an element and cannot have the option \"indexed\"; name the element in \"@indexes\"",
            key: "p.b")
        check(
            options: "{\"b\": {\"c\": \"strin\"}}",
            says: "E.p.b.c: \"strin\" is not an attribute type; did you mean \"string\"?", key: "p.b.c")
        check(
            options: "{\"type\": \"composite\", \"elements\": {\"width\": \"int\"}, \"default\": {\"widht\": 1}}",
            says: "E.p has no element \"widht\"; did you mean \"width\"?")
        check(
            options: "{\"type\": \"composite\", \"elements\": {\"w\": \"int\"}, \"default\": 1}",
            says: "E.p is composite, and its default must be an object with defaults of its elements, not 1")
        check(
            options: "{\"type\": \"string\", \"elements\": {\"w\": \"int\"}}",
            says: "E.p is not composite and cannot have elements; set its type to Composite first")
        check(options: "{\"type\": \"composite\"}", says: "E.p is composite but does not have elements; add an element")
        check(
            options: String(repeating: "{\"a\": ", count: 16) + "\"int\"" + String(repeating: "}", count: 16),
            says:
                "E.\(Array(repeating: "a", count: 15).reduce("p") { "\($0).\($1)" }) is nested 16 levels deep, which is the limit; "
                + "add the element to an outer attribute",
            key: Array(repeating: "a", count: 15).reduce("p") { "\($0).\($1)" })
    }

    // MARK: Damage

    /// Texts with removed, repeated or replaced parts result in a model or an error, in little time.
    func testDamagedTextsAreReadOrRejected() throws {
        let seed = Array(
            """
            {"Person": {"@unique": [["name"]], "@indexes": {"i": ["-age", ["age * 2", "int"]]}, "@user_info": {"k": "v"},
            "name": "string? indexed match [a-z]+ = Ada", "age": "int16 min 0 max 150 = 18", "born": "date = 2001-01-01T00:00:00Z",
            "friends": "to-many ordered Person inverse friends delete deny min 0 max 9", "n": "derived int? = friends.@count",
            "place": {"lat": "double?", "more": {"x": "decimal = 1.5"}}, "photo": {"type": "binary", "default": "AQI="}},
            "Boss": {"@parent": "Person", "@abstract": true, "staff": {"to_many": "Person", "validation": {"SELF != nil": "x"}}}}
            """.utf8)
        XCTAssertNoThrow(try Model(text: String(decoding: seed, as: UTF8.self)).freeze())
        var generator = Numbers(state: 20_261_128)
        var (read, refused) = (0, 0)
        for _ in 0..<4000 {
            var bytes = seed
            for _ in 0...generator.below(3) {
                let (a, b) = (generator.below(bytes.count), generator.below(bytes.count))
                let range = min(a, b)..<min(max(a, b), min(a, b) + 30)
                switch generator.below(5) {
                case 0: bytes.removeSubrange(range)
                case 1: bytes.insert(contentsOf: bytes[range], at: generator.below(bytes.count))
                case 2: bytes[a] = UInt8(generator.below(256))
                case 3: bytes.swapAt(a, b)
                default:
                    bytes.replaceSubrange(
                        a...a, with: Array("{}[],:\"?= 0@-\\".utf8).shuffled(using: &generator).prefix(1))
                }
                if bytes.isEmpty { bytes = seed }
            }
            do {
                try Model(text: String(decoding: bytes, as: UTF8.self)).freeze()
                read += 1
            } catch let error as CoreError {
                XCTAssertNotEqual(error.status, .internal)
                XCTAssertFalse(error.message.isEmpty)
                refused += 1
            }
        }
        XCTAssertGreaterThan(read, 30)
        XCTAssertGreaterThan(refused, 1000)
    }

    func testLineOfManyWordsTakesLinearTime() throws {
        try assertLinearTime(upTo: 400_000) { count in
            _ = try Model(text: "{\"E\": {\"p\": \"string \(String(repeating: "indexed ", count: count))\"}}")
        }
    }
}

/// A generator with the same numbers in every run.
private struct Numbers: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return state ^ state >> 33
    }

    mutating func below(_ limit: Int) -> Int { Int(next() % UInt64(max(limit, 1))) }
}
