import CorestoneFileSystem
import CorestoneValues

extension Model {
    /// Writes the model in one of Apple's formats, which the extension of the path selects.
    ///
    /// - `.xcdatamodel`: the source of one model. `.xcdatamodeld`: a bundle of sources, in which this model becomes one
    ///   version.
    /// - `.mom`: a compiled model. `.momd`: a bundle of compiled models with `VersionInfo.plist`.
    ///
    /// An existing file or folder is replaced atomically, even if the machine crashes; a folder only if the file system
    /// can exchange two folders. Other versions and other files in a bundle are not changed.
    ///
    /// - Parameters:
    ///   - version: the version of a bundle to write, existing or new; nil for the version from which the model was
    ///     read, if the bundle is new or contains it, or else for the current one. In a new bundle, a model that was
    ///     not read from a version becomes a version with the name of the bundle.
    ///   - makesCurrent: whether a named version becomes the current one. The first version always does.
    ///   - isLossy: whether to omit settings that a source model cannot express (`sourceLosses`).
    /// - Throws: `.invalidArgument` for another extension, or for a version name that is not a valid file name.
    ///   `.model` for errors of `source` or, for a compiled model, of `freeze`.
    ///   `.storeIO` for errors of the file system.
    ///   `.storeBusy` if another process holds the lock of the folder.
    public func write(
        to path: String, version: String? = nil, makesCurrent: Bool = true, isLossy: Bool = false
    ) throws {
        let named = LocalFile(path)
        let kind = try ModelKind(named)
        if !kind.isBundle, let version, version != named.stem {
            throw named.failure(
                "cannot have versions; omit the version \"\(version)\"", .invalidArgument, key: "version",
                value: .string(version))
        }
        let bytes = try kind.isSource ? source(isLossy: isLossy) : compiledFile()
        let file = try named.withoutLinks()
        try file.withWriterLock {
            switch kind {
            case .compiled: try file.write(bytes)
            case .source:
                let draft = try FolderDraft(replacing: file)
                defer { draft.discard() }
                try draft.copyTarget()
                try draft.write(bytes, to: "contents")
                try draft.commit()
            case .sourceBundle, .compiledBundle:
                let draft = try BundleDraft(file, kind)
                defer { draft.discard() }
                try draft.copyExistingBundle()
                let former = file.exists ? try ModelBundle(named) : nil
                let names = former?.versions.map(\.name) ?? []
                let current = former?.versions.first(where: \.isCurrent)?.name
                let own = versionName.flatMap { own in
                    names.isEmpty || names.contains { $0.isSpelt(like: own) } ? own : nil
                }
                // If the current version is missing, it is created.
                let name = version ?? own ?? current ?? former?.current ?? named.stem
                try draft.add(self, bytes, as: name)
                try draft.commit(current: version != nil && makesCurrent ? name : current ?? name)
            }
        }
    }

    /// Returns the bytes of a `.mom`.
    func compiledFile() throws -> [UInt8] {
        try requireNoErrors()
        // Freezing checks the model. A copy is frozen, because this model may still be under construction.
        if !isFrozen { try copy().freeze() }
        return try compiledModel(self, form: .file)
    }

    /// Converts a model with all of its versions to another format.
    ///
    /// Compiles a source model, or converts a compiled model back to a source model.
    ///
    /// - Parameters:
    ///   - path: a path that `Model(contentsOf:)` can read.
    ///   - target: the path to write; the extension selects the format. A bundle receives every version, and an
    ///     `.xcdatamodel` or a `.mom` only the current one. All versions of an existing compiled bundle are replaced,
    ///     and its other files are kept. If it is the path of a source model, it must not exist yet.
    ///   - module: the Swift module of classes that the source names without a module (`.Album`), as Xcode's compiler
    ///     fills it in.
    ///   - isLossy: whether to omit settings that a source model cannot express.
    /// - Throws: As `write`, with the version.
    ///   `.invalidArgument` if the target contains the source, or if `path` is not a model.
    public static func convert(
        _ path: String, to target: String, module: String? = nil, isLossy: Bool = false
    ) throws {
        let named = LocalFile(target)
        let kind = try ModelKind(named, key: "target")
        let file = try named.withoutLinks()
        let source = LocalFile(path)
        if kind.isSource, file.exists {
            let isNeeded = file.isSame(as: source) || file.contains(source) || source.contains(file)
            throw file.failure(
                "already exists; \(isNeeded ? "" : "remove it first, or ")choose another path", .invalidArgument,
                key: "target")
        }
        guard !file.contains(source) else {
            throw file.failure(
                "contains \(path), which would be replaced; choose another folder", .invalidArgument,
                key: "target", value: .string(path))
        }
        func read(_ version: ModelVersion) throws -> Model {
            let model = try Model(contentsOf: version.path)
            if let module { try model.fillIn(module: module) }
            return model
        }
        let versions = try Model.versions(of: path)
        guard let current = versions.first(where: \.isCurrent) else {
            let missing = try ModelBundle(LocalFile(path))?.current
            let fault =
                missing.map { "has the current version \"\($0)\", which does not exist" }
                ?? "does not have a current version"
            throw LocalFile(path).failure(
                versions.isEmpty
                    ? "does not contain any versions; add one"
                    : "\(fault); set the current version with corestone model set \(path) . currentVersion=NAME "
                        + "--version NAME", .invalidArgument, key: "path", value: missing.map { .string($0) })
        }
        guard kind.isBundle else {
            return try current.naming { try read(current).write(to: target, isLossy: isLossy) }
        }
        try file.withWriterLock {
            let draft = try BundleDraft(file, kind)
            defer { draft.discard() }
            try draft.copyOtherFiles()
            for version in versions {
                try version.naming {
                    let model = try read(version)
                    let bytes = try kind.isSource ? model.source(isLossy: isLossy) : model.compiledFile()
                    try draft.add(model, bytes, as: version.name)
                }
            }
            try draft.commit(current: current.name)
        }
    }

    private func fillIn(module: String) throws {
        for entity in entities where entity.className.hasPrefix(".") {
            try entity.setClassName(module + entity.className)
        }
    }
}

extension ModelVersion {
    /// Runs `body`. Errors that do not name a file then name the version and its file.
    fileprivate func naming<Result>(_ body: () throws -> Result) throws -> Result {
        do { return try body() } catch let error as CoreError where error.file == nil {
            throw error.within("the version \"\(name)\" in \(path)", file: path)
        }
    }
}

/// The formats of model files, by extension.
enum ModelKind: String {
    case source = "xcdatamodel"
    case sourceBundle = "xcdatamodeld"
    case compiled = "mom"
    case compiledBundle = "momd"

    /// - Parameter key: the parameter with the path, for errors.
    init(_ file: LocalFile, key: String = "path") throws {
        guard !file.path.utf8.contains(0) else {
            throw CoreError(
                .invalidArgument, "the path of the model \"\(file.path)\" contains a NUL byte; remove it",
                key: key, file: file.path)
        }
        let kind = file.name.lastIndex(of: ".").flatMap { ModelKind(rawValue: String(file.name[$0...].dropFirst())) }
        guard let kind else {
            throw file.failure(
                "does not have the extension of a model; use .xcdatamodeld, .xcdatamodel, .momd or .mom",
                .invalidArgument, key: key)
        }
        self = kind
    }

    var isSource: Bool { self == .source || self == .sourceBundle }
    var isBundle: Bool { self == .sourceBundle || self == .compiledBundle }
}
