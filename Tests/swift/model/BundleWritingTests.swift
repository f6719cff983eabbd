import CorestoneFileSystem
@testable import CorestoneModel
import CorestoneValues
import Foundation
import XCTest

/// Existing files at the path of a written bundle: links, permissions, other writers, versions, keys.
final class BundleWritingTests: FolderTestCase {
    // MARK: - Links

    func testWritingReplacesALinkedVersionByAFile() throws {
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

    func testWritingToALinkWritesItsTarget() throws {
        try files.createDirectory(atPath: path("real"), withIntermediateDirectories: true)
        for name in ["m.xcdatamodeld", "m.momd", "m.xcdatamodel", "m.mom"] {
            try link(name, to: "real/\(name)")
            // The target does not exist at first.
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

    func testPermissionsAreKept() throws {
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

    func testCompanionFilesHavePermissionsOfTheirFile() throws {
        try put("", "a")
        try put("", "b")
        for (mode, companion, folder) in [
            (0o644, 0o644, 0o755), (0o600, 0o600, 0o700), (0o400, 0o600, 0o500), (0o777, 0o666, 0o777),
            (0o440, 0o640, 0o550),
        ] {
            try setMode("a", mode)
            let permissions = try XCTUnwrap(FilePermissions(of: path("a")))
            for (derived, expected) in [
                (permissions, mode), (permissions.ofCompanions, companion), (permissions.ofFolder, folder),
                (permissions.ofCopy(inPlaceOf: nil), companion),
                (permissions.ofCopy(inPlaceOf: nil, mode: 0o640), 0o640),
                (FilePermissions(mode: 0o604), 0o604),
            ] {
                try setMode("b", 0o600)
                let descriptor = open(path("b"), O_RDWR)
                derived.apply(to: descriptor)
                close(descriptor)
                XCTAssertEqual(try self.mode("b"), expected, String(mode, radix: 8))
            }
        }
        try setMode("b", 0o640)
        try setMode("a", 0o644)
        let reserved = try XCTUnwrap(FilePermissions(of: path("b")))
        let copy = try XCTUnwrap(FilePermissions(of: path("a"))).ofCopy(inPlaceOf: reserved)
        let descriptor = open(path("b"), O_RDWR)
        copy.apply(to: descriptor)
        close(descriptor)
        XCTAssertEqual(try mode("b"), 0o640, "the copy has no more permissions than the file that it replaces")
        XCTAssertNil(FilePermissions(of: path("none")))
    }

    func testConcurrentWritersKeepEachOthersVersions() throws {
        for name in ["m.momd", "m.xcdatamodeld"] {
            let bundle = path(name)
            try model("Base").write(to: bundle, version: "base")
            let failures = Locked<[String]>([])
            DispatchQueue.concurrentPerform(iterations: 24) { number in
                do { try FolderTestCase.model(["E\(number)"]).write(to: bundle, version: "v\(number)") } catch {
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

    func testInvalidVersionNamesAreRejected() throws {
        for kind in ["momd", "xcdatamodeld"] {
            let bundle = "m.\(kind)"
            try model("A").write(to: path(bundle), version: "base")
            let long = String(repeating: "x", count: 252)
            for name in ["", ".", "..", ".x", "a/b", "a\0b", ".\u{301}a", long] {
                let text = message(.invalidArgument) { try model("B").write(to: path(bundle), version: name) }
                XCTAssert(text.hasPrefix(path(bundle) + " cannot contain "), text)
            }
            XCTAssertEqual(try Model.versions(of: path(bundle)).map(\.name), ["base"])
            XCTAssertEqual(try entities(bundle), ["A"])
            try model("C").write(to: path(bundle), version: String(long.prefix(243)))
        }
        _ = message(.invalidArgument) { try model("B").write(to: path("m.mom") + "\0.mom") }
        XCTAssertEqual(try names(), ["m.momd", "m.xcdatamodeld"])
    }

    func testDotIsPartOfAVersionName() throws {
        try model("A").write(to: path("m.momd"), version: "1")
        try model("B").write(to: path("m.momd"), version: "2.0")
        _ = message(.invalidArgument) { _ = try entities("m.momd", "1.5") }
        XCTAssertEqual(try entities("m.momd", "2.0"), ["B"])
        XCTAssertEqual(try entities("m.momd", "2.0.mom"), ["B"])
        XCTAssertEqual(try entities("m.momd"), ["B"])
    }

    func testVersionNamesAreComparedByBytes() throws {
        let (composed, decomposed) = ("\u{E9}", "e\u{301}")
        for kind in ["momd", "xcdatamodeld"] {
            let bundle = "m.\(kind)"
            try model("A").write(to: path(bundle), version: decomposed)
            // In the normalisation form of another file system.
            XCTAssertEqual(try entities(bundle, composed), ["A"])
            let text = message(.invalidArgument) { try model("B").write(to: path(bundle), version: composed) }
            XCTAssert(text.contains("in another Unicode normalisation form"), text)
        }
        try model("B").write(to: path("n.xcdatamodel"))
        try files.moveItem(atPath: path("n.xcdatamodel"), toPath: path("m.xcdatamodeld/\(composed).xcdatamodel"))
        XCTAssertEqual(try entities("m.xcdatamodeld", composed), ["B"])
        XCTAssertEqual(try entities("m.xcdatamodeld", decomposed), ["A"])
        XCTAssertEqual(try Model.versions(of: path("m.xcdatamodeld")).filter(\.isCurrent).count, 1)
        XCTAssertEqual(try entities("m.xcdatamodeld"), ["A"])
    }

    // MARK: - Version information

    func testUnknownKeysAreKept() throws {
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

    func testMissingCurrentVersionIsWritten() throws {
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
}
