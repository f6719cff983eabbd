import CorestoneGraph
import CorestoneModel
import CorestonePredicate
import CorestoneValues
import Foundation
import XCTest

@testable import CorestoneSQLite

/// Transformable attributes, with the scenarios of that area by their IDs.
final class TransformedTests: StoreTestCase {
    private struct Colour: Hashable, Sendable {
        let red, green, blue: Double
    }
    private struct NoColour: Error {}

    private var item: Entity!
    private var payload: UInt32 = 0

    private func stack(_ transformer: String? = nil, default value: PropertyValue? = nil) throws -> Context {
        let model = Model()
        item = try model.addEntity(named: "Item")
        try item.addAttribute(named: "name", type: .string)
        let attribute = try item.addAttribute(named: "payload", type: .transformable)
        try attribute.setValueTransformerName(transformer)
        if let value { try attribute.setDefaultValue(.bytes(Bytes(try encodeArchive(value)))) }
        let coordinator = try Coordinator(model: model)
        payload = try item.requireProperty(named: "payload").key
        try coordinator.addSQLiteStore(at: path("a.sqlite"))
        return Context(coordinator: coordinator)
    }

    private func insert(_ name: String, _ value: Any?, in context: Context) throws -> ManagedObject {
        let object = try context.insert(item)
        try object.setValue(.string(name), forKey: "name")
        try object.setTransformedValue(value, key: payload)
        return object
    }

    private func payloads(_ context: Context, _ predicate: String? = nil) throws -> [PropertyValue?] {
        let request = FetchRequest(entity: item)
        request.predicate = try predicate.map { try Predicate.parse($0) }
        request.sortDescriptors = [SortDescriptor("name")]
        return try context.fetch(request).map { try $0.transformedValue(key: payload) as? PropertyValue }
    }

    private let colour = PropertyValue.object(
        ArchivedObject(className: "Colour", fields: ["red": .double(0.25), "green": .double(0.5)]))
    private let list = PropertyValue.array([.string("alpha"), .int(42), .date(1000)])

    func testS170DefaultTransformerRoundTrips() throws {
        for name in [nil, "NSKeyedUnarchiveFromData", "NSSecureUnarchiveFromDataTransformer"] {
            let context = try stack(name)
            _ = try insert("a", colour, in: context)
            _ = try insert("b", list, in: context)
            try context.save()
            XCTAssertEqual(try payloads(stack(name)), [colour, list])
            for file in try files() { try FileManager.default.removeItem(atPath: path(file)) }
        }
    }

    func testS173StoredFormIsAKeyedArchive() throws {
        let context = try stack()
        _ = try insert("a", colour, in: context)
        try context.save()
        let written = try ["a.sqlite", "a.sqlite-wal"].map { try Data(contentsOf: URL(fileURLWithPath: path($0))) }
        XCTAssert(written.contains { $0.range(of: Data("Colour".utf8)) != nil })
    }

    func testS179ContentsAreFilteredInMemory() throws {
        let context = try stack()
        _ = try insert("a", PropertyValue.array([.string("red"), .string("green")]), in: context)
        _ = try insert("b", PropertyValue.array([.string("blue")]), in: context)
        _ = try insert("c", nil, in: context)
        try context.save()
        let fresh = try stack()
        XCTAssertEqual(try payloads(fresh).count, 3)
        XCTAssertEqual(try payloads(fresh, "payload CONTAINS 'blue'"), [.array([.string("blue")])])
        XCTAssertEqual(try payloads(fresh, "payload == nil"), [nil])
        XCTAssertEqual(try payloads(fresh, "payload.@count == 2").count, 1)
    }

    func testS182NilAndDefaultValuesAreStored() throws {
        let context = try stack(default: colour)
        let a = try context.insert(item)
        try a.setValue(.string("a"), forKey: "name")
        XCTAssertEqual(try a.transformedValue(key: payload) as? PropertyValue, colour)
        _ = try insert("b", nil, in: context)
        try context.save()
        XCTAssertEqual(try payloads(stack(default: colour)), [colour, nil])
    }

    func testTransformedValueIsCachedUntilARefresh() throws {
        ValueTransformers.register(
            "Box", transform: { (box: NSString) in Bytes(Array((box as String).utf8)) },
            reverse: { NSString(string: String(decoding: $0.array, as: UTF8.self)) })
        defer { ValueTransformers.unregister("Box") }
        let context = try stack("Box")
        let text = NSString(string: "a value")
        let object = try insert("a", text, in: context)
        try context.save()
        XCTAssert(try object.transformedValue(key: payload) as AnyObject === text)
        try context.refresh(object, mergeChanges: false)
        let read = try XCTUnwrap(object.transformedValue(key: payload) as? NSString)
        XCTAssertEqual(read, text)
        XCTAssertFalse(read === text)
        XCTAssert(try object.transformedValue(key: payload) as AnyObject === read)
        XCTAssertEqual(try object.value(forKey: "payload"), .bytes(Bytes(Array("a value".utf8))))
    }

    func testTransformerErrorNamesTransformerEntityAndKey() throws {
        ValueTransformers.register(
            "Colour", transform: { (_: Colour) in throw NoColour() }, reverse: { _ in throw NoColour() })
        let context = try stack("Colour")
        let object = try context.insert(item)
        func check(_ status: Status, _ part: String, line: UInt = #line, _ body: () throws -> Void) {
            let error = failure(body, line: line)
            XCTAssertEqual(error.status, status, line: line)
            XCTAssertEqual([error.entity, error.key], ["Item", "payload"], line: line)
            XCTAssert(error.message.contains(part), error.message, line: line)
        }
        check(.callback, "the transformer \"Colour\" cannot transform") {
            try object.setTransformedValue(Colour(red: 1, green: 0, blue: 0), key: payload)
        }
        check(.typeMismatch, "takes a value of type Colour") { try object.setTransformedValue("text", key: payload) }
        try object.setValue(.bytes(Bytes([1])), forKey: "payload")
        check(.callback, "cannot reverse") { _ = try object.transformedValue(key: payload) }
        XCTAssert(ValueTransformers.unregister("Colour"))
        XCTAssertFalse(ValueTransformers.unregister("Colour"))
        check(.unsupported, "the transformer \"Colour\", which is not registered") {
            _ = try object.transformedValue(key: payload)
        }
        XCTAssertEqual(try object.value(forKey: "payload"), .bytes(Bytes([1])))
        let name = try item.requireProperty(named: "name").key
        let error = failure { _ = try object.transformedValue(key: name) }
        XCTAssertEqual(error.status, .typeMismatch)
        XCTAssert(error.message.hasSuffix("(get), and set it with cst_object_set (set)"), error.message)
    }

    func testJSONTransformerStoresJSONText() throws {
        let context = try stack("JSON")
        let value = PropertyValue.dictionary(["$a": .array([.int(1), .double(0.5), .null, .bool(true)])])
        let object = try insert("a", value, in: context)
        try context.save()
        XCTAssertEqual(try shell("a.sqlite", "SELECT ZPAYLOAD FROM ZITEM"), #"{"$a": [1, 0.5, null, true]}"#)
        try context.refresh(object, mergeChanges: false)
        XCTAssertEqual(try object.transformedValue(key: payload) as? PropertyValue, value)
        XCTAssertEqual(
            failure { try object.setTransformedValue(PropertyValue.date(1), key: payload) }.status, .typeMismatch)
    }
}
