import Corestone
import Glibc

/// A model that the command line names: a file or a folder with one, or the store that carries it.
struct NamedModel {
    let path: String
    let model: Model

    static let operand = Manual.Operand(
        "MODEL", "a model (.xcdatamodeld, .xcdatamodel, .momd, .mom), or a store for its own model")
    static let version = Manual.Option(
        "version", "a version of the model; by default the current one", value: "NAME")

    /// The name of the file or folder, without what follows its dot, as a name in code.
    var name: String {
        let last = path.split(separator: "/").last.map { String($0) } ?? ""
        return Spelling.identifier(last.split(separator: ".").first.map { String($0) } ?? last)
    }

    /// - Parameters:
    ///   - isChecked: whether the model must be one that a store can be made of; it is frozen then.
    ///   - isDraft: whether a half-finished one will do, to be looked at; what it lacks is told.
    init(_ path: String, version: String? = nil, isChecked: Bool = true, asDraft isDraft: Bool = false) throws {
        self.path = path
        if isDraft, looksLikeModel(path) {
            model = try Model(draftAt: path, version: version)
            model.tellOfDraft(path)
        } else if looksLikeModel(path) {
            model = try Model(contentsOf: path, version: version)
            if isChecked { try model.freeze() }
        } else {
            guard version == nil else {
                throw UsageError(
                    OutputFile(path: path).exists
                        ? "\(path) is not a bundle of model versions; omit the version \"\(version ?? "")\""
                        : "\(path) does not exist; check the path")
            }
            model = try Coordinator.open(path, options: .readOnly).model
        }
    }

    /// The versions before this one in its bundle, in the order of their names; empty for a model without versions and for a store.
    func formerVersions() throws -> [Model] {
        guard OutputFile.isFolder(path) else { return [] }
        let versions = try Model.versions(of: path)
        let own = versions.firstIndex { $0.name == model.versionName } ?? 0
        return try versions[..<own].map { try Model(contentsOf: path, version: $0.name) }
    }

    /// What the first operand and `--version` say.
    init(_ options: Options) throws { try self.init(options.operand(0) ?? "", version: options["version"]) }
}

/// A folder, or what its name or first bytes say is no database.
func looksLikeModel(_ path: String) -> Bool {
    if OutputFile.isFolder(path) { return true }
    let kinds = [".xcdatamodel", ".xcdatamodeld", ".mom", ".momd", ".omo", "/contents"]
    if kinds.contains(where: path.hasSuffix) { return true }
    // A pipe would keep whoever opens it waiting; that it is no store is for the store's own reader to say.
    var facts = stat()
    guard stat(path, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG, let file = fopen(path, "rb") else { return false }
    defer { fclose(file) }
    var head = [UInt8](repeating: 0, count: 8)
    let count = fread(&head, 1, head.count, file)
    guard head.prefix(count).starts(with: "bplist".utf8) || head.prefix(count).starts(with: "<?xml".utf8) else {
        return false
    }
    // So may a store of another type than SQLite's begin.
    return (try? StoreType(ofStoreAt: path)) == .some(nil)
}
