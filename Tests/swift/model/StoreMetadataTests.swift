import CorestoneFormats
@testable import CorestoneModel
import CorestoneValues
import XCTest

final class StoreMetadataTests: XCTestCase {
    func testMetadataOfANewStoreRoundTrips() throws {
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

    func testUnknownKeysAreKept() throws {
        var metadata = StoreMetadata(model: try SampleModels.everything())
        metadata.values["App.nested"] = .dictionary(["a": .array([.bool(true), .date(5), .data([1])])])
        var back = try StoreMetadata(decoding: metadata.encoded())
        back.setModel(Model())
        XCTAssertEqual(back.values["App.nested"], metadata.values["App.nested"])
        XCTAssertEqual(back.entityVersionHashes, [:])
    }

    func testDifferencesFromAModelAreListed() throws {
        let metadata = StoreMetadata(model: try SampleModels.everything())
        let other = Model()
        try other.addEntity(named: "Tag")
        try other.addEntity(named: "New")
        XCTAssertEqual(
            metadata.differingEntities(from: other),
            ModelDifference(onlyInStore: ["Item", "Photo", "note"], onlyInModel: ["New"], changed: ["Tag"]))
    }

    func testMetadataHasTheStoreType() throws {
        for (type, name) in [
            (StoreType.sqlite, "SQLite"), (.xml, "XML"), (.binary, "Binary"), (.inMemory, "InMemory"),
        ] {
            let metadata = StoreMetadata(model: Model(), type: type)
            XCTAssertEqual(metadata.storeType, name)
            XCTAssertEqual(metadata.frameworkVersion, 1522)
            XCTAssertEqual(metadata.values["_NSAutoVacuumLevel"], type == .sqlite ? .string("2") : nil, name)
        }
        let silent = StoreMetadata(uuid: UUIDValue(high: 1, low: 2))
        XCTAssertEqual(silent.values, [:])
        XCTAssertNil(silent.storeType)
        XCTAssertEqual(silent.frameworkVersion, 0)
        XCTAssertEqual([silent.digest, silent.checksum], [nil, nil])
    }

    func testMetadataOfAnotherModelIsRecognised() throws {
        let (model, other) = (Model(), Model())
        try model.addEntity(named: "A")
        try other.addEntity(named: "B")
        XCTAssertFalse(StoreMetadata(model: model).isOfAnotherModel(than: model))
        XCTAssertTrue(StoreMetadata(model: model).isOfAnotherModel(than: other))
        XCTAssertFalse(StoreMetadata(uuid: .random()).isOfAnotherModel(than: model), "no model is named")
    }

    private static let guaranteed = [
        "NSStoreType", "NSPersistenceFrameworkVersion", "NSStoreModelVersionHashes", "NSStoreModelVersionHashesVersion",
        "NSStoreModelVersionIdentifiers", "NSStoreModelVersionHashesDigest", "NSStoreModelVersionChecksumKey",
        "_NSAutoVacuumLevel", "NSPersistentStoreDeferredLightweightMigrationOptionKey",
    ]

    func testReplacingMetadataKeepsReservedKeys() throws {
        var metadata = StoreMetadata(model: try SampleModels.everything())
        metadata.values["app"] = .integer(1)
        metadata.values["former"] = .integer(1)
        let replaced = try metadata.replacing(["app": .integer(2), "new": .bool(true)], file: "f")
        XCTAssertEqual(replaced.uuid, metadata.uuid)
        XCTAssertEqual(replaced.applicationValues, ["app": .integer(2), "new": .bool(true)])
        for key in StoreMetadataTests.guaranteed {
            XCTAssertTrue(StoreMetadata.isGuaranteed(key), key)
            XCTAssertEqual(replaced.values[key], metadata.values[key], key)
            XCTAssertThrowsError(try metadata.replacing([key: .string("other")], file: "f"), key) {
                let error = $0 as? CoreError
                XCTAssertEqual(error?.status, .invalidArgument)
                XCTAssertEqual(error?.code, CocoaCode.persistentStoreOperation.rawValue)
                XCTAssertEqual([error?.key, error?.file], [key, "f"])
                let reason =
                    key == "NSStoreType" ? "identifies the type of the store" : "describes the store's format or model"
                XCTAssertEqual(
                    error?.message,
                    metadata.values[key] == nil
                        ? "\(key) must not be added to the metadata of f: it \(reason); omit it"
                        : "\(key) of f must not change: it \(reason); omit it, or pass its current value"
                )
            }
        }
        XCTAssertTrue(StoreMetadata.isGuaranteed("NSStoreUUID"))
        for key in ["app", "NSOther", "_NSOther"] { XCTAssertFalse(StoreMetadata.isGuaranteed(key), key) }
    }

    func testMetadataDictionaryMayBeSetUnchanged() throws {
        let metadata = StoreMetadata(model: try SampleModels.everything())
        XCTAssertEqual(metadata.dictionary["NSStoreUUID"], .string(metadata.uuid.description))
        XCTAssertNil(metadata.values["NSStoreUUID"])
        XCTAssertEqual(try metadata.replacing(metadata.dictionary, file: "f").values, metadata.values)
        for uuid in [PropertyListValue.string(UUIDValue.random().description), .string("x"), .integer(1)] {
            XCTAssertThrowsError(try metadata.replacing(["NSStoreUUID": uuid], file: "f")) {
                XCTAssertEqual(($0 as? CoreError)?.key, "NSStoreUUID")
                XCTAssertEqual(
                    ($0 as? CoreError)?.message,
                    "NSStoreUUID of f must not change: it is \(metadata.uuid), which is part of the store's object IDs; "
                        + "omit it, or pass its current value")
            }
        }
    }

    func testMetadataMustBeAPropertyListDictionary() throws {
        let list = PropertyListValue.dictionary(["a": .integer(1)])
        for bytes in [encodePropertyList(list), try encodeXMLPropertyList(list)] {
            XCTAssertEqual(try StoreMetadata.entries(decoding: bytes, file: "f"), ["a": .integer(1)])
        }
        for bytes in [encodePropertyList(.array([])), Array("text".utf8), []] {
            XCTAssertThrowsError(try StoreMetadata.entries(decoding: bytes, file: "f")) {
                XCTAssertEqual(($0 as? CoreError)?.status, .invalidArgument)
                XCTAssertEqual(($0 as? CoreError)?.file, "f")
            }
        }
        XCTAssertThrowsError(try StoreMetadata(decoding: encodePropertyList(.array([])))) {
            XCTAssertEqual(($0 as? CoreError)?.status, .storeCorrupt)
            XCTAssertEqual(($0 as? CoreError)?.code, CocoaCode.persistentStoreOpen.rawValue)
            XCTAssertEqual(
                ($0 as? CoreError)?.message,
                "the root of the metadata's property list is an array, not a dictionary")
        }
    }

    func testMetadataOfRealStoresRoundTrips() throws {
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
