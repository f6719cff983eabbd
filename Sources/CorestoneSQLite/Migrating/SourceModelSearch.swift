import CorestoneGraph
import CorestoneModel
import CorestoneValues

/// Finds the model by which a store was written: among models that were given, in files and folders, in the store itself.
struct SourceModelSearch {
    let options: MigrationOptions
    let contents: StoreContents
    let connection: Connection

    private var path: String { contents.place.given }

    /// The model, frozen.
    ///
    /// - Throws: `.migration` (134130) that lists the places that were searched.
    func run() throws -> Model {
        guard let hashes = contents.document.hashes else { return try cached(nil) }
        for model in options.sourceModels where try isModel(model, hashes) { return model }
        for path in options.searchPaths {
            if let model = try search(path, hashes) { return model }
        }
        return try cached(hashes)
    }

    private func isModel(_ model: Model, _ hashes: [String: [UInt8]]) throws -> Bool {
        try model.freeze()
        return entityVersionHashes(of: model) == hashes
    }

    /// In a model, in the versions of a bundle, or in the models of a folder.
    private func search(_ path: String, _ hashes: [String: [UInt8]]) throws -> Model? {
        for version in try Model.versions(of: path) {
            if !version.recordedHashes.isEmpty, version.recordedHashes != hashes { continue }
            let model = try Model(contentsOf: path, version: version.name)
            if try isModel(model, hashes) { return model }
        }
        return nil
    }

    private func cached(_ hashes: [String: [UInt8]]?) throws -> Model {
        var reason = "the store carries no model"
        do {
            if let model = try contents.cachedModel(connection) {
                try model.freeze()
                if hashes == nil || entityVersionHashes(of: model) == hashes { return model }
                reason = "the model that the store carries is not the one that it names"
                // Hashes that an older framework computed otherwise.
                if Set(model.entities.map(\.name)) == Set(hashes?.keys.map { $0 } ?? []) { return model }
            }
        } catch let error as CoreError where error.sqliteCode == 0 { reason = error.message }
        let given = options.sourceModels.isEmpty ? [] : ["\(options.sourceModels.count) given models"]
        let searched = given + options.searchPaths + [path]
        throw CoreError(
            .migration, code: .migrationMissingSourceModel,
            "cannot migrate \(path): the model that it was written with is in none of \(searched.joined(separator: ", ")) "
                + "(\(reason)); give the source model, or a search path that has it", file: path)
    }
}
