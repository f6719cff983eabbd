import CorestoneFileSystem
import CorestoneFormats
import CorestoneValues

/// The draft of a bundle of model versions, written next to the bundle that the draft replaces.
final class BundleDraft {
    private let kind: ModelKind
    private let folder: FolderDraft
    private let target: LocalFile
    /// The names of the versions so far.
    private var names: [String] = []
    /// The bundle's property list of versions, including unknown entries.
    private var list: [String: PropertyListValue] = [:]
    private var hashes: [String: [String: [UInt8]]] = [:]
    private var checksums: [String: String] = [:]

    init(_ target: LocalFile, _ kind: ModelKind) throws {
        self.target = target
        self.kind = kind
        folder = try FolderDraft(replacing: target)
    }

    func discard() { folder.discard() }

    /// Copies the contents of the existing bundle.
    func copyExistingBundle() throws {
        try folder.copyTarget()
        guard target.exists, let bundle = try ModelBundle(target), bundle.isSource == kind.isSource else { return }
        names = bundle.versions.map(\.name)
        list = bundle.list
        guard kind == .compiledBundle else { return }
        for version in bundle.versions {
            let isRecorded = !version.recordedHashes.isEmpty
            let own = isRecorded ? version.recordedHashes : entityVersionHashes(of: try Model(contentsOf: version.path))
            hashes[version.name] = own
            checksums[version.name] = version.recordedChecksum ?? modelVersionChecksum(own)
        }
    }

    /// Copies the other files of an existing compiled bundle, all of whose versions will be replaced.
    ///
    /// - Throws: `.invalidArgument` if the folder is not empty and not a compiled bundle.
    func copyOtherFiles() throws {
        guard target.exists, !(try target.entries().isEmpty) else { return }
        guard let bundle = try ModelBundle(target), !bundle.isSource else {
            throw target.failure(
                "contains files that do not belong to a compiled model; choose another folder, or remove these files",
                .invalidArgument, key: "target")
        }
        try folder.copyTarget { name in
            name == ModelBundle.compiledList || name.hasSuffix(".mom") || name.hasSuffix(".omo")
        }
    }

    func add(_ model: Model, _ bytes: [UInt8], as name: String) throws {
        let fileName = "\(name).\(kind == .sourceBundle ? "xcdatamodel" : "mom")"
        try check(name, fileName)
        names.append(name)
        if kind == .sourceBundle { return try folder.write(bytes, to: fileName, "contents") }
        hashes[name] = entityVersionHashes(of: model)
        checksums[name] = hashes[name].map(modelVersionChecksum)
        try folder.write(bytes, to: fileName)
        // Apple's framework would prefer an outdated `.omo` file.
        folder.remove("\(name).omo")
    }

    private func check(_ name: String, _ fileName: String) throws {
        func refusal(_ content: String) -> CoreError {
            target.failure("cannot contain \(content)", .invalidArgument, key: "version", value: .string(name))
        }
        if name.isEmpty { throw refusal("a version without a name; name the version") }
        if name.utf8.contains(0) { throw refusal("a version with a NUL byte in its name; rename the version") }
        if name.utf8.first == UInt8(ascii: ".") || name.utf8.contains(UInt8(ascii: "/")) {
            throw refusal(
                "the version \"\(name)\": the name must not contain a slash or begin with a dot; rename the version"
            )
        }
        let most = BundleDraft.maximumNameSize
        guard fileName.utf8.count <= most else {
            throw refusal(
                "the version \"\(name.prefix(40))\(name.count > 40 ? "…" : "")\": its file name has "
                    + "\(fileName.utf8.count) bytes, but the limit is \(most)")
        }
        if let existing = names.first(where: { $0 == name }), !existing.isSpelt(like: name) {
            throw refusal(
                "the version \"\(name)\": a version has the same name in another Unicode normalisation form; use that "
                    + "form, or rename one of the versions")
        }
    }

    /// The maximum length of a file name, in bytes.
    private static let maximumNameSize = 255

    /// Sets the current version, and moves the bundle to its final path.
    func commit(current: String) throws {
        if kind == .sourceBundle {
            list["_XCCurrentVersionName"] = .string("\(current).xcdatamodel")
            try folder.write(try encodeXMLPropertyList(.dictionary(list)), to: ModelBundle.sourceList)
        } else {
            list["NSManagedObjectModel_CurrentVersionName"] = .string(current)
            add("VersionHashes", hashes.mapValues { .dictionary($0.mapValues { .data($0) }) })
            add("VersionChecksums", checksums.mapValues { .string($0) })
            try folder.write(encodePropertyList(.dictionary(list)), to: ModelBundle.compiledList)
        }
        try folder.commit()
    }

    /// Adds entries to a dictionary of the property list, and replaces entries of the same versions.
    private func add(_ name: String, _ entries: [String: PropertyListValue]) {
        let key = "NSManagedObjectModel_\(name)"
        list[key] = .dictionary((list[key]?.dictionary ?? [:]).merging(entries) { _, new in new })
    }
}
