import CorestoneValues

extension Model {
    /// A checksum of the version hashes of all entities.
    ///
    /// Newer versions of Core Data write it into stores and bundles.
    public var versionChecksum: String { modelVersionChecksum(entityVersionHashes(of: self)) }

    /// Returns the checksums of all versions of a bundle, by name: the recorded ones, or else those of the models.
    public static func versionChecksums(of path: String) throws -> [(version: String, checksum: String)] {
        try versions(of: path).map { version in
            if let checksum = version.recordedChecksum { return (version.name, checksum) }
            if !version.recordedHashes.isEmpty { return (version.name, modelVersionChecksum(version.recordedHashes)) }
            return (version.name, try Model(contentsOf: version.path).versionChecksum)
        }
    }

    /// Whether a store contains the entities of a configuration as this model defines them.
    ///
    /// Without a configuration, all entities are compared. The entities and their version hashes must be equal.
    /// Metadata without hashes is incompatible with every model.
    ///
    /// - Throws: `.invalidArgument` if the model does not have the configuration.
    public func isCompatible(with metadata: StoreMetadata, configuration: String? = nil) throws -> Bool {
        let names = Set(try entities(ofConfiguration: configuration).map(\.name))
        let recorded = metadata.entityVersionHashes
        return !recorded.isEmpty && entityVersionHashes(of: self).filter { names.contains($0.key) } == recorded
    }
}

extension Property {
    /// The hash of the property, 32 bytes, which is an input of the entity's version hash.
    ///
    /// Transient and fetched properties have a hash too, but do not affect the entity's version hash.
    public var versionHash: [UInt8] { CorestoneModel.versionHash(of: self) }
}
