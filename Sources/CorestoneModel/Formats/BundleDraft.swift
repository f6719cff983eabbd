import CorestoneValues

/// A bundle that is being written, beside the one that it replaces.
final class BundleDraft {
    private let kind: ModelKind
    private let folder: FolderDraft
    private let target: ModelFile
    private var hashes: [String: [String: [UInt8]]] = [:]

    init(_ target: ModelFile, _ kind: ModelKind) throws {
        self.target = target
        self.kind = kind
        folder = try FolderDraft(replacing: target)
    }

    func discard() { folder.discard() }

    /// Takes over all that the bundle holds.
    func keep() throws {
        try folder.keep()
        guard kind == .compiledBundle, target.exists, let bundle = try ModelBundle(target) else { return }
        for version in bundle.versions {
            let isRecorded = !version.recordedHashes.isEmpty
            hashes[version.name] =
                isRecorded ? version.recordedHashes : entityVersionHashes(of: try Model(contentsOf: version.path))
        }
    }

    func add(_ model: Model, _ bytes: [UInt8], as name: String) throws {
        guard !name.isEmpty, !name.utf8.contains(UInt8(ascii: "/")), !name.hasPrefix(".") else {
            throw target.failure(
                "cannot have a version \"\(name)\": the name becomes that of a file", .invalidArgument)
        }
        if kind == .sourceBundle { return try folder.write(bytes, to: "\(name).xcdatamodel", "contents") }
        hashes[name] = entityVersionHashes(of: model)
        try folder.write(bytes, to: "\(name).mom")
        // Apple's framework would prefer it, and it says what the model was before.
        folder.remove("\(name).omo")
    }

    /// Says which version is the current one, and puts the bundle into its place.
    func commit(current: String) throws {
        if kind == .sourceBundle {
            let list = PropertyListValue.dictionary(["_XCCurrentVersionName": .string("\(current).xcdatamodel")])
            try folder.write(try encodeXMLPropertyList(list), to: ".xccurrentversion")
        } else {
            try folder.write(encodePropertyList(versionInfo(current: current)), to: "VersionInfo.plist")
        }
        try folder.commit()
    }

    private func versionInfo(current: String) -> PropertyListValue {
        .dictionary([
            "NSManagedObjectModel_CurrentVersionName": .string(current),
            "NSManagedObjectModel_VersionHashes": .dictionary(
                hashes.mapValues { .dictionary($0.mapValues { .data($0) }) }),
            "NSManagedObjectModel_VersionChecksums": .dictionary(
                hashes.mapValues { .string(modelVersionChecksum($0)) }),
        ])
    }
}
