import CSQLite
import CorestoneGraph
import CorestoneModel
import CorestoneValues
import Foundation
import CorestoneContainers
import XCTest

@testable import CorestoneSQLite

final class OpeningTests: StoreTestCase {
    private func options(_ change: (inout StoreOptions) -> Void) -> StoreOptions {
        var options = StoreOptions()
        options.busyTimeoutMilliseconds = 50
        change(&options)
        return options
    }

    private func packages(_ extra: (Entity) throws -> Void = { _ in }) throws -> Model {
        let model = Model()
        let package = try model.addEntity(named: "Package")
        try package.addAttribute(named: "name", type: .string, isOptional: false)
        try extra(package)
        try model.freeze()
        return model
    }

    private func write(_ name: String, _ bytes: Data) throws { try bytes.write(to: URL(fileURLWithPath: path(name))) }
    private func read(_ name: String) throws -> Data { try Data(contentsOf: URL(fileURLWithPath: path(name))) }

    func testReopeningKeepsIdentifierAndRows() throws {
        let zoo = try Zoo()
        let first = try open("zoo.sqlite", zoo.model)
        let identifier = first.identifier
        XCTAssertNotNil(UUIDValue(identifier))
        XCTAssertEqual(identifier, identifier.uppercased())
        var rows = Rows()
        try first.save { save in
            let key = try save.reservePrimaryKeys(of: zoo.cage, count: 1)
            try save.insert([rows.add(zoo.cage, key, ["number": .int(7)])], entity: zoo.cage)
        }
        first.close()
        first.close()
        XCTAssertEqual(failure { _ = try first.rows(of: zoo.cage, primaryKeys: [1]) }.status, .objectGone)
        let again = try open("zoo.sqlite", Zoo().model)
        XCTAssertEqual(again.identifier, identifier)
        XCTAssertEqual(again.path, path("zoo.sqlite"))
        XCTAssertFalse(again.isReadOnly)
        let cage = try XCTUnwrap(again.schema.model.entity(named: "Cage"))
        XCTAssertEqual(
            cage.value("number", of: try XCTUnwrap(again.rows(of: cage, primaryKeys: [1]).records.first)), .int(7))
        XCTAssertEqual(try again.reservePrimaryKeys(of: cage, count: 5), 2)
        XCTAssertEqual(try again.reservePrimaryKeys(of: cage, count: 1), 7)
    }

    func testOtherToolsReadTheCachedModelAndHashes() throws {
        let tools = Fixtures.folder + "/../tools"
        try Fixtures.require()
        let store = try open("zoo.sqlite", Zoo().model)
        store.close()
        XCTAssert(try Fixtures.run("python3", [tools + "/decode_model.py", path("zoo.sqlite")]).contains("Everything"))
        let hashes = try Fixtures.run("python3", [tools + "/version_hash.py", path("zoo.sqlite")])
        XCTAssert(hashes.contains("equal"), hashes)
        XCTAssertFalse(hashes.contains("DIFFERENT"), hashes)
    }

    func testOpeningAMissingStoreFails() throws {
        let model = try packages()
        let mustExist = options { $0.mustExist = true }
        let readOnly = options { $0.isReadOnly = true }
        for options in [mustExist, readOnly] {
            let error = failure { _ = try open("none.sqlite", model, options: options) }
            XCTAssertEqual(error.status, .storeIO)
            XCTAssertEqual(error.code, 134080)
            XCTAssertEqual(error.file, path("none.sqlite"))
            XCTAssertEqual(error.message, "the store \(path("none.sqlite")) does not exist; check the path")
        }
        let looks: [(String) throws -> Void] = [
            { _ = try StoreReport(ofStoreAt: $0) }, { _ = try AppleCheck(storeAt: $0) },
            { _ = try StoreMetadata(ofStoreAt: $0) }, { _ = try Coordinator.open($0) },
        ]
        for look in looks {
            let error = failure { try look(path("none.sqlite")) }
            XCTAssertEqual(error.message, "the store \(path("none.sqlite")) does not exist; check the path")
            for name in ["Notes.xcdatamodeld", "Notes.momd/"] {
                mkdir(path(name), 0o755)
                let error = failure { try look(path(name)) }
                XCTAssertEqual(error.status, .notAStore)
                XCTAssert(error.message.contains("has the extension of a model, not of a store"), error.message)
                rmdir(path(name))
            }
        }
        let noFolder = failure { _ = try open("sub/none.sqlite", model) }
        XCTAssertEqual(noFolder.status, .storeIO)
        XCTAssert(noFolder.message.contains("does not exist"), noFolder.message)
        XCTAssertEqual(
            failure { _ = try StoreOpener("", model: model, options: StoreOptions()).run() }.status, .invalidArgument)
        XCTAssertEqual(
            failure { _ = try StoreOpener("a\0b", model: model, options: StoreOptions()).run() }.status,
            .invalidArgument
        )
        XCTAssertEqual(
            failure { _ = try StoreOpener(folder, model: model, options: StoreOptions()).run() }.status, .notAStore)
        XCTAssertEqual(
            failure { _ = try StoreOpener(folder + "/", model: model, options: StoreOptions()).run() }.status,
            .invalidArgument)
        XCTAssertEqual(
            failure { _ = try StoreOpener("/dev/zero", model: model, options: StoreOptions()).run() }.status,
            .notAStore)
        XCTAssertEqual(try files(), [])
    }

    func testOpeningAnEmptyFileFails() throws {
        try write("empty.sqlite", Data())
        let model = try packages()
        for change: (inout StoreOptions) -> Void in [{ _ in }, { $0.mustExist = true }, { $0.isReadOnly = true }] {
            let error = failure { _ = try open("empty.sqlite", model, options: options(change)) }
            XCTAssertEqual(error.status, .notAStore)
            XCTAssertEqual(error.code, 134080)
        }
        XCTAssertEqual(try read("empty.sqlite").count, 0)
        XCTAssertEqual(try files(), ["empty.sqlite"])
    }

    /// The log of a deleted store is not applied to a new store at its path.
    func testLogOfADeletedStoreIsNotAppliedToANewStore() throws {
        let zoo = try Zoo()
        let store = try open("zoo.sqlite", zoo.model)
        var rows = Rows()
        try store.save { try $0.insert([rows.add(zoo.cage, 1, ["number": .int(1)])], entity: zoo.cage) }
        let log = try read("zoo.sqlite-wal")
        store.close()
        try FileManager.default.removeItem(atPath: path("zoo.sqlite"))
        try write("zoo.sqlite-wal", log)
        let fresh = try open("zoo.sqlite", zoo.model)
        XCTAssertEqual(try fresh.fetch(StoreFetch(entity: zoo.cage, result: .count)).count, 0)
        XCTAssertNotEqual(fresh.identifier, store.identifier)
        fresh.close()
        XCTAssertEqual(try shell("zoo.sqlite", "PRAGMA integrity_check"), "ok")
        XCTAssertEqual(try files(), ["zoo.sqlite"])
    }

    func testDamagedMetadataFails() throws {
        let model = try packages()
        try open("p.sqlite", model).close()
        for (plist, status) in [
            ("x'00112233'", Status.storeCorrupt), ("'bplist00' || zeroblob(40)", .storeCorrupt), ("NULL", .ok),
            ("x'3c706c6973743e'", .storeCorrupt),
        ] {
            _ = try shell("p.sqlite", "UPDATE Z_METADATA SET Z_PLIST = \(plist)")
            if status == .ok {
                try open("p.sqlite", model).close()
                continue
            }
            let error = failure { _ = try open("p.sqlite", model) }
            XCTAssertEqual(error.status, status)
            XCTAssertEqual(error.file, path("p.sqlite"))
            XCTAssert(error.message.contains(path("p.sqlite")), error.message)
        }
    }

    func testFilesThatAreNotStoresAreRejectedAndKept() throws {
        let model = try packages()
        try write("text.sqlite", Data(String(repeating: "no database at all. ", count: 400).utf8))
        try write("short.sqlite", Data("SQLite format 3\0".utf8))
        try write("tiny.sqlite", Data("x".utf8))
        _ = try shell("other.sqlite", "CREATE TABLE t (a); INSERT INTO t VALUES (1)")
        _ = try shell(
            "half.sqlite", "CREATE TABLE Z_METADATA (Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB)")
        _ = try shell("odd.sqlite", "CREATE TABLE Z_METADATA (a); CREATE TABLE Z_PRIMARYKEY (b)")
        _ = try shell(
            "bare.sqlite",
            "CREATE TABLE Z_METADATA (Z_VERSION, Z_UUID, Z_PLIST); CREATE TABLE Z_PRIMARYKEY (Z_ENT, Z_NAME)")
        let before = try files()
        for name in ["text", "short", "tiny", "other", "half", "odd", "bare"] {
            let bytes = try read(name + ".sqlite")
            for isReadOnly in [false, true] {
                let error = failure {
                    _ = try open(name + ".sqlite", model, options: options { $0.isReadOnly = isReadOnly })
                }
                XCTAssertEqual(error.status, .notAStore, "\(name): \(error)")
                XCTAssertEqual(error.code, 134080)
                XCTAssertEqual(error.file, path(name + ".sqlite"))
            }
            XCTAssertEqual(try read(name + ".sqlite"), bytes, name)
        }
        XCTAssert(
            failure { _ = try open("other.sqlite", model) }.message.contains(
                "the table Z_PRIMARYKEY or the table Z_METADATA"))
        XCTAssertEqual(try files(), before)
    }

    func testTruncatedFilesAreRejected() throws {
        let zoo = try Zoo()
        try open("whole.sqlite", zoo.model).close()
        let whole = try read("whole.sqlite")
        for length in stride(from: 512, to: whole.count, by: 3000) {
            try write("cut.sqlite", whole.prefix(length))
            for isReadOnly in [false, true] {
                let error = failure {
                    _ = try open("cut.sqlite", zoo.model, options: options { $0.isReadOnly = isReadOnly })
                }
                XCTAssert([.storeCorrupt, .notAStore].contains(error.status), "\(length): \(error)")
            }
            XCTAssertEqual(try read("cut.sqlite"), whole.prefix(length))
        }
        // Other damage is an error or has no effect; it never traps.
        var generator = SplitMix(state: 7)
        for _ in 0..<300 {
            var bytes = whole
            for _ in 0..<20 {
                bytes[Int.random(in: 0..<bytes.count, using: &generator)] = UInt8.random(in: 0...255, using: &generator)
            }
            try write("bad.sqlite", bytes)
            do {
                let store = try open("bad.sqlite", zoo.model, options: options { $0.isReadOnly = true })
                _ = try? store.fetch(StoreFetch(entity: zoo.animal))
                _ = try? store.rows(of: zoo.everything, primaryKeys: [1])
                store.close()
            } catch { XCTAssert(error is CoreError) }
        }
    }

    func testModelMismatchErrorNamesTheDifference() throws {
        try open("p.sqlite", packages()).close()
        let added = failure {
            _ = try open("p.sqlite", packages { try $0.addAttribute(named: "size", type: .integer64) })
        }
        XCTAssertEqual(added.status, .modelMismatch)
        XCTAssertEqual(added.code, 134100)
        XCTAssertEqual(added.entity, "Package")
        XCTAssertEqual(added.key, "size")
        XCTAssert(added.message.contains("Package.size is in the model only"), added.message)
        let typed = Model()
        try typed.addEntity(named: "Package").addAttribute(named: "name", type: .integer16, isOptional: false)
        let changed = failure { _ = try open("p.sqlite", try frozen(typed)) }
        XCTAssertEqual(changed.key, "name")
        XCTAssert(changed.message.contains("String in the store and of type Integer 16 in the model"), changed.message)
        let optional = Model()
        try optional.addEntity(named: "Package").addAttribute(named: "name", type: .string)
        let required = failure { _ = try open("p.sqlite", try frozen(optional)) }
        XCTAssertEqual(required.key, "name")
        XCTAssert(required.message.contains("required in the store"), required.message)
        let fewer = Model()
        try fewer.addEntity(named: "Package")
        XCTAssert(
            failure { _ = try open("p.sqlite", try frozen(fewer)) }.message.contains(
                "Package.name is in the store only"))
        // Without a cached model, the columns are compared.
        _ = try shell("p.sqlite", "UPDATE Z_METADATA SET Z_PLIST = Z_PLIST; UPDATE Z_MODELCACHE SET Z_CONTENT = x'00'")
        XCTAssert(failure { _ = try open("p.sqlite", try frozen(fewer)) }.message.contains("ZNAME"))
        _ = try shell("p.sqlite", "DELETE FROM Z_MODELCACHE")
        let others = Model()
        try others.addEntity(named: "Parcel")
        let bytes = try read("p.sqlite")
        let other = failure { _ = try open("p.sqlite", try frozen(others)) }
        XCTAssert(other.message.contains("Parcel") && other.message.contains("Package"), other.message)
        XCTAssertEqual(try read("p.sqlite"), bytes)
        XCTAssertEqual(try files(), ["p.sqlite"])
    }

    private func frozen(_ model: Model) throws -> Model {
        try model.freeze()
        return model
    }

    func testReadOnlyStoreDoesNotChangeTheFolder() throws {
        let zoo = try Zoo()
        let writer = try open("zoo.sqlite", zoo.model)
        var rows = Rows()
        func insert(_ key: Int64) throws {
            try writer.save { try $0.insert([rows.add(zoo.cage, key, ["number": .int(key)])], entity: zoo.cage) }
        }
        try insert(1)
        // With a live log, the store is read from a private copy with all committed transactions.
        func snapshot() throws -> [String: Data] {
            Dictionary(uniqueKeysWithValues: try files().map { ($0, try read($0)) })
        }
        let live = try snapshot()
        XCTAssertNotNil(live["zoo.sqlite-wal"])
        let readOnly = options { $0.isReadOnly = true }
        let copy = try open("zoo.sqlite", zoo.model, options: readOnly)
        XCTAssert(copy.isReadOnly)
        XCTAssertEqual(try copy.fetch(StoreFetch(entity: zoo.cage, result: .count)).count, 1)
        let refused = failure { try copy.save { _ in } }
        XCTAssertEqual(refused.status, .storeReadOnly)
        XCTAssertEqual(refused.code, 134030)
        XCTAssertEqual(try snapshot(), live)
        copy.close()
        XCTAssertEqual(try snapshot(), live)
        // The writer still holds its locks.
        try insert(2)
        XCTAssertEqual(try shell("zoo.sqlite", "SELECT count(*) FROM ZCAGE"), "2")
        writer.close()
        let still = try snapshot()
        XCTAssertEqual(Array(still.keys), ["zoo.sqlite"])
        let frozen = try open("zoo.sqlite", zoo.model, options: readOnly)
        XCTAssertEqual(try frozen.rows(of: zoo.cage, primaryKeys: [1, 2, 3]).records.count, 2)
        XCTAssertEqual(try snapshot(), still)
        frozen.close()
        XCTAssertEqual(try snapshot(), still)
    }

    func testRollbackJournalWorksWithSpecialCharactersInTheName() throws {
        let model = try packages()
        let name = "a 100% #new?.sqlite"
        let rollback = options { $0.rollbackJournal = true }
        let store = try open(name, model, options: rollback)
        XCTAssertEqual(try shell(name, "PRAGMA journal_mode"), "delete")
        XCTAssertEqual(try store.reservePrimaryKeys(of: model.entities[0], count: 2), 1)
        store.close()
        XCTAssertEqual(try files(), [name])
        let readOnly = try open(name, model, options: options { $0.isReadOnly = true })
        XCTAssertEqual(try readOnly.fetch(StoreFetch(entity: model.entities[0])).batch.records.count, 0)
        readOnly.close()
        let again = try open(name, model)
        XCTAssertEqual(try shell(name, "PRAGMA journal_mode"), "wal")
        again.close()
        XCTAssertEqual(try files(), [name])
    }

    func testRelativePathIsResolvedWhenTheStoreOpens() throws {
        let model = try packages()
        let here = FileManager.default.currentDirectoryPath
        defer { _ = FileManager.default.changeCurrentDirectoryPath(here) }
        XCTAssert(FileManager.default.changeCurrentDirectoryPath(folder))
        let opened = try StoreOpener(":memory:", model: model, options: StoreOptions()).run()
        let store = try SQLiteStore(opened)
        _ = FileManager.default.changeCurrentDirectoryPath(here)
        XCTAssertEqual(try store.reservePrimaryKeys(of: model.entities[0], count: 1), 1)
        store.close()
        XCTAssertEqual(try files(), [":memory:"])
    }

    func testLockedStoreFailsWithStoreBusy() throws {
        let model = try packages()
        let brief = options { _ in }
        let one = try open("p.sqlite", model, options: brief)
        let two = try open("p.sqlite", model, options: brief)
        try one.save { _ in
            let error = failure { try two.save { _ in } }
            XCTAssertEqual(error.status, .storeBusy)
            XCTAssertEqual(error.code, 134090)
            XCTAssertEqual(error.sqliteCode & 0xff, SQLITE_BUSY)
        }
        try two.save { _ in }
        one.close()
        two.close()
        var raw: OpaquePointer?
        XCTAssertEqual(sqlite3_open(path("p.sqlite"), &raw), SQLITE_OK)
        sqlite3_exec(raw, "PRAGMA locking_mode=EXCLUSIVE; BEGIN EXCLUSIVE; SELECT * FROM Z_METADATA", nil, nil, nil)
        let error = failure { _ = try open("p.sqlite", model, options: brief) }
        XCTAssertEqual(error.status, .storeBusy)
        XCTAssertEqual(error.code, 134080)
        sqlite3_close(raw)
        try open("p.sqlite", model, options: brief).close()
    }

    /// Runs as another user, because root may write everything.
    func testMigrationOfALockedStoreRestoresTheSettingOfItsConnection() throws {
        try open("a.sqlite", packages()).close()
        let place = try StoreLocation(path("a.sqlite"))
        let connection = try Connection(place.path, path: place.given, flags: SQLITE_OPEN_READWRITE)
        let writer = try Connection(place.path, path: place.given, flags: SQLITE_OPEN_READWRITE)
        try writer.execute("BEGIN IMMEDIATE", "lock the store")
        let wanted = try packages { try $0.addAttribute(named: "weight", type: .double, isOptional: true) }
        let migration = StoreMigration(
            connection: connection, place: place, model: wanted, options: StoreOptions(), migration: .inferred)
        XCTAssertEqual(failure { try migration.run() }.status, .storeBusy)
        XCTAssertTrue(
            try connection.finds(
                "SELECT 1 FROM pragma_legacy_alter_table WHERE legacy_alter_table = 0", purpose: "read the setting"))
    }

    func testCopyOfAnOpenStoreIsRejectedBeforeItsMigration() throws {
        for type in [StoreType.sqlite, .xml, .binary] {
            let (name, copy) = ("a.\(type.rawValue)", "b.\(type.rawValue)")
            let former = try Coordinator(model: packages())
            let store = try former.addStore(type, at: path(name))
            let context = Context(coordinator: former)
            try context.insert("Package").setValue(.string("parcel"), forKey: "name")
            try context.save()
            try former.remove(store)
            try FileManager.default.copyItem(atPath: path(name), toPath: path(copy))
            let before = try read(copy)
            let migrating = options { $0.migration = .inferred }
            let wanted = try packages { try $0.addAttribute(named: "weight", type: .double, isOptional: true) }
            let coordinator = try Coordinator(model: wanted)
            try coordinator.addStore(at: path(name), options: migrating)
            let error = failure { _ = try coordinator.addStore(at: path(copy), options: migrating) }
            XCTAssertEqual(error.status, .invalidArgument)
            XCTAssertEqual(error.file, path(copy))
            XCTAssertTrue(error.message.hasPrefix("\(path(copy)) has the identifier "), error.message)
            XCTAssertEqual(try read(copy), before)
            XCTAssertEqual(coordinator.stores.count, 1)
            try coordinator.remove(coordinator.stores[0])
        }
    }

    func testOpeningAProtectedFileOrFolderForWritingFails() throws {
        let model = try packages()
        try open("p.sqlite", model).close()
        let isRoot = geteuid() == 0
        chmod(path("p.sqlite"), 0o444)
        chmod(folder, 0o555)
        if isRoot { XCTAssertEqual(seteuid(65534), 0) }
        defer {
            if isRoot { seteuid(0) }
            chmod(folder, 0o755)
        }
        let file = failure { _ = try open("p.sqlite", model) }
        XCTAssertEqual(file.status, .storeReadOnly)
        XCTAssert(file.message.contains("read_only"), file.message)
        let new = failure { _ = try open("new.sqlite", model) }
        XCTAssertEqual(new.status, .storeReadOnly)
        XCTAssert(new.message.contains("is not writable"), new.message)
        let withMode = failure { _ = try open("new.sqlite", model, options: options { $0.fileMode = 0o600 }) }
        XCTAssertEqual(withMode.status, .storeReadOnly)
        XCTAssert(withMode.message.contains("is not writable"), withMode.message)
        let readable = try open("p.sqlite", model, options: options { $0.isReadOnly = true })
        XCTAssertEqual(try readable.fetch(StoreFetch(entity: model.entities[0], result: .count)).count, 0)
        readable.close()
        if isRoot { seteuid(0) }
        chmod(path("p.sqlite"), 0o666)
        if isRoot { seteuid(65534) }
        let inFolder = failure { _ = try open("p.sqlite", model) }
        XCTAssertEqual(inFolder.status, .storeReadOnly)
        XCTAssert(inFolder.message.contains("folder"), inFolder.message)
        if isRoot { seteuid(0) }
        XCTAssertEqual(try files(), ["p.sqlite"])
    }

    func testUnknownHistoryTablesMakeTheStoreReadOnly() throws {
        let model = try packages()
        try open("h.sqlite", model).close()
        _ = try shell("h.sqlite", "CREATE TABLE ATRANSACTION (Z_PK INTEGER PRIMARY KEY)")
        let store = try open("h.sqlite", model)
        XCTAssert(store.isReadOnly)
        let error = failure { try store.save { _ in } }
        XCTAssertEqual(error.status, .storeReadOnly)
        XCTAssert(error.message.contains("history"), error.message)
    }

    func testStoreBehindASymbolicLinkIsOpened() throws {
        let zoo = try Zoo()
        try FileManager.default.createDirectory(atPath: path("real"), withIntermediateDirectories: true)
        symlink(path("real"), path("folder"))
        let made = try open("folder/zoo.sqlite", zoo.model)
        symlink(path("real/zoo.sqlite"), path("link.sqlite"))
        var rows = Rows()
        try made.save { try $0.insert([rows.add(zoo.cage, 1, [:])], entity: zoo.cage) }
        // The live log is next to the real file, not next to the link.
        let copy = try open("link.sqlite", zoo.model, options: options { $0.isReadOnly = true })
        XCTAssertEqual(copy.path, path("link.sqlite"))
        XCTAssertEqual(try copy.fetch(StoreFetch(entity: zoo.cage, result: .count)).count, 1)
        copy.close()
        made.close()
        let linked = try open("link.sqlite", zoo.model)
        XCTAssertEqual(try linked.reservePrimaryKeys(of: zoo.cage, count: 1), 2)
        linked.close()
        XCTAssertEqual(try files(), ["folder", "link.sqlite", "real"])
        XCTAssertEqual(try FileManager.default.contentsOfDirectory(atPath: path("real")), ["zoo.sqlite"])
        symlink(path("nowhere"), path("dangling.sqlite"))
        try open("dangling.sqlite", zoo.model).close()
        XCTAssertEqual(try files(), ["dangling.sqlite", "folder", "link.sqlite", "nowhere", "real"])
        XCTAssertEqual(
            try FileManager.default.destinationOfSymbolicLink(atPath: path("dangling.sqlite")), path("nowhere"))
    }

    func testConcurrentOpeningCreatesOneStore() throws {
        let model = try packages()
        let place = path("race.sqlite")
        DispatchQueue.concurrentPerform(iterations: 8) { _ in
            do {
                let opened = try StoreOpener(place, model: model, options: StoreOptions()).run()
                try SQLiteStore(opened).close()
            } catch { XCTFail("\(error)") }
        }
        // If two connections close at the same moment, SQLite treats neither as the last one, and the log may stay.
        try open("race.sqlite", model).close()
        XCTAssertEqual(try files(), ["race.sqlite"])
        XCTAssertEqual(try shell("race.sqlite", "SELECT count(*) FROM Z_METADATA"), "1")
    }
}
