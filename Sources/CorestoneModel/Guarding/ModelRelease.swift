import CorestoneFileSystem
import CorestoneFormats
import CorestoneValues
import Glibc

/// A released version of a model.
///
/// It consists of an immutable compiled file, `NAME.mom`, and of a manifest with the version hashes, `NAME.json`, in
/// the same folder.
public struct ModelRelease: Sendable, Hashable {
    public let name: String
    /// The path of the compiled model.
    public let path: String
    /// The checksum of the version hashes, as in `VersionInfo.plist`.
    public let checksum: String
    /// The version hash of each entity.
    public let versionHashes: [String: [UInt8]]
    /// The SHA-256 digest of the compiled model.
    public let fileDigest: [UInt8]

    /// Reads the model.
    ///
    /// - Throws: `.model` if the file does not match its manifest.
    ///   `.storeIO` if the file cannot be read.
    public func model() throws -> Model {
        let file = LocalFile(path)
        let bytes = try file.bytes()
        guard sha256(bytes) == fileDigest else {
            throw file.failure("does not match its manifest; restore both files from version control", .model)
        }
        let model = try file.reading { try Model(data: bytes) }
        model.versionNameText = Text(name)
        return model
    }
}

// MARK: - Writing

extension ModelRelease {
    /// Saves a version of a model in a folder, which is created if it does not exist.
    ///
    /// The files are deterministic.
    ///
    /// - Returns: false if the folder already contains the version.
    /// - Throws: `.invalidArgument` if the folder contains another model of this name, or if the name is not a valid
    ///   file name.
    ///   `.model` if the model is invalid.
    ///   `.storeIO` for errors of the file system.
    @discardableResult
    public static func keep(_ model: Model, as name: String, inFolder path: String) throws -> Bool {
        let folder = LocalFile(path)
        let isUsable = !name.isEmpty && !name.utf8.contains(0) && name.utf8.count <= 200
        guard isUsable, name.utf8.first != UInt8(ascii: "."), !name.utf8.contains(UInt8(ascii: "/")) else {
            throw folder.failure(
                "cannot contain the version \"\(name.prefix(40))\(name.count > 40 ? "…" : "")\": a name has 1 to "
                    + "200 bytes without a slash, a NUL byte or a leading dot; choose another name",
                .invalidArgument, key: "name", value: .string(name))
        }
        let bytes = try model.compiledFile()
        if let former = try releases(inFolder: path).first(where: { $0.name == name }) {
            // Compiled models do not contain all settings, so the released version is compared with a compiled model.
            let compiled = try Model(data: bytes)
            let changes = try former.model().changes(to: compiled).filter { !$0.isEditorial }
            guard let change = changes.first else { return false }
            let others = changes.count > 1 ? " and \(changes.count - 1) more" : ""
            throw folder.failure(
                "contains another model as the version \"\(name)\" (\(change.text)\(others)); undo the "
                    + "change\(others.isEmpty ? "" : "s"), or add a new version",
                .invalidArgument, entity: change.entity, key: change.name ?? change.field, value: .string(name))
        }
        try folder.createFolder()
        let hashes = entityVersionHashes(of: model)
        try folder.child("\(name).mom").write(bytes)
        try folder.child("\(name)\(manifestEnd)").write(Array(manifest(name, hashes, sha256(bytes)).utf8))
        return true
    }

    /// Encodes the manifest. The manifest does not contain a date, so that it is deterministic.
    private static func manifest(_ name: String, _ hashes: [String: [UInt8]], _ digest: [UInt8]) -> String {
        var text = "{\n  \"version\": "
        text.appendJSON(name)
        text += ",\n  \"checksum\": "
        text.appendJSON(modelVersionChecksum(hashes))
        text += ",\n  \"sha256\": "
        text.appendJSON(base64(digest))
        text += ",\n  \"versionHashes\": {"
        for (place, entity) in sortedByBytes(hashes.keys).enumerated() {
            text += place == 0 ? "\n    " : ",\n    "
            text.appendJSON(entity)
            text += ": "
            text.appendJSON(base64(hashes[entity] ?? []))
        }
        return text + "\n  }\n}\n"
    }

    static let manifestEnd = ".json"
}

// MARK: - Reading

extension ModelRelease {
    /// Returns the versions in a folder, by name; empty for a folder without manifests, and for a file.
    ///
    /// A version whose model is missing is included.
    ///
    /// - Throws: `.model` if the manifest of an existing model cannot be read.
    ///   `.invalidArgument` if the manifest is not valid JSON.
    public static func releases(inFolder path: String) throws -> [ModelRelease] {
        let folder = LocalFile(path)
        guard folder.isFolder else { return [] }
        let entries = try folder.entries()
        let names = Set(entries)
        let found = try entries.filter { $0.hasSuffix(manifestEnd) }.compactMap { entry -> ModelRelease? in
            do { return try ModelRelease(folder, manifest: folder.child(entry)) } catch {
                // Without a model next to it, the file probably belongs to another program.
                if names.contains("\(entry.dropLast(manifestEnd.utf8.count)).mom") { throw error }
                return nil
            }
        }
        return found.sorted { ModelBundle.order($0.name) < ModelBundle.order($1.name) }
    }

    private init(_ folder: LocalFile, manifest: LocalFile) throws {
        let content = try manifest.reading(as: "a manifest") { try decodeJSON(try manifest.bytes(limit: 16 << 20)) }
        func text(_ value: PropertyValue) -> String? { if case .text(let text) = value { text.string } else { nil } }
        func bytes(_ value: PropertyValue) -> [UInt8]? { text(value).flatMap { decodeBase64(Array($0.utf8)) } }
        guard let name = text(content[element: "version"]), let checksum = text(content[element: "checksum"]),
            let digest = bytes(content[element: "sha256"]),
            case .dictionary(let entries) = content[element: "versionHashes"],
            case let hashes = entries.compactMapValues(bytes), hashes.count == entries.count
        else {
            throw manifest.failure(
                "is not the manifest of a release; restore it from version control, or remove it if it does not belong "
                    + "to a release", .model)
        }
        guard manifest.name == name + ModelRelease.manifestEnd else {
            throw manifest.failure(
                "is the manifest of the release \"\(name)\"; rename it to \(name)\(ModelRelease.manifestEnd), and the "
                    + "model next to it to \(name).mom", .model, value: .string(name))
        }
        (self.name, self.checksum, fileDigest, versionHashes) = (name, checksum, digest, hashes)
        path = folder.child("\(name).mom").path
    }
}

// MARK: - Checking

extension ModelRelease {
    /// Checks that released versions were not changed, and that the versions of a bundle still match them.
    ///
    /// - Parameter bundle: a bundle of versions, or a model whose file has the name of a released version.
    public static func findings(inFolder path: String, comparedWith bundle: String) throws -> [MigrationFinding] {
        let versions = try Model.versions(of: bundle)
        return try releases(inFolder: path).flatMap { release -> [MigrationFinding] in
            let frozen: Model
            do { frozen = try release.model() } catch let error as CoreError {
                return [MigrationFinding(.damagedRelease, versions: [release.name], error)]
            }
            guard entityVersionHashes(of: frozen) == release.versionHashes else {
                return [
                    MigrationFinding(
                        .damagedRelease, versions: [release.name],
                        message: "\(release.path) does not have the version hashes of its manifest",
                        remedy: "restore both files from version control")
                ]
            }
            guard let version = versions.first(where: { $0.name == release.name }) else {
                if versions.count == 1, !LocalFile(bundle).isBundle { return [] }
                return [
                    MigrationFinding(
                        .missingRelease, versions: [release.name],
                        message:
                            "\(bundle) does not contain the released version \"\(release.name)\", which stores may have",
                        remedy: "restore the version, or remove \(release.path) and its manifest if no such store "
                            + "exists")
                ]
            }
            return try release.changes(frozen, Model(contentsOf: version.path), bundle)
        }
    }

    /// Returns the changes of a released version.
    ///
    /// A change of a version hash is an error, because stores of the version would not be recognised. Other changes are
    /// warnings.
    private func changes(_ frozen: Model, _ model: Model, _ bundle: String) -> [MigrationFinding] {
        frozen.changes(to: model).filter { !$0.isEditorial }.map { change in
            MigrationFinding(
                .editedRelease, change.changesHash ? .error : .warning, versions: [name], entity: change.entity,
                key: change.name ?? change.field,
                message: "the released version \"\(name)\" of \(bundle) was edited (\(change.text))"
                    + (change.changesHash ? ", so its stores are not recognised" : ""),
                remedy: "undo the change, and make it in a new version")
        }
    }
}

extension LocalFile {
    /// Whether the file is a bundle of versions.
    fileprivate var isBundle: Bool { isFolder && ((try? ModelBundle(self)) ?? nil) != nil }

    fileprivate func createFolder() throws {
        guard mkdir(path, 0o777) == 0 || errno == EEXIST && isFolder else { throw systemFailure("cannot be created") }
    }
}
