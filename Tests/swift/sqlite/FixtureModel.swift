import Foundation
import TestSupport
import XCTest

/// Stores that Apple's framework wrote.
enum Fixtures {
    static var folder: String { Checkout.fixtures.path }

    /// Skips the test if the fixtures are missing, unless they are required.
    static func require() throws {
        if FileManager.default.fileExists(atPath: folder + "/manifest.json") { return }
        guard !Checkout.areFixturesRequired else {
            throw CocoaError(.fileNoSuchFile, userInfo: [NSFilePathErrorKey: folder])
        }
        throw XCTSkip("no fixtures at \(folder); set CORESTONE_FIXTURES")
    }

    /// The stores of the manifest that carry their model.
    ///
    /// Each has its path below the folder and the version of the framework that wrote it.
    static func storesWithModel() throws -> [(file: String, framework: Int)] {
        let data = try Data(contentsOf: URL(fileURLWithPath: folder + "/manifest.json"))
        let manifest = try JSONSerialization.jsonObject(with: data) as? [String: Any]
        let stores = manifest?["stores"] as? [[String: Any]] ?? []
        return stores.filter { $0["model_cache"] as? Bool == true }.compactMap { store in
            (store["file"] as? String).map { ($0, store["framework"] as? Int ?? 0) }
        }
    }

    static func run(_ program: String, _ arguments: [String]) throws -> String {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [program] + arguments
        let pipe = Pipe()
        process.standardOutput = pipe
        try process.run()
        let output = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return String(decoding: output, as: UTF8.self)
    }
}
