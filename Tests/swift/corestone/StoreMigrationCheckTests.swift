import Corestone
import Foundation
import XCTest

/// The migration guard's check of real stores: a copy is migrated, and the store stays unchanged.
final class StoreMigrationCheckTests: XCTestCase {
    private var folder = URL(fileURLWithPath: "/")

    override func setUpWithError() throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    override func tearDownWithError() throws { try FileManager.default.removeItem(at: folder) }

    private func path(_ name: String) -> String { folder.appendingPathComponent(name).path }

    private func store(_ name: String, _ type: StoreType, _ model: Model, titles: [String]) throws -> String {
        let coordinator = try Coordinator(model: model)
        let store = try coordinator.addStore(type, at: path(name))
        let context = Corestone.Context(coordinator: coordinator)
        for title in titles { _ = try context.insert("Note", ["title": title]) }
        try context.save()
        try coordinator.remove(store)
        return path(name)
    }

    private func note(_ attributes: String) throws -> Model { try Model(text: "{\"Note\": {\(attributes)}}") }

    func testStoresAreMigratedInCopies() throws {
        let old = try note("\"title\": \"string?\"")
        for (name, type) in [("a.sqlite", StoreType.sqlite), ("b.xml", .xml)] {
            let file = try store(name, type, old, titles: ["x", "x"])
            let before = try Data(contentsOf: URL(fileURLWithPath: file))
            func findings(_ newest: Model) throws -> [MigrationFinding] {
                try MigrationGuard(newest: .init(name: "2", model: newest), older: [.init(name: "1", model: old)])
                    .findings(forStoreAt: file)
            }
            XCTAssertEqual(try findings(note("\"title\": \"string?\", \"rank\": \"int16 = 0\"")), [])
            let required = try findings(note("\"title\": \"string?\", \"code\": \"string\""))
            XCTAssertEqual(required.map(\.rule), [.storeFails], name)
            XCTAssertEqual(required.first?.key, "code")
            XCTAssertEqual(required.first?.store, file)
            let removed = try findings(note("\"rank\": \"int16?\""))
            XCTAssertEqual(removed.map(\.rule), [.storeLosesData], name)
            XCTAssertEqual(removed.first?.key, "title")
            let unique = try note("\"title\": \"string?\"").copy()
            try unique.requireEntity(named: "Note").addUniqueConstraint(["title"])
            XCTAssertEqual(try findings(unique).map(\.rule), [.storeFails], name)
            let refused = try findings(note("\"title\": \"date?\""))
            XCTAssertEqual(refused.map(\.rule), [.storeFails], name)
            XCTAssertFalse(refused[0].text.contains("corestone-check-"), refused[0].text)
            XCTAssertEqual(try Data(contentsOf: URL(fileURLWithPath: file)), before)
        }
        XCTAssertEqual(
            try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted(), ["a.sqlite", "b.xml"])
    }

    func testStoresOfAFolderAreFoundRecursively() throws {
        XCTAssertThrowsError(try MigrationGuard.stores(inFolder: folder.path))
        XCTAssertThrowsError(try MigrationGuard.stores(inFolder: path("nothing")))
        let old = try note("\"title\": \"string?\"")
        try FileManager.default.createDirectory(
            at: folder.appendingPathComponent("1.0"), withIntermediateDirectories: true)
        _ = try store("b.sqlite", .sqlite, old, titles: [])
        _ = try store("1.0/a.xml", .xml, old, titles: [])
        try Data("notes".utf8).write(to: folder.appendingPathComponent("README"))
        XCTAssertEqual(try MigrationGuard.stores(inFolder: folder.path), [path("1.0/a.xml"), path("b.sqlite")])
    }

    func testDamagedStoresAreReportedAsFailing() throws {
        let old = try note("\"title\": \"string?\"")
        let check = MigrationGuard(newest: .init(name: "2", model: old), older: [])
        try Data("damaged".utf8).write(to: folder.appendingPathComponent("damaged.sqlite"))
        XCTAssertEqual(try MigrationGuard.stores(inFolder: folder.path), [path("damaged.sqlite")])
        XCTAssertEqual(try check.findings(forStoreAt: path("damaged.sqlite")).map(\.rule), [.storeFails])
        let whole = try store("whole.sqlite", .sqlite, old, titles: ["x"])
        let bytes = try Data(contentsOf: URL(fileURLWithPath: whole))
        try bytes.prefix(bytes.count / 2).write(to: folder.appendingPathComponent("half.sqlite"))
        XCTAssertEqual(try check.findings(forStoreAt: whole), [])
        XCTAssertEqual(try check.findings(forStoreAt: path("half.sqlite")).map(\.rule), [.storeFails])
    }
}
