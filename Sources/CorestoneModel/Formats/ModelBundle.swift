import CorestoneValues

/// One version of a model that lies in a bundle with others.
public struct ModelVersion: Sendable, Hashable {
    /// Its name without extension.
    public let name: String
    /// Whether it is the one that is used unless another is asked for.
    public let isCurrent: Bool
    /// Where it lies.
    public let path: String
    /// By entity, the version hashes that the bundle's `VersionInfo.plist` has on record; empty without.
    public let recordedHashes: [String: [UInt8]]
    /// The checksum over them that newer compilers add.
    public let recordedChecksum: String?
}

/// A folder with versions of a model: `.xcdatamodeld` with sources, `.momd` with compiled ones.
struct ModelBundle {
    let versions: [ModelVersion]
    /// The name of the current version, which may be missing.
    private let current: String?

    /// nil when the folder is no bundle.
    init?(_ folder: ModelFile) throws {
        let entries = try folder.entries()
        let isSource = entries.contains(".xccurrentversion")
        let sources = entries.filter { $0.hasSuffix(".xcdatamodel") }
        let compiled = entries.filter { $0.hasSuffix(".mom") }
        if isSource || !sources.isEmpty {
            current = isSource ? try ModelBundle.currentSource(folder) : nil
            versions = ModelBundle.versions(sources, in: folder, current: current)
        } else if !compiled.isEmpty || entries.contains("VersionInfo.plist") {
            let hasInfo = entries.contains("VersionInfo.plist")
            let info = hasInfo ? try ModelBundle.propertyList(folder.child("VersionInfo.plist")) : [:]
            current = info["NSManagedObjectModel_CurrentVersionName"]?.string
            versions = ModelBundle.versions(compiled, in: folder, current: current, info)
        } else {
            return nil
        }
    }

    private static func versions(
        _ names: [String], in folder: ModelFile, current: String?, _ info: [String: PropertyListValue] = [:]
    ) -> [ModelVersion] {
        let stems = names.map(ModelFile.stem)
        // Without a word about it: the only one, or the one that is called like the bundle.
        let chosen = current ?? (stems.count == 1 ? stems[0] : folder.stem)
        let hashes = info["NSManagedObjectModel_VersionHashes"]?.dictionary ?? [:]
        let checksums = info["NSManagedObjectModel_VersionChecksums"]?.dictionary ?? [:]
        let sorted = zip(names, stems).sorted { a, b in order(a.1) < order(b.1) }
        return sorted.map { name, stem in
            ModelVersion(
                name: stem, isCurrent: stem == chosen, path: folder.child(name).path,
                recordedHashes: (hashes[stem]?.dictionary ?? [:]).compactMapValues(\.data),
                recordedChecksum: checksums[stem]?.string)
        }
    }

    /// Xcode numbers versions at the end of their names: the second comes before the tenth.
    private static func order(_ name: String) -> (Text, Int) {
        let digits = name.reversed().prefix { $0.isASCII && $0.isNumber }.count
        return (Text(String(name.dropLast(digits))), Int(name.suffix(digits)) ?? 0)
    }

    private static func currentSource(_ folder: ModelFile) throws -> String? {
        try propertyList(folder.child(".xccurrentversion"))["_XCCurrentVersionName"]?.string.map(ModelFile.stem)
    }

    private static func propertyList(_ file: ModelFile) throws -> [String: PropertyListValue] {
        try file.reading {
            var limits = PropertyListLimits()
            limits.size = 16 << 20
            return try decodeAnyPropertyList(try file.bytes(limit: limits.size), limits: limits).dictionary ?? [:]
        }
    }

    /// The version of a name; the current one for nil.
    func version(_ name: String?, of folder: ModelFile) throws -> ModelVersion {
        if let name {
            let wanted = versions.first { $0.name == name } ?? versions.first { $0.name == ModelFile.stem(name) }
            if let wanted { return wanted }
        } else if let current = versions.first(where: \.isCurrent) {
            return current
        }
        let all = versions.map(\.name).joined(separator: ", ")
        let missing = (name ?? current).map { "has no version \"\($0)\"" }
        let what = missing ?? "does not say which version is the current one"
        throw folder.failure("\(what); it has \(all.isEmpty ? "none" : all)", .invalidArgument)
    }
}
