import CorestoneFileSystem
import CorestoneFormats
import CorestoneValues

/// A version of a model in a bundle.
public struct ModelVersion: Sendable, Hashable {
    /// The name of the version's file without extension.
    public let name: String
    /// Whether this version is used by default.
    public let isCurrent: Bool
    /// The path of the version's file or folder.
    public let path: String
    /// The version hashes in the bundle's `VersionInfo.plist`, by entity; empty if it does not contain them.
    public let recordedHashes: [String: [UInt8]]
    /// The checksum of the hashes, which newer compilers add; otherwise nil.
    public let recordedChecksum: String?
}

/// A folder with versions of a model: `.xcdatamodeld` with source models, `.momd` with compiled models.
struct ModelBundle {
    let versions: [ModelVersion]
    /// Whether the versions are source models.
    let isSource: Bool
    /// The contents of `.xccurrentversion` or `VersionInfo.plist`.
    let list: [String: PropertyListValue]
    /// The name of the current version in `list`; nil without one. The version itself may be missing.
    let current: String?

    static let sourceList = ".xccurrentversion"
    static let compiledList = "VersionInfo.plist"

    /// Reads a bundle; nil if the folder is not a bundle.
    init?(_ folder: LocalFile) throws {
        let entries = try folder.entries()
        let sources = entries.filter { $0.hasSuffix(".xcdatamodel") }
        let compiled = entries.filter { $0.hasSuffix(".mom") }
        isSource = entries.contains(ModelBundle.sourceList) || !sources.isEmpty
        let listName = isSource ? ModelBundle.sourceList : ModelBundle.compiledList
        guard isSource || !compiled.isEmpty || entries.contains(listName) else { return nil }
        list = entries.contains(listName) ? try ModelBundle.propertyList(folder.child(listName)) : [:]
        current =
            isSource
            ? list["_XCCurrentVersionName"]?.string.map(ModelBundle.versionName)
            : list["NSManagedObjectModel_CurrentVersionName"]?.string
        versions = ModelBundle.versions(isSource ? sources : compiled, in: folder, current: current, list)
    }

    private static func versions(
        _ names: [String], in folder: LocalFile, current: String?, _ list: [String: PropertyListValue]
    ) -> [ModelVersion] {
        let stems = names.map(LocalFile.stem)
        // If `list` does not specify the current version, the current one is the only version, or the version with the
        // bundle's name.
        let chosen = stems.place(of: current ?? (stems.count == 1 ? stems[0] : folder.stem))
        func recorded(_ name: String, _ place: Int) -> PropertyListValue? {
            let entries = list[name]?.dictionary ?? [:]
            return entries.index(forKey: stems[place]).flatMap { entry in
                stems.place(of: entries[entry].key) == place ? entries[entry].value : nil
            }
        }
        let sorted = stems.indices.sorted { order(stems[$0]) < order(stems[$1]) }
        return sorted.map { place in
            let hashes = recorded("NSManagedObjectModel_VersionHashes", place)?.dictionary ?? [:]
            return ModelVersion(
                name: stems[place], isCurrent: place == chosen, path: folder.child(names[place]).path,
                recordedHashes: hashes.compactMapValues(\.data),
                recordedChecksum: recorded("NSManagedObjectModel_VersionChecksums", place)?.string)
        }
    }

    /// Returns a sort key of a name.
    ///
    /// The number at the end is compared as a number: version 2 precedes version 10.
    static func order(_ name: String) -> (Text, Int) {
        let digits = name.reversed().prefix { $0.isASCII && $0.isNumber }.count
        return (Text(String(name.dropLast(digits))), Int(name.suffix(digits)) ?? 0)
    }

    private static func propertyList(_ file: LocalFile) throws -> [String: PropertyListValue] {
        try file.reading(as: "a property list") {
            var limits = PropertyListLimits()
            limits.size = 16 << 20
            return try decodeAnyPropertyList(try file.bytes(limit: limits.size), limits: limits).dictionary ?? [:]
        }
    }

    /// Returns the name of a version, without the extension if it is a file name.
    ///
    /// Other dots are part of the name, as in `1.5`.
    private static func versionName(_ text: String) -> String {
        [".xcdatamodel", ".mom"].contains { text.hasSuffix($0) } ? LocalFile.stem(text) : text
    }

    /// Returns the version of a name; nil selects the current version.
    func version(_ name: String?, of folder: LocalFile) throws -> ModelVersion {
        let names = versions.map(\.name)
        if let name {
            if let place = names.place(of: name) ?? names.place(of: ModelBundle.versionName(name)) {
                return versions[place]
            }
        } else if let current = versions.first(where: \.isCurrent) {
            return current
        }
        guard !names.isEmpty else { throw folder.failure("does not contain any versions; add one", .invalidArgument) }
        let all = TextPlace.quoted(names)
        let fault =
            current.map { "has the current version \"\($0)\", which does not exist" }
            ?? "does not specify the current version"
        throw folder.failure(
            name.map { "has no version \"\($0)\"; \(ModelBundle.remedy($0, names))" }
                ?? "\(fault); pass the version \(all), or set the current version with corestone model set "
                + "\(folder.shown) . currentVersion=NAME --version NAME",
            .invalidArgument, key: "version", value: (name ?? current).map { .string($0) })
    }

    private static func remedy(_ name: String, _ names: [String]) -> String {
        if names.count <= 10 { return "use \(TextPlace.quoted(names))" }
        let near = nearestName(to: name, among: names).map { "did you mean \"\($0)\"?" }
        return near ?? "use a name that cst_model_copy_versions (versions) returns"
    }
}

extension String {
    /// Whether the names are equal byte by byte, and so denote the same file.
    ///
    /// In Swift and on Apple's file systems, names in different Unicode normalisation forms are equal. On Linux, such
    /// names denote two files.
    func isSpelt(like other: String) -> Bool { utf8.elementsEqual(other.utf8) }
}

extension [String] {
    /// Returns the index of a name with the same bytes, or else in another normalisation form.
    ///
    /// A file system may have changed the normalisation form of a file name.
    func place(of name: String) -> Int? { firstIndex { $0.isSpelt(like: name) } ?? firstIndex(of: name) }
}
