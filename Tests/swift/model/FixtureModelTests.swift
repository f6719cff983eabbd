import CorestoneFileSystem
import CorestoneValues
import Foundation
import XCTest

@testable import CorestoneModel

/// All models of the fixtures, of every kind.
final class FixtureModelTests: XCTestCase {
    private func paths(_ folder: String, _ suffix: String) throws -> [String] {
        let root = try Fixtures.folder().appendingPathComponent(folder)
        let all = FileManager.default.enumerator(atPath: root.path)?.allObjects as? [String] ?? []
        return all.filter { $0.hasSuffix(suffix) }.sorted().map { root.path + "/" + $0 }
    }

    /// Drafts with an attribute without a type. They are parsed, but neither compiled by Xcode nor frozen.
    private let drafts = [
        "Bouncer/Model.xcdatamodeld/Model.xcdatamodel", "Flowing/Model.xcdatamodeld/Model.xcdatamodel",
    ]

    private func read(_ paths: [String]) -> [String: Model] {
        var models: [String: Model] = [:]
        for path in paths {
            do {
                let model = try Model(contentsOf: path)
                if drafts.contains(where: path.hasSuffix) {
                    XCTAssertThrowsError(try model.freeze())
                } else {
                    try model.freeze()
                }
                XCTAssertFalse(model.entities.isEmpty && !path.contains("source-models"), path)
                models[path] = model
            } catch { XCTFail("\(path): \(error)") }
        }
        return models
    }

    func testEverySourceModelIsRead() throws {
        let files = try paths("source-models", "/contents")
        let models = read(files.map { String($0.dropLast("/contents".count)) })
        print("source models read: \(models.count) of \(files.count)")
        XCTAssertGreaterThan(files.count, 300)
        XCTAssertGreaterThan(models.values.reduce(0) { $0 + $1.entities.count }, 1700)
    }

    func testEveryBundleHasACurrentVersion() throws {
        var bundles = try paths("source-models", ".xcdatamodeld")
        bundles += try paths("compiled-models", ".momd")
        var incomplete = 0
        for bundle in bundles {
            do {
                let versions = try Model.versions(of: bundle)
                guard let current = versions.first(where: \.isCurrent) else {
                    // The fixtures contain only some versions.
                    XCTAssertThrowsError(try Model(contentsOf: bundle)) {
                        let text = "\($0)"
                        let faults = [
                            "has no version", "does not specify", "does not contain any versions",
                            "which does not exist",
                        ]
                        XCTAssertTrue(faults.contains { text.contains($0) }, text)
                    }
                    incomplete += 1
                    continue
                }
                let model = try Model(contentsOf: bundle)
                XCTAssertEqual(
                    try ModelSummary.of(model), try ModelSummary.of(Model(contentsOf: bundle, version: current.name)))
            } catch { XCTFail("\(bundle): \(error)") }
        }
        print("bundles read: \(bundles.count - incomplete), without their current version: \(incomplete)")
        XCTAssertGreaterThan(bundles.count, 60)
    }

    func testEveryCompiledModelHasTheHashesOfItsBundle() throws {
        let files = try paths("compiled-models", ".mom") + paths("compiled-models", ".omo")
        let models = read(files)
        print("compiled models read: \(models.count) of \(files.count)")
        var (equal, total) = (0, 0)
        for bundle in try paths("compiled-models", ".momd") {
            for version in try Model.versions(of: bundle) {
                let hashes = entityVersionHashes(of: try Model(contentsOf: bundle, version: version.name))
                for (name, hash) in version.recordedHashes {
                    total += 1
                    equal += hashes[name] == hash ? 1 : 0
                    XCTAssertEqual(hashes[name], hash, "\(name) of \(version.path)")
                }
                XCTAssertEqual(hashes.count, version.recordedHashes.count)
                if let checksum = version.recordedChecksum { XCTAssertEqual(modelVersionChecksum(hashes), checksum) }
            }
        }
        print("version hashes of VersionInfo.plist: \(equal) of \(total) equal")
        XCTAssertGreaterThan(total, 20)
    }

    /// Many of these models also exist as sources, whose entities have the same hashes.
    func testEveryModelOfAMappingModelIsRead() throws {
        var (count, known, total) = (0, 0, 0)
        let sources = read(try paths("source-models", ".xcdatamodel"))
        let hashes = Set(sources.values.flatMap { entityVersionHashes(of: $0).values })
        for path in try paths("mapping-models", "xcmapping.xml") {
            for (name, bytes) in try Fixtures.embeddedModels(path) {
                do {
                    let model = try Model(editorModel: bytes)
                    try model.freeze()
                    XCTAssertFalse(model.entities.isEmpty, path)
                    total += model.entities.count
                    known += entityVersionHashes(of: model).values.filter(hashes.contains).count
                    count += 1
                } catch { XCTFail("\(name) of \(path): \(error)") }
            }
        }
        print("models within mapping models read: \(count); \(known) of \(total) entities hash as in a source model")
        XCTAssertEqual(count, 22)
        XCTAssertEqual(known, total)
    }

    /// An .xcdatamodel of older editors is a folder with an archive of the editor.
    func testOldSourceModelsAreRead() throws {
        let path = try XCTUnwrap(try paths("mapping-models", "xcmapping.xml").first)
        let bytes = try XCTUnwrap(try Fixtures.embeddedModels(path).first?.bytes)
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).xcdatamodel")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try Data(bytes).write(to: folder.appendingPathComponent("elements"))
        try Data([0]).write(to: folder.appendingPathComponent("layout"))
        XCTAssertEqual(
            try ModelSummary.of(Model(contentsOf: folder.path)), try ModelSummary.of(Model(editorModel: bytes)))
    }

    // MARK: - Pairs

    /// The pairs of the manifest whose store, by its version hashes, was written with another version than the source.
    private let noPairs: Set<String> = [
        "Bookmarks_V1.sqlite BookmarksModel 2", "Bookmarks_V2.sqlite BookmarksModel", "Moody.moody Moody",
    ]

    func testSourceAndCompiledModelsOfPairsAgree() throws {
        let folder = try Fixtures.folder()
        let manifest = try JSONSerialization.jsonObject(
            with: Data(contentsOf: folder.appendingPathComponent("manifest.json")))
        let pairs = try XCTUnwrap((manifest as? [String: Any])?["pairs"] as? [[String: String]])
        let stores = Dictionary(try Fixtures.stores().map { ($0.name, $0) }) { first, _ in first }
        var (agreeing, different) = (0, [String]())
        var compiler = CompilerDifferences()
        for pair in pairs {
            let (one, other) = (try XCTUnwrap(pair["compiled"]), try XCTUnwrap(pair["source"]))
            let source = try Model(contentsOf: folder.path + "/" + other)
            let name = String(one.split(separator: "/").last ?? "")
            let compiled =
                try stores[name]?.packedModel.map { try Model(modelCache: $0) }
                ?? Model(contentsOf: folder.path + "/" + one)
            guard entityVersionHashes(of: source) == entityVersionHashes(of: compiled) else {
                different.append("\(name) \(LocalFile(other).folder.stem)")
                continue
            }
            let (a, b) = (compiler.lines(of: compiled, beside: source), Set(try ModelSummary.of(source)))
            XCTAssertEqual(a.subtracting(b).sorted(), [], "only in \(name)")
            XCTAssertEqual(b.subtracting(a).sorted(), [], "only in the source of \(name)")
            agreeing += 1
        }
        print("pairs of source and compiled model: \(agreeing) of \(pairs.count) agree; \(compiler)")
        XCTAssertEqual(Set(different), noPairs)
        XCTAssertEqual(agreeing, pairs.count - noPairs.count)
    }
}

/// Reverts the changes that a compiler makes to a model, in the lines of a compiled model.
private struct CompilerDifferences: CustomStringConvertible {
    /// A program that has no class for an entity caches its model without the class.
    var missingClasses = 0
    /// Older compilers do not write the class of transformable values.
    var missingValueClasses = 0

    mutating func lines(of compiled: Model, beside source: Model) -> Set<String> {
        for entity in compiled.entities {
            guard let original = source.entity(named: entity.name) else { continue }
            if entity.className != original.className, entity.className == "NSManagedObject" {
                missingClasses += 1
                try? entity.setClassName(original.className)
            }
            for attribute in entity.ownAttributes where attribute.valueClassName == nil {
                let sourceAttribute = original.ownAttributes.first { $0.name == attribute.name }
                guard let className = sourceAttribute?.valueClassName else { continue }
                missingValueClasses += 1
                try? attribute.setValueClassName(className)
            }
        }
        return Set((try? ModelSummary.of(compiled)) ?? [])
    }

    var description: String {
        "made by compiling: \(missingClasses) missing classes, \(missingValueClasses) missing value classes"
    }
}
