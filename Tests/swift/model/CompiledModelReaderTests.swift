import CorestoneFormats
@testable import CorestoneModel
import CorestonePredicate
import CorestoneValues
import XCTest

final class CompiledModelReaderTests: XCTestCase {
    /// A model that was read and written again has the same bytes.
    func testCompiledModelRoundTrips() throws {
        for form in [CompiledModelForm.cache, .file] {
            let model = try SampleModels.everything()
            let bytes = try compiledModel(model, form: form)
            let read = try Model(compiledModel: bytes)
            try read.freeze()
            XCTAssertEqual(entityVersionHashes(of: read), entityVersionHashes(of: model))
            XCTAssertEqual(try ModelSummary.of(read), try ModelSummary.of(model))
            XCTAssertEqual(
                try compiledModel(read, form: form), try compiledModel(try Model(compiledModel: bytes), form: form))
        }
    }

    func testCompositesRoundTrip() throws {
        let model = Model()
        let place = try model.addEntity(named: "Place").addAttribute(named: "place", type: .composite)
        try place.addElement(named: "city", type: .string).setDefaultValue(.string("Kyoto"))
        try place.addElement(named: "at", type: .composite).addElement(named: "x", type: .double, isOptional: false)
        let read = try Model(compiledModel: compiledModel(model))
        try read.freeze()
        let leaves = try XCTUnwrap(read.entity(named: "Place")?.ownAttributes.first?.leaves)
        XCTAssertEqual(leaves.map(\.path), ["place.city", "place.at.x"])
        XCTAssertEqual(leaves.map(\.isOptional), [true, false])
        XCTAssertEqual(leaves[0].defaultValue, .string("Kyoto"))
        XCTAssertEqual(entityVersionHashes(of: read), entityVersionHashes(of: model))
    }

    /// Models of real stores have the version hashes that Apple's framework computed.
    func testCachedModelsOfRealStoresHaveAppleHashes() throws {
        var (models, equal, total) = (0, 0, 0)
        for store in try Fixtures.stores() {
            guard let packed = store.packedModel else { continue }
            let model = try Model(modelCache: packed)
            try model.freeze()
            let metadata = try StoreMetadata(decoding: store.metadata)
            let hashes = entityVersionHashes(of: model)
            for (name, hash) in metadata.entityVersionHashes {
                XCTAssertEqual(hashes[name], hash, "\(name) of \(store.name)")
                total += 1
                if hashes[name] == hash { equal += 1 }
            }
            if let digest = metadata.digest { XCTAssertEqual(digest, modelVersionDigest(hashes), store.name) }
            if let checksum = metadata.checksum { XCTAssertEqual(checksum, modelVersionChecksum(hashes), store.name) }
            // Written by the library and read again, the model is unchanged.
            let again = try Model(compiledModel: compiledModel(model))
            XCTAssertEqual(try ModelSummary.of(again), try ModelSummary.of(model), store.name)
            models += 1
        }
        print("version hashes of \(models) models cached in stores: \(equal) of \(total) equal")
        XCTAssertGreaterThan(models, 25)
        XCTAssertGreaterThan(total, 200)
    }

    func testInvalidCompiledModelsAreRejected() throws {
        func message(_ bytes: [UInt8]) -> String? {
            do { _ = try Model(compiledModel: bytes) } catch { return (error as? CoreError)?.message }
            return nil
        }
        XCTAssertEqual(
            message(encodePropertyList(.dictionary([:]))),
            "the property list is not a keyed archive of NSKeyedArchiver")
        let withoutRoot: PropertyListValue = .dictionary([
            "$archiver": .string("NSKeyedArchiver"), "$objects": .array([.string("$null")]), "$top": .dictionary([:]),
        ])
        XCTAssertEqual(
            message(encodePropertyList(withoutRoot)), "the keyed archive does not have a root object")
        let archiver = KeyedArchiver()
        let other = archiver.string("hello")
        XCTAssertEqual(
            message(archiver.encoded(root: other)),
            "the keyed archive does not contain a managed object model; use a .mom file")
    }
}
