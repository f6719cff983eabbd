import CorestoneValues
import XCTest

@testable import CorestoneModel

/// Registered classes and transformers, by name, and the values that a value class of a model accepts.
final class ArchivableClassTests: XCTestCase {
    private struct Colour: Hashable, Sendable {
        var red = 0.0
    }
    private struct Shade: Hashable, Sendable {
        var grey = 0.0
    }
    private struct Failure: Error {}

    override func tearDown() {
        for name in ["ModelColour", "ModelOther"] { ArchivableClasses.unregister(name) }
        for name in ["ModelText", "JSON"] { ValueTransformers.unregister(name) }
    }

    private func registerColour(_ name: String = "ModelColour", factor: Double = 1) {
        ArchivableClasses.register(
            name, fields: { (colour: Colour) in ["red": .double(colour.red * factor)] },
            object: { Colour(red: ($0["red"]?.number ?? -1) / factor) })
    }

    private func registerShade(_ name: String) {
        ArchivableClasses.register(
            name, fields: { (shade: Shade) in ["grey": .double(shade.grey)] },
            object: { Shade(grey: $0["grey"]?.number ?? -1) })
    }

    private func failure(_ body: () throws -> Void) -> CoreError? {
        do { try body() } catch { return error as? CoreError }
        return nil
    }

    private func archived(_ value: Any) throws -> PropertyValue {
        let transformer = try XCTUnwrap(ValueTransformers.named(nil))
        return try decodeArchive(try transformer.bytes(for: value).array)
    }

    private func restored(_ value: PropertyValue) throws -> Any {
        let transformer = try XCTUnwrap(ValueTransformers.named(nil))
        return try transformer.value(for: Bytes(try encodeArchive(value)))
    }

    private func object(_ name: String, _ fields: [String: PropertyValue]) -> PropertyValue {
        .object(ArchivedObject(className: name, fields: fields))
    }

    // MARK: - Classes

    func testObjectIsArchivedAsFieldsUnderItsClassName() throws {
        registerColour()
        XCTAssertEqual(try archived(Colour(red: 0.5)), object("ModelColour", ["red": .double(0.5)]))
        XCTAssertEqual(
            try restored(object("ModelColour", ["red": .double(0.5)])) as? Colour, Colour(red: 0.5))
        XCTAssertEqual(
            try restored(object("Unknown", ["red": .int(1)])) as? PropertyValue, object("Unknown", ["red": .int(1)]))
    }

    func testRegisteringAClassNameAgainReplacesItsFunctions() throws {
        registerColour()
        registerColour(factor: 4)
        XCTAssertEqual(try archived(Colour(red: 0.5)), object("ModelColour", ["red": .double(2)]))
        XCTAssertEqual(try restored(object("ModelColour", ["red": .double(2)])) as? Colour, Colour(red: 0.5))
    }

    func testRegisteringAClassNameForAnotherTypeReplacesTheType() throws {
        registerColour()
        registerShade("ModelColour")
        XCTAssertEqual(try archived(Shade(grey: 1)), object("ModelColour", ["grey": .double(1)]))
        XCTAssertEqual(try restored(object("ModelColour", ["grey": .double(1)])) as? Shade, Shade(grey: 1))
        let error = failure { _ = try archived(Colour()) }
        XCTAssertEqual(error?.status, .typeMismatch)
        XCTAssertEqual(
            error?.message,
            "the transformer takes a PropertyValue or an object of a registered class, not Colour; "
                + "convert the value to a PropertyValue, register its class with ArchivableClasses.register, or set "
                + "another transformer")
    }

    func testTypeIsArchivedUnderItsLastRegisteredName() throws {
        registerColour()
        registerColour("ModelOther")
        XCTAssertEqual(try archived(Colour(red: 1)), object("ModelOther", ["red": .double(1)]))
        XCTAssertEqual(try restored(object("ModelColour", ["red": .double(1)])) as? Colour, Colour(red: 1))
    }

    func testUnregisteredClassIsNotArchived() throws {
        registerColour()
        registerShade("ModelOther")
        XCTAssertTrue(ArchivableClasses.unregister("ModelColour"))
        XCTAssertFalse(ArchivableClasses.unregister("ModelColour"))
        XCTAssertNil(ArchivableClasses.named("ModelColour"))
        XCTAssertEqual(ArchivableClasses.named("ModelOther")?.className, "ModelOther")
        XCTAssertEqual(failure { _ = try archived(Colour()) }?.status, .typeMismatch)
        XCTAssertEqual(try archived(Shade(grey: 1)), object("ModelOther", ["grey": .double(1)]), "other classes remain")
    }

    func testObjectsInCollectionsAreArchived() throws {
        registerColour()
        let colour = PropertyValue.object(ArchivableObject(Colour(red: 0.5)))
        let archivedColour = object("ModelColour", ["red": .double(0.5)])
        for (value, kept) in [
            (PropertyValue.array([.int(1), colour]), PropertyValue.array([.int(1), archivedColour])),
            (.set([colour]), .set([archivedColour])), (.dictionary(["c": colour]), .dictionary(["c": archivedColour])),
            (object("Outer", ["c": colour]), object("Outer", ["c": archivedColour])),
        ] {
            XCTAssertEqual(try archived(value), kept)
            XCTAssertEqual(try restored(kept) as? PropertyValue, value)
        }
    }

    func testArchivableObjectsAreComparedByValue() {
        let (one, other) = (ArchivableObject(Colour(red: 1)), ArchivableObject(Colour(red: 1)))
        XCTAssertTrue(one.isEqual(to: other))
        XCTAssertFalse(one.isEqual(to: ArchivableObject(Colour(red: 2))))
        XCTAssertFalse(one.isEqual(to: ArchivableObject(Shade(grey: 1))))
        XCTAssertFalse(one.isEqual(to: ArchivedObject(className: "Colour", fields: [:])))
        XCTAssertEqual(one.valueDescription, "a Colour")
        XCTAssertEqual(Set([PropertyValue.object(one), .object(other)]).count, 1)
        let plain = ArchivedObject(className: "A", fields: ["a": .int(1)])
        XCTAssertTrue(
            plain.isEqual(to: ArchivedObject(className: "A", classes: ["A", "NSObject"], fields: ["a": .int(1)])))
        for different in [
            ArchivedObject(className: "B", classes: ["A", "NSObject"], fields: ["a": .int(1)]),
            ArchivedObject(className: "A", classes: ["A", "B", "NSObject"], fields: ["a": .int(1)]),
            ArchivedObject(className: "A", fields: ["a": .int(2)]),
        ] { XCTAssertFalse(plain.isEqual(to: different)) }
        XCTAssertEqual(plain.valueDescription, "an archived A")
    }

    func testErrorsOfRegisteredFunctionsAreReported() {
        ArchivableClasses.register(
            "ModelColour", fields: { (_: Colour) in throw Failure() },
            object: { _ in throw CoreError(.validation, "no such colour") })
        let writing = failure { _ = try archived(Colour()) }
        XCTAssertEqual(writing?.status, .callback)
        XCTAssertEqual(writing?.message, "the callback fields of the class \"ModelColour\" failed: Failure()")
        XCTAssertEqual(failure { _ = try restored(object("ModelColour", [:])) }?.message, "no such colour")
    }

    func testValuesNestUpTo128Levels() throws {
        func nested(_ depth: Int) -> PropertyValue {
            (0..<depth).reduce(PropertyValue.int(1)) { inner, _ in .array([inner]) }
        }
        XCTAssertNoThrow(try ArchivableClasses.archived(nested(128)))
        let error = failure { _ = try ArchivableClasses.archived(nested(129)) }
        XCTAssertEqual(error?.status, .unsupported)
        XCTAssertEqual(
            error?.message,
            "the value for the archive is nested more than 128 levels deep or contains itself; flatten it, or remove the "
                + "reference to itself")
    }

    // MARK: - Value classes

    func testFoundationClassesHaveTheirKindsOfValues() {
        let kinds: [(String, String?)] = [
            ("NSString", "string uri"), ("NSMutableString", "string uri"), ("NSNumber", "bool int double decimal"),
            ("NSDecimalNumber", "bool int decimal"), ("NSDate", "date"), ("NSData", "bytes"),
            ("NSMutableData", "bytes"),
            ("NSUUID", "uuid"), ("NSURL", "uri string"), ("NSArray", "array"), ("NSMutableArray", "array"),
            ("NSSet", "set"), ("NSMutableSet", "set"), ("NSDictionary", "dictionary"),
            ("NSMutableDictionary", "dictionary"), ("NSColor", nil), ("String", nil), ("", nil),
        ]
        for (name, expected) in kinds { XCTAssertEqual(ValueClass.kinds(of: name), expected, name) }
    }

    func testFoundationClassesAcceptValuesOfTheirKinds() {
        let values: [(Any, String)] = [
            (PropertyValue.bool(true), "NSNumber NSDecimalNumber"), (PropertyValue.int(1), "NSNumber NSDecimalNumber"),
            (PropertyValue.double(1), "NSNumber"),
            (PropertyValue.decimal(DecimalNumber(1)), "NSNumber NSDecimalNumber"),
            (PropertyValue.string("s"), "NSString NSURL"), (PropertyValue.bytes(Bytes([1])), "NSData"),
            (PropertyValue.date(1), "NSDate"), (PropertyValue.uuid(UUIDValue(high: 0, low: 1)), "NSUUID"),
            (PropertyValue.uri(Text("a:b")), "NSString NSURL"), (PropertyValue.array([]), "NSArray"),
            (PropertyValue.set([]), "NSSet"), (PropertyValue.dictionary([:]), "NSDictionary"),
            (true, "NSNumber NSDecimalNumber"), (1, "NSNumber NSDecimalNumber"), (UInt8(1), "NSNumber NSDecimalNumber"),
            (1.5, "NSNumber"), (Float(1), "NSNumber"), (DecimalNumber(Int64(1)), "NSNumber NSDecimalNumber"),
            ("s", "NSString NSURL"), (Text("s") as Any, "NSString NSURL"), (Bytes([1]), "NSData"),
            ([UInt8](), "NSData"),
            (UUIDValue(high: 0, low: 1), "NSUUID"), ([1, 2], "NSArray"), (Set([1]), "NSSet"),
            (["k": 1], "NSDictionary"),
        ]
        let names = [
            "NSString", "NSNumber", "NSDecimalNumber", "NSDate", "NSData", "NSUUID", "NSURL", "NSArray", "NSSet",
            "NSDictionary",
        ]
        for (value, good) in values {
            let classes = good.split(separator: " ").map(String.init)
            for name in names {
                XCTAssertEqual(
                    ValueClass.allows(name, value), classes.contains(name), "\(name) \(type(of: value)) \(value)")
            }
            XCTAssertTrue(ValueClass.allows("NSColor", value), "an unknown class accepts every value")
        }
    }

    func testRegisteredClassAcceptsOnlyItsObjects() {
        registerColour()
        registerShade("ModelOther")
        XCTAssertTrue(ValueClass.allows("ModelColour", Colour()))
        XCTAssertTrue(ValueClass.allows("ModelColour", PropertyValue.object(ArchivableObject(Colour()))))
        XCTAssertFalse(ValueClass.allows("ModelColour", Shade()))
        XCTAssertFalse(ValueClass.allows("ModelColour", PropertyValue.int(1)))
        XCTAssertFalse(ValueClass.allows("NSArray", Colour()), "an object of another registered class")
        XCTAssertTrue(ValueClass.allows("NSArray", Failure()), "a value of the application")
    }

    // MARK: - Transformers

    func testBuiltInTransformersAreFoundByName() throws {
        for name in [
            nil, "NSSecureUnarchiveFromData", "NSSecureUnarchiveFromDataTransformer", "NSKeyedUnarchiveFromData",
            "NSKeyedUnarchiveFromDataTransformer",
        ] {
            let bytes = try XCTUnwrap(ValueTransformers.named(name)).bytes(for: PropertyValue.int(3))
            XCTAssertEqual(try decodeArchive(bytes.array), .int(3), name ?? "none")
        }
        XCTAssertNil(ValueTransformers.named("Secret"))
        XCTAssertNil(ValueTransformers.named(""))
    }

    func testJSONTransformerRoundTrips() throws {
        let transformer = try XCTUnwrap(ValueTransformers.named("JSON"))
        let value = PropertyValue.dictionary([
            "$a": .array([.null, .bool(true), .int(-3), .double(1.5), .string("é")]), "b": .dictionary([:]),
        ])
        let bytes = try transformer.bytes(for: value)
        XCTAssertEqual(
            String(decoding: bytes.array, as: UTF8.self), #"{"$a": [null, true, -3, 1.5, "é"], "b": {}}"#)
        XCTAssertEqual(try transformer.value(for: bytes) as? PropertyValue, value)
        for wrong in [
            PropertyValue.date(1), .double(.nan), .double(.infinity), .decimal(DecimalNumber(1)), .bytes(Bytes([1])),
            .set([]), .uuid(UUIDValue(high: 0, low: 1)), .uri(Text("a:b")),
        ] {
            let remedy = wrong == .set([]) ? "a list" : "a string or a finite number"
            for value in [wrong, .array([wrong]), .dictionary(["k": .array([wrong])])] {
                let error = failure { _ = try transformer.bytes(for: value) }
                XCTAssertEqual(error?.status, .typeMismatch)
                XCTAssertEqual(
                    error?.message,
                    "the transformer does not support \(wrong.kindPhrase); convert it to \(remedy), or use another transformer"
                )
            }
        }
        XCTAssertEqual(
            failure { _ = try transformer.bytes(for: "text") }?.message,
            "the transformer takes a PropertyValue, not a value of type String")
    }

    func testRegisteredTransformerHidesTheBuiltInOneOfItsName() throws {
        XCTAssertFalse(ValueTransformers.isRegistered("JSON"))
        for mark in [UInt8(1), 2] {
            ValueTransformers.register("JSON", transform: { (text: String) in Bytes([mark] + text.utf8) }) {
                String(decoding: $0.array.dropFirst(), as: UTF8.self)
            }
        }
        XCTAssertTrue(ValueTransformers.isRegistered("JSON"))
        let transformer = try XCTUnwrap(ValueTransformers.named("JSON"))
        XCTAssertEqual(try transformer.bytes(for: "a").array, [2, 0x61], "the last registration is used")
        XCTAssertEqual(try transformer.value(for: Bytes([2, 0x62])) as? String, "b")
        let error = failure { _ = try transformer.bytes(for: 3) }
        XCTAssertEqual(error?.status, .typeMismatch)
        XCTAssertEqual(error?.message, "the transformer takes a value of type String, not Int")
        XCTAssertEqual(
            failure { _ = try transformer.bytes(for: PropertyValue.string("a")) }?.message,
            "the transformer takes a value of type String, not a string")
        XCTAssertTrue(ValueTransformers.unregister("JSON"))
        XCTAssertFalse(ValueTransformers.unregister("JSON"))
        XCTAssertEqual(
            try XCTUnwrap(ValueTransformers.named("JSON")).bytes(for: PropertyValue.int(1)).array, [0x31],
            "the built-in transformer is used again")
    }
}
