import CorestoneValues

/// The entity trees of the model that wrote an XML or binary store. Version hashes do not reveal them, and such stores, unlike
/// SQLite stores, do not carry the model.
extension StoreMetadata {
    private enum Part {
        static let digest = "digest"
        static let roots = "roots"
    }

    /// Records the root of every subentity, with the digest of the version hashes that it goes with: Apple's framework would
    /// replace the hashes and keep the entry.
    mutating func setTrees(of model: Model, digest: String) {
        guard [StoreType.xml, .binary].map(\.rawValue).contains(storeType) else { return }
        let subentities = model.entities.filter { $0.parent != nil }
        let roots = Dictionary(subentities.map { ($0.name, PropertyListValue.string($0.root.name)) }) { first, _ in
            first
        }
        values[Key.trees] = .dictionary([Part.digest: .string(digest), Part.roots: .dictionary(roots)])
    }

    /// The first entity whose root in the store is not its root in the model; nil if the store does not record its trees.
    package func entityInAnotherTree(than model: Model) -> (entity: Entity, storedRoot: String)? {
        let hashes = entityVersionHashes
        guard let entry = values[Key.trees]?.dictionary, entry[Part.digest]?.string == modelVersionDigest(hashes),
            let roots = entry[Part.roots]?.dictionary
        else { return nil }
        for entity in model.preorder where hashes[entity.name] != nil {
            let stored = roots[entity.name]?.string ?? entity.name
            if stored != entity.root.name { return (entity, stored) }
        }
        return nil
    }
}
