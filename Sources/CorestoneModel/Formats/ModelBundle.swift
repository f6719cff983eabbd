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
    /// Whether the versions are sources.
    let isSource: Bool
    /// All that `.xccurrentversion` or `VersionInfo.plist` says.
    let list: [String: PropertyListValue]
    /// The name of the current version, which may be missing.
    let current: String?

    static let sourceList = ".xccurrentversion"
    static let compiledList = "VersionInfo.plist"

    /// nil when the folder is no bundle.
    init?(_ folder: ModelFile) throws {
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
        _ names: [String], in folder: ModelFile, current: String?, _ list: [String: PropertyListValue]
    ) -> [ModelVersion] {
        let stems = names.map(ModelFile.stem)
        // Without a word about it: the only one, or the one that is called like the bundle.
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

    /// Xcode numbers versions at the end of their names: the second comes before the tenth.
    static func order(_ name: String) -> (Text, Int) {
        let digits = name.reversed().prefix { $0.isASCII && $0.isNumber }.count
        return (Text(String(name.dropLast(digits))), Int(name.suffix(digits)) ?? 0)
    }

    private static func propertyList(_ file: ModelFile) throws -> [String: PropertyListValue] {
        try file.reading(as: "a property list") {
            var limits = PropertyListLimits()
            limits.size = 16 << 20
            return try decodeAnyPropertyList(try file.bytes(limit: limits.size), limits: limits).dictionary ?? [:]
        }
    }

    /// The name of a version that may be given as that of its file. Any other dot is part of it, as in `1.5`.
    private static func versionName(_ text: String) -> String {
        [".xcdatamodel", ".mom"].contains { text.hasSuffix($0) } ? ModelFile.stem(text) : text
    }

    /// The version of a name; the current one for nil.
    func version(_ name: String?, of folder: ModelFile) throws -> ModelVersion {
        let names = versions.map(\.name)
        if let name {
            if let place = names.place(of: name) ?? names.place(of: ModelBundle.versionName(name)) {
                return versions[place]
            }
        } else if let current = versions.first(where: \.isCurrent) {
            return current
        }
        guard !names.isEmpty else { throw folder.failure("does not contain any versions; add one", .invalidArgument) }
        let all = names.map { "\"\($0)\"" }.joined(separator: ", ")
        let dangling = current.map { "has the current version \"\($0)\", which does not exist" }
        let what =
            name.map { "has no version \"\($0)\"" } ?? dangling ?? "does not specify the current version"
        throw folder.failure(
            "\(what); choose one of: \(all)", .invalidArgument, value: (name ?? current).map { .string($0) })
    }
}

extension String {
    /// Whether the name is that of the same file. Strings are equal that compose their letters otherwise (é of one or of two
    /// characters), and so are names on Apple's file systems; on Linux they are those of two files.
    func isSpelt(like other: String) -> Bool { utf8.elementsEqual(other.utf8) }
}

extension [String] {
    /// Where a name stands: in the same bytes, or else composed otherwise, as a file system may have done.
    func place(of name: String) -> Int? { firstIndex { $0.isSpelt(like: name) } ?? firstIndex(of: name) }
}
