import CorestoneModel
import CorestoneValues

extension MigrationOptions {
    /// Returns the model versions that a migration may use as intermediate steps.
    ///
    /// These are the given models, then those in the searched files and folders, without duplicates. Unreadable files
    /// are skipped.
    package func knownVersions() throws -> [Model] {
        var models: [Model] = []
        var known: Set<[String: [UInt8]]> = []
        func add(_ model: Model) {
            guard (try? model.freeze()) != nil else { return }
            if known.insert(entityVersionHashes(of: model)).inserted { models.append(model) }
        }
        func search(_ path: String, depth: Int) {
            if let versions = try? Model.versions(of: path) {
                for version in versions {
                    if let model = try? Model(contentsOf: path, version: version.name) { add(model) }
                }
                return
            }
            guard depth < 2, let paths = try? Model.paths(inFolder: path) else { return }
            for path in paths { search(path, depth: depth + 1) }
        }
        for model in sourceModels { add(model) }
        for path in searchPaths { search(path, depth: 0) }
        return models
    }
}
