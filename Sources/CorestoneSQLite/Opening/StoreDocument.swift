import CorestoneModel
import CorestoneValues

/// What a store says about itself: its identifier and the version hashes of the entities it was written with.
struct StoreDocument {
    /// Upper-case UUID text.
    let identifier: String
    /// The binary property list of `Z_METADATA`.
    let propertyList: [UInt8]
    /// By entity name; nil when the store does not say.
    let hashes: [String: [UInt8]]?

    /// For a new store of that model.
    init(fresh model: Model) {
        let metadata = StoreMetadata(model: model)
        identifier = metadata.uuid.description
        propertyList = metadata.encoded()
        hashes = metadata.entityVersionHashes
    }

    /// From the row of `Z_METADATA`. Some very old stores say nothing.
    ///
    /// - Throws: `storeCorrupt` for bytes that are no property list.
    init(identifier: String, propertyList: [UInt8]) throws {
        self.identifier = identifier
        self.propertyList = propertyList
        let known = propertyList.isEmpty ? [:] : try StoreMetadata(decoding: propertyList).entityVersionHashes
        hashes = known.isEmpty ? nil : known
    }

    /// The compiled model as a store keeps it.
    static func modelCache(of model: Model) throws -> [UInt8] { try deflateRaw(compiledModel(model, form: .cache)) }

    static func versionHashes(of model: Model) -> [String: [UInt8]] { entityVersionHashes(of: model) }
}
