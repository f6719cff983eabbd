import CorestoneValues
import Glibc

extension Model {
    /// The most bytes that are read of a model; the largest known one has 2 MB.
    public static let maximumFileSize = 64 << 20

    /// Reads a model from a file or a folder of any of Apple's kinds: `.xcdatamodeld`, `.xcdatamodel` and its `contents`,
    /// `.momd`, `.mom`. What it is is told from the content, not from the extension. The model is not frozen. Its localisation
    /// is that of the user's language, when `<Model>Model.strings` lies beside it (`loadStrings(besideModel:)`).
    ///
    /// - Parameter version: which version of a bundle, by name; nil is its current one. Other kinds have no versions.
    /// - Throws: `.storeIO` when the file cannot be read; `.model` when it holds no model, is damaged or goes beyond a limit;
    ///   `.invalidArgument` for a store, with what to do, and for a version that is not there, with those that are.
    public convenience init(contentsOf path: String, version: String? = nil) throws {
        try self.init(path, version, asDraft: false)
    }

    /// Reads a source model that may be half-finished, as an editor saves it: with a relationship that leads nowhere, an attribute
    /// without a type, an entity whose parent is gone. What cannot stand in a model is left out or shown as it stands, and
    /// `draftProblems` says so of each. The model can be looked at like a frozen one. A model with problems can only be inspected;
    /// any use throws the first of them. Without problems it is as any other model.
    ///
    /// - Parameters: as of `init(contentsOf:version:)`.
    /// - Throws: as `init(contentsOf:version:)`, but not for what a draft may have; compiled models are not drafts.
    public convenience init(draftAt path: String, version: String? = nil) throws {
        try self.init(path, version, asDraft: true)
        try settleDraft()
    }

    private convenience init(_ path: String, _ version: String?, asDraft: Bool) throws {
        var file = ModelFile(path)
        if file.isFolder {
            // An .xcdatamodel is a folder with one model, a bundle one with several.
            if let source = Model.source(in: file) {
                try Model.refuse(version, of: file)
                file = source
            } else if let bundle = try ModelBundle(file) {
                let chosen = try bundle.version(version, of: file)
                try self.init(chosen.path, nil, asDraft: asDraft)
                versionNameText = Text(chosen.name)
                try requireHashes(chosen, in: file)
                try loadStrings(besideModel: path)
                return
            } else {
                throw Model.noModel(file)
            }
        } else {
            try Model.refuse(version, of: file)
        }
        try self.init(file, asDraft: asDraft)
        try loadStrings(besideModel: path)
    }

    /// A compiled model that does not hash as its bundle has on record is not the one that the bundle was made with: stores
    /// made with it would not open on the application's devices. Where the hash itself is uncertain, nothing is concluded.
    private func requireHashes(_ version: ModelVersion, in bundle: ModelFile) throws {
        guard !version.recordedHashes.isEmpty, extrapolations.isEmpty else { return }
        let computed = entityVersionHashes(of: self)
        let names = Set(computed.keys).union(version.recordedHashes.keys)
        guard let different = sortedByBytes(names.filter { computed[$0] != version.recordedHashes[$0] }).first else {
            return
        }
        let fault =
            computed[different] == nil
            ? "which does not have the entity \(different) of VersionInfo.plist"
            : version.recordedHashes[different] == nil
                ? "whose entity \(different) is not in VersionInfo.plist"
                : "in which the entity \(different) does not match its hash in VersionInfo.plist"
        throw bundle.failure(
            "contains the version \"\(version.name)\", \(fault); recompile the model", .model, entity: different,
            value: .string(version.name))
    }

    /// The versions of the model that a bundle holds, by name; a model without versions is its own only one.
    public static func versions(of path: String) throws -> [ModelVersion] {
        let file = ModelFile(path)
        if file.isFolder, source(in: file) == nil {
            guard let bundle = try ModelBundle(file) else { throw noModel(file) }
            return bundle.versions
        }
        guard file.exists else { throw file.failure("does not exist; check the path") }
        return [
            ModelVersion(
                name: file.stem, isCurrent: true, path: file.path, recordedHashes: [:], recordedChecksum: nil)
        ]
    }

    /// What an .xcdatamodel holds: XML, or the archive of older editors.
    private static func source(in folder: ModelFile) -> ModelFile? {
        ["contents", "elements"].map(folder.child).first(where: \.exists)
    }

    private static func noModel(_ folder: ModelFile) -> CoreError {
        folder.failure(
            "does not contain a model: it has neither a contents file nor versions; pass a .xcdatamodel, .xcdatamodeld or "
                + ".momd folder", .model)
    }

    private static func refuse(_ version: String?, of file: ModelFile) throws {
        guard let version, version != file.stem else { return }
        guard file.exists else { throw file.failure("does not exist; check the path") }
        throw file.failure(
            "does not have versions; omit the version \"\(version)\"", .invalidArgument,
            value: .string(version))
    }

    /// A file by what it begins with.
    private convenience init(_ file: ModelFile, asDraft: Bool) throws {
        var file = file
        var bytes = try file.bytes()
        if bytes.starts(with: "momv2$".utf8) {
            // The optimised form has no known description; the plain one always lies beside it.
            let plain = file.folder.child(file.stem + ".mom")
            guard file.path.hasSuffix(".omo") else {
                throw file.failure(
                    "is an optimised model, which cannot be read; read the .mom file of the same model instead", .model)
            }
            guard plain.exists else {
                throw file.failure(
                    "is an optimised model, which cannot be read without the .mom file next to it; add the .mom file",
                    .model)
            }
            file = plain
            bytes = try plain.bytes()
        }
        let content = bytes
        self.init()
        try file.reading { try read(content, asDraft: asDraft) }
    }

    /// The model in the bytes of a file of any kind, a compiled one, a `contents`, an archive of the editor, or in what a
    /// store keeps in `Z_MODELCACHE`.
    ///
    /// - Throws: `.storeCorrupt` when they are damaged or go beyond a limit; `.model` when the model contradicts itself;
    ///   `.invalidArgument` for a store.
    public convenience init(data bytes: [UInt8]) throws {
        self.init()
        try read(bytes)
    }

    private func read(_ bytes: [UInt8], asDraft: Bool = false) throws {
        if let kind = Model.foreignKind(bytes) {
            throw CoreError(.invalidArgument, code: .coreData, "the data \(kind)")
        }
        if bytes.starts(with: "bplist".utf8) { return try read(archive: try KeyedArchiveReader(bytes)) }
        if XMLParser.mayRead(bytes) { return try SourceModelReader(into: self, asDraft: asDraft).read(bytes) }
        let expanded: [UInt8]
        do { expanded = try inflateRaw(bytes, limit: Model.maximumFileSize) } catch let error as CoreError
            where error.status == .storeCorrupt && error.value == nil  // not one beyond the limit
        {
            throw archiveError(
                "the data is not XML, a property list or the intact cached model of a store. Pass a .mom or contents file, "
                    + "or the path of a .xcdatamodel, .xcdatamodeld or .momd folder")
        }
        try read(archive: try KeyedArchiveReader(expanded))
    }

    /// What a file is that is no model, with what to do about it.
    private static func foreignKind(_ bytes: [UInt8]) -> String? {
        if bytes.starts(with: "SQLite format 3\0".utf8) {
            return "is a store, not a model; open it as a store to read its model"
        }
        let head = String(decoding: bytes.prefix(600), as: UTF8.self)
        if strstr(head, "<!DOCTYPE database") != nil || strstr(head, "<database>") != nil {
            return "is an XML store or a mapping model, not a model; open it as a store, or read it as a mapping model"
        }
        return bytes.isEmpty ? "is empty; pass the contents of a model file" : nil
    }
}
