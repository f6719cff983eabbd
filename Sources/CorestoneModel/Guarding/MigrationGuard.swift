import CorestoneFileSystem
import CorestoneValues

/// A check of migrations from earlier versions of a model to a newer one.
///
/// It reports migrations that would fail, and migrations that would lose data by mistake. The check freezes the models.
public struct MigrationGuard: Sendable {
    /// A version of a model, with its name in findings.
    public struct Version: Sendable {
        public let name: String
        public let model: Model

        public init(name: String, model: Model) { (self.name, self.model) = (name, model) }
    }

    /// The version to which stores are migrated.
    public let newest: Version
    /// The versions of existing stores, oldest first.
    public let older: [Version]
    /// The other versions, which are used only to find former names.
    public let related: [Model]
    /// The changes of types that the application allows (`MigrationOptions.allowsTypeChanges`).
    public var typeChanges = TypeChanges.refused
    /// The use of the model.
    ///
    /// With `.cloudKit`, changes that CloudKit's production schema does not allow are findings too.
    public var profile = LintProfile.standard
    /// Whether stores of one version are migrated to another one without inference.
    ///
    /// Such a migration uses a mapping model or intermediate versions. It is not checked, because its author decided
    /// how data is migrated.
    public var hasRoute: @Sendable (_ from: Model, _ to: Model) -> Bool = { _, _ in false }
    /// The findings about the files of the versions.
    private var fileFindings: [MigrationFinding] = []

    public init(newest: Version, older: [Version], related: [Model] = []) {
        (self.newest, self.older, self.related) = (newest, older, related)
    }

    /// Returns the problems of all migrations to the newest version.
    ///
    /// A problem of several migrations is one finding. Removals and other accepted risks are reported only for the
    /// latest of the older versions.
    ///
    /// - Throws: errors of `Model.freeze`.
    public func findings() throws -> [MigrationFinding] {
        var found = fileFindings
        var places: [[String?]: Int] = [:]
        for (place, version) in older.enumerated().reversed() {
            var step = try MigrationStep(
                from: version, to: newest, typeChanges: typeChanges, older: older.map(\.model), related: related,
                between: older[(place + 1)...].map(\.model))
            step.check(isLatest: place == older.count - 1, profile: profile)
            // The search for mapping models reads many files, so it is limited to steps with findings.
            if !step.findings.isEmpty, hasRoute(version.model, newest.model) { continue }
            for finding in step.findings {
                let identity = [finding.rule.rawValue, finding.entity, finding.key]
                if let known = places[identity] {
                    if found[known].versions.first != version.name { found[known].versions.insert(version.name, at: 0) }
                } else {
                    places[identity] = found.count
                    found.append(finding)
                }
            }
        }
        return found
    }
}

// MARK: - Files

extension MigrationGuard {
    /// Creates a guard for versions in files.
    ///
    /// - Parameters:
    ///   - old: a model, a bundle of versions, or a folder of frozen versions (`ModelRelease`). The versions of a
    ///     folder are compared with those of the same name in the bundle `new`.
    ///   - versions: the versions of `old` that stores may have; empty for all. If `old` and `new` are the same bundle,
    ///     these are the versions before the newest: the versions whose names differ only in lower numbers, and all
    ///     versions with other names.
    ///   - new: a model or a bundle; nil for `old`.
    ///   - version: the newest version in the bundle `new`; nil for the current one.
    /// - Throws: As `Model(contentsOf:version:)`.
    ///   `.invalidArgument` for an unknown version.
    public init(
        from old: String, versions: [String] = [], to new: String? = nil, version: String? = nil
    ) throws {
        let target = new ?? old
        let model = try Model(contentsOf: target, version: version)
        let listed = try Model.versions(of: target)
        let name = model.versionName ?? listed.first?.name ?? target
        func read(_ version: ModelVersion) throws -> Version {
            Version(name: version.name, model: try Model(contentsOf: version.path))
        }
        // Versions of another series of names are first.
        let own = VersionOrder(name)
        let earlier = listed.filter { $0.name != name && !VersionOrder($0.name).isLater(than: own) }
            .sorted { VersionOrder.precedes($0.name, $1.name) }
        let before =
            earlier.filter { !VersionOrder($0.name).isSeries(with: own) }
            + earlier.filter { VersionOrder($0.name).isSeries(with: own) }
        let isSame = new == nil || LocalFile(target).isSame(as: LocalFile(old))
        let releases = isSame ? [] : try ModelRelease.releases(inFolder: old)
        if !releases.isEmpty {
            let sorted = releases.sorted { VersionOrder.precedes($0.name, $1.name) }
            let chosen = try MigrationGuard.choose(versions, of: sorted, \.name, in: old)
            self.init(
                newest: Version(name: name, model: model),
                older: chosen.compactMap { release in
                    (try? release.model()).map { Version(name: release.name, model: $0) }
                }, related: try before.map { try read($0).model })
            fileFindings = try ModelRelease.findings(inFolder: old, comparedWith: target)
        } else {
            let all =
                isSame ? before : try Model.versions(of: old).sorted { VersionOrder.precedes($0.name, $1.name) }
            let chosen = try MigrationGuard.choose(versions, of: all, \.name, in: old)
            self.init(
                newest: Version(name: name, model: model), older: try chosen.map(read),
                related: try before.filter { !isSame || !chosen.contains($0) }.map { try read($0).model })
        }
    }

    private static func choose<Item>(
        _ names: [String], of items: [Item], _ name: (Item) -> String, in path: String
    ) throws -> [Item] {
        for wanted in names where !items.contains(where: { name($0) == wanted }) {
            let all = items.map { "\"\(name($0))\"" }.abridged
            let near = nearestName(to: wanted, among: items.map(name)).map { "; did you mean \"\($0)\"?" }
            throw LocalFile(path).failure(
                "has no earlier version \"\(wanted)\""
                    + (near
                        ?? (all.isEmpty
                            ? "; pass a model with earlier versions"
                            : items.count == 1 ? "; use \(all)" : "; choose one of \(all)")),
                .invalidArgument, key: "versions", value: .string(wanted))
        }
        return names.isEmpty ? items : items.filter { names.contains(name($0)) }
    }
}

/// A sort key for the name of a version.
///
/// It consists of texts, each followed by a number. Examples of the order: `Notes`, `Notes 2`, `Notes 10`; `2.9.1`,
/// `2.10`.
private struct VersionOrder {
    private var texts: [String] = []
    private var numbers: [Int] = []

    init(_ name: String) {
        var (text, digits) = ("", "")
        for letter in name {
            if !digits.isEmpty, !(letter.isASCII && letter.isNumber) {
                add(text, digits)
                (text, digits) = ("", "")
            }
            if letter.isASCII, letter.isNumber { digits.append(letter) } else { text.append(letter) }
        }
        add(text, digits)
    }

    /// Adds a text and its number. A missing number is 1, because Xcode names the second version `Notes 2`.
    private mutating func add(_ text: String, _ digits: String) {
        var text = text
        while text.hasSuffix(" ") { text.removeLast() }
        texts.append(text)
        numbers.append(digits.isEmpty ? 1 : Int(digits) ?? .max)
    }

    /// Whether the texts of both names are equal, as far as both names have texts.
    func isSeries(with other: VersionOrder) -> Bool { zip(texts, other.texts).allSatisfy(==) }

    /// Whether the names are of one series (`isSeries`), and the first different number is larger in this name.
    func isLater(than other: VersionOrder) -> Bool {
        isSeries(with: other) && other.numbers.lexicographicallyPrecedes(numbers)
    }

    static func precedes(_ one: String, _ other: String) -> Bool {
        let (a, b) = (VersionOrder(one), VersionOrder(other))
        for place in 0..<min(a.texts.count, b.texts.count) {
            let (text, other) = (a.texts[place], b.texts[place])
            if text != other { return text.utf8.lexicographicallyPrecedes(other.utf8) }
            if a.numbers[place] != b.numbers[place] { return a.numbers[place] < b.numbers[place] }
        }
        return a.texts.count < b.texts.count
    }
}

extension LocalFile {
    /// Whether both paths denote the same file or folder.
    func isSame(as other: LocalFile) -> Bool {
        guard let one = fileStatus, let two = other.fileStatus else { return path == other.path }
        return one.st_ino == two.st_ino && one.st_dev == two.st_dev
    }
}
