import CorestoneModel
import CorestoneValues

extension ModelMapping {
    /// Throws if the destination is a model that the store had before, or may be.
    ///
    /// - Parameters:
    ///   - past: the digests of the models that the store had.
    ///   - path: the store, for messages.
    package func requireForward(past: [String], ofStoreAt path: String, _ options: MigrationOptions) throws {
        if past.contains(modelVersionDigest(entityVersionHashes(of: destination))) {
            throw CoreError(
                .migration, code: .stagedMigrationBackwardMigration,
                "\(path) was migrated from this model to a newer one; use the newer model, or open the store read-only by the model that "
                    + "it carries", file: path)
        }
        guard onlyRemoves, !options.allowsRemovals else { return }
        let lost =
            removals.prefix(5).joined(separator: ", ") + (removals.count > 5 ? " and \(removals.count - 5) more" : "")
        throw CoreError(
            .migration, code: .stagedMigrationBackwardMigration,
            "the model may be older than the one of \(path), since it only lacks what the store has (\(lost)); use the newer model, or "
                + "allow removals (allow_removals)", file: path)
    }
}
