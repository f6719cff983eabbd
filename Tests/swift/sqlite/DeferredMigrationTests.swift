import CorestoneContainers
import CorestoneFormats
@testable import CorestoneGraph
import CorestoneModel
@testable import CorestoneSQLite
import CorestoneValues
import Foundation
import XCTest

/// Migrations that defer the removal of columns and tables.
final class DeferredMigrationTests: StoreTestCase {
    private let key = StoreMetadata.Key.deferredMigration

    /// The schema and all rows of a file, except metadata.
    private func contents(_ name: String) throws -> String {
        let schema = try shell(
            name,
            "SELECT type, name, tbl_name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite\\_stat%' ESCAPE '\\' ORDER BY 1, 2"
        )
        let tables = try shell(
            name, "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT IN ('Z_METADATA') ORDER BY 1"
        ).split(separator: "\n")
        let rows = try tables.map {
            "\($0)\n" + (try shell(name, "SELECT quote(t.rowid), t.* FROM \($0) t ORDER BY 1"))
        }
        return schema + "\n" + rows.joined(separator: "\n")
    }

    private func metadata(_ name: String) throws -> [String: PropertyListValue] {
        try StoreMetadata(ofStoreAt: path(name)).values
    }

    /// Creates a store and a copy of it, which is migrated without deferral.
    private func makePair(rollback: Bool = false) throws {
        try makeFormer(rollback: rollback)
        try Coordinator(model: Model()).replaceStore(at: path("b.sqlite"), byStoreAt: path("a.sqlite"))
        try closeAll(migrateFormer("b.sqlite"))
    }

    private func titles(_ coordinator: Coordinator) throws -> [String] {
        let request = FetchRequest(entity: try coordinator.model.requireEntity(named: "Animal"))
        let context = Context(coordinator: coordinator)
        return try context.fetch(request).map { "\(try $0.value(forKey: "title"))" }.sorted()
    }

    func testFinishedFileEqualsThatOfMigrationWithoutDeferral() throws {
        for rollback in [false, true] {
            try? FileManager.default.removeItem(atPath: folder)
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            try makePair(rollback: rollback)
            let coordinator = try migrateFormer { $0.defersCleanup = true }
            let store = coordinator.stores[0]
            XCTAssertNil(store.readOnlyReason)
            // Animal, Person and the pairs of tags lose columns; the table Old is removed.
            XCTAssertEqual(try coordinator.deferredMigrationTaskCount(of: store), 4)
            XCTAssertEqual(try metadata("a.sqlite")[key], .bool(true))
            XCTAssertEqual(backingFiles().count, 3)
            var reports: [Int] = []
            try coordinator.finishDeferredMigration(of: store) { done, total in
                reports.append(done)
                return total == 4
            }
            XCTAssertEqual(reports, [0, 1, 2, 3, 4])
            XCTAssertEqual(try titles(coordinator).count, 5)
            try closeAll(coordinator)
            XCTAssertEqual(try contents("a.sqlite"), try contents("b.sqlite"))
            XCTAssertEqual(try metadata("a.sqlite"), try metadata("b.sqlite"))
            XCTAssertEqual(backingFiles(), backingFiles("b"))
            XCTAssertNil(try StoreReport(ofStoreAt: path("a.sqlite")).error(file: ""))
        }
    }

    func testDeferredMigrationLeavesColumnsAndTablesUnderOtherNames() throws {
        try makeFormer()
        let root = "SELECT rootpage FROM sqlite_master WHERE name = 'ZANIMAL'"
        let page = try shell("a.sqlite", root)
        try closeAll(migrateFormer { $0.defersCleanup = true })
        XCTAssertEqual(try shell("a.sqlite", root), page)
        let pairs = try shell(
            "a.sqlite", "SELECT name FROM sqlite_master WHERE type = 'table' AND name GLOB 'Z_[0-9]*'")
        XCTAssertEqual(
            try shell("a.sqlite", "SELECT NUMBER, TABLE_NAME, COLUMN_NAME FROM CST_DEFERREDTASK"),
            """
            1|ZANIMAL|CST_LEFTOVER_0
            2|ZANIMAL|CST_LEFTOVER_1
            3|ZANIMAL|CST_LEFTOVER_2
            4|ZPERSON|CST_LEFTOVER_0
            5|\(pairs)|CST_LEFTOVER_0
            6|CST_LEFTOVER_0|
            """)
        XCTAssertEqual(
            try shell("a.sqlite", "SELECT FORMER_NAME FROM CST_DEFERREDTASK WHERE NUMBER <> 5"),
            "ZLEGACY\nZCHIP\nZPHOTO\nZNICK\nZOLD")
        XCTAssertEqual(try shell("a.sqlite", "SELECT CST_LEFTOVER_0 FROM ZPERSON WHERE ZNAME = 'Ada'"), "Countess")
        XCTAssertEqual(try shell("a.sqlite", "SELECT count(*) FROM CST_LEFTOVER_0"), "1")
        let report = try StoreReport(ofStoreAt: path("a.sqlite"))
        XCTAssertNil(report.error(file: ""))
        XCTAssertTrue(report.examined.contains { $0.what == "leftovers of a deferred migration" && $0.count == 6 })
        XCTAssertTrue(
            try AppleCheck(storeAt: path("a.sqlite")).problems.contains {
                $0.text.contains("unfinished deferred migration")
            })
    }

    func testLeftoverValuesAreUnreachableThroughModel() throws {
        try makeFormer()
        let coordinator = try migrateFormer { $0.defersCleanup = true }
        let context = Context(coordinator: coordinator)
        let request = FetchRequest(entity: try coordinator.model.requireEntity(named: "Person"))
        let people = try context.fetch(request)
        XCTAssertEqual(people.count, 2)
        for person in people { XCTAssertEqual(try person.value(forKey: "nick"), .null) }
        // The store can be written.
        try people[0].setValue(.string("new"), forKey: "nick")
        _ = try context.insert("Dog")
        try context.save()
        XCTAssertEqual(try coordinator.deferredMigrationTaskCount(of: coordinator.stores[0]), 4)
        try coordinator.finishDeferredMigration(of: coordinator.stores[0])
        let fresh = Context(coordinator: coordinator)
        XCTAssertEqual(try fresh.fetch(request).map { "\(try $0.value(forKey: "nick"))" }.sorted().count, 2)
        XCTAssertEqual(try fresh.count(FetchRequest(entity: coordinator.model.requireEntity(named: "Dog"))), 3)
        // The context from before the cleanup still works.
        XCTAssertEqual(try people[0].value(forKey: "nick"), .string("new"))
        try context.refreshAll()
        XCTAssertEqual(try people[0].value(forKey: "nick"), .string("new"))
    }

    func testTasksSurviveReopening() throws {
        try makePair()
        try closeAll(migrateFormer { $0.defersCleanup = true })
        var left = 4
        while left > 0 {
            let coordinator = try Coordinator(model: SafetyModels.wanted())
            let store = try coordinator.addStore(at: path("a.sqlite"))
            XCTAssertEqual(try coordinator.deferredMigrationTaskCount(of: store), left)
            left -= 1
            XCTAssertEqual(try coordinator.finishDeferredMigrationTask(of: store), left > 0)
            XCTAssertNil(try StoreReport(ofStoreAt: path("a.sqlite")).error(file: ""))
            try closeAll(coordinator)
        }
        XCTAssertNil(try metadata("a.sqlite")[key])
        XCTAssertEqual(try contents("a.sqlite"), try contents("b.sqlite"))
    }

    func testCancelledFinishKeepsRemainingTasks() throws {
        try makeFormer()
        let coordinator = try migrateFormer { $0.defersCleanup = true }
        let error = failure {
            try coordinator.finishDeferredMigration(of: coordinator.stores[0]) { done, _ in done < 2 }
        }
        XCTAssertEqual(error.code, CocoaCode.migrationCancelled.rawValue)
        XCTAssertTrue(error.message.hasSuffix("with 2 of 4 tasks left"), error.message)
        XCTAssertEqual(try coordinator.deferredMigrationTaskCount(of: coordinator.stores[0]), 2)
    }

    func testOtherCoordinatorsKeepWorkingWhileTasksRun() throws {
        try makeFormer()
        let coordinator = try migrateFormer { $0.defersCleanup = true }
        let other = try Coordinator(model: SafetyModels.wanted())
        try other.addStore(at: path("a.sqlite"))
        let before = try titles(other)
        try coordinator.finishDeferredMigration(of: coordinator.stores[0])
        XCTAssertEqual(try titles(other), before)
        let context = Context(coordinator: other)
        _ = try context.insert("Animal")
        try context.save()
        XCTAssertEqual(try titles(coordinator).count, 6)
        XCTAssertFalse(try other.finishDeferredMigrationTask(of: other.stores[0]))
    }

    func testNextMigrationFinishesPendingTasksFirst() throws {
        try makePair()
        try closeAll(migrateFormer { $0.defersCleanup = true })
        let next = try SafetyModels.wanted().copy()
        let animal = try next.requireEntity(named: "Animal")
        try animal.addAttribute(named: "legacy", type: .string, isOptional: true)
        try next.freeze()
        for name in ["a.sqlite", "b.sqlite"] {
            var options = StoreOptions()
            options.migration = .inferred
            options.migration?.defersCleanup = name == "a.sqlite"
            let coordinator = try Coordinator(model: next)
            try coordinator.addStore(at: path(name), options: options)
            XCTAssertEqual(try coordinator.deferredMigrationTaskCount(of: coordinator.stores[0]), 0)
            try closeAll(coordinator)
        }
        XCTAssertEqual(try contents("a.sqlite"), try contents("b.sqlite"))
        XCTAssertNil(try metadata("a.sqlite")[key])
        XCTAssertEqual(try shell("a.sqlite", "SELECT count(ZLEGACY) FROM ZANIMAL"), "0")
    }

    func testMigrationWithoutRemovalsLeavesNoTask() throws {
        let former = Model()
        try former.addEntity(named: "Note").addAttribute(named: "text", type: .string, isOptional: true)
        try former.freeze()
        let first = try Coordinator(model: former)
        try first.addStore(at: path("a.sqlite"))
        try closeAll(first)
        let wanted = Model()
        let note = try wanted.addEntity(named: "Note")
        try note.addAttribute(named: "text", type: .string, isOptional: true)
        try note.addAttribute(named: "more", type: .string, isOptional: true)
        var options = StoreOptions()
        options.migration = .inferred
        options.migration?.defersCleanup = true
        let coordinator = try Coordinator(model: wanted)
        try coordinator.addStore(at: path("a.sqlite"), options: options)
        XCTAssertEqual(try coordinator.deferredMigrationTaskCount(of: coordinator.stores[0]), 0)
        try closeAll(coordinator)
        XCTAssertNil(try metadata("a.sqlite")[key])
        XCTAssertEqual(try shell("a.sqlite", "SELECT count(*) FROM sqlite_master WHERE name LIKE 'CST%'"), "0")
    }

    func testDeferredMigrationOfAnotherProgramMakesTheStoreReadOnly() throws {
        try makeFormer()
        var metadata = try StoreMetadata(ofStoreAt: path("a.sqlite"))
        metadata.values[key] = .bool(true)
        try metadata.write(toStoreAt: path("a.sqlite"))
        let coordinator = try Coordinator(model: SafetyModels.former())
        let store = try coordinator.addStore(at: path("a.sqlite"))
        XCTAssertTrue(store.readOnlyReason?.contains("unfinished deferred migration") == true)
        let error = failure { try coordinator.finishDeferredMigrationTask(of: store) }
        XCTAssertEqual(error.status, .storeReadOnly)
    }

    func testManipulatedTasksDoNotRemoveTablesOrColumnsOfTheModel() throws {
        try makeFormer()
        try closeAll(migrateFormer { $0.defersCleanup = true })
        try shell(
            "a.sqlite",
            "UPDATE CST_DEFERREDTASK SET TABLE_NAME = 'ZTAG' WHERE COLUMN_NAME IS NULL;"
                + "UPDATE CST_DEFERREDTASK SET COLUMN_NAME = 'ZNAME' WHERE TABLE_NAME = 'ZPERSON';")
        let coordinator = try Coordinator(model: SafetyModels.wanted())
        let store = try coordinator.addStore(at: path("a.sqlite"))
        try coordinator.finishDeferredMigration(of: store)
        try closeAll(coordinator)
        XCTAssertEqual(try shell("a.sqlite", "SELECT count(*) FROM ZTAG"), "2")
        XCTAssertEqual(try shell("a.sqlite", "SELECT count(ZNAME) FROM ZPERSON"), "2")
    }

    func testCheckReportsMissingLeftover() throws {
        try makeFormer()
        try closeAll(migrateFormer { $0.defersCleanup = true })
        try shell("a.sqlite", "DROP TABLE CST_LEFTOVER_0; ALTER TABLE ZPERSON RENAME COLUMN CST_LEFTOVER_0 TO MINE")
        let report = try StoreReport(ofStoreAt: path("a.sqlite"))
        XCTAssertEqual(report.problems.filter { $0.kind == .metadata }.count, 2)
    }

    func testRouteRemovesPendingTasks() throws {
        try makeFormer()
        try closeAll(migrateFormer { $0.defersCleanup = true })
        struct Empty: StoreConversion, ConversionRoute {
            let wanted: Model
            let steps = ["make nothing"]
            func route(
                from source: Model, to destination: Model, ofStoreAt path: String, _ options: MigrationOptions
            ) throws -> (any ConversionRoute)? { self }
            func run(
                from path: String, named given: String, to result: String, limits: StoreLimits,
                progress: @escaping (Int, Int) -> Bool
            ) throws -> ConvertedContent {
                var options = StoreOptions()
                options.rollbackJournal = true
                let coordinator = try Coordinator(model: wanted)
                let store = try coordinator.addSQLiteStore(at: result, options: options)
                try coordinator.remove(store)
                let connection = try Connection(result, path: result, flags: 2)
                defer { connection.close() }
                try connection.execute(
                    "CREATE TABLE CST_ASSOCIATION (SOURCE_ENTITY TEXT, SOURCE_KEY INTEGER, ENTITY TEXT, KEY INTEGER)",
                    "test")
                return .rows(properties: [])
            }
        }
        let wanted = try ConversionModels.wanted()
        var options = StoreOptions()
        options.migration = .inferred
        options.migration?.conversion = Empty(wanted: wanted)
        let coordinator = try Coordinator(model: wanted)
        try coordinator.addStore(at: path("a.sqlite"), options: options)
        try closeAll(coordinator)
        XCTAssertEqual(try shell("a.sqlite", "SELECT count(*) FROM sqlite_master WHERE name LIKE 'CST%'"), "0")
        XCTAssertEqual(backingFiles(), [])
        XCTAssertNil(try metadata("a.sqlite")[key])
    }
}
