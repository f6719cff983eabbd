import Foundation
import XCTest

@testable import CorestoneModel

/// Files that Apple's framework wrote, and the tools that read them independently of us.
enum Fixtures {
    /// The folder, or a skipped test when it is absent; with CORESTONE_REQUIRE_FIXTURES=1 a failed one.
    static func folder() throws -> URL {
        let environment = ProcessInfo.processInfo.environment
        let repository = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let folder =
            environment["CORESTONE_FIXTURES"].map { URL(fileURLWithPath: $0) }
            ?? repository.deletingLastPathComponent().appendingPathComponent("shared/fixtures")
        if FileManager.default.fileExists(atPath: folder.path) { return folder }
        if environment["CORESTONE_REQUIRE_FIXTURES"] == "1" {
            throw CocoaError(.fileNoSuchFile, userInfo: [NSFilePathErrorKey: folder.path])
        }
        throw XCTSkip("no fixtures in \(folder.path)")
    }

    static func stores() throws -> [URL] {
        let groups = try FileManager.default.contentsOfDirectory(
            at: try folder().appendingPathComponent("stores"), includingPropertiesForKeys: nil)
        return try groups.flatMap {
            try FileManager.default.contentsOfDirectory(at: $0, includingPropertiesForKeys: nil)
        }
        .sorted { $0.path < $1.path }
    }

    /// Runs a Python program with the tools on its path and answers what it prints.
    static func python(_ program: String, _ arguments: [String]) throws -> String {
        let tools = try folder().deletingLastPathComponent().appendingPathComponent("tools")
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["python3", "-c", program] + arguments
        process.environment = ProcessInfo.processInfo.environment.merging(
            ["PYTHONPATH": tools.path, "PYTHONDONTWRITEBYTECODE": "1"]) { _, new in new }
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        XCTAssertEqual(process.terminationStatus, 0, "python3 failed")
        return String(decoding: data, as: UTF8.self)
    }

    /// One column of the only row of a store's table, or nil when there is none.
    static func blob(_ sql: String, in store: URL) throws -> [UInt8]? {
        let program = """
            import sys
            from decode_model import open_store
            import sqlite3
            try: row = open_store(sys.argv[1]).execute(sys.argv[2]).fetchone()
            except sqlite3.Error: row = None
            print(row[0].hex() if row and row[0] else '')
            """
        let hex = try python(program, [store.path, sql]).trimmingCharacters(in: .whitespacesAndNewlines)
        return hex.isEmpty ? nil : bytes(hex: hex)
    }

    static func bytes(hex: String) -> [UInt8] {
        let digits = Array(hex.utf8).map { UInt8($0 < 0x3A ? $0 - 0x30 : ($0 | 0x20) - 0x57) }
        return stride(from: 0, to: digits.count - 1, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }

    static func temporaryFile(_ bytes: [UInt8]) throws -> URL {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).mom")
        try Data(bytes).write(to: file)
        return file
    }
}

func hex(_ bytes: [UInt8]) -> String { bytes.map { String(format: "%02x", $0) }.joined() }

/// A generator whose numbers are the same in every run (SplitMix64).
struct SeededGenerator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}
