import CorestoneValues

/// The model in the metadata of an XML or binary store. SQLite stores contain the model in a separate table.
extension StoreMetadata {
    /// Adds the model to the metadata of an XML or binary store. Has no effect for other types of stores.
    ///
    /// The model is compiled and compressed as in `Z_MODELCACHE`. A model that cannot be compiled is omitted. A later
    /// migration then needs the model from another source.
    mutating func carry(_ model: Model) {
        guard [StoreType.xml, .binary].map(\.rawValue).contains(storeType) else { return }
        let content = try? deflateRaw(compiledModel(model, form: .cache))
        values[Key.model] = content.map { .data($0) }
    }

    /// Returns the model in the metadata, not frozen.
    ///
    /// Returns nil if the metadata does not contain a model. Also returns nil if the version hashes of the model differ
    /// from those of the metadata, because Apple's framework may have replaced the hashes and kept the model.
    ///
    /// - Throws: `.storeCorrupt` or `.model` if the model cannot be read.
    public func carriedModel() throws -> Model? {
        guard let content = values[Key.model]?.data, !content.isEmpty else { return nil }
        let model = try Model(modelCache: content)
        return CorestoneModel.entityVersionHashes(of: model) == entityVersionHashes ? model : nil
    }

    /// Returns the first entity whose root in the store differs from its root in the model.
    ///
    /// Returns nil if all roots are equal, or if the store's model cannot be read from the metadata.
    package func entityInAnotherTree(than model: Model) -> (entity: Entity, storedRoot: String)? {
        guard let stored = try? carriedModel() else { return nil }
        for entity in model.preorder {
            guard let former = stored.entity(named: entity.name), former.root.name != entity.root.name else { continue }
            return (entity, former.root.name)
        }
        return nil
    }
}

extension CoreError {
    /// The message of an error in reading the model that a store contains.
    ///
    /// The remedies for model files do not apply to such a model.
    package func messageForModel(inStoreAt path: String) -> String {
        let isFault = sqliteCode == 0 && [.storeCorrupt, .model].contains(status)
        let reason = isFault ? "\(message.withoutRemedy); pass the model that the store was written with" : message
        return "cannot read the model in \(path): \(reason)"
    }
}
