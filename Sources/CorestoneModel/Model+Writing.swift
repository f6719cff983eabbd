import CorestoneValues

extension Model {
    /// Writes the model as a file or folder of Apple's; the extension of the path says of which kind.
    ///
    /// - `.xcdatamodel`: the source of one model. `.xcdatamodeld`: a bundle of sources, in which this becomes one version.
    /// - `.mom`: a compiled model. `.momd`: a bundle of compiled ones, with `VersionInfo.plist`.
    ///
    /// What is there is replaced as a whole or not at all, also when the machine fails. In a bundle the other versions and
    /// whatever else lies there stay as they are.
    /// - Parameters:
    ///   - version: the version of a bundle that is written, new or not. nil is the one that the model was read as, or else
    ///     the current one; a new bundle has one that is called like itself.
    ///   - makesCurrent: whether a version that is named becomes the current one; the first one does in any case.
    ///   - isLossy: whether to leave out what a source has no way to say (`sourceLosses`).
    /// - Throws: `.invalidArgument` for another extension, and for a version whose name cannot be that of a file; `.model` for
    ///   what `source` or, of a compiled model, `freeze` refuses; `.storeIO` when the file system refuses; `.storeBusy` when
    ///   another program keeps the folder locked.
    public func write(
        to path: String, version: String? = nil, makesCurrent: Bool = true, isLossy: Bool = false
    ) throws {
        let named = ModelFile(path)
        let kind = try ModelKind(named)
        if !kind.isBundle, let version, version != named.stem {
            throw named.failure(
                "does not have versions; omit the version \"\(version)\"", .invalidArgument, value: .string(version))
        }
        let bytes = try kind.isSource ? source(isLossy: isLossy) : compiledFile()
        let file = try named.withoutLinks()
        try file.alone {
            switch kind {
            case .compiled: try file.write(bytes)
            case .source:
                let draft = try FolderDraft(replacing: file)
                defer { draft.discard() }
                try draft.keep()
                try draft.write(bytes, to: "contents")
                try draft.commit()
            case .sourceBundle, .compiledBundle:
                let draft = try BundleDraft(file, kind)
                defer { draft.discard() }
                try draft.keep()
                let former = file.exists ? try ModelBundle(named) : nil
                let names = former?.versions.map(\.name) ?? []
                let current = former?.versions.first(where: \.isCurrent)?.name
                let own = versionName.flatMap { own in
                    names.isEmpty || names.contains { $0.isSpelt(like: own) } ? own : nil
                }
                // The current one may be missing, and comes to be.
                let name = version ?? own ?? current ?? former?.current ?? named.stem
                try draft.add(self, bytes, as: name)
                try draft.commit(current: version != nil && makesCurrent ? name : current ?? name)
            }
        }
    }

    /// The bytes of a `.mom`.
    func compiledFile() throws -> [UInt8] {
        try requireSound()
        // What the compiler of a model finds wrong shows when it is frozen; this one may still be under construction.
        if !isFrozen { try copy().freeze() }
        return try compiledModel(self, form: .file)
    }

    /// Turns a model with all its versions into another kind: a source compiled, or a compiled model made a source again.
    ///
    /// - Parameters:
    ///   - path: what `Model(contentsOf:)` reads.
    ///   - target: where it goes; the extension says of which kind it is. A bundle gets every version, `.xcdatamodel` and `.mom`
    ///     the current one. Of a compiled bundle that is there all versions are replaced, and whatever else lies in it stays;
    ///     a source must not be there yet.
    ///   - module: the Swift module of classes that the source names without one (`.Album`), as Xcode's compiler fills in.
    ///   - isLossy: whether to leave out what a source has no way to say.
    /// - Throws: as `write`, naming the version; `.invalidArgument` for a target that holds the source, or what is no model.
    public static func convert(
        _ path: String, to target: String, module: String? = nil, isLossy: Bool = false
    ) throws {
        let named = ModelFile(target)
        let kind = try ModelKind(named)
        let file = try named.withoutLinks()
        if kind.isSource, file.exists {
            throw file.failure("already exists; remove it first, or choose another path", .invalidArgument)
        }
        guard !file.contains(ModelFile(path)) else {
            throw file.failure(
                "contains \(path), which would be replaced; choose another folder", .invalidArgument,
                value: .string(path))
        }
        func read(_ version: ModelVersion) throws -> Model {
            let model = try Model(contentsOf: version.path)
            if let module { try model.fillIn(module: module) }
            return model
        }
        let versions = try Model.versions(of: path)
        guard let current = versions.first(where: \.isCurrent) else {
            let missing = try ModelBundle(ModelFile(path))?.current
            let fault =
                missing.map { "has the current version \"\($0)\", which does not exist" }
                ?? "does not have a current version"
            throw ModelFile(path).failure(
                versions.isEmpty
                    ? "does not contain any versions; add one"
                    : "\(fault); set one with corestone model set \(path) . currentVersion=NAME "
                        + "--version NAME", .invalidArgument, value: missing.map { .string($0) })
        }
        guard kind.isBundle else {
            return try current.naming { try read(current).write(to: target, isLossy: isLossy) }
        }
        try file.alone {
            let draft = try BundleDraft(file, kind)
            defer { draft.discard() }
            try draft.keepOthers()
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
    /// Runs what may find a mistake in the version; the error says in which.
    fileprivate func naming<Result>(_ body: () throws -> Result) throws -> Result {
        do { return try body() } catch let error as CoreError where error.file == nil {
            throw error.within("the version \"\(name)\" in \(path)", file: path)
        }
    }
}

/// The kinds of files in which models are written, told by the extension.
enum ModelKind: String {
    case source = "xcdatamodel"
    case sourceBundle = "xcdatamodeld"
    case compiled = "mom"
    case compiledBundle = "momd"

    init(_ file: ModelFile) throws {
        guard !file.path.utf8.contains(0) else {
            throw CoreError(
                .invalidArgument, "the path of the model \"\(file.path)\" contains a NUL byte; remove it",
                file: file.path)
        }
        let kind = file.name.lastIndex(of: ".").flatMap { ModelKind(rawValue: String(file.name[$0...].dropFirst())) }
        guard let kind else {
            throw file.failure(
                "does not have the extension of a model; use .xcdatamodeld, .xcdatamodel, .momd or .mom",
                .invalidArgument)
        }
        self = kind
    }

    var isSource: Bool { self == .source || self == .sourceBundle }
    var isBundle: Bool { self == .sourceBundle || self == .compiledBundle }
}
