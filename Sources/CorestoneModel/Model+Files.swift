import CorestoneValues

extension Model {
    /// Reads a model from a file or a folder of any of Apple's kinds: `.xcdatamodeld`, `.xcdatamodel` and its `contents`,
    /// `.momd`, `.mom`. What it is is told from the content, not from the extension. The model is not frozen.
    ///
    /// - Parameter version: which version of a bundle, by name; nil is its current one. Other kinds have no versions.
    /// - Throws: `.storeIO` when the file cannot be read; `.model` when it holds no model, is damaged or goes beyond a limit;
    ///   `.invalidArgument` for a store, with what to do, and for a version that is not there, with those that are.
    public convenience init(contentsOf path: String, version: String? = nil) throws {
        var file = ModelFile(path)
        if file.isFolder {
            // An .xcdatamodel is a folder with one model, a bundle one with several.
            if let source = ["contents", "elements"].map(file.child).first(where: \.exists) {
                try Model.refuse(version, of: file)
                file = source
            } else if let bundle = try ModelBundle(file) {
                let chosen = try bundle.version(version, of: file)
                try self.init(contentsOf: chosen.path)
                try requireHashes(chosen, in: file)
                return
            } else {
                throw file.failure("holds no model: neither contents nor versions of one", .model)
            }
        } else {
            try Model.refuse(version, of: file)
        }
        try self.init(file)
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
        throw bundle.failure(
            "holds a version \(version.name) whose entity \(different) does not hash as VersionInfo.plist has on record; "
                + "compile the model again", .model)
    }

    /// The versions of the model that a bundle holds, by name; a model without versions is its own only one.
    public static func versions(of path: String) throws -> [ModelVersion] {
        let file = ModelFile(path)
        if file.isFolder, !file.child("contents").exists, !file.child("elements").exists,
            let bundle = try ModelBundle(file)
        {
            return bundle.versions
        }
        guard file.exists else { throw file.failure("does not exist") }
        return [
            ModelVersion(
                name: file.stem, isCurrent: true, path: file.path, recordedHashes: [:], recordedChecksum: nil)
        ]
    }

    private static func refuse(_ version: String?, of file: ModelFile) throws {
        guard let version, version != file.stem else { return }
        throw file.failure("holds one model and no version \"\(version)\"; leave the version out", .invalidArgument)
    }

    /// A file by what it begins with.
    private convenience init(_ file: ModelFile) throws {
        let bytes = try file.bytes()
        if bytes.starts(with: "momv2$".utf8) {
            // The optimised form has no known description; the plain one always lies beside it.
            let plain = ModelFile(String(file.path.dropLast(4)) + ".mom")
            guard file.path.hasSuffix(".omo"), plain.exists else {
                throw file.failure(
                    "is an optimised model, which is read from the .mom beside it; there is none", .model)
            }
            let other = try plain.bytes()
            try self.init(file: plain, other)
        } else {
            try self.init(file: file, bytes)
        }
    }

    private convenience init(file: ModelFile, _ bytes: [UInt8]) throws {
        self.init()
        try file.reading {
            if bytes.starts(with: "bplist".utf8) { return try read(archive: try KeyedArchiveReader(bytes)) }
            let kind = Model.foreignKind(bytes)
            guard kind == nil else { throw file.failure(kind ?? "", .invalidArgument) }
            try SourceModelReader(into: self).read(bytes)
        }
    }

    /// What a file is that is no model, with what to do about it.
    private static func foreignKind(_ bytes: [UInt8]) -> String? {
        if bytes.starts(with: "SQLite format 3\0".utf8) {
            return "is a store, not a model; open it as a store, which carries its model"
        }
        let head = String(decoding: bytes.prefix(600), as: UTF8.self)
        if head.contains("<!DOCTYPE database") || head.contains("<database>") {
            return "is an XML store or a mapping model, not a model"
        }
        return bytes.isEmpty ? "is empty" : nil
    }
}
