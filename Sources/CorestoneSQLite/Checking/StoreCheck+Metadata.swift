import CorestoneGraph
import CorestoneModel
import CorestoneValues

extension StoreCheck {
    /// Checks that the cached model can be read and matches the tables.
    mutating func checkModel() {
        guard let error = misfit?.error else { return }
        findings.add(
            .metadata, "\(error.message). All other checks use a model inferred from the tables",
            entity: error.entity, key: error.key)
    }

    /// Checks that the version hashes of the metadata match the model, and that digest and checksum match the hashes.
    mutating func checkMetadata() throws {
        try checkDeferredTasks()
        guard let metadata = contents.document.metadata, let recorded = contents.document.hashes else { return }
        findings.addExamined(recorded.count, "version hashes")
        if let digest = metadata.digest, digest != modelVersionDigest(recorded) {
            findings.add(
                .metadata,
                "\(StoreMetadata.Key.digest) in the metadata does not match the version hashes")
        }
        if let checksum = metadata.checksum, checksum != modelVersionChecksum(recorded) {
            findings.add(
                .metadata,
                "\(StoreMetadata.Key.checksum) in the metadata does not match the version hashes")
        }
        let rule = metadata.values[StoreMetadata.Key.hashesVersion]?.integer
        guard rule == nil || rule == StoreMetadata.hashesVersion else { return }
        try compareHashes(metadata)
    }

    /// Checks that the tables and columns in the list of a deferred migration exist.
    private mutating func checkDeferredTasks() throws {
        guard contents.hasDeferredTasks else { return }
        let leftovers = try DeferredCleanup.leftovers(in: connection)
        findings.addExamined(leftovers.count, "leftovers of a deferred migration")
        if contents.document.metadata?.values[StoreMetadata.Key.deferredMigration]?.flag != true {
            findings.add(
                .metadata,
                "the store has the table \(DeferredCleanup.table), but \(StoreMetadata.Key.deferredMigration) in the "
                    + "metadata is not true; finish the deferred migration with corestone migrate --finish-deferred")
        }
        for leftover in leftovers {
            guard let columns = contents.tables[leftover.table] else {
                findings.add(
                    .metadata, "the table \(leftover.table), which a deferred migration left to be dropped, is missing")
                continue
            }
            guard let column = leftover.column, columns[column] == nil else { continue }
            findings.add(
                .metadata,
                "the column \(column) of \(leftover.table), which a deferred migration left to be dropped, is missing")
        }
    }

    private mutating func compareHashes(_ metadata: StoreMetadata) throws {
        let model: Model
        switch source {
        case .given, .cached: model = schema.model
        // An inferred model has other hashes.
        case .inferred:
            guard let cached = misfit?.model, cached.isFrozen else { return }
            model = cached
        }
        let difference = metadata.differingEntities(from: model)
        let whose = source == .given ? "the given model" : "the store's own model (Z_MODELCACHE)"
        for name in difference.onlyInStore {
            findings.add(
                .metadata, "the metadata has a version hash of \(name), which is missing from \(whose)", entity: name)
        }
        for name in difference.onlyInModel {
            findings.add(
                .metadata, "the metadata lacks a version hash of \(name), which is an entity of \(whose)", entity: name)
        }
        for name in difference.changed {
            findings.add(
                .metadata, "the version hash of \(name) in the metadata differs from that of \(whose)", entity: name)
        }
    }
}
