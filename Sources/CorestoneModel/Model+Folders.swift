import CorestoneValues

extension Model {
    /// One model of all the models that lie in a folder: what Core Data makes of an application's bundle.
    ///
    /// Of a bundle of versions the current one counts. A source beside its compiled form counts once.
    /// - Throws: `.model` when the folder holds none, or when entities of one name differ in two of them, with what differs.
    public static func merging(folder path: String) throws -> Model {
        let models = try files(inFolder: path).map { try Model(contentsOf: $0.path) }
        do { return try merging(models) } catch let error as CoreError where error.file == nil {
            throw error.within("cannot merge the models in \(path)", file: path)
        }
    }

    /// The model that a store was written with, put together of all versions of the models in a folder.
    /// - Parameters:
    ///   - hashes: what the store's metadata records, by entity.
    ///   - store: the path of the store, for errors.
    /// - Throws: `.modelMismatch` when an entity of the store is in none of them as it was then.
    public static func merging(
        folder path: String, forHashes hashes: [String: [UInt8]], ofStoreAt store: String? = nil
    ) throws -> Model {
        let versions = try files(inFolder: path).flatMap { try Model.versions(of: $0.path) }
        return try merging(
            try versions.map { try Model(contentsOf: $0.path) }, forHashes: hashes, ofStoreAt: store)
    }

    /// The models that lie directly in a folder, by name. Of several forms of one the compiled one is taken.
    package static func paths(inFolder path: String) throws -> [String] { try files(inFolder: path).map(\.path) }

    private static func files(inFolder path: String) throws -> [ModelFile] {
        let folder = ModelFile(path)
        var chosen: [String: (kind: ModelKind, file: ModelFile)] = [:]
        for name in try folder.entries() {
            let file = folder.child(name)
            guard !name.hasPrefix("."), let kind = try? ModelKind(file) else { continue }
            if let known = chosen[file.stem], known.kind.precedence <= kind.precedence { continue }
            chosen[file.stem] = (kind, file)
        }
        guard !chosen.isEmpty else {
            throw folder.failure(
                "does not contain a model; pass a folder with a .momd, .mom, .xcdatamodeld or .xcdatamodel", .model)
        }
        return sortedByBytes(chosen.keys).compactMap { chosen[$0]?.file }
    }
}

extension ModelKind {
    /// Which of several forms of a model is taken: the lowest.
    fileprivate var precedence: Int {
        switch self {
        case .compiledBundle: 0
        case .compiled: 1
        case .sourceBundle: 2
        case .source: 3
        }
    }
}
