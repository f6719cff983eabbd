import CorestoneFormats
@testable import CorestoneModel
import CorestoneValues
import Foundation
import XCTest

/// Comparison of entity version hashes with those of Apple's framework.
///
/// Apple's hashes are in the metadata of its stores and next to its compiled models.
final class HashParityTests: XCTestCase {
    private var entities = (equal: 0, all: 0)
    private var digests = (equal: 0, all: 0)
    private var checksums = (equal: 0, all: 0)
    private var unexplained: [String] = []

    private func compare(_ model: Model, _ stored: [String: [UInt8]], _ name: String) {
        let computed = entityVersionHashes(of: model)
        for entity in Set(computed.keys).union(stored.keys).sorted() {
            entities.all += 1
            if computed[entity] == stored[entity] {
                entities.equal += 1
            } else {
                unexplained.append("\(name): \(entity)")
            }
        }
        // Entities that such a file confirms must not be reported as unconfirmed.
        for extrapolation in model.extrapolations where computed[extrapolation.entity] == stored[extrapolation.entity] {
            unexplained.append("\(name): \(extrapolation.entity): \(extrapolation.text)")
        }
    }

    func testCachedModelsHashAsTheMetadataOfTheirStores() throws {
        var stores = 0
        for store in try Fixtures.stores() {
            let metadata = try StoreMetadata(decoding: store.metadata)
            let hashes = metadata.entityVersionHashes
            if let digest = metadata.digest {
                digests.all += 1
                if digest == modelVersionDigest(hashes) { digests.equal += 1 } else { unexplained.append(store.name) }
            }
            if let checksum = metadata.checksum {
                checksums.all += 1
                if checksum == modelVersionChecksum(hashes) {
                    checksums.equal += 1
                } else {
                    unexplained.append(store.name)
                }
            }
            guard let packed = store.packedModel else { continue }
            stores += 1
            compare(try Model(modelCache: packed), hashes, store.name)
        }
        report("cached models of \(stores) stores")
        XCTAssertGreaterThan(entities.all, 200)
    }

    func testCompiledModelsHashAsTheirVersionInfo() throws {
        let folder = try Fixtures.folder().appendingPathComponent("compiled-models")
        let bundles =
            FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)?
            .compactMap { $0 as? URL }.filter { $0.lastPathComponent == "VersionInfo.plist" } ?? []
        for info in bundles {
            let plist = try decodeAnyPropertyList(Array(Data(contentsOf: info))).dictionary ?? [:]
            let sums = plist["NSManagedObjectModel_VersionChecksums"]?.dictionary ?? [:]
            for (version, entry) in plist["NSManagedObjectModel_VersionHashes"]?.dictionary ?? [:] {
                let hashes = (entry.dictionary ?? [:]).compactMapValues(\.data)
                if let sum = sums[version]?.string {
                    checksums.all += 1
                    if sum == modelVersionChecksum(hashes) { checksums.equal += 1 } else { unexplained.append(version) }
                }
                let file = info.deletingLastPathComponent().appendingPathComponent(version + ".mom")
                guard let bytes = try? Data(contentsOf: file) else { continue }
                compare(try Model(compiledModel: Array(bytes)), hashes, "\(file.lastPathComponent)")
            }
        }
        report("compiled models of \(bundles.count) bundles")
        XCTAssertGreaterThan(entities.all, 10)
    }

    /// The pairs of the manifest whose store was written with another version than the source.
    private let otherVersions: Set<String> = ["Bookmarks_V1.sqlite", "Bookmarks_V2.sqlite", "Moody.moody"]

    func testSourceModelsHashAsTheStoresAndBundlesOfTheirPairs() throws {
        let folder = try Fixtures.folder()
        let manifest = try JSONSerialization.jsonObject(
            with: Data(contentsOf: folder.appendingPathComponent("manifest.json")))
        let pairs = try XCTUnwrap((manifest as? [String: Any])?["pairs"] as? [[String: String]])
        let stores = Dictionary(try Fixtures.stores().map { ($0.name, $0) }) { first, _ in first }
        var others: Set<String> = []
        for pair in pairs {
            let (compiled, source) = (try XCTUnwrap(pair["compiled"]), try XCTUnwrap(pair["source"]))
            let file = folder.appendingPathComponent(compiled)
            let model = try Model(contentsOf: folder.path + "/" + source)
            let recorded: [String: [UInt8]]
            if let store = stores[file.lastPathComponent] {
                recorded = try StoreMetadata(decoding: store.metadata).entityVersionHashes
            } else {
                let name = file.deletingPathExtension().lastPathComponent
                let versions = try Model.versions(of: file.deletingLastPathComponent().path)
                recorded = try XCTUnwrap(versions.first { $0.name == name }).recordedHashes
            }
            if entityVersionHashes(of: model) != recorded, otherVersions.contains(file.lastPathComponent) {
                others.insert(file.lastPathComponent)
            } else {
                compare(model, recorded, "\(file.lastPathComponent) from its source")
            }
        }
        XCTAssertEqual(others, otherVersions)
        report("source models of \(pairs.count - others.count) pairs")
        XCTAssertGreaterThan(entities.all, 50)
    }

    /// A bundle whose model does not match the recorded hashes.
    func testOpeningABundleChecksItsHashes() throws {
        let folder = try Fixtures.folder().appendingPathComponent("compiled-models/coredataplus/SampleModel3.momd")
        let copy = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).momd")
        try FileManager.default.copyItem(at: folder, to: copy)
        defer { try? FileManager.default.removeItem(at: copy) }
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: copy.path)
        XCTAssertFalse(try Model(contentsOf: copy.path, version: "SampleModel3_v2").entities.isEmpty)
        let (one, other) = (copy.path + "/SampleModel3_v2.mom", copy.path + "/SampleModel3_v3.mom")
        try FileManager.default.removeItem(atPath: one)
        try FileManager.default.copyItem(atPath: other, toPath: one)
        XCTAssertThrowsError(try Model(contentsOf: copy.path, version: "SampleModel3_v2")) { error in
            XCTAssertEqual((error as? CoreError)?.status, .model)
            XCTAssert("\(error)".contains("VersionInfo.plist"), "\(error)")
        }
    }

    private func report(_ what: String) {
        print(
            "\(what): entity hashes equal \(entities.equal)/\(entities.all), digests \(digests.equal)/\(digests.all), "
                + "checksums \(checksums.equal)/\(checksums.all); unexplained \(unexplained.count)")
        XCTAssertEqual(unexplained, [])
    }
}
