import CorestoneFileSystem
import CorestoneValues
import Foundation
import XCTest

@testable import CorestoneModel

/// Files that writing a model does not replace, and the paths in errors.
final class WritingErrorTests: FolderTestCase {
    func testErrorsNameTheGivenPath() throws {
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
        XCTAssert(refused.contains("version \"v3\"") && refused.contains(path("m.xcdatamodeld")), refused)
    }

    func testConversionReplacesOnlyModels() throws {
        try model("A").write(to: path("s.xcdatamodeld"), version: "v1")
        try files.createDirectory(atPath: path("m.momd"), withIntermediateDirectories: true)
        // An empty folder is treated as a missing folder.
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

    func testModelFileHasItsFolder() {
        XCTAssertEqual(LocalFile("/m.mom").folder.path, "/")
        XCTAssertEqual(LocalFile("/").child("m.mom").path, "/m.mom")
        XCTAssertEqual(LocalFile("m.mom").folder.path, ".")
        XCTAssertEqual(LocalFile("/a/m.mom/").folder.path, "/a")
    }
}
