import CorestoneContainers
import CorestoneFormats
import CorestoneGraph
import CorestoneModel
@testable import CorestoneSQLite
import CorestoneValues
import Foundation
import XCTest

/// Selection of the model version that wrote a store.
final class VersionChoiceTests: StoreTestCase {
    private let names = ["App", "App 2", "App 3"]

    /// The first version has notes, the second adds a size, the third widens the size and adds folders.
    private func source(_ name: String) -> [UInt8] {
        let size = ["App": "", "App 2": "Integer 16", "App 3": "Integer 64"][name] ?? ""
        let attribute = size.isEmpty ? "" : "<attribute name='size' optional='YES' attributeType='\(size)'/>"
        let folder =
            name == "App 3" ? "<entity name='Folder'><attribute name='name' attributeType='String'/></entity>" : ""
        return Array(
            "<model><entity name='Note'><attribute name='text' attributeType='String'/>\(attribute)</entity>\(folder)</model>"
                .utf8)
    }

    private func write(_ bytes: [UInt8], _ name: String) throws {
        let file = URL(fileURLWithPath: path(name))
        try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(bytes).write(to: file)
    }

    private func makeSourceBundle() throws -> String {
        for name in names { try write(source(name), "App.xcdatamodeld/\(name).xcdatamodel/contents") }
        try write(
            encodePropertyList(.dictionary(["_XCCurrentVersionName": .string("App 3.xcdatamodel")])),
            "App.xcdatamodeld/.xccurrentversion")
        return path("App.xcdatamodeld")
    }

    private func makeCompiledBundle(recordsHashes: Bool) throws -> String {
        let folder = "App\(recordsHashes).momd"
        var hashes: [String: PropertyListValue] = [:]
        for name in names {
            let model = try Model(sourceModel: source(name))
            try model.freeze()
            try write(compiledModel(model), "\(folder)/\(name).mom")
            hashes[name] = .dictionary(entityVersionHashes(of: model).mapValues { .data($0) })
        }
        var info: [String: PropertyListValue] = ["NSManagedObjectModel_CurrentVersionName": .string("App 3")]
        if recordsHashes { info["NSManagedObjectModel_VersionHashes"] = .dictionary(hashes) }
        try write(encodePropertyList(.dictionary(info)), "\(folder)/VersionInfo.plist")
        return path(folder)
    }

    private func makeStore(_ name: String, _ version: String) throws -> String {
        let model = try Model(sourceModel: source(version))
        try model.freeze()
        try open(name, model).close()
        return path(name)
    }

    func testVersionThatWroteTheStoreIsChosen() throws {
        let bundles = [
            try makeSourceBundle(), try makeCompiledBundle(recordsHashes: true),
            try makeCompiledBundle(recordsHashes: false),
        ]
        for name in names {
            let store = try makeStore("\(name).sqlite", name)
            for bundle in bundles {
                let model = try Model.load(bundle, forStoreAt: store)
                XCTAssertEqual(model.versionName, name, bundle)
                XCTAssertTrue(model.isFrozen)
                let opened = try Coordinator.open(store, model: model)
                XCTAssertEqual(opened.stores.first?.modelSource, .given)
            }
        }
        XCTAssertEqual(
            try Model(contentsOf: bundles[0]).versionName, "App 3", "who loads a bundle gets the current one")
        XCTAssertEqual(try Model(contentsOf: bundles[0], version: "App").versionName, "App")
        XCTAssertNil(try Model(contentsOf: bundles[0] + "/App 2.xcdatamodel").versionName)
    }

    func testUnreadableVersionsAreSkipped() throws {
        let bundle = try makeSourceBundle()
        let store = try makeStore("a.sqlite", "App 2")
        try write(Array("<model>".utf8), "App.xcdatamodeld/App 3.xcdatamodel/contents")
        XCTAssertEqual(try Model.load(bundle, forStoreAt: store).versionName, "App 2")
        try write(Array("<model>".utf8), "App.xcdatamodeld/App.xcdatamodel/contents")
        try write(Array("<model>".utf8), "App.xcdatamodeld/App 2.xcdatamodel/contents")
        XCTAssertEqual(failure { _ = try Model.load(bundle, forStoreAt: store) }.status, .model)
    }

    func testErrorNamesTheNearestVersion() throws {
        let bundle = try makeSourceBundle()
        let model = try Model(
            sourceModel: Array(
                """
                <model><entity name='Note'><attribute name='text' attributeType='String'/>
                <attribute name='size' optional='YES' attributeType='Double'/></entity>
                <entity name='Folder'><attribute name='name' attributeType='String'/></entity></model>
                """.utf8))
        try model.freeze()
        try open("b.sqlite", model).close()
        let error = failure { _ = try Model.load(bundle, forStoreAt: path("b.sqlite")) }
        XCTAssertEqual(error.status, .modelMismatch)
        XCTAssertEqual(error.code, 134100)
        XCTAssertEqual(error.file, path("b.sqlite"))
        XCTAssertEqual(error.entity, "Note")
        XCTAssertEqual(error.key, "size")
        XCTAssertEqual(
            error.message,
            "\(path("b.sqlite")) does not match any of the versions of \(bundle) (App 3, App 2, App). The nearest is "
                + "App 3: Note differs, and Note.size is of type Double in the store and of type Integer 64 in the "
                + "model; migrate the store to one of the versions with "
                + "CST_STORE_MIGRATE (migrate, corestone migrate)")
    }

    func testCurrentVersionIsChosenWithoutAStore() throws {
        let bundle = try makeSourceBundle()
        XCTAssertEqual(try Model.load(bundle, forStoreAt: path("none.sqlite")).versionName, "App 3")
        try write(Array("no store".utf8), "text.sqlite")
        XCTAssertEqual(try Model.load(bundle, forStoreAt: path("text.sqlite")).versionName, "App 3")
        // A single model has no versions to choose from, regardless of the store.
        let single = bundle + "/App 2.xcdatamodel"
        XCTAssertNil(try Model.load(single, forStoreAt: try makeStore("c.sqlite", "App")).versionName)
        XCTAssertEqual(failure { _ = try Model.load(path("none"), forStoreAt: path("c.sqlite")) }.status, .storeIO)
    }

    /// Every Apple store of the fixtures whose bundle exists, whichever version is current.
    func testVersionsOfAppleStoresAreChosen() throws {
        try Fixtures.require()
        let manifest = try JSONSerialization.jsonObject(
            with: Data(contentsOf: URL(fileURLWithPath: Fixtures.folder + "/manifest.json")))
        let pairs = try XCTUnwrap((manifest as? [String: Any])?["pairs"] as? [[String: String]])
        var (chosen, older, refused) = (0, 0, [String]())
        for pair in pairs {
            let store = Fixtures.folder + "/" + (pair["compiled"] ?? "")
            let bundle =
                Fixtures.folder + "/" + (pair["source"] ?? "").split(separator: "/").dropLast(2).joined(separator: "/")
            guard store.contains("/stores/"), bundle.hasSuffix(".xcdatamodeld"),
                try Model.versions(of: bundle).count > 1
            else { continue }
            do {
                let model = try Model.load(bundle, forStoreAt: store)
                XCTAssertEqual(
                    entityVersionHashes(of: model), try StoreMetadata(ofStoreAt: store).entityVersionHashes, store)
                chosen += 1
                if try Model.versions(of: bundle).first(where: \.isCurrent)?.name != model.versionName { older += 1 }
            } catch let error as CoreError where error.status == .modelMismatch {
                XCTAssertTrue(error.message.contains("The nearest is "), error.message)
                refused.append(String(store.split(separator: "/").last ?? ""))
            }
        }
        print(
            "stores with bundles of several versions: \(chosen) versions chosen, \(older) of them not current; none fits: \(refused)"
        )
        XCTAssertGreaterThan(older, 0)
    }
}
