import Corestone

/// `corestone model diff`: lists the differences between two models.
struct DiffCommand: Command {
    static let manual = Manual(
        command: "model diff", summary: "compare two models, or two versions of one",
        operands: [
            .init("OLDER", "a model of any kind, or a store, whose own model is used"),
            .init("NEWER", optional: true, "another model or store; by default OLDER, to compare two of its versions"),
        ],
        options: [
            .init("from", "a version of OLDER; by default the current one", value: "NAME"),
            .init("to", "a version of NEWER; by default the current one", value: "NAME"),
            .init("hash-only", "only changes that alter version hashes and so require a migration of stores"),
            .init("all", "also changes that affect only the editing or the form of a source model"),
            .init("format", "text (the default) or json", value: "FORMAT"),
        ],
        details: [
            "Prints one line per difference, grouped by entity. A line that begins with * changes the version hash of its entity, so "
                + "stores need a migration. The exit code is 0 without differences, otherwise 1, as for diff.",
            "Only differences that affect stores or programs are printed and counted. --all adds positions in the "
                + "diagram, versions of Xcode, the order of lists, and renaming identifiers that record a printed "
                + "rename. It also adds settings of source models that a compiled model cannot have.",
            "json is a list of objects with action (added, removed, changed, renamed), part, entity, name, field, old, new, "
                + "changesHash and text.",
        ],
        examples: [
            "corestone model diff Notes.xcdatamodeld --from Notes",
            "corestone model diff Notes.sqlite Notes.xcdatamodeld --hash-only",
            "corestone model diff old.mom new.mom --format json",
        ])

    private let options: Options
    private let isJSON: Bool

    init(_ options: Options) throws {
        self.options = options
        isJSON = try Format.isJSON(options)
        guard options.operand(1) != nil || options.has("from") || options.has("to") else {
            throw UsageError("NEWER is missing; pass a second model, or a version of OLDER with --from or --to")
        }
    }

    func run(to output: Output) throws -> ExitCode {
        let path = options.operand(0) ?? ""
        let older = try NamedModel(path, version: options["from"], option: "--from", isChecked: false)
        let newer = try NamedModel(options.operand(1) ?? path, version: options["to"], option: "--to", isChecked: false)
        var changes = older.model.changes(to: newer.model)
        if options.has("hash-only") { changes = changes.filter(\.changesHash) }
        if !options.has("all") { changes = changes.filter { !$0.isEditorial || $0.changesHash } }
        if isJSON {
            try output.json(JSON.array(changes.map(DiffCommand.json)))
        } else {
            var entity: String?
            for change in changes {
                if change.entity != entity { try output.line(bold: change.entity ?? "(model)", "") }
                entity = change.entity
                try output.line((change.changesHash ? "  * " : "    ") + change.textWithinEntity)
            }
        }
        return changes.isEmpty ? .done : .problems
    }

    private static func json(_ change: ModelChange) -> JSON {
        .object([
            ("action", .string(change.action.rawValue)), ("part", .string(change.part.rawValue)),
            ("entity", .optional(change.entity)), ("name", .optional(change.name)), ("field", .optional(change.field)),
            ("old", JSON(change.old)), ("new", JSON(change.new)), ("changesHash", .bool(change.changesHash)),
            ("text", .string(change.text)),
        ])
    }
}
