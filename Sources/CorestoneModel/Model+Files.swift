import CorestoneFileSystem
import CorestoneFormats
import CorestoneValues
import Glibc

extension Model {
    /// The maximum size of a model file in bytes. The largest known model has 2 MB.
    public static let maximumFileSize = PropertyListLimits.modelSize

    /// Reads a model from a file or folder in any of Apple's formats.
    ///
    /// The formats are `.xcdatamodeld`, `.xcdatamodel` and its `contents`, `.momd` and `.mom`. The format is detected
    /// by content, not by extension. The model is not frozen. If `<Model>Model.strings` is next to the model, the model
    /// is localised for the user's language (`loadStrings(besideModel:)`).
    ///
    /// - Parameter version: the name of a version of a bundle; nil for the current version. Other formats do not have
    ///   versions.
    /// - Throws: `.storeIO` if a file cannot be read or is too large.
    ///   `.model` if the file does not contain a model, is damaged or exceeds another limit.
    ///   `.invalidArgument` for an empty file, a store or a mapping model, with a remedy, and for an unknown version.
    public convenience init(contentsOf path: String, version: String? = nil) throws {
        try self.init(path, version, asDraft: false)
    }

    /// Reads a source model that may be incomplete, as an editor saves it.
    ///
    /// A relationship may lack its destination, an attribute its type, and an entity its superentity. Invalid parts are
    /// omitted or kept unchanged, and `draftProblems` lists each. The model can be inspected like a frozen one. Any
    /// other use of a model with problems throws the first problem. A model without problems can be used like every
    /// other frozen model.
    ///
    /// - Parameters: as for `init(contentsOf:version:)`.
    /// - Throws: as `init(contentsOf:version:)`, except for problems that a draft may have. A compiled model is never a
    ///   draft.
    public convenience init(draftAt path: String, version: String? = nil) throws {
        try self.init(path, version, asDraft: true)
        try freezeDraft()
    }

    private convenience init(_ path: String, _ version: String?, asDraft: Bool) throws {
        var file = LocalFile(path)
        if file.isFolder {
            // An .xcdatamodel is a folder with one model; a bundle can contain several.
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

    /// Rejects a compiled model whose hashes differ from those that the bundle records.
    ///
    /// Stores of that version would not open. A model with unconfirmed hashes is not checked.
    private func requireHashes(_ version: ModelVersion, in bundle: LocalFile) throws {
        guard !version.recordedHashes.isEmpty, extrapolations.isEmpty else { return }
        let computed = entityVersionHashes(of: self)
        let names = Set(computed.keys).union(version.recordedHashes.keys)
        guard let different = sortedByBytes(names.filter { computed[$0] != version.recordedHashes[$0] }).first else {
            return
        }
        let fault =
            computed[different] == nil
            ? "which does not have the entity \"\(different)\" of VersionInfo.plist"
            : version.recordedHashes[different] == nil
                ? "whose entity \"\(different)\" is not in VersionInfo.plist"
                : "in which the entity \"\(different)\" does not match its hash in VersionInfo.plist"
        throw bundle.failure(
            "contains the version \"\(version.name)\", \(fault); recompile the model", .model, entity: different,
            value: .string(version.name))
    }

    /// Returns the versions of a bundle, sorted by name. A model without versions is a single version.
    public static func versions(of path: String) throws -> [ModelVersion] {
        let file = LocalFile(path)
        if file.isFolder, source(in: file) == nil {
            guard let bundle = try ModelBundle(file) else { throw noModel(file) }
            return bundle.versions
        }
        try file.requireExistence()
        return [
            ModelVersion(
                name: file.stem, isCurrent: true, path: file.path, recordedHashes: [:], recordedChecksum: nil)
        ]
    }

    /// Returns the model file in an .xcdatamodel: XML, or the archive of older editors.
    private static func source(in folder: LocalFile) -> LocalFile? {
        ["contents", "elements"].map(folder.child).first(where: \.exists)
    }

    private static func noModel(_ folder: LocalFile) -> CoreError {
        let hasExtension = (try? ModelKind(folder)) != nil
        return folder.failure(
            "does not contain a model: it has neither a contents file nor versions; "
                + (hasExtension
                    ? "restore its files, or pass another model"
                    : "pass a .xcdatamodel, .xcdatamodeld or .momd folder"),
            .model)
    }

    private static func refuse(_ version: String?, of file: LocalFile) throws {
        guard let version, version != file.stem else { return }
        try file.requireExistence()
        throw file.failure(
            "does not have versions; omit the version \"\(version)\"", .invalidArgument, key: "version",
            value: .string(version))
    }

    /// Reads a file. Detects the format by its first bytes.
    private convenience init(_ file: LocalFile, asDraft: Bool) throws {
        var file = file
        var bytes = try file.bytes()
        if bytes.starts(with: "momv2$".utf8) {
            // The optimised format is not documented. Next to an optimised file, there is usually one in the plain
            // format.
            let plain = file.folder.child(file.stem + ".mom")
            guard file.path.hasSuffix(".omo") else {
                throw file.failure(
                    "is an optimised model, which cannot be read; use the plain .mom file that was compiled with it, "
                        + "or its source model", .model)
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
        try file.reading { try read(content, asDraft: asDraft, key: nil) }
    }

    /// Reads a model from the bytes of a file in any format.
    ///
    /// The bytes are a compiled model, a `contents` file, an archive of the editor, or the `Z_MODELCACHE` of a store.
    ///
    /// - Throws: `.storeCorrupt` if the data is damaged or exceeds a limit.
    ///   `.model` if the model is inconsistent.
    ///   `.invalidArgument` for empty data, a store or a mapping model.
    public convenience init(data bytes: [UInt8]) throws {
        self.init()
        try read(bytes)
    }

    /// - Parameter key: The parameter with the bytes, for errors; nil for the bytes of a file.
    private func read(_ bytes: [UInt8], asDraft: Bool = false, key: String? = "content") throws {
        if let kind = Model.foreignKind(bytes) {
            throw CoreError(.invalidArgument, code: .coreData, "the data \(kind)", key: key)
        }
        if bytes.starts(with: "bplist".utf8) { return try read(archive: try KeyedArchiveReader(bytes)) }
        if XMLParser.mayRead(bytes) { return try SourceModelReader(into: self, asDraft: asDraft).read(bytes) }
        let expanded: [UInt8]
        do { expanded = try inflateRaw(bytes, limit: Model.maximumFileSize) } catch let error as CoreError
            where error.status == .storeCorrupt && error.value == nil
        {
            // Only the error for an exceeded limit has a value.
            throw archiveError(
                "the data is not XML, a property list or the intact cached model of a store; use an undamaged .mom or "
                    + "contents file")
        }
        try read(archive: try KeyedArchiveReader(expanded))
    }

    /// Returns a clause that describes data that is not a model, with a remedy; nil for other data.
    private static func foreignKind(_ bytes: [UInt8]) -> String? {
        if bytes.starts(with: "SQLite format 3\0".utf8) {
            return "is an SQLite database, not a model; open it with cst_container_open (corestone.open, "
                + "Container.open) if it is a store, and use its model"
        }
        let head = String(decoding: bytes.prefix(600), as: UTF8.self)
        if strstr(head, "<!DOCTYPE database") != nil || strstr(head, "<database>") != nil {
            return "is an XML store or a mapping model, not a model; open it with cst_container_open (corestone.open, "
                + "Container.open) or cst_mapping_model_load (MappingModel.load, MappingModel(contentsOf:))"
        }
        return bytes.isEmpty ? "is empty; use an undamaged .mom or contents file" : nil
    }
}
