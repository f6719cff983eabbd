import CorestoneModel
import CorestoneContainers
import CorestoneValues
import Foundation
import XCTest

@testable import CorestoneGraph
@testable import CorestoneSQLite

/// Backups that migrations create, and their restoration.
final class MigrationBackupTests: StoreTestCase {
    private func backups(_ name: String = "a.sqlite", in folder: String? = nil) throws -> [String] {
        try MigrationBackup.backups(ofStoreAt: path(name), in: folder)
    }

    private func count(_ name: String, _ table: String = "ZOLD") throws -> String {
        try shell(name, "SELECT count(*) FROM \(table)")
    }

    func testBackupIsCompleteCopyOfFormerStore() throws {
        for rollback in [false, true] {
            let name = rollback ? "b.sqlite" : "a.sqlite"
            try makeFormer(name, rollback: rollback)
            let former = try StoreMetadata(ofStoreAt: path(name))
            try closeAll(migrateFormer(name) { $0.backup = MigrationBackup() })
            let found = try backups(name)
            XCTAssertEqual(found.count, 1)
            let copy = try XCTUnwrap(found.first)
            XCTAssertNotNil(copy.range(of: #"/\#(name)\.backup-\d{8}T\d{6}Z$"#, options: .regularExpression))
            XCTAssertEqual(try StoreMetadata(ofStoreAt: copy).entityVersionHashes, former.entityVersionHashes)
            XCTAssertEqual(try StoreMetadata(ofStoreAt: copy).uuid, former.uuid)
            XCTAssertNil(try StoreReport(ofStoreAt: copy).error(file: copy))
            XCTAssertEqual(backingFiles(name).count, 3)
            XCTAssertEqual(backingFiles(rollback ? "b" : "a").count, 1)
        }
    }

    func testStoreOfModelGetsNoBackup() throws {
        try makeFormer()
        try closeAll(migrateFormer())
        try closeAll(migrateFormer { $0.backup = MigrationBackup() })
        XCTAssertEqual(try backups(), [])
    }

    func testRestoreBringsBackTheFormerStoreWithBackingFiles() throws {
        try makeFormer()
        let coordinator = try migrateFormer { $0.backup = MigrationBackup() }
        XCTAssertEqual(backingFiles().count, 1)
        // The store is open, so it is removed first.
        let used = try coordinator.restoreStore(at: path("a.sqlite"))
        XCTAssertEqual(try backups(), [used])
        XCTAssertTrue(coordinator.stores.isEmpty)
        XCTAssertEqual(try count("a.sqlite"), "1")
        XCTAssertEqual(backingFiles().count, 3)
        XCTAssertNil(try StoreReport(ofStoreAt: path("a.sqlite")).error(file: ""))
        try closeAll(migrateFormer())
        // The store itself may be missing.
        try FileManager.default.removeItem(atPath: path("a.sqlite"))
        XCTAssertEqual(try coordinator.restoreStore(at: path("a.sqlite"), from: used), used)
        XCTAssertEqual(try count("a.sqlite"), "1")
    }

    func testRestoreFailsWithoutBackupAndForCopyOfOtherStore() throws {
        try makeFormer()
        try makeFormer("b.sqlite")
        let coordinator = try Coordinator(model: Model())
        let missing = failure { try coordinator.restoreStore(at: path("a.sqlite")) }
        XCTAssertEqual(missing.status, .storeIO)
        XCTAssertTrue(missing.message.hasPrefix("\(path("a.sqlite")) does not have a backup in "), missing.message)
        let other = failure { try coordinator.restoreStore(at: path("a.sqlite"), from: path("b.sqlite")) }
        XCTAssertEqual(other.status, .invalidArgument)
        XCTAssertTrue(other.message.contains("is not a copy of"), other.message)
    }

    func testOldBackupsAreRemovedAfterSuccessWithTheirFiles() throws {
        try makeFormer()
        let coordinator = try Coordinator(model: Model())
        for _ in 0..<4 {
            try closeAll(migrateFormer { $0.backup = MigrationBackup(keep: 2) })
            try coordinator.restoreStore(at: path("a.sqlite"))
        }
        XCTAssertEqual(try backups().count, 2)
        // Copies of one state share its files.
        XCTAssertEqual(backingFiles("a.sqlite").count, 3)
        for copy in try backups() { XCTAssertNil(try StoreReport(ofStoreAt: copy).error(file: copy)) }
        // Files of other names stay, and those of another store.
        try makeFormer("other/a.sqlite".replacingOccurrences(of: "other/", with: "c"))
        let foreign = path("a.sqlite.backup-20200101T000000Z")
        try coordinator.replaceStore(at: foreign, byStoreAt: path("ca.sqlite"))
        XCTAssert(FileManager.default.createFile(atPath: path("a.sqlite.backup-notes"), contents: Data([1])))
        try closeAll(migrateFormer { $0.backup = MigrationBackup(keep: 1) })
        XCTAssertTrue(FileManager.default.fileExists(atPath: foreign))
        XCTAssertTrue(FileManager.default.fileExists(atPath: path("a.sqlite.backup-notes")))
        XCTAssertEqual(try backups().count, 2)
        XCTAssertEqual(try backups().last, foreign)
    }

    func testBackupsOfOneSecondAreNumbered() throws {
        let place = try StoreLocation(path("a.sqlite"))
        let backup = MigrationBackup()
        var names: Set<String> = []
        for _ in 0..<4 {
            let free = try backup.freePath(for: place)
            XCTAssertTrue(names.insert(free).inserted)
            XCTAssert(FileManager.default.createFile(atPath: free, contents: Data([1])))
        }
        let found = try backup.copies(of: place)
        XCTAssertEqual(Set(found), names)
        XCTAssertTrue(found.contains { $0.hasSuffix("Z-2") })
        for name in ["Z-1", "Z-02", "Zx", "z"] {
            let file = path("a.sqlite.backup-20200101T000000\(name)")
            XCTAssert(FileManager.default.createFile(atPath: file, contents: nil))
        }
        XCTAssertEqual(try backup.copies(of: place).count, 4)
    }

    func testBackupOfStoreWithoutExtensionHasOwnBackingFiles() throws {
        try makeFormer("notes")
        try closeAll(migrateFormer("notes") { $0.backup = MigrationBackup() })
        let copy = try XCTUnwrap(backups("notes").first)
        XCTAssertTrue(copy.hasSuffix("Z.store"), copy)
        XCTAssertNil(try StoreReport(ofStoreAt: copy).error(file: copy))
        XCTAssertNil(try StoreReport(ofStoreAt: path("notes")).error(file: copy))
        XCTAssertEqual(backingFiles("notes").count, 1)
    }

    func testFailedMigrationRemovesItsBackupAndKeepsOthers() throws {
        try makeFormer()
        try closeAll(migrateFormer { $0.backup = MigrationBackup() })
        try Coordinator(model: Model()).restoreStore(at: path("a.sqlite"))
        let before = try backups()
        let error = failure {
            try migrateFormer {
                $0.backup = MigrationBackup(keep: 1)
                $0.verifies = true
                $0.willVerify = { try $0("UPDATE ZPERSON SET ZNAME = 'Eve' WHERE ZNAME = 'Ada'") }
            }
        }
        XCTAssertEqual(error.code, CocoaCode.migration.rawValue)
        XCTAssertEqual(try backups(), before)
        XCTAssertEqual(try count("a.sqlite"), "1")
        XCTAssertEqual(backingFiles("a.sqlite").count, 3)
    }

    func testMigrationFailsWhenBackupFails() throws {
        try makeFormer()
        let missing = path("missing")
        let error = failure { try migrateFormer { $0.backup = MigrationBackup(folder: missing) } }
        XCTAssertTrue(
            error.message.hasPrefix("cannot migrate \(path("a.sqlite")), because the backup failed: "), error.message)
        XCTAssertEqual(try count("a.sqlite"), "1")
        let keep = failure { try migrateFormer { $0.backup = MigrationBackup(keep: 0) } }
        XCTAssertEqual(keep.status, .invalidArgument)
        XCTAssertEqual(try count("a.sqlite"), "1")
    }

    func testBackupsGoIntoFolder() throws {
        try makeFormer()
        try FileManager.default.createDirectory(atPath: path("copies"), withIntermediateDirectories: true)
        try closeAll(migrateFormer { $0.backup = MigrationBackup(folder: path("copies")) })
        XCTAssertEqual(try backups(), [])
        let found = try backups(in: path("copies"))
        XCTAssertEqual(found.count, 1)
        try Coordinator(model: Model()).restoreStore(at: path("a.sqlite"), in: path("copies"))
        XCTAssertEqual(try count("a.sqlite"), "1")
    }

    func testAtomicStoresAreBackedUp() throws {
        for (type, name) in [(StoreType.xml, "a.xml"), (.binary, "a.binary")] {
            let coordinator = try Coordinator(model: ConversionModels.former())
            let store = try coordinator.addStore(type, at: path(name))
            let context = Context(coordinator: coordinator)
            try context.insert("Person").setValue(.string("Ada"), forKey: "name")
            try context.save()
            try coordinator.remove(store)
            let former = try Data(contentsOf: URL(fileURLWithPath: path(name)))
            let wanted = Model()
            let person = try wanted.addEntity(named: "Person")
            try person.addAttribute(named: "name", type: .string, isOptional: true)
            try person.addAttribute(named: "new", type: .string, isOptional: true)
            try wanted.freeze()
            var options = StoreOptions()
            options.migration = .inferred
            options.migration?.backup = MigrationBackup()
            options.migration?.verifies = true
            let new = try Coordinator(model: wanted)
            try new.addStore(at: path(name), options: options)
            try closeAll(new)
            let copy = try XCTUnwrap(backups(name).first)
            XCTAssertEqual(try Data(contentsOf: URL(fileURLWithPath: copy)), former)
            try new.restoreStore(at: path(name))
            XCTAssertEqual(try Data(contentsOf: URL(fileURLWithPath: path(name))), former)
        }
    }

    func testMigrationByARouteIsBackedUp() throws {
        let coordinator = try Coordinator(model: ConversionModels.former())
        let store = try coordinator.addSQLiteStore(at: path("a.sqlite"))
        let context = Context(coordinator: coordinator)
        try context.insert("Person").setValue(.string("Ada"), forKey: "name")
        try context.save()
        try coordinator.remove(store)
        var options = StoreOptions()
        options.migration = .inferred
        options.migration?.conversion = FakeConversion(wanted: try ConversionModels.wanted())
        options.migration?.backup = MigrationBackup()
        let new = try Coordinator(model: ConversionModels.wanted())
        try new.addStore(at: path("a.sqlite"), options: options)
        try closeAll(new)
        XCTAssertEqual(try shell("a.sqlite", "SELECT ZFULLNAME FROM ZPERSON"), "Ada")
        try new.restoreStore(at: path("a.sqlite"))
        XCTAssertEqual(try shell("a.sqlite", "SELECT ZNAME FROM ZPERSON"), "Ada")
    }
}
