import Foundation
import XCTest

@testable import CorestoneSQLite

/// A folder of its own for each test, removed afterwards.
class StoreTestCase: XCTestCase {
    private(set) var folder = ""

    override func setUpWithError() throws {
        folder = NSTemporaryDirectory() + "corestone-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    }

    override func tearDown() {
        try? FileManager.default.removeItem(atPath: folder)
    }

    func path(_ name: String) -> String { folder + "/" + name }

    /// The names of the files in the test's folder.
    func files() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: folder).sorted() }
}
