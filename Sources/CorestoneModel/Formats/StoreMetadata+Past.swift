import CorestoneValues

/// The models that a store has had before its present one.
extension StoreMetadata {
    /// Digests of version hashes (`modelVersionDigest`), the oldest first.
    public var pastModelDigests: [String] { (values[Key.pastModels]?.array ?? []).compactMap(\.string) }

    /// Adds the present model to those of the past, before another one is set.
    package mutating func rememberModel() {
        let hashes = entityVersionHashes
        if hashes.isEmpty { return }
        let digest = modelVersionDigest(hashes)
        let past = pastModelDigests.filter { $0 != digest } + [digest]
        values[Key.pastModels] = .array(past.map { .string($0) })
    }
}
