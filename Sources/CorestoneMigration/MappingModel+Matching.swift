import CorestoneFileSystem
import CorestoneModel
import CorestoneValues

extension MappingModel {
    /// Whether the mapping model was created for these two models.
    ///
    /// Each source and each destination of an entity mapping needs a version hash that equals the hash of the entity in
    /// the model. A mapping model without sources and destinations does not match.
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
    /// - Parameter paths: Paths of mapping models (`.cdm`, `.xcmappingmodel`) and of folders. A folder is searched in
    ///   the order of names. Bundles inside it are searched too, for example `.momd`, `.framework` and `.app`.
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

    /// The maximum depth of searched folders. The resources of a framework in an application are at a depth of 4, or
    /// of 6 by way of `Versions/A`.
    private static let maximumDepth = 6

    /// The suffixes of folders that are searched within another folder.
    private static let bundles = [".momd", ".bundle", ".framework", ".app", ".appex", ".xcdatamodeld"]
    /// The suffixes of compiled models. The search skips them without a line in the log.
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
        let isDamaged = (error as? CoreError)?.status == .model && !message.hasRemedy
        DebugLog.write(
            "CoreData: warning: \(file.path) was skipped in the search for a mapping model: \(message)"
                + (isDamaged ? "; replace or remove the file" : ""))
    }
}
