import CorestoneFileSystem
import CorestoneFormats
import CorestoneValues

extension Model {
    /// Merges all models in a folder, as Core Data does for an application's bundle.
    ///
    /// Of a bundle of versions, the current version is used. A source model and its compiled form count once.
    ///
    /// - Throws: `.model` if the folder does not contain a model, or if entities of the same name differ in two models,
    ///   with the difference.
    public static func merging(folder path: String) throws -> Model {
        let models = try files(inFolder: path).map { try Model(contentsOf: $0.path) }
        do { return try merging(models) } catch let error as CoreError where error.file == nil {
            throw error.within("cannot merge the models in \(path)", file: path)
        }
    }

    /// Reassembles the model of a store from all versions of all models in a folder.
    ///
    /// - Parameters:
    ///   - hashes: the version hashes in the store's metadata, by entity.
    ///   - store: the path of the store, for errors.
    /// - Throws: `.modelMismatch` if an entity of the store is not in any version with the same hash.
    public static func merging(
        folder path: String, forHashes hashes: [String: [UInt8]], ofStoreAt store: String? = nil
    ) throws -> Model {
        let versions = try files(inFolder: path).flatMap { try Model.versions(of: $0.path) }
        return try merging(
            try versions.map { try Model(contentsOf: $0.path) }, forHashes: hashes, ofStoreAt: store)
    }

    /// Returns the paths of the models directly in a folder, sorted by name.
    ///
    /// Of several forms of one model, the compiled form is used.
    package static func paths(inFolder path: String) throws -> [String] { try files(inFolder: path).map(\.path) }

    private static func files(inFolder path: String) throws -> [LocalFile] {
        let folder = LocalFile(path)
        var chosen: [String: (kind: ModelKind, file: LocalFile)] = [:]
        for name in try folder.entries() {
            let file = folder.child(name)
            guard !name.hasPrefix("."), let kind = try? ModelKind(file) else { continue }
            if let known = chosen[file.stem], known.kind.precedence <= kind.precedence { continue }
            chosen[file.stem] = (kind, file)
        }
        guard !chosen.isEmpty else {
            throw folder.failure(
                "does not contain a .momd, .mom, .xcdatamodeld or .xcdatamodel; pass the folder that contains the "
                    + "models", .model)
        }
        return sortedByBytes(chosen.keys).compactMap { chosen[$0]?.file }
    }
}

extension ModelKind {
    /// The precedence among several forms of a model. The form with the lowest number is used.
    fileprivate var precedence: Int {
        switch self {
        case .compiledBundle: 0
        case .compiled: 1
        case .sourceBundle: 2
        case .source: 3
        }
    }
}
