import XCTest

@testable import CorestoneGraph
@testable import CorestoneModel
@testable import CorestoneValues

/// Change tracking between two calls of processPendingChanges.
final class EventTests: GraphTestCase {
    /// The values at the event's start, by name.
    private func former(_ object: ManagedObject) throws -> [String: PropertyValue] {
        let values = try object.valuesAtEventStart()
        return Dictionary(uniqueKeysWithValues: values.map { (object.entity.properties[$0].name, $1) })
    }

    func testInsertedObjectHasNullValuesAtEventStart() throws {
        let ann = try employee("Ann")
        XCTAssertTrue(ann.isNewInEvent)
        XCTAssertEqual(try former(ann), ["name": .null, "rating": .null])
        XCTAssertTrue(context.changeTracker.event.touched.isEmpty, "inserted object has an entry")
        try context.processPendingChanges()
        XCTAssertFalse(context.changeTracker.hasEvent)
        XCTAssertEqual(try former(ann), [:])
    }

    func testValuesAtEventStartAreThoseBeforeTheEvent() throws {
        let (ann, sales) = (try employee("Ann"), try department("Sales"))
        try context.save()
        try ann.set("name", "Anna")
        try ann.set("department", sales)
        XCTAssertTrue(context.changeTracker.event.touched.isEmpty, "clean object has an entry")
        XCTAssertEqual(try former(ann), ["name": .text("Ann"), "department": .null])
        XCTAssertEqual(try former(sales), ["employees": .set([])])
        try context.processPendingChanges()
        XCTAssertEqual(try former(ann), [:])

        try ann.set("name", "Annie")
        try ann.set("age", 40)
        XCTAssertEqual(context.changeTracker.event.touched.count, 1)
        XCTAssertEqual(try former(ann), ["name": .text("Anna"), "age": .null])
        try ann.set("department", ManagedObject?.none)
        XCTAssertEqual(
            try former(ann), ["name": .text("Anna"), "age": .null, "department": .object(sales)])
        XCTAssertEqual(try former(sales), ["employees": .set([.object(ann)])])
    }

    func testOrderedMembersAtEventStartKeepTheirOrder() throws {
        let project = try context.insert("Project")
        let tasks = try (0..<3).map { try context.insert("Task", ["title": "\($0)"]) }
        let key = project.entity.property(named: "tasks")!.key
        try project.addMembers(tasks, key: key)
        let order = PropertyValue.array(tasks.map { .object($0) })
        for save in [false, true] {
            if save { try context.save() } else { try context.processPendingChanges() }
            try project.moveMember(from: 0, to: 2, key: key)
            XCTAssertEqual(try former(project), ["tasks": order])
            try project.moveMember(from: 2, to: 0, key: key)
            try context.processPendingChanges()
        }
    }

    func testEventListsDeletedObjects() throws {
        let (ann, bob) = (try employee("Ann"), try employee("Bob"))
        try context.save()
        let cid = try employee("Cid")
        try context.processPendingChanges()
        try context.delete(ann)
        try context.delete(cid)
        try context.delete(try employee("Dan"))
        XCTAssertEqual(
            context.changeTracker.event.touched.map { ObjectIdentifier($0.object) },
            [ann, cid].map(ObjectIdentifier.init))
        try bob.set("name", "Bobby")
        try context.processPendingChanges()
        XCTAssertFalse(context.changeTracker.hasEvent)
        XCTAssertTrue(cid.isGone)
    }

    func testRollbackSaveAndRefreshResetTheEvent() throws {
        let ann = try employee("Ann")
        try context.save()
        XCTAssertFalse(context.changeTracker.hasEvent)
        try ann.set("name", "Anna")
        try context.rollback()
        XCTAssertFalse(context.changeTracker.hasEvent)
        try ann.set("name", "Annie")
        XCTAssertTrue(ann.isUpdated)
        XCTAssertEqual(try former(ann), ["name": .text("Ann")])
        try context.refresh(ann, mergeChanges: false)
        XCTAssertFalse(ann.isUpdated)
        try ann.set("name", "Anne")
        XCTAssertTrue(ann.isUpdated, "change after refresh is not tracked")
    }
}
