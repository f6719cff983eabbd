import CorestoneGraph
import CorestoneModel
import CorestoneValues

extension Model {
    /// Reads a model for opening a store.
    ///
    /// From a bundle with several versions, it reads the version with which the store was written. The version hashes
    /// of all entities determine that version, and `versionName` names it. Other models are read as by
    /// `init(contentsOf:)`.
    ///
    /// If the store cannot be read, or does not record its version hashes, the current version is read: opening the
    /// store then reports the problem.
    ///
    /// - Parameters:
    ///   - path: The path of the model.
    ///   - storePath: The path of an SQLite store, which is neither changed nor locked.
    /// - Returns: The model, frozen.
    /// - Throws: As `init(contentsOf:)`.
    ///   `.modelMismatch` (134100) if the store was written with a version that is not in the bundle. The message names
    ///   the nearest version, and its first difference by entity and property.
    public static func load(_ path: String, forStoreAt storePath: String) throws -> Model {
        let versions = try Model.versions(of: path)
        guard versions.count > 1, let file = try? ReadOnlyFile(StoreLocation(existing: storePath)),
            let contents = try? StoreContents(file.connection, place: file.place),
            let hashes = contents.document.hashes
        else {
            let model = try Model(contentsOf: path)
            try model.freeze()
            return model
        }
        var choice = VersionChoice(bundle: path, versions: versions, hashes: hashes)
        if let model = try choice.matching() { return model }
        let nearest = try choice.nearest()
        // A model whose hashes differ although its properties do not is accepted.
        _ = try ModelComparison(
            model: nearest, source: .given, contents: contents, connection: file.connection, forWriting: false,
            candidates: choice.description
        ).run()
        return nearest
    }
}

extension StoreLocation {
    fileprivate init(existing path: String) throws {
        try self.init(path)
        try requireStore()
    }
}

/// A search for the version of a bundle with which a store was written.
private struct VersionChoice {
    let bundle: String
    /// The current version first, then the others from the last to the first.
    let versions: [ModelVersion]
    /// The version hashes that the store records.
    let hashes: [String: [UInt8]]
    private var distances: [String: Int] = [:]
    private var firstFailure: (any Error)?

    init(bundle: String, versions: [ModelVersion], hashes: [String: [UInt8]]) {
        self.bundle = bundle
        self.versions = versions.filter(\.isCurrent) + versions.reversed().filter { !$0.isCurrent }
        self.hashes = hashes
    }

    /// Returns the version whose entities all have the version hashes of the store. Unreadable versions are skipped.
    mutating func matching() throws -> Model? {
        for version in versions {
            // If the bundle records other hashes for the version, the version need not be read.
            if !version.recordedHashes.isEmpty, version.recordedHashes != hashes {
                distances[version.name] = distance(version.recordedHashes)
                continue
            }
            do {
                let model = try read(version)
                let distance = distance(entityVersionHashes(of: model))
                if distance == 0 { return model }
                distances[version.name] = distance
            } catch { firstFailure = firstFailure ?? error }
        }
        return nil
    }

    /// Returns the version in which the fewest entities differ.
    func nearest() throws -> Model {
        let known = versions.filter { distances[$0.name] != nil }
        guard let nearest = known.min(by: { distances[$0.name] ?? 0 < distances[$1.name] ?? 0 }) else {
            if let firstFailure { throw firstFailure }
            throw CoreError(
                .internal,
                "cannot find the version of \(bundle) nearest to the store: the versions were not compared; "
                    + "report it as a defect of the library",
                file: bundle)
        }
        return try read(nearest)
    }

    private func read(_ version: ModelVersion) throws -> Model {
        let model = try Model(contentsOf: bundle, version: version.name)
        try model.freeze()
        return model
    }

    /// Returns the number of entities whose hashes differ from the store's.
    private func distance(_ other: [String: [UInt8]]) -> Int {
        Set(hashes.keys).union(other.keys).count { hashes[$0] != other[$0] }
    }

    /// The description of the versions for messages.
    var description: String {
        let shown = versions.prefix(5).map(\.name).joined(separator: ", ")
        let more = versions.count > 5 ? " and \(versions.count - 5) more" : ""
        return "the versions of \(bundle) (\(shown)\(more))"
    }
}
