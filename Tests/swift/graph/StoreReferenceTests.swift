import XCTest

@testable import CorestoneGraph
@testable import CorestoneModel
@testable import CorestoneValues

/// References of custom stores, and the text of object IDs.
final class StoreReferenceTests: GraphTestCase {
    func testEveryReferenceHasAUniqueURIText() {
        let cases: [(StoreReference, String)] = [
            (.integer(7), "7"), (.integer(-3), "-3"), (.text("abc"), "abc"), (.text("a b/c"), "a%20b/c"),
            (.text("7"), "%37"), (.text("-3"), "%2D3"), (.text("07"), "07"), (.text("é"), "%C3%A9"),
            (.text("%"), "%25"), (.text("a?b#c"), "a%3Fb%23c"), (.text("-._~/!$&'()*+,:=@"), "-._~/!$&'()*+,:=@"),
            (.bytes([1, 0xab, 255]), "%3C01abff%3E"), (.text("<01>"), "%3C%301%3E"),
            (.text("<0>"), "%3C0%3E"), (.text("<0G>"), "%3C0G%3E"),
        ]
        for (reference, text) in cases {
            XCTAssertEqual(reference.uriText, text, "\(reference)")
            XCTAssertEqual(StoreReference(uriText: reference.uriText), reference, "\(reference)")
        }
        XCTAssertEqual(Set(cases.map(\.0.uriText)).count, cases.count)
    }

    func testInvalidURITextIsNotAReference() {
        for text in ["", "%", "%2", "%zz", "a%", "%ff", "%C3"] {
            XCTAssertNil(StoreReference(uriText: text), text)
        }
        XCTAssertEqual(StoreReference(uriText: "+7"), .text("+7"))
        XCTAssertEqual(StoreReference(uriText: "%3c61%3e"), .text("<61>"), "Core Data writes uppercase escapes")
        XCTAssertEqual(StoreReference(uriText: "%3CAB%3E"), .text("<AB>"))
        XCTAssertEqual(StoreReference(uriText: "%3C%3E"), .text("<>"), "empty bytes")
    }

    func testReferencesAreConvertedToAndFromValues() {
        for reference in [StoreReference.integer(5), .integer(-5), .text("x"), .bytes([0])] {
            XCTAssertEqual(StoreReference(reference.value), reference)
        }
        for value in [PropertyValue.null, .string(""), .bytes(Bytes([])), .double(1), .bool(true)] {
            XCTAssertNil(StoreReference(value), "\(value)")
        }
        XCTAssertNotEqual(StoreReference.text("\u{e9}"), .text("e\u{301}"), "compared by their bytes")
        XCTAssertNotEqual(StoreReference.integer(1), .text("1"))
        XCTAssertEqual(
            [StoreReference.integer(1), .text("a"), .bytes([1, 171])].map(\.description), ["1", "\"a\"", "<01ab>"])
    }

    func testReferenceTableAssignsKeysToReferencesPerEntityTree() throws {
        let (employee, department) = (
            try model.requireEntity(named: "Employee"), try model.requireEntity(named: "Department")
        )
        let table = ReferenceTable.of("table of a test")
        XCTAssertTrue(ReferenceTable.of("table of a test") === table)
        XCTAssertFalse(ReferenceTable.of("another table") === table)
        XCTAssertEqual(table.key(of: .integer(9), employee), 9)
        let first = ReferenceTable.firstKey
        XCTAssertEqual(table.key(of: .integer(first - 1), employee), first - 1)
        let others: [StoreReference] = [.integer(0), .integer(-4), .integer(first), .text("x"), .bytes([1])]
        XCTAssertEqual(others.map { table.key(of: $0, employee) }, (0..<5).map { first + $0 })
        XCTAssertEqual(others.map { table.key(of: $0, employee) }, (0..<5).map { first + $0 }, "the same keys again")
        XCTAssertEqual(table.key(of: .text("x"), department), first, "each entity tree has its own keys")
        for (place, reference) in others.enumerated() {
            XCTAssertEqual(table.reference(of: first + Int64(place), employee), reference)
        }
        XCTAssertEqual(table.reference(of: 9, employee), .integer(9))
        XCTAssertEqual(table.reference(of: first + 5, employee), .integer(first + 5))
    }

    // MARK: IDs

    func testObjectIDIsFoundByItsURI() throws {
        let ada = try employee("Ada")
        XCTAssertNil(ada.objectID.storeReference)
        XCTAssertTrue(ada.objectID.uri.hasPrefix("x-coredata:///Employee/t"), ada.objectID.uri)
        try context.save()
        let (uri, store) = (ada.objectID.uri, coordinator.stores[0])
        XCTAssertEqual(uri, "x-coredata://\(store.identifier)/Employee/p1")
        XCTAssertEqual(ada.objectID.description, uri)
        XCTAssertEqual(ada.objectID.storeReference, .integer(1))
        XCTAssertEqual(try coordinator.objectID(forURI: uri), ada.objectID)
        let head = "x-coredata://\(store.identifier)/"
        for text in [
            "", "x-coredata:", "http://\(store.identifier)/Employee/p1", head + "Employee/p0", head + "Employee/p-1",
            head + "Employee/px", head + "Employee/p", head + "Nobody/p1", head + "Employee/q1", head + "Employee",
            "x-coredata://00000000-0000-0000-0000-0000000000FF/Employee/p1",
        ] { XCTAssertNil(try coordinator.objectID(forURI: text), text) }
        XCTAssertEqual(try coordinator.objectID(forURI: head + "Employee/p99")?.reference, 99, "the row need not exist")
        try coordinator.remove(store)
        XCTAssertNil(try coordinator.objectID(forURI: uri))
    }

    func testNewObjectIDRefusesReferencesThatTheStoreCannotHave() throws {
        let store = coordinator.stores[0]
        let entity = try model.requireEntity(named: "Manager")
        XCTAssertEqual(
            try store.newObjectID(for: entity, reference: .integer(5)).uri,
            "x-coredata://\(store.identifier)/Manager/p5")
        for reference in [StoreReference.integer(0), .integer(-1), .text("5"), .bytes([5])] {
            XCTAssertThrowsError(try store.newObjectID(for: entity, reference: reference)) { error in
                XCTAssertEqual((error as? CoreError)?.status, .invalidArgument)
                XCTAssertEqual((error as? CoreError)?.entity, "Manager")
                XCTAssertEqual((error as? CoreError)?.value, reference.value)
                XCTAssertEqual((error as? CoreError)?.file, store.path)
            }
        }
        let other = try model.copy()
        let foreign = try other.requireEntity(named: "Manager")
        XCTAssertThrowsError(try store.newObjectID(for: foreign, reference: .integer(5))) {
            XCTAssertEqual(($0 as? CoreError)?.status, .invalidArgument)
            XCTAssertEqual(($0 as? CoreError)?.entity, "Manager")
            XCTAssertEqual(($0 as? CoreError)?.file, store.path)
        }
        withExtendedLifetime(other) {}
        try coordinator.remove(store)
        XCTAssertThrowsError(try store.newObjectID(for: entity, reference: .integer(5))) {
            XCTAssertEqual(($0 as? CoreError)?.status, .objectGone)
        }
    }

    func testObjectIDsAreEqualByStoreEntityTreeAndKey() throws {
        let (employee, manager) = (
            try model.requireEntity(named: "Employee"), try model.requireEntity(named: "Manager")
        )
        let department = try model.requireEntity(named: "Department")
        let store = coordinator.stores[0]
        let id = ObjectID(store: store, entity: employee, reference: 3)
        XCTAssertEqual(id, ObjectID(store: store, entity: manager, reference: 3), "entities of one tree")
        XCTAssertNotEqual(id, ObjectID(store: store, entity: department, reference: 3))
        XCTAssertNotEqual(id, ObjectID(store: store, entity: employee, reference: 4))
        XCTAssertNotEqual(id, ObjectID(store: nil, entity: employee, reference: 3))
        XCTAssertEqual(id.hashValue, ObjectID(store: store, entity: manager, reference: 3).hashValue)
        let other = try Coordinator(model: model)
        let same = try other.add(MemoryStore(model: model, identifier: store.identifier))
        XCTAssertEqual(id, ObjectID(store: same, entity: employee, reference: 3), "one store in two coordinators")
        XCTAssertFalse(id.isTemporary)
        XCTAssertTrue(ObjectID(store: nil, entity: employee, reference: -1).isTemporary)
    }
}
