import CorestoneModel
import CorestoneValues

/// The search for the model with which a store was written.
///
/// The search covers the passed models, files and folders, and the store itself.
package struct SourceModelSearch {
    private let options: MigrationOptions
    /// The version hashes in the store's metadata; nil without hashes.
    private let hashes: [String: [UInt8]]?
    private let path: String
    private let carried: () throws -> Model?

    /// Creates a search for the model of a store.
    ///
    /// - Parameter carried: Returns the model in the store; nil if the store does not contain one.
    package init(
        _ options: MigrationOptions, hashes: [String: [UInt8]]?, ofStoreAt path: String,
        carried: @escaping () throws -> Model?
    ) {
        (self.options, self.hashes, self.path, self.carried) = (options, hashes, path, carried)
    }

    /// Returns the model, frozen.
    ///
    /// - Throws: `.migration` (134130), which lists the places that were searched.
    package func run() throws -> Model {
        var failures: [String] = []
        if let hashes {
            for model in options.sourceModels where try isModel(model, hashes) { return model }
            for path in options.searchPaths {
                // A path without a readable model does not end the search.
                do { if let model = try search(path, hashes) { return model } } catch let error as CoreError {
                    failures.append(error.message.withoutRemedy)
                }
            }
        }
        return try carriedModel(failures)
    }

    private func isModel(_ model: Model, _ hashes: [String: [UInt8]]) throws -> Bool {
        try model.freeze()
        return entityVersionHashes(of: model) == hashes
    }

    /// Searches a model file, the versions of a bundle, or the models of a folder.
    private func search(_ path: String, _ hashes: [String: [UInt8]]) throws -> Model? {
        do {
            for version in try Model.versions(of: path) {
                if !version.recordedHashes.isEmpty, version.recordedHashes != hashes { continue }
                let model = try Model(contentsOf: path, version: version.name)
                if try isModel(model, hashes) { return model }
            }
        } catch {
            guard let paths = try? Model.paths(inFolder: path) else { throw error }
            return try paths.lazy.compactMap { try search($0, hashes) }.first
        }
        let bundles = ((try? Model.paths(inFolder: path)) ?? []).filter {
            $0.hasSuffix(".momd") || $0.hasSuffix(".xcdatamodeld")
        }
        return try bundles.lazy.compactMap { try search($0, hashes) }.first
    }

    private static let withoutModel = "the store does not contain a model"

    private func carriedModel(_ failures: [String]) throws -> Model {
        var reason = SourceModelSearch.withoutModel
        do {
            if let model = try carried() {
                try model.freeze()
                guard let hashes else { return model }
                // Older versions of Core Data computed version hashes by another rule, so only the names of the
                // entities are compared.
                if Set(model.entities.map(\.name)) == Set(hashes.keys) { return model }
                reason = "the model in the store has other entities than the store's metadata"
            }
        } catch let error as CoreError where error.sqliteCode == 0 { reason = error.message.withoutRemedy }
        throw notFound(failures, reason)
    }

    private func notFound(_ failures: [String], _ reason: String) -> CoreError {
        guard hashes != nil else {
            let problem =
                reason == SourceModelSearch.withoutModel ? reason : "its own model cannot be used (\(reason))"
            return CoreError(
                .migration, code: .migrationMissingSourceModel,
                "cannot migrate \(path): its metadata does not have version hashes, and \(problem). Open it "
                    + "with the model that it was written with, save it to another file with "
                    + "cst_coordinator_migrate_store (migrate_store, migrateStore), and migrate that file",
                file: path)
        }
        let count = options.sourceModels.count
        let given = count == 0 ? [] : ["\(count) given model\(count == 1 ? "" : "s")"]
        let searched = (given + options.searchPaths + ["the store itself"]).listed
        let reasons = (failures + [reason]).joined(separator: ", ")
        return CoreError(
            .migration, code: .migrationMissingSourceModel,
            "cannot migrate \(path): its source model was not found in \(searched) (\(reasons)). Pass the model (source_models), "
                + "or its file or folder (model_paths, corestone migrate --source)",
            file: path)
    }
}
