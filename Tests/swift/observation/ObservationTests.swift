import Corestone
import CorestoneObservation
import Observation
import XCTest

final class ObservationTests: XCTestCase {
    private var context: Context!

    override func setUpWithError() throws {
        let model = Model()
        let note = try model.addEntity(named: "Note")
        try note.addAttribute(named: "title", type: .string)
        let tag = try model.addEntity(named: "Tag")
        try tag.addAttribute(named: "name", type: .string)
        let tags = try note.addRelationship(named: "tags", destination: tag)
        try tags.setCounts(minimum: 0, maximum: 0)
        try tags.setInverse(try tag.addRelationship(named: "note", destination: note))
        let coordinator = try Coordinator(model: model)
        try coordinator.addStore(.inMemory, at: "notes")
        context = Context(coordinator: coordinator)
    }

    /// Runs `read` with tracking. Returns a counter of its changes: 0 or 1.
    private func tracking(_ read: () -> Void) -> Counter {
        let counter = Counter()
        withObservationTracking(read) { counter.count += 1 }
        return counter
    }

    func testReadValueNotifiesOfItsChange() throws {
        let note = ObservableManagedObject(try context.insert("Note", ["title": "a"]))
        let title = tracking { XCTAssertEqual(note["title"], .string("a")) }
        let tags = tracking { XCTAssertEqual(try? note.members("tags").count, 0) }
        try note.set("title", "b")
        XCTAssertEqual([title.count, tags.count], [1, 0])
        try note.managedObject.add(try context.insert("Tag"), to: "tags")
        XCTAssertEqual([title.count, tags.count], [1, 1])
        XCTAssertEqual(try note.get("title"), "b")
    }

    func testReadValueNotifiesOfARollback() throws {
        let object = try context.insert("Note", ["title": "a"])
        try context.save()
        try object.set("title", "b")
        let note = ObservableManagedObject(object)
        let title = tracking { XCTAssertEqual(note["title"], .string("b")) }
        try context.rollback()
        XCTAssertEqual(title.count, 1)
        XCTAssertEqual(note["title"], .string("a"))
    }

    func testResultsNotifyOfInsertionsAndUpdates() throws {
        let request = FetchRequest(entity: try context.coordinator.model.requireEntity(named: "Note"))
        request.sortDescriptors = [SortDescriptor("title")]
        let results = try ObservableResults(of: request, in: context)
        var change = tracking { XCTAssertEqual(results.count, 0) }
        let note = try context.insert("Note", ["title": "b"])
        XCTAssertEqual(change.count, 0, "pending changes were not processed")
        try context.processPendingChanges()
        XCTAssertEqual(change.count, 1)
        XCTAssertTrue(results.objects.first === note)
        change = tracking { XCTAssertEqual(results.objects.count, 1) }
        try note.set("title", "c")
        try context.processPendingChanges()
        XCTAssertEqual(change.count, 1)
        let failure = tracking { XCTAssertNil(results.error) }
        try context.insert("Tag")
        try context.save()
        XCTAssertEqual(failure.count, 0)
    }
}

/// A counter that a change handler, which must be Sendable, increments on the same thread.
private final class Counter: @unchecked Sendable {
    var count = 0
}
