import CorestoneValues

/// The model that an XML or binary store carries in its metadata, as SQLite stores carry theirs in a table of its own.
extension StoreMetadata {
    /// Has an XML or binary store carry a model: compiled and compressed as in `Z_MODELCACHE`. A model that cannot be compiled is left out;
    /// then a migration needs it from elsewhere.
    mutating func carry(_ model: Model) {
        guard [StoreType.xml, .binary].map(\.rawValue).contains(storeType) else { return }
        let content = try? deflateRaw(compiledModel(model, form: .cache))
        values[Key.model] = content.map { .data($0) }
    }

    /// The model that the store carries, not frozen; nil if it carries none, or one of other version hashes: Apple's framework would
    /// replace the hashes and keep the entry.
    ///
    /// - Throws: `.storeCorrupt` or `.model` if it cannot be read.
    public func carriedModel() throws -> Model? {
        guard let content = values[Key.model]?.data, !content.isEmpty else { return nil }
        let model = try Model(modelCache: content)
        return CorestoneModel.entityVersionHashes(of: model) == entityVersionHashes ? model : nil
    }

    /// The first entity whose root in the store is not its root in the model; nil if the store does not carry its model.
    package func entityInAnotherTree(than model: Model) -> (entity: Entity, storedRoot: String)? {
        guard let stored = try? carriedModel() else { return nil }
        for entity in model.preorder {
            guard let former = stored.entity(named: entity.name), former.root.name != entity.root.name else { continue }
            return (entity, former.root.name)
        }
        return nil
    }
}
