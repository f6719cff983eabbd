import CorestoneFileSystem
import CorestoneValues
import Foundation
import XCTest

@testable import CorestoneModel

/// Paths of models, and the selection of bundle versions.
final class ModelPlaceTests: FolderTestCase {
    private func source(_ entity: String, _ name: String) throws {
        try files.createDirectory(atPath: path(name), withIntermediateDirectories: true)
        try put("<model><entity name='\(entity)'/></model>", name + "/contents")
    }

    private func current(_ text: String, _ bundle: String) throws {
        try put(
            "<plist><dict><key>_XCCurrentVersionName</key><string>\(text)</string></dict></plist>",
            bundle + "/.xccurrentversion")
    }

    // MARK: - Names

    func testPathIsSplitIntoNameStemAndFolder() {
        for (path, name, stem, folder) in [
            ("/a/b.mom", "b.mom", "b", "/a"), ("b.mom", "b.mom", "b", "."), ("/b", "b", "b", "/"),
            ("/a/b.c.mom//", "b.c.mom", "b.c", "/a"), ("a/.hidden", ".hidden", ".hidden", "a"),
            ("a/.hidden.mom", ".hidden.mom", ".hidden", "a"), ("/", "/", "/", "/"),
        ] {
            let file = LocalFile(path)
            XCTAssertEqual([file.name, file.stem, file.folder.path], [name, stem, folder], path)
        }
        XCTAssertEqual(LocalFile("/").child("a").path, "/a")
        XCTAssertEqual(LocalFile("b").child("a").path, "b/a")
        let shown = LocalFile("/x/draft", shownAs: "/x/a").child("c")
        XCTAssertEqual([shown.path, shown.shown], ["/x/draft/c", "/x/a/c"])
    }

    func testModelKindFollowsTheExtension() throws {
        for (name, kind) in [
            ("a.xcdatamodel", ModelKind.source), ("a.xcdatamodeld", .sourceBundle), ("a.mom", .compiled),
            ("a.momd", .compiledBundle), ("a.b.momd/", .compiledBundle),
        ] {
            XCTAssertEqual(try ModelKind(LocalFile(name)), kind)
            XCTAssertEqual(kind.isSource, kind == .source || kind == .sourceBundle)
            XCTAssertEqual(kind.isBundle, kind == .sourceBundle || kind == .compiledBundle)
        }
        for name in ["mom", "a.MOM", "a.omo", "a.mom.x", "mom/a"] {
            XCTAssertEqual(
                message(.invalidArgument) { _ = try ModelKind(LocalFile(name)) },
                "\(name) does not have the extension of a model; use .xcdatamodeld, .xcdatamodel, .momd or .mom")
        }
        XCTAssertEqual(
            message(.invalidArgument) { _ = try ModelKind(LocalFile("a\0.mom")) },
            "the path of the model \"a␀.mom\" contains a NUL byte; remove it")
    }

    // MARK: - Versions

    func testVersionsAreOrderedByTheirNumbers() throws {
        for name in ["App 10", "App 2", "App", "App 1", "Another 3", "9"] {
            try source("E", "A.xcdatamodeld/\(name).xcdatamodel")
        }
        XCTAssertEqual(
            try Model.versions(of: path("A.xcdatamodeld")).map(\.name),
            ["9", "Another 3", "App", "App 1", "App 2", "App 10"])
    }

    func testCurrentVersionIsRecordedOrNamedLikeTheBundle() throws {
        let bundle = "A.xcdatamodeld"
        func currents() throws -> [String] {
            try Model.versions(of: path(bundle)).filter(\.isCurrent).map(\.name)
        }
        try source("One", "\(bundle)/One.xcdatamodel")
        XCTAssertEqual(try currents(), ["One"], "the only version is current")
        try source("Two", "\(bundle)/Two.xcdatamodel")
        XCTAssertEqual(try currents(), [], "no version has the name of the bundle")
        XCTAssertEqual(
            message(.invalidArgument) { _ = try Model(contentsOf: path(bundle)) },
            "\(path(bundle)) does not specify the current version; pass the version \"One\" or \"Two\", or set the "
                + "current version with corestone model set \(path(bundle)) . currentVersion=NAME --version NAME")
        XCTAssertEqual(try entities(bundle, "Two"), ["Two"])
        try source("A", "\(bundle)/A.xcdatamodel")
        XCTAssertEqual(try currents(), ["A"], "the version has the name of the bundle")
        for (text, name) in [("Two.xcdatamodel", "Two"), ("One", "One"), ("Two.mom", "Two")] {
            try current(text, bundle)
            XCTAssertEqual(try currents(), [name])
            XCTAssertEqual(try entities(bundle), [name])
        }
        try current("Gone.xcdatamodel", bundle)
        XCTAssertEqual(try currents(), [])
        XCTAssertEqual(
            message(.invalidArgument) { _ = try Model(contentsOf: path(bundle)) },
            "\(path(bundle)) has the current version \"Gone\", which does not exist; pass the version \"A\", \"One\" or "
                + "\"Two\", or set the current version with corestone model set \(path(bundle)) . "
                + "currentVersion=NAME --version NAME"
        )
        try put("not a list", "\(bundle)/.xccurrentversion")
        XCTAssertTrue(
            message(.model) { _ = try Model(contentsOf: path(bundle)) }.hasPrefix("\(path(bundle))/.xccurrentversion"))
    }

    func testVersionsAreFoundByName() throws {
        try source("E", "A.xcdatamodeld/A.xcdatamodel")
        try source("F", "A.xcdatamodeld/1.5.xcdatamodel")
        XCTAssertEqual(try entities("A.xcdatamodeld", "1.5"), ["F"])
        XCTAssertEqual(try entities("A.xcdatamodeld", "1.5.mom"), ["F"])
        XCTAssertEqual(try Model(contentsOf: path("A.xcdatamodeld"), version: "1.5").versionName, "1.5")
        XCTAssertEqual(try Model(contentsOf: path("A.xcdatamodeld")).versionName, "A")
        XCTAssertNil(try Model(contentsOf: path("A.xcdatamodeld/A.xcdatamodel")).versionName)
        for name in ["A", "B"] {
            let file = path("A.xcdatamodeld/A.xcdatamodel")
            if name == "A" {
                XCTAssertEqual(try Model(contentsOf: file, version: name).entities.count, 1)
            } else {
                XCTAssertEqual(
                    message(.invalidArgument) { _ = try Model(contentsOf: file, version: name) },
                    "\(file) does not have versions; omit the version \"B\"")
            }
        }
        let only = try Model.versions(of: path("A.xcdatamodeld/A.xcdatamodel"))
        XCTAssertEqual(only.map(\.name), ["A"])
        XCTAssertEqual([only[0].isCurrent, only[0].recordedHashes.isEmpty], [true, true])
        XCTAssertEqual(
            message(.storeIO) { _ = try Model.versions(of: path("none")) },
            "\(path("none")) does not exist; check the path")
        XCTAssertEqual(
            message(.model) { _ = try Model.versions(of: folder.path + "/") },
            "\(folder.path) does not contain a model: it has neither a contents file nor versions; pass a "
                + ".xcdatamodel, .xcdatamodeld or .momd folder")
    }

    func testArchiveOfOlderEditorsIsReadFromElements() throws {
        try files.createDirectory(atPath: path("A.xcdatamodel"), withIntermediateDirectories: true)
        try model("E").write(to: path("a.mom"))
        try files.moveItem(atPath: path("a.mom"), toPath: path("A.xcdatamodel/elements"))
        XCTAssertEqual(try entities("A.xcdatamodel"), ["E"])
        try put("<model><entity name='F'/></model>", "A.xcdatamodel/contents")
        XCTAssertEqual(try entities("A.xcdatamodel"), ["F"], "the newer form is preferred")
    }

    func testBundleRecordsHashesAndChecksums() throws {
        try model("E").write(to: path("A.momd"))
        try model("E", "F").write(to: path("A.momd"), version: "B", makesCurrent: false)
        let list = try plist("A.momd/VersionInfo.plist")
        XCTAssertEqual(list["NSManagedObjectModel_CurrentVersionName"] as? String, "A")
        let hashes = try XCTUnwrap(list["NSManagedObjectModel_VersionHashes"] as? [String: [String: Data]])
        XCTAssertEqual(hashes.mapValues { $0.keys.sorted() }, ["A": ["E"], "B": ["E", "F"]])
        let checksums = try XCTUnwrap(list["NSManagedObjectModel_VersionChecksums"] as? [String: String])
        XCTAssertEqual(checksums, ["A": try model("E").versionChecksum, "B": try model("E", "F").versionChecksum])
        let recorded = try Model.versionChecksums(of: path("A.momd"))
        XCTAssertEqual(recorded.map(\.version), ["A", "B"])
        XCTAssertEqual(recorded.map(\.checksum), [checksums["A"], checksums["B"]])
        // Without a recorded list the checksums are computed from the models.
        try files.removeItem(atPath: path("A.momd/VersionInfo.plist"))
        XCTAssertEqual(try Model.versionChecksums(of: path("A.momd")).map(\.checksum), recorded.map(\.checksum))
        XCTAssertEqual(try Model.versions(of: path("A.momd")).map(\.recordedChecksum), [nil, nil])
    }

    func testVersionThatDiffersFromItsRecordIsRejected() throws {
        try model("E", "F").write(to: path("A.momd"))
        try model("E", "F").write(to: path("B.mom"))
        let other = try model("E", "F")
        try other.entities[1].setAbstract(true)
        try other.write(to: path("C.mom"))
        for (name, isRefused) in [("B.mom", false), ("C.mom", true)] {
            try files.removeItem(atPath: path("A.momd/A.mom"))
            try files.copyItem(atPath: path(name), toPath: path("A.momd/A.mom"))
            guard isRefused else {
                XCTAssertEqual(try entities("A.momd"), ["E", "F"])
                continue
            }
            XCTAssertEqual(
                message(.model) { _ = try Model(contentsOf: path("A.momd")) },
                "\(path("A.momd")) contains the version \"A\", in which the entity \"F\" does not match its hash in "
                    + "VersionInfo.plist; recompile the model")
        }
    }

    func testOptimisedModelIsReadFromTheModelNextToIt() throws {
        try put("momv2$ and more", "A.omo")
        XCTAssertEqual(
            message(.model) { _ = try Model(contentsOf: path("A.omo")) },
            "\(path("A.omo")) is an optimised model, which cannot be read without the .mom file next to it; add the .mom "
                + "file")
        try model("E").write(to: path("A.mom"))
        XCTAssertEqual(try entities("A.omo"), ["E"])
        try put("momv2$ and more", "A.bin")
        XCTAssertTrue(message(.model) { _ = try Model(contentsOf: path("A.bin")) }.contains("use the plain .mom file"))
    }

    func testModelDataOfEveryKindIsRead() throws {
        let model = try model("E")
        let compiled = try compiledModel(model)
        for bytes in [
            compiled, try deflateRaw(compiled), try model.source(), [0xEF, 0xBB, 0xBF] + (try model.source()),
        ] {
            XCTAssertEqual(try Model(data: bytes).entities.map(\.name), ["E"])
        }
        for (text, words) in [
            ("", "the data is empty"), ("SQLite format 3\0", "the data is an SQLite database, not a model"),
            (
                "<?xml version='1.0'?><!DOCTYPE database SYSTEM 'x'><database/>",
                "the data is an XML store or a mapping model"
            ),
            ("<database>", "the data is an XML store or a mapping model"),
        ] {
            XCTAssertTrue(message(.invalidArgument) { _ = try Model(data: Array(text.utf8)) }.hasPrefix(words), text)
        }
        XCTAssertTrue(
            message(.storeCorrupt) { _ = try Model(data: Array("text".utf8)) }.hasPrefix(
                "the data is not XML, a property list or the intact cached model of a store; "))
    }

    // MARK: - Conversion

    func testConversionFillsInTheModuleOfClasses() throws {
        let model = try model("A", "B", "C")
        for (entity, name) in zip(model.entities, [".A", "Other.B", "C"]) { try entity.setClassName(name) }
        try model.write(to: path("M.xcdatamodeld"))
        for (module, expected) in [("App", ["App.A", "Other.B", "C"]), (nil, [".A", "Other.B", "C"])] {
            try Model.convert(path("M.xcdatamodeld"), to: path("M.mom"), module: module)
            XCTAssertEqual(try Model(contentsOf: path("M.mom")).entities.map(\.className), expected)
        }
    }

    func testInvalidConversionsFail() throws {
        try model("E").write(to: path("A.xcdatamodeld"))
        try model("E").write(to: path("B.xcdatamodel"))
        XCTAssertEqual(
            message(.invalidArgument) { try Model.convert(path("A.xcdatamodeld"), to: path("B.xcdatamodel")) },
            "\(path("B.xcdatamodel")) already exists; remove it first, or choose another path")
        try files.createDirectory(atPath: path("C.momd"), withIntermediateDirectories: true)
        try files.moveItem(atPath: path("B.xcdatamodel"), toPath: path("C.momd/B.xcdatamodel"))
        let inner = path("C.momd/B.xcdatamodel")
        XCTAssertEqual(
            message(.invalidArgument) { try Model.convert(inner, to: path("C.momd")) },
            "\(path("C.momd")) contains \(inner), which would be replaced; choose another folder")
        try source("E", "D.xcdatamodeld/One.xcdatamodel")
        try source("E", "D.xcdatamodeld/Two.xcdatamodel")
        XCTAssertEqual(
            message(.invalidArgument) { try Model.convert(path("D.xcdatamodeld"), to: path("D.momd")) },
            "\(path("D.xcdatamodeld")) does not have a current version; set the current version with "
                + "corestone model set \(path("D.xcdatamodeld")) . currentVersion=NAME --version NAME")
        try current("Two", "D.xcdatamodeld")
        try put("<model><entity name='1'/></model>", "D.xcdatamodeld/Two.xcdatamodel/contents")
        for target in ["D.momd", "D.mom"] {
            let text = message(.model) { try Model.convert(path("D.xcdatamodeld"), to: path(target)) }
            XCTAssertTrue(text.contains("D.xcdatamodeld/Two.xcdatamodel"), text)
            XCTAssertFalse(files.fileExists(atPath: path(target)))
        }
    }

    func testWriteSelectsTheVersion() throws {
        let bundle = "A.xcdatamodeld"
        try model("One").write(to: path(bundle), version: "One", makesCurrent: false)
        XCTAssertEqual(try Model.versions(of: path(bundle)).map(\.isCurrent), [true], "the first version is current")
        try model("Two").write(to: path(bundle), version: "Two")
        let read = try Model(contentsOf: path(bundle), version: "One")
        try read.addEntity(named: "More")
        try read.write(to: path(bundle))
        XCTAssertEqual(try entities(bundle, "One"), ["More", "One"], "written as the version that was read")
        XCTAssertEqual(try entities(bundle), ["Two"], "the current version is unchanged")
        try model("Three").write(to: path(bundle))
        XCTAssertEqual(try entities(bundle), ["Three"])
        XCTAssertEqual(try Model.versions(of: path(bundle)).map(\.name), ["One", "Two"])
        try read.write(to: path("B.xcdatamodeld"))
        XCTAssertEqual(try names("B.xcdatamodeld"), [".xccurrentversion", "One.xcdatamodel"])
        try model("Four").write(to: path("C.xcdatamodeld"))
        XCTAssertEqual(try names("C.xcdatamodeld"), [".xccurrentversion", "C.xcdatamodel"])
        XCTAssertEqual(
            message(.invalidArgument) { try model("E").write(to: path("D.mom"), version: "B") },
            "\(path("D.mom")) cannot have versions; omit the version \"B\"")
        try model("E").write(to: path("D.mom"), version: "D")
        XCTAssertEqual(try entities("D.mom"), ["E"])
    }

    func testDraftsOfACrashAreRemoved() throws {
        let leftover = [".a.x.1zz.corestone-part", ".a.x.0.corestone-part"]
        let others = [
            ".a.x.corestone-part", ".a.x.!.corestone-part", ".b.x.1.corestone-part", ".a.x.b.1.corestone-part", "a.x",
            ".a.x.1.part",
        ]
        for name in leftover + others { try put("", name) }
        LocalFile(path("a.x")).removeDrafts()
        XCTAssertEqual(Set(try names()), Set(others))
    }
}
