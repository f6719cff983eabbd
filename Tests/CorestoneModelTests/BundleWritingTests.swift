import CorestoneValues
import Foundation
import XCTest

@testable import CorestoneModel

/// What is where a model is written to: links, permissions, other writers, other things.
final class BundleWritingTests: XCTestCase {
    private var folder = URL(fileURLWithPath: "/")
    private let files = FileManager.default

    override func setUpWithError() throws {
        folder = files.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try files.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    override func tearDownWithError() throws { try files.removeItem(at: folder) }

    private func path(_ name: String) -> String { folder.appendingPathComponent(name).path }
    private func names(_ name: String = "") throws -> [String] {
        try files.contentsOfDirectory(atPath: path(name)).sorted()
    }
    private func data(_ name: String) throws -> Data { try Data(contentsOf: URL(fileURLWithPath: path(name))) }
    private func put(_ text: String, _ name: String) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: path(name)))
    }
    private func link(_ name: String, to goal: String) throws {
        try files.createSymbolicLink(atPath: path(name), withDestinationPath: goal)
    }
    private func mode(_ name: String) throws -> Int {
        try XCTUnwrap(files.attributesOfItem(atPath: path(name))[.posixPermissions] as? Int)
    }
    private func setMode(_ name: String, _ mode: Int) throws {
        try files.setAttributes([.posixPermissions: mode], ofItemAtPath: path(name))
    }
    private func model(_ names: String...) throws -> Model { try BundleWritingTests.model(names) }
    private static func model(_ names: [String]) throws -> Model {
        let model = Model()
        for name in names { try model.addEntity(named: name).addAttribute(named: "x", type: .string) }
        return model
    }
    private func entities(_ name: String, _ version: String? = nil) throws -> [String] {
        try Model(contentsOf: path(name), version: version).entities.map(\.name)
    }
    private func plist(_ name: String) throws -> [String: Any] {
        try XCTUnwrap(PropertyListSerialization.propertyList(from: data(name), format: nil) as? [String: Any])
    }
    /// The message of the error, which names the path that the host gave and no draft.
    private func message(_ status: Status, line: UInt = #line, _ body: () throws -> Void) -> String {
        do { try body() } catch let error as CoreError {
            XCTAssertEqual(error.status, status, error.message, line: line)
            XCTAssertFalse(error.message.contains(".part"), error.message, line: line)
            XCTAssertFalse(error.file?.contains(".part") ?? false, line: line)
            return error.message
        } catch { XCTFail("\(error)", line: line) }
        XCTFail("nothing is thrown", line: line)
        return ""
    }

    // MARK: - Links

    func testALinkedVersionBecomesOneOfTheBundle() throws {
        try model("A").write(to: path("m.xcdatamodeld"), version: "v1")
        try model("Outside").write(to: path("ext.xcdatamodel"))
        try put("L", "ext.xcdatamodel/layout")
        try link("m.xcdatamodeld/v0.xcdatamodel", to: "../ext.xcdatamodel")
        let former = try data("ext.xcdatamodel/contents")
        try model("B").write(to: path("m.xcdatamodeld"), version: "v0")
        XCTAssertEqual(try data("ext.xcdatamodel/contents"), former)
        XCTAssertEqual(try entities("m.xcdatamodeld", "v0"), ["B"])
        XCTAssertEqual(try names("m.xcdatamodeld/v0.xcdatamodel"), ["contents", "layout"])
        XCTAssertEqual(try names("ext.xcdatamodel"), ["contents", "layout"])
        // Other versions stay links.
        try link("m.xcdatamodeld/v2.xcdatamodel", to: "../ext.xcdatamodel")
        try model("C").write(to: path("m.xcdatamodeld"), version: "v1")
        XCTAssertEqual(
            try files.destinationOfSymbolicLink(atPath: path("m.xcdatamodeld/v2.xcdatamodel")), "../ext.xcdatamodel")
    }

    func testWhatALinkLeadsToIsWritten() throws {
        try files.createDirectory(atPath: path("real"), withIntermediateDirectories: true)
        for name in ["m.xcdatamodeld", "m.momd", "m.xcdatamodel", "m.mom"] {
            try link(name, to: "real/\(name)")
            // Nothing is there at first.
            for entity in ["A", "B"] {
                try model(entity).write(to: path(name))
                XCTAssertEqual(try files.destinationOfSymbolicLink(atPath: path(name)), "real/\(name)")
                XCTAssertEqual(try entities("real/\(name)"), [entity], name)
            }
        }
        XCTAssertEqual(try names("real").filter { $0.hasPrefix(".") }, [])
        try link("a.mom", to: "b.mom")
        try link("b.mom", to: "a.mom")
        XCTAssert(message(.storeIO) { try model("A").write(to: path("a.mom")) }.contains("symbolic links"))
    }

    // MARK: - Permissions

    func testPermissionsStay() throws {
        for name in ["m.momd", "m.xcdatamodeld"] {
            let file = name == "m.momd" ? "v1.mom" : "v1.xcdatamodel/contents"
            try model("A").write(to: path(name), version: "v1")
            try setMode(name, 0o2750)
            try setMode("\(name)/\(file)", 0o600)
            try model("B").write(to: path(name), version: "v1")
            XCTAssertEqual(try mode(name), 0o2750)
            XCTAssertEqual(try mode("\(name)/\(file)"), 0o600)
        }
        try setMode("m.xcdatamodeld/v1.xcdatamodel", 0o700)
        try model("C").write(to: path("m.xcdatamodeld"), version: "v2")
        XCTAssertEqual(try mode("m.xcdatamodeld/v1.xcdatamodel"), 0o700)
        try model("A").write(to: path("n.mom"))
        try setMode("n.mom", 0o640)
        try model("B").write(to: path("n.mom"))
        XCTAssertEqual(try mode("n.mom"), 0o640)
        XCTAssertEqual(try names(), ["m.momd", "m.xcdatamodeld", "n.mom"])
    }

    // MARK: - Several writers

    func testWritersKeepWhatOthersWrite() throws {
        for name in ["m.momd", "m.xcdatamodeld"] {
            let bundle = path(name)
            try model("Base").write(to: bundle, version: "base")
            let failures = Locked<[String]>([])
            DispatchQueue.concurrentPerform(iterations: 24) { number in
                do { try BundleWritingTests.model(["E\(number)"]).write(to: bundle, version: "v\(number)") } catch {
                    failures.withLock { $0.append("\(error)") }
                }
            }
            XCTAssertEqual(failures.withLock { $0 }, [])
            XCTAssertEqual(try Model.versions(of: bundle).count, 25)
            for number in 0..<24 { XCTAssertEqual(try entities(name, "v\(number)"), ["E\(number)"]) }
        }
        XCTAssertEqual(try names(), ["m.momd", "m.xcdatamodeld"])
    }

    // MARK: - Names

    func testNamesThatFilesCannotHaveAreRefused() throws {
        for kind in ["momd", "xcdatamodeld"] {
            let bundle = "m.\(kind)"
            try model("A").write(to: path(bundle), version: "base")
            let long = String(repeating: "x", count: 252)
            for name in ["", ".", "..", ".x", "a/b", "a\0b", ".\u{301}a", long] {
                let text = message(.invalidArgument) { try model("B").write(to: path(bundle), version: name) }
                XCTAssert(text.hasPrefix(path(bundle) + " cannot have a version"), text)
            }
            XCTAssertEqual(try Model.versions(of: path(bundle)).map(\.name), ["base"])
            XCTAssertEqual(try entities(bundle), ["A"])
            try model("C").write(to: path(bundle), version: String(long.prefix(243)))
        }
        _ = message(.invalidArgument) { try model("B").write(to: path("m.mom") + "\0.mom") }
        XCTAssertEqual(try names(), ["m.momd", "m.xcdatamodeld"])
    }

    func testADotIsPartOfAVersionsName() throws {
        try model("A").write(to: path("m.momd"), version: "1")
        try model("B").write(to: path("m.momd"), version: "2.0")
        _ = message(.invalidArgument) { _ = try entities("m.momd", "1.5") }
        XCTAssertEqual(try entities("m.momd", "2.0"), ["B"])
        XCTAssertEqual(try entities("m.momd", "2.0.mom"), ["B"])
        XCTAssertEqual(try entities("m.momd"), ["B"])
    }

    func testNamesAreComparedByTheirBytes() throws {
        let (composed, decomposed) = ("\u{E9}", "e\u{301}")
        for kind in ["momd", "xcdatamodeld"] {
            let bundle = "m.\(kind)"
            try model("A").write(to: path(bundle), version: decomposed)
            // As a file system may have spelt it.
            XCTAssertEqual(try entities(bundle, composed), ["A"])
            let text = message(.invalidArgument) { try model("B").write(to: path(bundle), version: composed) }
            XCTAssert(text.contains("letters"), text)
        }
        try model("B").write(to: path("n.xcdatamodel"))
        try files.moveItem(atPath: path("n.xcdatamodel"), toPath: path("m.xcdatamodeld/\(composed).xcdatamodel"))
        XCTAssertEqual(try entities("m.xcdatamodeld", composed), ["B"])
        XCTAssertEqual(try entities("m.xcdatamodeld", decomposed), ["A"])
        XCTAssertEqual(try Model.versions(of: path("m.xcdatamodeld")).filter(\.isCurrent).count, 1)
        XCTAssertEqual(try entities("m.xcdatamodeld"), ["A"])
    }

    // MARK: - What a bundle says of its versions

    func testUnknownKeysStay() throws {
        try model("A").write(to: path("m.xcdatamodeld"), version: "1")
        var list = try plist("m.xcdatamodeld/.xccurrentversion")
        list["note"] = "kept"
        try PropertyListSerialization.data(fromPropertyList: list, format: .xml, options: 0).write(
            to: URL(fileURLWithPath: path("m.xcdatamodeld/.xccurrentversion")))
        try model("B").write(to: path("m.xcdatamodeld"), version: "2")
        XCTAssertEqual(
            try plist("m.xcdatamodeld/.xccurrentversion") as? [String: String],
            ["note": "kept", "_XCCurrentVersionName": "2.xcdatamodel"])

        try model("A").write(to: path("m.momd"), version: "1")
        var info = try plist("m.momd/VersionInfo.plist")
        info["note"] = "kept"
        var hashes = try XCTUnwrap(info["NSManagedObjectModel_VersionHashes"] as? [String: Any])
        hashes["gone"] = ["A": Data(repeating: 1, count: 32)]
        info["NSManagedObjectModel_VersionHashes"] = hashes
        try PropertyListSerialization.data(fromPropertyList: info, format: .binary, options: 0).write(
            to: URL(fileURLWithPath: path("m.momd/VersionInfo.plist")))
        try model("B").write(to: path("m.momd"), version: "2")
        let after = try plist("m.momd/VersionInfo.plist")
        XCTAssertEqual(after["note"] as? String, "kept")
        XCTAssertEqual(after["NSManagedObjectModel_CurrentVersionName"] as? String, "2")
        let keys = try XCTUnwrap(after["NSManagedObjectModel_VersionHashes"] as? [String: Any]).keys
        XCTAssertEqual(keys.sorted(), ["1", "2", "gone"])
        XCTAssertEqual(try entities("m.momd", "1"), ["A"])
    }

    func testAMissingCurrentVersionIsTheOneThatIsWritten() throws {
        for (bundle, file) in [("m.xcdatamodeld", "2.xcdatamodel"), ("m.momd", "2.mom")] {
            try model("A").write(to: path(bundle), version: "1")
            try model("B").write(to: path(bundle), version: "2")
            try files.removeItem(atPath: path("\(bundle)/\(file)"))
            try model("C").write(to: path(bundle))
            let versions = try Model.versions(of: path(bundle))
            XCTAssertEqual(versions.map(\.name), ["1", "2"])
            XCTAssertEqual(versions.map(\.isCurrent), [false, true])
            XCTAssertEqual(try entities(bundle), ["C"])
        }
    }

    // MARK: - Errors and targets

    func testErrorsNameThePathThatTheHostGave() throws {
        try model("A").write(to: path("m.xcdatamodeld"), version: "v1")
        try put("", "m.xcdatamodeld/v2.xcdatamodel")
        let text = message(.storeIO) { try model("B").write(to: path("m.xcdatamodeld"), version: "v2") }
        XCTAssert(text.hasPrefix(path("m.xcdatamodeld/v2.xcdatamodel")), text)
        try files.createDirectory(atPath: path("n.xcdatamodel/contents/x"), withIntermediateDirectories: true)
        let other = message(.storeIO) { try model("B").write(to: path("n.xcdatamodel")) }
        XCTAssert(other.hasPrefix(path("n.xcdatamodel/contents")), other)
        XCTAssertEqual(try names(), ["m.xcdatamodeld", "n.xcdatamodel"])

        let unfinished = try model("A")
        try unfinished.entities[0].addAttribute(named: "raw", type: .undefined)
        try unfinished.write(to: path("m.xcdatamodeld"), version: "v3")
        try files.removeItem(atPath: path("m.xcdatamodeld/v2.xcdatamodel"))
        let refused = message(.model) { try Model.convert(path("m.xcdatamodeld"), to: path("m.momd")) }
        XCTAssert(refused.contains("version v3") && refused.contains(path("m.xcdatamodeld")), refused)
    }

    func testConvertingReplacesModelsAlone() throws {
        try model("A").write(to: path("s.xcdatamodeld"), version: "v1")
        try files.createDirectory(atPath: path("m.momd"), withIntermediateDirectories: true)
        // An empty folder is as good as none.
        try Model.convert(path("s.xcdatamodeld"), to: path("m.momd"))
        try put("p", "m.momd/precious")
        try model("B").write(to: path("m.momd"), version: "old")
        try Model.convert(path("s.xcdatamodeld"), to: path("m.momd"))
        XCTAssertEqual(try names("m.momd"), ["VersionInfo.plist", "precious", "v1.mom"])

        try files.createDirectory(atPath: path("n.momd"), withIntermediateDirectories: true)
        try put("p", "n.momd/precious")
        _ = message(.invalidArgument) { try Model.convert(path("s.xcdatamodeld"), to: path("n.momd")) }
        XCTAssertEqual(try names("n.momd"), ["precious"])

        try model("C").write(to: path("m.momd"), version: "v2")
        let before = try names("m.momd")
        try link("other.momd", to: "m.momd")
        for target in ["m.momd", "other.momd"] {
            let text = message(.invalidArgument) { try Model.convert(path("m.momd/v1.mom"), to: path(target)) }
            XCTAssert(text.contains("m.momd/v1.mom"), text)
        }
        XCTAssertEqual(try names("m.momd"), before)
    }

    func testTheFolderOfAPath() {
        XCTAssertEqual(ModelFile("/m.mom").folder.path, "/")
        XCTAssertEqual(ModelFile("/").child("m.mom").path, "/m.mom")
        XCTAssertEqual(ModelFile("m.mom").folder.path, ".")
        XCTAssertEqual(ModelFile("/a/m.mom/").folder.path, "/a")
    }
}
