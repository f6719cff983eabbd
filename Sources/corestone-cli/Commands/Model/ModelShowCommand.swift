import Corestone

/// `corestone model show`: prints a model as text that is suitable for a diff.
struct ModelShowCommand: Command {
    static let manual = Manual(
        command: "model show", summary: "print a model as text, one fact per line",
        operands: [NamedModel.operand],
        options: [
            .init("hashes", "print the version hash of each entity and property, and the checksum of the model"),
            NamedModel.version,
            .init("format", "text (the default) or json", value: "FORMAT"),
        ],
        details: [
            "Equal models have equal text in every file format, and a change of the model changes few lines. So git "
                + "can show the differences between models.",
            "json is one object that describes the whole model; docs/reference/model.md documents its keys. With "
                + "--hashes it is {model, checksum, versionHashes}, where versionHashes has a hexadecimal hash and the "
                + "hashes of the properties for each entity.",
        ],
        examples: [
            "corestone model show Notes.xcdatamodeld",
            "corestone model show Notes.sqlite --hashes",
            "git config diff.coredata.textconv 'corestone model show'",
        ])

    private let options: Options
    private let isJSON: Bool

    init(_ options: Options) throws {
        self.options = options
        isJSON = try Format.isJSON(options)
    }

    func run(to output: Output) throws -> ExitCode {
        let withHashes = options.has("hashes")
        let model = try NamedModel(options.operand(0) ?? "", version: options["version"], asDraft: !withHashes).model
        if isJSON {
            let summary = JSON(model.summary)
            try output.json(withHashes ? hashes(of: model, summary) : summary)
        } else {
            for line in ModelOutline(model, withHashes: withHashes).lines { try output.line(line) }
        }
        return .done
    }

    private func hashes(of model: Model, _ summary: JSON) -> JSON {
        let hashes = entityVersionHashes(of: model)
        let entities = model.entities.sorted { $0.name < $1.name }.map { entity in
            let own = (entity.ownAttributes as [Property] + entity.ownRelationships).filter { !$0.isTransient }
            return (
                entity.name,
                JSON.object([
                    ("hash", .string(ModelOutline.hex(hashes[entity.name] ?? []))),
                    ("properties", .object(own.map { ($0.name, .string(ModelOutline.hex($0.versionHash))) })),
                ])
            )
        }
        return .object([
            ("model", summary), ("checksum", .string(model.versionChecksum)), ("versionHashes", .object(entities)),
        ])
    }
}

extension Format {
    /// Whether the format is json, for commands that print text or json.
    static func isJSON(_ options: Options) throws -> Bool {
        switch options["format"] {
        case nil, "text": false
        case "json": true
        case let name?: throw UsageError("--format must be text or json, not \"\(name)\"")
        }
    }
}
