import CCorestone
import CorestoneFileSystem
import CorestoneGraph
import CorestoneModel
import CorestoneContainers
import CorestoneValues
import Glibc

@_cdecl("cst_migration_guard_check") @implementation
public func cst_migration_guard_check(
    _ path: cst_string, _ newPath: cst_string, _ settings: UnsafePointer<cst_migration_guard_options>?,
    _ out: UnsafeMutablePointer<cst_buffer>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try required(out, "out_json")
        let old = try path.filePath("path")
        let new = try newPath.optionalFilePath("new_path")
        let given = try GuardOptions(settings)
        try given.refuse("related", given.related.isEmpty, GuardOptions.ofModels)
        let check = try MigrationGuard(from: old, versions: given.versions, to: new, version: given.version)
        try out.fill(try given.report(of: check, paths: new.map { [old, $0] } ?? [old]))
    }
}

@_cdecl("cst_migration_guard_check_models") @implementation
public func cst_migration_guard_check_models(
    _ name: cst_string, _ newest: OpaquePointer?, _ count: Int, _ names: UnsafePointer<cst_string>?,
    _ older: UnsafePointer<OpaquePointer?>?, _ settings: UnsafePointer<cst_migration_guard_options>?,
    _ out: UnsafeMutablePointer<cst_buffer>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try required(out, "out_json")
        let goal = MigrationGuard.Version(name: try name.string("name"), model: try model(newest))
        let models = try array(older, count, "older").map { try model($0) }
        let versions = zip(try strings(names, count, "names"), models).map {
            MigrationGuard.Version(name: $0, model: $1)
        }
        let given = try GuardOptions(settings)
        try given.refuse("versions", given.versions.isEmpty, GuardOptions.ofPaths)
        try given.refuse("version", given.version == nil, GuardOptions.ofPaths)
        let check = MigrationGuard(newest: goal, older: versions, related: given.related)
        try out.fill(try given.report(of: check, paths: []))
    }
}

/// The options of a migration guard.
private struct GuardOptions {
    // The functions that use some of the options, for errors.
    static let ofModels = "cst_migration_guard_check_models (check_migration with a dictionary)"
    static let ofPaths = "cst_migration_guard_check (check_migration with a path)"

    let versions: [String]
    let version: String?
    let related: [Model]
    private let profile: LintProfile
    private let typeChanges: TypeChanges
    private let modelPaths: [String]
    private let stores: [String]
    private let limits: StoreOptions
    private let progress: cst_progress_fn?
    private let userdata: UnsafeMutableRawPointer?

    init(_ pointer: UnsafePointer<cst_migration_guard_options>?) throws {
        let given = try options(pointer, cst_migration_guard_options(), "options")
        let known = UInt32(CST_GUARD_ALLOW_TYPE_CHANGES)
        guard given.flags & ~known == 0 else {
            throw CoreError(
                .unsupported,
                "options.flags is 0x\(String(given.flags, radix: 16)); use only CST_GUARD_ALLOW_TYPE_CHANGES",
                key: "flags", value: .int(Int64(given.flags)))
        }
        typeChanges = given.flags & known == 0 ? .refused : .exact
        profile = try lintProfile(given.profile)
        versions = try strings(given.versions, given.version_count, "options.versions")
        version = try given.version.optionalString("options.version")
        related = try array(given.related, given.related_count, "options.related").map { try model($0) }
        modelPaths = try filePaths(given.model_paths, given.model_path_count, "options.model_paths")
        stores = try GuardOptions.stores(in: try filePaths(given.stores, given.store_count, "options.stores"))
        limits = try storeOptions(given.store_options, named: "options.store_options")
        (progress, userdata) = (given.progress, given.progress_userdata)
    }

    /// Returns the stores at paths and in folders.
    private static func stores(in paths: [String]) throws -> [String] {
        var found: [String] = []
        for path in paths {
            if LocalFile(path).isFolder {
                found += try MigrationGuard.stores(inFolder: path)
                continue
            }
            guard access(path, F_OK) == 0 else {
                let code = errno
                let remedy =
                    isMissing(code)
                    ? "; pass the path of a store, or of a folder of stores"
                    : code == EACCES ? "; make the folders of the path accessible" : ""
                throw CoreError(
                    .storeIO, code: .coreData,
                    "cannot check the store \(path): \(SystemError(code).text)\(remedy)",
                    key: "stores", value: .string(path), file: path)
            }
            found.append(path)
        }
        return found
    }

    /// Throws if an option is set that only the other function uses.
    func refuse(_ option: String, _ isUnset: Bool, _ function: String) throws {
        guard !isUnset else { return }
        throw CoreError(
            .invalidArgument, "options.\(option) is set, but only \(function) uses it; leave it out", key: option)
    }

    /// Returns the findings as JSON.
    func report(of given: MigrationGuard, paths: [String]) throws -> String {
        var check = given
        check.profile = profile
        check.typeChanges = typeChanges
        let paths = paths + modelPaths
        if !paths.isEmpty { check.useMappingModels(in: paths) }
        var findings = try check.findings()
        for (place, store) in stores.enumerated() {
            guard reportProgress(place) else {
                throw CoreError(
                    .cancelled, code: .migrationCancelled,
                    "the check of \(store) was cancelled by the application, with \(stores.count - place) of "
                        + "\(stores.count) \(stores.count == 1 ? "store" : "stores") left", file: store)
            }
            findings += try check.findings(forStoreAt: store, searchPaths: paths, options: limits)
        }
        if !stores.isEmpty { _ = reportProgress(stores.count) }
        let older: [PropertyValue] = check.older.map { .string($0.name) }
        let fields: [String: PropertyValue] = [
            "newest": .string(check.newest.name), "older": .array(older), "stores": .int(Int64(stores.count)),
            "findings": findings.report,
        ]
        return JSONText(.dictionary(fields)).text
    }

    private func reportProgress(_ done: Int) -> Bool { progress?(userdata, UInt64(done), UInt64(stores.count)) ?? true }
}

// MARK: - Releases

@_cdecl("cst_model_release_keep") @implementation
public func cst_model_release_keep(
    _ pointer: OpaquePointer?, _ name: cst_string, _ folder: cst_string, _ error: ErrorOut
) -> cst_status {
    outcome(error) {
        let model = try model(pointer)
        let given = try name.optionalString("name")
        let folder = try folder.filePath("folder")
        guard let version = given ?? model.versionName else {
            throw CoreError(
                .invalidArgument,
                "name is NULL (None), and the model does not have a version name; pass the name of the release",
                key: "name")
        }
        return try ModelRelease.keep(model, as: version, inFolder: folder) ? .ok : .unchanged
    }
}

@_cdecl("cst_model_release_copy_list") @implementation
public func cst_model_release_copy_list(
    _ folder: cst_string, _ out: UnsafeMutablePointer<cst_buffer>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try required(out, "out_json")
        let releases = try ModelRelease.releases(inFolder: try releaseFolder(folder))
        try out.fill(JSONText(.array(releases.map(\.report))).text)
    }
}

@_cdecl("cst_model_release_load") @implementation
public func cst_model_release_load(
    _ folder: cst_string, _ name: cst_string, _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    outcome(error) {
        let out = try place(out, "out_model")
        let name = try name.string("name")
        let releases = try ModelRelease.releases(inFolder: try releaseFolder(folder))
        guard let release = releases.first(where: { $0.name == name }) else { return .notFound }
        out.pointee = try ownedHandle(try release.model())
        return .ok
    }
}

@_cdecl("cst_model_release_check") @implementation
public func cst_model_release_check(
    _ folder: cst_string, _ path: cst_string, _ out: UnsafeMutablePointer<cst_buffer>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try required(out, "out_json")
        let path = try path.filePath("path")
        let findings = try ModelRelease.findings(inFolder: try releaseFolder(folder), comparedWith: path)
        try out.fill(JSONText(findings.report).text)
    }
}

/// Returns the path of an existing folder.
///
/// Without this check, a misspelt path would look like a folder without releases.
private func releaseFolder(_ text: cst_string) throws -> String {
    let path = try text.filePath("folder")
    if LocalFile(path).isFolder { return path }
    guard access(path, F_OK) != 0 else {
        throw CoreError(
            .storeIO, code: .coreData, "\(path) is not a folder; pass the folder of the releases", key: "folder",
            value: .string(path), file: path)
    }
    let code = errno
    guard isMissing(code) else {
        throw CoreError(
            .storeIO, code: .coreData,
            "cannot read the folder of releases \(path): \(SystemError(code).text)"
                + (code == EACCES ? "; make the folders of the path accessible" : ""),
            key: "folder", value: .string(path), file: path)
    }
    throw CoreError(
        .storeIO, code: .coreData,
        "the folder of releases \(path) does not exist; check the path, or create the folder and keep a "
            + "release there with cst_model_release_keep (ModelRelease.keep)", key: "folder", value: .string(path),
        file: path)
}

/// Whether a code of the system means that a path does not exist.
private func isMissing(_ code: Int32) -> Bool { code == ENOENT || code == ENOTDIR }

extension ModelRelease {
    fileprivate var report: PropertyValue {
        let hashes: [String: PropertyValue] = versionHashes.mapValues { .string(base64($0)) }
        return .dictionary([
            "name": .string(name), "path": .string(path), "checksum": .string(checksum),
            "versionHashes": .dictionary(hashes),
        ])
    }
}

extension [MigrationFinding] {
    fileprivate var report: PropertyValue { .array(map(\.report)) }
}

extension MigrationFinding {
    fileprivate var report: PropertyValue {
        func optional(_ text: String?) -> PropertyValue { text.map { .string($0) } ?? .null }
        let names: [PropertyValue] = versions.map { .string($0) }
        return .dictionary([
            "rule": .string(rule.rawValue), "severity": .string(severity.rawValue), "versions": .array(names),
            "store": optional(store), "entity": optional(entity), "key": optional(key), "message": .string(message),
            "remedy": .string(remedy),
        ])
    }
}
