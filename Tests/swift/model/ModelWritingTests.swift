import CorestoneValues
import Foundation
import XCTest

@testable import CorestoneModel

/// Model files and bundles.
final class ModelWritingTests: FolderTestCase {
    /// A model of notes with string attributes.
    private func notes(_ attributes: String...) throws -> Model {
        let model = Model()
        let entity = try model.addEntity(named: "Note")
        for name in attributes { try entity.addAttribute(named: name, type: .string) }
        return model
    }

    func testEveryKindOfModelFileIsReadBack() throws {
        let model = try SampleModels.everything()
        for name in ["A.xcdatamodel", "A.xcdatamodeld", "A.mom", "A.momd"] {
            try model.write(to: path(name), isLossy: true)
            XCTAssertEqual(
                entityVersionHashes(of: try Model(contentsOf: path(name))), entityVersionHashes(of: model), name)
        }
        XCTAssertEqual(try names("A.xcdatamodel"), ["contents"])
        XCTAssertEqual(try names("A.xcdatamodeld"), [".xccurrentversion", "A.xcdatamodel"])
        XCTAssertEqual(try names("A.momd"), ["A.mom", "VersionInfo.plist"])
        XCTAssertEqual(
            try names(), ["A.mom", "A.momd", "A.xcdatamodel", "A.xcdatamodeld"], "no temporary files remain")
        for name in ["A.sqlite", "A", ".mom.x"] {
            XCTAssertThrowsError(try model.write(to: path(name))) { error in
                XCTAssertEqual((error as? CoreError)?.status, .invalidArgument)
            }
        }
        XCTAssertThrowsError(try model.write(to: path("B.mom"), version: "C"))
        XCTAssertThrowsError(try model.write(to: path("no/folder.xcdatamodeld"), isLossy: true)) { error in
            XCTAssertEqual((error as? CoreError)?.status, .storeIO)
        }
    }

    func testVersionsAreAddedToABundleAndReplaced() throws {
        for kind in ["xcdatamodeld", "momd"] {
            let bundle = "Notes.\(kind)"
            try notes("text").write(to: path(bundle))
            try notes("text", "title").write(to: path(bundle), version: "Notes 2")
            try notes("text", "title", "tag").write(to: path(bundle), version: "Notes 3", makesCurrent: false)
            try notes("body").write(to: path(bundle), version: "Notes")
            // Without a name, the current version is written.
            try notes("body", "color").write(to: path(bundle))
            let versions = try Model.versions(of: path(bundle))
            XCTAssertEqual(versions.map(\.name), ["Notes", "Notes 2", "Notes 3"])
            XCTAssertEqual(versions.map(\.isCurrent), [true, false, false])
            let attributes = try versions.map { version in
                try Model(contentsOf: path(bundle), version: version.name).entities[0].ownAttributes.map(\.name)
            }
            XCTAssertEqual(attributes, [["body", "color"], ["text", "title"], ["tag", "text", "title"]])
            for name in ["a/b", "", ".hidden"] {
                XCTAssertThrowsError(try notes("x").write(to: path(bundle), version: name)) { error in
                    XCTAssertEqual((error as? CoreError)?.status, .invalidArgument)
                }
            }
        }
        XCTAssertEqual(try names("Notes.momd"), ["Notes 2.mom", "Notes 3.mom", "Notes.mom", "VersionInfo.plist"])
        XCTAssertEqual(
            try String(contentsOfFile: path("Notes.xcdatamodeld/.xccurrentversion"), encoding: .utf8),
            """
            <?xml version="1.0" encoding="UTF-8"?>
            <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
            <plist version="1.0">
            <dict>
            \t<key>_XCCurrentVersionName</key>
            \t<string>Notes.xcdatamodel</string>
            </dict>
            </plist>

            """)
        XCTAssertEqual(try names(), ["Notes.momd", "Notes.xcdatamodeld"])
    }

    func testOtherFilesOfABundleAreKept() throws {
        let bundle = path("A.xcdatamodeld")
        try notes("a").write(to: bundle)
        try FileManager.default.createDirectory(atPath: bundle + "/de.lproj/deep", withIntermediateDirectories: true)
        try Data("x".utf8).write(to: URL(fileURLWithPath: bundle + "/de.lproj/deep/note"))
        try FileManager.default.createSymbolicLink(atPath: bundle + "/link", withDestinationPath: "nowhere")
        try Data("y".utf8).write(to: URL(fileURLWithPath: bundle + "/A.xcdatamodel/layout"))
        try notes("b").write(to: bundle)
        XCTAssertEqual(try names("A.xcdatamodeld"), [".xccurrentversion", "A.xcdatamodel", "de.lproj", "link"])
        XCTAssertEqual(try names("A.xcdatamodeld/A.xcdatamodel"), ["contents", "layout"])
        XCTAssertEqual(try String(contentsOfFile: bundle + "/de.lproj/deep/note", encoding: .utf8), "x")
        XCTAssertEqual(try FileManager.default.destinationOfSymbolicLink(atPath: bundle + "/link"), "nowhere")
    }

    /// A rejected write leaves the existing files unchanged, byte for byte, and adds no other file.
    func testFailedWriteChangesNothing() throws {
        let bundle = path("A.xcdatamodeld")
        try notes("a").write(to: bundle)
        let former = try Data(contentsOf: URL(fileURLWithPath: bundle + "/A.xcdatamodel/contents"))
        let wrong = try notes("a")
        try wrong.entities[0].setUserInfo("\u{1}", forKey: "k")
        XCTAssertThrowsError(try wrong.write(to: bundle))
        XCTAssertThrowsError(try notes("b").write(to: bundle, version: "x/y"))
        XCTAssertEqual(try Data(contentsOf: URL(fileURLWithPath: bundle + "/A.xcdatamodel/contents")), former)
        XCTAssertEqual(try names(), ["A.xcdatamodeld"])
    }

    func testOptimisedModelIsRemovedWhenItsModelIsWritten() throws {
        let source = try Fixtures.folder().appendingPathComponent("compiled-models/coredataplus/SampleModel.momd")
        let bundle = path("SampleModel.momd")
        try FileManager.default.copyItem(atPath: source.path, toPath: bundle)
        let before = try Model.versions(of: bundle)
        // A model that was read as a version is written as that version.
        try Model(contentsOf: bundle, version: "SampleModel2").write(to: bundle)
        XCTAssert(try names("SampleModel.momd").contains("SampleModel.omo"))
        try Model(contentsOf: bundle).write(to: bundle)
        XCTAssertFalse(try names("SampleModel.momd").contains("SampleModel.omo"))
        let after = try Model.versions(of: bundle)
        XCTAssertEqual(after.map(\.recordedHashes), before.map(\.recordedHashes))
        XCTAssertEqual(after.map(\.isCurrent), before.map(\.isCurrent))
    }

    func testFixtureBundlesAreConverted() throws {
        let root = try Fixtures.folder().appendingPathComponent("source-models")
        let all = FileManager.default.enumerator(atPath: root.path)?.allObjects as? [String] ?? []
        var (bundles, versions, refused) = (0, 0, 0)
        for name in all.sorted() where name.hasSuffix(".xcdatamodeld") {
            let source = root.appendingPathComponent(name).path
            guard let found = try? Model.versions(of: source), found.contains(where: \.isCurrent) else { continue }
            // Xcode's editor allows attributes without a type; its compiler does not.
            guard (try? found.forEach { try Model(contentsOf: $0.path).freeze() }) != nil else {
                XCTAssertThrowsError(try Model.convert(source, to: path("refused.momd")))
                refused += 1
                continue
            }
            bundles += 1
            versions += found.count
            let (compiled, back) = (path("\(bundles).momd"), path("\(bundles).xcdatamodeld"))
            try Model.convert(source, to: compiled, module: "App")
            let written = try Model.versions(of: compiled)
            XCTAssertEqual(written.map(\.name), found.map(\.name), name)
            XCTAssertEqual(written.map(\.isCurrent), found.map(\.isCurrent), name)
            for (version, original) in zip(written, found) {
                let model = try Model(contentsOf: original.path)
                XCTAssertEqual(version.recordedHashes, entityVersionHashes(of: model), name)
                XCTAssertEqual(version.recordedChecksum, modelVersionChecksum(version.recordedHashes), name)
                let compiledModel = try Model(contentsOf: version.path)
                XCTAssertFalse(compiledModel.entities.contains { $0.className.hasPrefix(".") }, name)
            }
            try Model.convert(compiled, to: back, isLossy: true)
            for (version, original) in zip(try Model.versions(of: back), found) {
                XCTAssertEqual(
                    entityVersionHashes(of: try Model(contentsOf: version.path)),
                    entityVersionHashes(of: try Model(contentsOf: original.path)), name)
            }
            XCTAssertThrowsError(try Model.convert(compiled, to: back), "a source model is not overwritten")
        }
        print(
            "bundles compiled and made sources again: \(bundles), with \(versions) versions; "
                + "refused as unfinished: \(refused)")
        XCTAssertGreaterThan(bundles, 150)
    }
}
