import Corestone
import CorestoneFileSystem
import Glibc

/// A model from the command line: a model file or folder, or a store that contains its model.
struct NamedModel {
    let path: String
    let model: Model

    static let operand = Manual.Operand(
        "MODEL", "a model (.xcdatamodeld, .xcdatamodel, .momd, .mom), or a store, whose own model is used")
    static let version = Manual.Option(
        "version", "a version of the model; by default the current one", value: "NAME")

    /// The name of the file or folder up to the first dot, as an identifier.
    var name: String {
        let last = path.split(separator: "/").last.map { String($0) } ?? ""
        return Spelling.identifier(last.split(separator: ".").first.map { String($0) } ?? last)
    }

    /// Loads a model.
    ///
    /// - Parameters:
    ///   - option: The option with the version, for errors.
    ///   - isChecked: Whether the model must be valid for a store; it is then frozen.
    ///   - isDraft: Whether an incomplete model is accepted, for display; its problems are printed.
    init(
        _ path: String, version: String? = nil, option: String = "--version", isChecked: Bool = true,
        asDraft isDraft: Bool = false
    ) throws {
        self.path = path
        if isDraft, looksLikeModel(path) {
            model = try Model(draftAt: path, version: version)
            model.printDraftProblems(path)
        } else if looksLikeModel(path) {
            model = try Model(contentsOf: path, version: version)
            if isChecked { try model.freeze() }
        } else {
            if version != nil { throw NamedModel.withoutVersions(path, option) }
            model = try Coordinator.open(path, options: .readOnly).model
        }
    }

    /// Creates the error for a version of a path that does not contain versions.
    private static func withoutVersions(_ path: String, _ option: String) -> UsageError {
        if access(path, F_OK) == 0 {
            return UsageError("\(path) is not a bundle of model versions; omit \(option), or pass a bundle")
        }
        let reason = errno
        if reason == ENOENT { return UsageError("\(path) does not exist; check the path") }
        let error = SystemError(reason)
        let remedy = error.isMissing ? "; check the path" : error.remedyForFinding()
        return UsageError("cannot open \(path): \(error.text)\(remedy)")
    }

    /// Returns the earlier versions in the bundle, in the order of their names.
    ///
    /// The list is empty for a model without versions and for a store.
    func formerVersions() throws -> [Model] {
        guard OutputFile.isFolder(path) else { return [] }
        let versions = try Model.versions(of: path)
        let own = versions.firstIndex { $0.name == model.versionName } ?? 0
        return try versions[..<own].map { try Model(contentsOf: path, version: $0.name) }
    }

    /// Loads the model of the first operand and `--version`.
    init(_ options: Options) throws { try self.init(options.operand(0) ?? "", version: options["version"]) }
}

/// Whether a path is a folder, or its name or first bytes are those of a model, not of a store.
func looksLikeModel(_ path: String) -> Bool {
    if OutputFile.isFolder(path) { return true }
    let kinds = [".xcdatamodel", ".xcdatamodeld", ".mom", ".momd", ".omo", "/contents"]
    if kinds.contains(where: path.hasSuffix) { return true }
    // Opening a pipe would block. The store's own reader reports that a pipe is not a store.
    var status = stat()
    guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG, let file = fopen(path, "rb") else {
        return false
    }
    defer { fclose(file) }
    var head = [UInt8](repeating: 0, count: 8)
    let count = fread(&head, 1, head.count, file)
    guard head.prefix(count).starts(with: "bplist".utf8) || head.prefix(count).starts(with: "<?xml".utf8) else {
        return false
    }
    // An XML or binary store can have the same first bytes.
    return (try? StoreType(ofStoreAt: path)) == .some(nil)
}
