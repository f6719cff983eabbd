import CorestoneFileSystem
import CorestoneModel
import CorestoneValues

extension MappingModel {
    /// Returns whether the mapping model was created for these two versions.
    ///
    /// This is the case if the version hashes of all entity mappings equal those of the models. It is not the case if
    /// an entity mapping with a source or a destination does not have the hash, or if there are no such mappings.
    public func matches(source: Model, destination: Model) -> Bool {
        matches(entityVersionHashes(of: source), entityVersionHashes(of: destination))
    }

    private func matches(_ source: [String: [UInt8]], _ destination: [String: [UInt8]]) -> Bool {
        func isEqual(_ name: String?, _ hash: [UInt8]?, _ hashes: [String: [UInt8]]) -> Bool {
            guard let name else { return true }
            return hash != nil && hashes[name] == hash
        }
        let named = entityMappings.filter { $0.sourceName != nil || $0.destinationName != nil }
        return !named.isEmpty
            && named.allSatisfy {
                isEqual($0.sourceName, $0.sourceHash, source)
                    && isEqual($0.destinationName, $0.destinationHash, destination)
            }
    }

    /// Returns the first mapping model that `matches` two models.
    ///
    /// Files that cannot be read are skipped, with a line in the log.
    ///
    /// - Parameter paths: Mapping models (`.cdm`, `.xcmappingmodel`), and folders that are searched for them in the
    ///   order of names, with the bundles in them (`.momd`, `.bundle`, `.framework`, `.app`).
    /// - Returns: The mapping model; nil if no mapping model matches.
    public static func find(in paths: [String], from source: Model, to destination: Model) -> MappingModel? {
        let hashes = (entityVersionHashes(of: source), entityVersionHashes(of: destination))
        for path in paths {
            for file in candidates(LocalFile(path), depth: 0) {
                do {
                    let found = try MappingModel(contentsOf: file.path)
                    if found.matches(hashes.0, hashes.1) { return found }
                } catch { skip(file, error) }
            }
        }
        return nil
    }

    /// The maximum depth of searched folders. A framework in an application needs a depth of four.
    private static let maximumDepth = 6

    /// The suffixes of folders that are searched within another folder.
    private static let bundles = [".momd", ".bundle", ".framework", ".app", ".appex", ".xcdatamodeld"]
    /// The suffixes of files in `searchPaths` that contain model versions, not mapping models.
    private static let models = [".mom", ".omo"]
    private static let parts: Set = ["Contents", "Resources", "Frameworks", "Versions", "A"]

    private static func candidates(_ file: LocalFile, depth: Int) -> [LocalFile] {
        if isMappingModel(file.name) { return [file] }
        if !file.isFolder { return models.contains(where: file.name.hasSuffix) ? [] : [file] }
        let names: [String]
        do { names = try file.entries() } catch {
            skip(file, error)
            return []
        }
        return names.flatMap { name -> [LocalFile] in
            if isMappingModel(name) { return [file.child(name)] }
            guard depth < maximumDepth, parts.contains(name) || bundles.contains(where: { name.hasSuffix($0) }) else {
                return []
            }
            let folder = file.child(name)
            return folder.isFolder ? candidates(folder, depth: depth + 1) : []
        }
    }

    private static func isMappingModel(_ name: String) -> Bool {
        name.hasSuffix(".cdm") || name.hasSuffix(".xcmappingmodel")
    }

    private static func skip(_ file: LocalFile, _ error: any Error) {
        let message = (error as? CoreError)?.message ?? "\(error)"
        DebugLog.write(
            "CoreData: warning: \(file.path) was skipped in the search for a mapping model: \(message); replace or remove it"
        )
    }
}
