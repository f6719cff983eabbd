import CorestoneValues

/// What a store says about itself: which framework wrote it and by which model, and whatever the application added.
///
/// Keys that we do not know survive reading and writing.
public struct StoreMetadata: Sendable {
    /// The store's identity (`Z_UUID`), the host of its objects' URIs.
    public var uuid: UUIDValue
    /// Every entry of the property list, by key.
    public var values: [String: PropertyListValue]

    public enum Key {
        public static let frameworkVersion = "NSPersistenceFrameworkVersion"
        public static let hashes = "NSStoreModelVersionHashes"
        public static let hashesVersion = "NSStoreModelVersionHashesVersion"
        public static let identifiers = "NSStoreModelVersionIdentifiers"
        public static let digest = "NSStoreModelVersionHashesDigest"
        public static let checksum = "NSStoreModelVersionChecksumKey"
        /// The library's own, in XML and binary stores: the compiled model.
        public static let model = "CST_Model"
        /// The library's own: digests of the models that the store had before its present one.
        public static let pastModels = "CST_PastModelDigests"
        public static let storeType = "NSStoreType"
        /// The identity, in dictionaries for hosts; the file itself keeps it apart.
        public static let uuid = "NSStoreUUID"
        public static let autoVacuum = "_NSAutoVacuumLevel"
        /// True while a lightweight migration that was put off is unfinished.
        public static let deferredMigration = "NSPersistentStoreDeferredLightweightMigrationOptionKey"
    }

    /// The version that new stores name as their writer: the newest of the known stores, whose layout ours is.
    public static let frameworkVersion: Int64 = 1522
    /// The rule by which entity version hashes are computed.
    public static let hashesVersion: Int64 = 3

    /// The metadata of a new store of the model.
    public init(model: Model, type: StoreType = .sqlite, uuid: UUIDValue = .random()) {
        self.uuid = uuid
        values = [
            Key.frameworkVersion: .integer(StoreMetadata.frameworkVersion), Key.storeType: .string(type.rawValue),
        ]
        if type == .sqlite { values[Key.autoVacuum] = .string("2") }
        setModel(model)
    }

    /// The metadata of a store that says nothing but who it is, as some very old ones.
    public init(uuid: UUIDValue) {
        self.uuid = uuid
        values = [:]
    }

    /// Reads the property list of `Z_PLIST`.
    ///
    /// - Parameter uuid: what `Z_UUID` holds.
    /// - Throws: `.storeCorrupt` when the bytes are no property list (binary, or XML as very old stores have) with a dictionary on top.
    public init(decoding bytes: [UInt8], uuid: UUIDValue = .random()) throws {
        guard case .dictionary(let values) = try decodeAnyPropertyList(bytes) else {
            throw CoreError(
                .storeCorrupt, code: .persistentStoreOpen,
                "the root of the metadata's property list is not a dictionary")
        }
        self.uuid = uuid
        self.values = values
    }

    /// The binary property list of `Z_PLIST`.
    public func encoded() -> [UInt8] { encodePropertyList(.dictionary(values)) }

    /// Whether it names another model than this, by the version hashes; false where it names none.
    package func isOfAnotherModel(than model: Model) -> Bool {
        let hashes = entityVersionHashes
        return !hashes.isEmpty && hashes != CorestoneModel.entityVersionHashes(of: model)
    }

    /// Takes over the model's hashes and identifiers; every other entry stays.
    public mutating func setModel(_ model: Model) {
        let hashes = CorestoneModel.entityVersionHashes(of: model)
        values[Key.hashes] = .dictionary(hashes.mapValues { .data($0) })
        values[Key.hashesVersion] = .integer(StoreMetadata.hashesVersion)
        values[Key.identifiers] = .array(model.versionIdentifiers.map { .string($0) })
        let digest = modelVersionDigest(hashes)
        values[Key.digest] = .string(digest)
        values[Key.checksum] = .string(modelVersionChecksum(hashes))
        carry(model)
    }
}

extension StoreMetadata {
    /// The hashes of the model that wrote the store, by entity name; empty when it says nothing.
    public var entityVersionHashes: [String: [UInt8]] {
        (values[Key.hashes]?.dictionary ?? [:]).compactMapValues(\.data)
    }

    public var versionIdentifiers: [String] { (values[Key.identifiers]?.array ?? []).compactMap(\.string) }
    /// What the application wrote, without what the framework needs.
    public var applicationValues: [String: PropertyListValue] {
        values.filter { StoreMetadata.isOfApplication($0.key) }
    }

    /// Whether an entry is the application's.
    public static func isOfApplication(_ key: String) -> Bool {
        !key.hasPrefix("NS") && !key.hasPrefix("_NS") && key != Key.model && key != Key.pastModels
    }
    public var storeType: String? { values[Key.storeType]?.string }
    /// The version of Core Data that last wrote the store; 0 when it says nothing.
    public var frameworkVersion: Int64 { values[Key.frameworkVersion]?.integer ?? 0 }
    public var digest: String? { values[Key.digest]?.string }
    public var checksum: String? { values[Key.checksum]?.string }

    /// The entities that tell the store's model from `model`: in one of them only, or hashed differently.
    public func differingEntities(from model: Model) -> ModelDifference {
        let (ours, theirs) = (CorestoneModel.entityVersionHashes(of: model), entityVersionHashes)
        let common = Set(ours.keys).intersection(theirs.keys)
        return ModelDifference(
            onlyInStore: sortedByBytes(theirs.keys.filter { !common.contains($0) }),
            onlyInModel: sortedByBytes(ours.keys.filter { !common.contains($0) }),
            changed: sortedByBytes(common.filter { ours[$0] != theirs[$0] }))
    }
}

/// Entity names by which two models differ, sorted.
public struct ModelDifference: Sendable, Equatable {
    public var onlyInStore: [String]
    public var onlyInModel: [String]
    public var changed: [String]

    public var isEmpty: Bool { onlyInStore.isEmpty && onlyInModel.isEmpty && changed.isEmpty }

    /// The entity that an error names.
    package var first: String? { (changed + onlyInModel + onlyInStore).first }

    /// For messages.
    package var text: String {
        var parts: [String] = []
        func add(_ names: [String], _ text: (String) -> String) {
            if !names.isEmpty { parts.append(text(names.joined(separator: ", "))) }
        }
        add(changed) { "the version hashes of \($0) differ" }
        add(onlyInModel) { "the store does not have \($0)" }
        add(onlyInStore) { "the model does not have \($0)" }
        return parts.joined(separator: ", and ")
    }
}
