import CorestoneGraph
import CorestoneModel
import CorestoneValues
import Foundation
import XCTest

@testable import CorestoneSQLite

/// Objects of registered classes in the archives of transformable attributes.
final class ArchivableTests: StoreTestCase {
    private struct Colour: Hashable, Sendable {
        let red, green: Double
    }
    private struct Palette: Hashable, Sendable {
        let main: Colour
        let others: [Colour]
    }
    private struct NoColour: Error {}

    private var item: Entity!
    private var payload: UInt32 = 0
    private var context: Context!

    override func setUp() {
        super.setUp()
        ArchivableClasses.register(
            "MyColour", fields: { (colour: Colour) in ["red": .double(colour.red), "green": .double(colour.green)] },
            object: { fields in
                guard let red = fields["red"]?.number, let green = fields["green"]?.number else { throw NoColour() }
                return Colour(red: red, green: green)
            })
    }

    override func tearDown() {
        context = nil
        ArchivableClasses.unregister("MyColour")
        ArchivableClasses.unregister("MyPalette")
        super.tearDown()
    }

    private func object(valueClass: String? = nil) throws -> ManagedObject {
        let model = Model()
        item = try model.addEntity(named: "Item")
        let attribute = try item.addAttribute(named: "payload", type: .transformable)
        try attribute.setValueClassName(valueClass)
        let coordinator = try Coordinator(model: model)
        payload = try item.requireProperty(named: "payload").key
        try coordinator.addSQLiteStore(at: path("a.sqlite"))
        context = Context(coordinator: coordinator)
        return try context.insert(item)
    }

    /// Saves the value and reads it back from the store.
    private func kept(_ value: Any, _ object: ManagedObject) throws -> Any? {
        try object.setTransformedValue(value, key: payload)
        try context.save()
        try context.refresh(object, mergeChanges: false)
        return try object.transformedValue(key: payload)
    }

    func testArchivableObjectRoundTripsAloneAndInACollection() throws {
        let object = try object()
        let colour = Colour(red: 0.25, green: 1)
        XCTAssertEqual(try kept(colour, object) as? Colour, colour)
        let list = PropertyValue.array([.object(ArchivableObject(colour)), .dictionary(["a": .int(1)])])
        XCTAssertEqual(try kept(list, object) as? PropertyValue, list)
    }

    func testNestedArchivableObjectsRoundTrip() throws {
        ArchivableClasses.register(
            "MyPalette",
            fields: { (palette: Palette) in
                [
                    "main": .object(ArchivableObject(palette.main)),
                    "others": .array(palette.others.map { .object(ArchivableObject($0)) }),
                ]
            },
            object: { fields in
                func colour(_ value: PropertyValue?) throws -> Colour {
                    guard case .object(let nested as ArchivableObject)? = value, let colour = nested.object as? Colour
                    else { throw NoColour() }
                    return colour
                }
                guard case .array(let others)? = fields["others"] else { throw NoColour() }
                return Palette(main: try colour(fields["main"]), others: try others.map(colour))
            })
        let palette = Palette(
            main: Colour(red: 0, green: 1), others: [Colour(red: 1, green: 1), Colour(red: 0.5, green: 0)])
        let object = try object(valueClass: "MyPalette")
        XCTAssertEqual(try kept(palette, object) as? Palette, palette)
        XCTAssertEqual(
            failure { try object.setTransformedValue(Colour(red: 0, green: 0), key: payload) }.status, .typeMismatch)
    }

    func testObjectOfAnUnregisteredClassIsNotInstantiated() throws {
        let object = try object()
        _ = try kept(Colour(red: 1, green: 0), object)
        ArchivableClasses.unregister("MyColour")
        try context.refresh(object, mergeChanges: false)
        let fields: [String: PropertyValue] = ["red": .double(1), "green": .double(0)]
        XCTAssertEqual(
            try object.transformedValue(key: payload) as? PropertyValue,
            .object(ArchivedObject(className: "MyColour", fields: fields)))
        XCTAssertEqual(
            failure { try object.setTransformedValue(Colour(red: 0, green: 0), key: payload) }.status, .typeMismatch)
    }

    func testInvalidFieldsOfAnArchivedObjectFail() throws {
        let object = try object()
        let strange = ArchivedObject(className: "MyColour", fields: ["hue": .int(1)])
        let bytes = Bytes(try encodeArchive(.array([.object(strange)])))
        try object.setValue(.bytes(bytes), forKey: "payload")
        let error = failure { _ = try object.transformedValue(key: payload) }
        XCTAssertEqual([error.entity, error.key], ["Item", "payload"])
        XCTAssertEqual(error.status, .callback)
        XCTAssert(error.message.contains("MyColour"), error.message)
    }

    func testValueMustBelongToTheValueClassOfTheModel() throws {
        let cases: [(String, [Any], [Any])] = [
            ("NSArray", [PropertyValue.array([])], [PropertyValue.string("a"), Colour(red: 0, green: 0)]),
            ("NSMutableDictionary", [PropertyValue.dictionary([:])], [PropertyValue.array([])]),
            ("NSNumber", [PropertyValue.int(1), PropertyValue.bool(true)], [PropertyValue.string("1")]),
            ("MyColour", [Colour(red: 0, green: 0)], [PropertyValue.int(1)]),
            ("NSColor", [PropertyValue.int(1), Colour(red: 0, green: 0)], []),
        ]
        for (name, good, bad) in cases {
            let object = try object(valueClass: name)
            for value in good { XCTAssertNoThrow(try object.setTransformedValue(value, key: payload), name) }
            for value in bad {
                let error = failure { try object.setTransformedValue(value, key: payload) }
                XCTAssertEqual(error.status, .typeMismatch, name)
                XCTAssert(error.message.contains("Item.payload takes values of the class \"\(name)\""), error.message)
            }
            try object.setTransformedValue(nil, key: payload)
            for file in try files() { try? FileManager.default.removeItem(atPath: path(file)) }
        }
    }
}
