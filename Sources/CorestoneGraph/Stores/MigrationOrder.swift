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
        let lost = removals.prefix(5).joined(separator: ", ") + (removals.count > 5 ? " and \(removals.count - 5) more" : "")
        throw CoreError(
            .migration, code: .stagedMigrationBackwardMigration,
            "the model may be older than the one of \(path), since it only lacks what the store has (\(lost)); use the newer model, or "
                + "allow removals (allow_removals)", file: path)
    }

    /// Whether the new model only lacks entities and properties: then it may be the older one of the two.
    package var onlyRemoves: Bool {
        // A renaming identifier names the former name: the new model knows the store's.
        let renames = entities.contains { pair in
            pair.source != nil && pair.destination != nil && pair.source?.name != pair.destination?.name
                || pair.properties.contains(where: \.isRenamed)
        }
        let adds = entities.contains { $0.kind == .add || !$0.added.isEmpty }
        let changes = entities.contains { $0.kind == .transform && $0.added.isEmpty && $0.removed.isEmpty }
        return !removals.isEmpty && !adds && !renames && !changes
    }

    /// Names of the entities and properties that the new model lacks.
    package var removals: [String] {
        entities.flatMap { pair -> [String] in
            guard let source = pair.source else { return [] }
            if pair.destination == nil { return [source.name] }
            return pair.removed.filter { $0.entity === source }.map { "\(source.name).\($0.path)" }
        }
    }
}
