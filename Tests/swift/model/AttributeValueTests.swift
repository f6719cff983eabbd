import CorestonePredicate
import CorestoneValues
import XCTest

@testable import CorestoneModel

/// The values that each attribute type accepts, and how it converts them.
final class AttributeValueTests: XCTestCase {
    private func attribute(_ type: AttributeType) throws -> (Model, Attribute) {
        let model = Model()
        return (model, try model.addEntity(named: "E").addAttribute(named: "a", type: type))
    }

    private func failure(_ body: () throws -> Void) -> CoreError? {
        do { try body() } catch { return error as? CoreError }
        return nil
    }

    private static let uuid = UUIDValue(high: 1, low: 2)

    /// One value of each kind.
    private static let kinds: [PropertyValue] = [
        .bool(true), .int(7), .double(1.5), .decimal(DecimalNumber(3)), .string("x"), .bytes(Bytes([1])), .date(2),
        .uuid(uuid), .uri(Text("a:b")), .array([.int(1)]), .set([.int(1)]), .dictionary(["k": .int(1)]),
    ]

    // MARK: - Accepted values

    func testAttributeTypesAcceptTheirKinds() throws {
        let taken: [(AttributeType, [PropertyValue?])] = [
            (.integer16, [.int(1), .int(7), nil, nil, nil, nil, nil, nil, nil, nil, nil, nil]),
            (.integer32, [.int(1), .int(7), nil, nil, nil, nil, nil, nil, nil, nil, nil, nil]),
            (.integer64, [.int(1), .int(7), nil, nil, nil, nil, nil, nil, nil, nil, nil, nil]),
            (
                .decimal,
                [
                    nil, .decimal(DecimalNumber(7)), .decimal(try DecimalNumber("1.5")), .decimal(DecimalNumber(3)),
                    nil, nil, nil, nil, nil, nil, nil, nil,
                ]
            ),
            (.double, [nil, .double(7), .double(1.5), nil, nil, nil, nil, nil, nil, nil, nil, nil]),
            (.float, [nil, .double(7), .double(1.5), nil, nil, nil, nil, nil, nil, nil, nil, nil]),
            (.string, [nil, nil, nil, nil, .string("x"), nil, nil, nil, nil, nil, nil, nil]),
            (.boolean, [.bool(true), nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil]),
            (.date, [nil, nil, nil, nil, nil, nil, .date(2), nil, nil, nil, nil, nil]),
            (.binary, [nil, nil, nil, nil, nil, .bytes(Bytes([1])), nil, nil, nil, nil, nil, nil]),
            (.transformable, [nil, nil, nil, nil, nil, .bytes(Bytes([1])), nil, nil, nil, nil, nil, nil]),
            (.uuid, [nil, nil, nil, nil, nil, nil, nil, .uuid(AttributeValueTests.uuid), nil, nil, nil, nil]),
            (.uri, [nil, nil, nil, nil, .uri(Text("x")), nil, nil, nil, .uri(Text("a:b")), nil, nil, nil]),
            (.objectID, Array(repeating: nil, count: 12)), (.undefined, AttributeValueTests.kinds),
        ]
        for (type, expected) in taken {
            let (model, attribute) = try attribute(type)
            XCTAssertEqual(try attribute.accept(.null), .null)
            for (value, result) in zip(AttributeValueTests.kinds, expected) {
                if let result {
                    XCTAssertEqual(try attribute.accept(value), result, "\(type) \(value)")
                } else {
                    let error = failure { _ = try attribute.accept(value) }
                    XCTAssertEqual(error?.status, .typeMismatch, "\(type) \(value)")
                    XCTAssertEqual([error?.entity, error?.key], ["E", "a"])
                    XCTAssertEqual(error?.value, value)
                    var taken = type == .transformable ? "binary data (Transformable)" : type.displayName
                    if type == .boolean, case .int = value { taken += ", 0 or 1" }
                    XCTAssertEqual(
                        error?.message, "E.a takes \(taken), not \(value.kindPhrase)", "\(type) \(value)")
                }
            }
            withExtendedLifetime(model) {}
        }
    }

    func testKindsHaveReadableNames() {
        XCTAssertEqual(
            ([.null] + AttributeValueTests.kinds).map(\.kindName),
            [
                "null", "boolean", "integer (7)", "floating-point number (1.5)", "decimal", "string", "binary data",
                "date", "UUID", "URI", "list", "set", "dictionary",
            ])
    }

    func testNumbersAreConvertedToTheAttributeType() throws {
        let cases: [(AttributeType, PropertyValue, PropertyValue?)] = [
            (.integer32, .double(3), .int(3)), (.integer32, .double(3.5), nil), (.integer16, .double(-2), .int(-2)),
            (.integer64, .double(9.3e18), nil), (.integer64, .bool(false), .int(0)), (.boolean, .int(0), .bool(false)),
            (.boolean, .int(1), .bool(true)), (.boolean, .int(2), nil), (.boolean, .int(-1), nil),
            (.boolean, .double(1), nil), (.float, .double(0.1), .double(Double(Float(0.1)))),
            (.float, .int(16_777_217), .double(16_777_216)), (.double, .int(16_777_217), .double(16_777_217)),
            (.decimal, .double(.nan), nil), (.decimal, .double(.infinity), nil),
        ]
        for (type, value, result) in cases {
            let (model, attribute) = try attribute(type)
            if let result {
                XCTAssertEqual(try attribute.accept(value), result, "\(type) \(value)")
            } else {
                XCTAssertEqual(failure { _ = try attribute.accept(value) }?.status, .typeMismatch, "\(type) \(value)")
            }
            withExtendedLifetime(model) {}
        }
    }

    func testDecimalRejectsNumbersThatAreNotFinite() throws {
        let (model, attribute) = try attribute(.decimal)
        for (real, text) in [(Double.nan, "nan"), (.infinity, "inf"), (-.infinity, "-inf")] {
            let error = failure { _ = try attribute.accept(.double(real)) }
            XCTAssertEqual(error?.status, .typeMismatch)
            XCTAssertEqual(error?.message, "E.a takes a finite number (Decimal), not \(text)")
            XCTAssertEqual([error?.entity, error?.key], ["E", "a"])
        }
        withExtendedLifetime(model) {}
    }

    func testIntegersBeyondTheirWidthAreRejected() throws {
        for (type, least, greatest) in [
            (AttributeType.integer16, Int64(Int16.min), Int64(Int16.max)),
            (.integer32, Int64(Int32.min), Int64(Int32.max)),
        ] {
            let (model, attribute) = try attribute(type)
            XCTAssertEqual(try attribute.accept(.int(least)), .int(least))
            XCTAssertEqual(try attribute.accept(.int(greatest)), .int(greatest))
            for (number, code) in [(least - 1, 1620), (greatest + 1, 1610)] {
                for value in [PropertyValue.int(number), .double(Double(number))] {
                    let error = failure { _ = try attribute.accept(value) }
                    XCTAssertEqual(error?.status, .validation)
                    XCTAssertEqual(error?.code, code)
                    XCTAssertEqual(error?.value, .int(number))
                    XCTAssertEqual([error?.entity, error?.key], ["E", "a"])
                    XCTAssertEqual(
                        error?.message,
                        "E.a takes \(least) to \(greatest) (\(type.displayName)), not \(number)")
                }
            }
            withExtendedLifetime(model) {}
        }
    }

    func testErrorNamesTheInheritingEntity() throws {
        let (model, attribute) = try attribute(.integer16)
        let child = try model.addEntity(named: "Child")
        for (value, message) in [
            (PropertyValue.string("x"), "Child.a takes Integer 16, not a string"),
            (.int(70_000), "Child.a takes -32768 to 32767 (Integer 16), not 70000"),
        ] {
            let error = failure { _ = try attribute.accept(value, for: child) }
            XCTAssertEqual(error?.entity, "Child")
            XCTAssertEqual(error?.message, message)
        }
    }

    // MARK: - Composites

    private func place() throws -> (Model, Attribute) {
        let (model, place) = try attribute(.composite)
        try place.addElement(named: "x", type: .integer16)
        let more = try place.addElement(named: "more", type: .composite)
        try more.addElement(named: "word", type: .string)
        try more.addElement(named: "flag", type: .boolean)
        return (model, place)
    }

    func testCompositeAcceptsADictionaryOfItsElements() throws {
        let (model, place) = try place()
        XCTAssertEqual(
            try place.accept(.dictionary(["x": .double(2), "more": .dictionary(["flag": .int(1), "word": .null])])),
            .dictionary(["x": .int(2), "more": .dictionary(["flag": .bool(true)])]))
        for empty in [PropertyValue.dictionary([:]), .dictionary(["x": .null, "more": .dictionary([:])])] {
            XCTAssertEqual(try place.accept(empty), .null, "a dictionary without values is null")
        }
        let unknown = failure { _ = try place.accept(.dictionary(["y": .int(1), "X": .int(2)])) }
        XCTAssertEqual(unknown?.status, .invalidArgument)
        XCTAssertEqual(unknown?.key, "a.X", "the first by name")
        XCTAssertEqual(unknown?.message, "E.a has no element \"X\"; did you mean \"x\"?")
        let deep = failure { _ = try place.accept(.dictionary(["more": .dictionary(["word": .int(1)])])) }
        XCTAssertEqual([deep?.entity, deep?.key], ["E", "a.more.word"])
        XCTAssertEqual(deep?.message, "E.a.more.word takes String, not an integer (1)")
        withExtendedLifetime(model) {}
    }

    func testCompositeIsDecomposedAndComposed() throws {
        let (model, place) = try place()
        let value = PropertyValue.dictionary(["x": .int(2), "more": .dictionary(["word": .string("w")])])
        let parts = place.decomposed(value)
        XCTAssertEqual(parts.map(\.leaf.path), ["a.x", "a.more.word", "a.more.flag"])
        XCTAssertEqual(parts.map(\.value), [.int(2), .string("w"), .null])
        let byPath = Dictionary(uniqueKeysWithValues: parts.map { ($0.leaf.path, $0.value) })
        XCTAssertEqual(place.composed { byPath[$0.path] ?? .null }, value)
        XCTAssertEqual(place.composed { _ in .null }, .null)
        XCTAssertEqual(place.decomposed(.null).map(\.value), [.null, .null, .null])
        XCTAssertEqual(place.elements[0].decomposed(.int(1)).map(\.value), [.int(1)])
        XCTAssertEqual(place.withElements.map(\.path), ["a", "a.x", "a.more", "a.more.word", "a.more.flag"])
        withExtendedLifetime(model) {}
    }

    func testCompositeDefaultSetsTheDefaultsOfItsElements() throws {
        let (model, place) = try place()
        try place.setDefaultValue(.dictionary(["x": .int(2), "more": .dictionary(["flag": .bool(false)])]))
        XCTAssertEqual(place.defaultValue, .null)
        XCTAssertEqual(place.leaves.map(\.defaultValue), [.int(2), .null, .bool(false)])
        try place.setDefaultValue(.dictionary(["more": .dictionary(["word": .string("w")])]))
        XCTAssertEqual(place.leaves.map(\.defaultValue), [.null, .string("w"), .null], "former defaults are removed")
        try model.freeze()
        XCTAssertEqual(model.entities[0].defaults.map(\.slot), [3])
        XCTAssertEqual(model.entities[0].defaults.map(\.value), [.string("w")])
    }

    func testElementsAreTransientWithTheirComposite() throws {
        let (model, place) = try place()
        try place.setTransient(true)
        XCTAssertEqual(place.withElements.map(\.isTransient), Array(repeating: true, count: 5))
        XCTAssertTrue(try place.addElement(named: "late", type: .date).isTransient)
        try place.setTransient(false)
        XCTAssertEqual(place.withElements.map(\.isTransient), Array(repeating: false, count: 6))
        withExtendedLifetime(model) {}
    }

    func testElementNamesAreUniqueAndRenamed() throws {
        let (model, place) = try place()
        let error = failure { try model.edit { _ = try place.addElement(named: "x", type: .date) } }
        XCTAssertEqual(error?.message, "E.a already has an element \"x\"; choose another name")
        XCTAssertEqual([error?.entity, error?.key], ["E", "a.x"])
        let missing = failure { try model.edit { try place.removeElement(named: "y") } }
        XCTAssertEqual(missing?.message, "E.a has no element \"y\"")
        let duplicate = failure { try place.elements[0].rename(to: "more") }
        XCTAssertEqual(duplicate?.message, "E.a already has an element \"more\"; choose another name")
        try place.elements[0].rename(to: "y")
        XCTAssertEqual(place.leaves[0].path, "a.y")
        try place.rename(to: "b")
        XCTAssertEqual(place.leaves.map(\.path), ["b.y", "b.more.word", "b.more.flag"])
    }

    // MARK: - Conversion

    func testTextAndNumbersAreConvertedToAttributeTypes() throws {
        let cases: [(AttributeType, PropertyValue, PropertyValue)] = [
            (.integer16, .string("-5"), .int(-5)), (.integer32, .string("70000"), .int(70_000)),
            (.integer64, .string("9223372036854775807"), .int(.max)),
            (.integer64, .decimal(DecimalNumber(12)), .int(12)), (.integer16, .double(3), .int(3)),
            (.double, .string("1.5e3"), .double(1500)), (.float, .string("0.1"), .double(Double(Float(0.1)))),
            (.double, .decimal(try DecimalNumber("0.25")), .double(0.25)),
            (.float, .decimal(try DecimalNumber("0.1")), .double(Double(Float(0.1)))),
            (.decimal, .string("-0.10"), .decimal(try DecimalNumber("-0.1"))), (.boolean, .string("true"), .bool(true)),
            (.boolean, .string("1"), .bool(true)), (.boolean, .string("false"), .bool(false)),
            (.boolean, .string("0"), .bool(false)), (.date, .string("2001-01-01T00:00:09Z"), .date(9)),
            (.date, .string("2001-01-01T01:00:09+01:00"), .date(9)), (.date, .string("2001-01-01 00:00:09"), .date(9)),
            (.date, .int(-3), .date(-3)), (.date, .double(2.5), .date(2.5)),
            (.date, .decimal(try DecimalNumber("1.5")), .date(1.5)), (.date, .string("inf"), .date(.infinity)),
            (
                .uuid, .string("00000000-0000-0001-0000-000000000002"), .uuid(AttributeValueTests.uuid)
            ),
            (.uri, .string("a:b"), .uri(Text("a:b"))), (.binary, .string("AQI="), .bytes(Bytes([1, 2]))),
            (.transformable, .string("AQI="), .bytes(Bytes([1, 2]))), (.string, .int(-3), .string("-3")),
            (.string, .double(2.5), .string("2.5")), (.string, .decimal(try DecimalNumber("1.50")), .string("1.5")),
            (.string, .bool(true), .string("true")), (.string, .bool(false), .string("false")),
            (.string, .uuid(AttributeValueTests.uuid), .string("00000000-0000-0001-0000-000000000002")),
            (.string, .string("s"), .string("s")), (.undefined, .array([.int(1)]), .array([.int(1)])),
        ]
        for (type, value, result) in cases {
            let (model, attribute) = try attribute(type)
            XCTAssertEqual(try attribute.converted(value), result, "\(type) of \(value)")
            withExtendedLifetime(model) {}
        }
        let (model, number) = try attribute(.integer16)
        XCTAssertEqual(try number.converted(.null), .null)
        try number.setDefaultValue(.int(4))
        XCTAssertEqual(try number.converted(.null), .int(4), "null becomes the default value")
        withExtendedLifetime(model) {}
    }

    func testInvalidTextIsNotConverted() throws {
        let date = "; write a date such as 2001-01-31T12:00:00Z"
        for (type, text, remedy) in [
            (AttributeType.integer16, "1.5", ""), (.double, "x", ""), (.decimal, "", ""),
            (.boolean, "YES", "; write true or false"), (.date, "today", date), (.date, "12", date), (.uuid, "1", ""),
            (.binary, "?", "; write it in base64"),
        ] {
            let (model, attribute) = try attribute(type)
            let error = failure { _ = try attribute.converted(.string(text)) }
            XCTAssertEqual(error?.status, .typeMismatch, "\(type)")
            XCTAssertEqual([error?.entity, error?.key], ["E", "a"])
            XCTAssertEqual(error?.value, .string(text))
            XCTAssertEqual(
                error?.message,
                "E.a takes \(type.displayName), but \"\(text)\" cannot be converted to this type\(remedy)")
            withExtendedLifetime(model) {}
        }
        let (model, small) = try attribute(.integer16)
        XCTAssertEqual(failure { _ = try small.converted(.string("70000")) }?.code, 1610)
        XCTAssertEqual(
            failure { _ = try small.converted(.decimal(try DecimalNumber("1.5"))) }?.status, .typeMismatch)
        withExtendedLifetime(model) {}
    }

    // MARK: - Types

    func testAttributeTypesHaveTheirNamesAndCodes() {
        let types: [(AttributeType, Int32, String, String, String?)] = [
            (.undefined, 0, "Undefined", "Undefined", nil), (.integer16, 100, "Integer 16", "Integer 16", "NSNumber"),
            (.integer32, 200, "Integer 32", "Integer 32", "NSNumber"),
            (.integer64, 300, "Integer 64", "Integer 64", "NSNumber"),
            (.decimal, 400, "Decimal", "Decimal", "NSDecimalNumber"), (.double, 500, "Double", "Double", "NSNumber"),
            (.float, 600, "Float", "Float", "NSNumber"), (.string, 700, "String", "String", "NSString"),
            (.boolean, 800, "Boolean", "Boolean", "NSNumber"), (.date, 900, "Date", "Date", "NSDate"),
            (.binary, 1000, "Binary Data", "Binary", "NSData"), (.uuid, 1100, "UUID", "UUID", "NSUUID"),
            (.uri, 1200, "URI", "URI", "NSURL"), (.transformable, 1800, "Transformable", "Transformable", nil),
            (.objectID, 2000, "Object ID", "ObjectID", "NSManagedObjectID"),
            (.composite, 2100, "Composite", "Composite", "NSDictionary"),
        ]
        XCTAssertEqual(types.map(\.0), AttributeType.allCases)
        for (type, code, display, source, className) in types {
            XCTAssertEqual(type.rawValue, code)
            XCTAssertEqual(type.displayName, display)
            XCTAssertEqual(type.sourceName, source)
            XCTAssertEqual(AttributeType(source: source), type)
            XCTAssertEqual(type.valueClassName, className, display)
        }
        XCTAssertNil(AttributeType(source: "Binary Data"))
    }

    func testTypesAreReadAsTypesOfTheirStorageGroup() {
        let groups: [[AttributeType]] = [
            [.integer16, .integer32, .integer64], [.double, .float], [.binary, .transformable],
        ]
        for one in AttributeType.allCases {
            for other in AttributeType.allCases {
                let isAlike = one == other || groups.contains { $0.contains(one) && $0.contains(other) }
                XCTAssertEqual(one.isRead(as: other), isAlike, "\(one) \(other)")
            }
            XCTAssertEqual(one.isBytes, one == .binary || one == .transformable)
        }
    }

    // MARK: - Rules

    func testBoundsReplaceFormerBounds() throws {
        let (model, attribute) = try attribute(.integer32)
        try attribute.addValidation(PredicateText("SELF != 3"), warning: "Not three.")
        try attribute.setBounds(least: .int(1), greatest: .int(9))
        try attribute.setBounds(least: .double(2), greatest: nil)
        XCTAssertEqual(attribute.validationRules.map(\.predicate.text), ["SELF != 3", "SELF >= 2"])
        XCTAssertEqual(attribute.bounds.least, .int(2))
        XCTAssertNil(attribute.bounds.greatest)
        try attribute.setBounds(least: .int(4), greatest: .int(4))
        XCTAssertEqual(attribute.bounds.greatest, .int(4), "a range of one value is valid")
        try attribute.setBounds(least: nil, greatest: nil)
        XCTAssertEqual(attribute.validationRules.map(\.warning), [.text("Not three.")])
        withExtendedLifetime(model) {}
    }

    func testInvalidBoundsAreRejected() throws {
        for type in [AttributeType.boolean, .binary, .uuid, .uri, .transformable, .undefined, .objectID] {
            let (model, attribute) = try attribute(type)
            let error = failure { try attribute.setBounds(least: .int(1), greatest: nil) }
            XCTAssertEqual(error?.status, .model)
            XCTAssertEqual([error?.entity, error?.key], ["E", "a"])
            XCTAssertEqual(
                error?.message,
                "E.a is of type \(type.displayName), but only numbers, dates and strings (by length) can have a minimum or "
                    + "maximum")
            withExtendedLifetime(model) {}
        }
        let (first, number) = try attribute(.integer16)
        XCTAssertEqual(
            failure { try number.setBounds(least: .int(5), greatest: .int(4)) }?.message,
            "the minimum of E.a (5) is greater than its maximum (4); raise the maximum or lower the minimum")
        XCTAssertEqual(number.validationRules, [])
        let (second, text) = try attribute(.string)
        try text.setBounds(least: .int(0), greatest: nil)
        for (bound, found) in [
            (PropertyValue.int(-1), "-1"), (.double(1), "a floating-point number (1.0)"), (.string("1"), "a string"),
        ] {
            let (model, text) = try attribute(.string)
            XCTAssertEqual(
                failure { try text.setBounds(least: nil, greatest: bound) }?.message,
                "E.a is a string, so its bounds are lengths and must be integers from 0, not \(found)")
            withExtendedLifetime(model) {}
        }
        withExtendedLifetime((first, second)) {}
    }

    func testPatternReplacesTheFormerPattern() throws {
        let (model, text) = try attribute(.string)
        try text.setBounds(least: .int(1), greatest: nil)
        try text.setPattern("a+")
        try text.setPattern("b+")
        XCTAssertEqual(text.validationRules.map(\.predicate.text), ["length >= 1", "SELF MATCHES \"b+\""])
        try text.setPattern(nil)
        XCTAssertEqual(text.validationRules.map(\.warning), [.code(1670)])
        XCTAssertEqual(failure { try text.setPattern("(") }?.status, .predicate)
        let (other, number) = try attribute(.integer16)
        let error = failure { try number.setPattern("a") }
        XCTAssertEqual(error?.status, .model)
        XCTAssertEqual(error?.message, "E.a is of type Integer 16, but only a string can have a pattern")
        withExtendedLifetime((model, other)) {}
    }
}
