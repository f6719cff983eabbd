import CorestoneValues

extension Model {
    /// One text for the version hashes of all entities, which newer frameworks write into stores and bundles.
    public var versionChecksum: String { modelVersionChecksum(entityVersionHashes(of: self)) }

    /// The checksums of all versions that a bundle holds, by name: what the bundle has on record, or else those of the models.
    public static func versionChecksums(of path: String) throws -> [(version: String, checksum: String)] {
        try versions(of: path).map { version in
            if let checksum = version.recordedChecksum { return (version.name, checksum) }
            if !version.recordedHashes.isEmpty { return (version.name, modelVersionChecksum(version.recordedHashes)) }
            return (version.name, try Model(contentsOf: version.path).versionChecksum)
        }
    }

    /// Whether a store that says this of itself holds the entities of a configuration (nil: all) as this model has them.
    ///
    /// They must be the same entities, and each must hash the same; a store that says nothing is compatible with no model.
    /// - Throws: `.invalidArgument` for a configuration that the model does not have.
    public func isCompatible(with metadata: StoreMetadata, configuration: String? = nil) throws -> Bool {
        let names = Set(try entities(ofConfiguration: configuration).map(\.name))
        let recorded = metadata.entityVersionHashes
        return !recorded.isEmpty && entityVersionHashes(of: self).filter { names.contains($0.key) } == recorded
    }
}

extension Property {
    /// The 32 bytes that the property adds to the version hash of its entity. A transient or fetched property adds nothing;
    /// its hash tells of its name and whether it is optional alone.
    public var versionHash: [UInt8] { CorestoneModel.versionHash(of: self) }
}
