import CorestoneGraph
import CorestoneModel
import CorestoneValues

extension Model {
    /// Reads a model for a store that is to be opened with it: of a bundle with several versions the one that the store was
    /// written with, told by the version hashes of all entities; anything else as `init(contentsOf:)`. `versionName` tells
    /// which version it is.
    ///
    /// When the store cannot be read, or does not say by which model it was written, it is the current version: opening the
    /// store tells what is wrong.
    /// - Parameters:
    ///   - path: the model's.
    ///   - storePath: of an SQLite store. It does not change, and nothing in it is locked.
    /// - Returns: the model, frozen.
    /// - Throws: as `init(contentsOf:)`; `.modelMismatch` (134100) when the store was written with none of the versions. The
    ///   message names the nearest one, and its first difference by entity and property.
    public static func load(_ path: String, forStoreAt storePath: String) throws -> Model {
        let versions = try Model.versions(of: path)
        guard versions.count > 1, let file = try? ReadOnlyFile(StorePlace(existing: storePath)),
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
        // Hashes that differ although the model does not are no reason to refuse it.
        _ = try ModelComparison(
            model: nearest, source: .given, contents: contents, connection: file.connection, forWriting: false,
            candidates: choice.description
        ).run()
        return nearest
    }
}

extension StorePlace {
    fileprivate init(existing path: String) throws {
        try self.init(path)
        try requireStore()
    }
}

/// Looks among the versions of a bundle for the one that a store was written with.
private struct VersionChoice {
    let bundle: String
    /// The current one first, then from the last to the first.
    let versions: [ModelVersion]
    /// What the store has on record.
    let hashes: [String: [UInt8]]
    private var distances: [String: Int] = [:]
    private var firstFailure: (any Error)?

    init(bundle: String, versions: [ModelVersion], hashes: [String: [UInt8]]) {
        self.bundle = bundle
        self.versions = versions.filter(\.isCurrent) + versions.reversed().filter { !$0.isCurrent }
        self.hashes = hashes
    }

    /// The version whose entities all hash as the store's. One that cannot be read is none.
    mutating func matching() throws -> Model? {
        for version in versions {
            // What the bundle has on record saves reading the version.
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

    /// The version in which the fewest entities differ.
    func nearest() throws -> Model {
        let known = versions.filter { distances[$0.name] != nil }
        guard let nearest = known.min(by: { distances[$0.name] ?? 0 < distances[$1.name] ?? 0 }) else {
            if let firstFailure { throw firstFailure }
            throw CoreError(
                .internal,
                "cannot find the version of \(bundle) nearest to the store: no version was compared; report it as a defect of the library",
                file: bundle)
        }
        return try read(nearest)
    }

    private func read(_ version: ModelVersion) throws -> Model {
        let model = try Model(contentsOf: bundle, version: version.name)
        try model.freeze()
        return model
    }

    /// How many entities hash otherwise than the store's.
    private func distance(_ other: [String: [UInt8]]) -> Int {
        Set(hashes.keys).union(other.keys).count { hashes[$0] != other[$0] }
    }

    /// For messages.
    var description: String {
        let shown = versions.prefix(5).map(\.name).joined(separator: ", ")
        let more = versions.count > 5 ? " and \(versions.count - 5) more" : ""
        return "the versions of \(bundle) (\(shown)\(more))"
    }
}
