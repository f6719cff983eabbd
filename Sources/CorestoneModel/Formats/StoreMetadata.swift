import CorestoneFormats
import CorestoneValues

/// The metadata of a store, including entries of the application.
///
/// It describes the framework and the model with which the store was written. Entries with unknown keys are kept.
public struct StoreMetadata: Sendable {
    /// The UUID of the store (`Z_UUID`), which is the host part of the URIs of its objects.
    public var uuid: UUIDValue
    /// The entries of the property list, by key.
    public var values: [String: PropertyListValue]

    /// The keys of the entries that the framework and this library define.
    public enum Key {
        public static let frameworkVersion = "NSPersistenceFrameworkVersion"
        public static let hashes = "NSStoreModelVersionHashes"
        public static let hashesVersion = "NSStoreModelVersionHashesVersion"
        public static let identifiers = "NSStoreModelVersionIdentifiers"
        public static let digest = "NSStoreModelVersionHashesDigest"
        public static let checksum = "NSStoreModelVersionChecksumKey"
        /// The compiled model, in XML and binary stores; a key of this library.
        public static let model = "CST_Model"
        /// The digests of the former models of the store; a key of this library.
        public static let pastModels = "CST_PastModelDigests"
        public static let storeType = "NSStoreType"
        /// The UUID in dictionaries for applications. Files store the UUID separately.
        public static let uuid = "NSStoreUUID"
        public static let autoVacuum = "_NSAutoVacuumLevel"
        /// The mark of an unfinished deferred lightweight migration.
        public static let deferredMigration = "NSPersistentStoreDeferredLightweightMigrationOptionKey"
    }

    /// The framework version in new stores, which is that of the newest known stores.
    ///
    /// The layout of those stores is used here.
    public static let frameworkVersion: Int64 = 1522
    /// The version of the algorithm of entity version hashes.
    public static let hashesVersion: Int64 = 3

    /// Creates the metadata of a new store of the model.
    public init(model: Model, type: StoreType = .sqlite, uuid: UUIDValue = .random()) {
        self.uuid = uuid
        values = [
            Key.frameworkVersion: .integer(StoreMetadata.frameworkVersion), Key.storeType: .string(type.rawValue),
        ]
        if type == .sqlite { values[Key.autoVacuum] = .string("2") }
        setModel(model)
    }

    /// Creates metadata with only a UUID, as in some very old stores.
    public init(uuid: UUIDValue) {
        self.uuid = uuid
        values = [:]
    }

    /// Decodes the property list of `Z_PLIST`.
    ///
    /// - Parameter uuid: the value of `Z_UUID`.
    /// - Throws: `.storeCorrupt` if the bytes are not a property list (binary, or XML in very old stores) with a
    ///   dictionary as its root.
    public init(decoding bytes: [UInt8], uuid: UUIDValue = .random()) throws {
        let root = try decodeAnyPropertyList(bytes)
        guard case .dictionary(let values) = root else {
            throw CoreError(
                .storeCorrupt, code: .persistentStoreOpen,
                "the root of the metadata's property list is \(root.kindPhrase), not a dictionary")
        }
        self.uuid = uuid
        self.values = values
    }

    /// Encodes the binary property list of `Z_PLIST`.
    public func encoded() -> [UInt8] { encodePropertyList(.dictionary(values)) }

    /// Whether the version hashes differ from those of the model; false without hashes.
    package func isOfAnotherModel(than model: Model) -> Bool {
        let hashes = entityVersionHashes
        return !hashes.isEmpty && hashes != CorestoneModel.entityVersionHashes(of: model)
    }

    /// Sets the entries that describe the model. Other entries are kept.
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
    /// The version hashes of the model with which the store was written, by entity name; empty without hashes.
    public var entityVersionHashes: [String: [UInt8]] {
        (values[Key.hashes]?.dictionary ?? [:]).compactMapValues(\.data)
    }

    public var versionIdentifiers: [String] { (values[Key.identifiers]?.array ?? []).compactMap(\.string) }
    /// The entries of the application, without those of the framework and of this library.
    public var applicationValues: [String: PropertyListValue] {
        values.filter { StoreMetadata.isOfApplication($0.key) }
    }

    /// Whether an entry is one of the application, judged by its key.
    public static func isOfApplication(_ key: String) -> Bool {
        !key.hasPrefix("NS") && !key.hasPrefix("_NS") && key != Key.model && key != Key.pastModels
    }
    public var storeType: String? { values[Key.storeType]?.string }
    /// The version of Core Data that last wrote the store; 0 if it is unknown.
    public var frameworkVersion: Int64 { values[Key.frameworkVersion]?.integer ?? 0 }
    public var digest: String? { values[Key.digest]?.string }
    public var checksum: String? { values[Key.checksum]?.string }

    /// Returns the entities that differ between the store's model and `model`.
    ///
    /// These entities exist in only one of the models, or have different version hashes.
    public func differingEntities(from model: Model) -> ModelDifference {
        let (ours, theirs) = (CorestoneModel.entityVersionHashes(of: model), entityVersionHashes)
        let common = Set(ours.keys).intersection(theirs.keys)
        return ModelDifference(
            onlyInStore: sortedByBytes(theirs.keys.filter { !common.contains($0) }),
            onlyInModel: sortedByBytes(ours.keys.filter { !common.contains($0) }),
            changed: sortedByBytes(common.filter { ours[$0] != theirs[$0] }))
    }
}

/// The names of entities that differ between two models, sorted.
public struct ModelDifference: Sendable, Equatable {
    public var onlyInStore: [String]
    public var onlyInModel: [String]
    public var changed: [String]

    public var isEmpty: Bool { onlyInStore.isEmpty && onlyInModel.isEmpty && changed.isEmpty }

    /// The entity that an error names; nil without a difference.
    package var first: String? { (changed + onlyInModel + onlyInStore).first }

    /// The text for messages.
    package var text: String {
        var parts: [String] = []
        func add(_ names: [String], _ text: (String) -> String) {
            if !names.isEmpty { parts.append(text(names.listed)) }
        }
        add(changed) { changed.count == 1 ? "the version hash of \($0) differs" : "the version hashes of \($0) differ" }
        add(onlyInModel) { "the store does not have \($0)" }
        add(onlyInStore) { "the model does not have \($0)" }
        return parts.joined(separator: ", and ")
    }
}

extension PropertyListValue {
    /// The type of the value with an article, for messages.
    fileprivate var kindPhrase: String {
        switch self {
        case .null: "null"
        case .bool: "a boolean"
        case .integer, .unsigned: "an integer"
        case .real: "a floating-point number"
        case .date: "a date"
        case .data: "binary data"
        case .string: "a string"
        case .uid: "a reference"
        case .array: "an array"
        case .dictionary: "a dictionary"
        }
    }
}
