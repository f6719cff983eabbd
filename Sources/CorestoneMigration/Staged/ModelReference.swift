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

    /// Refers to a version by the path of its model.
    ///
    /// - Parameters:
    ///   - path: The path of a model of any kind.
    ///   - version: The version in a bundle; nil for the current one.
    public init(contentsOf path: String, version: String? = nil, checksum: String? = nil) {
        (place, self.checksum) = (.file(path: path, version: version), checksum)
    }

    /// Refers to a version by its version hashes.
    ///
    /// - Parameters:
    ///   - hashes: The version hashes of the entities, as in a store's metadata.
    ///   - paths: Models, bundles and folders in which the version is searched.
    public init(entityVersionHashes hashes: [String: [UInt8]], in paths: [String], checksum: String? = nil) {
        (place, self.checksum) = (.hashes(hashes, paths: paths), checksum)
    }

    /// Loads and freezes the version.
    ///
    /// - Throws: 134504 if the version is not found or has another checksum.
    public func resolve() throws -> Model {
        let model: Model
        do { model = try load() } catch let error as CoreError {
            if error.code == CocoaCode.managedObjectModelReferenceNotFound.rawValue { throw error }
            throw CoreError(
                .migration, code: .managedObjectModelReferenceNotFound,
                "the model of a migration stage cannot be loaded: \(error.message)", entity: error.entity,
                key: error.key, value: error.value, file: error.file ?? file)
        }
        try model.freeze()
        guard let checksum, model.versionChecksum != checksum else { return model }
        throw ModelReference.notFound(
            "\(name) has the checksum \"\(model.versionChecksum)\", but its reference expects \"\(checksum)\"; correct the "
                + "checksum, or restore the version", file, value: .string(checksum))
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
            let names = sortedByBytes(Array(hashes.keys)).joined(separator: ", ")
            let entities =
                hashes.isEmpty ? "without entities" : "with the \(hashes.count == 1 ? "entity" : "entities") \(names)"
            throw ModelReference.notFound(
                "the version of a migration stage \(entities) was not found"
                    + (paths.isEmpty
                        ? ", because no path was given; pass the path of the model"
                        : " in \(paths.joined(separator: ", ")); pass the path of the model"),
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

    private static func notFound(_ message: String, _ file: String? = nil, value: PropertyValue? = nil) -> CoreError {
        CoreError(.migration, code: .managedObjectModelReferenceNotFound, message, value: value, file: file)
    }
}
