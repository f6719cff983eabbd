import CSQLite
import CorestoneGraph
import CorestoneModel
import CorestoneValues
import Foundation
import CorestoneContainers
import XCTest

@testable import CorestoneSQLite

/// Emptying a store, which keeps the file and honours locks.
final class DestroyingTests: StoreTestCase {
    private func model() throws -> Model {
        let model = Model()
        let note = try model.addEntity(named: "Note")
        try note.addAttribute(named: "text", type: .string)
        try note.addAttribute(named: "data", type: .binary).setAllowsExternalStorage(true)
        return model
    }

    private func saved(_ model: Model, _ options: StoreOptions = StoreOptions()) throws -> Coordinator {
        let coordinator = try Coordinator(model: model)
        try coordinator.addSQLiteStore(at: path("a.sqlite"), options: options)
        let context = Context(coordinator: coordinator)
        let note = try context.insert("Note")
        try note.setValue(.string("x"), forKey: "text")
        try note.setValue(.bytes(Bytes([UInt8](repeating: 7, count: 200_000))), forKey: "data")
        try context.save()
        return coordinator
    }

    private func count(_ model: Model) throws -> Int {
        let coordinator = try Coordinator(model: model)
        try coordinator.addSQLiteStore(at: path("a.sqlite"))
        return try Context(coordinator: coordinator).count(
            FetchRequest(entity: model.requireEntity(named: "Note")))
    }

    func testDestroyedStoreIsEmptyAndReusable() throws {
        for rollback in [false, true] {
            let model = try model()
            var options = StoreOptions()
            options.rollbackJournal = rollback
            options.keepsHistory = true
            let coordinator = try saved(model, options)
            let external = path(".a_SUPPORT/_EXTERNAL_DATA")
            XCTAssertEqual(try FileManager.default.contentsOfDirectory(atPath: external).count, 1)
            XCTAssertTrue(try coordinator.destroyStore(at: path("a.sqlite")))
            XCTAssertEqual(coordinator.stores.count, 0)
            XCTAssertTrue(FileManager.default.fileExists(atPath: path("a.sqlite")))
            XCTAssertEqual(try FileManager.default.contentsOfDirectory(atPath: external).count, 0)
            XCTAssertEqual(try shell("a.sqlite", "SELECT count(*) FROM sqlite_schema"), "0")
            XCTAssertTrue(try coordinator.destroyStore(at: path("a.sqlite")))
            XCTAssertEqual(failure { _ = try Coordinator.open(path("a.sqlite"), model: model) }.status, .notAStore)
            XCTAssertEqual(try count(model), 0)
            XCTAssertEqual(try shell("a.sqlite", "PRAGMA auto_vacuum; SELECT Z_MAX FROM Z_PRIMARYKEY"), "2\n0")
            _ = try saved(model)
            XCTAssertEqual(try count(model), 1)
            for file in ["a.sqlite", ".a_SUPPORT"] { try FileManager.default.removeItem(atPath: path(file)) }
        }
    }

    func testDestroyRejectsFilesThatAreNotStores() throws {
        let model = try model()
        let coordinator = try Coordinator(model: model)
        XCTAssertFalse(try coordinator.destroyStore(at: path("none.sqlite")))
        XCTAssertFalse(FileManager.default.fileExists(atPath: path("none.sqlite")))
        _ = try shell("other.sqlite", "CREATE TABLE mine (x); INSERT INTO mine VALUES (1)")
        XCTAssertEqual(failure { try coordinator.destroyStore(at: path("other.sqlite")) }.status, .notAStore)
        XCTAssertEqual(try shell("other.sqlite", "SELECT x FROM mine"), "1")
        try Data("text".utf8).write(to: URL(fileURLWithPath: path("a.txt")))
        XCTAssertEqual(failure { try coordinator.destroyStore(at: path("a.txt")) }.status, .notAStore)
        XCTAssertEqual(failure { try coordinator.destroyStore(at: "") }.status, .invalidArgument)
    }

    func testDestroyWaitsForWritersButNotForReaders() throws {
        let model = try model()
        _ = try saved(model)
        let writer = try Connection(path("a.sqlite"), path: "a.sqlite", flags: SQLITE_OPEN_READWRITE)
        try writer.execute("BEGIN IMMEDIATE", "test")
        let coordinator = try Coordinator(model: model)
        var impatient = StoreOptions()
        impatient.busyTimeoutMilliseconds = 10
        XCTAssertEqual(
            failure { try coordinator.destroyStore(at: path("a.sqlite"), options: impatient) }.status, .storeBusy)
        try writer.execute("ROLLBACK", "test")
        XCTAssertEqual(try count(model), 1)
        // A reader keeps its snapshot.
        try writer.execute("BEGIN", "test")
        XCTAssertTrue(try writer.finds("SELECT 1 FROM ZNOTE", purpose: "test"))
        XCTAssertTrue(try coordinator.destroyStore(at: path("a.sqlite"), options: impatient))
        XCTAssertTrue(try writer.finds("SELECT 1 FROM ZNOTE", purpose: "test"))
        try writer.execute("COMMIT", "test")
        XCTAssertEqual(try count(model), 0)
    }
}
