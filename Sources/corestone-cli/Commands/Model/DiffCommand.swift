import Corestone

/// `corestone model diff`: what makes two models different.
struct DiffCommand: Command {
    static let manual = Manual(
        command: "model diff", summary: "tell how two models differ, or two versions of one",
        operands: [
            .init("OLDER", "a model of any kind, or a store, whose own model it is then"),
            .init("NEWER", optional: true, "another one; the same when left out, with two versions to compare"),
        ],
        options: [
            .init("from", "which version of the older one; the current one when left out", value: "NAME"),
            .init("to", "which version of the newer one; the current one when left out", value: "NAME"),
            .init("hash-only", "only changes that alter version hashes, for which stores need a migration"),
            .init("format", "text (the default) or json", value: "FORMAT"),
        ],
        details: [
            "A line for each difference; those that begin with * alter the version hash of their entity, so that stores need "
                + "a migration. Exit code 0 is no difference, 1 is at least one, as of diff.",
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
            throw UsageError("model diff needs NEWER, or --from or --to with a version of the one model")
        }
    }

    func run(to output: Output) throws -> ExitCode {
        let path = options.operand(0) ?? ""
        let older = try NamedModel(path, version: options["from"], isChecked: false)
        let newer = try NamedModel(options.operand(1) ?? path, version: options["to"], isChecked: false)
        var changes = older.model.changes(to: newer.model)
        if options.has("hash-only") { changes = changes.filter(\.changesHash) }
        if isJSON {
            try output.json(JSON.array(changes.map(DiffCommand.json)))
        } else {
            for change in changes { try output.line((change.changesHash ? "* " : "  ") + change.text) }
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
