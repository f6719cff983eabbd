import CorestoneModel
import CorestoneContainers
import CorestoneValues
import Foundation
import XCTest

@testable import CorestoneGraph
@testable import CorestoneSQLite

/// Migrations whose content is created by a route.
final class ConversionTests: StoreTestCase {
    private let large = [UInt8](repeating: 7, count: 200_000)

    private func members(_ objects: [ManagedObject]) -> PropertyValue { .array(objects.map { .object($0) }) }

    /// Creates Ada with two pets and a large photo, Bob (renamed), Cyd (deleted), and a line in a log.
    @discardableResult
    private func make(
        _ name: String = "a.sqlite", rollback: Bool = false, history: Bool = true, keepsOpen: Bool = false
    ) throws -> Coordinator {
        let coordinator = try Coordinator(model: ConversionModels.former())
        var options = StoreOptions()
        (options.rollbackJournal, options.keepsHistory) = (rollback, history)
        let store = try coordinator.addSQLiteStore(at: path(name), options: options)
        try fill(coordinator)
        try (store.backing as? SQLiteStore)?.save { try $0.setApplicationMetadata(["theme": .string("dark")]) }
        if !keepsOpen { try coordinator.remove(store) }
        return coordinator
    }

    private func fill(_ coordinator: Coordinator) throws {
        let context = Context(coordinator: coordinator)
        func insert(_ entity: String, _ key: String, _ value: String) throws -> ManagedObject {
            let object = try context.insert(entity)
            try object.setValue(.string(value), forKey: key)
            return object
        }
        let (ada, bob) = (try insert("Person", "name", "Ada"), try insert("Person", "name", "Bib"))
        let cyd = try insert("Person", "name", "Cyd")
        try ada.setValue(.bytes(Bytes(large)), forKey: "photo")
        try ada.setValue(.int(36), forKey: "age")
        _ = try insert("Log", "line", "started")
        try context.save()
        let (rex, tom) = (try insert("Pet", "name", "Rex"), try insert("Pet", "name", "Tom"))
        try ada.setValue(members([rex, tom]), forKey: "pets")
        try context.save()
        try bob.setValue(.string("Bob"), forKey: "name")
        try bob.setValue(.int(20), forKey: "age")
        try context.save()
        try context.delete(cyd)
        try context.save()
    }

    private func migrating(
        _ conversion: FakeConversion, _ change: (inout MigrationOptions) -> Void = { _ in }
    ) -> StoreOptions {
        var options = StoreOptions()
        options.migration = .inferred
        options.migration?.conversion = conversion
        if var migration = options.migration {
            change(&migration)
            options.migration = migration
        }
        return options
    }

    private func conversion(_ change: (inout FakeConversion) -> Void = { _ in }) throws -> FakeConversion {
        var conversion = FakeConversion(wanted: try ConversionModels.wanted())
        change(&conversion)
        return conversion
    }

    /// Migrates the store and returns an open coordinator.
    @discardableResult
    private func migrate(
        _ name: String = "a.sqlite", _ conversion: FakeConversion? = nil,
        _ change: (inout MigrationOptions) -> Void = { _ in }
    ) throws -> Coordinator {
        let conversion = try conversion ?? self.conversion()
        let coordinator = try Coordinator(model: conversion.wanted)
        try coordinator.addStore(at: path(name), options: migrating(conversion, change))
        return coordinator
    }

    private func contents(_ coordinator: Coordinator) throws -> [String] {
        let context = Context(coordinator: coordinator)
        let people = try context.fetch(FetchRequest(entity: coordinator.model.requireEntity(named: "Person")))
        return try people.map { person in
            var photo = "-"
            if case .bytes(let bytes) = try person.value(forKey: "photo") { photo = "\(bytes.count)" }
            var animals: [String] = []
            if case .array(let found) = try person.value(forKey: "animals") {
                for case .object(let animal as ManagedObject) in found {
                    animals.append("\(try animal.value(forKey: "title"))")
                }
            }
            return try "\(person.value(forKey: "fullName")) \(person.value(forKey: "age")) \(photo) \(animals.sorted())"
        }.sorted()
    }

    private var wantedContents: [String] {
        ["\(PropertyValue.string("Ada"))", "\(PropertyValue.string("Bob"))"].enumerated().map { place, name in
            place == 0
                ? "\(name) \(PropertyValue.string("36 years")) 200000 \(["Rex", "Tom"].map { "\(PropertyValue.string($0))" })"
                : "\(name) \(PropertyValue.string("20 years")) - []"
        }
    }

    private func bytes(_ name: String) throws -> Data { try Data(contentsOf: URL(fileURLWithPath: path(name))) }

    private var backingFiles: [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: path(".a_SUPPORT/_EXTERNAL_DATA"))) ?? []
    }

    // MARK: - Content

    func testRouteReplacesContentInBothJournalModes() throws {
        for rollback in [false, true] {
            let name = rollback ? "b.sqlite" : "a.sqlite"
            try make(name, rollback: rollback)
            let identifier = try shell(name, "SELECT Z_UUID FROM Z_METADATA")
            try shell(
                name,
                "CREATE TABLE notes(x); INSERT INTO notes VALUES (1); CREATE INDEX notes_x ON notes(x);"
                    + "CREATE VIEW all_notes AS SELECT * FROM notes; CREATE INDEX mine ON ZPERSON(ZAGE)")
            let coordinator = try migrate(name)
            XCTAssertEqual(try contents(coordinator), wantedContents)
            XCTAssertEqual(coordinator.stores.first?.identifier, identifier)
            try coordinator.remove(coordinator.stores[0])
            XCTAssertEqual(try shell(name, "SELECT x FROM all_notes"), "1")
            XCTAssertEqual(
                try shell(name, "SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'Z%' ORDER BY name"),
                "ZANIMAL\nZBADGE\nZPERSON\nZ_METADATA\nZ_MODELCACHE\nZ_PRIMARYKEY\nZ_RT_Animal_byWeight\nZ_RT_Animal_byWeight_node"
                    + "\nZ_RT_Animal_byWeight_parent\nZ_RT_Animal_byWeight_rowid")
            XCTAssertEqual(try shell(name, "SELECT count(*) FROM Z_RT_Animal_byWeight"), "2")
            XCTAssertEqual(try shell(name, "SELECT max(ZCOUNT) FROM ZPERSON"), "2")
            XCTAssertEqual(
                try shell(
                    name, "SELECT count(*) FROM sqlite_master WHERE name IN ('notes_x', 'mine', 'Z_Person_byName')"),
                "3")
            XCTAssertEqual(try shell(name, "SELECT count(*) FROM sqlite_master WHERE name LIKE 'CST_%'"), "0")
            let metadata = try StoreMetadata(ofStoreAt: path(name))
            XCTAssertEqual(metadata.values["theme"], .string("dark"))
            XCTAssertEqual(
                metadata.pastModelDigests, [modelVersionDigest(entityVersionHashes(of: try ConversionModels.former()))])
            XCTAssertNil(try StoreReport(ofStoreAt: path(name), model: nil).error(file: ""))
        }
        XCTAssertEqual(try files().filter { $0.hasSuffix(".corestone-part") }, [])
    }

    func testRouteReadsALiveWriteAheadLog() throws {
        let writer = try make(keepsOpen: true)
        XCTAssertGreaterThan(try bytes("a.sqlite-wal").count, 0)
        XCTAssertEqual(try contents(try migrate()), wantedContents)
        withExtendedLifetime(writer) {}
    }

    func testCompleteResultBringsItsOwnHistory() throws {
        try make()
        let identifier = try shell("a.sqlite", "SELECT Z_UUID FROM Z_METADATA")
        try shell("a.sqlite", "CREATE TABLE notes(x); INSERT INTO notes VALUES (1)")
        let coordinator = try migrate(
            "a.sqlite",
            conversion {
                $0.isComplete = true
                // As for a route that copies the whole store first.
                $0.middle = { _, result in
                    _ = try Fixtures.run(
                        "sqlite3", [result, "CREATE TABLE notes(x); INSERT INTO notes VALUES (1), (2)"])
                }
            })
        XCTAssertEqual(try contents(coordinator), wantedContents)
        XCTAssertEqual(coordinator.stores[0].identifier, identifier)
        try coordinator.remove(coordinator.stores[0])
        XCTAssertEqual(try shell("a.sqlite", "SELECT count(*) FROM ATRANSACTION"), "1")
        XCTAssertEqual(try shell("a.sqlite", "SELECT count(*) FROM notes"), "1")
        XCTAssertNil(try StoreReport(ofStoreAt: path("a.sqlite"), model: nil).error(file: ""))
    }

    func testStoreWithoutRouteIsMigratedInPlace() throws {
        try make()
        let error = failure { try migrate("a.sqlite", conversion { $0.isWanted = false }) }
        XCTAssertEqual(error.code, 134190, error.message)
    }

    func testBackingFilesAreReplacedWithTheContent() throws {
        try make()
        let before = backingFiles
        let coordinator = try migrate()
        XCTAssertEqual(backingFiles.count, 1)
        XCTAssertNotEqual(backingFiles, before)
        XCTAssertEqual(try contents(coordinator), wantedContents)
    }

    func testEmptyStoreIsConverted() throws {
        let coordinator = try Coordinator(model: ConversionModels.former())
        try coordinator.remove(coordinator.addSQLiteStore(at: path("a.sqlite")))
        XCTAssertEqual(try contents(migrate()), [])
    }

    // MARK: - History

    private func history(_ coordinator: Coordinator) throws -> [String] {
        guard case .transactions(let found) = try coordinator.fetchHistory(HistoryRequest()) else { return [] }
        let context = Context(coordinator: coordinator)
        return try found.map { transaction in
            try (transaction.changes ?? []).map { change in
                let entity = change.objectID.entity
                let key = entity.attributes.contains { $0.name == "fullName" } ? "fullName" : "title"
                var name = "?"
                if let object = try? context.existingObject(with: change.objectID) {
                    name = "\(try object.value(forKey: entity.name == "Badge" ? "label" : key))"
                }
                let values = (change.tombstone ?? [:]).map { "\($0)=\($1)" }.sorted()
                return
                    "\(change.kind) \(entity.name) \(name) \(change.updatedProperties.map(\.name).sorted()) \(values)"
            }.sorted().joined(separator: "; ")
        }
    }

    func testHistoryNamesTheNewObjects() throws {
        try make()
        let highest = try shell("a.sqlite", "SELECT max(Z_PK) FROM ATRANSACTION")
        let coordinator = try migrate()
        let found = try history(coordinator)
        func text(_ name: String) -> String { "\(PropertyValue.string(name))" }
        XCTAssertEqual(
            found,
            [
                [
                    "insert Badge \(text("Ada")) [] []", "insert Badge \(text("Bob")) [] []",
                    "insert Person ? [] []", "insert Person \(text("Ada")) [] []", "insert Person \(text("Bob")) [] []",
                ].sorted().joined(separator: "; "),
                [
                    "insert Animal \(text("Rex")) [] []", "insert Animal \(text("Tom")) [] []",
                    "update Badge \(text("Ada")) [] []", "update Person \(text("Ada")) [\"animals\"] []",
                ].sorted().joined(separator: "; "),
                [
                    "update Badge \(text("Bob")) [\"label\"] []", "update Person \(text("Bob")) [\"fullName\"] []",
                ].sorted().joined(separator: "; "),
                "delete Person ? [] [\"fullName=\(text("Cyd"))\"]",
                "",
            ])
        let context = Context(coordinator: coordinator)
        let fresh = try context.insert("Person")
        try context.save()
        try coordinator.remove(coordinator.stores[0])
        // The key of the deleted object was not given to another one.
        XCTAssertEqual(
            try shell(
                "a.sqlite",
                "SELECT count(*) FROM ACHANGE WHERE ZENTITY = (SELECT Z_ENT FROM Z_PRIMARYKEY WHERE Z_NAME = 'Person') "
                    + "AND ZENTITYPK = \(fresh.primaryKey)"), "1")
        XCTAssertEqual(
            try shell("a.sqlite", "SELECT min(Z_PK) FROM ATRANSACTION WHERE Z_PK > \(highest)"),
            "\((Int(highest) ?? 0) + 1)")
        XCTAssertEqual(
            try shell(
                "a.sqlite",
                "SELECT count(*) FROM ATRANSACTIONSTRING WHERE ZNAME LIKE 'com.apple.coredata.schemamigrator:%"
                    + modelVersionDigest(entityVersionHashes(of: coordinator.model)) + "%'"), "1")
        XCTAssertEqual(
            try shell(
                "a.sqlite", "SELECT group_concat(n) FROM (SELECT count(*) AS n FROM ACHANGE GROUP BY Z_PK HAVING n > 1)"
            ), "")
        XCTAssertNil(try StoreReport(ofStoreAt: path("a.sqlite"), model: nil).error(file: ""))
    }

    func testRouteKeepsHistoryConsumers() throws {
        let coordinator = try make(keepsOpen: true)
        try shell(
            "a.sqlite",
            "\(HistoryConsumerTable.creation); INSERT INTO \(HistoryConsumerTable.name) VALUES ('sync', 2, 0, 0)")
        try coordinator.remove(coordinator.stores[0])
        let migrated = try migrate()
        try migrated.remove(migrated.stores[0])
        XCTAssertEqual(try shell("a.sqlite", "SELECT ZNAME, ZTRANSACTION FROM CST_HISTORYCONSUMER"), "sync|2")
    }

    func testStoreWithoutHistoryIsMigratedWithoutHistory() throws {
        try make(history: false)
        let coordinator = try migrate()
        XCTAssertEqual(try contents(coordinator), wantedContents)
        try coordinator.remove(coordinator.stores[0])
        XCTAssertEqual(try shell("a.sqlite", "SELECT count(*) FROM sqlite_master WHERE name LIKE 'A%'"), "0")
    }

    // MARK: - Failures

    func testCancelledMigrationLeavesTheStoreUnchanged() throws {
        for calls in 1...12 {
            let name = "c\(calls).sqlite"
            try make(name, rollback: calls % 2 == 0)
            let (before, folder) = (try bytes(name), try files())
            nonisolated(unsafe) var count = 0
            let error = failure {
                try migrate(name) {
                    $0.progress = { _, _ in
                        count += 1
                        return count < calls
                    }
                }
            }
            XCTAssertEqual(error.code, CocoaCode.migrationCancelled.rawValue, error.message)
            XCTAssertFalse(error.message.contains("corestone-part"), error.message)
            XCTAssertEqual(try bytes(name), before, "after \(calls) calls")
            XCTAssertEqual(try files(), folder)
        }
    }

    func testProgressIncreasesToTheTotal() throws {
        try make()
        nonisolated(unsafe) var calls: [(Int, Int)] = []
        try migrate {
            $0.progress = { done, total in
                calls.append((done, total))
                return true
            }
        }
        XCTAssertEqual(calls.first?.0, 0)
        XCTAssertEqual(calls.last?.0, calls.last?.1)
        XCTAssertEqual(calls.map(\.0), calls.map(\.0).sorted())
        XCTAssertEqual(Set(calls.map(\.1)).count, 1)
    }

    func testFailedRouteLeavesTheStoreUnchanged() throws {
        try make("a.sqlite", rollback: true)
        let (before, folder, backing) = (try bytes("a.sqlite"), try files(), backingFiles)
        let error = failure {
            try migrate(
                "a.sqlite",
                conversion {
                    $0.middle = { _, result in
                        throw CoreError(
                            .migration, code: .migrationManagerDestinationStore, "no \(result)", file: result)
                    }
                })
        }
        XCTAssertEqual(error.code, CocoaCode.migrationManagerDestinationStore.rawValue)
        XCTAssertEqual(error.message, "no \(path("a.sqlite"))")
        XCTAssertEqual(error.file, path("a.sqlite"))
        XCTAssertEqual(try bytes("a.sqlite"), before)
        XCTAssertEqual(try files(), folder)
        XCTAssertEqual(backingFiles, backing)
    }

    func testForeignTableOfTheSameNameIsNotReplaced() throws {
        try make("a.sqlite", rollback: true)
        try shell("a.sqlite", "CREATE TABLE ZBADGE(x)")
        let (before, backing) = (try bytes("a.sqlite"), backingFiles)
        let error = failure { try migrate() }
        XCTAssertTrue(error.message.contains("needs the table ZBADGE"), error.message)
        XCTAssertEqual(try bytes("a.sqlite"), before)
        XCTAssertEqual(backingFiles, backing)
    }

    func testOtherConnectionsWaitForTheRoute() throws {
        for rollback in [false, true] {
            let name = rollback ? "b.sqlite" : "a.sqlite"
            try make(name, rollback: rollback)
            nonisolated(unsafe) var output = ""
            let coordinator = try migrate(
                name,
                conversion {
                    $0.middle = { path, _ in
                        let write = "UPDATE ZPERSON SET ZAGE = 1"
                        output = try Fixtures.run(
                            "sh",
                            ["-c", "sqlite3 '\(path)' '\(write)' 2>&1; sqlite3 '\(path)' 'SELECT count(*) FROM ZPET'"])
                    }
                })
            XCTAssertTrue(output.contains("locked"), output)
            XCTAssertTrue(output.hasSuffix("2\n"), output)
            XCTAssertEqual(try contents(coordinator), wantedContents)
        }
    }

    func testSecondMigrationDoesNotRunTheRouteAgain() throws {
        try make()
        try migrate()
        let coordinator = try migrate(
            "a.sqlite",
            conversion {
                $0.middle = { _, _ in throw CoreError(.internal, "migrated again") }
            })
        XCTAssertEqual(try contents(coordinator), wantedContents)
    }

    func testConcurrentMigrationWaitsForTheFirst() throws {
        try make()
        let (name, wanted, group) = (path("a.sqlite"), try ConversionModels.wanted(), DispatchGroup())
        nonisolated(unsafe) var outcome = "nothing"
        var second = FakeConversion(wanted: wanted)
        second.middle = { _, _ in throw CoreError(.internal, "migrated again") }
        nonisolated(unsafe) let options = migrating(second)
        let coordinator = try migrate(
            "a.sqlite",
            conversion {
                $0.middle = { _, _ in
                    DispatchQueue.global().async(group: group) {
                        do {
                            try Coordinator(model: wanted).addStore(at: name, options: options)
                            outcome = "opened"
                        } catch { outcome = "\(error)" }
                    }
                    // Long enough for the other one to wait for the lock.
                    usleep(300_000)
                    XCTAssertEqual(outcome, "nothing")
                }
            })
        group.wait()
        XCTAssertEqual(outcome, "opened")
        XCTAssertEqual(try contents(coordinator), wantedContents)
    }

    func testRouteToAFormerModelFails() throws {
        try make()
        try migrate()
        let former = try ConversionModels.former()
        let coordinator = try Coordinator(model: former)
        let error = failure {
            try coordinator.addStore(at: path("a.sqlite"), options: migrating(FakeConversion(wanted: former)))
        }
        XCTAssertEqual(error.code, CocoaCode.stagedMigrationBackwardMigration.rawValue, error.message)
        XCTAssertTrue(
            error.message.contains("or open the store with CST_STORE_READ_ONLY (read_only)"), error.message)
    }

    // MARK: - Plans and other types

    func testPlanListsTheSteps() throws {
        try make()
        let wanted = try ConversionModels.wanted()
        let report = try MigrationReport(
            ofStoreAt: path("a.sqlite"), to: wanted, options: migrating(FakeConversion(wanted: wanted)))
        XCTAssertTrue(report.isNeeded)
        XCTAssertEqual(report.steps, ["Person to Person and Badge", "Pet to Animal"])
        guard case .dictionary(let json) = report.report(), case .array(let steps)? = json["steps"] else {
            return XCTFail("\(report.report())")
        }
        XCTAssertEqual(steps.count, 2)
    }

    func testXMLAndBinaryStoresAreConverted() throws {
        for type in [StoreType.xml, .binary] {
            let former = try Coordinator(model: ConversionModels.former())
            let file = path("a.\(type)")
            let store = try former.addStore(type, at: file)
            try fill(former)
            try former.remove(store)
            let wanted = try ConversionModels.wanted(derives: false)
            let options = migrating(FakeConversion(wanted: wanted))
            let report = try MigrationReport(ofStoreAt: file, to: wanted, options: options)
            XCTAssertEqual(report.steps.count, 2)
            let before = try Data(contentsOf: URL(fileURLWithPath: file))
            var failing = FakeConversion(wanted: wanted)
            failing.middle = { path, result in throw CoreError(.migration, "no \(path) and \(result)", file: result) }
            let error = failure { try Coordinator(model: wanted).addStore(type, at: file, options: migrating(failing)) }
            XCTAssertEqual(error.message, "no \(file) and \(file)")
            XCTAssertEqual(error.file, file)
            XCTAssertEqual(try Data(contentsOf: URL(fileURLWithPath: file)), before)
            let coordinator = try Coordinator(model: wanted)
            let migrated = try coordinator.addStore(type, at: file, options: options)
            XCTAssertEqual(migrated.identifier, store.identifier)
            XCTAssertEqual(try contents(coordinator), wantedContents)
        }
    }
}
