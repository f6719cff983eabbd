import CorestoneGraph
import CorestoneModel
import CorestonePredicate
import CorestoneValues
import CorestoneContainers
import XCTest

@testable import CorestoneSQLite

final class CompositeTests: StoreTestCase {
    private var place: Entity!

    private func coordinator(_ change: (Entity) throws -> Void = { _ in }) throws -> Coordinator {
        let model = Model()
        place = try model.addEntity(named: "Place")
        try place.addAttribute(named: "name", type: .string)
        let location = try place.addAttribute(named: "location", type: .composite)
        try location.addElement(named: "latitude", type: .double, isOptional: false)
        try location.addElement(named: "note", type: .string)
        let address = try location.addElement(named: "address", type: .composite)
        try address.addElement(named: "street", type: .string)
        try address.addElement(named: "number", type: .integer16)
        try change(place)
        let coordinator = try Coordinator(model: model)
        try coordinator.addSQLiteStore(at: path("a.sqlite"))
        return coordinator
    }

    private let whole = PropertyValue.dictionary([
        "latitude": .double(52.5), "address": .dictionary(["street": .string("Elm"), "number": .int(7)]),
    ])

    func testCompositeIsSavedAndReadAsADictionary() throws {
        let coordinator = try coordinator()
        let context = Context(coordinator: coordinator)
        let object = try context.insert(place)
        XCTAssertEqual(try object.value(forKey: "location"), .null)
        try object.setValue(whole, forKey: "location")
        XCTAssertEqual(try object.value(forKey: "location"), whole)
        XCTAssertEqual(try object.value(forKeyPath: "location.address.street"), .string("Elm"))
        try object.setValue(.string("Oak"), forKeyPath: "location.address.street")
        try context.save()
        XCTAssertEqual(
            try shell(
                "a.sqlite",
                "SELECT ZLOCATION_LATITUDE, ZLOCATION_NOTE IS NULL, ZLOCATION_ADDRESS_STREET, ZLOCATION_ADDRESS_NUMBER "
                    + "FROM ZPLACE"), "52.5|1|Oak|7")
        let fresh = Context(coordinator: try Coordinator.open(path("a.sqlite")))
        let entity = try fresh.coordinator.model.requireEntity(named: "Place")
        let other = try XCTUnwrap(fresh.fetch(FetchRequest(entity: entity)).first)
        XCTAssertEqual(
            try other.value(forKey: "location"),
            .dictionary([
                "latitude": .double(52.5), "address": .dictionary(["street": .string("Oak"), "number": .int(7)]),
            ]))
        // Elements that a dictionary omits become null.
        try object.setValue(.dictionary(["latitude": .int(1)]), forKey: "location")
        try context.save()
        XCTAssertEqual(try object.value(forKey: "location"), .dictionary(["latitude": .double(1)]))
        try object.setValue(.null, forKey: "location")
        try context.save()
        try context.refresh(object, mergeChanges: false)
        XCTAssertEqual(try object.value(forKey: "location"), .null)
    }

    func testCompositeReportsChangesAndCommittedValues() throws {
        let coordinator = try coordinator()
        let context = Context(coordinator: coordinator)
        let object = try context.insert(place)
        try object.setValue(whole, forKey: "location")
        try context.save()
        func key(_ path: String) throws -> UInt32 { try place.requireProperty(named: path).key }
        XCTAssertFalse(try object.isChanged(key: key("location")))
        try object.setValue(.string("Oak"), forKeyPath: "location.address.street")
        XCTAssert(try object.isChanged(key: key("location")))
        XCTAssert(try object.isChanged(key: key("location.address")))
        XCTAssert(try object.isChanged(key: key("location.address.street")))
        XCTAssertFalse(try object.isChanged(key: key("location.latitude")))
        XCTAssertEqual(try object.committedValue(key: key("location")), whole)
        try context.rollback()
        XCTAssertEqual(try object.value(forKey: "location"), whole)
    }

    func testInvalidCompositeValueErrorNamesTheKeyPath() throws {
        let context = Context(coordinator: try coordinator())
        let object = try context.insert(place)
        func check(_ status: Status, _ key: String, _ part: String, line: UInt = #line, _ body: () throws -> Void) {
            let error = failure(body, line: line)
            XCTAssertEqual(error.status, status, line: line)
            XCTAssertEqual([error.entity, error.key], ["Place", key], line: line)
            XCTAssert(error.message.contains(part), error.message, line: line)
        }
        check(.invalidArgument, "location.lattitude", "did you mean \"latitude\"?") {
            try object.setValue(.dictionary(["lattitude": .double(1)]), forKey: "location")
        }
        check(.typeMismatch, "location.latitude", "Place.location.latitude takes Double, not a string") {
            try object.setValue(.dictionary(["latitude": .string("x")]), forKey: "location")
        }
        check(.validation, "location.address.number", "takes -32768 to 32767 (Integer 16), not 70000") {
            try object.setValue(.int(70000), forKeyPath: "location.address.number")
        }
        check(.typeMismatch, "location", "takes Composite, not a string") {
            try object.setValue(.string("x"), forKey: "location")
        }
        check(.invalidArgument, "location.longitude", "Place has no property") {
            _ = try object.value(forKeyPath: "location.longitude")
        }
        check(
            .invalidArgument, "location.note.length", "\"location.note\" does not have properties; end the path there"
        ) {
            try object.setValue(.int(1), forKeyPath: "location.note.length")
        }
        let view = try place.requireProperty(named: "location").key
        check(.typeMismatch, "location", "location.address.street") { _ = try object.view(key: view) }
    }

    /// A required element must have a value if the composite has any value. The composite itself may be required, too.
    func testRequiredElementsAndCompositesAreValidated() throws {
        let context = Context(coordinator: try coordinator())
        let object = try context.insert(place)
        try context.save()
        try object.setValue(.string("there"), forKeyPath: "location.note")
        let missing = failure { try context.save() }
        XCTAssertEqual(missing.code, CocoaCode.validationMissingMandatoryProperty.rawValue)
        XCTAssertEqual(missing.key, "location.latitude")
        XCTAssertEqual(
            failure { _ = try object.validateValue(.dictionary(["note": .string("x")]), forKey: "location") }.key,
            "location.latitude")
        try object.setValue(.double(.nan), forKeyPath: "location.latitude")
        XCTAssertEqual(failure { try context.save() }.key, "location.latitude")
        try object.setValue(.double(1), forKeyPath: "location.latitude")
        try context.save()
        let required = Model()
        let entity = try required.addEntity(named: "Place")
        let spot = try entity.addAttribute(named: "spot", type: .composite, isOptional: false)
        try spot.addElement(named: "x", type: .double, isOptional: false)
        let stack = try Coordinator(model: required)
        try stack.addSQLiteStore(at: path("b.sqlite"))
        let other = Context(coordinator: stack)
        _ = try other.insert(entity)
        XCTAssertEqual(failure { try other.save() }.key, "spot")
    }

    func testCompositeDefaultSetsItsElements() throws {
        let coordinator = try coordinator { place in
            let size = try place.addAttribute(named: "size", type: .composite)
            try size.addElement(named: "width", type: .integer32)
            try size.addElement(named: "height", type: .integer32)
            try size.setDefaultValue(.dictionary(["width": .int(3)]))
        }
        let context = Context(coordinator: coordinator)
        let object = try context.insert(place)
        XCTAssertEqual(try object.value(forKey: "size"), .dictionary(["width": .int(3)]))
    }

    /// SQL and in-memory evaluation return the same rows, sorted by an element.
    func testPredicatesAndSortDescriptorsUseElements() throws {
        let coordinator = try coordinator()
        let context = Context(coordinator: coordinator)
        for number in 0..<6 {
            let object = try context.insert(place)
            try object.setValue(.string("p\(number)"), forKey: "name")
            guard number > 0 else { continue }
            try object.setValue(.double(Double(number % 4)), forKeyPath: "location.latitude")
            try object.setValue(.string("s\(number)"), forKeyPath: "location.address.street")
        }
        try context.save()
        for (format, expected) in [
            ("location.latitude > 1", ["p2", "p3"]), ("location.address.street == 's4'", ["p4"]),
            ("location.latitude == nil", ["p0"]), ("location == nil", ["p0"]),
            ("location.address.street BEGINSWITH 's' AND location.latitude < 1", ["p4"]),
        ] {
            let request = FetchRequest(entity: place)
            request.predicate = try Predicate.parse(format)
            request.sortDescriptors = [SortDescriptor("location.latitude"), SortDescriptor("name")]
            XCTAssertEqual(
                try context.fetch(request).map { try $0.value(forKey: "name") }, expected.map { .string($0) })
            request.predicate = nil
            let all = try context.fetch(request)
            XCTAssertEqual(
                try all.filter { try XCTUnwrap(try? Predicate.parse(format)).evaluate(with: .object($0)) }.map {
                    try $0.value(forKey: "name")
                }, expected.map { .string($0) }, format)
        }
        let wrong = FetchRequest(entity: place)
        wrong.predicate = try Predicate.parse("location.longitude > 1")
        XCTAssertEqual(failure { _ = try context.fetch(wrong) }.key, "location.longitude")
    }

    func testConstraintsAndIndexesCoverElements() throws {
        let coordinator = try coordinator { place in
            try place.addUniqueConstraint(["location.latitude", "name"])
            try place.addIndex(FetchIndex(name: "byStreet", elements: [.init(property: "location.address.street")]))
        }
        let schema = try shell("a.sqlite", "SELECT group_concat(sql) FROM sqlite_master WHERE type = 'index'")
        XCTAssert(schema.contains("ZLOCATION_ADDRESS_STREET"), schema)
        let context = Context(coordinator: coordinator)
        for _ in 0..<2 {
            let object = try context.insert(place)
            try object.setValue(.string("Here"), forKey: "name")
            try object.setValue(.double(2), forKeyPath: "location.latitude")
        }
        let error = failure { try context.save() }
        XCTAssertEqual(error.status, .conflict)
        XCTAssertEqual(error.key, "location.latitude")
        for name in ["location", "location.longitude"] {
            let model = Model()
            let entity = try model.addEntity(named: "Place")
            try entity.addAttribute(named: "location", type: .composite).addElement(named: "x", type: .double)
            try entity.addUniqueConstraint([name])
            XCTAssertEqual(failure { try model.freeze() }.key, name)
        }
    }

    func testConflictNamesTheKeyPathOfTheElement() throws {
        let coordinator = try coordinator()
        let first = Context(coordinator: coordinator)
        let object = try first.insert(place)
        try object.setValue(whole, forKey: "location")
        try first.save()
        let second = Context(coordinator: coordinator)
        let copy = try XCTUnwrap(second.fetch(FetchRequest(entity: place)).first)
        try copy.setValue(.double(9), forKeyPath: "location.latitude")
        try object.setValue(.double(8), forKeyPath: "location.latitude")
        try first.save()
        let error = failure { try second.save() }
        XCTAssertEqual(error.status, .conflict)
        XCTAssertEqual(error.key, "location.latitude")
    }

    /// A transient composite attribute is not stored; a copy of the model has the same elements.
    func testTransientCompositeIsNotStored() throws {
        let coordinator = try coordinator { place in
            let cursor = try place.addAttribute(named: "cursor", type: .composite, isTransient: true)
            try cursor.addElement(named: "x", type: .integer32)
            try cursor.addElement(named: "any", type: .undefined)
        }
        let context = Context(coordinator: coordinator)
        let object = try context.insert(place)
        try object.setValue(.dictionary(["x": .int(4)]), forKey: "cursor")
        try context.save()
        XCTAssertEqual(try object.value(forKey: "cursor"), .dictionary(["x": .int(4)]))
        XCTAssertFalse(try shell("a.sqlite", "SELECT sql FROM sqlite_master").contains("CURSOR"))
        let copy = try coordinator.model.copy()
        try copy.freeze()
        XCTAssertEqual(
            try copy.requireEntity(named: "Place").attributes.map(\.path),
            try coordinator.model.requireEntity(named: "Place").attributes.map(\.path))
    }

    /// The check reports composite attributes as an extrapolation.
    func testAppleCheckReportsCompositesAsExtrapolation() throws {
        let model = try coordinator().model
        XCTAssert(model.extrapolations.contains { $0.property == "location" && $0.text.contains("column names") })
    }
}
