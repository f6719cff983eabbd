import CorestoneFileSystem
import CorestoneFormats
import CorestoneGraph
import CorestoneMigration
import CorestoneModel
import CorestoneSQLite
import CorestoneValues
import Glibc

extension MigrationGuard {
    /// Returns the sorted paths of the stores in a folder and its subfolders, without backing files and log files.
    ///
    /// - Throws: `.storeIO` if a folder cannot be read or is nested too deeply.
    ///   `.invalidArgument` if there are no stores.
    public static func stores(inFolder path: String) throws -> [String] {
        var found: [String] = []
        try addStores(in: path, to: &found, depth: 0)
        guard found.isEmpty else { return sortedByBytes(found) }
        throw CoreError(
            .invalidArgument, code: .coreData,
            "\(path) does not contain stores; pass a folder with stores of released versions",
            key: "stores", value: .string(path), file: path)
    }

    private static let maximumDepth = 16

    private static func addStores(in path: String, to found: inout [String], depth: Int) throws {
        guard depth < maximumDepth, let names = FolderNames(path).map(Array.init) else {
            let error = SystemError.last
            let remedy = error.isMissing ? "; check the path" : error.remedyForReading("the folder", lost: nil)
            throw CoreError(
                .storeIO, code: .coreData,
                depth < maximumDepth
                    ? "\(path) cannot be listed: \(error.text)\(remedy)"
                    : "\(path) is nested more than \(maximumDepth - 1) folders deep, which is the limit; move it up",
                file: path)
        }
        for name in sortedByBytes(names) where !name.hasPrefix(".") {
            let file = "\(path)/\(name)"
            var facts = stat()
            guard lstat(file, &facts) == 0 else { continue }
            if facts.st_mode & S_IFMT == S_IFDIR {
                try addStores(in: file, to: &found, depth: depth + 1)
            } else if facts.st_mode & S_IFMT == S_IFREG, isStore(file) || isNamedLikeStore(name) {
                found.append(file)
            }
        }
    }

    private static func isStore(_ path: String) -> Bool { (try? StoreType(ofStoreAt: path)) ?? nil != nil }

    /// Whether the name has the suffix of a store. The content of a damaged store may not be recognised.
    private static func isNamedLikeStore(_ name: String) -> Bool {
        [".sqlite", ".sqlite3", ".store", ".storedata"].contains(where: name.hasSuffix)
    }

    /// Ignores findings about an older version from which mapping models or a chain lead to the newest version.
    ///
    /// - Parameter paths: The files and folders with the mapping models and with the model versions of chains.
    public mutating func useMappingModels(in paths: [String]) {
        var options = MigrationOptions.inferred
        options.searchPaths = paths
        options.sourceModels = older.map(\.model) + related
        hasRoute = { [options] source, destination in
            let route = try? options.withRoutes.conversion?.route(
                from: source, to: destination, ofStoreAt: "the store", options)
            return (route ?? nil) != nil
        }
    }

    /// Returns the problems of one store.
    ///
    /// A copy is migrated to the newest version and opened. The store is only read, and its folder is not changed.
    ///
    /// - Parameters:
    ///   - searchPaths: Paths of models, bundles and folders that are searched for the store's own model.
    ///   - options: Limits and time-outs.
    /// - Throws: `.storeBusy` if another program wrote the store during the check.
    ///   `.storeIO` if no folder can be created in `TMPDIR`.
    ///   Other errors are findings.
    public func findings(
        forStoreAt path: String, searchPaths: [String] = [], options: StoreOptions = StoreOptions()
    ) throws -> [MigrationFinding] {
        guard let folder = WorkFolder.temporary("corestone-check-") else {
            let error = SystemError.last
            throw CoreError(
                .storeIO, code: .coreData,
                "cannot check \(path): cannot create a folder in \(temporaryFolder): "
                    + "\(error.text)\(error.remedyForTemporaryFile)", file: path)
        }
        defer { withExtendedLifetime(folder) {} }
        var options = options
        options.mustExist = true
        var migration = MigrationOptions.inferred
        migration.sourceModels = older.map(\.model) + related
        migration.searchPaths = searchPaths
        migration.allowsTypeChanges = typeChanges == .exact
        // Removals are reported by the findings about the models.
        migration.allowsRemovals = true
        migration.isTrial = true
        options.migration = migration
        let copy = "\(folder.path)/store"
        let before = MigrationGuard.digests(path)
        let findings: [MigrationFinding]
        do {
            findings = try trial(path, copy, options)
        } catch let error as CoreError where error.status == .notAStore && MigrationGuard.isStore(path) {
            return [
                MigrationFinding(
                    .storeSkipped, store: path, message: "the file is a database but not a store, and was skipped",
                    remedy: "leave the file out of the check")
            ]
        } catch let error as CoreError {
            let errors = error.children.isEmpty ? [error] : error.children
            return errors.map { MigrationFinding(.storeFails, store: path, $0.naming(path, insteadOf: copy)) }
        }
        let after = MigrationGuard.digests(path)
        if let changed = MigrationGuard.fileSuffixes.first(where: { before[$0] != after[$0] }) {
            throw CoreError(
                .storeBusy, code: .coreData,
                "\(path)\(changed) was changed during the check; close the store in all programs, and check it again",
                file: path)
        }
        return findings
    }

    private static let fileSuffixes = ["", "-wal", "-shm", "-journal"]

    /// Returns the digests of the store's files by their suffixes. The files must not change during the check.
    private static func digests(_ path: String) -> [String: [UInt8]] {
        var digests: [String: [UInt8]] = [:]
        for suffix in fileSuffixes { digests[suffix] = sha256(ofFileAt: path + suffix) }
        return digests
    }

    private func trial(_ path: String, _ copy: String, _ options: StoreOptions) throws -> [MigrationFinding] {
        var plain = options
        plain.migration = nil
        try Coordinator(model: Model()).replaceStore(at: copy, byStoreAt: path, options: plain)
        let report = try MigrationReport(ofStoreAt: copy, to: newest.model, options: options)
        guard report.problems.isEmpty else {
            return report.problems.map {
                MigrationFinding(.storeFails, store: path, $0.naming(path, insteadOf: copy))
            }
        }
        let coordinator = try Coordinator(model: newest.model)
        try coordinator.remove(try coordinator.addStore(at: copy, options: options))
        guard report.losesData else { return [] }
        return report.entities.compactMap { entity in
            let lost = entity.lostValues.filter { $0.count > 0 }
            guard let name = entity.source, entity.kind == .remove ? entity.objects > 0 : !lost.isEmpty else {
                return nil
            }
            let values = lost.map { "\($0.attribute) (\($0.count))" }.joined(separator: ", ")
            return MigrationFinding(
                .storeLosesData, store: path, entity: name, key: lost.first?.attribute,
                message: entity.kind == .remove
                    ? "the migration deletes all objects of \(name) (\(entity.objects))"
                    : "the migration deletes values of \(name): \(values)",
                remedy: entity.kind == .remove
                    ? "keep the entity, or copy its objects in an earlier release"
                    : "keep the attributes, or copy their values in an earlier release")
        }
    }
}

extension CoreError {
    /// Returns the same error with the path of the store instead of the path of its copy.
    fileprivate func naming(_ path: String, insteadOf copy: String) -> CoreError {
        // The path is removed from the message, because a finding already begins with the path.
        let text = CorestoneValues.replacing(copy, in: message, by: path)
        let start = "cannot migrate \(path): "
        return CoreError(
            status, text.hasPrefix(start) ? String(text.dropFirst(start.count)) : text, domain: domain,
            customCode: code, entity: entity, key: key,
            value: value, objectURI: objectURI, file: path)
    }
}
