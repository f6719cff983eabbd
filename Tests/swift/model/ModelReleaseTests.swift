import CorestoneFileSystem
import CorestoneValues
import XCTest

@testable import CorestoneModel

/// Released versions that are kept as compiled files.
final class ModelReleaseTests: FolderTestCase {
    private func note(_ type: AttributeType = .string) throws -> Model {
        let model = Model()
        try model.addEntity(named: "Note").addAttribute(named: "title", type: type)
        return model
    }

    private var released: String { path("released") }

    func testReleaseIsKeptOnce() throws {
        XCTAssertEqual(try ModelRelease.releases(inFolder: released), [])
        XCTAssertTrue(try ModelRelease.keep(try note(), as: "Notes 10", inFolder: released))
        XCTAssertTrue(try ModelRelease.keep(try note(.date), as: "Notes 2", inFolder: released))
        XCTAssertFalse(try ModelRelease.keep(try note(), as: "Notes 10", inFolder: released))
        let releases = try ModelRelease.releases(inFolder: released)
        XCTAssertEqual(releases.map(\.name), ["Notes 2", "Notes 10"])
        XCTAssertEqual(releases[1].checksum, try note().versionChecksum)
        XCTAssertEqual(releases[1].versionHashes, entityVersionHashes(of: try note()))
        XCTAssertEqual(try releases[1].model().versionName, "Notes 10")
        XCTAssertThrowsError(try ModelRelease.keep(try note(.date), as: "Notes 10", inFolder: released)) {
            XCTAssertEqual(($0 as? CoreError)?.status, .invalidArgument)
        }
    }

    func testReleaseIsKeptOnceWhenCompiledModelsLackASetting() throws {
        let model = Model()
        let note = try model.addEntity(named: "Note")
        try note.addAttribute(named: "rating", type: .double).setAllowsNaN(true)
        try note.addAttribute(named: "draft", type: .string, isTransient: true).setIgnoresChanges(true)
        XCTAssertTrue(try ModelRelease.keep(model, as: "Notes", inFolder: released))
        XCTAssertFalse(try ModelRelease.keep(model, as: "Notes", inFolder: released))
    }

    func testInvalidReleaseNamesAreRejected() throws {
        for name in ["", ".x", "a/b", "a\0", String(repeating: "x", count: 300)] {
            XCTAssertThrowsError(try ModelRelease.keep(try note(), as: name, inFolder: released), name)
        }
        XCTAssertEqual(try names(), [])
    }

    func testDamagedAndChangedReleasesAreFindings() throws {
        try ModelRelease.keep(try note(), as: "Notes", inFolder: released)
        let bundle = path("Notes.xcdatamodeld")
        try note().write(to: bundle, version: "Notes")
        XCTAssertEqual(try ModelRelease.findings(inFolder: released, comparedWith: bundle), [])
        let edited = try note()
        try edited.requireEntity(named: "Note").setClassName("Other")
        try edited.write(to: bundle, version: "Notes")
        let warning = try ModelRelease.findings(inFolder: released, comparedWith: bundle)
        XCTAssertEqual(warning.map(\.rule), [.editedRelease])
        XCTAssertEqual(warning.map(\.severity), [.warning])
        try note(.date).write(to: bundle, version: "Notes")
        let error = try ModelRelease.findings(inFolder: released, comparedWith: bundle)
        XCTAssertEqual(error.map(\.severity), [.error])
        XCTAssertEqual(error.first?.key, "title")
        try LocalFile(released + "/Notes.mom").write([1, 2, 3])
        XCTAssertEqual(
            try ModelRelease.findings(inFolder: released, comparedWith: bundle).map(\.rule), [.damagedRelease])
        XCTAssertThrowsError(try ModelRelease.releases(inFolder: released)[0].model())
        try LocalFile(released + "/Notes.json").write(Array("[]".utf8))
        XCTAssertThrowsError(try ModelRelease.releases(inFolder: released))
    }

    func testEarlierVersionsHaveLowerNumbers() throws {
        func older(_ names: String..., newest: String) throws -> [String] {
            let bundle = path("\(UUID().uuidString).xcdatamodeld")
            for name in names { try note().write(to: bundle, version: name, makesCurrent: name == newest) }
            let check = try MigrationGuard(from: bundle, version: newest)
            XCTAssertEqual(check.newest.name, newest)
            return check.older.map(\.name)
        }
        XCTAssertEqual(
            try older("Notes 10", "Notes", "Notes 2", "Notes 11", newest: "Notes 10"), ["Notes", "Notes 2"])
        XCTAssertEqual(
            try older("2.100.0", "2.21.1", "2.101.0", "2.102", newest: "2.101.0"), ["2.21.1", "2.100.0"])
        XCTAssertEqual(try older("First", "Tags", "Alpha", newest: "Alpha"), ["First", "Tags"])
        XCTAssertEqual(try older("Notes", newest: "Notes"), [])
    }
}
