import Foundation
import XCTest

@testable import CorestoneValues

/// The debug log and the launch arguments that enable it.
final class LogTests: XCTestCase {
    private let prefix = "-com.apple.CoreData."
    private let formerDetail = DebugLog.sqlDetail

    override func tearDown() {
        DebugLog.setSink(nil)
        DebugLog.setQuiet(false)
        DebugLog.setColoured(false)
        DebugLog.sqlDetail = formerDetail
    }

    /// Returns the output of `body` to standard error, which is redirected to `descriptor`.
    private func captured(by descriptor: Int32, reading: Int32, _ body: () -> Void) -> String {
        let former = dup(2)
        dup2(descriptor, 2)
        body()
        dup2(former, 2)
        close(former)
        close(descriptor)
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = Foundation.read(reading, &bytes, bytes.count)
        close(reading)
        return String(decoding: bytes.prefix(max(count, 0)), as: UTF8.self)
    }

    private func written(_ body: () -> Void) -> String {
        var ends: [Int32] = [0, 0]
        XCTAssertEqual(pipe(&ends), 0)
        return captured(by: ends[1], reading: ends[0], body)
    }

    func testLinesAreWrittenToStandardErrorOrTheSink() {
        let lines = Locked<[String]>([])
        XCTAssertEqual(written { DebugLog.write("one\ntwo") }, "one⏎two\n")
        DebugLog.setSink { line in lines.withLock { $0.append(line) } }
        DebugLog.setQuiet(true)
        XCTAssertEqual(written { DebugLog.write("a\tb\u{1B}") }, "")
        XCTAssertEqual(lines.withLock { $0 }, ["a b␛"])
        DebugLog.setSink(nil)
        XCTAssertEqual(written { DebugLog.write("quiet") }, "")
        DebugLog.setQuiet(false)
        XCTAssertEqual(written { DebugLog.write("loud") }, "loud\n")
        XCTAssertEqual(lines.withLock { $0.count }, 1)
    }

    func testSinkDoesNotReceiveItsOwnLines() {
        let lines = Locked<[String]>([])
        DebugLog.setSink { line in
            DebugLog.write("within")
            lines.withLock { $0.append(line) }
        }
        DebugLog.write("first")
        DebugLog.write("second")
        XCTAssertEqual(lines.withLock { $0 }, ["first", "second"])
    }

    func testWarnOnceLogsOncePerSubject() {
        let lines = Locked<[String]>([])
        DebugLog.setSink { line in lines.withLock { $0.append(line) } }
        let subject = "LogTests".hashValue
        for _ in 0..<2 { DebugLog.warnOnce(subject, "it is odd") }
        DebugLog.warnOnce(subject &+ 1, "it is odd too")
        XCTAssertEqual(lines.withLock { $0 }, ["CoreData: warning: it is odd", "CoreData: warning: it is odd too"])
    }

    func testKeywordsAreColouredOnlyOnATerminal() throws {
        let line = "SELECT a, NAME2, Z_PK FROM \"SELECT 'IN'\" WHERE X = 'it OR \"not\"' and AND"
        DebugLog.setColoured(true)
        XCTAssertEqual(written { DebugLog.write(line) }, line + "\n")
        // Unlocks the terminal and gets its number (TIOCSPTLCK, TIOCGPTN).
        let terminal = open("/dev/ptmx", O_RDWR | O_NOCTTY)
        var (lock, number): (Int32, UInt32) = (0, 0)
        try XCTSkipIf(
            terminal < 0 || ioctl(terminal, 0x4004_5431, &lock) != 0 || ioctl(terminal, 0x8004_5430, &number) != 0,
            "no terminals here")
        let other = open("/dev/pts/\(number)", O_RDWR | O_NOCTTY)
        try XCTSkipIf(other < 0, "no terminals here")
        let reading = dup(other)
        defer { close(reading) }
        func blue(_ word: String) -> String { "\u{1B}[1;34m\(word)\u{1B}[0m" }
        XCTAssertEqual(
            captured(by: other, reading: terminal) { DebugLog.write(line) },
            "\(blue("SELECT")) a, NAME2, Z_PK \(blue("FROM")) \"SELECT 'IN'\" \(blue("WHERE")) X = 'it OR \"not\"' and "
                + "\(blue("AND"))\r\n")
    }

    func testLaunchArgumentsRejectValuesOutOfRange() throws {
        for (name, largest) in [
            ("SQLDebug", 4), ("Logging.stderr", 1), ("SyntaxColoredLogging", 1), ("SQLiteIntegrityCheck", 1),
            ("ConcurrencyDebug", 1), ("ThreadingDebug", 3), ("MigrationDebug", 1), ("CloudKitDebug", 3),
        ] {
            XCTAssertEqual(try LaunchArguments.take([prefix + name, "\(largest)"]), 1, name)
            XCTAssertEqual(try LaunchArguments.take([prefix + name, "0"]), 1, name)
            for text in ["\(largest + 1)", "-1", "", "x", "yes"] {
                assertRejected([prefix + name, text], name, largest, text)
            }
        }
        assertRejected([prefix + "SQLiteDebugSynchronous", "3"], "SQLiteDebugSynchronous", 2, "3")
        assertRejected([prefix + "ThreadingDebug"], "ThreadingDebug", 3, "")
    }

    private func assertRejected(_ arguments: [String], _ name: String, _ largest: Int, _ text: String) {
        XCTAssertThrowsError(try LaunchArguments.take(arguments), name) {
            let error = $0 as? CoreError
            XCTAssertEqual(error?.status, .invalidArgument, name)
            XCTAssertEqual(error?.key, prefix + name)
            XCTAssertEqual(error?.value, arguments.count > 1 ? PropertyValue.string(text) : nil, name)
            let found = arguments.count > 1 ? "not \"\(text)\"" : "but is the last argument"
            XCTAssertEqual(
                error?.message, "\"\(prefix)\(name)\" must be followed by an integer from 0 to \(largest), \(found)")
        }
    }

    func testLaunchArgumentsTakeEffect() throws {
        func take(_ name: String, _ value: String) throws { _ = try LaunchArguments.take([prefix + name, value]) }
        for (text, detail) in [
            ("1", DebugLog.SQLDetail.statements), ("2", .transactions), ("3", .values), ("4", .counters),
            ("0", .nothing), ("YES", .statements), ("NO", .nothing), ("true", .statements), ("false", .nothing),
        ] {
            try take("SQLDebug", text)
            XCTAssertEqual(DebugLog.sqlDetail, detail, text)
        }
        try take("Logging.stderr", "0")
        XCTAssertEqual(written { DebugLog.write("x") }, "")
        try take("Logging.stderr", "1")
        XCTAssertEqual(written { DebugLog.write("x") }, "x\n")
        try take("SQLiteIntegrityCheck", "1")
        XCTAssertTrue(LaunchArguments.storeSettings.checksIntegrity)
        try take("SQLiteIntegrityCheck", "0")
        XCTAssertFalse(LaunchArguments.storeSettings.checksIntegrity)
    }

    func testNoLaunchArgumentAppliesIfOneIsInvalid() throws {
        let debug = prefix + "SQLDebug"
        XCTAssertEqual(try LaunchArguments.take(["a", debug, "1", "b", prefix + "MigrationDebug", "1", debug, "3"]), 3)
        XCTAssertEqual(DebugLog.sqlDetail, .values)
        XCTAssertThrowsError(try LaunchArguments.take([debug, "1", debug, "9"]))
        XCTAssertThrowsError(try LaunchArguments.take([debug, "1", prefix + "Nothing", "1"])) {
            XCTAssertEqual(($0 as? CoreError)?.key, prefix + "Nothing")
            let start =
                "\"\(prefix)Nothing\" is not a supported launch argument; use one of \"\(prefix)SQLDebug\", "
            XCTAssertEqual(($0 as? CoreError)?.message.hasPrefix(start), true)
        }
        XCTAssertThrowsError(try LaunchArguments.take([prefix + "SQLDebugg", "1"])) {
            XCTAssertEqual(
                ($0 as? CoreError)?.message,
                "\"\(prefix)SQLDebugg\" is not a supported launch argument; did you mean \"\(debug)\"?")
        }
        XCTAssertEqual(DebugLog.sqlDetail, .values)
        XCTAssertEqual(try LaunchArguments.take(["SQLDebug", "1", "-com.apple.Other.SQLDebug", "1"]), 0)
        XCTAssertEqual(try LaunchArguments.take([]), 0)
        XCTAssertEqual(DebugLog.sqlDetail, .values)
    }
}
