import Corestone
import XCTest

/// Implementation of the tool's commands for whole stores: views, comparisons, progress.
final class StoreToolsTests: XCTestCase {
    private var folder = ""

    override func setUpWithError() throws {
        folder = NSTemporaryDirectory() + "corestone-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    }

    override func tearDown() { try? FileManager.default.removeItem(atPath: folder) }

    private func path(_ name: String) -> String { folder + "/" + name }

    private func model() throws -> Model {
        let model = Model()
        let (note, tag) = (try model.addEntity(named: "Note"), try model.addEntity(named: "Tag"))
        try note.addAttribute(named: "title", type: .string)
        try note.addAttribute(named: "weight", type: .double)
        try tag.addAttribute(named: "name", type: .string)
        let tags = try note.addRelationship(named: "tags", destination: tag, isToMany: true, isOrdered: true)
        try tags.setInverse(try tag.addRelationship(named: "notes", destination: note, isToMany: true))
        return model
    }

    private func filled(_ name: String, _ type: StoreType = .sqlite, count: Int = 3) throws -> Coordinator {
        let coordinator = try Coordinator(model: model())
        try coordinator.addStore(type, at: path(name))
        let context = Context(coordinator: coordinator)
        let tags = try ["a", "b"].map { try context.insert("Tag", ["name": $0]) }
        for number in 0..<count {
            let note = try context.insert("Note", ["title": "\(number)", "weight": Double(number)])
            try note.setMembers(number % 2 == 0 ? tags : tags.reversed(), of: "tags")
        }
        try context.save()
        return coordinator
    }

    func testComparisonOfStoresCountsAndListsDifferences() throws {
        let first = try filled("a.sqlite")
        let same = try GraphComparison(first, filled("b.xml", .xml))
        XCTAssertTrue(same.isEqual, "\(same.differences)")
        // Two attributes and a relationship of three notes, one of each of two tags.
        XCTAssertEqual([same.objects, same.values, same.equalValues], [5, 13, 13])
        let other = try filled("c.binary", .binary)
        let context = Context(coordinator: other)
        let note = try XCTUnwrap(try context.fetch("Note", "title == '0'").first)
        try note.set("weight", -0.0)
        try note.setMembers(try note.members("tags").reversed(), of: "tags")
        try context.save()
        let found = try GraphComparison(first, other)
        XCTAssertEqual(found.differenceCount, 2, "\(found.differences)")
        XCTAssertEqual(found.values - found.equalValues, 2)
        XCTAssertFalse(try GraphComparison(first, filled("d.sqlite", count: 4)).isEqual)
        XCTAssertThrowsError(try GraphComparison(first, Coordinator(model: model())))
        let wider = try model()
        try wider.requireEntity(named: "Note").addAttribute(named: "size", type: .integer64)
        let coordinator = try Coordinator(model: wider)
        try coordinator.addStore(.sqlite, at: path("e.sqlite"))
        for (one, two) in [(first, coordinator), (coordinator, first)] {
            XCTAssertThrowsError(try GraphComparison(one, two)) {
                let error = $0 as? CoreError
                XCTAssertEqual([error?.entity, error?.key], ["Note", "size"])
            }
        }
    }

    /// Repeated migrations keep primary keys if the new store can use them.
    func testConversionKeepsPrimaryKeys() throws {
        let coordinator = try filled("0.sqlite", count: 20)
        var store = try XCTUnwrap(coordinator.stores.first)
        func keys() throws -> [String] {
            let context = Context(coordinator: coordinator)
            return try ["Note", "Tag"].flatMap { try context.fetch($0) }
                .map { String($0.objectID.uri.dropFirst("x-coredata://".count + 36)) }.sorted()
        }
        let old = try keys()
        store = try coordinator.migrateStore(store, to: .binary, at: path("1"))
        XCTAssertEqual(try keys(), old)
        // The objects of all entities share the keys of an XML store, from 102 on.
        store = try coordinator.migrateStore(store, to: .xml, at: path("2"))
        let shared = try keys()
        XCTAssertEqual(Set(shared.map { $0.suffix(3) }), Set((102...123).map { "\($0)" }))
        for (number, type) in [StoreType.xml, .xml, .binary, .sqlite, .xml, .inMemory, .xml].enumerated() {
            store = try coordinator.migrateStore(store, to: type, at: path("\(number + 3)"))
            XCTAssertEqual(try keys(), shared, "\(type.rawValue)")
        }
        let text = try String(contentsOfFile: path("9"), encoding: .utf8)
        XCTAssertTrue(text.contains("<nextObjectID>123</nextObjectID>"))
        // New objects get new keys.
        let context = Context(coordinator: coordinator)
        let note = try context.insert("Note", ["title": "new"])
        try context.save()
        XCTAssertEqual(note.objectID.uri.suffix(9), "Note/p124")
    }

    func testMigrationReportsProgressAndIsCancelled() throws {
        let coordinator = try filled("a.sqlite")
        var heard: [[Int]] = []
        let store = try XCTUnwrap(coordinator.stores.first)
        XCTAssertThrowsError(
            try coordinator.migrateStore(store, to: .xml, at: path("b.xml")) { done, _ in done == 0 }
        ) { XCTAssertEqual(($0 as? CoreError)?.status, .cancelled) }
        XCTAssertFalse(FileManager.default.fileExists(atPath: path("b.xml")))
        try coordinator.migrateStore(store, to: .xml, at: path("b.xml")) { done, total in
            heard.append([done, total])
            return true
        }
        XCTAssertEqual(heard, [[0, 5], [3, 5], [5, 5]])
    }

    func testViewsAreWrittenIntoCopiesOnly() throws {
        _ = try filled("a.sqlite")
        let views = try StoreViews(ofStoreAt: path("a.sqlite"), isTemporary: false)
        XCTAssertEqual(views.views.map(\.name), ["Note", "Tag", "Note_tags", "Tag_notes"])
        XCTAssertEqual(views.views.map(\.entity), ["Note", "Tag", nil, nil])
        XCTAssertThrowsError(try views.add(toCopyAt: path("a.sqlite")))
        try Coordinator(model: Model()).replaceStore(at: path("copy.sqlite"), byStoreAt: path("a.sqlite"))
        try views.add(toCopyAt: path("copy.sqlite"))
        try views.add(toCopyAt: path("copy.sqlite"))
        XCTAssertThrowsError(try StoreViews(ofStoreAt: path("a.sqlite")).add(toCopyAt: path("copy.sqlite")))
        let copy = try Coordinator.open(path("copy.sqlite"))
        XCTAssertEqual(try Context(coordinator: copy).count("Note"), 3)
    }
}
