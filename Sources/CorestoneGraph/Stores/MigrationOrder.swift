import CorestoneModel
import CorestoneValues

/// The method by which a store is migrated to another version of its model.
package enum MigrationMethod {
    /// In place, by an inferred mapping.
    case mapping(ModelMapping)
    /// The content is converted into a new store.
    case route(any ConversionRoute)
}

extension MigrationOptions {
    /// Returns the migration method from one model to another.
    ///
    /// - Parameters:
    ///   - past: The digests of the models that the store has had.
    ///   - path: The path of the store, for messages.
    /// - Throws: `.migration` if no method exists, or if the destination is or may be an older version.
    package func method(from source: Model, to model: Model, past: [String], ofStoreAt path: String) throws
        -> MigrationMethod
    {
        if let route = try conversion?.route(from: source, to: model, ofStoreAt: path, self) {
            if !route.allowsEarlierModel { try model.requireNew(past: past, ofStoreAt: path) }
            return .route(route)
        }
        let mapping = try inferMapping(from: source, to: model, ofStoreAt: path)
        try mapping.requireForward(past: past, ofStoreAt: path, self)
        return .mapping(mapping)
    }

    /// Returns the inferred mapping between the models of a migration.
    ///
    /// - Parameter path: The path of the store, for messages.
    /// - Throws: Code 134140 if the options do not allow inference.
    ///   Code 134190 if the models differ too much for an inference.
    private func inferMapping(from source: Model, to model: Model, ofStoreAt path: String) throws -> ModelMapping {
        guard infersMapping else {
            throw CoreError(
                .migration, code: .migrationMissingMappingModel,
                "cannot migrate \(path): a mapping model from the store's model to the new one was not found. Pass it "
                    + "(mapping_models, corestone migrate --mapping) or its folder (model_paths), or allow inference "
                    + "with CST_STORE_INFER_MAPPING (infer_mapping)", file: path)
        }
        do {
            return try ModelMapping.inferred(
                from: source, to: model, typeChanges: allowsTypeChanges ? .exact : .refused)
        } catch let error as CoreError where error.code == CocoaCode.inferredMappingModel.rawValue {
            throw error.within("cannot migrate \(path)", file: path)
        }
    }
}

extension Model {
    /// Throws if the store has had this model before.
    fileprivate func requireNew(past: [String], ofStoreAt path: String) throws {
        guard past.contains(modelVersionDigest(entityVersionHashes(of: self))) else { return }
        throw CoreError(
            .migration, code: .stagedMigrationBackwardMigration,
            "\(path) was migrated from this model to a newer one; use the newer model, or open the store with "
                + "CST_STORE_READ_ONLY (read_only) and its own model, if it contains one", file: path)
    }
}

extension ModelMapping {
    /// Throws if the destination is, or may be, a model that the store has had before.
    ///
    /// - Parameters:
    ///   - past: The digests of the models that the store has had.
    ///   - path: The path of the store, for messages.
    fileprivate func requireForward(past: [String], ofStoreAt path: String, _ options: MigrationOptions) throws {
        try destination.requireNew(past: past, ofStoreAt: path)
        guard onlyRemoves, !options.allowsRemovals else { return }
        let lost =
            removals.prefix(5).joined(separator: ", ") + (removals.count > 5 ? " and \(removals.count - 5) more" : "")
        throw CoreError(
            .migration, code: .stagedMigrationBackwardMigration,
            "the model may be older than the model of \(path), because the models differ only by removals "
                + "(\(lost)). Use the newer model, or set CST_STORE_ALLOW_REMOVALS (allow_removals, corestone migrate "
                + "--allow-removal)", file: path)
    }
}
