import CorestoneFileSystem
import CorestoneFormats
import CorestoneGraph
import CorestoneModel
import CorestoneValues
import Glibc

extension StagedMigration {
    /// Reads stages from a file of JSON.
    ///
    /// An example is `{"stages": [{"label": "…", "lightweight": ["V2", …]}, {"from": "V2", "to": "V3", "mapping":
    /// "V2toV3.cdm"}]}`. A stage with only `from` and `to` infers its mapping.
    ///
    /// - Parameters:
    ///   - path: The path of the file. Relative paths of mapping models start at the folder of the file.
    ///   - models: Versions to which the stages may refer.
    ///   - searchPaths: Models, bundles and folders with more versions.
    /// - Throws: `.model` for an error in the JSON.
    ///   Code 134504 if a version is not found by its name, checksum or identifier.
    ///   The errors of `init(_:)` and of `MappingModel.init(contentsOf:)`.
    public init(contentsOf path: String, models: [Model] = [], searchPaths: [String] = []) throws {
        var options = MigrationOptions()
        options.sourceModels = models
        options.searchPaths = searchPaths
        let reader = StagesReader(path: path, versions: try options.knownVersions())
        do { try self.init(reader.read()) } catch let error as CoreError {
            throw error.file == nil ? error.within("the stages in \(path) cannot be used", file: path) : error
        }
    }
}

private struct StagesReader {
    let path: String
    let versions: [Model]

    private typealias Fields = [String: PropertyValue]

    func read() throws -> [MigrationStage] {
        let bytes = try LocalFile(path, shownAs: path).bytes()
        let root: PropertyValue
        do { root = try decodeTaggedJSON(bytes) } catch let error as CoreError {
            throw CoreError(
                .model, code: .migration, "the JSON in \(path) cannot be read: \(error.message)",
                key: error.key, value: error.value, file: path, offset: error.offset)
        }
        let fields = try fields(root, "the root", ["stages"])
        guard case .array(let stages)? = fields["stages"] else {
            throw failure(
                fields["stages"].map { "\"stages\" is \($0.excerpt), but must be a list of stages" }
                    ?? "\"stages\" is missing; set it to the list of stages", "stages", fields["stages"])
        }
        return try stages.enumerated().map { try stage($1, "stage \($0 + 1)") }
    }

    private func stage(_ value: PropertyValue, _ subject: String) throws -> MigrationStage {
        let fields = try fields(value, subject, ["label", "lightweight", "from", "to", "mapping"], key: "stages")
        let label = try text(fields, "label", subject)
        if let list = fields["lightweight"] {
            guard case .array(let names) = list else {
                throw failure(
                    "\"lightweight\" of \(subject) is \(list.excerpt), but must be a list of versions", "lightweight",
                    list
                )
            }
            for key in ["from", "to", "mapping"] where fields[key] != nil {
                throw failure(
                    "\(subject) has \"lightweight\" and \"\(key)\"; remove one of the two", key, fields[key])
            }
            let checksums = try names.map { element in
                guard case .text(let name) = element else {
                    throw failure(
                        "a version in \"lightweight\" of \(subject) is \(element.excerpt), but must be a string",
                        "lightweight", element)
                }
                return try version(name.string, subject, "lightweight").versionChecksum
            }
            return .lightweight(checksums, label: label)
        }
        let given = (from: try text(fields, "from", subject), to: try text(fields, "to", subject))
        guard let from = given.from, let to = given.to else {
            throw failure(
                "\(subject) needs \"lightweight\", or \"from\" and \"to\"; set \"from\" and \"to\" to versions, or "
                    + "\"lightweight\" to a list of versions", given.from == nil ? "from" : "to")
        }
        let (current, next) = (
            ModelReference(try version(from, subject, "from")), ModelReference(try version(to, subject, "to"))
        )
        guard let mapping = try text(fields, "mapping", subject) else {
            return .custom(from: current, to: next, label: label)
        }
        return .mapping(from: current, to: next, label: label, try MappingModel(contentsOf: inFolder(mapping)))
    }

    /// Returns a version by its name in a bundle, by its checksum, or by its identifier.
    private func version(_ name: String, _ subject: String, _ key: String) throws -> Model {
        let found =
            versions.first { $0.versionName == name } ?? versions.first { $0.versionChecksum == name }
            ?? versions.first { $0.versionIdentifiers.contains(name) }
        if let found { return found }
        let names = versions.compactMap(\.versionName)
        let list = names.map { "\"\($0)\"" }.abridged
        let others = names.isEmpty ? "" : ", or use \(names.count > 1 ? "one of " : "")\(list)"
        throw CoreError(
            .migration, code: .managedObjectModelReferenceNotFound,
            "\(subject) of \(path) names the version \"\(name)\", which is not in the given models; add the path of "
                + "the version's model to paths (search_paths, searchPaths, corestone migrate --source)\(others)",
            key: key, value: .string(name), file: path)
    }

    private func inFolder(_ file: String) -> String {
        guard !file.hasPrefix("/"), let slash = path.lastIndex(of: "/") else { return file }
        return path[...slash] + file
    }

    private func fields(
        _ value: PropertyValue, _ subject: String, _ known: [String], key owner: String? = nil
    ) throws -> Fields {
        guard case .dictionary(let fields) = value else {
            throw failure("\(subject) is \(value.excerpt), but must be a JSON object", owner, value)
        }
        for key in sortedByBytes(fields.keys) where !known.contains(key) {
            let near = nearestName(to: key, among: known).map { "did you mean \"\($0)\"?" }
            throw failure(
                "\(subject) has the unknown key \"\(key)\"; "
                    + (near ?? "use only \(known.map { "\"\($0)\"" }.joined(separator: ", "))"), key, fields[key])
        }
        return fields
    }

    private func text(_ fields: Fields, _ key: String, _ subject: String) throws -> String? {
        switch fields[key] {
        case nil, .null?: return nil
        case .text(let text)?: return text.string
        case let other?: throw failure("\"\(key)\" of \(subject) is \(other.excerpt), but must be a string", key, other)
        }
    }

    private func failure(_ message: String, _ key: String? = nil, _ value: PropertyValue? = nil) -> CoreError {
        CoreError(
            .model, code: .migration, "the stages in \(path) cannot be read: \(message)", key: key, value: value,
            file: path)
    }
}
