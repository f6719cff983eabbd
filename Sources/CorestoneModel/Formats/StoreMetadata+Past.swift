import CorestoneValues

/// The former models of a store.
extension StoreMetadata {
    /// The digests of the version hashes of former models (`modelVersionDigest`), oldest first.
    public var pastModelDigests: [String] { (values[Key.pastModels]?.array ?? []).compactMap(\.string) }

    /// Adds the current model to the former ones, before another model is set.
    package mutating func recordPastModel() {
        let hashes = entityVersionHashes
        if hashes.isEmpty { return }
        let digest = modelVersionDigest(hashes)
        let past = pastModelDigests.filter { $0 != digest } + [digest]
        values[Key.pastModels] = .array(past.map { .string($0) })
    }
}
