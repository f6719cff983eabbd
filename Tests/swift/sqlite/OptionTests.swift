import CSQLite
import CorestoneGraph
import CorestoneModel
import CorestoneContainers
import CorestoneValues
import Foundation
import XCTest

@testable import CorestoneSQLite

/// The options of SQLite stores: pragmas, analysis, vacuum, versions, permissions, backing files and memory.
final class OptionTests: StoreTestCase {
    private func model(_ more: String? = nil) throws -> Model {
        let model = Model()
        let note = try model.addEntity(named: "Note")
        try note.addAttribute(named: "text", type: .string)
        try note.addAttribute(named: "data", type: .binary).setAllowsExternalStorage(true)
        if let more { try note.addAttribute(named: more, type: .string).setTransient(true) }
        return model
    }

    private func opened(_ name: String, _ options: StoreOptions = StoreOptions(), _ model: Model? = nil) throws -> (
        coordinator: Coordinator, store: Store
    ) {
        let coordinator = try Coordinator(model: model ?? self.model())
        return (coordinator, try coordinator.addStore(at: name.hasPrefix("/") ? name : path(name), options: options))
    }

    private func save(_ text: String, bytes: Int = 0, _ coordinator: Coordinator) throws {
        let context = Context(coordinator: coordinator)
        let note = try context.insert("Note")
        try note.setValue(.string(text), forKey: "text")
        if bytes > 0 { try note.setValue(.bytes(Bytes([UInt8](repeating: 7, count: bytes))), forKey: "data") }
        try context.save()
    }

    private func options(_ pragmas: [String: String]) -> StoreOptions {
        var options = StoreOptions()
        options.pragmas = pragmas
        return options
    }

    private func setting(_ name: String, of store: Store) throws -> String {
        let backing = try XCTUnwrap(store.backing as? SQLiteStore)
        return try backing.withFile { file in
            let statement = try file.connection.prepare("PRAGMA \(name)", "test")
            return try statement.step("test") ? statement.text(0) ?? "" : ""
        }
    }

    private func mode(_ name: String) throws -> Int {
        let found = try FileManager.default.attributesOfItem(atPath: path(name))[.posixPermissions]
        return try XCTUnwrap(found as? Int)
    }

    func testOptimizationAfterALargeSaveKeepsTheBusyTimeout() throws {
        let (coordinator, store) = try opened("waits.sqlite")
        let backing = try XCTUnwrap(store.backing as? SQLiteStore)
        try save("before", coordinator)
        try backing.withFile { backing.optimizeAfterSave($0, changes: 100_000) }
        nonisolated(unsafe) let other = try Connection(
            path("waits.sqlite"), path: "waits.sqlite", flags: SQLITE_OPEN_READWRITE)
        try other.execute("BEGIN IMMEDIATE", "test")
        let hasEnded = expectation(description: "the other's transaction")
        DispatchQueue.global().asyncAfter(deadline: .now() + 0.3) {
            try? other.execute("ROLLBACK", "test")
            hasEnded.fulfill()
        }
        try save("after", coordinator)
        wait(for: [hasEnded], timeout: 60)
    }

    func testPragmasAreApplied() throws {
        let given = [
            "cache_size": "-4096", "SYNCHRONOUS": "Normal", "fullfsync": "yes", "secure_delete": "fast",
            "temp_store": "1",
            "journal_size_limit": "100000", "checkpoint_fullfsync": "1", "busy_timeout": "77", "threads": "2",
        ]
        let wanted = [
            "cache_size": "-4096", "synchronous": "1", "fullfsync": "1", "secure_delete": "2", "temp_store": "1",
            "journal_size_limit": "100000", "checkpoint_fullfsync": "1",
        ]
        let (coordinator, store) = try opened("a.sqlite", options(given))
        for (name, value) in wanted { XCTAssertEqual(try setting(name, of: store), value, name) }
        try save("x", coordinator)
        XCTAssertEqual(store.warnings, [])
    }

    func testBusyTimeoutLimitsTheWaitForALock() throws {
        for (wait, least) in [("0", 0.0), ("2", 0.002), ("200", 0.2)] {
            let (coordinator, store) = try opened("\(wait).sqlite", options(["busy_timeout": wait]))
            let other = try Connection(store.path, path: store.path, flags: SQLITE_OPEN_READWRITE)
            defer { other.close() }
            try other.execute("BEGIN IMMEDIATE", "test")
            let start = Date()
            XCTAssertThrowsError(try save("x", coordinator)) {
                XCTAssertEqual(($0 as? CoreError)?.status, .storeBusy, "\($0)")
            }
            let waited = Date().timeIntervalSince(start)
            XCTAssertTrue(waited >= least && waited < least + 5, "\(wait): \(waited)")
            try other.execute("ROLLBACK", "test")
            try save("x", coordinator)
        }
    }

    func testJournalModesAreApplied() throws {
        for mode in ["delete", "truncate", "persist", "wal"] {
            let (coordinator, store) = try opened("\(mode).sqlite", options(["journal_mode": mode]))
            XCTAssertEqual(try setting("journal_mode", of: store), mode)
            try save(mode, bytes: 200_000, coordinator)
            let context = Context(coordinator: coordinator)
            let note = try XCTUnwrap(context.notes().first)
            try note.setValue(.bytes(Bytes([1])), forKey: "data")
            try context.save()
            XCTAssertEqual(try opened("\(mode).sqlite", options(["journal_mode": mode])).coordinator.stores.count, 1)
        }
        XCTAssertEqual(try shell("wal.sqlite", "PRAGMA page_size"), "4096")
    }

    func testPageSizeAndAutoVacuumApplyToANewStore() throws {
        _ = try opened("a.sqlite", options(["page_size": "8192", "auto_vacuum": "none"]))
        XCTAssertEqual(try shell("a.sqlite", "PRAGMA page_size; PRAGMA auto_vacuum"), "8192\n0")
        XCTAssertEqual(
            try StoreMetadata(ofStoreAt: path("a.sqlite")).values[StoreMetadata.Key.autoVacuum], .string("0"))
        XCTAssertEqual(try StoreReport(ofStoreAt: path("a.sqlite")).problems.count, 0)
    }

    func testInvalidPragmasAreRejected() throws {
        let cases = [
            ("locking_mode", "exclusive", "locking_mode"), ("cachesize", "1", "did you mean \"cache_size\""),
            ("journal_mode", "memory", "\"wal\", \"delete\", \"truncate\" or \"persist\""),
            ("journal_mode", "off", "\"wal\", \"delete\""),
            ("synchronous", "4", "\"off\", \"normal\", \"full\" or \"extra\""),
            ("cache_size", "many", "an integer from"),
            ("page_size", "1000", "a power of two from 512 to 65536"), ("fullfsync", "", "\"off\" or \"on\""),
            ("cache_size", "1;DROP TABLE ZNOTE", "an integer"), ("x; DROP TABLE ZNOTE; --", "1", "is not supported"),
            ("writable_schema", "1", "is not supported"),
        ]
        for (name, value, words) in cases {
            let error = failure { _ = try opened("a.sqlite", options([name: value])) }
            XCTAssertEqual(error.status, .invalidArgument, name)
            XCTAssertEqual(error.key, name)
            XCTAssertEqual(error.value, .string(value))
            XCTAssertEqual(error.file, path("a.sqlite"))
            XCTAssert(error.message.contains(words), error.message)
        }
        var both = options(["journal_mode": "wal"])
        both.rollbackJournal = true
        XCTAssert(failure { _ = try opened("a.sqlite", both) }.message.contains("rollback journal"))
        both = options(["synchronous": "full"])
        both.normalSync = true
        XCTAssert(failure { _ = try opened("a.sqlite", both) }.message.contains("normal synchronisation"))
        let twice = failure { _ = try opened("a.sqlite", options(["fullfsync": "1", "FULLFSYNC": "1"])) }
        XCTAssert(twice.message.contains("twice"), twice.message)
        XCTAssertEqual(try files(), [])
    }

    /// Every pragma at its limits, with each of its keywords, and with values beyond its limits.
    func testPragmasAcceptValuesAtTheirLimitsOnly() throws {
        let flag = ["off": "0", "on": "1", "no": "0", "yes": "1", "false": "0", "true": "1", "0": "0", "1": "1"]
        let flags = ["automatic_index", "cache_spill", "cell_size_check", "checkpoint_fullfsync", "fullfsync"]
        var good: [(String, String, String)] = flags.flatMap { name in flag.map { (name, $0.key, $0.value) } }
        var bad: [(String, String)] = flags.flatMap { name in ["2", "-1", "maybe"].map { (name, $0) } }
        for (name, range) in [
            ("analysis_limit", 0...1_000_000), ("busy_timeout", 0...2_147_483_647),
            ("cache_size", -1_073_741_824...1_073_741_824), ("journal_size_limit", -1...1_099_511_627_776),
            ("threads", 0...8), ("wal_autocheckpoint", 0...1_073_741_824),
        ] {
            good += [range.lowerBound, range.upperBound].map { (name, "\($0)", "\($0)") }
            bad += [range.lowerBound - 1, range.upperBound + 1].map { (name, "\($0)") } + [(name, "x"), (name, "")]
        }
        good += [512, 1024, 2048, 4096, 8192, 16384, 32768, 65536].map { ("page_size", "\($0)", "\($0)") }
        bad += ["0", "256", "513", "1000", "131072"].map { ("page_size", $0) }
        good += [
            ("auto_vacuum", "none", "0"), ("auto_vacuum", "FULL", "1"), ("auto_vacuum", "incremental", "2"),
            ("auto_vacuum", "2", "2"), ("synchronous", "off", "0"), ("synchronous", "normal", "1"),
            ("synchronous", "full", "2"), ("synchronous", "extra", "3"), ("synchronous", "3", "3"),
            ("temp_store", "default", "0"), ("temp_store", "file", "1"), ("temp_store", "memory", "2"),
            ("secure_delete", "off", "off"), ("secure_delete", "on", "on"), ("secure_delete", "fast", "fast"),
            ("journal_mode", "wal", "wal"), ("journal_mode", "Delete", "delete"),
            ("journal_mode", "truncate", "truncate"), ("journal_mode", "persist", "persist"),
        ]
        bad += [("auto_vacuum", "3"), ("temp_store", "3"), ("secure_delete", "1"), ("journal_mode", "0")]
        for (name, value, word) in good {
            XCTAssertEqual(try StorePragmas(options([name: value]), path: "a")[name], word, "\(name)=\(value)")
        }
        for (name, value) in bad {
            let error = failure { _ = try StorePragmas(options([name: value]), path: "a") }
            XCTAssertEqual(error.status, .invalidArgument, "\(name)=\(value)")
            XCTAssertEqual([error.key, error.file], [name, "a"])
            XCTAssertEqual(error.code, 134080)
        }
    }

    /// Pragmas without special handling are set one by one, in the order of their names.
    func testPragmasBecomeStatementsInTheOrderOfTheirNames() throws {
        let all = [
            "analysis_limit": "5", "auto_vacuum": "full", "automatic_index": "off", "busy_timeout": "1",
            "cache_size": "2",
            "cache_spill": "yes", "cell_size_check": "on", "checkpoint_fullfsync": "on", "fullfsync": "on",
            "journal_mode": "wal", "journal_size_limit": "-1", "page_size": "512", "secure_delete": "fast",
            "synchronous": "full", "temp_store": "file", "threads": "3", "wal_autocheckpoint": "4",
        ]
        let pragmas = try StorePragmas(options(all), path: "a")
        XCTAssertEqual(
            pragmas.statements,
            ";PRAGMA analysis_limit=5;PRAGMA automatic_index=0;PRAGMA cache_spill=1;PRAGMA cell_size_check=1"
                + ";PRAGMA checkpoint_fullfsync=1;PRAGMA fullfsync=1;PRAGMA journal_size_limit=-1;PRAGMA secure_delete=fast"
                + ";PRAGMA threads=3")
        XCTAssertEqual(pragmas.number("busy_timeout", else: 9), 1)
        let none = try StorePragmas(StoreOptions(), path: "a")
        XCTAssertEqual(none.statements, "")
        XCTAssertEqual(none.number("busy_timeout", else: 9), 9)
        XCTAssertNil(none["page_size"])
        // A pragma that agrees with another option is accepted.
        var agreed = options(["journal_mode": "truncate", "synchronous": "1"])
        (agreed.rollbackJournal, agreed.normalSync) = (true, true)
        XCTAssertEqual(try StorePragmas(agreed, path: "a")["journal_mode"], "truncate")
    }

    func testStoreOptionsDetermineSettingsWithoutPragmas() throws {
        func check(_ name: String, _ options: StoreOptions, _ settings: [String: String]) throws {
            let (coordinator, store) = try opened(name, options)
            for (setting, value) in settings { XCTAssertEqual(try self.setting(setting, of: store), value, setting) }
            try coordinator.remove(store)
        }
        var options = StoreOptions()
        try check(
            "a.sqlite", options, ["synchronous": "2", "journal_mode": "wal", "temp_store": "2", "auto_vacuum": "2"])
        (options.normalSync, options.rollbackJournal, options.cacheKilobytes) = (true, true, 3000)
        try check("b.sqlite", options, ["synchronous": "1", "journal_mode": "delete", "cache_size": "-3000"])
        // The cache has at least 64 kilobytes.
        options.cacheKilobytes = 63
        try check("c.sqlite", options, ["cache_size": "-64"])
        try check("b.sqlite", .readOnly, ["temp_store": "0", "synchronous": "2"])
    }

    func testAnalyzeAndVacuumRunWhenTheStoreOpens() throws {
        var (coordinator, store) = try opened("a.sqlite")
        for place in 0..<50 { try save(String(repeating: "\(place)", count: 2000), coordinator) }
        let context = Context(coordinator: coordinator)
        for note in try context.notes() { try context.delete(note) }
        try context.save()
        try save("kept", coordinator)
        try coordinator.remove(store)
        let before = try XCTUnwrap(Int(try shell("a.sqlite", "PRAGMA page_count")))
        var options = StoreOptions()
        (options.vacuums, options.analyzes) = (true, true)
        (coordinator, store) = try opened("a.sqlite", options)
        XCTAssertEqual(try Context(coordinator: coordinator).notes().count, 1)
        try save("more", coordinator)
        try coordinator.remove(store)
        XCTAssertLessThan(try XCTUnwrap(Int(try shell("a.sqlite", "PRAGMA page_count"))), before)
        XCTAssertEqual(try shell("a.sqlite", "SELECT count(*) > 0 FROM sqlite_stat1"), "1")
        XCTAssertEqual(try StoreReport(ofStoreAt: path("a.sqlite")).problems.count, 0)
        options.isReadOnly = true
        let error = failure { _ = try opened("a.sqlite", options) }
        XCTAssertEqual(error.status, .invalidArgument)
        XCTAssert(error.message.contains("read-only"), error.message)
    }

    func testIgnoringVersionsAcceptsOtherHashesButNotOtherTypes() throws {
        let (coordinator, store) = try opened("a.sqlite")
        try save("x", coordinator)
        try coordinator.remove(store)
        let other = Model()
        let note = try other.addEntity(named: "Note")
        try note.addAttribute(named: "text", type: .string).setOptional(false)
        try note.addAttribute(named: "data", type: .binary).setAllowsExternalStorage(true)
        XCTAssertEqual(failure { _ = try opened("a.sqlite", StoreOptions(), other) }.status, .modelMismatch)
        var options = StoreOptions()
        options.ignoresVersioning = true
        options.isReadOnly = true
        XCTAssertEqual(try Context(coordinator: opened("a.sqlite", options, other).coordinator).notes().count, 1)
        XCTAssertEqual(failure { _ = try opened("a.sqlite", StoreOptions(), other) }.status, .modelMismatch)
        options.isReadOnly = false
        let (again, writable) = try opened("a.sqlite", options, other)
        XCTAssertFalse(writable.isReadOnly)
        try save("y", again)
        try again.remove(writable)
        XCTAssertEqual(try StoreReport(ofStoreAt: path("a.sqlite")).problems.map(\.message), [])
        XCTAssertEqual(
            try Context(coordinator: self.opened("a.sqlite", StoreOptions(), other).coordinator).notes().count, 2)
        // An attribute of another type is a mismatch even if versions are ignored.
        let strange = Model()
        let entity = try strange.addEntity(named: "Note")
        try entity.addAttribute(named: "text", type: .date)
        let error = failure { _ = try self.opened("a.sqlite", options, strange) }
        XCTAssertEqual(error.status, .modelMismatch)
        XCTAssertEqual(error.key, "text")
    }

    func testFileModeAppliesToAllFilesOfANewStore() throws {
        var options = StoreOptions()
        options.fileMode = 0o640
        let (coordinator, _) = try opened("a.sqlite", options)
        try save("x", bytes: 200_000, coordinator)
        for file in ["a.sqlite", "a.sqlite-wal", "a.sqlite-shm"] { XCTAssertEqual(try mode(file), 0o640, file) }
        XCTAssertEqual(try mode(".a_SUPPORT"), 0o750)
        XCTAssertEqual(try mode(".a_SUPPORT/_EXTERNAL_DATA"), 0o750)
        let name = try FileManager.default.contentsOfDirectory(atPath: path(".a_SUPPORT/_EXTERNAL_DATA"))[0]
        XCTAssertEqual(try mode(".a_SUPPORT/_EXTERNAL_DATA/\(name)"), 0o640)
        for mode: UInt32 in [0o400, 0o1777, 0] {
            options.fileMode = mode
            let error = failure { _ = try opened("b.sqlite", options) }
            XCTAssertEqual(error.status, .invalidArgument)
            XCTAssertEqual(error.key, "file_mode")
        }
        XCTAssertFalse(FileManager.default.fileExists(atPath: path("b.sqlite")))
    }

    func testThresholdDeterminesWhichValuesAreExternal() throws {
        func names() -> [String] {
            (try? FileManager.default.contentsOfDirectory(atPath: path(".a_SUPPORT/_EXTERNAL_DATA"))) ?? []
        }
        var options = StoreOptions()
        options.externalDataThreshold = 1000
        var (coordinator, store) = try opened("a.sqlite", options)
        try save("small", bytes: 1000, coordinator)
        XCTAssertEqual(names().count, 0)
        try save("large", bytes: 1001, coordinator)
        XCTAssertEqual(names().count, 1)
        try coordinator.remove(store)
        options.externalDataThreshold = .max
        (coordinator, store) = try opened("a.sqlite", options)
        try save("huge", bytes: 1_000_000, coordinator)
        XCTAssertEqual(names().count, 1)
        let context = Context(coordinator: coordinator)
        let sizes = try context.notes().map { note -> Int in
            let value = try note.value(forKey: "data")
            if case .bytes(let bytes) = value { return bytes.count }
            return 0
        }
        XCTAssertEqual(sizes.sorted(), [1000, 1001, 1_000_000])
    }

    func testDevNullIsAnInMemoryStore() throws {
        let model = try model()
        let (coordinator, store) = try opened("/dev/null", StoreOptions(), model)
        let (other, _) = try opened("/dev/null", StoreOptions(), model)
        try save("x", bytes: 1_000_000, coordinator)
        XCTAssertEqual(try Context(coordinator: coordinator).notes().count, 1)
        XCTAssertEqual(try Context(coordinator: other).notes().count, 0)
        XCTAssertEqual(store.path, "/dev/null")
        XCTAssertEqual(store.type, .sqlite)
        _ = try coordinator.addStore(at: "/dev/null")
        XCTAssertEqual(failure { try coordinator.destroyStore(at: "/dev/null") }.status, .invalidArgument)
        let copy = try coordinator.migrateStore(store, to: .sqlite, at: path("kept.sqlite"))
        XCTAssertFalse(copy.isReadOnly)
        var options = StoreOptions()
        options.isReadOnly = true
        XCTAssertEqual(failure { _ = try opened("/dev/null", options) }.status, .invalidArgument)
        XCTAssertEqual(try files(), [".kept_SUPPORT", "kept.sqlite", "kept.sqlite-shm", "kept.sqlite-wal"])
    }

    func testAppleOptionsGiveWarningsOrErrors() throws {
        var options = StoreOptions()
        options.foreignOptions = ["NSPersistentStoreUbiquitousContentNameKey", "NSPersistentStoreFileProtectionKey"]
        let (_, store) = try opened("a.sqlite", options)
        XCTAssertEqual(store.warnings.count, 2)
        XCTAssert(store.warnings[0].contains("stores are not synchronised with iCloud"), store.warnings[0])
        options.foreignOptions = ["NSValidateXMLStoreOption"]
        let validated = try Coordinator(model: model()).addStore(.xml, at: path("a.xml"), options: options)
        XCTAssert(validated.warnings.first?.contains("always validated") == true, "\(validated.warnings)")
        options.foreignOptions = ["NSReadOnlyPersistentStoreOption"]
        let error = failure { _ = try opened("b.sqlite", options) }
        XCTAssertEqual(error.status, .invalidArgument)
        XCTAssertEqual(error.key, "NSReadOnlyPersistentStoreOption")
        XCTAssert(error.message.contains("CST_STORE_READ_ONLY"), error.message)
        options.foreignOptions = ["NSPersistentStoreUbiquitousContentName"]
        XCTAssert(failure { _ = try opened("b.sqlite", options) }.message.contains("did you mean"))
        XCTAssertFalse(FileManager.default.fileExists(atPath: path("b.sqlite")))
        let memory = try Coordinator(model: model()).addStore(
            .inMemory, at: "m", options: self.options(["fullfsync": "1"]))
        XCTAssert(memory.warnings.first?.contains("pragmas") == true)
    }
}

extension Context {
    fileprivate func notes() throws -> [ManagedObject] {
        Array(try fetch(FetchRequest(entity: coordinator.model.requireEntity(named: "Note"))))
    }
}
