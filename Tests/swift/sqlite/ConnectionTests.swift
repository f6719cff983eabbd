import CSQLite
import CorestoneGraph
import CorestoneModel
import CorestoneValues
import Foundation
import XCTest

@testable import CorestoneSQLite

/// The layer above SQLite: errors, query plans, formats and text.
final class ConnectionTests: StoreTestCase {
    func testSQLiteErrorsBecomeStatusesAndCodes() {
        let cases: [(Int32, Status, Int, String)] = [
            (SQLITE_BUSY, .storeBusy, 134090, "another process or connection holds the lock"),
            (SQLITE_LOCKED, .storeBusy, 134090, "raise busy_timeout_ms (busy_timeout)"),
            (SQLITE_READONLY, .storeReadOnly, 134180, "make the file and its folder writable"),
            (SQLITE_PERM, .storeReadOnly, 134180, "make the file and its folder writable"),
            (SQLITE_AUTH, .storeReadOnly, 134180, "make the file and its folder writable"),
            (SQLITE_CORRUPT, .storeCorrupt, 134180, "restore the damaged file"),
            (SQLITE_NOTADB, .notAStore, 134180, "pass the path of an SQLite database"),
            (SQLITE_FULL, .storeIO, 134180, "free some space"),
            (SQLITE_CANTOPEN, .storeIO, 134180, "check that the folder exists"),
            (SQLITE_IOERR, .storeIO, 134180, "check the disk and the file system"),
            (SQLITE_INTERRUPT, .cancelled, 134180, "cancelled by the application"),
            (SQLITE_NOMEM, .noMemory, 134180, "free some memory"),
            (SQLITE_TOOBIG, .invalidArgument, 134180, "SQLite's limit of 1,000,000,000 bytes"),
            (SQLITE_CONSTRAINT, .conflict, 134180, "change the values that violate the constraint"),
            (SQLITE_ERROR, .internal, 134180, "run corestone check"),
            (SQLITE_MISMATCH, .internal, 134180, "run corestone check"),
            (SQLITE_PROTOCOL, .internal, 134180, "; try again"),
            (SQLITE_MISUSE, .internal, 134180, "; report it as a defect of the library"),
            (SQLITE_NOLFS, .internal, 134180, "cannot save it: words (SQLite"),
        ]
        for (code, status, cocoa, words) in cases {
            // An extended code has the primary one in its low byte.
            for code in [code, code | 5 << 8] {
                let error = SQLiteError.make(code: code, text: "words", path: "a.sqlite", purpose: "save it")
                XCTAssertEqual(error.status, status, "\(code)")
                XCTAssertEqual(error.code, cocoa, "\(code)")
                XCTAssertEqual(error.sqliteCode, code)
                XCTAssertEqual(error.file, "a.sqlite")
                XCTAssert(error.message.hasPrefix("cannot save it"), error.message)
                XCTAssert(error.message.contains(words), error.message)
            }
        }
        for (text, status) in [
            ("no such table: ZNOTE", Status.storeCorrupt), ("no such column: ZTEXT", .storeCorrupt),
            ("near \"x\": no such table", .internal),
        ] {
            let error = SQLiteError.make(
                code: SQLITE_ERROR, text: text, path: "a", purpose: "read", cocoaCode: .persistentStoreOpen)
            XCTAssertEqual(error.status, status, text)
            XCTAssertEqual(error.code, 134080)
        }
        // A temporary file cannot be checked.
        XCTAssertEqual(
            SQLiteError.make(code: SQLITE_ERROR, text: "words", path: "a", purpose: "save", isTemporary: true).message,
            "cannot save: words (SQLite 1)")
        // A timeout has the same status for every operation.
        XCTAssertEqual(
            SQLiteError.make(code: SQLITE_BUSY, text: "", path: "a", purpose: "x", cocoaCode: .persistentStoreOpen)
                .code,
            134090)
    }

    func testErrorSuggestsALongerTimeoutOnlyIfTheApplicationCanSetIt() throws {
        var options = StoreOptions()
        options.busyTimeoutMilliseconds = 20
        let model = Model()
        try model.addEntity(named: "Note").addAttribute(named: "text", type: .string)
        try model.freeze()
        let store = try open("a.sqlite", model, options: options)
        defer { store.close() }
        let place = try StoreLocation(path("a.sqlite"))
        let writer = try Connection(place.path, path: place.given, flags: SQLITE_OPEN_READWRITE)
        try writer.execute("BEGIN IMMEDIATE", "lock the store")
        for (timeout, remedy) in [
            (20, "; try again, or raise busy_timeout_ms (busy_timeout)"),
            (nil, "; try again while other connections do not save"),
        ] as [(Int?, String)] {
            let connection = try Connection.forChanging(place, busyTimeout: timeout, "change it")
            XCTAssertEqual(connection.busyTimeout, timeout.map { Int32($0) } ?? 5000)
            connection.waitForLocks(milliseconds: 0)
            let error = failure { try connection.execute("BEGIN IMMEDIATE", "change it") }
            XCTAssertEqual(error.status, .storeBusy)
            XCTAssertTrue(error.message.hasSuffix(remedy), error.message)
        }
        // A pinned reader has the time-out of its store.
        XCTAssertEqual(try store.connectionForReading().busyTimeout, 20)
    }

    func testQueryPlanNamesItsIndexes() {
        let details: [(String, [String])] = [
            ("SEARCH t0 USING INDEX Z_Note_byText (ZTEXT=?)", ["Z_Note_byText"]),
            ("SEARCH t1 USING COVERING INDEX ZNOTE_ZBOX_INDEX (ZBOX=?)", ["ZNOTE_ZBOX_INDEX"]),
            ("SEARCH t1 USING AUTOMATIC PARTIAL COVERING INDEX (ZBOX=?)", []),
            ("SEARCH t0 USING INTEGER PRIMARY KEY (rowid=?)", []), ("SCAN t0", []),
            ("USE TEMP B-TREE FOR ORDER BY", []),
            ("SCAN Z_RT_Note_byPlace VIRTUAL TABLE INDEX 2:D1B0", ["Z_RT_Note_byPlace"]),
            ("SCAN json_each VIRTUAL TABLE INDEX 1:", []), ("MULTI-INDEX OR", []), ("INDEX", []),
        ]
        for (detail, names) in details {
            let step = FetchExplanation.Step(detail: detail, depth: 0)
            XCTAssertEqual(QueryPlan.indexes(in: [step]), names, detail)
        }
        // In the order of their names, without duplicates.
        let steps = [details[1], details[0], details[1], details[6], details[6]].map {
            FetchExplanation.Step(detail: $0.0, depth: 0)
        }
        XCTAssertEqual(QueryPlan.indexes(in: steps), ["ZNOTE_ZBOX_INDEX", "Z_Note_byText", "Z_RT_Note_byPlace"])
    }

    func testStepsOfAQueryPlanHaveDepths() throws {
        let connection = try Connection(
            path("a.sqlite"), path: "a", flags: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE)
        defer { connection.close() }
        try connection.execute("CREATE TABLE t (a, b); CREATE INDEX i ON t (a)", "test")
        let steps = try QueryPlan.steps(of: "SELECT a FROM t WHERE a = ? OR b IN (SELECT b FROM t)", in: connection)
        XCTAssertEqual(steps.first?.depth, 0)
        XCTAssertTrue(steps.contains { $0.depth == 1 }, "\(steps)")
        XCTAssertEqual(failure { _ = try QueryPlan.steps(of: "SELECT", in: connection) }.status, .internal)
    }

    func testExpressionsOfIndexesAreCounted() throws {
        let cases: [(String, Int, Bool)] = [
            ("a, b", 0, false), ("a || b", 1, false), ("a, b||a||'x'", 3, false), ("b -> '$.x'", 1, false),
            ("b ->> '$.x'", 1, false), ("upper(a)", 1, false), ("a || b, a LIKE 'x'", 2, true),
            ("a || b, a GLOB 'x'", 2, true), ("a) WHERE (b || a) > 'x'", 1, false),
        ]
        for (columns, count, searches) in cases {
            let connection = try Connection(
                ":memory:", path: "memory", flags: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE)
            defer { connection.close() }
            let end = columns.contains(" WHERE ") ? "" : ")"
            try connection.execute("CREATE TABLE t (a, b); CREATE INDEX i ON t (\(columns)\(end)", "test")
            let parts = try ExpressionParts(of: connection)
            XCTAssertEqual(parts.count, count, columns)
            XCTAssertEqual(parts.searches, searches, columns)
            connection.limitExpressions()
            XCTAssertEqual(connection.expressionParts, count, columns)
        }
    }

    /// The widths and precisions of a format, which could exceed any memory limit.
    func testFormatPaddingIsComputed() {
        let cases: [(String, [Int64], UInt64)] = [
            ("", [], 0), ("abc", [], 0), ("%d", [1], 0), ("%5d", [1], 5), ("%-12s", [1], 12), ("%05d%7d", [1, 2], 12),
            ("%*d", [9, 1], 9), ("%*d", [-9, 1], 9), ("%d%*d", [100, 8, 1], 8), ("%.7d", [1], 7), ("%3.4f", [1], 7),
            // The precision of a text only truncates it.
            ("%.7s", [1], 0), ("%.9q", [1], 0), ("%.9Q", [1], 0), ("%.9w", [1], 0), ("%.9z", [1], 0), ("%4.9s", [1], 4),
            ("%.*d", [6, 1], 6), ("%.*s", [6, 1], 0), ("%*.*d", [2, 3, 1], 5), ("%8lld", [1], 8), ("%+ #0!,3d", [1], 3),
            ("%%5d", [], 0), ("%5%", [], 5), ("%%%*d", [4, 1], 4), ("%5", [], 5), ("%", [], 0),
            ("%99999999999999999999d", [1], .max),
        ]
        for (format, arguments, expected) in cases {
            let found = Array(format.utf8).withUnsafeBufferPointer { bytes in
                FormatFunctions.padding(bytes) { $0 < arguments.count ? arguments[$0] : 0 }
            }
            XCTAssertEqual(found, expected, format)
        }
    }

    func testWellFormedUTF8IsRecognised() {
        let cases: [([UInt8], Bool)] = [
            ([], true), ([0x41], true), ([0x7f], true), ([0x80], false), ([0xc1, 0xbf], false), ([0xc2, 0x80], true),
            ([0xc2], false), ([0xc2, 0x41], false), ([0xdf, 0xbf], true), ([0xe0, 0x9f, 0x80], false),
            ([0xe0, 0xa0, 0x80], true), ([0xe1, 0x80, 0x80], true), ([0xed, 0x9f, 0xbf], true),
            ([0xed, 0xa0, 0x80], false), ([0xee, 0x80, 0x80], true), ([0xef, 0xbf, 0xbf], true),
            ([0xe1, 0x80], false), ([0xe1, 0x80, 0x41], false), ([0xf0, 0x8f, 0x80, 0x80], false),
            ([0xf0, 0x90, 0x80, 0x80], true), ([0xf3, 0xbf, 0xbf, 0xbf], true), ([0xf4, 0x8f, 0xbf, 0xbf], true),
            ([0xf4, 0x90, 0x80, 0x80], false), ([0xf5, 0x80, 0x80, 0x80], false), ([0xf1, 0x80, 0x80, 0xc0], false),
            ([0x41, 0xc3, 0xa9, 0x42], true), ([0xff], false),
        ]
        for (bytes, expected) in cases {
            // The buffer is longer, so a truncated sequence could be read beyond its end.
            let padded = bytes + [0x80, 0x80, 0x80]
            padded.withUnsafeBufferPointer {
                XCTAssertEqual(isUTF8($0.baseAddress!, bytes.count), expected, "\(bytes)")
            }
        }
        for length in 0..<20 {
            for place in 0..<length {
                var bytes = [UInt8](repeating: 0x7f, count: length + 1)
                bytes[length] = 0xff
                XCTAssertTrue(bytes.withUnsafeBufferPointer { isASCII($0.baseAddress!, length) })
                bytes[place] = 0x80
                XCTAssertFalse(bytes.withUnsafeBufferPointer { isASCII($0.baseAddress!, length) })
            }
        }
    }

    func testSumsBeyond64BitsAreReal() throws {
        let model = Model()
        let note = try model.addEntity(named: "Note")
        try note.addAttribute(named: "number", type: .integer64)
        try model.freeze()
        let store = try open("a.sqlite", model)
        func sum(_ values: String) throws -> String {
            try store.withFile { file in
                let statement = try file.connection.prepare(
                    "SELECT cst_sum(column1), typeof(cst_sum(column1)) FROM (VALUES \(values))", "test")
                _ = try statement.step("test")
                return "\(statement.text(0) ?? "") \(statement.text(1) ?? "")"
            }
        }
        XCTAssertEqual(try sum("(1), (2), (NULL)"), "3 integer")
        XCTAssertEqual(try sum("(NULL)"), "0 integer")
        XCTAssertEqual(try sum("(1), (2.5), (3)"), "6.5 real")
        XCTAssertEqual(try sum("(9223372036854775806), (1)"), "9223372036854775807 integer")
        XCTAssertEqual(try sum("(9223372036854775807), (1)"), "9.22337203685478e+18 real")
        XCTAssertEqual(try sum("(-9223372036854775808), (-1), (2)"), "-9.22337203685478e+18 real")
    }

    // MARK: Values in files

    func testExternalDataFolderFollowsTheStoreName() {
        for (store, folder) in [
            ("/a/b.sqlite", "/a/.b_SUPPORT/_EXTERNAL_DATA"), ("/a/b", "/a/.b_SUPPORT/_EXTERNAL_DATA"),
            ("/a/b.c.sqlite", "/a/.b.c_SUPPORT/_EXTERNAL_DATA"), ("/b.", "/.b_SUPPORT/_EXTERNAL_DATA"),
            ("/a.d/.store", "/a.d/..store_SUPPORT/_EXTERNAL_DATA"),
        ] {
            XCTAssertEqual(ExternalFile.folder(ofStore: store), folder)
        }
    }

    func testFileNamesInColumnsMustBeUUIDs() {
        func name(_ mark: UInt8, _ text: String) -> String? {
            ([mark] + Array(text.utf8)).withUnsafeBytes { ExternalFile.name(in: $0) }
        }
        let uuid = "01234567-89AB-CDEF-0123-456789ABCDEF"
        XCTAssertEqual(name(2, uuid + "\0"), uuid)
        XCTAssertEqual(name(2, uuid), uuid)
        XCTAssertEqual(name(2, uuid + "\0rest"), uuid)
        XCTAssertNil(name(1, uuid + "\0"))
        XCTAssertNil(name(3, uuid))
        XCTAssertNil(name(2, "../../etc/passwd"))
        XCTAssertNil(name(2, uuid + "x"))
        XCTAssertNil(name(2, ""))
        XCTAssertNil(ExternalFile.name(in: UnsafeRawBufferPointer(start: nil, count: 0)))
    }

    func testFilesBeyondTheLimitAreNotRead() throws {
        var limits = StoreLimits()
        limits.externalBytes = 10
        func write(_ count: Int) throws {
            try Data(repeating: 7, count: count).write(to: URL(fileURLWithPath: path("f")))
        }
        try write(10)
        guard case .bytes(let bytes) = ExternalFile.read(path("f"), limits) else { return XCTFail("not read") }
        XCTAssertEqual(bytes, Bytes([UInt8](repeating: 7, count: 10)))
        try write(11)
        guard case .unreadable(let file, let fault) = ExternalFile.read(path("f"), limits) else {
            return XCTFail("read")
        }
        XCTAssertEqual(file, path("f"))
        XCTAssertEqual(
            fault,
            "the backing file \(path("f")) has 11 bytes, more than external_limit (10); raise external_limit if the file is trusted"
        )
        try write(0)
        guard case .bytes(let none) = ExternalFile.read(path("f"), limits) else { return XCTFail("not read") }
        XCTAssertEqual(none.count, 0)
        for missing in ["none", "f/below"] {
            guard case .missing(let file) = ExternalFile.read(path(missing), limits) else {
                return XCTFail("\(missing) was read")
            }
            XCTAssertEqual(file, path(missing))
        }
        for (other, make) in [("folder", "mkdir"), ("pipe", "mkfifo")] {
            _ = try Fixtures.run(make, [path(other)])
            guard case .unreadable(_, let fault) = ExternalFile.read(path(other), limits) else {
                return XCTFail("\(other) was read")
            }
            XCTAssertEqual(fault, "the backing file \(path(other)) is not a regular file; restore it from a backup")
            XCTAssertFalse(ExternalFile.isThere(path(other)))
        }
        XCTAssertTrue(ExternalFile.isThere(path("f")))
        XCTAssertFalse(ExternalFile.isThere(path("none")))
        // Symbolic links are not followed, since they could refer to files outside the folder.
        try FileManager.default.createSymbolicLink(atPath: path("link"), withDestinationPath: path("f"))
        guard case .unreadable = ExternalFile.read(path("link"), limits) else { return XCTFail("a link was followed") }
        XCTAssertFalse(ExternalFile.isThere(path("link")))
    }
}
