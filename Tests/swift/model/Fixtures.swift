import Foundation
import TestSupport
import XCTest

@testable import CorestoneModel
@testable import CorestoneValues

/// Files that Apple's framework wrote, and the tools that read them independently of us.
enum Fixtures {
    /// The folder of the fixtures. Skips the test if it is missing, or fails it if CORESTONE_REQUIRE_FIXTURES is 1.
    static func folder() throws -> URL {
        let folder = Checkout.fixtures
        if FileManager.default.fileExists(atPath: folder.path) { return folder }
        if Checkout.areFixturesRequired {
            throw CocoaError(.fileNoSuchFile, userInfo: [NSFilePathErrorKey: folder.path])
        }
        throw XCTSkip("no fixtures in \(folder.path)")
    }

    /// One store that Apple's framework wrote.
    struct Store {
        let name: String
        /// `Z_PLIST`
        let metadata: [UInt8]
        /// `Z_CONTENT`; nil if the store does not contain a model.
        let packedModel: [UInt8]?
    }

    static func stores() throws -> [Store] {
        let program = """
            import glob, sys, sqlite3
            from decode_model import open_store
            for path in sorted(glob.glob(sys.argv[1] + '/stores/*/*')):
                c = open_store(path)
                plist = c.execute('select cast(Z_PLIST as blob) from Z_METADATA').fetchone()[0]
                try: row = c.execute('select Z_CONTENT from Z_MODELCACHE').fetchone()
                except sqlite3.Error: row = None
                print(path.rsplit('/', 1)[1], plist.hex(), row[0].hex() if row and row[0] else '', sep='\t')
            """
        return try python(program, [try folder().path]).split(separator: "\n").map { line in
            let fields = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
            return Store(
                name: fields[0], metadata: bytes(hex: fields[1]),
                packedModel: fields[2].isEmpty ? nil : bytes(hex: fields[2]))
        }
    }

    /// The models that a mapping model keeps of its source and destination, by the name of the attribute.
    static func embeddedModels(_ path: String) throws -> [(name: String, bytes: [UInt8])] {
        let text = try String(contentsOfFile: path, encoding: .utf8)
        return text.components(separatedBy: "<attribute name=\"").compactMap { part in
            guard let end = part.firstIndex(of: "\""), part[..<end].hasSuffix("modeldata"),
                let start = part.firstIndex(of: ">"), let close = part.firstIndex(of: "<"),
                let bytes = decodeBase64(Array(part[part.index(after: start)..<close].utf8))
            else { return nil }
            return (String(part[..<end]), bytes)
        }
    }

    /// Runs a Python program with the tools on its path and returns its output.
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
