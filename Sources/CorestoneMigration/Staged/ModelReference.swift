import CorestoneFormats
import CorestoneGraph
import CorestoneModel
import CorestoneValues

/// A reference to a model version, which is loaded on demand (`NSManagedObjectModelReference`).
public struct ModelReference: @unchecked Sendable {
    private enum Place {
        case model(Model)
        case file(path: String, version: String?)
        case hashes([String: [UInt8]], paths: [String])
    }

    private let place: Place
    /// The expected `Model.versionChecksum`; nil for any.
    public let checksum: String?

    public init(_ model: Model, checksum: String? = nil) { (place, self.checksum) = (.model(model), checksum) }

    /// Creates a reference to a version by the path of its model.
    ///
    /// - Parameters:
    ///   - path: The path of a model in any supported format.
    ///   - version: The name of the version in a bundle; nil for the current version.
    public init(contentsOf path: String, version: String? = nil, checksum: String? = nil) {
        (place, self.checksum) = (.file(path: path, version: version), checksum)
    }

    /// Creates a reference to a version by its version hashes.
    ///
    /// - Parameters:
    ///   - hashes: The version hashes by entity name, as in a store's metadata.
    ///   - paths: Paths of models, bundles and folders that are searched for the version.
    public init(entityVersionHashes hashes: [String: [UInt8]], in paths: [String], checksum: String? = nil) {
        (place, self.checksum) = (.hashes(hashes, paths: paths), checksum)
    }

    /// Loads and freezes the version.
    ///
    /// - Throws: 134504 if the version is not found, cannot be read or has another checksum.
    ///   Errors of `Model.freeze`.
    public func resolve() throws -> Model {
        let model: Model
        do { model = try load() } catch let error as CoreError {
            if error.code == CocoaCode.managedObjectModelReferenceNotFound.rawValue { throw error }
            throw CoreError(
                .migration, code: .managedObjectModelReferenceNotFound,
                "the model reference cannot be resolved: \(error.message)", entity: error.entity,
                key: error.key, value: error.value, file: error.file ?? file)
        }
        try model.freeze()
        guard let checksum, model.versionChecksum != checksum else { return model }
        throw ModelReference.notFound(
            "\(name) has the checksum \"\(model.versionChecksum)\", but its reference expects \"\(checksum)\"; "
                + "correct the checksum of the reference, or restore the version",
            file, key: "checksum", value: .string(checksum))
    }

    private func load() throws -> Model {
        switch place {
        case .model(let model): return model
        case .file(let path, let version): return try Model(contentsOf: path, version: version)
        case .hashes(let hashes, let paths):
            var options = MigrationOptions()
            options.searchPaths = paths
            let found = try options.knownVersions().first { entityVersionHashes(of: $0) == hashes }
            if let found { return found }
            let names = sortedByBytes(Array(hashes.keys)).listed
            let entities =
                hashes.isEmpty
                ? "without entities"
                : "with the given \(hashes.count == 1 ? "hash" : "hashes") of \(names)"
            throw ModelReference.notFound(
                "the version \(entities) was not found"
                    + (paths.isEmpty
                        ? ", because a path was not given; pass the path of a model of this version"
                        : " in \(paths.listed); pass the path of a model of this version"),
                paths.first)
        }
    }

    private var file: String? { if case .file(let path, _) = place { path } else { nil } }

    /// The name for messages.
    var name: String {
        switch place {
        case .model(let model): model.versionText
        case .file(let path, let version): version.map { "\"\($0)\" of \(path)" } ?? path
        case .hashes: "the version with the given hashes"
        }
    }

    private static func notFound(
        _ message: String, _ file: String? = nil, key: String? = nil, value: PropertyValue? = nil
    ) -> CoreError {
        CoreError(.migration, code: .managedObjectModelReferenceNotFound, message, key: key, value: value, file: file)
    }
}
