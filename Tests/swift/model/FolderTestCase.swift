import CorestoneValues
import Foundation
import XCTest

@testable import CorestoneModel

/// Tests with a temporary folder.
class FolderTestCase: XCTestCase {
    private(set) var folder = URL(fileURLWithPath: "/")
    let files = FileManager.default

    override func setUpWithError() throws {
        folder = files.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try files.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    override func tearDownWithError() throws { try files.removeItem(at: folder) }

    func path(_ name: String) -> String { folder.appendingPathComponent(name).path }
    func names(_ name: String = "") throws -> [String] {
        try files.contentsOfDirectory(atPath: path(name)).sorted()
    }
    func data(_ name: String) throws -> Data { try Data(contentsOf: URL(fileURLWithPath: path(name))) }
    func put(_ text: String, _ name: String) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: path(name)))
    }
    func link(_ name: String, to goal: String) throws {
        try files.createSymbolicLink(atPath: path(name), withDestinationPath: goal)
    }
    func mode(_ name: String) throws -> Int {
        try XCTUnwrap(files.attributesOfItem(atPath: path(name))[.posixPermissions] as? Int)
    }
    func setMode(_ name: String, _ mode: Int) throws {
        try files.setAttributes([.posixPermissions: mode], ofItemAtPath: path(name))
    }
    func model(_ names: String...) throws -> Model { try FolderTestCase.model(names) }
    static func model(_ names: [String]) throws -> Model {
        let model = Model()
        for name in names { try model.addEntity(named: name).addAttribute(named: "x", type: .string) }
        return model
    }
    func entities(_ name: String, _ version: String? = nil) throws -> [String] {
        try Model(contentsOf: path(name), version: version).entities.map(\.name)
    }
    func plist(_ name: String) throws -> [String: Any] {
        try XCTUnwrap(PropertyListSerialization.propertyList(from: data(name), format: nil) as? [String: Any])
    }
    /// Returns the message of the error, which must not name a temporary file.
    func message(_ status: Status, line: UInt = #line, _ body: () throws -> Void) -> String {
        do { try body() } catch let error as CoreError {
            XCTAssertEqual(error.status, status, error.message, line: line)
            XCTAssertFalse(error.message.contains(".corestone-part"), error.message, line: line)
            XCTAssertFalse(error.file?.contains(".corestone-part") ?? false, line: line)
            return error.message
        } catch { XCTFail("\(error)", line: line) }
        XCTFail("nothing is thrown", line: line)
        return ""
    }
}
