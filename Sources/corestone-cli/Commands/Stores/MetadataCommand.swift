import Corestone

/// `corestone metadata`: prints or changes the metadata of a store.
struct MetadataCommand: Command {
    static let manual = Manual(
        command: "metadata", summary: "print or change the metadata of a store",
        operands: [.init("STORE", "a store of any type; a model is not required")],
        options: [
            .init(
                "set", "set an entry; TYPE is string (the default), int, real, bool, date, data (base64) or json",
                value: "KEY[:TYPE]=VALUE", repeatable: true),
            .init("remove", "remove an entry", value: "KEY", repeatable: true),
            .init("format", "table (the default) or json", value: "FORMAT"),
        ],
        details: [
            "Without --set and --remove, the store is neither changed nor locked. Entries whose names begin with NS "
                + "belong to the framework: store type, UUID, version hashes and others. Other entries belong to the "
                + "application. Entries that identify the store cannot be changed or removed.",
            "json is one object, with data as base64 and dates as ISO 8601.",
        ],
        examples: [
            "corestone metadata Notes.sqlite", "corestone metadata Notes.sqlite --format json | jq -r .NSStoreUUID",
            "corestone metadata Notes.sqlite --set owner=Ada --set seen:int=3 --set 'tags:json=[\"a\", \"b\"]'",
            "corestone metadata Notes.sqlite --remove owner",
        ])

    private let path: String
    private let changes: [(key: String, value: PropertyListValue)]
    private let removed: [String]
    private let format: Format

    init(_ options: Options) throws {
        path = options.operand(0) ?? ""
        changes = try options.all("set").map(MetadataCommand.change)
        removed = options.all("remove")
        format = try Format.chosen(by: options, among: [.table, .json])
    }

    func run(to output: Output) throws -> ExitCode {
        if !changes.isEmpty || !removed.isEmpty { try change() }
        let values = try suggestingShowForModels(path) { try StoreMetadata(ofStoreAt: path) }.dictionary
        switch format {
        case .json: try output.json(JSON(values))
        default:
            for line in lines(values) { try output.line(line) }
        }
        return .done
    }

    private func change() throws {
        let stored = try suggestingShowForModels(path) { try StoreMetadata(ofStoreAt: path) }.dictionary
        var values = stored
        for key in removed {
            guard stored[key] != nil else {
                let hint = nearestName(to: key, among: stored.keys.sorted()).map { "; did you mean \"\($0)\"?" } ?? ""
                throw UsageError("the metadata of \(path) does not have an entry \"\(key)\"\(hint)")
            }
            guard !StoreMetadata.isGuaranteed(key) else {
                throw UsageError(
                    "the entry \"\(key)\" of \(path) is maintained by the store itself and cannot be removed; remove only the application's entries"
                )
            }
            values[key] = nil
        }
        for (key, value) in changes { values[key] = value }
        try StoreMetadata.set(values, ofStoreAt: path)
    }

    // MARK: Reading values

    private static let types = ["string", "int", "real", "bool", "date", "data", "json"]

    /// Parses `KEY=VALUE` or `KEY:TYPE=VALUE`.
    private static func change(_ word: String) throws -> (String, PropertyListValue) {
        let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map { String($0) }
        guard parts.count == 2, !parts[0].isEmpty else {
            throw UsageError("--set takes KEY=VALUE or KEY:TYPE=VALUE, not \"\(word)\"")
        }
        guard let colon = parts[0].lastIndex(of: ":") else { return (parts[0], .string(parts[1])) }
        let (key, type) = (String(parts[0][..<colon]), String(parts[0][parts[0].index(after: colon)...]))
        guard !key.isEmpty else { throw UsageError("--set takes KEY=VALUE or KEY:TYPE=VALUE, not \"\(word)\"") }
        guard types.contains(type) else {
            throw UsageError(
                "--set \"\(word)\": \"\(type)\" is not a type; use "
                    + "\(types.joined(separator: ", ")), or add :string if the key is \"\(parts[0])\"")
        }
        guard let value = try value(parts[1], type, of: word) else {
            throw UsageError(
                "--set \"\(word)\": \"\(parts[1])\" is not a value of type \(type); write \(forms[type] ?? "a string")")
        }
        return (key, value)
    }

    /// The forms of values of each type, for error messages.
    private static let forms = [
        "int": "an integer from \(Int64.min) to \(Int64.max)", "real": "a number such as 1.5",
        "bool": "true, false, yes, no, 1 or 0", "data": "base64", "json": "JSON without null",
    ]

    private static func value(_ text: String, _ type: String, of word: String) throws -> PropertyListValue? {
        switch type {
        case "int": return Int64(text).map { .integer($0) }
        case "real": return Double(text).map { .real($0) }
        case "bool":
            return ["true": true, "yes": true, "1": true, "false": false, "no": false, "0": false][text].map {
                .bool($0)
            }
        case "date":
            do { return .date(try ReferenceDate.parse(text, assumingUTC: true)) } catch let error as CoreError {
                throw UsageError("--set \"\(word)\": \(error.message)")
            }
        case "data": return decodeBase64(Array(text.utf8)).map { .data($0) }
        case "json":
            do { return PropertyListValue(try decodeJSON(Array(text.utf8))) } catch let error as CoreError {
                throw UsageError("--set \"\(word)\": \(error.message)")
            }
        default: return .string(text)
        }
    }

    // MARK: Printing

    /// Returns the lines in this order: type and identifier, the application's entries, then entries about the model.
    private func lines(_ values: [String: PropertyListValue]) -> [String] {
        let first = [
            StoreMetadata.Key.storeType, StoreMetadata.Key.uuid, StoreMetadata.Key.frameworkVersion,
        ]
        let own = values.keys.filter(StoreMetadata.isOfApplication).sorted()
        let rest = values.keys.filter { !first.contains($0) && !StoreMetadata.isOfApplication($0) }.sorted()
        let keys = first.filter { values[$0] != nil } + own + rest
        let width = min(keys.map { DisplayWidth.of($0.visible()) }.max() ?? 0, 48)
        return keys.flatMap { key -> [String] in
            guard let value = values[key] else { return [] }
            let name = key.visible()
            let head = name + String(repeating: " ", count: max(0, width - DisplayWidth.of(name))) + "  "
            // Version hashes are printed on one line per entity.
            guard key == StoreMetadata.Key.hashes, case .dictionary(let hashes) = value else {
                return [head + text(value)]
            }
            return [head + plural(hashes.count, "entity", "entities")]
                + hashes.sorted { $0.key < $1.key }.map { name, hash in
                    "  \(name): \(hash.data.map(ModelOutline.hex) ?? text(hash))"
                }
        }
    }

    private func text(_ value: PropertyListValue) -> String {
        switch value {
        case .string(let text): text
        case .date(let seconds): ReferenceDate.description(seconds)
        case .data(let bytes): bytes.count <= 64 ? base64(bytes) : plural(bytes.count, "byte")
        default: JSON(value).line
        }
    }
}
