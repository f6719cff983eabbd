import CSQLite
import CorestoneFileSystem
import CorestoneFormats
import CorestoneGraph
import CorestoneModel
@testable import CorestoneSQLite
import CorestoneValues
import Foundation
import XCTest

/// Untrusted files: reading never changes them, and errors name the problem of a file.
final class SafetyTests: StoreTestCase {
    private let readOnly = StoreOptions.readOnly

    /// Names, bytes and times of the files in the test's folder.
    private func listing() throws -> [String: [AnyHashable]] {
        var listing: [String: [AnyHashable]] = [:]
        for name in try files() {
            var facts = stat()
            XCTAssertEqual(stat(path(name), &facts), 0)
            let bytes = try Data(contentsOf: URL(fileURLWithPath: path(name)))
            listing[name] = [bytes, facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec, facts.st_ino]
        }
        return listing
    }

    private func copy(_ name: String, to other: String) throws {
        try? FileManager.default.removeItem(atPath: path(other))
        try FileManager.default.copyItem(atPath: path(name), toPath: path(other))
    }

    private func connection(_ name: String) -> OpaquePointer? {
        var db: OpaquePointer?
        XCTAssertEqual(sqlite3_open(path(name), &db), SQLITE_OK)
        return db
    }

    private func run(_ db: OpaquePointer?, _ sql: String, line: UInt = #line) {
        XCTAssertEqual(sqlite3_exec(db, sql, nil, nil, nil), SQLITE_OK, String(cString: sqlite3_errmsg(db)), line: line)
    }

    private func cages(_ store: SQLiteStore, _ zoo: Zoo) throws -> Int {
        try store.fetch(StoreFetch(entity: zoo.cage, result: .count)).count
    }

    /// Makes a store with `count` cages in the file itself.
    private func make(_ name: String, _ zoo: Zoo, count: Int, rollback: Bool = false) throws {
        var options = StoreOptions()
        options.rollbackJournal = rollback
        let store = try open(name, zoo.model, options: options)
        var rows = Rows()
        try store.save { save in
            for key in 1...Int64(count) {
                try save.insert([rows.add(zoo.cage, key, ["number": .int(key)])], entity: zoo.cage)
            }
        }
        store.close()
    }

    func testReadOnlyStoreDoesNotLockTheFile() throws {
        let zoo = try Zoo()
        try make("zoo.sqlite", zoo, count: 3, rollback: true)
        let before = try listing()
        let store = try open("zoo.sqlite", zoo.model, options: readOnly)
        XCTAssertEqual(try cages(store, zoo), 3)
        XCTAssertEqual(try listing() as NSDictionary, before as NSDictionary)
        let writer = connection("zoo.sqlite")
        run(writer, "BEGIN EXCLUSIVE; INSERT INTO ZCAGE (Z_PK, Z_ENT, Z_OPT) VALUES (9, 3, 1)")
        // Uncommitted rows of the writer are not visible.
        XCTAssertEqual(try cages(store, zoo), 3)
        run(writer, "COMMIT")
        sqlite3_close(writer)
        let error = failure { _ = try cages(store, zoo) }
        XCTAssertEqual(error.status, .storeBusy)
        XCTAssert(error.message.contains("add it again"), error.message)
        store.close()
        let again = try open("zoo.sqlite", zoo.model, options: readOnly)
        XCTAssertEqual(try cages(again, zoo), 4)
        again.close()
    }

    /// A hot journal is rolled back in a private copy; a finished journal is ignored.
    func testHotJournalIsRolledBackInAPrivateCopy() throws {
        let zoo = try Zoo()
        try make("zoo.sqlite", zoo, count: 200, rollback: true)
        let writer = connection("zoo.sqlite")
        run(writer, "PRAGMA cache_size=1; PRAGMA cache_spill=1; BEGIN; UPDATE ZCAGE SET ZNUMBER = 0; DELETE FROM ZCAGE")
        try copy("zoo.sqlite", to: "crashed.sqlite")
        try copy("zoo.sqlite-journal", to: "crashed.sqlite-journal")
        run(writer, "ROLLBACK; PRAGMA journal_mode=PERSIST; INSERT INTO ZCAGE (Z_PK, Z_ENT, Z_OPT) VALUES (201, 3, 1)")
        sqlite3_close(writer)
        let before = try listing()
        XCTAssertNotNil(before["zoo.sqlite-journal"])
        for (name, count) in [("crashed.sqlite", 200), ("zoo.sqlite", 201)] {
            let store = try open(name, zoo.model, options: readOnly)
            XCTAssertEqual(try cages(store, zoo), count, name)
            XCTAssertEqual(try store.fetch(StoreFetch(entity: zoo.cage)).batch.records.count, count, name)
            store.close()
        }
        XCTAssertEqual(try listing() as NSDictionary, before as NSDictionary)
    }

    /// Files of a store with a live log, and the state of the main file alone.
    private func makeLive(_ zoo: Zoo) throws {
        try make("zoo.sqlite", zoo, count: 2)
        let writer = try open("zoo.sqlite", zoo.model)
        var rows = Rows()
        try writer.save { save in
            for key in 3...50 as ClosedRange<Int64> {
                try save.insert([rows.add(zoo.cage, key, ["number": .int(key)])], entity: zoo.cage)
            }
        }
        try copy("zoo.sqlite", to: "live.sqlite")
        try copy("zoo.sqlite-wal", to: "live.sqlite-wal")
        writer.close()
    }

    func testUnusableLogsAreIgnoredOrRejected() throws {
        let zoo = try Zoo()
        try makeLive(zoo)
        let log = try Data(contentsOf: URL(fileURLWithPath: path("live.sqlite-wal")))
        func counts(_ change: (inout Data) -> Void) throws -> Int {
            var bytes = log
            change(&bytes)
            try bytes.write(to: URL(fileURLWithPath: path("live.sqlite-wal")))
            let before = try listing()
            defer { XCTAssertEqual(try? listing() as NSDictionary, before as NSDictionary) }
            let store = try open("live.sqlite", zoo.model, options: readOnly)
            defer { store.close() }
            return try cages(store, zoo)
        }
        XCTAssertEqual(try counts { _ in }, 50)
        // Logs after a crash: no header, an empty header, a truncated or torn transaction.
        XCTAssertEqual(try counts { $0 = $0.prefix(20) }, 2)
        XCTAssertEqual(try counts { $0 = Data(count: 4096) }, 2)
        XCTAssertEqual(try counts { $0 = $0.prefix(32 + 24 + 4096 - 1) }, 2)
        XCTAssertEqual(try counts { $0[32 + 24 + 100] ^= 1 }, 2)
        // Logs that cannot belong to the file.
        func refusal(_ change: (inout Data) -> Void) -> String {
            let error = failure { _ = try counts(change) }
            XCTAssertEqual(error.status, .storeCorrupt)
            XCTAssertEqual(error.file, path("live.sqlite"))
            return error.message
        }
        for (place, byte, text) in [
            (0, 1, "does not have the header"), (16, 0xff, "header is damaged"), (10, 0x30, "8192 bytes"),
            (32 + 8, 0x55, "do not match its header"),
        ] as [(Int, UInt8, String)] {
            let message = refusal { $0[place] ^= byte }
            XCTAssert(message.contains(text), "\(text): \(message)")
        }
        // The log of a larger store.
        let large = try Zoo()
        try make("large.sqlite", large, count: 5000)
        let writer = connection("large.sqlite")
        run(writer, "PRAGMA wal_autocheckpoint=0; UPDATE ZCAGE SET ZNUMBER = 77 WHERE Z_PK = 1")
        try copy("large.sqlite-wal", to: "live.sqlite-wal")
        sqlite3_close(writer)
        let error = failure { _ = try open("live.sqlite", zoo.model, options: readOnly) }
        XCTAssert(error.message.contains("belongs to a file of"), error.message)
        XCTAssert(error.message.contains("move the log away"), error.message)
    }

    /// Damage that SQLite would silently ignore: a frame that was changed after it was written, and all later frames.
    func testDamagedLogIsReportedAndReadUpToTheDamage() throws {
        let zoo = try Zoo()
        try make("zoo.sqlite", zoo, count: 2)
        let writer = try open("zoo.sqlite", zoo.model)
        var rows = Rows()
        var ends: [Int] = []
        for save in 1...4 as ClosedRange<Int64> {
            try writer.save { transaction in
                for key in save * 1000..<save * 1000 + 600 {
                    try transaction.insert([rows.add(zoo.cage, key, ["number": .int(key)])], entity: zoo.cage)
                }
            }
            ends.append(try Data(contentsOf: URL(fileURLWithPath: path("zoo.sqlite-wal"))).count)
        }
        let log = try Data(contentsOf: URL(fileURLWithPath: path("zoo.sqlite-wal")))
        try copy("zoo.sqlite", to: "live.sqlite")
        let file = try Data(contentsOf: URL(fileURLWithPath: path("live.sqlite")))
        writer.close()
        let frame = 24 + 4096
        func reading(
            _ change: (inout Data) -> Void, _ options: StoreOptions, isUncertain: Bool = false
        ) throws -> (count: Int, reason: String?) {
            var bytes = log
            change(&bytes)
            try bytes.write(to: URL(fileURLWithPath: path("live.sqlite-wal")))
            let before = try listing()
            let store = try open("live.sqlite", zoo.model, options: options)
            let outcome = (try cages(store, zoo), store.readOnlyReason)
            if store.isReadOnly {
                XCTAssertEqual(try listing() as NSDictionary, before as NSDictionary)
                let report = try StoreReport(ofStoreAt: path("live.sqlite"))
                XCTAssertEqual(
                    report.problems.map(\.kind).contains(.log),
                    isUncertain || outcome.1?.contains("write-ahead log") == true)
                if isUncertain {
                    XCTAssert(
                        report.problems.contains { $0.message.contains("was skipped, because of a crash or damage") },
                        "\(report.problems)")
                }
            }
            store.close()
            return outcome
        }
        // Damage in a page, a page number, a commit mark and a checksum, of the first save and of a later one.
        let damages: [(place: Int, saved: Int, saves: String)] = [
            (32 + 24 + 100, 0, "4 saves"), (32 + 3, 0, "4 saves"), (32 + 17, 0, "4 saves"),
            (32 + frame + 24 + 7, 0, "4 saves"),
            (ends[0] + 24 + 9, 1, "3 saves"), (ends[0] + 9, 1, "3 saves"), (ends[2] + 24 + 9, 3, "1 save"),
        ]
        for damage in damages {
            for options in [readOnly, StoreOptions()] {
                let (count, reason) = try reading({ $0[damage.place] ^= 0x10 }, options)
                XCTAssertEqual(count, 2 + 600 * damage.saved, "\(damage)")
                let text = try XCTUnwrap(reason, "\(damage)")
                for word in [damage.saves, "(frame \((damage.place - 32) / frame + 1))", "move the log away"] {
                    XCTAssert(text.contains(word), "\(damage): \(text)")
                }
            }
        }
        // A crash: the last save is torn or incomplete, and frames of an earlier round follow.
        let torn: [(inout Data) -> Void] = [
            { $0.replaceSubrange(ends[2] + 10..<$0.count, with: Data(count: $0.count - ends[2] - 10)) },
            { $0 = $0.prefix(ends[2] + 100) },
            { log in
                for place in stride(from: ends[2], to: log.count, by: frame) { log[place + 8] ^= 1 }
            },
        ]
        for change in torn {
            XCTAssertEqual(
                try reading(change, readOnly).reason,
                Store.isOpenForReading)
            XCTAssertEqual(try reading(change, readOnly).count, 1802)
        }
        // Either a crash or a damaged log, which the check reports. The option is the reason.
        let last = log.count - frame + 24 + 9
        let unsure = try reading({ $0[last] ^= 1 }, readOnly, isUncertain: true)
        XCTAssertEqual(unsure.count, 1802)
        XCTAssertEqual(unsure.reason, Store.isOpenForReading)
        // A writer continues without the unfinished save.
        let writing = try reading({ $0[last] ^= 1 }, StoreOptions())
        XCTAssertNil(writing.reason)
        XCTAssertEqual(writing.count, 1802)
        // Two changed frames in a row: a damaged log, or a crash of the system while saves did not wait for the disk.
        try file.write(to: URL(fileURLWithPath: path("live.sqlite")))
        let several: (inout Data) -> Void = { log in
            for place in [ends[1], ends[1] + frame] { log[place + 24 + 9] ^= 1 }
        }
        for options in [readOnly, StoreOptions()] {
            let (count, reason) = try reading(several, options)
            XCTAssertEqual(count, 1202)
            let text = try XCTUnwrap(reason)
            XCTAssert(text.hasPrefix("2 saves in the write-ahead log cannot be read (from frame "), text)
            XCTAssert(text.contains("CST_STORE_NORMAL_SYNC"), text)
        }
        var unsynchronised = StoreOptions()
        unsynchronised.normalSync = true
        let continued = try reading(several, unsynchronised)
        XCTAssertNil(continued.reason)
        XCTAssertEqual(continued.count, 1202)
    }

    /// SQLite would drop a log with a damaged header, and everything that was saved in it.
    func testDamagedLogHeaderIsRejectedForWritersToo() throws {
        let zoo = try Zoo()
        try makeLive(zoo)
        let log = try Data(contentsOf: URL(fileURLWithPath: path("live.sqlite-wal")))
        for place in [0, 10, 17, 32 + 8] {
            var bytes = log
            bytes[place] ^= 0x10
            try bytes.write(to: URL(fileURLWithPath: path("live.sqlite-wal")))
            let before = try listing()
            let error = failure { _ = try open("live.sqlite", zoo.model) }
            XCTAssertEqual(error.status, .storeCorrupt, "byte \(place)")
            XCTAssert(error.message.contains("move the log away"), error.message)
            XCTAssertEqual(try listing() as NSDictionary, before as NSDictionary, "byte \(place)")
        }
        try log.write(to: URL(fileURLWithPath: path("live.sqlite-wal")))
        let store = try open("live.sqlite", zoo.model)
        XCTAssertEqual(try cages(store, zoo), 50)
        store.close()
    }

    /// An older log next to a newer file, as an inconsistent backup combines them.
    func testLogOlderThanTheFileIsRejected() throws {
        let zoo = try Zoo()
        try make("zoo.sqlite", zoo, count: 2000)
        func run(_ sql: String, keepingLogAs name: String? = nil) throws {
            let writer = connection("zoo.sqlite")
            self.run(writer, sql)
            if let name { try copy("zoo.sqlite-wal", to: name) }
            sqlite3_close(writer)
        }
        try run("UPDATE ZCAGE SET ZNUMBER = 0 WHERE Z_PK = 1", keepingLogAs: "rows-wal")
        try run("DELETE FROM ZCAGE WHERE Z_PK > 1000", keepingLogAs: "pages-wal")
        for _ in 0..<3 {
            try run(
                "INSERT INTO ZCAGE (Z_ENT, Z_OPT, ZNUMBER) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 "
                    + "FROM n WHERE i < 3000) SELECT 3, 1, i FROM n")
        }
        for (log, text) in [("rows-wal", "belongs to a file of"), ("pages-wal", "times since the log's last")] {
            for options in [readOnly, StoreOptions()] {
                try copy("zoo.sqlite", to: "later.sqlite")
                try copy(log, to: "later.sqlite-wal")
                let before = try listing()
                let error = failure { _ = try open("later.sqlite", zoo.model, options: options) }
                XCTAssertEqual(error.status, .storeCorrupt, log)
                XCTAssert(error.message.contains(text), "\(log): \(error.message)")
                XCTAssertEqual(try listing() as NSDictionary, before as NSDictionary, log)
            }
        }
    }

    /// A program that saves continuously does not prevent other programs from reading its store.
    func testGrowingLiveLogIsReadConsistently() throws {
        let zoo = try Zoo()
        try make("zoo.sqlite", zoo, count: 2000)
        let writer = Writer(connection("zoo.sqlite"))
        run(writer.db, "PRAGMA synchronous=OFF; PRAGMA wal_autocheckpoint=0")
        run(writer.db, "INSERT INTO ZCAGE (Z_ENT, Z_OPT) VALUES (3, 1)")
        let end = writer.start()
        var seen = 2000
        for _ in 0..<20 {
            let store = try open("zoo.sqlite", zoo.model, options: readOnly)
            let count = try cages(store, zoo)
            XCTAssertGreaterThan(count, 2000)
            XCTAssertGreaterThanOrEqual(count, seen)
            XCTAssertEqual(try store.fetch(StoreFetch(entity: zoo.cage)).batch.records.count, count)
            seen = count
            store.close()
        }
        XCTAssertGreaterThanOrEqual(end() + 2001, seen)
        sqlite3_close(writer.db)
    }

    /// Inserts cages, one per transaction, until it is stopped.
    private final class Writer: @unchecked Sendable {
        let db: OpaquePointer?
        private let lock = NSLock()
        private var isStopped = false
        private var count = 0

        init(_ db: OpaquePointer?) { self.db = db }

        /// Starts a thread. The returned function stops it and returns the number of inserted cages.
        func start() -> () -> Int {
            let done = DispatchSemaphore(value: 0)
            Thread.detachNewThread {
                while !self.lock.withLock({ self.isStopped }) {
                    if sqlite3_exec(self.db, "INSERT INTO ZCAGE (Z_ENT, Z_OPT) VALUES (3, 1)", nil, nil, nil)
                        == SQLITE_OK
                    {
                        self.count += 1
                    }
                    usleep(2000)
                }
                done.signal()
            }
            return {
                self.lock.withLock { self.isStopped = true }
                done.wait()
                return self.count
            }
        }
    }

    func testMissingLogIsReported() throws {
        let zoo = try Zoo()
        let writer = connection("new.sqlite")
        run(writer, "PRAGMA journal_mode=WAL; PRAGMA wal_autocheckpoint=0; CREATE TABLE Z_METADATA (a)")
        try copy("new.sqlite", to: "alone.sqlite")
        sqlite3_close(writer)
        let error = failure { _ = try open("alone.sqlite", zoo.model, options: readOnly) }
        XCTAssert(error.message.contains("alone.sqlite-wal"), error.message)
        XCTAssertEqual(error.status, .notAStore)
        // A truncated file whose last pages were only in the log.
        try make("zoo.sqlite", zoo, count: 2)
        try copy("zoo.sqlite", to: "cut.sqlite")
        truncate(path("cut.sqlite"), 4096 * 12)
        let cut = failure { _ = try open("cut.sqlite", zoo.model, options: readOnly) }
        XCTAssert(cut.message.contains("cut.sqlite-wal"), cut.message)
    }

    func testPrivateCopiesAreRemoved() throws {
        let zoo = try Zoo()
        try makeLive(zoo)
        let temporary = path("temporary")
        let old = temporaryFolder
        setenv("TMPDIR", temporary, 1)
        defer { setenv("TMPDIR", old, 1) }
        XCTAssert(failure { _ = try open("live.sqlite", zoo.model, options: readOnly) }.message.contains("TMPDIR"))
        try FileManager.default.createDirectory(atPath: temporary, withIntermediateDirectories: true)
        // Copies that are abandoned or in use, a file of the user, and one of another program.
        let (abandoned, busy) = ("corestone-copy-1abc", "corestone-copy-2abc")
        for name in [abandoned, busy, "corestone-copy-of-a-book", "other"] {
            try FileManager.default.createDirectory(atPath: "\(temporary)/\(name)", withIntermediateDirectories: true)
            try Data([1]).write(to: URL(fileURLWithPath: "\(temporary)/\(name)/store"))
            if name != "other" { try Data().write(to: URL(fileURLWithPath: "\(temporary)/\(name)/.lock")) }
        }
        let lock = Glibc.open("\(temporary)/\(busy)/.lock", O_RDONLY)
        flock(lock, LOCK_SH)
        let store = try open("live.sqlite", zoo.model, options: readOnly)
        XCTAssertEqual(
            try FileManager.default.contentsOfDirectory(atPath: temporary).sorted(),
            [busy, "corestone-copy-of-a-book", "other"])
        XCTAssertEqual(try cages(store, zoo), 50)
        store.close()
        close(lock)
    }

    /// A live log on a read-only medium. Runs as another user, because root may write everything.
    func testLiveLogOnAReadOnlyMediumIsRead() throws {
        let zoo = try Zoo()
        try makeLive(zoo)
        for name in try files() { chmod(path(name), 0o444) }
        chmod(folder, 0o555)
        let isRoot = geteuid() == 0
        if isRoot { XCTAssertEqual(seteuid(65534), 0) }
        defer {
            if isRoot { seteuid(0) }
            chmod(folder, 0o755)
        }
        let before = try listing()
        let store = try open("live.sqlite", zoo.model, options: readOnly)
        XCTAssertEqual(try cages(store, zoo), 50)
        store.close()
        XCTAssertEqual(try listing() as NSDictionary, before as NSDictionary)
    }

    func testErrorNamesTheKindOfAnotherFile() throws {
        let zoo = try Zoo()
        var generator = SplitMix(state: 3)
        let noise = Data((0..<8192).map { _ in UInt8.random(in: 0...255, using: &generator) })
        let metadata = encodePropertyList(.dictionary(["NSStoreModelVersionHashes": .dictionary([:])]))
        let xml = "<?xml version=\"1.0\"?>\n<!DOCTYPE database SYSTEM \"x\">\n<database></database>"
        let cases: [(Data, Status, String)] = [
            (Data(xml.utf8), .unsupported, "an XML store"),
            (Data("<?xml version=\"1.0\"?><model></model>".utf8), .notAStore, "a model in source form"),
            (Data(metadata), .unsupported, "a binary store"),
            (Data(try compiledModel(zoo.model)), .notAStore, "a compiled model"),
            (Data(encodePropertyList(.string("no store"))), .notAStore, "a property list"),
            (Data("dear aunt".utf8), .notAStore, "a text file"),
            (noise, .notAStore, "appears to be encrypted"),
            (Data([0x1f, 0x8b]) + noise, .notAStore, "a gzip archive"),
            (Data("PK\u{3}\u{4}".utf8) + noise, .notAStore, "a zip archive"),
            (Data([0xfd] + Array("7zXZ".utf8)) + noise, .notAStore, "xz archive"),
            (Data("BZh".utf8) + noise, .notAStore, "a bzip2 archive"),
            (Data([0x28, 0xb5, 0x2f, 0xfd]) + noise, .notAStore, "a Zstandard archive"),
            (Data(Array("7z".utf8) + [0xbc, 0xaf]) + noise, .notAStore, "a 7z archive"),
            (Data([0x04, 0x0b] + Array("streamtyped".utf8)) + noise, .unsupported, "an archive of Apple's"),
            (Data([0xef, 0xbb, 0xbf] + Array("dear\taunt\r\n".utf8)), .notAStore, "a text file"),
            // Too few bytes to detect encryption by their distribution.
            (noise.prefix(1023), .notAStore, "not an SQLite database"),
            (Data((0..<4096).map { UInt8($0 % 7) }), .notAStore, "not an SQLite database"),
        ]
        for (bytes, status, text) in cases {
            try bytes.write(to: URL(fileURLWithPath: path("file")))
            for options in [readOnly, StoreOptions()] {
                let error = failure { _ = try open("file", zoo.model, options: options) }
                XCTAssertEqual(error.status, status, error.message)
                XCTAssertEqual(error.code, status == .unsupported ? 134000 : 134080, error.message)
                XCTAssert(error.message.contains(text), error.message)
                XCTAssertEqual(error.file, path("file"))
            }
            XCTAssertEqual(try Data(contentsOf: URL(fileURLWithPath: path("file"))), bytes)
        }
        XCTAssertEqual(try files(), ["file"])
    }
}
