import CorestoneValues
import XCTest

@testable import CorestoneModel

final class StoreMetadataTests: XCTestCase {
    func testMetadataOfANewStore() throws {
        let model = try SampleModels.everything()
        let metadata = StoreMetadata(model: model)
        let back = try StoreMetadata(decoding: metadata.encoded(), uuid: metadata.uuid)
        XCTAssertEqual(back.values, metadata.values)
        XCTAssertEqual(back.entityVersionHashes, entityVersionHashes(of: model))
        XCTAssertEqual(back.storeType, "SQLite")
        XCTAssertEqual(back.values["_NSAutoVacuumLevel"], .string("2"))
        XCTAssertEqual(back.values["NSStoreModelVersionHashesVersion"], .integer(3))
        XCTAssertEqual(back.versionIdentifiers, ["1.0", "Ünïcode"])
        XCTAssertTrue(back.differingEntities(from: model).isEmpty)
        XCTAssertEqual(back.values.count, 8)
    }

    func testForeignKeysSurvive() throws {
        var metadata = StoreMetadata(model: try SampleModels.everything())
        metadata.values["App.nested"] = .dictionary(["a": .array([.bool(true), .date(5), .data([1])])])
        var back = try StoreMetadata(decoding: metadata.encoded())
        back.setModel(Model())
        XCTAssertEqual(back.values["App.nested"], metadata.values["App.nested"])
        XCTAssertEqual(back.entityVersionHashes, [:])
    }

    func testDifferences() throws {
        let metadata = StoreMetadata(model: try SampleModels.everything())
        let other = Model()
        try other.addEntity(named: "Tag")
        try other.addEntity(named: "New")
        XCTAssertEqual(
            metadata.differingEntities(from: other),
            ModelDifference(onlyInStore: ["Item", "Photo", "note"], onlyInModel: ["New"], changed: ["Tag"]))
    }

    func testEveryRealStoresMetadataIsReadAndRewritten() throws {
        let stores = try Fixtures.stores()
        XCTAssertGreaterThan(stores.count, 35)
        for store in stores {
            let metadata = try StoreMetadata(decoding: store.metadata)
            XCTAssertFalse(metadata.entityVersionHashes.isEmpty, store.name)
            XCTAssertTrue(metadata.entityVersionHashes.values.allSatisfy { $0.count == 32 }, store.name)
            XCTAssertEqual(metadata.storeType, "SQLite")
            XCTAssertGreaterThan(metadata.frameworkVersion, 200)
            XCTAssertEqual(try StoreMetadata(decoding: metadata.encoded()).values, metadata.values, store.name)
            if let digest = metadata.digest { XCTAssertEqual(digest, modelVersionDigest(metadata.entityVersionHashes)) }
            if let checksum = metadata.checksum {
                XCTAssertEqual(checksum, modelVersionChecksum(metadata.entityVersionHashes))
            }
        }
    }
}
